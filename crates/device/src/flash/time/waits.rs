//! What waits for something, and reads in the controller, which do little else.

use super::ends::Work;
use super::engine::Engine;
use super::operation::need;
use super::slab::{NONE, Slab};

/// Who waits for something.
#[derive(Debug, Clone, Copy)]
pub(super) enum Waiter {
    /// An operation, which then lacks this no more.
    Operation { id: u32, need: u8 },
    /// A read in the controller.
    Controlled { id: u32, need: u8 },
    /// A migration that needs the content of its page.
    Action { id: u32 },
    /// A place in a memory that is given back then.
    Slot { id: u32 },
    /// The list of the loads that are not over.
    Load { wanted: u32, id: u32 },
}

/// A [`Waiter`] of a chain.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    pub(super) waiter: Waiter,
    pub(super) next: u32,
}

/// A read whose page is in the controller or in a buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Controlled {
    pub(super) request: u32,
    pub(super) page: u32,
    pub(super) decided_ns: u64,
    pub(super) is_in_nvm: bool,
    pub(super) needs: u8,
    /// Whether it waits for what collection reads.
    pub(super) is_collected: bool,
    /// When its content came, and whether its translation came later.
    pub(super) content_ns: u64,
    pub(super) waited_for_translation: bool,
    /// The program that waits for it.
    pub(super) program: u32,
    /// The action that is over with it.
    pub(super) action: u32,
    /// What waits for its end.
    pub(super) end_waiters: u32,
    /// How long it waited before it began.
    pub(super) waited_ns: u64,
}

impl Controlled {
    /// One that needs nothing.
    pub(super) fn new(request: u32, page: u32, decided_ns: u64) -> Controlled {
        Controlled {
            request,
            page,
            decided_ns,
            is_in_nvm: false,
            needs: 0,
            is_collected: false,
            content_ns: decided_ns,
            waited_for_translation: false,
            program: NONE,
            action: NONE,
            end_waiters: NONE,
            waited_ns: 0,
        }
    }

    fn work(&self) -> Work {
        if self.is_in_nvm { Work::NvmRead } else { Work::DramRead }
    }
}

impl Engine {
    /// Puts a waiter before a chain.
    #[inline]
    pub(super) fn link(links: &mut Slab<Link>, chain: &mut u32, waiter: Waiter) {
        *chain = links.insert(Link { waiter, next: *chain });
    }

    /// Ends one wait of a chain.
    #[inline]
    pub(super) fn satisfy(&mut self, chain: u32) {
        if chain != NONE {
            self.satisfy_all(chain);
        }
    }

    fn satisfy_all(&mut self, mut chain: u32) {
        while chain != NONE {
            let Link { waiter, next } = self.links[chain];
            self.links.remove(chain);
            match waiter {
                Waiter::Operation { id, need } => self.have(id, need),
                Waiter::Controlled { id, need } => self.have_controlled(id, need),
                Waiter::Action { id } => self.have_for_action(id, super::memories::NEED_CONTENT),
                Waiter::Slot { id } => self.release(id),
                Waiter::Load { wanted, id } => {
                    if self.loads.get(&wanted).is_some_and(|(load, _)| *load == id) {
                        self.loads.remove(&wanted);
                    }
                }
            }
            chain = next;
        }
    }

    /// An operation lacks this no more.
    pub(super) fn have(&mut self, id: u32, need: u8) {
        let operation = &mut self.operations[id];
        operation.needs &= !need;
        let is_ready = operation.needs == 0;
        let (die, is_host_read) = (operation.die, operation.is_host_read);
        if need == need::CONTENT {
            let waiters = std::mem::replace(&mut operation.content_waiters, NONE);
            self.satisfy(waiters);
        }
        if is_ready {
            if is_host_read {
                self.add_host_read(id);
            }
            self.die_changed(die);
        }
    }

    /// A read in the controller or in a buffer lacks this no more.
    fn have_controlled(&mut self, id: u32, need: u8) {
        let now = self.now;
        let read = &mut self.controlled[id];
        read.needs &= !need;
        let is_translation = need == need::TRANSLATION;
        if !is_translation {
            read.content_ns = now;
        }
        if read.needs == 0 {
            read.waited_for_translation = is_translation && now > read.content_ns;
            read.waited_ns = now - read.decided_ns;
            let work = read.work();
            self.begin_work(work, id);
        }
    }

    /// A read in the controller or in a buffer begins, if it needs nothing.
    pub(super) fn control(&mut self, id: u32) {
        let read = &self.controlled[id];
        if read.needs == 0 {
            let work = read.work();
            self.begin_work(work, id);
        }
    }

    /// A page is read that is nowhere.
    pub(super) fn read_nowhere(&mut self, page: u32, request: u32, action: u32) {
        let read = Controlled { action, ..Controlled::new(request, page, self.now) };
        let id = self.controlled.insert(read);
        self.control(id);
    }

    pub(super) fn end_controlled(&mut self, id: u32) {
        let Controlled { request, page, is_collected, waited_for_translation, .. } =
            self.controlled[id];
        let Controlled { program, action, end_waiters, waited_ns, .. } = self.controlled[id];
        self.controlled.remove(id);
        if request != NONE {
            let waits = match (waited_for_translation, is_collected) {
                (true, _) => (0, 0, waited_ns),
                (false, true) => (0, waited_ns, 0),
                (false, false) => (waited_ns, 0, 0),
            };
            self.page_done(request, page, waits);
        }
        self.read_is_over(program, action);
        self.satisfy(end_waiters);
    }

    /// A read is over: the program that needs it has its content, and a buffer has its page.
    pub(super) fn read_is_over(&mut self, program: u32, action: u32) {
        if program != NONE {
            self.have(program, need::CONTENT);
        }
        if action != NONE {
            self.end_action(action);
        }
    }
}
