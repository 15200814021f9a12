//! What a drive counts, keeps and refuses: preconditioning, trims, wear, end of life, capacity and memory.

use std::convert::Infallible;
use std::ops::ControlFlow;

use clockhand_device::flash::{
    Allocation, Counters, Drive, EndOfLife, FlashError, Frontiers, Ftl, FtlOptions, Geometry,
    LogicalPage, MinimumFree, Precondition, VictimRule, WriteError,
    uniform_random_write_amplification,
};

const GEOMETRY: Geometry = Geometry::one_pool(128, 16, 4096);
const LOGICAL_PAGES: u32 = 1780;

fn drive(options: FtlOptions) -> Drive {
    Drive::new(GEOMETRY, options).unwrap()
}

fn age(drive: &mut Drive, precondition: &str) -> clockhand_device::flash::Preconditioned {
    let keep_on = |_| ControlFlow::<Infallible>::Continue(());
    let Ok(aged) = drive.precondition(precondition.parse().unwrap(), 3, keep_on);
    aged
}

/// Overwrites a tenth of the pages again and again, from the start; returns the error that ended it.
fn overwrite_hot_pages(drive: &mut Drive, writes: u32) -> Option<EndOfLife> {
    (0..writes).find_map(|write| match drive.write(LogicalPage(write * 7 % (LOGICAL_PAGES / 10))) {
        Err(WriteError::EndOfLife(end)) => Some(end),
        Err(WriteError::Zone(_)) => unreachable!("the drive has no zones"),
        Ok(()) => None,
    })
}

#[test]
fn a_new_drive_says_that_collection_never_started() {
    let mut new = drive(FtlOptions::new(LOGICAL_PAGES));
    assert_eq!(new.counters().write_amplification(), None);
    age(&mut new, "fill");
    assert_eq!(new.counters(), Counters::default());
    for page in 0..100 {
        new.write(LogicalPage(page)).unwrap();
    }
    assert!(!new.counters().collection_started());
    assert_eq!(new.counters().write_amplification(), Some(1.0));
    overwrite_hot_pages(&mut new, 1000);
    assert!(new.counters().collection_started());
}

#[test]
fn preconditioning_leaves_no_trace_in_counters_and_wear() {
    for precondition in ["none", "fill", "random:2.5", "random"] {
        let mut aged = drive(FtlOptions::new(LOGICAL_PAGES));
        let done = age(&mut aged, precondition);
        assert_eq!(aged.counters(), Counters::default(), "{precondition}");
        assert_eq!(aged.wear().blocks_by_erases, [(0, 128)], "{precondition}");
        let expected = match precondition {
            "none" => 0,
            "fill" => u64::from(LOGICAL_PAGES),
            "random:2.5" => u64::from(LOGICAL_PAGES * 7 / 2),
            _ => done.host_writes,
        };
        assert_eq!(done.host_writes, expected, "{precondition}");
        let filled = (0..LOGICAL_PAGES).all(|page| aged.read(LogicalPage(page)));
        assert_eq!(filled, precondition != "none");
        assert_eq!(aged.ftl().check_invariants(), Ok(()));
    }
}

#[test]
fn random_without_a_number_ends_when_the_drive_is_steady() {
    let geometry = Geometry::one_pool(1024, 64, 4096);
    let mut large = Drive::new(geometry, FtlOptions::new(57_000)).unwrap();
    let done = age(&mut large, "random");
    assert!(done.is_steady);
    let drive_writes = done.host_writes / 57_000;
    assert!((3..30).contains(&drive_writes), "{drive_writes}");
    let steady = done.write_amplification.unwrap();
    let alpha = large.capacity().alpha();
    let exact = uniform_random_write_amplification(VictimRule::Greedy, alpha, 64).unwrap();
    assert!((steady / exact - 1.0).abs() < 0.02, "{steady} {exact}");
}

#[test]
fn preconditioning_can_be_broken_off_and_tells_its_progress() {
    let geometry = Geometry::one_pool(4096, 64, 4096);
    let mut large = Drive::new(geometry, FtlOptions::new(230_000)).unwrap();
    let mut told = Vec::new();
    let broken_off = large.precondition("random:20".parse().unwrap(), 0, |pages| {
        told.push(pages);
        if told.len() == 2 { ControlFlow::Break("enough") } else { ControlFlow::Continue(()) }
    });
    assert_eq!(broken_off, Err("enough"));
    assert_eq!(told, [1 << 20, 2 << 20]);
}

#[test]
fn what_is_trimmed_is_not_relocated() {
    let mut kept = drive(FtlOptions::new(LOGICAL_PAGES));
    age(&mut kept, "random:3");
    let mut trimmed = kept.clone();
    for page in LOGICAL_PAGES / 2..LOGICAL_PAGES {
        assert!(trimmed.trim(LogicalPage(page)));
        assert!(!trimmed.trim(LogicalPage(page)), "it is there no more");
        assert!(!trimmed.read(LogicalPage(page)));
    }
    assert_eq!(trimmed.ftl().check_invariants(), Ok(()));
    for write in 0..5000 {
        let page = LogicalPage(write * 7919 % (LOGICAL_PAGES / 2));
        kept.write(page).unwrap();
        trimmed.write(page).unwrap();
    }
    let relocations = |drive: &Drive| drive.counters().relocations;
    assert!(relocations(&trimmed) * 4 < relocations(&kept));
}

