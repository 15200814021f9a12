//! The study: a trace of events is read once, every cell replays it, and counts are priced.

use std::sync::OnceLock;

use clockhand_device::{Joined, PageCost};
use clockhand_policy::catalog::{Kind, PolicySpec};
use clockhand_quantity::{Text, option};
use clockhand_trace::progress::Progress;
use clockhand_trace::{EventView, EventViewBuilder, ObjectKind, TraceInput};

use super::future::Future;
use super::log::LoggedPages;
use super::replay::EventCell;
use super::{FlushUnit, PageCacheCounts, PageCacheExperiment, PageCacheOptions, PageCacheRow};
use crate::contestant::{Contestant, kind_word};
use crate::error::SimError;
use crate::intervals::{Arrivals, Cuts, Intervals, Part, Rows};
use crate::io_log::check_one_cell;
use crate::pricing::Pricing;
use crate::read_trace::ReadTrace;
use crate::study::{Cells, Study, check_given};

/// The device of each class of pages.
pub(super) struct Devices<'a> {
    pub(super) anonymous: Pricing,
    pub(super) file: Pricing,
    anonymous_name: &'a str,
    file_name: &'a str,
}

/// An experiment that was checked.
pub(super) struct PageCacheStudy<'a> {
    experiment: &'a PageCacheExperiment,
    policies: Vec<&'a PolicySpec>,
    pub(super) devices: Devices<'a>,
}

/// What the cells of one trace share.
pub(super) struct PreparedEvents {
    pub(super) trace: ReadTrace,
    view: EventView,
    /// The places where counters are read.
    cuts: Cuts,
    /// Computed when the first offline policy asks.
    future: OnceLock<Future>,
}

impl<'a> PageCacheStudy<'a> {
    pub(super) fn new(experiment: &'a PageCacheExperiment) -> Result<Self, SimError> {
        let policies = policies(experiment)?;
        let PageCacheExperiment { traces, sizes, .. } = experiment;
        let counts =
            [("traces", traces.len()), ("policies", policies.len()), ("sizes", sizes.len())];
        check_one_cell(experiment.io_log.is_some(), counts)?;
        let file_name = experiment.file_device.as_ref().unwrap_or(&experiment.device);
        let devices = Devices {
            anonymous: Pricing::new(&experiment.device, experiment.page_bytes)?,
            file: Pricing::new(file_name, experiment.page_bytes)?,
            anonymous_name: &experiment.device,
            file_name,
        };
        for policy in &policies {
            policy.resolve(1, devices.anonymous.device_ratio)?;
        }
        Ok(PageCacheStudy { experiment, policies, devices })
    }
}

