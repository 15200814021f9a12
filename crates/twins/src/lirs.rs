//! LIRS: pages of low inter-reference recency stay; the others pass through a short queue. LIRS-WSR: dirty pages get a
//! second chance on the way out.

use crate::page_list::{Held, PageList, accessed};
use crate::{Event, Op, State, Twin, parameters::Parameters};

pub(crate) struct Lirs {
    frames: usize,
    /// Llirs, the most LIR pages.
    lir_pages: usize,
    /// S, from the bottom: pages in memory or not.
    stack: Vec<u64>,
    /// The LIR pages.
    lir: Vec<Held>,
    /// Q, the resident HIR pages, from the front.
    queue: PageList,
    /// Of LIRS-WSR.
    chances: Option<Chances>,
}

/// The pages that are cold, and whether LIR pages get a second chance too.
struct Chances {
    cold: Vec<u64>,
    spare_lir: bool,
}

impl Chances {
    /// A dirty page that is not cold is spared, and cold from then on.
    fn spare(&mut self, held: Held) -> bool {
        let spared = held.1 && !self.cold.contains(&held.0);
        if spared {
            self.cold.push(held.0);
        }
        spared
    }
}

impl Lirs {
    pub(crate) fn new(frames: usize, parameters: &mut Parameters) -> Lirs {
        let hir_pages = parameters.share("hir_share", (1, 100), frames).max(1);
        Lirs {
            frames,
            lir_pages: frames - hir_pages,
            stack: Vec::new(),
            lir: Vec::new(),
            queue: PageList::default(),
            chances: None,
        }
    }

    pub(crate) fn with_chances(frames: usize, parameters: &mut Parameters) -> Lirs {
        let spare_lir = parameters.flag("spare_lir").unwrap_or(true);
        let chances = Some(Chances { cold: Vec::new(), spare_lir });
        Lirs { chances, ..Lirs::new(frames, parameters) }
    }

    fn warm(&mut self, page: u64) {
        if let Some(chances) = &mut self.chances {
            chances.cold.retain(|other| *other != page);
        }
    }

    fn is_lir(&self, page: u64) -> bool {
        self.lir.iter().any(|held| held.0 == page)
    }

    /// Puts the page on top of S; says whether it was in S.
    fn put_on_top(&mut self, page: u64) -> bool {
        let was_in_stack = self.stack.contains(&page);
        self.stack.retain(|other| *other != page);
        self.stack.push(page);
        was_in_stack
    }

    /// A HIR page that was in S becomes a LIR page, for which the one at the bottom may have to give way.
    fn promote(&mut self, held: Held) {
        self.lir.push(held);
        while self.lir.len() > self.lir_pages {
            let is_lir = |page: &u64| self.is_lir(*page);
            let bottom = self.stack.iter().position(is_lir).expect("LIR pages are in S");
            let page = self.stack.remove(bottom);
            let lir = self.take_lir(page);
            let is_new = page == held.0 && self.lir_pages > 0;
            let mut chances = self.chances.as_mut().filter(|chances| chances.spare_lir);
            if is_new || chances.as_mut().is_some_and(|chances| chances.spare(lir)) {
                self.stack.push(page);
                self.lir.push(lir);
                self.prune();
            } else {
                self.queue.push_back(lir);
            }
        }
    }

    fn prune(&mut self) {
        while self.stack.first().is_some_and(|bottom| !self.is_lir(*bottom)) {
            self.stack.remove(0);
        }
    }

    fn take_lir(&mut self, page: u64) -> Held {
        let index = self.lir.iter().position(|held| held.0 == page);
        self.lir.remove(index.expect("the page is a LIR page"))
    }

    /// The front of Q; if Q is empty, the LIR page nearest the bottom of S, which leaves S too.
    fn evict(&mut self) -> Held {
        while let Some(front) = self.queue.pop_front() {
            if !self.chances.as_mut().is_some_and(|chances| chances.spare(front)) {
                return front;
            }
            self.queue.push_back(front);
        }
        let bottom = self.stack.iter().position(|page| self.is_lir(*page));
        let page = self.stack.remove(bottom.expect("LIR pages are in S"));
        let victim = self.take_lir(page);
        self.prune();
        victim
    }

    fn hit_queued(&mut self, held: Held) {
        if self.put_on_top(held.0) {
            self.promote(held);
        } else {
            self.queue.push_back(held);
        }
    }

    fn load(&mut self, held: Held) {
        if self.put_on_top(held.0) {
            self.promote(held);
        } else if self.lir.len() < self.lir_pages {
            self.lir.push(held);
        } else {
            self.queue.push_back(held);
        }
    }
}

impl Twin for Lirs {
    fn reference_with(&mut self, page: u64, op: Op, ahead: &[u64]) -> Event {
        let mut event = Event::hit();
        self.warm(page);
        if let Some(held) = self.lir.iter_mut().find(|held| held.0 == page) {
            *held = accessed(*held, op);
            self.put_on_top(page);
        } else if let Some(held) = self.queue.take(page) {
            self.hit_queued(accessed(held, op));
        } else {
            event = Event::miss();
            while self.lir.len() + self.queue.len() + ahead.len() >= self.frames {
                event.evicted.push(self.evict());
            }
            self.load((page, op == Op::Write));
            self.prune();
            for page in ahead {
                self.warm(*page);
                self.load((*page, false));
                self.prune();
            }
        }
        self.prune();
        event
    }

    /// Out of S too, and out of the LIR pages.
    fn drop_page(&mut self, page: u64) -> bool {
        let held = match self.queue.take(page) {
            Some(held) => held,
            None => self.take_lir(page),
        };
        self.stack.retain(|other| *other != page);
        self.prune();
        held.1
    }

    fn set_dirty(&mut self, page: u64, dirty: bool) {
        if !self.queue.set_dirty(page, dirty) {
            let held = self.lir.iter_mut().find(|held| held.0 == page);
            held.expect("the page is in memory").1 = dirty;
        }
    }

    fn state(&self) -> State {
        let lir: Vec<u64> = self.stack.iter().copied().filter(|page| self.is_lir(*page)).collect();
        let cold = |pages: &mut dyn Iterator<Item = u64>| {
            let chances = self.chances.as_ref()?;
            Some(State::flags(pages.map(|page| chances.cold.contains(&page))))
        };
        let state = [
            ("S", Some(State::pages(&self.stack))),
            ("LIR", Some(State::pages(&lir))),
            ("LIR_cold", cold(&mut lir.iter().copied())),
            ("Q", Some(self.queue.state())),
            ("Q_cold", cold(&mut self.queue.pages())),
        ];
        let state = state.into_iter().filter_map(|(name, part)| Some((name, part?))).collect();
        State::Object(state)
    }

    fn resident(&self) -> Vec<u64> {
        let mut pages: Vec<u64> = self.lir.iter().map(|held| held.0).collect();
        pages.extend(self.queue.pages());
        pages.sort_unstable();
        pages
    }
}
