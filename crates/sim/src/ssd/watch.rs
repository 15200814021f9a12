//! Every step of a write buffer, for people who want to see what it holds back: what each request does, and what the
//! buffer's lists and bits are after it. The run is that of [`run_ssd`](super::run_ssd).

mod shown;

use clockhand_device::Ssd;
use clockhand_device::flash::{Counters, Drive, Preconditioned};
use clockhand_policy::buffer::{
    Action, Capacity, Medium, PagesPerBlock, Request, Served, Source, Step, WriteBuffer,
};
use clockhand_quantity::{Text, option};
use serde::Serialize;

use super::aged_ssd::AgedSsd;
use super::cell::{CountedCell, Observer};
use super::placement::{Placed, PlacedCommand};
use super::{BufferOnDrive, OnDrives, SsdExperiment, SsdRow, SsdStudy};
use crate::error::SimError;
use crate::intervals::Cuts;
use crate::read_trace::ReadTrace;
use crate::replay::ListedKind;
use crate::study::{Study, check_given};
use clockhand_trace::progress::{Phase, Progress};
use shown::{Shown, memory_name};

/// Pages of a buffer that are shown at most.
const LIMIT_PAGES: u32 = 1024;
/// Pages of a buffer times requests that are shown at most: every step holds what is in each page.
const LIMIT_PLACES: u64 = 2_000_000;

/// A request to the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AskedOfDrive {
    /// To read a page.
    Read,
    /// To write a page.
    Write,
    /// To write a page, which must be persistent before the host is answered.
    Fua,
    /// To make persistent all that was written before.
    Flush,
    /// To forget a page.
    Trim,
    /// To write all dirty pages, at the end.
    Drain,
}

impl AskedOfDrive {
    fn of(request: Request) -> AskedPage {
        match request {
            Request::Read(page) => (AskedOfDrive::Read, Some(page.0)),
            Request::Write(page) => (AskedOfDrive::Write, Some(page.0)),
            Request::ForceUnitAccess(page) => (AskedOfDrive::Fua, Some(page.0)),
            Request::Trim(page) => (AskedOfDrive::Trim, Some(page.0)),
            Request::Flush => (AskedOfDrive::Flush, None),
            Request::Drain => (AskedOfDrive::Drain, None),
        }
    }
}

/// A request: what was asked, and of which page, if of one.
pub type AskedPage = (AskedOfDrive, Option<u64>);

/// A page of a [`StepEvent`]: its number, whether it is dirty, where its content is (`dram`, `nvm`, `flash`, `request`),
/// and whether it is in the buffer afterwards.
pub type MovedPage = (u64, bool, &'static str, bool);

/// What had to happen before a request could be served.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepEvent {
    /// `flush`: the pages are written to flash as one batch; `migrate`: the page is copied from DRAM to NVM; `drop`: the
    /// pages are forgotten.
    pub action: &'static str,
    /// With which pages.
    pub pages: Vec<MovedPage>,
}

/// What the drive did for one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WorkOfDrive {
    /// Pages that it was given.
    pub host_writes: u64,
    /// Pages that it programmed: these and those that collection moved.
    pub flash_programs: u64,
    /// Pages that it read for the host and the buffer, if they are on flash.
    pub host_reads: u64,
    /// Blocks that it erased.
    pub erases: u64,
}

/// A block of a [`BufferList`]: its number, its reference bit, and its pages in this list with their states.
pub type BufferedBlock = (u64, bool, Vec<(u64, u8)>);

/// One list of a write buffer. A page's state is 1 for the reference bit and 4 if it is dirty, added up.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BufferList {
    /// The buffer's name for it.
    pub name: &'static str,
    /// How it is to be looked at.
    pub kind: ListedKind,
    /// The memory that it is in: `dram` or `nvm`.
    pub memory: &'static str,
    /// Its pages, if it is a list of pages.
    pub pages: Vec<(u64, u8)>,
    /// Its blocks, if it is a list of blocks.
    pub blocks: Option<Vec<BufferedBlock>>,
    /// Numbers that the buffer keeps of each of its pages, by name.
    pub numbers: Vec<(&'static str, Vec<f64>)>,
}

