//! Page views in files give the results of views in memory.

use std::path::{Path, PathBuf};

use clockhand_policy::catalog::CATALOG;
use clockhand_sim::{Bits, Experiment, Progress, ReplayOptions, SimError, TraceInput, simulate};

use crate::experiments::{experiment, input, rows, table};

/// Larger than a chunk of records that is read at once.
const TRACE: &str = "../../traces/tar-gzip.parquet";

fn traces(folder: &Path) -> [TraceInput; 2] {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(TRACE);
    let in_memory = TraceInput::file(path);
    [in_memory.clone(), in_memory.on_scratch(folder)]
}

fn assert_equal(policies: &[&str], frames: &[u32], change: impl Fn(&mut Experiment)) {
    let folder = tempfile::tempdir().expect("a folder");
    let [in_memory, on_scratch] = traces(folder.path()).map(|trace| {
        let mut experiment = experiment(vec![trace], policies, frames);
        change(&mut experiment);
        rows(&experiment)
    });
    assert_eq!(in_memory, on_scratch);
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 0);
}

#[test]
fn every_policy_counts_the_same_on_records_in_files() {
    let policies: Vec<&str> = CATALOG.iter().map(|entry| entry.description.name).collect();
    let periodic = ["nru:mode=periodic", "cflru-dynamic"];
    assert_equal(&[policies, periodic.to_vec()].concat(), &[64, 700], |_| ());
}

#[test]
fn the_pass_of_lru_and_mapped_bits_count_the_same_on_records_in_files() {
    assert_equal(&["lru"], &[8, 16, 64, 256, 1024, 4096], |_| ());
    assert_equal(&["clock", "craw", "nru"], &[128], |experiment| {
        experiment.options = ReplayOptions { bits: Bits::Mapped, ..ReplayOptions::default() };
    });
}

#[test]
fn cells_that_have_no_room_at_once_wait_and_count_the_same() {
    let policies: Vec<&str> = CATALOG.iter().map(|entry| entry.description.name).take(6).collect();
    let [in_memory, limited] = [None, Some(16 << 20)].map(|memory_limit_bytes| {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(TRACE);
        let trace = TraceInput::file(path).limited(memory_limit_bytes);
        let folder = tempfile::tempdir().expect("a folder");
        rows(&experiment(vec![trace.on_scratch(folder.path())], &policies, &[64, 700]))
    });
    assert_eq!(in_memory, limited);
}

fn refusal(experiment: &Experiment) -> String {
    match simulate(experiment, &Progress::default()) {
        Err(SimError::Usage(sentence)) => sentence.to_string(),
        Err(other) => other.to_string(),
        Ok(_) => panic!("it is refused"),
    }
}

#[test]
fn what_cannot_be_kept_in_files_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = input("t", table("r1 w2 r1")).on_scratch(folder.path());
    let sentence = refusal(&experiment(vec![trace.clone()], &["clock", "bound"], &[2]));
    assert_eq!(sentence, "bound needs all references in memory; leave it or --scratch out");
    let sentence = trace.info(4096, &Progress::default()).unwrap_err().to_string();
    assert!(sentence.contains("leave --scratch out"), "{sentence}");

    let absent = input("t", table("r1 w2 r1")).on_scratch(folder.path().join("absent"));
    let sentence = refusal(&experiment(vec![absent], &["clock"], &[2]));
    assert!(sentence.starts_with("a scratch file in "), "{sentence}");
    assert!(sentence.contains("absent: creating failed at byte 0"), "{sentence}");
}
