//! The mappings beside the plain page mapping against their slow twins, event by event, with every option, and their
//! invariants after every step.

use crate::journal::Journal;
use clockhand_device::flash::{
    Allocation, CachePolicy, Counters, DftlOptions, Drive, Frontiers, Ftl, FtlOptions, Geometry,
    LogBlocks, LogicalPage, Mapping, MinimumFree, PageOptions, Refused, Separation, SlcFull,
    SlcOptions, VictimRule, ZoneFault, ZoneOptions, ZoneWrites,
};
use clockhand_twins::{
    DftlRules, DftlTwin, FlashClasses, FlashRules, FlashTwin, LogBlockRules, LogBlockTwin,
    SlcRules, ZoneRefusal, ZoneRules, ZonedTwin,
};
use proptest::prelude::*;

/// A drive whose pools have what their mapping needs and `spare` blocks more.
#[derive(Debug, Clone)]
struct Case {
    geometry: Geometry,
    options: FtlOptions,
}

/// Dies, pages of a block, logical pages, spare blocks.
type Shape = (u32, u32, u32, u32);

fn shape() -> impl Strategy<Value = Shape> {
    (1_u32..4, prop_oneof![1_u32..9, Just(65)], 1_u32..60, 0_u32..5)
}

fn geometry((dies, pages_per_block, ..): Shape, blocks_per_plane: u32) -> Geometry {
    Geometry { channels: dies, blocks_per_plane, ..Geometry::one_pool(1, pages_per_block, 4096) }
}

/// Requests: a page; what is done with it in the low bits; a stream.
fn requests() -> impl Strategy<Value = Vec<(u32, u8, u32)>> {
    let page = prop_oneof![
        3 => any::<u32>(),
        // Few pages make hot ones.
        2 => 0_u32..6,
    ];
    let random = proptest::collection::vec((page, any::<u8>(), 0_u32..5), 1..300);
    // Runs of pages make switches and partial merges.
    let runs = proptest::collection::vec((0_u32..60, 1_u32..20), 1..30).prop_map(|runs| {
        let pages = runs.into_iter().flat_map(|(first, pages)| first..first + pages);
        pages.map(|page| (page, 0_u8, 0_u32)).collect::<Vec<_>>()
    });
    let both = (runs.clone(), random.clone()).prop_map(|(mut runs, random)| {
        runs.extend(random.into_iter().take(60));
        runs
    });
    prop_oneof![random, runs, both]
}

fn has_trim(what: u8) -> bool {
    what % 16 == 15
}

fn has_read(what: u8) -> bool {
    what % 4 == 2
}

fn erase_counts(mut erases: Vec<u32>) -> Vec<(u32, u32)> {
    erases.sort_unstable();
    erases.chunk_by(|left, right| left == right).map(|same| (same[0], same.len() as u32)).collect()
}

