//! A trace on a drive: its cells, counted or in time, and their rows.

use clockhand_device::flash::{Counters, Mapping, MappingCounts};
use clockhand_policy::buffer::catalog::{BufferSpec, ResolvedBuffer};
use clockhand_policy::buffer::{BufferSize, PagesPerBlock};

use super::aged_ssd::AgedSsd;
use super::cell::{CountedCell, Finished, Unobserved};
use super::experiment::buffer_total;
use super::life::Life;
use super::log::LoggedDrive;
use super::parts::SsdCounts;
use super::placement::{Placed, Space};
use super::requests::RequestList;
use super::timed::{self, ArrivalTimes, TimedCell, TimedFinished, Wanted, columns};
use super::{BufferOnDrive, Repeat, SsdCell, SsdExperiment, SsdRow, SsdTiming};
use crate::error::SimError;
use crate::intervals::Cuts;
use clockhand_trace::progress::Progress;

/// One trace on one drive.
pub(super) struct OnDrive<'a> {
    pub(super) experiment: &'a SsdExperiment,
    pub(super) name: &'a str,
    pub(super) list: &'a RequestList,
    pub(super) trace: &'a Placed,
    pub(super) ssd: &'a AgedSsd,
}

impl OnDrive<'_> {
    /// A cell as the counting mode runs it.
    pub(super) fn counted(
        &self,
        cell: &BufferOnDrive<'_>,
        repeat: Repeat,
        cuts: &Cuts,
        progress: &Progress,
    ) -> Result<Finished, SimError> {
        let (drive, _) = self.ssd.drive(self.experiment, progress)?;
        let (trace, drive, drain) = (self.trace, drive.clone(), self.experiment.drain);
        let ssd = &self.ssd.written;
        let Some(path) = &self.experiment.io_log else {
            let observer = &mut Unobserved;
            let run = CountedCell { trace, ssd, drive, drain, repeat, cuts, progress, observer };
            return cell.resolved.build(run);
        };
        let mut log = LoggedDrive::create(path, drive.capacity().page_bytes, self.list)?;
        let observer = &mut log;
        let run = CountedCell { trace, ssd, drive, drain, repeat, cuts, progress, observer };
        let finished = cell.resolved.build(run)?;
        log.finish()?;
        Ok(finished)
    }

    /// A cell in time.
    pub(super) fn timed(
        &self,
        cell: &BufferOnDrive<'_>,
        timing: &SsdTiming,
        arrivals: &ArrivalTimes,
        progress: &Progress,
    ) -> Result<SsdCell, SimError> {
        let repeat = self.experiment.repeat;
        // The decisions, and so when they become steady, do not depend on time.
        let repetitions = match repeat {
            Repeat::Times(times) => times,
            Repeat::UntilSteady => {
                let cuts = Cuts::default();
                self.counted(cell, repeat, &cuts, progress)?.course.repetitions()
            }
        };
        arrivals.check_last(self.name, repetitions, timed::count(self.trace))?;
        let settings = cell.resolved.settings();
        // With NVM or without the parameter, what is acknowledged is persistent.
        let is_paper =
            settings.iter().any(|(name, value)| name == "commands" && value.to_string() != "safe");
        let wanted = Wanted {
            ssd: self.ssd.written.clone(),
            options: self.ssd.ssd.time_options(cell.spec.entry().is_hybrid)?,
            window_ns: timing.window_ns,
            keeps_latencies: timing.keeps_latencies,
            is_paper,
            repetitions,
            ends_saturated: repeat == Repeat::UntilSteady,
        };
        let (drive, _) = self.ssd.drive(self.experiment, progress)?;
        let (trace, drive, drain) = (self.trace, drive.clone(), self.experiment.drain);
        let records = false;
        let replay = TimedCell { trace, arrivals, drive, drain, repeat, wanted, progress, records };
        let TimedFinished { finished, timed, .. } = cell.resolved.build(replay)?;
        let counts = finished.noted.as_whole();
        let mut row = self.row(cell.spec, &cell.resolved, &finished, counts);
        let (written, _) = &timing.arrivals[cell.arrivals];
        columns::fill(&mut row, written, arrivals.arrivals(), &timed);
        let intervals = timed.windows.iter().map(|window| columns::window_row(&row, window));
        Ok(SsdCell {
            intervals: intervals.collect(),
            row,
            is_part: false,
            wear: finished.drive.wear(),
            latencies: timed.latencies,
            detail: Some(timed.detail),
        })
    }

    /// A buffer with its size in pages.
    pub(super) fn resolve(&self, spec: &BufferSpec) -> Result<ResolvedBuffer, SimError> {
        let Space { logical_pages, page_bytes, pages_per_block, .. } = self.ssd.space();
        let pages = match spec.is_none() {
            true => 0,
            false => buffer_total(spec)?.frames(self.trace.footprint_pages, page_bytes.into()),
        };
        if u64::from(pages) > logical_pages {
            return Err(SimError::usage(
                format!(
                    "write buffer {} has {pages} pages and drive {} only {logical_pages}",
                    spec.written(),
                    self.ssd.written
                ),
                "give it a smaller total",
            ));
        }
        let pages_per_block =
            PagesPerBlock::new(pages_per_block).expect("a power of two that is at most 64");
        let size = BufferSize {
            pages,
            pages_per_block,
            distinct_pages: self.trace.footprint_pages,
            drive_pages: logical_pages,
        };
        Ok(spec.resolve(size, self.ssd.cost_ratio()?)?)
    }

    pub(super) fn row(
        &self,
        spec: &BufferSpec,
        resolved: &ResolvedBuffer,
        finished: &Finished,
        (counts, (flash, mapping)): &SsdCounts,
    ) -> SsdRow {
        let OnDrive { experiment, trace, ssd, .. } = self;
        let Finished { drive, course, .. } = finished;
        let write_references = counts.write_hits + counts.write_misses;
        let references = write_references + counts.read_hits + counts.read_misses;
        let logical_pages = drive.capacity().logical_pages;
        let wear = drive.wear();
        let hits = counts.read_hits + counts.write_hits;
        let share = |part: u64, of: u64| (of > 0).then(|| part as f64 / of as f64);
        let life = Life::new(self, finished);
        let steady = course.steady(flash.erases);
        SsdRow {
            trace: self.name.to_owned(),
            buffer: spec.written().to_owned(),
            buffer_pages: resolved.size().pages,
            ssd: ssd.written.clone(),
            references,
            read_hits: counts.read_hits,
            write_hits: counts.write_hits,
            dirty_pages_flushed: counts.dirty_pages_flushed,
            clean_pages_flushed: counts.clean_pages_flushed,
            batches: counts.batches,
            nvm_writes: counts.nvm_writes,
            residual_dirty: counts.residual_dirty,
            host_writes: flash.host_writes,
            flash_programs: flash.flash_programs(),
            erases: flash.erases,
            waf: flash.write_amplification(),
            read_references: references - write_references,
            write_references,
            hit_ratio: hits as f64 / references as f64,
            write_hit_ratio: share(counts.write_hits, write_references),
            nvm_hits: counts.nvm_hits,
            padding_reads: counts.padding_reads,
            migrations: counts.migrations,
            relocations: flash.relocations,
            flash_reads: flash.flash_reads(),
            collection_started: flash.collection_started(),
            erases_mean: wear.erases_mean(),
            erases_max: wear.erases_max(),
            life_repetitions: life.repetitions,
            life_repetitions_first_block: life.repetitions_first_block,
            life_years: life.years,
            drive_writes_per_day_5_years: life.drive_writes_per_day,
            nvm_life_repetitions: life.nvm_repetitions,
            nvm_life_years: life.nvm_years,
            dram_pages: counts.dram_pages,
            nvm_pages: counts.nvm_pages,
            page_bytes: drive.capacity().page_bytes,
            footprint_pages: trace.footprint_pages,
            buffer_resolved: resolved.to_string(),
            ssd_resolved: ssd.ssd.resolved(),
            precondition: experiment.precondition.to_string(),
            map: experiment.map.name(),
            drain: experiment.drain,
            repetitions: course.repetitions(),
            drive_writes: flash.host_writes as f64 / logical_pages as f64,
            is_steady: steady.is_some(),
            steady_waf: steady.map(|steady| steady.write_amplification),
            device_busy_us: ssd.device_busy_us(flash),
            skipped_requests: self.list.report.skipped_records,
            ..self.row_of_mapping(flash, mapping)
        }
    }

    /// What only some mappings count.
    fn row_of_mapping(&self, flash: &Counters, mapping: &MappingCounts) -> SsdRow {
        let kind = &self.ssd.ssd.options().mapping;
        let of_log_blocks = matches!(kind, Mapping::Bast(_) | Mapping::Fast(_));
        let of_map_on_flash = matches!(kind, Mapping::Dftl(_));
        let (has_slc, has_zones) = (kind.slc().is_some(), matches!(kind, Mapping::Zoned(_)));
        SsdRow {
            switch_merges: of_log_blocks.then_some(mapping.switch_merges),
            partial_merges: of_log_blocks.then_some(mapping.partial_merges),
            full_merges: of_log_blocks.then_some(mapping.full_merges),
            cmt_hits: of_map_on_flash.then_some(mapping.cmt_hits),
            cmt_misses: of_map_on_flash.then_some(mapping.cmt_misses),
            translation_reads: of_map_on_flash.then_some(flash.translation_reads),
            translation_programs: of_map_on_flash.then_some(flash.translation_programs),
            translation_relocations: of_map_on_flash.then_some(flash.translation_relocations),
            folded_pages: has_slc.then_some(mapping.folded_pages),
            slc_erases: has_slc.then_some(mapping.slc_erases),
            ignored_trims: has_zones.then_some(mapping.ignored_trims),
            misplaced_writes: has_zones.then_some(mapping.misplaced_writes),
            ..SsdRow::default()
        }
    }
}