/// Actions of one request, and the buffer after it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BufferStep {
    /// The page's memory, if it was buffered.
    pub hit: Option<&'static str>,
    /// Actions before the request was served, in order.
    pub events: Vec<StepEvent>,
    /// Pages written to NVM, with those that migrated.
    pub nvm_writes: u64,
    /// What the drive did.
    pub drive: WorkOfDrive,
    /// Pages in DRAM.
    pub dram_pages: u32,
    /// Pages in NVM.
    pub nvm_pages: u32,
    /// Distinct pages that are newer than on flash.
    pub dirty_pages: u32,
    /// The buffer's lists, as it shows them.
    pub lists: Vec<BufferList>,
    /// The buffer's values by name.
    pub values: Vec<(&'static str, f64)>,
}

/// A write buffer's course over the requests.
#[derive(Clone, Debug)]
pub struct BufferCourse {
    /// Counts of the whole run, as `ssd` gives them.
    pub row: SsdRow,
    /// What the buffer does, in one line.
    pub summary: &'static str,
    /// Where it was published.
    pub paper: &'static str,
    /// The pages that it has room for.
    pub capacity: Capacity,
    /// One step per page request and command.
    pub steps: Vec<BufferStep>,
}

/// What was watched.
#[derive(Clone, Debug)]
pub struct WatchedBuffers {
    /// The trace.
    pub trace: ReadTrace,
    /// What was asked of the drive, and of which page.
    pub requests: Vec<AskedPage>,
    /// Pages of a block as the buffers see it.
    pub pages_per_block: u32,
    /// One course per buffer.
    pub courses: Vec<BufferCourse>,
    /// The drive, and what preconditioning did with it.
    pub ssd: (Ssd, Preconditioned),
}

/// Watches the write buffers of an experiment with one trace and one drive.
///
/// # Errors
///
/// Something is unknown or too large, the trace cannot be read, or [`SimError::Interrupted`].
pub fn watch_buffers(
    experiment: &SsdExperiment,
    progress: &Progress,
) -> Result<WatchedBuffers, SimError> {
    check_given(&experiment.traces, "trace", "a file")?;
    let ([trace], [_]) = (&experiment.traces[..], &experiment.ssds[..]) else {
        return Err(SimError::usage(
            Text::from("one trace and one ") + option("ssd") + " are watched at a time",
            "leave out the others",
        ));
    };
    let study = SsdStudy::new(experiment)?;
    let prepared = study.prepare(trace, progress)?;
    let cells = study.cells(&prepared)?;
    cells.iter().try_for_each(|cell| check_size(cell, &prepared.placed[0]))?;
    progress.enter(Phase::Replaying, study.steps(&prepared, &cells.iter().collect::<Vec<_>>()));
    let (mut courses, mut requests) = (Vec::new(), Vec::new());
    for cell in &cells {
        let (course, asked) = course(&study, &prepared, cell, progress)?;
        courses.push(course);
        requests = asked;
    }
    let pages_per_block = study.ssds[0].pages_per_block();
    let aged = study.ssds.into_iter().find_map(AgedSsd::into_aged);
    Ok(WatchedBuffers {
        trace: prepared.facts(),
        requests,
        pages_per_block,
        courses,
        ssd: aged.expect("the courses have aged the one drive"),
    })
}

fn check_size(cell: &BufferOnDrive<'_>, placed: &Placed) -> Result<(), SimError> {
    let pages = cell.resolved.size().pages;
    let buffer = cell.spec.written();
    if pages > LIMIT_PAGES {
        return Err(SimError::usage(
            format!(
                "write buffer {buffer} has {pages} pages, and at most {LIMIT_PAGES} can be looked at"
            ),
            "give it a smaller total",
        ));
    }
    let commands = placed.commands.iter().map(|(_, command)| match command {
        PlacedCommand::Flush => 1,
        PlacedCommand::Trim(pages) => pages.len() as u64,
    });
    let requests = placed.references.saturating_add(commands.sum());
    if requests.saturating_mul(pages.into()) > LIMIT_PLACES {
        return Err(SimError::usage(
            format!(
                "{requests} page requests to the {pages} pages of {buffer} are too many to look at"
            ),
            Text::from("give ")
                + option("limit")
                + format!(" or a smaller total so that their product is at most {LIMIT_PLACES}"),
        ));
    }
    Ok(())
}

