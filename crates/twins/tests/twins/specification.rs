//! The examples in the text of the rules, and the options that no golden vector covers.

use crate::references::references;
use clockhand_twins::{Event, Op, Options, Totals, build, run};

/// Evictions as the rules write them: `2* 3`.
fn evictions(policy: &str, frames: usize, parameters: &[(&str, &str)], trace: &str) -> String {
    let run = run(policy, frames, parameters, &references(trace), Options::default());
    let victims = run.events.iter().flat_map(|event| &event.evicted);
    let victims = victims.map(|(page, dirty)| format!("{page}{}", if *dirty { "*" } else { "" }));
    victims.collect::<Vec<String>>().join(" ")
}

fn totals(policy: &str, frames: usize, trace: &str, options: Options) -> Totals {
    run(policy, frames, &[], &references(trace), options).totals
}

fn state(policy: &str, frames: usize, parameters: &[(&str, &str)], trace: &str) -> String {
    let mut twin = build(policy, frames, parameters, &[]);
    for (page, op) in references(trace) {
        twin.reference(page, op);
    }
    twin.state().to_string()
}

const BLIND: Options = Options { write_allocate_fetch: false, flush_at_end: false };

#[test]
fn a_03_the_dirty_flag_counts_write_ios() {
    let trace = "R1 W2 R1 R3 W1 R2";
    assert_eq!(evictions("lru", 2, &[], trace), "2* 3");
    let fetching = totals("lru", 2, trace, Options::default());
    assert_eq!((fetching.misses, fetching.read_ios, fetching.write_ios), (4, 4, 1));
    assert_eq!(totals("lru", 2, trace, BLIND).read_ios, 3);
    let flushing = Options { flush_at_end: true, ..Options::default() };
    let flushed = totals("lru", 2, trace, flushing);
    assert_eq!((flushed.write_ios, flushed.flush_ios), (2, 1));
}

#[test]
fn a_06_to_a_14_evict_what_their_examples_say() {
    let clock = "R1 R2 R3 R1 R4 R2 R5 R1";
    assert_eq!(evictions("clock", 3, &[], clock), "2 3 1 4");
    assert_eq!(evictions("clock", 3, &[("insert_ref", "1")], clock), "1 3 2");
    let nru = "R1 W2 R3 W4 R1 W2 R5 R6 R6 R7 W7 R8 R9";
    assert_eq!(evictions("nru", 4, &[], nru), "3 5 4* 1 6");
    assert_eq!(evictions("nru", 2, &[], "W1 W2 W1 R3 R4 W4 R5"), "2* 3 1*");
    let car = "R1 R2 R3 R1 R4 R2 R5 R6 R4 R7 R1 R8 R2";
    assert_eq!(evictions("car", 3, &[], car), "2 3 4 5 6 1 2 7 8");
    let cflru = "W8 R7 W6 R5 W4 W3 W2 W1 W11 W12 W13 W14";
    assert_eq!(evictions("cflru", 8, &[("window_pages", "4")], cflru), "7 5 8* 6*");
    assert_eq!(evictions("cflru", 8, &[("window_share", "1/2")], cflru), "7 5 8* 6*");
    let lru_wsr = "W1 R2 W3 R4 R5 R3 R6 R7 R8";
    assert_eq!(evictions("lru-wsr", 3, &[], lru_wsr), "2 1* 4 5 6");
    let cfclock = "W1 R2 W3 R4 R5 R6 R2 R7 R8 R5 R6 R7 R9 R10";
    let window = ("window_pages", "3");
    assert_eq!(evictions("cfclock", 6, &[window], cfclock), "1* 4 2 8");
    let not_cleared = [window, ("clear_passed", "false")];
    let cfclock = cfclock.trim_end_matches(" R10");
    assert_eq!(evictions("cfclock", 6, &not_cleared, cfclock), "1* 4 3*");
    assert_eq!(evictions("min", 2, &[], "W1 R2 R3 R4"), "2 3");
}

#[test]
fn a_14_the_textbook_string_misses_15_12_and_9_times() {
    let trace = "R7 R0 R1 R2 R0 R3 R0 R4 R2 R3 R0 R3 R2 R1 R2 R0 R1 R7 R0 R1";
    for (policy, misses) in [("fifo", 15), ("lru", 12), ("min", 9)] {
        assert_eq!(totals(policy, 3, trace, Options::default()).misses, misses, "{policy}");
    }
}

