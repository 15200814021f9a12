//! Address translation and paging (A-50 … A-59), literally: lists that are searched, and sets that are rebuilt.

use std::collections::BTreeSet;

mod tlb;

use crate::Op;
pub use tlb::TlbTwin;

/// A page: its stream and its number.
pub type StreamPage = (u32, u64);
/// The key of a TLB entry: stream, 0 for a page or 1 for a region, number.
pub type TlbKey = (u32, u32, u64);
/// An upper page-table entry: stream, level, page number shifted by 9 bits a level.
pub type UpperEntry = (u32, u32, u64);

/// The options of translation and paging.
#[derive(Clone, Debug)]
pub struct TranslationRules {
    /// `clock`, `lru`, `fifo` or `min`.
    pub policy: &'static str,
    /// Page frames.
    pub frames: usize,
    /// Entries and ways of the first level.
    pub tlb: (usize, usize),
    /// Entries and ways of the second level.
    pub tlb2: Option<(usize, usize)>,
    /// `lru`, `fifo`, `random` or `plru`.
    pub replacement: &'static str,
    /// Levels of the page table.
    pub walk_levels: u32,
    /// Upper entries that are cached.
    pub walk_cache: usize,
    /// Base pages of a huge page, and the share that must be resident as numerator and denominator.
    pub huge: Option<(u64, (u64, u64))>,
    /// Pages that come with a fault.
    pub prefetch: u64,
    /// Streams are killed, nothing is evicted.
    pub no_swap: bool,
    /// Another stream finds TLBs and walk cache empty.
    pub flush_on_switch: bool,
    /// Seed of the random replacement.
    pub seed: u64,
}

/// One thing that a reference did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TranslationEvent {
    /// The first level had the translation.
    TlbHit,
    /// The second level had it.
    Tlb2Hit,
    /// The page table was read this many times.
    Walk(u32),
    /// A page was not in memory.
    Fault(StreamPage),
    /// A page came with one that faulted.
    Prefetch(StreamPage),
    /// A page came to complete its region.
    Fetch(StreamPage),
    /// A page left, dirty or not.
    Evict(StreamPage, bool),
    /// A region is no longer a huge page.
    Demote(u32, u64),
    /// A region is a huge page.
    Promote(u32, u64),
    /// A promotion took a page of its own region.
    GiveUp(u32, u64),
    /// A stream was killed.
    Kill(u32),
}

/// A page in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Resident {
    page: StreamPage,
    reference: bool,
    dirty: bool,
}

/// TLBs, page table and memory.
pub struct TranslationTwin {
    rules: TranslationRules,
    trace: Vec<(StreamPage, Op)>,
    /// The next reference.
    position: usize,
    /// From the head (under the hand, or least recently used) to the tail.
    memory: Vec<Resident>,
    /// The first level.
    pub tlb: TlbTwin,
    /// The second level.
    pub tlb2: Option<TlbTwin>,
    /// From the oldest to the newest.
    pub walk_cache: Vec<UpperEntry>,
    /// Regions that are huge pages.
    pub promoted: BTreeSet<(u32, u64)>,
    /// Prefetched pages that were not referenced yet.
    untouched: BTreeSet<StreamPage>,
    /// Prefetched pages that left before they were referenced.
    pub prefetched_in_vain: u64,
    most_entries: usize,
    events: Vec<TranslationEvent>,
}

impl TranslationTwin {
    /// Everything empty, before the first reference of `trace`.
    pub fn new(rules: TranslationRules, trace: &[(StreamPage, Op)]) -> TranslationTwin {
        TranslationTwin {
            tlb: TlbTwin::new(rules.tlb, rules.replacement, rules.seed),
            tlb2: rules
                .tlb2
                .map(|tlb2| TlbTwin::new(tlb2, rules.replacement, rules.seed.wrapping_add(1))),
            rules,
            trace: trace.to_vec(),
            position: 0,
            memory: Vec::new(),
            walk_cache: Vec::new(),
            promoted: BTreeSet::new(),
            untouched: BTreeSet::new(),
            prefetched_in_vain: 0,
            most_entries: 0,
            events: Vec::new(),
        }
    }

