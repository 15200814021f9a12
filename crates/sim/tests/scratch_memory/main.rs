//! A trace whose view is in files takes memory for its pages and not for its references. Alone in its process, whose
//! peak it looks at.

use std::fs;

use clockhand_sim::{PagesOptions, Progress, Row, TraceInput, simulate};
use clockhand_trace::{Overrides, Recipe};

const REQUESTS: u64 = 6_000_000;
const RECIPE: &str = "zipf:skew=0.8,footprint=256MiB";
/// Each reference takes 4 bytes in memory, as nearly all are runs of their own.
const IN_MEMORY_BYTES: u64 = 4 * REQUESTS;
const ON_SCRATCH_BYTES: u64 = 16 << 20;

/// The most memory that this process has had, in bytes; `None` where the kernel does not say.
fn peak_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().expect("a number of KiB") * 1024)
}

fn rows(input: TraceInput) -> Vec<Row> {
    let options = PagesOptions {
        policy: vec!["clock".to_owned(), "craw".to_owned()],
        frames: Some("1000,10000".to_owned()),
        ..PagesOptions::default()
    };
    let experiment = options.experiment(vec![input], Some(2)).expect("the options");
    simulate(&experiment, &Progress::default()).unwrap_or_else(|error| panic!("{error}")).rows
}

#[test]
fn references_in_files_take_no_memory() {
    let requests = REQUESTS.to_string();
    let given = Overrides { requests: Some(&requests), seed: None, arrivals: None };
    let recipe = Recipe::open(RECIPE, &given).unwrap_or_else(|error| panic!("{error}"));
    let input = TraceInput::synthetic(recipe);
    let folder = tempfile::tempdir().expect("a folder");
    let peaks = || peak_bytes().expect("this kernel tells the peak");
    if peak_bytes().is_none() {
        return eprintln!("skipped: this kernel does not tell the peak of memory");
    }

    let before = peaks();
    let on_scratch = rows(input.clone().on_scratch(folder.path()));
    let with_files = peaks();
    let in_memory = rows(input);
    let without = peaks();

    assert_eq!(on_scratch, in_memory);
    assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 0, "nothing is left");
    assert!(with_files - before < ON_SCRATCH_BYTES, "{} bytes in files", with_files - before);
    assert!(without - before > IN_MEMORY_BYTES, "{} bytes in memory", without - before);
}
