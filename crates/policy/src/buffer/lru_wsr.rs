//! # LRU-WSR: LRU with write sequence reordering, page by page
//!
//! **What it keeps.** An LRU list of pages in DRAM, and a cold flag for each.
//!
//! **Victim.** The page at the LRU end, unless it is dirty and not cold: that one becomes cold and moves to the MRU end.
//! A dirty victim is written to flash as a batch of one page, a clean one is dropped.
//!
//! **On a write.** Moves the page to the MRU end and clears its cold flag as a read does.
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
//! **Cost per hit and per victim.** One look-up and a list move; constant on average. The page policy works with dense
//! numbers. Besides its own memory this takes 21 bytes per page in the buffer, 8 per distinct page that has had a
//! number, and 4 per page that may need one. Each group of 64 pages of the drive in which one ever had a number takes 4
//! bytes per page.
//!
//! **Deviations from the paper.** The policy was made for pages of memory; here its very code holds back the
//! writes of a drive. A trimmed page stays in its place, clean.
//!
//! **Reference.** H. Jung, H. Shim, S. Park, S. Kang, J. Cha: LRU-WSR: integration of LRU and writes sequence reordering
//! for flash memory. IEEE Transactions on Consumer Electronics 54(3), 2008.

use super::BufferSize;
use super::catalog::Cataloged;
use super::mechanism::paged::{ByCalls, OWN_PARAMETERS_LEN, PageBuffer, with_own_parameters};
use crate::catalog::{self, Description};
use crate::page;
use crate::parameters::{Parameter, Settings};

/// The page policy of the same name as a write buffer.
pub(crate) type LruWsr = PageBuffer<page::lru_wsr::LruWsr, ByCalls>;

const POLICY: Description = <page::lru_wsr::LruWsr as catalog::Cataloged>::DESCRIPTION;

const PARAMETERS: [Parameter; POLICY.parameters.len() + OWN_PARAMETERS_LEN] =
    with_own_parameters(POLICY.parameters);

impl Cataloged for LruWsr {
    const DESCRIPTION: Description =
        Description { parameters: &PARAMETERS, source: include_str!("lru_wsr.rs"), ..POLICY };

    fn build(settings: &Settings, size: BufferSize) -> Self {
        PageBuffer::with_policy(settings, size)
    }
}
