//! A page cache, the second time: rules A-80 … A-88, one line of the text format `events` after the other.
//!
//! It reads the text itself, keeps its pages in one vector in the order of the policy, and looks everything up by
//! searching. What happens is told in the words of the golden vectors: `read f1:0`, `evict a1:3 dirty`.

use std::collections::{BTreeMap, BTreeSet};

use crate::Op;
use crate::kernel::{Access, KernelStep, KernelTwin, build_kernel};

/// How the cache behaves; the default is an LRU cache of one frame without flusher and read-ahead.
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
    /// Whether every anonymous miss reads.
    pub first_touch_reads: bool,
    /// Whether a page that was never written is read again.
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
        }
    }
}

/// An object's place in the order of first events, and the number of a page.
type Page = (usize, u64);

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

/// What a line says.
#[derive(Clone, Debug)]
struct Line {
    time_ns: Option<u64>,
    word: String,
    object: String,
    numbers: Vec<u64>,
}

impl Line {
    fn of(text: &str) -> Line {
        let mut words = text.split_whitespace().peekable();
        let mut time_ns = None;
        if words.peek().is_some_and(|word| word.starts_with('@')) {
            let seconds: f64 = words.next().unwrap()[1..].parse().unwrap();
            time_ns = Some((seconds * 1e9).round() as u64);
        }
        let word = words.next().unwrap().to_owned();
        let object = words.next().unwrap().to_owned();
        let number = |word: &str| match word.strip_suffix('p') {
            Some(pages) => pages.parse::<u64>().unwrap() * 4096,
            None => word.parse().unwrap(),
        };
        Line { time_ns, word, object, numbers: words.map(number).collect() }
    }

    /// The numbers of the pages that the line refers to.
    fn pages(&self) -> Vec<u64> {
        match (self.word.as_str(), self.numbers.as_slice()) {
            ("mr" | "mw" | "cr" | "cw" | "dr" | "dw", &[offset, size, ..]) if size > 0 => {
                (offset / 4096..=(offset + size - 1) / 4096).collect()
            }
            _ => Vec::new(),
        }
    }

    fn refers(&self) -> bool {
        matches!(self.word.as_str(), "mr" | "mw" | "cr" | "cw")
    }
}

/// Whether the object is a file: anonymous ones begin with an `a`.
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
            counts: BTreeMap::new(),
            objects,
        };
        let mut happened = Vec::new();
        for line in &lines {
            twin.event(line);
            happened.push(std::mem::take(&mut twin.actions));
        }
        twin.look();
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

    fn miss(&mut self, line: &Line, page: Page, length: Option<u64>) {
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
    fn fill(&self, line: &Line, page: Page, length: Option<u64>) -> &'static str {
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
    fn tell_kernel(&mut self, line: &Line, page: Page, fetched: bool, ahead: &[Page]) {
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

    fn count_io(&mut self, page: Page, of_file: &'static str, of_memory: &'static str) {
        self.count(if self.is_file(page) { of_file } else { of_memory });
    }

    fn load(&mut self, page: Page, ahead: bool) {
        let resident = Resident { page, dirty: false, became_dirty: 0, referenced: false, ahead };
        self.resident.push(resident);
    }

    /// A-88: what is read behind the page.
    fn ahead(&mut self, line: &Line, page: Page, length: Option<u64>) -> Vec<Page> {
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

    fn evict(&mut self) {
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

    fn evict_at(&mut self, place: usize) {
        let victim = self.resident[place].clone();
        if victim.dirty {
            self.count("dirty_evictions");
            self.count_io(victim.page, "file_write_ios", "anon_write_ios");
            self.swap_out(victim.page);
        } else {
            self.count("clean_evictions");
        }
        self.resident.remove(place);
        let label = self.label(victim.page);
        let state = if victim.dirty { "dirty" } else { "clean" };
        self.actions.push(format!("evict {label} {state}"));
        self.left(&victim);
    }

    /// A-14: the page whose next reference is farthest.
    fn farthest(&self) -> usize {
        let key = |resident: &Resident| {
            let next = self.future.iter().position(|page| *page == resident.page);
            let next = next.unwrap_or(usize::MAX);
            // Among those never referenced again: clean ones first, then the smallest page.
            (std::cmp::Reverse(next), resident.dirty, resident.page)
        };
        (0..self.resident.len()).min_by_key(|&place| key(&self.resident[place])).unwrap()
    }

    fn left(&mut self, resident: &Resident) {
        if resident.ahead {
            self.count("readahead_unused");
        }
    }

    fn swap_out(&mut self, page: Page) {
        if !self.is_file(page) && !self.swap.values().any(|other| *other == page) {
            let slot = (0..).find(|slot| !self.swap.contains_key(slot)).unwrap();
            self.swap.insert(slot, page);
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
    }

    fn sync(&mut self, object: Option<usize>) {
        let mut pages: Vec<Page> =
            self.dirty_files().iter().map(|resident| resident.page).collect();
        pages.retain(|page| object.is_none_or(|object| page.0 == object));
        pages.sort_unstable();
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
        for resident in in_order(self) {
            if resident.became_dirty + self.rules.flush_age <= moment {
                self.write(resident.page, "flusher_writes");
            }
        }
        if let Some((numerator, denominator)) = self.rules.dirty_limit {
            while self.dirty_files().len() > self.rules.frames * numerator / denominator {
                let oldest = in_order(self)[0].page;
                self.write(oldest, "flusher_writes");
            }
        }
    }

    fn drop_pages(&mut self, leaves: impl Fn(Page) -> bool) {
        let mut pages: Vec<Page> = self.resident.iter().map(|resident| resident.page).collect();
        pages.retain(|page| leaves(*page));
        pages.sort_unstable();
        pages.into_iter().for_each(|page| self.drop_page(page));
    }

    fn drop_page(&mut self, page: Page) {
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

    fn truncate(&mut self, object: usize, length: u64) {
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

    /// A-83: pages from `first` up to `end` are given back.
    fn release(&mut self, object: usize, first: u64, end: u64) {
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

    fn direct(&mut self, line: &Line, object: usize) {
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
