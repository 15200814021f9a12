//! Which operation a die begins, stops and resumes, and which phase a channel serves.

use super::dies::{Die, Phase, Stage, Wanted, WantedPhase};
use super::ends::Part;
use super::engine::Engine;
use super::operation::{Operation, OperationKind};
use super::slab::NONE;

impl Engine {
    /// Suspends, resumes and begins operations.
    pub(super) fn start_all(&mut self) {
        if self.can_suspend {
            let mut next = self.changed_dies.next_from(0);
            while let Some(die) = next {
                self.suspend_or_resume(die);
                next = self.changed_dies.next_from(die + 1);
            }
        }
        // What begins here marks its die once more only when a phase of it ends.
        while let Some(die) = self.changed_dies.take_first() {
            if !self.has_bus {
                if let Some(id) = self.next_operation(die) {
                    self.start(die, id, false);
                }
                continue;
            }
            let wanted = self.wanted(die);
            let wanted = match wanted.phase {
                Wanted::Start(id) if self.first_bus_ns(&self.operations[id], 1) == 0 => {
                    self.start(die, id, false);
                    WantedPhase::NONE
                }
                _ => wanted,
            };
            let Die { channel, place_on_channel, .. } = self.dies[die as usize];
            self.channels[channel as usize].wanted[place_on_channel as usize] = wanted;
            self.channel_changed(channel);
        }
        while let Some(channel) = self.changed_channels.take_first() {
            self.serve_channel(channel);
        }
    }

    fn suspend_or_resume(&mut self, die: u32) {
        let (now, suspend) = (self.now, self.options.suspend);
        let entry = &mut self.dies[die as usize];
        if entry.suspended != NONE {
            if entry.active == NONE && entry.stopped_ns <= now && entry.reads.is_empty() {
                entry.active = std::mem::replace(&mut entry.suspended, NONE);
                let array_ns = self.options.times.resume_ns + entry.left_ns;
                self.begin_array_for(die, array_ns);
                self.note_collecting(die, true);
            }
            return;
        }
        if entry.active == NONE || entry.stage != Stage::Array || entry.loaded != NONE {
            return;
        }
        let left_ns = entry.array_end_ns - now;
        let operation = &mut self.operations[entry.active];
        let may_stop = match operation.kind {
            OperationKind::Erase => suspend.erase,
            OperationKind::Program => suspend.program,
            OperationKind::Read | OperationKind::Copy => false,
        };
        let suspend_ns = self.options.times.suspend_ns;
        let is_allowed = may_stop && operation.suspensions < self.options.suspend_limit;
        if !is_allowed || left_ns <= suspend_ns || entry.reads.is_empty() {
            return;
        }
        operation.suspensions += 1;
        self.totals.suspensions += 1;
        self.note_collecting(die, false);
        let entry = &mut self.dies[die as usize];
        entry.suspended = std::mem::replace(&mut entry.active, NONE);
        (entry.left_ns, entry.stopped_ns) = (left_ns, now + suspend_ns);
        self.deadlines.forget(Part::Array(die));
        if suspend_ns > 0 {
            self.deadlines.begin(now, suspend_ns, Part::Resumption(die));
        }
    }

    /// The operation that an idle die begins next.
    #[inline]
    fn next_operation(&self, die: u32) -> Option<u32> {
        let entry = &self.dies[die as usize];
        if entry.active != NONE || entry.loaded != NONE {
            return None;
        }
        let read = entry.reads.front().copied();
        if entry.suspended != NONE {
            return read.filter(|_| entry.stopped_ns <= self.now);
        }
        if read.is_some() && self.is_read_first {
            return read;
        }
        let head = entry.queue.front().copied().filter(|head| self.operations[*head].needs == 0);
        match (read, head) {
            (Some(read), Some(head)) => {
                let is_first = self.operations[read].number < self.operations[head].number;
                Some(if is_first { read } else { head })
            }
            (read, head) => read.or(head),
        }
    }

    /// The program that a die may transfer while its array works on the one before.
    fn next_to_load(&self, die: u32) -> Option<u32> {
        let entry = &self.dies[die as usize];
        let is_busy = entry.loaded != NONE || entry.suspended != NONE;
        if !self.options.cache_program || entry.stage != Stage::Array || is_busy {
            return None;
        }
        if self.operations[entry.active].kind != OperationKind::Program
            || self.is_read_first && !entry.reads.is_empty()
        {
            return None;
        }
        let head = entry.queue.front().copied()?;
        let operation = &self.operations[head];
        (operation.kind == OperationKind::Program && operation.needs == 0).then_some(head)
    }

