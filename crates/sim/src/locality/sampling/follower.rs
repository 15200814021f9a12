//! The pages of a sample, on a list of their own, and what their references count.

use std::collections::BinaryHeap;

use clockhand_trace::Op;
use rustc_hash::FxHashMap;

use super::Sampling;
use super::estimate::{Estimate, Grid, Groups, INFINITE, group_of};
use crate::locality::{MissCurve, StandardErrors};
use crate::read_trace::ReadTrace;
use crate::sample::{Sample, TWO_TO_64, threshold};
use crate::stack_distance::LruStack;

/// The page is clean.
const CLEAN: u32 = 0;
/// Places before the first doubling.
const FIRST_PLACES: u32 = 1024;

/// A place for one page of the sample, clean while it is free; its index is the page's number on the list.
#[derive(Clone, Copy, Default)]
struct Place {
    hash: u64,
    /// The largest distance, in pages of the trace, since the last write, at least 1, or [`CLEAN`].
    largest_since_write: u32,
}

/// The sample, and what was counted on it.
pub(super) struct Follower {
    /// Pages with a larger hash do not belong to the sample.
    threshold: u64,
    most_pages: usize,
    /// The place of each page, by its hash.
    numbers: FxHashMap<u64, u32>,
    places: Vec<Place>,
    free_places: Vec<u32>,
    by_hash: BinaryHeap<(u64, u32)>,
    list: LruStack,
    references: u64,
    grid: Grid,
    read_misses: Groups,
    write_misses: Groups,
    write_backs: Groups,
}

impl Follower {
    pub(super) fn new(sample: Sample) -> Self {
        let (threshold, most_pages) = match sample {
            Sample::Rate(rate) => (threshold(rate), usize::MAX),
            Sample::Pages(pages) => (u64::MAX, pages as usize),
        };
        let grid = Grid::new();
        let nothing = Groups::new(&grid);
        let places = vec![Place::default(); FIRST_PLACES as usize];
        Follower {
            threshold,
            most_pages,
            numbers: FxHashMap::default(),
            places,
            free_places: (0..FIRST_PLACES).rev().collect(),
            by_hash: BinaryHeap::new(),
            list: LruStack::new(FIRST_PLACES),
            references: 0,
            grid,
            read_misses: nothing.clone(),
            write_misses: nothing.clone(),
            write_backs: nothing,
        }
    }

    fn rate(&self) -> f64 {
        self.threshold as f64 / TWO_TO_64
    }

    /// Follows one reference to the page with this hash, if it belongs to the sample.
    #[inline]
    pub(super) fn reference(&mut self, hash: u64, op: Op) {
        if hash <= self.threshold {
            self.follow(hash, op);
        }
    }

    fn follow(&mut self, hash: u64, op: Op) {
        let number = match self.numbers.get(&hash) {
            Some(&number) => number,
            None => self.take_place(hash),
        };
        let distance = self.list.reference(number);
        if hash > self.threshold {
            // It is the one page too many, and leaves before it is counted.
            self.leave_place(number);
            return;
        }
        self.references += 1;
        let (distance, weight) = (self.distance_of(distance), 1.0 / self.rate());
        let group = group_of(hash);
        let misses = if op == Op::Write { &mut self.write_misses } else { &mut self.read_misses };
        misses.add(group, self.grid.first_at_least(distance), weight);
        let largest = &mut self.places[number as usize].largest_since_write;
        if *largest != CLEAN {
            *largest = distance.max(*largest);
        }
        if op == Op::Write {
            if *largest != CLEAN {
                self.write_backs.add(group, self.grid.first_at_least(*largest), weight);
            }
            *largest = 1;
        }
    }

    /// The distance in pages of the trace, for one in pages of the sample.
    fn distance_of(&self, in_sample: Option<u32>) -> u32 {
        in_sample.map_or(INFINITE, |distance| {
            // Casts saturate, at infinity.
            ((f64::from(distance - 1) / self.rate()).round() as u32).saturating_add(1)
        })
    }

