//! Page caches from outside: the same counts as `simulate` where a trace has no calls, both devices priced, and what is
//! refused.

use std::path::Path;

use clockhand_policy::catalog::CATALOG;
use clockhand_sim::{
    Contestant, FirstTouch, Flusher, MemorySize, PageCacheExperiment, PageCacheOptions,
    PageCacheOutcome, Progress, ReadAhead, ReplayOptions, TraceInput, run_pagecache,
};
use clockhand_trace::Selection;

use crate::experiments::{experiment as plain, rows as plain_rows};
use crate::real_traces::shared_trace;

fn experiment(traces: Vec<TraceInput>, policies: &[&str], frames: &[u32]) -> PageCacheExperiment {
    PageCacheExperiment {
        intervals: clockhand_sim::Intervals::default(),
        io_log: None,
        traces,
        policies: policies.iter().map(|text| Contestant::parse(text).unwrap()).collect(),
        seed: 0,
        sizes: frames.iter().map(|&frames| MemorySize::Frames(frames)).collect(),
        page_bytes: 4096,
        device: "slc-nand".to_owned(),
        file_device: None,
        options: PageCacheOptions::default(),
        jobs: Some(2),
    }
}

fn run(experiment: &PageCacheExperiment) -> PageCacheOutcome {
    run_pagecache(experiment, &Progress::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(experiment: &PageCacheExperiment) -> String {
    match run_pagecache(experiment, &Progress::default()) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("the experiment is refused"),
    }
}

/// A file with this text; it stays until the returned folder is dropped.
fn events(text: &str) -> (tempfile::TempDir, TraceInput) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.events");
    std::fs::write(&path, text).unwrap();
    (folder, TraceInput::file(path))
}

/// With these policies, sizes and seed, `simulate` counts the same.
fn assert_same_as_simulate(trace: &TraceInput, frames: &[u32]) {
    let policies: Vec<&str> = CATALOG.iter().map(|entry| entry.description.name).collect();
    let mut cached = experiment(vec![trace.clone()], &policies, frames);
    cached.options.first_touch = FirstTouch::Read;
    let outcome = run(&cached);
    let mut simulated = plain(vec![trace.clone()], &policies, &[]);
    simulated.sizes.clone_from(&cached.sizes);
    simulated.options = ReplayOptions::default();
    let simulated = plain_rows(&simulated);
    assert_eq!(outcome.rows.len(), simulated.len());
    for (row, expected) in outcome.rows.iter().zip(&simulated) {
        let at = format!("{} with {} frames on {}", row.policy, row.frames, row.trace);
        assert_eq!((&row.policy, row.frames), (&expected.policy, expected.frames), "{at}");
        assert_eq!(Some(row.misses), expected.misses, "{at}");
        assert_eq!((row.read_ios, row.write_ios), (expected.read_ios, expected.write_ios), "{at}");
        assert_eq!(Some(row.dirty_evictions), expected.dirty_evictions, "{at}");
        assert_eq!(Some(row.clean_evictions), expected.clean_evictions, "{at}");
        assert_eq!(Some(row.write_backs), expected.write_backs, "{at}");
        assert_eq!(row.io_time_us.to_bits(), expected.io_time_us.to_bits(), "{at}");
        assert_eq!(row.policy_resolved, expected.policy_resolved, "{at}");
        assert_eq!(row.references, expected.references, "{at}");
    }
}

#[test]
fn a_trace_without_calls_counts_as_in_simulate() {
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces/tar-gzip.parquet");
    let part = Selection { limit: Some(30_000), ..Selection::default() };
    assert_same_as_simulate(&TraceInput::file(trace).part(part), &[1, 40, 300]);
}

#[test]
fn real_traces_count_as_in_simulate() {
    for name in ["os_gcc.trace.xz", "hplajw_1week.srt.xz", "alibaba_replay_52k.log.xz"] {
        if let Some(path) = shared_trace(name) {
            let part = Selection { limit: Some(20_000), ..Selection::default() };
            assert_same_as_simulate(&TraceInput::file(path).part(part), &[64, 500]);
        }
    }
}

#[test]
fn both_devices_are_priced_exactly_and_o_direct_is_not() {
    let text = "length f1 9p\nmw a1 0 1\nmw a1 4096 1\nmr a1 0 1\ncr f1 0 1\ncw f1 1p 1p\nsync f1\n\
                dr f1 0 9p\ndw f1 8p 1p\n";
    let (_folder, trace) = events(text);
    let mut experiment = experiment(vec![trace], &["lru"], &[1]);
    experiment.file_device = Some("cflru-nand".to_owned());
    let outcome = run(&experiment);
    let [row] = &outcome.rows[..] else { panic!("one cell") };
    assert_eq!((row.anon_read_ios, row.anon_write_ios), (1, 2));
    assert_eq!((row.file_read_ios, row.file_write_ios, row.sync_writes), (1, 1, 1));
    assert_eq!((row.direct_read_ios, row.direct_write_ios), (9, 1));
    let of_files = outcome.file_page_cost.time_us(1, 1);
    assert_eq!(row.io_time_us, outcome.page_cost.time_us(1, 2) + of_files);
    assert_eq!(row.energy_uj, None, "the profile of SLC flash tells no energy");
    assert_eq!(row.potential_erases, None);
    experiment.device = "cflru-nand:erase=true".to_owned();
    let row = run(&experiment).rows.remove(0);
    assert_eq!(row.potential_erases, Some(3));
    let costs = outcome.file_page_cost.energy_uj(0, 1).unwrap();
    assert!(row.energy_uj.unwrap() > costs);
}

#[test]
fn what_makes_no_sense_is_refused_in_one_sentence() {
    let (_folder, trace) = events("mr a1 0 1\n");
    let bound = experiment(vec![trace.clone()], &["lru", "bound"], &[1]);
    assert!(refusal(&bound).contains("leave it out"));
    let mut ahead = experiment(vec![trace], &["lru"], &[1]);
    ahead.options.read_ahead = ReadAhead::parse("file:3-31").unwrap();
    assert!(refusal(&ahead).contains("has no files to read ahead; leave file:MIN-MAX out"));
    let (_folder, trace) = events("length f1 0\ncw f1 0 1\n");
    let mut timeless = experiment(vec![trace], &["lru"], &[1]);
    timeless.options.flusher = Flusher::parse(Some("5s"), None, None).unwrap();
    assert!(refusal(&timeless).contains("has no times"));
    let (_folder, trace) = events("length f1 0\ncw f1 0\ncr f1 0 1\n");
    let cut = experiment(vec![trace], &["lru"], &[1]);
    assert!(refusal(&cut).contains("line 2: the line ends before the size"));
}

#[test]
fn times_that_run_back_are_named() {
    let (_folder, trace) = events("@5 cr f1 0 1\n@3 cr f1 0 1\n@4 cr f1 0 1\n");
    let outcome = run(&experiment(vec![trace], &["lru"], &[1]));
    let notes = outcome.traces[0].report.notes.join("; ");
    assert!(notes.contains("2 times run back, the first at event 2"), "{notes}");
}
