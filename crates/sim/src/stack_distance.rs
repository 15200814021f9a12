//! Stack distances of LRU, and from them what LRU counts at every memory size, in one pass.
//!
//! The stack distance of a reference is the place of its page on the LRU stack just before it, counted from 1 at the
//! most recently used end. LRU hits exactly if it has at least that many frames (Mattson et al. 1970). A page that is
//! written stays dirty until the first eviction after the write. Consider the stretch from a write of it to the next
//! one, or to the end of the trace. It is written back in this stretch exactly if the largest stack distance within it
//! exceeds the number of frames.

use clockhand_trace::{PageView, Record};

use crate::chunk::CHUNK_RECORDS;
use crate::error::SimError;
use crate::replay::{Counts, ReplayOptions};
use clockhand_trace::progress::Progress;

/// The policy whose counts at all memory sizes come from one pass.
pub(crate) const LRU: &str = "lru";
/// This many replays take about as long as the pass (measured with 20 million references).
pub(crate) const PASS_REPLAYS: usize = 5;

/// The page has not been referenced yet.
const ABSENT: u32 = u32::MAX;
const SLOTS_PER_WORD: u32 = u64::BITS;
/// Slots for each page: the more there are, the less often the stack is packed. A slot takes one and a half bits.
const SLOTS_PER_PAGE: usize = 4;
/// Records whose pages are looked up together before they are counted, so that these reads do not wait for each other.
pub(crate) const LOOK_AHEAD_RECORDS: usize = 32;

/// Pages in the order of their last references.
///
/// Each reference takes the next slot, and a bit says whether a slot is still its page's last one. A Fenwick tree
/// counts those bits by words of 64, so that a distance costs a logarithm of the number of pages. When the slots run
/// out, the occupied ones are packed to the front. 4 bytes and 6 bits for each page.
#[derive(Clone, Debug)]
pub(crate) struct LruStack {
    slot_of_page: Vec<u32>,
    occupied: Vec<u64>,
    /// Entry `i` counts the occupied slots of the `i & -i` words before word `i`. Entries from `next_slot`'s word on
    /// are made when the word before them is full of slots, and hold nothing until then.
    tree: Vec<u32>,
    next_slot: u32,
    pages_on_stack: u32,
}

impl LruStack {
    /// An empty stack for pages numbered below `pages`, at most 2^29.
    pub(crate) fn new(pages: u32) -> Self {
        let words = (pages as usize * SLOTS_PER_PAGE).div_ceil(SLOTS_PER_WORD as usize).max(1);
        LruStack {
            slot_of_page: vec![ABSENT; pages as usize],
            occupied: vec![0; words],
            tree: vec![0; words + 1],
            next_slot: 0,
            pages_on_stack: 0,
        }
    }

    /// Has the processor fetch what it will need of a page that is referenced soon.
    #[inline]
    pub(crate) fn look_ahead(&self, page: u32) {
        std::hint::black_box(self.slot_of_page[page as usize]);
    }

    /// Moves `page` to the top and returns its stack distance, or `None` if this is its first reference.
    #[inline]
    pub(crate) fn reference(&mut self, page: u32) -> Option<u32> {
        if self.next_slot as usize == self.occupied.len() * SLOTS_PER_WORD as usize {
            self.pack();
        }
        let slot = self.slot_of_page[page as usize];
        let distance = if slot == ABSENT {
            self.pages_on_stack += 1;
            None
        } else if slot + 1 == self.next_slot {
            return Some(1);
        } else {
            let distance = self.pages_on_stack - self.occupied_before(slot);
            self.vacate(slot);
            Some(distance)
        };
        self.slot_of_page[page as usize] = self.next_slot;
        self.occupy_next();
        distance
    }

    /// The place of `page` on the stack, or `None` if it has not been referenced.
    pub(crate) fn depth(&self, page: u32) -> Option<u32> {
        let slot = self.slot_of_page[page as usize];
        (slot != ABSENT).then(|| self.pages_on_stack - self.occupied_before(slot))
    }

    /// Takes `page` off the stack, as if it had never been referenced.
    pub(crate) fn forget(&mut self, page: u32) {
        let slot = std::mem::replace(&mut self.slot_of_page[page as usize], ABSENT);
        if slot != ABSENT {
            self.vacate(slot);
            self.pages_on_stack -= 1;
        }
    }

    #[inline]
    fn occupied_before(&self, slot: u32) -> u32 {
        let word = slot / SLOTS_PER_WORD;
        let before_in_word = (1_u64 << (slot % SLOTS_PER_WORD)) - 1;
        let mut count = (self.occupied[word as usize] & before_in_word).count_ones();
        let mut entry = word;
        while entry > 0 {
            count += self.tree[entry as usize];
            entry &= entry - 1;
        }
        count
    }

