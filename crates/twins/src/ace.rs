//! ACE: a policy whose dirty victims are written together with the dirty pages that would leave next.

use crate::cflru::Cflru;
use crate::clock::Clock;
use crate::credit_clock::CreditClock;
use crate::lru::Lru;
use crate::lru_wsr::LruWsr;
use crate::{Event, Op, State, Twin, parameters::Parameters};

#[derive(Clone)]
enum Wrapped {
    Lru(Lru),
    Cflru(Cflru),
    LruWsr(LruWsr),
    Clock(Clock),
    CreditClock(CreditClock),
}

impl Wrapped {
    fn evict(&mut self) -> (u64, bool) {
        match self {
            Wrapped::Lru(policy) => policy.evict(),
            Wrapped::Cflru(policy) => policy.evict(),
            Wrapped::LruWsr(policy) => policy.evict(),
            Wrapped::Clock(policy) => policy.evict(),
            Wrapped::CreditClock(policy) => policy.evict(),
        }
    }

    fn twin(&self) -> &dyn Twin {
        match self {
            Wrapped::Lru(policy) => policy,
            Wrapped::Cflru(policy) => policy,
            Wrapped::LruWsr(policy) => policy,
            Wrapped::Clock(policy) => policy,
            Wrapped::CreditClock(policy) => policy,
        }
    }

    fn twin_mut(&mut self) -> &mut dyn Twin {
        match self {
            Wrapped::Lru(policy) => policy,
            Wrapped::Cflru(policy) => policy,
            Wrapped::LruWsr(policy) => policy,
            Wrapped::Clock(policy) => policy,
            Wrapped::CreditClock(policy) => policy,
        }
    }

    /// The dirty pages in the order in which they would leave if one after another had to.
    fn dirty_in_leaving_order(&self) -> Vec<u64> {
        if let Wrapped::CreditClock(policy) = self {
            return policy.dirty_from_hand();
        }
        let mut rest = self.clone();
        let pages = rest.twin().resident().len();
        let leaving = (0..pages).map(|_| rest.evict());
        leaving.filter(|&(_, dirty)| dirty).map(|(page, _)| page).collect()
    }
}

pub(crate) struct Ace {
    frames: usize,
    batch: usize,
    wrapped: Wrapped,
}

impl Ace {
    /// `policy` is one of lists.
    pub(crate) fn of_lists(frames: usize, parameters: &mut Parameters) -> Ace {
        let wrapped = match parameters.choice("policy", &["lru", "cflru", "lru-wsr"]) {
            0 => Wrapped::Lru(Lru::new(frames)),
            1 => Wrapped::Cflru(Cflru::with_static_window(frames, parameters)),
            _ => Wrapped::LruWsr(LruWsr::new(frames)),
        };
        Ace::new(frames, wrapped, parameters)
    }

    /// `policy` is a clock.
    pub(crate) fn of_clocks(frames: usize, parameters: &mut Parameters) -> Ace {
        let wrapped = match parameters.choice("policy", &["clock", "credit-clock"]) {
            0 => Wrapped::Clock(Clock::new(frames, parameters)),
            _ => Wrapped::CreditClock(CreditClock::new(frames, parameters)),
        };
        Ace::new(frames, wrapped, parameters)
    }

    fn new(frames: usize, wrapped: Wrapped, parameters: &mut Parameters) -> Ace {
        Ace { frames, batch: parameters.integer("batch").unwrap_or(8), wrapped }
    }

    fn evict(&mut self, event: &mut Event) {
        let (victim, dirty) = self.wrapped.evict();
        event.evicted.push((victim, dirty));
        if dirty {
            for page in self.wrapped.dirty_in_leaving_order().into_iter().take(self.batch - 1) {
                self.wrapped.twin_mut().set_dirty(page, false);
                event.written_back.push(page);
            }
        }
    }
}

impl Twin for Ace {
    fn reference_with(&mut self, page: u64, op: Op, ahead: &[u64]) -> Event {
        let mut event = Event::default();
        if !self.resident().contains(&page) {
            while self.resident().len() + ahead.len() >= self.frames {
                self.evict(&mut event);
            }
        }
        let of_wrapped = self.wrapped.twin_mut().reference_with(page, op, ahead);
        assert!(of_wrapped.evicted.is_empty(), "there was room");
        Event { hit: of_wrapped.hit, ..event }
    }

    fn drop_page(&mut self, page: u64) -> bool {
        self.wrapped.twin_mut().drop_page(page)
    }

    fn set_dirty(&mut self, page: u64, dirty: bool) {
        self.wrapped.twin_mut().set_dirty(page, dirty);
    }

    fn state(&self) -> State {
        match &self.wrapped {
            Wrapped::Lru(policy) => policy.state_with_dirty(),
            Wrapped::Clock(policy) => policy.state_with_dirty(),
            other => other.twin().state(),
        }
    }

    fn resident(&self) -> Vec<u64> {
        self.wrapped.twin().resident()
    }
}
