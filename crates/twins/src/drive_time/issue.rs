//! what is decided becomes operations.

use super::rules::{ProgrammedFrom, TimedDecisions, TimedFlash, TimedKind, TimedOperation};
use super::{Controlled, DriveTimeTwin, Operation, Source};

/// What the host's next program is.
#[derive(Clone, Copy)]
pub(super) struct Programmed {
    request: usize,
    from: ProgrammedFrom,
    content: Source,
}

impl<D: TimedDecisions> DriveTimeTwin<D> {
    pub(super) fn control(
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
        self.controlled.push(Controlled {
            content,
            translation: None,
            is_late: false,
            request,
            logical,
            collects,
            decided: self.now,
            takes,
            begun: None,
            end: None,
        });
        Source::Controlled(self.controlled.len() - 1)
    }

    /// The load of a page's translation, if it is not over.
    fn load_of(&self, page: u32) -> Option<Source> {
        self.loads.get(&page).copied().filter(|load| !self.is_there(*load))
    }

    pub(super) fn host_read(&mut self, request: usize, page: u32, from: Option<u32>) -> Source {
        let takes = self.rules.memories[0][0];
        let Some(from) = from else {
            return self.control(Some(request), page, Source::Now, takes, false);
        };
        let load = self.load_of(page);
        self.read(Some(request), page, from, load)
    }

    /// A page is read for the host or a look-up: in the controller, or by an operation.
    fn read(
        &mut self,
        request: Option<usize>,
        page: u32,
        from: u32,
        load: Option<Source>,
    ) -> Source {
        let writer = self.writers.get(&from).copied();
        let writer = writer.filter(|writer| !self.is_there(Source::Operation(*writer)));
        if let Some(writer) = writer
            && self.operations[writer].seen.kind == TimedKind::Program
        {
            let content = self.operations[writer].content;
            let collects = self.operations[writer].seen.collects;
            let read = self.control(request, page, content, self.rules.memories[0][0], collects);
            self.controlled.last_mut().expect("it was just added").translation = load;
            return read;
        }
        let number = self.issue(TimedKind::Read, false, from, page);
        let operation = &mut self.operations[number];
        operation.host_read = true;
        operation.after = load.into_iter().chain(writer.map(Source::Operation)).collect();
        operation.request = request;
        if let Some(request) = request {
            self.states[request].left += 1;
        }
        Source::Operation(number)
    }

    /// Padding that is only on flash.
    fn padding(&mut self, page: u32, from: u32) -> Source {
        let number = self.issue(TimedKind::Read, false, from, page);
        self.operations[number].after = self.load_of(page).into_iter().collect();
        Source::Operation(number)
    }

    pub(super) fn program(
        &mut self,
        request: usize,
        page: u32,
        from: ProgrammedFrom,
        flash: Vec<TimedFlash>,
    ) {
        let content = match from {
            ProgrammedFrom::Request | ProgrammedFrom::Padding(None) => Source::Now,
            ProgrammedFrom::Memory(medium, _) => self.memories.content(page, medium),
            ProgrammedFrom::Padding(Some(place)) => self.padding(page, place),
        };
        let programmed = Programmed { request, from, content };
        flash.into_iter().for_each(|step| self.carry_out(step, Some(programmed)));
    }

    pub(super) fn carry_out(&mut self, step: TimedFlash, programmed: Option<Programmed>) {
        match step {
            TimedFlash::Relocate { from, to, page } => self.relocate(from, to, page),
            TimedFlash::Erase { block, collects } => self.erase(block, collects),
            TimedFlash::Program { to, page } => {
                let programmed = programmed.expect("the host programs it");
                self.program_host(to, page, programmed);
            }
            TimedFlash::Load { from, page, wanted } => {
                let load = self.read(None, page, from, None);
                self.loads.insert(wanted, load);
            }
            TimedFlash::Update { from, page } => {
                let read = self.issue(TimedKind::Read, false, from, page);
                self.updates.insert(page, read);
            }
            TimedFlash::Translation { to, page } => {
                let number = self.issue(TimedKind::Program, false, to, page);
                if let Some(read) = self.updates.remove(&page) {
                    self.operations[number].content = Source::Operation(read);
                }
                self.writers.insert(to, number);
            }
        }
    }

    fn program_host(&mut self, to: u32, page: u32, programmed: Programmed) {
        let Programmed { request, from, content } = programmed;
        let load = self.load_of(page);
        let number = self.issue(TimedKind::Program, false, to, page);
        self.writers.insert(to, number);
        let operation = &mut self.operations[number];
        operation.content = content;
        operation.after = load.into_iter().collect();
        operation.persists = !matches!(from, ProgrammedFrom::Memory(1, _));
        if from == ProgrammedFrom::Request {
            operation.request = Some(request);
            self.states[request].left += 1;
        }
        if let ProgrammedFrom::Memory(medium, stays) = from {
            self.memories.flushed(page, medium, stays, number);
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

    fn erase(&mut self, block: u32, collects: bool) {
        let pages = self.rules.pages_per_block;
        let of_block = |operation: &Operation| {
            let moves = operation.seen.collects && operation.seen.kind == TimedKind::Program;
            operation.block == block || moves && operation.from / pages == block
        };
        let before = self.operations.iter().enumerate();
        let before = before.filter(|(_, operation)| of_block(operation));
        let before = before.map(|(number, _)| Source::Operation(number)).collect();
        let number = self.issue(TimedKind::Erase, collects, block * pages, 0);
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
            is_background: false,
            request: None,
            persists: false,
            suspensions: 0,
            collected,
        });
        self.operations.len() - 1
    }
}