impl<'a> Study for PageCacheStudy<'a> {
    type Prepared = PreparedEvents;
    /// Frames and policy.
    type Cell = (u32, &'a PolicySpec);
    type Finished = Rows<PageCacheRow>;

    fn prepare(&self, input: &TraceInput, progress: &Progress) -> Result<PreparedEvents, SimError> {
        let (trace, view) = read(input, self.experiment, progress)?;
        let intervals = &self.experiment.intervals;
        let cuts = intervals.cuts(&trace.name, trace.references, &arrivals(intervals, &view))?;
        Ok(PreparedEvents { trace, view, cuts, future: OnceLock::new() })
    }

    fn cells(&self, prepared: &PreparedEvents) -> Result<Vec<Self::Cell>, SimError> {
        let PageCacheExperiment { sizes, page_bytes, .. } = self.experiment;
        let cell = |point: Vec<usize>| {
            let &[size, policy] = &point[..] else { unreachable!("the grid has two dimensions") };
            let frames = sizes[size].frames(prepared.trace.footprint_pages, *page_bytes);
            (frames, self.policies[policy])
        };
        Ok(self.experiment.points().into_iter().map(cell).collect())
    }

    fn steps(&self, prepared: &PreparedEvents, task: &[&Self::Cell]) -> u64 {
        (prepared.view.references().len() * task.len()) as u64
    }

    fn run(
        &self,
        prepared: &PreparedEvents,
        task: &[&Self::Cell],
        progress: &Progress,
    ) -> Result<Vec<Rows<PageCacheRow>>, SimError> {
        task.iter()
            .map(|&&(frames, policy)| self.cell(prepared, frames, policy, progress))
            .collect()
    }
}

/// The policies, if the experiment has all that it needs.
fn policies(experiment: &PageCacheExperiment) -> Result<Vec<&PolicySpec>, SimError> {
    check_given(&experiment.policies, "policy", option("policy") + " NAME")?;
    check_given(&experiment.sizes, "memory size", option("frames") + " or " + option("memory"))?;
    experiment.policies.iter().map(policy_of).collect()
}

fn policy_of(contestant: &Contestant) -> Result<&PolicySpec, SimError> {
    match contestant {
        Contestant::Policy(policy) => Ok(policy),
        Contestant::Bound(_) | Contestant::Feasible(_) => Err(SimError::usage(
            "the bound is not known for page caches with calls",
            "leave it out, and take min",
        )),
    }
}

/// Reads a trace and makes its view.
fn read(
    input: &TraceInput,
    experiment: &PageCacheExperiment,
    progress: &Progress,
) -> Result<(ReadTrace, EventView), SimError> {
    let ahead_pages = experiment.options.read_ahead.file.map_or(0, |file| file.most_pages);
    let mut builder = EventViewBuilder::new(experiment.page_bytes, ahead_pages)?
        .within(input.memory_limit_bytes());
    if !experiment.intervals.is_off() || experiment.io_log.is_some() {
        builder = builder.with_times();
    }
    let mut report = input.for_each_event_batch(progress, &mut |batch| {
        builder.extend(batch);
        Ok(())
    })?;
    let kinds: Vec<ObjectKind> = report.object_kinds.clone();
    let view = builder.finish(&kinds)?;
    check(&input.name(), &view, &experiment.options)?;
    if let Some((steps, first)) = view.back_steps() {
        report.notes.push(format!(
            "{steps} times run back, the first at event {first}; each counts as the time before it"
        ));
    }
    let references = view.references().len() as u64;
    let trace = ReadTrace {
        name: input.name(),
        report,
        references,
        read_references: references - view.write_references(),
        write_references: view.write_references(),
        footprint_pages: view.footprint_pages(),
        dirty_footprint_pages: view.dirty_footprint_pages(),
    };
    Ok((trace, view))
}

/// When the references come, if a warm-up or intervals are asked for.
fn arrivals(intervals: &Intervals, view: &EventView) -> Arrivals {
    let mut arrivals = Arrivals::default();
    let (references, mut event) = (view.references(), 0);
    for reference in references.iter().take(if intervals.is_off() { 0 } else { references.len() }) {
        event += usize::from(reference.begins_event());
        arrivals.pass(view.times_ns().map(|times_ns| times_ns[event - 1]), 1);
    }
    arrivals
}

/// Refuses options that mean nothing on this trace.
fn check(name: &str, view: &EventView, options: &PageCacheOptions) -> Result<(), SimError> {
    if options.read_ahead.file.is_some() && !view.has_files() {
        return Err(SimError::usage(
            format!("{name}: the trace has no files to read ahead"),
            Text::from("leave file:MIN-MAX out of ")
                + option("read-ahead")
                + ", or give a trace of events",
        ));
    }
    let needs_times = options.flusher.is_some_and(|flusher| flusher.unit == FlushUnit::Time);
    if needs_times && view.has_files() && view.times_ns().is_none() {
        return Err(SimError::usage(
            format!("{name}: the trace has no times, so the flusher cannot count seconds"),
            Text::from("give ") + option("flush-every") + " in references, 1000r for example",
        ));
    }
    Ok(())
}

impl PageCacheStudy<'_> {
    fn cell(
        &self,
        prepared: &PreparedEvents,
        frames: u32,
        policy: &PolicySpec,
        progress: &Progress,
    ) -> Result<Rows<PageCacheRow>, SimError> {
        let policy = policy.clone().with_seed(self.experiment.seed);
        let resolved = policy.resolve(frames, self.devices.anonymous.device_ratio)?;
        let future = match policy.entry().kind {
            Kind::Offline => Some(self.future(prepared)?),
            _ => None,
        };
        let PreparedEvents { trace, view, cuts, .. } = prepared;
        let options = self.experiment.options;
        let cell = EventCell { view, future, frames, options, cuts, progress };
        let log = self.experiment.io_log.as_ref().map(|path| LoggedPages::create(path, view));
        let (noted, log) = cell.watched(&resolved, log.transpose()?)?;
        log.map_or(Ok(()), LoggedPages::finish)?;
        let row = |part: &Part<'_>, counts: &PageCacheCounts| {
            self.row(view, frames, &policy, resolved.to_string(), (part, counts))
        };
        Ok(noted.rows(cuts, trace, row))
    }

    fn future<'p>(&self, prepared: &'p PreparedEvents) -> Result<&'p Future, SimError> {
        if prepared.view.references().len() > Future::LIMIT_REFERENCES {
            return Err(SimError::usage(
                format!(
                    "{}: offline policies take at most {} references",
                    prepared.trace.name,
                    Future::LIMIT_REFERENCES
                ),
                Text::from("take a part with ") + option("limit"),
            ));
        }
        let read_ahead = self.experiment.options.read_ahead;
        let reads_ahead = read_ahead.file.is_some() || read_ahead.swap_slots.is_some();
        Ok(prepared.future.get_or_init(|| Future::of(&prepared.view, reads_ahead)))
    }

    fn row(
        &self,
        view: &EventView,
        frames: u32,
        policy: &PolicySpec,
        policy_resolved: String,
        (part, counts): (&Part<'_>, &PageCacheCounts),
    ) -> PageCacheRow {
        let devices = &self.devices;
        let trace = part.trace;
        let misses = counts.read_misses + counts.write_misses;
        let anonymous = (&devices.anonymous.page_cost, counts.anon_read_ios, counts.anon_write_ios);
        let file = (&devices.file.page_cost, counts.file_read_ios, counts.file_write_ios);
        let one_by_one = Joined::default();
        let requests = [
            (&anonymous.0.read, counts.anon_read_ios, &counts.anon_reads_joined),
            (&anonymous.0.write, counts.anon_write_ios, &one_by_one),
            (&file.0.read, counts.file_read_ios, &counts.file_reads_joined),
            (&file.0.write, counts.file_write_ios, &counts.file_writes_joined),
        ];
        let has_erases = devices.anonymous.device.has_erase() && devices.file.device.has_erase();
        PageCacheRow {
            trace: trace.name.clone(),
            policy: policy.written().to_owned(),
            kind: kind_word(policy.entry().kind),
            frames: frames.into(),
            references: part.references,
            read_references: part.read_references,
            write_references: part.write_references,
            hits: part.references - misses,
            misses,
            read_misses: counts.read_misses,
            write_misses: counts.write_misses,
            read_ios: counts.read_ios(),
            write_ios: counts.write_ios(),
            clean_evictions: counts.clean_evictions,
            dirty_evictions: counts.dirty_evictions,
            io_time_us: PageCost::total_time_us(&requests),
            energy_uj: PageCost::total_energy_uj(&[anonymous, file]),
            anon_read_ios: counts.anon_read_ios,
            anon_write_ios: counts.anon_write_ios,
            file_read_ios: counts.file_read_ios,
            file_write_ios: counts.file_write_ios,
            zero_fills: counts.zero_fills,
            blind_fills: counts.blind_fills,
            readahead_ios: counts.readahead_ios,
            readahead_unused: counts.readahead_unused,
            sync_writes: counts.sync_writes,
            flusher_writes: counts.flusher_writes,
            dropped_dirty: counts.dropped_dirty,
            dropped_clean: counts.dropped_clean,
            direct_read_ios: counts.direct_read_ios,
            direct_write_ios: counts.direct_write_ios,
            dirty_pages_peak: counts.dirty_pages_peak,
            dirty_pages_mean: part.share(counts.dirty_pages_sum),
            dirty_age_max: self.age(view, counts.dirty_age_max),
            policy_resolved,
            hit_ratio: part.share(part.references - misses),
            footprint_pages: view.footprint_pages().into(),
            memory_share: f64::from(frames) / f64::from(view.footprint_pages()),
            write_backs: counts.early_write_backs,
            potential_erases: has_erases.then(|| counts.write_ios()),
            reclaims: counts.reclaims,
            scanned_pages: counts.scanned_pages,
            skipped_requests: trace.report.skipped_records,
            ..self.row_of_settings()
        }
    }

    /// What rows have of the experiment.
    fn row_of_settings(&self) -> PageCacheRow {
        let PageCacheStudy { experiment, devices, .. } = self;
        PageCacheRow {
            device: devices.anonymous_name.to_owned(),
            file_device: devices.file_name.to_owned(),
            device_resolved: devices.anonymous.device.resolved(),
            file_device_resolved: devices.file.device.resolved(),
            page_bytes: experiment.page_bytes,
            first_touch: experiment.options.first_touch.name(),
            zero_clean: experiment.options.zero_clean.name(),
            flusher: experiment.options.flusher.map(|flusher| flusher.written()),
            read_ahead: experiment.options.read_ahead.written(),
            ..PageCacheRow::default()
        }
    }

    /// An age in the unit of the row: seconds where the trace has times and the flusher counts none.
    fn age(&self, view: &EventView, age: u64) -> f64 {
        let flusher = self.experiment.options.flusher;
        let in_references = flusher.is_some_and(|flusher| flusher.unit == FlushUnit::References);
        if view.times_ns().is_some() && !in_references { age as f64 / 1e9 } else { age as f64 }
    }
}
