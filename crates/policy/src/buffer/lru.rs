//! # LRU: least recently used, page by page
//!
//! **What it keeps.** A list of pages in DRAM in the order of their last use.
//!
//! **Victim.** The page at the LRU end; a dirty one is written to flash as a batch of one page, a clean one is dropped.
//!
//! **On a write.** Moves the page to the MRU end as a read does; a dirty page is not spared.
//!
//! **Parameters.**
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
//! **Cost per hit and per victim.** One look-up and a list move; constant. The page policy works with dense numbers.
//! Besides its own memory this takes 21 bytes per page in the buffer, 8 per distinct page that has had a number, and 4
//! per page that may need one. Each group of 64 pages of the drive in which one ever had a number takes 4 bytes per
//! page.
//!
//! **Deviations from the paper.** The policy was made for pages of memory; here its very code holds back the
//! writes of a drive. A trimmed page stays in its place, clean.
//!
//! **Reference.** R. L. Mattson, J. Gecsei, D. R. Slutz, I. L. Traiger: Evaluation techniques for storage hierarchies. IBM
//! Systems Journal 9(2), 1970.

use super::BufferSize;
use super::catalog::Cataloged;
use super::mechanism::paged::{ByCalls, OWN_PARAMETERS_LEN, PageBuffer, with_own_parameters};
use crate::catalog::{self, Description};
use crate::page;
use crate::parameters::{Parameter, Settings};

/// The page policy of the same name as a write buffer.
pub(crate) type Lru = PageBuffer<page::lru::Lru, ByCalls>;

const POLICY: Description = <page::lru::Lru as catalog::Cataloged>::DESCRIPTION;

const PARAMETERS: [Parameter; POLICY.parameters.len() + OWN_PARAMETERS_LEN] =
    with_own_parameters(POLICY.parameters);

impl Cataloged for Lru {
    const DESCRIPTION: Description =
        Description { parameters: &PARAMETERS, source: include_str!("lru.rs"), ..POLICY };

    fn build(settings: &Settings, size: BufferSize) -> Self {
        PageBuffer::with_policy(settings, size)
    }
}
