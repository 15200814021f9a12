//! One row of a result. Names and order are the contract that scripts rely on.

use clockhand_policy::catalog::{Kind, PolicySpec, ResolvedPolicy};

use super::Experiment;
use crate::columns::columns;
use crate::contestant::kind_word;
use crate::intervals::Part;
use crate::pricing::Pricing;
use crate::replay::{Bits, Counts, WriteMiss, word_of};

columns! {
    /// One policy's results for a trace, a memory size and a device. All I/Os and evictions are counted in
    /// pages.
    ///
    /// The row of the bound has references, read_ios, write_ios and io_time_us; its other counts are `None`.
    pub struct Row of intervals {
        /// The trace as the user named it.
        pub trace: String,
        /// The policy as the user wrote it.
        pub policy: String,
        /// Page frames.
        pub frames: u64,
        /// Page size in bytes.
        pub page_bytes: u64,
        /// The device as the user wrote it.
        pub device: String,
        /// References.
        pub references: u64,
        /// References that read.
        pub read_references: Option<u64>,
        /// References that write.
        pub write_references: Option<u64>,
        /// References to pages in memory.
        pub hits: Option<u64>,
        /// References to pages that were not in memory.
        pub misses: Option<u64>,
        /// Misses of read references.
        pub read_misses: Option<u64>,
        /// Misses of write references.
        pub write_misses: Option<u64>,
        /// Pages read from the device.
        pub read_ios: u64,
        /// Pages written to the device: dirty evictions, write-backs without eviction and the final flush.
        pub write_ios: u64,
        /// Clean pages evicted.
        pub clean_evictions: Option<u64>,
        /// Dirty pages evicted, and so written.
        pub dirty_evictions: Option<u64>,
        /// I/O time in microseconds.
        pub io_time_us: f64,
        /// I/O energy in microjoules, if the device's profile has it.
        pub energy_uj: Option<f64>,
        /// The policy with every default.
        pub policy_resolved: String,
        /// The device with every option.
        pub device_resolved: String,
        /// Hits over references.
        pub hit_ratio: Option<f64>,
        /// Distinct pages referenced.
        pub footprint_pages: u64,
        /// Frames over footprint.
        pub memory_share: f64,
        /// Pages written without eviction.
        pub write_backs: Option<u64>,
        /// Pages written when the trace ended.
        pub flush_writes: Option<u64>,
        /// Where read and write bits come from: `exact`, `mapped` or `sensed`.
        pub bits: &'static str,
        /// What a write fault reads: `fetch` or `blind`.
        pub write_miss: &'static str,
        /// Frames examined in searches for victims, if counted.
        pub hand_movements: Option<u64>,
        /// Of the frames, those kept free for write-backs under way.
        pub reserve: u64,
        /// Faults on pages in memory, by which references are seen with `mapped` bits.
        pub permission_faults: Option<u64>,
        /// Share of the pages that each replicate follows, if the row is estimated; 1 if the whole trace was simulated.
        pub sample_share: Option<f64>,
        /// Samples whose mean the row is, if it is estimated.
        pub replicates: Option<u64>,
        /// Standard error of that value, if the row is estimated.
        pub misses_standard_error: Option<f64>,
        /// Standard error of that value, if the row is estimated.
        pub read_ios_standard_error: Option<f64>,
        /// Standard error of that value, if the row is estimated.
        pub write_ios_standard_error: Option<f64>,
        /// Standard error of that value, if the row is estimated.
        pub io_time_us_standard_error: Option<f64>,
        /// What the policy needs to know: `bits` (misses and bits), `access` (every hit) or `offline` (the future);
        /// `bound` is a limit.
        pub kind: &'static str,
        /// Malformed records of the trace, which are skipped.
        pub skipped_requests: u64,
    }
}

/// Rows of one trace.
pub(super) struct RowsOf<'a> {
    pub(super) experiment: &'a Experiment,
    pub(super) pricing: &'a Pricing,
    pub(super) part: Part<'a>,
}

