//! What must hold of every run in time.

use std::collections::BTreeMap;

use clockhand_device::flash::time::{OperationKind, OperationRecord, Role};

use super::Case;
use crate::ssd::timed::TimedFinished;

pub(super) fn check(case: &Case, run: &TimedFinished, what: &str) {
    every_request_goes_through_its_stations_in_order(run, what);
    latencies_add_up_to_the_requests_inside(run, what);
    reads_are_operations_or_in_flight(case, run, what);
    blocks_are_erased_programmed_in_order_and_read(run, what);
    parts_are_never_busier_than_the_time(run, what);
}

fn every_request_goes_through_its_stations_in_order(run: &TimedFinished, what: &str) {
    let rows = run.timed.latencies.rows();
    assert_eq!(rows.len() as u64, run.timed.timing.requests, "{what}");
    for row in rows {
        let times = &row.times;
        assert!(times.arrival_ns <= times.accepted_ns, "{what}");
        assert!(
            times.accepted_ns <= times.decided_ns && times.decided_ns <= times.end_ns,
            "{what}"
        );
        let waits = times.host_wait_ns()
            + times.front_wait_ns()
            + times.buffer_wait_ns
            + times.collection_wait_ns
            + times.flash_wait_ns;
        assert_eq!(waits + times.service_ns(), times.latency_ns(), "{what}");
    }
    for pair in rows.windows(2) {
        let (before, after) = (&pair[0].times, &pair[1].times);
        assert!(before.accepted_ns <= after.accepted_ns, "{what}");
        assert!(before.decided_ns <= after.decided_ns, "{what}");
    }
}

/// Little's law, exactly: the sum of latencies is the integral of the number of requests inside.
fn latencies_add_up_to_the_requests_inside(run: &TimedFinished, what: &str) {
    let mut changes = BTreeMap::<u64, i128>::new();
    let mut sum_ns = 0;
    for row in run.timed.latencies.rows() {
        *changes.entry(row.times.arrival_ns).or_default() += 1;
        *changes.entry(row.times.end_ns).or_default() -= 1;
        sum_ns += i128::from(row.times.latency_ns());
    }
    let (mut inside, mut before_ns, mut area) = (0, 0, 0);
    for (time_ns, change) in changes {
        area += inside * i128::from(time_ns - before_ns);
        (inside, before_ns) = (inside + change, time_ns);
    }
    assert_eq!((inside, area), (0, sum_ns), "{what}");
}

fn reads_are_operations_or_in_flight(case: &Case, run: &TimedFinished, what: &str) {
    let count = |role: Role| {
        let is_of =
            |record: &&OperationRecord| record.kind == OperationKind::Read && record.role == role;
        run.operations.iter().filter(is_of).count() as u64
    };
    let counters = run.finished.drive.counters();
    let loads = counters.translation_reads - count(Role::Update);
    let operations = count(Role::Host) + count(Role::Load);
    let in_flight = run.timed.timing.in_flight_reads;
    assert_eq!(counters.host_reads + loads, operations + in_flight, "{what}");
    if case.is_zoned() {
        assert_eq!(counters.relocations, 0);
    }
}

/// Of each block: pages are programmed in ascending order, and read or programmed only between erases.
fn blocks_are_erased_programmed_in_order_and_read(run: &TimedFinished, what: &str) {
    let mut of_dies = BTreeMap::<u32, Vec<&OperationRecord>>::new();
    for record in run.operations.iter().filter(|record| record.start_ns.is_some()) {
        of_dies.entry(record.die).or_default().push(record);
    }
    for records in of_dies.values_mut() {
        records.sort_by_key(|record| (record.start_ns, record.end_ns.unwrap_or(u64::MAX)));
        let mut programmed = BTreeMap::<u32, (u32, u64)>::new();
        for record in records.iter() {
            let start_ns = record.start_ns.expect("it began");
            match (record.kind, record.page_in_block) {
                (OperationKind::Erase, _) => {
                    let (_, over_ns) = programmed.remove(&record.block).unwrap_or((0, 0));
                    assert!(over_ns <= start_ns, "an erase came too early, {what}");
                }
                (OperationKind::Program, Some(page)) => {
                    let (next, _) = programmed.get(&record.block).copied().unwrap_or((0, 0));
                    assert!(page >= next, "page {page} of block {}, {what}", record.block);
                    let over_ns = record.end_ns.unwrap_or(u64::MAX);
                    programmed.insert(record.block, (page + 1, over_ns));
                }
                _ => {}
            }
        }
    }
}

fn parts_are_never_busier_than_the_time(run: &TimedFinished, what: &str) {
    let timing = &run.timed.timing;
    let parts = timing.channel_busy_ns.iter().chain(&timing.die_busy_ns);
    for busy_ns in parts.chain([&timing.front_busy_ns]) {
        assert!(*busy_ns <= timing.end_ns, "{what}");
    }
}
