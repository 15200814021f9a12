//! `bits=sensed`: what real memory shows to a bit-driven policy that looks.

use crate::random::random;
use crate::references::references;
use clockhand_twins::{Options, build, run};

fn state(policy: &str, bits: &str, frames: usize, trace: &str) -> String {
    let mut twin = build(policy, frames, &[("c", "2"), ("bits", bits)], &[]);
    for (page, op) in references(trace) {
        twin.reference(page, op);
    }
    twin.state().to_string()
}

#[test]
fn with_one_bit_sensed_memory_is_mapped_memory() {
    for policy in ["clock", "cfclock", "car", "nru", "sieve", "clock-pro", "craw-a", "linux24"] {
        for seed in 0..10 {
            let trace = random(seed, 400, 24, 40);
            let of = |bits| run(policy, 8, &[("bits", bits)], &trace, Options::default());
            assert_eq!(of("sensed"), of("mapped"), "{policy}");
        }
    }
}

#[test]
fn the_fault_sets_its_own_bit_and_no_other() {
    let craw = state("craw", "sensed", 3, "R1 W2");
    assert!(craw.starts_with(r#"{"R":[[1,1,0]],"W1":[[2,0,1]],"#), "{craw}");
}

#[test]
fn the_first_write_after_a_bit_was_cleared_shows_a_read_too() {
    // As under mapped bits, the scan at R5 clears the bit of page 2.
    let trace = "R1 W1 W2 R2 R4 R5 W2";
    let mapped = state("craw", "mapped", 3, trace);
    assert!(mapped.contains(r#""W2":[[2,0,1]]"#), "{mapped}");
    let sensed = state("craw", "sensed", 3, trace);
    assert!(sensed.contains(r#""W2":[[2,1,1]]"#), "{sensed}");
}

#[test]
fn a_period_ends_with_the_first_miss_at_or_after_its_last_reference() {
    let bits_of = |trace: &str| {
        let parameters = [("mode", "periodic"), ("period", "3"), ("bits", "sensed")];
        let mut twin = build("nru", 4, &parameters, &[]);
        for (page, op) in references(trace) {
            twin.reference(page, op);
        }
        twin.state().to_string()
    };
    // The third reference is a miss, and ends the period.
    assert_eq!(bits_of("R1 R2 R3"), r#"{"from_hand":[[1,0,0],[2,0,0],[3,0,0]]}"#);
    // The third reference is a hit, and so is the fourth.
    assert_eq!(bits_of("R1 R2 R1 R1"), r#"{"from_hand":[[1,1,0],[2,1,0]]}"#);
    assert_eq!(bits_of("R1 R2 R1 R1 W3"), r#"{"from_hand":[[1,0,0],[2,0,0],[3,0,1]]}"#);
    // The second period ends with the sixth reference, wherever the first one was told.
    assert_eq!(bits_of("R1 R2 R1 R1 W3 R4"), r#"{"from_hand":[[1,0,0],[2,0,0],[3,0,1],[4,0,0]]}"#);
}
