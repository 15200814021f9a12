//! Linux without multi-generational LRU.

use super::{Access, KernelTwin, List, Page, ascending, batch, evict, push_head, take};
use crate::{Event, Op, State, parameters::Parameters};

pub(crate) struct LinuxLru {
    frames: usize,
    batch: usize,
    anonymous: Lists,
    file: Lists,
    /// Evicted pages, oldest eviction first; a page stands here once for each of its evictions.
    evictions: Vec<u64>,
}

#[derive(Default)]
struct Lists {
    active: List,
    inactive: List,
    cost: usize,
}

impl Lists {
    /// While |inactive|·ratio < |active|: active's tail to the head of inactive, accessed := 0.
    fn balance(&mut self) {
        loop {
            // A GiB has 262,144 pages of 4 KiB.
            let gib = (self.active.len() + self.inactive.len()) / 262_144;
            let ratio = if gib < 1 { 1 } else { (10 * gib).isqrt() };
            if self.inactive.len() * ratio >= self.active.len() {
                return;
            }
            let mut page = self.active.pop().expect("active is not empty");
            page.accessed = false;
            push_head(&mut self.inactive, page);
        }
    }
}

impl LinuxLru {
    pub(crate) fn new(frames: usize, parameters: &mut Parameters) -> LinuxLru {
        LinuxLru {
            frames,
            batch: batch(frames, parameters),
            anonymous: Lists::default(),
            file: Lists::default(),
            evictions: Vec::new(),
        }
    }

    fn lists(&self) -> [&List; 4] {
        let (anonymous, file) = (&self.anonymous, &self.file);
        [&anonymous.active, &anonymous.inactive, &file.active, &file.inactive]
    }

    fn free(&self) -> usize {
        self.frames - self.lists().iter().map(|list| list.len()).sum::<usize>()
    }

    fn of_kind(&mut self, is_file: bool) -> &mut Lists {
        if is_file { &mut self.file } else { &mut self.anonymous }
    }

    fn page_mut(&mut self, page: u64) -> Option<&mut Page> {
        let (anonymous, file) = (&mut self.anonymous, &mut self.file);
        let pages = anonymous.active.iter_mut().chain(&mut anonymous.inactive);
        let mut pages = pages.chain(&mut file.active).chain(&mut file.inactive);
        pages.find(|other| other.page == page)
    }

    fn touch(&mut self, page: u64) {
        for lists in [&mut self.anonymous, &mut self.file] {
            let activates = |other: &Page| other.page == page && other.referenced;
            if lists.inactive.iter().any(activates) {
                let mut entry = take(&mut lists.inactive, page).expect("the page is inactive");
                entry.referenced = false;
                return push_head(&mut lists.active, entry);
            }
        }
        self.page_mut(page).expect("the page is in memory").referenced = true;
    }

    fn raise_cost(&mut self, is_file: bool) {
        self.of_kind(is_file).cost += 1;
        if 4 * (self.anonymous.cost + self.file.cost) > self.frames {
            self.anonymous.cost /= 2;
            self.file.cost /= 2;
        }
    }

    fn reclaim(&mut self, goal: usize, event: &mut Event) {
        while self.free() < goal {
            self.anonymous.balance();
            self.file.balance();
            let mut is_file = self.file.cost <= self.anonymous.cost;
            if self.of_kind(is_file).inactive.is_empty() {
                is_file = !is_file;
            }
            let lists = self.of_kind(is_file);
            let mut page = lists.inactive.pop().expect("one of the lists has a page");
            if !page.accessed {
                evict(event, page);
                self.evictions.push(page.page);
                if page.dirty {
                    self.raise_cost(is_file);
                }
                continue;
            }
            page.accessed = false;
            if page.referenced {
                push_head(&mut lists.active, page);
            } else {
                page.referenced = true;
                push_head(&mut lists.inactive, page);
            }
        }
    }

    fn load(&mut self, page: Page) {
        let is_file = page.is_file;
        let last = self.evictions.iter().rposition(|other| *other == page.page);
        let other = if is_file { &self.anonymous } else { &self.file };
        let pages = self.anonymous.active.len() + self.file.active.len() + other.inactive.len();
        if last.is_some_and(|last| self.evictions.len() - last <= pages) {
            push_head(&mut self.of_kind(is_file).active, page);
            self.raise_cost(is_file);
        } else {
            push_head(&mut self.of_kind(is_file).inactive, page);
        }
    }
}

impl KernelTwin for LinuxLru {
    fn refer(&mut self, page: u64, op: Op, access: Access, ahead: &[u64]) -> Event {
        let mut event = Event::miss();
        if let Some(entry) = self.page_mut(page) {
            event = Event::hit();
            entry.dirty |= op == Op::Write;
            entry.accessed |= !access.by_call;
        } else {
            while self.free() < 1 + ahead.len() {
                self.reclaim(self.batch.max(1 + ahead.len()), &mut event);
            }
            self.load(Page::new(page, op, access));
        }
        if access.by_call {
            self.touch(page);
        }
        if !event.hit {
            ahead.iter().for_each(|page| self.load(Page::ahead(*page, access.is_file)));
        }
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
        let (anonymous, file) = (&mut self.anonymous, &mut self.file);
        let lists =
            [&mut anonymous.active, &mut anonymous.inactive, &mut file.active, &mut file.inactive];
        let dropped = lists.into_iter().find_map(|list| take(list, page));
        dropped.expect("the page is in memory").dirty
    }

    fn state(&self) -> State {
        let list = |list: &List| {
            let entry = |page: &Page| State::entry(page.page, &[page.accessed, page.dirty]);
            State::List(list.iter().map(entry).collect())
        };
        let all = self.lists().into_iter().flatten();
        let referenced: List = all.filter(|page| page.referenced).copied().collect();
        State::Object(vec![
            ("active_anon", list(&self.anonymous.active)),
            ("inactive_anon", list(&self.anonymous.inactive)),
            ("active_file", list(&self.file.active)),
            ("inactive_file", list(&self.file.inactive)),
            ("referenced", list(&referenced)),
            ("anon_cost", State::Integer(self.anonymous.cost as u64)),
            ("file_cost", State::Integer(self.file.cost as u64)),
        ])
    }

    fn resident(&self) -> Vec<u64> {
        ascending(self.lists())
    }
}
