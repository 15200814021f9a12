//! Hand movements and gauges: what is watched changes nothing, and is what the policies' rules say.

use std::num::NonZeroU64;

use clockhand_policy::catalog::CATALOG;
use clockhand_sim::{Bits, Experiment, GaugeSample, Observation, Outcome, RequestTable};
use proptest::prelude::*;

use crate::experiments::{PAGE_BYTES, cases, experiment, input, run, table};

fn observed(references: &str, policy: &str, frames: u32, gauge_every: Option<u64>) -> Outcome {
    let mut experiment = experiment(vec![input("t", table(references))], &[policy], &[frames]);
    let gauge_every = gauge_every.and_then(NonZeroU64::new);
    experiment.observation = Some(Observation { gauge_every, hand_ns: 0 });
    run(&experiment)
}

fn hand_movements(references: &str, policy: &str, frames: u32) -> u64 {
    observed(references, policy, frames, None).rows[0].hand_movements.expect("it is counted")
}

#[test]
fn the_hand_of_clock_moves_over_each_page_that_gets_a_second_chance() {
    // Pages 1 and 2 were hit, 3 was not: the hand passes 1 and 2 and takes 3.
    assert_eq!(hand_movements("r1 r2 r3 r1 r2 r4", "clock", 3), 3);
    // Page 1 was not hit: the hand takes it at once. Then it passes 2 and takes 3.
    assert_eq!(hand_movements("r1 r2 r3 r4 r2 r5", "clock", 3), 1 + 2);
    // All were hit: once around, and one more.
    assert_eq!(hand_movements("r1 r2 r1 r2 r3", "clock", 2), 3);
    // Memory is never full, so there is no search for a victim.
    assert_eq!(hand_movements("r1 r2 r1", "clock", 3), 0);
}

#[test]
fn a_policy_without_a_hand_examines_what_it_looks_at() {
    assert_eq!(hand_movements("r1 r2 r1 r3 r4", "lru", 2), 2);
    // The clean page 2 is found behind the dirty page 1.
    assert_eq!(hand_movements("w1 r2 r3", "cfclock:window_share=1", 2), 2);
}

/// What each policy with its defaults examines on [`skewed`] with 20 frames. A change for speed may change what a
/// search looks at, and then the I/O times with `--hand-ns`; the commit says so.
const EXAMINED: [(&str, u64); 36] = [
    ("fifo", 1797),
    ("lru", 1775),
    ("clock", 2682),
    ("nru", 3215),
    ("car", 2637),
    ("random", 1798),
    ("lfu", 1547),
    ("2q", 1688),
    ("arc", 1705),
    ("lirs", 1619),
    ("clock-pro", 2141),
    ("w-tinylfu", 3044),
    ("s3-fifo", 2836),
    ("sieve", 2181),
    ("cflru", 3494),
    ("cflru-dynamic", 3492),
    ("cfclock", 5521),
    ("lru-wsr", 2813),
    ("lirs-wsr", 1597),
    ("ccf-lru", 2805),
    ("cfdc", 1751),
    ("casa", 1770),
    ("ad-lru", 2576),
    ("for", 8257),
    ("ace", 3681),
    ("ace-clock", 5531),
    ("linux24", 9089),
    ("linux24-cflru", 10_692),
    ("linux-lru", 4182),
    ("linux-mglru", 7073),
    ("craw", 2630),
    ("craw-a", 3485),
    ("weighted-clock", 5875),
    ("wa-landlord", 3465),
    ("credit-clock", 2456),
    ("min", 857),
];

/// 3,000 references to 60 pages, low ones more often; a third of them writes.
fn skewed() -> RequestTable {
    let mut state = 1_u64;
    let mut draw = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut table = RequestTable::default();
    for _ in 0..3000 {
        table.addresses.push(draw(60).min(draw(60)) * PAGE_BYTES);
        table.is_write.push(draw(3) == 0);
    }
    table
}

#[test]
fn every_policy_examines_as_many_frames_as_it_did() {
    let policies: Vec<&str> = CATALOG.iter().map(|entry| entry.description.name).collect();
    let mut experiment = experiment(vec![input("t", skewed())], &policies, &[20]);
    experiment.observation = Some(Observation { gauge_every: None, hand_ns: 0 });
    let outcome = run(&experiment);
    let examined =
        outcome.rows.iter().map(|row| (&*row.policy, row.hand_movements.expect("it is counted")));
    assert_eq!(examined.collect::<Vec<_>>(), EXAMINED);
}