    #[inline]
    fn vacate(&mut self, slot: u32) {
        let word = slot / SLOTS_PER_WORD;
        self.occupied[word as usize] &= !(1 << (slot % SLOTS_PER_WORD));
        let made_entries = self.next_slot / SLOTS_PER_WORD;
        let mut entry = word + 1;
        while entry <= made_entries {
            self.tree[entry as usize] -= 1;
            entry += entry & entry.wrapping_neg();
        }
    }

    #[inline]
    fn occupy_next(&mut self) {
        let word = self.next_slot / SLOTS_PER_WORD;
        self.occupied[word as usize] |= 1 << (self.next_slot % SLOTS_PER_WORD);
        self.next_slot += 1;
        if self.next_slot.is_multiple_of(SLOTS_PER_WORD) {
            self.make_entry(word + 1);
        }
    }

    /// The entry that counts `entry & -entry` words up to the one that has just been filled.
    fn make_entry(&mut self, entry: u32) {
        let mut count = self.occupied[entry as usize - 1].count_ones();
        let first = entry & (entry - 1);
        let mut part = entry - 1;
        while part > first {
            count += self.tree[part as usize];
            part &= part - 1;
        }
        self.tree[entry as usize] = count;
    }

    /// Moves the occupied slots to the front, in their order.
    fn pack(&mut self) {
        // The tree's memory takes, for each word, the occupied slots of all words before it.
        let mut before = 0;
        for (entry, word) in self.tree.iter_mut().zip(&self.occupied) {
            *entry = before;
            before += word.count_ones();
        }
        for slot in self.slot_of_page.iter_mut().filter(|slot| **slot != ABSENT) {
            let word = (*slot / SLOTS_PER_WORD) as usize;
            let before_in_word = (1_u64 << (*slot % SLOTS_PER_WORD)) - 1;
            *slot = self.tree[word] + (self.occupied[word] & before_in_word).count_ones();
        }
        self.occupied.fill(0);
        self.next_slot = 0;
        for _ in 0..self.pages_on_stack {
            self.occupy_next();
        }
    }
}

/// What LRU counts on a page view at every memory size.
#[derive(Clone, Debug)]
pub(crate) struct LruCounts {
    read_misses: CountsBeyond,
    write_misses: CountsBeyond,
    /// Stretches between writes of a page, by their largest distance.
    dirty_evictions: CountsBeyond,
    /// Of those, the ones that reach the end of the trace.
    last_dirty_evictions: CountsBeyond,
    /// Entry `i` is the record, from 1, in which page number `i + 1` appears.
    first_records: Vec<u64>,
    pages: u32,
}

impl LruCounts {
    /// One pass over the view. Progress advances as if it were `replays` replays.
    pub(crate) fn of(view: &PageView, progress: &Progress, replays: u64) -> Result<Self, SimError> {
        Self::observed(view, progress, replays, |_| {})
    }

    /// The same, which tells the stack distance of each record; that of a first reference is the number of pages and one.
    pub(crate) fn observed(
        view: &PageView,
        progress: &Progress,
        replays: u64,
        mut observe: impl FnMut(u32),
    ) -> Result<Self, SimError> {
        let mut pass = Pass::new(view.footprint_pages());
        let mut chunks = view.chunks(CHUNK_RECORDS, 0);
        while let Some(chunk) = chunks.next()? {
            for records in chunk.records.chunks(LOOK_AHEAD_RECORDS) {
                records.iter().for_each(|record| pass.look_ahead(record.page()));
                records.iter().for_each(|&record| observe(pass.reference(record)));
            }
            progress.add_done(replays * chunk.records.len() as u64);
            if progress.is_cancelled() {
                return Err(SimError::Interrupted);
            }
        }
        Ok(pass.finish())
    }

    /// The number of records that have this stack distance, from 1 to the number of pages, by whether they write first.
    pub(crate) fn at_distance(&self, distance: u32) -> (u64, u64) {
        let at = |misses: &CountsBeyond| misses.beyond(distance - 1) - misses.beyond(distance);
        (at(&self.read_misses), at(&self.write_misses))
    }

    /// Entry `i` is the record, from 1, in which page number `i + 1` appears.
    pub(crate) fn first_records(&self) -> &[u64] {
        &self.first_records
    }

    /// The counts of a replay with this many frames. The source of bits makes no difference to LRU.
    pub(crate) fn at(&self, frames: u32, options: ReplayOptions) -> Counts {
        let frames = frames.min(self.pages);
        let read_misses = self.read_misses.beyond(frames);
        let write_misses = self.write_misses.beyond(frames);
        let dirty_evictions = self.dirty_evictions.beyond(frames);
        let last = &self.last_dirty_evictions;
        let dirty_at_end = last.beyond(0) - last.beyond(frames);
        Counts {
            read_misses,
            write_misses,
            read_ios: options.fetched(read_misses, write_misses),
            // At the end every frame holds a page: all others that were loaded have left.
            clean_evictions: read_misses + write_misses - u64::from(frames) - dirty_evictions,
            dirty_evictions,
            flush_writes: if options.flush_at_end { dirty_at_end } else { 0 },
            ..Counts::default()
        }
    }
}

