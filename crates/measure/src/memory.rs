//! Memory: copies, first touches, and walks through small and huge pages, whose difference is what a TLB miss costs.

use crate::point::times;
use crate::random::Random;
use crate::region::{HUGE_BYTES, PAGE_BYTES, Pages, Region};
use crate::{MeasureError, Point, SIZES_BYTES};

/// Memory that is walked and copied from: far more than caches hold.
const REGION_BYTES: usize = 512 << 20;
/// Memory that is touched for the first time.
const FAULT_BYTES: usize = 64 << 20;
/// Bytes of a cache line.
const LINE_BYTES: usize = 64;
const LINES_PER_PAGE: usize = PAGE_BYTES / LINE_BYTES;
/// Copies of one size, at most.
const COPIES: usize = 2000;
/// One time is the mean of this many steps of a walk: reading the clock takes longer than a step.
const STEPS_PER_TIME: usize = 1024;
const WALK_TIMES: usize = 512;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Walk {
    /// A line of each small page.
    SmallPages,
    /// The same lines, in huge pages.
    HugePages,
    /// Every line, in huge pages.
    Lines,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Copy { bytes: usize },
    Faults,
    Walk(Walk),
}

/// A measurement of memory, step by step.
pub struct MemoryMeasurement {
    random: Random,
    steps: Vec<Step>,
    copied: Option<Region>,
}

impl MemoryMeasurement {
    /// Nothing is allocated before the first step.
    pub fn new(seed: u64) -> Self {
        let mut steps: Vec<Step> = SIZES_BYTES.map(|bytes| Step::Copy { bytes }).to_vec();
        steps.push(Step::Faults);
        steps.extend([Walk::SmallPages, Walk::HugePages, Walk::Lines].map(Step::Walk));
        MemoryMeasurement { random: Random::new(seed), steps, copied: None }
    }

    /// What each step does, in a few words.
    pub fn steps(&self) -> Vec<String> {
        let words = |step: &Step| match *step {
            Step::Copy { bytes } => format!("copying {} KiB", bytes >> 10),
            Step::Faults => "first touches of memory, and touches after a fork".to_owned(),
            Step::Walk(Walk::SmallPages) => "a walk through small pages".to_owned(),
            Step::Walk(Walk::HugePages) => "a walk through huge pages".to_owned(),
            Step::Walk(Walk::Lines) => "a walk through memory".to_owned(),
        };
        self.steps.iter().map(words).collect()
    }

    /// Runs a step; they are run in their order, each once.
    ///
    /// # Errors
    ///
    /// There is not enough memory.
    ///
    /// # Panics
    ///
    /// If there is no such step.
    pub fn run(&mut self, step: usize) -> Result<Vec<Point>, MeasureError> {
        match self.steps[step] {
            Step::Copy { bytes } => Ok(vec![self.copy(bytes)?]),
            Step::Faults => {
                self.copied = None;
                faults()
            }
            Step::Walk(walk) => Ok(self.walk(walk)?.into_iter().collect()),
        }
    }

    fn copy(&mut self, bytes: usize) -> Result<Point, MeasureError> {
        let from = match &mut self.copied {
            Some(region) => region,
            none => {
                let region = none.insert(Region::anonymous(REGION_BYTES, Pages::Small)?);
                self.random.fill(region.as_mut_slice());
                region
            }
        };
        let from = from.as_mut_slice();
        let mut to = vec![0; bytes];
        let times_ns = times(COPIES, || {
            let place = self.random.below(REGION_BYTES / bytes) * bytes;
            to.copy_from_slice(std::hint::black_box(&from[place..place + bytes]));
            std::hint::black_box(&mut to);
            Ok::<(), MeasureError>(())
        })?;
        Ok(Point::of("memory_copy", bytes, 1, times_ns))
    }

    /// Nothing where memory is not given in the pages that the walk is about.
    fn walk(&mut self, walk: Walk) -> Result<Option<Point>, MeasureError> {
        let pages = if walk == Walk::SmallPages { Pages::Small } else { Pages::Huge };
        let mut region = Region::anonymous(REGION_BYTES, pages)?;
        let places: Vec<usize> = match walk {
            // Each page's line at another place in it, or all would compete for a few sets of the caches.
            Walk::SmallPages | Walk::HugePages => (0..REGION_BYTES / PAGE_BYTES)
                .map(|page| page * PAGE_BYTES + page % LINES_PER_PAGE * LINE_BYTES)
                .collect(),
            Walk::Lines => (0..REGION_BYTES).step_by(LINE_BYTES).collect(),
        };
        let order = self.random.cycle(places.len());
        let memory = region.as_mut_slice();
        for (place, &next) in places.iter().zip(&order) {
            let next = places[next as usize] as u64;
            memory[*place..*place + 8].copy_from_slice(&next.to_le_bytes());
        }
        let is_huge = region.huge_bytes() + HUGE_BYTES >= REGION_BYTES;
        if is_huge != (pages == Pages::Huge) {
            return Ok(None);
        }
        let (memory, mut at) = (region.as_mut_slice(), places[0]);
        let times_ns = times(WALK_TIMES, || {
            for _ in 0..STEPS_PER_TIME {
                let word = memory[at..at + 8].try_into().expect("eight bytes");
                at = u64::from_le_bytes(word) as usize;
            }
            std::hint::black_box(at);
            Ok::<(), MeasureError>(())
        })?;
        let per_step = times_ns.iter().map(|time| time / STEPS_PER_TIME as f64).collect();
        let operation = match walk {
            Walk::SmallPages => "walk_small_pages",
            Walk::HugePages => "walk_huge_pages",
            Walk::Lines => "walk_lines",
        };
        Ok(Some(Point::of(operation, REGION_BYTES, STEPS_PER_TIME as u64, per_step)))
    }
}

/// First touches of small pages, and first writes after the kernel has forbidden to write them.
fn faults() -> Result<Vec<Point>, MeasureError> {
    let mut region = Region::anonymous(FAULT_BYTES, Pages::Small)?;
    let first = Point::of("anonymous_fault", PAGE_BYTES, 1, touches(&mut region)?);
    region.forbid_writing()?;
    Ok(vec![first, Point::of("permission_fault", PAGE_BYTES, 1, touches(&mut region)?)])
}

/// The times of a write to each page, in nanoseconds.
fn touches(region: &mut Region) -> Result<Vec<f64>, MeasureError> {
    let mut page = 0;
    // Reads would all be given the one page of zeros, so that writes are what is timed.
    times(FAULT_BYTES / PAGE_BYTES, || {
        region.as_mut_slice()[page * PAGE_BYTES] = 1;
        page += 1;
        Ok::<(), MeasureError>(())
    })
}
