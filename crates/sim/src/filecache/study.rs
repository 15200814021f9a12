//! The cells of a study of file caches: each (policy, capacity, admission) is replayed once, then priced for all devices.

use clockhand_policy::catalog::{Kind, PolicySpec, ResolvedPolicy};
use clockhand_trace::{Folding, Numbering};
use rustc_hash::FxHashMap;

use super::admission::{AdmissionRule, Selective};
use super::cost::rounded;
use super::prices::{PricedDevice, Prices};
use super::{FileCacheExperiment, FileCacheRow, block_keys};
use crate::contestant::kind_word;
use crate::replay::Cell;
use crate::stack_distance::{LRU, LruCounts, PASS_REPLAYS};
use crate::study::Study;
use crate::views::{Views, folding_for, read_at};
use crate::{Counts, Progress, ReplayOptions, SimError, TraceInput};

/// A trace at one block size.
pub(super) struct AtSize {
    pub(super) views: Views,
    /// What tinylfu knows blocks by; empty if every rule admits everything.
    keys: Vec<u64>,
}

/// A row before it is replayed.
pub(super) struct FileCacheCell<'a> {
    /// The position of the block size.
    size: usize,
    capacity: u32,
    rule: AdmissionRule,
    policy: &'a PolicySpec,
    device: &'a PricedDevice,
    /// Where a device sets a policy's `c`, that shows here.
    resolved: ResolvedPolicy,
    policy_resolved: String,
}

impl FileCacheCell<'_> {
    /// Whether its counts can come from one pass over all capacities.
    fn is_of_pass(&self) -> bool {
        self.rule == AdmissionRule::Always && self.policy_resolved == LRU && self.capacity > 0
    }
}

/// File caches before devices.
pub(super) struct FileCacheStudy<'a> {
    pub(super) experiment: &'a FileCacheExperiment,
    pub(super) policies: &'a [PolicySpec],
    pub(super) prices: &'a Prices,
    /// The foldings that policies and rules need.
    pub(super) foldings: Vec<Folding>,
}

impl<'a> Study for FileCacheStudy<'a> {
    type Prepared = Vec<AtSize>;
    type Cell = FileCacheCell<'a>;
    type Finished = FileCacheRow;

    fn prepare(&self, input: &TraceInput, progress: &Progress) -> Result<Vec<AtSize>, SimError> {
        let selects = self.experiment.admissions.iter().any(|rule| *rule != AdmissionRule::Always);
        let sizes_bytes = &self.experiment.block_sizes_bytes;
        let read =
            read_at(input, None, sizes_bytes, &self.foldings, Numbering::ByAddress, progress)?;
        let at_size = |views: Views| {
            let keys =
                if selects { block_keys(views.folded(Folding::None).pages()) } else { Vec::new() };
            AtSize { views, keys }
        };
        Ok(read.into_iter().map(at_size).collect())
    }

