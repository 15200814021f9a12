//! Warm-up and intervals of every study: parts of a trace add up to the whole, and memory is warm where they begin.

use std::sync::Arc;

use clockhand_sim::{
    FileCacheOptions, LocalityOptions, PageCacheSettings, PagesOptions, Progress, RequestTable,
    SimError, SsdOptions, TierOptions, TraceInput, TranslateOptions, Wanted, analyze_locality,
    run_filecache, run_pagecache, run_ssd, run_tier, run_translate, simulate,
};
use proptest::prelude::*;
use serde_json::{Map, Value};

const PAGE_BYTES: u64 = 4096;

type Rows = Vec<Map<String, Value>>;

/// Requests of one to three pages near a centre that moves, with times that stand still now and then.
fn table(seed: u64, requests: u64) -> RequestTable {
    let mut state = seed | 1;
    let mut random = move |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let (mut table, mut time_ns) = (RequestTable::default(), 5_000_000);
    let (mut sizes, mut times) = (Vec::new(), Vec::new());
    for position in 0..requests {
        table.is_write.push(random(3) == 0);
        table.addresses.push((position / 40 * 7 + random(24)) * PAGE_BYTES);
        sizes.push(((1 + random(3)) * PAGE_BYTES) as u32);
        time_ns += random(3) * 1_000_000;
        times.push(time_ns);
    }
    RequestTable { sizes_bytes: Some(sizes), times_ns: Some(times), ..table }
}

fn input(table: &RequestTable) -> Vec<TraceInput> {
    vec![TraceInput::table("made", Arc::new(table.clone()))]
}

fn objects(rows: &[impl serde::Serialize]) -> Rows {
    let object = |row: &_| match serde_json::to_value(row).unwrap() {
        Value::Object(object) => object,
        other => panic!("{other} is no row"),
    };
    rows.iter().map(object).collect()
}

/// The rows of the cells and of their intervals.
type Ran = Result<(Rows, Rows), SimError>;

/// A study, run with a warm-up and intervals.
struct Asked {
    name: &'static str,
    /// Columns that are added up.
    counts: &'static [&'static str],
    run: fn(&RequestTable, Option<String>, Option<String>) -> Ran,
}

/// Runs with the options of a study; the last argument is what its engine is called.
macro_rules! ran {
    ($options:ident { $($field:ident: $value:expr),* }, $run:ident) => {
        |table, warm_up, every| {
            let options = $options { warm_up, every, $($field: $value,)* ..$options::default() };
            let outcome = $run(&options.experiment(input(table), Some(1))?, &Progress::default())?;
            Ok((objects(&outcome.rows), objects(&outcome.intervals)))
        }
    };
}

fn list(text: &str) -> Vec<String> {
    text.split(';').map(str::to_owned).collect()
}

const POLICIES: &str = "lru;clock;nru:mode=periodic,period=7;min;cflru:window_pages=4;lfu";

