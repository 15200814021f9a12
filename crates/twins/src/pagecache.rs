//! A page cache, the second time: rules A-80 … A-88, one line of the text format `events` after the other.
//!
//! It reads the text itself, keeps its pages in one vector in the order of the policy, and looks everything up by
//! searching. Events are in the words of the golden vectors: `read f1:0`, `evict a1:3 dirty`.

mod leaving;
mod line;
mod misses;

use std::collections::{BTreeMap, BTreeSet};

use crate::kernel::{KernelTwin, build_kernel};
use line::Line;

/// The options of the cache; the default is an LRU cache of one frame without flusher and read-ahead.
#[derive(Clone, Debug)]
pub struct PageCacheRules {
    /// Page frames.
    pub frames: usize,
    /// `fifo`, `lru`, `clock`, `min`, `cflru` or the name of a kernel.
    pub policy: &'static str,
    /// The parameters of a kernel.
    pub kernel_parameters: Vec<(&'static str, &'static str)>,
    /// The window of `cflru`.
    pub window_pages: usize,
    /// True if every anonymous miss reads.
    pub first_touch_reads: bool,
    /// True if a page that was never written is read again.
    pub zero_clean_reads: bool,
    /// The flusher's period and age, in nanoseconds, or in references if `flush_references`.
    pub flush_every: Option<u64>,
    /// See above.
    pub flush_age: u64,
    /// See above.
    pub flush_references: bool,
    /// Numerator and denominator of the share of the frames that may be dirty pages of files.
    pub dirty_limit: Option<(usize, usize)>,
    /// First and largest window of a file.
    pub file_window: Option<(u64, u64)>,
    /// Slots of a group of the swap.
    pub swap_group: Option<usize>,
    /// True if dirty pages are written when the trace ends.
    pub flush_at_end: bool,
}

impl Default for PageCacheRules {
    fn default() -> Self {
        PageCacheRules {
            frames: 1,
            policy: "lru",
            kernel_parameters: Vec::new(),
            window_pages: 0,
            first_touch_reads: false,
            zero_clean_reads: false,
            flush_every: None,
            flush_age: 0,
            flush_references: false,
            dirty_limit: None,
            file_window: None,
            swap_group: None,
            flush_at_end: false,
        }
    }
}

/// An object's place in the order of first events, and the number of a page.
type Page = (usize, u64);

