//! Which rows come out, in which order, and what they say of what was asked.

use clockhand_sim::{Experiment, MemorySize, Phase, Progress, SimError, simulate};

use crate::experiments::{contestants, experiment, input, refusal, row, rows, run, table};

const REFERENCES: &str = "r0 w1 r2 r0 w3 r4 w1 r0 r2 w4 r5 r1 w0 r3 r3 w3 r6 r1 r2 w5 r0 r4 w6 r1";

fn all_policies() -> Vec<&'static str> {
    clockhand_twins::POLICIES.into_iter().chain(["bound"]).collect()
}

#[test]
fn rows_come_in_the_order_trace_memory_size_policy_with_doubles() {
    let inputs = ["second", "first", "second"].map(|name| input(name, table(REFERENCES)));
    let rows = rows(&experiment(inputs.to_vec(), &["lru", "clock", "lru"], &[3, 2, 3]));
    let mut expected = Vec::new();
    for trace in ["second", "first", "second"] {
        for frames in [3, 2, 3] {
            for policy in ["lru", "clock", "lru"] {
                expected.push((trace.to_owned(), frames, policy.to_owned()));
            }
        }
    }
    let order: Vec<_> =
        rows.iter().map(|row| (row.trace.clone(), row.frames, row.policy.clone())).collect();
    assert_eq!(order, expected);
}

#[test]
fn a_double_has_the_same_counts_again() {
    let rows = rows(&experiment(vec![input("t", table(REFERENCES))], &["craw", "craw"], &[3, 3]));
    assert!(rows.iter().all(|row| row == &rows[0]), "{rows:?}");
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let inputs = || vec![input("a", table(REFERENCES)), input("b", table("w0 w1 r0 w2 r1"))];
    let of_jobs = |jobs| {
        let mut experiment = experiment(inputs(), &all_policies(), &[1, 2, 3, 5, 100]);
        experiment.jobs = jobs;
        rows(&experiment)
    };
    let alone = of_jobs(Some(1));
    assert_eq!(alone.len(), 2 * 5 * all_policies().len());
    assert_eq!(of_jobs(Some(2)), alone);
    assert_eq!(of_jobs(None), alone);
    assert_eq!(of_jobs(Some(1)), alone, "a second run");
}

#[test]
fn policies_are_echoed_as_written_and_resolved_with_every_default() {
    let mut experiment = experiment(vec![input("t", table(REFERENCES))], &[], &[8]);
    experiment.policies = contestants(["craw", "craw:write_back=eager", "cflru-dynamic", "lru"]);
    let named = |rows: Vec<clockhand_sim::Row>| -> Vec<(String, String)> {
        rows.into_iter().map(|row| (row.policy, row.policy_resolved)).collect()
    };
    let pairs = |pairs: [(&str, &str); 4]| pairs.map(|(a, b)| (a.to_owned(), b.to_owned()));
    let dynamic = "cflru-dynamic:period=1000,cost_read=1,cost_write=8,step=1,threshold=0";
    assert_eq!(
        named(rows(&experiment)),
        pairs([
            ("craw", "craw:c=8,ghosts=exclusive,write_back=lazy"),
            ("craw:write_back=eager", "craw:c=8,ghosts=exclusive,write_back=eager"),
            ("cflru-dynamic", dynamic),
            ("lru", "lru"),
        ])
    );
    experiment.device = "x25m-ssd".to_owned();
    experiment.sizes = vec![MemorySize::Frames(48)];
    let resolved = named(rows(&experiment));
    assert_eq!(resolved[0].1, "craw:c=350/33,ghosts=exclusive,write_back=lazy");
    assert!(resolved[2].1.contains("cost_write=8,step=3"), "{resolved:?}");
}

#[test]
fn shares_of_the_footprint_and_bytes_become_frames() {
    let mut experiment = experiment(vec![input("t", table(REFERENCES))], &["lru"], &[]);
    let share = |numerator, denominator| MemorySize::Share { numerator, denominator };
    // The footprint is 7 pages: 0.35, 3.5 and 7 of them, and 2 pages but one byte.
    let sizes = [share(1, 20), share(1, 2), share(1, 1), MemorySize::Bytes(3 * 4096 - 1)];
    experiment.sizes = sizes.to_vec();
    let in_frames = |experiment: &Experiment| -> Vec<u64> {
        rows(experiment).iter().map(|row| row.frames).collect()
    };
    assert_eq!(in_frames(&experiment), [1, 3, 7, 2]);
    experiment.page_bytes = 8192;
    assert_eq!(in_frames(&experiment), [1, 2, 4, 1], "4 pages of 8 KiB");
    experiment.sizes = vec![MemorySize::Bytes(1)];
    assert_eq!(in_frames(&experiment), [1], "never no frame at all");
}

