//! The DRAM buffers that evict whole blocks: FAB, BPLRU, CLC, LB-CLOCK, PUD-LRU and BLOCK-MIN.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

use num_rational::Ratio;

use super::{
    BufferEvent, BufferPages, BufferRequest, BufferStep, BufferTwin, Flushed, Place, is_safe,
};
use crate::{State, parameters::Parameters};

struct Group {
    block: u64,
    /// Its pages in the buffer, and whether each is dirty.
    pages: BTreeMap<u64, bool>,
    reference: bool,
    /// The pages written since the block came.
    written: Vec<u64>,
    was_trimmed: bool,
    /// Of PUD-LRU.
    history: History,
}

/// When a block came, in writes of pages; its updates since; whether it is updated often.
#[derive(Default)]
struct History {
    since: i128,
    updates: i128,
    is_frequent: bool,
}

/// Which block leaves.
enum Rule {
    Fab,
    Bplru {
        compensation: bool,
    },
    /// The first `cold` groups have fallen off the LRU list.
    Clc {
        alpha: Ratio<i128>,
        cold: usize,
    },
    LbClock {
        clear_sequential: bool,
    },
    /// The longest distance, and how many pages were written.
    PudLru {
        distance: Ratio<i128>,
        writes: i128,
    },
    /// The blocks of the pages that are still to be written.
    BlockMin {
        future: VecDeque<u64>,
    },
}

pub(super) struct DramBuffer {
    rule: Rule,
    capacity: usize,
    per_block: u64,
    cache_reads: bool,
    pad_clean: bool,
    pad_missing: bool,
    safe: bool,
    /// From the LRU end, or from the hand.
    groups: Vec<Group>,
    /// Blocks with dirty pages in the order they came to have some.
    became_dirty: Vec<u64>,
}

impl DramBuffer {
    pub(super) fn new(name: &str, pages: BufferPages, parameters: &mut Parameters) -> DramBuffer {
        let (mut cache_reads, mut pad_clean, mut pad_missing) = (false, false, false);
        let rule = match name {
            "fab" => {
                cache_reads = parameters.flag("cache_reads").unwrap_or(true);
                pad_clean = parameters.flag("clean_padding").unwrap_or(true);
                Rule::Fab
            }
            "bplru" => {
                pad_missing = parameters.choice("padding", &["on", "off"]) == 0;
                pad_clean = pad_missing;
                Rule::Bplru { compensation: parameters.flag("compensation").unwrap_or(true) }
            }
            "clc" => {
                let alpha = parameters.rational("alpha").unwrap_or(Ratio::new(1, 10));
                Rule::Clc { alpha, cold: 0 }
            }
            "pud-lru" => {
                pad_missing = parameters.choice("padding", &["off", "on"]) == 1;
                pad_clean = pad_missing;
                let distance = parameters.rational("distance").unwrap_or(1.into());
                Rule::PudLru { distance: distance * pages.total as i128, writes: 0 }
            }
            "block-min" => {
                pad_missing = parameters.choice("padding", &["off", "on"]) == 1;
                pad_clean = pad_missing;
                Rule::BlockMin { future: VecDeque::new() }
            }
            _ => {
                let clear_sequential = parameters.flag("clear_sequential").unwrap_or(false);
                Rule::LbClock { clear_sequential }
            }
        };
        DramBuffer {
            rule,
            capacity: pages.total,
            per_block: pages.per_block,
            cache_reads,
            pad_clean,
            pad_missing,
            safe: is_safe(parameters),
            groups: Vec::new(),
            became_dirty: Vec::new(),
        }
    }

    fn position(&self, block: u64) -> Option<usize> {
        self.groups.iter().position(|group| group.block == block)
    }

    fn holds(&self, page: u64) -> bool {
        self.groups.iter().any(|group| group.pages.contains_key(&page))
    }

