//! What the memories of a write buffer do, and what it waits for.

use super::ends::Work;
use super::engine::Engine;
use super::memories::{
    Action, ActionKind, Content, Medium, NEED_CONTENT, NEED_EARLIER, NEED_SLOT, Slot,
};
use super::operation::need;
use super::slab::NONE;
use super::waits::{Controlled, Waiter};

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
        let action = &mut self.memories.actions[id];
        action.begun_ns = self.now;
        let work = match action.kind {
            ActionKind::Write(Medium::Dram) => Work::DramWrite,
            ActionKind::Write(Medium::Nvm) => Work::NvmWrite,
            ActionKind::Migrate => Work::Migration,
            ActionKind::Fill => return,
        };
        self.begin_work(work, id);
    }

    /// Ends an action of a memory.
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
        if period != NONE {
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
            period: NONE,
            next: NONE,
            content_waiters: NONE,
        }
    }

    /// A page is written in a memory, where it asks for a slot if it has none.
    pub(super) fn write_in(&mut self, page: u32, medium: Medium, request: u32, content: Content) {
        let mut slot = self.memories.page(page).slots[medium as usize];
        if slot == NONE {
            slot = self.ask(page, medium, true);
        }
        let action = self.action(ActionKind::Write(medium), page, request);
        let (id, number) = self.act_with(action, slot, content);
        self.memories.page(page).content[medium as usize] = Content::Action(id, number);
    }

    /// An action on a page that needs a content, too.
    fn act_with(&mut self, mut action: Action, slot: u32, content: Content) -> (u32, u32) {
        let awaited = match content {
            Content::Action(id, _) if !self.is_content_there(content) => Some(id),
            _ => None,
        };
        action.needs = if awaited.is_some() { NEED_CONTENT } else { 0 };
        let (id, number) = self.act(action, slot);
        if let Some(awaited) = awaited {
            self.wait_for_action(awaited, Waiter::Action { id });
        }
        (id, number)
    }

    /// A page that is read from flash is placed in a memory. The action that is over with the read.
    pub(super) fn fill(&mut self, page: u32, medium: Medium) -> u32 {
        self.ask(page, medium, false);
        let (id, content) = self.modify(page);
        self.memories.page(page).content[medium as usize] = content;
        id
    }

    /// A page is read from flash: the action that is over with the read, and the content that it brings.
    pub(super) fn modify(&mut self, page: u32) -> (u32, Content) {
        let mut action = self.action(ActionKind::Fill, page, NONE);
        let memories = &mut self.memories;
        memories.numbers = memories.numbers.wrapping_add(1).max(1);
        action.number = memories.numbers;
        let id = memories.actions.insert(action);
        (id, Content::Action(id, action.number))
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
        action.period = self.flushes.begin();
        // A write that is under way is an earlier one of the page; only what is read from flash is waited for here.
        self.act_with(action, slot, content);
        self.memories.page(page).content[1] = content;
    }

    /// A page that is in a memory is read.
    pub(super) fn read_in(&mut self, page: u32, medium: Medium, request: u32) {
        let content = self.memories.page(page).content[medium as usize];
        let is_there = self.is_content_there(content);
        let read = Controlled {
            is_in_nvm: medium == Medium::Nvm,
            needs: if is_there { 0 } else { need::CONTENT },
            ..Controlled::new(request, page, self.now)
        };
        let id = self.controlled.insert(read);
        self.control(id);
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
