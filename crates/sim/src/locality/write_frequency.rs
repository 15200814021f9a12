//! Writes by the frequency rank of their page: the CRAW paper's Figure 5.

use clockhand_quantity::option;
use clockhand_trace::PageView;

use super::ranking::Ranking;
use super::{Kind, for_each_reference};
use crate::error::SimError;
use clockhand_trace::progress::Progress;

/// The ranking of pages with equally many writes so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Ties {
    /// The page that reached the count first ranks first: a written page overtakes only pages with fewer writes.
    #[default]
    Stable,
    /// The page that reached the count last ranks first.
    Recent,
    /// All of them have the best rank: 1 + the pages with more writes.
    Best,
}

impl Ties {
    /// The words for them in `--ties`.
    pub const WORDS: &'static [&'static str] = &["stable", "recent", "best"];

    /// Reads `--ties`.
    ///
    /// # Errors
    ///
    /// The word is none of them.
    pub fn named(word: &str) -> Result<Self, SimError> {
        match word {
            "stable" => Ok(Ties::Stable),
            "recent" => Ok(Ties::Recent),
            "best" => Ok(Ties::Best),
            _ => Err(SimError::usage(
                option("ties") + format!(" {word:?} is unknown"),
                "give stable, recent or best",
            )),
        }
    }
}

/// The ranking by writes so far, most first; the rank is taken before the write is counted.
///
/// The trace is known, so each count `c` gets one slot for each page that will ever reach it, in the order of
/// arrival, and larger counts stand before smaller ones. A write moves its page to the next slot of the next larger
/// count, and a rank is a number of occupied slots. O(log writes) for each write, 1.5 bits for each slot.
pub(super) fn write_frequency_ranking(
    view: &PageView,
    ties: Ties,
    blocks: u64,
    progress: &Progress,
) -> Result<Ranking, SimError> {
    let ranking = Ranking::in_blocks(blocks, view.write_references());
    let mut state = (FrequencyOrder::of(view), ranking);
    for_each_reference(
        view,
        progress,
        &mut state,
        |(order, _), page| order.look_ahead(page),
        |(order, ranking), page, is_write| {
            if Kind::Write.includes(is_write) {
                ranking.add(order.rank(page, ties));
                order.write(page);
            }
        },
    )?;
    Ok(state.1)
}

struct FrequencyOrder {
    slots: OccupiedSlots,
    /// Entry `c`: the first slot of count `c`; the slots of `c` end where those of `c - 1` begin.
    first_slot: Vec<usize>,
    /// Entry `c`: the next free slot of count `c`.
    free_slot: Vec<usize>,
    writes: Vec<u32>,
    slot: Vec<usize>,
}

impl FrequencyOrder {
    fn of(view: &PageView) -> Self {
        let mut writes = vec![0_u32; view.footprint_pages() as usize];
        for record in view.records() {
            writes[record.page() as usize] += u32::from(record.first_is_write());
        }
        let most_writes = writes.iter().copied().max().unwrap_or(0) as usize;
        // Entry c: pages that reach c writes; first those that end there.
        let mut reaching = vec![0_usize; most_writes + 2];
        for &count in &writes {
            reaching[count as usize] += 1;
        }
        let mut first_slot = vec![0_usize; most_writes + 2];
        for count in (1..=most_writes).rev() {
            first_slot[count] = first_slot[count + 1] + reaching[count + 1];
            reaching[count] += reaching[count + 1];
        }
        first_slot[0] = first_slot[1] + reaching[1];
        let slots = OccupiedSlots::new(first_slot[0]);
        let slot = vec![0; writes.len()];
        writes.fill(0);
        FrequencyOrder { slots, free_slot: first_slot.clone(), first_slot, writes, slot }
    }

    #[inline]
    fn look_ahead(&self, page: u32) {
        std::hint::black_box((self.writes[page as usize], self.slot[page as usize]));
    }

    fn rank(&self, page: u32, ties: Ties) -> Option<u32> {
        let (count, slot) = (self.writes[page as usize] as usize, self.slot[page as usize]);
        let before = |slot| self.slots.occupied_before(slot);
        let [first, end] = [self.first_slot[count], self.first_slot[count.checked_sub(1)?]];
        Some(match ties {
            Ties::Stable => before(slot) + 1,
            Ties::Recent => before(first) + before(end) - before(slot),
            Ties::Best => before(first) + 1,
        })
    }

    fn write(&mut self, page: u32) {
        let page = page as usize;
        if self.writes[page] > 0 {
            self.slots.vacate(self.slot[page]);
        }
        self.writes[page] += 1;
        let free = &mut self.free_slot[self.writes[page] as usize];
        self.slot[page] = *free;
        *free += 1;
        self.slots.occupy(self.slot[page]);
    }
}

/// A set of slots that counts how many stand before one: a Fenwick tree over words of 64.
struct OccupiedSlots {
    occupied: Vec<u64>,
    /// Entry `i` counts the occupied slots of the `i & -i` words before word `i`.
    tree: Vec<u32>,
}

impl OccupiedSlots {
    fn new(slots: usize) -> Self {
        let words = slots / 64 + 1;
        OccupiedSlots { occupied: vec![0; words], tree: vec![0; words + 1] }
    }

    fn occupied_before(&self, slot: usize) -> u32 {
        let mut word = slot / 64;
        let mut count = (self.occupied[word] & ((1 << (slot % 64)) - 1)).count_ones();
        while word > 0 {
            count += self.tree[word];
            word &= word - 1;
        }
        count
    }

    fn occupy(&mut self, slot: usize) {
        self.occupied[slot / 64] |= 1 << (slot % 64);
        self.for_each_entry(slot, |count| *count += 1);
    }

    fn vacate(&mut self, slot: usize) {
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        self.for_each_entry(slot, |count| *count -= 1);
    }

    fn for_each_entry(&mut self, slot: usize, change: impl Fn(&mut u32)) {
        let mut entry = slot / 64 + 1;
        while let Some(count) = self.tree.get_mut(entry) {
            change(count);
            entry += entry & entry.wrapping_neg();
        }
    }
}
