//! Page views of a trace, folded as policies need them, and the next use of each page.

use std::num::NonZeroU64;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use clockhand_policy::Ratio;
use clockhand_policy::catalog::{Kind, ResolvedPolicy, Size, Visitor};
use clockhand_policy::page::{AccessDriven, BitDriven, Offline};
use clockhand_trace::{
    Batch, Event, Folding, Numbering, PageCounts, PageView, PageViewBuilder, ReadReport, Request,
    TraceError, TraceInput,
};

use crate::contestant::Contestant;
use crate::error::SimError;
use crate::intervals::{Arrivals, ArrivalsAtSizes, Cuts, Intervals};
use crate::next_use::NextUse;
use crate::read_trace::ReadTrace;
use clockhand_trace::progress::Progress;

/// The period of a policy, if it wants ticks.
struct PeriodOf;

impl Visitor for PeriodOf {
    type Output = Option<NonZeroU64>;

    fn bit_driven<P: BitDriven + 'static>(self, policy: P) -> Self::Output {
        policy.period()
    }

    fn access_driven<P: AccessDriven + 'static>(self, policy: P) -> Self::Output {
        policy.period()
    }

    fn offline<P: Offline + 'static>(self, policy: P) -> Self::Output {
        policy.period()
    }
}

/// The folding of runs of one page that a policy needs. A user's own policy gets each hit, with its
/// operation.
pub(crate) fn folding_for(policy: &ResolvedPolicy) -> Folding {
    let entry = policy.entry();
    if entry.own.is_some() && entry.kind != Kind::BitDriven {
        return Folding::None;
    }
    match policy.build(Size { frames: 1, pages: 1 }, PeriodOf) {
        Some(period) => Folding::RunsWithin(period),
        None => Folding::Runs,
    }
}

/// The different ways in which the policies need their runs folded; most share one.
pub(crate) fn foldings(
    policies: &[Contestant],
    device_ratio: Ratio,
) -> Result<Vec<Folding>, SimError> {
    let mut foldings = Vec::new();
    for contestant in policies {
        let folding = match contestant {
            Contestant::Policy(policy) => {
                let folding_at =
                    |frames| Ok::<_, SimError>(folding_for(&policy.resolve(frames, device_ratio)?));
                let (one, two) = (folding_at(1)?, folding_at(2)?);
                // A period that depends on the frames is another one in each cell, and single references suit them all.
                if one == two { one } else { Folding::None }
            }
            Contestant::Bound(_) | Contestant::Feasible(_) => Folding::Runs,
        };
        if !foldings.contains(&folding) {
            foldings.push(folding);
        }
    }
    Ok(foldings)
}

/// How the pages of a view may be numbered that serves all these; policies whose choices depend on the numbers are given
/// those by address.
pub(crate) fn numbering(contestants: &[Contestant]) -> Numbering {
    match contestants.iter().all(|one| matches!(one, Contestant::Policy(_))) {
        true => Numbering::ByFirstTouch,
        false => Numbering::ByAddress,
    }
}

/// A page view and the future of its records, computed when the first offline policy asks.
pub(crate) struct View {
    pages: PageView,
    next_use: OnceLock<NextUse>,
    /// Held by the thread that computes it.
    computing: Mutex<()>,
}

impl View {
    pub(crate) fn new(pages: PageView) -> Self {
        View { pages, next_use: OnceLock::new(), computing: Mutex::new(()) }
    }

    pub(crate) fn folding(&self) -> Folding {
        self.pages.folding()
    }

    pub(crate) fn pages(&self) -> &PageView {
        &self.pages
    }

    pub(crate) fn next_use(&self, progress: &Progress) -> Result<&NextUse, SimError> {
        let _computing = self.computing.lock().unwrap_or_else(PoisonError::into_inner);
        if self.next_use.get().is_none() {
            _ = self.next_use.set(NextUse::of(&self.pages, progress)?);
        }
        Ok(self.next_use.get().expect("it is known by now"))
    }

