//! What every policy owes, whatever it decides: shown for each policy of the catalog with its options.

use clockhand_policy::Op::{Read, Write};
use clockhand_policy::{AllPinned, Op};
use proptest::prelude::*;

use crate::driver::{self, Bits, Event};
use crate::model::Modelled;
use crate::traces::{
    Trace, by_hand, cases, footprint, only, page_count, runs, traces as random_traces,
};
use crate::variants;

const PAGES: u32 = 12;

fn traces() -> impl Strategy<Value = Trace> {
    random_traces(PAGES, 150)
}

fn events(variant: &str, frames: u32, bits: Bits, trace: &[(u32, Op)]) -> Vec<Event> {
    let mut driven = driver::build(variant, frames, page_count(trace), bits, trace);
    trace.iter().map(|&(page, op)| driven.reference(page, op)).collect()
}

/// Hits and the pages that leave, whether dirty or not.
fn decisions(events: &[Event]) -> Vec<(bool, Vec<u32>)> {
    let pages = |event: &Event| event.evicted.iter().map(|&(page, _)| page).collect();
    events.iter().map(|event| (event.hit, pages(event))).collect()
}

fn misses(events: &[Event]) -> usize {
    events.iter().filter(|event| !event.hit).count()
}

/// Both variants do the same, reference by reference.
fn assert_equal(left: &str, right: &str, frames: u32, bits: Bits, trace: &[(u32, Op)]) {
    assert_eq!(
        events(left, frames, bits, trace),
        events(right, frames, bits, trace),
        "{left} and {right} differ with {frames} frames, {bits:?}"
    );
}

/// Calls `check` with each variant of the catalog and each place that its bits can come from.
fn for_all_variants(mut check: impl FnMut(&str, Bits)) {
    for variant in variants::all() {
        for &bits in variants::sources_of_bits(&variant) {
            check(&variant, bits);
        }
    }
}

fn assert_books_balance(variant: &str, frames: u32, bits: Bits, trace: &[(u32, Op)]) {
    let mut memory = Modelled::new(variant, frames, bits, trace);
    for &(page, op) in trace {
        memory.reference(page, op);
    }
    let counts = memory.counts;
    let at = format!("{variant}, {frames} frames, {bits:?}: {counts:?}");
    assert_eq!(counts.hits + counts.misses, trace.len(), "every reference hits or misses: {at}");
    let resident = memory.resident_pages().len();
    assert_eq!(counts.evictions, counts.misses - resident, "what came left or is here: {at}");
    let written = counts.dirty_evictions + counts.write_backs;
    assert!(written <= counts.writes, "no page is written back twice for one write: {at}");
}

#[test]
fn the_books_balance_on_traces_by_hand() {
    for trace in by_hand() {
        for frames in [1, 2, 3, 4, 5, 8] {
            for_all_variants(|variant, bits| assert_books_balance(variant, frames, bits, &trace));
        }
    }
}

