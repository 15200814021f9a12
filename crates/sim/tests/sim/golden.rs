//! Exact counts of twelve policies at eight memory sizes on the trace that stands in `traces/`.
//!
//! They are kept in `golden/tar-gzip.csv`, whose head says where they come from. When a change is meant to move
//! them, `CLOCKHAND_REWRITE_GOLDEN=1 cargo test -p clockhand-sim golden` writes them again.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clockhand_sim::{
    Experiment, MemorySize, NUMBERS_VERSION, Outcome, ReplayOptions, Row, TraceInput,
};

use crate::experiments::{experiment, rows, run};
use crate::real_traces::beginning;
use crate::twin::{assert_counts, references, totals};

/// The policies of the CRAW, CFLRU and LRU-WSR papers and what they are compared with.
const POLICIES: [&str; 12] = [
    "fifo",
    "lru",
    "clock",
    "nru",
    "car",
    "cflru",
    "cflru-dynamic",
    "cfclock",
    "lru-wsr",
    "craw",
    "craw-a",
    "min",
];

/// Shares of the footprint in percent.
const SIZES_PERCENT: [u64; 8] = [5, 10, 20, 30, 40, 50, 70, 90];

const REWRITE: &str = "CLOCKHAND_REWRITE_GOLDEN";
const COLUMNS: &str = "policy,frames,misses,write_ios";
const VERSION_LINE: &str = "Version of the numbers: ";

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn trace() -> PathBuf {
    project().join("traces/tar-gzip.parquet")
}

fn golden_experiment() -> Experiment {
    let mut experiment = experiment(vec![TraceInput::file(trace())], &POLICIES, &[]);
    let share = |percent| MemorySize::Share { numerator: percent, denominator: 100 };
    experiment.sizes = SIZES_PERCENT.map(share).to_vec();
    experiment
}

fn line(row: &Row) -> String {
    let misses = row.misses.expect("a policy's row counts misses");
    format!("{},{},{misses},{}", row.policy, row.frames, row.write_ios)
}

fn sha256(outcome: &Outcome) -> String {
    let digest = outcome.traces[0].report.sha256.expect("a file's digest");
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn commit() -> String {
    let git = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(project()).output();
    let hash = git.ok().filter(|output| output.status.success());
    hash.map_or("unknown".to_owned(), |output| {
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    })
}

fn origin(outcome: &Outcome) -> String {
    let mut head = String::new();
    let trace = &outcome.traces[0];
    let mut say = |line: String| writeln!(head, "# {line}").expect("a string takes all");
    say("Misses and pages written, exact, of each policy with its defaults.".to_owned());
    say(format!("Made by: {REWRITE}=1 cargo test -p clockhand-sim golden"));
    say(format!("Made with: version {}, on top of commit {}", env!("CARGO_PKG_VERSION"), commit()));
    say(format!("{VERSION_LINE}{NUMBERS_VERSION}"));
    say("Trace: traces/tar-gzip.parquet".to_owned());
    say(format!("Trace SHA-256: {}", sha256(outcome)));
    say(format!(
        "Trace size: {} references to {} pages of 4096 bytes",
        trace.references, trace.footprint_pages
    ));
    say(format!("Memory sizes: {SIZES_PERCENT:?} percent of the footprint"));
    say("Device: slc-nand, so c = 8; bits exact; write misses fetch; no flush at the end"
        .to_owned());
    head
}

#[test]
fn the_counts_of_twelve_policies_at_eight_memory_sizes_are_the_golden_ones() {
    let outcome = run(&golden_experiment());
    let counts: Vec<String> = outcome.rows.iter().map(line).collect();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/tar-gzip.csv");
    if std::env::var_os(REWRITE).is_some() {
        let text = format!("{}{COLUMNS}\n{}\n", origin(&outcome), counts.join("\n"));
        fs::write(&file, text).expect("the golden file is writable");
        return;
    }
    let text = fs::read_to_string(&file).expect("the golden file is there");
    let stored_digest = text.lines().find_map(|line| line.strip_prefix("# Trace SHA-256: "));
    assert_eq!(stored_digest, Some(sha256(&outcome).as_str()), "the trace is another one");
    let mut golden = text.lines().filter(|line| !line.starts_with('#'));
    assert_eq!(golden.next(), Some(COLUMNS));
    let golden: Vec<&str> = golden.collect();
    assert_eq!(golden, counts, "numbers moved: if they are meant to, raise NUMBERS_VERSION too");
    assert_eq!(golden.len(), POLICIES.len() * SIZES_PERCENT.len());
}

#[test]
fn the_golden_counts_were_made_with_this_version_of_the_numbers() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/tar-gzip.csv");
    let text = fs::read_to_string(file).expect("the golden file is there");
    let line = format!("# {VERSION_LINE}{NUMBERS_VERSION}");
    assert!(text.lines().any(|stored| stored == line), "rewrite the golden counts: {REWRITE}=1");
}

/// The twins search their memory page by page, so only the smaller memories are checked, on the whole trace.
#[test]
fn golden_counts_of_small_memories_are_those_of_the_twins() {
    let mut experiment = golden_experiment();
    experiment.sizes.truncate(1);
    let golden = run(&experiment).rows;
    let requests = golden[0].references as usize;
    let references = references(&beginning(&trace(), requests), experiment.page_bytes);
    for row in golden.iter().filter(|row| row.policy != "min") {
        let frames = row.frames as u32;
        assert_counts(row, &totals(&row.policy, frames, &references, ReplayOptions::default()));
    }
}

#[test]
fn min_misses_least_and_more_memory_never_hurts_a_stack_algorithm() {
    let rows = rows(&golden_experiment());
    for of_size in rows.chunks(POLICIES.len()) {
        let (min, others) = of_size.split_last().expect("a policy");
        assert_eq!(min.policy, "min");
        assert!(others.iter().all(|row| row.misses >= min.misses), "{of_size:?}");
    }
    for policy in ["lru", "min"] {
        let of_policy = rows.iter().filter(|row| row.policy == policy);
        let misses: Vec<_> = of_policy.map(|row| row.misses).collect();
        assert!(misses.is_sorted_by(|less, more| less >= more), "{policy}: {misses:?}");
    }
}
