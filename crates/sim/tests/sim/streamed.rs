//! A single cell is replayed while its trace is read, and counts the same as on a view.

use std::path::PathBuf;

use clockhand_policy::catalog::CATALOG;
use clockhand_sim::{
    Bits, Experiment, MemorySize, Progress, ReplayOptions, Row, SimError, TraceInput, simulate,
};

use crate::experiments::{experiment, rows};

/// Longer than the parts in which runs are handed on.
fn trace() -> TraceInput {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../traces/tar-gzip.parquet");
    TraceInput::file(path)
}

/// The rows of cells that are run alone, with two threads, and of all of them on one view.
fn both(policies: &[&str], frames: &[u32], change: impl Fn(&mut Experiment)) -> [Vec<Row>; 2] {
    let rows_of = |policies: &[&str], frames: &[u32], jobs| {
        let mut experiment = experiment(vec![trace()], policies, frames);
        experiment.jobs = Some(jobs);
        change(&mut experiment);
        rows(&experiment)
    };
    let mut alone = Vec::new();
    for &frames in frames {
        alone.extend(policies.iter().flat_map(|&policy| rows_of(&[policy], &[frames], 2)));
    }
    [alone, rows_of(policies, frames, 1)]
}

#[test]
fn every_policy_counts_the_same_while_the_trace_is_read() {
    let mut policies: Vec<&str> = CATALOG.iter().map(|entry| entry.description.name).collect();
    policies.extend(["nru:mode=periodic", "craw:ghosts=literal", "bound"]);
    let [alone, on_view] = both(&policies, &[700], |_| ());
    assert_eq!(alone, on_view);
}

#[test]
fn few_frames_and_more_than_the_trace_has_pages_count_the_same() {
    let policies = ["clock", "lru", "cflru", "lfu", "craw", "craw:ghosts=literal", "arc", "lirs"];
    let [alone, on_view] = both(&policies, &[2, 1 << 20], |_| ());
    assert_eq!(alone, on_view);
    let [alone, on_view] = both(&["clock", "lru", "car", "s3-fifo"], &[1], |_| ());
    assert_eq!(alone, on_view);
}

#[test]
fn other_bits_a_reserve_and_a_final_flush_count_the_same() {
    for bits in [Bits::Mapped, Bits::Sensed] {
        let [alone, on_view] = both(&["clock", "nru:mode=periodic"], &[300], |experiment| {
            experiment.options = ReplayOptions { bits, flush_at_end: true, ..Default::default() };
            experiment.reserve = 7;
        });
        assert_eq!(alone, on_view);
    }
}

#[test]
fn the_facts_of_the_trace_are_those_of_a_view() {
    let facts = |jobs| {
        let mut experiment = experiment(vec![trace()], &["sieve"], &[100]);
        experiment.jobs = Some(jobs);
        experiment.sizes = vec![MemorySize::Bytes(1 << 20)];
        let outcome = simulate(&experiment, &Progress::default()).expect("it runs");
        let [trace] = &*outcome.traces else { panic!("one trace") };
        (format!("{trace:?}"), outcome.rows)
    };
    assert_eq!(facts(2), facts(1));
}

#[test]
fn a_trace_that_is_cut_and_one_that_is_interrupted_are_told_of() {
    let folder = tempfile::tempdir().expect("a folder");
    let cut = folder.path().join("cut.oracleGeneral.bin");
    std::fs::write(&cut, vec![1; 24 * 100_000 + 7]).expect("it is written");
    let mut input = TraceInput::file(&cut);
    let TraceInput::File { options, .. } = &mut input else { unreachable!("it is a file") };
    options.format = Some("oracle-general".to_owned());
    options.assume_reads = true;
    let mut experiment = experiment(vec![input], &["clock"], &[1]);
    experiment.jobs = Some(2);
    let error = simulate(&experiment, &Progress::default()).expect_err("it is cut").to_string();
    assert!(error.contains("cut"), "{error}");

    let progress = Progress::default();
    progress.cancel();
    experiment.traces = vec![trace()];
    let interrupted = simulate(&experiment, &progress);
    assert!(matches!(interrupted, Err(SimError::Interrupted | SimError::Trace(_))));
}
