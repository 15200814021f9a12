//! The cells of a study of file caches: each (policy, capacity, admission) is replayed once, then priced for all devices.

mod rows;

use clockhand_device::Joined;
use clockhand_policy::catalog::{Kind, PolicySpec, ResolvedPolicy};
use clockhand_trace::{Folding, Numbering, SharedRequests, TraceInput};
use rustc_hash::FxHashMap;

use super::admission::{AdmissionRule, Selective};
use super::asked::{Asked, AskedOfLru, Asking, Requests};
use super::bound::Bound;
use super::cost::{Writes, rounded};
use super::future::Future;
use super::prices::{PricedDevice, Prices};
use super::{Caching, FileCacheExperiment, FileCacheRow, block_keys};
use crate::error::SimError;
use crate::intervals::{Cuts, Noted, Notes, Part, Rows};
use crate::replay::{Cell, Counts, ReplayOptions, first_op};
use crate::stack_distance::{LRU, LruCounts, PASS_REPLAYS};
use crate::study::{Cells, Study};
use crate::views::{Views, Wanted, folding_for, read_at, read_with_requests};
use clockhand_trace::progress::Progress;
use rows::note_events;

/// A trace at one block size.
pub(super) struct AtSize {
    pub(super) views: Views,
    /// What tinylfu knows blocks by; empty if every rule admits everything.
    keys: Vec<u64>,
    /// The places where counters are read.
    cuts: Cuts,
    /// What is bypassed and asked of a device without a cache.
    without_cache: Noted<(Counts, Asked)>,
}

/// Counts and device requests of a cell, and those without a cache.
type Counted = ((Counts, Asked), (Counts, Asked));

/// A row before it is replayed.
pub(super) struct FileCacheCell<'a> {
    /// The position of the block size.
    size: usize,
    capacity: u32,
    device: &'a PricedDevice,
    /// None of the bound.
    cached: Option<Cached<'a>>,
}

/// How a cell's cache behaves.
struct Cached<'a> {
    rule: AdmissionRule,
    /// Reuses of a block that belady admits, at least.
    reuse: Option<u64>,
    policy: &'a PolicySpec,
    /// Includes the `c` that a device sets.
    resolved: ResolvedPolicy,
    policy_resolved: String,
}

impl FileCacheCell<'_> {
    /// Whether its counts can come from one pass over all capacities.
    fn is_of_pass(&self) -> bool {
        let is_lru = |cached: &Cached<'_>| {
            cached.rule == AdmissionRule::Always && cached.policy_resolved == LRU
        };
        self.capacity > 0 && self.cached.as_ref().is_some_and(is_lru)
    }
}

/// File caches before devices.
pub(super) struct FileCacheStudy<'a> {
    pub(super) experiment: &'a FileCacheExperiment,
    pub(super) contestants: &'a [Caching],
    pub(super) prices: &'a Prices,
    /// The foldings that policies and rules need.
    pub(super) foldings: Vec<Folding>,
    /// True if it matters which blocks a device is asked for together.
    pub(super) asks: bool,
}

impl<'a> Study for FileCacheStudy<'a> {
    type Prepared = Vec<AtSize>;
    type Cell = FileCacheCell<'a>;
    type Finished = Rows<FileCacheRow>;

    fn prepare(&self, input: &TraceInput, progress: &Progress) -> Result<Vec<AtSize>, SimError> {
        let selects = self.experiment.admissions.contains(&AdmissionRule::TinyLfu);
        let FileCacheExperiment { block_sizes_bytes, intervals, .. } = self.experiment;
        let wanted = Wanted {
            page_sizes_bytes: block_sizes_bytes,
            foldings: &self.foldings,
            keeps_times: !intervals.is_off(),
            drops: true,
        };
        let largest_bytes = block_sizes_bytes.iter().copied().max().unwrap_or(1);
        let input = &input.with_living_objects(largest_bytes);
        let read = match self.asks {
            true => read_with_requests(input, wanted, progress)?,
            false => read_at(input, None, wanted, Numbering::ByAddress, progress)?,
        };
        let at_size = |mut views: Views| {
            views.trace.report.notes.extend(note_events(&views.trace.report));
            let keys =
                if selects { block_keys(views.folded(Folding::None).pages()) } else { Vec::new() };
            let cuts = views.cuts(intervals)?;
            let without_cache = self.without_cache(&views, &cuts);
            Ok(AtSize { views, keys, cuts, without_cache })
        };
        read.into_iter().map(at_size).collect()
    }