#[test]
fn with_a_frame_for_every_page_only_first_references_miss() {
    for trace in by_hand() {
        let pages = footprint(&trace);
        for frames in [pages.max(1) as u32, pages as u32 + 3] {
            for_all_variants(|variant, bits| {
                let events = events(variant, frames, bits, &trace);
                assert_eq!(misses(&events), pages, "{variant}, {frames} frames");
                let at_rest =
                    |event: &Event| event.evicted.is_empty() && event.written_back.is_empty();
                assert!(events.iter().all(at_rest), "{variant}, {frames} frames");
            });
        }
    }
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn the_books_balance(trace in traces(), frames in 1..10u32) {
        for_all_variants(|variant, bits| assert_books_balance(variant, frames, bits, &trace));
    }

    #[test]
    fn the_same_references_give_the_same_events(trace in traces(), frames in 1..10u32) {
        for_all_variants(|variant, bits| assert_equal(variant, variant, frames, bits, &trace));
    }

    #[test]
    fn all_policies_are_equal_when_every_page_has_a_frame(trace in traces(), spare in 0..4u32) {
        let frames = footprint(&trace) as u32 + spare;
        let expected = events("fifo", frames, Bits::Exact, &trace);
        prop_assert_eq!(misses(&expected), footprint(&trace));
        prop_assert!(expected.iter().all(|event| event.evicted.is_empty()));
        for_all_variants(|variant, bits| {
            assert_eq!(events(variant, frames, bits, &trace), expected, "{variant}, {bits:?}");
        });
    }

    #[test]
    fn all_policies_are_equal_when_there_is_one_frame(trace in traces()) {
        let expected = decisions(&events("fifo", 1, Bits::Exact, &trace));
        for_all_variants(|variant, bits| {
            let decisions = decisions(&events(variant, 1, bits, &trace));
            assert_eq!(decisions, expected, "{variant}, {bits:?}");
        });
    }

    #[test]
    fn min_never_misses_more(trace in traces(), frames in 1..10u32) {
        let fewest = misses(&events("min", frames, Bits::Exact, &trace));
        for_all_variants(|variant, bits| {
            let misses = misses(&events(variant, frames, bits, &trace));
            assert!(fewest <= misses, "{variant} misses {misses} times, min {fewest} times");
        });
    }

    /// A driver whose write-back fails asks again.
    #[test]
    fn a_refused_victim_stays_the_victim_and_nothing_else_changes(
        trace in traces(),
        refusals in prop::collection::vec(0..4usize, 1..20),
        frames in 1..10u32,
    ) {
        for_all_variants(|variant, bits| {
            let expected = events(variant, frames, bits, &trace);
            let mut memory = Modelled::new(variant, frames, bits, &trace);
            for (position, &(page, op)) in trace.iter().enumerate() {
                if memory.needs_room_for(page) {
                    for _ in 0..refusals[position % refusals.len()] {
                        memory.victim_for(page).expect("a frame is not pinned");
                    }
                }
                let event = memory.reference(page, op);
                assert_eq!(event, expected[position], "{variant}, {bits:?}, {position}");
            }
        });
    }

    #[test]
    fn a_folded_run_is_the_sequence_of_its_references(runs in runs(9, 90), frames in 1..8u32) {
        let unfolded: Trace = runs
            .iter()
            .flat_map(|(page, ops)| ops.iter().map(|&op| (*page, op)))
            .collect();
        for_all_variants(|variant, bits| {
            let expected = events(variant, frames, bits, &unfolded);
            let mut expected = expected.into_iter();
            let build = || driver::build(variant, frames, page_count(&unfolded), bits, &unfolded);
            let (mut folded, mut plain) = (build(), build());
            for (page, ops) in &runs {
                let event = folded.run(*page, ops).expect("a frame is not pinned");
                assert_eq!(Some(event), expected.next(), "{variant}, {bits:?}");
                assert!(expected.by_ref().take(ops.len() - 1).all(|event| event.hit));
                ops.iter().for_each(|&op| _ = plain.reference(*page, op));
                assert_eq!(folded.resident(), plain.resident(), "{variant}, {bits:?}");
                assert_eq!(folded.state(), plain.state(), "{variant}, {bits:?}");
            }
        });
    }
}

