//! The whole driver against its twin: every event, TLB, walk cache, page table, and the memory's order.

use clockhand_device::{Exact, RequestCost};
use clockhand_twins::{Cost, Op, RequestCosts, TranslationRules, TranslationTwin, cases};
use proptest::prelude::*;

use super::golden::read_by;
use super::steps::{Reference, space_of, view_of, with_replay};

/// Neighbourhoods that are one region or one table of 512 apart, in up to three streams.
fn trace() -> impl Strategy<Value = Vec<Reference>> {
    let page = prop_oneof![
        12 => 0..24_u64,
        3 => (0..6_u64).prop_map(|page| 510 + page),
        1 => (0..4_u64).prop_map(|page| (1 << 18) - 2 + page),
    ];
    let stream = prop_oneof![6 => Just(0_u32), 2 => Just(1), 1 => Just(5)];
    let op = prop_oneof![2 => Just(Op::Read), 1 => Just(Op::Write)];
    let one = (stream, page, op).prop_map(|(stream, page, op)| ((stream, page), op));
    prop::collection::vec(one, 1..160)
}

fn rules() -> impl Strategy<Value = TranslationRules> {
    let tlb = prop::sample::select(vec![(0, 0), (1, 1), (2, 2), (4, 2), (6, 2), (8, 4), (8, 8)]);
    let tlb2 = prop::option::of(prop::sample::select(vec![(4, 4), (8, 2), (12, 4)]));
    let replacement = prop::sample::select(vec!["lru", "fifo", "random", "plru"]);
    let policy = prop::sample::select(vec!["clock", "lru", "fifo", "min"]);
    let share = prop::sample::select(vec![(1, 1), (1, 2), (1, 4), (2, 3)]);
    let huge = prop::option::of((prop::sample::select(vec![2_u64, 4, 8]), share));
    let walk = (1..5_u32, 0..4_usize);
    let extra = (prop_oneof![Just(0_u64), 1..6_u64], any::<bool>(), any::<bool>(), 0..4_u64);
    (policy, 1..14_usize, tlb, tlb2, replacement, walk, huge, extra).prop_map(
        |(policy, frames, tlb, tlb2, replacement, (walk_levels, walk_cache), huge, extra)| {
            let (prefetch, no_swap, flush_on_switch, seed) = extra;
            TranslationRules {
                policy,
                frames,
                tlb,
                tlb2,
                replacement,
                walk_levels,
                walk_cache,
                huge,
                prefetch,
                no_swap,
                flush_on_switch,
                seed,
            }
        },
    )
}

/// A gap of two pages passes, one of four is worth a new set-up.
const TWIN_COSTS: RequestCosts = RequestCosts {
    setup: Cost::new_raw(7, 1),
    transfer: Cost::new_raw(2, 1),
    erase: Cost::new_raw(0, 1),
};

fn device_costs() -> RequestCost {
    let [setup_us, transfer_us, erase_us] = [7, 2, 0].map(Exact::from_integer);
    RequestCost { setup_us, transfer_us, erase_us }
}

fn assert_same(rules: &TranslationRules, trace: &[Reference]) {
    let view = view_of(trace);
    let space = space_of(&view, rules);
    let mut twin = TranslationTwin::new(rules.clone(), trace);
    let (costs, device) = (TWIN_COSTS, device_costs());
    let (mut pages, mut time) = (0, Cost::from(0));
    with_replay(&view, &space, rules, &mut |replay| {
        for (position, &record) in space.records(&view).iter().enumerate() {
            let at = format!("reference {position} of {trace:?}, {rules:?}");
            let events = twin.reference();
            assert_eq!(replay.reference(record), events, "events at {at}");
            let request = read_by(&events);
            pages += request.len() as u64;
            time += costs.request(&request);
            let state = replay.state();
            assert_eq!(state.tlb, twin.tlb.keys(), "TLB at {at}");
            let tlb2 = twin.tlb2.as_ref().map(|tlb2| tlb2.keys());
            assert_eq!(state.tlb2, tlb2, "second level at {at}");
            assert_eq!(state.walk_cache, twin.walk_cache, "walk cache at {at}");
            assert!(twin.promoted.iter().eq(&state.promoted), "promoted regions at {at}");
            if rules.policy != "min" {
                let mut memory = state.memory;
                if rules.policy != "clock" {
                    // The twin's lists have no bits.
                    memory.iter_mut().for_each(|(_, bit)| *bit = false);
                }
                assert_eq!(memory, twin.memory(), "memory at {at}");
            }
            assert_eq!(state.dirty, twin.dirty(), "dirty pages at {at}");
        }
        let (paging, _) = replay.counts();
        assert_eq!(paging.page_table_bytes, twin.page_table_bytes(), "{rules:?}, {trace:?}");
        assert_eq!(paging.prefetched_in_vain, twin.prefetched_in_vain, "{rules:?}, {trace:?}");
        let moved = paging.page_faults + paging.prefetched + paging.promotion_fetches;
        assert_eq!(moved, pages, "{rules:?}, {trace:?}");
        let priced = device.time_us(moved, &paging.joined).to_string();
        assert_eq!(priced, time.to_string(), "{rules:?}, {trace:?}");
    });
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn the_driver_does_what_its_twin_does(rules in rules(), trace in trace()) {
        assert_same(&rules, &trace);
    }
}

/// Huge pages of whole tables, whose leaves stand above those of single pages.
#[test]
fn leaves_of_regions_that_fill_a_table_stand_a_level_higher() {
    let op = |page: u64| if page.is_multiple_of(3) { Op::Write } else { Op::Read };
    let pass = (0..1100_u64).chain([5000, 2, 600, 5001, 1030, 513]);
    let trace: Vec<Reference> = pass.map(|page| ((0, page), op(page))).collect();
    for walk_levels in [1, 2, 4] {
        let rules = TranslationRules {
            policy: "clock",
            frames: 1060,
            tlb: (8, 4),
            tlb2: Some((16, 16)),
            replacement: "lru",
            walk_levels,
            walk_cache: 2,
            huge: Some((512, (3, 4))),
            prefetch: 0,
            no_swap: false,
            flush_on_switch: false,
            seed: 0,
        };
        assert_same(&rules, &trace);
    }
}
