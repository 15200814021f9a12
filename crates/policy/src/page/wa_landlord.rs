//! # Writeback-Aware Landlord: pages pay rent from a credit that a write raises
//!
//! **What it keeps.** A credit per page: 1 for a clean page, `1 + c` for a dirty one, which is what reading it back and
//! writing it cost in page reads. Pages of either kind are in the order of their last reference: `clean` and
//! `dirty`, the least recently used first; their credits are shown as `clean_credits` and `dirty_credits`.
//!
//! **Victim.** Every page pays the same rent, as much as the poorest page has; that page then has no credit and
//! leaves. If several pages have no credit, the least recently used of them leaves.
//!
//! **On a write.** The page's credit becomes `1 + c`. A read restores the credit of its page, `1` or `1 + c`.
//!
//! **Parameters.** `c`: cost of a page write over that of a page read, at least 1 (default: that of the device;
//! 8 for flash).
//!
//! **Cost per hit and per victim.** One list move; constant: the poorest page is at the head of one of the lists.
//!
//! **Deviations from the paper.** The paper lets a hit raise the credit to any value up to the full one; here it
//! is the full one, which gives LRU if no page is dirty. All pages have the same size. The paper
//! has no write-back without eviction: here such a page becomes clean and keeps a credit of at most 1. A pinned page
//! pays rent until it has no credit, and stays.
//!
//! **Reference.** N. Beckmann, P. B. Gibbons, B. Haeupler, C. McGuffey: Writeback-aware caching. APOCS 2020;
//! announced at SPAA 2019.

use super::{AccessDriven, Capabilities, Fault, Inspector, PagePolicy};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::{Parameter, Settings};
use crate::parts::KeyedLists;
use crate::{Frame, Frames, Op};

/// A page's credit is what its mark is above the rent that a page would have paid since the start, so that collecting
/// rent touches no page. Credits and rent are multiples of one over the denominator of `c`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Mark {
    credit_and_rent: u128,
    /// The number of the reference that set it: the older of two equal marks leaves first.
    reference: u64,
}

/// Numbers of the lists.
const CLEAN: usize = 0;
const DIRTY: usize = 1;

/// Two lists, each in the order of the marks of its pages.
#[derive(Clone, Debug)]
pub struct WaLandlord {
    lists: KeyedLists<Mark, 2>,
    rent: u128,
    references: u64,
    clean_credit: u128,
    dirty_credit: u128,
}

impl Cataloged for WaLandlord {
    const DESCRIPTION: Description = Description {
        name: "wa-landlord",
        summary: "pages pay rent from a credit, which is higher where a page is dirty",
        paper: "Beckmann, Gibbons, Haeupler, McGuffey 2020",
        parameters: &[Parameter::WRITE_COST],
        source: include_str!("wa_landlord.rs"),
    };

    fn build(settings: &Settings, size: Size) -> Self {
        let c = settings.ratio("c").expect("c has a default");
        WaLandlord {
            lists: KeyedLists::new(size.frames),
            rent: 0,
            references: 0,
            clean_credit: c.denominator().into(),
            dirty_credit: (c.denominator() + c.numerator()).into(),
        }
    }
}

impl WaLandlord {
    /// The page in `frame`, which is in no list, is referenced: it has its full credit.
    fn restore(&mut self, frame: Frame, is_dirty: bool) {
        let credit = if is_dirty { self.dirty_credit } else { self.clean_credit };
        self.references += 1;
        let mark = Mark { credit_and_rent: self.rent + credit, reference: self.references };
        self.lists.push_tail(usize::from(is_dirty), frame, mark);
    }

    /// The credit of the page in `frame`, in page reads.
    fn credit(&self, frame: Frame) -> f64 {
        let credit = self.lists.key(frame).credit_and_rent.saturating_sub(self.rent);
        credit as f64 / self.clean_credit as f64
    }
}

impl PagePolicy for WaLandlord {
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        let heads = [CLEAN, DIRTY].map(|list| self.lists.first_unpinned(list, frames));
        let poorest = heads.into_iter().flatten().min_by_key(|&frame| self.lists.key(frame));
        let victim = poorest.expect("a page is not pinned");
        self.rent = self.rent.max(self.lists.key(victim).credit_and_rent);
        self.lists.remove(victim);
        victim
    }

    fn loaded<F: Frames>(&mut self, fault: Fault, frame: Frame, _: &mut F) {
        self.restore(frame, fault.op == Op::Write);
    }

    fn written_back<F: Frames>(&mut self, frame: Frame, _: &F) {
        if self.lists.list_of(frame) == Some(DIRTY) {
            let mut mark = self.lists.key(frame);
            mark.credit_and_rent = mark.credit_and_rent.min(self.rent + self.clean_credit);
            self.lists.place(CLEAN, frame, mark);
        }
    }

    fn dropped<F: Frames>(&mut self, frame: Frame, _: &F) {
        self.lists.remove(frame);
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        let credit = |frame: Frame| self.credit(frame);
        inspector.list("clean", &mut self.lists.iter(CLEAN));
        inspector.values("clean_credits", &mut self.lists.iter(CLEAN).map(credit));
        inspector.list("dirty", &mut self.lists.iter(DIRTY));
        inspector.values("dirty_credits", &mut self.lists.iter(DIRTY).map(credit));
    }

    fn check_invariants<F: Frames>(&self, _: &F) {
        self.lists.check_invariants();
    }
}

impl Capabilities for WaLandlord {
    const TAKES_MORE_PAGES: bool = true;

    fn loaded_clean<F: Frames>(&mut self, frame: Frame, frames: &F) {
        self.written_back(frame, frames);
    }

    /// The page keeps its credit.
    fn made_dirty<F: Frames>(&mut self, frame: Frame, _: &F) {
        self.lists.shift(CLEAN, DIRTY, frame);
    }
}

impl AccessDriven for WaLandlord {
    fn hit<F: Frames>(&mut self, op: Op, frame: Frame, frames: &F) {
        self.lists.remove(frame);
        self.restore(frame, op == Op::Write || frames.is_dirty(frame));
    }
}

#[cfg(test)]
mod tests {
    use crate::worked_examples::run;

    #[test]
    fn a_dirty_page_leaves_when_it_has_paid_its_credit() {
        // Rent 1 at R3, after which 1 has 2 left; again at R4 and at R5, where 1 and 4 have none and 1 is older.
        let after = run("wa-landlord:c=2", 2, "W1 R2 R3 R4");
        assert_eq!(after.evicted, "2 3");
        assert_eq!(after.state, "clean=[4] clean_credits=[1] dirty=[1] dirty_credits=[1]");
        let after = run("wa-landlord:c=2", 2, "W1 R2 R3 R4 R5");
        assert_eq!(after.evicted, "2 3 1*");
        assert_eq!(after.state, "clean=[4 5] clean_credits=[0 1] dirty=[] dirty_credits=[]");
    }

    #[test]
    fn a_hit_restores_the_credit() {
        let after = run("wa-landlord:c=1.5", 2, "W1 R2 R3 R1 R4 W4");
        assert_eq!(after.evicted, "2 3");
        assert_eq!(after.state, "clean=[] clean_credits=[] dirty=[1 4] dirty_credits=[1.5 2.5]");
    }
}
