//! A cache that knows the future and may refuse blocks, and what no cache can do better.

use std::collections::BTreeSet;

use crate::{Cost, Op};

/// Two consecutive references of a block, by their places.
type Interval = (usize, usize);

fn intervals(trace: &[(u64, Op)]) -> Vec<Interval> {
    let next =
        |place: usize| (place + 1..trace.len()).find(|&later| trace[later].0 == trace[place].0);
    (0..trace.len()).filter_map(|place| Some((place, next(place)?))).collect()
}

/// The intervals that the pass keeps if it sees these alone.
fn pass(length: usize, capacity: usize, intervals: &[Interval]) -> BTreeSet<Interval> {
    let (mut open, mut kept): (Vec<Interval>, BTreeSet<Interval>) = (Vec::new(), BTreeSet::new());
    for place in 0..length {
        kept.extend(open.iter().filter(|interval| interval.1 == place));
        open.retain(|interval| interval.1 != place);
        open.extend(intervals.iter().filter(|interval| interval.0 == place));
        if open.len() > capacity {
            let last = (0..open.len()).max_by_key(|&at| open[at].1).expect("one is open");
            open.remove(last);
        }
    }
    kept
}

/// Runs of kept intervals, each beginning where the one before ends.
fn stays(kept: &BTreeSet<Interval>) -> Vec<Vec<Interval>> {
    let first = kept.iter().filter(|first| kept.iter().all(|other| other.1 != first.0));
    first
        .map(|&first| {
            let mut stay = vec![first];
            while let Some(&next) = kept.iter().find(|next| next.0 == stay[stay.len() - 1].1) {
                stay.push(next);
            }
            stay
        })
        .collect()
}

/// The result of admission `belady` for each reference: `hit`, `admit` or `bypass`. `reuse` is K; none enters without
/// it.
pub fn belady(trace: &[(u64, Op)], capacity: usize, reuse: Option<u64>) -> Vec<&'static str> {
    let mut seen = intervals(trace);
    let mut kept = BTreeSet::new();
    for _ in 0..if reuse.is_some() { 16 } else { 0 } {
        kept = pass(trace.len(), capacity, &seen);
        let stays = stays(&kept);
        let short = stays.iter().filter(|stay| (stay.len() as u64) < reuse.expect("K"));
        let short: BTreeSet<Interval> = short.flatten().copied().collect();
        if short.is_empty() {
            break;
        }
        seen.retain(|interval| !short.contains(interval));
        kept.retain(|interval| !short.contains(interval));
    }
    let what = |place: usize| match place {
        _ if kept.iter().any(|interval| interval.1 == place) => "hit",
        _ if kept.iter().any(|interval| interval.0 == place) => "admit",
        _ => "bypass",
    };
    (0..trace.len()).map(what).collect()
}

/// Blocks that leave, and those of them that are dirty: each with the last hit of its stay.
pub fn evictions(trace: &[(u64, Op)], what: &[&str]) -> (u64, u64) {
    let (mut evictions, mut dirty) = (0, 0);
    for begin in (0..trace.len()).filter(|&place| what[place] == "admit") {
        let mut written = trace[begin].1 == Op::Write;
        for place in (begin + 1..trace.len()).filter(|&place| trace[place].0 == trace[begin].0) {
            if what[place] != "hit" {
                break;
            }
            written |= trace[place].1 == Op::Write;
        }
        evictions += 1;
        dirty += u64::from(written);
    }
    (evictions, dirty)
}

/// The most hits, and the least time: `miss` is T*, `hit` is t and `insert` is I.
pub fn file_cache_bound(
    trace: &[(u64, Op)],
    capacity: usize,
    (miss, hit, insert): (Cost, Cost, Cost),
) -> (u64, Cost) {
    let all = intervals(trace);
    let hits = pass(trace.len(), capacity, &all).len() as u64;
    let time = miss * trace.len() as i128;
    let gain = miss - hit;
    if gain <= Cost::from(0) {
        return (hits, time);
    }
    let least = (insert / gain).floor().to_integer() + 1;
    let further =
        |block: u64| trace.iter().filter(|(other, _)| *other == block).count() as i128 - 1;
    let blocks: BTreeSet<u64> = trace.iter().map(|(block, _)| *block).collect();
    let mut reuses: Vec<i128> = blocks.into_iter().map(further).collect();
    reuses.retain(|&reuses| reuses >= least);
    reuses.sort_unstable();
    let of_them: Vec<Interval> =
        all.into_iter().filter(|interval| further(trace[interval.0].0) >= least).collect();
    let mut left = pass(trace.len(), capacity, &of_them).len() as i128;
    let (mut gained, mut greatest) = (Cost::from(0), Cost::from(0));
    while let (Some(most), true) = (reuses.pop(), left > 0) {
        gained += gain * most.min(left) - insert;
        left -= most.min(left);
        greatest = greatest.max(gained);
    }
    (hits, time - greatest)
}