const STUDIES: [Asked; 6] = [
    Asked {
        name: "pages",
        counts: &[
            "references",
            "read_references",
            "write_references",
            "hits",
            "misses",
            "read_misses",
            "write_misses",
            "read_ios",
            "write_ios",
            "clean_evictions",
            "dirty_evictions",
            "write_backs",
            "flush_writes",
            "hand_movements",
        ],
        run: ran!(
            PagesOptions {
                policy: list(POLICIES),
                frames: Some("8,40".to_owned()),
                flush_at_end: true,
                hand_ns: Some(3)
            },
            simulate
        ),
    },
    Asked {
        name: "filecache",
        counts: &[
            "references",
            "read_references",
            "write_references",
            "hits",
            "misses",
            "admitted",
            "bypassed",
            "evictions",
            "dirty_evictions",
            "bypassed_writes",
            "flush_writes",
        ],
        run: ran!(
            FileCacheOptions {
                policy: list("lru;fifo"),
                capacity: Some("0,8,40".to_owned()),
                admission: list("always;second-touch;write-around;tinylfu"),
                device: list("hdd;slc-nand"),
                flush_at_end: true
            },
            run_filecache
        ),
    },
    Asked {
        name: "translate",
        counts: &[
            "references",
            "tlb_hits",
            "tlb_misses",
            "page_faults",
            "tlb2_hits",
            "walks",
            "walk_accesses",
            "write_ios",
            "prefetched",
            "evictions",
            "hits",
        ],
        run: ran!(
            TranslateOptions {
                policy: list("lru;clock"),
                frames: Some("8,40".to_owned()),
                tlb: list("4;8/2"),
                tlb2: list("16"),
                ratio: list("10"),
                prefetch: 1,
                split: true
            },
            run_translate
        ),
    },
    Asked {
        name: "pagecache",
        counts: &[
            "references",
            "hits",
            "misses",
            "read_ios",
            "write_ios",
            "clean_evictions",
            "dirty_evictions",
            "zero_fills",
        ],
        run: ran!(
            PageCacheSettings {
                policy: list("lru;clock;min"),
                frames: Some("8,40".to_owned()),
                flush_at_end: true
            },
            run_pagecache
        ),
    },
    Asked {
        name: "tier",
        counts: &[
            "references",
            "read_references",
            "write_references",
            "fast_hits",
            "fast_reads",
            "fast_writes",
            "slow_reads",
            "slow_writes",
            "first_touches",
            "promotions",
            "demotions",
            "migrated_bytes",
        ],
        run: |table, warm_up, every| {
            let options = TierOptions {
                policy: list("lru;tpp"),
                fast_frames: Some("8".to_owned()),
                tiers: list("cxl"),
                warm_up,
                every,
                ..TierOptions::default()
            };
            let outcome =
                run_tier(&options.experiment(input(table), Some(1))?, &Progress::default())?;
            let rows: Vec<_> = outcome.cells.iter().map(|cell| cell.row.clone()).collect();
            let intervals = outcome.cells.iter().flat_map(|cell| cell.intervals.clone());
            Ok((objects(&rows), objects(&intervals.collect::<Vec<_>>())))
        },
    },
    Asked {
        name: "ssd",
        counts: &[
            "references",
            "read_references",
            "write_references",
            "read_hits",
            "write_hits",
            "dirty_pages_flushed",
            "clean_pages_flushed",
            "batches",
            "host_writes",
            "flash_programs",
            "erases",
            "relocations",
            "flash_reads",
        ],
        run: |table, warm_up, every| {
            let options = SsdOptions {
                buffer: list("lru:total=8;fab:total=16;none"),
                ssd: list("small"),
                precondition: "none".to_owned(),
                map: "compact".to_owned(),
                drain: true,
                warm_up,
                every,
                ..SsdOptions::default()
            };
            let outcome =
                run_ssd(&options.experiment(input(table), Some(1))?, &Progress::default())?;
            let rows: Vec<_> = outcome.cells.iter().map(|cell| cell.row.clone()).collect();
            let intervals = outcome.cells.iter().flat_map(|cell| cell.intervals.clone());
            Ok((objects(&rows), objects(&intervals.collect::<Vec<_>>())))
        },
    },
];

/// Intervals by the cell that they belong to: each begins with number 0.
fn by_cell(intervals: &Rows) -> Vec<Vec<&Map<String, Value>>> {
    let mut cells: Vec<Vec<_>> = Vec::new();
    for row in intervals {
        if row["interval"] == 0 || cells.is_empty() {
            cells.push(Vec::new());
        }
        cells.last_mut().unwrap().push(row);
    }
    cells
}

fn count(row: &Map<String, Value>, column: &str) -> u64 {
    row.get(column).and_then(Value::as_u64).unwrap_or(0)
}

