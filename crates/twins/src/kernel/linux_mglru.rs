//! Linux with multi-generational LRU.

use std::collections::VecDeque;

use super::{Access, KernelTwin, List, Page, ascending, batch, evict, push_head, take};
use crate::{Event, Op, State, parameters::Parameters};

pub(crate) struct LinuxMglru {
    frames: usize,
    batch: usize,
    min_seq: u64,
    /// From min_seq to max_seq.
    generations: VecDeque<List>,
}

impl LinuxMglru {
    pub(crate) fn new(frames: usize, parameters: &mut Parameters) -> LinuxMglru {
        LinuxMglru {
            frames,
            batch: batch(frames, parameters),
            min_seq: 0,
            generations: VecDeque::from(vec![List::new(); 4]),
        }
    }

    fn free(&self) -> usize {
        self.frames - self.generations.iter().map(List::len).sum::<usize>()
    }

    fn enter(&mut self, generation: usize, page: Page) {
        push_head(&mut self.generations[generation], Page { call_hits: 0, ..page });
    }

    /// The place of max_seq.
    fn youngest(&self) -> usize {
        self.generations.len() - 1
    }

    fn reclaim(&mut self, goal: usize, event: &mut Event) {
        while self.free() < goal {
            if self.youngest() >= 2 && self.generations[0].is_empty() {
                self.generations.pop_front();
                self.min_seq += 1;
            } else if self.youngest() < 2 {
                self.age();
            } else {
                let mut page = self.generations[0].pop().expect("the generation has a page");
                if page.accessed {
                    page.accessed = false;
                    self.enter(self.youngest(), page);
                } else {
                    evict(event, page);
                }
            }
        }
    }

    fn age(&mut self) {
        let youngest = self.youngest();
        for generation in 0..youngest {
            let from_tail: Vec<Page> = self.generations[generation].iter().rev().copied().collect();
            for page in from_tail.into_iter().filter(|page| page.accessed) {
                take(&mut self.generations[generation], page.page);
                self.enter(youngest, Page { accessed: false, ..page });
            }
        }
        self.generations[youngest].iter_mut().for_each(|page| page.accessed = false);
        self.generations.push_back(List::new());
    }

    fn page_mut(&mut self, page: u64) -> Option<&mut Page> {
        self.generations.iter_mut().flatten().find(|other| other.page == page)
    }

    fn hit_by_call(&mut self, page: u64) {
        let entry = self.page_mut(page).expect("the page is in memory");
        entry.call_hits += 1;
        if entry.call_hits >= 2
            && let Some(entry) = take(&mut self.generations[0], page)
        {
            self.enter(1, entry);
        }
    }
}

impl KernelTwin for LinuxMglru {
    fn refer(&mut self, page: u64, op: Op, access: Access, ahead: &[u64]) -> Event {
        if let Some(entry) = self.page_mut(page) {
            entry.dirty |= op == Op::Write;
            entry.accessed |= !access.by_call;
            if access.by_call {
                self.hit_by_call(page);
            }
            return Event::hit();
        }
        let mut event = Event::miss();
        while self.free() < 1 + ahead.len() {
            self.reclaim(self.batch.max(1 + ahead.len()), &mut event);
        }
        let generation = if access.by_call { 0 } else { self.youngest() };
        self.enter(generation, Page::new(page, op, access));
        ahead.iter().for_each(|page| self.enter(0, Page::ahead(*page, access.is_file)));
        event
    }

    fn unmap(&mut self, page: u64) {
        self.page_mut(page).expect("the page is in memory").accessed = false;
    }

    fn written_back(&mut self, page: u64) {
        self.page_mut(page).expect("the page is in memory").dirty = false;
    }

    fn make_dirty(&mut self, page: u64) {
        self.page_mut(page).expect("the page is in memory").dirty = true;
    }

    fn drop_page(&mut self, page: u64) -> bool {
        let mut generations = self.generations.iter_mut();
        let dropped = generations.find_map(|list| take(list, page));
        dropped.expect("the page is in memory").dirty
    }

    fn state(&self) -> State {
        let entries = |pages: &mut dyn Iterator<Item = &Page>| {
            let entry = |page: &Page| State::entry(page.page, &[page.accessed, page.dirty]);
            State::List(pages.map(entry).collect())
        };
        let names = ["generation_0", "generation_1", "generation_2", "generation_3"];
        let mut parts: Vec<(&'static str, State)> = names
            .into_iter()
            .zip(&self.generations)
            .map(|(name, list)| (name, entries(&mut list.iter())))
            .collect();
        let hit = |hits: fn(u64) -> bool| {
            let pages = self.generations.iter().flatten();
            entries(&mut pages.filter(|page| hits(page.call_hits)))
        };
        parts.extend([
            ("one_call", hit(|hits| hits == 1)),
            ("more_calls", hit(|hits| hits > 1)),
            ("min_seq", State::Integer(self.min_seq)),
            ("max_seq", State::Integer(self.min_seq + self.youngest() as u64)),
        ]);
        State::Object(parts)
    }

    fn resident(&self) -> Vec<u64> {
        ascending(&self.generations)
    }
}
