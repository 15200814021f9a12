//! what dies and channels begin.

use super::{DriveTimeTwin, Operation, TimedDecisions, TimedKind};

/// A phase on a channel: whose it is, and when it is over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Phase {
    die: usize,
    loads: bool,
    pub(super) until: u64,
}

/// The current work of a die.
#[derive(Clone, Debug, Default)]
pub(super) struct Die {
    /// The operations that it holds together.
    held: Vec<usize>,
    /// True if they are on the channel, in the array, or waiting for the channel with what was read.
    on_bus: bool,
    in_array: Option<u64>,
    waits: bool,
    loaded: Vec<usize>,
    is_loaded: bool,
    /// Suspended operations, what is left of them, and when they have stopped.
    suspended: Option<(Vec<usize>, u64, u64)>,
    /// Spans of its work on collection.
    collected: u64,
    collecting_since: Option<u64>,
}

impl Die {
    pub(super) fn times(&self) -> impl Iterator<Item = u64> + '_ {
        let stopped = self.suspended.as_ref().map(|(_, _, stopped)| *stopped);
        self.in_array.into_iter().chain(stopped)
    }

    pub(super) fn ends_at(&self, now: u64) -> bool {
        self.in_array == Some(now)
    }
}

impl<D: TimedDecisions> DriveTimeTwin<D> {
    fn is_ready(&self, number: usize) -> bool {
        let operation = &self.operations[number];
        let after = operation.after.iter();
        self.is_there(operation.content) && after.copied().all(|before| self.is_there(before))
    }

