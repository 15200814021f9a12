//! What happens when a phase of an operation ends.

use super::dies::{Phase, Stage};
use super::ends::Part;
use super::engine::Engine;
use super::operation::{OperationKind, need};
use super::slab::NONE;

impl Engine {
    /// Collection begins or stops to work on the die, if its active operation is of collection.
    #[inline]
    pub(super) fn note_collecting(&mut self, die: u32, begins: bool) {
        let (now, entry) = (self.now, &mut self.dies[die as usize]);
        if self.operations[entry.active].role.is_collection() {
            if begins { entry.begin_collecting(now) } else { entry.end_collecting(now) }
        }
    }

    /// How long the array works on an operation and its group: as long as on the slowest of them.
    #[inline]
    fn array_of_group_ns(&self, id: u32) -> u64 {
        let (mut member, mut array_ns) = (id, 0);
        while member != NONE {
            let operation = &self.operations[member];
            array_ns = operation.array_ns.max(array_ns);
            member = operation.next;
        }
        array_ns
    }

    #[inline]
    pub(super) fn begin_array(&mut self, die: u32) {
        let array_ns = self.array_of_group_ns(self.dies[die as usize].active);
        self.begin_array_for(die, array_ns);
    }

    #[inline]
    pub(super) fn begin_array_for(&mut self, die: u32, array_ns: u64) {
        let end_ns = self.now + array_ns;
        let entry = &mut self.dies[die as usize];
        entry.stage = Stage::Array;
        entry.array_end_ns = end_ns;
        self.deadlines.begin(self.now, array_ns, Part::Array(die));
        // It can be stopped now, and the next program be loaded.
        if self.can_suspend || self.options.cache_program {
            self.die_changed(die);
        }
    }

    #[inline]
    pub(super) fn end_array(&mut self, die: u32) {
        let entry = &mut self.dies[die as usize];
        let is_read = self.operations[entry.active].kind == OperationKind::Read;
        if is_read && self.options.times.transfer_ns > 0 {
            entry.stage = Stage::Waits;
            self.die_changed(die);
        } else {
            self.complete(die);
        }
    }

    #[inline]
    pub(super) fn end_bus(&mut self, channel: u32) {
        let entry = &mut self.channels[channel as usize];
        let Phase { die, loads, takes_ns } = entry.phase.take().expect("a phase ends here");
        entry.busy_ns += takes_ns;
        self.channel_changed(channel);
        let entry = &mut self.dies[die as usize];
        if loads {
            entry.is_loaded = true;
            self.begin_loaded(die);
        } else if entry.stage == Stage::LastBus {
            self.complete(die);
        } else {
            self.begin_array(die);
        }
    }

    /// The array works on the loaded program, if that is transferred and nothing is before it.
    #[inline]
    fn begin_loaded(&mut self, die: u32) {
        let entry = &mut self.dies[die as usize];
        if entry.loaded != NONE && entry.active == NONE && entry.is_loaded {
            entry.active = std::mem::replace(&mut entry.loaded, NONE);
            self.begin_array(die);
        }
    }

    /// The last phase of what a die holds is over.
    fn complete(&mut self, die: u32) {
        let now = self.now;
        let entry = &mut self.dies[die as usize];
        let mut member = std::mem::replace(&mut entry.active, NONE);
        entry.release(now);
        if self.operations[member].role.is_collection() {
            entry.end_collecting(now);
            self.totals.collection_ns += self.phases_ns(member);
        }
        while member != NONE {
            let next = self.operations[member].next;
            self.complete_operation(member);
            member = next;
        }
        self.begin_loaded(die);
        self.die_changed(die);
    }

    /// How long the phases of an operation and of its group take.
    #[inline]
    fn phases_ns(&self, id: u32) -> u64 {
        let operation = &self.operations[id];
        let is_read = operation.kind == OperationKind::Read;
        let data_ns = if is_read { self.options.times.transfer_ns } else { 0 };
        let (mut members, mut next) = (1, operation.next);
        while next != NONE {
            (members, next) = (members + 1, self.operations[next].next);
        }
        self.first_bus_ns(operation, members) + self.array_of_group_ns(id) + data_ns
    }

    /// An operation is over.
    fn complete_operation(&mut self, id: u32) {
        let now = self.now;
        let operation = &mut self.operations[id];
        let (die, gate, period) = (operation.die, operation.gate, operation.period);
        let (program, action, waiters) =
            (operation.program, operation.action, operation.end_waiters);
        if let Some(record) = &mut self.record {
            record[operation.number as usize - 1].end_ns = Some(now);
        }
        let entry = &mut self.dies[die as usize];
        if !operation.is_background {
            entry.last_end_ns = now;
        }
        match operation.kind {
            OperationKind::Program | OperationKind::Copy => {
                let page = operation.page_in_block;
                self.blocks.complete_program(operation.block, page, operation.generation);
            }
            OperationKind::Erase if operation.is_background => self.totals.background_erases += 1,
            OperationKind::Read if operation.is_host_read => entry.reads_issued -= 1,
            OperationKind::Read | OperationKind::Erase => {}
        }
        if operation.request != NONE {
            let flash_ns = operation.issued_ns - operation.collection_ns;
            let waits = (0, operation.collection_ns, flash_ns);
            self.requests.page_done(operation.request, operation.page, waits, now);
        }
        self.operations.remove(id);
        if gate != NONE
            && let Some(erase) = self.blocks.release(gate)
        {
            self.have(erase, need::RELEASED);
        }
        if period != NONE {
            self.flushes.end(period);
        }
        self.read_is_over(program, action);
        self.satisfy(waiters);
    }

    /// A read of the host is ready: it takes its place among those of its die.
    pub(super) fn add_host_read(&mut self, id: u32) {
        let (number, die) = (self.operations[id].number, self.operations[id].die);
        let operations = &self.operations;
        let reads = &mut self.dies[die as usize].reads;
        let place = reads.iter().rposition(|read| operations[*read].number < number);
        match place.map_or(0, |place| place + 1) {
            last if last == reads.len() => reads.push_back(id),
            place => reads.insert(place, id),
        }
    }
}
