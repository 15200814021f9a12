//! What a fault costs, as the thread sees it that faults: faults per second and percentiles of their latencies.
//!
//! Not with criterion, since the distribution of single faults is asked for and not a mean of repetitions.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clockhand_pager::store::{CompressedRam, DEFAULT_LEVEL, Store, SwapFile};
use clockhand_pager::{Bits, Event, PagedRegion, PredictorSet, Settings, obstacle};
use clockhand_policy::Ratio;
use clockhand_policy::catalog::PolicySpec;
use hdrhistogram::Histogram;

const PAGE_BYTES: usize = 4096;
const FRAMES: u32 = 2048;
/// Frames where bits are cleared and no page leaves.
const FEW_FRAMES: u32 = 64;

/// One way to fault.
struct Scenario {
    name: &'static str,
    /// Pages of the region: more than there are frames means misses.
    pages: u32,
    writes: bool,
    reserve: u32,
    bits: Bits,
}

const MAPPED_BIT: Scenario = Scenario {
    name: "a bit is set again",
    pages: FEW_FRAMES,
    writes: false,
    reserve: 0,
    bits: Bits::Mapped,
};

const MISS_CLEAN: Scenario =
    Scenario { name: "miss, clean victim", pages: 2 * FRAMES, bits: Bits::Sensed, ..MAPPED_BIT };

/// Misses; an access that sets a sensed bit again is answered by the kernel alone.
const MISSES: [Scenario; 4] = [
    MISS_CLEAN,
    Scenario { name: "miss, dirty victim", writes: true, ..MISS_CLEAN },
    Scenario { name: "miss, dirty victim, reserve 32", writes: true, reserve: 32, ..MISS_CLEAN },
    Scenario { name: "miss, dirty victim, reserve 256", writes: true, reserve: 256, ..MISS_CLEAN },
];

fn settings(scenario: &Scenario) -> Settings {
    // All bits are cleared after every half round: every access finds its bit cleared.
    let (policy, frames) = match scenario.pages {
        FEW_FRAMES => (format!("nru:mode=periodic,period={}", FEW_FRAMES / 2), FEW_FRAMES),
        _ => ("clock".to_owned(), FRAMES),
    };
    let spec = PolicySpec::parse(&policy).expect("a policy of the catalog");
    let policy =
        spec.resolve(frames - scenario.reserve, Ratio::whole(8)).expect("the defaults fit");
    Settings {
        policy,
        frames,
        reserve: scenario.reserve,
        read_ahead: 0,
        predictors: PredictorSet::ALL,
        bits: scenario.bits,
        patience: Duration::from_secs(1),
    }
}

fn store(kind: &str) -> Box<dyn Store> {
    if kind == "RAM, zstd" {
        return Box::new(
            CompressedRam::new(DEFAULT_LEVEL, None)
                .and_then(|ram| ram.store())
                .expect("there is RAM"),
        );
    }
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("faults.swap");
    Box::new(SwapFile::open(&path, None).and_then(|file| file.store()).expect("a swap file"))
}

/// Latencies in nanoseconds of an access to every page in a scattered order, several times over.
fn measure(scenario: &Scenario, kind: &str, rounds: u32) -> (Histogram<u64>, f64) {
    let events = Box::new(|_: Event| {});
    let region = PagedRegion::new(scenario.pages, settings(scenario), store(kind), events)
        .expect("it pages");
    let word = |page: u32| {
        // SAFETY: the page lies in the region.
        unsafe { region.as_ptr().add(page as usize * PAGE_BYTES).cast::<u64>() }
    };
    // SAFETY: the region is memory of this thread alone.
    (0..scenario.pages).for_each(|page| unsafe { word(page).write_volatile(u64::from(page)) });
    let mut latencies = Histogram::new(2).expect("two digits");
    let mut faults_ns = 0;
    for step in 0..rounds * FRAMES {
        // The stride has no factor in common with a power of two, so that the pages come one after the other.
        let page = step.wrapping_mul(1_664_525) % scenario.pages;
        let started = Instant::now();
        // SAFETY: the region is memory of this thread alone.
        unsafe {
            match scenario.writes {
                true => word(page).write_volatile(u64::from(page)),
                false => assert_eq!(word(page).read_volatile(), u64::from(page)),
            }
        }
        let latency_ns = started.elapsed().as_nanos() as u64;
        latencies.record(latency_ns).expect("any latency fits");
        faults_ns += latency_ns;
    }
    let counts = region.finish().counts;
    let faults = latencies.len();
    // The thread may get to a page before its bit is cleared.
    assert!(counts.references >= faults * 9 / 10, "not every access was a fault: {counts:?}");
    (latencies, faults as f64 / (faults_ns as f64 / 1e9))
}

fn main() {
    if let Some(obstacle) = obstacle() {
        eprintln!("SKIPPED: {obstacle}");
        return;
    }
    // `cargo test` runs benchmarks too: a small round shows that they work.
    let rounds = if std::env::args().any(|argument| argument == "--bench") { 10 } else { 1 };
    println!(
        "{:33} {:7} {:10} {:>10} {:>8} {:>8} {:>8}",
        "", "bits", "store", "faults/s", "p50 µs", "p90 µs", "p99 µs"
    );
    let mapped = MISSES.map(|scenario| Scenario { bits: Bits::Mapped, ..scenario });
    for scenario in std::iter::once(MAPPED_BIT).chain(mapped).chain(MISSES) {
        for kind in ["RAM, zstd", "swap file"] {
            let (latencies, faults_per_s) = measure(&scenario, kind, rounds);
            let us = |share| latencies.value_at_quantile(share) as f64 / 1e3;
            println!(
                "{:33} {:7} {kind:10} {faults_per_s:>10.0} {:>8.1} {:>8.1} {:>8.1}",
                scenario.name,
                scenario.bits.word(),
                us(0.5),
                us(0.9),
                us(0.99),
            );
        }
    }
}
