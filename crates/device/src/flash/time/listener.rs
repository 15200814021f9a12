//! Operations as they are decided: what a translation layer reports becomes operations of dies.

use super::engine::Engine;
use super::memories::Content;
use super::operation::Role;
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
    /// True for a read for padding.
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
