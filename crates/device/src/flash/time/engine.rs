//! The parts of a drive that take time, and what they are doing.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::blocks::Blocks;
use super::dies::{Channel, Die};
use super::flushes::Flushes;
use super::memories::Memories;
use super::operation::{Operation, OperationKind, OperationRecord};
use super::options::{Scheduling, TimeOptions};
use super::requests::Requests;
use super::slab::{NONE, Slab};
use crate::flash::geometry::{Divisor, Geometry};

/// Something that ends at a time that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// The array of a die, unless it was suspended since: then its count of beginnings has moved on.
    Array { die: u32, begun: u32 },
    /// The phase on a channel.
    Bus { channel: u32 },
    /// What a memory does.
    Action { action: u32 },
    /// A read in the controller.
    Controlled { read: u32 },
    /// A request in the front end.
    Front,
    /// Nothing; but something may begin.
    Wake { die: u32 },
    /// Nothing; but a pool may have rested for long enough.
    Rest,
}

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

/// What was counted along the way.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) in_flight_reads: u64,
    pub(super) unmapped_reads: u64,
    pub(super) suspensions: u64,
    pub(super) background_erases: u64,
    pub(super) collection_ns: u64,
}

/// A read whose page is in the controller or in a buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Controlled {
    pub(super) request: u32,
    pub(super) page: u32,
    pub(super) decided_ns: u64,
    pub(super) takes_ns: u64,
    pub(super) needs: u8,
    /// Whether it waits for what collection reads.
    pub(super) is_collected: bool,
    /// Whether the last it waited for was its translation.
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

/// Everything that takes time.
pub(super) struct Engine {
    pub(super) options: TimeOptions,
    pub(super) page_bytes: u32,
    pub(super) pages_per_block: Divisor,
    pub(super) blocks_per_die: Divisor,
    pub(super) blocks_per_plane: Divisor,
    pub(super) is_read_first: bool,
    pub(super) has_bus: bool,
    /// Of each pool, its blocks, and how many of them at its end hold one bit per cell.
    pub(super) slc: Option<(Divisor, u32)>,
    pub(super) now: u64,
    pub(super) issued: u64,
    pub(super) operations: Slab<Operation>,
    pub(super) controlled: Slab<Controlled>,
    pub(super) links: Slab<Link>,
    pub(super) dies: Vec<Die>,
    pub(super) channels: Vec<Channel>,
    pub(super) blocks: Blocks,
    pub(super) events: BinaryHeap<Reverse<(u64, Event)>>,
    /// Dies and channels for which something changed since operations were last begun.
    pub(super) changed_dies: Vec<u32>,
    pub(super) changed_channels: Vec<u32>,
    pub(super) memories: Memories,
    pub(super) requests: Requests,
    pub(super) flushes: Flushes,
    /// By logical page, the load of its translation that is not over, and whether it is in the controller.
    pub(super) loads: FxHashMap<u32, (u32, bool)>,
    /// By translation page, the read that its next program needs.
    pub(super) updates: FxHashMap<u32, u32>,
    /// Of each pool, until when it is known to rest.
    pub(super) rests_until: Vec<u64>,
    /// Whether what is issued is collection in the background.
    pub(super) is_background: bool,
    pub(super) totals: Totals,
    pub(super) record: Option<Vec<OperationRecord>>,
}

impl Engine {
    pub(super) fn new(
        geometry: &Geometry,
        options: TimeOptions,
        slc: Option<(u32, u32)>,
        slots: [u32; 2],
    ) -> Engine {
        let dies = geometry.dies() as u32;
        let blocks = geometry.blocks() as usize;
        let blocks_per_die = geometry.planes_per_die * geometry.blocks_per_plane;
        let times = &options.times;
        Engine {
            page_bytes: geometry.page_bytes,
            pages_per_block: Divisor::new(geometry.pages_per_block),
            blocks_per_die: Divisor::new(blocks_per_die),
            blocks_per_plane: Divisor::new(geometry.blocks_per_plane),
            is_read_first: options.scheduling == Scheduling::ReadFirst,
            has_bus: times.command_ns + times.transfer_ns > 0,
            slc: slc.map(|(pool_blocks, slc_blocks)| {
                (Divisor::new(pool_blocks), pool_blocks - slc_blocks)
            }),
            now: 0,
            issued: 0,
            operations: Slab::new(),
            controlled: Slab::new(),
            links: Slab::new(),
            dies: (0..dies).map(|die| Die::new(die % geometry.channels)).collect(),
            channels: (0..geometry.channels)
                .map(|channel| Channel::new(channel, dies, geometry.channels))
                .collect(),
            blocks: Blocks::new(blocks),
            events: BinaryHeap::new(),
            changed_dies: Vec::new(),
            changed_channels: Vec::new(),
            memories: Memories::new(slots, [times.dram, times.nvm]),
            requests: Requests::new(options.queue_depth),
            flushes: Flushes::new(),
            loads: FxHashMap::default(),
            updates: FxHashMap::default(),
            rests_until: Vec::new(),
            is_background: false,
            totals: Totals::default(),
            record: None,
            options,
        }
    }

    #[inline]
    pub(super) fn at(&mut self, time_ns: u64, event: Event) {
        self.events.push(Reverse((time_ns, event)));
    }

    /// Something changed for a die.
    #[inline]
    pub(super) fn die_changed(&mut self, die: u32) {
        let entry = &mut self.dies[die as usize];
        if !entry.is_changed {
            entry.is_changed = true;
            self.changed_dies.push(die);
        }
    }