    /// The same of a view in memory, whole.
    pub(crate) fn next_use_in_memory(&self, progress: &Progress) -> Result<&[u32], SimError> {
        match self.next_use(progress)? {
            NextUse::InMemory(all) => Ok(all),
            NextUse::OnScratch(_) => {
                unreachable!("what needs it whole refuses scratch files before")
            }
        }
    }
}

/// The views of one trace at one page size, and what the trace is at it.
pub(crate) struct Views {
    pub(crate) trace: ReadTrace,
    views: Vec<View>,
    arrivals: Arrivals,
}

impl Views {
    /// Views that were made of one reading of a trace.
    pub(crate) fn of(trace: ReadTrace, views: Vec<View>, arrivals: Arrivals) -> Self {
        Views { trace, views, arrivals }
    }

    /// The places where counters are read; the trace was read with the same intervals.
    pub(crate) fn cuts(&self, intervals: &Intervals) -> Result<Cuts, SimError> {
        intervals.cuts(&self.trace.name, self.trace.references, &self.arrivals)
    }

    /// When its references come, if it was read with their times.
    pub(crate) fn arrivals(&self) -> &Arrivals {
        &self.arrivals
    }

    /// The view with this folding, if the trace was read for it.
    pub(crate) fn find(&self, folding: Folding) -> Option<&View> {
        self.views.iter().find(|view| view.folding() == folding)
    }

    /// The view with this folding, or the one of single references in its place, for which the trace was read.
    pub(crate) fn folded(&self, folding: Folding) -> &View {
        let found = self.find(folding).or_else(|| self.find(Folding::None));
        found.expect("a view was built for every folding")
    }

    /// True if pages have the wanted numbers; those by address suit all.
    pub(crate) fn are_numbered(&self, numbering: Numbering) -> bool {
        numbering == Numbering::ByFirstTouch || self.views[0].pages.places_by_address().is_none()
    }

    /// True if their records are in files.
    pub(crate) fn are_on_scratch(&self) -> bool {
        self.views[0].pages.scratch_folder().is_some()
    }

    /// The memory that they take.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let views = self.views.iter().map(|view| view.pages.memory_bytes());
        views.sum::<u64>() + self.arrivals.memory_bytes()
    }

    /// Records of a view; all have about as many.
    pub(crate) fn records(&self) -> usize {
        self.views[0].pages.record_count()
    }
}

/// Reads a trace and makes its views at one page size.
pub(crate) fn read(
    input: &TraceInput,
    page_bytes: u64,
    foldings: &[Folding],
    progress: &Progress,
) -> Result<Views, SimError> {
    let page_sizes_bytes = &[page_bytes];
    let wanted = Wanted { page_sizes_bytes, foldings, keeps_times: false, drops: false };
    let mut views = read_at(input, None, wanted, Numbering::ByAddress, progress)?;
    Ok(views.pop().expect("one page size gives one entry"))
}

/// Which views of a trace are wanted.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) page_sizes_bytes: &'a [u64],
    pub(crate) foldings: &'a [Folding],
    /// True with a warm-up, intervals or a log, which need the times of references.
    pub(crate) keeps_times: bool,
    /// Whether pages leave whose content ends: of deleted objects and files, of discarded ranges.
    pub(crate) drops: bool,
}

/// Reads a trace once and makes its views at several page sizes, in their order; in memory, or in files in the folder
/// `scratch`.
pub(crate) fn read_at(
    input: &TraceInput,
    scratch: Option<&Path>,
    wanted: Wanted<'_>,
    numbering: Numbering,
    progress: &Progress,
) -> Result<Vec<Views>, SimError> {
    let made = |builder: PageViewBuilder| {
        let builder = builder.numbered(numbering);
        match scratch {
            Some(folder) => builder.on_scratch(folder),
            None => builder,
        }
    };
    read_made(input, wanted, made, progress)
}

