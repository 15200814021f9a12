//! Time in the drive (A-100 … A-113), slowly and literally: at each instant everything is asked whether it is over or may
//! begin. What is decided is given, since decisions do not depend on time.

mod dies;
mod memories;

/// Where a page is or goes: DRAM (0) or NVM (1).
pub type TimedMedium = usize;

/// What the flash is told to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimedFlash {
    /// The host's page is programmed.
    Program {
        /// Physical page.
        to: u32,
        /// Logical page.
        page: u32,
    },
    /// Collection moves a page.
    Relocate {
        /// Physical page read.
        from: u32,
        /// Physical page programmed.
        to: u32,
        /// Logical page.
        page: u32,
    },
    /// Collection erases a block.
    Erase {
        /// The block.
        block: u32,
    },
}

/// Where a programmed page comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgrammedFrom {
    /// The request, which is done with the program.
    Request,
    /// A memory; whether it stays there.
    Memory(TimedMedium, bool),
    /// Flash, where it was at this physical page, if anywhere.
    Padding(Option<u32>),
}

/// One step of a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimedStep {
    /// A page is read from flash, and perhaps placed in a memory.
    Read {
        /// Logical page.
        page: u32,
        /// Physical page, if it is anywhere.
        from: Option<u32>,
        /// The memory.
        into: Option<TimedMedium>,
    },
    /// A page is read in a memory.
    Hit {
        /// Logical page.
        page: u32,
        /// The memory.
        medium: TimedMedium,
    },
    /// A page is written in a memory.
    Put {
        /// Logical page.
        page: u32,
        /// The memory.
        medium: TimedMedium,
        /// Whether the request's page is done then.
        completes: bool,
    },
    /// A page is programmed.
    Program {
        /// Logical page.
        page: u32,
        /// Where its content comes from.
        from: ProgrammedFrom,
        /// What the flash does, the program last.
        flash: Vec<TimedFlash>,
    },
    /// A page moves from DRAM to NVM.
    Migrate(u32),
    /// A page leaves a memory at once.
    Leave(u32, TimedMedium),
    /// The request waits until all is persistent.
    Flush,
}

/// A request with its decision.
#[derive(Clone, Debug)]
pub struct TimedRequest {
    /// When it arrives; none if when another one is complete.
    pub arrival: Option<u64>,
    /// How long it takes in the front end.
    pub front: u64,
    /// What is decided.
    pub steps: Vec<TimedStep>,
}

/// The drive's parts and times, in nanoseconds.
#[derive(Clone, Debug)]
pub struct TimedRules {
    /// Channels and dies.
    pub channels: u32,
    /// Dies of all channels.
    pub dies: u32,
    /// Blocks of each plane.
    pub blocks_per_plane: u32,
    /// Planes of each die.
    pub planes: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Array times of reads by page type.
    pub read: Vec<u64>,
    /// Array times of programs by page type.
    pub program: Vec<u64>,
    /// Array time of an erase.
    pub erase: u64,
    /// A command, and a page, on a channel.
    pub command: u64,
    /// A page on a channel.
    pub transfer: u64,
    /// To suspend and to resume.
    pub suspend: u64,
    /// To resume.
    pub resume: u64,
    /// Whether erases and programs are suspended.
    pub suspends: [bool; 2],
    /// How often at most.
    pub suspend_limit: u32,
    /// Whether reads come first.
    pub read_first: bool,
    /// Whether pages are copied in a plane.
    pub copyback: bool,
    /// Whether programs are loaded meanwhile.
    pub cache_program: bool,
    /// Pages programmed together.
    pub together: u32,
    /// Requests in flight at most.
    pub queue_depth: usize,
    /// Read and write times of both memories.
    pub memories: [[u64; 2]; 2],
    /// Places in both memories.
    pub places: [usize; 2],
    /// Requests at the beginning, if others arrive when one is complete.
    pub closed: Option<usize>,
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimedKind {
    /// A read.
    Read,
    /// A program.
    Program,
    /// An erase.
    Erase,
    /// A copy in a plane.
    Copy,
}

/// An operation as it was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedOperation {
    /// What it does.
    pub kind: TimedKind,
    /// Whether it is of collection.
    pub collects: bool,
    /// The die.
    pub die: u32,
    /// When it was issued.
    pub issued: u64,
    /// When it began.
    pub start: Option<u64>,
    /// When it ended.
    pub end: Option<u64>,
}