    #[inline]
    pub(super) fn channel_changed(&mut self, channel: u32) {
        let entry = &mut self.channels[channel as usize];
        if !entry.is_changed {
            entry.is_changed = true;
            self.changed_channels.push(channel);
        }
    }

    /// Carries out all that ends now. Says whether anything did.
    pub(super) fn end_all(&mut self) -> bool {
        let mut happened = false;
        while let Some(&Reverse((time, event))) = self.events.peek() {
            if time > self.now {
                break;
            }
            self.events.pop();
            happened = true;
            match event {
                Event::Array { die, begun } => self.end_array(die, begun),
                Event::Bus { channel } => self.end_bus(channel),
                Event::Action { action } => self.end_action(action),
                Event::Controlled { read } => self.end_controlled(read),
                Event::Front => self.requests.front_is_over = true,
                Event::Wake { die } => self.die_changed(die),
                Event::Rest => {}
            }
        }
        happened
    }

    /// Whether a pool's dies have nothing to do, and for long enough only what was done in the background.
    pub(super) fn has_rested(&mut self, dies: std::ops::Range<usize>, pool: u32) -> bool {
        let dies = &self.dies[dies];
        if !dies.iter().all(Die::is_idle) {
            return false;
        }
        let last_ns = dies.iter().map(|die| die.last_end_ns).max().unwrap_or(0);
        let rested_ns = last_ns + self.options.times.idle_ns;
        if self.now >= rested_ns {
            return true;
        }
        let pool = pool as usize;
        if self.rests_until.len() <= pool {
            self.rests_until.resize(pool + 1, 0);
        }
        if self.rests_until[pool] != rested_ns {
            self.rests_until[pool] = rested_ns;
            self.at(rested_ns, Event::Rest);
        }
        false
    }

    pub(super) fn next_event_ns(&self) -> Option<u64> {
        self.events.peek().map(|Reverse((time, _))| *time)
    }

    /// Puts a waiter before a chain.
    #[inline]
    pub(super) fn link(links: &mut Slab<Link>, chain: &mut u32, waiter: Waiter) {
        *chain = links.insert(Link { waiter, next: *chain });
    }

    /// What a chain waited for has come.
    pub(super) fn satisfy(&mut self, mut chain: u32) {
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
        if need == super::operation::need::CONTENT {
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
        if read.needs == 0 {
            read.waited_for_translation = need == super::operation::need::TRANSLATION;
            read.waited_ns = now - read.decided_ns;
            let end_ns = now + read.takes_ns;
            self.at(end_ns, Event::Controlled { read: id });
        }
    }

    /// Enters a read in the controller or in a buffer, which begins if it needs nothing.
    pub(super) fn control(&mut self, read: Controlled) -> u32 {
        let (needs, end_ns) = (read.needs, self.now + read.takes_ns);
        let id = self.controlled.insert(read);
        if needs == 0 {
            self.at(end_ns, Event::Controlled { read: id });
        }
        id
    }

    /// A page is read that is nowhere.
    pub(super) fn read_nowhere(&mut self, page: u32, request: u32, action: u32) {
        let read = Controlled {
            request,
            page,
            decided_ns: self.now,
            takes_ns: self.options.times.dram.read_ns,
            needs: 0,
            is_collected: false,
            waited_for_translation: false,
            program: NONE,
            action,
            end_waiters: NONE,
            waited_ns: 0,
        };
        self.control(read);
    }

    fn end_controlled(&mut self, id: u32) {
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
            self.have(program, super::operation::need::CONTENT);
        }
        if action != NONE {
            self.end_action(action);
        }
    }

    /// How long the array works on an operation.
    pub(super) fn array_ns(&self, operation: &Operation) -> u64 {
        let read_ns = |block: u32, page: u32| match self.slc_times(block) {
            Some(slc) => slc.read_ns,
            None => of_type(&self.options.times.read_ns, page, self.options.pages_per_program),
        };
        let program_ns = |block: u32, page: u32| match self.slc_times(block) {
            Some(slc) => slc.program_ns,
            None => of_type(&self.options.times.program_ns, page, self.options.pages_per_program),
        };
        let (block, page) = (operation.block, u32::from(operation.page_in_block));
        match operation.kind {
            OperationKind::Read => read_ns(block, page),
            OperationKind::Program => program_ns(block, page),
            OperationKind::Erase => match self.slc_times(block) {
                Some(slc) => slc.erase_ns,
                None => self.options.times.erase_ns,
            },
            OperationKind::Copy => {
                let (from, from_page) = self.pages_per_block.divide(operation.from);
                read_ns(from, from_page) + program_ns(block, page)
            }
        }
    }

    #[inline]
    fn slc_times(&self, block: u32) -> Option<super::options::SlcTimes> {
        let (pool_blocks, main_blocks) = self.slc?;
        let in_pool = pool_blocks.divide(block).1;
        self.options.times.slc.filter(|_| in_pool >= main_blocks)
    }

    /// A page of a request is done. `waits` are those for the buffer, for collection and for the flash.
    pub(super) fn page_done(&mut self, request: u32, page: u32, waits: (u64, u64, u64)) {
        self.requests.page_done(request, page, waits, self.now);
    }
}

/// The time of a page's type.
#[inline]
fn of_type(times: &[u64], page: u32, pages_per_program: u32) -> u64 {
    match times {
        [time] => *time,
        _ => times[(page / pages_per_program) as usize % times.len()],
    }
}
