//! The miss curve from a random share of the pages (SHARDS: Waldspurger, Park, Garthwaite and Ahmad, FAST 2015).
//!
//! A page belongs to the sample if the hash of its stream and number is below a threshold; with probability R, that
//! is. All its references are followed. Between two of them stand R times as many sampled pages as pages, so that a
//! distance d on the sample's list stands for 1 + (d - 1) / R, and each counted reference for 1 / R. With a fixed
//! number of pages, R starts at 1; whenever there is one page too many, the page with the largest hash leaves, and its
//! hash becomes the threshold. The references of the whole trace are counted; that is the adjustment of SHARDS-adj: what
//! the sample has too many or too few counts as hits.
//!
//! The standard error has two parts. *Which pages*: they fall at random into [`GROUPS`] groups, and the spread of the
//! groups' totals tells how much the sum depends on the choice. *How many pages lie between*: a distance of S has the
//! standard error √((S - 1)(1 - R) / R), and all distances might err to the same side; half the difference of the
//! curve at S less and S plus that error is added.

use std::collections::BinaryHeap;
use std::fmt;

use clockhand_trace::{Op, TraceError};
use rustc_hash::FxHashMap;

use super::{LocalityStudy, MissCurve, StandardErrors};
use crate::stack_distance::LruStack;
use crate::{Progress, ReadTrace, SimError};

/// Which pages are followed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sample {
    /// Each page with this probability, above 0 and at most 1: SHARDS with a fixed rate.
    Rate(f64),
    /// At most so many pages: SHARDS with a fixed size.
    Pages(u32),
}

impl Sample {
    /// Reads `--sample`: a rate (`0.01`, `1%`) or a number of pages (`8192`).
    ///
    /// # Errors
    ///
    /// A sentence that names the text and what is allowed.
    pub fn parse(text: &str) -> Result<Self, SimError> {
        let rate = |digits: &str, whole: f64| {
            let is_number = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
            let value = digits.parse::<f64>().ok().filter(|_| is_number)? / whole;
            (value > 0.0 && value <= 1.0).then_some(Sample::Rate(value))
        };
        let pages = || text.parse().ok().filter(|&pages| pages >= FEWEST_PAGES).map(Sample::Pages);
        let sample = match text.strip_suffix('%') {
            Some(percentage) => rate(percentage, 100.0),
            None if text.contains('.') => rate(text, 1.0),
            None => pages(),
        };
        sample.ok_or_else(|| {
            SimError::Usage(format!(
                "--sample {text:?} is neither a rate nor a number of pages; give a rate such as 0.01 or 1%, above 0 and \
                 up to 1, or a whole number of pages from {FEWEST_PAGES}"
            ))
        })
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sample::Rate(rate) => write!(formatter, "{}%", rate * 100.0),
            Sample::Pages(pages) => write!(formatter, "{pages}"),
        }
    }
}

/// Fewer pages than groups have no spread.
const FEWEST_PAGES: u32 = GROUPS as u32;

/// What was followed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// The rate; with a fixed number of pages the one in the end.
    pub rate: f64,
    /// Pages that were followed to the end.
    pub pages: u64,
    /// References to pages that belonged to the sample at that time.
    pub references: u64,
    /// Standard error of the footprint, in pages.
    pub footprint_standard_error: f64,
}

/// Independent parts of a sample.
pub const GROUPS: usize = 32;

/// Reads the trace once, and keeps no more of it than the sample.
pub(super) fn sample_curve(
    study: &LocalityStudy,
    sample: Sample,
    progress: &Progress,
) -> Result<(ReadTrace, MissCurve, Sampling), SimError> {
    let page_bytes = study.page_bytes;
    if !page_bytes.is_power_of_two() {
        return Err(TraceError::PageSize { page_bytes }.into());
    }
    let page_shift = page_bytes.trailing_zeros();
    let (mut references, mut write_references) = (0, 0);
    let mut follower = Follower::new(sample);
    let report = study.trace.for_each_batch(progress, &mut |batch| {
        for request in batch {
            for page in request.pages(page_shift) {
                references += 1;
                write_references += u64::from(request.op == Op::Write);
                let hash = hash(study.seed, request.stream, page);
                if hash <= follower.threshold {
                    follower.reference(hash, request.op);
                }
            }
        }
        Ok(())
    })?;
    if references == 0 {
        return Err(TraceError::NoReference.into());
    }
    if follower.numbers.is_empty() {
        return Err(SimError::Usage(format!(
            "--sample {sample} follows none of the trace's pages; give a larger sample"
        )));
    }
    let sampling = follower.sampling();
    let trace = ReadTrace {
        name: study.trace.name(),
        report,
        references,
        read_references: references - write_references,
        write_references,
        footprint_pages: follower.estimated_pages(|_| true),
        dirty_footprint_pages: follower.estimated_pages(|page| page.largest_since_write > CLEAN),
    };
    let curve = follower.finish(&trace);
    Ok((trace, curve, sampling))
}

