//! Which window CFLRU should have, predicted from what an LRU list tells (CFLRU paper, figure 2 and formula 1; A-87).
//!
//! A page that stands at position k of the LRU list (1 is the most recent) is referenced again with probability P(k).
//! LRU may have to write a dirty page while the nearest clean one is j places from the LRU end. A window of j or more
//! evicts the clean one: it saves a write and costs a read if the page is wanted again. The window whose savings sum
//! to most is the prediction. Sums are exact as far as they are compared.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use clockhand_device::{Device, PageCost};
use clockhand_trace::{PageView, TraceInput};
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed, ToPrimitive, Zero};

use super::{Repeats, for_each_reference, read};
use crate::chunk::CHUNK_RECORDS;
use crate::error::SimError;
use crate::intervals::ArrivalsAtSizes;
use crate::memory_size::MemorySize;
use crate::read_trace::ReadTrace;
use crate::stack_distance::LruStack;
use clockhand_trace::progress::{Phase, Progress};

/// What to study.
#[derive(Clone, Debug)]
pub struct WindowStudy {
    /// The trace.
    pub trace: TraceInput,
    /// Page size in bytes, a power of two.
    pub page_bytes: u64,
    /// The device as the user wrote it; its costs weigh writes against reads.
    pub device: String,
    /// The memory of the LRU list.
    pub frames: MemorySize,
}

/// What a window of each size would save.
#[derive(Clone, Debug)]
pub struct WindowPrediction {
    /// The trace.
    pub trace: ReadTrace,
    /// The device.
    pub device: Device,
    /// What a page operation costs on it.
    pub page_cost: PageCost,
    /// Page frames: positions and windows go from 1 to here, or to the number of pages if that is smaller.
    pub frames: u32,
    /// By position less 1: the probability that a page that stands there is referenced again. There are no more
    /// positions than pages.
    pub future_reference_probability: Vec<Option<f64>>,
    /// By window less 1: what the window would save, in microseconds.
    pub benefit_us: Vec<f64>,
    /// The smallest window that saves most, 0 if none saves anything.
    pub predicted_window: u32,
}

/// Studies one trace.
///
/// # Errors
///
/// A device or page size that makes no sense, found before the trace is read; a trace that cannot be read;
/// [`SimError::Interrupted`].
pub fn predict_window(
    study: &WindowStudy,
    progress: &Progress,
) -> Result<WindowPrediction, SimError> {
    let device = Device::named_or_file(&study.device)?;
    let page_cost = device.page_cost(study.page_bytes)?;
    let (trace, view) = read(
        &study.trace,
        study.page_bytes,
        Repeats::Each,
        &mut ArrivalsAtSizes::new(false, &[], 0),
        progress,
    )?;
    let frames = study.frames.frames(view.footprint_pages(), study.page_bytes);
    // No page stands beyond the last, and with a frame for each nothing is ever evicted.
    let positions = frames.min(view.footprint_pages());
    let observed = Observed::of(&view, positions, progress)?;
    let costs = Costs::of(&page_cost);
    let (benefit_us, predicted_window) = benefits(&observed, &costs);
    let probability =
        |position| observed.probability(position).map(|(again, stood)| again as f64 / stood as f64);
    Ok(WindowPrediction {
        trace,
        device,
        page_cost,
        frames,
        future_reference_probability: (1..=positions).map(probability).collect(),
        benefit_us,
        predicted_window,
    })
}

/// What LRU with the frames of the study did.
struct Observed {
    frames: u32,
    /// By position less 1: references to pages that stood there or beyond.
    references_beyond: Vec<u64>,
    pages: u32,
    /// By position less 1: evictions of a dirty page whose nearest clean page stood there.
    dirty_evictions: Vec<u64>,
}

impl Observed {
    fn of(view: &PageView, frames: u32, progress: &Progress) -> Result<Self, SimError> {
        progress.enter(Phase::Replaying, view.records().len() as u64);
        let pages = view.footprint_pages();
        let mut at_rank = vec![0_u64; pages as usize + 1];
        let mut list = List::new(pages, frames);
        for_each_reference(
            view,
            progress,
            &mut (&mut list, &mut at_rank),
            |(list, _), page| list.stack.look_ahead(page),
            |(list, at_rank), page, is_write| {
                if let Some(rank) = list.reference(page, is_write) {
                    at_rank[rank as usize] += 1;
                }
            },
        )?;
        let mut beyond = vec![0; pages as usize + 1];
        let mut sum = 0;
        for rank in (1..=pages as usize).rev() {
            sum += at_rank[rank];
            beyond[rank] = sum;
        }
        beyond.remove(0);
        Ok(Observed {
            frames,
            references_beyond: beyond,
            pages,
            dirty_evictions: list.dirty_evictions,
        })
    }

    /// Of the pages that came to a position: the number referenced again, and the number of all; `None` without
    /// any.
    fn probability(&self, position: u32) -> Option<(u64, u64)> {
        let again = *self.references_beyond.get(position as usize - 1)?;
        // In the end the page at place p of the list has p - 1 others behind its last reference.
        let last = u64::from(self.pages.saturating_sub(position) + 1);
        Some((again, again + last))
    }
}

/// An LRU list with what it evicts.
struct List {
    stack: LruStack,
    /// References so far.
    now: u64,
    frames: u32,
    resident: u32,
    is_resident: Vec<bool>,
    is_dirty: Vec<bool>,
    last_reference: Vec<u64>,
    /// Resident pages by their last references, the oldest first; entries of earlier references are stale.
    oldest: BinaryHeap<Reverse<(u64, u32)>>,
    /// The same for pages that are clean.
    oldest_clean: BinaryHeap<Reverse<(u64, u32)>>,
    dirty_evictions: Vec<u64>,
}