fn whole_is_sum(study: &Asked, whole: &Rows, intervals: &Rows, what: &str) {
    let cells = by_cell(intervals);
    assert_eq!(cells.len(), whole.len(), "{} {what}", study.name);
    for (row, intervals) in whole.iter().zip(cells) {
        for column in study.counts {
            let sum: u64 = intervals.iter().map(|interval| count(interval, column)).sum();
            assert_eq!(sum, count(row, column), "{} {what}: {column} of {row:?}", study.name);
        }
        let mut reference = intervals[0]["from_reference"].as_u64().unwrap();
        for interval in intervals {
            assert_eq!(count(interval, "from_reference"), reference, "{} {what}", study.name);
            reference += count(interval, "references");
        }
    }
}

proptest! {
    #![proptest_config(crate::experiments::cases(6))]

    #[test]
    fn intervals_add_up_to_the_whole_and_a_warm_up_leaves_the_first_out(
        seed in 0u64.., every in 1u64..150, ms in 1u64..80
    ) {
        let table = table(seed, 160);
        for study in &STUDIES {
            let (whole, none) = (study.run)(&table, None, None).unwrap();
            prop_assert!(none.is_empty());
            for every in [every.to_string(), format!("{ms}ms")] {
                let (rows, intervals) = (study.run)(&table, None, Some(every.clone())).unwrap();
                prop_assert_eq!(&rows.len(), &whole.len());
                for (row, whole) in rows.iter().zip(&whole) {
                    for column in study.counts {
                        prop_assert_eq!(count(row, column), count(whole, column), "{} {}", study.name, column);
                    }
                }
                whole_is_sum(study, &whole, &intervals, &every);
            }
            // The counts after a warm-up are those of the whole less the first interval of the same
            // length.
            let warm_up = Some(every.to_string());
            let (_, intervals) = (study.run)(&table, None, warm_up.clone()).unwrap();
            let (warm, none) = (study.run)(&table, warm_up.clone(), None).unwrap();
            prop_assert!(none.is_empty());
            for ((row, whole), intervals) in warm.iter().zip(&whole).zip(by_cell(&intervals)) {
                for column in study.counts {
                    let first = count(intervals[0], column);
                    prop_assert_eq!(
                        count(row, column), count(whole, column) - first, "{} {}", study.name, column
                    );
                }
            }
            let (rows, intervals) = (study.run)(&table, warm_up, Some("31".to_owned())).unwrap();
            prop_assert_eq!(&rows, &warm);
            whole_is_sum(study, &rows, &intervals, "after a warm-up");
        }
    }
}

#[test]
fn a_span_of_time_has_the_references_that_come_within_it() {
    let table = RequestTable {
        is_write: vec![false; 6],
        addresses: (0..6).map(|page| page * PAGE_BYTES).collect(),
        // The fourth runs back, and counts as the one before.
        times_ns: Some([10, 1_010, 2_010, 1_000, 9_010, 9_020].map(|us| us * 1_000).to_vec()),
        ..RequestTable::default()
    };
    let (_, intervals) =
        (STUDIES[0].run)(&table, Some("1ms".to_owned()), Some("2ms".to_owned())).unwrap();
    let cells = by_cell(&intervals);
    let expected = cells[0].iter().map(|row| {
        [&row["interval"], &row["from_reference"], &row["from_us"], &row["references"]]
            .map(Value::to_string)
    });
    // From 1 ms after the first request: [1, 3), nothing in [3, 5) and [5, 7), and [7, 9] with what comes at 9 ms in [9, 11).
    assert_eq!(
        expected.collect::<Vec<_>>(),
        [["0", "1", "1000.0", "3"], ["4", "4", "9000.0", "2"]].map(|row| row.map(str::to_owned))
    );
}

#[test]
fn a_share_is_of_all_references_and_rounded_down() {
    let table = table(3, 50);
    let (whole, _) = (STUDIES[0].run)(&table, None, None).unwrap();
    let references = count(&whole[0], "references");
    let (rows, _) = (STUDIES[0].run)(&table, Some("33%".to_owned()), None).unwrap();
    assert_eq!(count(&rows[0], "references"), references - references * 33 / 100);
}

