//! Random drives, buffers and traces against the twin, operation by operation, and against the counting mode.

use clockhand_device::flash::time::{
    MemoryTimes, OperationKind, Scheduling, Suspend, TimeOptions, Times,
};
use clockhand_device::flash::{
    Allocation, Block, Cause, Counters, Drive, FlashOperations, Frontiers, Ftl, FtlOptions,
    Geometry, LogicalPage as FlashPage, MinimumFree, PhysicalPage, VictimRule,
};
use clockhand_policy::buffer::catalog::{self, BufferSpec, ResolvedBuffer};
use clockhand_policy::buffer::{
    Action, BufferSize, Medium, PagesPerBlock, Request, Served, Source, Step, StepPage, WriteBuffer,
};
use clockhand_policy::{LogicalPage, Ratio};
use clockhand_twins::{
    DriveTimeTwin, ProgrammedFrom, TimedFlash, TimedKind, TimedOperation, TimedRequest, TimedRules,
    TimedServed, TimedStep,
};

use super::requests::{Cursor, Item, count};
use super::{ArrivalTimes, TimedCell, TimedFinished, Wanted};
use crate::Progress;
use crate::ssd::below::{Below, Buffered};
use crate::ssd::cell::on_flash;
use crate::ssd::course::Repeat;
use crate::ssd::placement::{Placed, PlacedCommand, PlacedForTest};

/// SplitMix64.
struct Numbers(u64);

impl Numbers {
    fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, most: u64) -> u64 {
        self.draw() % most
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize].clone()
    }
}

/// A drive, a buffer and a trace.
struct Case {
    geometry: Geometry,
    options: FtlOptions,
    time: TimeOptions,
    filled: u32,
    buffer: ResolvedBuffer,
    placed: Placed,
    arrivals: ArrivalTimes,
}

fn times(numbers: &mut Numbers) -> Times {
    let us = 1_000;
    Times {
        read_ns: numbers.pick(&[vec![25 * us], vec![50 * us, 80 * us, 110 * us], vec![0]]),
        program_ns: numbers.pick(&[vec![200 * us], vec![500 * us, 900 * us], vec![30 * us]]),
        erase_ns: numbers.pick(&[1_500 * us, 100 * us]),
        command_ns: numbers.pick(&[0, 300, 5_000]),
        transfer_ns: numbers.pick(&[0, 10_240, 40_000]),
        suspend_ns: numbers.pick(&[0, 5_000, 20_000]),
        resume_ns: numbers.pick(&[0, 10_000]),
        request_ns: numbers.pick(&[0, 2_000, 30_000]),
        idle_ns: 0,
        link_mb_s: numbers.pick(&[None, Some(clockhand_device::Exact::from_integer(1_000))]),
        dram: numbers.pick(&[
            MemoryTimes { read_ns: 50, write_ns: 50 },
            MemoryTimes { read_ns: 0, write_ns: 0 },
            MemoryTimes { read_ns: 7_000, write_ns: 9_000 },
        ]),
        nvm: numbers.pick(&[
            MemoryTimes { read_ns: 50, write_ns: 250 },
            MemoryTimes { read_ns: 3_000, write_ns: 40_000 },
        ]),
        slc: None,
    }
}

fn time_options(numbers: &mut Numbers) -> TimeOptions {
    let scheduling = numbers.pick(&[Scheduling::Fifo, Scheduling::ReadFirst]);
    let is_read_first = scheduling == Scheduling::ReadFirst;
    TimeOptions {
        scheduling,
        suspend: Suspend {
            erase: is_read_first && numbers.below(2) == 0,
            program: is_read_first && numbers.below(2) == 0,
        },
        suspend_limit: numbers.pick(&[1, 4]),
        copyback: numbers.below(3) == 0,
        cache_program: numbers.below(3) == 0,
        pages_per_program: numbers.pick(&[1, 1, 2, 4]),
        queue_depth: numbers.pick(&[1, 2, 32]),
        ..TimeOptions::new(times(numbers))
    }
}