/// A request (A-95): `anon_read`, `anon_write`, `file_read` or `file_write`, and its places, ascending.
pub type PageCacheRequest = (&'static str, Vec<u64>);

/// Expected page, window, last page read.
type Window = (Option<u64>, u64, Option<u64>);

#[derive(Clone, Debug)]
struct Resident {
    page: Page,
    dirty: bool,
    became_dirty: u64,
    referenced: bool,
    ahead: bool,
}

/// Returns whether the object is a file: anonymous ones begin with an `a`.
fn is_file(name: &str) -> bool {
    name.starts_with('f')
}

/// Ascends as (object, page), as kernels want it.
fn number_of(page: Page) -> u64 {
    ((page.0 as u64) << 40) | page.1
}

fn page_of(number: u64) -> Page {
    ((number >> 40) as usize, number & ((1 << 40) - 1))
}

/// The cache, and everything that is known of the trace's objects.
pub struct PageCacheTwin {
    rules: PageCacheRules,
    objects: Vec<String>,
    resident: Vec<Resident>,
    /// None for the policies that are written down here.
    kernel: Option<Box<dyn KernelTwin>>,
    lengths: BTreeMap<usize, u64>,
    referenced_before: BTreeSet<Page>,
    written_before: BTreeSet<Page>,
    /// Slot → page.
    swap: BTreeMap<usize, Page>,
    /// (process, file) → (expected page, window, last page).
    windows: BTreeMap<(u64, usize), Window>,
    /// All references to come, for `min`.
    future: Vec<Page>,
    served: u64,
    first_ns: Option<u64>,
    time_ns: u64,
    has_times: bool,
    last_flush: u64,
    actions: Vec<String>,
    /// The requests of the event that is served.
    asked: Vec<PageCacheRequest>,
    /// The requests of each event.
    pub requests: Vec<Vec<PageCacheRequest>>,
    /// Counts by the names of the golden vectors.
    pub counts: BTreeMap<&'static str, u64>,
}

impl PageCacheTwin {
    /// Replays a text and gives what happened in each event.
    pub fn run(text: &str, rules: PageCacheRules) -> (Vec<Vec<String>>, PageCacheTwin) {
        let lines: Vec<Line> = text.lines().map(Line::of).collect();
        let mut objects: Vec<String> = Vec::new();
        for line in &lines {
            if line.object != "*" && !objects.contains(&line.object) {
                objects.push(line.object.clone());
            }
        }
        // A line of size 0 is not an event, but names its object.
        let lines: Vec<Line> = lines.into_iter().filter(|line| !line.is_of_size_zero()).collect();
        let place = |name: &str| objects.iter().position(|object| object == name);
        let references = lines.iter().filter(|line| line.refers());
        let future = references
            .flat_map(|line| {
                line.pages().into_iter().map(|page| (place(&line.object).unwrap(), page))
            })
            .collect();
        let is_kernel = rules.policy.starts_with("linux");
        let kernel =
            is_kernel.then(|| build_kernel(rules.policy, rules.frames, &rules.kernel_parameters));
        let mut twin = PageCacheTwin {
            rules,
            kernel,
            resident: Vec::new(),
            lengths: BTreeMap::new(),
            referenced_before: BTreeSet::new(),
            written_before: BTreeSet::new(),
            swap: BTreeMap::new(),
            windows: BTreeMap::new(),
            future,
            served: 0,
            first_ns: None,
            time_ns: 0,
            has_times: lines.iter().any(|line| line.time_ns.is_some()),
            last_flush: 0,
            actions: Vec::new(),
            asked: Vec::new(),
            requests: Vec::new(),
            counts: BTreeMap::new(),
            objects,
        };
        let mut happened = Vec::new();
        for line in &lines {
            twin.event(line);
            happened.push(std::mem::take(&mut twin.actions));
            let asked = std::mem::take(&mut twin.asked);
            twin.requests.push(asked);
        }
        twin.look();
        if twin.rules.flush_at_end {
            let dirty = twin.resident.clone().into_iter().filter(|resident| resident.dirty);
            dirty.for_each(|it| twin.count_io(it.page, "file_write_ios", "anon_write_ios"));
        }
        (happened, twin)
    }

    fn count(&mut self, name: &'static str) {
        *self.counts.entry(name).or_default() += 1;
    }

    fn label(&self, page: Page) -> String {
        format!("{}:{}", self.objects[page.0], page.1)
    }

    fn act(&mut self, word: &str, page: Page) {
        let label = self.label(page);
        self.actions.push(format!("{word} {label}"));
    }

    fn is_file(&self, page: Page) -> bool {
        is_file(&self.objects[page.0])
    }

    /// A-85's unit: references, or time where there is any.
    fn in_time(&self) -> bool {
        self.has_times && !self.rules.flush_references
    }

    fn now(&self) -> u64 {
        if self.in_time() { self.time_ns } else { self.served }
    }

    fn dirty_files(&self) -> Vec<Resident> {
        let dirty = |resident: &&Resident| resident.dirty && self.is_file(resident.page);
        self.resident.iter().filter(dirty).cloned().collect()
    }

    fn look(&mut self) {
        let now = self.now();
        for resident in self.dirty_files() {
            let age = now.saturating_sub(resident.became_dirty);
            let most = self.counts.entry("dirty_age_max").or_default();
            *most = (*most).max(age);
        }
    }

    fn find(&self, page: Page) -> Option<usize> {
        self.resident.iter().position(|resident| resident.page == page)
    }

    fn event(&mut self, line: &Line) {
        if let Some(time_ns) = line.time_ns {
            let first = *self.first_ns.get_or_insert(time_ns);
            self.time_ns = self.time_ns.max(time_ns.saturating_sub(first));
        }
        self.look();
        self.flush();
        let object = self.objects.iter().position(|object| *object == line.object);
        let number = |place: usize| line.numbers.get(place).copied();
        match line.word.as_str() {
            "mr" | "mw" | "cr" | "cw" => self.access(line, object.unwrap()),
            "dr" | "dw" => self.direct(line, object.unwrap()),
            "length" => {
                self.lengths.insert(object.unwrap(), number(0).unwrap());
            }
            "sync" => self.sync(object),
            "truncate" => self.truncate(object.unwrap(), number(0).unwrap()),
            "delete" => {
                self.drop_pages(|page| Some(page.0) == object);
                self.lengths.insert(object.unwrap(), 0);
            }
            "release" => {
                let (first, end) = match number(0) {
                    Some(address) => {
                        (address.div_ceil(4096), (address + number(1).unwrap()) / 4096)
                    }
                    None => (0, u64::MAX),
                };
                self.release(object.unwrap(), first, end);
            }
            word => panic!("no event {word}"),
        }
    }

    fn write_lengths(&mut self, line: &Line, object: usize) {
        let (offset, size) = (line.numbers[0], line.numbers[1]);
        if let Some(length) = self.lengths.get_mut(&object) {
            *length = (*length).max(offset + size);
        }
    }

    fn access(&mut self, line: &Line, object: usize) {
        let (is_write, is_call) = (line.word.ends_with('w'), line.word.starts_with('c'));
        let length = self.lengths.get(&object).copied();
        for number in line.pages() {
            let page = (object, number);
            self.future.remove(0);
            self.served += 1;
            if let Some(place) = self.find(page) {
                self.act("hit", page);
                self.tell_kernel(line, page, true, &[]);
                let mut resident = self.resident.remove(place);
                resident.referenced = true;
                resident.ahead = false;
                let moves = ["lru", "cflru", "min"].contains(&self.rules.policy);
                let place = if moves { self.resident.len() } else { place };
                self.resident.insert(place, resident);
                if is_call && !is_write && self.rules.file_window.is_some() {
                    let process = line.numbers.get(2).copied().unwrap_or(0);
                    self.windows.entry((process, object)).or_insert((None, 0, None)).2 =
                        Some(number);
                }
            } else {
                self.miss(line, page, length);
            }
            if is_write {
                self.dirty(page);
                self.written_before.insert(page);
            }
            self.referenced_before.insert(page);
            *self.counts.entry("dirty_pages_sum").or_default() += self.dirty_files().len() as u64;
        }
        if is_write && is_call && line.numbers[1] > 0 {
            self.write_lengths(line, object);
        }
    }

    fn dirty(&mut self, page: Page) {
        let stamp = if self.in_time() { self.time_ns } else { self.served };
        let place = self.find(page).unwrap();
        if self.resident[place].dirty {
            return;
        }
        self.resident[place].dirty = true;
        self.resident[place].became_dirty = stamp;
        self.count("became_dirty");
        self.swap.retain(|_, other| *other != page);
        let dirty = self.dirty_files().len() as u64;
        let peak = self.counts.entry("dirty_pages_peak").or_default();
        *peak = (*peak).max(dirty);
    }

    /// Writes a resident dirty page, which stays, for another reason than the kernel's.
    fn write(&mut self, page: Page, why: &'static str) {
        if let Some(kernel) = &mut self.kernel {
            kernel.written_back(number_of(page));
        }
        self.write_kept(page, why);
    }

    fn write_kept(&mut self, page: Page, why: &'static str) {
        self.swap_out(page);
        let place = self.find(page).unwrap();
        self.resident[place].dirty = false;
        self.count(why);
        self.count_io(page, "file_write_ios", "anon_write_ios");
        self.act("write", page);
        if why == "early_write_backs" {
            self.ask_write(&[page]);
        }
    }

    /// A page's number in its file; the slot of an anonymous one, or its number if it has none.
    fn place(&self, page: Page) -> u64 {
        let slot =
            self.swap.iter().find(|(_, other)| **other == page).map(|(slot, _)| *slot as u64);
        if self.is_file(page) { page.1 } else { slot.unwrap_or(page.1) }
    }

    fn ask(&mut self, name: &'static str, pages: &[Page]) {
        let mut places: Vec<u64> = pages.iter().map(|page| self.place(*page)).collect();
        places.sort_unstable();
        self.asked.push((name, places));
    }

    /// A request for each file of these pages.
    fn ask_write(&mut self, pages: &[Page]) {
        let objects: BTreeSet<usize> = pages.iter().map(|page| page.0).collect();
        for object in objects {
            let of_object: Vec<Page> =
                pages.iter().copied().filter(|page| page.0 == object).collect();
            let is_file = self.is_file(of_object[0]);
            self.ask(if is_file { "file_write" } else { "anon_write" }, &of_object);
        }
    }

    fn sync(&mut self, object: Option<usize>) {
        let mut pages: Vec<Page> =
            self.dirty_files().iter().map(|resident| resident.page).collect();
        pages.retain(|page| object.is_none_or(|object| page.0 == object));
        pages.sort_unstable();
        self.ask_write(&pages);
        pages.into_iter().for_each(|page| self.write(page, "sync_writes"));
    }

    fn flush(&mut self) {
        let Some(every) = self.rules.flush_every else { return };
        let moment = self.now() / every * every;
        if moment < every || moment == self.last_flush {
            return;
        }
        self.last_flush = moment;
        let in_order = |twin: &Self| {
            let mut dirty = twin.dirty_files();
            dirty.sort_by_key(|resident| (resident.became_dirty, resident.page));
            dirty
        };
        let mut written = Vec::new();
        for resident in in_order(self) {
            if resident.became_dirty + self.rules.flush_age <= moment {
                self.write(resident.page, "flusher_writes");
                written.push(resident.page);
            }
        }
        if let Some((numerator, denominator)) = self.rules.dirty_limit {
            while self.dirty_files().len() > self.rules.frames * numerator / denominator {
                let oldest = in_order(self)[0].page;
                self.write(oldest, "flusher_writes");
                written.push(oldest);
            }
        }
        self.ask_write(&written);
    }
}
