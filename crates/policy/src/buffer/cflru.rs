//! # CFLRU: clean-first LRU, page by page
//!
//! **What it keeps.** An LRU list of pages in DRAM; the *clean-first region* is the window of pages nearest its LRU end.
//!
//! **Victim.** The clean page nearest the LRU end inside the region, which is dropped; if there is none, the LRU
//! page, which is written to flash, a batch of one page.
//!
//! **On a write.** Moves the page to the MRU end as a read does.
//!
//! **Parameters.**
//!
//! * `window_share`: the window as a share of the buffer, rounded down (default 1/3); or
//!   `window_pages`: the window in pages.
//!
//! * `cache_reads`: whether a read miss brings its page into the buffer (default true).
//!
//! * `cluster`: what a dirty victim takes along: nothing (`page`, default), or in one batch the
//!   other dirty pages of its block, which stay as clean ones (`block`).
//!
//! * `commands`: `paper` (default) ignores FLUSH and FUA. With `safe`, FLUSH writes all dirty
//!   pages, the one dirty for longest first; they stay as clean ones. An FUA page is written
//!   through.
//!
//! **Cost per hit and per victim.** One look-up and a few list steps, whatever the window. The page policy works with
//! dense numbers. Besides its own memory this takes 21 bytes per page in the buffer, 8 per distinct page that has had a
//! number, and 4 per page that may need one. Each group of 64 pages of the drive in which one ever had a number takes 4
//! bytes per page.
//!
//! **Deviations from the paper.** The policy was made for pages of memory; here its very code holds back the
//! writes of a drive. A trimmed page stays in its place, clean.
//!
//! **Reference.** S.-Y. Park, D. Jung, J.-U. Kang, J.-S. Kim, J. Lee: CFLRU: a replacement algorithm for flash
//! memory. CASES 2006.

use super::BufferSize;
use super::catalog::Cataloged;
use super::mechanism::paged::{ByCalls, OWN_PARAMETERS_LEN, PageBuffer, with_own_parameters};
use crate::catalog::{self, Description};
use crate::page;
use crate::parameters::{Parameter, Settings};

/// The page policy of the same name as a write buffer.
pub(crate) type Cflru = PageBuffer<page::cflru::Cflru, ByCalls>;

const POLICY: Description = <page::cflru::Cflru as catalog::Cataloged>::DESCRIPTION;

const PARAMETERS: [Parameter; POLICY.parameters.len() + OWN_PARAMETERS_LEN] =
    with_own_parameters(POLICY.parameters);

impl Cataloged for Cflru {
    const DESCRIPTION: Description =
        Description { parameters: &PARAMETERS, source: include_str!("cflru.rs"), ..POLICY };

    fn build(settings: &Settings, size: BufferSize) -> Self {
        PageBuffer::with_policy(settings, size)
    }
}
