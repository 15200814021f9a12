//! Two tiers of memory from outside: what `run_tier` returns for traces in memory.

use clockhand_policy::catalog::CATALOG;
use clockhand_sim::{Progress, RequestTable, TierOptions, TierRow, run_tier};
use proptest::prelude::*;

use crate::experiments::{PAGE_BYTES, cases, experiment, input, rows};

/// A policy's row with a fast tier, and a slow one of as many frames, if it has a limit.
fn tiered(table: &RequestTable, policy: &str, frames: u32, slow_frames: Option<u32>) -> TierRow {
    let placement = if slow_frames.is_some() { "fast" } else { "make-room" };
    let options = TierOptions {
        fast_frames: Some(frames.to_string()),
        slow_frames,
        policy: vec![policy.to_owned()],
        placement: Some(placement.to_owned()),
        ..TierOptions::default()
    };
    let experiment = options.experiment(vec![input("t", table.clone())], Some(1)).expect("options");
    let mut outcome = run_tier(&experiment, &Progress::default()).expect("it runs");
    outcome.cells.pop().expect("one cell").row
}

fn tables() -> impl Strategy<Value = RequestTable> {
    let reference = (0..9_u64, prop_oneof![2 => Just(false), 1 => Just(true)]);
    prop::collection::vec(reference, 1..60).prop_map(|references| RequestTable {
        is_write: references.iter().map(|&(_, is_write)| is_write).collect(),
        addresses: references.iter().map(|&(page, _)| page * PAGE_BYTES).collect(),
        ..RequestTable::default()
    })
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn page_policies_under_tiers_do_what_they_do_in_one_memory(
        table in tables(),
        frames in 1u32..6,
        which in any::<prop::sample::Index>(),
    ) {
        let names = CATALOG.iter().map(|entry| entry.description.name);
        let names: Vec<&str> = names.filter(|name| !name.starts_with("linux")).collect();
        let alone = tiered(&table, names[which.index(names.len())], frames, Some(0));
        // With every parameter: what depends on the costs of a device is the same then.
        let policy = alone.policy_resolved.as_str();
        let one = rows(&experiment(vec![input("t", table.clone())], &[policy], &[frames])).remove(0);
        let faults = alone.first_touches.unwrap() + alone.storage_faults.unwrap();
        prop_assert_eq!(Some(faults), one.misses, "{}", policy);
        // A policy that writes pages which stay has them clean when they leave; storage has not seen them.
        if one.write_backs == Some(0) {
            prop_assert_eq!(alone.storage_writes, one.dirty_evictions, "{}", policy);
        }
        let roomy = tiered(&table, policy, frames, None);
        prop_assert_eq!(roomy.fast_hits, one.hits, "{}", policy);
        let evictions = one.clean_evictions.unwrap() + one.dirty_evictions.unwrap();
        prop_assert_eq!(roomy.demotions, Some(evictions), "{}", policy);
    }
}
