//! The bracket against exhaustive search, on many small traces.

use std::collections::BTreeMap;

use clockhand_trace::{Folding, PageView, PageViewBuilder, Request};

use super::*;
use crate::next_use::next_use;
use crate::replay::WriteMiss;

const PAGE_BYTES: u64 = 4096;

/// Numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn trace(&mut self, pages: u64, length: u64, writes_percent: u64) -> Vec<(u64, bool)> {
        (0..length).map(|_| (self.below(pages), self.below(100) < writes_percent)).collect()
    }
}

fn view(trace: &[(u64, bool)]) -> PageView {
    let mut builder = PageViewBuilder::new(PAGE_BYTES, Folding::Runs).expect("a power of two");
    for &(page, is_write) in trace {
        let op = if is_write { clockhand_trace::Op::Write } else { clockhand_trace::Op::Read };
        builder.push(&Request::new(op, page * PAGE_BYTES, 1));
    }
    builder.finish().expect("few pages")
}

/// A cell: memory size, costs and how references are replayed.
#[derive(Clone, Copy, Debug)]
struct Cell {
    frames: u32,
    ratio: Ratio<u64>,
    options: ReplayOptions,
}

fn with_problem<T>(trace: &[(u64, bool)], cell: Cell, ask: impl FnOnce(Problem) -> T) -> T {
    let view = view(trace);
    let pages = view.footprint_pages();
    let Cell { frames, ratio, options } = cell;
    let frames = frames.min(pages);
    let next_use = next_use(view.records(), pages);
    ask(Problem { records: view.records(), next_use: &next_use, pages, frames, ratio, options })
}

/// The bracket in shares of a page read, nothing being known before.
fn ends(trace: &[(u64, bool)], cell: Cell, effort: Effort) -> (u128, u128) {
    with_problem(trace, cell, |problem| {
        let found = bracket(problem, 0, effort, &Progress::default()).expect("not interrupted");
        let Counts { read_ios, .. } = found.feasible;
        (found.lower_shares, problem.cost_shares(read_ios, found.feasible.write_ios()))
    })
}

/// The least cost of any policy: all victims are tried at every fault. A memory is its pages, ascending, each with its
/// dirty flag.
fn optimum(trace: &[(u64, bool)], cell: Cell) -> u128 {
    let (read, write) = (u128::from(*cell.ratio.denom()), u128::from(*cell.ratio.numer()));
    let mut memories: BTreeMap<Vec<(u64, bool)>, u128> = BTreeMap::from([(Vec::new(), 0)]);
    for &(page, is_write) in trace {
        let mut next = BTreeMap::new();
        let mut offer = |mut memory: Vec<(u64, bool)>, cost: u128| {
            memory.sort_unstable();
            let best = next.entry(memory).or_insert(cost);
            *best = cost.min(*best);
        };
        for (mut memory, cost) in memories {
            if let Some(held) = memory.iter_mut().find(|(other, _)| *other == page) {
                held.1 |= is_write;
                offer(memory, cost);
                continue;
            }
            let is_free = is_write && cell.options.write_miss == WriteMiss::Blind;
            let cost = cost + if is_free { 0 } else { read };
            memory.push((page, is_write));
            if memory.len() <= cell.frames as usize {
                offer(memory, cost);
                continue;
            }
            for victim in 0..memory.len() - 1 {
                let mut left = memory.clone();
                let (_, is_dirty) = left.remove(victim);
                offer(left, cost + if is_dirty { write } else { 0 });
            }
        }
        memories = next;
    }
    let flush = |memory: &[(u64, bool)]| {
        let dirty = memory.iter().filter(|(_, is_dirty)| *is_dirty).count() as u128;
        if cell.options.flush_at_end { dirty * write } else { 0 }
    };
    memories.iter().map(|(memory, cost)| cost + flush(memory)).min().expect("at least one memory")
}

fn cells() -> impl Iterator<Item = Cell> + Clone {
    let ratios = [(8, 1), (1, 1), (133, 10), (32, 1), (1, 3), (9165, 1421)];
    ratios.into_iter().flat_map(|(write, read)| {
        [
            (WriteMiss::Fetch, true),
            (WriteMiss::Fetch, false),
            (WriteMiss::Blind, true),
            (WriteMiss::Blind, false),
        ]
        .into_iter()
        .map(move |(write_miss, flush_at_end)| Cell {
            frames: 1,
            ratio: Ratio::new(write, read),
            options: ReplayOptions { write_miss, flush_at_end, ..ReplayOptions::default() },
        })
    })
}

