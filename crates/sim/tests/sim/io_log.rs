//! Logs of what a run reads and writes: in order, complete, and in a form that this project and fio read.

use std::fs;

use clockhand_policy::catalog::CATALOG;
use clockhand_sim::{
    Contestant, MemorySize, PageCacheExperiment, PageCacheOptions, Progress, Row, TraceInput,
    run_pagecache, run_ssd, simulate,
};

use crate::experiments::{experiment, input, rows, table};
use crate::ssd;

/// The log of a run that is given its name.
fn logged<R>(name: &str, run: impl FnOnce(String) -> R) -> (R, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    let result = run(path.to_str().unwrap().to_owned());
    (result, fs::read_to_string(path).unwrap())
}

/// What a log has behind the lines that open its files, one of fio's words less.
fn actions(log: &str) -> Vec<&str> {
    let is_action = |line: &&str| line.contains(" read ") || line.contains(" write ");
    log.lines().filter(is_action).collect()
}

fn count(log: &str, action: &str) -> u64 {
    log.lines().filter(|line| line.contains(&format!(" {action} "))).count() as u64
}

/// A file of requests with times, read by its ending.
fn timed(requests: &str) -> (tempfile::TempDir, TraceInput) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.iolog");
    fs::write(&path, format!("fio version 3 iolog\n{requests}")).unwrap();
    (folder, TraceInput::file(path))
}

#[test]
fn a_dirty_page_is_written_before_the_page_that_takes_its_place_is_read() {
    let trace = input("t", table("r9 w2 w2 r9 r5"));
    let (_, log) = logged("log.iolog", |path| {
        let mut one = experiment(vec![trace], &["lru"], &[2]);
        one.io_log = Some(path);
        one.options.flush_at_end = true;
        rows(&one)
    });
    // Pages 2, 5 and 9 have the places 0, 1 and 2.
    let expected = "fio version 2 iolog\nswap add\nswap open\nswap read 8192 4096\nswap read 0 4096\n\
                    swap write 0 4096\nswap read 4096 4096\n";
    assert_eq!(log, expected);
}

#[test]
fn a_log_has_the_times_of_the_references_that_cause_it() {
    let (_folder, trace) = timed("5 d read 0 8192\n20 d write 4096 4096\n90 d read 8192 4096\n");
    let (_, log) = logged("log.iolog", |path| {
        let mut one = experiment(vec![trace], &["lru"], &[2]);
        one.io_log = Some(path);
        one.options.flush_at_end = true;
        rows(&one)
    });
    assert!(log.starts_with("fio version 3 iolog\n"));
    // Times are from the first reference on.
    let expected = [
        "0 swap read 0 4096",
        "0 swap read 4096 4096",
        "85 swap read 8192 4096",
        "85 swap write 4096 4096",
    ];
    assert_eq!(actions(&log), expected);
}

#[test]
fn logs_have_as_many_pages_as_the_rows_count_under_every_policy() {
    let references: Vec<String> = (0..600_u64)
        .map(|index| {
            let page = index * index % 37 + index % 5;
            format!("{}{page}", if index % 3 == 0 { 'w' } else { 'r' })
        })
        .collect();
    let trace = || input("t", table(&references.join(" ")));
    for entry in CATALOG {
        let name = entry.description.name;
        let mut one = experiment(vec![trace()], &[name], &[8]);
        one.options.flush_at_end = true;
        let without = rows(&one);
        let (row, log) = logged("log.iolog", |path| {
            one.io_log = Some(path);
            rows(&one).pop().unwrap()
        });
        assert_eq!([row.clone()].as_slice(), without.as_slice(), "{name}");
        let Row { read_ios, write_ios, .. } = row;
        assert_eq!((count(&log, "read"), count(&log, "write")), (read_ios, write_ios), "{name}");
    }
}

#[test]
fn a_log_is_a_trace_that_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.parquet");
    let mut one = experiment(vec![input("t", table("r1 w2 r3 w4 r1"))], &["clock"], &[2]);
    one.io_log = Some(path.to_str().unwrap().to_owned());
    let row = rows(&one).pop().unwrap();
    let again = rows(&experiment(vec![TraceInput::file(path)], &["clock"], &[2])).pop().unwrap();
    assert_eq!(again.read_references, Some(row.read_ios));
    assert_eq!(again.write_references, Some(row.write_ios));
}

#[test]
fn page_caches_log_swap_and_files_apart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.iolog");
    fs::write(
        &path,
        "fio version 3 iolog\n5 f read 0 4096\n20 f write 4096 4096\n90 f read 8192 4096\n",
    )
    .unwrap();
    let one = |io_log| PageCacheExperiment {
        traces: vec![TraceInput::file(&path)],
        policies: vec![Contestant::parse("lru").unwrap()],
        seed: 0,
        sizes: vec![MemorySize::Frames(2)],
        page_bytes: 4096,
        device: "slc-nand".to_owned(),
        file_device: None,
        options: PageCacheOptions { flush_at_end: true, ..PageCacheOptions::default() },
        intervals: clockhand_sim::Intervals::default(),
        io_log,
        jobs: None,
    };
    let (outcome, log) =
        logged("log.iolog", |path| run_pagecache(&one(Some(path)), &Progress::default()).unwrap());
    let without = run_pagecache(&one(None), &Progress::default()).unwrap();
    assert_eq!(outcome.rows, without.rows);
    let row = &outcome.rows[0];
    assert_eq!((count(&log, "read"), count(&log, "write")), (row.read_ios, row.write_ios));
    assert!(actions(&log).iter().all(|line| line.contains(" swap ") || line.contains(" files ")));
}

#[test]
fn drives_log_what_their_buffer_asks_for() {
    // A drive reads only what was written once.
    let one = || {
        let mut one = ssd::on_one_trace(
            "w0 w1 r5 w4 w0 r0 w6",
            &["lru:total=2"],
            "dnv-textbook:size=32KiB,pages_per_block=4",
        );
        one.precondition = "fill".parse().unwrap();
        one
    };
    let (row, log) = logged("log.iolog", |path| {
        let mut one = one();
        one.io_log = Some(path);
        one.drain = true;
        ssd::row(&one)
    });
    assert_eq!(count(&log, "write"), row.host_writes);
    assert_eq!(count(&log, "read"), row.flash_reads - row.relocations);
    assert!(count(&log, "read") > 0 && log.contains("drive read 20480 4096"), "page 5");
    let mut timed = one();
    timed.io_log = Some("log.iolog".to_owned());
    timed.repeat = "3".parse().unwrap();
    assert!(ssd::refusal(&timed).contains("leave out --timed and --repeat"));
    assert!(run_ssd(&one(), &Progress::default()).is_ok());
}

#[test]
fn a_log_of_several_runs_and_one_without_a_format_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| Some(folder.path().join(name).to_str().unwrap().to_owned());
    let refusal = |policies: &[&str], frames: &[u32], name| {
        let mut several = experiment(vec![input("t", table("r1 w2 r3"))], policies, frames);
        several.io_log = path(name);
        simulate(&several, &Progress::default()).unwrap_err().to_string()
    };
    assert!(refusal(&["lru", "clock"], &[2], "log.iolog").contains("there are 2 policies"));
    assert!(refusal(&["lru"], &[1, 2], "log.iolog").contains("there are 2 sizes"));
    assert!(refusal(&["bound"], &[2], "log.iolog").contains("leave out --sample, bound"));
    assert!(refusal(&["lru"], &[2], "log").contains("has no ending that tells a format"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
}
