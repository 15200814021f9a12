//! Linux 2.4, and with CFLRU.

use num_rational::Ratio;

use super::{Access, KernelStep, KernelTwin, List, Page, ascending, batch, evict, push_head, take};
use crate::visibility::{Periods, Visibility};
use crate::{Event, Op, State, parameters::Parameters};

pub(crate) struct Linux24 {
    frames: usize,
    batch: usize,
    active: List,
    inactive: List,
    last_looked_at: Option<u64>,
    clean_first: Option<CleanFirst>,
}

///
struct CleanFirst {
    share: Ratio<i128>,
    controller: Option<Controller>,
}

struct Controller {
    /// The place of the share in 1/6, 1/5, … 1/1.
    step: i128,
    direction: i128,
    periods: Periods,
    threshold: Ratio<i128>,
    cost_read: Ratio<i128>,
    cost_write: Ratio<i128>,
    cost: Ratio<i128>,
    last_cost: Option<Ratio<i128>>,
}

impl Linux24 {
    pub(crate) fn new(frames: usize, parameters: &mut Parameters) -> Linux24 {
        Linux24 {
            frames,
            batch: batch(frames, parameters),
            active: Vec::new(),
            inactive: Vec::new(),
            last_looked_at: None,
            clean_first: None,
        }
    }

    pub(crate) fn with_clean_first(
        frames: usize,
        visibility: Visibility,
        parameters: &mut Parameters,
    ) -> Linux24 {
        let dynamic = parameters.flag("dynamic").unwrap_or(false);
        let controller = dynamic.then(|| Controller::new(frames, visibility, parameters));
        let share = parameters.rational("share").unwrap_or(Ratio::new(1, 4));
        let share = if dynamic { Ratio::new(1, 6) } else { share };
        Linux24 {
            clean_first: Some(CleanFirst { share, controller }),
            ..Linux24::new(frames, parameters)
        }
    }

    fn len(&self) -> usize {
        self.active.len() + self.inactive.len()
    }

    fn page_mut(&mut self, page: u64) -> Option<&mut Page> {
        self.active.iter_mut().chain(&mut self.inactive).find(|other| other.page == page)
    }

    /// p inactive and referenced: to the head of active, referenced := 0; else referenced := 1.
    fn touch(&mut self, page: u64) {
        let is_inactive = self.inactive.iter().any(|other| other.page == page && other.referenced);
        if is_inactive {
            let mut page = take(&mut self.inactive, page).expect("the page is inactive");
            page.referenced = false;
            push_head(&mut self.active, page);
        } else {
            self.page_mut(page).expect("the page is listed").referenced = true;
        }
    }

    fn reclaim(&mut self, wanted: usize, event: &mut Event) {
        let goal = self.batch.max(wanted);
        let before = event.evicted.len();
        if self.clean_first.is_some() {
            self.reclaim_clean_first(goal, event);
        }
        for priority in (1..=6).rev() {
            if self.frames - self.len() < goal {
                self.refill();
                self.scan(priority, goal, event);
            }
        }
        if event.evicted.len() == before {
            let list = if self.inactive.is_empty() { &mut self.active } else { &mut self.inactive };
            let page = list.pop().expect("memory is not empty");
            evict(event, page);
        }
    }

    fn refill(&mut self) {
        let pages = self.batch * self.active.len() / (2 * (self.inactive.len() + 1));
        let mut moved = 0;
        while moved < pages {
            let Some(mut page) = self.active.pop() else { return };
            if page.referenced {
                page.referenced = false;
                push_head(&mut self.active, page);
            } else {
                page.referenced = true;
                push_head(&mut self.inactive, page);
                moved += 1;
            }
        }
    }

    fn scan(&mut self, priority: usize, goal: usize, event: &mut Event) {
        let most = (self.inactive.len() / priority).max(1);
        let mut mapped_seen = 0;
        for _ in 0..most {
            if self.frames - self.len() >= goal {
                return;
            }
            let Some(mut page) = self.inactive.pop() else { return };
            if page.mapped {
                push_head(&mut self.inactive, page);
                mapped_seen += 1;
                if mapped_seen > (self.batch * (1 << (10 - priority))).min(most / 10) {
                    let mapped = self.mapped().len();
                    return self.swap_out((mapped / priority).max(1), false);
                }
            } else if page.dirty {
                event.written_back.push(page.page);
                event.steps.push(KernelStep::Write(page.page));
                page.dirty = false;
                push_head(&mut self.inactive, page);
            } else {
                evict(event, page);
            }
        }
    }

    /// The mapped pages in ascending order.
    fn mapped(&self) -> Vec<u64> {
        let pages = self.active.iter().chain(&self.inactive).filter(|page| page.mapped);
        let mut pages: Vec<u64> = pages.map(|page| page.page).collect();
        pages.sort_unstable();
        pages
    }

    fn swap_out(&mut self, pages: usize, passes_over_dirty: bool) {
        let mut unmapped = 0;
        for _ in 0..pages {
            let mapped = self.mapped();
            let behind = mapped.iter().find(|page| Some(**page) > self.last_looked_at);
            let Some(&page) = behind.or(mapped.first()) else { return };
            self.last_looked_at = Some(page);
            let is_active = self.active.iter().any(|other| other.page == page);
            let entry = self.page_mut(page).expect("a mapped page is listed");
            if passes_over_dirty && entry.dirty {
                continue;
            }
            if entry.accessed {
                entry.accessed = false;
                self.touch(page);
            } else if !is_active {
                entry.mapped = false;
                unmapped += 1;
                if unmapped == self.batch {
                    return;
                }
            }
        }
    }

