//! # M-CLOCK: migration-optimized clock
//!
//! **What it keeps.** The pages of the fast tier on a clock with the *D-hand*: for each a reference bit, set by every access
//! after it came, and a written bit, set by every write. Time is the number of pages that the D-hand has passed. For each page of
//! the slow tier, the time of its last write there.
//!
//! **Victim.** From the D-hand: a page whose written bit is set loses that bit, one whose reference bit alone is set loses
//! that, and the hand moves on. The first page with neither is demoted. So a page that was written stays for two rounds of the
//! hand, and one that was only read for one.
//!
//! **On a write.** A slow page is migrated lazily: its first write is served where it is. A further one promotes it first, if
//! the D-hand has gone around at most `rounds` times since the last one; it enters with both bits set. A new page that is
//! written goes to the fast tier, with no bit set, a new page that is read to the slow one, whether there is room or not.
//! Reads never promote.
//!
//! **Parameters.** `rounds`: how often the D-hand may go around between two writes that promote a page, a round being as many
//! pages as the fast tier has then (default 1).
//!
//! **Cost per hit and per victim.** Constant per access; a victim costs the movements of the hand, at most two for each
//! access before. 20 bytes per page.
//!
//! **Deviations from the paper.** This is our reading: its text was not at hand. It is established that pages which are written
//! often are to be in DRAM, that migration is lazy, that dirty and reference bits say which page is demoted, and that the two
//! memories have hands of their own; the slow tier's is that of every policy here. The order of the bits, the limit for two
//! writes and where new pages go are ours.
//!
//! **Reference.** M. Lee, D. H. Kang, Y. I. Eom: M-CLOCK: migration-optimized page replacement algorithm for hybrid memory
//! architecture. ACM Transactions on Storage 14(3), 2018; with J. Kim: SAC 2015.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use super::catalog::{Cataloged, TierSize};
use super::{Entry, Movements, TierInspector, TierPolicy, Tiers, Wanted};
use crate::catalog::Description;
use crate::parameters::{Default, Domain, Parameter, Settings};
use crate::{Op, PageId};

/// The policy.
#[derive(Clone, Debug)]
pub struct MClock {
    /// The fast tier's pages, from the one under the D-hand.
    clock: VecDeque<PageId>,
    pages: Vec<Page>,
    /// How many pages the D-hand has passed.
    passed: u64,
    rounds: u64,
}

#[derive(Clone, Copy, Debug, core::default::Default)]
struct Page {
    /// The time of the last write in the slow tier, plus 1; 0 if there was none.
    slow_write: u64,
    is_referenced: bool,
    is_written: bool,
}

impl Cataloged for MClock {
    const DESCRIPTION: Description = Description {
        name: "m-clock",
        summary: "a slow page is promoted when it is written again; pages not written are demoted",
        paper: "Lee, Kang, Eom 2018",
        parameters: &[Parameter {
            name: "rounds",
            summary: "rounds of the hand between two writes that promote a page",
            domain: Domain::Count { min: 0, max: 65_535 },
            default: Default::Value("1"),
            only_with: None,
        }],
        source: include_str!("m_clock.rs"),
    };

    fn build(settings: &Settings, size: TierSize) -> Self {
        MClock {
            clock: VecDeque::new(),
            pages: vec![Page::default(); size.pages as usize],
            passed: 0,
            rounds: settings.count("rounds").expect("it has a default"),
        }
    }
}

impl TierPolicy for MClock {
    const HAS_PLACEMENT: bool = true;

    fn placement(&self, _: PageId, op: Op) -> Option<Wanted> {
        Some(Wanted::by_operation(op))
    }

    #[inline]
    fn found_fast(&mut self, page: PageId, op: Op) {
        let known = &mut self.pages[page.index()];
        known.is_referenced = true;
        known.is_written |= op == Op::Write;
    }

    #[inline]
    fn found_slow<M: Movements>(&mut self, page: PageId, op: Op, tiers: &mut Tiers<M>) {
        if op == Op::Read {
            return;
        }
        let now = self.passed + 1;
        let last = core::mem::replace(&mut self.pages[page.index()].slow_write, now);
        if last > 0 && now - last <= self.rounds * self.clock.len() as u64 {
            tiers.promote(self, page, op);
        }
    }

    fn choose_victim(&mut self, _: PageId) -> PageId {
        loop {
            let page = self.clock.pop_front().expect("a full tier has pages");
            self.passed += 1;
            let known = &mut self.pages[page.index()];
            if known.is_written {
                known.is_written = false;
            } else if known.is_referenced {
                known.is_referenced = false;
            } else {
                return page;
            }
            self.clock.push_back(page);
        }
    }

