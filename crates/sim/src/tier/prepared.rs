//! A trace as the page references of each page size, and when they were.

use std::sync::{Arc, OnceLock};

use clockhand_trace::{Folding, Numbering, PageView, PageViewBuilder, Request, TraceInput};
use num_bigint::BigInt;
use num_rational::BigRational;

use super::course::PageGroups;
use crate::error::SimError;
use crate::intervals::{ArrivalsAtSizes, Cuts, Intervals};
use crate::replay::first_op;
use crate::sketch::block_key;
use crate::views::{View, Views, read_trace};
use clockhand_trace::progress::Progress;

const NS_PER_SECOND: u64 = 1_000_000_000;

/// A trace at one page size.
pub(super) struct AtSize {
    pub(super) page_bytes: u64,
    pub(super) views: Views,
    /// The numbers of the references before which a new second of trace time begins, counted from 0.
    pub(super) seconds: Vec<u64>,
    /// From the first request to the last; `None` without times.
    pub(super) span_seconds: Option<BigRational>,
    pub(super) has_times: bool,
    /// The places where counters are read.
    pub(super) cuts: Cuts,
    keys: OnceLock<Vec<u64>>,
    accesses: OnceLock<Vec<[u64; 2]>>,
    groups: OnceLock<Arc<PageGroups>>,
}

/// The times of a trace, and where seconds begin among the references of one page size.
#[derive(Clone, Default)]
struct Clock {
    first_ns: Option<u64>,
    latest_ns: u64,
    last_ns: u64,
}

impl Clock {
    /// The second of a request, counted from the first one; a time that goes back counts as the latest.
    fn second(&mut self, request: &Request) -> u64 {
        if let Some(time_ns) = request.time_ns {
            self.first_ns.get_or_insert(time_ns);
            self.latest_ns = self.latest_ns.max(time_ns);
            self.last_ns = time_ns;
        }
        (self.latest_ns - self.first_ns.unwrap_or(self.latest_ns)) / NS_PER_SECOND
    }

    fn span(&self) -> Option<BigRational> {
        let span_ns = self.last_ns.saturating_sub(self.first_ns?);
        Some(BigRational::new(span_ns.into(), BigInt::from(NS_PER_SECOND)))
    }
}

/// Where seconds begin among the references of one page size.
struct Seconds {
    page_shift: u32,
    references: u64,
    second: u64,
    begins: Vec<u64>,
}

impl Seconds {
    fn take(&mut self, request: &Request, second: u64) {
        if request.bytes == 0 {
            return;
        }
        if second != self.second {
            self.second = second;
            self.begins.push(self.references);
        }
        let pages = request.pages(self.page_shift);
        self.references += pages.end() - pages.start() + 1;
    }
}

/// Reads a trace once for all page sizes.
pub(super) fn read_sizes(
    input: &TraceInput,
    page_sizes_bytes: &[u64],
    intervals: &Intervals,
    progress: &Progress,
) -> Result<Vec<AtSize>, SimError> {
    let limit_bytes = input.memory_limit_bytes() / page_sizes_bytes.len().max(1) as u64;
    let mut builders = Vec::new();
    for &page_bytes in page_sizes_bytes {
        let builder = PageViewBuilder::new(page_bytes, Folding::None)?;
        builders.push(builder.numbered(Numbering::ByFirstTouch).within(limit_bytes));
    }
    let of_size = |&page_bytes: &u64| Seconds {
        page_shift: page_bytes.trailing_zeros(),
        references: 0,
        second: 0,
        begins: Vec::new(),
    };
    let mut seconds: Vec<Seconds> = page_sizes_bytes.iter().map(of_size).collect();
    let mut clock = Clock::default();
    let mut arrivals = ArrivalsAtSizes::new(!intervals.is_off(), page_sizes_bytes, limit_bytes);
    let report = input.for_each_batch(progress, &mut |batch| {
        for request in batch {
            let second = clock.second(request);
            seconds.iter_mut().for_each(|of_size| of_size.take(request, second));
        }
        builders.iter_mut().for_each(|builder| builder.extend(batch));
        arrivals.extend(batch)?;
        builders.iter().try_for_each(PageViewBuilder::check_room)
    })?;
    let mut sizes = Vec::new();
    let of_sizes = builders.into_iter().zip(seconds).zip(arrivals.finish());
    for (((builder, seconds), arrivals), &page_bytes) in of_sizes.zip(page_sizes_bytes) {
        let view = View::new(builder.finish_watched(progress)?);
        let trace = read_trace(input, &report, Some(view.pages()));
        let views = Views::of(trace, vec![view], arrivals);
        sizes.push(AtSize {
            page_bytes,
            cuts: views.cuts(intervals)?,
            views,
            seconds: seconds.begins,
            span_seconds: clock.span(),
            has_times: clock.first_ns.is_some(),
            keys: OnceLock::new(),
            accesses: OnceLock::new(),
            groups: OnceLock::new(),
        });
    }
    Ok(sizes)
}

impl AtSize {
    pub(super) fn view(&self) -> &View {
        self.views.folded(Folding::None)
    }

    /// Keys of the pages in a sketch: their own number with that of their stream, in the order of appearance.
    pub(super) fn keys(&self) -> &[u64] {
        self.keys.get_or_init(|| {
            let view = self.view().pages();
            let mut streams: Vec<u32> = Vec::new();
            let key = |page: u32| {
                let (stream, number) = view.page_keys()[place_of(view, page)];
                let position = streams.iter().position(|&known| known == stream);
                let position = position.unwrap_or_else(|| {
                    streams.push(stream);
                    streams.len() - 1
                });
                block_key(position as u32, number)
            };
            (0..view.footprint_pages()).map(key).collect()
        })
    }

    /// Reads and writes of each page.
    pub(super) fn accesses(&self) -> &[[u64; 2]] {
        self.accesses.get_or_init(|| {
            let view = self.view().pages();
            let mut accesses = vec![[0; 2]; view.footprint_pages() as usize];
            for &record in view.records() {
                accesses[record.page() as usize][first_op(record) as usize] += 1;
            }
            accesses
        })
    }

    /// Pages by how often they are referenced.
    pub(super) fn groups(&self) -> Arc<PageGroups> {
        self.groups.get_or_init(|| Arc::new(PageGroups::of(self.accesses()))).clone()
    }
}

/// Place among the keys of a page that is numbered by its first reference.
fn place_of(view: &PageView, page: u32) -> usize {
    view.places_by_address().map_or(page, |places| places[page as usize]) as usize
}
