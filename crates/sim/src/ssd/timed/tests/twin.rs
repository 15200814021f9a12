//! Random drives of every mapping, buffers and traces against the twin, operation by operation; against the counting mode;
//! and against what must hold of any run.

mod cases;
mod invariants;
mod script;

use clockhand_device::flash::time::{OperationKind, OperationRecord, Scheduling, TimeOptions};
use clockhand_device::flash::{Drive, Ftl};
use clockhand_policy::buffer::WriteBuffer;
use clockhand_policy::buffer::catalog;
use clockhand_twins::{
    DriveTimeTwin, TimedKind, TimedOperation, TimedRequest, TimedRules, TimedServed,
};

use crate::ssd::cell::{CountedCell, Finished, Unobserved};
use crate::ssd::course::Repeat;
use crate::ssd::timed::requests::{Cursor, count};
use crate::ssd::timed::{ArrivalTimes, TimedCell, TimedFinished, Wanted};
use cases::{Case, case};
use clockhand_trace::progress::Progress;
use script::Decide;

fn run(case: &Case) -> TimedFinished {
    let wanted = Wanted {
        ssd: "drive".to_owned(),
        options: case.time.clone(),
        window_ns: None,
        keeps_latencies: true,
        is_paper: !case.is_safe(),
        repetitions: 1,
        ends_saturated: false,
    };
    let cell = TimedCell {
        trace: &case.placed,
        arrivals: &case.arrivals,
        drive: case.drive(),
        drain: false,
        repeat: Repeat::Times(1),
        wanted,
        progress: &Progress::default(),
        records: true,
    };
    case.buffer.build(cell).expect("it runs")
}

fn rules(case: &Case, places: [usize; 2]) -> TimedRules {
    let TimeOptions { times, suspend, .. } = &case.time;
    let ftl = Ftl::new(case.geometry, case.options.clone()).expect("it can be built");
    let slc = case.options.mapping.slc().zip(times.slc);
    TimedRules {
        channels: case.geometry.channels,
        dies: case.geometry.dies() as u32,
        blocks_per_plane: case.geometry.blocks_per_plane,
        planes: case.geometry.planes_per_die,
        pages_per_block: case.geometry.pages_per_block,
        read: times.read_ns.clone(),
        program: times.program_ns.clone(),
        erase: times.erase_ns,
        slc: slc.map(|(slc, times)| {
            let blocks = ftl.pool_blocks();
            (blocks, blocks - slc.blocks, [times.read_ns, times.program_ns, times.erase_ns])
        }),
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
        background: case.is_background().then(|| (ftl.pools() as usize, times.idle_ns)),
    }
}

/// When requests arrive, and how long each takes in the front end.
fn requests(case: &Case) -> Vec<TimedRequest> {
    use clockhand_device::flash::time::RequestKind::{Flush, Trim};
    let mut cursor = Cursor::default();
    let times = &case.time.times;
    let request = |index| {
        let (kind, _, pages) = cursor.next(&case.placed).shape(&case.placed);
        let has_data = times.link_mb_s.is_some() && !matches!(kind, Flush | Trim);
        // At 1,000 MB/s a byte takes a nanosecond.
        let link = if has_data { u64::from(pages) * 4096 } else { 0 };
        let arrival = match case.arrivals {
            ArrivalTimes::Closed(_) => None,
            _ => Some(case.arrivals.of(0, index)),
        };
        TimedRequest { arrival, front: times.request_ns + link }
    };
    (0..count(&case.placed)).map(request).collect()
}

/// Runs the twin behind a buffer.
struct RunTwin<'a>(&'a Case);

impl catalog::Visitor for RunTwin<'_> {
    type Output = (Vec<TimedOperation>, Vec<TimedServed>);

    fn visit<B: WriteBuffer + Send + 'static>(self, mut buffer: B) -> Self::Output {
        let RunTwin(case) = self;
        buffer.foresee(&mut case.placed.writes());
        let capacity = buffer.capacity();
        let places = [capacity.dram_pages as usize, capacity.nvm_pages as usize];
        let decide = Decide::new(case, case.drive().ftl().clone(), buffer);
        let (operations, served, _) =
            DriveTimeTwin::new(rules(case, places), requests(case), decide).run();
        (operations, served)
    }
}

