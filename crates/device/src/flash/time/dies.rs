//! Dies and channels: which operation begins, and what happens when a phase of it ends.

use std::collections::VecDeque;

use super::engine::{Engine, Event};
use super::operation::{Operation, OperationKind};
use super::slab::NONE;

/// What a die is doing with the operation that it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Command, and content if it programs, on the channel.
    FirstBus,
    /// Its array works.
    Array,
    /// What was read waits for the channel.
    Waits,
    /// What was read is on the channel.
    LastBus,
}

/// A die.
#[derive(Debug)]
pub(super) struct Die {
    pub(super) channel: u32,
    /// Operations in the order of their numbers.
    pub(super) queue: VecDeque<u32>,
    /// Reads of the host that are ready, likewise.
    pub(super) reads: VecDeque<u32>,
    /// Reads of the host that were issued and are not over.
    pub(super) reads_issued: u32,
    /// The operation that it holds; of a group, the first.
    pub(super) active: u32,
    pub(super) stage: Stage,
    pub(super) array_end_ns: u64,
    /// How often its array began.
    pub(super) begun: u32,
    /// The next program, transferred or being transferred while the array works on `active`.
    pub(super) loaded: u32,
    pub(super) is_loaded: bool,
    /// The operation that stopped for reads of the host, what is left of it, and when it has stopped.
    pub(super) suspended: u32,
    pub(super) left_ns: u64,
    pub(super) stopped_ns: u64,
    pub(super) is_changed: bool,
    held_since_ns: Option<u64>,
    pub(super) held_ns: u64,
    /// Operations of collection that are under way, since when, and what earlier ones took.
    collecting: u32,
    collecting_since_ns: u64,
    collected_ns: u64,
    /// When an operation last ended here that was not issued in the background.
    pub(super) last_end_ns: u64,
}

impl Die {
    pub(super) fn new(channel: u32) -> Die {
        Die {
            channel,
            queue: VecDeque::new(),
            reads: VecDeque::new(),
            reads_issued: 0,
            active: NONE,
            stage: Stage::FirstBus,
            array_end_ns: 0,
            begun: 0,
            loaded: NONE,
            is_loaded: false,
            suspended: NONE,
            left_ns: 0,
            stopped_ns: 0,
            is_changed: false,
            held_since_ns: None,
            held_ns: 0,
            collecting: 0,
            collecting_since_ns: 0,
            collected_ns: 0,
            last_end_ns: 0,
        }
    }

    fn is_held(&self) -> bool {
        self.active != NONE || self.loaded != NONE || self.suspended != NONE
    }

    /// Whether nothing is begun or queued.
    pub(super) fn is_idle(&self) -> bool {
        !self.is_held() && self.queue.is_empty() && self.reads_issued == 0
    }

    /// What it has worked on collection until now.
    #[inline]
    pub(super) fn collected_ns(&self, now: u64) -> u64 {
        let current = if self.collecting > 0 { now - self.collecting_since_ns } else { 0 };
        self.collected_ns + current
    }

    fn begin_collecting(&mut self, now: u64) {
        if self.collecting == 0 {
            self.collecting_since_ns = now;
        }
        self.collecting += 1;
    }

    fn end_collecting(&mut self, now: u64) {
        self.collecting -= 1;
        if self.collecting == 0 {
            self.collected_ns += now - self.collecting_since_ns;
        }
    }

    /// How long it has been held until now.
    pub(super) fn busy_ns(&self, now: u64) -> u64 {
        self.held_ns + self.held_since_ns.map_or(0, |since| now - since)
    }
}

/// A channel.
#[derive(Debug)]
pub(super) struct Channel {
    pub(super) dies: Vec<u32>,
    /// The die whose phase it carries, whether that loads the next program, and how long it takes.
    phase: Option<(u32, bool, u64)>,
    pub(super) busy_ns: u64,
    pub(super) is_changed: bool,
}

impl Channel {
    pub(super) fn new(channel: u32, dies: u32, channels: u32) -> Channel {
        let dies = (channel..dies).step_by(channels as usize).collect();
        Channel { dies, phase: None, busy_ns: 0, is_changed: false }
    }
}

/// A phase that waits for a channel.
#[derive(Debug, Clone, Copy)]
enum Wanted {
    /// The first of an operation that then begins.
    Start(u32),
    /// The same while the array works on the program before.
    Load(u32),
    /// What was read.
    Data,
}