fn buffer(numbers: &mut Numbers, pages_per_block: u32, logical_pages: u32) -> ResolvedBuffer {
    let names = [
        "none",
        "lru:commands=safe",
        "lru:cluster=block",
        "clock",
        "cflru:commands=safe",
        "fab",
        "fab:commands=safe,cache_reads=false",
        "bplru:commands=safe",
        "clc",
        "lb-clock",
        "cbm:dram_share=1/3",
        "cbm:commands=safe,dram_share=1/3",
        "clock-dnv:dram_share=1/3",
        "clock-dnv:dram_share=1/2,commands=safe",
        "clock-dnv:dram_share=1/3,nvm_write_hit=promote,commands=safe",
        "clock-dnv:dram_share=1/3,nvm_write_hit=dram_copy,padding=keep_clean",
        "clock-dnv:dram_share=1/3,padding=off,pad_migrating=true,read_allocate=false",
    ];
    let spec = BufferSpec::parse(numbers.pick(&names)).expect("it exists");
    let pages = if spec.is_none() { 0 } else { 3 + numbers.below(6) as u32 };
    let size = BufferSize {
        pages,
        pages_per_block: PagesPerBlock::new(pages_per_block).expect("a power of two"),
        distinct_pages: logical_pages,
        drive_pages: logical_pages.into(),
    };
    spec.resolve(size, Ratio::whole(8)).expect("it has this size")
}

fn trace(numbers: &mut Numbers, logical_pages: u32) -> (Placed, Vec<u64>) {
    let mut placed = PlacedForTest::new();
    let (mut times, mut time) = (Vec::new(), 0);
    let gap = numbers.pick(&[0, 1_000, 50_000, 300_000]);
    let hot = numbers.pick(&[logical_pages, 4]);
    for _ in 0..10 + numbers.below(60) {
        time += numbers.below(gap + 1);
        times.push(time);
        let among = if numbers.below(3) == 0 { logical_pages } else { hot };
        let first = numbers.below(among.into());
        let most = u64::from(logical_pages) - first;
        let pages = first as u32..(first + 1 + numbers.below(most.min(3))) as u32;
        match numbers.below(14) {
            0 => placed.command(PlacedCommand::Flush),
            1 => placed.command(PlacedCommand::Trim(pages)),
            2 => placed.request(pages, true, true, 0),
            3..=7 => placed.request(pages, true, false, 0),
            _ => placed.request(pages, false, false, 0),
        }
    }
    (placed.finish(), times)
}

fn case(seed: u64) -> Case {
    let numbers = &mut Numbers(seed);
    let pages_per_block = numbers.pick(&[4, 8]);
    let mut geometry = Geometry::one_pool(0, pages_per_block, 4096);
    geometry.channels = numbers.pick(&[1, 1, 2]);
    geometry.dies_per_channel = numbers.pick(&[1, 1, 2, 3]);
    geometry.planes_per_die = numbers.pick(&[1, 2]);
    let allocation = numbers.pick(&[Allocation::OnePool, Allocation::Striped]);
    let pools = if allocation == Allocation::Striped { geometry.dies() as u32 } else { 1 };
    let logical_pages = pools * 2 * pages_per_block;
    let least = match pools {
        1 => 6_u32.div_ceil(geometry.planes() as u32),
        _ => 6_u32.div_ceil(geometry.planes_per_die),
    };
    geometry.blocks_per_plane = least + numbers.below(2) as u32;
    let options = FtlOptions {
        allocation,
        victim: numbers.pick(&[VictimRule::Greedy, VictimRule::Fifo]),
        frontiers: numbers.pick(&[Frontiers::Shared, Frontiers::Separate]),
        minimum_free: MinimumFree::Blocks(numbers.pick(&[2, 3])),
        ..FtlOptions::new(logical_pages)
    };
    let (placed, times) = trace(numbers, logical_pages);
    let arrivals = match numbers.below(3) {
        0 => ArrivalTimes::Closed(1 + numbers.below(40)),
        _ => ArrivalTimes::at(&times, &clockhand_device::Exact::from_integer(1)),
    };
    Case {
        time: time_options(numbers),
        filled: numbers.pick(&[0, 1, 3]) * logical_pages,
        buffer: buffer(numbers, pages_per_block, logical_pages),
        geometry,
        options,
        placed,
        arrivals,
    }
}