/// Of the stream and number of a page, by the steps of SplitMix64 (Steele, Lea and Flood 2014). Two pages with one hash
/// would be taken for one; among a million pages that has a chance of 1 in 10^7.
fn hash(seed: u64, stream: u32, page: u64) -> u64 {
    let mix = |value: u64| {
        let value = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        value ^ (value >> 31)
    };
    mix(page ^ mix(u64::from(stream) ^ mix(seed)))
}

const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;
/// The page is clean.
const CLEAN: u32 = 0;
/// A distance beyond every memory size.
const INFINITE: u32 = u32::MAX;

/// A place for one page of the sample; its index is the page's number on the list.
#[derive(Clone, Copy, Default)]
struct Place {
    hash: u64,
    is_taken: bool,
    /// The largest distance, in pages of the trace, since the last write, at least 1, or [`CLEAN`].
    largest_since_write: u32,
}

/// The sample, and what was counted on it.
struct Follower {
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
    fn new(sample: Sample) -> Self {
        let (threshold, most_pages) = match sample {
            // Casts saturate, so that the rate 1 is every hash.
            Sample::Rate(rate) => ((rate * TWO_TO_64) as u64, usize::MAX),
            Sample::Pages(pages) => (u64::MAX, pages as usize),
        };
        let grid = Grid::new();
        let nothing = Groups::new(grid.0.len());
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

    fn reference(&mut self, hash: u64, op: Op) {
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
            // Casts saturate at infinity.
            (f64::from(distance - 1) / self.rate()).round() as u32 + 1
        })
    }

    /// A place for a new page. With a fixed number of pages the one with the largest hash may have to leave, perhaps
    /// the new one itself; then the threshold is below its hash.
    fn take_place(&mut self, hash: u64) -> u32 {
        let number = self.free_places.pop().unwrap_or_else(|| self.double_places());
        self.places[number as usize] = Place { hash, is_taken: true, largest_since_write: CLEAN };
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

    fn taken(&self) -> impl Iterator<Item = &Place> {
        self.places.iter().filter(|place| place.is_taken)
    }

    /// How many pages of the trace these pages of the sample stand for.
    fn estimated_pages(&self, belongs: impl Fn(&Place) -> bool) -> u32 {
        (self.taken().filter(|place| belongs(place)).count() as f64 / self.rate()).round() as u32
    }

    fn sampling(&self) -> Sampling {
        let (rate, pages) = (self.rate(), self.numbers.len() as u64);
        Sampling {
            rate,
            pages,
            references: self.references,
            footprint_standard_error: (pages as f64 * (1.0 - rate)).sqrt() / rate,
        }
    }

    fn finish(mut self, trace: &ReadTrace) -> MissCurve {
        let rate = self.rate();
        for number in 0..self.places.len() as u32 {
            let place = self.places[number as usize];
            if place.is_taken && place.largest_since_write != CLEAN {
                let largest =
                    self.distance_of(self.list.depth(number)).max(place.largest_since_write);
                let sizes = self.grid.first_at_least(largest);
                self.write_backs.add(group_of(place.hash), sizes, 1.0 / rate);
            }
        }
        let mut misses = self.read_misses.clone();
        misses.add_all(&self.write_misses);
        let [misses, write_backs] =
            [&misses, &self.write_backs].map(|groups| Estimate::of(groups, rate));
        let [reads, writes] =
            [&self.read_misses, &self.write_misses].map(|groups| Estimate::of(groups, rate).totals);
        // The grid goes on to the largest number of pages there can be.
        let sizes = self.grid.first_at_least(trace.footprint_pages) + 1;
        let whole = |total: f64, most: u64| (total.round() as u64).min(most);
        let errors = |estimate: &Estimate| {
            (0..sizes).map(|size| estimate.standard_error(size, &self.grid, rate)).collect()
        };
        MissCurve {
            frames: self.grid.0[..sizes].iter().map(|&frames| frames.into()).collect(),
            read_misses: (reads[..sizes].iter())
                .map(|&total| whole(total, trace.read_references))
                .collect(),
            write_misses: (writes[..sizes].iter())
                .map(|&total| whole(total, trace.write_references))
                .collect(),
            write_backs: (write_backs.totals[..sizes].iter())
                .map(|&total| whole(total, trace.write_references))
                .collect(),
            errors: Some(StandardErrors {
                misses: errors(&misses),
                write_backs: errors(&write_backs),
            }),
        }
    }
}