    fn cells(&self, sizes: &Vec<AtSize>) -> Result<Vec<FileCacheCell<'a>>, SimError> {
        let mut cells = Vec::new();
        for (size, (at, prices)) in sizes.iter().zip(&self.prices.at).enumerate() {
            let footprint = at.views.trace.footprint_pages;
            for capacity in &self.experiment.capacities {
                let capacity = capacity.blocks(footprint, prices.block_bytes);
                for policy in self.policies {
                    for &rule in &self.experiment.admissions {
                        for device in &prices.devices {
                            let resolved = policy.resolve(capacity.max(1), device.ratio)?;
                            let policy_resolved = resolved.to_string();
                            cells.push(FileCacheCell {
                                size,
                                capacity,
                                rule,
                                policy,
                                device,
                                resolved,
                                policy_resolved,
                            });
                        }
                    }
                }
            }
        }
        Ok(cells)
    }

    /// Cells that differ in the device alone share a replay; those of LRU share a pass where it is worth it.
    fn tasks(&self, sizes: &Vec<AtSize>, cells: &[FileCacheCell<'a>]) -> Vec<Vec<usize>> {
        let mut replays: Vec<Vec<usize>> = Vec::new();
        let mut replay_of = FxHashMap::default();
        for (position, cell) in cells.iter().enumerate() {
            let key = (cell.size, cell.capacity, cell.rule, &cell.policy_resolved);
            let replay = *replay_of.entry(key).or_insert_with(|| {
                replays.push(Vec::new());
                replays.len() - 1
            });
            replays[replay].push(position);
        }
        let mut tasks = Vec::new();
        for size in 0..sizes.len() {
            let is_of_pass = |replay: &Vec<usize>| {
                let cell = &cells[replay[0]];
                cell.size == size && cell.is_of_pass()
            };
            if replays.iter().filter(|replay| is_of_pass(replay)).count() >= PASS_REPLAYS {
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
    ) -> Result<Vec<FileCacheRow>, SimError> {
        let at = &sizes[task[0].size];
        if is_pass(task) {
            let view = at.views.folded(Folding::Runs).pages();
            let lru = LruCounts::of(view, progress, PASS_REPLAYS as u64)?;
            let row = |cell: &&FileCacheCell<'a>| {
                self.row(at, cell, &lru.at(cell.capacity, self.options()))
            };
            return Ok(task.iter().map(row).collect());
        }
        let counts = self.replay(at, task[0], progress)?;
        Ok(task.iter().map(|cell| self.row(at, cell, &counts)).collect())
    }
}

/// Only a pass has cells of several capacities.
fn is_pass(task: &[&FileCacheCell<'_>]) -> bool {
    task.iter().any(|cell| cell.capacity != task[0].capacity)
}

impl FileCacheStudy<'_> {
    fn options(&self) -> ReplayOptions {
        ReplayOptions { flush_at_end: self.experiment.flush_at_end, ..ReplayOptions::default() }
    }

    fn replay(
        &self,
        at: &AtSize,
        cell: &FileCacheCell<'_>,
        progress: &Progress,
    ) -> Result<Counts, SimError> {
        if cell.capacity == 0 {
            return Ok(Counts {
                bypassed_reads: at.views.trace.read_references,
                bypassed_writes: at.views.trace.write_references,
                ..Counts::default()
            });
        }
        let policy = &cell.resolved;
        let folding = match cell.rule {
            AdmissionRule::Always => folding_for(policy),
            _ => Folding::None,
        };
        let view = at.views.folded(folding);
        let next_use =
            (policy.entry().kind == Kind::Offline).then(|| view.next_use(progress)).transpose()?;
        let (frames, options) = (cell.capacity, self.options());
        let replayed = Cell { runs: view.pages().into(), next_use, frames, options, progress };
        match cell.rule {
            AdmissionRule::Always => replayed.replay(policy),
            rule => {
                let second_touch = self.experiment.second_touch;
                let admission = Selective::new(rule, second_touch, frames, &at.keys);
                replayed.replay_admitting(policy, admission)
            }
        }
    }

    fn row(&self, at: &AtSize, cell: &FileCacheCell<'_>, counts: &Counts) -> FileCacheRow {
        let FileCacheCell { capacity, rule, policy, device, .. } = cell;
        let prices = &self.prices.at[cell.size];
        let trace = &at.views.trace;
        let costs = &device.costs;
        let admitted = counts.read_misses + counts.write_misses;
        let bypassed = counts.bypassed_reads + counts.bypassed_writes;
        let hits = trace.references - admitted - bypassed;
        let without = costs.time_without_cache_us(trace.read_references, trace.write_references);
        let footprint_blocks = u64::from(trace.footprint_pages);
        FileCacheRow {
            trace: trace.name.clone(),
            policy: policy.written().to_owned(),
            kind: kind_word(policy.entry().kind),
            capacity: (*capacity).into(),
            references: trace.references,
            hits,
            misses: admitted + bypassed,
            admitted,
            time_us: rounded(&costs.time_us(hits, counts)),
            admission: rule.name().to_owned(),
            block_bytes: prices.block_bytes,
            bypassed,
            evictions: counts.clean_evictions + counts.dirty_evictions,
            dirty_evictions: counts.dirty_evictions,
            time_without_cache_us: rounded(&without),
            required_hits: costs.required_hits(),
            device: device.written.clone(),
            policy_resolved: cell.policy_resolved.clone(),
            admission_resolved: match rule {
                AdmissionRule::SecondTouch => self.experiment.second_touch.resolved(),
                rule => rule.name().to_owned(),
            },
            device_resolved: device.resolved.clone(),
            cache_device: self.prices.cache_device.resolved(),
            read_references: trace.read_references,
            write_references: trace.write_references,
            hit_ratio: hits as f64 / trace.references as f64,
            footprint_blocks,
            capacity_share: f64::from(*capacity) / footprint_blocks as f64,
            bypassed_writes: counts.bypassed_writes,
            write_backs: counts.write_backs,
            flush_writes: counts.flush_writes,
            writes: self.experiment.costs.writes.name(),
            hit_time_us: rounded(&costs.hit_us),
            bypass_time_us: rounded(&costs.bypass_us),
            admit_time_us: rounded(&costs.admit_us),
            write_time_us: rounded(&costs.write_us),
        }
    }
}
