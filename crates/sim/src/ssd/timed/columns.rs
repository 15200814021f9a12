//! The columns of a row that tell of time.

use clockhand_device::flash::time::{Arrivals, Latencies, Timing};

use super::{Timed, Window};
use crate::ssd::SsdRow;

const NS_PER_US: f64 = 1e3;
const NS_PER_S: f64 = 1e9;

fn us(ns: u64) -> f64 {
    ns as f64 / NS_PER_US
}

/// Latencies as columns: mean, percentiles, maximum.
struct InColumns {
    mean_us: Option<f64>,
    percentiles_us: [Option<f64>; 5],
    max_us: Option<f64>,
}

impl InColumns {
    fn of(latencies: &Latencies) -> Self {
        let percentile = |(share, of)| latencies.percentile_ns(share, of).map(us);
        InColumns {
            mean_us: latencies.mean_ns().map(|ns| ns / NS_PER_US),
            percentiles_us: [(50, 100), (95, 100), (99, 100), (999, 1_000), (9_999, 10_000)]
                .map(percentile),
            max_us: latencies.max_ns().map(us),
        }
    }
}

/// What completes in a time: requests and their pages.
struct Completed<'a> {
    reads: &'a Latencies,
    writes: &'a Latencies,
    flushes: &'a Latencies,
    read_pages: u64,
    write_pages: u64,
    span_ns: u64,
}

fn fill_completed(row: &mut SsdRow, completed: &Completed<'_>) {
    let per_second =
        |count: f64| (completed.span_ns > 0).then(|| count * NS_PER_S / completed.span_ns as f64);
    let mb_s = |pages: u64| per_second(pages as f64 * f64::from(row.page_bytes) / 1e6);
    let (read_mb_s, write_mb_s) = (mb_s(completed.read_pages), mb_s(completed.write_pages));
    (row.read_mb_s, row.write_mb_s) = (read_mb_s, write_mb_s);
    row.iops = per_second((completed.reads.count() + completed.writes.count()) as f64);
    let reads = InColumns::of(completed.reads);
    (row.read_mean_us, row.read_max_us) = (reads.mean_us, reads.max_us);
    [row.read_p50_us, row.read_p95_us, row.read_p99_us, row.read_p999_us, row.read_p9999_us] =
        reads.percentiles_us;
    let writes = InColumns::of(completed.writes);
    (row.write_mean_us, row.write_max_us) = (writes.mean_us, writes.max_us);
    [row.write_p50_us, row.write_p95_us, row.write_p99_us, row.write_p999_us, row.write_p9999_us] =
        writes.percentiles_us;
    let flushes = InColumns::of(completed.flushes);
    (row.flush_mean_us, row.flush_max_us) = (flushes.mean_us, flushes.max_us);
}

/// The busiest part and its busy share of time; of equal ones the front end, then channels, then dies.
fn bottleneck(timing: &Timing) -> String {
    let mut busiest = ("front".to_owned(), timing.front_busy_ns);
    let parts = [("channel", &timing.channel_busy_ns), ("die", &timing.die_busy_ns)];
    for (part, busy_ns) in parts {
        for (number, &ns) in busy_ns.iter().enumerate() {
            if ns > busiest.1 {
                busiest = (format!("{part} {number}"), ns);
            }
        }
    }
    busiest.0
}

fn fill_utilisations(row: &mut SsdRow, timing: &Timing) {
    let share = |ns: f64| (timing.end_ns > 0).then(|| ns / timing.end_ns as f64);
    let mean = |busy_ns: &[u64]| {
        share(busy_ns.iter().map(|ns| *ns as f64).sum::<f64>() / busy_ns.len() as f64)
    };
    let largest = |busy_ns: &[u64]| share(busy_ns.iter().copied().max().unwrap_or(0) as f64);
    row.front_utilisation = share(timing.front_busy_ns as f64);
    row.channel_utilisation = mean(&timing.channel_busy_ns);
    row.channel_utilisation_max = largest(&timing.channel_busy_ns);
    row.die_utilisation = mean(&timing.die_busy_ns);
    row.die_utilisation_max = largest(&timing.die_busy_ns);
    row.collection_share = share(timing.collection_ns as f64 / timing.die_busy_ns.len() as f64);
    row.bottleneck = Some(bottleneck(timing));
}

/// Fills the columns of a timed run.
pub(in crate::ssd) fn fill(row: &mut SsdRow, arrivals: &str, kind: Arrivals, timed: &Timed) {
    let timing = &timed.timing;
    row.arrivals = Some(arrivals.to_owned());
    row.requests = Some(timed.requests);
    row.requests_served = Some(timing.requests);
    row.duration_us = Some(us(timing.end_ns));
    let completed = Completed {
        reads: &timed.reads,
        writes: &timed.writes,
        flushes: &timed.flushes,
        read_pages: timed.read_pages,
        write_pages: timed.write_pages,
        span_ns: timing.end_ns,
    };
    fill_completed(row, &completed);
    fill_utilisations(row, timing);
    row.stalled_pages = Some(timing.stalled_pages);
    row.stall_us = Some(us(timing.stall_ns));
    row.in_flight_reads = Some(timing.in_flight_reads);
    row.unmapped_reads = Some(timing.unmapped_reads);
    row.suspensions = Some(timing.suspensions);
    row.background_erases = Some(timing.background_erases);
    row.is_saturated = (kind == Arrivals::Open).then_some(timed.is_saturated);
    row.drain_us = timed.drain_ns.map(us);
}

/// The row of a window, with only some figures: `whole` is that of the run.
pub(in crate::ssd) fn window_row(whole: &SsdRow, window: &Window) -> SsdRow {
    let counters = &window.counters;
    let mut row = SsdRow {
        trace: whole.trace.clone(),
        buffer: whole.buffer.clone(),
        buffer_pages: whole.buffer_pages,
        ssd: whole.ssd.clone(),
        host_writes: counters.host_writes,
        flash_programs: counters.flash_programs(),
        erases: counters.erases,
        waf: counters.write_amplification(),
        relocations: counters.relocations,
        dram_pages: whole.dram_pages,
        nvm_pages: whole.nvm_pages,
        page_bytes: whole.page_bytes,
        footprint_pages: whole.footprint_pages,
        buffer_resolved: whole.buffer_resolved.clone(),
        ssd_resolved: whole.ssd_resolved.clone(),
        precondition: whole.precondition.clone(),
        map: whole.map,
        drain: whole.drain,
        repetitions: whole.repetitions,
        arrivals: whole.arrivals.clone(),
        requests: Some(window.requests),
        requests_served: Some(window.requests),
        window_us: Some(us(window.begins_ns)),
        interval: Some(window.begins_ns / window.span_ns),
        from_us: Some(us(window.begins_ns)),
        ..SsdRow::default()
    };
    let completed = Completed {
        reads: &window.reads,
        writes: &window.writes,
        flushes: &window.flushes,
        read_pages: window.read_pages,
        write_pages: window.write_pages,
        span_ns: window.span_ns,
    };
    fill_completed(&mut row, &completed);
    row
}
