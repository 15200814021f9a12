//! CCF-LRU: a list of cold clean pages, which leave first, and one of all others.

use crate::{Event, Op, State, Twin, parameters::Parameters};

#[derive(Clone, Copy)]
struct Page {
    page: u64,
    dirty: bool,
    cold: bool,
}

pub(crate) struct CcfLru {
    frames: usize,
    new_dirty_is_cold: bool,
    cold_clean: Vec<Page>,
    mixed: Vec<Page>,
}

impl CcfLru {
    pub(crate) fn new(frames: usize, parameters: &mut Parameters) -> CcfLru {
        let new_dirty_is_cold = parameters.choice("new_dirty", &["hot", "cold"]) == 1;
        CcfLru { frames, new_dirty_is_cold, cold_clean: Vec::new(), mixed: Vec::new() }
    }

    fn evict(&mut self) -> (u64, bool) {
        let victim =
            if self.cold_clean.is_empty() { self.evict_mixed() } else { self.cold_clean.remove(0) };
        (victim.page, victim.dirty)
    }

    fn evict_mixed(&mut self) -> Page {
        while !self.mixed.is_empty() {
            let mut page = self.mixed.remove(0);
            if page.cold {
                return page;
            }
            page.cold = true;
            let list = if page.dirty { &mut self.mixed } else { &mut self.cold_clean };
            list.push(page);
        }
        self.cold_clean.remove(0)
    }

    fn take(&mut self, page: u64) -> Option<Page> {
        [&mut self.cold_clean, &mut self.mixed].into_iter().find_map(|list| {
            let position = list.iter().position(|other| other.page == page)?;
            Some(list.remove(position))
        })
    }
}

impl Twin for CcfLru {
    fn reference_with(&mut self, page: u64, op: Op, ahead: &[u64]) -> Event {
        let wrote = op == Op::Write;
        if let Some(held) = self.take(page) {
            self.mixed.push(Page { page, dirty: held.dirty || wrote, cold: false });
            return Event::hit();
        }
        let mut event = Event::miss();
        while self.cold_clean.len() + self.mixed.len() + ahead.len() >= self.frames {
            event.evicted.push(self.evict());
        }
        if wrote {
            self.mixed.push(Page { page, dirty: true, cold: self.new_dirty_is_cold });
        } else {
            self.cold_clean.push(Page { page, dirty: false, cold: true });
        }
        let unreferenced = |page: &u64| Page { page: *page, dirty: false, cold: true };
        self.cold_clean.extend(ahead.iter().map(unreferenced));
        event
    }

    fn drop_page(&mut self, page: u64) -> bool {
        self.take(page).expect("the page is in memory").dirty
    }

    fn set_dirty(&mut self, page: u64, dirty: bool) {
        let held = self.cold_clean.iter_mut().chain(&mut self.mixed);
        let held = held.into_iter().find(|other| other.page == page);
        held.expect("the page is in memory").dirty = dirty;
    }

    fn state(&self) -> State {
        let entries = |list: &[Page]| {
            State::List(list.iter().map(|it| State::entry(it.page, &[it.dirty])).collect())
        };
        State::Object(vec![
            ("cold_clean", entries(&self.cold_clean)),
            ("mixed", entries(&self.mixed)),
            ("cold", State::flags(self.mixed.iter().map(|page| page.cold))),
        ])
    }

    fn resident(&self) -> Vec<u64> {
        let mut pages: Vec<u64> =
            self.cold_clean.iter().chain(&self.mixed).map(|page| page.page).collect();
        pages.sort_unstable();
        pages
    }
}
