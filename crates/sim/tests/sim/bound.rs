//! The offline bound against its literal twin, and against every policy of the catalog.

use clockhand_policy::catalog::CATALOG;
use clockhand_sim::{ReplayOptions, RequestTable, Row, WriteMiss};
use clockhand_twins as twins;
use proptest::prelude::*;

use crate::experiments::{self, PAGE_BYTES, cases, contestants, experiment, input, table};

/// The ends of the bracket, with as much effort as small traces need.
const ENDS: [&str; 2] = ["opt-feasible:effort=0.001", "bound:effort=0.001"];

/// Rows of all policies and the bracket, memory size by memory size.
fn rows(trace: &[(u64, bool)], frames: &[u32], options: ReplayOptions) -> Vec<Row> {
    let names = CATALOG.iter().map(|entry| entry.description.name).chain(ENDS);
    let table = RequestTable {
        is_write: trace.iter().map(|&(_, is_write)| is_write).collect(),
        addresses: trace.iter().map(|&(page, _)| page * PAGE_BYTES).collect(),
        ..RequestTable::default()
    };
    let mut experiment = experiment(vec![input("t", table)], &[], frames);
    experiment.policies = contestants(names);
    experiment.device = "unit".to_owned();
    experiment.options = options;
    experiments::rows(&experiment)
}

/// References with runs of the same page, so that folding matters.
fn traces(pages: u64, length: usize) -> impl Strategy<Value = Vec<(u64, bool)>> {
    let run = (0..pages, prop::collection::vec(prop::bool::weighted(0.4), 1..4));
    prop::collection::vec(run, 1..length).prop_map(|runs| {
        let references = |(page, writes): (u64, Vec<bool>)| {
            writes.into_iter().map(move |is_write| (page, is_write))
        };
        runs.into_iter().flat_map(references).collect()
    })
}

fn all_options() -> Vec<ReplayOptions> {
    let mut all = Vec::new();
    for write_miss in [WriteMiss::Fetch, WriteMiss::Blind] {
        for flush_at_end in [false, true] {
            all.push(ReplayOptions { write_miss, flush_at_end, ..ReplayOptions::default() });
        }
    }
    all
}

fn check(trace: &[(u64, bool)], frames: &[u32]) {
    for options in all_options() {
        let rows = rows(trace, frames, options);
        for (&frames, rows) in frames.iter().zip(rows.chunks(CATALOG.len() + ENDS.len())) {
            let (bound, policies) = rows.split_last().unwrap();
            assert_eq!(
                (bound.read_ios, bound.write_ios),
                of_twin(trace, frames, options),
                "{frames} frames, {options:?}, {trace:?}"
            );
            for row in policies {
                assert!(bound.read_ios <= row.read_ios, "{}: reads, {trace:?}", row.policy);
                assert!(bound.write_ios <= row.write_ios, "{}: writes, {trace:?}", row.policy);
                assert!(bound.io_time_us <= row.io_time_us, "{}: time, {trace:?}", row.policy);
            }
            let feasible = &policies[CATALOG.len()];
            for row in [feasible, min_row(policies)] {
                assert!(feasible.io_time_us <= row.io_time_us, "{}: {trace:?}", row.policy);
            }
            let min = min_row(policies);
            assert!(options.write_miss == WriteMiss::Blind || min.read_ios == bound.read_ios);
        }
    }
}

fn min_row(policies: &[Row]) -> &Row {
    policies.iter().find(|row| row.policy == "min").expect("min is in the catalog")
}

fn of_twin(trace: &[(u64, bool)], frames: u32, options: ReplayOptions) -> (u64, u64) {
    let op = |is_write| if is_write { twins::Op::Write } else { twins::Op::Read };
    let references: Vec<_> = trace.iter().map(|&(page, is_write)| (page, op(is_write))).collect();
    let options = twins::Options {
        write_allocate_fetch: options.write_miss == WriteMiss::Fetch,
        flush_at_end: options.flush_at_end,
    };
    twins::lower_bounds(&references, frames as usize, options)
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn the_bound_is_that_of_its_twin_and_below_every_policy(trace in traces(8, 50)) {
        check(&trace, &[1, 2, 3, 5, 8]);
    }

    #[test]
    fn the_bound_holds_with_more_pages(trace in traces(40, 200)) {
        check(&trace, &[7, 20]);
    }
}

#[test]
fn without_effort_the_time_of_the_bound_is_that_of_its_reads_and_writes() {
    let trace: Vec<_> = (0..40).map(|step| (step * step % 11, step % 3 == 0)).collect();
    let row = |policy: &str| {
        let mut experiment =
            experiment(vec![input("t", table(&references(&trace)))], &[policy], &[4]);
        experiment.device = "unit".to_owned();
        experiments::rows(&experiment).pop().expect("one cell")
    };
    let plain = row("bound:effort=0");
    assert_eq!(plain.io_time_us, (plain.read_ios + 8 * plain.write_ios) as f64);
    assert_eq!(plain.policy_resolved, "bound:effort=0");
    let tight = row("bound:effort=0.01");
    assert_eq!((tight.read_ios, tight.write_ios), (plain.read_ios, plain.write_ios));
    assert!(tight.io_time_us > plain.io_time_us, "{} {}", tight.io_time_us, plain.io_time_us);
    assert_eq!(tight.policy_resolved, "bound:effort=1/100");
    let feasible = row("opt-feasible:effort=0.01");
    assert!(tight.io_time_us <= feasible.io_time_us);
    assert_eq!(feasible.hits.zip(feasible.misses).map(|(hits, misses)| hits + misses), Some(40));
}

fn references(trace: &[(u64, bool)]) -> String {
    let reference =
        |&(page, is_write): &(u64, bool)| format!("{}{page} ", if is_write { "w" } else { "r" });
    trace.iter().map(reference).collect()
}

#[test]
fn the_row_of_the_bound_has_ios_and_time_and_nothing_else() {
    let rows =
        rows(&[(0, true), (1, false), (2, false), (0, true)], &[1], ReplayOptions::default());
    let bound = rows.last().unwrap();
    assert_eq!((bound.policy.as_str(), bound.references), (ENDS[1], 4));
    assert_eq!((bound.read_ios, bound.write_ios, bound.io_time_us), (4, 1, 12.0));
    assert_eq!(
        (bound.hits, bound.misses, bound.energy_uj, bound.hit_ratio),
        (None, None, None, None)
    );
}
