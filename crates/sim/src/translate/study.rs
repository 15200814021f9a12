//! The study: a trace at every page size, one replay for all TLBs of a memory, and a row per cell.

use clockhand_policy::Ratio;
use clockhand_policy::catalog::{Kind, PolicySpec, ResolvedPolicy};
use clockhand_quantity::option;
use clockhand_trace::progress::Progress;
use clockhand_trace::{TraceInput, bytes_text};

use super::paging::{PagingCounts, PagingRules};
use super::price::{PricedStorage, Storage, TranslationTimes, mean_times};
use super::reading::{PreparedSize, read_sizes};
use super::replay::{CellCounts, Replay};
use super::translator::TranslationCounts;
use super::{TranslateExperiment, TranslateRow, check};
use crate::contestant::kind_word;
use crate::error::SimError;
use crate::intervals::{Noted, Part, Rows};
use crate::memory_size::MemorySize;
use crate::pricing::Pricing;
use crate::study::{Cells, Study};

/// One row before it is computed; lists are those of the experiment, by position.
pub(super) struct TranslateCell {
    page_size: usize,
    memory: MemorySize,
    frames: u32,
    policy: usize,
    resolved: ResolvedPolicy,
    tlb: usize,
    storage: usize,
}

pub(super) struct TranslateStudy<'a> {
    experiment: &'a TranslateExperiment,
    policies: Vec<PolicySpec>,
    /// By page size and storage.
    pub(super) priced: Vec<Vec<PricedStorage>>,
}

impl Study for TranslateStudy<'_> {
    /// By page size.
    type Prepared = Vec<PreparedSize>;
    type Cell = TranslateCell;
    type Finished = Rows<TranslateRow>;

    fn prepare(&self, input: &TraceInput, progress: &Progress) -> Result<Self::Prepared, SimError> {
        read_sizes(self.experiment, &self.policies, &self.priced, input, progress)
    }

    fn cells(&self, sizes: &Self::Prepared) -> Result<Vec<TranslateCell>, SimError> {
        let cell = |point: &Vec<usize>| {
            let &[page_size, memory, policy, tlb, storage] = &point[..] else {
                unreachable!("the grid has five dimensions")
            };
            let prepared = &sizes[page_size];
            let memory = self.experiment.sizes[memory];
            let frames = memory.frames(prepared.trace.footprint_pages, prepared.page_bytes);
            let device_ratio = self.priced[page_size][storage].device_ratio;
            let resolved = self.policies[policy].resolve(frames, device_ratio)?;
            Ok(TranslateCell { page_size, memory, frames, policy, resolved, tlb, storage })
        };
        self.experiment.points().iter().map(cell).collect()
    }

    /// One replay for all TLBs, and for all storage at which the policy resolves alike.
    fn tasks(&self, _: &Self::Prepared, cells: &[TranslateCell]) -> Vec<Vec<usize>> {
        let storages = self.experiment.storage.len();
        let rows_of_memory = self.experiment.tlbs.len() * storages;
        let mut tasks = Vec::new();
        for first in (0..cells.len()).step_by(rows_of_memory) {
            let resolved: Vec<String> = cells[first..first + storages]
                .iter()
                .map(|cell| cell.resolved.to_string())
                .collect();
            for (storage, text) in resolved.iter().enumerate() {
                if !resolved[..storage].contains(text) {
                    let same = |row: &usize| resolved[row % storages] == *text;
                    tasks.push((0..rows_of_memory).filter(same).map(|row| first + row).collect());
                }
            }
        }
        tasks
    }

    fn steps(&self, sizes: &Self::Prepared, task: &[&TranslateCell]) -> u64 {
        sizes[task[0].page_size].records()
    }

    fn run(
        &self,
        sizes: &Self::Prepared,
        task: &[&TranslateCell],
        progress: &Progress,
    ) -> Result<Vec<Rows<TranslateRow>>, SimError> {
        let prepared = &sizes[task[0].page_size];
        let noted = self.replay(prepared, task[0], progress)?;
        let rows = |cell: &&TranslateCell| {
            let row = |part: &Part<'_>, counts: &CellCounts| self.row(prepared, cell, part, counts);
            noted.rows(&prepared.cuts, &prepared.trace, row)
        };
        Ok(task.iter().map(rows).collect())
    }
}

impl<'a> TranslateStudy<'a> {
    pub(super) fn new(experiment: &'a TranslateExperiment) -> Result<Self, SimError> {
        let policies = check(experiment)?;
        let priced = experiment.page_sizes_bytes.iter().map(|&page_bytes| {
            let storage = experiment.storage.iter();
            storage.map(|storage| priced(storage, &experiment.times, page_bytes)).collect()
        });
        let priced = priced.collect::<Result<_, SimError>>()?;
        Ok(TranslateStudy { experiment, policies, priced })
    }

