//! Measures the time from a trace's file to its page view: `file_to_view FILE FORMAT`.
//!
//! Prints requests, seconds on the clock, CPU seconds of all threads, and the bytes that a reference takes in the view.
//! Like a command without a report, it computes no digest.
//! `benches/file_to_view.py` makes files and runs it.

use std::error::Error;
use std::time::Instant;

use clockhand_trace::progress::Progress;
use clockhand_trace::{Folding, OpenOptions, PageViewBuilder, TraceInput};
use rustix::time::{ClockId, clock_gettime};

const PAGE_BYTES: u64 = 4096;

fn cpu_seconds() -> f64 {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    spent.tv_sec as f64 + spent.tv_nsec as f64 / 1e9
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(file), Some(format)) = (arguments.next(), arguments.next()) else {
        return Err("give a file and the name of its format".into());
    };
    let options = OpenOptions {
        format: Some(format),
        assume_reads: true,
        without_digest: true,
        ..OpenOptions::default()
    };
    let start = Instant::now();
    let trace = TraceInput::opened(file, options);
    let mut builder = PageViewBuilder::new(PAGE_BYTES, Folding::Runs)?;
    let report = trace.for_each_batch(&Progress::default(), &mut |batch| {
        builder.extend(batch);
        Ok(())
    })?;
    let view = builder.finish()?;
    let keys_bytes = size_of_val(view.page_keys()) as u64;
    println!(
        "{} {:.3} {:.3} {:.2}",
        report.requests,
        start.elapsed().as_secs_f64(),
        cpu_seconds(),
        (view.memory_bytes() - keys_bytes) as f64 / view.references() as f64
    );
    Ok(())
}
