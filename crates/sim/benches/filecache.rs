//! References per second of a file cache under each rule of admission, on one thread, from the moment when the page
//! view stands; and what more devices add, which are priced from the same replay.

mod timing;
mod workload;

use std::sync::Arc;

use clockhand_sim::{
    AdmissionRule, Capacity, FileCacheCosts, FileCacheExperiment, Insert, MemorySize, SecondTouch,
    TraceInput, Writes, parse_stack_share, run_filecache,
};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

use workload::{PAGE_BYTES, Path};

const PAGES: u32 = 100_000;
const REFERENCES: usize = 1_000_000;

fn filecache(criterion: &mut Criterion) {
    for path in Path::ALL {
        let table = Arc::new(workload::table(path, PAGES, REFERENCES));
        let pages = workload::experiment(path, &table, PAGES, "lru", 1);
        let [MemorySize::Frames(blocks)] = pages.sizes[..] else { panic!("one size in frames") };
        let mut experiment = FileCacheExperiment {
            intervals: clockhand_sim::Intervals::default(),
            traces: vec![TraceInput::table(path.name(), table)],
            policies: pages.policies,
            seed: 0,
            capacities: vec![Capacity::Size(MemorySize::Frames(blocks))],
            admissions: Vec::new(),
            reuse: None,
            second_touch: SecondTouch::default(),
            block_sizes_bytes: vec![PAGE_BYTES],
            devices: vec!["hdd".to_owned()],
            costs: FileCacheCosts {
                cache_device: FileCacheCosts::CACHE_DEVICE.to_owned(),
                stack_share: parse_stack_share("0.3").expect("a share"),
                inserts: vec![Insert::default()],
                writes: Writes::Free,
            },
            flush_at_end: false,
            jobs: Some(1),
        };
        let mut group = criterion.benchmark_group(format!("file cache, {}", path.name()));
        group.sample_size(10).throughput(Throughput::Elements(REFERENCES as u64));
        let mut bench = |name: &str, experiment: &FileCacheExperiment| {
            group.bench_function(name, |bencher| {
                bencher.iter_custom(|iterations| {
                    let run =
                        |_| timing::after_reading(|progress| run_filecache(experiment, progress));
                    (0..iterations).map(run).sum()
                });
            });
        };
        for rule in AdmissionRule::online() {
            experiment.admissions = vec![rule];
            bench(rule.name(), &experiment);
        }
        let devices = ["hdd", "slc-nand", "scm:ratio=1", "scm:ratio=10", "scm:ratio=100"];
        experiment.devices = devices.map(str::to_owned).to_vec();
        bench("write-around, five devices", &experiment);
        group.finish();
    }
}

criterion_group!(benches, filecache);
criterion_main!(benches);
