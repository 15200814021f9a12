//! Operations as they are decided: what a translation layer reports becomes operations of dies.

use super::engine::{Controlled, Engine, Waiter};
use super::memories::Content;
use super::operation::{Operation, OperationKind, OperationRecord, Role, need};
use super::slab::NONE;
use crate::flash::geometry::{Block, LogicalPage, PhysicalPage, TranslationPage};
use crate::flash::operations::{Cause, Counters, FlashOperations};

/// Whose the next program or read of the host is, and what it has to do with buffer and request.
#[derive(Debug, Clone, Copy)]
pub(super) struct HostPage {
    /// The request that waits for it.
    pub(super) request: u32,
    /// Where the content of a program comes from.
    pub(super) content: Content,
    /// Places in memories that are given back when a program is complete.
    pub(super) releases: [u32; 2],
    /// Whether FLUSH waits for a program.
    pub(super) is_volatile: bool,
    /// Whether a read is one for padding.
    pub(super) is_padding: bool,
    /// The action of a memory that is over with a read.
    pub(super) action: u32,
}

impl HostPage {
    /// A page that is in no buffer, of a request.
    pub(super) fn of(request: u32) -> HostPage {
        HostPage {
            request,
            content: Content::There,
            releases: [NONE; 2],
            is_volatile: true,
            is_padding: false,
            action: NONE,
        }
    }
}

/// Hears what a translation layer decides, counts it, and issues it.
pub(super) struct Listener<'a> {
    pub(super) engine: &'a mut Engine,
    pub(super) counters: &'a mut Counters,
    pub(super) host: HostPage,
    /// What the last read of the host became.
    pub(super) read: Option<Reading>,
}

/// What reads a page.
#[derive(Debug, Clone, Copy)]
pub(super) enum Reading {
    /// An operation of a die.
    Operation(u32),
    /// The controller, because the page is still in it.
    Controlled(u32),
}

impl FlashOperations for Listener<'_> {
    fn program(&mut self, to: PhysicalPage, holds: LogicalPage) {
        self.counters.program(to, holds);
        self.engine.program(to, holds, &self.host);
    }

    fn read(&mut self, from: PhysicalPage, holds: LogicalPage) {
        self.counters.read(from, holds);
        self.read = Some(self.engine.read(from, holds, &self.host));
    }

    fn relocate(&mut self, cause: Cause, from: PhysicalPage, to: PhysicalPage, holds: LogicalPage) {
        self.counters.relocate(cause, from, to, holds);
        self.engine.relocate(Role::of(cause), from, to, holds.0, false);
    }

    fn erase(&mut self, cause: Cause, block: Block) {
        self.counters.erase(cause, block);
        let role = if cause == Cause::Reset { Role::Host } else { Role::Collect };
        self.engine.erase(role, block);
    }

    fn load_translation(
        &mut self,
        from: PhysicalPage,
        holds: TranslationPage,
        wanted: LogicalPage,
    ) {
        self.counters.load_translation(from, holds, wanted);
        self.engine.load(from, holds, wanted);
    }

    fn read_translation(&mut self, from: PhysicalPage, holds: TranslationPage) {
        self.counters.read_translation(from, holds);
        self.engine.update(from, holds);
    }

    fn program_translation(&mut self, to: PhysicalPage, holds: TranslationPage) {
        self.counters.program_translation(to, holds);
        self.engine.program_translation(to, holds);
    }

    fn relocate_translation(
        &mut self,
        from: PhysicalPage,
        to: PhysicalPage,
        holds: TranslationPage,
    ) {
        self.counters.relocate_translation(from, to, holds);
        self.engine.relocate(Role::Collect, from, to, holds.0, true);
    }
}

impl Engine {
    /// The operation on a page, not yet issued.
    #[inline(always)]
    fn on_page(&self, kind: OperationKind, role: Role, at: PhysicalPage, page: u32) -> Operation {
        let (block, page_in_block) = self.pages_per_block.divide(at.0);
        let mut operation = Operation::new(kind, role);
        (operation.block, operation.page_in_block) = (block, page_in_block as u16);
        operation.page = page;
        operation
    }

    /// Gives an operation its number and its place in a die.
    #[inline(always)]
    fn issue(&mut self, mut operation: Operation, is_translation: bool) -> u32 {
        self.issued += 1;
        operation.number = self.issued;
        operation.issued_ns = self.now;
        operation.is_background = self.is_background;
        let die = self.blocks_per_die.divide(operation.block).0;
        operation.die = die;
        operation.collection_ns = self.dies[die as usize].collected_ns(self.now);
        if self.record.is_some() {
            self.note(&operation, is_translation);
        }
        let (is_host_read, is_ready) = (operation.is_host_read, operation.needs == 0);
        let id = self.operations.insert(operation);
        if is_host_read {
            self.dies[die as usize].reads_issued += 1;
            if is_ready {
                self.add_host_read(id);
            }
        } else {
            self.dies[die as usize].queue.push_back(id);
        }
        self.die_changed(die);
        id
    }