/// Results of the counting mode for the same drive, buffer and trace.
fn counted(case: &Case) -> Finished {
    struct Counted<'a>(&'a Case, Drive);
    impl catalog::Visitor for Counted<'_> {
        type Output = Finished;
        fn visit<B: WriteBuffer + Send + 'static>(self, buffer: B) -> Finished {
            let Counted(case, drive) = self;
            let cell = CountedCell {
                trace: &case.placed,
                ssd: "drive",
                drive,
                drain: false,
                repeat: Repeat::Times(1),
                cuts: crate::intervals::Cuts::NONE,
                progress: &Progress::default(),
                observer: &mut Unobserved,
            };
            cell.visit(buffer).expect("it runs")
        }
    }
    case.buffer.build(Counted(case, case.drive()))
}

fn seen(found: &OperationRecord, collects: bool, end: u64) -> TimedOperation {
    let kind = match found.kind {
        OperationKind::Read => TimedKind::Read,
        OperationKind::Program => TimedKind::Program,
        OperationKind::Erase => TimedKind::Erase,
        OperationKind::Copy => TimedKind::Copy,
    };
    let is_over = |time: Option<u64>| time.filter(|time| *time <= end);
    let (start, end) = (is_over(found.start_ns), is_over(found.end_ns));
    TimedOperation { kind, collects, die: found.die, issued: found.issued_ns, start, end }
}

fn check_twin(case: &Case, run: &TimedFinished, what: &str) {
    let (operations, served) = case.buffer.build(RunTwin(case));
    let end = served.iter().map(|served| served.times[3]).max().expect("a request");
    let is_over = |time: Option<u64>| time.filter(|time| *time <= end);
    for (number, (found, expected)) in (1..).zip(run.operations.iter().zip(&operations)) {
        let found = seen(found, expected.collects, end);
        let (start, end) = (is_over(expected.start), is_over(expected.end));
        let expected = TimedOperation { start, end, ..*expected };
        assert_eq!(found, expected, "operation {number}, {what}");
    }
    assert_eq!(run.operations.len(), operations.len(), "{what}");
    let rows = run.timed.latencies.rows();
    assert_eq!(rows.len(), served.len());
    for (row, expected) in rows.iter().zip(&served) {
        let times = &row.times;
        let found = TimedServed {
            times: [times.arrival_ns, times.accepted_ns, times.decided_ns, times.end_ns],
            waits: [times.buffer_wait_ns, times.collection_wait_ns, times.flash_wait_ns],
        };
        assert_eq!(&found, expected, "request {}, {what}", times.index);
    }
    assert_eq!(run.timed.timing.end_ns, end);
}

/// With collection in the foreground time changes no decision; in the background only what collection does.
fn check_counted(case: &Case, run: &TimedFinished, what: &str) {
    let counted = counted(case);
    let (timed, counts) = (run.finished.drive.counters(), counted.drive.counters());
    assert_eq!(run.finished.counts, counted.counts, "{what}");
    if case.is_background() {
        assert_eq!(timed.host_writes, counts.host_writes, "{what}");
        assert_eq!(timed.host_reads, counts.host_reads, "{what}");
        return;
    }
    assert_eq!(timed, counts, "{what}");
    assert_eq!(run.finished.drive.mapping_counts(), counted.drive.mapping_counts(), "{what}");
    assert_eq!(run.finished.drive.wear(), counted.drive.wear(), "{what}");
}

fn cases(default: u64) -> u64 {
    let given = std::env::var("TIMED_CASES").ok();
    given.and_then(|cases| cases.parse().ok()).unwrap_or(default)
}

fn check(seed: u64) {
    let case = case(seed);
    let what = || {
        let Case { geometry, options, time, buffer, .. } = &case;
        format!("seed {seed}, buffer {buffer}, {geometry:?}, {options:?}, {time:?}")
    };
    let run = run(&case);
    check_counted(&case, &run, &what());
    check_twin(&case, &run, &what());
    invariants::check(&case, &run, &what());
}

#[test]
fn random_drives_buffers_and_traces_are_timed_as_the_twin_times_them() {
    (0..cases(600)).for_each(check);
}

#[test]
fn time_changes_no_count_whatever_the_mapping_the_buffer_and_the_options() {
    for seed in 1_000_000..1_000_000 + cases(1_500) {
        let case = case(seed);
        check_counted(&case, &run(&case), &format!("seed {seed}"));
    }
}
