//! Every policy against its slow, literal twin: the same references give the same events and the same state.

use clockhand_policy::Op;
use clockhand_policy::catalog::CATALOG;
use clockhand_twins as twins;
use proptest::prelude::*;
use serde_json::Value;

use crate::driver::{self, Bits, Driven, same_state};
use crate::drops::{Before, ahead_of, before, pick};
use crate::traces::{cases, traces};
use crate::variants::{policy_name, sources_of_bits};

/// Policies with options; a policy that is not named here is compared as it is.
const WITH_OPTIONS: &[&str] = &[
    "clock",
    "clock:insert_ref=1",
    "nru",
    "nru:mode=periodic,period=1",
    "nru:mode=periodic,period=7",
    "cflru",
    "cflru:window_share=3/4",
    "cflru:window_pages=0",
    "cflru:window_pages=2",
    "cflru:window_pages=99",
    "cflru-dynamic:period=5",
    "cflru-dynamic:period=3,step=2,threshold=1/2,cost_read=0.1,cost_write=2/3",
    "cfclock",
    "cfclock:window_pages=0",
    "cfclock:window_pages=99",
    "cfclock:clear_passed=false",
    "cfclock:window_share=1,clear_passed=false",
    "craw:c=1",
    "craw:c=2",
    "craw:c=13.3",
    "craw:c=9165/1421,ghosts=literal",
    "craw:c=10,write_back=eager",
    "craw:c=8,ghosts=literal,write_back=eager",
    "craw-a:c=2",
    "craw-a:c=40/3",
    "craw-a:c=3,ghosts=literal",
    "craw-a:c=8,write_back=eager",
    "linux24",
    "linux24:batch=3",
    "linux24-cflru",
    "linux24-cflru:share=1",
    "linux24-cflru:dynamic=true,period=3",
    "random",
    "random:seed=1969",
    "clock-pro",
    "clock-pro:cold_share=0",
    "clock-pro:cold_share=1/2",
    "clock-pro:cold_share=1",
    "2q",
    "2q:kin_share=3/4,kout_share=1/10",
    "2q:kin_share=1/2,kout_share=1",
    "s3-fifo",
    "s3-fifo:small_share=1/2",
    "s3-fifo:move_to_main_threshold=1",
    "s3-fifo:small_share=1/4,move_to_main_threshold=3",
    "s3-fifo:fill=main",
    "s3-fifo:small_share=1/3,fill=main",
    "lirs",
    "lirs:hir_share=1/2",
    "lirs:hir_share=1",
    "lirs-wsr",
    "lirs-wsr:hir_share=1/2",
    "lirs-wsr:hir_share=1/2,spare_lir=false",
    "lirs-wsr:hir_share=1",
    "ccf-lru",
    "ccf-lru:new_dirty=cold",
    "cfdc:cluster_pages=3",
    "cfdc:cluster_pages=1,priority_share=3/4",
    "cfdc:priority_share=1",
    "cfdc:priority_share=0",
    "casa",
    "casa:c=1",
    "casa:c=13.3",
    "ad-lru",
    "ad-lru:min_cold_share=0",
    "ad-lru:min_cold_share=1/2",
    "ad-lru:min_cold_share=1",
    "for",
    "for:c=1",
    "for:c=13.3,hot_share=1/4",
    "for:hot_share=0",
    "for:hot_share=1,history=forget",
    "ace",
    "ace:batch=2",
    "ace:policy=cflru,batch=3",
    "ace:policy=cflru,batch=99",
    "ace:policy=lru-wsr,batch=1",
    "ace:policy=lru-wsr,batch=2",
    "ace:policy=lru-wsr",
    "ace-clock",
    "ace-clock:batch=2",
    "ace-clock:policy=credit-clock,batch=3",
    "ace-clock:policy=credit-clock,c=13.3",
    "w-tinylfu",
    "w-tinylfu:window_share=1/3,protected_share=1/2",
    "w-tinylfu:sample_factor=1",
    "w-tinylfu:sample_factor=3,doorkeeper=true",
    "weighted-clock",
    "weighted-clock:rounds=0",
    "weighted-clock:rounds=1",
    "wa-landlord",
    "wa-landlord:c=1",
    "wa-landlord:c=13.3",
    "credit-clock",
    "credit-clock:c=13.3",
    "credit-clock:k=1",
    "credit-clock:k=3,clean_levels=0,dirty_levels=1",
    "credit-clock:c=32,clean_levels=9,dirty_levels=3",
    "credit-clock:k=5,new_dirty_share=1/2",
    "credit-clock:new_dirty_share=0",
];

/// What is compared: each policy of the catalog.
fn variants() -> impl Iterator<Item = &'static str> {
    let has_options = |name: &str| WITH_OPTIONS.iter().any(|variant| policy_name(variant) == name);
    let names = CATALOG.iter().map(|entry| entry.description.name);
    names.filter(move |name| !has_options(name)).chain(WITH_OPTIONS.iter().copied())
}

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
    #![proptest_config(cases(32))]

    #[test]
    fn small_memories_follow_their_twins(trace in traces(9, 120), frames in 1..8u32) {
        for variant in variants() {
            for &bits in sources_of_bits(variant) {
                assert_same(variant, frames, bits, &trace);
            }
        }
    }

    #[test]
    fn pages_that_leave_out_of_turn_and_pages_read_ahead_are_taken_as_by_the_twins(
        trace in traces(12, 100),
        before in before(),
        frames in 1..9u32,
    ) {
        for variant in variants() {
            for &bits in sources_of_bits(variant) {
                assert_same_with(variant, frames, bits, &trace, &before);
            }
        }
    }

    #[test]
    fn larger_memories_follow_their_twins(trace in traces(120, 400), frames in 40..110u32) {
        for variant in variants() {
            let has_bits = sources_of_bits(variant).len() > 1;
            let bits = if has_bits && frames % 2 == 0 { Bits::Mapped } else { Bits::Exact };
            assert_same(variant, frames, bits, &trace);
        }
    }
}

#[test]
fn the_twins_are_those_of_the_policies_of_the_catalog() {
    let mut names: Vec<_> = CATALOG.iter().map(|entry| entry.description.name).collect();
    let mut twins = twins::POLICIES.to_vec();
    names.sort_unstable();
    twins.sort_unstable();
    assert_eq!(names, twins);
}
