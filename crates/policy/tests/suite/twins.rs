//! Every policy against its slow, literal twin: the same references give the same events and the same state.

use clockhand_policy::Op;
use clockhand_policy::catalog::CATALOG;
use clockhand_twins as twins;
use proptest::prelude::*;
use serde_json::Value;

use crate::driver::{self, Bits, Driven, same_state};
use crate::drops::{Before, ahead_of, before, pick};
use crate::traces::{cases, traces};

/// Each policy with each of its options, and whether its bits can be those of a mapping.
const VARIANTS: &[(&str, bool)] = &[
    ("fifo", true),
    ("lru", false),
    ("clock", true),
    ("clock:insert_ref=1", true),
    ("nru", true),
    ("nru:mode=periodic,period=1", true),
    ("nru:mode=periodic,period=7", true),
    ("car", true),
    ("cflru", false),
    ("cflru:window_share=3/4", false),
    ("cflru:window_pages=0", false),
    ("cflru:window_pages=2", false),
    ("cflru:window_pages=99", false),
    ("cflru-dynamic:period=5", false),
    ("cflru-dynamic:period=3,step=2,threshold=1/2,cost_read=0.1,cost_write=2/3", false),
    ("cfclock", true),
    ("cfclock:window_pages=0", true),
    ("cfclock:window_pages=99", true),
    ("cfclock:clear_passed=false", true),
    ("cfclock:window_share=1,clear_passed=false", true),
    ("lru-wsr", false),
    ("craw:c=1", true),
    ("craw:c=2", true),
    ("craw:c=13.3", true),
    ("craw:c=9165/1421,ghosts=literal", true),
    ("craw:c=10,write_back=eager", true),
    ("craw:c=8,ghosts=literal,write_back=eager", true),
    ("craw-a:c=2", true),
    ("craw-a:c=40/3", true),
    ("craw-a:c=3,ghosts=literal", true),
    ("craw-a:c=8,write_back=eager", true),
    ("min", false),
    ("linux24", true),
    ("linux24:batch=3", true),
    ("linux24-cflru", true),
    ("linux24-cflru:share=1", true),
    ("linux24-cflru:dynamic=true,period=3", true),
    ("linux-lru", true),
    ("linux-mglru", true),
    ("random", true),
    ("random:seed=1969", true),
    ("clock-pro", true),
    ("clock-pro:cold_share=0", true),
    ("clock-pro:cold_share=1/2", true),
    ("clock-pro:cold_share=1", true),
    ("sieve", true),
    ("lfu", false),
    ("2q", false),
    ("2q:kin_share=3/4,kout_share=1/10", false),
    ("2q:kin_share=1/2,kout_share=1", false),
    ("arc", false),
    ("s3-fifo", false),
    ("s3-fifo:small_share=1/2", false),
    ("s3-fifo:move_to_main_threshold=1", false),
    ("s3-fifo:small_share=1/4,move_to_main_threshold=3", false),
    ("s3-fifo:fill=main", false),
    ("s3-fifo:small_share=1/3,fill=main", false),
    ("lirs", false),
    ("lirs:hir_share=1/2", false),
    ("lirs:hir_share=1", false),
    ("w-tinylfu", false),
    ("w-tinylfu:window_share=1/3,protected_share=1/2", false),
    ("w-tinylfu:sample_factor=1", false),
    ("w-tinylfu:sample_factor=3,doorkeeper=true", false),
    ("weighted-clock", true),
    ("weighted-clock:rounds=0", true),
    ("weighted-clock:rounds=1", true),
    ("wa-landlord", false),
    ("wa-landlord:c=1", false),
    ("wa-landlord:c=13.3", false),
    ("credit-clock", true),
    ("credit-clock:c=13.3", true),
    ("credit-clock:k=1", true),
    ("credit-clock:k=3,clean_levels=0,dirty_levels=1", true),
    ("credit-clock:c=32,clean_levels=9,dirty_levels=3", true),
    ("credit-clock:k=5,new_dirty_share=1/2", true),
    ("credit-clock:new_dirty_share=0", true),
];

/// A variant's name and parameters, as the twins take them.
pub fn split(variant: &str) -> (&str, Vec<(&str, &str)>) {
    let (name, settings) = variant.split_once(':').unwrap_or((variant, ""));
    let pairs = settings.split(',').filter(|pair| !pair.is_empty());
    (name, pairs.map(|pair| pair.split_once('=').unwrap()).collect())
}

pub fn twin_op(op: Op) -> twins::Op {
    match op {
        Op::Read => twins::Op::Read,
        Op::Write => twins::Op::Write,
    }
}

/// A policy and its twin, side by side.
struct Pair<'a> {
    driven: Box<dyn Driven>,
    twin: Box<dyn twins::Twin>,
    at: &'a str,
}