    fn waiting(&self, die: usize, host_reads: bool) -> impl Iterator<Item = usize> + '_ {
        let numbered = self.operations.iter().enumerate();
        let waiting = move |operation: &Operation| {
            operation.seen.die as usize == die
                && operation.seen.start.is_none()
                && operation.host_read == host_reads
        };
        numbered.filter(move |(_, operation)| waiting(operation)).map(|(number, _)| number)
    }

    fn ready_read(&self, die: usize) -> Option<usize> {
        self.waiting(die, true).find(|number| self.is_ready(*number))
    }

    fn ready_head(&self, die: usize) -> Option<usize> {
        self.waiting(die, false).next().filter(|head| self.is_ready(*head))
    }

    /// What an idle die, or one with a suspended operation, begins next.
    fn next(&self, die: usize) -> Option<usize> {
        let state = &self.dies[die];
        if !state.held.is_empty() || !state.loaded.is_empty() {
            return None;
        }
        let read = self.ready_read(die);
        if let Some((_, _, stopped)) = &state.suspended {
            return read.filter(|_| *stopped <= self.now);
        }
        match (read, self.ready_head(die)) {
            (Some(read), Some(head)) if !self.rules.read_first => Some(read.min(head)),
            (read, head) => read.or(head),
        }
    }

    /// A program and those that go with it.
    fn group(&self, die: usize, first: usize) -> Vec<usize> {
        let mut group = vec![first];
        if self.operations[first].seen.kind != TimedKind::Program {
            return group;
        }
        for next in self.waiting(die, false).skip(1) {
            let (last, this) = (&self.operations[group[group.len() - 1]], &self.operations[next]);
            let together = this.seen.kind == TimedKind::Program
                && self.is_ready(next)
                && this.block == last.block
                && this.page == last.page + 1
                && this.page / self.rules.together == last.page / self.rules.together;
            if !together {
                break;
            }
            group.push(next);
        }
        group
    }

    fn first_bus(&self, group: &[usize]) -> u64 {
        match self.operations[group[0]].seen.kind {
            TimedKind::Read | TimedKind::Erase => self.rules.command,
            TimedKind::Copy => 2 * self.rules.command,
            TimedKind::Program => self.rules.command + group.len() as u64 * self.rules.transfer,
        }
    }

    fn array(&self, group: &[usize]) -> u64 {
        let of_type =
            |times: &[u64], page: u32| times[(page / self.rules.together) as usize % times.len()];
        let slc = |block: u32| {
            let (pool_blocks, main_blocks, times) = self.rules.slc?;
            (block % pool_blocks >= main_blocks).then_some(times)
        };
        let time = |number: &usize| {
            let operation = &self.operations[*number];
            let (block, from) = (operation.block, operation.from / self.rules.pages_per_block);
            let read = |block, page| {
                slc(block).map_or_else(|| of_type(&self.rules.read, page), |times| times[0])
            };
            let program = || {
                slc(block)
                    .map_or_else(|| of_type(&self.rules.program, operation.page), |times| times[1])
            };
            match operation.seen.kind {
                TimedKind::Read => read(block, operation.page),
                TimedKind::Program => program(),
                TimedKind::Erase => slc(block).map_or(self.rules.erase, |times| times[2]),
                TimedKind::Copy => {
                    read(from, operation.from % self.rules.pages_per_block) + program()
                }
            }
        };
        group.iter().map(time).max().expect("a group has an operation")
    }

    pub(super) fn collected(&self, die: usize) -> u64 {
        let state = &self.dies[die];
        state.collected + state.collecting_since.map_or(0, |since| self.now - since)
    }

    /// Notes whether the die works on collection now.
    fn note_collecting(&mut self, die: usize) {
        let collected = self.collected(die);
        let state = &self.dies[die];
        let first = [state.held.first(), state.loaded.first()].into_iter().flatten();
        let collects = first.copied().any(|number| self.operations[number].seen.collects);
        let state = &mut self.dies[die];
        state.collected = collected;
        state.collecting_since = collects.then_some(self.now);
    }

    fn begin(&mut self, die: usize, first: usize, loads: bool) {
        let group = self.group(die, first);
        let collected = self.collected(die);
        for number in &group {
            let operation = &mut self.operations[*number];
            operation.seen.start = Some(self.now);
            operation.collected = collected - operation.collected;
        }
        let bus = self.first_bus(&group);
        let array = self.array(&group);
        let state = &mut self.dies[die];
        if loads {
            (state.loaded, state.is_loaded) = (group, false);
        } else {
            state.held = group;
            state.on_bus = bus > 0;
            state.in_array = (bus == 0).then_some(self.now + array);
        }
        if bus > 0 {
            let channel = die % self.channels.len();
            self.channels[channel] = Some(Phase { die, loads, until: self.now + bus });
        }
        self.note_collecting(die);
    }

    /// What ends now on channels and in arrays.
    pub(super) fn end_phases(&mut self) -> bool {
        let mut happened = false;
        for channel in 0..self.channels.len() {
            let Some(Phase { die, loads, until }) = self.channels[channel] else { continue };
            if until > self.now {
                continue;
            }
            happened = true;
            self.channels[channel] = None;
            if loads {
                self.dies[die].is_loaded = true;
            } else if self.dies[die].waits {
                self.complete(die);
            } else {
                let array = self.array(&self.dies[die].held.clone());
                let state = &mut self.dies[die];
                (state.on_bus, state.in_array) = (false, Some(self.now + array));
            }
        }
        for die in 0..self.dies.len() {
            if self.dies[die].in_array.is_some_and(|end| end <= self.now) {
                happened = true;
                self.dies[die].in_array = None;
                let reads = self.operations[self.dies[die].held[0]].seen.kind == TimedKind::Read;
                if reads && self.rules.transfer > 0 {
                    self.dies[die].waits = true;
                } else {
                    self.complete(die);
                }
            }
            let state = &mut self.dies[die];
            if state.held.is_empty() && !state.loaded.is_empty() && state.is_loaded {
                happened = true;
                state.held = std::mem::take(&mut state.loaded);
                let array = self.array(&self.dies[die].held.clone());
                self.dies[die].in_array = Some(self.now + array);
            }
        }
        happened
    }

    fn complete(&mut self, die: usize) {
        let state = &mut self.dies[die];
        (state.waits, state.on_bus) = (false, false);
        for number in std::mem::take(&mut state.held) {
            let operation = &mut self.operations[number];
            operation.seen.end = Some(self.now);
            let start = operation.seen.start.expect("it began");
            let waited = start - operation.seen.issued;
            let waits = [0, operation.collected, waited - operation.collected];
            let logical = operation.logical;
            if let Some(request) = operation.request {
                self.page_done(request, logical, waits);
            }
        }
        self.note_collecting(die);
    }

    /// Phase (6).
    pub(super) fn suspend_and_start(&mut self) {
        for die in 0..self.dies.len() {
            self.suspend_or_resume(die);
        }
        for die in 0..self.dies.len() {
            if let Some(next) = self.next(die)
                && self.first_bus(&[next]) == 0
            {
                self.begin(die, next, false);
            }
        }
        for channel in 0..self.channels.len() {
            if self.channels[channel].is_none() {
                self.serve(channel);
            }
        }
    }

    fn suspend_or_resume(&mut self, die: usize) {
        let reads = self.ready_read(die).is_some();
        let state = &self.dies[die];
        if let Some((held, left, stopped)) = state.suspended.clone() {
            if state.held.is_empty() && stopped <= self.now && !reads {
                let state = &mut self.dies[die];
                state.suspended = None;
                state.held = held;
                state.in_array = Some(self.now + self.rules.resume + left);
                self.note_collecting(die);
            }
            return;
        }
        let Some(end) = state.in_array else { return };
        let first = &self.operations[state.held[0]];
        let may = match first.seen.kind {
            TimedKind::Erase => self.rules.suspends[0],
            TimedKind::Program => self.rules.suspends[1],
            TimedKind::Read | TimedKind::Copy => false,
        };
        let left = end - self.now;
        let allowed = first.suspensions < self.rules.suspend_limit && left > self.rules.suspend;
        if may && allowed && reads && state.loaded.is_empty() {
            let number = state.held[0];
            self.operations[number].suspensions += 1;
            let state = &mut self.dies[die];
            let held = std::mem::take(&mut state.held);
            state.in_array = None;
            state.suspended = Some((held, left, self.now + self.rules.suspend));
            self.note_collecting(die);
        }
    }

    /// A free channel serves the most urgent phase.
    fn serve(&mut self, channel: usize) {
        let channels = self.channels.len();
        let mut wanted: Vec<(bool, bool, usize, usize, u8)> = Vec::new();
        for die in (channel..self.dies.len()).step_by(channels) {
            let state = &self.dies[die];
            let late = |number: usize| self.rules.read_first && !self.operations[number].host_read;
            if state.waits && !state.on_bus {
                wanted.push((true, late(state.held[0]), state.held[0], die, 0));
            } else if let Some(next) = self.next(die) {
                let transfers = self.operations[next].seen.kind == TimedKind::Program;
                if self.first_bus(&[next]) > 0 {
                    wanted.push((transfers, late(next), next, die, 1));
                }
            } else if let Some(head) = self.loadable(die) {
                wanted.push((true, late(head), head, die, 2));
            }
        }
        let Some((_, _, number, die, what)) = wanted.into_iter().min() else { return };
        if what == 0 {
            self.dies[die].on_bus = true;
            let until = self.now + self.rules.transfer;
            self.channels[channel] = Some(Phase { die, loads: false, until });
        } else {
            self.begin(die, number, what == 2);
        }
    }

    /// The program that may be transferred while the array programs.
    fn loadable(&self, die: usize) -> Option<usize> {
        let state = &self.dies[die];
        let programs = state.in_array.is_some()
            && self.operations[state.held[0]].seen.kind == TimedKind::Program;
        let is_free = state.loaded.is_empty() && state.suspended.is_none();
        let reads_wait = self.rules.read_first && self.ready_read(die).is_some();
        if !self.rules.cache_program || !programs || !is_free || reads_wait {
            return None;
        }
        let head = self.ready_head(die)?;
        let is_program = self.operations[head].seen.kind == TimedKind::Program;
        (is_program && self.first_bus(&[head]) > 0).then_some(head)
    }
}
