//! Time in the drive (A-100 … A-113), slowly and literally: at each instant every operation is asked whether it is over
//! or may begin. Decisions are asked for when their time has come.

mod dies;
mod issue;
mod memories;
mod rules;

use std::collections::BTreeMap;

pub use rules::{
    ProgrammedFrom, TimedDecisions, TimedFlash, TimedKind, TimedMedium, TimedOperation,
    TimedRequest, TimedRules, TimedServed, TimedStep,
};

#[derive(Clone, Debug)]
struct Operation {
    seen: TimedOperation,
    block: u32,
    /// Page in the block, and of a copy the physical page that is read.
    page: u32,
    from: u32,
    logical: u32,
    /// Whether it is in the list of the host's reads.
    host_read: bool,
    content: Source,
    /// What must be over before.
    after: Vec<Source>,
    is_background: bool,
    request: Option<usize>,
    /// Whether FLUSH waits for it.
    persists: bool,
    suspensions: u32,
    /// Collection's work on its die when the operation was issued; once it has started, the work since then.
    collected: u64,
}

/// What brings a content.
#[derive(Clone, Copy, Debug)]
enum Source {
    Now,
    Action(usize),
    Operation(usize),
    Controlled(usize),
}

/// A read in the controller or in a memory.
#[derive(Clone, Debug)]
struct Controlled {
    content: Source,
    translation: Option<Source>,
    /// Whether the translation came after the content.
    is_late: bool,
    request: Option<usize>,
    logical: u32,
    collects: bool,
    decided: u64,
    takes: u64,
    begun: Option<u64>,
    end: Option<u64>,
}

#[derive(Clone, Debug, Default)]
struct Request {
    arrival: Option<u64>,
    accepted: Option<u64>,
    front: Option<u64>,
    decided: Option<u64>,
    end: Option<u64>,
    /// Pages that are not done.
    left: usize,
    /// Of the page that was done last: when, which, its waits.
    last: Option<(u64, u32, [u64; 3])>,
    /// Operations and actions that a FLUSH waits for.
    waits_for: Vec<Source>,
    flushes: bool,
}

/// The drive in time.
pub struct DriveTimeTwin<D> {
    decisions: D,
    rules: TimedRules,
    requests: Vec<TimedRequest>,
    states: Vec<Request>,
    now: u64,
    operations: Vec<Operation>,
    controlled: Vec<Controlled>,
    dies: Vec<dies::Die>,
    channels: Vec<Option<dies::Phase>>,
    memories: memories::Memories,
    /// By physical page: the operation that programs it, if any did so.
    writers: BTreeMap<u32, usize>,
    /// By logical page: the last load of its translation; by translation page: the read that its next program needs.
    loads: BTreeMap<u32, Source>,
    updates: BTreeMap<u32, usize>,
    completions: Vec<u64>,
}

impl<D: TimedDecisions> DriveTimeTwin<D> {
    /// A drive at rest, what it will be asked, and who decides.
    pub fn new(rules: TimedRules, requests: Vec<TimedRequest>, decisions: D) -> Self {
        DriveTimeTwin {
            decisions,
            states: vec![Request::default(); requests.len()],
            now: 0,
            operations: Vec::new(),
            controlled: Vec::new(),
            dies: vec![dies::Die::default(); rules.dies as usize],
            channels: vec![None; rules.channels as usize],
            memories: memories::Memories::new(rules.places),
            writers: BTreeMap::new(),
            loads: BTreeMap::new(),
            updates: BTreeMap::new(),
            completions: Vec::new(),
            rules,
            requests,
        }
    }

    /// Serves all requests: the operations by number, the requests, and who decided.
    ///
    /// # Panics
    ///
    /// A request is never served.
    pub fn run(mut self) -> (Vec<TimedOperation>, Vec<TimedServed>, D) {
        loop {
            while self.settle() {}
            if self.states.iter().all(|state| state.end.is_some()) {
                break;
            }
            self.collect_at_rest();
            self.suspend_and_start();
            self.now = self.next_time().expect("a request is never served");
        }
        let served = self.states.iter().map(|state| {
            let times = [state.arrival, state.accepted, state.decided, state.end];
            let waits = state.last.map_or([0; 3], |(_, _, waits)| waits);
            TimedServed { times: times.map(|time| time.expect("it was served")), waits }
        });
        let served = served.collect();
        let operations = self.operations.into_iter().map(|operation| operation.seen).collect();
        (operations, served, self.decisions)
    }

