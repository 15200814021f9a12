//! Operations as they are issued: number, die, and what each still needs.

use super::engine::Engine;
use super::listener::{HostPage, Reading};
use super::memories::Content;
use super::operation::{Operation, OperationKind, OperationRecord, Role, need};
use super::slab::NONE;
use super::waits::{Controlled, Waiter};
use crate::flash::geometry::{Block, LogicalPage, PhysicalPage, TranslationPage};

/// What is to be issued.
#[derive(Clone, Copy)]
struct New {
    kind: OperationKind,
    role: Role,
    block: u32,
    page_in_block: u32,
    /// The host's page, or the translation page.
    page: u32,
    /// The request that waits for it.
    request: u32,
    /// Of a copy, the page that is read.
    from: u32,
    is_host_read: bool,
    is_translation: bool,
}

impl New {
    const NOTHING: New = New {
        kind: OperationKind::Read,
        role: Role::Host,
        block: 0,
        page_in_block: 0,
        page: 0,
        request: NONE,
        from: NONE,
        is_host_read: false,
        is_translation: false,
    };
}

impl Engine {
    #[inline]
    fn die(&self, block: u32) -> u32 {
        if self.dies.len() == 1 { 0 } else { self.blocks_per_die.divide(block).0 }
    }

    #[inline]
    fn plane(&self, block: u32) -> u32 {
        self.blocks_per_plane.divide(block).0
    }

    /// An operation on a page.
    #[inline(always)]
    fn on_page(&self, kind: OperationKind, role: Role, at: PhysicalPage, page: u32) -> New {
        let (block, page_in_block) = self.pages_per_block.divide(at.0);
        New { kind, role, block, page_in_block, page, ..New::NOTHING }
    }

    /// Gives an operation its number and its place in the queue of its die. A read of the host has none there: it is placed
    /// when it is ready.
    // In place, field by field: what is put together elsewhere and copied at once is read before it is written.
    #[inline(always)]
    fn issue(&mut self, new: New) -> u32 {
        self.issued += 1;
        let die = self.die(new.block);
        if self.record.is_some() {
            self.note(&new, die);
        }
        let array_ns = self.array_ns(new.kind, new.block, new.page_in_block, new.from);
        let id = self.operations.reserve(|| Operation::new(new.kind, new.role));
        let entry = &mut self.dies[die as usize];
        let operation = &mut self.operations[id];
        operation.number = self.issued;
        operation.array_ns = array_ns;
        operation.die = die;
        operation.block = new.block;
        operation.page = new.page;
        operation.page_in_block = new.page_in_block as u16;
        operation.kind = new.kind;
        operation.role = new.role;
        operation.needs = 0;
        operation.is_host_read = new.is_host_read;
        operation.is_background = self.is_background;
        operation.suspensions = 0;
        operation.request = new.request;
        operation.program = NONE;
        operation.from = new.from;
        operation.action = NONE;
        operation.gate = NONE;
        operation.period = NONE;
        operation.content_waiters = NONE;
        operation.end_waiters = NONE;
        operation.next = NONE;
        if new.request != NONE {
            operation.issued_ns = self.now;
            operation.collection_ns = entry.collected_ns(self.now);
        }
        if new.is_host_read {
            entry.reads_issued += 1;
        } else {
            entry.queue.push_back(id);
        }
        self.die_changed(die);
        id
    }

    #[cold]
    fn note(&mut self, new: &New, die: u32) {
        let New { kind, role, mut block, mut page_in_block, is_translation, .. } = *new;
        if kind == OperationKind::Copy {
            (block, page_in_block) = self.pages_per_block.divide(new.from);
        }
        let has_page = kind != OperationKind::Erase;
        let record = OperationRecord {
            kind,
            role,
            die,
            block,
            page_in_block: has_page.then_some(page_in_block),
            page: has_page.then_some(new.page),
            is_translation,
            issued_ns: self.now,
            start_ns: None,
            end_ns: None,
        };
        self.record.as_mut().expect("operations are recorded").push(record);
    }

    /// Counts a program in flight, and returns the generation of its block.
    #[inline(always)]
    fn issue_program(&mut self, new: New) -> u32 {
        let generation = self.blocks.issue_program(new.block, new.page_in_block as u16);
        let id = self.issue(new);
        self.operations[id].generation = generation;
        id
    }

