//! Address translation from outside: what `run_translate` returns for traces in memory and on disk.

use std::path::Path;

use clockhand_policy::Ratio;
use clockhand_policy::catalog::CATALOG;
use clockhand_sim::{
    HugePages, MemorySize, Progress, RequestTable, SimError, Storage, TlbLevels, TraceInput,
    TranslateExperiment, TranslateRow, TranslationTimes, run_translate, simulate,
};
use clockhand_trace::{OpenOptions, Selection};
use proptest::prelude::*;

use crate::experiments::{cases, contestants, experiment, input, rows, table};

fn tlbs(tlb: &[&str], tlb2: &[&str]) -> Vec<TlbLevels> {
    let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    TlbLevels::parse_all(&owned(tlb), &owned(tlb2)).expect("TLBs")
}

fn translation(table: &RequestTable, frames: u32) -> TranslateExperiment {
    TranslateExperiment {
        intervals: clockhand_sim::Intervals::default(),
        traces: vec![input("t", table.clone())],
        page_sizes_bytes: vec![4096],
        tlbs: tlbs(&["4"], &[]),
        sizes: vec![MemorySize::Frames(frames)],
        policies: contestants(["clock"]),
        storage: vec![Storage::Ratio(Ratio::whole(10))],
        times: TranslationTimes::default(),
        charge_write_back: false,
        walk_levels: 1,
        walk_cache: 0,
        huge: None,
        prefetch: 0,
        no_swap: false,
        split: false,
        flush_on_switch: false,
        seed: 0,
        jobs: Some(1),
    }
}

fn translated(experiment: &TranslateExperiment) -> Vec<TranslateRow> {
    run_translate(experiment, &Progress::default()).expect("it runs").rows
}

fn refusal(experiment: &TranslateExperiment) -> String {
    match run_translate(experiment, &Progress::default()) {
        Err(SimError::Usage(sentence)) => sentence.to_string(),
        other => panic!("it was not refused: {other:?}"),
    }
}

/// Requests of up to 3 pages, in runs and in two streams.
fn tables() -> impl Strategy<Value = RequestTable> {
    let request =
        (any::<bool>(), prop_oneof![0..6_u64, 0..40_u64], 1..9000_u32, 0..4_usize, 0..2_u32);
    prop::collection::vec(request, 1..200).prop_map(|requests| {
        let mut table = RequestTable::default();
        let (mut sizes, mut streams) = (Vec::new(), Vec::new());
        for (is_write, page, bytes, times, stream) in requests {
            for repetition in 0..=times as u64 {
                table.is_write.push(is_write ^ (repetition == 2));
                table.addresses.push(page * 4096 + repetition * 512);
                sizes.push(bytes);
                streams.push(stream);
            }
        }
        RequestTable { sizes_bytes: Some(sizes), streams: Some(streams), ..table }
    })
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn memory_does_what_simulate_does_under_every_policy(table in tables(), frames in 1..30_u32) {
        let policies: Vec<&str> = CATALOG.iter().map(|entry| entry.description.name).collect();
        let mut translation = translation(&table, frames);
        translation.policies = contestants(policies.iter().copied());
        translation.storage = vec![Storage::Device("slc-nand".to_owned())];
        translation.split = true;
        let simulated =
            rows(&experiment(vec![input("t", table.clone())], &policies, &[frames]));
        let translated = translated(&translation);
        prop_assert_eq!(translated.len(), simulated.len());
        for (translated, simulated) in translated.iter().zip(&simulated) {
            prop_assert_eq!(&translated.policy_resolved, &simulated.policy_resolved);
            prop_assert_eq!(translated.references, simulated.references);
            prop_assert_eq!(translated.read_references, simulated.read_references.unwrap());
            prop_assert_eq!(Some(translated.page_faults), simulated.misses, "{}", translated.policy);
            prop_assert_eq!(translated.write_ios, simulated.write_ios, "{}", translated.policy);
            let evictions = simulated.clean_evictions.unwrap() + simulated.dirty_evictions.unwrap();
            prop_assert_eq!(translated.evictions, evictions);
        }
    }

    #[test]
    fn folding_runs_changes_no_count(table in tables(), frames in 1..30_u32, prefetch in 0..4_u32) {
        let mut folded = translation(&table, frames);
        let policies = CATALOG.iter().map(|entry| entry.description.name);
        folded.policies = contestants(policies);
        folded.tlbs = tlbs(&["0", "2", "8/4:plru", "6/2:random"], &["0", "8/4"]);
        folded.walk_levels = 3;
        folded.walk_cache = 2;
        folded.prefetch = prefetch;
        folded.no_swap = prefetch == 3;
        folded.flush_on_switch = prefetch == 2;
        // With huge pages, here too large for memory, no run is folded.
        let huge = Some(HugePages { bytes: 4096 << 6, share: Ratio::whole(1) });
        let single = TranslateExperiment { huge, ..folded.clone() };
        prop_assert_eq!(translated(&folded), translated(&single));
    }

    #[test]
    fn without_evictions_a_fully_associative_lru_tlb_misses_where_stack_distances_say(
        table in tables(),
    ) {
        let mut experiment = translation(&table, 1000);
        let sizes = ["0", "1", "2", "3", "5", "8", "13", "100"];
        experiment.tlbs = tlbs(&sizes, &[]);
        let streams = table.streams.as_ref().unwrap();
        let mut stack: Vec<(u32, u64)> = Vec::new();
        let mut distances = Vec::new();
        for (&address, &stream) in table.addresses.iter().zip(streams) {
            let page = (stream, address / 4096);
            let place = stack.iter().position(|&other| other == page);
            distances.push(place.map_or(usize::MAX, |place| place + 1));
            stack.retain(|&other| other != page);
            stack.insert(0, page);
        }
        for row in translated(&experiment) {
            let misses = distances.iter().filter(|&&distance| distance > row.tlb_entries as usize);
            prop_assert_eq!(row.tlb_misses, misses.count() as u64, "{} entries", row.tlb_entries);
        }
    }

    #[test]
    fn cells_of_one_grid_are_what_they_are_alone(table in tables()) {
        let mut grid = translation(&table, 5);
        grid.page_sizes_bytes = vec![4096, 512];
        grid.tlbs = tlbs(&["2", "8/2:random"], &["4", "0"]);
        grid.policies = contestants(["clock", "craw"]);
        grid.sizes = vec![MemorySize::Frames(5), MemorySize::Share { numerator: 1, denominator: 2 }];
        grid.storage = ["scm:ratio=1", "slc-nand"].map(|name| Storage::Device(name.to_owned())).into();
        grid.jobs = None;
        let mut alone = Vec::new();
        for &page_bytes in &grid.page_sizes_bytes {
            for &size in &grid.sizes {
                for policy in &grid.policies {
                    for &levels in &grid.tlbs {
                        for storage in &grid.storage {
                            alone.extend(translated(&TranslateExperiment {
                                page_sizes_bytes: vec![page_bytes],
                                sizes: vec![size],
                                policies: vec![policy.clone()],
                                tlbs: vec![levels],
                                storage: vec![storage.clone()],
                                jobs: Some(1),
                                ..grid.clone()
                            }));
                        }
                    }
                }
            }
        }
        prop_assert_eq!(translated(&grid), alone);
    }
}