    /// Applies the next reference and says what happened (A-52's order).
    ///
    /// # Panics
    ///
    /// If the trace is over.
    pub fn reference(&mut self) -> Vec<TranslationEvent> {
        let (page, op) = self.trace[self.position];
        if self.rules.flush_on_switch && self.position > 0 {
            let (last, _) = self.trace[self.position - 1];
            if last.0 != page.0 {
                self.tlb.invalidate(|_| true);
                self.tlb2.iter_mut().for_each(|tlb2| tlb2.invalidate(|_| true));
                self.walk_cache.clear();
            }
        }
        let key = self.key_of(page);
        let hits_first = self.tlb.look_up(key);
        let hits_second = !hits_first && self.tlb2.as_mut().is_some_and(|tlb2| tlb2.look_up(key));
        match (hits_first, hits_second) {
            (true, _) => self.events.push(TranslationEvent::TlbHit),
            (_, true) => self.events.push(TranslationEvent::Tlb2Hit),
            _ => {
                let reads = self.walk(page);
                self.events.push(TranslationEvent::Walk(reads));
            }
        }
        let faulted = !self.is_resident(page);
        if faulted {
            self.fault(page);
        } else {
            self.hit(page);
        }
        self.untouched.remove(&page);
        let resident = self.memory.iter_mut().find(|resident| resident.page == page);
        resident.expect("it was loaded").dirty |= op == Op::Write;
        if !hits_first {
            self.tlb.insert(key);
            if let Some(tlb2) = &mut self.tlb2
                && !hits_second
            {
                tlb2.insert(key);
            }
        }
        if faulted {
            self.promote(page);
        }
        self.most_entries = self.most_entries.max(self.page_table_entries());
        self.position += 1;
        std::mem::take(&mut self.events)
    }

    /// The pages in memory in their order, each with its reference bit.
    pub fn memory(&self) -> Vec<(StreamPage, bool)> {
        self.memory.iter().map(|resident| (resident.page, resident.reference)).collect()
    }

    /// The dirty pages, ascending.
    pub fn dirty(&self) -> Vec<StreamPage> {
        let dirty = self.memory.iter().filter(|resident| resident.dirty);
        let pages: BTreeSet<StreamPage> = dirty.map(|resident| resident.page).collect();
        pages.into_iter().collect()
    }

    /// 8 bytes for each entry, at the most after any reference so far.
    pub fn page_table_bytes(&self) -> u64 {
        8 * self.most_entries as u64
    }

    fn region_of(&self, page: StreamPage) -> Option<(u32, u64)> {
        self.rules.huge.map(|(pages, _)| (page.0, page.1 / pages))
    }

    fn is_promoted(&self, page: StreamPage) -> bool {
        self.region_of(page).is_some_and(|region| self.promoted.contains(&region))
    }

    fn key_of(&self, page: StreamPage) -> TlbKey {
        match self.region_of(page) {
            Some(region) if self.promoted.contains(&region) => (region.0, 1, region.1),
            _ => (page.0, 0, page.1),
        }
    }

    fn leaf_level(&self, page: StreamPage) -> u32 {
        match self.rules.huge {
            Some((pages, _)) if self.is_promoted(page) => {
                (pages.ilog2() / 9).min(self.rules.walk_levels - 1)
            }
            _ => 0,
        }
    }

    fn upper(page: StreamPage, level: u32) -> UpperEntry {
        (page.0, level, page.1.checked_shr(9 * level).unwrap_or(0))
    }

    ///
    fn walk(&mut self, page: StreamPage) -> u32 {
        let leaf = self.leaf_level(page);
        let levels = self.rules.walk_levels;
        let cached = (leaf + 1..levels)
            .find(|&level| self.walk_cache.contains(&TranslationTwin::upper(page, level)));
        if let Some(level) = cached {
            let entry = TranslationTwin::upper(page, level);
            self.walk_cache.retain(|other| *other != entry);
            self.walk_cache.push(entry);
        }
        let from = cached.unwrap_or(levels);
        for level in (leaf + 1..from).rev() {
            self.walk_cache.push(TranslationTwin::upper(page, level));
            if self.walk_cache.len() > self.rules.walk_cache {
                self.walk_cache.remove(0);
            }
        }
        from - leaf
    }

    fn is_resident(&self, page: StreamPage) -> bool {
        self.memory.iter().any(|resident| resident.page == page)
    }

    fn free(&self) -> usize {
        self.rules.frames - self.memory.len()
    }

    fn hit(&mut self, page: StreamPage) {
        let position = self.memory.iter().position(|resident| resident.page == page);
        let position = position.expect("the page is resident");
        match self.rules.policy {
            "clock" => self.memory[position].reference = true,
            "lru" => {
                let resident = self.memory.remove(position);
                self.memory.push(resident);
            }
            _ => (),
        }
    }

    fn load(&mut self, page: StreamPage) {
        assert!(self.free() > 0, "there is a free frame");
        self.memory.push(Resident { page, reference: false, dirty: false });
    }