#[test]
fn each_row_describes_its_trace_and_its_replay() {
    let row = row(REFERENCES, "lru", 2);
    assert_eq!((row.trace.as_str(), row.device.as_str()), ("t", "slc-nand"));
    assert_eq!((row.page_bytes, row.footprint_pages, row.references), (4096, 7, 24));
    assert_eq!((row.read_references, row.write_references), (Some(16), Some(8)));
    assert_eq!((row.bits, row.write_miss), ("exact", "fetch"));
    assert_eq!(row.memory_share, 2.0 / 7.0);
    let (hits, misses) = (row.hits.expect("counted"), row.misses.expect("counted"));
    assert_eq!((hits + misses, row.hit_ratio), (24, Some(hits as f64 / 24.0)));
}

#[test]
fn the_facts_of_each_trace_are_returned_with_the_rows() {
    let inputs = vec![input("a", table(REFERENCES)), input("b", table("w0 r0 r9"))];
    let outcome = run(&experiment(inputs, &["lru"], &[2]));
    let facts: Vec<_> = outcome
        .traces
        .iter()
        .map(|trace| {
            let (reads, writes) = (trace.read_references, trace.write_references);
            (trace.name.as_str(), trace.references, reads, writes, trace.footprint_pages)
        })
        .collect();
    assert_eq!(facts, [("a", 24, 16, 8, 7), ("b", 3, 2, 1, 2)]);
    assert_eq!(outcome.traces[1].dirty_footprint_pages, 1);
    assert!(outcome.traces.iter().all(|trace| trace.report.sha256.is_some()));
}

#[test]
fn the_bound_fills_its_columns_and_leaves_the_rest_unknown() {
    let row = row(REFERENCES, "bound", 2);
    let min = crate::experiments::row(REFERENCES, "min", 2);
    assert_eq!((row.references, Some(row.read_ios)), (24, min.misses));
    assert!(row.write_ios <= min.write_ios && row.io_time_us <= min.io_time_us);
    assert_eq!((row.policy.as_str(), row.policy_resolved.as_str()), ("bound", "bound:effort=0"));
    let unknown = [row.hits, row.misses, row.read_misses, row.write_misses, row.clean_evictions];
    assert_eq!((unknown, row.hit_ratio, row.energy_uj), ([None; 5], None, None));
}

#[test]
fn when_it_is_over_all_progress_has_been_made() {
    let inputs = vec![input("t", table(REFERENCES))];
    let experiment = experiment(inputs, &["lru", "clock", "bound"], &[2, 3]);
    let progress = Progress::default();
    simulate(&experiment, &progress).expect("nothing is wrong");
    let (phase, done, total) = progress.now();
    assert_eq!((phase, done), (Phase::Replaying, total));
}

#[test]
fn an_experiment_without_a_trace_a_policy_or_a_size_is_refused() {
    let whole = || experiment(vec![input("t", table("r0"))], &["lru"], &[1]);
    let without = |what: &str| {
        let mut experiment = whole();
        match what {
            "trace" => experiment.traces.clear(),
            "policy" => experiment.policies.clear(),
            _ => experiment.sizes.clear(),
        }
        refusal(&experiment).to_string()
    };
    assert_eq!(without("trace"), "no trace is given; add a file");
    assert_eq!(without("policy"), "no policy is given; add --policy NAME");
    assert_eq!(without("memory size"), "no memory size is given; add --frames or --memory");
}

#[test]
fn what_is_wrong_with_a_device_or_a_page_size_is_said_before_a_trace_is_read() {
    let unread = clockhand_sim::TraceInput::file("no such trace");
    let mut experiment = experiment(vec![unread], &["lru"], &[1]);
    experiment.device = "slc-nadn".to_owned();
    assert!(matches!(refusal(&experiment), SimError::Device(_)));
    experiment.device = "slc-nand".to_owned();
    assert!(matches!(refusal(&experiment), SimError::Trace(_)), "the trace's turn");
}
