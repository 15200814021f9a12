//! What requests waited for, summed: by how long they took, and over the time of a run.

use clockhand_device::flash::time::{CompletedRequest, Timing};

/// Classes of latency within a doubling.
const CLASSES_OF_A_DOUBLING: u64 = 16;

/// Requests, and what they waited for together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// How many requests.
    pub requests: u64,
    /// For a place in the queue.
    pub host_ns: u64,
    /// For the front end.
    pub front_ns: u64,
    /// For a place in the buffer, or for content.
    pub buffer_ns: u64,
    /// While the die worked on collection, merges or folds.
    pub collection_ns: u64,
    /// Otherwise for the operation to begin.
    pub flash_ns: u64,
    /// What was no waiting.
    pub service_ns: u64,
    /// The longest latency of a request.
    pub longest_ns: u64,
}

impl Waits {
    pub(super) fn add(&mut self, request: &CompletedRequest) {
        self.merge(&Waits {
            requests: 1,
            host_ns: request.host_wait_ns(),
            front_ns: request.front_wait_ns(),
            buffer_ns: request.buffer_wait_ns,
            collection_ns: request.collection_wait_ns,
            flash_ns: request.flash_wait_ns,
            service_ns: request.service_ns(),
            longest_ns: request.latency_ns(),
        });
    }

    pub(super) fn merge(&mut self, other: &Waits) {
        self.requests += other.requests;
        self.host_ns += other.host_ns;
        self.front_ns += other.front_ns;
        self.buffer_ns += other.buffer_ns;
        self.collection_ns += other.collection_ns;
        self.flash_ns += other.flash_ns;
        self.service_ns += other.service_ns;
        self.longest_ns = self.longest_ns.max(other.longest_ns);
    }
}

/// Requests by their latency: a class each below 16 ns, sixteen of each doubling above.
#[derive(Clone, Debug, Default)]
pub(super) struct LatencyClasses(Vec<Waits>);

/// The class of a latency.
fn class(latency_ns: u64) -> usize {
    let doublings = latency_ns.checked_ilog2().unwrap_or(0);
    let shift = doublings.saturating_sub(CLASSES_OF_A_DOUBLING.ilog2());
    (u64::from(shift) * CLASSES_OF_A_DOUBLING + (latency_ns >> shift)) as usize
}

/// The longest latency of a class.
fn longest(class: usize) -> u64 {
    let class = class as u64;
    let shift = (class / CLASSES_OF_A_DOUBLING).saturating_sub(1);
    let next = u128::from(class - shift * CLASSES_OF_A_DOUBLING + 1) << shift;
    (next - 1).min(u64::MAX.into()) as u64
}

impl LatencyClasses {
    pub(super) fn add(&mut self, request: &CompletedRequest) {
        let class = class(request.latency_ns());
        if class >= self.0.len() {
            self.0.resize(class + 1, Waits::default());
        }
        self.0[class].add(request);
    }

    /// The classes that have requests, the shortest latencies first.
    pub(super) fn into_used(self) -> Vec<LatencyClass> {
        let all = self.0.into_iter().enumerate();
        let used = all.filter(|(_, waits)| waits.requests > 0);
        used.map(|(class, waits)| LatencyClass { most_ns: longest(class), waits }).collect()
    }
}

/// Requests of similar latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatencyClass {
    /// No latency of them is longer, and all of the next class are.
    pub most_ns: u64,
    /// What they waited for.
    pub waits: Waits,
}

/// A stretch of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// When it begins.
    pub begins_ns: u64,
    /// Reads that were completed in it.
    pub reads: Waits,
    /// Writes that were completed in it.
    pub writes: Waits,
    /// Pages that the buffer wrote to flash, by decision.
    pub host_writes: u64,
    /// Pages that collection moved, by decision.
    pub relocations: u64,
    /// Blocks that were erased, by decision.
    pub erases: u64,
}

/// A timed run in detail.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeDetail {
    /// Reads by latency.
    pub reads: Vec<LatencyClass>,
    /// Writes by latency.
    pub writes: Vec<LatencyClass>,
    /// The run, in stretches of the same length.
    pub moments: Vec<Moment>,
    /// The front end, channels and dies with each one's busy share of time.
    pub parts: Vec<(String, f64)>,
}

/// Each part's busy share of time.
pub(super) fn parts(timing: &Timing) -> Vec<(String, f64)> {
    let share = |busy_ns: u64| busy_ns as f64 / timing.end_ns.max(1) as f64;
    let numbered = |part: &'static str, busy_ns: &[u64]| -> Vec<(String, f64)> {
        let named = |(number, ns): (usize, &u64)| (format!("{part} {number}"), share(*ns));
        busy_ns.iter().enumerate().map(named).collect()
    };
    let mut parts = vec![("front".to_owned(), share(timing.front_busy_ns))];
    parts.extend(numbered("channel", &timing.channel_busy_ns));
    parts.extend(numbered("die", &timing.die_busy_ns));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_ends_where_the_next_one_begins() {
        for number in 0..900 {
            assert_eq!(class(longest(number)), number);
            assert_eq!(class(longest(number) + 1), number + 1);
        }
        let last = class(u64::MAX);
        assert_eq!(longest(last), u64::MAX);
    }
}
