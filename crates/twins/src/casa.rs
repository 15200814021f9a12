//! CASA: whether a clean or a dirty page leaves follows the hits that each kind gets.

use crate::{Event, Op, State, Twin, parameters::Parameters};

pub(crate) struct Casa {
    frames: usize,
    read_step: f64,
    write_step: f64,
    tau: f64,
    /// Pages with their dirty flags: the clean ones are C, the others D.
    lru_to_mru: Vec<(u64, bool)>,
    /// The page of the last reference, and tau if one of those that referred to it in succession writes.
    run: Option<(u64, f64)>,
}

impl Casa {
    pub(crate) fn new(frames: usize, parameters: &mut Parameters) -> Casa {
        let c = parameters.rational("c").unwrap_or(8.into());
        let (numerator, denominator) = (*c.numer() as f64, *c.denom() as f64);
        Casa {
            frames,
            read_step: denominator / (denominator + numerator),
            write_step: numerator / (denominator + numerator),
            tau: frames as f64 / 2.0,
            lru_to_mru: Vec::new(),
            run: None,
        }
    }

    fn count(&self, dirty: bool) -> f64 {
        self.lru_to_mru.iter().filter(|page| page.1 == dirty).count() as f64
    }

    fn evict(&mut self) -> (u64, bool) {
        let wants_dirty = self.count(false) < self.tau;
        let wanted = self.lru_to_mru.iter().position(|page| page.1 == wants_dirty);
        self.lru_to_mru.remove(wanted.unwrap_or(0))
    }

    fn adapt(&mut self, page: u64, was_dirty: bool, op: Op) {
        let (clean, dirty) = (self.count(false), self.count(true));
        if self.run.is_none_or(|(last, _)| last != page) {
            if was_dirty {
                let lower = self.tau - self.write_step * (clean / dirty);
                self.run = Some((page, lower.max(0.0)));
            } else {
                self.run = Some((page, self.tau));
                let higher = self.tau + self.read_step * (dirty / clean);
                self.tau = higher.min(self.frames as f64);
            }
        }
        if let (Op::Write, Some((_, tau))) = (op, self.run) {
            self.tau = tau;
        }
    }

    fn forget(&mut self, page: u64) {
        self.run = self.run.filter(|(last, _)| *last != page);
    }
}

impl Twin for Casa {
    fn reference_with(&mut self, page: u64, op: Op, ahead: &[u64]) -> Event {
        let wrote = op == Op::Write;
        if let Some(position) = self.lru_to_mru.iter().position(|other| other.0 == page) {
            let was_dirty = self.lru_to_mru[position].1;
            self.adapt(page, was_dirty, op);
            self.lru_to_mru.remove(position);
            self.lru_to_mru.push((page, was_dirty || wrote));
            return Event::hit();
        }
        let mut event = Event::miss();
        while self.lru_to_mru.len() + ahead.len() >= self.frames {
            let victim = self.evict();
            self.forget(victim.0);
            event.evicted.push(victim);
        }
        self.lru_to_mru.push((page, wrote));
        self.run = Some((page, self.tau));
        self.lru_to_mru.extend(ahead.iter().map(|page| (*page, false)));
        event
    }

    fn drop_page(&mut self, page: u64) -> bool {
        self.forget(page);
        let position = self.lru_to_mru.iter().position(|other| other.0 == page);
        self.lru_to_mru.remove(position.expect("the page is in memory")).1
    }

    fn set_dirty(&mut self, page: u64, dirty: bool) {
        let held = self.lru_to_mru.iter_mut().find(|other| other.0 == page);
        held.expect("the page is in memory").1 = dirty;
    }

    fn state(&self) -> State {
        let of = |dirty| {
            let pages = self.lru_to_mru.iter().filter(move |page| page.1 == dirty);
            State::List(pages.map(|page| State::entry(page.0, &[page.1])).collect())
        };
        State::Object(vec![("C", of(false)), ("D", of(true)), ("tau", State::Real(self.tau))])
    }

    fn resident(&self) -> Vec<u64> {
        let mut pages: Vec<u64> = self.lru_to_mru.iter().map(|page| page.0).collect();
        pages.sort_unstable();
        pages
    }
}
