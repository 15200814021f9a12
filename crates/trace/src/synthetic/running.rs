//! A recipe at work: one request after the other.

use super::arrivals::ArrivalClock;
use super::pattern::{Pattern, Place, RequestSizes};
use super::random::{Chance, Random};
use super::recipe::Recipe;
use super::scatter::Scatter;
use super::zipf::Zipf;
use crate::request::{Op, Request};

/// Makes the requests of a recipe; needs memory for its patterns and none for their footprints.
#[derive(Debug)]
pub(super) struct Generator {
    phases: Vec<RunningPhase>,
    phase: usize,
    /// Requests until the next phase.
    left_in_phase: u64,
    left: u64,
    /// Chooses among the patterns of a mix.
    random: Random,
    clock: Option<ArrivalClock>,
}

impl Generator {
    pub(super) fn new(recipe: &Recipe) -> Self {
        let mut random = Random::new(recipe.seed);
        let clock = recipe.arrivals.map(|arrivals| ArrivalClock::new(arrivals, random.fork()));
        let phases: Vec<_> = recipe
            .phases
            .iter()
            .map(|phase| RunningPhase::new(&phase.mix, phase.requests, &mut random))
            .collect();
        let left_in_phase = phases[0].requests;
        Self { phases, phase: 0, left_in_phase, left: recipe.requests, random, clock }
    }

    /// Appends the next requests, at most `count`.
    pub(super) fn fill(&mut self, batch: &mut Vec<Request>, count: usize) {
        let first = batch.len();
        while batch.len() < first + count && self.left > 0 {
            if self.left_in_phase == 0 {
                self.phase = (self.phase + 1) % self.phases.len();
                self.left_in_phase = self.phases[self.phase].requests;
            }
            let room = (first + count - batch.len()) as u64;
            let requests = room.min(self.left).min(self.left_in_phase);
            self.phases[self.phase].fill(batch, requests as usize, &mut self.random);
            self.left -= requests;
            self.left_in_phase -= requests;
        }
        if let Some(clock) = &mut self.clock {
            for request in &mut batch[first..] {
                request.time_ns = Some(clock.next_ns());
            }
        }
    }
}

#[derive(Debug)]
struct RunningPhase {
    mix: Vec<RunningPlace>,
    total_weight: u64,
    requests: u64,
}

#[derive(Debug)]
struct RunningPlace {
    /// One per stream.
    runs: Vec<Run>,
    /// Its weight and those of the places before it.
    weight_up_to: u64,
}

impl RunningPhase {
    fn new(mix: &[Place], requests: Option<u64>, random: &mut Random) -> Self {
        let mut total_weight = 0;
        let places = mix.iter().map(|place| {
            total_weight += place.weight;
            let runs = (0..place.streams).map(|copy| Run::new(place, place.stream + copy, random));
            RunningPlace { runs: runs.collect(), weight_up_to: total_weight }
        });
        let mix = places.collect();
        Self { mix, total_weight, requests: requests.unwrap_or(u64::MAX) }
    }

    fn fill(&mut self, batch: &mut Vec<Request>, requests: usize, random: &mut Random) {
        if let [RunningPlace { runs, .. }] = &mut self.mix[..]
            && let [run] = &mut runs[..]
        {
            batch.extend((0..requests).map(|_| run.next()));
            return;
        }
        for _ in 0..requests {
            let wanted = random.below(self.total_weight);
            let place = self.mix.iter().position(|place| wanted < place.weight_up_to);
            let runs = &mut self.mix[place.expect("the last weight is the total")].runs;
            let copy = if runs.len() == 1 { 0 } else { random.below(runs.len() as u64) as usize };
            batch.push(runs[copy].next());
        }
    }
}

/// One pattern in one stream. For each request it draws the operation, the size and the place, in
/// this order, and draws nothing without a choice.
#[derive(Debug)]
struct Run {
    random: Random,
    stream: u32,
    start_bytes: u64,
    footprint_bytes: u64,
    page_bytes: u64,
    pages: u64,
    reads: Chance,
    sizes: Sizes,
    walk: Walk,
}

