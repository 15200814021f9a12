//! What any policy must leave true, kept in plain sets beside the memory under test.

use std::collections::{BTreeMap, BTreeSet};

use clockhand_policy::{AllPinned, Op};

use crate::driver::{self, Bits, Driven, Event, Held};
use crate::traces::page_count;
use crate::variants;

/// A memory whose every answer is held against plain sets of resident, dirty and pinned pages.
pub struct Modelled {
    name: String,
    driven: Box<dyn Driven>,
    frames: usize,
    /// The pages in memory, and whether each is dirty.
    resident: BTreeMap<u32, bool>,
    pinned: BTreeSet<u32>,
    leaving: Option<u32>,
    reclaims_in_batches: bool,
    pub counts: Counts,
}

/// What has happened so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub hits: usize,
    pub misses: usize,
    pub evictions: usize,
    pub dirty_evictions: usize,
    pub write_backs: usize,
    pub writes: usize,
}

impl Modelled {
    pub fn new(variant: &str, frames: u32, bits: Bits, trace: &[(u32, Op)]) -> Self {
        Modelled {
            name: format!("{variant}, {frames} frames, {bits:?}"),
            driven: driver::build(variant, frames, page_count(trace), bits, trace),
            frames: frames as usize,
            resident: BTreeMap::new(),
            pinned: BTreeSet::new(),
            leaving: None,
            reclaims_in_batches: variants::reclaims_in_batches(variant),
            counts: Counts::default(),
        }
    }

    pub fn reference(&mut self, page: u32, op: Op) -> Event {
        self.try_reference(page, op).expect("a frame is not pinned")
    }

    pub fn try_reference(&mut self, page: u32, op: Op) -> Result<Event, AllPinned> {
        let written_early = self.driven.written_early();
        let event = self.driven.run(page, &[op])?;
        assert_eq!(event.hit, self.resident.contains_key(&page), "a hit is a page in memory");
        self.count(op, &event);
        let is_full = self.resident.len() == self.frames;
        let leaves = usize::from(!event.hit && is_full);
        let left = event.evicted.len();
        if self.reclaims_in_batches && leaves > 0 {
            assert!(left > 0, "a page leaves for want of a frame");
        } else {
            assert_eq!(left, leaves, "one page leaves, and only for want of a frame");
        }
        for page in &event.written_back {
            let dirty = self.resident.insert(*page, false);
            let is_known = written_early.contains(page);
            assert_eq!(dirty, Some(!is_known), "what is written back is in memory and dirty");
        }
        for &(page, dirty) in &event.evicted {
            assert_eq!(self.resident.remove(&page), Some(dirty), "what leaves was in memory");
            assert!(!self.pinned.contains(&page), "a pinned page leaves");
            let leaving = self.leaving.take().unwrap_or(page);
            assert_eq!(page, leaving, "the page that leaves is the one that was to leave");
        }
        *self.resident.entry(page).or_default() |= op == Op::Write;
        self.compare();
        Ok(event)
    }

    fn count(&mut self, op: Op, event: &Event) {
        self.counts.hits += usize::from(event.hit);
        self.counts.misses += usize::from(!event.hit);
        self.counts.evictions += event.evicted.len();
        self.counts.dirty_evictions += event.evicted.iter().filter(|(_, dirty)| *dirty).count();
        self.counts.write_backs += event.written_back.len();
        self.counts.writes += usize::from(op == Op::Write);
    }

    fn compare(&self) {
        let held = self.driven.resident();
        assert!(held.len() <= self.frames, "more pages than frames");
        let dirty: BTreeMap<u32, bool> = held.iter().map(|held| (held.page, held.dirty)).collect();
        assert_eq!(dirty, self.resident, "the pages in memory and whether they are dirty");
        let pinned = held.iter().filter(|held| held.pinned).map(|held| held.page);
        assert_eq!(BTreeSet::from_iter(pinned), self.pinned, "the pinned pages");
    }

    /// Returns whether a reference to `page` makes another page leave.
    pub fn needs_room_for(&self, page: u32) -> bool {
        assert_eq!(self.driven.is_full(), self.resident.len() == self.frames, "memory is full");
        self.driven.is_full() && !self.resident.contains_key(&page)
    }

    /// Asks which page is to leave for a fault on `incoming`. The hands that move for it leave pinned pages alone.
    pub fn victim_for(&mut self, incoming: u32) -> Result<u32, AllPinned> {
        let before = self.pinned_pages();
        let victim = self.driven.victim_for(incoming)?;
        for page in self.driven.written_early() {
            self.resident.insert(page, false);
        }
        assert_eq!(self.pinned_pages(), before, "a hand touched a pinned page");
        assert!(self.resident.contains_key(&victim), "the victim is in memory");
        assert!(!self.pinned.contains(&victim), "the victim is pinned");
        assert_eq!(victim, *self.leaving.get_or_insert(victim), "the victim stays the victim");
        assert!(!self.driven.pin(victim), "the pending victim cannot be pinned");
        Ok(victim)
    }

    fn pinned_pages(&self) -> Vec<Held> {
        self.driven.resident().into_iter().filter(|held| held.pinned).collect()
    }

    /// The page in memory that `choice` falls on, but for one that is leaving.
    pub fn pick(&self, choice: usize) -> Option<u32> {
        let staying = |page: &u32| self.leaving != Some(*page);
        let pages: Vec<u32> = self.resident.keys().copied().filter(staying).collect();
        (!pages.is_empty()).then(|| pages[choice % pages.len()])
    }

    pub fn is_dirty(&self, page: u32) -> bool {
        self.resident[&page]
    }

    pub fn is_pinned(&self, page: u32) -> bool {
        self.pinned.contains(&page)
    }

    pub fn unpinned_count(&self) -> usize {
        self.frames - self.pinned.len()
    }

    pub fn resident_pages(&self) -> Vec<u32> {
        self.resident.keys().copied().collect()
    }

    pub fn pin(&mut self, page: u32) {
        let is_pinned = self.driven.pin(page);
        let may_leave = self.reclaims_in_batches && self.leaving.is_some();
        assert!(is_pinned || may_leave, "a page that stays can be pinned");
        if is_pinned {
            self.pinned.insert(page);
        }
        self.compare();
    }

    pub fn unpin(&mut self, page: u32) {
        self.driven.unpin(page);
        self.pinned.remove(&page);
        self.compare();
    }

    pub fn write_back(&mut self, page: u32) {
        self.driven.write_back(page);
        self.resident.insert(page, false);
        self.compare();
    }
}

/// A failure inside the memory says under which policy.
impl Drop for Modelled {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed: {}", self.name);
        }
    }
}
