//! Counts with the prices of a device.

use super::{AtSize, Cached, Counted, FileCacheCell, FileCacheStudy};
use crate::contestant::{BOUND_KIND, Contestant, kind_word};
use crate::filecache::FileCacheRow;
use crate::filecache::admission::AdmissionRule;
use crate::filecache::asked::Asked;
use crate::filecache::cost::rounded;
use crate::intervals::Part;
use clockhand_trace::ReadReport;

impl FileCacheStudy<'_> {
    pub(super) fn row(
        &self,
        at: &AtSize,
        cell: &FileCacheCell<'_>,
        part: &Part<'_>,
        ((counts, asked), (_, without_cache)): &Counted,
    ) -> FileCacheRow {
        let cached = cell.cached.as_ref().expect("the bound has a row of its own");
        let admitted = counts.read_misses + counts.write_misses;
        let bypassed = counts.bypassed_reads + counts.bypassed_writes;
        let hits = part.references - admitted - bypassed;
        FileCacheRow {
            policy: cached.policy.written().to_owned(),
            admitted: Some(admitted),
            time_us: Some(rounded(&cell.device.costs.time_us(hits, counts, asked))),
            admission: Some(cached.rule.name().to_owned()),
            bypassed: Some(bypassed),
            evictions: Some(counts.clean_evictions + counts.dirty_evictions),
            dirty_evictions: Some(counts.dirty_evictions),
            policy_resolved: cached.policy_resolved.clone(),
            admission_resolved: Some(self.admission_resolved(cached)),
            bypassed_writes: Some(counts.bypassed_writes),
            write_backs: Some(counts.write_backs),
            flush_writes: Some(counts.flush_writes),
            dropped_clean: Some(counts.dropped_clean),
            dropped_dirty: Some(counts.dropped_dirty),
            kind: kind_word(cached.policy.entry().kind),
            ..self.row_without_counts(at, cell, part, hits, without_cache)
        }
    }

    fn admission_resolved(&self, cached: &Cached<'_>) -> String {
        match (cached.rule, cached.reuse) {
            (AdmissionRule::SecondTouch, _) => self.experiment.second_touch.resolved(),
            (AdmissionRule::Belady, Some(reuse)) => format!("belady:reuse={reuse}"),
            (AdmissionRule::Belady, None) => "belady:reuse=never".to_owned(),
            (rule, _) => rule.name().to_owned(),
        }
    }

    /// The bound's row, and what it shares with those of caches.
    pub(super) fn row_without_counts(
        &self,
        at: &AtSize,
        cell: &FileCacheCell<'_>,
        part: &Part<'_>,
        hits: u64,
        without_cache: &Asked,
    ) -> FileCacheRow {
        let FileCacheCell { capacity, device, .. } = cell;
        let (trace, costs) = (&at.views.trace, &device.costs);
        let references = (part.read_references, part.write_references);
        let without_us = costs.time_without_cache_us(references, without_cache);
        let footprint_blocks = u64::from(trace.footprint_pages);
        FileCacheRow {
            trace: trace.name.clone(),
            policy: Contestant::BOUND.to_owned(),
            capacity: (*capacity).into(),
            references: part.references,
            hits,
            misses: part.references - hits,
            admitted: None,
            time_us: None,
            admission: None,
            block_bytes: self.prices.at[cell.size].block_bytes,
            bypassed: None,
            evictions: None,
            dirty_evictions: None,
            time_without_cache_us: rounded(&without_us),
            required_hits: costs.required_hits(),
            insert: device.insert.clone(),
            device: device.written.clone(),
            policy_resolved: Contestant::BOUND.to_owned(),
            admission_resolved: None,
            device_resolved: device.resolved.clone(),
            cache_device: self.prices.cache_device.resolved(),
            read_references: part.read_references,
            write_references: part.write_references,
            hit_ratio: part.share(hits),
            footprint_blocks,
            capacity_share: f64::from(*capacity) / footprint_blocks as f64,
            bypassed_writes: None,
            write_backs: None,
            flush_writes: None,
            dropped_clean: None,
            dropped_dirty: None,
            writes: self.experiment.costs.writes.name(),
            hit_time_us: rounded(&costs.hit_us),
            bypass_time_us: rounded(&costs.bypass_us),
            admit_time_us: rounded(&costs.admit_us),
            write_time_us: rounded(&costs.write_us),
            kind: BOUND_KIND,
            skipped_requests: trace.report.skipped_records,
            interval: None,
            from_reference: None,
            from_us: None,
        }
    }
}

/// Says which events that are no requests a cache heeds, and which are left out.
pub(super) fn note_events(report: &ReadReport) -> Option<String> {
    let is_heeded = |&&(what, _): &&(&str, u64)| HEEDED.contains(&what);
    let means_nothing = |what: &str| what == "lengths of files";
    let listed = |events: Vec<&(&str, u64)>| -> String {
        let counts = events.into_iter().map(|(what, count)| format!("{what} ({count})"));
        counts.collect::<Vec<_>>().join(", ")
    };
    let heeded = listed(report.events.iter().filter(is_heeded).collect());
    let is_left_out = |event: &&(&str, u64)| !is_heeded(event) && !means_nothing(event.0);
    let left_out = listed(report.events.iter().filter(is_left_out).collect());
    let heeded = (!heeded.is_empty()).then(|| format!("blocks leave unwritten by {heeded}"));
    let left_out = (!left_out.is_empty()).then(|| format!("left out by a file cache: {left_out}"));
    let notes: Vec<String> = heeded.into_iter().chain(left_out).collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// Events that end the content of blocks.
const HEEDED: [&str; 3] = ["discards", "deletions", "truncations"];
