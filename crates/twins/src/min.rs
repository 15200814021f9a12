//! Belady's MIN.

use crate::{Event, Op, State, Twin};

pub(crate) struct Min {
    frames: usize,
    trace: Vec<(u64, Op)>,
    /// Index of the next reference in the trace.
    next: usize,
    /// (page, dirty), ascending by page.
    memory: Vec<(u64, bool)>,
}

impl Min {
    pub(crate) fn new(frames: usize, trace: &[(u64, Op)]) -> Min {
        Min { frames, trace: trace.to_vec(), next: 0, memory: Vec::new() }
    }

    /// Index of the page's next reference after the current one; past every index if there is none.
    fn next_reference(&self, page: u64) -> usize {
        let mut future = self.trace[self.next..].iter();
        future
            .position(|(other, _)| *other == page)
            .map_or(usize::MAX, |distance| self.next + distance)
    }

    /// The page whose next reference is farthest; ties: clean before dirty, then the smallest page number.
    fn victim(&self) -> (u64, bool) {
        let mut pages = self.memory.clone();
        pages.sort_by_key(|(page, dirty)| {
            let farthest_first = usize::MAX - self.next_reference(*page);
            (farthest_first, *dirty, *page)
        });
        pages[0]
    }

    fn evict(&mut self) -> (u64, bool) {
        let victim = self.victim();
        self.memory.retain(|entry| *entry != victim);
        victim
    }
}

impl Twin for Min {
    fn reference_with(&mut self, page: u64, op: Op, ahead: &[u64]) -> Event {
        assert_eq!(
            self.trace.get(self.next),
            Some(&(page, op)),
            "reference {} is not the one of the future that MIN was built with",
            self.next
        );
        self.next += 1;
        if let Some((_, dirty)) = self.memory.iter_mut().find(|(other, _)| *other == page) {
            *dirty |= op == Op::Write;
            return Event::hit();
        }
        let mut event = Event::miss();
        while self.memory.len() + ahead.len() >= self.frames {
            event.evicted.push(self.evict());
        }
        self.memory.push((page, op == Op::Write));
        self.memory.extend(ahead.iter().map(|page| (*page, false)));
        self.memory.sort_unstable();
        event
    }

    fn drop_page(&mut self, page: u64) -> bool {
        let position = self.memory.iter().position(|(other, _)| *other == page);
        self.memory.remove(position.expect("the page is in memory")).1
    }

    fn pass_by(&mut self, _: u64, _: Op) {
        self.next += 1;
    }

    fn next_victim(&self) -> u64 {
        self.victim().0
    }

    fn state(&self) -> State {
        let pages = State::pages(self.memory.iter().map(|(page, _)| page));
        State::Object(vec![("resident", pages)])
    }

    fn resident(&self) -> Vec<u64> {
        self.memory.iter().map(|(page, _)| *page).collect()
    }
}