fn course(
    study: &SsdStudy<'_>,
    prepared: &OnDrives,
    cell: &BufferOnDrive<'_>,
    progress: &Progress,
) -> Result<(BufferCourse, Vec<AskedPage>), SimError> {
    let on = study.on(prepared, cell.drive);
    let (drive, _) = on.ssd.drive(study.experiment, progress)?;
    let SsdExperiment { drain, repeat, .. } = *study.experiment;
    let pages_per_block = cell.resolved.size().pages_per_block;
    let mut recording = Recording::new(pages_per_block);
    let (trace, drive) = (on.trace, drive.clone());
    let observer = &mut recording;
    let ssd = &on.ssd.written;
    let cuts = Cuts::NONE;
    let cell_of_run = CountedCell { trace, ssd, drive, drain, repeat, cuts, progress, observer };
    let finished = cell.resolved.build(cell_of_run)?;
    let description = cell.spec.entry().description;
    let course = BufferCourse {
        row: on.row(cell.spec, &cell.resolved, &finished, finished.noted.as_whole()),
        summary: description.summary,
        paper: description.paper,
        capacity: recording.capacity,
        steps: recording.steps,
    };
    Ok((course, recording.requests))
}

/// All steps until now.
struct Recording {
    pages_per_block: PagesPerBlock,
    capacity: Capacity,
    requests: Vec<AskedPage>,
    steps: Vec<BufferStep>,
    /// Actions before the request under way.
    events: Vec<StepEvent>,
    /// What the drive had done when it began.
    before: Counters,
}

impl Recording {
    fn new(pages_per_block: PagesPerBlock) -> Self {
        Recording {
            pages_per_block,
            capacity: Capacity { dram_pages: 0, nvm_pages: 0 },
            requests: Vec::new(),
            steps: Vec::new(),
            events: Vec::new(),
            before: Counters::default(),
        }
    }

    /// What the drive did since the last request.
    fn work(&mut self, drive: &Drive) -> WorkOfDrive {
        let after = drive.counters();
        let before = std::mem::replace(&mut self.before, after);
        WorkOfDrive {
            host_writes: after.host_writes - before.host_writes,
            flash_programs: after.flash_programs() - before.flash_programs(),
            host_reads: after.host_reads - before.host_reads,
            erases: after.erases - before.erases,
        }
    }
}

impl Observer for Recording {
    fn carries_out(&mut self, step: &Step<'_>) {
        let action = match step.action {
            Action::Flush => "flush",
            Action::Migrate => "migrate",
            Action::Drop => "drop",
        };
        let source_name = |source| match source {
            Source::Dram => memory_name(Medium::Dram),
            Source::Nvm => memory_name(Medium::Nvm),
            Source::Flash => "flash",
            Source::Request => "request",
        };
        let moved = step.pages.iter();
        let moved =
            moved.map(|entry| (entry.page.0, entry.dirty, source_name(entry.source), entry.stays));
        self.events.push(StepEvent { action, pages: moved.collect() });
    }

    fn served<B: WriteBuffer>(
        &mut self,
        request: Request,
        served: Served,
        buffer: &B,
        drive: &Drive,
    ) {
        let mut shown = Shown::new(self.pages_per_block);
        buffer.inspect(&mut shown);
        let events = std::mem::take(&mut self.events);
        let migrated = events.iter().filter(|event| event.action == "migrate").count();
        let occupancy = buffer.occupancy();
        self.capacity = buffer.capacity();
        self.requests.push(AskedOfDrive::of(request));
        let step = BufferStep {
            hit: served.hit.map(memory_name),
            events,
            nvm_writes: u64::from(served.nvm_writes) + migrated as u64,
            drive: self.work(drive),
            dram_pages: occupancy.dram_pages,
            nvm_pages: occupancy.nvm_pages,
            dirty_pages: occupancy.dirty_pages,
            lists: shown.lists,
            values: shown.values,
        };
        self.steps.push(step);
    }
}
