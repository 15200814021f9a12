//! `simulate` against the slow twins, and what its rows promise.

use std::sync::Arc;

use clockhand_sim::{
    Bits, Contestant, Experiment, MemorySize, Progress, ReplayOptions, RequestTable, Row, SimError,
    TraceInput, WriteMiss, simulate,
};
use clockhand_twins as twins;
use proptest::prelude::*;

const PAGE_BYTES: u64 = 4096;

/// Policies with options, and whether their bits can be those of a mapping.
const VARIANTS: &[(&str, bool)] = &[
    ("fifo", true),
    ("lru", false),
    ("clock", true),
    ("clock:insert_ref=1", true),
    ("nru", true),
    ("nru:mode=periodic,period=7", true),
    ("car", true),
    ("cflru", false),
    ("cflru:window_pages=2", false),
    ("cflru-dynamic:period=5", false),
    ("cfclock", true),
    ("cfclock:clear_passed=false", true),
    ("lru-wsr", false),
    ("craw:c=8", true),
    ("craw:c=40/3,ghosts=literal", true),
    ("craw:c=2,write_back=eager", true),
    ("craw-a:c=8", true),
    ("craw-a:c=2,ghosts=literal,write_back=eager", true),
    ("min", false),
];

fn experiment(trace: &[(u64, bool)], policies: &[&str], frames: &[u32]) -> Experiment {
    let table = RequestTable {
        is_write: trace.iter().map(|&(_, is_write)| is_write).collect(),
        addresses: trace.iter().map(|&(page, _)| page * PAGE_BYTES).collect(),
        ..RequestTable::default()
    };
    Experiment {
        traces: vec![TraceInput::Table { name: "table".to_owned(), table: Arc::new(table) }],
        policies: policies.iter().map(|text| Contestant::parse(text).unwrap()).collect(),
        seed: 0,
        sizes: frames.iter().map(|&frames| MemorySize::Frames(frames)).collect(),
        page_bytes: PAGE_BYTES,
        device: "unit".to_owned(),
        options: ReplayOptions::default(),
        jobs: Some(1),
    }
}

fn run(experiment: &Experiment) -> Vec<Row> {
    simulate(experiment, &Progress::default()).unwrap().rows
}

/// The twin's totals: the same references, one by one, never folded.
fn of_twin(
    variant: &str,
    frames: u32,
    trace: &[(u64, bool)],
    options: ReplayOptions,
) -> twins::Totals {
    let (name, settings) = variant.split_once(':').unwrap_or((variant, ""));
    let pairs = settings.split(',').filter(|pair| !pair.is_empty());
    let mut parameters: Vec<_> = pairs.map(|pair| pair.split_once('=').unwrap()).collect();
    if options.bits == Bits::Mapped {
        parameters.push(("bits", "mapped"));
    }
    let op = |is_write| if is_write { twins::Op::Write } else { twins::Op::Read };
    let references: Vec<_> = trace.iter().map(|&(page, is_write)| (page, op(is_write))).collect();
    let options = twins::Options {
        write_allocate_fetch: options.write_miss == WriteMiss::Fetch,
        flush_at_end: options.flush_at_end,
    };
    twins::run(name, frames as usize, &parameters, &references, options).totals
}

/// Runs of references to the same page, so that folding has something to do.
fn traces(pages: u64, length: usize) -> impl Strategy<Value = Vec<(u64, bool)>> {
    let run = (0..pages, prop::collection::vec(prop::bool::weighted(0.4), 1..5));
    prop::collection::vec(run, 1..length).prop_map(|runs| {
        let references = |(page, writes): (u64, Vec<bool>)| {
            writes.into_iter().map(move |is_write| (page, is_write))
        };
        runs.into_iter().flat_map(references).collect()
    })
}