    pub(super) fn program(&mut self, to: PhysicalPage, holds: LogicalPage, host: &HostPage) {
        let mut new = self.on_page(OperationKind::Program, Role::Host, to, holds.0);
        new.request = host.request;
        let id = self.issue_program(new);
        if host.is_volatile {
            self.operations[id].period = self.flushes.begin();
        }
        for slot in host.releases {
            if slot != NONE {
                let chain = &mut self.operations[id].end_waiters;
                Engine::link(&mut self.links, chain, Waiter::Slot { id: slot });
            }
        }
        if !self.is_content_there(host.content) {
            self.operations[id].needs |= need::CONTENT;
            self.wait_for_content(host.content, id);
        }
        self.wait_for_translation(holds.0, id);
    }

    /// An operation waits for the load of its page's translation, if that is not over.
    #[inline]
    fn wait_for_translation(&mut self, page: u32, id: u32) {
        if self.loads.is_empty() {
            return;
        }
        if let Some(&load) = self.loads.get(&page) {
            self.operations[id].needs |= need::TRANSLATION;
            self.wait_for_end(load, Waiter::Operation { id, need: need::TRANSLATION });
        }
    }

    /// A program waits for its content, which is not there.
    fn wait_for_content(&mut self, content: Content, id: u32) {
        match content {
            Content::There => {}
            Content::Action(action, _) => {
                let waiter = Waiter::Operation { id, need: need::CONTENT };
                self.wait_for_action(action, waiter);
            }
            Content::Reading(Reading::Operation(read)) => self.operations[read].program = id,
            Content::Reading(Reading::Controlled(read)) => self.controlled[read].program = id,
        }
    }

    /// Waits for a load of a translation, an operation or in the controller.
    fn wait_for_end(&mut self, (id, is_controlled): (u32, bool), waiter: Waiter) {
        let chain = match is_controlled {
            true => &mut self.controlled[id].end_waiters,
            false => &mut self.operations[id].end_waiters,
        };
        Engine::link(&mut self.links, chain, waiter);
    }

    /// The host reads a page that was programmed; or it is read for padding, in the queue and so behind its program.
    pub(super) fn read(
        &mut self,
        from: PhysicalPage,
        holds: LogicalPage,
        host: &HostPage,
    ) -> Reading {
        let mut new = self.on_page(OperationKind::Read, Role::Host, from, holds.0);
        if host.is_padding {
            let id = self.issue(new);
            self.wait_for_translation(holds.0, id);
            return Reading::Operation(id);
        }
        new.request = host.request;
        match self.host_read(new, host.action) {
            Ok(id) => {
                self.wait_for_translation(holds.0, id);
                self.place_if_ready(id);
                Reading::Operation(id)
            }
            Err(id) => {
                if let Some(&load) = self.loads.get(&holds.0) {
                    self.controlled[id].needs |= need::TRANSLATION;
                    self.wait_for_end(load, Waiter::Controlled { id, need: need::TRANSLATION });
                }
                self.control(id);
                Reading::Controlled(id)
            }
        }
    }

    /// A read that passes the queue; of a page whose program is not complete, one in the controller, which is the error.
    #[inline]
    fn host_read(&mut self, mut new: New, action: u32) -> Result<u32, u32> {
        let writer = self.writer(new.block, new.page_in_block);
        if let Some(writer) = writer
            && self.operations[writer].kind != OperationKind::Copy
        {
            self.totals.in_flight_reads += 1;
            return Err(self.read_in_flight(writer, &new, action));
        }
        new.is_host_read = true;
        let id = self.issue(new);
        self.operations[id].action = action;
        self.operations[id].gate = self.blocks.hold(new.block);
        if let Some(copy) = writer {
            self.operations[id].needs = need::COPIED;
            self.wait_for_end((copy, false), Waiter::Operation { id, need: need::COPIED });
        }
        Ok(id)
    }

    /// A read of the host takes its place among those of its die, if it needs nothing.
    #[inline]
    fn place_if_ready(&mut self, id: u32) {
        if self.operations[id].needs == 0 {
            self.add_host_read(id);
        }
    }

