//! A trace as the page references of each page size, read once.

use clockhand_policy::catalog::{PolicySpec, ResolvedPolicy};
use clockhand_trace::{
    Folding, PageView, PageViewBuilder, ReadReport, Request, TraceError, TraceInput,
};

use super::TranslateExperiment;
use super::price::PricedStorage;
use super::space::Space;
use crate::error::SimError;
use crate::intervals::{Arrivals, ArrivalsAtSizes, Cuts};
use crate::read_trace::ReadTrace;
use crate::views::{View, folding_for, read_trace};
use clockhand_trace::progress::Progress;

/// A trace at one page size.
pub(super) struct PreparedSize {
    pub(super) page_bytes: u64,
    pub(super) trace: ReadTrace,
    /// One per folding that a policy needs; empty for a trace without references.
    views: Vec<(View, Space)>,
    unfolded: bool,
    /// The places where counters are read.
    pub(super) cuts: Cuts,
}

impl PreparedSize {
    /// The view that a policy needs, with its space; `None` for a trace without references.
    pub(super) fn view_for(&self, policy: &ResolvedPolicy) -> Option<(&View, &Space)> {
        let wanted = if self.unfolded { Folding::None } else { folding_for(policy) };
        if self.views.is_empty() {
            return None;
        }
        let (view, space) = self
            .views
            .iter()
            .find(|(view, _)| view.folding() == wanted)
            .expect("a view was built for every folding");
        Some((view, space))
    }

    /// Records of a view, for the progress.
    pub(super) fn records(&self) -> u64 {
        self.views.first().map_or(0, |(view, _)| view.pages().records().len() as u64)
    }
}

/// Reads a trace once and makes its views at all page sizes.
pub(super) fn read_sizes(
    experiment: &TranslateExperiment,
    policies: &[PolicySpec],
    priced: &[Vec<PricedStorage>],
    input: &TraceInput,
    progress: &Progress,
) -> Result<Vec<PreparedSize>, SimError> {
    let foldings = foldings(experiment, policies, priced)?;
    let views = experiment.page_sizes_bytes.len() * foldings.len();
    let limit_bytes = input.memory_limit_bytes() / views.max(1) as u64;
    let mut builders = Vec::new();
    for &page_bytes in &experiment.page_sizes_bytes {
        for &folding in &foldings {
            builders.push(PageViewBuilder::new(page_bytes, folding)?.within(limit_bytes));
        }
    }
    let (keeps_times, sizes_bytes) = (!experiment.intervals.is_off(), &experiment.page_sizes_bytes);
    let mut arrivals = ArrivalsAtSizes::new(keeps_times, sizes_bytes, limit_bytes);
    let mut first_bytes = Vec::new();
    let report = input.for_each_batch(progress, &mut |batch| {
        let batch = match experiment.split {
            true => batch,
            false => first_bytes_of(batch, &mut first_bytes),
        };
        builders.iter_mut().for_each(|builder| builder.extend(batch));
        arrivals.extend(batch)
    })?;
    check_addresses(experiment, input, &report)?;
    let mut builders = builders.into_iter();
    let mut sizes = Vec::new();
    for (&page_bytes, arrivals) in sizes_bytes.iter().zip(arrivals.finish()) {
        let views = builders.by_ref().take(foldings.len()).map(finished);
        let views: Vec<PageView> =
            views.filter_map(Result::transpose).collect::<Result<_, SimError>>()?;
        sizes.push(prepared(experiment, (input, &report), page_bytes, views, &arrivals)?);
    }
    Ok(sizes)
}

/// The requests without all but their first byte.
fn first_bytes_of<'a>(batch: &[Request], first_bytes: &'a mut Vec<Request>) -> &'a [Request] {
    first_bytes.clear();
    first_bytes
        .extend(batch.iter().map(|&request| Request { bytes: request.bytes.min(1), ..request }));
    first_bytes
}

/// The view, or `None` if nothing was referenced.
fn finished(builder: PageViewBuilder) -> Result<Option<PageView>, SimError> {
    match builder.finish() {
        Err(TraceError::NoReference) => Ok(None),
        view => Ok(Some(view?)),
    }
}

/// A trace that numbers pages or objects says nothing about addresses within one.
fn check_addresses(
    experiment: &TranslateExperiment,
    input: &TraceInput,
    report: &ReadReport,
) -> Result<(), SimError> {
    let Some(unit_bytes) = report.numbered_bytes.map(u64::from) else { return Ok(()) };
    match experiment.page_sizes_bytes.iter().find(|&&page_bytes| page_bytes < unit_bytes) {
        None => Ok(()),
        Some(page_bytes) => Err(SimError::usage(
            format!(
                "{}: the trace numbers blocks of {unit_bytes} bytes and has no addresses within them, so \
                 pages of {page_bytes} bytes mean nothing",
                input.name()
            ),
            format!("give page sizes from {unit_bytes} bytes on"),
        )),
    }
}

fn prepared(
    experiment: &TranslateExperiment,
    (input, report): (&TraceInput, &ReadReport),
    page_bytes: u64,
    views: Vec<PageView>,
    arrivals: &Arrivals,
) -> Result<PreparedSize, SimError> {
    let promotion = experiment.huge.map(|huge| huge.promotion(page_bytes)).transpose()?;
    let first = views.first();
    let footprint_pages = first.map_or(0, PageView::footprint_pages);
    let frames = experiment.sizes.iter().map(|size| size.frames(footprint_pages, page_bytes));
    let largest_frames = frames.max().unwrap_or(0);
    let trace = read_trace(input, report, first);
    let with_space = |view: PageView| {
        let space = Space::new(&view, experiment.walk_levels, promotion, largest_frames)?;
        Ok((View::new(view), space))
    };
    let views = views.into_iter().map(with_space).collect::<Result<_, TraceError>>()?;
    let cuts = experiment.intervals.cuts(&trace.name, trace.references, arrivals)?;
    Ok(PreparedSize { page_bytes, trace, views, unfolded: is_unfolded(experiment), cuts })
}

/// True if no policy takes runs of references.
fn is_unfolded(experiment: &TranslateExperiment) -> bool {
    experiment.huge.is_some() || !experiment.intervals.is_off()
}

/// The different ways in which the policies need their runs folded. Promotion can take the frame of the page that was
/// referenced just now, so that with huge pages every reference is one of its own.
fn foldings(
    experiment: &TranslateExperiment,
    policies: &[PolicySpec],
    priced: &[Vec<PricedStorage>],
) -> Result<Vec<Folding>, SimError> {
    let mut foldings = Vec::new();
    for storage in priced.iter().flatten() {
        for policy in policies {
            let folding = match is_unfolded(experiment) {
                true => Folding::None,
                false => folding_for(&policy.resolve(1, storage.device_ratio)?),
            };
            if !foldings.contains(&folding) {
                foldings.push(folding);
            }
        }
    }
    Ok(foldings)
}
