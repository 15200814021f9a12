//! Host pages per second through the whole driver: placement, write buffer, flash translation layer with
//! collection. The 2 GB drive of 8192 blocks of 64 pages of 4 KB, 15 % of logical, under uniform random writes.
//!
//! Reading and ageing are not timed: the clock starts when the cells do.

mod timing;

use std::sync::Arc;

use clockhand_device::flash::Precondition;
use clockhand_policy::buffer::catalog::BUFFERS;
use clockhand_sim::{
    AddressMap, Repeat, RequestTable, SsdExperiment, TraceInput, parse_buffer, run_ssd,
};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const DRIVE: &str = "dnv-textbook:blocks_per_plane=8192";
/// The host's share of the drive: 8192 blocks of 64 pages; spare blocks are 15 % of this number.
const LOGICAL_PAGES: u64 = 455_902;
const WRITES: u64 = 4_000_000;
const PAGE_BYTES: u64 = 4096;

fn random_writes() -> Arc<RequestTable> {
    let mut state = 1_u64;
    let mut page = || {
        // The upper half of a multiplicative generator modulo 2^64.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((state >> 32) * LOGICAL_PAGES) >> 32
    };
    Arc::new(RequestTable {
        is_write: vec![true; WRITES as usize],
        addresses: (0..WRITES).map(|_| page() * PAGE_BYTES).collect(),
        ..RequestTable::default()
    })
}

fn experiment(table: &Arc<RequestTable>, buffer: &str, copies: usize) -> SsdExperiment {
    let buffer = parse_buffer(buffer).expect("a write buffer");
    SsdExperiment {
        intervals: clockhand_sim::Intervals::default(),
        io_log: None,
        traces: vec![TraceInput::table("writes", Arc::clone(table))],
        buffers: vec![buffer; copies],
        ssds: vec![DRIVE.to_owned()],
        precondition: Precondition::Fill,
        map: AddressMap::Original,
        drain: false,
        repeat: Repeat::default(),
        endurance_erases: None,
        timing: None,
        seed: 1,
        jobs: Some(1),
    }
}

fn ssd(criterion: &mut Criterion) {
    let table = random_writes();
    let mut group = criterion.benchmark_group("ssd");
    group.sample_size(10).throughput(Throughput::Elements(WRITES));
    let every = BUFFERS.iter().map(|entry| format!("{}:total=16MiB", entry.description.name));
    for buffer in every.chain(["lru:total=1".to_owned()]) {
        group.bench_function(buffer.clone(), |bencher| {
            bencher.iter_custom(|iterations| {
                let cells = experiment(&table, &buffer, iterations as usize);
                timing::after_reading(|progress| run_ssd(&cells, progress))
            });
        });
    }
    group.finish();
}

criterion_group!(benches, ssd);
criterion_main!(benches);