fn log_block_case() -> impl Strategy<Value = (bool, Case)> {
    let given = (proptest::option::of(1_u32..6), proptest::option::of(1_u32..6));
    (shape(), any::<bool>(), given).prop_map(|(shape, shares, (log_blocks, endurance_erases))| {
        let (dies, pages_per_block, logical_pages, spare) = shape;
        let least = if shares { 2 } else { 1 };
        let log = LogBlocks { log_blocks: log_blocks.map(|blocks| blocks.max(least)) };
        let data = logical_pages.div_ceil(dies).div_ceil(pages_per_block);
        let blocks = data + log.log_blocks.unwrap_or(least) + 1 + spare;
        let mapping = if shares { Mapping::Fast(log) } else { Mapping::Bast(log) };
        let options = FtlOptions {
            mapping,
            allocation: Allocation::Striped,
            endurance_erases,
            ..FtlOptions::new(logical_pages)
        };
        (shares, Case { geometry: geometry(shape, blocks), options })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn log_blocks_are_merged_as_the_twin_does(
        (shares, Case { geometry, options }) in log_block_case(),
        requests in requests(),
    ) {
        let (Mapping::Bast(log) | Mapping::Fast(log)) = options.mapping else { unreachable!() };
        let mut twin = LogBlockTwin::new(LogBlockRules {
            shares,
            pools: geometry.dies() as usize,
            blocks_per_pool: geometry.blocks_per_plane as usize,
            pages_per_block: geometry.pages_per_block as usize,
            logical_pages: options.logical_pages,
            log_blocks: log.log_blocks.map(|blocks| blocks as usize),
            endurance: options.endurance_erases,
        });
        let logical_pages = options.logical_pages;
        let mut ftl = Ftl::new(geometry, options).unwrap();
        for (step, (page, what, _)) in requests.into_iter().enumerate() {
            let page = page % logical_pages;
            if has_trim(what) {
                ftl.trim(page..page + 1, &mut Counters::default());
                twin.trim(page);
            } else {
                let mut journal = Journal::default();
                let done = ftl.write(LogicalPage(page), &mut journal).is_ok();
                prop_assert_eq!((journal.0, done), twin.write(page), "step {}", step);
                if !done {
                    break;
                }
            }
            prop_assert_eq!(ftl.check_invariants(), Ok(()), "step {}", step);
        }
        for page in 0..logical_pages {
            prop_assert_eq!(ftl.find(LogicalPage(page)).map(|at| at.0), twin.find(page));
        }
        let counts = ftl.counts();
        let merges = (counts.switch_merges, counts.partial_merges, counts.full_merges);
        prop_assert_eq!(merges, twin.merges());
        prop_assert_eq!(ftl.wear().blocks_by_erases, erase_counts(twin.erases()));
    }
}

fn dftl_case(shape: impl Strategy<Value = Shape>) -> impl Strategy<Value = Case> {
    let victim = prop_oneof![
        3 => Just(VictimRule::Greedy), 1 => Just(VictimRule::Fifo), 1 => Just(VictimRule::DChoices(2)),
        1 => Just(VictimRule::CostBenefit),
    ];
    let cache = (1_u32..20, any::<bool>(), any::<bool>(), 1_u32..9);
    let wear = (proptest::option::of(1_u32..4), proptest::option::of(1_u32..8));
    let rules = (victim, any::<bool>(), 2_u32..5, wear);
    (shape, cache, rules).prop_map(|(shape, cache, (victim, separate, free, wear))| {
        let (dies, pages_per_block, logical_pages, spare) = shape;
        let (cmt_entries, is_segmented, batch_eviction, entries) = cache;
        let dftl = DftlOptions {
            cmt_entries,
            cmt_policy: if is_segmented { CachePolicy::SegmentedLru } else { CachePolicy::Lru },
            entry_bytes: 4096 / entries,
            batch_eviction,
        };
        let entries = 4096 / dftl.entry_bytes;
        let (wear_levelling, endurance_erases) = wear;
        let open = 1 + u32::from(wear_levelling.is_some());
        let data = logical_pages.div_ceil(dies) / pages_per_block + free + open;
        let translation = logical_pages.div_ceil(entries).div_ceil(dies).div_ceil(pages_per_block);
        let options = FtlOptions {
            mapping: Mapping::Dftl(dftl),
            allocation: Allocation::Striped,
            victim,
            frontiers: if separate { Frontiers::Separate } else { Frontiers::Shared },
            minimum_free: MinimumFree::Blocks(free),
            wear_levelling,
            endurance_erases,
            ..FtlOptions::new(logical_pages)
        };
        Case { geometry: geometry(shape, data + 2 * translation + free + spare), options }
    })
}

/// The rules of a page-mapped twin.
pub(crate) fn flash_rules(geometry: &Geometry, options: &FtlOptions) -> FlashRules {
    let classes = match options.mapping.separation() {
        Separation::Off => FlashClasses::Off,
        Separation::Stream(streams) => FlashClasses::Streams(streams.into()),
        Separation::Temperature { hot_within } => {
            FlashClasses::Temperature(hot_within.unwrap_or(options.logical_pages).into())
        }
    };
    FlashRules {
        dies: geometry.dies() as usize,
        blocks_per_die: geometry.blocks_per_plane as usize,
        pages_per_block: geometry.pages_per_block as usize,
        logical_pages: options.logical_pages,
        victim: options.victim.to_string(),
        separate: options.frontiers == Frontiers::Separate,
        minimum_free: options.minimum_free.blocks(geometry.blocks_per_plane) as usize,
        wear_limit: options.wear_limit,
        wear_levelling: options.wear_levelling,
        endurance: options.endurance_erases,
        seed: options.seed,
        classes,
        slc: options.mapping.slc().map(|slc| SlcRules {
            blocks: slc.blocks as usize,
            bits_per_cell: slc.bits_per_cell as usize,
            folds: slc.full == SlcFull::Fold,
        }),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn a_map_on_flash_is_kept_as_the_twin_does(
        case in dftl_case(shape()),
        requests in requests(),
    ) {
        let Mapping::Dftl(dftl) = case.options.mapping else { unreachable!() };
        let mut twin = DftlTwin::new(DftlRules {
            data: flash_rules(&case.geometry, &case.options),
            entries_per_page: 4096 / dftl.entry_bytes,
            cmt_entries: dftl.cmt_entries as usize,
            is_segmented: dftl.cmt_policy == CachePolicy::SegmentedLru,
            batch_eviction: dftl.batch_eviction,
        });
        let logical_pages = case.options.logical_pages;
        let mut ftl = Ftl::new(case.geometry, case.options.clone()).unwrap();
        for (step, (page, what, _)) in requests.into_iter().enumerate() {
            let page = page % logical_pages;
            let mut journal = Journal::default();
            if has_trim(what) {
                ftl.trim(page..page + 1, &mut journal);
                let expected = twin.trim(page);
                if twin.is_worn_out() {
                    break;
                }
                prop_assert_eq!(journal.0, expected, "step {}", step);
            } else if has_read(what) {
                ftl.read(LogicalPage(page), &mut journal);
                let expected = twin.read(page);
                if twin.is_worn_out() {
                    prop_assert!(ftl.write(LogicalPage(page), &mut Counters::default()).is_err());
                    break;
                }
                prop_assert_eq!(journal.0, expected, "step {}", step);
            } else {
                let done = ftl.write(LogicalPage(page), &mut journal).is_ok();
                let (events, expected_done) = twin.write(page);
                prop_assert_eq!(done, expected_done, "step {}", step);
                if !done {
                    break;
                }
                prop_assert_eq!(journal.0, events, "step {}", step);
            }
            if case.options.endurance_erases.is_none() {
                prop_assert!(twin.map_is_kept(), "step {}", step);
            }
            prop_assert_eq!(ftl.check_invariants(), Ok(()), "step {}", step);
        }
        let counts = ftl.counts();
        prop_assert_eq!((counts.cmt_hits, counts.cmt_misses), twin.look_ups());
    }

    #[test]
    fn a_cache_of_all_entries_leaves_the_data_as_a_page_map_does(
        mut case in dftl_case(shape().prop_map(|(_, pages, logical, spare)| (1, pages, logical, spare))),
        requests in requests(),
    ) {
        let Mapping::Dftl(dftl) = &mut case.options.mapping else { unreachable!() };
        dftl.cmt_entries = case.options.logical_pages;
        case.options.endurance_erases = None;
        let Case { geometry, options } = case;
        let Mapping::Dftl(dftl) = &options.mapping else { unreachable!() };
        let translation_pages = options.logical_pages.div_ceil(4096 / dftl.entry_bytes);
        let region = 2 * translation_pages.div_ceil(geometry.pages_per_block)
            + options.minimum_free.blocks(geometry.blocks_per_plane);
        let data = Geometry { blocks_per_plane: geometry.blocks_per_plane - region, ..geometry };
        let whole = FtlOptions { mapping: Mapping::default(), ..options.clone() };
        let mut cached = Drive::new(geometry, options).unwrap();
        let mut plain = Drive::new(data, whole).unwrap();
        for (page, what, _) in requests {
            let page = LogicalPage(page % cached.ftl().options().logical_pages);
            match has_trim(what) {
                true => prop_assert_eq!(cached.trim(page), plain.trim(page)),
                false => {
                    cached.write(page).unwrap();
                    plain.write(page).unwrap();
                }
            }
        }
        prop_assert_eq!(cached.counters().relocations, plain.counters().relocations);
        prop_assert_eq!(cached.counters().host_writes, plain.counters().host_writes);
    }
}

fn apart_case() -> impl Strategy<Value = Case> {
    let victim = prop_oneof![
        3 => Just(VictimRule::Greedy), 1 => Just(VictimRule::Fifo), 1 => Just(VictimRule::Random),
        1 => Just(VictimRule::CostBenefit),
    ];
    let separation = prop_oneof![
        1 => Just(Separation::Off),
        2 => (1_u8..4).prop_map(Separation::Stream),
        2 => proptest::option::of(0_u32..30).prop_map(|hot_within| Separation::Temperature { hot_within }),
    ];
    let slc = proptest::option::of((1_u32..4, 1_u32..4, any::<bool>()));
    let wear = (proptest::option::of(1_u32..4), proptest::option::of(1_u32..8));
    let rules = (victim, any::<bool>(), 2_u32..5, wear, any::<u64>());
    (shape(), separation, slc, rules).prop_map(|(shape, separation, slc, rules)| {
        let (dies, pages_per_block, logical_pages, spare) = shape;
        let (victim, separate, free, (wear_levelling, endurance_erases), seed) = rules;
        let free =
            if matches!(separation, Separation::Temperature { .. }) { free.max(3) } else { free };
        let slc = slc.filter(|(_, bits_per_cell, _)| *bits_per_cell <= pages_per_block);
        let slc = slc.map(|(blocks, bits_per_cell, folds)| SlcOptions {
            blocks,
            bits_per_cell,
            full: if folds { SlcFull::Fold } else { SlcFull::Direct },
        });
        let open = separation.classes() + u32::from(wear_levelling.is_some());
        let main = logical_pages.div_ceil(dies) / pages_per_block + free + open + spare;
        let options = FtlOptions {
            mapping: Mapping::Page(PageOptions { slc, separation }),
            allocation: Allocation::Striped,
            victim,
            frontiers: if separate { Frontiers::Separate } else { Frontiers::Shared },
            minimum_free: MinimumFree::Blocks(free),
            wear_levelling,
            endurance_erases,
            seed,
            ..FtlOptions::new(logical_pages)
        };
        Case { geometry: geometry(shape, main + slc.map_or(0, |slc| slc.blocks)), options }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn pages_are_kept_apart_and_folded_as_the_twin_does(case in apart_case(), requests in requests()) {
        let logical_pages = case.options.logical_pages;
        let mut twin = FlashTwin::new(flash_rules(&case.geometry, &case.options));
        let mut ftl = Ftl::new(case.geometry, case.options.clone()).unwrap();
        for (step, (page, what, stream)) in requests.into_iter().enumerate() {
            let page = page % logical_pages;
            if has_trim(what) {
                ftl.trim(page..page + 1, &mut Counters::default());
                twin.trim(page);
                continue;
            }
            ftl.wrote(LogicalPage(page), stream);
            twin.wrote(page, stream);
            // A buffer keeps some pages back.
            if has_read(what) {
                continue;
            }
            let mut journal = Journal::default();
            let done = ftl.write(LogicalPage(page), &mut journal).is_ok();
            let expected = twin.write(page);
            prop_assert_eq!(done, expected.1, "step {}", step);
            if !done {
                break;
            }
            prop_assert_eq!(journal.0, expected.0, "step {}", step);
            prop_assert_eq!(ftl.check_invariants(), Ok(()), "step {}", step);
        }
        prop_assert_eq!(ftl.wear().blocks_by_erases, erase_counts(twin.erases()));
    }
}

fn refusal(refused: Refused) -> ZoneRefusal {
    match refused {
        Refused::Zone(ZoneFault::NotAtPointer { pointer, .. }) => ZoneRefusal::Pointer(pointer.0),
        Refused::Zone(ZoneFault::Full { .. }) => ZoneRefusal::Full,
        Refused::Zone(ZoneFault::ManyOpen { .. }) => ZoneRefusal::Open,
        Refused::WornOut => unreachable!("blocks last for ever"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn zones_are_written_and_reset_as_the_twin_does(
        (dies, pages_per_block, blocks) in (1_u32..5, 1_u32..5, 1_u32..6),
        (zone_blocks, appends, max_open_zones) in (1_u32..6, any::<bool>(), proptest::option::of(1_u32..4)),
        requests in proptest::collection::vec((any::<u32>(), 0_u8..8, 1_u32..20), 1..200),
    ) {
        prop_assume!(zone_blocks <= dies * blocks);
        let geometry = geometry((dies, pages_per_block, 0, 0), blocks);
        let mut twin = ZonedTwin::new(ZoneRules {
            dies: dies as usize,
            blocks_per_die: blocks as usize,
            pages_per_block: pages_per_block as usize,
            zone_blocks: zone_blocks as usize,
            appends,
            max_open_zones: max_open_zones.map(|zones| zones as usize),
        });
        let writes = if appends { ZoneWrites::Append } else { ZoneWrites::Strict };
        let options = FtlOptions {
            mapping: Mapping::Zoned(ZoneOptions { zone_blocks, writes, max_open_zones }),
            ..FtlOptions::new(twin.pages() as u32)
        };
        let mut ftl = Ftl::new(geometry, options).unwrap();
        let pages = twin.pages() as u32;
        for (step, (page, what, length)) in requests.into_iter().enumerate() {
            let page = page % pages;
            let mut journal = Journal::default();
            if what == 7 {
                let trimmed = page..(page + length).min(pages);
                ftl.trim(trimmed.clone(), &mut journal);
                prop_assert_eq!(journal.0, twin.trim(trimmed), "step {}", step);
                continue;
            }
            // Mostly where the zone goes on, which a page that was refused says.
            let page = match twin.write(page) {
                Err(ZoneRefusal::Pointer(pointer)) if what > 1 => {
                    prop_assert!(ftl.write(LogicalPage(page), &mut Journal::default()).is_err());
                    let written = twin.write(pointer).unwrap();
                    ftl.write(LogicalPage(pointer), &mut journal).unwrap();
                    prop_assert_eq!(journal.0, vec![written], "step {}", step);
                    pointer
                }
                Err(expected) => {
                    let refused = ftl.write(LogicalPage(page), &mut journal).unwrap_err();
                    prop_assert_eq!(refusal(refused), expected, "step {}", step);
                    page
                }
                Ok(written) => {
                    ftl.write(LogicalPage(page), &mut journal).unwrap();
                    prop_assert_eq!(journal.0, vec![written], "step {}", step);
                    page
                }
            };
            let at = ftl.read(LogicalPage(page), &mut Counters::default());
            prop_assert_eq!(at.map(|at| at.0), twin.find(page));
            prop_assert_eq!(ftl.check_invariants(), Ok(()), "step {}", step);
        }
        let counts = ftl.counts();
        prop_assert_eq!(
            (counts.ignored_trims, counts.misplaced_writes),
            (twin.ignored_trims, twin.misplaced_writes)
        );
    }
}

#[test]
fn whole_blocks_overwritten_in_order_only_switch() {
    for mapping in [Mapping::Bast(LogBlocks::default()), Mapping::Fast(LogBlocks::default())] {
        let options = FtlOptions { mapping, ..FtlOptions::new(64) };
        let mut drive = Drive::new(Geometry::one_pool(12, 8, 4096), options).unwrap();
        (0..640).for_each(|write| drive.write(LogicalPage(write % 64)).unwrap());
        assert_eq!(drive.counters().write_amplification(), Some(1.0));
        let counts = drive.mapping_counts();
        assert_eq!((counts.partial_merges, counts.full_merges), (0, 0));
        assert!(counts.switch_merges > 0);
    }
}
