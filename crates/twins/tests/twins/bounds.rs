//! The off-line lower bounds against every policy and against exhaustive search.

use std::collections::BTreeMap;

use crate::random::random;
use crate::references::references;
use clockhand_twins::{Op, Options, POLICIES, lower_bounds, run};

fn all_options() -> [Options; 4] {
    [(true, false), (true, true), (false, false), (false, true)]
        .map(|(write_allocate_fetch, flush_at_end)| Options { write_allocate_fetch, flush_at_end })
}

/// The fewest I/Os of any demand-paging run, each a page I/O weighed by `read_cost` and `write_cost`: all victims are
/// tried at every fault. A memory is its resident pages with their dirty flags, ascending.
fn cheapest(trace: &[(u64, Op)], frames: usize, options: Options, costs: (u64, u64)) -> u64 {
    let (read_cost, write_cost) = costs;
    let mut memories: BTreeMap<Vec<(u64, bool)>, u64> = BTreeMap::from([(Vec::new(), 0)]);
    for &(page, op) in trace {
        let mut next = BTreeMap::new();
        let mut offer = |mut memory: Vec<(u64, bool)>, cost: u64| {
            memory.sort_unstable();
            let best = next.entry(memory).or_insert(cost);
            *best = cost.min(*best);
        };
        for (memory, cost) in memories {
            let wrote = op == Op::Write;
            if let Some(position) = memory.iter().position(|(other, _)| *other == page) {
                let mut memory = memory;
                memory[position].1 |= wrote;
                offer(memory, cost);
                continue;
            }
            let fetches = !wrote || options.write_allocate_fetch;
            let cost = cost + if fetches { read_cost } else { 0 };
            if memory.len() < frames {
                let loaded = [memory, vec![(page, wrote)]].concat();
                offer(loaded, cost);
                continue;
            }
            for victim in 0..memory.len() {
                let mut memory = memory.clone();
                let (_, dirty) = memory.remove(victim);
                memory.push((page, wrote));
                offer(memory, cost + if dirty { write_cost } else { 0 });
            }
        }
        memories = next;
    }
    let flush = |memory: &[(u64, bool)]| {
        let dirty = memory.iter().filter(|(_, dirty)| *dirty).count() as u64;
        if options.flush_at_end { dirty * write_cost } else { 0 }
    };
    let totals = memories.iter().map(|(memory, cost)| cost + flush(memory));
    totals.min().expect("at least one memory")
}

#[test]
fn the_read_bound_is_the_misses_of_min_when_writes_fetch() {
    for seed in 0..40 {
        let trace = random(seed, 200, 16, 40);
        for frames in [1, 2, 3, 5, 8, 16] {
            let (min_read_ios, _) = lower_bounds(&trace, frames, Options::default());
            let min = run("min", frames, &[], &trace, Options::default()).totals;
            assert_eq!(min_read_ios, min.misses);
        }
    }
}

#[test]
fn no_policy_is_below_a_bound() {
    for seed in 0..10 {
        let trace = random(seed, 150, 12, [10, 40, 80][seed as usize % 3]);
        for frames in [1, 2, 3, 5, 8, 12] {
            for options in all_options() {
                let (min_read_ios, min_write_ios) = lower_bounds(&trace, frames, options);
                for policy in POLICIES {
                    let totals = run(policy, frames, &[], &trace, options).totals;
                    assert!(totals.read_ios >= min_read_ios, "{policy}");
                    assert!(totals.write_ios >= min_write_ios, "{policy}");
                }
            }
        }
    }
}

#[test]
fn exhaustive_search_reaches_the_read_bound_and_never_passes_the_write_bound() {
    let (mut cases, mut reached) = (0, 0);
    for seed in 0..60 {
        let trace = random(seed, 14, 6, [20, 50, 80][seed as usize % 3]);
        for frames in [1, 2, 3, 4] {
            for options in all_options() {
                let (min_read_ios, min_write_ios) = lower_bounds(&trace, frames, options);
                assert_eq!(cheapest(&trace, frames, options, (1, 0)), min_read_ios);
                let fewest_writes = cheapest(&trace, frames, options, (0, 1));
                assert!(fewest_writes >= min_write_ios);
                let bound = min_read_ios + 8 * min_write_ios;
                assert!(cheapest(&trace, frames, options, (1, 8)) >= bound);
                cases += 1;
                reached += usize::from(fewest_writes == min_write_ios);
            }
        }
    }
    // The relaxed capacity costs the write bound a little tightness, not more.
    assert!(reached * 10 >= cases * 9, "{reached} of {cases} are tight");
}

#[test]
fn a_written_page_that_stays_saves_its_last_write_unless_memory_is_flushed() {
    let trace = references("W1 W1 R2 W1");
    let write_bound = |flush_at_end| {
        let options = Options { flush_at_end, ..Options::default() };
        lower_bounds(&trace, 2, options).1
    };
    assert_eq!(write_bound(false), 0);
    assert_eq!(write_bound(true), 1);
}

#[test]
fn a_write_that_fetches_nothing_ends_no_saving_but_starts_one() {
    let blind = Options { write_allocate_fetch: false, ..Options::default() };
    assert_eq!(lower_bounds(&references("W1 W1 R1"), 1, blind).0, 0);
    assert_eq!(lower_bounds(&references("R1 W2 W1 R1"), 1, blind).0, 1);
}

#[test]
fn a_read_of_a_written_page_has_room_for_all_frames() {
    // One frame, page 1 written: the read of page 1 does not end its interval, the read of page 2 does.
    let bound = |trace| lower_bounds(&references(trace), 1, Options::default()).1;
    assert_eq!(bound("W1 R1 W1"), 0);
    assert_eq!(bound("W1 R2 W1"), 1);
}