impl Run {
    fn new(place: &Place, stream: u32, random: &mut Random) -> Self {
        let mut random = random.fork();
        Self {
            walk: Walk::new(place, &mut random),
            random,
            stream,
            start_bytes: place.start_bytes,
            footprint_bytes: place.footprint_bytes,
            page_bytes: place.page_bytes,
            pages: place.pages(),
            reads: place.reads.chance(),
            sizes: Sizes::new(&place.sizes),
        }
    }

    #[inline]
    fn next(&mut self) -> Request {
        let op = if self.random.happens(self.reads) { Op::Read } else { Op::Write };
        let bytes = self.sizes.draw(&mut self.random);
        let offset = match &mut self.walk {
            Walk::Pages(popularity) => {
                let page = popularity.draw(op, self.pages, &mut self.random);
                fitting(page * self.page_bytes, bytes, self.footprint_bytes)
            }
            Walk::Sequential(scan) => scan.next(bytes, &mut self.random),
            Walk::Loop(bodies) => bodies.next(bytes),
        };
        let address = self.start_bytes + offset;
        Request { op, address, bytes, stream: self.stream, time_ns: None, class: None }
    }
}

/// A request that would run past the end of the footprint begins earlier, so that it ends there.
#[inline]
fn fitting(offset: u64, bytes: u32, footprint_bytes: u64) -> u64 {
    offset.min(footprint_bytes - u64::from(bytes))
}

/// The rule for the place of the next request.
#[derive(Debug)]
enum Walk {
    Pages(Popularity),
    Sequential(Scan),
    Loop(Bodies),
}

impl Walk {
    fn new(place: &Place, random: &mut Random) -> Self {
        let pages = place.pages();
        let spread = |scatter_bytes: &Option<u64>, random: &mut Random| {
            scatter_bytes.map(|bytes| Spread::new(pages, bytes / place.page_bytes, random))
        };
        match &place.pattern {
            Pattern::Uniform => Self::Pages(Popularity::Uniform),
            Pattern::Zipf { skew, write_skew, scatter_bytes } => Self::Pages(Popularity::Zipf {
                reads: Zipf::new(pages, *skew),
                writes: Zipf::new(pages, *write_skew),
                spread: spread(scatter_bytes, random),
            }),
            Pattern::HotCold { hot, hot_requests, scatter_bytes } => {
                Self::Pages(Popularity::HotCold {
                    hot_pages: hot.of(pages).max(1),
                    hot_requests: hot_requests.chance(),
                    spread: spread(scatter_bytes, random),
                })
            }
            Pattern::Sequential { run_bytes } => Self::Sequential(Scan {
                footprint_bytes: place.footprint_bytes,
                page_bytes: place.page_bytes,
                next: 0,
                // A run that has done all its bytes: the first request begins one.
                run: run_bytes.map(|bytes| (bytes, bytes)),
            }),
            Pattern::Loop { body_bytes, repeats } => Self::Loop(Bodies {
                footprint_bytes: place.footprint_bytes,
                body_bytes: *body_bytes,
                repeats: *repeats,
                body_at: 0,
                next: 0,
                done: 0,
            }),
        }
    }
}

/// Which page comes next, where that does not depend on the last one.
#[derive(Debug)]
enum Popularity {
    Uniform,
    Zipf { reads: Zipf, writes: Zipf, spread: Option<Spread> },
    HotCold { hot_pages: u64, hot_requests: Chance, spread: Option<Spread> },
}

impl Popularity {
    #[inline]
    fn draw(&self, op: Op, pages: u64, random: &mut Random) -> u64 {
        let (rank, spread) = match self {
            Self::Uniform => return random.below(pages),
            Self::Zipf { reads, writes, spread } => {
                let zipf = if op == Op::Read { reads } else { writes };
                (zipf.sample(random), spread)
            }
            Self::HotCold { hot_pages, hot_requests, spread } => {
                let rank = if random.happens(*hot_requests) {
                    random.below(*hot_pages)
                } else {
                    hot_pages + random.below(pages - hot_pages)
                };
                (rank, spread)
            }
        };
        spread.as_ref().map_or(rank, |spread| spread.page(rank))
    }
}

