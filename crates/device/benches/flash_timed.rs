//! Requests per CPU second of a drive in time: the 2 GB drive of `flash.rs`, filled, under random requests with 32 on their
//! way at any time, with collection. Prints CSV; asserts that every request is served.
//!
//! `cargo bench -p clockhand-device --bench flash_timed [-- REQUESTS]`. What others publish for the same: MQSim 80 to 105
//! thousand requests per second, DiskSim with its SSD extension about 96 thousand. The last row is the drive of the run of MQSim
//! that benches/README.md tells of: eight dies on four channels, 70 % of the raw pages in use, random writes of a page.

use std::convert::Infallible;

use clockhand_device::flash::time::{
    Arrivals, Asked, CompletedRequest, Decision, Latencies, MemoryTimes, RequestKind, Scheduling,
    TimeOptions, TimedDrive, Times,
};
use clockhand_device::flash::{Allocation, Drive, FtlOptions, Geometry, LogicalPage};

const REQUESTS: u64 = 2_000_000;
const US: u64 = 1_000;
/// Requests that are looked up together, as the simulator does.
const AHEAD: u64 = 64;

/// Random requests, and how long they took.
struct Random {
    asked: Vec<(LogicalPage, bool)>,
    ahead: Vec<LogicalPage>,
    latencies: Latencies,
}

impl Random {
    /// Of ten requests, `writes_of_ten` write.
    fn new(logical_pages: u32, writes_of_ten: u64, count: u64) -> Random {
        let mut state = 1_u64;
        let mut below = |limit: u64| {
            // The upper half of a multiplicative generator modulo 2^64.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 32) * limit) >> 32
        };
        let mut ask =
            |_| (LogicalPage(below(logical_pages.into()) as u32), below(10) < writes_of_ten);
        let asked = (0..count).map(&mut ask).collect();
        Random { asked, ahead: Vec::new(), latencies: Latencies::new() }
    }
}

impl clockhand_device::flash::time::Workload for Random {
    type Error = Infallible;

    fn request(&mut self, index: u64) -> Option<Asked> {
        let (_, is_write) = *self.asked.get(index as usize)?;
        let kind = if is_write { RequestKind::Write } else { RequestKind::Read };
        Some(Asked { arrival_ns: 0, kind, pages: 1 })
    }

    fn decide(&mut self, index: u64, decision: &mut Decision<'_>) -> Result<(), Infallible> {
        if index.is_multiple_of(AHEAD) {
            let next = self.asked[index as usize..].iter().take(AHEAD as usize);
            self.ahead.clear();
            self.ahead.extend(next.map(|(page, _)| *page));
            decision.look_ahead(&self.ahead);
        }
        match self.asked[index as usize] {
            (page, true) => decision.write(page).expect("blocks last for ever"),
            (page, false) => decision.read(page),
        }
        Ok(())
    }

    fn complete(&mut self, request: &CompletedRequest) {
        self.latencies.add(request.latency_ns());
    }
}

/// A drive of 8192 blocks on this number of dies, two on each channel, with this share of its logical pages to spare.
fn drive(dies: u32, spare: f64) -> Drive {
    let geometry = Geometry {
        channels: dies.div_ceil(2),
        dies_per_channel: dies.min(2),
        ..Geometry::one_pool(8192 / dies, 64, 4096)
    };
    let allocation = if dies == 1 { Allocation::OnePool } else { Allocation::Striped };
    let logical_pages = (geometry.raw_pages() as f64 / (1.0 + spare)) as u32;
    let options = FtlOptions { allocation, ..FtlOptions::new(logical_pages) };
    let mut drive = Drive::new(geometry, options).expect("there is over-provisioning");
    drive.precondition_with(&(0..logical_pages).map(LogicalPage).collect::<Vec<_>>());
    drive
}

fn options(has_bus: bool) -> TimeOptions {
    let memory = MemoryTimes { read_ns: 50, write_ns: 50 };
    TimeOptions {
        scheduling: if has_bus { Scheduling::ReadFirst } else { Scheduling::Fifo },
        ..TimeOptions::new(Times {
            read_ns: vec![25 * US],
            program_ns: vec![200 * US],
            erase_ns: 1_500 * US,
            command_ns: if has_bus { 300 } else { 0 },
            transfer_ns: if has_bus { 10_240 } else { 0 },
            suspend_ns: 0,
            resume_ns: 0,
            request_ns: 0,
            idle_ns: 0,
            link_mb_s: None,
            dram: memory,
            nvm: memory,
            slc: None,
        })
    }
}

/// CPU seconds of this process so far, in hundredths.
fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux tells");
    let fields = stat.rsplit(')').next().expect("a name").split_whitespace();
    let ticks = fields.skip(11).take(2).map(|ticks| ticks.parse::<f64>().expect("a number"));
    ticks.sum::<f64>() / 100.0
}

fn main() {
    let numbers = std::env::args().skip(1).filter_map(|argument| argument.parse::<u64>().ok());
    let numbers: Vec<u64> = numbers.collect();
    let requests = numbers.first().copied().unwrap_or(REQUESTS);
    println!(
        "dies,bus,writes,spare,requests,served,million_requests_per_cpu_s,operations_per_request,end_ms,hash"
    );
    for (dies, has_bus, writes_of_ten, spare) in [
        (1, false, 10, 0.15),
        (1, false, 3, 0.15),
        (8, false, 10, 0.15),
        (8, true, 10, 0.15),
        (8, true, 3, 0.15),
        (8, true, 10, 0.43),
    ] {
        if numbers.len() > 1 && numbers[1..] != [dies.into(), has_bus.into(), writes_of_ten] {
            continue;
        }
        let drive = drive(dies, spare);
        let mut random = Random::new(drive.ftl().options().logical_pages, writes_of_ten, requests);
        let mut timed = TimedDrive::new(drive, options(has_bus), 0, 0);
        let before_s = cpu_s();
        let timing = timed.run(Arrivals::Closed(32), &mut random).expect("it runs");
        let took_s = cpu_s() - before_s;
        assert_eq!(timing.requests, requests, "every request is served");
        let counters = timed.drive().counters();
        let operations = counters.flash_programs() + counters.flash_reads() + counters.erases;
        println!(
            "{dies},{has_bus},{writes_of_ten}0 %,{spare},{requests},{},{:.2},{:.2},{},{}",
            timing.requests,
            requests as f64 / took_s / 1e6,
            operations as f64 / requests as f64,
            timing.end_ns / 1_000_000,
            random.latencies.sum_ns(),
        );
    }
}
