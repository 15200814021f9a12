//! Decides as the counting mode does, and writes down for the twin what that means.

use std::collections::BTreeSet;

use clockhand_device::flash::{
    Block, Cause, FlashOperations, Ftl, LogicalPage as FlashPage, PhysicalPage, TranslationPage,
};
use clockhand_policy::LogicalPage;
use clockhand_policy::buffer::{
    Action, Medium, Request, Served, Source, Step, StepPage, WriteBuffer,
};
use clockhand_twins::{ProgrammedFrom, TimedDecisions, TimedFlash, TimedStep};

use super::Case;
use crate::ssd::below::{Below, Buffered};
use crate::ssd::cell::on_flash;
use crate::ssd::placement::PlacedCommand;
use crate::ssd::timed::requests::{Cursor, Item};

/// Observes the flash's operations.
#[derive(Default)]
struct Heard(Vec<TimedFlash>);

impl FlashOperations for Heard {
    fn program(&mut self, to: PhysicalPage, holds: FlashPage) {
        self.0.push(TimedFlash::Program { to: to.0, page: holds.0 });
    }

    fn relocate(&mut self, _: Cause, from: PhysicalPage, to: PhysicalPage, holds: FlashPage) {
        self.0.push(TimedFlash::Relocate { from: from.0, to: to.0, page: holds.0 });
    }

    fn erase(&mut self, cause: Cause, block: Block) {
        self.0.push(TimedFlash::Erase { block: block.0, collects: cause != Cause::Reset });
    }

    fn load_translation(&mut self, from: PhysicalPage, holds: TranslationPage, wanted: FlashPage) {
        self.0.push(TimedFlash::Load { from: from.0, page: holds.0, wanted: wanted.0 });
    }

    fn read_translation(&mut self, from: PhysicalPage, holds: TranslationPage) {
        self.0.push(TimedFlash::Update { from: from.0, page: holds.0 });
    }

    fn program_translation(&mut self, to: PhysicalPage, holds: TranslationPage) {
        self.0.push(TimedFlash::Translation { to: to.0, page: holds.0 });
    }

    fn relocate_translation(
        &mut self,
        from: PhysicalPage,
        to: PhysicalPage,
        holds: TranslationPage,
    ) {
        self.0.push(TimedFlash::Relocate { from: from.0, to: to.0, page: holds.0 });
    }
}

/// Writes down what a buffer and a translation layer decide.
struct Script {
    ftl: Ftl,
    steps: Vec<TimedStep>,
    is_written_through: bool,
    /// Pages in DRAM and NVM, as far as decisions go.
    placed: [BTreeSet<u32>; 2],
}

impl Script {
    fn leave(&mut self, page: u32, medium: usize) {
        if self.placed[medium].remove(&page) {
            self.steps.push(TimedStep::Leave(page, medium));
        }
    }

    /// A page's place on flash; operations of the look-up are recorded.
    fn read(&mut self, page: FlashPage) -> Option<u32> {
        let mut heard = Heard::default();
        let place = self.ftl.read(page, &mut heard).map(|place| place.0);
        self.steps.push(TimedStep::Flash(heard.0));
        place
    }

    fn flush(&mut self, page: FlashPage, source: Source, stays: bool) {
        let from = match source {
            Source::Dram => ProgrammedFrom::Memory(0, stays),
            Source::Nvm => ProgrammedFrom::Memory(1, stays),
            Source::Request => ProgrammedFrom::Request,
            Source::Flash => ProgrammedFrom::Padding(self.read(page)),
        };
        self.is_written_through |= source == Source::Request;
        if matches!(source, Source::Dram | Source::Nvm) {
            self.placed[1].remove(&page.0);
        }
        if source == Source::Dram && !stays {
            self.placed[0].remove(&page.0);
        }
        let mut heard = Heard::default();
        self.ftl.write(page, &mut heard).expect("blocks last");
        self.steps.push(TimedStep::Program { page: page.0, from, flash: heard.0 });
    }
}

