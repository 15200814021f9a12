//! CLOCK-Pro: one clock of hot, resident cold and non-resident cold pages, and three hands.

use std::collections::VecDeque;

use crate::clock_page::ClockPage;
use crate::{Event, Op, State, Twin, parameters::Parameters, visibility::Visibility};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Hot,
    ResidentCold,
    NonResidentCold,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Of a page that is not in memory only the number means something.
    page: ClockPage,
    status: Status,
    in_test: bool,
}

pub(crate) struct ClockPro {
    /// m.
    frames: usize,
    /// m_c.
    cold_target: usize,
    visibility: Visibility,
    /// From `HAND_hot` to the list head.
    clock: VecDeque<Entry>,
}

impl ClockPro {
    pub(crate) fn new(frames: usize, parameters: &mut Parameters) -> ClockPro {
        ClockPro {
            frames,
            cold_target: parameters.share("cold_share", (1, 100), frames).max(1),
            visibility: parameters.visibility(),
            clock: VecDeque::new(),
        }
    }

    fn count(&self, status: Status) -> usize {
        self.clock.iter().filter(|entry| entry.status == status).count()
    }

    fn position(&self, page: u64) -> Option<usize> {
        self.clock.iter().position(|entry| entry.page.page == page)
    }

    /// `entry` becomes hot and is put at the list head.
    fn make_hot(&mut self, entry: Entry) {
        self.clock.push_back(Entry { status: Status::Hot, in_test: false, ..entry });
        self.cold_target = (self.cold_target + 1).min(self.frames);
        while self.count(Status::Hot) > self.frames - self.cold_target {
            self.make_one_cold();
        }
    }

    /// `HAND_hot` makes one page cold.
    fn make_one_cold(&mut self) {
        loop {
            let entry = self.clock[0];
            if entry.status != Status::Hot {
                self.move_hand_hot_past_cold_page();
                continue;
            }
            self.clock.pop_front();
            if entry.page.reference {
                let mut entry = entry;
                entry.page.clear_reference();
                self.clock.push_back(entry);
                continue;
            }
            self.clock.push_back(Entry { status: Status::ResidentCold, in_test: false, ..entry });
            break;
        }
        while self.count(Status::Hot) > 0 && self.clock[0].status != Status::Hot {
            self.move_hand_hot_past_cold_page();
        }
    }

    fn move_hand_hot_past_cold_page(&mut self) {
        let page = self.clock[0].page.page;
        if self.clock[0].in_test {
            self.end_test_period(0);
        }
        // A non-resident page has left the clock.
        if self.clock.front().is_some_and(|entry| entry.page.page == page) {
            self.clock.rotate_left(1);
        }
    }

    /// A hand ends the test period of the page at `position`.
    fn end_test_period(&mut self, position: usize) {
        let entry = &mut self.clock[position];
        entry.in_test = false;
        let is_resident = entry.status != Status::NonResidentCold;
        if !is_resident || !entry.page.reference {
            self.cold_target = (self.cold_target - 1).max(1);
        }
        if !is_resident {
            self.clock.remove(position);
        }
    }

    fn run_hand_cold(&mut self) -> (u64, bool) {
        loop {
            if self.count(Status::ResidentCold) == 0 {
                self.make_one_cold();
            }
            // The furthest one from the list head.
            let hand_cold =
                self.clock.iter().position(|entry| entry.status == Status::ResidentCold);
            let position = hand_cold.expect("there is a resident cold page");
            let entry = self.clock[position];
            if !entry.page.reference {
                return self.evict(position);
            }
            let mut entry = self.clock.remove(position).expect("the position is in the clock");
            entry.page.clear_reference();
            if entry.in_test {
                self.make_hot(entry);
            } else {
                self.clock.push_back(entry);
            }
        }
    }

    fn evict(&mut self, position: usize) -> (u64, bool) {
        let ClockPage { page, dirty, .. } = self.clock[position].page;
        if !self.clock[position].in_test {
            self.clock.remove(position);
            return (page, dirty);
        }
        self.clock[position].status = Status::NonResidentCold;
        while self.count(Status::NonResidentCold) > self.frames {
            let hand_test = self.clock.iter().position(|entry| entry.in_test);
            self.end_test_period(hand_test.expect("non-resident pages are in their test period"));
        }
        (page, dirty)
    }

    /// An access is retried after the fault has been served, so the hands see bit 0.
    fn load(&mut self, loaded: ClockPage) {
        let page = loaded.page;
        let entry = Entry { page: loaded, status: Status::ResidentCold, in_test: true };
        if let Some(position) = self.position(page) {
            self.clock.remove(position);
            self.make_hot(entry);
        } else {
            self.clock.push_back(entry);
        }
    }

    /// Says whether the page is in memory.
    fn access(&mut self, page: u64, op: Op) -> bool {
        let visibility = self.visibility;
        let mut resident =
            self.clock.iter_mut().filter(|entry| entry.status != Status::NonResidentCold);
        let entry = resident.find(|entry| entry.page.page == page);
        entry.map(|entry| entry.page.access(op, visibility)).is_some()
    }

    fn entries(&self, includes: impl Fn(&Entry) -> bool) -> State {
        let entries = self.clock.iter().filter(|entry| includes(entry));
        let with_bit = |entry: &Entry| State::entry(entry.page.page, &[entry.page.reference]);
        State::List(entries.map(with_bit).collect())
    }
}

impl Twin for ClockPro {
    fn reference_with(&mut self, page: u64, op: Op, ahead: &[u64]) -> Event {
        if self.access(page, op) {
            return Event::hit();
        }
        let mut event = Event::miss();
        while self.resident().len() + ahead.len() >= self.frames {
            event.evicted.push(self.run_hand_cold());
        }
        self.load(ClockPage::load(page, op, false, Visibility::Exact));
        if self.visibility.retries_fault() {
            self.access(page, op);
        }
        ahead.iter().for_each(|page| self.load(ClockPage::ahead(*page)));
        event
    }

    /// The page leaves the clock, whatever period it was in.
    fn drop_page(&mut self, page: u64) -> bool {
        let position = self.position(page).expect("the page is in memory");
        self.clock.remove(position).is_some_and(|entry| entry.page.dirty)
    }

    fn state(&self) -> State {
        let pages = |entry: &Entry| entry.page.page;
        let clock: Vec<u64> = self.clock.iter().map(pages).collect();
        let in_test = self.clock.iter().filter(|entry| entry.in_test).map(pages);
        State::Object(vec![
            ("clock", State::pages(&clock)),
            ("hot", self.entries(|entry| entry.status == Status::Hot)),
            ("resident_cold", self.entries(|entry| entry.status == Status::ResidentCold)),
            ("in_test", State::pages(&in_test.collect::<Vec<_>>())),
            ("m_c", State::Integer(self.cold_target as u64)),
        ])
    }

    fn resident(&self) -> Vec<u64> {
        let resident = self.clock.iter().filter(|entry| entry.status != Status::NonResidentCold);
        let mut pages: Vec<u64> = resident.map(|entry| entry.page.page).collect();
        pages.sort_unstable();
        pages
    }
}