    fn replay(
        &self,
        prepared: &PreparedSize,
        cell: &TranslateCell,
        progress: &Progress,
    ) -> Result<Noted<CellCounts>, SimError> {
        let experiment = self.experiment;
        let Some((view, space)) = prepared.view_for(&cell.resolved) else {
            let of_tlbs = vec![TranslationCounts::default(); experiment.tlbs.len()];
            return Ok(Noted::whole((PagingCounts::default(), of_tlbs)));
        };
        let is_offline = cell.resolved.entry().kind == Kind::Offline;
        let replay = Replay {
            view: view.pages(),
            space,
            next_use: is_offline.then(|| view.next_use_in_memory(progress)).transpose()?,
            frames: cell.frames,
            rules: PagingRules {
                prefetch: experiment.prefetch,
                no_swap: experiment.no_swap,
                flush_on_switch: experiment.flush_on_switch,
            },
            tlbs: &experiment.tlbs,
            walk_cache: experiment.walk_cache,
            seed: experiment.seed,
            cuts: &prepared.cuts,
            progress,
        };
        replay.run_under(&cell.resolved)
    }

    fn row(
        &self,
        prepared: &PreparedSize,
        cell: &TranslateCell,
        part: &Part<'_>,
        (paging, translations): &CellCounts,
    ) -> TranslateRow {
        let experiment = self.experiment;
        let trace = &prepared.trace;
        let (levels, translation) = (experiment.tlbs[cell.tlb], &translations[cell.tlb]);
        let priced = &self.priced[cell.page_size][cell.storage];
        let times = mean_times(
            part.references,
            paging,
            (translation, levels.second.is_some()),
            &experiment.times,
            (priced, experiment.charge_write_back),
        );
        let tlb_hits = part.references - translation.tlb_misses;
        let share = |part: u64, of: u64| (of > 0).then(|| part as f64 / of as f64);
        let (storage_ratio, device) = match &priced.storage {
            Storage::Ratio(ratio) => {
                (Some(ratio.numerator() as f64 / ratio.denominator() as f64), None)
            }
            Storage::Device(written) => (None, Some(written.clone())),
        };
        TranslateRow {
            trace: trace.name.clone(),
            page_bytes: prepared.page_bytes,
            tlb_entries: levels.first.entries(),
            frames: cell.frames.into(),
            references: part.references,
            tlb_hits,
            tlb_misses: translation.tlb_misses,
            page_faults: paging.page_faults,
            t_addr_ns: times.map(|times| times.address_ns),
            t_data_ns: times.map(|times| times.data_ns),
            amat_ns: times.map(|times| times.total_ns),
            storage_ratio,
            device,
            tlb2_hits: translation.tlb2_hits,
            walks: translation.walks,
            walk_accesses: translation.walk_accesses,
            write_ios: paging.write_ios,
            promotions: paging.promotions,
            demotions: paging.demotions,
            promotion_fetches: paging.promotion_fetches,
            prefetched: paging.prefetched,
            prefetched_in_vain: paging.prefetched_in_vain,
            kills: paging.kills,
            page_table_bytes: paging.page_table_bytes,
            memory: memory_text(cell.memory),
            policy: self.policies[cell.policy].written().to_owned(),
            kind: kind_word(self.policies[cell.policy].entry().kind),
            policy_resolved: cell.resolved.to_string(),
            tlb: levels.first.to_string(),
            tlb2: levels.second.map(|second| second.to_string()),
            read_references: part.read_references,
            write_references: part.write_references,
            hits: part.references - paging.page_faults,
            evictions: paging.evictions,
            tlb_hit_ratio: share(tlb_hits, part.references),
            page_fault_ratio: share(paging.page_faults, part.references),
            footprint_pages: trace.footprint_pages.into(),
            memory_share: share(cell.frames.into(), trace.footprint_pages.into()),
            device_resolved: priced.device.as_ref().map(|(device, _)| device.resolved()),
            skipped_requests: trace.report.skipped_records,
            ..TranslateRow::default()
        }
    }
}

/// A memory size as users write it.
fn memory_text(size: MemorySize) -> String {
    match size {
        MemorySize::Frames(frames) => format!("{frames} frames"),
        MemorySize::Bytes(bytes) => bytes_text(bytes),
        MemorySize::Share { numerator, denominator } => {
            format!("{}%", numerator as f64 * 100.0 / denominator as f64)
        }
    }
}

pub(super) fn priced(
    storage: &Storage,
    times: &TranslationTimes,
    page_bytes: u64,
) -> Result<PricedStorage, SimError> {
    match storage {
        Storage::Ratio(ratio) if *ratio == Ratio::whole(0) => Err(SimError::usage(
            option("ratio") + " 0 is no storage",
            "give how many times slower than memory it is, such as 10",
        )),
        Storage::Ratio(ratio) => Ok(PricedStorage::of_ratio(*ratio, times, page_bytes)),
        Storage::Device(written) => {
            let Pricing { device, page_cost, device_ratio } = Pricing::new(written, page_bytes)?;
            Ok(PricedStorage::of_device(written, device, page_cost, device_ratio, times))
        }
    }
}