#[test]
fn gauges_are_sampled_at_the_first_fault_and_every_so_many_after_it() {
    let references = "r1 w2 r3 w4 r5 w6 r7";
    let samples = observed(references, "craw:c=8", 4, Some(3)).gauges;
    let desired = |samples: &[(usize, GaugeSample)]| -> Vec<(u64, f64)> {
        let of_read_area = samples.iter().filter(|(_, sample)| sample.gauge == "S_R_pages");
        of_read_area.map(|(_, sample)| (sample.fault, sample.value)).collect()
    };
    assert_eq!(desired(&samples), [(1, 0.5), (4, 0.5), (7, 0.5)]);
    let at_seventh = |gauge| {
        let of_gauge = samples.iter().find(|(_, s)| s.fault == 7 && s.gauge == gauge);
        of_gauge.expect("it is sampled").1.value
    };
    let linked = at_seventh("R_pages") + at_seventh("W1_pages") + at_seventh("W2_pages");
    assert!(linked >= 4.0, "each of the 4 pages in memory is linked, {linked}");
    assert!(observed(references, "clock", 4, Some(1)).gauges.is_empty(), "CLOCK adapts nothing");
}

#[test]
fn gauges_belong_to_their_rows() {
    let references = "r1 r2 r3 r1 r4 r2 r5 r3";
    let mut experiment =
        experiment(vec![input("t", table(references))], &["clock", "car", "arc"], &[2, 3]);
    experiment.observation = Some(Observation { gauge_every: NonZeroU64::new(1), hand_ns: 0 });
    let outcome = run(&experiment);
    for (row, cell) in outcome.rows.iter().enumerate() {
        let faults: Vec<u64> = outcome
            .gauges
            .iter()
            .filter(|(of_row, sample)| *of_row == row && sample.gauge == "p_pages")
            .map(|(_, sample)| sample.fault)
            .collect();
        let expected = if cell.policy == "clock" { 0 } else { cell.misses.expect("counted") };
        assert_eq!(faults, (1..=expected).collect::<Vec<u64>>(), "{}", cell.policy);
    }
}

#[test]
fn a_movement_of_the_hand_adds_its_time() {
    let mut experiment =
        experiment(vec![input("t", table("r1 r2 r3 r1 r2 r4"))], &["clock", "bound"], &[3]);
    let without = run(&experiment).rows;
    experiment.observation = Some(Observation { gauge_every: None, hand_ns: 500 });
    let with = run(&experiment).rows;
    assert_eq!(with[0].io_time_us, without[0].io_time_us + 3.0 * 0.5);
    assert_eq!(with[0].read_ios, without[0].read_ios);
    assert_eq!((with[1].io_time_us, with[1].hand_movements), (without[1].io_time_us, None));
    assert_eq!(without[0].hand_movements, None);
}

#[test]
fn a_permission_fault_is_an_access_to_a_page_in_memory_that_memory_does_not_show_by_itself() {
    let faults = |references, policy, frames| {
        let mut experiment = experiment(vec![input("t", table(references))], &[policy], &[frames]);
        experiment.options.bits = Bits::Mapped;
        let free = run(&experiment).rows[0].clone();
        experiment.fault_ns = 250;
        let priced = run(&experiment).rows[0].clone();
        let counted = free.permission_faults.map_or(0, |count| count as usize);
        assert_eq!(priced.io_time_us, free.io_time_us + counted as f64 * 0.25);
        free.permission_faults
    };
    // The first write to a page that was read, and no other reference: the page fault has mapped the page.
    assert_eq!(faults("r1 r1 w1 w1 r1", "clock", 2), Some(1));
    assert_eq!(faults("w1 r1 w1", "clock", 2), Some(0));
    // The hand has cleared 2 and 3 before 1 left; 2 is read again.
    assert_eq!(faults("r1 r2 r3 r4 r2 r2", "clock", 3), Some(1));
    assert_eq!(faults("r1 r1 w1", "lru", 2), None, "it is told of every access");
}

fn all_policies(references: &str, frames: u32) -> Experiment {
    let names: Vec<&str> = CATALOG.iter().map(|entry| entry.description.name).collect();
    experiment(vec![input("t", table(references))], &names, &[frames])
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn being_watched_changes_no_count(
        references in prop::collection::vec((any::<bool>(), 0u32..24), 1..300),
        frames in 1u32..20,
    ) {
        let letter = |is_write| if is_write { 'w' } else { 'r' };
        let words: Vec<String> =
            references.iter().map(|&(is_write, page)| format!("{}{page}", letter(is_write))).collect();
        let mut experiment = all_policies(&words.join(" "), frames);
        let alone = run(&experiment).rows;
        experiment.observation = Some(Observation { gauge_every: NonZeroU64::new(7), hand_ns: 0 });
        let mut watched = run(&experiment).rows;
        for (row, alone) in watched.iter_mut().zip(&alone) {
            let evictions = row.clean_evictions.zip(row.dirty_evictions).map_or(0, |(c, d)| c + d);
            let moved = row.hand_movements.take().expect("it is counted");
            // MIN, LFU and such choose from lists of their own, and look at no frame but to see it pinned.
            prop_assert!(row.policy != "clock" || moved >= evictions);
            prop_assert_eq!(&*row, alone);
        }
    }
}