    fn note_dirty(&mut self) {
        let is_dirty = |group: &Group| group.pages.values().any(|dirty| *dirty);
        let dirty: Vec<u64> =
            self.groups.iter().filter(|group| is_dirty(group)).map(|group| group.block).collect();
        self.became_dirty.retain(|block| dirty.contains(block));
        for block in dirty {
            if !self.became_dirty.contains(&block) {
                self.became_dirty.push(block);
            }
        }
    }

    /// The first group from the front that has the most pages, among those that `may` leave.
    fn largest(&self, may: impl Fn(usize, &Group) -> bool) -> Option<usize> {
        let candidates = || self.groups.iter().enumerate().filter(|(at, group)| may(*at, group));
        let most = candidates().map(|(_, group)| group.pages.len()).max()?;
        candidates().find(|(_, group)| group.pages.len() == most).map(|(at, _)| at)
    }

    /// What exceeds CLC's share of the LRU list falls off.
    fn fall_off(&mut self) {
        let count = self.groups.len();
        if let Rule::Clc { alpha, cold } = &mut self.rule {
            let limit = (*alpha * count as i128).to_integer() as usize;
            *cold = (*cold).max(count - limit);
        }
    }

    /// The mean distance between PUD-LRU's updates of a block, the open one counted or not, is too long.
    fn is_far(&self, at: usize, distances: i128) -> bool {
        let Rule::PudLru { distance, writes } = self.rule else { return false };
        Ratio::new(writes - self.groups[at].history.since, distances) > distance
    }

    /// Blocks of PUD-LRU that have not been updated for too long are no longer frequent ones.
    fn cool(&mut self) {
        while let Some(at) = self.groups.iter().position(|group| group.history.is_frequent) {
            if !self.is_far(at, self.groups[at].history.updates + 1) {
                return;
            }
            let mut group = self.groups.remove(at);
            group.history.is_frequent = false;
            self.groups.push(group);
        }
    }

    /// A page of the block at `at` was written; `is_update` if it was here.
    fn note_write(&mut self, at: usize, is_new: bool, is_update: bool) {
        let Rule::PudLru { writes, .. } = &mut self.rule else { return };
        *writes += 1;
        let history = &mut self.groups[at].history;
        if is_new {
            history.since = *writes;
        }
        if is_update {
            history.updates += 1;
            let updates = history.updates;
            self.groups[at].history.is_frequent = !self.is_far(at, updates);
        }
    }

    /// BLOCK-MIN's blocks as they leave: those that are not written again first, then from the farthest on.
    fn sort_by_next_write(&mut self) {
        let Rule::BlockMin { future } = &self.rule else { return };
        let next = |group: &Group| future.iter().position(|block| *block == group.block);
        // Stable: of those that are not written again, the least recently written comes first.
        self.groups.sort_by_key(|group| Reverse(next(group).unwrap_or(usize::MAX)));
    }

    fn take(&mut self, at: usize) -> Group {
        if let Rule::Clc { cold, .. } = &mut self.rule {
            *cold -= usize::from(at < *cold);
        }
        self.groups.remove(at)
    }

    fn take_victim(&mut self) -> Group {
        let at = match &self.rule {
            Rule::Fab => self.largest(|_, _| true).expect("the buffer is full"),
            Rule::Bplru { .. } | Rule::BlockMin { .. } => 0,
            Rule::Clc { cold, .. } => self.largest(|at, _| at < *cold).unwrap_or(0),
            Rule::LbClock { .. } => {
                if self.groups.iter().all(|group| group.reference) {
                    self.groups[0].reference = false;
                }
                self.largest(|_, group| !group.reference).expect("a bit is 0")
            }
            Rule::PudLru { .. } => {
                self.cool();
                self.largest(|_, group| !group.history.is_frequent).unwrap_or(0)
            }
        };
        let victim = self.take(at);
        if let Rule::LbClock { .. } = self.rule {
            while self.groups.first().is_some_and(|group| group.reference) {
                self.groups[0].reference = false;
                self.groups.rotate_left(1);
            }
        }
        victim
    }