impl List {
    fn new(pages: u32, frames: u32) -> Self {
        let count = pages as usize;
        List {
            stack: LruStack::new(pages),
            now: 0,
            frames,
            resident: 0,
            is_resident: vec![false; count],
            is_dirty: vec![false; count],
            last_reference: vec![0; count],
            oldest: BinaryHeap::new(),
            oldest_clean: BinaryHeap::new(),
            dirty_evictions: vec![0; frames.min(pages) as usize],
        }
    }

    /// The place of the page on the list of all pages before this reference to it.
    fn reference(&mut self, page: u32, is_write: bool) -> Option<u32> {
        let index = page as usize;
        if !self.is_resident[index] {
            if self.resident == self.frames {
                self.evict();
            }
            self.resident += 1;
            self.is_resident[index] = true;
            self.is_dirty[index] = false;
        }
        self.now += 1;
        self.last_reference[index] = self.now;
        self.is_dirty[index] |= is_write;
        self.oldest.push(Reverse((self.now, page)));
        if !self.is_dirty[index] {
            self.oldest_clean.push(Reverse((self.now, page)));
        }
        self.drop_stale();
        self.stack.reference(page)
    }

    /// Keeps the queues as long as the list is, about.
    fn drop_stale(&mut self) {
        let longest = 2 * self.resident as usize + CHUNK_RECORDS;
        let (last, is_resident, is_dirty) =
            (&self.last_reference, &self.is_resident, &self.is_dirty);
        let is_now =
            |time: u64, page: u32| is_resident[page as usize] && last[page as usize] == time;
        if self.oldest.len() > longest {
            self.oldest.retain(|&Reverse((time, page))| is_now(time, page));
        }
        if self.oldest_clean.len() > longest {
            self.oldest_clean
                .retain(|&Reverse((time, page))| is_now(time, page) && !is_dirty[page as usize]);
        }
    }

    fn evict(&mut self) {
        let victim = loop {
            let Reverse((time, page)) = self.oldest.pop().expect("the list is full");
            if self.is_resident[page as usize] && self.last_reference[page as usize] == time {
                break page;
            }
        };
        if self.is_dirty[victim as usize]
            && let Some(clean) = self.nearest_clean()
        {
            let position = self.stack.depth(clean).expect("a resident page is on the list");
            self.dirty_evictions[position as usize - 1] += 1;
        }
        self.is_resident[victim as usize] = false;
        self.resident -= 1;
    }

    /// The clean page nearest the LRU end.
    fn nearest_clean(&mut self) -> Option<u32> {
        while let Some(&Reverse((time, page))) = self.oldest_clean.peek() {
            let index = page as usize;
            if self.is_resident[index]
                && !self.is_dirty[index]
                && self.last_reference[index] == time
            {
                return Some(page);
            }
            self.oldest_clean.pop();
        }
        None
    }
}

/// Costs of a page, exactly.
struct Costs {
    read_us: BigRational,
    write_us: BigRational,
}

impl Costs {
    fn of(page_cost: &PageCost) -> Self {
        let exact = |cost: &clockhand_device::Exact| {
            BigRational::new(BigInt::from(*cost.numer()), BigInt::from(*cost.denom()))
        };
        Costs { read_us: exact(&page_cost.read_time_us), write_us: exact(&page_cost.write_time_us) }
    }
}

/// Binary digits behind the point of sums that are not compared closely.
const FRACTION_BITS: u64 = 192;

/// What each window saves, and the smallest of those that save most.
///
/// Fractions of many denominators have no short sum. So sums are kept to 192 binary digits behind the point, and only where
/// two of them are closer than what that may be wrong by are they compared as fractions.
fn benefits(observed: &Observed, costs: &Costs) -> (Vec<f64>, u32) {
    let scale = BigInt::from(1) << FRACTION_BITS;
    let one = 2_f64.powi(FRACTION_BITS as i32);
    let (mut sum, mut best) = (BigInt::zero(), BigInt::zero());
    let (mut best_window, mut terms_since) = (0, Vec::new());
    let mut benefits_us = Vec::with_capacity(observed.frames as usize);
    for window in 1..=observed.frames {
        if let Some(term) = term(observed, costs, observed.frames - window + 1) {
            sum += (&term * &scale).round().to_integer();
            terms_since.push(term);
            let ahead = &sum - &best;
            let is_better = if ahead.abs() > BigInt::from(2 * terms_since.len()) {
                ahead.is_positive()
            } else {
                terms_since.iter().sum::<BigRational>().is_positive()
            };
            if is_better {
                (best, best_window) = (sum.clone(), window);
                terms_since.clear();
            }
        }
        benefits_us.push(sum.to_f64().map_or(f64::NAN, |sum| sum / one));
    }
    (benefits_us, best_window)
}

/// Saving from evicting the clean pages at this position; `None` if none was nearest.
fn term(observed: &Observed, costs: &Costs, position: u32) -> Option<BigRational> {
    let evictions = *observed.dirty_evictions.get(position as usize - 1)?;
    if evictions == 0 {
        return None;
    }
    let again = observed.probability(position).map_or_else(BigRational::zero, |(again, stood)| {
        BigRational::new(BigInt::from(again), BigInt::from(stood))
    });
    let saved = &costs.write_us - &costs.read_us * again;
    Some(saved * BigRational::from_integer(BigInt::from(evictions)))
}

#[cfg(test)]
mod tests;
