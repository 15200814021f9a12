//! A single cell is replayed while its trace is read, and counts the same as on a view.

use std::path::PathBuf;

use clockhand_policy::catalog::CATALOG;
use clockhand_sim::{
    Bits, Experiment, MemorySize, Progress, ReplayOptions, RequestTable, Row, SimError, TraceInput,
    simulate,
};
use clockhand_trace::OpenOptions;
use proptest::prelude::*;

use crate::experiments::{cases, experiment, input, replay_options, rows};

/// Longer than the parts of runs that are handed on.
fn trace() -> TraceInput {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../traces/tar-gzip.parquet");
    TraceInput::file(path)
}

/// The rows of cells that are run alone, with two threads, and of all of them on one view.
fn both(policies: &[&str], frames: &[u32], change: impl Fn(&mut Experiment)) -> [Vec<Row>; 2] {
    both_of(&trace(), policies, frames, change)
}

fn both_of(
    trace: &TraceInput,
    policies: &[&str],
    frames: &[u32],
    change: impl Fn(&mut Experiment),
) -> [Vec<Row>; 2] {
    let rows_of = |policies: &[&str], frames: &[u32], jobs| {
        let mut experiment = experiment(vec![trace.clone()], policies, frames);
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
    let options = OpenOptions {
        format: Some("oracle-general".to_owned()),
        assume_reads: true,
        ..OpenOptions::default()
    };
    let input = TraceInput::opened(&cut, options);
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

/// Besides every policy's defaults: what changes sizes, lists and periods.
const OPTIONS: [&str; 14] = [
    "nru:mode=periodic,period=7",
    "cflru:window_share=3/4",
    "cflru-dynamic:period=5",
    "cfclock:window_share=1/2",
    "craw:c=2,ghosts=literal,write_back=eager",
    "craw-a:c=3,ghosts=literal",
    "2q:kin_share=1/2,kout_share=1",
    "lirs:hir_share=1/2",
    "clock-pro:cold_share=1/2",
    "w-tinylfu:doorkeeper=true,sample_factor=1",
    "s3-fifo:fill=main,small_share=1/2",
    "credit-clock:k=4",
    "linux-lru:batch=5",
    "linux24-cflru:dynamic=true",
];

/// A stretch of a trace. Many of them are longer than the parts of runs that are handed on, which end inside them.
#[derive(Clone, Copy, Debug)]
enum Shape {
    /// One page after the other, again and again.
    Loop { pages: u64 },
    /// Any of some pages, each for a while: runs, some of them longer than a part.
    Runs { pages: u64, length: u64 },
    /// Pages that were never touched, one after the other.
    New,
    /// Requests that reach into the pages behind.
    Crossing { pages: u64, bytes: u32 },
    /// The last pages that addresses of 64 bits reach.
    Far { pages: u64 },
}

#[derive(Clone, Copy, Debug)]
struct Stretch {
    shape: Shape,
    requests: u64,
    /// Every how many requests one writes; none for 0.
    write_every: u64,
}

fn stretch() -> impl Strategy<Value = Stretch> {
    let shape = prop_oneof![
        (1..200_u64).prop_map(|pages| Shape::Loop { pages }),
        (1..500_u64, prop_oneof![1..9_u64, 20_000..50_000_u64])
            .prop_map(|(pages, length)| Shape::Runs { pages, length }),
        Just(Shape::New),
        (1..50_u64, 1..40_000_u32).prop_map(|(pages, bytes)| Shape::Crossing { pages, bytes }),
        (1..100_u64).prop_map(|pages| Shape::Far { pages }),
    ];
    let requests = prop_oneof![1..100_u64, 1..10_000_u64, 10_000..60_000_u64];
    (shape, requests, 0..6_u64).prop_map(|(shape, requests, write_every)| Stretch {
        shape,
        requests,
        write_every,
    })
}

fn table(stretches: &[Stretch]) -> RequestTable {
    let mut table = RequestTable::default();
    let mut sizes = Vec::new();
    let mut new_pages = 1 << 20;
    for stretch in stretches {
        for place in 0..stretch.requests {
            let scattered = |pages, place: u64| place.wrapping_mul(0x9e37_79b9_7f4a_7c15) % pages;
            let (page, bytes) = match stretch.shape {
                Shape::Loop { pages } => (place % pages, 1),
                Shape::Runs { pages, length } => (scattered(pages, place / length), 1),
                Shape::New => (new_pages + place, 1),
                Shape::Crossing { pages, bytes } => (scattered(pages, place), bytes),
                Shape::Far { pages } => (u64::MAX / 4096 - scattered(pages, place), 1),
            };
            table.addresses.push(page * 4096);
            let writes = place.checked_rem(stretch.write_every) == Some(0);
            table.is_write.push(writes);
            sizes.push(bytes);
        }
        new_pages += stretch.requests;
    }
    table.sizes_bytes = Some(sizes);
    table
}

proptest! {
    #![proptest_config(cases(5))]

    #[test]
    fn every_policy_counts_the_same_on_traces_of_any_shape(
        stretches in prop::collection::vec(stretch(), 1..5),
        frames in prop_oneof![1..10_u32, 10..1000_u32, 1000..100_000_u32],
        reserve in prop_oneof![2 => Just(0), 1 => 1..5_u32],
        options in replay_options(),
    ) {
        let trace = input("t", table(&stretches));
        let mut policies: Vec<&str> =
            CATALOG.iter().map(|entry| entry.description.name).collect();
        policies.extend(OPTIONS);
        let [alone, on_view] = both_of(&trace, &policies, &[frames + reserve], |experiment| {
            experiment.options = options;
            experiment.reserve = reserve;
        });
        assert_eq!(alone, on_view);
    }
}