/// A request as it was served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedServed {
    /// Arrival, acceptance, decision, completion.
    pub times: [u64; 4],
    /// Waits for buffer, collection, flash.
    pub waits: [u64; 3],
}

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
    /// What must be complete before.
    after: Vec<usize>,
    request: Option<usize>,
    /// Whether FLUSH waits for it.
    persists: bool,
    suspensions: u32,
    /// How long collection had worked on its die when it was issued; from its start on, how long since then.
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
pub struct DriveTimeTwin {
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
    writers: std::collections::BTreeMap<u32, usize>,
    completions: Vec<u64>,
}

impl DriveTimeTwin {
    /// A drive at rest, and what it will be asked.
    pub fn new(rules: TimedRules, requests: Vec<TimedRequest>) -> DriveTimeTwin {
        DriveTimeTwin {
            states: vec![Request::default(); requests.len()],
            now: 0,
            operations: Vec::new(),
            controlled: Vec::new(),
            dies: vec![dies::Die::default(); rules.dies as usize],
            channels: vec![None; rules.channels as usize],
            memories: memories::Memories::new(rules.places),
            writers: std::collections::BTreeMap::new(),
            completions: Vec::new(),
            rules,
            requests,
        }
    }

    /// Serves all requests: the operations by number, and the requests.
    ///
    /// # Panics
    ///
    /// A request is never served.
    pub fn run(mut self) -> (Vec<TimedOperation>, Vec<TimedServed>) {
        loop {
            while self.settle() {}
            if self.states.iter().all(|state| state.end.is_some()) {
                break;
            }
            self.suspend_and_start();
            self.now = self.next_time().expect("a request is never served");
        }
        let served = self.states.iter().map(|state| {
            let times = [state.arrival, state.accepted, state.decided, state.end];
            let waits = state.last.map_or([0; 3], |(_, _, waits)| waits);
            TimedServed { times: times.map(|time| time.expect("it was served")), waits }
        });
        let served = served.collect();
        (self.operations.into_iter().map(|operation| operation.seen).collect(), served)
    }

    fn is_there(&self, content: Source) -> bool {
        let end = match content {
            Source::Now => return true,
            Source::Action(action) => self.memories.actions[action].end,
            Source::Operation(operation) => self.operations[operation].seen.end,
            Source::Controlled(read) => self.controlled[read].end,
        };
        end.is_some_and(|end| end <= self.now)
    }

