//! Two tiers of memory; the slow one is read and written in place.
//!
//! The *mechanism* ([`Tiers`]) knows where each page is, gives frames, keeps the slow tier's clock and the shadows, and
//! carries out what a [`TierPolicy`] decides. [`Movements`] learns of each move, so that a driver counts, prices or
//! carries out. Any page policy can be one that keeps the fast tier; the policies in this folder are made for tiers.

pub mod catalog;
pub mod clock_dwf;
mod countdown;
pub mod fixed;
pub mod hemem;
pub mod m_clock;
pub mod memtis;
mod placement;
mod tiers;
pub mod tpp;

pub use countdown::Countdown;
pub use placement::{Placement, Wanted};
pub use tiers::{Served, TierSizes, Tiers};

use crate::{Op, PageId};

/// One of the two tiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// Small and fast: DRAM.
    Fast,
    /// Large and slow, and still memory: CXL, Optane, PCM.
    Slow,
}

/// How a page came into the fast tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// It was in neither tier.
    Placed,
    /// It was in the slow tier.
    Promoted,
}

/// Receives each move, in order. Every method does nothing by default.
pub trait Movements {
    /// A page that was in neither tier is in `tier` now; `is_back` if it had been in memory before.
    fn placed(&mut self, page: PageId, tier: Tier, is_back: bool) {
        let _ = (page, tier, is_back);
    }

    /// A page leaves the slow tier for the fast one, at reference number `now`.
    fn promoted(&mut self, page: PageId, now: u64) {
        let _ = (page, now);
    }

    /// A promotion was refused: the limit is reached, or no frame is free.
    fn refused(&mut self, page: PageId) {
        let _ = page;
    }

    /// A page leaves the fast tier for the slow one, at reference number `now`; `is_free` if its shadow was there.
    fn demoted(&mut self, page: PageId, is_free: bool, now: u64) {
        let _ = (page, is_free, now);
    }

    /// A page leaves for storage; `is_written` if it differs from what is there.
    fn evicted(&mut self, page: PageId, is_written: bool) {
        let _ = (page, is_written);
    }

    /// The shadow of a page in the fast tier gave up its frame.
    fn unshadowed(&mut self, page: PageId) {
        let _ = page;
    }

    /// An access met a mark.
    fn hint_fault(&mut self, page: PageId) {
        let _ = page;
    }

    /// A reference was sampled.
    fn sampled(&mut self) {}

    /// The bits or marks of this number of pages were looked at.
    fn scanned(&mut self, pages: u64) {
        let _ = pages;
    }
}

impl Movements for () {}

/// What decides who lives in the fast tier.
///
/// The steps of a reference: the policy learns where the page is and may promote it, or a page in neither tier is
/// placed. Then the access is served where the page now is. Then the policy may take samples, and at last do work of
/// its own. Pages are numbered in the order of their first references, which breaks ties.
pub trait TierPolicy: Sized {
    /// True if the policy says itself where pages go that are in neither tier.
    const HAS_PLACEMENT: bool = false;

    /// The tier of a page that is in neither tier; the driver's [`Placement`] if `None`.
    fn placement(&self, page: PageId, op: Op) -> Option<Wanted> {
        let _ = (page, op);
        None
    }

    /// A reference begins.
    fn begins(&mut self) {}

    /// The reference found its page in the fast tier.
    fn found_fast(&mut self, page: PageId, op: Op) {
        let _ = (page, op);
    }

    /// The reference found its page in the slow tier; the policy may [promote](Tiers::promote) it before the access.
    fn found_slow<M: Movements>(&mut self, page: PageId, op: Op, tiers: &mut Tiers<M>) {
        let _ = (page, op, tiers);
    }

    /// The page to leave the fast tier for `incoming`; the policy forgets it at once.
    fn choose_victim(&mut self, incoming: PageId) -> PageId;

    /// A page has entered the fast tier.
    fn entered_fast(&mut self, page: PageId, op: Op, entry: Entry);

    /// A page has entered the slow tier.
    fn entered_slow(&mut self, page: PageId) {
        let _ = page;
    }

    /// A page leaves the slow tier, for the fast one or for storage.
    fn left_slow(&mut self, page: PageId) {
        let _ = page;
    }

    /// A page has left for storage: what is known of it is forgotten.
    fn evicted(&mut self, page: PageId) {
        let _ = page;
    }

    /// The access has been served.
    fn served<M: Movements>(&mut self, served: Served, tiers: &mut Tiers<M>) {
        let _ = (served, tiers);
    }

    /// The reference ends: periods, scans and background work.
    fn ends<M: Movements>(&mut self, tiers: &mut Tiers<M>) {
        let _ = tiers;
    }

    /// Shows lists and numbers by name, for tests and for looking on.
    fn inspect(&self, inspector: &mut dyn TierInspector) {
        let _ = inspector;
    }
}

/// Receives the inner state of a tier policy.
pub trait TierInspector {
    /// A list, a row of numbers for each entry: the page, then what is known of it.
    fn list(
        &mut self,
        name: &'static str,
        rows: &mut dyn Iterator<Item = [u64; 4]>,
        columns: usize,
    );

    /// A number.
    fn value(&mut self, name: &'static str, value: u64);
}

/// Shows a list of pages alone.
pub(crate) fn show_pages(
    inspector: &mut dyn TierInspector,
    name: &'static str,
    pages: impl Iterator<Item = PageId>,
) {
    inspector.list(name, &mut pages.map(|page| [u64::from(page.0), 0, 0, 0]), 1);
}