/// The policies that treat a write as a read.
const BLIND_TO_DIRTY: &[&str] = &[
    "fifo",
    "lru",
    "clock",
    "car",
    "random",
    "lfu",
    "2q",
    "arc",
    "lirs",
    "clock-pro",
    "w-tinylfu",
    "s3-fifo",
    "sieve",
];
/// Those that see a write by its bit, and not by the dirty state.
const BY_WRITE_BIT: &[&str] = &["craw", "craw-a"];
/// Those that keep what a write gave its page, also when the page has been flushed.
const BY_WRITE_FAULT: &[&str] = &["credit-clock", "ccf-lru", "for"];
/// Windows from none to all frames.
const WINDOWS: &[&str] = &[
    "window_pages=0",
    "window_pages=1",
    "window_pages=2",
    "window_pages=5",
    "window_pages=99",
    "window_share=1/3",
    "window_share=1",
];

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn craw_and_craw_a_are_clock_on_read_only_traces(trace in traces(), frames in 1..10u32) {
        let trace = only(Read, &trace);
        for policy in BY_WRITE_BIT {
            let ratios = ["1", "1.5", "8", "13.3", "1000"].map(|c| format!("{policy}:c={c}"));
            for variant in variants::of_policy(policy).into_iter().chain(ratios) {
                assert_equal(&variant, "clock", frames, Bits::Exact, &trace);
                assert_equal(&variant, "clock", frames, Bits::Mapped, &trace);
            }
        }
    }

    #[test]
    fn credit_clock_without_levels_is_clock_on_read_only_traces(
        trace in traces(),
        frames in 1..10u32,
    ) {
        let trace = only(Read, &trace);
        for bits in [Bits::Exact, Bits::Mapped, Bits::Sensed] {
            assert_equal("credit-clock:clean_levels=0", "clock", frames, bits, &trace);
        }
    }

    #[test]
    fn weighted_clock_is_clock_where_all_pages_are_clean_or_nothing_is_spared(
        trace in traces(),
        frames in 1..10u32,
    ) {
        for bits in [Bits::Exact, Bits::Mapped, Bits::Sensed] {
            assert_equal("weighted-clock", "clock", frames, bits, &only(Read, &trace));
            assert_equal("weighted-clock:rounds=0", "clock", frames, bits, &trace);
        }
    }

    #[test]
    fn wa_landlord_is_lru_where_all_pages_are_clean_or_all_dirty(
        trace in traces(),
        frames in 1..10u32,
    ) {
        for trace in [only(Read, &trace), only(Write, &trace)] {
            for variant in variants::of_policy("wa-landlord") {
                assert_equal(&variant, "lru", frames, Bits::Exact, &trace);
            }
        }
    }

    #[test]
    fn a_window_of_none_or_one_is_no_window(trace in traces(), frames in 1..10u32) {
        for window in [0, 1] {
            let [cflru, cfclock] =
                ["cflru", "cfclock"].map(|policy| format!("{policy}:window_pages={window}"));
            assert_equal(&cflru, "lru", frames, Bits::Exact, &trace);
            assert_equal(&cfclock, "clock", frames, Bits::Exact, &trace);
            assert_equal(&cfclock, "clock", frames, Bits::Mapped, &trace);
        }
    }

    #[test]
    fn cfclock_is_clock_and_cflru_is_lru_where_all_pages_are_clean_or_all_dirty(
        trace in traces(),
        frames in 1..10u32,
    ) {
        for trace in [only(Read, &trace), only(Write, &trace)] {
            for window in WINDOWS {
                let (cfclock, cflru) = (format!("cfclock:{window}"), format!("cflru:{window}"));
                assert_equal(&cfclock, "clock", frames, Bits::Exact, &trace);
                assert_equal(&cfclock, "clock", frames, Bits::Mapped, &trace);
                assert_equal(&cflru, "lru", frames, Bits::Exact, &trace);
            }
            for variant in variants::of_policy("cflru-dynamic") {
                assert_equal(&variant, "lru", frames, Bits::Exact, &trace);
            }
        }
    }

    #[test]
    fn lirs_without_lir_pages_and_w_tinylfu_that_is_all_window_are_lru(
        trace in traces(),
        frames in 1..10u32,
    ) {
        for variant in ["lirs:hir_share=1", "w-tinylfu:window_share=1"] {
            assert_equal(variant, "lru", frames, Bits::Exact, &trace);
        }
    }

    #[test]
    fn pages_that_are_referenced_once_leave_in_the_order_of_their_coming(
        trace in traces(),
        frames in 1..10u32,
    ) {
        let mut seen = std::collections::BTreeSet::new();
        let first_only: Trace =
            trace.into_iter().filter(|&(page, _)| seen.insert(page)).collect();
        for variant in ["2q", "2q:kin_share=1", "s3-fifo", "sieve", "clock-pro", "arc", "lfu"] {
            assert_equal(variant, "fifo", frames, Bits::Exact, &first_only);
        }
    }

    #[test]
    fn lru_wsr_is_lru_and_lirs_wsr_is_lirs_on_read_only_traces(
        trace in traces(),
        frames in 1..10u32,
    ) {
        let trace = only(Read, &trace);
        assert_equal("lru-wsr", "lru", frames, Bits::Exact, &trace);
        for parameters in ["hir_share=1/100", "hir_share=1/2", "hir_share=1"] {
            let [wsr, lirs] = ["lirs-wsr", "lirs"].map(|name| format!("{name}:{parameters}"));
            assert_equal(&wsr, &lirs, frames, Bits::Exact, &trace);
        }
    }

    /// One of CASA's lists is then empty, and so is CFDC's queue or all of its clusters but one.
    #[test]
    fn casa_is_lru_where_all_pages_are_clean_or_all_dirty_and_cfdc_where_they_are_in_one_cluster(
        trace in traces(),
        frames in 1..10u32,
    ) {
        for trace in [only(Read, &trace), only(Write, &trace)] {
            for variant in variants::of_policy("casa") {
                assert_equal(&variant, "lru", frames, Bits::Exact, &trace);
            }
            for share in ["0", "1/3", "1"] {
                let cfdc = format!("cfdc:priority_share={share}");
                assert_equal(&cfdc, "lru", frames, Bits::Exact, &trace);
            }
        }
    }

    /// Without hot pages FOR has one list then.
    #[test]
    fn for_without_hot_pages_is_lru_where_all_pages_are_clean_or_all_dirty(
        trace in traces(),
        frames in 1..10u32,
    ) {
        for trace in [only(Read, &trace), only(Write, &trace)] {
            for variant in ["for:hot_share=0", "for:c=13.3,hot_share=0,history=forget"] {
                assert_equal(variant, "lru", frames, Bits::Exact, &trace);
            }
        }
    }

    /// Without hits AD-LRU and CCF-LRU have one list.
    #[test]
    fn ad_lru_and_ccf_lru_are_fifo_where_each_page_is_read_once_or_written_once(
        trace in traces(),
        frames in 1..10u32,
    ) {
        let mut seen = std::collections::BTreeSet::new();
        let first_only: Trace =
            trace.into_iter().filter(|&(page, _)| seen.insert(page)).collect();
        for trace in [only(Read, &first_only), only(Write, &first_only)] {
            for variant in ["ad-lru", "ad-lru:min_cold_share=1", "ccf-lru", "ccf-lru:new_dirty=cold"] {
                assert_equal(variant, "fifo", frames, Bits::Exact, &trace);
            }
        }
    }

    /// A batch of one is no batch; and writing pages that stay changes no victim of who does not look at them.
    #[test]
    fn ace_is_the_policy_that_it_wraps_with_a_batch_of_one_and_in_its_decisions(
        trace in traces(),
        batch in 1..9u32,
        frames in 1..10u32,
    ) {
        for wrapped in ["lru", "cflru", "lru-wsr"] {
            let ace = format!("ace:batch=1,policy={wrapped}");
            assert_equal(&ace, wrapped, frames, Bits::Exact, &trace);
        }
        for bits in [Bits::Exact, Bits::Mapped, Bits::Sensed] {
            for wrapped in ["clock", "credit-clock"] {
                let ace = format!("ace-clock:batch=1,policy={wrapped}");
                assert_equal(&ace, wrapped, frames, bits, &trace);
            }
            let ace = events(&format!("ace-clock:batch={batch}"), frames, bits, &trace);
            prop_assert_eq!(decisions(&ace), decisions(&events("clock", frames, bits, &trace)));
        }
        let ace = events(&format!("ace:batch={batch}"), frames, Bits::Exact, &trace);
        let alone = events("lru", frames, Bits::Exact, &trace);
        prop_assert_eq!(decisions(&ace), decisions(&alone));
        for (event, alone) in ace.iter().zip(&alone) {
            let dirty = event.evicted.iter().filter(|(_, dirty)| *dirty).count();
            prop_assert!(event.written_back.len() <= dirty * (batch as usize - 1));
            prop_assert!(dirty <= alone.evicted.iter().filter(|(_, dirty)| *dirty).count());
        }
    }

    /// Pass A finds nothing, and pass B is CLOCK's scan.
    #[test]
    fn nru_is_clock_on_write_only_traces(trace in traces(), frames in 1..10u32) {
        for bits in [Bits::Exact, Bits::Mapped, Bits::Sensed] {
            assert_equal("nru:mode=scan", "clock", frames, bits, &only(Write, &trace));
        }
    }

    /// No page is ever seen referenced.
    #[test]
    fn nru_whose_timer_clears_after_every_reference_is_fifo_where_all_pages_are_clean_or_all_dirty(
        trace in traces(),
        frames in 1..10u32,
    ) {
        for trace in [only(Read, &trace), only(Write, &trace)] {
            // With sensed bits it clears after every miss.
            for bits in [Bits::Exact, Bits::Mapped] {
                assert_equal("nru:mode=periodic,period=1", "fifo", frames, bits, &trace);
            }
        }
    }

    /// A flusher that is never late leaves only clean pages, which is what reads leave.
    #[test]
    fn writes_that_are_flushed_at_once_are_reads_to_who_looks_at_the_dirty_state(
        trace in traces(),
        frames in 1..10u32,
    ) {
        for variant in variants::all() {
            let policy = variants::policy_name(&variant);
            // This share follows the cost, and flushing costs.
            let counts_costs = policy == "linux24-cflru" && variant.contains("dynamic=true");
            let by_fault = BY_WRITE_FAULT.iter().any(|name| variant.contains(name));
            if BY_WRITE_BIT.contains(&policy) || by_fault || counts_costs {
                continue;
            }
            let expected = events(&variant, frames, Bits::Exact, &only(Read, &trace));
            let mut memory = Modelled::new(&variant, frames, Bits::Exact, &trace);
            for (position, &(page, op)) in trace.iter().enumerate() {
                let event = memory.reference(page, op);
                assert_eq!(event, expected[position], "{variant}, {frames} frames, {position}");
                if op == Write {
                    memory.write_back(page);
                }
            }
        }
    }

    #[test]
    fn a_flusher_changes_no_decision_of_who_does_not_look_at_the_dirty_state(
        trace in traces(),
        choices in prop::collection::vec(any::<u16>(), 1..40),
        frames in 1..10u32,
    ) {
        for policy in BLIND_TO_DIRTY.iter().chain(BY_WRITE_BIT) {
            for variant in variants::of_policy(policy) {
                let expected = decisions(&events(&variant, frames, Bits::Exact, &trace));
                let mut memory = Modelled::new(&variant, frames, Bits::Exact, &trace);
                let mut events = Vec::new();
                for (&(page, op), &choice) in trace.iter().zip(choices.iter().cycle()) {
                    if let Some(page) = memory.pick(choice.into())
                        && memory.is_dirty(page)
                    {
                        memory.write_back(page);
                    }
                    events.push(memory.reference(page, op));
                }
                assert_eq!(decisions(&events), expected, "{variant}, {frames} frames");
            }
        }
    }
}

