//! References per CPU second under two tiers of memory: what bits and samples drive, which shall be 30 million, and what sees
//! every reference, which shall be 10 million.
//!
//! CPU seconds of one further cell: those of a run of several cells less those of a run of one. Reading the trace is
//! thus not in them, and other work on the machine counts less. The argument `-- NAME` takes the policies of this name
//! alone.

#[expect(dead_code, reason = "this benchmark takes its references alone")]
mod workload;

use std::path::Path as FilePath;
use std::sync::Arc;

use clockhand_sim::{Progress, TierOptions, TraceInput, run_tier};

use workload::Path;

const PAGES: u32 = 100_000;
const REFERENCES: usize = 2_000_000;
const FURTHER_CELLS: u32 = 8;
/// Fast memory in percent of the footprint.
const SHARES: [u32; 2] = [10, 50];
const TICKS_PER_SECOND: f64 = 100.0;

/// Policies, what page policies see, and millions of references per CPU second that they shall reach.
const MEASURED: [(&str, &str, f64); 14] = [
    ("clock", "bits:10000", 30.0),
    ("lru", "bits:10000", 30.0),
    ("clock", "sample:7", 30.0),
    ("lru", "sample:7", 30.0),
    ("tpp", "all", 30.0),
    ("memtis", "all", 30.0),
    ("hemem", "all", 30.0),
    ("clock", "all", 10.0),
    ("lru", "all", 10.0),
    ("arc", "all", 10.0),
    ("craw", "all", 10.0),
    ("clock-dwf", "all", 10.0),
    ("m-clock", "all", 10.0),
    ("static", "all", 10.0),
];

/// CPU seconds of this process, of all its threads.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux tells of processes");
    let (_, behind_name) = stat.rsplit_once(") ").expect("the name stands in parentheses");
    let fields: Vec<&str> = behind_name.split(' ').collect();
    let ticks = |place: usize| fields[place].parse::<f64>().expect("a number of ticks");
    (ticks(11) + ticks(12)) / TICKS_PER_SECOND
}

/// CPU seconds of a run with this number of cells, each with a frame less than the one before: equal ones would share a
/// replay.
fn run(trace: &TraceInput, most_frames: u32, policy: &str, see: &str, cells: u32) -> (f64, u64) {
    let frames: Vec<String> =
        (most_frames + 1 - cells..=most_frames).map(|frames| frames.to_string()).collect();
    let options = TierOptions {
        fast_frames: Some(frames.join(",")),
        policy: vec![policy.to_owned()],
        see: (see != "all").then(|| see.to_owned()),
        ..TierOptions::default()
    };
    let experiment = options.experiment(vec![trace.clone()], Some(1)).expect("an experiment");
    let before = cpu_seconds();
    let outcome = run_tier(&experiment, &Progress::default()).expect("it runs");
    (cpu_seconds() - before, outcome.cells[0].row.references)
}

fn main() {
    let only = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    let table = Arc::new(workload::table(Path::Hit, PAGES, REFERENCES));
    let zipf = TraceInput::table("zipf", table);
    let captured = FilePath::new(env!("CARGO_MANIFEST_DIR")).join("../../traces/tar-gzip.parquet");
    let whole = TierOptions { fast: Some("100%".to_owned()), ..TierOptions::default() };
    for trace in [zipf, TraceInput::file(&captured)] {
        let first = whole.experiment(vec![trace.clone()], Some(1)).expect("an experiment");
        let first = run_tier(&first, &Progress::default()).expect("it runs");
        let footprint = first.cells[0].row.footprint_pages as u32;
        println!("{}, {footprint} pages: million references per CPU second", trace.name());
        for (policy, see, goal) in MEASURED {
            if only.as_ref().is_some_and(|only| only != policy) {
                continue;
            }
            let per_second = SHARES.map(|share| {
                let frames = footprint * share / 100;
                let (one, references) = run(&trace, frames, policy, see, 1);
                let (several, _) = run(&trace, frames, policy, see, 1 + FURTHER_CELLS);
                let further = ((several - one) / f64::from(FURTHER_CELLS)).max(1e-4);
                references as f64 / further / 1e6
            });
            let is_met =
                if per_second.iter().all(|&reached| reached >= goal) { "met" } else { "MISSED" };
            println!(
                "  {policy:10} {see:11} {:7.1} at {} % {:7.1} at {} %, goal {goal} {is_met}",
                per_second[0], SHARES[0], per_second[1], SHARES[1],
            );
        }
    }
}
