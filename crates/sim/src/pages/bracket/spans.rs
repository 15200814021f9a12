//! What of a trace the prices see: the priced steps, and the spans of each page between them.

use clockhand_trace::Record;

/// Of the frames, the share of an LRU memory whose misses are the priced steps.
const LRU_SHARE: u32 = 8;

/// A page's references between which no priced step of another page lies: it stays in memory over them at no cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// Priced steps before the first of them.
    pub(super) before: u32,
    /// Priced steps up to the last of them, itself included.
    pub(super) upto: u32,
    /// True if one of them writes.
    pub(super) writes: bool,
    /// True if loading the page for the first of them reads it.
    pub(super) is_charged: bool,
}

/// The spans of all pages, page by page, each page's in the order of time.
pub(super) struct Spans {
    /// For each page, the number of its first span; one more entry at the end.
    first: Vec<u32>,
    spans: Vec<Span>,
    /// For each record, how many priced steps there are up to it, itself included.
    pub(super) upto: Vec<u32>,
}

impl Spans {
    pub(super) fn of(
        records: &[Record],
        pages: u32,
        frames: u32,
        is_charged: impl Fn(Record) -> bool,
    ) -> Self {
        let upto = priced_steps(records, pages, (frames / LRU_SHARE).max(1));
        let mut last_of = vec![NONE; pages as usize];
        let mut first = vec![0; pages as usize + 1];
        for (time, record) in records.iter().enumerate() {
            let page = record.page() as usize;
            first[page + 1] += u32::from(last_of[page] != before(&upto, time));
            last_of[page] = upto[time];
        }
        for page in 0..pages as usize {
            first[page + 1] += first[page];
        }
        let nothing = Span { before: 0, upto: 0, writes: false, is_charged: false };
        let mut spans = vec![nothing; first[pages as usize] as usize];
        let mut next = first.clone();
        last_of.fill(NONE);
        for (time, &record) in records.iter().enumerate() {
            let page = record.page() as usize;
            let before = before(&upto, time);
            if last_of[page] != before {
                let is_charged = is_charged(record);
                spans[next[page] as usize] = Span { before, is_charged, ..nothing };
                next[page] += 1;
            }
            let span = &mut spans[next[page] as usize - 1];
            span.upto = upto[time];
            span.writes |= record.first_is_write() || record.rest_writes();
            last_of[page] = upto[time];
        }
        Spans { first, spans, upto }
    }

    /// The number of priced steps.
    pub(super) fn priced_steps(&self) -> usize {
        self.upto.last().map_or(0, |&steps| steps as usize)
    }

    /// The spans of each page.
    pub(super) fn by_page(&self) -> impl Iterator<Item = &[Span]> {
        self.first.windows(2).map(|ends| &self.spans[ends[0] as usize..ends[1] as usize])
    }

    /// The number of spans of all pages.
    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }
}

/// No span of the page yet.
const NONE: u32 = u32::MAX;

/// Priced steps before the record at `time`.
pub(super) fn before(upto: &[u32], time: usize) -> u32 {
    if time == 0 { 0 } else { upto[time - 1] }
}

/// For each record, how many of those up to it an LRU memory of `frames` frames misses.
fn priced_steps(records: &[Record], pages: u32, frames: u32) -> Vec<u32> {
    let mut ring = LruRing::new(pages, frames);
    let mut steps = 0;
    records
        .iter()
        .map(|record| {
            steps += u32::from(!ring.reference(record.page()));
            steps
        })
        .collect()
}

/// Pages in a doubly linked ring; the entry behind the last page is its head.
struct LruRing {
    next: Vec<u32>,
    previous: Vec<u32>,
    free: u32,
}

impl LruRing {
    fn new(pages: u32, frames: u32) -> Self {
        let mut ring = LruRing {
            next: vec![NONE; pages as usize + 1],
            previous: vec![NONE; pages as usize + 1],
            free: frames,
        };
        ring.link(pages, pages, pages);
        ring
    }

    fn head(&self) -> u32 {
        self.next.len() as u32 - 1
    }

    fn link(&mut self, entry: u32, previous: u32, next: u32) {
        (self.previous[entry as usize], self.next[entry as usize]) = (previous, next);
        self.next[previous as usize] = entry;
        self.previous[next as usize] = entry;
    }

    fn unlink(&mut self, entry: u32) {
        let (previous, next) = (self.previous[entry as usize], self.next[entry as usize]);
        self.next[previous as usize] = next;
        self.previous[next as usize] = previous;
        self.next[entry as usize] = NONE;
    }

    /// Says whether the page was in memory.
    fn reference(&mut self, page: u32) -> bool {
        let is_hit = self.next[page as usize] != NONE;
        if is_hit {
            self.unlink(page);
        } else if self.free > 0 {
            self.free -= 1;
        } else {
            self.unlink(self.next[self.head() as usize]);
        }
        self.link(page, self.previous[self.head() as usize], self.head());
        is_hit
    }
}
