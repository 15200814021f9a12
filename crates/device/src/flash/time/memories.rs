//! The memories of a write buffer: places for pages, and what is written to them.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::engine::{Controlled, Engine, Event, Waiter};
use super::listener::Reading;
use super::operation::need;
use super::options::MemoryTimes;
use super::slab::{NONE, Slab};

/// A memory of a write buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Medium {
    /// Volatile memory.
    Dram,
    /// Non-volatile memory.
    Nvm,
}

/// Where the content of a page is, or will come from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Content {
    /// In the controller.
    There,
    /// From this action of a memory; its number tells whether it is still that one.
    Action(u32, u32),
    /// From flash.
    Reading(Reading),
}

/// What an action still needs, one bit each.
pub(super) const NEED_SLOT: u8 = 1;
pub(super) const NEED_EARLIER: u8 = 2;
pub(super) const NEED_CONTENT: u8 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ActionKind {
    Write(Medium),
    Migrate,
    /// A page that is read from flash on its way into the buffer.
    Fill,
}

#[derive(Debug, Clone, Copy)]
struct Action {
    kind: ActionKind,
    number: u32,
    page: u32,
    request: u32,
    needs: u8,
    decided_ns: u64,
    begun_ns: u64,
    /// Given back when it is over.
    releases: u32,
    period: Option<u32>,
    /// The next action on the page, which waits for this one.
    next: u32,
    content_waiters: u32,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    medium: Medium,
    asked_ns: u64,
    /// Whether a written page asked for it.
    is_for_write: bool,
    is_granted: bool,
    /// Whether it is given back as soon as it is granted.
    is_released: bool,
    action: u32,
}

/// What is known of a page that is in a memory or on its way.
#[derive(Debug, Clone, Copy)]
struct Page {
    slots: [u32; 2],
    content: [Content; 2],
    /// The last write or migration, if it is not over.
    last: (u32, u32),
}

impl Page {
    const ABSENT: Page = Page { slots: [NONE; 2], content: [Content::There; 2], last: (NONE, 0) };
}

struct Memory {
    free: u32,
    asking: VecDeque<u32>,
    times: MemoryTimes,
}

/// Both memories.
pub(super) struct Memories {
    memories: [Memory; 2],
    slots: Slab<Slot>,
    actions: Slab<Action>,
    pages: FxHashMap<u32, Page>,
    numbers: u32,
    /// Pages that decisions have placed in each.
    placed: [u32; 2],
    pub(super) stalled_pages: u64,
    pub(super) stall_ns: u64,
}

impl Memories {
    pub(super) fn new(slots: [u32; 2], times: [MemoryTimes; 2]) -> Self {
        let memory = |index: usize| Memory {
            free: slots[index],
            asking: VecDeque::new(),
            times: times[index],
        };
        Memories {
            memories: [memory(0), memory(1)],
            slots: Slab::new(),
            actions: Slab::new(),
            pages: FxHashMap::default(),
            numbers: 0,
            placed: [0; 2],
            stalled_pages: 0,
            stall_ns: 0,
        }
    }

    fn times(&self, medium: Medium) -> MemoryTimes {
        self.memories[medium as usize].times
    }

    fn page(&mut self, page: u32) -> &mut Page {
        self.pages.entry(page).or_insert(Page::ABSENT)
    }

    fn is_over(&self, (action, number): (u32, u32)) -> bool {
        action == NONE || self.actions[action].number != number
    }

    /// Forgets a page of which nothing is left.
    fn forget_if_absent(&mut self, page: u32) {
        if let Some(entry) = self.pages.get(&page)
            && entry.slots == [NONE; 2]
            && self.is_over(entry.last)
        {
            self.pages.remove(&page);
        }
    }

    /// How many pages decisions have placed in a memory.
    pub(super) fn placed(&self, medium: Medium) -> u32 {
        self.placed[medium as usize]
    }

    /// Whether decisions have placed a page in a memory.
    pub(super) fn has(&self, page: u32, medium: Medium) -> bool {
        self.pages.get(&page).is_some_and(|entry| entry.slots[medium as usize] != NONE)
    }

    /// A page leaves a memory. Its slot, which is to be given back.
    fn take_slot(&mut self, page: u32, medium: Medium) -> u32 {
        let Some(entry) = self.pages.get_mut(&page) else { return NONE };
        let slot = std::mem::replace(&mut entry.slots[medium as usize], NONE);
        self.placed[medium as usize] -= u32::from(slot != NONE);
        slot
    }
}

