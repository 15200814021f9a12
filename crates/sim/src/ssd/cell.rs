//! One buffer on one drive: requests go through the buffer, and what it sends on is carried out.

use clockhand_device::DeviceError;
use clockhand_device::flash::{Drive, LogicalPage as FlashPage, WriteError};
use clockhand_policy::LogicalPage;
use clockhand_policy::buffer::{
    Action, Request, Served, Source, Step, StepPage, WriteBuffer, catalog,
};

use super::course::{Course, Repeat};
use super::placement::{PageRange, Placed, PlacedCommand};
use super::queued_drive::QueuedDrive;
use crate::{Progress, SimError};

/// Requests between two checks whether the run is to end.
const LOOK_EVERY: usize = 1 << 14;
/// Ranges whose pages the buffer looks up beforehand, one after the other: so the processor waits for many of these
/// reads together. Done between the requests, each would be waited for alone.
const AHEAD: usize = 64;

/// What a cell counts. Unit: pages, except for batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BufferCounts {
    pub(super) read_hits: u64,
    pub(super) write_hits: u64,
    pub(super) read_misses: u64,
    pub(super) write_misses: u64,
    pub(super) nvm_hits: u64,
    pub(super) dirty_pages_flushed: u64,
    pub(super) clean_pages_flushed: u64,
    pub(super) batches: u64,
    pub(super) padding_reads: u64,
    pub(super) migrations: u64,
    pub(super) nvm_writes: u64,
    pub(super) residual_dirty: u64,
    pub(super) dram_pages: u32,
    pub(super) nvm_pages: u32,
}

impl BufferCounts {
    /// Pages sent to flash.
    #[inline]
    fn flushed(&self) -> u64 {
        self.dirty_pages_flushed + self.clean_pages_flushed
    }
}

/// Is told what a run does, as it does it. One that listens to nothing costs nothing.
pub(super) trait Observer {
    /// Whether [`served`](Observer::served) is to be called; then everything flushed goes to the drive before.
    const FOLLOWS_REQUESTS: bool = true;

    /// A step is about to be carried out.
    fn carries_out(&mut self, step: &Step<'_>) {
        let _ = step;
    }

    /// A request has been served.
    fn served<B: WriteBuffer>(
        &mut self,
        request: Request,
        served: Served,
        buffer: &B,
        drive: &Drive,
    ) {
        let _ = (request, served, buffer, drive);
    }
}

/// The observer that listens to nothing.
pub(super) struct Unobserved;

impl Observer for Unobserved {
    const FOLLOWS_REQUESTS: bool = false;
}

/// A run of one buffer, before the buffer is known in its type.
pub(super) struct Cell<'a, O> {
    pub(super) trace: &'a Placed,
    /// The drive as the user wrote it.
    pub(super) ssd: &'a str,
    pub(super) drive: Drive,
    pub(super) drain: bool,
    pub(super) repeat: Repeat,
    pub(super) progress: &'a Progress,
    pub(super) observer: &'a mut O,
}

/// A cell that was run.
pub(super) struct Finished {
    pub(super) counts: BufferCounts,
    pub(super) drive: Drive,
    pub(super) course: Course,
}

impl<O: Observer> catalog::Visitor for Cell<'_, O> {
    type Output = Result<Finished, SimError>;

    fn visit<B: WriteBuffer + 'static>(self, buffer: B) -> Self::Output {
        let Cell { trace, ssd, drive, drain, repeat, progress, observer } = self;
        let course = Course::new(repeat, drive.capacity().logical_pages);
        let (drive, counts) = (QueuedDrive::new(drive), BufferCounts::default());
        let mut run = Run { buffer, drive, counts, course, observer };
        loop {
            run.repetition(trace, ssd, progress)?;
            if !run.course.continues(&run.drive.up_to_date().counters()) {
                break;
            }
        }
        if drain {
            run.serve(Request::Drain);
        }
        Ok(run.finish(trace))
    }
}

struct Run<'a, B, O> {
    buffer: B,
    drive: QueuedDrive,
    counts: BufferCounts,
    course: Course,
    observer: &'a mut O,
}

