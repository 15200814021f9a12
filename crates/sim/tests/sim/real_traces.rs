//! Real programs' references: the simulator counts what the twins count.

use std::path::{Path, PathBuf};

use clockhand_sim::{Bits, ReplayOptions, RequestTable, WriteMiss};
use clockhand_trace::{Op, OpenOptions, Reader, TraceReader};

use crate::experiments::{contestants, experiment, input, rows};
use crate::twin::{assert_counts, references, totals};

const REFERENCES: usize = 20_000;

/// The path of a shared trace; `None`, with a message, if there are none.
pub fn shared_trace(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("CLOCKHAND_SHARED_TRACES").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces"),
        PathBuf::from,
    );
    let path = folder.join(name);
    if !path.exists() {
        eprintln!("skipped: there is no {}", path.display());
        return None;
    }
    Some(path)
}

/// The first requests of a trace.
pub fn beginning(path: &Path, requests: usize) -> RequestTable {
    let mut reader = TraceReader::open(path, &OpenOptions::default()).expect("a known format");
    let (mut table, mut batch) = (RequestTable::default(), Vec::new());
    let (mut sizes, mut streams) = (Vec::new(), Vec::new());
    while table.addresses.len() < requests && reader.next_batch(&mut batch).expect("a whole trace")
    {
        for request in batch.iter().take(requests - table.addresses.len()) {
            table.is_write.push(request.op == Op::Write);
            table.addresses.push(request.address);
            sizes.push(request.bytes);
            streams.push(request.stream);
        }
    }
    assert_eq!(table.addresses.len(), requests, "the trace is shorter");
    RequestTable { sizes_bytes: Some(sizes), streams: Some(streams), ..table }
}

fn assert_agreement(name: &str, frames: &[u32]) {
    let Some(path) = shared_trace(name) else { return };
    let table = beginning(&path, REFERENCES);
    let references = references(&table, 4096);
    let mut experiment = experiment(vec![input(name, table)], &[], frames);
    experiment.policies = contestants(clockhand_twins::POLICIES);
    let mapped =
        ReplayOptions { bits: Bits::Mapped, write_miss: WriteMiss::Blind, flush_at_end: true };
    for options in [ReplayOptions::default(), mapped] {
        experiment.options = options;
        for row in rows(&experiment) {
            let totals = totals(&row.policy, row.frames as u32, &references, options);
            assert_counts(&row, &totals);
        }
    }
}

#[test]
fn the_beginning_of_os_gcc_counts_as_the_twins_do() {
    assert_agreement("os_gcc.trace.xz", &[1, 20, 150]);
}

#[test]
fn the_beginning_of_os_swim_counts_as_the_twins_do() {
    assert_agreement("os_swim.trace.xz", &[7, 60]);
}