impl Engine {
    pub(super) fn is_content_there(&self, content: Content) -> bool {
        match content {
            Content::There => true,
            Content::Action(action, number) => self.memories.is_over((action, number)),
            Content::Reading(_) => false,
        }
    }

    pub(super) fn wait_for_action(&mut self, action: u32, waiter: Waiter) {
        let chain = &mut self.memories.actions[action].content_waiters;
        Engine::link(&mut self.links, chain, waiter);
    }

    /// A page that has no slot in a memory asks for one.
    fn ask(&mut self, page: u32, medium: Medium, is_for_write: bool) -> u32 {
        let now = self.now;
        let slot = Slot {
            medium,
            asked_ns: now,
            is_for_write,
            is_granted: false,
            is_released: false,
            action: NONE,
        };
        let memories = &mut self.memories;
        let id = memories.slots.insert(slot);
        memories.page(page).slots[medium as usize] = id;
        memories.placed[medium as usize] += 1;
        memories.memories[medium as usize].asking.push_back(id);
        self.grant(medium);
        id
    }

    /// Grants free slots, in the order of asking.
    fn grant(&mut self, medium: Medium) {
        let now = self.now;
        loop {
            let memory = &mut self.memories.memories[medium as usize];
            if memory.free == 0 {
                return;
            }
            let Some(id) = memory.asking.pop_front() else { return };
            memory.free -= 1;
            let slot = &mut self.memories.slots[id];
            slot.is_granted = true;
            let Slot { asked_ns, is_for_write, is_released, action, .. } = *slot;
            if is_for_write && now > asked_ns {
                self.memories.stalled_pages += 1;
                self.memories.stall_ns += now - asked_ns;
            }
            if is_released {
                self.memories.slots.remove(id);
                self.memories.memories[medium as usize].free += 1;
            }
            if action != NONE {
                self.have_for_action(action, NEED_SLOT);
            }
        }
    }

    /// Gives a slot back, now or as soon as it is granted.
    pub(super) fn release(&mut self, id: u32) {
        let slot = &mut self.memories.slots[id];
        if !slot.is_granted {
            slot.is_released = true;
            return;
        }
        let medium = slot.medium;
        self.memories.slots.remove(id);
        self.memories.memories[medium as usize].free += 1;
        self.grant(medium);
    }

    /// A page leaves a memory at once.
    pub(super) fn leave(&mut self, page: u32, medium: Medium) {
        let slot = self.memories.take_slot(page, medium);
        if slot != NONE {
            self.release(slot);
        }
        self.memories.forget_if_absent(page);
    }

    /// An action on a page, which waits for its slot and for earlier ones.
    fn act(&mut self, mut action: Action, slot: u32) -> (u32, u32) {
        let memories = &mut self.memories;
        memories.numbers = memories.numbers.wrapping_add(1).max(1);
        action.number = memories.numbers;
        let last = memories.page(action.page).last;
        let waits_for_slot = slot != NONE && !memories.slots[slot].is_granted;
        let waits_for_last = !memories.is_over(last);
        action.needs |= if waits_for_slot { NEED_SLOT } else { 0 };
        action.needs |= if waits_for_last { NEED_EARLIER } else { 0 };
        let (page, number) = (action.page, action.number);
        let id = memories.actions.insert(action);
        // Behind an earlier action of the page the slot is granted to that one first.
        if waits_for_slot && memories.slots[slot].action == NONE {
            memories.slots[slot].action = id;
        } else {
            memories.actions[id].needs &= !NEED_SLOT;
        }
        if waits_for_last {
            memories.actions[last.0].next = id;
        }
        memories.page(page).last = (id, number);
        if memories.actions[id].needs == 0 {
            self.begin_action(id);
        }
        (id, number)
    }

    pub(super) fn have_for_action(&mut self, id: u32, need: u8) {
        let action = &mut self.memories.actions[id];
        action.needs &= !need;
        if action.needs == 0 {
            self.begin_action(id);
        }
    }

    fn begin_action(&mut self, id: u32) {
        let (dram, nvm) = (self.memories.times(Medium::Dram), self.memories.times(Medium::Nvm));
        let action = &mut self.memories.actions[id];
        action.begun_ns = self.now;
        let takes_ns = match action.kind {
            ActionKind::Write(Medium::Dram) => dram.write_ns,
            ActionKind::Write(Medium::Nvm) => nvm.write_ns,
            ActionKind::Migrate => dram.read_ns + nvm.write_ns,
            ActionKind::Fill => return,
        };
        self.at(self.now + takes_ns, Event::Action { action: id });
    }