impl RowsOf<'_> {
    pub(super) fn row(
        &self,
        frames: u32,
        policy: &str,
        policy_resolved: String,
        kind: &'static str,
        counts: Counts,
    ) -> Row {
        let part = self.part;
        let misses = counts.read_misses + counts.write_misses;
        let hits = part.references - misses;
        let (read_ios, write_ios) = (counts.read_ios, counts.write_ios());
        Row {
            read_references: Some(part.read_references),
            write_references: Some(part.write_references),
            hits: Some(hits),
            misses: Some(misses),
            read_misses: Some(counts.read_misses),
            write_misses: Some(counts.write_misses),
            clean_evictions: Some(counts.clean_evictions),
            dirty_evictions: Some(counts.dirty_evictions),
            energy_uj: self.pricing.page_cost.energy_uj(read_ios, write_ios),
            hit_ratio: Some(part.share(hits)),
            write_backs: Some(counts.write_backs),
            flush_writes: Some(counts.flush_writes),
            ..self.row_of_ios(frames, policy, policy_resolved, kind, (read_ios, write_ios))
        }
    }

    /// The row of a policy.
    pub(super) fn row_of_policy(
        &self,
        frames: u32,
        policy: &PolicySpec,
        resolved: &ResolvedPolicy,
        counts: Counts,
    ) -> Row {
        let kind = policy.entry().kind;
        let written = policy.written();
        let row = self.row(frames, written, resolved.to_string(), kind_word(kind), counts);
        match kind {
            Kind::BitDriven => self.with_permission_faults(row, counts.permission_faults),
            _ => row,
        }
    }

    /// What mapped bits cost beside the I/O.
    pub(super) fn with_permission_faults(&self, row: Row, permission_faults: u64) -> Row {
        if self.experiment.options.bits != Bits::Mapped {
            return row;
        }
        let fault_time_us = permission_faults as f64 * self.experiment.fault_ns as f64 / 1e3;
        Row {
            io_time_us: row.io_time_us + fault_time_us,
            permission_faults: Some(permission_faults),
            ..row
        }
    }

    /// A row of one `kind` with no counts except the pages read and written.
    pub(super) fn row_of_ios(
        &self,
        frames: u32,
        policy: &str,
        policy_resolved: String,
        kind: &'static str,
        (read_ios, write_ios): (u64, u64),
    ) -> Row {
        let RowsOf { experiment, pricing, part } = self;
        let trace = part.trace;
        Row {
            trace: trace.name.clone(),
            policy: policy.to_owned(),
            frames: frames.into(),
            page_bytes: experiment.page_bytes,
            device: experiment.device.clone(),
            references: part.references,
            read_references: None,
            write_references: None,
            hits: None,
            misses: None,
            read_misses: None,
            write_misses: None,
            read_ios,
            write_ios,
            clean_evictions: None,
            dirty_evictions: None,
            io_time_us: pricing.page_cost.time_us(read_ios, write_ios),
            energy_uj: None,
            policy_resolved,
            device_resolved: pricing.device.resolved(),
            hit_ratio: None,
            footprint_pages: trace.footprint_pages.into(),
            memory_share: f64::from(frames) / f64::from(trace.footprint_pages),
            write_backs: None,
            flush_writes: None,
            bits: word_of(&Bits::WORDS, &experiment.options.bits),
            write_miss: word_of(&WriteMiss::WORDS, &experiment.options.write_miss),
            hand_movements: None,
            reserve: experiment.reserve.into(),
            permission_faults: None,
            sample_share: None,
            replicates: None,
            misses_standard_error: None,
            read_ios_standard_error: None,
            write_ios_standard_error: None,
            io_time_us_standard_error: None,
            kind,
            skipped_requests: trace.report.skipped_records,
            interval: None,
            from_reference: None,
            from_us: None,
        }
    }
}
