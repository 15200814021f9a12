//! A drive in time against what queueing theory and arithmetic say of it.

use std::convert::Infallible;

use clockhand_device::flash::time::{
    Arrivals, Asked, CompletedRequest, Decision, MemoryTimes, RequestKind, Scheduling, SlcTimes,
    TimeOptions, TimedDrive, Times, Timing, Workload,
};
use clockhand_device::flash::{
    Allocation, Drive, FtlOptions, Geometry, LogicalPage, Mapping, PageOptions, SlcFull, SlcOptions,
};

const READ_NS: u64 = 25_000;
const PROGRAM_NS: u64 = 200_000;
/// The filled half of the logical pages, which is read; the other one is written, each page once, so that nothing is collected.
const HALF: u32 = 200_000;

/// Requests of one page, and when each was complete.
struct Requests {
    asked: Vec<(u64, bool)>,
    next_read: u32,
    next_write: u32,
    done: Vec<CompletedRequest>,
}

impl Requests {
    /// Each with its arrival and whether it writes.
    fn new(asked: Vec<(u64, bool)>) -> Requests {
        Requests { asked, next_read: 0, next_write: HALF, done: Vec::new() }
    }
}

impl Workload for Requests {
    type Error = Infallible;

    fn request(&mut self, index: u64) -> Option<Asked> {
        let (arrival_ns, is_write) = *self.asked.get(index as usize)?;
        let kind = if is_write { RequestKind::Write } else { RequestKind::Read };
        Some(Asked { arrival_ns, kind, pages: 1 })
    }

    fn decide(&mut self, index: u64, decision: &mut Decision<'_>) -> Result<(), Infallible> {
        if self.asked[index as usize].1 {
            decision.write(LogicalPage(self.next_write)).expect("blocks last for ever");
            self.next_write += 1;
        } else {
            decision.read(LogicalPage(self.next_read % HALF));
            self.next_read += 1;
        }
        Ok(())
    }

    fn complete(&mut self, request: &CompletedRequest) {
        self.done.push(*request);
    }
}

fn times() -> Times {
    let memory = MemoryTimes { read_ns: 50, write_ns: 50 };
    Times {
        read_ns: vec![READ_NS],
        program_ns: vec![PROGRAM_NS],
        erase_ns: 1_500_000,
        command_ns: 0,
        transfer_ns: 0,
        suspend_ns: 0,
        resume_ns: 0,
        request_ns: 0,
        idle_ns: 0,
        link_mb_s: None,
        dram: memory,
        nvm: memory,
        slc: None,
    }
}

fn options() -> TimeOptions {
    TimeOptions { queue_depth: 65_535, ..TimeOptions::new(times()) }
}

/// A drive whose first half is filled, on so many channels and dies of each.
fn drive(channels: u32, dies_per_channel: u32, mapping: Mapping) -> Drive {
    let dies = channels * dies_per_channel;
    let blocks = 2 * HALF / 64 / dies + 40;
    let geometry = Geometry { channels, dies_per_channel, ..Geometry::one_pool(blocks, 64, 4096) };
    let allocation = Allocation::Striped;
    let options = FtlOptions { allocation, mapping, ..FtlOptions::new(2 * HALF) };
    let mut drive = Drive::new(geometry, options).expect("there is room");
    drive.precondition_with(&(0..HALF).map(LogicalPage).collect::<Vec<_>>());
    drive
}

fn run(
    drive: Drive,
    options: TimeOptions,
    arrivals: Arrivals,
    asked: Vec<(u64, bool)>,
) -> (Timing, Vec<CompletedRequest>) {
    let mut requests = Requests::new(asked);
    let mut timed = TimedDrive::new(drive, options, 0, 0);
    let timing = timed.run(arrivals, &mut requests).expect("every request is served");
    assert_eq!(timed.drive().counters().erases, 0, "nothing is collected");
    requests.done.sort_by_key(|request| request.index);
    (timing, requests.done)
}

/// In [0, 1).
struct Shares(u64);