impl Below for Script {
    fn carry_out(&mut self, step: &Step<'_>) {
        for &StepPage { page, source, stays, .. } in step.pages {
            let page = on_flash(page);
            match step.action {
                Action::Drop => self.leave(page.0, 0),
                Action::Migrate => {
                    self.placed[0].remove(&page.0);
                    self.placed[1].insert(page.0);
                    self.steps.push(TimedStep::Migrate(page.0));
                }
                Action::Flush => self.flush(page, source, stays),
            }
        }
    }

    fn served<B: WriteBuffer>(&mut self, request: Request, served: Served, buffer: &B) {
        let number = |medium: Medium| if medium == Medium::Dram { 0 } else { 1 };
        match request {
            Request::Read(page) => {
                let (place, page) = (buffer.place_of(page), on_flash(page));
                if let Some(medium) = served.hit {
                    let medium = number(medium);
                    return self.steps.push(TimedStep::Hit { page: page.0, medium });
                }
                let from = self.read(page);
                let into = place.map(number);
                if let Some(medium) = into {
                    self.placed[medium].insert(page.0);
                }
                self.steps.push(TimedStep::Read { page: page.0, from, into });
            }
            Request::Write(page) | Request::ForceUnitAccess(page) => {
                let Some(medium) = buffer.place_of(page).map(number) else { return };
                let page = on_flash(page).0;
                if medium == 1 || self.placed[1].len() > buffer.occupancy().nvm_pages as usize {
                    self.leave(page, 1 - medium);
                }
                self.placed[medium].insert(page);
                let completes = !self.is_written_through;
                self.steps.push(TimedStep::Put { page, medium, completes });
            }
            Request::Trim(page) => {
                if buffer.place_of(page).is_none() {
                    self.leave(on_flash(page).0, 0);
                    self.leave(on_flash(page).0, 1);
                }
            }
            Request::Flush | Request::Drain => {}
        }
    }
}

/// Decides one request after the other.
pub(super) struct Decide<'a, B> {
    case: &'a Case,
    buffered: Buffered<B>,
    script: Script,
    cursor: Cursor,
}

impl<'a, B: WriteBuffer> Decide<'a, B> {
    pub(super) fn new(case: &'a Case, ftl: Ftl, buffer: B) -> Self {
        let placed = Default::default();
        let script = Script { ftl, steps: Vec::new(), is_written_through: false, placed };
        Decide { case, buffered: Buffered::new(buffer), script, cursor: Cursor::default() }
    }

    fn command(&mut self, command: &PlacedCommand) {
        match command {
            PlacedCommand::Flush => {
                self.buffered.serve(Request::Flush, &mut self.script);
                if self.case.is_safe() {
                    self.script.steps.push(TimedStep::Flush);
                }
            }
            PlacedCommand::Trim(pages) => {
                for page in pages.clone() {
                    let trim = Request::Trim(LogicalPage(page.into()));
                    self.buffered.serve(trim, &mut self.script);
                }
                let mut heard = Heard::default();
                self.script.ftl.trim(pages.clone(), &mut heard);
                self.script.steps.push(TimedStep::Flash(heard.0));
            }
        }
    }
}

impl<B: WriteBuffer> TimedDecisions for Decide<'_, B> {
    fn decide(&mut self, _request: usize) -> Vec<TimedStep> {
        let trace = &self.case.placed;
        match self.cursor.next(trace) {
            Item::Ranges(ranges) => {
                for range in &trace.ranges[ranges] {
                    for page in range.pages() {
                        self.script.is_written_through = false;
                        if range.is_write() {
                            self.script.ftl.wrote(FlashPage(page), range.stream());
                        }
                        let op = (range.is_write(), range.is_forced());
                        self.buffered.reference(LogicalPage(page.into()), op, &mut self.script);
                    }
                }
            }
            Item::Commands(commands) => {
                for (_, command) in &trace.commands[commands] {
                    self.command(command);
                }
            }
        }
        std::mem::take(&mut self.script.steps)
    }

    fn background(&mut self, pool: usize) -> Vec<TimedFlash> {
        let mut heard = Heard::default();
        let free = self.case.time.background_free.expect("it is collected in the background");
        let free = free.blocks(self.script.ftl.pool_blocks());
        self.script.ftl.background_step(pool as u32, free, &mut heard);
        heard.0
    }
}
