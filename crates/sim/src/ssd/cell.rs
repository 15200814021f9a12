//! One buffer on one drive: requests go through the buffer, and what it sends on is carried out.

use clockhand_device::DeviceError;
use clockhand_device::flash::{Drive, LogicalPage as FlashPage, WriteError};
use clockhand_policy::LogicalPage;
use clockhand_policy::buffer::{
    Action, Request, Served, Source, Step, StepPage, WriteBuffer, catalog,
};
use clockhand_trace::Op;

use super::below::{Below, BufferCounts, Buffered};
use super::course::{Course, Repeat};
use super::parts::SsdCounts;
use super::placement::{PageRange, Placed, PlacedCommand};
use super::queued_drive::QueuedDrive;
use crate::error::SimError;
use crate::intervals::{Cuts, Noted, Notes};
use clockhand_trace::progress::Progress;

/// Requests between two checks whether the run is to end.
const LOOK_EVERY: usize = 1 << 14;
/// Ranges whose pages the buffer looks up beforehand, one after the other: so the processor waits for many of these
/// reads together. Done between the requests, each would be waited for alone.
const AHEAD: usize = 64;

/// Is told what a run does, as it does it. One that listens to nothing costs nothing.
pub(super) trait Observer {
    /// True if [`served`](Observer::served) is to be called, after everything flushed has gone to the drive.
    const FOLLOWS_REQUESTS: bool = true;

    /// A part of a request is about to be served.
    #[inline]
    fn begins(&mut self, range: &PageRange) {
        let _ = range;
    }

    /// The drive is asked for a page.
    #[inline]
    fn asks(&mut self, op: Op, page: FlashPage) {
        let _ = (op, page);
    }

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
pub(super) struct CountedCell<'a, O> {
    pub(super) trace: &'a Placed,
    /// The drive as the user wrote it.
    pub(super) ssd: &'a str,
    pub(super) drive: Drive,
    pub(super) drain: bool,
    pub(super) repeat: Repeat,
    /// The places where counters are read, by ranges of the trace, which then runs once.
    pub(super) cuts: &'a Cuts,
    pub(super) progress: &'a Progress,
    pub(super) observer: &'a mut O,
}

/// A cell that was run.
pub(super) struct Finished {
    pub(super) counts: BufferCounts,
    pub(super) drive: Drive,
    pub(super) course: Course,
    /// What was counted until the cuts, and in all.
    pub(super) noted: Noted<SsdCounts>,
}

impl<O: Observer> catalog::Visitor for CountedCell<'_, O> {
    type Output = Result<Finished, SimError>;

    fn visit<B: WriteBuffer + 'static>(self, mut buffer: B) -> Self::Output {
        let CountedCell { trace, ssd, drive, drain, repeat, cuts, progress, observer } = self;
        let course = Course::new(repeat, drive.capacity().logical_pages);
        let below = Counting { drive: QueuedDrive::new(drive), observer };
        buffer.foresee(&mut trace.writes());
        let mut run = CountedRun { buffered: Buffered::new(buffer), below, course };
        let mut notes = Notes::at(cuts);
        loop {
            run.repetition(trace, ssd, &mut notes, progress)?;
            if !run.course.continues(&run.below.drive.up_to_date().counters()) {
                break;
            }
        }
        if drain {
            run.buffered.serve(Request::Drain, &mut run.below);
        }
        let CountedRun { buffered, below, course } = run;
        let drive = below.drive.finish();
        Ok(finish(buffered, drive, course, trace, notes))
    }
}

/// A drive that counts, and its listener.
struct Counting<'a, O> {
    drive: QueuedDrive,
    observer: &'a mut O,
}

impl<O: Observer> Counting<'_, O> {
    #[inline]
    fn read(&mut self, page: FlashPage) {
        self.observer.asks(Op::Read, page);
        self.drive.read(page);
    }
}

impl<O: Observer> Below for Counting<'_, O> {
    #[inline]
    fn carry_out(&mut self, step: &Step<'_>) {
        self.observer.carries_out(step);
        if step.action == Action::Flush {
            for &StepPage { page, source, .. } in step.pages {
                if source == Source::Flash {
                    self.read(on_flash(page));
                }
                self.observer.asks(Op::Write, on_flash(page));
                self.drive.write(on_flash(page));
            }
        }
    }

    #[inline]
    fn served<B: WriteBuffer>(&mut self, request: Request, served: Served, buffer: &B) {
        if let (Request::Read(page), None) = (request, served.hit) {
            self.read(on_flash(page));
        }
        if O::FOLLOWS_REQUESTS {
            self.observer.served(request, served, buffer, self.drive.up_to_date());
        }
    }
}