/// The pages that a drive is aged with.
fn aged_with(case: &Case) -> Vec<FlashPage> {
    let logical_pages = case.options.logical_pages;
    (0..case.filled)
        .map(|write| {
            FlashPage(if write < logical_pages { write } else { write * 7 % logical_pages })
        })
        .collect()
}

fn is_safe(buffer: &ResolvedBuffer) -> bool {
    !buffer
        .settings()
        .iter()
        .any(|(name, value)| name == "commands" && value.to_string() == "paper")
}

fn run(case: &Case) -> TimedFinished {
    let mut drive = Drive::new(case.geometry, case.options.clone()).expect("it can be built");
    drive.precondition_with(&aged_with(case));
    let wanted = Wanted {
        ssd: "drive".to_owned(),
        options: case.time.clone(),
        window_ns: None,
        keeps_latencies: true,
        is_paper: !is_safe(&case.buffer),
        repetitions: 1,
        ends_saturated: false,
    };
    let cell = TimedCell {
        trace: &case.placed,
        arrivals: &case.arrivals,
        drive,
        drain: false,
        repeat: Repeat::Times(1),
        wanted,
        progress: &Progress::default(),
        records: true,
    };
    case.buffer.build(cell).expect("it runs")
}

/// Hears what the flash is told.
#[derive(Default)]
struct Heard(Vec<TimedFlash>);

impl FlashOperations for Heard {
    fn program(&mut self, to: PhysicalPage, holds: FlashPage) {
        self.0.push(TimedFlash::Program { to: to.0, page: holds.0 });
    }

    fn relocate(&mut self, _: Cause, from: PhysicalPage, to: PhysicalPage, holds: FlashPage) {
        self.0.push(TimedFlash::Relocate { from: from.0, to: to.0, page: holds.0 });
    }

    fn erase(&mut self, _: Cause, block: Block) {
        self.0.push(TimedFlash::Erase { block: block.0 });
    }
}

/// Writes down what a buffer and a translation layer decide.
struct Script {
    ftl: Ftl,
    steps: Vec<TimedStep>,
    is_written_through: bool,
    /// Pages in DRAM and NVM, as far as decisions go.
    placed: [std::collections::BTreeSet<u32>; 2],
}

impl Below for Script {
    fn carry_out(&mut self, step: &Step<'_>) {
        for &StepPage { page, source, stays, .. } in step.pages {
            let page = on_flash(page);
            match step.action {
                Action::Drop => self.leave(page.0, 0),
                Action::Migrate => {
                    self.placed[0].remove(&page.0);
                    self.placed[1].insert(page.0);
                    self.steps.push(TimedStep::Migrate(page.0));
                }
                Action::Flush => {
                    let from = match source {
                        Source::Dram => ProgrammedFrom::Memory(0, stays),
                        Source::Nvm => ProgrammedFrom::Memory(1, stays),
                        Source::Request => ProgrammedFrom::Request,
                        Source::Flash => {
                            let place = self.ftl.read(page, &mut Heard::default());
                            ProgrammedFrom::Padding(place.map(|place| place.0))
                        }
                    };
                    self.is_written_through |= source == Source::Request;
                    if matches!(source, Source::Dram | Source::Nvm) {
                        self.placed[1].remove(&page.0);
                    }
                    if source == Source::Dram && !stays {
                        self.placed[0].remove(&page.0);
                    }
                    let mut heard = Heard::default();
                    self.ftl.write(page, &mut heard).expect("blocks last");
                    self.steps.push(TimedStep::Program { page: page.0, from, flash: heard.0 });
                }
            }
        }
    }

