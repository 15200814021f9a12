//! How pages leave: for others, with their file, or past the cache.

use super::line::Line;
use super::{Page, PageCacheTwin, Resident, is_file, number_of};

impl PageCacheTwin {
    pub(super) fn evict(&mut self) {
        let place = match self.rules.policy {
            "lru" | "fifo" => 0,
            "clock" => {
                while self.resident[0].referenced {
                    let mut passed = self.resident.remove(0);
                    passed.referenced = false;
                    self.resident.push(passed);
                }
                0
            }
            "cflru" => {
                let window = self.rules.window_pages.min(self.resident.len());
                self.resident[..window].iter().position(|resident| !resident.dirty).unwrap_or(0)
            }
            "min" => self.farthest(),
            other => panic!("no policy {other}"),
        };
        self.evict_at(place);
    }

    pub(super) fn evict_at(&mut self, place: usize) {
        let victim = self.resident[place].clone();
        if victim.dirty {
            self.count("dirty_evictions");
            self.count_io(victim.page, "file_write_ios", "anon_write_ios");
            self.swap_out(victim.page);
            self.ask_write(&[victim.page]);
        } else {
            self.count("clean_evictions");
        }
        self.resident.remove(place);
        let label = self.label(victim.page);
        let state = if victim.dirty { "dirty" } else { "clean" };
        self.actions.push(format!("evict {label} {state}"));
        self.left(&victim);
    }

    /// the page whose next reference is farthest.
    pub(super) fn farthest(&self) -> usize {
        let key = |resident: &Resident| {
            let next = self.future.iter().position(|page| *page == resident.page);
            let next = next.unwrap_or(usize::MAX);
            // Among those never referenced again: clean ones first, then the smallest page.
            (std::cmp::Reverse(next), resident.dirty, resident.page)
        };
        (0..self.resident.len()).min_by_key(|&place| key(&self.resident[place])).unwrap()
    }

    pub(super) fn left(&mut self, resident: &Resident) {
        if resident.ahead {
            self.count("readahead_unused");
        }
    }

    pub(super) fn swap_out(&mut self, page: Page) {
        if !self.is_file(page) && !self.swap.values().any(|other| *other == page) {
            let slot = (0..).find(|slot| !self.swap.contains_key(slot)).unwrap();
            self.swap.insert(slot, page);
        }
    }

    pub(super) fn drop_pages(&mut self, leaves: impl Fn(Page) -> bool) {
        let mut pages: Vec<Page> = self.resident.iter().map(|resident| resident.page).collect();
        pages.retain(|page| leaves(*page));
        pages.sort_unstable();
        pages.into_iter().for_each(|page| self.drop_page(page));
    }

    pub(super) fn drop_page(&mut self, page: Page) {
        let place = self.find(page).unwrap();
        let gone = self.resident.remove(place);
        if let Some(kernel) = &mut self.kernel {
            assert_eq!(kernel.drop_page(number_of(page)), gone.dirty, "the kernel's dirty flag");
        }
        self.count(if gone.dirty { "dropped_dirty" } else { "dropped_clean" });
        let label = self.label(page);
        self.actions.push(format!("drop {label} {}", if gone.dirty { "dirty" } else { "clean" }));
        self.left(&gone);
    }

    pub(super) fn truncate(&mut self, object: usize, length: u64) {
        let before = self.lengths.insert(object, length);
        if before.is_some_and(|before| before <= length) {
            return;
        }
        self.drop_pages(|page| page.0 == object && page.1 * 4096 >= length);
        if !length.is_multiple_of(4096) && self.find((object, length / 4096)).is_some() {
            self.dirty((object, length / 4096));
            if let Some(kernel) = &mut self.kernel {
                kernel.make_dirty(number_of((object, length / 4096)));
            }
        }
    }

    /// pages from `first` up to `end` are given back.
    pub(super) fn release(&mut self, object: usize, first: u64, end: u64) {
        let is_inside = |page: &Page| page.0 == object && (first..end).contains(&page.1);
        if is_file(&self.objects[object]) {
            let pages = self.resident.iter().map(|resident| resident.page).filter(is_inside);
            if let Some(kernel) = &mut self.kernel {
                pages.for_each(|page| kernel.unmap(number_of(page)));
            }
            return;
        }
        self.drop_pages(|page| is_inside(&page));
        self.referenced_before.retain(|page| !is_inside(page));
        self.written_before.retain(|page| !is_inside(page));
        self.swap.retain(|_, page| !is_inside(page));
    }

    pub(super) fn direct(&mut self, line: &Line, object: usize) {
        for number in line.pages() {
            let page = (object, number);
            let is_write = line.word == "dw";
            self.count(if is_write { "direct_write_ios" } else { "direct_read_ios" });
            let Some(place) = self.find(page) else { continue };
            if self.resident[place].dirty {
                self.write(page, "early_write_backs");
            }
            if is_write {
                self.drop_page(page);
            }
        }
        if line.word == "dw" && line.numbers[1] > 0 {
            self.write_lengths(line, object);
        }
    }
}