#[test]
fn a_22_to_a_37_evict_what_their_examples_say() {
    let craw = |trace: &str| evictions("craw", 3, &[("c", "2")], trace);
    assert_eq!(craw("R4 W3 W2 W1 W3 W2 W5"), "3* 2* 4 3*");
    assert_eq!(craw("R1 W1 W3 R5 W4"), "3*");
    assert_eq!(craw("W1 R3 W1 W4 W4 R2"), "1*");
    assert_eq!(craw("W3 R2 W1 R5 W3"), "3* 2");
    assert_eq!(craw("R4 W1 W3 W3 W1 R5 W1"), "1* 4");
    assert_eq!(craw("R2 W1 R4 R3 R2 R4"), "2 4 3");
    let stale = "W5 R3 W1 W2 W3 R2 R1 R4 W2 R5 W1 R4";
    assert_eq!(craw(stale), "5* 1* 3* 4 5");
    let literal = [("c", "2"), ("ghosts", "literal")];
    assert_eq!(evictions("craw", 3, &literal, stale), "5* 1* 3* 4 2*");
    let trim = "W6 R2 W1 W6 W1 W3 W4 W7 W3 W4";
    assert_eq!(evictions("craw", 4, &[("c", "2")], trim), "3* 6* 4* 7*");
    assert_eq!(evictions("craw-a", 3, &[("c", "2")], "W1 R2 W3 W1 R4 W2"), "2 3*");
}

#[test]
fn a_33_an_eager_write_back_is_reported_on_the_reference_that_caused_it() {
    let trace = references("W5 R1 R5 W2 W4 R6 R7");
    let eager = [("c", "2"), ("write_back", "eager")];
    let run = run("craw", 3, &eager, &trace, Options::default());
    let expected =
        Event { hit: false, evicted: vec![(1, false)], written_back: vec![5], ..Event::default() };
    assert_eq!(run.events[4], expected);
    assert_eq!((run.totals.early_write_backs, run.totals.write_ios), (1, 2));
}

#[test]
fn a_07_periodic_nru_clears_after_every_pth_reference_and_never_by_hand() {
    let periodic = [("mode", "periodic"), ("period", "4")];
    let after = |trace: &str| state("nru", 3, &periodic, trace);
    assert_eq!(after("R1 W2 R1"), r#"{"from_hand":[[1,1,0],[2,0,1]]}"#);
    assert_eq!(after("R1 W2 R1 R2"), r#"{"from_hand":[[1,0,0],[2,0,1]]}"#);
    // Page 1 is (1,0), page 2 (0,1), page 3 (1,0): the lowest class is that of page 2.
    let trace = "R1 W2 R3 R3 R1 R3 R4";
    assert_eq!(evictions("nru", 3, &periodic, trace), "2*");
    assert_eq!(after(trace), r#"{"from_hand":[[3,1,0],[1,1,0],[4,0,0]]}"#);
}

#[test]
fn a_02_without_fetching_the_dynamic_window_sees_fewer_reads() {
    let parameters = [("period", "2"), ("step", "1")];
    let trace = "R1 R2 W3 W4";
    let fetching = state("cflru-dynamic", 9, &parameters, trace);
    assert!(fetching.starts_with(r#"{"window":4,"#), "equal costs: {fetching}");
    let blind = [("period", "2"), ("step", "1"), ("write_allocate_fetch", "false")];
    let blind = state("cflru-dynamic", 9, &blind, trace);
    assert!(blind.starts_with(r#"{"window":5,"#), "a smaller cost: {blind}");
}

#[test]
fn a_28_a_rational_c_adapts_at_the_ceil_of_c_th_hit() {
    // The trace of the golden for c = 2, whose second hit in R' is the last reference.
    let trace = "R2 W1 R4 R3 R2 R4";
    let size = |c: &str| {
        let state = state("craw", 3, &[("c", c)], trace);
        state.contains(r#""ghost_R_hits":0"#)
    };
    assert!(size("1.5"), "the second hit adapts");
    assert!(size("3/2"), "the second hit adapts");
    assert!(!size("2.5"), "the second hit does not adapt");
}

#[test]
fn a_20_initial_sizes_are_exact_shares() {
    let state = state("craw", 133, &[("c", "13.3")], "R1");
    assert!(state.contains(r#""S_R":10.0,"S_W1":61.5,"S_W2":61.5"#), "{state}");
}

#[test]
#[should_panic(expected = "`c` must be at least 1")]
fn a_20_c_below_1_is_refused() {
    build("craw", 3, &[("c", "0.5")], &[]);
}

#[test]
#[should_panic(expected = "policy `lru` takes no parameter `bits`")]
fn an_access_driven_policy_has_no_bits() {
    build("lru", 3, &[("bits", "mapped")], &[]);
}

#[test]
#[should_panic(expected = "is not the one of the future")]
fn min_refuses_a_reference_that_its_future_does_not_hold() {
    build("min", 3, &[], &references("R1 R2")).reference(2, Op::Read);
}
