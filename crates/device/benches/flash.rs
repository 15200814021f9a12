//! Host pages per second, with collection: the 2 GB drive of 8192 blocks of 64 pages of 4 KB, 15 % of logical, aged, under
//! uniform random overwrites.

use std::convert::Infallible;
use std::hint::black_box;
use std::ops::ControlFlow;

use clockhand_device::flash::{Drive, FtlOptions, Geometry, LogicalPage, Precondition, VictimRule};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const GEOMETRY: Geometry = Geometry::one_pool(8192, 64, 4096);
const BATCH: u32 = 1_000_000;

fn random_overwrites(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("random overwrites");
    group.throughput(Throughput::Elements(BATCH.into())).sample_size(10);
    for rule in ["greedy", "fifo", "d-choices:10", "random"] {
        let victim: VictimRule = rule.parse().expect("a rule");
        let logical_pages = (GEOMETRY.raw_pages() as f64 / 1.15) as u32;
        let options = FtlOptions { victim, ..FtlOptions::new(logical_pages) };
        let mut drive = Drive::new(GEOMETRY, options).expect("there is over-provisioning");
        let keep_on = |_| ControlFlow::<Infallible>::Continue(());
        let Ok(_) = drive.precondition(Precondition::Steady, 1, keep_on);
        let pages = overwritten_pages(logical_pages);
        group.bench_function(rule, |bencher| {
            bencher.iter(|| {
                for page in &pages {
                    drive.write(LogicalPage(black_box(*page))).expect("blocks last for ever");
                }
            });
        });
    }
    group.finish();
}

/// Drawn beforehand, so that drawing is not measured.
fn overwritten_pages(logical_pages: u32) -> Vec<u32> {
    let mut state = 1_u64;
    let mut draw = || {
        // A multiplicative generator modulo 2^64; its upper half is used.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (((state >> 32) * u64::from(logical_pages)) >> 32) as u32
    };
    (0..BATCH).map(|_| draw()).collect()
}

criterion_group!(benches, random_overwrites);
criterion_main!(benches);