    /// Phase (5).
    fn collect_at_rest(&mut self) {
        let Some((pools, idle)) = self.rules.background else { return };
        for pool in 0..pools {
            if self.rested_at(pool, pools, idle).is_some_and(|rested| rested <= self.now) {
                for step in self.decisions.background(pool) {
                    let first = self.operations.len();
                    self.carry_out(step, None);
                    self.operations[first..].iter_mut().for_each(|new| new.is_background = true);
                }
            }
        }
    }

    /// When a pool will have rested for long enough, if nothing is begun or queued on its dies.
    fn rested_at(&self, pool: usize, pools: usize, idle: u64) -> Option<u64> {
        let is_of_pool = |operation: &&Operation| pools == 1 || operation.seen.die as usize == pool;
        let mut of_pool = self.operations.iter().filter(is_of_pool);
        let is_over = |operation: &Operation| operation.seen.end.is_some_and(|end| end <= self.now);
        if !of_pool.clone().all(is_over) {
            return None;
        }
        let foreground = of_pool.by_ref().filter(|operation| !operation.is_background);
        Some(foreground.filter_map(|operation| operation.seen.end).max().unwrap_or(0) + idle)
    }

    fn end_of(&self, source: Source) -> Option<u64> {
        match source {
            Source::Now => Some(0),
            Source::Action(action) => self.memories.actions[action].end,
            Source::Operation(operation) => self.operations[operation].seen.end,
            Source::Controlled(read) => self.controlled[read].end,
        }
    }

    fn is_there(&self, source: Source) -> bool {
        self.end_of(source).is_some_and(|end| end <= self.now)
    }

    fn time_of(&self, source: Source) -> u64 {
        self.end_of(source).expect("it is over")
    }

    /// Phases (1) to (4) once. Whether anything happened.
    fn settle(&mut self) -> bool {
        let mut happened = self.end_phases();
        happened |= self.settle_memories();
        for read in 0..self.controlled.len() {
            let entry = &self.controlled[read];
            let translated = entry.translation.is_none_or(|load| self.is_there(load));
            if entry.begun.is_none() && translated && self.is_there(entry.content) {
                let content = self.time_of(entry.content).max(entry.decided);
                let is_late = entry.translation.is_some_and(|load| self.time_of(load) > content);
                self.controlled[read].is_late = is_late;
                let entry = &mut self.controlled[read];
                (entry.begun, entry.end) = (Some(self.now), Some(self.now + entry.takes));
                happened = true;
            }
        }
        happened |= self.take_done();
        happened |= self.complete_requests();
        happened |= self.accept();
        happened |= self.decide();
        happened
    }

    /// Pages of reads in the controller that are over.
    fn take_done(&mut self) -> bool {
        let mut happened = false;
        for read in 0..self.controlled.len() {
            let entry = self.controlled[read].clone();
            if entry.end.is_some_and(|end| end <= self.now)
                && let Some(request) = self.controlled[read].request.take()
            {
                let waited = entry.begun.expect("it began") - entry.decided;
                let waits = match (entry.is_late, entry.collects) {
                    (true, _) => [0, 0, waited],
                    (false, true) => [0, waited, 0],
                    (false, false) => [waited, 0, 0],
                };
                self.page_done(request, entry.logical, waits);
                happened = true;
            }
        }
        happened
    }

    fn page_done(&mut self, request: usize, page: u32, waits: [u64; 3]) {
        let state = &mut self.states[request];
        state.left -= 1;
        let is_last = match state.last {
            Some((time, last, _)) => self.now > time || page < last,
            None => true,
        };
        if is_last {
            state.last = Some((self.now, page, waits));
        }
    }

    fn complete_requests(&mut self) -> bool {
        let mut happened = false;
        for request in 0..self.states.len() {
            let state = &self.states[request];
            let persists = state.waits_for.iter().all(|source| self.is_there(*source));
            if state.decided.is_some()
                && state.end.is_none()
                && state.left == 0
                && (!state.flushes || persists)
            {
                self.states[request].end = Some(self.now);
                self.completions.push(self.now);
                happened = true;
            }
        }
        happened
    }

