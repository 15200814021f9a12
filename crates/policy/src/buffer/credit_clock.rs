//! # CREDIT-CLOCK: a clock that looks at a page again only when its credit has run out, page by page
//!
//! **What it keeps.** What the page policy of this name keeps: `2K + R + 1` FIFO lists of pages in DRAM in a circle, the hand in one
//! of them; a reference bit and a level per page.
//!
//! **Victim.** As in the page policy. A dirty one is written to flash as a batch of one page, a clean one is dropped.
//!
//! **On a write.** A hit sets the reference bit as a read does. A page that a write loads begins with credit `K`.
//!
//! **Parameters.**
//!
//! * `c`: the cost of a page write over that of a page read (default: the drive's ratio).
//!
//! * `k`: `K` itself, instead of `c`.
//!
//! * `clean_levels`, `dirty_levels`, `new_dirty_share`: as in the page policy (default 4, 2 and 1).
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
//! **Deviations from the paper.** There is none; `docs/policies.md` says where it helps. A trimmed page stays in its
//! place, clean.
//!
//! **Reference.** Clockhand, docs/policies.md, 2026.

use super::BufferSize;
use super::catalog::Cataloged;
use super::mechanism::paged::{ByBits, OWN_PARAMETERS_LEN, PageBuffer, with_own_parameters};
use crate::catalog::{self, Description};
use crate::page;
use crate::parameters::{Parameter, Settings};

/// The page policy of the same name as a write buffer.
pub(crate) type CreditClock = PageBuffer<page::credit_clock::CreditClock, ByBits>;

const POLICY: Description = <page::credit_clock::CreditClock as catalog::Cataloged>::DESCRIPTION;

const PARAMETERS: [Parameter; POLICY.parameters.len() + OWN_PARAMETERS_LEN] =
    with_own_parameters(POLICY.parameters);

impl Cataloged for CreditClock {
    const DESCRIPTION: Description =
        Description { parameters: &PARAMETERS, source: include_str!("credit_clock.rs"), ..POLICY };

    fn build(settings: &Settings, size: BufferSize) -> Self {
        PageBuffer::with_policy(settings, size)
    }
}