#[test]
fn times_of_a_case_worked_by_hand() {
    // Pages 0 and 1, 4 frames: 2 faults, 2 TLB misses in 4 references; ratio 10: a page of 4 KiB takes 10 · 50 · 64 ns.
    let mut experiment = translation(&table("r0 w1 r0 w1"), 4);
    experiment.storage = vec![
        Storage::Ratio(Ratio::whole(10)),
        Storage::Device("slc-nand".to_owned()),
        Storage::Ratio("0.5".parse().unwrap()),
    ];
    experiment.times.fixed_ns = Ratio::whole(100);
    let rows = translated(&experiment);
    let times = |row: &TranslateRow| (row.t_addr_ns, row.t_data_ns, row.amat_ns);
    assert_eq!(times(&rows[0]), (Some(26.0), Some(16_100.0), Some(16_126.0)));
    assert_eq!((rows[0].storage_ratio, rows[0].device.as_deref()), (Some(10.0), None));
    // 50 µs a page.
    assert_eq!(times(&rows[1]), (Some(26.0), Some(25_100.0), Some(25_126.0)));
    assert_eq!((rows[1].storage_ratio, rows[1].device.as_deref()), (None, Some("slc-nand")));
    assert_eq!(times(&rows[2]).1, Some(50.0 + (100.0 + 1_600.0) / 2.0));
    assert_eq!(rows[0].page_table_bytes, 16);
}

#[test]
fn write_backs_and_pages_ahead_cost_what_the_rules_say() {
    // One frame: 1 leaves dirty for 2, 2 leaves clean for 0.
    let mut experiment = translation(&table("w1 r2 r0"), 1);
    experiment.charge_write_back = true;
    experiment.times.fixed_ns = Ratio::whole(3);
    experiment.storage =
        vec![Storage::Ratio(Ratio::whole(1)), Storage::Device("slc-nand".to_owned())];
    let rows = translated(&experiment);
    assert_eq!(rows[0].write_ios, 1);
    // With a ratio a write-back costs a fault's time, with a device its write alone.
    assert_eq!(rows[0].t_data_ns, Some(50.0 + 4.0 * 3_203.0 / 3.0));
    assert_eq!(rows[1].t_data_ns, Some(50.0 + (3.0 * 50_003.0 + 400_000.0) / 3.0));
    // Page 1 comes with 0, in one request: software adds its part once.
    let mut ahead = translation(&table("r0 r1"), 4);
    ahead.prefetch = 1;
    ahead.times.fixed_ns = Ratio::whole(3);
    let row = translated(&ahead).pop().unwrap();
    assert_eq!((row.page_faults, row.prefetched), (1, 1));
    assert_eq!(row.t_data_ns, Some(50.0 + (32_003.0 + 32_000.0) / 2.0));
}