    #[cold]
    fn note(&mut self, operation: &Operation, is_translation: bool) {
        let Operation { kind, role, die, mut block, issued_ns, .. } = *operation;
        let mut page_in_block = operation.page_in_block.into();
        if kind == OperationKind::Copy {
            (block, page_in_block) = self.pages_per_block.divide(operation.from);
        }
        let has_page = kind != OperationKind::Erase;
        let record = OperationRecord {
            kind,
            role,
            die,
            block,
            page_in_block: has_page.then_some(page_in_block),
            page: has_page.then_some(operation.page),
            is_translation,
            issued_ns,
            start_ns: None,
            end_ns: None,
        };
        self.record.as_mut().expect("operations are recorded").push(record);
    }

    fn program(&mut self, to: PhysicalPage, holds: LogicalPage, host: &HostPage) {
        let mut operation = self.on_page(OperationKind::Program, Role::Host, to, holds.0);
        operation.request = host.request;
        let page = operation.page_in_block;
        operation.generation = self.blocks.issue_program(operation.block, page);
        if host.is_volatile {
            operation.period = Some(self.flushes.begin());
        }
        for slot in host.releases {
            if slot != NONE {
                Engine::link(
                    &mut self.links,
                    &mut operation.end_waiters,
                    Waiter::Slot { id: slot },
                );
            }
        }
        if !self.is_content_there(host.content) {
            operation.needs |= need::CONTENT;
        }
        let load = self.loads.get(&holds.0).copied();
        if load.is_some() {
            operation.needs |= need::TRANSLATION;
        }
        let needs_content = operation.needs & need::CONTENT != 0;
        let id = self.issue(operation, false);
        if needs_content {
            self.wait_for_content(host.content, id);
        }
        if let Some(load) = load {
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

    /// The host reads a page that was programmed.
    fn read(&mut self, from: PhysicalPage, holds: LogicalPage, host: &HostPage) -> Reading {
        let load = self.loads.get(&holds.0).copied();
        let waits_for = |needs: u8| if load.is_some() { needs | need::TRANSLATION } else { needs };
        let mut operation = self.on_page(OperationKind::Read, Role::Host, from, holds.0);
        let writer = self.writer(&operation);
        if let Some(writer) = writer
            && self.operations[writer].kind != OperationKind::Copy
        {
            self.totals.in_flight_reads += 1;
            let id = self.read_in_flight(writer, holds.0, host, load.is_some());
            if let Some(load) = load {
                self.wait_for_end(load, Waiter::Controlled { id, need: need::TRANSLATION });
            }
            return Reading::Controlled(id);
        }
        operation.is_host_read = !host.is_padding;
        operation.request = host.request;
        operation.action = host.action;
        operation.gate = if host.is_padding { NONE } else { self.blocks.hold(operation.block) };
        let needs = if writer.is_some() { need::COPIED } else { 0 };
        operation.needs = waits_for(needs);
        let id = self.issue(operation, false);
        if let Some(copy) = writer {
            self.wait_for_end((copy, false), Waiter::Operation { id, need: need::COPIED });
        }
        if let Some(load) = load {
            self.wait_for_end(load, Waiter::Operation { id, need: need::TRANSLATION });
        }
        Reading::Operation(id)
    }

    /// The program or copy of the page that an operation reads, if it is not complete.
    fn writer(&self, read: &Operation) -> Option<u32> {
        if !self.blocks.is_in_flight(read.block, read.page_in_block) {
            return None;
        }
        let die = &self.dies[self.blocks_per_die.divide(read.block).0 as usize];
        let held = [die.active, die.loaded, die.suspended];
        let in_groups = held.into_iter().filter(|id| *id != NONE).flat_map(|id| {
            std::iter::successors(Some(id), |id| {
                Some(self.operations[*id].next).filter(|id| *id != NONE)
            })
        });
        let writes = |id: &u32| {
            let operation = &self.operations[*id];
            matches!(operation.kind, OperationKind::Program | OperationKind::Copy)
                && operation.block == read.block
                && operation.page_in_block == read.page_in_block
        };
        // The last one: an earlier one is of what the block held before.
        let writer = die.queue.iter().rev().copied().find(writes);
        Some(writer.or_else(|| in_groups.into_iter().find(writes)).expect("it is in the die"))
    }

    /// Reads a page whose program is not complete.
    fn read_in_flight(&mut self, writer: u32, page: u32, host: &HostPage, is_loading: bool) -> u32 {
        let takes_ns = self.options.times.dram.read_ns;
        let writing = &self.operations[writer];
        let is_there = writing.needs & need::CONTENT == 0;
        let needs = if is_there { 0 } else { need::CONTENT };
        let read = Controlled {
            request: host.request,
            page,
            decided_ns: self.now,
            takes_ns,
            needs: if is_loading { needs | need::TRANSLATION } else { needs },
            is_collected: writing.role.is_collection(),
            waited_for_translation: false,
            program: NONE,
            action: host.action,
            end_waiters: NONE,
            waited_ns: 0,
        };
        let id = self.control(read);
        if !is_there {
            let waiter = Waiter::Controlled { id, need: need::CONTENT };
            let chain = &mut self.operations[writer].content_waiters;
            Engine::link(&mut self.links, chain, waiter);
        }
        id
    }

    /// A page moves.
    fn relocate(
        &mut self,
        role: Role,
        from: PhysicalPage,
        to: PhysicalPage,
        page: u32,
        is_translation: bool,
    ) {
        let (from_block, _) = self.pages_per_block.divide(from.0);
        let (to_block, to_page) = self.pages_per_block.divide(to.0);
        let plane = |block: u32| self.blocks_per_plane.divide(block).0;
        if self.options.copyback && plane(from_block) == plane(to_block) {
            let mut copy = self.on_page(OperationKind::Copy, role, to, page);
            copy.from = from.0;
            copy.generation = self.blocks.issue_program(to_block, to_page as u16);
            self.issue(copy, is_translation);
            return;
        }
        let read = self.on_page(OperationKind::Read, role, from, page);
        let read = self.issue(read, is_translation);
        let mut program = self.on_page(OperationKind::Program, role, to, page);
        program.generation = self.blocks.issue_program(to_block, to_page as u16);
        program.needs = need::CONTENT;
        program.gate = self.blocks.hold(from_block);
        let program = self.issue(program, is_translation);
        self.operations[read].program = program;
    }

    fn erase(&mut self, role: Role, block: Block) {
        let mut erase = Operation::new(OperationKind::Erase, role);
        erase.block = block.0;
        let id = self.issue(erase, false);
        if self.blocks.issue_erase(block.0, id) {
            self.operations[id].needs = need::RELEASED;
        }
    }

    fn load(&mut self, from: PhysicalPage, holds: TranslationPage, wanted: LogicalPage) {
        let mut operation = self.on_page(OperationKind::Read, Role::Load, from, holds.0);
        let writer = self.writer(&operation);
        if let Some(writer) = writer
            && self.operations[writer].kind != OperationKind::Copy
        {
            self.totals.in_flight_reads += 1;
            let host = HostPage::of(NONE);
            let id = self.read_in_flight(writer, holds.0, &host, false);
            self.loads.insert(wanted.0, (id, true));
            self.wait_for_end((id, true), Waiter::Load { wanted: wanted.0, id });
            return;
        }
        operation.is_host_read = true;
        operation.gate = self.blocks.hold(operation.block);
        operation.needs = if writer.is_some() { need::COPIED } else { 0 };
        let id = self.issue(operation, true);
        if let Some(copy) = writer {
            self.wait_for_end((copy, false), Waiter::Operation { id, need: need::COPIED });
        }
        self.loads.insert(wanted.0, (id, false));
        self.wait_for_end((id, false), Waiter::Load { wanted: wanted.0, id });
    }

    fn update(&mut self, from: PhysicalPage, holds: TranslationPage) {
        let read = self.on_page(OperationKind::Read, Role::Update, from, holds.0);
        let id = self.issue(read, true);
        self.updates.insert(holds.0, id);
    }

    fn program_translation(&mut self, to: PhysicalPage, holds: TranslationPage) {
        let mut operation = self.on_page(OperationKind::Program, Role::Translation, to, holds.0);
        operation.generation = self.blocks.issue_program(operation.block, operation.page_in_block);
        let read = self.updates.remove(&holds.0);
        operation.needs = if read.is_some() { need::CONTENT } else { 0 };
        let id = self.issue(operation, true);
        if let Some(read) = read {
            self.operations[read].program = id;
        }
    }

    /// An operation is over.
    pub(super) fn complete_operation(&mut self, id: u32) {
        let Operation { number, die, block, page_in_block, generation, kind, .. } =
            self.operations[id];
        let Operation { page, request, program, action, gate, period, end_waiters, .. } =
            self.operations[id];
        let Operation { issued_ns: waited_ns, collection_ns, is_host_read, is_background, .. } =
            self.operations[id];
        self.operations.remove(id);
        if let Some(record) = &mut self.record {
            record[number as usize - 1].end_ns = Some(self.now);
        }
        if !is_background {
            self.dies[die as usize].last_end_ns = self.now;
        }
        match kind {
            OperationKind::Program | OperationKind::Copy => {
                self.blocks.complete_program(block, page_in_block, generation);
            }
            OperationKind::Erase => self.totals.background_erases += u64::from(is_background),
            OperationKind::Read if is_host_read => self.dies[die as usize].reads_issued -= 1,
            OperationKind::Read => {}
        }
        if gate != NONE
            && let Some(erase) = self.blocks.let_go(gate)
        {
            self.have(erase, need::RELEASED);
        }
        if let Some(period) = period {
            self.flushes.end(period);
        }
        if request != NONE {
            self.page_done(request, page, (0, collection_ns, waited_ns - collection_ns));
        }
        self.read_is_over(program, action);
        self.satisfy(end_waiters);
    }
}