struct CountedRun<'a, B, O> {
    buffered: Buffered<B>,
    below: Counting<'a, O>,
    course: Course,
}

impl<B: WriteBuffer, O: Observer> CountedRun<'_, B, O> {
    fn repetition(
        &mut self,
        trace: &Placed,
        ssd: &str,
        notes: &mut Notes<'_, SsdCounts>,
        progress: &Progress,
    ) -> Result<(), SimError> {
        let mut commands = trace.commands.iter().peekable();
        let mut begin = 0;
        while begin < trace.ranges.len() {
            let most = notes.until_next(LOOK_EVERY.min(trace.ranges.len() - begin));
            let ranges = &trace.ranges[begin..begin + most];
            if progress.is_cancelled() {
                return Err(SimError::Interrupted);
            }
            for (index, range) in (begin..).zip(ranges) {
                if index % AHEAD == 0 {
                    self.look_ahead(&trace.ranges[index..]);
                }
                while let Some((_, command)) = commands.next_if(|(before, _)| *before <= index) {
                    self.command(command, progress)?;
                }
                self.below.observer.begins(range);
                let op = (range.is_write(), range.is_forced());
                for page in range.pages() {
                    if range.is_partial(page) {
                        self.read_rest(page);
                    }
                    if range.is_write() {
                        self.below.drive.wrote(FlashPage(page), range.stream());
                    }
                    self.buffered.reference(LogicalPage(page.into()), op, &mut self.below);
                }
                if let Some(error) = self.below.drive.refused() {
                    return Err(refused(ssd, trace.request_of(index), error));
                }
                if self.course.is_window_over(self.buffered.counts.flushed()) {
                    self.course.end_window_inside(&self.below.drive.up_to_date().counters());
                }
            }
            progress.add_done(ranges.len() as u64);
            if notes.passed_many(ranges, |_| 0) {
                notes.note(self.counts());
            }
            begin += most;
        }
        commands.try_for_each(|(_, command)| self.command(command, progress))
    }

    /// Reads the rest of a page that is written in part, unless the buffer has it.
    #[cold]
    fn read_rest(&mut self, page: u32) {
        if self.buffered.buffer.place_of(LogicalPage(page.into())).is_none() {
            self.below.read(FlashPage(page));
        }
    }

    fn counts(&mut self) -> SsdCounts {
        let drive = self.below.drive.up_to_date();
        let residual_dirty = self.buffered.buffer.occupancy().dirty_pages.into();
        let of_drive = (drive.counters(), drive.mapping_counts());
        (BufferCounts { residual_dirty, ..self.buffered.counts }, of_drive)
    }

    fn look_ahead(&self, ranges: &[PageRange]) {
        for range in ranges.iter().take(AHEAD) {
            self.buffered.buffer.look_ahead(LogicalPage(range.first.into()));
        }
    }

    fn command(&mut self, command: &PlacedCommand, progress: &Progress) -> Result<(), SimError> {
        if progress.is_cancelled() {
            return Err(SimError::Interrupted);
        }
        match command {
            PlacedCommand::Flush => self.buffered.serve(Request::Flush, &mut self.below),
            PlacedCommand::Trim(pages) => {
                for page in pages.clone().map(|page| LogicalPage(page.into())) {
                    self.buffered.serve(Request::Trim(page), &mut self.below);
                }
                self.below.drive.trim(pages.clone());
            }
        }
        Ok(())
    }
}

/// Asserts that every reference was served and every flushed page reached the drive.
pub(super) fn finish<B: WriteBuffer>(
    buffered: Buffered<B>,
    drive: Drive,
    course: Course,
    trace: &Placed,
    notes: Notes<'_, SsdCounts>,
) -> Finished {
    let Buffered { buffer, mut counts } = buffered;
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
    let noted = notes.finish((counts, (drive.counters(), drive.mapping_counts())));
    Finished { counts, drive, course, noted }
}

/// A drive of zones refused a page of a request, by its number in the trace.
pub(super) fn refused(ssd: &str, request: u64, error: WriteError) -> SimError {
    let problem = match error {
        WriteError::Zone(fault) => format!("request {request} {fault}"),
        WriteError::EndOfLife(_) => unreachable!("the blocks of this drive last for ever"),
    };
    SimError::Device(DeviceError::Ssd { ssd: ssd.to_owned(), problem })
}

/// The trace was placed below the drive's end, so that 32 bits hold every page.
pub(super) fn on_flash(page: LogicalPage) -> FlashPage {
    FlashPage(page.0 as u32)
}
