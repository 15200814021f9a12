//! The reads of a miss, also ahead, and the kernel's view of them.

use super::line::Line;
use super::{Page, PageCacheTwin, Resident, number_of, page_of};
use crate::Op;
use crate::kernel::{Access, KernelStep};

impl PageCacheTwin {
    pub(super) fn miss(&mut self, line: &Line, page: Page, length: Option<u64>) {
        let is_write = line.word.ends_with('w');
        self.count(if is_write { "write_misses" } else { "read_misses" });
        let ahead = self.ahead(line, page, length);
        let fill = self.fill(line, page, length);
        if self.kernel.is_some() {
            self.tell_kernel(line, page, fill == "read", &ahead);
        } else {
            while self.resident.len() + 1 + ahead.len() > self.rules.frames {
                self.evict();
            }
        }
        self.act(fill, page);
        if fill == "read" {
            let all: Vec<Page> = ahead.iter().copied().chain([page]).collect();
            let is_file = self.is_file(page);
            self.ask(if is_file { "file_read" } else { "anon_read" }, &all);
        }
        match fill {
            "read" => self.count_io(page, "file_read_ios", "anon_read_ios"),
            "zero" => self.count("zero_fills"),
            _ => self.count("blind_fills"),
        }
        self.load(page, false);
        for page in ahead {
            self.act("ahead", page);
            self.count("readahead_ios");
            self.count_io(page, "file_read_ios", "anon_read_ios");
            self.load(page, true);
        }
    }

    /// A-82: how the page gets its content.
    pub(super) fn fill(&self, line: &Line, page: Page, length: Option<u64>) -> &'static str {
        let (is_write, is_call) = (line.word.ends_with('w'), line.word.starts_with('c'));
        let start = page.1 * 4096;
        let (offset, size) = (line.numbers[0], line.numbers[1]);
        if self.is_file(page) {
            let end = (start + 4096).min(length.unwrap_or(u64::MAX));
            let is_beyond = length.is_some_and(|length| start >= length);
            let covers = offset <= start && offset + size >= end;
            if is_call && is_write && (is_beyond || covers) { "blind" } else { "read" }
        } else {
            let is_known = if self.rules.zero_clean_reads {
                self.referenced_before.contains(&page)
            } else {
                self.written_before.contains(&page)
            };
            if is_known || self.rules.first_touch_reads { "read" } else { "zero" }
        }
    }

    /// A reference to a kernel, which carries out its reclaim.
    pub(super) fn tell_kernel(&mut self, line: &Line, page: Page, fetched: bool, ahead: &[Page]) {
        let is_file = self.is_file(page);
        let Some(kernel) = &mut self.kernel else { return };
        let access = Access { by_call: line.word.starts_with('c'), is_file, fetched };
        let op = if line.word.ends_with('w') { Op::Write } else { Op::Read };
        let ahead: Vec<u64> = ahead.iter().copied().map(number_of).collect();
        for step in kernel.refer(number_of(page), op, access, &ahead).steps {
            match step {
                KernelStep::Write(number) => self.write_kept(page_of(number), "early_write_backs"),
                KernelStep::Evict(number, is_dirty) => {
                    let place = self.find(page_of(number)).unwrap();
                    assert_eq!(self.resident[place].dirty, is_dirty, "the kernel's dirty flag");
                    self.evict_at(place);
                }
            }
        }
    }

    pub(super) fn count_io(&mut self, page: Page, of_file: &'static str, of_memory: &'static str) {
        self.count(if self.is_file(page) { of_file } else { of_memory });
    }

    pub(super) fn load(&mut self, page: Page, ahead: bool) {
        let resident = Resident { page, dirty: false, became_dirty: 0, referenced: false, ahead };
        self.resident.push(resident);
    }

    /// A-88: what is read behind the page.
    pub(super) fn ahead(&mut self, line: &Line, page: Page, length: Option<u64>) -> Vec<Page> {
        let mut list = Vec::new();
        if line.word == "cr"
            && let Some((first, most)) = self.rules.file_window
        {
            let process = line.numbers.get(2).copied().unwrap_or(0);
            let known = self.windows.get(&(process, page.0)).copied();
            let (expected, window, last) = known.unwrap_or((None, 0, None));
            let window = if expected == Some(page.1) && window > 0 {
                (2 * window).min(most)
            } else if page.1 == 0 || last.is_some_and(|last| page.1 == last + 1) {
                first
            } else {
                0
            };
            let wanted = page.1 + 1..=page.1 + window;
            let exists = |number: &u64| length.is_none_or(|length| number * 4096 < length);
            list.extend(wanted.filter(exists).map(|number| (page.0, number)));
            let expected = Some(page.1 + window + 1);
            self.windows.insert((process, page.0), (expected, window, Some(page.1)));
        }
        let slot = self.swap.iter().find(|(_, other)| **other == page).map(|(slot, _)| *slot);
        if let (Some(group), Some(slot), false) = (self.rules.swap_group, slot, self.is_file(page))
        {
            let slots = slot / group * group..(slot / group + 1) * group;
            list.extend(
                slots.filter_map(|slot| self.swap.get(&slot)).filter(|other| **other != page),
            );
        }
        list.retain(|other| self.find(*other).is_none());
        list.truncate(self.rules.frames - 1);
        list
    }
}