#[test]
fn a_disk_seeks_once_for_a_fault_and_all_that_comes_with_it() {
    // Pages 1 and 2 come with 0; 4 would be a gap, and is not referenced before 5 is.
    let mut ahead = translation(&table("r0 r1 r2 r5"), 8);
    ahead.prefetch = 5;
    ahead.storage = vec![Storage::Device("hdd".to_owned())];
    let row = translated(&ahead).pop().unwrap();
    assert_eq!((row.page_faults, row.prefetched), (1, 3));
    // The set-up, four pages, and the gap of two.
    let request_ns: f64 = 34_700_000.0 / 3.0 + 6.0 * 20_480.0;
    let data_ns = row.t_data_ns.unwrap();
    assert!((data_ns - 50.0 - request_ns / 4.0).abs() < 1e-6, "{data_ns}");
}

#[test]
fn a_request_is_one_reference_to_its_first_byte_unless_it_is_split() {
    let mut table = table("r0 w5");
    table.sizes_bytes = Some(vec![3 * 4096, 0]);
    let mut experiment = translation(&table, 10);
    let of = |experiment: &TranslateExperiment| {
        let row = translated(experiment).pop().unwrap();
        (row.references, row.footprint_pages)
    };
    assert_eq!(of(&experiment), (1, 1));
    experiment.split = true;
    assert_eq!(of(&experiment), (3, 3));
}

#[test]
fn a_run_ends_when_it_is_cancelled() {
    let progress = Progress::default();
    progress.cancel();
    let result = run_translate(&translation(&table("r0 r1"), 4), &progress);
    assert!(matches!(result, Err(SimError::Interrupted)), "{result:?}");
}

#[test]
fn what_makes_no_sense_is_refused_in_one_sentence() {
    let table = table("r0 r1");
    let refused = |change: &dyn Fn(&mut TranslateExperiment)| {
        let mut experiment = translation(&table, 4);
        change(&mut experiment);
        refusal(&experiment)
    };
    let sentence = refused(&|experiment| experiment.sizes = vec![MemorySize::Bytes(4095)]);
    assert!(sentence.starts_with("--memory 4095 bytes holds no page of 4096 bytes"), "{sentence}");
    let sentence = refused(&|experiment| {
        experiment.huge = Some(HugePages::parse("12KiB").unwrap());
    });
    assert!(sentence.contains("is not 2, 4, 8, … pages of 4096 bytes"), "{sentence}");
    let sentence = refused(&|experiment| experiment.prefetch = 129);
    assert!(sentence.starts_with("--prefetch 129 is out of range"), "{sentence}");
    let sentence = refused(&|experiment| experiment.walk_levels = 0);
    assert!(sentence.starts_with("--walk-levels 0 is out of range"), "{sentence}");
    let sentence = refused(&|experiment| experiment.policies = contestants(["bound"]));
    assert!(sentence.starts_with("--policy bound"), "{sentence}");
    let sentence = refused(&|experiment| {
        experiment.storage = vec![Storage::Ratio(Ratio::whole(0))];
    });
    assert!(sentence.starts_with("--ratio 0"), "{sentence}");
    for text in ["", "2MiB:0", "2MiB:3/2", "2MiB:", "big", "2MiB:x"] {
        let error = HugePages::parse(text).unwrap_err().to_string();
        assert!(error.starts_with("--huge \""), "{text}: {error}");
    }
}

#[test]
fn pages_below_the_blocks_that_a_trace_numbers_are_refused() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../trace/tests/excerpts/oracle-general-opns.bin");
    let options = OpenOptions {
        format: Some("oracle-general-opns".to_owned()),
        assume_reads: true,
        ..OpenOptions::default()
    };
    let mut experiment = translation(&RequestTable::default(), 4);
    experiment.traces = vec![TraceInput::opened(file, options)];
    assert!(!translated(&experiment).is_empty());
    experiment.page_sizes_bytes = vec![4096, 512];
    let sentence = refusal(&experiment);
    assert!(sentence.contains("numbers blocks of 4096 bytes"), "{sentence}");
}

/// The sizes of LRU that `simulate` takes from one pass agree with memory behind a TLB on a real trace.
#[test]
fn a_captured_program_has_the_faults_that_simulate_counts() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces/tar-gzip.parquet");
    let first = Selection { limit: Some(50_000), ..Selection::default() };
    let trace = TraceInput::file(file).part(first);
    let share = |numerator| MemorySize::Share { numerator, denominator: 10 };
    let mut translation = translation(&RequestTable::default(), 1);
    translation.traces = vec![trace.clone()];
    translation.sizes = (1..8).map(share).collect();
    translation.policies = contestants(["lru"]);
    let mut simulation = experiment(vec![trace], &["lru"], &[]);
    simulation.sizes = translation.sizes.clone();
    let simulated = simulate(&simulation, &Progress::default()).expect("it runs").rows;
    let translated = translated(&translation);
    let faults: Vec<_> = translated.iter().map(|row| (row.frames, Some(row.page_faults))).collect();
    let misses: Vec<_> = simulated.iter().map(|row| (row.frames, row.misses)).collect();
    assert_eq!(faults, misses);
}
