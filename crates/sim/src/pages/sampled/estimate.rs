//! Rows from replicates: means, and the standard errors that their spread and their halves give.

use clockhand_policy::catalog::Kind;

use crate::contestant::kind_word;
use crate::pages::Row;
use crate::pages::row::RowsOf;
use crate::replay::Counts;

/// What one sample counted.
pub(super) struct Replica {
    /// Pages of the trace that each page of the sample stands for.
    pub(super) scale: f64,
    pub(super) counts: Counts,
    pub(super) hand_movements: Option<u64>,
}

/// What the samples of a cell counted.
pub(super) struct Replicas {
    /// Each replicate.
    pub(super) whole: Vec<Replica>,
    /// The half of each replicate, or none where there is one.
    pub(super) halves: Vec<Replica>,
}

impl Replicas {
    fn mean(&self, value: &dyn Fn(&Replica) -> f64) -> f64 {
        mean_and_variance(&self.whole.iter().map(value).collect::<Vec<_>>()).0
    }

    /// The root of two variances: that of the mean of the replicates, and the square of what all of them err alike because their
    /// memory is small. Such an error is about as large as what half the sample adds to it; what of that is chance is
    /// subtracted. The whole trace has no error.
    fn standard_error(&self, value: &dyn Fn(&Replica) -> f64) -> f64 {
        if self.halves.is_empty() {
            return 0.0;
        }
        let of_whole: Vec<f64> = self.whole.iter().map(value).collect();
        let of_halves = self.halves.iter().map(value);
        let added: Vec<f64> = of_halves.zip(&of_whole).map(|(half, whole)| half - whole).collect();
        let (_, variance) = mean_and_variance(&of_whole);
        let (common, variance_of_common) = mean_and_variance(&added);
        (variance + (common.powi(2) - variance_of_common).max(0.0)).sqrt()
    }
}

/// The mean of values, and the variance of this mean.
fn mean_and_variance(values: &[f64]) -> (f64, f64) {
    let number = values.len() as f64;
    let mean = values.iter().sum::<f64>() / number;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, squares / (number - 1.0).max(1.0) / number)
}

/// The row of a cell, which is known by its frames, its policy, and that with every default; of a policy of one kind.
pub(super) fn estimated(
    rows: &RowsOf<'_>,
    (frames, policy, resolved): (u32, &str, String),
    kind: Kind,
    replicas: &Replicas,
    rate: f64,
) -> Row {
    let sets_bits = kind == Kind::BitDriven;
    let observation = rows.experiment.observation;
    let hand_us = observation.map_or(0.0, |observation| observation.hand_ns as f64 / 1e3);
    let hand_movements = |it: &Replica| it.hand_movements.unwrap_or(0) as f64 * it.scale;
    let cost = &rows.pricing.page_cost;
    let (read_us, write_us) = (cost.time_us(1, 0), cost.time_us(0, 1));
    let read_ios = |it: &Replica| it.counts.read_ios as f64 * it.scale;
    let write_ios = |it: &Replica| it.counts.write_ios() as f64 * it.scale;
    let misses = |it: &Replica| it.counts.misses() as f64 * it.scale;
    let fault_us = rows.experiment.fault_ns as f64 / 1e3;
    let permission_faults =
        |it: &Replica| if sets_bits { it.counts.permission_faults as f64 * it.scale } else { 0.0 };
    let time_us = |it: &Replica| {
        let software_us = hand_movements(it) * hand_us + permission_faults(it) * fault_us;
        read_ios(it) * read_us + write_ios(it) * write_us + software_us
    };
    let error_of = |value: &dyn Fn(&Replica) -> f64| Some(replicas.standard_error(value));
    let row = rows.row(frames, policy, resolved, kind_word(kind), mean_counts(rows, replicas));
    let row = match sets_bits {
        true => rows.with_permission_faults(row, replicas.mean(&permission_faults).round() as u64),
        false => row,
    };
    let hands = replicas.mean(&hand_movements);
    Row {
        io_time_us: row.io_time_us + hands * hand_us,
        hand_movements: observation.map(|_| hands.round() as u64),
        sample_share: Some(rate),
        replicates: Some(replicas.whole.len() as u64),
        misses_standard_error: error_of(&misses),
        read_ios_standard_error: error_of(&read_ios),
        write_ios_standard_error: error_of(&write_ios),
        io_time_us_standard_error: error_of(&time_us),
        ..row
    }
}

/// The means in whole numbers, which add up as counts do.
fn mean_counts(rows: &RowsOf<'_>, replicas: &Replicas) -> Counts {
    let mean = |count: &dyn Fn(&Counts) -> u64| {
        replicas.mean(&|it| count(&it.counts) as f64 * it.scale).round() as u64
    };
    let read_misses = mean(&|it| it.read_misses).min(rows.part.read_references);
    let write_misses = mean(&|it| it.write_misses).min(rows.part.write_references);
    Counts {
        read_misses,
        write_misses,
        read_ios: rows.experiment.options.fetched(read_misses, write_misses),
        clean_evictions: mean(&|it| it.clean_evictions),
        dirty_evictions: mean(&|it| it.dirty_evictions),
        write_backs: mean(&|it| it.write_backs),
        flush_writes: mean(&|it| it.flush_writes),
        ..Counts::default()
    }
}
