//! The row of a cell, from its counts.

use clockhand_policy::catalog::Kind;
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Zero;

use super::bound::{MOST_REFERENCES, bound};
use super::check::has_placement;
use super::counts::TierCounts;
use super::prepared::AtSize;
use super::price::rounded;
use super::study::{TierCell, TierStudy};
use super::{Contender, TierExperiment, TierRow};
use crate::contestant::{BOUND_KIND, kind_word};
use crate::error::SimError;
use crate::intervals::Part;
use clockhand_trace::progress::Progress;

/// What the column `kind` calls a policy.
fn kind_of(policy: &Contender) -> &'static str {
    match policy {
        Contender::Page(policy) => kind_word(policy.entry().kind),
        Contender::Tier(policy) => match policy.description().name {
            "static" => kind_word(Kind::Offline),
            "clock-dwf" | "m-clock" => kind_word(Kind::AccessDriven),
            _ => kind_word(Kind::BitDriven),
        },
        Contender::Bound => BOUND_KIND,
    }
}

impl TierStudy<'_> {
    /// A row with only its key.
    fn empty_row(&self, at: &AtSize, cell: &TierCell) -> TierRow {
        let profile = &self.profiles[cell.profile];
        let policy = &self.policies[cell.policy];
        let trace = &at.views.trace;
        let is_page = cell.page_policy.is_some();
        let promotion = cell.promotion.map(|promotion| &self.experiment.promotions[promotion]);
        let share = f64::from(cell.fast_frames) / f64::from(trace.footprint_pages);
        TierRow {
            trace: trace.name.clone(),
            policy: policy.written().to_owned(),
            promote: promotion.map(|(written, _)| written.clone()),
            promote_resolved: promotion.map(|(_, rule)| rule.to_string()),
            see: is_page.then(|| self.experiment.sight.to_string()),
            placement: (!has_placement(policy))
                .then(|| self.experiment.placement.unwrap_or_default().to_string()),
            fast_frames: cell.fast_frames.into(),
            slow_frames: cell.slow_frames.map(u64::from),
            page_bytes: at.page_bytes,
            tiers: profile.written.clone(),
            references: trace.references,
            footprint_pages: trace.footprint_pages.into(),
            fast_memory_share: (trace.footprint_pages > 0).then_some(share),
            policy_resolved: cell.resolved.clone(),
            tiers_resolved: profile.tiers.resolved(),
            storage: self.experiment.storage.clone(),
            kind: kind_of(policy),
            skipped_requests: trace.report.skipped_records,
            ..TierRow::default()
        }
    }

    /// The bound's row; without a time where it cannot be computed and need not be.
    pub(super) fn bound_row(
        &self,
        at: &AtSize,
        cell: &TierCell,
        progress: &Progress,
    ) -> Result<TierRow, SimError> {
        let view = at.view();
        let records = view.pages().records();
        let is_refused = records.len() > MOST_REFERENCES;
        let TierExperiment { needs_bound, intervals, slow, .. } = self.experiment;
        if !needs_bound && (is_refused || !intervals.is_off() || slow.is_some()) {
            progress.add_done(records.len() as u64);
            return Ok(self.empty_row(at, cell));
        }
        if is_refused {
            return Err(SimError::usage(
                format!(
                    "{}: policy bound takes at most {MOST_REFERENCES} references, and the trace has {}",
                    at.views.trace.name,
                    records.len()
                ),
                "give a part of it or leave bound out",
            ));
        }
        let next_use = view.next_use_in_memory(progress)?;
        let prices = &self.profiles[cell.profile].prices[cell.size];
        let keeps_shadows = self.experiment.keeps_shadows;
        let time = bound(records, next_use, cell.fast_frames, prices, keeps_shadows, progress)?;
        progress.add_done(records.len() as u64);
        let mean = mean_of(&time, records.len() as u64);
        Ok(TierRow {
            time_ns: mean.map(|_| rounded(&time)),
            mean_ns: mean,
            ..self.empty_row(at, cell)
        })
    }

    pub(super) fn row(
        &self,
        at: &AtSize,
        cell: &TierCell,
        part: &Part<'_>,
        counts: &TierCounts,
        wear: &[[u32; 2]],
    ) -> TierRow {
        let prices = &self.profiles[cell.profile].prices[cell.size];
        let times = prices.times(counts, self.experiment.reads_first_touches);
        let seconds = self.experiment.trace_seconds.as_ref().or(at.span_seconds.as_ref());
        let life = prices.life(counts, wear, cell.slow_frames, seconds);
        let references = counts.references();
        let total = times.total();
        let copied = counts.promotions + counts.demotions - counts.free_demotions;
        let has_any = references > 0;
        let time = |time: &BigRational| has_any.then(|| rounded(time));
        // The wear of each page is known for the whole trace only.
        let life_of =
            |value: &Option<BigRational>| value.as_ref().filter(|_| part.is_whole()).map(rounded);
        TierRow {
            references,
            read_references: Some(part.read_references),
            write_references: Some(part.write_references),
            fast_hits: Some(counts.fast_hits),
            fast_share: has_any.then(|| counts.fast_hits as f64 / references as f64),
            fast_reads: Some(counts.fast[0]),
            fast_writes: Some(counts.fast[1]),
            slow_reads: Some(counts.slow[0]),
            slow_writes: Some(counts.slow[1]),
            first_touches: Some(counts.first_touches),
            storage_faults: Some(counts.storage_faults),
            storage_writes: Some(counts.storage_writes),
            promotions: Some(counts.promotions),
            promotions_refused: Some(counts.promotions_refused),
            demotions: Some(counts.demotions),
            free_demotions: Some(counts.free_demotions),
            evictions: Some(counts.evictions),
            ping_pongs: Some(counts.ping_pongs),
            migrated_bytes: Some(at.page_bytes * copied),
            hint_faults: Some(counts.hint_faults),
            samples: Some(counts.samples),
            scanned_pages: Some(counts.scanned_pages),
            slow_entries: Some(counts.slow_entries),
            slow_pages_peak: Some(counts.slow_pages_peak.into()),
            slow_bytes_written: Some(life.slow_bytes_written),
            access_ns: time(&times.access),
            migration_ns: time(&times.migration),
            overhead_ns: time(&times.overhead),
            storage_ns: time(&times.storage),
            time_ns: time(&total),
            mean_ns: mean_of(&total, references),
            mean_access_ns: mean_of(&times.access, references),
            life_traces: life_of(&life.traces),
            life_traces_unleveled: life_of(&life.traces_unleveled),
            life_years: life_of(&life.years),
            ..self.empty_row(at, cell)
        }
    }
}

fn mean_of(time: &BigRational, references: u64) -> Option<f64> {
    let references = BigRational::from_integer(BigInt::from(references));
    (!references.is_zero()).then(|| rounded(&(time / references)))
}