    /// The phase on the channel with which an operation begins, with this many pages.
    #[inline]
    pub(super) fn first_bus_ns(&self, operation: &Operation, pages: u64) -> u64 {
        let times = &self.options.times;
        match operation.kind {
            OperationKind::Read | OperationKind::Erase => times.command_ns,
            OperationKind::Program => times.command_ns + pages * times.transfer_ns,
            OperationKind::Copy => 2 * times.command_ns,
        }
    }

    /// The phase of a die that waits for its channel.
    #[inline]
    fn wanted(&self, die: u32) -> WantedPhase {
        let entry = &self.dies[die as usize];
        let (id, phase, transfers) = if entry.active == NONE {
            let Some(id) = self.next_operation(die) else { return WantedPhase::NONE };
            (id, Wanted::Start(id), self.operations[id].kind == OperationKind::Program)
        } else if entry.stage == Stage::Waits {
            (entry.active, Wanted::Data, true)
        } else {
            let Some(id) = self.next_to_load(die) else { return WantedPhase::NONE };
            (id, Wanted::Load(id), true)
        };
        let operation = &self.operations[id];
        let waits = self.is_read_first && !operation.is_host_read;
        let rank = u64::from(transfers) << 63 | u64::from(waits) << 62 | operation.number;
        WantedPhase { rank, phase }
    }

    /// A free channel serves one of the phases that wait for it.
    fn serve_channel(&mut self, channel: u32) {
        let entry = &mut self.channels[channel as usize];
        if entry.phase.is_some() {
            return;
        }
        let Some((die, wanted)) = entry.take_first() else { return };
        match wanted {
            Wanted::Start(id) => self.start(die, id, false),
            Wanted::Load(id) => self.start(die, id, true),
            Wanted::Data => {
                self.dies[die as usize].stage = Stage::LastBus;
                let takes_ns = self.options.times.transfer_ns;
                self.occupy(channel, Phase { die, loads: false, takes_ns });
            }
        }
    }

    /// Takes an operation that begins now, and those that are programmed with it, out of the die's lists. Says how many.
    #[inline]
    fn take(&mut self, die: u32, id: u32) -> u64 {
        let entry = &mut self.dies[die as usize];
        let first = &self.operations[id];
        if first.is_host_read {
            entry.reads.pop_front();
            return 1;
        }
        entry.queue.pop_front();
        let together = self.options.pages_per_program;
        if first.kind != OperationKind::Program || together == 1 {
            return 1;
        }
        let (mut last, mut pages) = (id, 1);
        while let Some(&next) = entry.queue.front() {
            let (before, after) = (&self.operations[last], &self.operations[next]);
            let page = u32::from(before.page_in_block) + 1;
            let belongs = after.kind == OperationKind::Program
                && after.needs == 0
                && after.block == before.block
                && u32::from(after.page_in_block) == page
                && page % together != 0;
            if !belongs {
                break;
            }
            entry.queue.pop_front();
            self.operations[last].next = next;
            (last, pages) = (next, pages + 1);
        }
        pages
    }

    /// Begins an operation on a die whose channel, if it needs it, is free.
    fn start(&mut self, die: u32, id: u32, loads: bool) {
        let pages = self.take(die, id);
        let now = self.now;
        let entry = &mut self.dies[die as usize];
        entry.hold(now);
        let mut member = id;
        while member != NONE {
            let operation = &mut self.operations[member];
            if operation.request != NONE {
                operation.issued_ns = now - operation.issued_ns;
                operation.collection_ns = entry.collected_ns(now) - operation.collection_ns;
            }
            if let Some(record) = &mut self.record {
                record[operation.number as usize - 1].start_ns = Some(now);
            }
            member = operation.next;
        }
        if self.operations[id].role.is_collection() {
            entry.begin_collecting(now);
        }
        if loads {
            (entry.loaded, entry.is_loaded) = (id, false);
        } else {
            (entry.active, entry.stage) = (id, Stage::FirstBus);
        }
        let takes_ns = self.first_bus_ns(&self.operations[id], pages);
        if takes_ns > 0 {
            let channel = self.dies[die as usize].channel;
            self.occupy(channel, Phase { die, loads, takes_ns });
        } else {
            self.begin_array(die);
        }
    }

    #[inline]
    fn occupy(&mut self, channel: u32, phase: Phase) {
        self.channels[channel as usize].phase = Some(phase);
        self.deadlines.begin(self.now, phase.takes_ns, Part::Channel(channel));
    }
}