fn refusal(
    study: &Asked,
    table: &RequestTable,
    warm_up: Option<&str>,
    every: Option<&str>,
) -> String {
    let refused = (study.run)(table, warm_up.map(str::to_owned), every.map(str::to_owned));
    refused.unwrap_err().to_string()
}

#[test]
fn what_makes_no_sense_is_refused_by_every_study() {
    let timed = table(9, 50);
    let untimed = RequestTable { times_ns: None, ..timed.clone() };
    for study in &STUDIES {
        for (warm_up, every, expected) in [
            (Some("0"), None, "--warm-up \"0\" is no part of a trace"),
            (Some("100%"), None, "--warm-up 100% is no share below 100%"),
            (Some("5000"), None, "--warm-up leaves nothing to count"),
            (Some("1h"), None, "--warm-up leaves nothing to count"),
            (None, Some("0"), "--every \"0\" is no interval"),
            (None, Some("often"), "--every \"often\" is no interval"),
            (None, Some("20%"), "--every \"20%\" is no interval"),
        ] {
            let refused = refusal(study, &timed, warm_up, every);
            assert!(refused.contains(expected), "{}: {refused}", study.name);
        }
        let refused = refusal(study, &untimed, None, Some("5ms"));
        assert!(refused.contains("the trace has no times"), "{}: {refused}", study.name);
    }
}

#[test]
fn what_knows_only_a_whole_trace_is_refused() {
    let traces = || input(&table(1, 50));
    let every = || Some("10".to_owned());
    let refused = |result: Result<(), SimError>| result.unwrap_err().to_string();
    for policy in ["bound", "opt-feasible"] {
        let options = PagesOptions {
            policy: list(policy),
            frames: Some("4".to_owned()),
            every: every(),
            ..PagesOptions::default()
        };
        let ran = simulate(&options.experiment(traces(), None).unwrap(), &Progress::default());
        assert!(
            refused(ran.map(drop))
                .starts_with(&format!("--policy {policy} knows only a whole trace"))
        );
    }
    let options = SsdOptions {
        buffer: list("none"),
        ssd: list("small"),
        repeat: "2".to_owned(),
        every: every(),
        ..SsdOptions::default()
    };
    let ran = run_ssd(&options.experiment(traces(), None).unwrap(), &Progress::default());
    assert!(refused(ran.map(drop)).contains("leave out --repeat"));
    let options =
        SsdOptions { buffer: list("none"), timed: true, every: every(), ..SsdOptions::default() };
    let ran = options.experiment(traces(), None);
    assert!(refused(ran.map(drop)).contains("no span of time, which --timed needs"));
}

#[test]
fn locality_counts_the_pages_of_each_interval() {
    let pages = [1, 2, 1, 3, 3, 3, 1, 4];
    let table = RequestTable {
        is_write: [false, true, true, false, false, true, false, false].to_vec(),
        addresses: pages.map(|page| page * PAGE_BYTES).to_vec(),
        ..RequestTable::default()
    };
    let options = LocalityOptions {
        every: Some("3".to_owned()),
        warm_up: Some("2".to_owned()),
        ..LocalityOptions::default()
    };
    let [trace] = input(&table).try_into().unwrap();
    let mut study = options.study(trace, None).unwrap();
    let refused = analyze_locality(&study, &Progress::default()).unwrap_err().to_string();
    assert!(refused.contains("--rows intervals"), "{refused}");
    study.wanted = Wanted {
        curve: false,
        inter_reference: false,
        rankings: false,
        working_sets: false,
        blocks: 0,
    };
    let found = analyze_locality(&study, &Progress::default()).unwrap();
    let expected = found.intervals.iter().map(|it| {
        (
            it.from_reference,
            it.read_references,
            it.write_references,
            it.pages,
            it.written_pages,
            it.new_pages,
        )
    });
    // 1 3 3, where 3 is new, and 3 1 4, where 4 is.
    assert_eq!(expected.collect::<Vec<_>>(), [(2, 2, 1, 2, 1, 1), (5, 2, 1, 3, 1, 1)]);
}