    /// What a memory did is over.
    pub(super) fn end_action(&mut self, id: u32) {
        let action = self.memories.actions[id];
        self.memories.actions[id].number = 0;
        self.memories.actions.remove(id);
        let Action { page, request, decided_ns, begun_ns, releases, period, next, .. } = action;
        if request != NONE {
            self.page_done(request, page, (begun_ns - decided_ns, 0, 0));
        }
        if releases != NONE {
            self.release(releases);
        }
        if let Some(period) = period {
            self.flushes.end(period);
        }
        if next != NONE {
            self.have_for_action(next, NEED_EARLIER);
        }
        self.memories.forget_if_absent(page);
        self.satisfy(action.content_waiters);
    }

    fn action(&self, kind: ActionKind, page: u32, request: u32) -> Action {
        Action {
            kind,
            number: 0,
            page,
            request,
            needs: 0,
            decided_ns: self.now,
            begun_ns: 0,
            releases: NONE,
            period: None,
            next: NONE,
            content_waiters: NONE,
        }
    }

    /// A page is written in a memory, where it asks for a slot if it has none.
    pub(super) fn write_in(&mut self, page: u32, medium: Medium, request: u32) {
        let mut slot = self.memories.page(page).slots[medium as usize];
        if slot == NONE {
            slot = self.ask(page, medium, true);
        }
        let action = self.action(ActionKind::Write(medium), page, request);
        let (id, number) = self.act(action, slot);
        self.memories.page(page).content[medium as usize] = Content::Action(id, number);
    }

    /// A page that is read from flash is placed in a memory. The action that is over with the read.
    pub(super) fn fill(&mut self, page: u32, medium: Medium) -> u32 {
        self.ask(page, medium, false);
        let mut action = self.action(ActionKind::Fill, page, NONE);
        let memories = &mut self.memories;
        memories.numbers = memories.numbers.wrapping_add(1).max(1);
        action.number = memories.numbers;
        let id = memories.actions.insert(action);
        memories.page(page).content[medium as usize] = Content::Action(id, action.number);
        id
    }

    /// A page moves from DRAM to NVM.
    pub(super) fn migrate(&mut self, page: u32) {
        let content = self.memories.page(page).content[0];
        let mut slot = self.memories.page(page).slots[1];
        if slot == NONE {
            slot = self.ask(page, Medium::Nvm, false);
        }
        let mut action = self.action(ActionKind::Migrate, page, NONE);
        action.releases = self.memories.take_slot(page, Medium::Dram);
        action.period = Some(self.flushes.begin());
        // A write that is under way is an earlier one of the page; only what is read from flash is waited for here.
        let awaited = match content {
            Content::Action(id, _) if !self.is_content_there(content) => Some(id),
            _ => None,
        };
        action.needs = if awaited.is_some() { NEED_CONTENT } else { 0 };
        let (id, _) = self.act(action, slot);
        if let Some(awaited) = awaited {
            self.wait_for_action(awaited, Waiter::Action { id });
        }
        self.memories.page(page).content[1] = content;
    }

    /// A page that is in a memory is read.
    pub(super) fn read_in(&mut self, page: u32, medium: Medium, request: u32) {
        let content = self.memories.page(page).content[medium as usize];
        let is_there = self.is_content_there(content);
        let read = Controlled {
            request,
            page,
            decided_ns: self.now,
            takes_ns: self.memories.times(medium).read_ns,
            needs: if is_there { 0 } else { need::CONTENT },
            is_collected: false,
            waited_for_translation: false,
            program: NONE,
            action: NONE,
            end_waiters: NONE,
            waited_ns: 0,
        };
        let id = self.control(read);
        if let Content::Action(action, _) = content
            && !is_there
        {
            self.wait_for_action(action, Waiter::Controlled { id, need: need::CONTENT });
        }
    }

    /// The content of a page in a memory, and the slots that a flush gives back when its program is complete.
    pub(super) fn flushed(
        &mut self,
        page: u32,
        medium: Medium,
        stays: bool,
    ) -> (Content, [u32; 2]) {
        let content = self.memories.page(page).content[medium as usize];
        let dram = match medium == Medium::Dram && !stays {
            true => self.memories.take_slot(page, Medium::Dram),
            false => NONE,
        };
        let nvm = self.memories.take_slot(page, Medium::Nvm);
        self.memories.forget_if_absent(page);
        (content, [dram, nvm])
    }
}
