//! FOR: the page leaves whose references and writes, by how far apart they are and what they cost, weigh least.

use std::collections::BTreeMap;

use num_rational::Ratio;

use crate::{Event, Op, State, Twin, parameters::Parameters};

const REFERENCE: usize = 0;
const WRITE: usize = 1;
const NAMES: [&str; 4] = ["cold", "hot_in_references", "hot_in_writes", "hot"];

#[derive(Clone, Copy)]
struct Page {
    page: u64,
    dirty: bool,
    /// In references and in writes.
    hot: [bool; 2],
}

impl Page {
    fn class(self) -> usize {
        usize::from(self.hot[REFERENCE]) + 2 * usize::from(self.hot[WRITE])
    }
}

pub(crate) struct For {
    frames: usize,
    most_hot: usize,
    keeps_history: bool,
    c: Ratio<i128>,
    now: u64,
    /// The page of the last reference, and whether one of those in succession wrote.
    run: Option<(u64, bool)>,
    /// In the order of their last moves.
    pages: Vec<Page>,
    /// When each page was referenced and when it was written.
    times: BTreeMap<u64, [Vec<u64>; 2]>,
}

impl For {
    pub(crate) fn new(frames: usize, parameters: &mut Parameters) -> For {
        For {
            frames,
            most_hot: parameters.share("hot_share", (1, 2), frames),
            keeps_history: parameters.choice("history", &["keep", "forget"]) == 0,
            c: parameters.rational("c").unwrap_or(8.into()),
            now: 1,
            run: None,
            pages: Vec::new(),
            times: BTreeMap::new(),
        }
    }

    fn times(&self, page: u64, operation: usize) -> &[u64] {
        self.times.get(&page).map_or(&[], |times| &times[operation])
    }

    fn distance(&self, page: u64, operation: usize) -> Option<u64> {
        match *self.times(page, operation) {
            [.., before, last] => Some((last - before).max(1)),
            _ => None,
        }
    }

    fn since(&self, page: u64, operation: usize, now: u64) -> Option<u64> {
        self.times(page, operation).last().map(|last| now - last)
    }

    /// In whole parts of 2^-30 over the denominator of c.
    fn weight(&self, page: Page) -> i128 {
        let next = self.now + 1;
        let part = |cost: Ratio<i128>, apart: u64| {
            (cost * self.c.denom() * (1 << 30) / i128::from(apart)).to_integer()
        };
        let apart = |operation| {
            let since = self.since(page.page, operation, next)?;
            Some(since.max(self.distance(page.page, operation).unwrap_or(0)))
        };
        let read = part(1.into(), apart(REFERENCE).expect("a page in memory was referenced"));
        let written = apart(WRITE).map_or(0, |apart| part(self.c, apart));
        let since = self.since(page.page, REFERENCE, next).expect("it was referenced");
        read + written + if page.dirty { part(self.c, since) } else { 0 }
    }

    fn evict(&mut self) -> (u64, bool) {
        let list = |page: &Page| (page.class(), page.dirty);
        let is_end = |at: usize| {
            !self.pages[..at].iter().any(|before| list(before) == list(&self.pages[at]))
        };
        let ends = (0..self.pages.len()).filter(|at| is_end(*at));
        let victim = ends.min_by_key(|at| self.weight(self.pages[*at])).expect("memory is full");
        let victim = self.pages.remove(victim);
        self.left(victim.page);
        (victim.page, victim.dirty)
    }

    fn left(&mut self, page: u64) {
        self.run = self.run.filter(|(last, _)| *last != page);
        if !self.keeps_history {
            self.times.remove(&page);
        }
    }

    /// The page, which is in memory, is referenced or written now.
    fn operate(&mut self, page: u64, operation: usize) {
        self.times.entry(page).or_default()[operation].push(self.now);
        let at = self.pages.iter().position(|other| other.page == page).expect("it is here");
        let Some(distance) = self.distance(page, operation) else { return };
        if self.pages[at].hot[operation] || self.most_hot == 0 {
            return;
        }
        let hot = self.hot_in(operation);
        self.pages[at].hot[operation] = true;
        if hot.len() < self.most_hot {
            return;
        }
        let coldest = hot[0];
        let since = self.since(coldest, operation, self.now).expect("it is hot");
        if distance < since {
            let at = self.pages.iter().position(|other| other.page == coldest).expect("here");
            let mut cooled = self.pages.remove(at);
            cooled.hot[operation] = false;
            self.pages.push(cooled);
        } else {
            self.pages[at].hot[operation] = false;
        }
    }

    /// The hot pages, the one that has gone without the operation for longest first.
    fn hot_in(&self, operation: usize) -> Vec<u64> {
        let hot = self.pages.iter().filter(|page| page.hot[operation]);
        let mut hot: Vec<u64> = hot.map(|page| page.page).collect();
        hot.sort_by_key(|page| self.times(*page, operation).last());
        hot
    }

    fn refer(&mut self, page: u64, op: Op) {
        if self.run.is_none_or(|(last, _)| last != page) {
            self.now += 1;
            self.run = Some((page, false));
            self.operate(page, REFERENCE);
        }
        if op == Op::Write && self.run == Some((page, false)) {
            self.run = Some((page, true));
            self.operate(page, WRITE);
        }
        let at = self.pages.iter().position(|other| other.page == page).expect("it is here");
        let mut referenced = self.pages.remove(at);
        referenced.dirty |= op == Op::Write;
        self.pages.push(referenced);
    }
}

impl Twin for For {
    fn reference_with(&mut self, page: u64, op: Op, ahead: &[u64]) -> Event {
        if self.pages.iter().any(|other| other.page == page) {
            self.refer(page, op);
            return Event::hit();
        }
        let mut event = Event::miss();
        while self.pages.len() + ahead.len() >= self.frames {
            event.evicted.push(self.evict());
        }
        self.run = None;
        self.pages.push(Page { page, dirty: false, hot: [false; 2] });
        self.refer(page, op);
        for &page in ahead {
            self.times.entry(page).or_default()[REFERENCE] = vec![self.now];
            self.pages.push(Page { page, dirty: false, hot: [false; 2] });
        }
        event
    }

    fn drop_page(&mut self, page: u64) -> bool {
        let at = self.pages.iter().position(|other| other.page == page).expect("it is here");
        self.left(page);
        self.times.remove(&page);
        self.pages.remove(at).dirty
    }

    fn set_dirty(&mut self, page: u64, dirty: bool) {
        let held = self.pages.iter_mut().find(|other| other.page == page);
        held.expect("the page is in memory").dirty = dirty;
    }

    fn state(&self) -> State {
        let class = |class| {
            let pages = self.pages.iter().filter(move |page| page.class() == class);
            State::List(pages.map(|page| State::entry(page.page, &[page.dirty])).collect())
        };
        let with_dirty = |pages: Vec<u64>| {
            let dirty = |page| self.pages.iter().any(|other| other.page == page && other.dirty);
            State::List(pages.iter().map(|page| State::entry(*page, &[dirty(*page)])).collect())
        };
        let mut parts: Vec<_> = NAMES.into_iter().zip((0..4).map(class)).collect();
        parts.push(("reference_order", with_dirty(self.hot_in(REFERENCE))));
        parts.push(("write_order", with_dirty(self.hot_in(WRITE))));
        State::Object(parts)
    }

    fn resident(&self) -> Vec<u64> {
        let mut pages: Vec<u64> = self.pages.iter().map(|page| page.page).collect();
        pages.sort_unstable();
        pages
    }
}
