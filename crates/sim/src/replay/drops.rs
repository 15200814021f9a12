//! Pages that leave between two records because their content ends.

use clockhand_policy::PageId;
use clockhand_policy::memory::fast::FastMemory;
use clockhand_policy::page::PagePolicy;
use clockhand_trace::Drop;

use super::{Admission, Feed, Observer, Replay, Runs};

/// The drops of a view that are still to come.
pub(super) struct DropsAhead<'a> {
    drops: &'a [Drop],
    /// Records that were replayed.
    records: usize,
}

impl<'a> DropsAhead<'a> {
    pub(super) fn of(runs: &Runs<'a>) -> Self {
        let drops = match runs {
            Runs::View(view) => view.drops(),
            Runs::Stream(_) => &[],
        };
        DropsAhead { drops, records: 0 }
    }

    /// Records that can be replayed until the next drop, at most `most`.
    pub(super) fn until_next(&self, most: usize) -> usize {
        self.drops.first().map_or(most, |drop| most.min(drop.before - self.records))
    }

    pub(super) fn pass(&mut self, records: usize) {
        self.records += records;
    }

    /// Those that come before the next record.
    pub(super) fn due(&mut self) -> &'a [Drop] {
        let count = self.drops.iter().take_while(|drop| drop.before == self.records).count();
        let (due, later) = self.drops.split_at(count);
        self.drops = later;
        due
    }
}

impl<P: PagePolicy, T: Feed<P>, O: Observer, A: Admission> Replay<P, T, O, A> {
    /// Pages leave, and are never written: their content is not needed any more.
    pub(super) fn end_content(&mut self, drops: &[Drop]) {
        for drop in drops {
            for page in drop.pages.clone() {
                let Some(frame) = self.memory.find(PageId(page)) else { continue };
                match self.memory.drop_page(frame) {
                    true => self.counted.dropped_dirty += 1,
                    false => self.counted.dropped_clean += 1,
                }
            }
        }
    }
}
