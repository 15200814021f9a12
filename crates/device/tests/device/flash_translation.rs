//! The flash translation layer against its slow twin, event by event, with every option; and its invariants after every step.

use crate::flash_mappings::flash_rules;
use crate::journal::Journal;
use clockhand_device::flash::{
    Allocation, Counters, Frontiers, Ftl, FtlOptions, Geometry, LogicalPage, MinimumFree,
    VictimRule,
};
use clockhand_twins::FlashTwin;
use proptest::prelude::*;

/// A tiny drive with some options.
#[derive(Debug, Clone)]
struct Case {
    geometry: Geometry,
    options: FtlOptions,
}

fn case() -> impl Strategy<Value = Case> {
    let victim = prop_oneof![
        Just(VictimRule::Greedy),
        Just(VictimRule::Fifo),
        Just(VictimRule::Random),
        (1_u32..5).prop_map(VictimRule::DChoices),
        Just(VictimRule::CostBenefit),
    ];
    let shape = (1_u32..4, prop_oneof![1_u32..9, Just(65)], 2_u32..5, 1_u32..30, 0_u32..5);
    let wear = (
        proptest::option::of(0_u32..4),
        proptest::option::of(1_u32..5),
        proptest::option::of(1_u32..8),
    );
    (shape, victim, any::<bool>(), wear, any::<u64>()).prop_map(
        |((dies, pages_per_block, free, logical, spare), victim, separate, wear, seed)| {
            let (wear_limit, wear_levelling, endurance_erases) = wear;
            let compares_all = matches!(victim, VictimRule::Greedy | VictimRule::CostBenefit);
            let open = 1 + u32::from(wear_levelling.is_some());
            let blocks_per_plane = logical.div_ceil(dies) / pages_per_block + free + open + spare;
            Case {
                geometry: Geometry {
                    channels: dies,
                    blocks_per_plane,
                    ..Geometry::one_pool(1, pages_per_block, 4096)
                },
                options: FtlOptions {
                    allocation: Allocation::Striped,
                    victim,
                    frontiers: if separate { Frontiers::Separate } else { Frontiers::Shared },
                    minimum_free: MinimumFree::Blocks(free),
                    wear_limit: wear_limit.filter(|_| compares_all),
                    wear_levelling,
                    endurance_erases,
                    seed,
                    ..FtlOptions::new(logical)
                },
            }
        },
    )
}

fn twin(Case { geometry, options }: &Case) -> FlashTwin {
    FlashTwin::new(flash_rules(geometry, options))
}

fn erase_counts(twin: &FlashTwin) -> Vec<(u32, u32)> {
    let mut erases = twin.erases();
    erases.sort_unstable();
    erases.chunk_by(|left, right| left == right).map(|same| (same[0], same.len() as u32)).collect()
}

/// Gives the same requests to both. A request above the logical pages is a trim.
fn compare(case: &Case, requests: &[u32], check: bool) -> Result<(), TestCaseError> {
    let mut ftl = Ftl::new(case.geometry, case.options.clone()).unwrap();
    let mut twin = twin(case);
    let logical_pages = case.options.logical_pages;
    for (step, request) in requests.iter().enumerate() {
        if request % 16 == 15 {
            let page = request / 16 % logical_pages;
            ftl.trim(page..page + 1, &mut Counters::default());
            twin.trim(page);
            prop_assert_eq!(ftl.read(LogicalPage(page), &mut Counters::default()), None);
        } else {
            let page = request / 16 % logical_pages;
            let mut journal = Journal::default();
            let done = ftl.write(LogicalPage(page), &mut journal).is_ok();
            let expected = twin.write(page);
            prop_assert_eq!((journal.0, done), expected, "step {}", step);
            if !done {
                break;
            }
            prop_assert!(ftl.read(LogicalPage(page), &mut Counters::default()).is_some());
        }
        if check {
            prop_assert_eq!(ftl.check_invariants(), Ok(()), "step {}", step);
        }
    }
    prop_assert_eq!(ftl.wear().blocks_by_erases, erase_counts(&twin));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn every_event_is_the_twins_and_every_step_keeps_the_invariants(
        case in case(),
        requests in proptest::collection::vec(any::<u32>(), 1..400),
    ) {
        compare(&case, &requests, true)?;
    }
}

/// Gives each run of pages to the drive at once, and to the twin page by page; after each run, the first page is trimmed.
fn compare_many(case: &Case, runs: &[Vec<u32>]) -> Result<(), TestCaseError> {
    let mut ftl = Ftl::new(case.geometry, case.options.clone()).unwrap();
    let mut twin = twin(case);
    let logical_pages = case.options.logical_pages;
    for (step, run) in runs.iter().enumerate() {
        let pages: Vec<_> = run.iter().map(|page| LogicalPage(page % logical_pages)).collect();
        let (mut journal, mut expected, mut expected_done) = (Journal::default(), Vec::new(), true);
        let done = ftl.write_all(&pages, &mut journal).is_ok();
        for page in &pages {
            let (events, is_done) = twin.write(page.0);
            expected.extend(events);
            expected_done = is_done;
            if !is_done {
                break;
            }
        }
        prop_assert_eq!((journal.0, done), (expected, expected_done), "step {}", step);
        prop_assert_eq!(ftl.check_invariants(), Ok(()), "step {}", step);
        if !done {
            break;
        }
        ftl.trim(pages[0].0..pages[0].0 + 1, &mut Counters::default());
        twin.trim(pages[0].0);
    }
    prop_assert_eq!(ftl.wear().blocks_by_erases, erase_counts(&twin));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn pages_written_at_once_are_the_twins_one_after_the_other(
        case in case(),
        runs in proptest::collection::vec(proptest::collection::vec(any::<u32>(), 1..90), 1..12),
        in_order in any::<bool>(),
    ) {
        let follow = |run: &Vec<u32>| (0..run.len() as u32).map(|page| run[0] % 7 + page).collect();
        let runs: Vec<Vec<u32>> = if in_order { runs.iter().map(follow).collect() } else { runs };
        compare_many(&case, &runs)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn a_long_run_on_a_larger_drive_is_the_twins(
        victim in prop_oneof![
            Just(VictimRule::Greedy), Just(VictimRule::Fifo), Just(VictimRule::DChoices(3)),
            Just(VictimRule::Random), Just(VictimRule::CostBenefit),
        ],
        seed in any::<u64>(),
        requests in proptest::collection::vec(any::<u32>(), 3000),
    ) {
        let geometry = Geometry::one_pool(80, 8, 4096);
        let options = FtlOptions { victim, seed, ..FtlOptions::new(500) };
        compare(&Case { geometry, options }, &requests, false)?;
    }
}

#[test]
fn the_example_of_the_textbook_rule() {
    let mut ftl = Ftl::new(Geometry::one_pool(5, 4, 4096), FtlOptions::new(8)).unwrap();
    let mut counters = Counters::default();
    for page in [0, 1, 2, 3, 4, 5, 6, 7, 0, 4, 1, 5, 0, 4, 0, 4, 2] {
        ftl.write(LogicalPage(page), &mut counters).unwrap();
        assert_eq!(ftl.check_invariants(), Ok(()));
    }
    assert_eq!((counters.host_writes, counters.flash_programs(), counters.erases), (17, 21, 2));
}
