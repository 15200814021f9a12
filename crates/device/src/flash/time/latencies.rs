//! How long requests took: mean, maximum and percentiles.

/// Values below this many nanoseconds have a bucket each; above, each power of two is divided into half as many.
const EXACT_BITS: u32 = 11;

/// A histogram of latencies. Unit: nanoseconds.
///
/// A percentile is the upper end of its bucket: exact below 2048 ns, at most 2^-10 above the value otherwise, and never
/// above the maximum.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Latencies {
    counts: Vec<u64>,
    count: u64,
    sum_ns: u128,
    max_ns: u64,
}

/// The bucket of a value.
#[inline]
fn bucket(value: u64) -> usize {
    let shift = (63 - (value | 1).leading_zeros()).saturating_sub(EXACT_BITS - 1);
    if shift == 0 {
        return value as usize;
    }
    ((u64::from(shift + 1) << (EXACT_BITS - 1)) + (value >> shift) - (1 << (EXACT_BITS - 1)))
        as usize
}

/// The largest value of a bucket.
fn upper_end(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let half = 1 << (EXACT_BITS - 1);
    if bucket < 2 * half {
        return bucket;
    }
    let shift = (bucket / half - 1) as u32;
    let above = u128::from(bucket % half + half + 1) << shift;
    (above - 1).min(u64::MAX.into()) as u64
}

impl Latencies {
    /// None yet.
    pub fn new() -> Latencies {
        Latencies::default()
    }

    /// Adds one.
    #[inline]
    pub fn add(&mut self, value_ns: u64) {
        let bucket = bucket(value_ns);
        if bucket >= self.counts.len() {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += 1;
        self.count += 1;
        self.sum_ns += u128::from(value_ns);
        self.max_ns = self.max_ns.max(value_ns);
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their sum, exactly.
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// Their mean; none without any.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }

    /// The largest; none without any.
    pub fn max_ns(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max_ns)
    }

    /// The value that `share_of` out of `of` do not exceed; none without any.
    pub fn percentile_ns(&self, share_of: u64, of: u64) -> Option<u64> {
        let rank = (u128::from(self.count) * u128::from(share_of)).div_ceil(of.into()).max(1);
        let mut seen = 0;
        let reached = |count: &u64| {
            seen += u128::from(*count);
            seen >= rank
        };
        let bucket = self.counts.iter().position(reached)?;
        Some(upper_end(bucket).min(self.max_ns))
    }

    /// The distribution: for each bucket in use its upper end and how many latencies are in it.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let used = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        used.map(|(bucket, count)| (upper_end(bucket).min(self.max_ns), *count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_values_bucket_is_as_the_rule_says() {
        let values = (0..70).flat_map(|bits: u32| {
            let power = 1_u64.checked_shl(bits).unwrap_or(u64::MAX);
            [power.wrapping_sub(1), power, power.saturating_add(1), power.saturating_mul(3) / 2]
        });
        for value in values {
            let log = u64::BITS - 1 - value.max(1).leading_zeros();
            let shift = log.saturating_sub(10);
            let end = ((u128::from(value >> shift) + 1) << shift) - 1;
            assert_eq!(u128::from(upper_end(bucket(value))), end, "{value}");
        }
    }
}
