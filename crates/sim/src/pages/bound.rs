//! # bound: what no policy can do better
//!
//! Offline lower bounds for every policy that loads a page only when it is referenced: the fewest page reads, the
//! fewest page writes, and the least I/O time. Each column is a bound by itself: no policy need reach two at
//! once, so the time is not that of these reads and writes, but as much or more. A row of `bound` fills references,
//! read_ios, write_ios and io_time_us. It is the bound of the frames that the policies have.
//! The other end of the bracket is `opt-feasible`.
//!
//! **Reads.** Keeping a page in memory from one reference to the next saves a read. While a page is referenced,
//! at most `frames - 1` others can be kept. As many intervals as possible are kept if, whenever too many are open,
//! the one that ends last is given up. With fetching on a write fault this equals the misses of `min`.
//!
//! **Writes.** Keeping a page from one write of it to the next saves a write, and so does keeping it from the last
//! write to the end, unless dirty pages are flushed there. The same rule; at a read of a page that has been
//! written, its own interval may be one of `frames` that are open.
//!
//! **Time.** At least that of these reads and writes, which is all that `effort=0` computes. More is found by a
//! Lagrangian relaxation. While a page is referenced, there are `frames - 1` places for others; a place gets a price,
//! and every page is considered by itself at the least cost, prices included, by a dynamic program over absent, clean
//! and dirty. The cost of all pages, less the prices of all existing places, bounds every policy from below, whatever
//! the prices. The prices climb by the volume algorithm. Places have prices only where an LRU memory of an eighth of
//! the frames misses; the references between them are merged. The bound is computed in whole numbers and rounded up to
//! a multiple of the unit of all costs, so that it is never above the optimum.
//!
//! **Parameters.** `effort`: the approximate seconds that a memory size may take (default 2, or --bound-effort). They
//! stand for a number of steps that depends only on trace and memory size, not on the machine, so that results can be
//! repeated: on a slow machine it takes longer. The search stops when the bracket is closed.
//!
//! **Cost.** For each memory size, a logarithm of the number of references for each of them, and the effort.
//!
//! **Reference.** Reads and writes: L. A. Belady: A study of replacement algorithms for a virtual-storage computer. IBM
//! Systems Journal 5(2), 1966, applied to each. The problem is NP-complete and Max-SNP hard: N. Beckmann, P. B. Gibbons,
//! B. Haeupler, C. McGuffey: Writeback-aware caching. APOCS 2020, who also bound it on real traces. Prices: F. Barahona,
//! R. Anbil: The volume algorithm: producing primal solutions with a subgradient method. Mathematical Programming
//! 87, 2000.

use std::collections::BinaryHeap;

use clockhand_trace::{PageView, Record};

use crate::error::SimError;
use crate::next_use::NEVER;
use crate::replay::ReplayOptions;
use clockhand_trace::progress::Progress;

/// The fewest page reads and the fewest page writes, each for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The fewest page reads.
    pub read_ios: u64,
    /// The fewest page writes.
    pub write_ios: u64,
}

/// Computes the bound for one memory size. `next_use` has an entry per record of the view.
///
/// A run of references to one page counts as one: within it nothing else is referenced, so every reference after the
/// first, and every write after the first, is saved whatever else is kept.
pub(crate) fn bound(
    view: &PageView,
    next_use: &[u32],
    frames: u32,
    options: ReplayOptions,
    progress: &Progress,
) -> Result<Bound, SimError> {
    let pages = view.footprint_pages();
    let frames = frames.min(pages) as usize;
    Ok(Bound {
        read_ios: min_read_ios(view, next_use, frames, options, progress)?,
        write_ios: min_write_ios(view, frames, options.flush_at_end, progress)?,
    })
}