/// Places before the first doubling.
const FIRST_PLACES: u32 = 1024;

/// The group of a page: the last bits of its hash, which the threshold does not look at.
fn group_of(hash: u64) -> usize {
    hash as usize % GROUPS
}

/// Memory sizes at which a sampled curve is known: all up to 32, then 16 in each doubling.
struct Grid(Vec<u32>);

impl Grid {
    fn new() -> Self {
        let (mut sizes, mut size, mut step) = (Vec::new(), 1_u64, 1);
        while size < u64::from(INFINITE) {
            sizes.push(size as u32);
            size += step;
            if size == 32 * step {
                step *= 2;
            }
        }
        Grid(sizes)
    }

    /// The first size with which a reference of this distance hits; the number of sizes if there is none.
    fn first_at_least(&self, distance: u32) -> usize {
        self.0.partition_point(|&frames| frames < distance)
    }

    /// The last size that is not larger than `frames`, at least 1.
    fn last_at_most(&self, frames: u32) -> usize {
        self.0.partition_point(|&size| size <= frames) - 1
    }
}

/// Weighted counts of distances for each group, by the first size that is at least as large; infinite ones come last.
#[derive(Clone)]
struct Groups(Vec<[f64; GROUPS]>);

impl Groups {
    fn new(sizes: usize) -> Self {
        Groups(vec![[0.0; GROUPS]; sizes + 1])
    }

    fn add(&mut self, group: usize, sizes: usize, weight: f64) {
        self.0[sizes][group] += weight;
    }

    fn add_all(&mut self, other: &Groups) {
        for (sums, others) in self.0.iter_mut().zip(&other.0) {
            sums.iter_mut().zip(others).for_each(|(sum, other)| *sum += other);
        }
    }
}

/// How many distances are larger than each size of the grid, and how much that depends on the choice of pages.
struct Estimate {
    totals: Vec<f64>,
    choice_errors: Vec<f64>,
}

impl Estimate {
    fn of(groups: &Groups, rate: f64) -> Self {
        let (mut totals, mut choice_errors) = (Vec::new(), Vec::new());
        let mut beyond = [0.0; GROUPS];
        for counts in groups.0.iter().skip(1).rev() {
            beyond.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            let total: f64 = beyond.iter().sum();
            let mean = total / GROUPS as f64;
            let squares: f64 = beyond.iter().map(|sum| (sum - mean).powi(2)).sum();
            let variance = squares * GROUPS as f64 / (GROUPS - 1) as f64;
            totals.push(total);
            choice_errors.push((variance * (1.0 - rate)).sqrt());
        }
        totals.reverse();
        choice_errors.reverse();
        Estimate { totals, choice_errors }
    }

    fn standard_error(&self, size: usize, grid: &Grid, rate: f64) -> f64 {
        let frames = f64::from(grid.0[size]);
        let frames_error = ((frames - 1.0) * (1.0 - rate) / rate).sqrt();
        let fewer = grid.last_at_most((frames - frames_error).max(1.0) as u32);
        let more = grid.first_at_least((frames + frames_error).ceil() as u32);
        let more = more.min(self.totals.len() - 1);
        let distance_error = (self.totals[fewer] - self.totals[more]) / 2.0;
        self.choice_errors[size].hypot(distance_error)
    }
}