    fn in_flight(&self) -> usize {
        let accepted = self.states.iter().filter(|state| state.accepted.is_some());
        accepted.filter(|state| state.end.is_none()).count()
    }

    fn arrival(&self, request: usize) -> Option<u64> {
        match self.rules.closed {
            None => self.requests[request].arrival,
            Some(first) if request < first => Some(0),
            Some(first) => self.completions.get(request - first).copied(),
        }
    }

    fn accept(&mut self) -> bool {
        let next = self.states.iter().position(|state| state.accepted.is_none());
        let Some(next) = next else { return false };
        let Some(arrival) = self.arrival(next) else { return false };
        if arrival > self.now || self.in_flight() == self.rules.queue_depth {
            return false;
        }
        self.states[next].arrival = Some(arrival);
        self.states[next].accepted = Some(self.now);
        true
    }

    /// The first accepted request that is not decided is in the front end.
    fn decide(&mut self) -> bool {
        let next = self.states.iter().position(|state| state.decided.is_none());
        let Some(next) = next else { return false };
        let before = if next == 0 { Some(0) } else { self.states[next - 1].decided };
        let Some((accepted, before)) = self.states[next].accepted.zip(before) else { return false };
        let over = accepted.max(before) + self.requests[next].front;
        self.states[next].front = Some(over);
        if over > self.now {
            return false;
        }
        self.states[next].decided = Some(self.now);
        for step in self.decisions.decide(next) {
            self.step(next, step);
        }
        true
    }

    fn step(&mut self, request: usize, step: TimedStep) {
        match step {
            TimedStep::Read { page, from, into } => {
                let read = self.host_read(request, page, from);
                if let Some(medium) = into {
                    self.memories.fill(page, medium, read, self.now);
                }
            }
            TimedStep::Hit { page, medium } => {
                let content = self.memories.content(page, medium);
                let takes = self.rules.memories[medium][0];
                self.control(Some(request), page, content, takes, false);
            }
            TimedStep::Put { page, medium, completes } => {
                let of = completes.then_some(request);
                self.states[request].left += usize::from(completes);
                let takes = self.rules.memories[medium][1];
                self.memories.put(page, medium, of, takes, self.now);
            }
            TimedStep::Program { page, from, flash } => self.program(request, page, from, flash),
            TimedStep::Flash(flash) => {
                flash.into_iter().for_each(|step| self.carry_out(step, None))
            }
            TimedStep::Migrate(page) => {
                let takes = self.rules.memories[0][0] + self.rules.memories[1][1];
                self.memories.migrate(page, takes, self.now);
            }
            TimedStep::Leave(page, medium) => self.memories.leave(page, medium),
            TimedStep::Flush => {
                let state = &mut self.states[request];
                state.flushes = true;
                let operations = self.operations.iter().enumerate();
                let operations = operations.filter(|(_, operation)| operation.persists);
                state.waits_for.extend(operations.map(|(number, _)| Source::Operation(number)));
                let actions = self.memories.actions.iter().enumerate();
                let migrations = actions.filter(|(_, action)| action.migrates);
                state.waits_for.extend(migrations.map(|(number, _)| Source::Action(number)));
            }
        }
    }

    fn next_time(&self) -> Option<u64> {
        let later = |time: &u64| *time > self.now;
        let dies = self.dies.iter().flat_map(dies::Die::times);
        let channels = self.channels.iter().flatten().map(|phase| phase.until);
        let actions = self.memories.actions.iter().filter_map(|action| action.end);
        let controlled = self.controlled.iter().filter_map(|read| read.end);
        let fronts = self.states.iter().filter(|state| state.decided.is_none());
        let fronts = fronts.filter_map(|state| state.front);
        let next = self.states.iter().position(|state| state.accepted.is_none());
        let arrival = next.and_then(|next| self.arrival(next));
        let rests = self.rules.background.into_iter().flat_map(|(pools, idle)| {
            (0..pools).filter_map(move |pool| self.rested_at(pool, pools, idle))
        });
        let all = dies.chain(rests).chain(channels).chain(actions).chain(controlled).chain(fronts);
        // At this very instant something may have ended at once.
        let soon = self.dies.iter().any(|die| die.ends_at(self.now));
        if soon { Some(self.now) } else { all.chain(arrival).filter(later).min() }
    }
}