/// Deals ranks out to pages, extent by extent.
#[derive(Debug)]
struct Spread {
    extent_pages: u64,
    extents: Scatter,
}

impl Spread {
    fn new(pages: u64, extent_pages: u64, random: &mut Random) -> Self {
        Self { extent_pages, extents: Scatter::new(pages / extent_pages, random) }
    }

    #[inline]
    fn page(&self, rank: u64) -> u64 {
        if self.extent_pages == 1 {
            return self.extents.place(rank);
        }
        let extent = self.extents.place(rank / self.extent_pages);
        extent * self.extent_pages + rank % self.extent_pages
    }
}

/// Requests one behind the other, from the start of the footprint or in runs.
#[derive(Debug)]
struct Scan {
    footprint_bytes: u64,
    page_bytes: u64,
    /// Where the next request begins.
    next: u64,
    /// Bytes of a run, and how many of the current one are done.
    run: Option<(u64, u64)>,
}

impl Scan {
    fn next(&mut self, bytes: u32, random: &mut Random) -> u64 {
        let bytes_wide = u64::from(bytes);
        let has_ended = self.next + bytes_wide > self.footprint_bytes;
        match &mut self.run {
            None if has_ended => self.next = 0,
            None => {}
            Some((run_bytes, done_bytes)) => {
                if has_ended || *done_bytes >= *run_bytes {
                    let last_start_page = (self.footprint_bytes - *run_bytes) / self.page_bytes;
                    let start = random.below(last_start_page + 1) * self.page_bytes;
                    self.next = fitting(start, bytes, self.footprint_bytes);
                    *done_bytes = 0;
                }
                *done_bytes += bytes_wide;
            }
        }
        let offset = self.next;
        self.next += bytes_wide;
        offset
    }
}

/// Bodies that are gone through again and again, one after the other.
#[derive(Debug)]
struct Bodies {
    footprint_bytes: u64,
    body_bytes: u64,
    repeats: u64,
    /// First byte of the current body.
    body_at: u64,
    /// Where in it the next request begins.
    next: u64,
    /// The number of passes over it.
    done: u64,
}

impl Bodies {
    fn next(&mut self, bytes: u32) -> u64 {
        let body_bytes = self.body_bytes.min(self.footprint_bytes - self.body_at);
        if self.next + u64::from(bytes) > body_bytes {
            self.next = 0;
            self.done += 1;
            if self.done == self.repeats {
                self.done = 0;
                self.body_at += body_bytes;
                if self.body_at == self.footprint_bytes {
                    self.body_at = 0;
                }
            }
        }
        let offset = self.body_at + self.next;
        self.next += u64::from(bytes);
        offset
    }
}

/// Draws request sizes.
#[derive(Debug)]
struct Sizes {
    /// Each size with its weight and those of the sizes before it.
    bytes_up_to: Vec<(u32, u64)>,
    total_weight: u64,
}

impl Sizes {
    fn new(sizes: &RequestSizes) -> Self {
        let mut total_weight = 0;
        let bytes_up_to = sizes
            .weighted_bytes
            .iter()
            .map(|&(bytes, weight)| {
                total_weight += weight;
                (bytes, total_weight)
            })
            .collect();
        Self { bytes_up_to, total_weight }
    }

    #[inline]
    fn draw(&self, random: &mut Random) -> u32 {
        if let [(bytes, _)] = self.bytes_up_to[..] {
            return bytes;
        }
        let wanted = random.below(self.total_weight);
        let size = self.bytes_up_to.iter().find(|&&(_, weight_up_to)| wanted < weight_up_to);
        size.expect("the last weight is the total").0
    }
}