    fn entered_fast(&mut self, page: PageId, _: Op, entry: Entry) {
        let is_hot = entry == Entry::Promoted;
        self.pages[page.index()] =
            Page { slow_write: 0, is_referenced: is_hot, is_written: is_hot };
        self.clock.push_back(page);
    }

    fn evicted(&mut self, page: PageId) {
        self.pages[page.index()] = Page::default();
    }

    fn inspect(&self, inspector: &mut dyn TierInspector) {
        let row = |&page: &PageId| {
            let known = &self.pages[page.index()];
            [page.0.into(), known.is_referenced.into(), known.is_written.into(), 0]
        };
        inspector.list("from_hand", &mut self.clock.iter().map(row), 3);
        let written = self.pages.iter().enumerate().filter(|(_, known)| known.slow_write > 0);
        let mut rows = written.map(|(page, known)| [page as u64, known.slow_write - 1, 0, 0]);
        inspector.list("written_slow", &mut rows, 2);
        inspector.value("passed", self.passed);
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;
    use alloc::vec::Vec;

    use crate::tier::catalog::{TierSize, TierSpec, Visitor};
    use crate::tier::{Movements, Placement, Tier, TierPolicy, TierSizes, Tiers};
    use crate::{Op, PageId};

    /// `f1` placed in the fast tier, `s1` in the slow one, `+1` promoted, `-1` demoted.
    struct Noted(Vec<String>);

    impl Movements for Noted {
        fn placed(&mut self, page: PageId, tier: Tier, _: bool) {
            let tier = if tier == Tier::Fast { "f" } else { "s" };
            self.0.push(format!("{tier}{}", page.0));
        }

        fn promoted(&mut self, page: PageId, _: u64) {
            self.0.push(format!("+{}", page.0));
        }

        fn demoted(&mut self, page: PageId, _: bool, _: u64) {
            self.0.push(format!("-{}", page.0));
        }
    }

    struct Example<'a>(u32, &'a str);

    impl Visitor for Example<'_> {
        type Output = String;

        fn visit<P: TierPolicy + 'static>(self, mut policy: P) -> String {
            let Example(fast_frames, references) = self;
            let sizes = TierSizes {
                fast_frames,
                slow_frames: None,
                pages: 10,
                placement: Placement::Fast,
                keeps_shadows: false,
                most_promotions: None,
            };
            let mut tiers = Tiers::new(sizes, Noted(Vec::new()));
            for reference in references.split(' ') {
                let (op, page) = reference.split_at(1);
                let op = if op == "W" { Op::Write } else { Op::Read };
                tiers.reference(&mut policy, PageId(page.parse().expect("a page")), op);
            }
            tiers.movements().0.join(" ")
        }
    }

    fn movements(policy: &str, fast_frames: u32, references: &str) -> String {
        let spec = TierSpec::parse(policy).expect("it is in the catalog").expect("it is right");
        spec.build(TierSize { fast_frames, pages: 10 }, Example(fast_frames, references))
    }

    #[test]
    fn a_slow_page_is_promoted_when_it_is_written_again_and_not_before() {
        assert_eq!(movements("m-clock", 2, "W1 W2 W3 W1 R1 R1"), "f1 f2 f3 -1");
        assert_eq!(movements("m-clock", 2, "W1 W2 W3 W1 W1"), "f1 f2 f3 -1 +1 -2");
    }

    #[test]
    fn a_write_is_forgotten_when_the_hand_has_gone_around() {
        // The hand passes 2, the only page of the fast tier, between the two writes of 1: that is one round.
        let references = "W1 W2 W1 W3 W1";
        assert_eq!(movements("m-clock", 1, references), "f1 f2 -1 f3 -2 +1 -3");
        assert_eq!(movements("m-clock:rounds=0", 1, references), "f1 f2 -1 f3 -2");
    }

    #[test]
    fn a_written_page_stays_for_longer_than_one_that_was_only_read() {
        assert_eq!(movements("m-clock", 2, "W1 W2 W1 R2 W3"), "f1 f2 f3 -2");
        assert_eq!(movements("m-clock", 2, "W1 W2 R1 R2 W3"), "f1 f2 f3 -1");
    }

    #[test]
    fn a_new_page_that_is_read_goes_to_the_slow_tier_although_there_is_room() {
        assert_eq!(movements("m-clock", 1, "R1 W2 R1 W1 W1"), "s1 f2 +1 -2");
    }
}
