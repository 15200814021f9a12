//! Carries out a buffer's steps on a timed drive.

use clockhand_device::flash::WriteError;
use clockhand_device::flash::time::{Decision, FlushedFrom, Medium as TimedMedium};
use clockhand_policy::buffer::{
    Action, Medium, Request, Served, Source, Step, StepPage, WriteBuffer,
};

use crate::ssd::below::Below;
use crate::ssd::cell::on_flash;

/// The memories and the flash below a buffer, while a request is decided.
pub(super) struct TimedBelow<'a, 'b> {
    decision: &'a mut Decision<'b>,
    /// True if the page of the request went to flash before it is buffered.
    is_written_through: bool,
    refused: Option<WriteError>,
}

impl<'a, 'b> TimedBelow<'a, 'b> {
    pub(super) fn new(decision: &'a mut Decision<'b>) -> Self {
        TimedBelow { decision, is_written_through: false, refused: None }
    }

    /// Why a page was not written, if the drive refused one.
    pub(super) fn refused(&mut self) -> Option<WriteError> {
        self.refused.take()
    }

    fn wrote<B: WriteBuffer>(&mut self, page: clockhand_policy::LogicalPage, buffer: &B) {
        let on_flash = on_flash(page);
        match buffer.place_of(page) {
            Some(Medium::Dram) => {
                // It was promoted, unless its older version stays in NVM.
                let in_nvm = self.decision.placed(TimedMedium::Nvm);
                if in_nvm > buffer.occupancy().nvm_pages {
                    self.decision.leave(on_flash, TimedMedium::Nvm);
                }
                let completes = !self.is_written_through;
                self.decision.write_in(on_flash, TimedMedium::Dram, completes);
            }
            Some(Medium::Nvm) => {
                self.decision.leave(on_flash, TimedMedium::Dram);
                self.decision.write_in(on_flash, TimedMedium::Nvm, !self.is_written_through);
            }
            None => {}
        }
    }
}

fn timed(medium: Medium) -> TimedMedium {
    match medium {
        Medium::Dram => TimedMedium::Dram,
        Medium::Nvm => TimedMedium::Nvm,
    }
}

impl Below for TimedBelow<'_, '_> {
    fn carry_out(&mut self, step: &Step<'_>) {
        for &StepPage { page, source, stays, .. } in step.pages {
            let page = on_flash(page);
            match step.action {
                Action::Drop => self.decision.leave(page, TimedMedium::Dram),
                Action::Migrate => self.decision.migrate(page),
                Action::Flush => {
                    let from = match source {
                        Source::Dram => FlushedFrom::Memory(TimedMedium::Dram, stays),
                        Source::Nvm => FlushedFrom::Memory(TimedMedium::Nvm, stays),
                        Source::Flash => FlushedFrom::Flash,
                        Source::Request => FlushedFrom::Request,
                    };
                    self.is_written_through |= source == Source::Request;
                    let done = self.decision.flush_page(page, from);
                    self.refused = self.refused.take().or(done.err());
                }
            }
        }
    }

    fn served<B: WriteBuffer>(&mut self, request: Request, served: Served, buffer: &B) {
        match request {
            Request::Read(page) => {
                let on_flash = on_flash(page);
                match (served.hit, buffer.place_of(page)) {
                    (Some(medium), _) => self.decision.read_hit(on_flash, timed(medium)),
                    (None, Some(medium)) => self.decision.read_into(on_flash, timed(medium)),
                    (None, None) => self.decision.read(on_flash),
                }
            }
            Request::Write(page) | Request::ForceUnitAccess(page) => self.wrote(page, buffer),
            Request::Trim(page) => {
                if buffer.place_of(page).is_none() {
                    self.decision.leave(on_flash(page), TimedMedium::Dram);
                    self.decision.leave(on_flash(page), TimedMedium::Nvm);
                }
            }
            Request::Flush | Request::Drain => {}
        }
    }
}