#[test]
fn wear_adds_up_to_the_erases() {
    let mut worn = drive(FtlOptions::new(LOGICAL_PAGES));
    age(&mut worn, "fill");
    overwrite_hot_pages(&mut worn, 20_000);
    let wear = worn.wear();
    let blocks: u32 = wear.blocks_by_erases.iter().map(|(_, blocks)| blocks).sum();
    let erases: u64 =
        wear.blocks_by_erases.iter().map(|(erases, blocks)| u64::from(erases * blocks)).sum();
    assert_eq!((blocks, erases), (128, worn.counters().erases));
    assert_eq!(wear.erases_mean(), erases as f64 / 128.0);
    assert!(wear.erases_min() < wear.erases_max());
}

#[test]
fn wear_levelling_narrows_the_spread_of_hot_and_cold_pages() {
    let spread = |options: FtlOptions| {
        let mut worn = drive(options);
        age(&mut worn, "fill");
        overwrite_hot_pages(&mut worn, 60_000);
        assert_eq!(worn.ftl().check_invariants(), Ok(()));
        worn.wear().erases_max() - worn.wear().erases_min()
    };
    let plain = FtlOptions::new(LOGICAL_PAGES);
    let unlevelled = spread(plain.clone());
    let static_wear = spread(FtlOptions { wear_levelling: Some(10), ..plain });
    assert!(unlevelled > 60, "{unlevelled}");
    assert!(static_wear <= 25, "{static_wear}");
}

#[test]
fn a_wear_aware_choice_spares_worn_blocks() {
    let spread = |wear_limit| {
        let mut worn = drive(FtlOptions { wear_limit, ..FtlOptions::new(LOGICAL_PAGES) });
        age(&mut worn, "fill");
        for round in 0..8000 {
            overwrite_hot_pages(&mut worn, 9);
            worn.write(LogicalPage(round * 7919 % LOGICAL_PAGES)).unwrap();
        }
        worn.wear().erases_max() - worn.wear().erases_min()
    };
    let (unaware, aware) = (spread(None), spread(Some(5)));
    assert!(unaware > 2 * aware, "{aware} of {unaware}");
}

#[test]
fn a_worn_out_drive_says_after_how_many_writes_and_keeps_its_data() {
    let endurance_erases = Some(20);
    let mut mortal = drive(FtlOptions { endurance_erases, ..FtlOptions::new(LOGICAL_PAGES) });
    age(&mut mortal, "random:5");
    assert_eq!(mortal.wear().retired_blocks, 0, "preconditioning wears nothing out");
    let end = overwrite_hot_pages(&mut mortal, u32::MAX).unwrap();
    assert_eq!(end.host_writes, mortal.counters().host_writes);
    assert_eq!(end.retired_blocks, mortal.wear().retired_blocks);
    // 128 blocks, of which 111 hold the logical pages, and three are kept free or are being written.
    assert!((1..=15).contains(&end.retired_blocks), "{end:?}");
    assert_eq!(mortal.wear().erases_max(), 20);
    assert!((0..LOGICAL_PAGES).all(|page| mortal.read(LogicalPage(page))));
    assert_eq!(mortal.write(LogicalPage(0)), Err(WriteError::EndOfLife(end)), "it stays worn out");
    assert_eq!(mortal.ftl().check_invariants(), Ok(()));
}

#[test]
fn wear_levelling_lengthens_a_drives_life() {
    let life = |wear_levelling| {
        let endurance_erases = Some(100);
        let options =
            FtlOptions { endurance_erases, wear_levelling, ..FtlOptions::new(LOGICAL_PAGES) };
        let mut mortal = drive(options);
        age(&mut mortal, "fill");
        overwrite_hot_pages(&mut mortal, u32::MAX).unwrap().host_writes
    };
    assert!(life(Some(10)) > 2 * life(None), "{} {}", life(Some(10)), life(None));
}

#[test]
fn lifetime_is_the_endurance_over_the_wear_so_far() {
    let mut worn = drive(FtlOptions::new(LOGICAL_PAGES));
    assert_eq!(worn.lifetime(3000), None, "nothing was erased");
    age(&mut worn, "random:3");
    overwrite_hot_pages(&mut worn, 17_800);
    let lifetime = worn.lifetime(3000).unwrap();
    // Each host page takes its write amplification of the raw capacity's endurance.
    let raw_pages = 128.0 * 16.0;
    let erased_pages = worn.counters().erases as f64 * 16.0 / 17_800.0;
    let expected = 3000.0 * raw_pages / erased_pages / f64::from(LOGICAL_PAGES);
    assert!((lifetime.drive_writes / expected - 1.0).abs() < 1e-9);
    assert!(lifetime.drive_writes_to_first_block < lifetime.drive_writes);
    let per_day = lifetime.drive_writes_per_day(5.0);
    assert!((per_day * 5.0 * 365.0 - lifetime.drive_writes).abs() < 1e-6);
    assert!((lifetime.years(per_day) - 5.0).abs() < 1e-9);
}

