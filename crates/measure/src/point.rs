//! One measured point: how long one kind of operation took, many times.

use std::time::{Duration, Instant};

use serde::Serialize;

/// Which percentiles a point keeps.
pub const PERCENTILES: [u32; 7] = [1, 10, 25, 50, 75, 90, 99];

/// The distribution of one operation's times.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// What was done.
    pub operation: &'static str,
    /// Bytes of one operation; of the memory that was walked, for a walk.
    pub bytes: u64,
    /// The number of times it was done.
    pub operations: u64,
    /// The [percentiles](PERCENTILES) of its time, in nanoseconds.
    pub percentiles_ns: [f64; PERCENTILES.len()],
    /// Its mean time, in nanoseconds.
    pub mean_ns: f64,
}

impl Point {
    /// The point of these times in nanoseconds, each the mean of `batch` operations.
    pub(crate) fn of(
        operation: &'static str,
        bytes: usize,
        batch: u64,
        mut times_ns: Vec<f64>,
    ) -> Self {
        times_ns.sort_unstable_by(f64::total_cmp);
        let rank = |percent: u32| {
            // The smallest time that is not exceeded by this percentage of all times.
            let rank = (times_ns.len() * percent as usize).div_ceil(100).max(1);
            times_ns.get(rank - 1).copied().unwrap_or_default()
        };
        Point {
            operation,
            bytes: bytes as u64,
            operations: batch * times_ns.len() as u64,
            percentiles_ns: PERCENTILES.map(rank),
            mean_ns: times_ns.iter().sum::<f64>() / times_ns.len().max(1) as f64,
        }
    }
}

/// One point takes no longer than this once `OPERATIONS_MIN` operations are done.
const TIME_MAX: Duration = Duration::from_secs(3);
const OPERATIONS_MIN: usize = 16;

/// Times `operation` this often, or less if it takes too long.
pub(crate) fn times<E>(
    operations: usize,
    mut operation: impl FnMut() -> Result<(), E>,
) -> Result<Vec<f64>, E> {
    let began = Instant::now();
    let mut times_ns = Vec::with_capacity(operations);
    while times_ns.len() < operations
        && (times_ns.len() < OPERATIONS_MIN || began.elapsed() < TIME_MAX)
    {
        let start = Instant::now();
        operation()?;
        times_ns.push(start.elapsed().as_nanos() as f64);
    }
    Ok(times_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_were_measured() {
        let point = Point::of("read", 4096, 2, (1..=100).rev().map(f64::from).collect());
        assert_eq!(point.percentiles_ns, [1.0, 10.0, 25.0, 50.0, 75.0, 90.0, 99.0]);
        assert_eq!((point.operations, point.mean_ns), (200, 50.5));
        let point = Point::of("read", 4096, 1, vec![3.0, 1.0]);
        assert_eq!(point.percentiles_ns, [1.0, 1.0, 1.0, 1.0, 3.0, 3.0, 3.0]);
    }

    #[test]
    fn slow_operations_are_done_less_often() {
        let times_ns = times(20, || Ok::<(), ()>(())).unwrap();
        assert_eq!(times_ns.len(), 20);
        assert_eq!(times(1000, || Err::<(), u32>(7)), Err(7));
    }
}