    /// Phases (1) to (4) once. Whether anything happened.
    fn settle(&mut self) -> bool {
        let mut happened = self.end_phases();
        happened |= self.settle_memories();
        for read in 0..self.controlled.len() {
            let entry = &self.controlled[read];
            if entry.begun.is_none() && self.is_there(entry.content) {
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
                let waits = if entry.collects { [0, waited, 0] } else { [waited, 0, 0] };
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
        for step in self.requests[next].steps.clone() {
            self.step(next, step);
        }
        true
    }

    fn step(&mut self, request: usize, step: TimedStep) {
        match step {
            TimedStep::Read { page, from, into } => {
                let read = self.read(Some(request), page, from, false);
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
            TimedStep::Program { page, from, flash } => self.program(request, page, from, &flash),
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

    fn control(
        &mut self,
        request: Option<usize>,
        logical: u32,
        content: Source,
        takes: u64,
        collects: bool,
    ) -> Source {
        if let Some(request) = request {
            self.states[request].left += 1;
        }
        let decided = self.now;
        let (begun, end) = (None, None);
        let read = Controlled { content, request, logical, collects, decided, takes, begun, end };
        self.controlled.push(read);
        Source::Controlled(self.controlled.len() - 1)
    }

    /// A page is read: in the controller, or by an operation.
    fn read(
        &mut self,
        request: Option<usize>,
        page: u32,
        from: Option<u32>,
        padding: bool,
    ) -> Source {
        let takes = self.rules.memories[0][0];
        let Some(from) = from else {
            return self.control(request, page, Source::Now, takes, false);
        };
        let writer = self.writers.get(&from).copied();
        let writer = writer.filter(|writer| !self.is_there(Source::Operation(*writer)));
        if let Some(writer) = writer
            && self.operations[writer].seen.kind == TimedKind::Program
        {
            let (content, collects) =
                (self.operations[writer].content, self.operations[writer].seen.collects);
            return self.control(request, page, content, takes, collects);
        }
        let number = self.issue(TimedKind::Read, false, from, page);
        self.operations[number].host_read = !padding;
        self.operations[number].after.extend(writer);
        if let Some(request) = request {
            self.states[request].left += 1;
            self.operations[number].request = Some(request);
        }
        Source::Operation(number)
    }

    fn program(&mut self, request: usize, page: u32, from: ProgrammedFrom, flash: &[TimedFlash]) {
        let content = match from {
            ProgrammedFrom::Request => Source::Now,
            ProgrammedFrom::Memory(medium, _) => self.memories.content(page, medium),
            ProgrammedFrom::Padding(place) => match place {
                Some(_) => self.read(None, page, place, true),
                None => Source::Now,
            },
        };
        for step in flash {
            match *step {
                TimedFlash::Relocate { from, to, page } => self.relocate(from, to, page),
                TimedFlash::Erase { block } => self.erase(block),
                TimedFlash::Program { to, page } => {
                    let number = self.issue(TimedKind::Program, false, to, page);
                    self.writers.insert(to, number);
                    self.operations[number].content = content;
                    self.operations[number].persists =
                        !matches!(from, ProgrammedFrom::Memory(1, _));
                    if from == ProgrammedFrom::Request {
                        self.states[request].left += 1;
                        self.operations[number].request = Some(request);
                    }
                    if let ProgrammedFrom::Memory(medium, stays) = from {
                        self.memories.flushed(page, medium, stays, number);
                    }
                }
            }
        }
    }

    fn plane(&self, physical: u32) -> u32 {
        physical / self.rules.pages_per_block / self.rules.blocks_per_plane
    }

    fn relocate(&mut self, from: u32, to: u32, page: u32) {
        if self.rules.copyback && self.plane(from) == self.plane(to) {
            let number = self.issue(TimedKind::Copy, true, to, page);
            self.operations[number].from = from;
            self.writers.insert(to, number);
            return;
        }
        let read = self.issue(TimedKind::Read, true, from, page);
        let number = self.issue(TimedKind::Program, true, to, page);
        self.operations[number].content = Source::Operation(read);
        self.operations[number].from = from;
        self.writers.insert(to, number);
    }

    fn erase(&mut self, block: u32) {
        let pages = self.rules.pages_per_block;
        let of_block = |operation: &Operation| {
            let moves = operation.seen.collects && operation.seen.kind == TimedKind::Program;
            operation.block == block || moves && operation.from / pages == block
        };
        let before = self.operations.iter().enumerate();
        let before = before.filter(|(_, operation)| of_block(operation)).map(|(number, _)| number);
        let before: Vec<usize> = before.collect();
        let number = self.issue(TimedKind::Erase, true, block * pages, 0);
        self.operations[number].after = before;
    }

    fn issue(&mut self, kind: TimedKind, collects: bool, at: u32, logical: u32) -> usize {
        let (block, page) = (at / self.rules.pages_per_block, at % self.rules.pages_per_block);
        let die = block / (self.rules.planes * self.rules.blocks_per_plane);
        let (issued, collected) = (self.now, self.collected(die as usize));
        let (start, end) = (None, None);
        self.operations.push(Operation {
            seen: TimedOperation { kind, collects, die, issued, start, end },
            block,
            page,
            from: 0,
            logical,
            host_read: false,
            content: Source::Now,
            after: Vec::new(),
            request: None,
            persists: false,
            suspensions: 0,
            collected,
        });
        self.operations.len() - 1
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
        let all = dies.chain(channels).chain(actions).chain(controlled).chain(fronts);
        // At this very instant something may have ended at once.
        let soon = self.dies.iter().any(|die| die.ends_at(self.now));
        if soon { Some(self.now) } else { all.chain(arrival).filter(later).min() }
    }
}
