//! The parts of a drive that take time, and what they are doing.

use rustc_hash::FxHashMap;

use super::blocks::Blocks;
use super::deadlines::Deadlines;
use super::dies::{Channel, Die};
use super::ends::Part;
use super::flushes::Flushes;
use super::marks::Marks;
use super::memories::Memories;
use super::operation::{Operation, OperationKind, OperationRecord};
use super::options::{Scheduling, TimeOptions};
use super::requests::Requests;
use super::slab::Slab;
use super::waits::{Controlled, Link};
use crate::flash::geometry::{Divisor, Geometry};

/// What was counted along the way.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) in_flight_reads: u64,
    pub(super) unmapped_reads: u64,
    pub(super) suspensions: u64,
    pub(super) background_erases: u64,
    pub(super) collection_ns: u64,
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
    pub(super) can_suspend: bool,
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
    /// When each part is over with what it does.
    pub(super) deadlines: Deadlines<Part>,
    /// Dies and channels for which something changed since operations were last begun.
    pub(super) changed_dies: Marks,
    pub(super) changed_channels: Marks,
    pub(super) memories: Memories,
    pub(super) requests: Requests,
    pub(super) flushes: Flushes,
    /// By logical page, the load of its translation that is not over, and whether it is in the controller.
    pub(super) loads: FxHashMap<u32, (u32, bool)>,
    /// By translation page, the read that its next program needs.
    pub(super) updates: FxHashMap<u32, u32>,
    /// Of each pool, until when it is known to rest.
    pub(super) rests_until: Vec<u64>,
    /// True if the operations issued now are collection in the background.
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
        let has_bus = times.command_ns + times.transfer_ns > 0;
        Engine {
            page_bytes: geometry.page_bytes,
            pages_per_block: Divisor::new(geometry.pages_per_block),
            blocks_per_die: Divisor::new(blocks_per_die),
            blocks_per_plane: Divisor::new(geometry.blocks_per_plane),
            is_read_first: options.scheduling == Scheduling::ReadFirst,
            has_bus,
            can_suspend: options.suspend.erase || options.suspend.program,
            slc: slc.map(|(pool_blocks, slc_blocks)| {
                (Divisor::new(pool_blocks), pool_blocks - slc_blocks)
            }),
            now: 0,
            issued: 0,
            operations: Slab::new(),
            controlled: Slab::new(),
            links: Slab::new(),
            dies: (0..dies).map(|die| Die::new(die, geometry.channels)).collect(),
            channels: (0..geometry.channels)
                .map(|channel| Channel::new(channel, dies, geometry.channels))
                .collect(),
            blocks: Blocks::new(blocks),
            deadlines: Deadlines::new(),
            changed_dies: Marks::new(dies as usize),
            changed_channels: Marks::new(geometry.channels as usize),
            memories: Memories::new(slots),
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

    /// Something changed for a die.
    #[inline]
    pub(super) fn die_changed(&mut self, die: u32) {
        self.changed_dies.mark(die);
    }

    #[inline]
    pub(super) fn channel_changed(&mut self, channel: u32) {
        self.changed_channels.mark(channel);
    }

    /// True if a pool's dies are idle, and for long enough had only work in the background.
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
            self.deadlines.set(rested_ns, Part::Alarm);
        }
        false
    }

    /// Array time of an operation on this page; `from` is the page that a copy reads.
    #[inline]
    pub(super) fn array_ns(&self, kind: OperationKind, block: u32, page: u32, from: u32) -> u64 {
        let times = &self.options.times;
        let of_type = |times: &[u64], page| of_type(times, page, self.options.pages_per_program);
        let read_ns = |block: u32, page: u32| {
            self.slc_times(block).map_or_else(|| of_type(&times.read_ns, page), |slc| slc.read_ns)
        };
        let program_ns = || {
            let of_type = || of_type(&times.program_ns, page);
            self.slc_times(block).map_or_else(of_type, |slc| slc.program_ns)
        };
        match kind {
            OperationKind::Read => read_ns(block, page),
            OperationKind::Program => program_ns(),
            OperationKind::Erase => {
                self.slc_times(block).map_or(times.erase_ns, |slc| slc.erase_ns)
            }
            OperationKind::Copy => {
                let (from, from_page) = self.pages_per_block.divide(from);
                read_ns(from, from_page) + program_ns()
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