/// What happens to pages in memory beside the references; `choice` says to which page.
#[derive(Clone, Copy, Debug)]
enum Beside {
    Pin(usize),
    Unpin(usize),
    WriteBack(usize),
}

/// One reference, what precedes it, and what happens while its victim, if it needs one, is leaving.
#[derive(Clone, Debug)]
struct Step {
    before: Vec<Beside>,
    while_leaving: Vec<Beside>,
}

fn beside() -> impl Strategy<Value = Vec<Beside>> {
    let choice = 0..64usize;
    let beside = prop_oneof![
        choice.clone().prop_map(Beside::Pin),
        choice.clone().prop_map(Beside::Unpin),
        choice.prop_map(Beside::WriteBack),
    ];
    prop::collection::vec(beside, 0..4)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step =
        (beside(), beside()).prop_map(|(before, while_leaving)| Step { before, while_leaving });
    prop::collection::vec(step, 1..60)
}

fn happen(memory: &mut Modelled, beside: &[Beside]) {
    for &beside in beside {
        let (Beside::Pin(choice) | Beside::Unpin(choice) | Beside::WriteBack(choice)) = beside;
        let Some(page) = memory.pick(choice) else { continue };
        match beside {
            Beside::Pin(_) if memory.unpinned_count() > 1 => memory.pin(page),
            Beside::Pin(_) => (),
            Beside::Unpin(_) => memory.unpin(page),
            Beside::WriteBack(_) if memory.is_dirty(page) => memory.write_back(page),
            Beside::WriteBack(_) => (),
        }
    }
}