impl<B: WriteBuffer, O: Observer> Run<'_, B, O> {
    fn repetition(
        &mut self,
        trace: &Placed,
        ssd: &str,
        progress: &Progress,
    ) -> Result<(), SimError> {
        let mut commands = trace.commands.iter().peekable();
        for (chunk, ranges) in trace.ranges.chunks(LOOK_EVERY).enumerate() {
            if progress.is_cancelled() {
                return Err(SimError::Interrupted);
            }
            for (index, range) in (chunk * LOOK_EVERY..).zip(ranges) {
                if index % AHEAD == 0 {
                    self.look_ahead(&trace.ranges[index..]);
                }
                while let Some((_, command)) = commands.next_if(|(before, _)| *before <= index) {
                    self.command(command, progress)?;
                }
                for page in range.pages() {
                    if range.is_write() {
                        self.drive.wrote(FlashPage(page), range.stream());
                    }
                    self.reference(LogicalPage(page.into()), range.is_write(), range.is_forced());
                }
                if let Some(error) = self.drive.refused() {
                    return Err(refused(ssd, trace.request_of(index), error));
                }
                if self.course.is_window_over(self.counts.flushed()) {
                    self.course.end_window_inside(&self.drive.up_to_date().counters());
                }
            }
            progress.add_done(ranges.len() as u64);
        }
        commands.try_for_each(|(_, command)| self.command(command, progress))
    }

    fn look_ahead(&self, ranges: &[PageRange]) {
        for range in ranges.iter().take(AHEAD) {
            self.buffer.look_ahead(LogicalPage(range.first.into()));
        }
    }

    fn command(&mut self, command: &PlacedCommand, progress: &Progress) -> Result<(), SimError> {
        if progress.is_cancelled() {
            return Err(SimError::Interrupted);
        }
        match command {
            PlacedCommand::Flush => self.serve(Request::Flush),
            PlacedCommand::Trim(pages) => {
                for page in pages.clone().map(|page| LogicalPage(page.into())) {
                    self.serve(Request::Trim(page));
                    self.drive.trim(on_flash(page));
                }
                self.drive.trim_zones(pages.clone());
            }
        }
        Ok(())
    }

    /// A request that is no reference.
    fn serve(&mut self, request: Request) {
        self.make_room(request);
        let served = self.buffer.serve(request);
        self.counts.nvm_writes += u64::from(served.nvm_writes);
        self.tell(request, served);
    }

    #[inline]
    fn tell(&mut self, request: Request, served: Served) {
        if O::FOLLOWS_REQUESTS {
            self.observer.served(request, served, &self.buffer, self.drive.up_to_date());
        }
    }

    #[inline]
    fn reference(&mut self, page: LogicalPage, is_write: bool, is_forced: bool) {
        let request = match (is_write, is_forced) {
            (false, _) => Request::Read(page),
            (true, false) => Request::Write(page),
            (true, true) => Request::ForceUnitAccess(page),
        };
        self.make_room(request);
        let served = self.buffer.serve(request);
        let counts = &mut self.counts;
        counts.nvm_writes += u64::from(served.nvm_writes);
        counts.nvm_hits += u64::from(served.hit == Some(clockhand_policy::buffer::Medium::Nvm));
        match (served.hit.is_some(), is_write) {
            (true, false) => counts.read_hits += 1,
            (true, true) => counts.write_hits += 1,
            (false, true) => counts.write_misses += 1,
            (false, false) => {
                counts.read_misses += 1;
                self.drive.read(on_flash(page));
            }
        }
        self.tell(request, served);
    }

    #[inline]
    fn make_room(&mut self, request: Request) {
        while let Some(step) = self.buffer.next_step(request) {
            self.observer.carries_out(&step);
            carry_out(step, &mut self.drive, &mut self.counts);
            self.buffer.commit();
        }
    }

    /// Asserts that every reference was served and every flushed page reached the drive.
    fn finish(self, trace: &Placed) -> Finished {
        let Run { buffer, drive, mut counts, course, .. } = self;
        let drive = drive.finish();
        let BufferCounts { read_hits, read_misses, write_hits, write_misses, .. } = counts;
        let repetitions = u64::from(course.repetitions());
        let writes = repetitions * trace.write_references;
        assert_eq!(write_hits + write_misses, writes, "a write was not served");
        let reads = repetitions * (trace.references - trace.write_references);
        assert_eq!(read_hits + read_misses, reads, "a read was not served");
        assert_eq!(
            counts.flushed(),
            drive.counters().host_writes,
            "a flushed page did not reach the drive"
        );
        counts.residual_dirty = buffer.occupancy().dirty_pages.into();
        let capacity = buffer.capacity();
        (counts.dram_pages, counts.nvm_pages) = (capacity.dram_pages, capacity.nvm_pages);
        Finished { counts, drive, course }
    }
}

/// A drive of zones refused a page of a request, by its number in the trace.
fn refused(ssd: &str, request: u64, error: WriteError) -> SimError {
    let problem = match error {
        WriteError::Zone(fault) => format!("request {request} {fault}"),
        WriteError::EndOfLife(_) => unreachable!("the blocks of this drive last for ever"),
    };
    SimError::Device(DeviceError::Ssd { ssd: ssd.to_owned(), problem })
}

fn carry_out(step: Step<'_>, drive: &mut QueuedDrive, counts: &mut BufferCounts) {
    match step.action {
        Action::Drop => {}
        Action::Migrate => {
            counts.migrations += step.pages.len() as u64;
            counts.nvm_writes += step.pages.len() as u64;
        }
        Action::Flush => {
            counts.batches += 1;
            for &StepPage { page, dirty, source, .. } in step.pages {
                if source == Source::Flash {
                    counts.padding_reads += 1;
                    drive.read(on_flash(page));
                }
                match dirty {
                    true => counts.dirty_pages_flushed += 1,
                    false => counts.clean_pages_flushed += 1,
                }
                drive.write(on_flash(page));
            }
        }
    }
}

/// The trace was placed below the drive's end, so that 32 bits hold every page.
fn on_flash(page: LogicalPage) -> FlashPage {
    FlashPage(page.0 as u32)
}