fn effort(seconds: &str) -> Effort {
    Effort::parse("effort=", seconds).expect("seconds")
}

#[test]
fn the_optimum_is_in_the_bracket_on_thousands_of_small_traces() {
    let mut random = Random(18);
    let (mut closed, mut brackets) = (0, 0);
    for (round, cell) in cells().cycle().take(4000).enumerate() {
        let (pages, length) = (3 + random.below(4), 4 + random.below(12));
        let trace = random.trace(pages, length, [20, 50, 80][round % 3]);
        let cell = Cell { frames: 1 + random.below(4) as u32, ..cell };
        let (lower, upper) = ends(&trace, cell, effort("0.0001"));
        let optimum = optimum(&trace, cell);
        assert!(lower <= optimum, "{lower} is above {optimum}: {cell:?}, {trace:?}");
        assert!(optimum <= upper, "{upper} is below {optimum}: {cell:?}, {trace:?}");
        brackets += 1;
        closed += u32::from(lower == upper);
    }
    assert!(closed * 10 >= brackets * 8, "{closed} of {brackets} brackets are closed");
}

#[test]
fn a_closed_bracket_never_rises_with_more_memory_and_no_bound_is_above_the_schedule_of_less() {
    let mut random = Random(19);
    for cell in cells().cycle().take(200) {
        let trace = random.trace(9, 60, 40);
        let all: Vec<_> =
            (1..=9).map(|frames| ends(&trace, Cell { frames, ..cell }, effort("0.0005"))).collect();
        for (less, more) in all.iter().zip(&all[1..]) {
            assert!(more.0 <= less.1, "{cell:?}, {trace:?}: {all:?}");
            assert!(less.0 != less.1 || more.0 != more.1 || more.0 <= less.0, "{cell:?}: {all:?}");
        }
    }
}

#[test]
fn where_nothing_is_written_both_ends_are_what_min_reads() {
    let mut random = Random(20);
    for frames in [1, 2, 3, 5, 8] {
        let trace = random.trace(12, 300, 0);
        let cell = Cell { frames, ..cells().next().expect("a cell") };
        let min = with_problem(&trace, cell, |problem| {
            u128::from(replay(&problem, &Soon(problem.next_use)).read_ios)
        });
        let (lower, upper) = ends(&trace, cell, effort("0.05"));
        assert_eq!(upper, min);
        // Without the bound on reads that `bound` knows beside.
        assert!(lower <= min && lower * 100 >= min * 97, "{lower} of {min}");
    }
}

#[test]
fn a_bound_that_is_known_is_never_lost_and_more_effort_never_widens() {
    let mut random = Random(21);
    let cell = Cell { frames: 5, ..cells().next().expect("a cell") };
    let trace = random.trace(20, 400, 40);
    let mut last = (0, u128::MAX);
    for seconds in ["0", "0.0001", "0.001", "0.01"] {
        let (lower, upper) = ends(&trace, cell, effort(seconds));
        assert!(lower <= upper && lower >= last.0, "{seconds}: {lower} {upper}");
        last = (lower, upper);
    }
    with_problem(&trace, cell, |problem| {
        let known = last.1 - 1;
        let found = bracket(problem, known, effort("0.001"), &Progress::default());
        assert!(found.expect("not interrupted").lower_shares >= known);
    });
}

#[test]
fn costs_with_long_terms_are_rounded_down() {
    let scale = Scale::of(Ratio::new(u64::MAX, 2));
    assert_eq!((scale.units(u64::MAX), scale.units(2)), (1 << 28, 0));
    assert_eq!(scale.shares(1 << 28), u128::from(u64::MAX));
    let scale = Scale::of(Ratio::new(8, 1));
    assert_eq!((scale.units(8), scale.units(1)), (1 << 28, 1 << 25));
    assert_eq!((scale.shares(1 << 25), scale.shares((1 << 25) + 1)), (1, 2));
}