    /// A place for a new page. With a fixed number of pages the one with the largest hash may have to leave, perhaps
    /// the new one itself; then the threshold is below its hash.
    fn take_place(&mut self, hash: u64) -> u32 {
        let number = self.free_places.pop().unwrap_or_else(|| self.double_places());
        self.places[number as usize] = Place { hash, largest_since_write: CLEAN };
        self.numbers.insert(hash, number);
        if self.most_pages < usize::MAX {
            self.by_hash.push((hash, number));
            if self.numbers.len() > self.most_pages {
                let (largest, leaver) = self.by_hash.pop().expect("there are pages");
                self.threshold = largest - 1;
                if leaver != number {
                    self.leave_place(leaver);
                }
            }
        }
        number
    }

    fn leave_place(&mut self, number: u32) {
        let place = std::mem::take(&mut self.places[number as usize]);
        self.numbers.remove(&place.hash);
        self.free_places.push(number);
        self.list.forget(number);
    }

    /// Makes as many new places as there are, and gives one of them.
    fn double_places(&mut self) -> u32 {
        let places = self.places.len() as u32;
        let mut by_depth: Vec<(u32, u32)> = (0..places)
            .filter_map(|number| self.list.depth(number).map(|depth| (depth, number)))
            .collect();
        by_depth.sort_unstable();
        self.list = LruStack::new(2 * places);
        for &(_, number) in by_depth.iter().rev() {
            self.list.reference(number);
        }
        self.places.resize(2 * places as usize, Place::default());
        self.free_places.extend((places + 1..2 * places).rev());
        places
    }

    /// Returns whether no page belongs to the sample.
    pub(super) fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// How many pages the trace has.
    pub(super) fn estimated_pages(&self) -> u32 {
        self.estimated(self.numbers.len())
    }

    /// The number of pages of the trace that are written.
    pub(super) fn estimated_dirty_pages(&self) -> u32 {
        let is_dirty = |place: &&Place| place.largest_since_write != CLEAN;
        self.estimated(self.places.iter().filter(is_dirty).count())
    }

    fn estimated(&self, pages: usize) -> u32 {
        (pages as f64 / self.rate()).round() as u32
    }

    /// What was followed, after the last reference.
    pub(super) fn sampling(&self) -> Sampling {
        let (rate, pages) = (self.rate(), self.numbers.len() as u64);
        Sampling {
            rate,
            pages,
            references: self.references,
            footprint_standard_error: (pages as f64 * (1.0 - rate)).sqrt() / rate,
        }
    }

    /// The curve up to the estimated footprint.
    pub(super) fn finish(mut self, trace: &ReadTrace) -> MissCurve {
        let rate = self.rate();
        self.end_stretches();
        let mut misses = self.read_misses.clone();
        misses.add_all(&self.write_misses);
        let estimate = |groups| Estimate::of(groups, rate);
        let [misses, write_backs] = [&misses, &self.write_backs].map(estimate);
        let [reads, writes] = [&self.read_misses, &self.write_misses].map(estimate);
        let sizes = self.grid.sizes_up_to(trace.footprint_pages);
        let errors = |estimate: &Estimate| {
            (0..sizes).map(|size| estimate.standard_error(size, &self.grid, rate)).collect()
        };
        MissCurve {
            frames: self.grid.frames(sizes),
            read_misses: reads.counts(sizes, trace.read_references),
            write_misses: writes.counts(sizes, trace.write_references),
            write_backs: write_backs.counts(sizes, trace.write_references),
            errors: Some(StandardErrors {
                misses: errors(&misses),
                write_backs: errors(&write_backs),
            }),
        }
    }

    /// The trace is over: the place of each dirty page on the list ends its last stretch.
    fn end_stretches(&mut self) {
        let weight = 1.0 / self.rate();
        for number in 0..self.places.len() as u32 {
            let Place { hash, largest_since_write } = self.places[number as usize];
            if largest_since_write != CLEAN {
                let depth = self.distance_of(self.list.depth(number));
                let size = self.grid.first_at_least(depth.max(largest_since_write));
                self.write_backs.add(group_of(hash), size, weight);
            }
        }
    }
}