    fn evict(&mut self, steps: &mut Vec<BufferStep>) {
        let victim = self.take_victim();
        let first = victim.block * self.per_block;
        let (mut batch, mut dropped) = (Vec::new(), Vec::new());
        let has_dirty = victim.pages.values().any(|dirty| *dirty);
        for page in first..first + self.per_block {
            let (dirty, from) = match victim.pages.get(&page) {
                Some(dirty) => (*dirty, Place::Dram),
                None => (false, Place::Flash),
            };
            let pads = if from == Place::Dram { self.pad_clean } else { self.pad_missing };
            if has_dirty && (dirty || pads) {
                batch.push(Flushed { page, dirty, from, stays: false });
            } else if from == Place::Dram {
                dropped.push(page);
            }
        }
        if has_dirty {
            steps.push(BufferStep::Flush(batch));
        }
        if !dropped.is_empty() {
            steps.push(BufferStep::Drop(dropped));
        }
        self.note_dirty();
    }

    fn make_room(&mut self, steps: &mut Vec<BufferStep>) {
        let pages: usize = self.groups.iter().map(|group| group.pages.len()).sum();
        if pages == self.capacity {
            self.evict(steps);
        }
    }

    /// Moves the block at `at` after a use of one of its pages.
    fn used(&mut self, at: usize, is_new: bool, is_write: bool) {
        let group = &self.groups[at];
        let first = group.block * self.per_block;
        let whole: Vec<u64> = (first..first + self.per_block).collect();
        let in_order = !group.was_trimmed && group.written == whole;
        match self.rule {
            Rule::Bplru { compensation } => {
                if is_write {
                    let group = self.take(at);
                    let place = if compensation && in_order { 0 } else { self.groups.len() };
                    self.groups.insert(place, group);
                }
            }
            Rule::LbClock { clear_sequential } => {
                self.groups[at].reference = !(is_new || clear_sequential && in_order);
            }
            Rule::PudLru { .. } | Rule::BlockMin { .. } if !is_write => {}
            Rule::Fab | Rule::Clc { .. } | Rule::PudLru { .. } | Rule::BlockMin { .. } => {
                let group = self.take(at);
                self.groups.push(group);
                self.sort_by_next_write();
            }
        }
        self.fall_off();
    }

    fn access(&mut self, page: u64, is_write: bool) -> Option<Place> {
        let hit = self.holds(page).then_some(Place::Dram);
        if hit.is_none() && !is_write && !self.cache_reads {
            return None;
        }
        let block = page / self.per_block;
        let known = self.position(block);
        let at = known.unwrap_or_else(|| {
            let (pages, written) = (BTreeMap::new(), Vec::new());
            let history = History::default();
            let group =
                Group { block, pages, reference: false, written, was_trimmed: false, history };
            self.groups.push(group);
            self.groups.len() - 1
        });
        *self.groups[at].pages.entry(page).or_default() |= is_write;
        if is_write {
            if let Rule::BlockMin { future } = &mut self.rule {
                future.pop_front();
            }
            self.groups[at].written.push(page);
            self.note_write(at, known.is_none(), hit.is_some());
        }
        self.used(at, known.is_none(), is_write);
        self.note_dirty();
        hit
    }

    fn trim(&mut self, page: u64) {
        let at = self.position(page / self.per_block).expect("the page is buffered");
        let group = &mut self.groups[at];
        group.pages.remove(&page);
        group.was_trimmed = true;
        if group.pages.is_empty() {
            self.take(at);
        }
        self.note_dirty();
    }