impl Engine {
    /// Suspends, resumes and begins operations.
    pub(super) fn start_all(&mut self) {
        let mut dies = std::mem::take(&mut self.changed_dies);
        for &die in &dies {
            self.dies[die as usize].is_changed = false;
            self.suspend_or_resume(die);
        }
        for &die in &dies {
            if let Some(id) = self.next_operation(die)
                && self.first_bus_ns(&self.operations[id], 1) == 0
            {
                self.start(die, id, false);
            } else if self.has_bus {
                self.channel_changed(self.dies[die as usize].channel);
            }
        }
        dies.clear();
        // What ends in between marks dies anew.
        dies.append(&mut self.changed_dies);
        self.changed_dies = dies;
        let mut channels = std::mem::take(&mut self.changed_channels);
        for &channel in &channels {
            self.channels[channel as usize].is_changed = false;
            self.serve_channel(channel);
        }
        channels.clear();
        channels.append(&mut self.changed_channels);
        self.changed_channels = channels;
    }

    fn suspend_or_resume(&mut self, die: u32) {
        let suspend = self.options.suspend;
        if !(suspend.erase || suspend.program) {
            return;
        }
        let now = self.now;
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
        entry.begun += 1;
        (entry.left_ns, entry.stopped_ns) = (left_ns, now + suspend_ns);
        if suspend_ns > 0 {
            self.at(now + suspend_ns, Event::Wake { die });
        }
    }

    /// Collection begins or stops to work on the die, if its active operation is of collection.
    fn note_collecting(&mut self, die: u32, begins: bool) {
        let (now, entry) = (self.now, &mut self.dies[die as usize]);
        if self.operations[entry.active].role.is_collection() {
            if begins { entry.begin_collecting(now) } else { entry.end_collecting(now) }
        }
    }

