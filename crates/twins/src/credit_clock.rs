//! CREDIT-CLOCK: Clockhand's own policy, from the steps in docs/policies.md.

use std::collections::VecDeque;

use num_rational::Ratio;

use crate::clock_page::{ClockPage, ascending};
use crate::{Event, Op, State, Twin, parameters::Parameters, visibility::Visibility};

#[derive(Clone, Copy)]
struct Page {
    entry: ClockPage,
    level: usize,
}

#[derive(Clone)]
pub(crate) struct CreditClock {
    frames: usize,
    k: usize,
    clean_levels: usize,
    dirty_levels: usize,
    new_dirty_credit: usize,
    visibility: Visibility,
    /// The hand's list first. Lists are added as they are needed.
    from_hand: VecDeque<VecDeque<Page>>,
}

impl CreditClock {
    pub(crate) fn new(frames: usize, parameters: &mut Parameters) -> CreditClock {
        let c = parameters.rational("c");
        let k = parameters.integer("k");
        assert!(c.is_none() || k.is_none(), "give c or k, not both");
        let from_c = c.unwrap_or(Ratio::from(8)) + Ratio::new(1, 2);
        let k = k.unwrap_or(from_c.to_integer().clamp(4, 255) as usize);
        let share = parameters.share("new_dirty_share", (1, 1), k);
        CreditClock {
            frames,
            k,
            clean_levels: parameters.integer("clean_levels").unwrap_or(4),
            dirty_levels: parameters.integer("dirty_levels").unwrap_or(2),
            new_dirty_credit: share,
            visibility: parameters.visibility(),
            from_hand: VecDeque::new(),
        }
    }

    fn put(&mut self, page: Page, credit: usize) {
        while self.from_hand.len() <= 1 + credit {
            self.from_hand.push_back(VecDeque::new());
        }
        self.from_hand[1 + credit].push_back(page);
    }

    pub(crate) fn evict(&mut self) -> (u64, bool) {
        loop {
            while self.from_hand[0].is_empty() {
                self.from_hand.pop_front();
            }
            let mut page = self.from_hand[0].pop_front().expect("the list is not empty");
            if !page.entry.reference {
                return (page.entry.page, page.entry.dirty);
            }
            page.entry.clear_reference();
            if page.entry.dirty {
                page.level = (page.level + 1).min(self.dirty_levels);
                self.put(page, self.k * page.level);
            } else {
                page.level = (page.level + 1).min(self.clean_levels);
                self.put(page, page.level);
            }
        }
    }

    /// The dirty pages from the hand, those that are not referenced first.
    pub(crate) fn dirty_from_hand(&self) -> Vec<u64> {
        let of = |reference: bool| {
            let pages = self.pages().map(|(_, page)| page.entry);
            let dirty = pages.filter(move |it| it.dirty && it.reference == reference);
            dirty.map(|it| it.page)
        };
        of(false).chain(of(true)).collect()
    }

    fn pages(&self) -> impl Iterator<Item = (usize, &Page)> {
        let lists = self.from_hand.iter().enumerate();
        lists.flat_map(|(steps, list)| list.iter().map(move |page| (steps, page)))
    }
}

impl Twin for CreditClock {
    fn reference_with(&mut self, page: u64, op: Op, ahead: &[u64]) -> Event {
        let mut pages = self.from_hand.iter_mut().flatten();
        if let Some(hit) = pages.find(|other| other.entry.page == page) {
            hit.entry.access(op, self.visibility);
            return Event::hit();
        }
        let mut event = Event::miss();
        while self.pages().count() + ahead.len() >= self.frames {
            event.evicted.push(self.evict());
        }
        let entry = ClockPage::load(page, op, false, self.visibility);
        let credit = if op == Op::Write { self.new_dirty_credit } else { 0 };
        self.put(Page { entry, level: usize::from(credit > 0) }, credit);
        for page in ahead {
            self.put(Page { entry: ClockPage::ahead(*page), level: 0 }, 0);
        }
        event
    }

    fn drop_page(&mut self, page: u64) -> bool {
        let mut dirty = false;
        for list in &mut self.from_hand {
            dirty |= list.iter().any(|it| it.entry.page == page && it.entry.dirty);
            list.retain(|it| it.entry.page != page);
        }
        dirty
    }

    fn set_dirty(&mut self, page: u64, dirty: bool) {
        let held = self.from_hand.iter_mut().flatten().find(|other| other.entry.page == page);
        held.expect("the page is in memory").entry.dirty = dirty;
    }

    fn state(&self) -> State {
        let entry = |(_, page): (usize, &Page)| {
            State::entry(page.entry.page, &[page.entry.reference, page.entry.dirty])
        };
        let lists = self.pages().map(|(steps, _)| State::Real(steps as f64));
        let levels = self.pages().map(|(_, page)| State::Real(page.level as f64));
        State::Object(vec![
            ("from_hand", State::List(self.pages().map(entry).collect())),
            ("lists", State::List(lists.collect())),
            ("levels", State::List(levels.collect())),
        ])
    }

    fn resident(&self) -> Vec<u64> {
        ascending(self.from_hand.iter().flatten().map(|page| &page.entry))
    }
}
