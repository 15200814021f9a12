//! Properties that the rules state, on random references.

use crate::random::random;
use clockhand_twins::{Op, Options, POLICIES, Run, run};

/// Every policy with every option that changes its decisions.
fn variants() -> Vec<(&'static str, Vec<(&'static str, &'static str)>)> {
    let mut variants: Vec<_> = POLICIES.iter().map(|policy| (*policy, Vec::new())).collect();
    variants.extend([
        ("clock", vec![("insert_ref", "1")]),
        ("nru", vec![("mode", "periodic"), ("period", "7")]),
        ("cflru", vec![("window_share", "3/4")]),
        ("cflru-dynamic", vec![("period", "10"), ("threshold", "2")]),
        ("cfclock", vec![("clear_passed", "false")]),
        ("cfclock", vec![("window_share", "1")]),
        ("cfclock", vec![("window_share", "1"), ("clear_passed", "false")]),
    ]);
    for policy in ["craw", "craw-a"] {
        for c in ["1", "2", "13.3"] {
            for ghosts in ["exclusive", "literal"] {
                for write_back in ["lazy", "eager"] {
                    let parameters = [("c", c), ("ghosts", ghosts), ("write_back", write_back)];
                    variants.push((policy, parameters.to_vec()));
                }
            }
        }
    }
    for policy in ["nru", "car", "cfclock", "craw", "craw-a", "weighted-clock", "credit-clock"] {
        variants.push((policy, vec![("bits", "mapped")]));
    }
    variants
}

fn traces() -> Vec<Vec<(u64, Op)>> {
    let shares = [0, 10, 50, 90, 100];
    let trace = |seed: u64| random(seed, 300, 20, shares[seed as usize % shares.len()]);
    (0..15).map(trace).collect()
}

fn plain_run(policy: &str, frames: usize, parameters: &[(&str, &str)], trace: &[(u64, Op)]) -> Run {
    run(policy, frames, parameters, trace, Options::default())
}

#[test]
fn min_never_misses_more_and_the_counts_add_up() {
    for trace in traces() {
        for frames in [1, 2, 3, 5, 8, 13] {
            let fewest = plain_run("min", frames, &[], &trace).totals.misses;
            for (policy, parameters) in variants() {
                let totals = plain_run(policy, frames, &parameters, &trace).totals;
                assert!(totals.misses >= fewest, "{policy} {parameters:?}");
                assert_eq!(totals.hits + totals.misses, totals.references);
                let evictions = totals.clean_evictions + totals.dirty_evictions;
                assert_eq!(totals.misses, evictions + totals.resident_at_end);
                assert!(totals.max_resident <= frames as u64);
            }
        }
    }
}

#[test]
fn all_policies_are_equal_when_everything_fits() {
    for trace in traces() {
        let fifo = plain_run("fifo", 20, &[], &trace);
        for (policy, parameters) in variants() {
            assert_eq!(plain_run(policy, 20, &parameters, &trace), fifo, "{policy}");
        }
    }
}

#[test]
fn a_35_craw_is_clock_on_read_only_traces() {
    for seed in 0..20 {
        let trace = random(seed, 400, 24, 0);
        for bits in ["exact", "mapped"] {
            let clock = plain_run("clock", 6, &[("bits", bits)], &trace);
            for policy in ["craw", "craw-a"] {
                assert_eq!(plain_run(policy, 6, &[("bits", bits)], &trace), clock);
            }
        }
    }
}

#[test]
fn a_13_cfclock_is_clock_for_tiny_windows_and_for_traces_of_one_kind() {
    for seed in 0..20 {
        for writes_percent in [0, 40, 100] {
            let trace = random(seed, 400, 24, writes_percent);
            let windows = if writes_percent == 40 { 0..=1 } else { 0..=8 };
            let clock = plain_run("clock", 8, &[], &trace);
            for window in windows {
                let window = window.to_string();
                let cfclock = plain_run("cfclock", 8, &[("window_pages", &window)], &trace);
                assert_eq!(cfclock, clock, "window {window}");
            }
        }
    }
}

#[test]
fn a_10_cflru_with_a_window_of_0_or_1_is_lru() {
    for trace in traces() {
        let lru = plain_run("lru", 7, &[], &trace);
        for window in ["0", "1"] {
            assert_eq!(plain_run("cflru", 7, &[("window_pages", window)], &trace), lru);
        }
    }
}

#[test]
fn a_02_not_fetching_changes_no_decision() {
    let blind = Options { write_allocate_fetch: false, ..Options::default() };
    for trace in traces() {
        for (policy, parameters) in variants() {
            if policy == "cflru-dynamic" {
                continue;
            }
            let fetching = plain_run(policy, 5, &parameters, &trace);
            let not_fetching = run(policy, 5, &parameters, &trace, blind);
            assert_eq!(fetching.events, not_fetching.events);
            assert_eq!(not_fetching.totals.read_ios, fetching.totals.read_misses);
        }
    }
}

#[test]
fn a_35_on_write_only_traces_craw_keeps_no_write_ghosts_and_its_sizes() {
    for seed in 0..10 {
        let mut craw = clockhand_twins::build("craw", 6, &[("c", "2")], &[]);
        for (page, op) in random(seed, 300, 20, 100) {
            craw.reference(page, op);
            let state = craw.state().to_string();
            if craw.resident().len() == 6 {
                assert!(state.contains(r#""gW1":[],"gW2":[],"S_R":3.0,"S_W1":1.5,"S_W2":1.5"#));
            }
        }
    }
}
