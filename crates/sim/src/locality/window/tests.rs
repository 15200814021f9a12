//! Windows against what the rule says, looked up page by page.

use clockhand_trace::{Folding, Op, PageViewBuilder, Request};
use proptest::prelude::*;

use super::*;

/// P(k) and n(j), looked up page by page as the rule says it.
fn literal(references: &[(u64, bool)], frames: usize) -> (Vec<(u64, u64)>, Vec<u64>) {
    let mut stack: Vec<u64> = Vec::new();
    let mut resident: Vec<(u64, bool)> = Vec::new();
    let pages = references.iter().map(|&(page, _)| page).collect::<std::collections::BTreeSet<_>>();
    let mut probabilities = vec![(0, 0); pages.len()];
    let mut evictions = vec![0; frames];
    for (place, &(page, is_write)) in references.iter().enumerate() {
        if let Some(rank) = stack.iter().position(|&other| other == page) {
            stack.remove(rank);
            for (again, stood) in &mut probabilities[..=rank] {
                *again += 1;
                *stood += 1;
            }
        }
        stack.insert(0, page);
        if !references[place + 1..].iter().any(|&(other, _)| other == page) {
            let later: std::collections::BTreeSet<u64> =
                references[place + 1..].iter().map(|&(other, _)| other).collect();
            for (_, stood) in &mut probabilities[..=later.len()] {
                *stood += 1;
            }
        }
        let mut dirty = is_write;
        if let Some(at) = resident.iter().position(|&(other, _)| other == page) {
            dirty |= resident.remove(at).1;
        } else if resident.len() == frames {
            // From the most recent page on; the last one leaves.
            if resident[frames - 1].1
                && let Some(clean) = resident.iter().rposition(|&(_, dirty)| !dirty)
            {
                evictions[clean] += 1;
            }
            resident.pop();
        }
        resident.insert(0, (page, dirty));
    }
    (probabilities, evictions)
}

fn observed(references: &[(u64, bool)], frames: u32) -> Observed {
    let mut builder = PageViewBuilder::new(4096, Folding::None).unwrap();
    for &(page, is_write) in references {
        let op = if is_write { Op::Write } else { Op::Read };
        builder.push(&Request::new(op, page * 4096, 1));
    }
    Observed::of(&builder.finish().unwrap(), frames, &Progress::default()).unwrap()
}

fn costs() -> Costs {
    let device = Device::named_or_file("slc-nand").unwrap();
    Costs::of(&device.page_cost(4096).unwrap())
}

/// The sums as fractions, each of them.
fn exact(observed: &Observed, costs: &Costs) -> (Vec<f64>, u32) {
    let (mut sum, mut best, mut best_window) = (BigRational::zero(), BigRational::zero(), 0);
    let mut benefits_us = Vec::new();
    for window in 1..=observed.frames {
        sum +=
            term(observed, costs, observed.frames - window + 1).unwrap_or_else(BigRational::zero);
        if sum > best {
            (best, best_window) = (sum.clone(), window);
        }
        benefits_us.push(sum.to_f64().unwrap());
    }
    (benefits_us, best_window)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn positions_and_windows_are_those_of_the_rule(
        references in prop::collection::vec((0_u64..12, any::<bool>()), 1..120),
        frames in 1_u32..15,
    ) {
        let observed = observed(&references, frames);
        let (probabilities, evictions) = literal(&references, frames as usize);
        for position in 1..=probabilities.len() as u32 {
            prop_assert_eq!(observed.probability(position), Some(probabilities[position as usize - 1]));
        }
        prop_assert_eq!(observed.probability(probabilities.len() as u32 + 1), None);
        let counted = &observed.dirty_evictions;
        prop_assert_eq!(&counted[..], &evictions[..counted.len()]);
        let (benefits_us, best) = benefits(&observed, &costs());
        let (exact_us, exact_best) = exact(&observed, &costs());
        prop_assert_eq!(best, exact_best);
        prop_assert_eq!(benefits_us, exact_us);
    }
}

#[test]
fn a_clean_page_behind_a_dirty_one_makes_a_window_worth_while() {
    // With two frames page 2 is clean when page 1, dirty, is to leave, and is never wanted again.
    let observed = observed(&[(1, true), (2, false), (3, false)], 2);
    assert_eq!(observed.dirty_evictions, [1, 0]);
    let (benefits_us, best) = benefits(&observed, &costs());
    assert_eq!((benefits_us, best), (vec![0.0, 400.0], 2));
}
