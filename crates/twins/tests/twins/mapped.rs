//! `bits=mapped`: what real memory shows to a bit-driven policy.

use crate::random::random;
use crate::references::references;
use clockhand_twins::{Options, build, run};

fn state(policy: &str, frames: usize, trace: &str) -> String {
    let mut twin = build(policy, frames, &[("c", "2"), ("bits", "mapped")], &[]);
    for (page, op) in references(trace) {
        twin.reference(page, op);
    }
    twin.state().to_string()
}

#[test]
fn with_one_bit_mapped_memory_is_clock_with_the_bit_set_on_insertion() {
    for seed in 0..20 {
        let trace = random(seed, 400, 24, 40);
        let clock = |parameters| run("clock", 8, parameters, &trace, Options::default());
        let exact = clock(&[("insert_ref", "1")]);
        assert_eq!(clock(&[("bits", "mapped")]), exact);
        assert_eq!(clock(&[("bits", "mapped"), ("insert_ref", "1")]), exact);
    }
}

#[test]
fn fifo_is_the_same_whichever_accesses_are_seen() {
    let trace = random(1, 400, 24, 40);
    let fifo = |bits| run("fifo", 8, &[("bits", bits)], &trace, Options::default());
    assert_eq!(fifo("mapped"), fifo("exact"));
}

#[test]
fn the_retried_fault_sets_its_own_bit() {
    let craw = state("craw", 3, "R1 W2");
    assert!(craw.starts_with(r#"{"R":[[1,1,0]],"W1":[[2,0,1]],"#), "{craw}");
    let craw_a = state("craw-a", 3, "R1 W2");
    let expected = r#"{"R":[[1,1,0],[2,1,1]],"W1":[[2,1,1]],"#;
    assert!(craw_a.starts_with(expected), "{craw_a}");
}

#[test]
fn on_a_mapped_page_a_read_is_unseen_and_a_write_is_seen() {
    let craw = state("craw", 3, "R1 W1 W2 R2");
    assert!(craw.starts_with(r#"{"R":[[1,1,1]],"W1":[[2,0,1]],"#), "{craw}");
}

#[test]
fn clearing_a_set_bit_unmaps_the_page_so_that_its_next_read_is_seen() {
    // At R5: R (tie) links page 1 into W1, clears pages 1 and 4, gives page 1 up to W1; then W1 promotes page 2 to W2
    // with its bit cleared and evicts page 1.
    let trace = "R1 W1 W2 R2 R4 R5";
    let before = state("craw", 3, trace);
    let expected = r#"{"R":[[4,0,0],[5,1,0]],"W1":[],"W2":[[2,0,0]],"gR":[1],"gW1":[1],"#;
    assert!(before.starts_with(expected), "{before}");
    let after = state("craw", 3, &format!("{trace} R2"));
    assert!(after.contains(r#""W2":[[2,1,0]]"#), "{after}");
}

#[test]
fn an_unmapped_page_keeps_the_bit_that_was_not_cleared() {
    // At R4 the scan of T clears the reference bit of page 1, which is also in W1, so its modified bit is left alone.
    let trace = "W1 R2 R3 R4";
    let before = state("craw-a", 3, trace);
    let expected = r#"{"R":[[3,0,0],[4,1,0]],"W1":[[1,0,1]],"W2":[],"gR":[2],"#;
    assert!(before.starts_with(expected), "{before}");
    let after = state("craw-a", 3, &format!("{trace} R1"));
    assert!(after.contains(r#""W1":[[1,1,1]]"#), "{after}");
}

#[test]
fn the_dirty_flag_stays_exact() {
    // The accounting of `run` holds every victim's flag to flags of its own.
    for policy in ["fifo", "clock", "nru", "car", "cfclock", "craw", "craw-a"] {
        for seed in 0..10 {
            let trace = random(seed, 400, 24, 40);
            let totals = run(policy, 8, &[("bits", "mapped")], &trace, Options::default()).totals;
            assert!(totals.dirty_evictions > 0, "{policy}");
        }
    }
}
