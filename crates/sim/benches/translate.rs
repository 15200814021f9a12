//! References per second through one TLB and one page size at a TLB hit rate above 99 %, and the time of a whole grid
//! as in the SCM paper's Figure 9. The grid has 8 page sizes × 4 ratios × 5 memory sizes × 8 TLB sizes; it runs on 2
//! million references and one thread.
//!
//! Only the replay is timed: the clock starts when the page views stand. `tests/sim/translate.rs` compares what is counted.

mod timing;

use std::sync::Arc;

use clockhand_policy::Ratio;
use clockhand_sim::{
    Contestant, MemorySize, Progress, RequestTable, Storage, TlbLevels, TraceInput,
    TranslateExperiment, TranslationTimes, run_translate,
};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const REFERENCES: usize = 2_000_000;

/// A program with locality: runs through lines of 64 bytes of a page, in a working set of 48 pages of 4 KiB that moves
/// slowly through 16 MiB.
fn program() -> RequestTable {
    let mut table = RequestTable::default();
    let mut number = 42_u64;
    let mut next = |below: u64| {
        number = number.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (number >> 33) % below
    };
    while table.addresses.len() < REFERENCES {
        let centre = (table.addresses.len() / 2_500) as u64 * 4;
        let page = (centre + next(48)) % 4096;
        let first = next(60);
        for line in first..first + 1 + next(4) {
            table.addresses.push(page * 4096 + line * 64);
            table.is_write.push(next(4) == 0);
        }
    }
    table
}

fn experiment(
    table: &Arc<RequestTable>,
    page_sizes_bytes: &[u64],
    tlb: &[&str],
) -> TranslateExperiment {
    let tlb: Vec<String> = tlb.iter().map(|&text| text.to_owned()).collect();
    TranslateExperiment {
        intervals: clockhand_sim::Intervals::default(),
        traces: vec![TraceInput::table("program", Arc::clone(table))],
        page_sizes_bytes: page_sizes_bytes.to_vec(),
        tlbs: TlbLevels::parse_all(&tlb, &[]).expect("TLBs"),
        sizes: vec![MemorySize::Share { numerator: 1, denominator: 2 }],
        policies: vec![Contestant::parse("clock").expect("a name of the catalog")],
        storage: [1, 10, 100, 1000].map(|ratio| Storage::Ratio(Ratio::whole(ratio))).to_vec(),
        times: TranslationTimes::default(),
        charge_write_back: false,
        walk_levels: 1,
        walk_cache: 0,
        huge: None,
        prefetch: 0,
        no_swap: false,
        split: false,
        flush_on_switch: false,
        seed: 42,
        jobs: Some(1),
    }
}

fn translate(criterion: &mut Criterion) {
    let table = Arc::new(program());
    let one = experiment(&table, &[4096], &["64"]);
    let row = run_translate(&one, &Progress::default()).expect("it runs").rows.remove(0);
    println!("TLB hit ratio with 64 entries: {:.4}", row.tlb_hit_ratio.expect("references"));
    let mut group = criterion.benchmark_group("translation");
    group.sample_size(10).throughput(Throughput::Elements(row.references));
    for tlb in ["64", "64/4", "64/4:plru", "64:random", "64:fifo"] {
        group.bench_function(format!("one TLB of {tlb}"), |bencher| {
            bencher.iter_custom(|iterations| {
                // Doubles of a memory size are replayed as often.
                let sizes = vec![one.sizes[0]; iterations as usize];
                let copies = TranslateExperiment { sizes, ..experiment(&table, &[4096], &[tlb]) };
                timing::after_reading(|progress| run_translate(&copies, progress))
            });
        });
    }
    let page_sizes: Vec<u64> = (9..17).map(|shift| 1 << shift).collect();
    let tlbs = ["8", "16", "32", "64", "128", "256", "512", "1024"];
    let shares = [1, 2, 4, 6, 8].map(|numerator| MemorySize::Share { numerator, denominator: 10 });
    let mut grid = experiment(&table, &page_sizes, &tlbs);
    grid.sizes = shares.to_vec();
    group.throughput(Throughput::Elements(1));
    group.bench_function("the grid of Figure 9", |bencher| {
        bencher.iter(|| run_translate(&grid, &Progress::default()).expect("it runs"));
    });
    group.finish();
}

criterion_group!(benches, translate);
criterion_main!(benches);
