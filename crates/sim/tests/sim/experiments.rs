//! Experiments on requests in memory, with everything that a test does not care about filled in, and the seed
//! of random ones.

use std::sync::Arc;

use clockhand_sim::{
    Bits, Contestant, Effort, Experiment, MemorySize, Outcome, Progress, ReplayOptions,
    RequestTable, Row, SimError, TraceInput, WriteMiss, simulate,
};
pub use clockhand_twins::cases;
use proptest::prelude::*;

/// Bytes of a page unless a test varies them.
pub const PAGE_BYTES: u64 = 4096;

/// A trace in memory.
pub fn input(name: &str, table: RequestTable) -> TraceInput {
    TraceInput::table(name, Arc::new(table))
}

/// One request per page reference: `r3` reads page 3, `w3` writes it.
pub fn table(references: &str) -> RequestTable {
    let mut table = RequestTable::default();
    for reference in references.split_whitespace() {
        let (op, page) = reference.split_at(1);
        table.is_write.push(op == "w");
        table.addresses.push(page.parse::<u64>().expect("a page number") * PAGE_BYTES);
    }
    table
}

pub fn contestants<'a>(policies: impl IntoIterator<Item = &'a str>) -> Vec<Contestant> {
    let parse = |text| Contestant::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    policies.into_iter().map(parse).collect()
}

/// `policies` on `inputs` at these numbers of frames, on SLC NAND with pages of 4 KiB.
pub fn experiment(inputs: Vec<TraceInput>, policies: &[&str], frames: &[u32]) -> Experiment {
    Experiment {
        intervals: clockhand_sim::Intervals::default(),
        io_log: None,
        traces: inputs,
        policies: contestants(policies.iter().copied()),
        seed: 0,
        sizes: frames.iter().map(|&frames| MemorySize::Frames(frames)).collect(),
        page_bytes: PAGE_BYTES,
        device: "slc-nand".to_owned(),
        options: ReplayOptions::default(),
        reserve: 0,
        // The tests of the bracket say their effort themselves.
        bound_effort: Effort::NONE,
        observation: None,
        fault_ns: 0,
        sample: None,
        jobs: None,
    }
}

pub fn run(experiment: &Experiment) -> Outcome {
    simulate(experiment, &Progress::default()).unwrap_or_else(|error| panic!("{error}"))
}

pub fn rows(experiment: &Experiment) -> Vec<Row> {
    run(experiment).rows
}

/// The row of one policy on one small trace.
pub fn row(references: &str, policy: &str, frames: u32) -> Row {
    let experiment = experiment(vec![input("t", table(references))], &[policy], &[frames]);
    rows(&experiment).pop().expect("one cell")
}

pub fn refusal(experiment: &Experiment) -> SimError {
    simulate(experiment, &Progress::default()).expect_err("the experiment is refused")
}

/// All ways to replay.
pub fn replay_options() -> impl Strategy<Value = ReplayOptions> {
    let bits = prop_oneof![Just(Bits::Exact), Just(Bits::Mapped), Just(Bits::Sensed)];
    let write_miss = prop_oneof![Just(WriteMiss::Fetch), Just(WriteMiss::Blind)];
    (bits, write_miss, any::<bool>()).prop_map(|(bits, write_miss, flush_at_end)| ReplayOptions {
        bits,
        write_miss,
        flush_at_end,
    })
}