    ///
    fn fault(&mut self, page: StreamPage) {
        let (stream, number) = page;
        let mut list: Vec<StreamPage> = (1..=self.rules.prefetch)
            .filter_map(|step| number.checked_add(step).map(|number| (stream, number)))
            .filter(|next| !self.is_resident(*next))
            .filter(|next| self.trace.iter().any(|(referenced, _)| referenced == next))
            .collect();
        list.truncate(self.rules.frames - 1);
        if self.rules.no_swap {
            if self.free() == 0 {
                self.kill(stream);
            }
            list.truncate(self.free() - 1);
        } else {
            while self.free() < 1 + list.len() {
                self.evict();
            }
        }
        self.load(page);
        self.events.push(TranslationEvent::Fault(page));
        for next in list {
            self.load(next);
            self.untouched.insert(next);
            self.events.push(TranslationEvent::Prefetch(next));
        }
    }

    /// The page that the policy lets go; it leaves the list.
    fn victim(&mut self) -> Resident {
        match self.rules.policy {
            "clock" => loop {
                let mut resident = self.memory.remove(0);
                if !resident.reference {
                    return resident;
                }
                resident.reference = false;
                self.memory.push(resident);
            },
            "min" => {
                let later = &self.trace[self.position + 1..];
                let next = |resident: &Resident| {
                    let next = later.iter().position(|(page, _)| *page == resident.page);
                    next.unwrap_or(usize::MAX)
                };
                let rank = |resident: &Resident| {
                    let dirty = next(resident) == usize::MAX && resident.dirty;
                    (std::cmp::Reverse(next(resident)), dirty, resident.page)
                };
                let places = 0..self.memory.len();
                let place = places.min_by_key(|&place| rank(&self.memory[place]));
                self.memory.remove(place.expect("memory is not empty"))
            }
            _ => self.memory.remove(0),
        }
    }

    fn evict(&mut self) -> StreamPage {
        let Resident { page, dirty, .. } = self.victim();
        self.events.push(TranslationEvent::Evict(page, dirty));
        self.forget(page, true);
        page
    }

    /// A page has left memory.
    fn forget(&mut self, page: StreamPage, demotes: bool) {
        self.prefetched_in_vain += u64::from(self.untouched.remove(&page));
        let key = self.key_of(page);
        self.tlb.invalidate(|other| other == key);
        self.tlb2.iter_mut().for_each(|tlb2| tlb2.invalidate(|other| other == key));
        if let Some(region) = self.region_of(page)
            && self.promoted.remove(&region)
            && demotes
        {
            self.events.push(TranslationEvent::Demote(region.0, region.1));
        }
    }

    ///
    fn kill(&mut self, faulting: u32) {
        let holding: BTreeSet<u32> = self.memory.iter().map(|resident| resident.page.0).collect();
        let last_reference = |stream: &u32| {
            self.trace[..self.position].iter().rposition(|((other, _), _)| other == stream)
        };
        let others = holding.iter().copied().filter(|&stream| stream != faulting);
        let stream = others.min_by_key(last_reference).unwrap_or(faulting);
        self.events.push(TranslationEvent::Kill(stream));
        let (gone, kept) = self.memory.drain(..).partition(|resident| resident.page.0 == stream);
        self.memory = kept;
        let gone: Vec<Resident> = gone;
        gone.iter().for_each(|resident| self.forget(resident.page, false));
        self.walk_cache.retain(|entry| entry.0 != stream);
    }

    ///
    fn promote(&mut self, page: StreamPage) {
        let (Some((pages, (numerator, denominator))), Some(region)) =
            (self.rules.huge, self.region_of(page))
        else {
            return;
        };
        let base = (region.1 * pages..).take(pages as usize).map(|number| (region.0, number));
        let missing: Vec<StreamPage> =
            base.clone().filter(|page| !self.is_resident(*page)).collect();
        let resident = pages - missing.len() as u64;
        if pages > self.rules.frames as u64 || resident * denominator < numerator * pages {
            return;
        }
        if self.rules.no_swap && self.free() < missing.len() {
            return;
        }
        while self.free() < missing.len() {
            let victim = self.evict();
            if self.region_of(victim) == Some(region) {
                self.events.push(TranslationEvent::GiveUp(region.0, region.1));
                return;
            }
        }
        for page in missing {
            self.load(page);
            self.events.push(TranslationEvent::Fetch(page));
        }
        self.events.push(TranslationEvent::Promote(region.0, region.1));
        let is_base = |key: TlbKey| key.1 == 0 && (key.0, key.2 / pages) == region;
        self.tlb.invalidate(is_base);
        self.tlb2.iter_mut().for_each(|tlb2| tlb2.invalidate(is_base));
        self.promoted.insert(region);
    }

    fn page_table_entries(&self) -> usize {
        let mut leaves = BTreeSet::new();
        let mut upper = BTreeSet::new();
        for resident in &self.memory {
            leaves.insert(self.key_of(resident.page));
            for level in self.leaf_level(resident.page) + 1..self.rules.walk_levels {
                upper.insert(TranslationTwin::upper(resident.page, level));
            }
        }
        leaves.len() + upper.len()
    }
}