/// CRAW went round forever: `R` and `W2` were ruled out as all pinned when the scan of `W1` moved the only
/// page that could leave to `W2`, and then was ruled out too.
#[test]
fn craw_finds_a_page_that_its_scan_has_moved_among_pinned_ones() {
    let writes = [0, 0, 1, 1, 2, 2, 3, 4, 5, 5, 6].map(|page| (page, Write));
    let trace = [&[(9, Read)], &writes[..]].concat();
    let (last, earlier) = trace.split_last().expect("references");
    let mut memory = Modelled::new("craw:c=8", 6, Bits::Exact, &trace);
    for &(page, op) in earlier {
        memory.reference(page, op);
    }
    assert_eq!(memory.resident_pages(), [0, 1, 2, 4, 5, 9], "W2 has 0, 1 and 2, W1 has 4 and 5");
    [9, 0, 1, 2, 4].into_iter().for_each(|page| memory.pin(page));
    assert_eq!(memory.reference(last.0, last.1).evicted, [(5, true)]);
}

/// Pins all pages in memory but those that are pinned already; returns the ones it pinned.
fn pin_all(memory: &mut Modelled) -> Vec<u32> {
    let mut pages = memory.resident_pages();
    pages.retain(|&page| !memory.is_pinned(page));
    pages.iter().for_each(|&page| memory.pin(page));
    pages
}

