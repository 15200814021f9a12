//! Nanoseconds per event of a page cache, where calls and accesses of memory mix and nearly every one hits.
//!
//! Only the replay is timed: the clock starts when the trace has been read.

mod timing;
#[expect(dead_code, reason = "this benchmark takes its references alone")]
mod workload;

use std::fmt::Write as _;

use clockhand_sim::{
    Contestant, MemorySize, PageCacheExperiment, PageCacheOptions, TraceInput, run_pagecache,
};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

use workload::Path;

const PAGES: u32 = 100_000;
const EVENTS: usize = 1_000_000;
const POLICIES: [&str; 8] =
    ["lru", "cflru", "clock", "craw", "linux24", "linux24-cflru", "linux-lru", "linux-mglru"];

/// Two of three events are calls on one of sixteen files, the third accesses memory; each thousandth syncs.
fn events() -> String {
    let table = workload::table(Path::Hit, PAGES, EVENTS);
    let mut text = String::new();
    for file in 0..16 {
        writeln!(text, "length f{file} 0x8000000000").expect("memory takes it");
    }
    for (event, (&address, &is_write)) in table.addresses.iter().zip(&table.is_write).enumerate() {
        let page = address / workload::PAGE_BYTES;
        let letter = if is_write { 'w' } else { 'r' };
        let line = match page % 3 {
            0 => writeln!(text, "m{letter} a1 {address} 8"),
            _ => writeln!(text, "c{letter} f{} {address} 4096", page % 16),
        };
        line.expect("memory takes it");
        if event % 1000 == 999 {
            writeln!(text, "sync f{}", event / 1000 % 16).expect("memory takes it");
        }
    }
    text
}

fn replay(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("calls.events");
    std::fs::write(&path, events()).expect("room for the trace");
    let mut group = criterion.benchmark_group("page cache with calls");
    group.sample_size(10).throughput(Throughput::Elements(EVENTS as u64));
    for policy in POLICIES {
        group.bench_function(policy, |bencher| {
            bencher.iter_custom(|iterations| {
                let policy = Contestant::parse(policy).expect("a policy");
                let experiment = PageCacheExperiment {
                    intervals: clockhand_sim::Intervals::default(),
                    io_log: None,
                    traces: vec![TraceInput::file(&path)],
                    policies: vec![policy; iterations as usize],
                    seed: 0,
                    sizes: vec![MemorySize::Frames(PAGES * 4 / 5)],
                    page_bytes: workload::PAGE_BYTES,
                    device: "slc-nand".to_owned(),
                    file_device: None,
                    options: PageCacheOptions::default(),
                    jobs: Some(1),
                };
                timing::after_reading(|progress| run_pagecache(&experiment, progress))
            });
        });
    }
    group.finish();
}

criterion_group!(benches, replay);
criterion_main!(benches);