impl Shares {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Poisson arrivals with this mean gap, of which this share write.
fn poisson(count: usize, mean_gap_ns: f64, write_share: f64) -> Vec<(u64, bool)> {
    let (mut shares, mut time_ns) = (Shares(7), 0.0);
    let mut next = || {
        time_ns -= mean_gap_ns * (1.0 - shares.next()).ln();
        (time_ns as u64, shares.next() < write_share)
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn reads_of_one_die_follow_lindley_to_the_nanosecond_for_any_queue_depth() {
    let asked = poisson(20_000, READ_NS as f64 / 0.9, 0.0);
    for queue_depth in [1, 3, 32, 65_535] {
        let options = TimeOptions { queue_depth, ..options() };
        let one_die = drive(1, 1, Mapping::default());
        let (timing, done) = run(one_die, options, Arrivals::Open, asked.clone());
        let mut end_ns = 0;
        for (request, (arrival_ns, _)) in done.iter().zip(&asked) {
            end_ns = end_ns.max(*arrival_ns) + READ_NS;
            assert_eq!((request.arrival_ns, request.end_ns), (*arrival_ns, end_ns));
        }
        assert_eq!(timing.end_ns, end_ns);
        assert_eq!(timing.die_busy_ns, [READ_NS * asked.len() as u64]);
    }
}

/// Mean waits of reads and of writes, from arrival to start.
fn mean_waits_ns(done: &[CompletedRequest]) -> [f64; 2] {
    [RequestKind::Read, RequestKind::Write].map(|kind| {
        let of_kind = done.iter().filter(|request| request.kind == kind);
        let waits = of_kind.map(|request| (request.host_wait_ns() + request.flash_wait_ns) as f64);
        let (count, sum) = waits.fold((0_u32, 0.0), |(count, sum), wait| (count + 1, sum + wait));
        sum / f64::from(count.max(1))
    })
}

fn assert_close(found: f64, expected: f64, share: f64) {
    assert!((found / expected - 1.0).abs() < share, "{found}, expected {expected}");
}

#[test]
fn reads_at_poisson_arrivals_wait_as_in_an_m_d_1_queue() {
    for load in [0.3, 0.7] {
        let asked = poisson(200_000, READ_NS as f64 / load, 0.0);
        let one_die = drive(1, 1, Mapping::default());
        let (_, done) = run(one_die, options(), Arrivals::Open, asked);
        let expected = load * READ_NS as f64 / (2.0 * (1.0 - load));
        assert_close(mean_waits_ns(&done)[0], expected, 0.02);
    }
}

#[test]
fn reads_and_writes_wait_as_pollaczek_and_khinchin_and_cobham_say() {
    let (write_share, load) = (0.3, 0.6);
    let (read, program) = (READ_NS as f64, PROGRAM_NS as f64);
    let mean = (1.0 - write_share) * read + write_share * program;
    let asked = poisson(400_000, mean / load, write_share);
    let square = (1.0 - write_share) * read * read + write_share * program * program;
    let residual = load / mean * square / 2.0;
    let of_reads = load / mean * (1.0 - write_share) * read;

    let one_die = drive(1, 1, Mapping::default());
    let (_, fifo) = run(one_die.clone(), options(), Arrivals::Open, asked.clone());
    for wait in mean_waits_ns(&fifo) {
        assert_close(wait, residual / (1.0 - load), 0.03);
    }
    let read_first = TimeOptions { scheduling: Scheduling::ReadFirst, ..options() };
    let (_, done) = run(one_die, read_first, Arrivals::Open, asked);
    let [reads, writes] = mean_waits_ns(&done);
    assert_close(reads, residual / (1.0 - of_reads), 0.03);
    assert_close(writes, residual / ((1.0 - of_reads) * (1.0 - load)), 0.03);
}

/// Nanoseconds a request of a closed loop of two for each die.
fn closed_ns(channels: u32, dies: u32, options: TimeOptions, is_write: bool) -> f64 {
    let count = 20_000;
    let closed = Arrivals::Closed(u64::from(2 * channels * dies));
    let drive = drive(channels, dies, Mapping::default());
    let (timing, _) = run(drive, options, closed, vec![(0, is_write); count]);
    timing.end_ns as f64 / count as f64
}

#[test]
fn a_channel_is_full_from_as_many_dies_on_as_arithmetic_says() {
    let (command, transfer) = (1_000, 10_000);
    let on_bus = (command + transfer) as f64;
    let with_bus = || {
        let times = Times { command_ns: command, transfer_ns: transfer, ..times() };
        TimeOptions { queue_depth: 65_535, ..TimeOptions::new(times) }
    };
    for (is_write, array) in [(false, READ_NS as f64), (true, PROGRAM_NS as f64)] {
        let full_from = ((on_bus + array) / on_bus).ceil() as u32;
        for dies in [1, full_from - 1, full_from, full_from + 1] {
            let one = ((on_bus + array) / f64::from(dies)).max(on_bus);
            let found = closed_ns(1, dies, with_bus(), is_write);
            assert_close(found, one, 0.02);
            if dies == full_from {
                assert_close(found, on_bus, 0.02);
                assert_close(closed_ns(3, dies, with_bus(), is_write), on_bus / 3.0, 0.02);
            }
        }
    }
}

#[test]
fn the_cache_hides_transfers_and_planes_program_together() {
    for (program, transfer) in [(200_000, 10_000), (20_000, 90_000)] {
        let command = 1_000;
        let times = || Times {
            program_ns: vec![program],
            command_ns: command,
            transfer_ns: transfer,
            ..times()
        };
        let cached = TimeOptions { cache_program: true, ..TimeOptions::new(times()) };
        let hidden = program + (command + transfer).saturating_sub(program);
        assert_close(closed_ns(1, 1, cached, true), hidden as f64, 0.001);
        let together = 2;
        let options =
            TimeOptions { pages_per_program: together as u32, ..TimeOptions::new(times()) };
        let closed = Arrivals::Closed(32);
        let asked = vec![(0, true); 20_000];
        let (timing, done) = run(drive(1, 1, Mapping::default()), options, closed, asked);
        let group = (command + together * transfer + program) as f64;
        let found = timing.end_ns as f64 / done.len() as f64;
        assert_close(found, group / together as f64, 0.001);
    }
}

#[test]
fn a_burst_that_fits_the_slc_region_costs_its_program_time_a_page() {
    let slc = SlcOptions { blocks: 20, bits_per_cell: 3, full: SlcFull::Fold };
    let mapping = Mapping::Page(PageOptions { slc: Some(slc), ..PageOptions::default() });
    let program_ns = 40_000;
    let times = Times {
        slc: Some(SlcTimes { read_ns: 20_000, program_ns, erase_ns: 1_000_000 }),
        ..times()
    };
    let fits = 20 * (64 / 3);
    let geometry = Geometry::one_pool(200, 64, 4096);
    let drive = Drive::new(geometry, FtlOptions { mapping, ..FtlOptions::new(64 * 100) });
    let mut drive = drive.expect("there is room");
    drive.precondition_with(&[]);
    let mut requests = Requests::new(vec![(0, true); fits]);
    requests.next_write = 0;
    let mut timed = TimedDrive::new(drive, TimeOptions::new(times), 0, 0);
    let timing = timed.run(Arrivals::Closed(1), &mut requests).expect("it is served");
    assert_eq!(timing.end_ns, fits as u64 * program_ns);
}

/// Writes parts of pages, of which the first half is on flash.
struct Parts {
    left: u32,
    page: LogicalPage,
    ends_ns: Vec<u64>,
}

impl Workload for Parts {
    type Error = Infallible;

    fn request(&mut self, _index: u64) -> Option<Asked> {
        self.left = self.left.checked_sub(1)?;
        Some(Asked { arrival_ns: 0, kind: RequestKind::Write, pages: 1 })
    }

    fn decide(&mut self, _index: u64, decision: &mut Decision<'_>) -> Result<(), Infallible> {
        decision.modify(self.page);
        decision.write(self.page).expect("blocks last for ever");
        Ok(())
    }

    fn complete(&mut self, request: &CompletedRequest) {
        self.ends_ns.push(request.end_ns);
    }
}

#[test]
fn a_page_that_is_written_in_part_is_programmed_when_its_rest_was_read() {
    let ends_ns = |page| {
        let mut parts = Parts { left: 2, page: LogicalPage(page), ends_ns: Vec::new() };
        let drive = drive(1, 1, Mapping::default());
        let mut timed = TimedDrive::new(drive, TimeOptions::new(times()), 0, 0);
        let timing = timed.run(Arrivals::Closed(1), &mut parts).expect("it is served");
        (parts.ends_ns, timing.die_busy_ns[0])
    };
    let both_ns = READ_NS + PROGRAM_NS;
    assert_eq!(ends_ns(0), (vec![both_ns, 2 * both_ns], 2 * both_ns));
    // The first one finds nothing to read.
    assert_eq!(ends_ns(HALF).0, [PROGRAM_NS, PROGRAM_NS + both_ns]);
}