#[test]
fn capacity_says_what_is_for_what() {
    let striped = Geometry { channels: 2, dies_per_channel: 2, blocks_per_plane: 32, ..GEOMETRY };
    let options = FtlOptions {
        allocation: Allocation::Striped,
        minimum_free: "10%".parse::<MinimumFree>().unwrap(),
        ..FtlOptions::new(1600)
    };
    let capacity = Drive::new(striped, options).unwrap().capacity();
    assert_eq!((capacity.raw_pages, capacity.logical_pages), (2048, 1600));
    assert_eq!((capacity.reserve_pages, capacity.minimum_free_pages), (448, 4 * 4 * 16));
    assert_eq!(capacity.reserve_of_raw(), 448.0 / 2048.0);
    assert_eq!(capacity.reserve_of_logical(), 0.28);
    assert_eq!(capacity.alpha(), (2048.0 - 256.0) / 1600.0);
}

#[test]
fn ten_bytes_per_page_hold_everything() {
    let rules = ["greedy", "fifo", "d-choices:10", "random", "cost-benefit"];
    for (pages_per_block, blocks) in [(64, 4096), (256, 1024), (1152, 512), (2304, 200)] {
        for rule in rules {
            let geometry = Geometry::one_pool(blocks, pages_per_block, 4096);
            let options = FtlOptions {
                victim: rule.parse().unwrap(),
                frontiers: Frontiers::Separate,
                ..FtlOptions::new((geometry.raw_pages() * 93 / 100) as u32)
            };
            let bytes = Ftl::new(geometry, options).unwrap().memory_bytes() as u64;
            assert!(bytes <= 10 * geometry.raw_pages(), "{rule}, {pages_per_block}: {bytes}");
            assert!(bytes >= 8 * geometry.raw_pages() * 93 / 100, "the maps alone take more");
        }
    }
}

#[test]
fn what_makes_no_drive_is_refused_with_a_remedy() {
    let options = FtlOptions::new(LOGICAL_PAGES);
    let refused = |geometry: Geometry, options: FtlOptions| {
        Drive::new(geometry, options).expect_err("it is refused")
    };
    let no_spare = refused(GEOMETRY, FtlOptions::new(128 * 16));
    assert!(matches!(no_spare, FlashError::NoOverProvisioning { required: 131, .. }), "{no_spare}");
    assert!(no_spare.to_string().contains("raise the over-provisioning"));
    for (geometry, options) in [
        (Geometry { channels: 0, ..GEOMETRY }, options.clone()),
        (Geometry { page_bytes: 0, ..GEOMETRY }, options.clone()),
        (Geometry { pages_per_block: 65_536, ..GEOMETRY }, options.clone()),
        (Geometry { channels: u32::MAX, blocks_per_plane: u32::MAX, ..GEOMETRY }, options.clone()),
        (Geometry { channels: 1 << 20, dies_per_channel: 1 << 10, ..GEOMETRY }, options.clone()),
        (GEOMETRY, FtlOptions::new(0)),
        (GEOMETRY, FtlOptions { minimum_free: MinimumFree::Blocks(1), ..options.clone() }),
        (GEOMETRY, FtlOptions { minimum_free: "50%".parse().unwrap(), ..options.clone() }),
        (GEOMETRY, FtlOptions { victim: VictimRule::DChoices(0), ..options.clone() }),
        (GEOMETRY, FtlOptions { endurance_erases: Some(0), ..options.clone() }),
        (GEOMETRY, FtlOptions { victim: VictimRule::Fifo, wear_limit: Some(3), ..options.clone() }),
    ] {
        let sentence = refused(geometry, options).to_string();
        assert!(sentence.contains(", ") || sentence.contains("; "), "no remedy: {sentence}");
        assert!(!sentence.contains("  "), "{sentence}");
    }
}

#[test]
fn words_that_are_no_rule_are_refused_and_the_others_read_back() {
    for text in ["greedy", "fifo", "random", "d-choices:2", "cost-benefit"] {
        assert_eq!(text.parse::<VictimRule>().unwrap().to_string(), text);
    }
    for text in ["", "lru", "d-choices", "d-choices:", "d-choices:0", "d-choices:-1"] {
        assert!(text.parse::<VictimRule>().unwrap_err().contains("use greedy"), "{text}");
    }
    for text in ["fill", "none", "random", "random:3", "random:0.5"] {
        assert_eq!(text.parse::<Precondition>().unwrap().to_string(), text);
    }
    for text in ["", "full", "random:", "random:-1", "random:x", "random:1000001", "random:0"] {
        assert!(text.parse::<Precondition>().unwrap_err().contains("use fill"), "{text}");
    }
    for text in ["2", "5%", "0.5%"] {
        assert_eq!(text.parse::<MinimumFree>().unwrap().to_string(), text);
    }
    for text in ["", "-2", "100%", "x%", "2.5"] {
        assert!(text.parse::<MinimumFree>().unwrap_err().contains("write 2 or 5%"), "{text}");
    }
}
