//! Every policy of the catalog under the driver, against the policy's own twin and one of a TLB, event by event.

use std::collections::BTreeSet;

use clockhand_twins::{
    Op, POLICIES, StreamPage, TlbTwin, TranslationEvent, TranslationRules, build, cases,
};
use proptest::prelude::*;

use super::steps::{Reference, space_of, view_of, with_replay};

/// Policies whose cost ratio is the device's, which is 1 here.
const WITH_RATIO: [&str; 6] = ["casa", "for", "craw", "craw-a", "wa-landlord", "credit-clock"];

fn trace() -> impl Strategy<Value = Vec<Reference>> {
    let page = prop_oneof![2 => 0..6_u64, 3 => 0..30_u64];
    let op = prop_oneof![2 => Just(Op::Read), 1 => Just(Op::Write)];
    let one = (0..2_u32, page, op).prop_map(|(stream, page, op)| ((stream, page), op));
    prop::collection::vec(one, 1..200)
}

fn rules(
    policy: &'static str,
    frames: usize,
    prefetch: u64,
    tlb: (usize, usize),
) -> TranslationRules {
    TranslationRules {
        policy,
        frames,
        tlb,
        tlb2: None,
        replacement: "lru",
        walk_levels: 1,
        walk_cache: 0,
        huge: None,
        prefetch,
        no_swap: false,
        flush_on_switch: false,
        seed: 0,
    }
}

/// The result of each reference, if the policy's twin decides which pages are in memory.
fn expected(rules: &TranslationRules, trace: &[Reference]) -> Vec<Vec<TranslationEvent>> {
    let pages: Vec<StreamPage> =
        trace.iter().map(|&(page, _)| page).collect::<BTreeSet<_>>().into_iter().collect();
    let number = |page: &StreamPage| pages.binary_search(page).ok().map(|place| place as u64);
    let numbered: Vec<(u64, Op)> =
        trace.iter().map(|(page, op)| (number(page).expect("it is referenced"), *op)).collect();
    let ratio = [("c", "1")];
    let parameters = if WITH_RATIO.contains(&rules.policy) { &ratio[..] } else { &[] };
    let mut memory = build(rules.policy, rules.frames, parameters, &numbered);
    let mut tlb = TlbTwin::new(rules.tlb, rules.replacement, rules.seed);
    let mut resident = BTreeSet::new();
    let key = |page: StreamPage| (page.0, 0, page.1);
    let of_reference = |(&(page, _), &(numbered, op)): (&Reference, &(u64, Op))| {
        let hits = tlb.look_up(key(page));
        let mut events =
            vec![if hits { TranslationEvent::TlbHit } else { TranslationEvent::Walk(1) }];
        let is_fault = !resident.contains(&numbered);
        let following = (1..=rules.prefetch).filter_map(|step| number(&(page.0, page.1 + step)));
        let mut ahead: Vec<u64> = following.filter(|next| !resident.contains(next)).collect();
        ahead.truncate(if is_fault { rules.frames - 1 } else { 0 });
        let event = memory.reference_with(numbered, op, &ahead);
        assert_eq!(event.hit, !is_fault, "the twin's own memory");
        for (gone, is_dirty) in event.evicted {
            let gone_page = pages[gone as usize];
            resident.remove(&gone);
            tlb.invalidate(|other| other == key(gone_page));
            events.push(TranslationEvent::Evict(gone_page, is_dirty));
        }
        if is_fault {
            resident.insert(numbered);
            events.push(TranslationEvent::Fault(page));
            resident.extend(&ahead);
            events
                .extend(ahead.iter().map(|&next| TranslationEvent::Prefetch(pages[next as usize])));
        }
        if !hits {
            tlb.insert(key(page));
        }
        events
    };
    trace.iter().zip(&numbered).map(of_reference).collect()
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn under_every_policy_the_driver_does_what_twins_of_policy_and_tlb_do(
        trace in trace(),
        frames in 1..20_usize,
        prefetch in prop_oneof![3 => Just(0_u64), 2 => 1..5_u64],
        tlb in prop::sample::select(vec![(0, 0), (1, 1), (4, 2), (6, 2), (8, 8)]),
    ) {
        let view = view_of(&trace);
        let frames = frames.min(view.footprint_pages() as usize);
        for policy in POLICIES {
            let rules = rules(policy, frames, prefetch, tlb);
            let space = space_of(&view, &rules);
            let expected = expected(&rules, &trace);
            with_replay(&view, &space, &rules, &mut |replay| {
                for (place, &record) in space.records(&view).iter().enumerate() {
                    let events = replay.reference(record);
                    assert_eq!(events, expected[place], "reference {place}, {rules:?}, {trace:?}");
                }
            });
        }
    }
}
