//! References per second of the locality analyses.
//!
//! `miss curve` is the exact pass over stack distances alone: misses and write-backs of LRU at every memory size, on
//! one thread, once the page view is built. The line `everything` adds the rankings and the working sets, on all
//! cores. The line `sample` follows 1 % of the pages without a page view: its time starts at the columns.

mod timing;
mod workload;

use std::hint::black_box;
use std::sync::Arc;

use clockhand_sim::{
    LocalityStudy, MemorySize, Progress, Repeats, Sample, Ties, TraceInput, Wanted,
    analyze_locality, simulate,
};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

use workload::{PAGE_BYTES, Path};

const PAGES: u32 = 100_000;
const REFERENCES: usize = 1_000_000;
/// Enough cells of LRU that they are taken from one pass.
const SIZES: u32 = 100;

fn locality(criterion: &mut Criterion) {
    for path in Path::ALL {
        let table = Arc::new(workload::table(path, PAGES, REFERENCES));
        let study = LocalityStudy {
            intervals: clockhand_sim::Intervals::default(),
            trace: TraceInput::table(path.name(), Arc::clone(&table)),
            page_bytes: PAGE_BYTES,
            device: "slc-nand".to_owned(),
            ties: Ties::Stable,
            repeats: Repeats::Each,
            sample: None,
            seed: 0,
            wanted: Wanted::default(),
            jobs: None,
        };
        let mut every_size = workload::experiment(path, &table, PAGES, "lru", 1);
        every_size.sizes =
            (1..=SIZES).map(|step| MemorySize::Frames(step * PAGES / SIZES)).collect();
        let sampled = LocalityStudy { sample: Some(Sample::Rate(0.01)), ..study.clone() };
        let mut group = criterion.benchmark_group(format!("locality, {}", path.name()));
        group.sample_size(10).throughput(Throughput::Elements(REFERENCES as u64));
        group.bench_function("miss curve", |bencher| {
            bencher.iter_custom(|iterations| {
                let run = |_| timing::after_reading(|progress| simulate(&every_size, progress));
                (0..iterations).map(run).sum()
            });
        });
        group.bench_function("everything", |bencher| {
            bencher.iter_custom(|iterations| {
                let run = |_| timing::after_reading(|progress| analyze_locality(&study, progress));
                (0..iterations).map(run).sum()
            });
        });
        group.bench_function("sample", |bencher| {
            bencher.iter(|| black_box(analyze_locality(&sampled, &Progress::default())));
        });
        group.finish();
    }
}

criterion_group!(benches, locality);
criterion_main!(benches);