    /// The program or copy of a page that is read, if it is not complete.
    #[inline]
    fn writer(&self, block: u32, page_in_block: u32) -> Option<u32> {
        let page_in_block = page_in_block as u16;
        if !self.blocks.is_in_flight(block, page_in_block) {
            return None;
        }
        let die = &self.dies[self.die(block) as usize];
        let held = [die.active, die.loaded, die.suspended];
        let in_groups = held.into_iter().filter(|id| *id != NONE).flat_map(|id| {
            std::iter::successors(Some(id), |id| {
                Some(self.operations[*id].next).filter(|id| *id != NONE)
            })
        });
        let writes = |id: &u32| {
            let operation = &self.operations[*id];
            operation.block == block
                && operation.page_in_block == page_in_block
                && matches!(operation.kind, OperationKind::Program | OperationKind::Copy)
        };
        // The last one: an earlier one is of what the block held before.
        let writer = die.queue.iter().rev().copied().find(writes);
        Some(writer.or_else(|| in_groups.into_iter().find(writes)).expect("it is in the die"))
    }

    /// Reads a page whose program is not complete. The read has not begun.
    fn read_in_flight(&mut self, writer: u32, new: &New, action: u32) -> u32 {
        let writing = &self.operations[writer];
        let is_there = writing.needs & need::CONTENT == 0;
        let read = Controlled {
            needs: if is_there { 0 } else { need::CONTENT },
            is_collected: writing.role.is_collection(),
            action,
            ..Controlled::new(new.request, new.page, self.now)
        };
        let id = self.controlled.insert(read);
        if !is_there {
            let waiter = Waiter::Controlled { id, need: need::CONTENT };
            let chain = &mut self.operations[writer].content_waiters;
            Engine::link(&mut self.links, chain, waiter);
        }
        id
    }

    /// A page moves.
    pub(super) fn relocate(
        &mut self,
        role: Role,
        from: PhysicalPage,
        to: PhysicalPage,
        page: u32,
        is_translation: bool,
    ) {
        let (from_block, _) = self.pages_per_block.divide(from.0);
        let (to_block, _) = self.pages_per_block.divide(to.0);
        if self.options.copyback && self.plane(from_block) == self.plane(to_block) {
            let mut copy = self.on_page(OperationKind::Copy, role, to, page);
            (copy.from, copy.is_translation) = (from.0, is_translation);
            self.issue_program(copy);
            return;
        }
        let mut read = self.on_page(OperationKind::Read, role, from, page);
        read.is_translation = is_translation;
        let read = self.issue(read);
        let mut program = self.on_page(OperationKind::Program, role, to, page);
        program.is_translation = is_translation;
        let program = self.issue_program(program);
        self.operations[program].needs = need::CONTENT;
        self.operations[read].program = program;
        // A die keeps the order of its queue: an erase there comes after the program anyway.
        if self.die(from_block) != self.die(to_block) {
            self.operations[program].gate = self.blocks.hold(from_block);
        }
    }

    pub(super) fn erase(&mut self, role: Role, block: Block) {
        let id =
            self.issue(New { kind: OperationKind::Erase, role, block: block.0, ..New::NOTHING });
        if self.blocks.issue_erase(block.0, id) {
            self.operations[id].needs = need::RELEASED;
        }
    }

    pub(super) fn load(&mut self, from: PhysicalPage, holds: TranslationPage, wanted: LogicalPage) {
        let mut new = self.on_page(OperationKind::Read, Role::Load, from, holds.0);
        new.is_translation = true;
        let load = match self.host_read(new, NONE) {
            Ok(id) => {
                self.place_if_ready(id);
                (id, false)
            }
            Err(id) => {
                self.control(id);
                (id, true)
            }
        };
        self.loads.insert(wanted.0, load);
        self.wait_for_end(load, Waiter::Load { wanted: wanted.0, id: load.0 });
    }

    pub(super) fn update(&mut self, from: PhysicalPage, holds: TranslationPage) {
        let mut read = self.on_page(OperationKind::Read, Role::Update, from, holds.0);
        read.is_translation = true;
        let id = self.issue(read);
        self.updates.insert(holds.0, id);
    }

    pub(super) fn program_translation(&mut self, to: PhysicalPage, holds: TranslationPage) {
        let mut new = self.on_page(OperationKind::Program, Role::Translation, to, holds.0);
        new.is_translation = true;
        let id = self.issue_program(new);
        if let Some(read) = self.updates.remove(&holds.0) {
            self.operations[id].needs = need::CONTENT;
            self.operations[read].program = id;
        }
    }
}
