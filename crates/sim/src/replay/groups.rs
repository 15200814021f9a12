//! Records in groups, for traces where hits and misses are mixed: one jump that is guessed wrong instead of several branches.
//!
//! The processor cannot predict whether a page is in memory. So the loop looks that up for all pages of a group first,
//! and has code for each outcome, where nearly every branch is predictable. The outcome is a hint and no more: each
//! record asks memory again, since those before it may have changed it.

use clockhand_policy::PageId;
use clockhand_policy::memory::fast::FastMemory;
use clockhand_policy::page::PagePolicy;
use clockhand_trace::Record;

use super::{Admission, Feed, Observer, Replay};

/// More records have twice as much code for each, and gain little.
const GROUP: usize = 5;

/// Groups gain where more than this share of the references miss, in percent. With fewer misses, branches are predicted
/// well enough, and the look takes longer than it saves.
const MISSES_PERCENT: u64 = 30;

/// Returns whether records that come after `records`, of which `misses` missed, are better replayed in groups.
pub(super) fn gain_after(records: usize, misses: u64) -> bool {
    misses * 100 > records as u64 * MISSES_PERCENT
}

/// Calls a function with the outcome of a group as a constant: one bit per record, set if its page is absent.
macro_rules! by_outcome {
    ($outcome:expr, $replay:ident.$function:ident($group:expr); $($known:literal)*) => {
        match $outcome {
            $($known => $replay.$function::<$known>($group),)*
            _ => unreachable!("a bit per record"),
        }
    };
}

impl<P: PagePolicy, T: Feed<P>, O: Observer, A: Admission> Replay<P, T, O, A> {
    /// True if groups may gain at all. Policies whose records are looked up ahead, or whose hits take more than a few
    /// instructions, do not wait for branches; observers and admissions go record by record. Policies with short hits
    /// see nothing [before a record](Feed::before).
    pub(super) const GROUPS: bool =
        T::HITS_ARE_SHORT && !P::LOOKS_AHEAD && !O::OBSERVES && !A::HEARS_MISSES;

    /// Replays `records`, as [`Replay::reference`] does one by one.
    #[inline(never)]
    pub(super) fn references_in_groups(&mut self, records: &[Record]) {
        let (groups, rest) = records.as_chunks();
        let mut soon = groups.first().map_or(0, |group| self.absent(group));
        for (group, next) in groups.iter().zip(groups.iter().skip(1).chain(groups.last())) {
            let outcome = soon;
            // Before the group is replayed, so that nothing waits for it.
            soon = self.absent(next);
            by_outcome!(outcome, self.group(group);
                0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);
        }
        rest.iter().for_each(|&record| self.single(record));
    }

    /// Which pages of a group are not in memory.
    #[inline(always)]
    fn absent(&self, group: &[Record; GROUP]) -> usize {
        let is_absent =
            |at: usize| usize::from(!self.memory.contains(PageId(group[at].page()))) << at;
        (0..GROUP).map(is_absent).sum()
    }

    #[inline(always)]
    fn group<const OUTCOME: usize>(&mut self, group: &[Record; GROUP]) {
        let &[first, second, third, fourth, fifth] = group;
        self.expecting(OUTCOME & 1 != 0, first);
        self.expecting(OUTCOME & 2 != 0, second);
        self.expecting(OUTCOME & 4 != 0, third);
        self.expecting(OUTCOME & 8 != 0, fourth);
        self.expecting(OUTCOME & 16 != 0, fifth);
    }

    /// As [`Replay::reference`], in code for one that hits or for one that misses.
    #[inline(always)]
    fn expecting(&mut self, a_miss: bool, record: Record) {
        match self.memory.find(PageId(record.page())) {
            Some(frame) if !a_miss => self.feed.hit(&mut self.memory, record, frame),
            None if a_miss => self.miss(record),
            _ => self.single(record),
        }
    }

    /// Not inlined, since there is a place for it in every second record of every outcome.
    #[inline(never)]
    fn miss(&mut self, record: Record) {
        if !self.replace(record) {
            self.fault(record);
        }
    }

    /// As [`Replay::reference`], where it is rare and by itself.
    #[cold]
    #[inline(never)]
    pub(super) fn single(&mut self, record: Record) {
        self.reference(record);
    }
}
