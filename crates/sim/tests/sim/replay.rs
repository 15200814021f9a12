//! Replays of views as they are made inside: folded or not, numbered in other orders, in groups.

use std::num::NonZeroU64;

use clockhand_policy::Ratio;
use clockhand_policy::catalog::{CATALOG, Kind, PolicySpec};
use clockhand_sim::Counts;
use clockhand_sim::inside::{BLOCK_RECORDS, counts_of_view};
use clockhand_trace::{Folding, Numbering, PageView, PageViewBuilder, Request};

const PAGE_BYTES: u64 = 4096;

fn view(pages: &[(u64, bool)], folding: Folding) -> PageView {
    numbered_view(pages, folding, Numbering::ByAddress)
}

fn numbered_view(pages: &[(u64, bool)], folding: Folding, numbering: Numbering) -> PageView {
    let builder = PageViewBuilder::new(PAGE_BYTES, folding).expect("a power of two");
    let mut builder = builder.numbered(numbering);
    for &(page, is_write) in pages {
        let op = if is_write { clockhand_trace::Op::Write } else { clockhand_trace::Op::Read };
        builder.push(&Request::new(op, page * PAGE_BYTES, 1));
    }
    builder.finish().expect("few pages")
}

fn replay(policy: &str, frames: u32, view: &PageView, is_observed: bool) -> Counts {
    let spec = PolicySpec::parse(policy).expect("a policy of the catalog");
    let policy = spec.resolve(frames, Ratio::whole(8)).expect("the defaults fit");
    counts_of_view(view, &policy, frames, is_observed).expect("nothing fails")
}

/// Runs of up to four references to pages near a moving centre.
fn references_in_runs() -> Vec<(u64, bool)> {
    let mut number = 1u64;
    let mut references = Vec::new();
    for position in 0..2000 {
        number = number.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let page = position / 100 + (number >> 33) % 12;
        let run = 0..=(number >> 40) % 4;
        references.extend(run.map(|bit| (page, number >> (50 + bit) & 1 == 0)));
    }
    references
}

#[test]
fn a_policy_that_counts_references_is_told_of_each_one_in_a_run() {
    let reads = |pages: &[u64]| pages.iter().map(|&page| (page, false)).collect::<Vec<_>>();
    // Page 2 has three references and page 1 two: 1 leaves for 3, and 2 is still there at the end.
    let view = view(&reads(&[1, 2, 2, 2, 1, 3, 2]), Folding::Runs);
    assert_eq!(replay("lfu", 2, &view, false).read_misses, 3);
}

/// A policy counts the same on both views, at several sizes.
fn assert_same_counts(name: &str, left: &PageView, right: &PageView) {
    for frames in [1, 2, 5, 9, 20] {
        let [left, right] = [left, right].map(|view| replay(name, frames, view, false));
        assert_eq!(left, right, "{name}, {frames} frames");
    }
}

#[test]
fn folding_runs_changes_no_count() {
    let references = references_in_runs();
    // No run crosses the end of a period of cflru-dynamic.
    let runs = Folding::RunsWithin(NonZeroU64::new(1000).expect("not 0"));
    let [folded, unfolded] = [runs, Folding::None].map(|folding| view(&references, folding));
    assert!(folded.records().len() < unfolded.records().len(), "there are runs");
    for entry in CATALOG.iter().filter(|entry| entry.kind != Kind::Offline) {
        assert_same_counts(entry.description.name, &folded, &unfolded);
    }
}

#[test]
fn numbering_pages_by_first_touch_changes_no_count() {
    // Neighbours become strangers, so that a policy that compares or hashes numbers would notice.
    let references: Vec<_> =
        references_in_runs().iter().map(|&(page, writes)| (page * 7919 % 1021, writes)).collect();
    let [by_address, by_first_touch] = [Numbering::ByAddress, Numbering::ByFirstTouch]
        .map(|numbering| numbered_view(&references, Folding::None, numbering));
    assert_ne!(by_address.records(), by_first_touch.records());
    for entry in CATALOG {
        assert_same_counts(entry.description.name, &by_address, &by_first_touch);
    }
}

#[test]
fn records_in_groups_count_as_records_one_by_one_do() {
    // Parts of which half and nearly all references hit take turns, and the last group is not whole. An observed replay
    // goes record by record.
    let mut random = clockhand_policy::SplitMix64::new(7);
    let part =
        |number: usize| if (number / (3 * BLOCK_RECORDS)).is_multiple_of(2) { 64 } else { 8 };
    let references: Vec<_> = (0..12 * BLOCK_RECORDS + 3)
        .map(|number| (random.next() % part(number), random.next().is_multiple_of(3)))
        .collect();
    let view = view(&references, Folding::None);
    for entry in CATALOG.iter().filter(|entry| entry.kind == Kind::BitDriven) {
        let name = entry.description.name;
        for frames in [1, 6, 32] {
            let [observed, counted] =
                [true, false].map(|is_observed| replay(name, frames, &view, is_observed));
            assert_eq!(counted, observed, "{name}, {frames} frames");
        }
    }
}
