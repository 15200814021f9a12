//! How exact an emulated device is: the time that its reads and writes take over the device's own.
//!
//! Operations of one page, one at a time, as a program waits for them. Not with criterion, since the distribution of
//! single operations is asked for. An operation is never faster than the device; what it takes more is the store below
//! (zstd in memory) and how late the thread goes on.

use std::time::{Duration, Instant};

use clockhand_pager::store::{CompressedRam, DEFAULT_LEVEL, EmulatedDevice, Page, Store};
use hdrhistogram::Histogram;

const OPERATIONS: usize = 300;

/// Name, and microseconds for a page read and a page written (`crates/device/profiles`).
const DEVICES: [(&str, f64, f64); 3] = [
    ("cflru-nand", 284.2, 1833.0),
    ("slc-nand", 50.0, 400.0),
    ("x25m-ssd", 200.0 / 7.0, 10_000.0 / 33.0),
];

fn micros(micros: f64) -> Duration {
    Duration::from_secs_f64(micros / 1e6)
}

fn print(device: &str, operation: &str, asked: Duration, taken: &Histogram<u64>) {
    let over = |nanos: u64| nanos as f64 / asked.as_nanos() as f64;
    println!(
        "{device:12} {operation:6} asked {:7.1} us   over it: mean {:.4}   median {:.4}   p95 {:.4}   most {:.4}",
        asked.as_secs_f64() * 1e6,
        taken.mean() / asked.as_nanos() as f64,
        over(taken.value_at_quantile(0.5)),
        over(taken.value_at_quantile(0.95)),
        over(taken.max()),
    );
}

/// Fills pages with words that compress about as memory does.
fn page(number: usize) -> Page {
    let mut bytes = [0; 4096];
    for (place, word) in bytes.chunks_exact_mut(8).enumerate() {
        let value = (number * 4099 + place * 7) as u64;
        word.copy_from_slice(&value.to_le_bytes());
    }
    Page(bytes)
}

fn measure(name: &str, read: Duration, write: Duration) {
    let ram = CompressedRam::new(DEFAULT_LEVEL, None).expect("memory for a store");
    let mut store = EmulatedDevice::new(read, write).store(Box::new(ram.store().expect("a store")));
    let mut slots = Vec::new();
    store.allocate(OPERATIONS, &mut slots).expect("slots");
    let (mut writes, mut reads) = (histogram(), histogram());
    for (number, &slot) in slots.iter().enumerate() {
        let mut page = page(number);
        let start = Instant::now();
        // SAFETY: the page lives on and is not touched until the write has finished.
        unsafe { store.start_write(&[(slot, page.address())]) }.expect("a write begins");
        store.finished_write(true).expect("one is under way").1.expect("it succeeds");
        writes.saturating_record(nanos(start.elapsed()));
    }
    for (number, &slot) in slots.iter().enumerate() {
        let mut back = Page::ZEROS;
        let start = Instant::now();
        // SAFETY: the page lives on, and nothing else touches it.
        unsafe { store.read(slot, back.address()) }.expect("it was written");
        reads.saturating_record(nanos(start.elapsed()));
        assert!(back == page(number), "a page is read as it was written");
    }
    print(name, "read", read, &reads);
    print(name, "write", write, &writes);
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 1_000_000_000, 4).expect("these bounds are possible")
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn main() {
    for (name, read, write) in DEVICES {
        measure(name, micros(read), micros(write));
    }
}