    /// The dirty pages of each block are flushed and stay, clean.
    fn clean(&mut self, steps: &mut Vec<BufferStep>) {
        for block in std::mem::take(&mut self.became_dirty) {
            let at = self.position(block).expect("a block with dirty pages is here");
            let mut batch = Vec::new();
            for (&page, dirty) in &mut self.groups[at].pages {
                if std::mem::take(dirty) {
                    batch.push(Flushed { page, dirty: true, from: Place::Dram, stays: true });
                }
            }
            steps.push(BufferStep::Flush(batch));
        }
    }

    fn write(&mut self, page: u64, event: &mut BufferEvent) {
        if !self.holds(page) {
            self.make_room(&mut event.steps);
        }
        event.hit = self.access(page, true);
    }

    fn write_through(&mut self, page: u64, event: &mut BufferEvent) {
        if !self.holds(page) {
            self.make_room(&mut event.steps);
        }
        let through = Flushed { page, dirty: true, from: Place::Request, stays: true };
        event.steps.push(BufferStep::Flush(vec![through]));
        event.hit = self.access(page, true);
        let at = self.position(page / self.per_block).expect("the page was just written");
        self.groups[at].pages.insert(page, false);
        self.note_dirty();
    }
}

impl BufferTwin for DramBuffer {
    fn foresee(&mut self, writes: &[u64]) {
        if let Rule::BlockMin { future } = &mut self.rule {
            *future = writes.iter().map(|page| page / self.per_block).collect();
        }
    }

    fn request(&mut self, request: BufferRequest) -> BufferEvent {
        let mut event = BufferEvent::default();
        match request {
            BufferRequest::Read(page) => {
                if self.cache_reads && !self.holds(page) {
                    self.make_room(&mut event.steps);
                }
                event.hit = self.access(page, false);
            }
            BufferRequest::ForceUnitAccess(page) if self.safe => {
                self.write_through(page, &mut event);
            }
            BufferRequest::Write(page) | BufferRequest::ForceUnitAccess(page) => {
                self.write(page, &mut event);
            }
            BufferRequest::Trim(page) if self.holds(page) => {
                event.hit = Some(Place::Dram);
                self.trim(page);
            }
            BufferRequest::Flush if self.safe => self.clean(&mut event.steps),
            BufferRequest::Drain => self.clean(&mut event.steps),
            BufferRequest::Flush | BufferRequest::Trim(_) => {}
        }
        event
    }

    fn state(&self) -> State {
        let with_bits = matches!(self.rule, Rule::LbClock { .. });
        let show = |group: &Group| {
            let pages = group.pages.iter().map(|(page, dirty)| State::entry(*page, &[*dirty]));
            let mut entry = vec![State::Integer(group.block), State::List(pages.collect())];
            if with_bits {
                entry.push(State::Integer(u64::from(group.reference)));
            }
            State::List(entry)
        };
        let list = |groups: &[Group]| State::List(groups.iter().map(show).collect());
        State::Object(match self.rule {
            Rule::Fab => vec![("groups", list(&self.groups))],
            Rule::Bplru { .. } => vec![("lru_to_mru", list(&self.groups))],
            Rule::BlockMin { .. } => vec![("farthest_first", list(&self.groups))],
            Rule::Clc { cold, .. } => {
                vec![
                    ("cold", list(&self.groups[..cold])),
                    ("lru_to_mru", list(&self.groups[cold..])),
                ]
            }
            Rule::LbClock { .. } => vec![("blocks_from_hand", list(&self.groups))],
            Rule::PudLru { .. } => {
                let of = |is_frequent| {
                    let groups = self.groups.iter();
                    let groups = groups.filter(|group| group.history.is_frequent == is_frequent);
                    State::List(groups.map(show).collect())
                };
                vec![("infrequent", of(false)), ("frequent", of(true))]
            }
        })
    }

    fn dirty(&self) -> Vec<u64> {
        let pages = self.groups.iter().flat_map(|group| &group.pages);
        let mut dirty: Vec<u64> =
            pages.filter(|(_, dirty)| **dirty).map(|(page, _)| *page).collect();
        dirty.sort_unstable();
        dirty
    }
}