/// `Modelled` sees to it that a pinned page stays and that a hand leaves its bits alone.
fn assert_borne(trace: &[(u32, Op)], steps: &[Step], frames: u32) {
    for_all_variants(|variant, bits| {
        let mut memory = Modelled::new(variant, frames, bits, trace);
        for (&(page, op), step) in trace.iter().zip(steps.iter().cycle()) {
            happen(&mut memory, &step.before);
            if memory.needs_room_for(page) {
                memory.victim_for(page).expect("a frame is not pinned");
                happen(&mut memory, &step.while_leaving);
            }
            memory.reference(page, op);
        }
    });
}

proptest! {
    #![proptest_config(cases(4))]

    #[test]
    fn pins_and_write_backs_are_borne_by_larger_memories(
        trace in random_traces(160, 300),
        steps in steps(),
        frames in 50..140u32,
    ) {
        assert_borne(&trace, &steps, frames);
    }
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn pins_and_write_backs_at_any_time_are_borne(
        trace in traces(),
        steps in steps(),
        frames in 1..10u32,
    ) {
        assert_borne(&trace, &steps, frames);
    }

    #[test]
    fn when_all_frames_are_pinned_nothing_leaves_and_afterwards_all_is_as_before(
        trace in traces(),
        frames in 1..10u32,
    ) {
        for_all_variants(|variant, bits| {
            let expected = events(variant, frames, bits, &trace);
            let mut memory = Modelled::new(variant, frames, bits, &trace);
            for (position, &(page, op)) in trace.iter().enumerate() {
                if memory.needs_room_for(page) {
                    let pinned = pin_all(&mut memory);
                    assert_eq!(memory.victim_for(page), Err(AllPinned), "{variant}");
                    assert_eq!(memory.try_reference(page, op), Err(AllPinned), "{variant}");
                    pinned.into_iter().for_each(|page| memory.unpin(page));
                }
                let event = memory.reference(page, op);
                assert_eq!(event, expected[position], "{variant}, {bits:?}, {position}");
            }
        });
    }

    #[test]
    fn the_only_page_that_is_not_pinned_is_the_victim(
        trace in traces(),
        choices in prop::collection::vec(any::<u16>(), 1..40),
        frames in 1..10u32,
    ) {
        for_all_variants(|variant, bits| {
            let mut memory = Modelled::new(variant, frames, bits, &trace);
            for (&(page, op), &choice) in trace.iter().zip(choices.iter().cycle()) {
                if memory.needs_room_for(page) {
                    pin_all(&mut memory);
                    assert_eq!(memory.victim_for(page), Err(AllPinned), "{variant}");
                    let only = memory.pick(choice.into()).expect("a page in memory");
                    memory.unpin(only);
                    assert_eq!(memory.victim_for(page), Ok(only), "{variant}");
                }
                memory.reference(page, op);
            }
        });
    }
}