    fn served<B: WriteBuffer>(&mut self, request: Request, served: Served, buffer: &B) {
        let number = |medium: Medium| if medium == Medium::Dram { 0 } else { 1 };
        match request {
            Request::Read(page) => {
                let (place, page) = (buffer.place_of(page), on_flash(page));
                if let Some(medium) = served.hit {
                    let medium = number(medium);
                    return self.steps.push(TimedStep::Hit { page: page.0, medium });
                }
                let from = self.ftl.read(page, &mut Heard::default()).map(|place| place.0);
                let into = place.map(number);
                if let Some(medium) = into {
                    self.placed[medium].insert(page.0);
                }
                self.steps.push(TimedStep::Read { page: page.0, from, into });
            }
            Request::Write(page) | Request::ForceUnitAccess(page) => {
                let Some(medium) = buffer.place_of(page).map(number) else { return };
                let page = on_flash(page).0;
                if medium == 1 || self.placed[1].len() > buffer.occupancy().nvm_pages as usize {
                    self.leave(page, 1 - medium);
                }
                self.placed[medium].insert(page);
                let completes = !self.is_written_through;
                self.steps.push(TimedStep::Put { page, medium, completes });
            }
            Request::Trim(page) => {
                if buffer.place_of(page).is_none() {
                    self.leave(on_flash(page).0, 0);
                    self.leave(on_flash(page).0, 1);
                }
                self.ftl.trim(on_flash(page).0..on_flash(page).0 + 1, &mut Heard::default());
            }
            Request::Flush | Request::Drain => {}
        }
    }
}

impl Script {
    fn leave(&mut self, page: u32, medium: usize) {
        if self.placed[medium].remove(&page) {
            self.steps.push(TimedStep::Leave(page, medium));
        }
    }
}

/// Decides all requests at once, as the counting mode does.
struct Decide<'a>(&'a Case, Ftl);

impl catalog::Visitor for Decide<'_> {
    type Output = (Vec<TimedRequest>, [usize; 2]);

    fn visit<B: WriteBuffer + Send + 'static>(self, buffer: B) -> Self::Output {
        let Decide(case, ftl) = self;
        let capacity = buffer.capacity();
        let places = [capacity.dram_pages as usize, capacity.nvm_pages as usize];
        let mut buffered = Buffered::new(buffer);
        let placed = Default::default();
        let mut script = Script { ftl, steps: Vec::new(), is_written_through: false, placed };
        let mut cursor = Cursor::default();
        let mut requests = Vec::new();
        for index in 0..count(&case.placed) {
            let item = cursor.next(&case.placed);
            let (kind, _, pages) = item.shape(&case.placed);
            match item {
                Item::Ranges(ranges) => {
                    for range in &case.placed.ranges[ranges] {
                        for page in range.pages() {
                            script.is_written_through = false;
                            let op = (range.is_write(), range.is_forced());
                            buffered.reference(LogicalPage(page.into()), op, &mut script);
                        }
                    }
                }
                Item::Commands(commands) => {
                    for (_, command) in &case.placed.commands[commands] {
                        match command {
                            PlacedCommand::Flush => {
                                buffered.serve(Request::Flush, &mut script);
                                if is_safe(&case.buffer) {
                                    script.steps.push(TimedStep::Flush);
                                }
                            }
                            PlacedCommand::Trim(pages) => {
                                for page in pages.clone() {
                                    buffered.serve(
                                        Request::Trim(LogicalPage(page.into())),
                                        &mut script,
                                    );
                                }
                            }
                        }
                    }
                }
            }
            use clockhand_device::flash::time::RequestKind::{Flush, Trim};
            let has_data = !matches!(kind, Flush | Trim);
            let link = case.time.times.link_mb_s.is_some() && has_data;
            let front = case.time.times.request_ns + if link { u64::from(pages) * 4096 } else { 0 };
            let arrival = match case.arrivals {
                ArrivalTimes::Closed(_) => None,
                _ => Some(case.arrivals.of(0, index)),
            };
            requests.push(TimedRequest {
                arrival,
                front,
                steps: std::mem::take(&mut script.steps),
            });
        }
        (requests, places)
    }
}