fn assert_counts_of_twin(
    variant: &str,
    trace: &[(u64, bool)],
    frames: u32,
    options: ReplayOptions,
) {
    let row = run(&Experiment { options, ..experiment(trace, &[variant], &[frames]) }).remove(0);
    let totals = of_twin(variant, frames, trace, options);
    let counts = [
        (row.references, totals.references),
        (row.hits.unwrap(), totals.hits),
        (row.misses.unwrap(), totals.misses),
        (row.read_misses.unwrap(), totals.read_misses),
        (row.write_misses.unwrap(), totals.write_misses),
        (row.read_ios, totals.read_ios),
        (row.write_ios, totals.write_ios),
        (row.clean_evictions.unwrap(), totals.clean_evictions),
        (row.dirty_evictions.unwrap(), totals.dirty_evictions),
        (row.write_backs.unwrap(), totals.early_write_backs),
        (row.flush_writes.unwrap(), totals.flush_ios),
    ];
    for (position, (own, expected)) in counts.into_iter().enumerate() {
        let at = format_args!("{variant}, {frames} frames, {options:?}, {trace:?}");
        assert_eq!(own, expected, "count {position}: {at}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn folded_runs_give_the_counts_of_single_references(
        trace in traces(10, 60),
        frames in 1..9u32,
        blind in any::<bool>(),
        flush_at_end in any::<bool>(),
    ) {
        let write_miss = if blind { WriteMiss::Blind } else { WriteMiss::Fetch };
        for &(variant, has_bits) in VARIANTS {
            for bits in [Bits::Exact, Bits::Mapped] {
                if bits == Bits::Exact || has_bits {
                    let options = ReplayOptions { bits, write_miss, flush_at_end };
                    assert_counts_of_twin(variant, &trace, frames, options);
                }
            }
        }
    }
}

#[test]
fn rows_come_by_memory_size_then_policy_as_given_with_doubles() {
    let policies = ["craw", "clock", "craw", "bound"];
    let rows = run(&experiment(&[(0, true), (1, false), (2, true)], &policies, &[2, 1, 2]));
    let order: Vec<_> = rows.iter().map(|row| (row.frames, row.policy.as_str())).collect();
    let expected: Vec<_> =
        [2, 1, 2].into_iter().flat_map(|frames| policies.map(|policy| (frames, policy))).collect();
    assert_eq!(order, expected);
    assert_eq!(rows[0].policy_resolved, "craw:c=8,ghosts=exclusive,write_back=lazy");
    assert_eq!(rows[0], rows[2]);
}

#[test]
fn more_frames_than_pages_cost_nothing_and_change_nothing() {
    let trace: Vec<_> = (0..40).map(|position| (position % 10, position % 3 == 0)).collect();
    let policies: Vec<&str> = VARIANTS.iter().map(|&(variant, _)| variant).collect();
    let rows = run(&experiment(&trace, &policies, &[10, u32::MAX - 1]));
    for (enough, plenty) in rows[..policies.len()].iter().zip(&rows[policies.len()..]) {
        assert_eq!((enough.misses, enough.write_ios), (Some(10), 0), "{}", enough.policy);
        assert_eq!((plenty.misses, plenty.write_ios), (Some(10), 0), "{}", plenty.policy);
    }
}

#[test]
fn threads_change_no_row() {
    let trace: Vec<_> = (0..5_000u64).map(|n| (n * n % 97, n % 5 == 0)).collect();
    let policies: Vec<&str> = VARIANTS.iter().map(|&(variant, _)| variant).collect();
    let one = experiment(&trace, &policies, &[3, 20, 60]);
    assert_eq!(run(&one), run(&Experiment { jobs: Some(4), ..one.clone() }));
}

#[test]
fn a_request_refers_to_every_page_it_touches_and_streams_never_alias() {
    let table = RequestTable {
        is_write: vec![true, false, false],
        addresses: vec![4095, 0, 0],
        sizes_bytes: Some(vec![4098, 1, 1]),
        streams: Some(vec![0, 0, 7]),
        times_ns: None,
    };
    let trace = TraceInput::Table { name: "table".to_owned(), table: Arc::new(table) };
    let rows = run(&Experiment { traces: vec![trace], ..experiment(&[], &["lru"], &[9]) });
    assert_eq!((rows[0].references, rows[0].footprint_pages), (5, 4));
    assert_eq!((rows[0].write_misses, rows[0].read_misses), (Some(3), Some(1)));
}

#[test]
fn a_row_is_priced_by_its_device() {
    let trace = [(0, true), (1, false), (0, false)];
    let base = experiment(&trace, &["fifo"], &[1]);
    for (device, io_time_us, energy_uj) in [
        ("unit", 3.0 + 8.0, None),
        ("slc-nand", 3.0 * 50.0 + 400.0, None),
        ("cflru-nand", 3.0 * 284.2 + 1833.0, Some(3.0 * 9.4 + 59.6)),
        ("cflru-nand:erase=true", 3.0 * 284.2 + 1833.0 + 499.2, Some(3.0 * 9.4 + 59.6 + 16.5)),
    ] {
        let row = run(&Experiment { device: device.to_owned(), ..base.clone() }).remove(0);
        assert!((row.io_time_us - io_time_us).abs() < 1e-9, "{device}: {}", row.io_time_us);
        let close = |energy: f64, expected: f64| (energy - expected).abs() < 1e-9;
        match (row.energy_uj, energy_uj) {
            (None, None) => {}
            (Some(energy), Some(expected)) => {
                assert!(close(energy, expected), "{device}: {energy}")
            }
            other => panic!("{device}: {other:?}"),
        }
    }
}

#[test]
fn a_cancelled_run_ends_without_rows() {
    let progress = Progress::default();
    progress.cancel();
    let result = simulate(&experiment(&[(0, false)], &["lru"], &[1]), &progress);
    assert!(matches!(result, Err(SimError::Interrupted)));
}

#[test]
fn nothing_to_do_is_wrong_usage() {
    let base = experiment(&[(0, false)], &["lru"], &[1]);
    for (empty, names) in [
        (Experiment { traces: vec![], ..base.clone() }, "trace"),
        (Experiment { policies: vec![], ..base.clone() }, "--policy"),
        (Experiment { sizes: vec![], ..base.clone() }, "--frames"),
    ] {
        let error = simulate(&empty, &Progress::default()).unwrap_err().to_string();
        assert!(error.contains(names), "{error}");
    }
}
