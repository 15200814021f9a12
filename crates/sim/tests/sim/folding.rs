//! Folding runs of one page changes no count: the simulator, which folds, against the twins, which learn of every
//! reference.

use clockhand_sim::{Bits, ReplayOptions, RequestTable};
use proptest::prelude::*;

use crate::experiments::{self, cases, contestants, experiment, input, replay_options, rows};
use crate::twin::{assert_counts, footprint, references, totals};

/// Besides every policy's defaults, every option of the specification.
const OPTIONS: [&str; 21] = [
    "clock:insert_ref=1",
    "nru:mode=periodic,period=1",
    "nru:mode=periodic,period=7",
    "cflru:window_share=3/4",
    "cflru:window_pages=2",
    "cflru:window_pages=0",
    "cflru-dynamic:period=5",
    "cflru-dynamic:period=1,step=2",
    "cflru-dynamic:period=3,step=2,threshold=1/2,cost_read=0.1,cost_write=2/3",
    "cfclock:window_pages=0",
    "cfclock:window_share=1",
    "cfclock:clear_passed=false",
    "cfclock:window_pages=3,clear_passed=false",
    "craw:c=1",
    "craw:c=13.3",
    "craw:c=2,ghosts=literal",
    "craw:c=9165/1421,write_back=eager",
    "craw:ghosts=literal,write_back=eager",
    "craw-a:c=40/3",
    "craw-a:c=3,ghosts=literal",
    "craw-a:write_back=eager",
];

fn policies() -> Vec<&'static str> {
    clockhand_twins::POLICIES.into_iter().chain(OPTIONS).collect()
}

/// Requests that stay on one page for a while: a start, then a few operations at most some bytes further on,
/// some of which reach into the pages behind.
#[derive(Clone, Debug)]
struct Burst {
    stream: u32,
    page: u64,
    offset: u64,
    requests: Vec<(bool, u64, u32)>,
}

fn burst(page_bytes: u64) -> impl Strategy<Value = Burst> {
    let small = 0..16_u32;
    let spanning = 0..(3 * page_bytes as u32);
    let size = prop_oneof![6 => small, 1 => spanning];
    let request = (any::<bool>(), 0..64_u64, size);
    (0..2_u32, 0..14_u64, 0..page_bytes, prop::collection::vec(request, 1..6))
        .prop_map(|(stream, page, offset, requests)| Burst { stream, page, offset, requests })
}

/// Where in the address space the pages are; the last one leaves room for a request's end.
const BASES: [u64; 3] = [0, 1 << 40, u64::MAX - (1 << 22) + 1];

fn table(page_bytes: u64, base: u64, bursts: &[Burst]) -> RequestTable {
    let mut table = RequestTable::default();
    let (mut sizes, mut streams) = (Vec::new(), Vec::new());
    for burst in bursts {
        for &(is_write, further, bytes) in &burst.requests {
            table.is_write.push(is_write);
            table.addresses.push(base + burst.page * page_bytes + burst.offset + further);
            sizes.push(bytes);
            streams.push(burst.stream);
        }
    }
    // A trace with requests of size 0 alone is refused, which is not the question here.
    table.is_write.push(false);
    table.addresses.push(base);
    sizes.push(1);
    streams.push(0);
    table.sizes_bytes = Some(sizes);
    table.streams = Some(streams);
    table
}

fn tables() -> impl Strategy<Value = (u64, RequestTable)> {
    let places = (9..=16_u32, prop::sample::select(BASES.as_slice()));
    places.prop_flat_map(|(page_shift, base)| {
        let page_bytes = 1 << page_shift;
        let bursts = prop::collection::vec(burst(page_bytes), 1..60);
        bursts.prop_map(move |bursts| (page_bytes, table(page_bytes, base, &bursts)))
    })
}

fn assert_counts_are_the_twins(
    page_bytes: u64,
    table: RequestTable,
    frames: &[u32],
    options: ReplayOptions,
) {
    let references = references(&table, page_bytes);
    let policies = policies();
    let mut experiment = experiment(vec![input("t", table)], &[], frames);
    experiment.policies = contestants(policies.iter().copied());
    experiment.page_bytes = page_bytes;
    experiment.options = options;
    for row in rows(&experiment) {
        let totals = totals(&row.policy, row.frames as u32, &references, options);
        assert_counts(&row, &totals);
        assert_eq!(row.footprint_pages as usize, footprint(&references));
    }
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn folded_runs_count_what_the_twins_count_reference_by_reference(
        (page_bytes, table) in tables(),
        few in 1..6_u32,
        many in 6..40_u32,
        options in replay_options(),
    ) {
        assert_counts_are_the_twins(page_bytes, table, &[few, many], options);
    }
}

#[test]
fn a_run_is_split_where_a_period_ends() {
    // Seven references to one page, then another page: the third period begins inside the run.
    let run = "r0 r1 r2 w3 r3 r3 w3 r3 r3 r3 r4 r1 r3 w0 r2 r2 r5";
    for bits in [Bits::Exact, Bits::Mapped, Bits::Sensed] {
        let options = ReplayOptions { bits, ..ReplayOptions::default() };
        assert_counts_are_the_twins(4096, experiments::table(run), &[2, 3], options);
    }
}

#[test]
fn a_request_over_many_pages_references_each_of_them_once() {
    let table = RequestTable {
        is_write: vec![true, false],
        addresses: vec![4095, 8192],
        sizes_bytes: Some(vec![8194, 1]),
        ..RequestTable::default()
    };
    let mut experiment = experiment(vec![input("t", table)], &["lru"], &[1]);
    experiment.options.flush_at_end = true;
    let row = rows(&experiment).pop().expect("one cell");
    assert_eq!((row.references, row.write_references, row.footprint_pages), (5, Some(4), 4));
    assert_eq!((row.misses, row.dirty_evictions, row.flush_writes), (Some(5), Some(4), Some(0)));
}

#[test]
fn equal_addresses_of_two_streams_are_two_pages() {
    let table = RequestTable {
        is_write: vec![false; 4],
        addresses: vec![0; 4],
        streams: Some(vec![7, 9, 7, 9]),
        ..RequestTable::default()
    };
    let row = rows(&experiment(vec![input("t", table)], &["fifo"], &[1])).pop().expect("one cell");
    assert_eq!((row.footprint_pages, row.misses), (2, Some(4)));
}