fn twin(case: &Case) -> (Vec<TimedOperation>, Vec<TimedServed>) {
    let mut ftl = Ftl::new(case.geometry, case.options.clone()).expect("it can be built");
    ftl.write_all(&aged_with(case), &mut Heard::default()).expect("blocks last");
    let (requests, places) = case.buffer.build(Decide(case, ftl));
    let TimeOptions { times, suspend, .. } = &case.time;
    let rules = TimedRules {
        channels: case.geometry.channels,
        dies: case.geometry.dies() as u32,
        blocks_per_plane: case.geometry.blocks_per_plane,
        planes: case.geometry.planes_per_die,
        pages_per_block: case.geometry.pages_per_block,
        read: times.read_ns.clone(),
        program: times.program_ns.clone(),
        erase: times.erase_ns,
        command: times.command_ns,
        transfer: times.transfer_ns,
        suspend: times.suspend_ns,
        resume: times.resume_ns,
        suspends: [suspend.erase, suspend.program],
        suspend_limit: case.time.suspend_limit,
        read_first: case.time.scheduling == Scheduling::ReadFirst,
        copyback: case.time.copyback,
        cache_program: case.time.cache_program,
        together: case.time.pages_per_program,
        queue_depth: case.time.queue_depth as usize,
        memories: [
            [times.dram.read_ns, times.dram.write_ns],
            [times.nvm.read_ns, times.nvm.write_ns],
        ],
        places,
        closed: match case.arrivals {
            ArrivalTimes::Closed(requests) => Some(requests as usize),
            _ => None,
        },
    };
    DriveTimeTwin::new(rules, requests).run()
}

/// What the counting mode counts of the same drive, buffer and trace.
fn counted(case: &Case) -> Counters {
    struct Counted<'a>(&'a Case, Drive);
    impl catalog::Visitor for Counted<'_> {
        type Output = Counters;
        fn visit<B: WriteBuffer + Send + 'static>(self, buffer: B) -> Counters {
            let Counted(case, drive) = self;
            let cell = crate::ssd::cell::Cell {
                trace: &case.placed,
                ssd: "drive",
                drive,
                drain: false,
                repeat: Repeat::Times(1),
                progress: &Progress::default(),
                observer: &mut crate::ssd::cell::Unobserved,
            };
            cell.visit(buffer).expect("it runs").drive.counters()
        }
    }
    let mut drive = Drive::new(case.geometry, case.options.clone()).expect("it can be built");
    drive.precondition_with(&aged_with(case));
    case.buffer.build(Counted(case, drive))
}

fn check(seed: u64) {
    let case = case(seed);
    let run = run(&case);
    let (operations, served) = twin(&case);
    let what = || format!("seed {seed}, buffer {}, {:?}", case.buffer, case.time);
    let end = served.iter().map(|served| served.times[3]).max().expect("a request");
    let is_over = |time: Option<u64>| time.filter(|time| *time <= end);
    for (number, (found, expected)) in run.operations.iter().zip(&operations).enumerate() {
        let kind = match found.kind {
            OperationKind::Read => TimedKind::Read,
            OperationKind::Program => TimedKind::Program,
            OperationKind::Erase => TimedKind::Erase,
            OperationKind::Copy => TimedKind::Copy,
        };
        let TimedOperation { collects, .. } = *expected;
        let (issued, start) = (found.issued_ns, is_over(found.start_ns));
        let found = TimedOperation {
            kind,
            collects,
            die: found.die,
            issued,
            start,
            end: is_over(found.end_ns),
        };
        let expected = TimedOperation {
            start: is_over(expected.start),
            end: is_over(expected.end),
            ..*expected
        };
        assert_eq!(found, expected, "operation {}, {}", number + 1, what());
    }
    assert_eq!(run.operations.len(), operations.len(), "{}", what());
    let rows = run.timed.latencies.rows();
    assert_eq!(rows.len(), served.len());
    for (row, expected) in rows.iter().zip(&served) {
        let times = &row.times;
        let found = TimedServed {
            times: [times.arrival_ns, times.accepted_ns, times.decided_ns, times.end_ns],
            waits: [times.buffer_wait_ns, times.collection_wait_ns, times.flash_wait_ns],
        };
        assert_eq!(&found, expected, "request {}, {}", times.index, what());
        let waits = times.host_wait_ns() + times.front_wait_ns() + found.waits.iter().sum::<u64>();
        assert_eq!(waits + times.service_ns(), times.latency_ns(), "{}", what());
    }
    assert_eq!(run.finished.drive.counters(), counted(&case), "{}", what());
    assert_eq!(run.timed.timing.end_ns, end);
}

#[test]
fn random_drives_buffers_and_traces_are_timed_as_the_twin_times_them() {
    let cases =
        std::env::var("TIMED_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(1_500);
    (0..cases).for_each(check);
}