    fn reclaim_clean_first(&mut self, goal: usize, event: &mut Event) {
        self.clean_phase(goal, event);
        if self.frames - self.len() >= goal {
            return;
        }
        let mapped = self.mapped().len();
        self.swap_out(self.share_of(mapped), true);
        self.clean_phase(goal, event);
    }

    fn share_of(&self, pages: usize) -> usize {
        let share = self.clean_first.as_ref().expect("there is a share").share;
        ((share * pages as i128).to_integer() as usize).max(1)
    }

    fn clean_phase(&mut self, goal: usize, event: &mut Event) {
        let pages = self.share_of(self.inactive.len());
        let nearest: Vec<Page> = self.inactive.iter().rev().take(pages).copied().collect();
        for page in nearest {
            if self.frames - self.len() < goal && !page.dirty && !page.mapped {
                take(&mut self.inactive, page.page);
                evict(event, page);
            }
        }
    }

    fn load(&mut self, page: Page, is_ahead: bool) {
        push_head(&mut self.inactive, page);
        if !is_ahead {
            self.touch(page.page);
        }
    }

    fn pay(&mut self, cost: impl Fn(&Controller) -> Ratio<i128>) {
        if let Some(controller) = self.clean_first.as_mut().and_then(|it| it.controller.as_mut()) {
            controller.cost += cost(controller);
        }
    }

    fn end_reference(&mut self, access: Access, event: &Event, ahead: usize) {
        let reads = if event.hit { 0 } else { usize::from(access.fetched) + ahead };
        let dirty = event.evicted.iter().filter(|(_, dirty)| *dirty).count();
        let writes = dirty + event.written_back.len();
        self.pay(|controller| controller.cost_read * reads as i128);
        self.pay(|controller| controller.cost_write * writes as i128);
        let Some(clean_first) = &mut self.clean_first else { return };
        if let Some(controller) = &mut clean_first.controller {
            controller.end_reference(!event.hit);
            clean_first.share = Ratio::new(1, 6 - controller.step);
        }
    }
}

impl Controller {
    fn new(frames: usize, visibility: Visibility, parameters: &mut Parameters) -> Controller {
        let period = parameters.integer("period").unwrap_or(10 * frames);
        let mut rational = |name, default| parameters.rational(name).unwrap_or(default);
        Controller {
            step: 0,
            direction: 1,
            threshold: rational("threshold", Ratio::new(1, 20)),
            cost_read: rational("cost_read", Ratio::from(1)),
            cost_write: rational("cost_write", Ratio::from(8)),
            periods: Periods::new(period, visibility),
            cost: Ratio::from(0),
            last_cost: None,
        }
    }

    fn end_reference(&mut self, is_miss: bool) {
        if !self.periods.end_reference(is_miss) {
            return;
        }
        let cost = std::mem::replace(&mut self.cost, Ratio::from(0));
        if let Some(last) = self.last_cost.replace(cost) {
            let change = if cost > last { cost - last } else { last - cost };
            if change <= self.threshold * last {
                return;
            }
            if cost > last {
                self.direction = -self.direction;
            }
        }
        self.step = (self.step + self.direction).clamp(0, 5);
    }
}

impl KernelTwin for Linux24 {
    fn refer(&mut self, page: u64, op: Op, access: Access, ahead: &[u64]) -> Event {
        let mut event = Event::miss();
        if let Some(entry) = self.page_mut(page) {
            event = Event::hit();
            entry.dirty |= op == Op::Write;
            let is_touched = access.by_call || !entry.mapped;
            if !access.by_call {
                entry.mapped = true;
                entry.accessed = true;
            }
            if is_touched {
                self.touch(page);
            }
        } else {
            while self.frames - self.len() < 1 + ahead.len() {
                self.reclaim(1 + ahead.len(), &mut event);
            }
            self.load(Page::new(page, op, access), false);
            for page in ahead {
                self.load(Page::ahead(*page, access.is_file), true);
            }
        }
        self.end_reference(access, &event, ahead.len());
        event
    }

    fn unmap(&mut self, page: u64) {
        let entry = self.page_mut(page).expect("the page is in memory");
        (entry.mapped, entry.accessed) = (false, false);
    }

    fn written_back(&mut self, page: u64) {
        self.page_mut(page).expect("the page is in memory").dirty = false;
        self.pay(|controller| controller.cost_write);
    }

    fn make_dirty(&mut self, page: u64) {
        self.page_mut(page).expect("the page is in memory").dirty = true;
    }

    fn drop_page(&mut self, page: u64) -> bool {
        let dropped = take(&mut self.active, page).or_else(|| take(&mut self.inactive, page));
        dropped.expect("the page is in memory").dirty
    }

    fn state(&self) -> State {
        let list = |list: &List| {
            let entry = |page: &Page| State::entry(page.page, &[page.accessed, page.dirty]);
            State::List(list.iter().map(entry).collect())
        };
        let with = |flag: fn(&Page) -> bool| {
            let pages: List = self
                .active
                .iter()
                .chain(&self.inactive)
                .filter(|page| flag(page))
                .copied()
                .collect();
            list(&pages)
        };
        let mut parts = vec![
            ("active", list(&self.active)),
            ("inactive", list(&self.inactive)),
            ("referenced", with(|page| page.referenced)),
            ("mapped", with(|page| page.mapped)),
            ("last_looked_at", State::pages(&self.last_looked_at)),
        ];
        if let Some(CleanFirst { share, .. }) = &self.clean_first {
            parts.push(("share", State::Real(*share.numer() as f64 / *share.denom() as f64)));
        }
        State::Object(parts)
    }

    fn resident(&self) -> Vec<u64> {
        ascending([&self.active, &self.inactive])
    }
}