impl Pair<'_> {
    fn resident(&self) -> Vec<u32> {
        self.driven.resident().iter().map(|held| held.page).collect()
    }

    /// Drops what `before` names; says which pages come with the next reference, to `page`.
    fn happen(&mut self, before: Before, page: u32, (frames, pages): (u32, u32)) -> Vec<u32> {
        let resident = self.resident();
        match before {
            Before::Drop(choice) => pick(&resident, choice).into_iter().for_each(|p| self.drop(p)),
            Before::DropSeveral(choice) => {
                let every = 2 + choice % 3;
                resident.into_iter().step_by(every).for_each(|page| self.drop(page));
            }
            Before::ReadAhead(most) => return ahead_of(page, most, frames, pages, &resident),
            _ => {}
        }
        Vec::new()
    }

    fn drop(&mut self, page: u32) {
        let dirty = (self.driven.drop_page(page), self.twin.drop_page(page.into()));
        assert_eq!(dirty.0, dirty.1, "{}: whether {page}, which is dropped, is dirty", self.at);
    }

    fn reference(&mut self, position: usize, (page, op): (u32, Op), ahead: &[u32]) {
        let at = format_args!("{}, reference {position}", self.at);
        let ahead_for_twin: Vec<u64> = ahead.iter().map(|&page| page.into()).collect();
        let event = self.driven.with_ahead(page, op, ahead);
        let expected = self.twin.reference_with(page.into(), twin_op(op), &ahead_for_twin);
        assert_eq!(event.hit, expected.hit, "hit: {at}");
        let evicted: Vec<_> =
            expected.evicted.iter().map(|&(page, dirty)| (page as u32, dirty)).collect();
        assert_eq!(event.evicted, evicted, "evictions: {at}");
        let mut written_back: Vec<_> =
            expected.written_back.iter().map(|&page| page as u32).collect();
        let mut own = event.written_back;
        own.sort_unstable();
        written_back.sort_unstable();
        assert_eq!(own, written_back, "write-backs without eviction: {at}");
    }

    fn compare_states(&self) {
        let state = Value::Object(self.driven.state());
        let expected = self.twin.state().to_string();
        let expected = serde_json::from_str(&expected).expect("a state is JSON");
        assert!(same_state(&state, &expected), "state: {state}, not {expected}: {}", self.at);
    }
}

fn assert_same(variant: &str, frames: u32, bits: Bits, trace: &[(u32, Op)]) {
    assert_same_with(variant, frames, bits, trace, &[Before::Nothing]);
}

fn assert_same_with(
    variant: &str,
    frames: u32,
    bits: Bits,
    trace: &[(u32, Op)],
    before: &[Before],
) {
    let state_every = if frames < 20 { 1 } else { 50 };
    let (name, mut parameters) = split(variant);
    match bits {
        Bits::Exact => {}
        Bits::Mapped => parameters.push(("bits", "mapped")),
        Bits::Sensed => parameters.push(("bits", "sensed")),
    }
    let pages = trace.iter().map(|&(page, _)| page).max().unwrap_or(0) + 1;
    let future: Vec<_> = trace.iter().map(|&(page, op)| (u64::from(page), twin_op(op))).collect();
    let twin = twins::build(name, frames as usize, &parameters, &future);
    let driven = driver::build(variant, frames, pages, bits, trace);
    let at = format!("{variant}, {frames} frames, {bits:?}, {trace:?}, {before:?}");
    let mut pair = Pair { driven, twin, at: &at };
    for (position, (&reference, &before)) in trace.iter().zip(before.iter().cycle()).enumerate() {
        let ahead = pair.happen(before, reference.0, (frames, pages));
        pair.reference(position, reference, &ahead);
        if position % state_every == 0 {
            pair.compare_states();
        }
    }
}

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn small_memories_follow_their_twins(trace in traces(9, 120), frames in 1..8u32) {
        for &(variant, has_bits) in VARIANTS {
            assert_same(variant, frames, Bits::Exact, &trace);
            if has_bits {
                assert_same(variant, frames, Bits::Mapped, &trace);
                assert_same(variant, frames, Bits::Sensed, &trace);
            }
        }
    }

    #[test]
    fn pages_that_leave_out_of_turn_and_pages_read_ahead_are_taken_as_by_the_twins(
        trace in traces(12, 100),
        before in before(),
        frames in 1..9u32,
    ) {
        for &(variant, has_bits) in VARIANTS {
            assert_same_with(variant, frames, Bits::Exact, &trace, &before);
            if has_bits {
                assert_same_with(variant, frames, Bits::Mapped, &trace, &before);
                assert_same_with(variant, frames, Bits::Sensed, &trace, &before);
            }
        }
    }

    #[test]
    fn larger_memories_follow_their_twins(trace in traces(120, 400), frames in 40..110u32) {
        for &(variant, has_bits) in VARIANTS {
            let bits = if has_bits && frames % 2 == 0 { Bits::Mapped } else { Bits::Exact };
            assert_same(variant, frames, bits, &trace);
        }
    }
}

#[test]
fn every_policy_of_the_catalog_has_a_twin_under_test() {
    for entry in CATALOG {
        let name = entry.description.name;
        let has_variant = VARIANTS.iter().any(|(variant, _)| split(variant).0 == name);
        assert!(has_variant && twins::POLICIES.contains(&name), "{name} has a twin under test");
    }
}
