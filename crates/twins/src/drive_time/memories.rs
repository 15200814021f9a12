//! places in the memories of a buffer, and what is written to them.

use std::collections::BTreeMap;

use super::{DriveTimeTwin, Source, TimedDecisions, TimedMedium};

/// A place that was asked for.
#[derive(Clone, Debug)]
struct Slot {
    medium: TimedMedium,
    granted: bool,
    /// True if it is given back at once, and with which operation or action otherwise.
    left: bool,
    left_with: Option<Source>,
    freed: bool,
}

/// A write or a migration.
#[derive(Clone, Debug)]
pub(super) struct Action {
    page: u32,
    request: Option<usize>,
    pub(super) migrates: bool,
    slot: usize,
    /// The write or migration of the page before.
    before: Option<usize>,
    content: Source,
    takes: u64,
    decided: u64,
    begun: Option<u64>,
    pub(super) end: Option<u64>,
    is_reported: bool,
}

/// Both memories.
pub(super) struct Memories {
    places: [usize; 2],
    slots: Vec<Slot>,
    pub(super) actions: Vec<Action>,
    /// By page: its slot in each memory, its content there, and its last write or migration.
    placed: BTreeMap<(u32, TimedMedium), usize>,
    contents: BTreeMap<(u32, TimedMedium), Source>,
    last: BTreeMap<u32, usize>,
}

impl Memories {
    pub(super) fn new(places: [usize; 2]) -> Memories {
        Memories {
            places,
            slots: Vec::new(),
            actions: Vec::new(),
            placed: BTreeMap::new(),
            contents: BTreeMap::new(),
            last: BTreeMap::new(),
        }
    }

    pub(super) fn content(&self, page: u32, medium: TimedMedium) -> Source {
        self.contents[&(page, medium)]
    }

    fn slot(&mut self, page: u32, medium: TimedMedium) -> usize {
        if let Some(slot) = self.placed.get(&(page, medium)) {
            return *slot;
        }
        let (granted, left, left_with, freed) = (false, false, None, false);
        self.slots.push(Slot { medium, granted, left, left_with, freed });
        self.placed.insert((page, medium), self.slots.len() - 1);
        self.slots.len() - 1
    }

    pub(super) fn fill(&mut self, page: u32, medium: TimedMedium, read: Source, _now: u64) {
        self.slot(page, medium);
        self.contents.insert((page, medium), read);
    }

    fn act(
        &mut self,
        page: u32,
        slot: usize,
        request: Option<usize>,
        takes: u64,
        now: u64,
    ) -> usize {
        let before = self.last.get(&page).copied();
        self.actions.push(Action {
            page,
            request,
            migrates: false,
            slot,
            before,
            content: Source::Now,
            takes,
            decided: now,
            begun: None,
            end: None,
            is_reported: false,
        });
        self.last.insert(page, self.actions.len() - 1);
        self.actions.len() - 1
    }

    pub(super) fn put(
        &mut self,
        page: u32,
        medium: TimedMedium,
        request: Option<usize>,
        takes: u64,
        now: u64,
    ) {
        let slot = self.slot(page, medium);
        let action = self.act(page, slot, request, takes, now);
        self.contents.insert((page, medium), Source::Action(action));
    }

    pub(super) fn migrate(&mut self, page: u32, takes: u64, now: u64) {
        let slot = self.slot(page, 1);
        let content = self.content(page, 0);
        let action = self.act(page, slot, None, takes, now);
        self.actions[action].migrates = true;
        self.actions[action].content = content;
        self.contents.insert((page, 1), content);
        let dram = self.placed.remove(&(page, 0)).expect("it was in DRAM");
        self.slots[dram].left_with = Some(Source::Action(action));
    }

    pub(super) fn leave(&mut self, page: u32, medium: TimedMedium) {
        if let Some(slot) = self.placed.remove(&(page, medium)) {
            self.slots[slot].left = true;
        }
    }

    pub(super) fn flushed(&mut self, page: u32, medium: TimedMedium, stays: bool, with: usize) {
        let mut leaves = vec![1];
        if medium == 0 && !stays {
            leaves.push(0);
        }
        for medium in leaves {
            if let Some(slot) = self.placed.remove(&(page, medium)) {
                self.slots[slot].left_with = Some(Source::Operation(with));
            }
        }
    }
}

impl<D: TimedDecisions> DriveTimeTwin<D> {
    /// Places are given back and granted, and what may begin begins. Whether anything happened.
    pub(super) fn settle_memories(&mut self) -> bool {
        let mut happened = false;
        for slot in 0..self.memories.slots.len() {
            let entry = &self.memories.slots[slot];
            let is_left = entry.left || entry.left_with.is_some_and(|with| self.is_there(with));
            if entry.granted && !entry.freed && is_left {
                self.memories.slots[slot].freed = true;
                happened = true;
            }
        }
        for medium in 0..2 {
            let slots = &mut self.memories.slots;
            let of_medium = |slot: &&Slot| slot.medium == medium;
            let held = slots.iter().filter(of_medium).filter(|slot| slot.granted && !slot.freed);
            let is_free = held.count() < self.memories.places[medium];
            let next = slots.iter().position(|slot| slot.medium == medium && !slot.granted);
            if let Some(next) = next.filter(|_| is_free) {
                slots[next].granted = true;
                happened = true;
            }
        }
        for action in 0..self.memories.actions.len() {
            happened |= self.settle_action(action);
        }
        happened
    }

    fn settle_action(&mut self, action: usize) -> bool {
        let entry = self.memories.actions[action].clone();
        let before = entry.before.is_none_or(|before| self.is_there(Source::Action(before)));
        if entry.begun.is_none() {
            let may_begin =
                self.memories.slots[entry.slot].granted && before && self.is_there(entry.content);
            if may_begin {
                let entry = &mut self.memories.actions[action];
                (entry.begun, entry.end) = (Some(self.now), Some(self.now + entry.takes));
            }
            return may_begin;
        }
        if entry.is_reported || entry.end.is_none_or(|end| end > self.now) {
            return false;
        }
        self.memories.actions[action].is_reported = true;
        if let Some(request) = entry.request {
            let waited = entry.begun.expect("it began") - entry.decided;
            self.page_done(request, entry.page, [waited, 0, 0]);
        }
        true
    }
}
