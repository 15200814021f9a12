//! # CLOCK: second chance, page by page
//!
//! **What it keeps.** A ring of pages in DRAM, a hand, and a reference bit per page.
//!
//! **Victim.** From the hand: a page with reference bit 1 gets bit 0, the first one with bit 0 leaves; a dirty one
//! is written to flash as a batch of one page, a clean one is dropped.
//!
//! **On a write.** Sets the reference bit as a read does; a dirty page is not spared.
//!
//! **Parameters.**
//!
//! * `insert_ref`: the reference bit of a new page (default 0).
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
//! **Cost per hit and per victim.** One look-up and an OR; constant on average. The page policy works with dense
//! numbers. Besides its own memory this takes 21 bytes per page in the buffer, 8 per distinct page that has had a
//! number, and 4 per page that may need one. Each group of 64 pages of the drive in which one ever had a number takes 4
//! bytes per page.
//!
//! **Deviations from the paper.** The policy was made for pages of memory; here its very code holds back the
//! writes of a drive. A trimmed page stays in its place, clean.
//!
//! **Reference.** F. J. Corbató: A paging experiment with the Multics system. In Honor of P. M. Morse, MIT Press, 1969.

use super::BufferSize;
use super::catalog::Cataloged;
use super::mechanism::paged::{ByBits, OWN_PARAMETERS_LEN, PageBuffer, with_own_parameters};
use crate::catalog::{self, Description};
use crate::page;
use crate::parameters::{Parameter, Settings};

/// The page policy of the same name as a write buffer.
pub(crate) type Clock = PageBuffer<page::clock::Clock, ByBits>;

const POLICY: Description = <page::clock::Clock as catalog::Cataloged>::DESCRIPTION;

const PARAMETERS: [Parameter; POLICY.parameters.len() + OWN_PARAMETERS_LEN] =
    with_own_parameters(POLICY.parameters);

impl Cataloged for Clock {
    const DESCRIPTION: Description =
        Description { parameters: &PARAMETERS, source: include_str!("clock.rs"), ..POLICY };

    fn build(settings: &Settings, size: BufferSize) -> Self {
        PageBuffer::with_policy(settings, size)
    }
}
