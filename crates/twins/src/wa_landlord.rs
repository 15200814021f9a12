//! Writeback-Aware Landlord: rent is collected from every page.

use num_rational::Ratio;

use crate::{Event, Op, State, Twin, parameters::Parameters};

#[derive(Clone, Copy)]
struct Page {
    page: u64,
    dirty: bool,
    credit: Ratio<i128>,
}

pub(crate) struct WaLandlord {
    frames: usize,
    c: Ratio<i128>,
    lru_to_mru: Vec<Page>,
}

impl WaLandlord {
    pub(crate) fn new(frames: usize, parameters: &mut Parameters) -> WaLandlord {
        let c = parameters.rational("c").unwrap_or(Ratio::from(8));
        WaLandlord { frames, c, lru_to_mru: Vec::new() }
    }

    fn evict(&mut self) -> (u64, bool) {
        let rent = self.lru_to_mru.iter().map(|page| page.credit).min().expect("memory is full");
        for page in &mut self.lru_to_mru {
            page.credit -= rent;
        }
        let penniless = self.lru_to_mru.iter().position(|page| page.credit == Ratio::from(0));
        let victim = self.lru_to_mru.remove(penniless.expect("the poorest has nothing left"));
        (victim.page, victim.dirty)
    }

    fn of(&self, dirty: bool) -> impl Iterator<Item = &Page> {
        self.lru_to_mru.iter().filter(move |page| page.dirty == dirty)
    }
}

impl Twin for WaLandlord {
    fn reference_with(&mut self, page: u64, op: Op, ahead: &[u64]) -> Event {
        let mut event = Event::miss();
        let mut dirty = op == Op::Write;
        if let Some(position) = self.lru_to_mru.iter().position(|other| other.page == page) {
            event = Event::hit();
            dirty |= self.lru_to_mru.remove(position).dirty;
        } else {
            while self.lru_to_mru.len() + ahead.len() >= self.frames {
                event.evicted.push(self.evict());
            }
        }
        let credit = Ratio::from(1) + if dirty { self.c } else { Ratio::from(0) };
        self.lru_to_mru.push(Page { page, dirty, credit });
        if !event.hit {
            let unreferenced = |page: &u64| Page { page: *page, dirty: false, credit: 1.into() };
            self.lru_to_mru.extend(ahead.iter().map(unreferenced));
        }
        event
    }

    fn drop_page(&mut self, page: u64) -> bool {
        let position = self.lru_to_mru.iter().position(|other| other.page == page);
        self.lru_to_mru.remove(position.expect("the page is in memory")).dirty
    }

    /// A page keeps its credit, or what a clean one can have of it.
    fn set_dirty(&mut self, page: u64, dirty: bool) {
        let held = self.lru_to_mru.iter_mut().find(|other| other.page == page);
        let held = held.expect("the page is in memory");
        held.dirty = dirty;
        if !dirty {
            held.credit = held.credit.min(Ratio::from(1));
        }
    }

    fn state(&self) -> State {
        let pages = |dirty| {
            let pages = self.of(dirty).map(|page| State::entry(page.page, &[page.dirty]));
            State::List(pages.collect())
        };
        let credits = |dirty| {
            let real = |page: &Page| *page.credit.numer() as f64 / *page.credit.denom() as f64;
            State::List(self.of(dirty).map(|page| State::Real(real(page))).collect())
        };
        State::Object(vec![
            ("clean", pages(false)),
            ("clean_credits", credits(false)),
            ("dirty", pages(true)),
            ("dirty_credits", credits(true)),
        ])
    }

    fn resident(&self) -> Vec<u64> {
        let mut pages: Vec<u64> = self.lru_to_mru.iter().map(|page| page.page).collect();
        pages.sort_unstable();
        pages
    }
}
