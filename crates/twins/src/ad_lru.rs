//! AD-LRU: an LRU list of pages that were referenced once and one of pages that were hit.

use crate::{Event, Op, State, Twin, parameters::Parameters};

#[derive(Clone, Copy)]
struct Page {
    page: u64,
    dirty: bool,
    referenced: bool,
}

pub(crate) struct AdLru {
    frames: usize,
    least_cold: usize,
    cold: Vec<Page>,
    hot: Vec<Page>,
}

impl AdLru {
    pub(crate) fn new(frames: usize, parameters: &mut Parameters) -> AdLru {
        let least_cold = parameters.share("min_cold_share", (1, 10), frames);
        AdLru { frames, least_cold, cold: Vec::new(), hot: Vec::new() }
    }

    fn evict(&mut self) -> (u64, bool) {
        let from_cold = self.cold.len() > self.least_cold || self.hot.is_empty();
        let from_cold = from_cold && !self.cold.is_empty();
        let list = if from_cold { &mut self.cold } else { &mut self.hot };
        let victim = match list.iter().position(|page| !page.dirty) {
            Some(first_clean) => list.remove(first_clean),
            None => loop {
                let page = list.remove(0);
                if !page.referenced {
                    break page;
                }
                list.push(Page { referenced: false, ..page });
            },
        };
        (victim.page, victim.dirty)
    }

    fn take(&mut self, page: u64) -> Option<Page> {
        [&mut self.cold, &mut self.hot].into_iter().find_map(|list| {
            let position = list.iter().position(|other| other.page == page)?;
            Some(list.remove(position))
        })
    }
}

impl Twin for AdLru {
    fn reference_with(&mut self, page: u64, op: Op, ahead: &[u64]) -> Event {
        let wrote = op == Op::Write;
        if let Some(held) = self.take(page) {
            self.hot.push(Page { page, dirty: held.dirty || wrote, referenced: true });
            return Event::hit();
        }
        let mut event = Event::miss();
        while self.cold.len() + self.hot.len() + ahead.len() >= self.frames {
            event.evicted.push(self.evict());
        }
        self.cold.push(Page { page, dirty: wrote, referenced: true });
        let unreferenced = |page: &u64| Page { page: *page, dirty: false, referenced: false };
        self.cold.extend(ahead.iter().map(unreferenced));
        event
    }

    fn drop_page(&mut self, page: u64) -> bool {
        self.take(page).expect("the page is in memory").dirty
    }

    fn set_dirty(&mut self, page: u64, dirty: bool) {
        let held = self.cold.iter_mut().chain(&mut self.hot).find(|other| other.page == page);
        held.expect("the page is in memory").dirty = dirty;
    }

    fn state(&self) -> State {
        let entries = |list: &[Page]| {
            State::List(list.iter().map(|it| State::entry(it.page, &[it.dirty])).collect())
        };
        let flags = |list: &[Page]| State::flags(list.iter().map(|page| page.referenced));
        State::Object(vec![
            ("cold", entries(&self.cold)),
            ("cold_referenced", flags(&self.cold)),
            ("hot", entries(&self.hot)),
            ("hot_referenced", flags(&self.hot)),
        ])
    }

    fn resident(&self) -> Vec<u64> {
        let mut pages: Vec<u64> = self.cold.iter().chain(&self.hot).map(|page| page.page).collect();
        pages.sort_unstable();
        pages
    }
}
