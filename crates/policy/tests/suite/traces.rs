//! Reference strings: random ones with a fixed seed, and small ones by hand.

use clockhand_policy::Op;
use clockhand_policy::Op::{Read, Write};
pub use clockhand_twins::cases;
use proptest::prelude::*;

/// A reference string over dense page ids.
pub type Trace = Vec<(u32, Op)>;

/// References with some locality: a page near a slowly moving centre, sometimes any page.
pub fn traces(pages: u32, length: usize) -> impl Strategy<Value = Trace> {
    let reference = (0..pages, 0..4u32, 0..10u32, any::<bool>());
    (1..=10u32, prop::collection::vec(reference, 1..length)).prop_map(
        move |(writes, references)| {
            let mut centre = 0;
            let mut trace = Vec::new();
            for (any_page, near, share, moves) in references {
                centre = if moves { (centre + 1) % pages } else { centre };
                let page = if share == 0 { any_page } else { (centre + near) % pages };
                trace.push((page, if share < writes { Write } else { Read }));
                if near == 0 {
                    trace.push((page, if share.is_multiple_of(2) { Write } else { Read }));
                }
            }
            trace
        },
    )
}

/// Runs of references to one page each, as a folded trace has them.
pub fn runs(pages: u32, length: usize) -> impl Strategy<Value = Vec<(u32, Vec<Op>)>> {
    let op = prop_oneof![Just(Read), Just(Write)];
    prop::collection::vec((0..pages, prop::collection::vec(op, 1..5)), 1..length)
}

/// The same pages, each only read or only written.
pub fn only(op: Op, trace: &[(u32, Op)]) -> Trace {
    trace.iter().map(|&(page, _)| (page, op)).collect()
}

/// The number of pages that ids must be below.
pub fn page_count(trace: &[(u32, Op)]) -> u32 {
    trace.iter().map(|&(page, _)| page + 1).max().unwrap_or(0)
}

/// The number of distinct pages.
pub fn footprint(trace: &[(u32, Op)]) -> usize {
    trace.iter().map(|&(page, _)| page).collect::<std::collections::BTreeSet<_>>().len()
}

/// The shapes on which replacement goes wrong first.
pub fn by_hand() -> Vec<Trace> {
    let alternating = |position: u32| if position.is_multiple_of(2) { Read } else { Write };
    vec![
        vec![],
        vec![(0, Read)],
        vec![(0, Write); 5],
        (0..12).map(|position| (position % 2, alternating(position / 2))).collect(),
        (0..40).map(|position| (position % 5, Read)).collect(),
        (0..40).map(|position| (position % 5, Write)).collect(),
        (0..40).map(|position| (position % 5, alternating(position))).collect(),
        (0..20).map(|position| (19 - position, alternating(position))).collect(),
        (0..40).map(|position| ((position * position) % 11, alternating(position / 3))).collect(),
    ]
}
