//! Off-line lower bounds.

use crate::{Op, Options};

/// An open interval of time that keeps a page resident, which saves one I/O. Times are indices of references.
#[derive(Clone, Copy)]
struct Interval {
    start: usize,
    end: usize,
}

/// Lower bounds of every demand-paging policy: `(min_read_ios, min_write_ios)`, in page I/Os.
///
/// Our reading of A-15:
///
/// * Chargeable references are those whose fault costs a read I/O: all of them with fetching, the reads without. A
///   saving ends at a chargeable reference; it starts at the page's previous reference of either type. A write that
///   fetches nothing therefore ends no read-saving interval but starts one.
/// * Intervals that strictly contain time t belong to other pages than the one referenced at t, except a write-saving
///   interval of that page itself when t is a read. "Capacity relaxed to S at a read of a page that has already been
///   written" thus limits all open intervals, the page's own among them, to S. It applies even if the page has no
///   interval open there, as after its last write under `flush_at_end`.
/// * The interval from the last write to the end of the trace ends after the last reference.
///
/// The two bounds are computed apart; no policy needs to reach both.
pub fn lower_bounds(trace: &[(u64, Op)], frames: usize, options: Options) -> (u64, u64) {
    assert!(frames >= 1, "a memory needs at least one frame");
    (min_read_ios(trace, frames, options), min_write_ios(trace, frames, options))
}

fn min_read_ios(trace: &[(u64, Op)], frames: usize, options: Options) -> u64 {
    let is_chargeable = |op: Op| op == Op::Read || options.write_allocate_fetch;
    let mut savings = Vec::new();
    for (end, (page, op)) in trace.iter().enumerate() {
        let previous = trace[..end].iter().rposition(|(other, _)| other == page);
        if let Some(start) = previous
            && is_chargeable(*op)
        {
            savings.push(Interval { start, end });
        }
    }
    let capacities = vec![frames - 1; trace.len()];
    let chargeable = trace.iter().filter(|(_, op)| is_chargeable(*op)).count();
    (chargeable - max_kept(&savings, &capacities)) as u64
}

fn min_write_ios(trace: &[(u64, Op)], frames: usize, options: Options) -> u64 {
    let mut savings = Vec::new();
    for (start, (page, op)) in trace.iter().enumerate() {
        if *op == Op::Read {
            continue;
        }
        let mut later = trace.iter().skip(start + 1);
        match later.position(|reference| *reference == (*page, Op::Write)) {
            Some(distance) => savings.push(Interval { start, end: start + 1 + distance }),
            None if !options.flush_at_end => savings.push(Interval { start, end: trace.len() }),
            None => {}
        }
    }
    let capacity = |(time, (page, op)): (usize, &(u64, Op))| {
        let is_written = trace[..time].contains(&(*page, Op::Write));
        if *op == Op::Read && is_written { frames } else { frames - 1 }
    };
    let capacities: Vec<usize> = trace.iter().enumerate().map(capacity).collect();
    let writes = trace.iter().filter(|(_, op)| *op == Op::Write).count();
    (writes - max_kept(&savings, &capacities)) as u64
}

/// The most intervals that can be kept so that at most `capacities[t]` of them strictly contain each time t: in order
/// of time, whenever too many are open, the one that ends last is dropped.
fn max_kept(intervals: &[Interval], capacities: &[usize]) -> usize {
    let mut kept = intervals.to_vec();
    for (time, capacity) in capacities.iter().enumerate() {
        loop {
            let open = |interval: &Interval| interval.start < time && time < interval.end;
            let is_open: Vec<usize> = (0..kept.len()).filter(|&index| open(&kept[index])).collect();
            if is_open.len() <= *capacity {
                break;
            }
            let last = is_open.into_iter().max_by_key(|&index| kept[index].end);
            kept.remove(last.expect("more than zero are open"));
        }
    }
    kept.len()
}
