//! Nanoseconds per reference of each policy, where nearly every reference hits and where nearly every one
//! needs a victim.
//!
//! Only the replay is timed: the clock starts when the page view stands. `tests/sim/workload.rs` runs the same
//! workloads, small, and compares what they count.

mod timing;
mod workload;

use std::sync::Arc;

use clockhand_policy::catalog::CATALOG;
use clockhand_sim::simulate;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

use workload::Path;

const PAGES: u32 = 100_000;
const REFERENCES: usize = 1_000_000;
fn replay(criterion: &mut Criterion) {
    for path in Path::ALL {
        let table = Arc::new(workload::table(path, PAGES, REFERENCES));
        let mut group = criterion.benchmark_group(path.name());
        group.sample_size(10).throughput(Throughput::Elements(REFERENCES as u64));
        for entry in CATALOG {
            let policy = entry.description.name;
            group.bench_function(policy, |bencher| {
                bencher.iter_custom(|iterations| {
                    let copies = iterations as usize;
                    let cells = workload::experiment(path, &table, PAGES, policy, copies);
                    timing::after_reading(|progress| simulate(&cells, progress))
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, replay);
criterion_main!(benches);
