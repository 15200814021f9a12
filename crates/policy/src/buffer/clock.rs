//! # CLOCK: second chance, page by page
//!
//! **What it keeps.** A ring of pages in DRAM, a hand, and a reference bit per page.
//!
//! **Victim.** From the hand: a page with reference bit 1 gets bit 0, the first one with bit 0 leaves; a dirty one
//! is written to flash as a batch of one page, a clean one is dropped.
//!
//! **On a write.** Sets the reference bit as a read does; a dirty page is not spared.
//!
//! **Parameters.** `insert_ref`: the reference bit of a new page (default 0). `cache_reads`: a read miss brings its page into the buffer (default true).
//! `cluster`: a dirty victim leaves alone (`page`, default), or takes the other dirty pages of its block along
//! in one batch, which stay and are clean (`block`). `commands`: `paper` (default) ignores FLUSH and FUA;
//! `safe` writes all dirty pages, the one that has been dirty for longest first, which stay and are clean, and
//! writes an FUA page through.
//!
//! **Cost per hit and per victim.** One look-up and an OR; constant on average. Besides the policy's own
//! memory, 21 bytes per page in the buffer, 8 per distinct page that has needed a dense number, 4 per page of the drive next to
//! which (in its 64) one ever did, and 4 per page that may need one, since the page policy works with dense numbers.
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
