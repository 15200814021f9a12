//! W-TinyLFU: a window before a cache that admits by frequency.

use crate::page_list::{Held, PageList, accessed, ascending};
use crate::split_mix::SplitMix;
use crate::{Event, Op, State, Twin, parameters::Parameters};

pub(crate) struct WTinylfu {
    frames: usize,
    window_pages: usize,
    protected_pages: usize,
    sketch: Sketch,
    window: PageList,
    probation: PageList,
    protected: PageList,
}

impl WTinylfu {
    pub(crate) fn new(frames: usize, parameters: &mut Parameters) -> WTinylfu {
        let window_pages = parameters.share("window_share", (1, 100), frames).max(1);
        WTinylfu {
            frames,
            window_pages,
            protected_pages: parameters.share("protected_share", (4, 5), frames - window_pages),
            sketch: Sketch::new(frames, parameters),
            window: PageList::default(),
            probation: PageList::default(),
            protected: PageList::default(),
        }
    }

    fn hit(&mut self, page: u64, op: Op) -> bool {
        if let Some(held) = self.window.take(page) {
            self.window.push_back(accessed(held, op));
        } else if let Some(held) = self.protected.take(page).or_else(|| self.probation.take(page)) {
            self.protected.push_back(accessed(held, op));
            if self.protected.len() > self.protected_pages {
                self.probation.push_back(self.protected.pop_front().expect("a page was put here"));
            }
        } else {
            return false;
        }
        true
    }

    fn evict(&mut self) -> Held {
        let rivals =
            if self.probation.is_empty() { &mut self.protected } else { &mut self.probation };
        // The window is empty only if pages have left out of turn.
        let Some(candidate) = self.window.pop_front() else {
            return rivals.pop_front().expect("memory is not empty");
        };
        let admits = |rival| self.sketch.count(candidate.0) > self.sketch.count(rival);
        if !rivals.front().is_some_and(admits) {
            return candidate;
        }
        let rival = rivals.pop_front().expect("there is a rival");
        self.probation.push_back(candidate);
        rival
    }
}

impl WTinylfu {
    fn load(&mut self, held: Held) {
        self.window.push_back(held);
        while self.window.len() > self.window_pages {
            self.probation.push_back(self.window.pop_front().expect("the window is not empty"));
        }
    }
}

impl Twin for WTinylfu {
    fn reference_with(&mut self, page: u64, op: Op, ahead: &[u64]) -> Event {
        if ascending([&self.window, &self.probation, &self.protected]).contains(&page) {
            self.sketch.add(page);
            self.hit(page, op);
            return Event::hit();
        }
        let mut event = Event::miss();
        while self.resident().len() + ahead.len() >= self.frames {
            event.evicted.push(self.evict());
        }
        self.load((page, op == Op::Write));
        self.sketch.add(page);
        ahead.iter().for_each(|page| self.load((*page, false)));
        event
    }

    fn drop_page(&mut self, page: u64) -> bool {
        let lists = [&mut self.window, &mut self.probation, &mut self.protected];
        let dropped = lists.into_iter().find_map(|list| list.take(page));
        dropped.expect("the page is in memory").1
    }

    fn state(&self) -> State {
        State::Object(vec![
            ("window", self.window.state()),
            ("probation", self.probation.state()),
            ("protected", self.protected.state()),
            ("additions", State::Integer(self.sketch.additions)),
        ])
    }

    fn resident(&self) -> Vec<u64> {
        ascending([&self.window, &self.probation, &self.protected])
    }
}

/// Estimates how often pages were referenced lately.
struct Sketch {
    /// w counters of 0 to 15 in each row.
    rows: [Vec<u8>; 4],
    /// The doorkeeper's 4 w bits, row by row, if there is one.
    doorkeeper: Option<[Vec<bool>; 4]>,
    additions: u64,
    sample: u64,
}

impl Sketch {
    fn new(frames: usize, parameters: &mut Parameters) -> Sketch {
        let width = (4 * frames.next_power_of_two()).max(16);
        let has_doorkeeper = parameters.flag("doorkeeper").unwrap_or(false);
        let sample_factor = parameters.integer("sample_factor").unwrap_or(10);
        Sketch {
            rows: std::array::from_fn(|_| vec![0; width]),
            doorkeeper: has_doorkeeper.then(|| std::array::from_fn(|_| vec![false; width])),
            additions: 0,
            sample: (sample_factor * frames) as u64,
        }
    }

    /// The page's position in each row.
    fn positions(&self, page: u64) -> [usize; 4] {
        let mut numbers = SplitMix::new(page);
        std::array::from_fn(|row| (numbers.draw() % self.rows[row].len() as u64) as usize)
    }

    fn is_known(&self, page: u64) -> bool {
        let positions = self.positions(page);
        self.doorkeeper.as_ref().is_some_and(|bits| (0..4).all(|row| bits[row][positions[row]]))
    }

    fn count(&self, page: u64) -> u64 {
        let positions = self.positions(page);
        let smallest = (0..4).map(|row| self.rows[row][positions[row]]).min();
        u64::from(smallest.expect("there are four rows")) + u64::from(self.is_known(page))
    }

    fn add(&mut self, page: u64) {
        let positions = self.positions(page);
        let is_known = self.is_known(page);
        match &mut self.doorkeeper {
            Some(bits) if !is_known => (0..4).for_each(|row| bits[row][positions[row]] = true),
            _ => {
                for (row, position) in self.rows.iter_mut().zip(positions) {
                    row[position] = (row[position] + 1).min(15);
                }
            }
        }
        self.additions += 1;
        if self.additions == self.sample {
            self.age();
        }
    }

    fn age(&mut self) {
        self.rows.iter_mut().flatten().for_each(|counter| *counter /= 2);
        self.doorkeeper.iter_mut().flatten().flatten().for_each(|bit| *bit = false);
        self.additions = self.sample / 2;
    }
}