/// The same in memory and by address, with the requests of several pages.
pub(crate) fn read_with_requests(
    input: &TraceInput,
    wanted: Wanted<'_>,
    progress: &Progress,
) -> Result<Vec<Views>, SimError> {
    read_made(input, wanted, PageViewBuilder::with_requests, progress)
}

fn read_made(
    input: &TraceInput,
    wanted: Wanted<'_>,
    made: impl Fn(PageViewBuilder) -> PageViewBuilder,
    progress: &Progress,
) -> Result<Vec<Views>, SimError> {
    let Wanted { page_sizes_bytes, foldings, keeps_times, drops } = wanted;
    let views = (page_sizes_bytes.len() * foldings.len()).max(1) as u64;
    let limit_bytes = input.memory_limit_bytes() / views;
    let mut builders = Vec::new();
    for &page_bytes in page_sizes_bytes {
        for &folding in foldings {
            builders.push(made(PageViewBuilder::new(page_bytes, folding)?.within(limit_bytes)));
        }
    }
    let mut arrivals = ArrivalsAtSizes::new(keeps_times, page_sizes_bytes, limit_bytes);
    let report = {
        let mut take = |batch: &[Request], ends: Option<&Event>| {
            builders.iter_mut().for_each(|builder| builder.extend(batch));
            builders
                .iter_mut()
                .for_each(|builder| ends.into_iter().for_each(|event| builder.end_content(event)));
            arrivals.extend(batch)?;
            builders.iter().try_for_each(PageViewBuilder::check_room)
        };
        match drops {
            false => input.for_each_batch(progress, &mut |batch| take(batch, None))?,
            true => input.for_each_batch_as_it_is(progress, &mut |batch| match batch {
                Batch::Requests(requests) => take(requests, None),
                Batch::Events(events) => take_events(events, &mut take),
            })?,
        }
    };
    let mut read = Vec::new();
    let mut builders = builders.into_iter();
    for arrivals in arrivals.finish() {
        let mut views = Vec::new();
        for builder in builders.by_ref().take(foldings.len()) {
            views.push(View::new(builder.finish_watched(progress)?));
        }
        let trace = read_trace(input, &report, Some(&views[0].pages));
        read.push(Views { trace, views, arrivals });
    }
    Ok(read)
}

/// Takes requests, and an event behind them that is none.
type Take<'a> = dyn FnMut(&[Request], Option<&Event>) -> Result<(), TraceError> + 'a;

/// Hands out the requests between events that are none.
fn take_events(events: &[Event], take: &mut Take<'_>) -> Result<(), TraceError> {
    let mut requests = Vec::new();
    for event in events {
        match event.request() {
            Some(request) => requests.push(request),
            None => {
                take(&requests, Some(event))?;
                requests.clear();
            }
        }
    }
    take(&requests, None)
}

/// Facts about a trace from one of its views; a trace without references has no view.
pub(crate) fn read_trace(
    input: &TraceInput,
    report: &ReadReport,
    view: Option<&PageView>,
) -> ReadTrace {
    ReadTrace {
        name: input.name(),
        report: report.clone(),
        references: view.map_or(0, PageView::references),
        read_references: view.map_or(0, PageView::read_references),
        write_references: view.map_or(0, PageView::write_references),
        footprint_pages: view.map_or(0, PageView::footprint_pages),
        dirty_footprint_pages: view.map_or(0, PageView::dirty_footprint_pages),
    }
}

/// The same from what was counted while the trace was read.
pub(crate) fn counted_trace(
    input: &TraceInput,
    report: ReadReport,
    counts: PageCounts,
) -> ReadTrace {
    ReadTrace {
        name: input.name(),
        report,
        references: counts.references,
        read_references: counts.references - counts.write_references,
        write_references: counts.write_references,
        footprint_pages: counts.footprint_pages,
        dirty_footprint_pages: counts.dirty_footprint_pages,
    }
}