/// The page is clean.
const CLEAN: u32 = 0;

struct Pass {
    stack: LruStack,
    /// The largest distance since the page's last write, at least 1, or [`CLEAN`] before the first write.
    largest_since_write: Vec<u32>,
    records: u64,
    counts: LruCounts,
}

impl Pass {
    fn new(pages: u32) -> Self {
        let none = CountsBeyond::new(pages);
        Pass {
            stack: LruStack::new(pages),
            largest_since_write: vec![CLEAN; pages as usize],
            records: 0,
            counts: LruCounts {
                read_misses: none.clone(),
                write_misses: none.clone(),
                dirty_evictions: none.clone(),
                last_dirty_evictions: none,
                first_records: Vec::with_capacity(pages as usize),
                pages,
            },
        }
    }

    #[inline]
    fn look_ahead(&self, page: u32) {
        self.stack.look_ahead(page);
        std::hint::black_box(self.largest_since_write[page as usize]);
    }

    /// The stack distance of the record.
    #[inline]
    fn reference(&mut self, record: Record) -> u32 {
        self.records += 1;
        let LruCounts { read_misses, write_misses, dirty_evictions, first_records, pages, .. } =
            &mut self.counts;
        let distance = match self.stack.reference(record.page()) {
            Some(distance) => distance,
            None => {
                first_records.push(self.records);
                // It misses at every size.
                *pages + 1
            }
        };
        let misses = if record.first_is_write() { write_misses } else { read_misses };
        misses.add(distance);
        let largest = &mut self.largest_since_write[record.page() as usize];
        if *largest != CLEAN {
            *largest = distance.max(*largest);
        }
        if record.first_is_write() || record.rest_writes() {
            if *largest != CLEAN {
                dirty_evictions.add(*largest);
            }
            *largest = 1;
        }
        distance
    }

    fn finish(mut self) -> LruCounts {
        let counts = &mut self.counts;
        for (page, &largest) in self.largest_since_write.iter().enumerate() {
            if largest == CLEAN {
                continue;
            }
            let depth = self.stack.depth(page as u32).expect("a written page is on the stack");
            counts.dirty_evictions.add(largest.max(depth));
            counts.last_dirty_evictions.add(largest.max(depth));
        }
        counts.read_misses.sum_up();
        counts.write_misses.sum_up();
        counts.dirty_evictions.sum_up();
        counts.last_dirty_evictions.sum_up();
        self.counts
    }
}

/// The number of distances that are larger than a number of frames, for each number of frames from 0 to all pages.
#[derive(Clone, Debug)]
pub(crate) struct CountsBeyond {
    /// Entry `i` counts distances of `i + 1` until it is summed up, then those larger than `i`: the low 32 bits, which
    /// are all of them in most traces and take half the processor's cache.
    counts: Vec<u32>,
    /// The places where a count has reached a multiple of 2^32, once for each.
    carried: Vec<u32>,
}

impl CountsBeyond {
    /// Nothing counted, for distances up to `pages + 1`, which stands for an infinite one.
    pub(crate) fn new(pages: u32) -> Self {
        CountsBeyond { counts: vec![0; pages as usize + 1], carried: Vec::new() }
    }

    /// Counts one distance, at least 1.
    #[inline]
    pub(crate) fn add(&mut self, distance: u32) {
        let count = &mut self.counts[distance as usize - 1];
        *count = count.wrapping_add(1);
        if *count == 0 {
            self.carried.push(distance - 1);
        }
    }

    /// Once, after the last [`add`](CountsBeyond::add) and before the first [`beyond`](CountsBeyond::beyond).
    pub(crate) fn sum_up(&mut self) {
        let mut larger = 0_u64;
        let mut carried = std::mem::take(&mut self.carried);
        carried.sort_unstable();
        for (place, count) in self.counts.iter_mut().enumerate().rev() {
            larger += u64::from(*count);
            while carried.pop_if(|of| *of as usize == place).is_some() {
                larger += 1 << u32::BITS;
            }
            *count = larger as u32;
            let missing = (larger >> u32::BITS) as usize - self.carried.len();
            self.carried.extend(std::iter::repeat_n(place as u32, missing));
        }
    }

    /// The number of distances that are larger than `frames`, at most the number of pages.
    #[inline]
    pub(crate) fn beyond(&self, frames: u32) -> u64 {
        let carried = self.carried.iter().take_while(|place| **place >= frames).count() as u64;
        u64::from(self.counts[frames as usize]) + (carried << u32::BITS)
    }
}

#[cfg(test)]
mod tests;