    fn cells(&self, sizes: &Vec<AtSize>) -> Result<Vec<FileCacheCell<'a>>, SimError> {
        self.experiment.points().iter().map(|point| self.cell(sizes, point)).collect()
    }

    /// Cells that differ in the device alone share a replay; those of LRU share a pass where it is worth it.
    fn tasks(&self, sizes: &Vec<AtSize>, cells: &[FileCacheCell<'a>]) -> Vec<Vec<usize>> {
        let mut replays: Vec<Vec<usize>> = Vec::new();
        let mut replay_of = FxHashMap::default();
        for (position, cell) in cells.iter().enumerate() {
            let cached = cell.cached.as_ref();
            let cached = cached.map(|cached| (cached.rule, cached.reuse, &cached.policy_resolved));
            let key = (cell.size, cell.capacity, cached);
            let replay = *replay_of.entry(key).or_insert_with(|| {
                replays.push(Vec::new());
                replays.len() - 1
            });
            replays[replay].push(position);
        }
        let mut tasks = Vec::new();
        for (size, at) in sizes.iter().enumerate() {
            let is_of_pass = |replay: &Vec<usize>| {
                let cell = &cells[replay[0]];
                cell.size == size && cell.is_of_pass()
            };
            let drops = at.views.folded(self.foldings[0]).pages().drops();
            let passes = self.experiment.intervals.is_off() && drops.is_empty();
            if passes && replays.iter().filter(|replay| is_of_pass(replay)).count() >= PASS_REPLAYS
            {
                let (of_pass, others): (Vec<_>, Vec<_>) = replays.into_iter().partition(is_of_pass);
                tasks.push(of_pass.concat());
                replays = others;
            }
        }
        tasks.extend(replays);
        tasks
    }

    fn steps(&self, sizes: &Vec<AtSize>, task: &[&FileCacheCell<'a>]) -> u64 {
        let replays = if is_pass(task) { PASS_REPLAYS } else { 1 };
        (sizes[task[0].size].views.records() * replays) as u64
    }

    fn run(
        &self,
        sizes: &Vec<AtSize>,
        task: &[&FileCacheCell<'a>],
        progress: &Progress,
    ) -> Result<Vec<Rows<FileCacheRow>>, SimError> {
        let at = &sizes[task[0].size];
        if is_pass(task) {
            return self.run_pass(at, task, progress);
        }
        let Some(cached) = &task[0].cached else {
            return self.run_bound(at, task, progress);
        };
        let counted = self.replay(at, task[0].capacity, cached, progress)?;
        let counted = counted.zip(&at.without_cache);
        let rows = |cell: &&FileCacheCell<'a>| {
            let row = |part: &Part<'_>, counted: &Counted| self.row(at, cell, part, counted);
            counted.rows(&at.cuts, &at.views.trace, row)
        };
        Ok(task.iter().map(rows).collect())
    }
}

/// Only a pass has cells of several capacities.
fn is_pass(task: &[&FileCacheCell<'_>]) -> bool {
    task.iter().any(|cell| cell.capacity != task[0].capacity)
}

impl<'a> FileCacheStudy<'a> {
    fn cell(&self, sizes: &[AtSize], point: &[usize]) -> Result<FileCacheCell<'a>, SimError> {
        let &[size, capacity, policy, rule, device] = point else {
            unreachable!("the grid has five dimensions")
        };
        let prices = &self.prices.at[size];
        let footprint = sizes[size].views.trace.footprint_pages;
        let capacity = self.experiment.capacities[capacity].blocks(footprint, prices.block_bytes);
        let device = &prices.devices[device];
        let cached = match &self.contestants[policy] {
            Caching::Policy(policy) => {
                let rule = self.experiment.admissions[rule];
                Some(self.cached(policy, rule, device, capacity)?)
            }
            Caching::Bound => None,
        };
        Ok(FileCacheCell { size, capacity, device, cached })
    }

    fn options(&self) -> ReplayOptions {
        ReplayOptions { flush_at_end: self.experiment.flush_at_end, ..ReplayOptions::default() }
    }

    fn writes_cost(&self) -> bool {
        self.experiment.costs.writes == Writes::Cost
    }

    fn cached(
        &self,
        policy: &'a PolicySpec,
        rule: AdmissionRule,
        device: &PricedDevice,
        capacity: u32,
    ) -> Result<Cached<'a>, SimError> {
        let resolved = policy.resolve(capacity.max(1), device.ratio)?;
        let reuse = self.experiment.reuse.or_else(|| device.costs.required_hits());
        Ok(Cached {
            rule,
            reuse: reuse.filter(|_| rule == AdmissionRule::Belady),
            policy,
            policy_resolved: resolved.to_string(),
            resolved,
        })
    }

    /// Without a cache all blocks of a record are one request.
    fn without_cache(&self, views: &Views, cuts: &Cuts) -> Noted<(Counts, Asked)> {
        let pages = views.folded(self.foldings[0]).pages();
        let shared = pages.shared_requests();
        let bypassed = |of_ops: [u64; 2], joined: [u64; 2]| {
            let [bypassed_reads, bypassed_writes] = of_ops;
            let (read, written) = match self.writes_cost() {
                true => (joined[0], joined[1]),
                false => (joined[0] + joined[1], 0),
            };
            let (read, written) = (Joined::without_gaps(read), Joined::without_gaps(written));
            let counts = Counts { bypassed_reads, bypassed_writes, ..Counts::default() };
            (counts, Asked { read, written })
        };
        if cuts.is_empty() {
            let joined =
                shared.map_or([0; 2], |shared| [shared.reads_joined(), shared.writes_joined()]);
            let of_ops = [pages.read_references(), pages.write_references()];
            return Noted::whole(bypassed(of_ops, joined));
        }
        let mut notes = Notes::at(cuts);
        let (mut of_ops, mut joined) = ([0; 2], [0; 2]);
        let mut goes_on = (0..).map(|record| shared.is_some_and(|shared| shared.goes_on(record)));
        let mut records = pages.records();
        while !records.is_empty() {
            let (passed, later) = records.split_at(notes.until_next(records.len()));
            for record in passed {
                of_ops[first_op(*record) as usize] += 1;
                joined[first_op(*record) as usize] += u64::from(goes_on.next() == Some(true));
            }
            if notes.passed(passed) {
                notes.note(bypassed(of_ops, joined));
            }
            records = later;
        }
        notes.finish(bypassed(of_ops, joined))
    }

    fn run_pass(
        &self,
        at: &AtSize,
        task: &[&FileCacheCell<'a>],
        progress: &Progress,
    ) -> Result<Vec<Rows<FileCacheRow>>, SimError> {
        let (_, without_cache) = at.without_cache.as_whole();
        let part = Part::whole(&at.views.trace);
        let row = |cell: &FileCacheCell<'a>, counts: Counts, asked: Asked| {
            let counted = ((counts, asked), (Counts::default(), without_cache.clone()));
            Rows::of(self.row(at, cell, &part, &counted))
        };
        let view = at.views.folded(Folding::Runs).pages();
        // More blocks than there are change nothing.
        let blocks = |cell: &FileCacheCell<'_>| cell.capacity.min(view.footprint_pages());
        let replays = PASS_REPLAYS as u64;
        let Some(shared) = view.shared_requests() else {
            let lru = LruCounts::of(view, progress, replays)?;
            let of_cell = |cell: &&FileCacheCell<'a>| {
                row(cell, lru.at(cell.capacity, self.options()), Asked::default())
            };
            return Ok(task.iter().map(of_cell).collect());
        };
        let mut asked = AskedOfLru::new(shared, task.iter().map(|cell| blocks(cell)));
        let observe = |distance| asked.reference(distance);
        let lru = LruCounts::observed(view, progress, replays, observe)?;
        let of_cell = |cell: &&FileCacheCell<'a>| {
            row(cell, lru.at(cell.capacity, self.options()), asked.at(blocks(cell)))
        };
        Ok(task.iter().map(of_cell).collect())
    }

    fn replay(
        &self,
        at: &AtSize,
        capacity: u32,
        cached: &Cached<'_>,
        progress: &Progress,
    ) -> Result<Noted<(Counts, Asked)>, SimError> {
        if capacity == 0 {
            return Ok(at.without_cache.clone());
        }
        let policy = &cached.resolved;
        let folding = match cached.rule {
            AdmissionRule::Always => folding_for(policy),
            _ => Folding::None,
        };
        let view = at.views.folded(folding);
        let shared = view.pages().shared_requests();
        if cached.rule == AdmissionRule::Belady {
            let future = self.future(at, progress)?;
            let shared = shared.map(|shared| (shared, self.writes_cost()));
            let served = future.belady(capacity, cached.reuse, shared)?;
            progress.add_done(at.views.records() as u64);
            return Ok(Noted::whole((served.counts, served.asked)));
        }
        let next_use =
            (policy.entry().kind == Kind::Offline).then(|| view.next_use(progress)).transpose()?;
        let options = self.options();
        let cell =
            Cell { runs: view.pages().into(), next_use, frames: capacity, options, progress };
        self.replay_cell(cell, at, cached, shared)
    }

    fn replay_cell(
        &self,
        cell: Cell<'_>,
        at: &AtSize,
        cached: &Cached<'_>,
        shared: Option<&SharedRequests>,
    ) -> Result<Noted<(Counts, Asked)>, SimError> {
        let (policy, cuts) = (&cached.resolved, &at.cuts);
        let requests = shared.map(|shared| Requests::new(shared, self.writes_cost()));
        if cached.rule == AdmissionRule::Always && requests.is_none() {
            let noted = cell.replay_noting(policy, cuts)?;
            return Ok(noted.map(|counts| (counts, Asked::default())));
        }
        let second_touch = self.experiment.second_touch;
        let rule = Selective::new(cached.rule, second_touch, cell.frames, &at.keys, at.blocks());
        cell.replay_admitting(policy, Asking::new(rule, requests), cuts)
    }

    fn future<'v>(&self, at: &'v AtSize, progress: &'v Progress) -> Result<Future<'v>, SimError> {
        let view = at.views.folded(Folding::None);
        Ok(Future::new(view.pages(), view.next_use_in_memory(progress)?, progress))
    }

    fn run_bound(
        &self,
        at: &AtSize,
        task: &[&FileCacheCell<'a>],
        progress: &Progress,
    ) -> Result<Vec<Rows<FileCacheRow>>, SimError> {
        let future = self.future(at, progress)?;
        let view = at.views.folded(Folding::None).pages();
        let most_blocks = view.shared_requests().map_or(1, SharedRequests::most_pages);
        let references = at.views.trace.references;
        let mut bound = Bound::new(future, task[0].capacity, references, most_blocks);
        let mut rows = Vec::new();
        for cell in task {
            let hits = bound.hits()?;
            let time_us = match cell.device.costs.writes() {
                Writes::Free => Some(rounded(&bound.time_us(&cell.device.costs)?)),
                Writes::Cost => None,
            };
            let (_, without_cache) = at.without_cache.as_whole();
            let part = Part::whole(&at.views.trace);
            let row = self.row_without_counts(at, cell, &part, hits, without_cache);
            rows.push(Rows::of(FileCacheRow { time_us, ..row }));
        }
        progress.add_done(at.views.records() as u64);
        Ok(rows)
    }
}

impl AtSize {
    fn blocks(&self) -> u32 {
        self.views.trace.footprint_pages
    }
}