fn min_read_ios(
    view: &PageView,
    next_use: &[u32],
    frames: usize,
    options: ReplayOptions,
    progress: &Progress,
) -> Result<u64, SimError> {
    let records = view.records();
    let is_charged = |record: Record| options.fetches(record.first_is_write());
    let mut kept = Kept::new(view.footprint_pages());
    let mut charged = 0;
    for (time, (&record, &next)) in records.iter().zip(next_use).enumerate() {
        kept.close(record.page());
        kept.give_up_beyond(frames - 1, time);
        charged += u64::from(is_charged(record));
        if next != NEVER && is_charged(records[next as usize]) {
            kept.open(record.page(), next as usize);
        }
        look(progress, time)?;
    }
    Ok(charged - kept.saved)
}

fn min_write_ios(
    view: &PageView,
    frames: usize,
    flush_at_end: bool,
    progress: &Progress,
) -> Result<u64, SimError> {
    let records = view.records();
    let next_write = next_writes(records, view.footprint_pages());
    let mut kept = Kept::new(view.footprint_pages());
    let mut is_written = vec![false; view.footprint_pages() as usize];
    let mut written = 0;
    for (time, &record) in records.iter().enumerate() {
        let page = record.page();
        if !record.first_is_write() {
            let may_be_open = if is_written[page as usize] { frames } else { frames - 1 };
            kept.give_up_beyond(may_be_open, time);
        }
        if writes(record) {
            kept.close(page);
            kept.give_up_beyond(frames - 1, time);
            written += 1;
            is_written[page as usize] = true;
            match next_write[time] {
                NEVER if flush_at_end => {}
                NEVER => kept.open(page, records.len()),
                next => kept.open(page, next as usize),
            }
        }
        look(progress, time)?;
    }
    // Intervals that are open now are kept to the end of the trace.
    Ok(written - kept.saved - kept.open_intervals as u64)
}

fn writes(record: Record) -> bool {
    record.first_is_write() || record.rest_writes()
}

/// For each record that writes, the position of the next record that writes the same page, or [`NEVER`].
fn next_writes(records: &[Record], pages: u32) -> Vec<u32> {
    let mut seen = vec![NEVER; pages as usize];
    let mut next = vec![NEVER; records.len()];
    for (position, record) in
        records.iter().enumerate().rev().filter(|(_, record)| writes(**record))
    {
        next[position] = std::mem::replace(&mut seen[record.page() as usize], position as u32);
    }
    next
}

/// The intervals that are open and not given up, at most one per page.
struct Kept {
    /// By their ends. Intervals that have ended are still in here, below all that are open.
    by_end: BinaryHeap<(usize, u32)>,
    is_open: Vec<bool>,
    open_intervals: usize,
    saved: u64,
}

impl Kept {
    fn new(pages: u32) -> Self {
        Kept {
            by_end: BinaryHeap::new(),
            is_open: vec![false; pages as usize],
            open_intervals: 0,
            saved: 0,
        }
    }

    fn open(&mut self, page: u32, end: usize) {
        self.by_end.push((end, page));
        self.is_open[page as usize] = true;
        self.open_intervals += 1;
    }

    /// The interval of `page`, if it was kept, has reached its end.
    fn close(&mut self, page: u32) {
        if std::mem::take(&mut self.is_open[page as usize]) {
            self.open_intervals -= 1;
            self.saved += 1;
        }
    }

    /// Gives up those that end last until at most `limit` are open at `time`.
    fn give_up_beyond(&mut self, limit: usize, time: usize) {
        while self.open_intervals > limit {
            let (_, page) = self.by_end.pop().expect("what is open is in the heap");
            self.is_open[page as usize] = false;
            self.open_intervals -= 1;
        }
        // Ended intervals are dropped now and then, so that the heap stays as small as what is open.
        if self.by_end.len() > 2 * self.open_intervals + 1024 {
            self.by_end.retain(|&(end, _)| end > time);
        }
    }
}

/// Records between two checks for a cancellation.
const LOOK_EVERY: usize = 1 << 18;

fn look(progress: &Progress, time: usize) -> Result<(), SimError> {
    if time.is_multiple_of(LOOK_EVERY) && progress.is_cancelled() {
        return Err(SimError::Interrupted);
    }
    Ok(())
}