    /// The operation that an idle die begins next.
    fn next_operation(&self, die: u32) -> Option<u32> {
        let entry = &self.dies[die as usize];
        if entry.active != NONE || entry.loaded != NONE {
            return None;
        }
        let read = entry.reads.front().copied();
        if entry.suspended != NONE {
            return read.filter(|_| entry.stopped_ns <= self.now);
        }
        let head = entry.queue.front().copied().filter(|head| self.operations[*head].needs == 0);
        match (read, head) {
            (Some(read), Some(head)) => {
                let is_first = self.operations[read].number < self.operations[head].number;
                Some(if self.is_read_first || is_first { read } else { head })
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
    fn first_bus_ns(&self, operation: &Operation, pages: u64) -> u64 {
        let times = &self.options.times;
        match operation.kind {
            OperationKind::Read | OperationKind::Erase => times.command_ns,
            OperationKind::Program => times.command_ns + pages * times.transfer_ns,
            OperationKind::Copy => 2 * times.command_ns,
        }
    }

    /// The phase of a die that waits for its channel, and how urgent it is: what is smaller comes first.
    fn wanted(&self, die: u32) -> Option<((bool, bool, u64), Wanted)> {
        let entry = &self.dies[die as usize];
        if entry.active == NONE {
            let id = self.next_operation(die)?;
            let operation = &self.operations[id];
            let transfers = operation.kind == OperationKind::Program;
            let urgency =
                (transfers, self.is_read_first && !operation.is_host_read, operation.number);
            return Some((urgency, Wanted::Start(id)));
        }
        if entry.stage == Stage::Waits {
            let operation = &self.operations[entry.active];
            let urgency = (true, self.is_read_first && !operation.is_host_read, operation.number);
            return Some((urgency, Wanted::Data));
        }
        let id = self.next_to_load(die)?;
        Some(((true, self.is_read_first, self.operations[id].number), Wanted::Load(id)))
    }

    /// A free channel serves one of the phases that wait for it.
    fn serve_channel(&mut self, channel: u32) {
        let entry = &self.channels[channel as usize];
        if entry.phase.is_some() {
            return;
        }
        let wanted = entry.dies.iter().filter_map(|&die| Some((self.wanted(die)?, die)));
        let Some(((_, wanted), die)) = wanted.min_by_key(|((urgency, _), _)| *urgency) else {
            return;
        };
        match wanted {
            Wanted::Start(id) => self.start(die, id, false),
            Wanted::Load(id) => self.start(die, id, true),
            Wanted::Data => {
                self.dies[die as usize].stage = Stage::LastBus;
                self.occupy(channel, die, false, self.options.times.transfer_ns);
            }
        }
    }

    fn occupy(&mut self, channel: u32, die: u32, loads: bool, phase_ns: u64) {
        self.channels[channel as usize].phase = Some((die, loads, phase_ns));
        self.at(self.now + phase_ns, Event::Bus { channel });
    }

    /// Takes an operation that begins now, and those that are programmed with it, out of the die's lists. Says how many.
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
        entry.held_since_ns.get_or_insert(now);
        let collected_ns = entry.collected_ns(now);
        let mut member = id;
        while member != NONE {
            let operation = &mut self.operations[member];
            operation.issued_ns = now - operation.issued_ns;
            operation.collection_ns = collected_ns - operation.collection_ns;
            if let Some(record) = &mut self.record {
                record[operation.number as usize - 1].start_ns = Some(now);
            }
            member = operation.next;
        }
        if self.operations[id].role.is_collection() {
            entry.begin_collecting(now);
        }
        let bus_ns = self.first_bus_ns(&self.operations[id], pages);
        let entry = &mut self.dies[die as usize];
        if loads {
            (entry.loaded, entry.is_loaded) = (id, false);
        } else {
            (entry.active, entry.stage) = (id, Stage::FirstBus);
        }
        if bus_ns > 0 {
            self.occupy(self.dies[die as usize].channel, die, loads, bus_ns);
        } else {
            self.begin_array(die);
        }
    }

    fn begin_array(&mut self, die: u32) {
        let mut member = self.dies[die as usize].active;
        let mut array_ns = 0;
        while member != NONE {
            let operation = &self.operations[member];
            array_ns = array_ns.max(self.array_ns(operation));
            member = operation.next;
        }
        self.begin_array_for(die, array_ns);
    }

    fn begin_array_for(&mut self, die: u32, array_ns: u64) {
        let end_ns = self.now + array_ns;
        let entry = &mut self.dies[die as usize];
        entry.stage = Stage::Array;
        entry.array_end_ns = end_ns;
        entry.begun += 1;
        let begun = entry.begun;
        self.at(end_ns, Event::Array { die, begun });
        self.die_changed(die);
    }

    pub(super) fn end_array(&mut self, die: u32, begun: u32) {
        let entry = &mut self.dies[die as usize];
        if entry.begun != begun {
            return;
        }
        let is_read = self.operations[entry.active].kind == OperationKind::Read;
        if is_read && self.options.times.transfer_ns > 0 {
            entry.stage = Stage::Waits;
            self.die_changed(die);
        } else {
            self.complete(die);
        }
    }

    pub(super) fn end_bus(&mut self, channel: u32) {
        let entry = &mut self.channels[channel as usize];
        let (die, loads, phase_ns) = entry.phase.take().expect("a phase ends on the channel");
        entry.busy_ns += phase_ns;
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
    fn begin_loaded(&mut self, die: u32) {
        let entry = &mut self.dies[die as usize];
        if entry.active == NONE && entry.loaded != NONE && entry.is_loaded {
            entry.active = std::mem::replace(&mut entry.loaded, NONE);
            self.begin_array(die);
        }
    }

    /// The last phase of what a die holds is over.
    fn complete(&mut self, die: u32) {
        let now = self.now;
        if self.operations[self.dies[die as usize].active].role.is_collection() {
            self.totals.collection_ns += self.phases_ns(self.dies[die as usize].active);
            self.note_collecting(die, false);
        }
        let entry = &mut self.dies[die as usize];
        let mut member = std::mem::replace(&mut entry.active, NONE);
        if !entry.is_held() {
            let since = entry.held_since_ns.take().expect("the die was held");
            entry.held_ns += now - since;
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
    fn phases_ns(&self, id: u32) -> u64 {
        let (mut member, mut pages, mut array_ns) = (id, 0, 0);
        while member != NONE {
            let operation = &self.operations[member];
            array_ns = array_ns.max(self.array_ns(operation));
            pages += 1;
            member = operation.next;
        }
        let operation = &self.operations[id];
        let is_read = operation.kind == OperationKind::Read;
        let data_ns = if is_read { self.options.times.transfer_ns } else { 0 };
        self.first_bus_ns(operation, pages) + array_ns + data_ns
    }

    /// A read of the host is ready: it takes its place among those of its die.
    pub(super) fn add_host_read(&mut self, id: u32) {
        let Operation { number, die, .. } = self.operations[id];
        let operations = &self.operations;
        let reads = &mut self.dies[die as usize].reads;
        let place = reads.iter().rposition(|read| operations[*read].number < number);
        reads.insert(place.map_or(0, |place| place + 1), id);
    }
}
