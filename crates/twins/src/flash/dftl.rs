//! The drive of rule A-118: slow and literal. Collection of data does not depend on the map. So the events of a
//! page-mapped drive are taken, and those of translation pages are put between them.

use std::collections::{BTreeMap, BTreeSet};

use super::{FlashCause, FlashClasses, FlashEvent, FlashRules, FlashTwin};

/// The drive's rules.
#[derive(Clone, Debug)]
pub struct DftlRules {
    /// Those of the data; blocks are all of a die.
    pub data: FlashRules,
    /// Entries of a translation page.
    pub entries_per_page: u32,
    /// Cached entries.
    pub cmt_entries: usize,
    /// True if entries used again are kept longer.
    pub is_segmented: bool,
    /// True if the other dirty entries of an evicted one's page are written with it.
    pub batch_eviction: bool,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    page: u32,
    is_dirty: bool,
}

/// The drive.
pub struct DftlTwin {
    rules: DftlRules,
    data: FlashTwin,
    translation: FlashTwin,
    /// From the least to the most recently used.
    probation: Vec<Entry>,
    protected: Vec<Entry>,
    /// By page: what its translation page says on flash.
    on_flash: BTreeMap<u32, u32>,
    hits: u64,
    misses: u64,
    events: Vec<FlashEvent>,
    worn_out: bool,
}

impl DftlTwin {
    /// An erased drive.
    pub fn new(rules: DftlRules) -> DftlTwin {
        let FlashRules { dies, blocks_per_die, pages_per_block, .. } = rules.data;
        let pages = rules.data.logical_pages.div_ceil(rules.entries_per_page);
        let region = |die: usize| {
            let own = (0..pages as usize).filter(|page| page % dies == die).count();
            2 * own.div_ceil(pages_per_block) + rules.data.minimum_free
        };
        let split = |die: usize| (die + 1) * blocks_per_die - region(die);
        let data = (0..dies).map(|die| die * blocks_per_die..split(die)).collect();
        let regions = (0..dies).map(|die| split(die)..(die + 1) * blocks_per_die).collect();
        let of_translation = FlashRules {
            logical_pages: pages,
            victim: "greedy".to_owned(),
            separate: false,
            wear_limit: None,
            wear_levelling: None,
            classes: FlashClasses::Off,
            ..rules.data.clone()
        };
        DftlTwin {
            data: FlashTwin::of_blocks(rules.data.clone(), data),
            translation: FlashTwin::of_blocks(of_translation, regions),
            probation: Vec::new(),
            protected: Vec::new(),
            on_flash: BTreeMap::new(),
            hits: 0,
            misses: 0,
            events: Vec::new(),
            worn_out: false,
            rules,
        }
    }

    /// Hits and misses of the cache.
    pub fn look_ups(&self) -> (u64, u64) {
        (self.hits, self.misses)
    }

    /// Returns whether the map could not be written.
    pub fn is_worn_out(&self) -> bool {
        self.worn_out
    }

    /// The physical page of a logical one.
    pub fn find(&self, page: u32) -> Option<u32> {
        self.data.find(page)
    }

    /// A host write: what it led to, and whether it was carried out.
    pub fn write(&mut self, page: u32) -> (Vec<FlashEvent>, bool) {
        self.look_up(page);
        let (events, done) = self.data.write(page);
        let mut moved = BTreeMap::new();
        for event in events {
            match event {
                FlashEvent::Relocate { page, to, .. } => drop(moved.insert(page, to)),
                FlashEvent::Erase { .. } => self.write_entries(std::mem::take(&mut moved)),
                _ => {}
            }
            self.events.push(event);
        }
        let done = done && !self.worn_out;
        if done {
            self.make_dirty(page);
        }
        (std::mem::take(&mut self.events), done)
    }

    /// A host read.
    pub fn read(&mut self, page: u32) -> Vec<FlashEvent> {
        self.look_up(page);
        self.events.extend(self.find(page).map(|from| FlashEvent::Read { from, page }));
        std::mem::take(&mut self.events)
    }

    /// The host trims a page.
    pub fn trim(&mut self, page: u32) -> Vec<FlashEvent> {
        self.look_up(page);
        self.make_dirty(page);
        self.data.trim(page);
        std::mem::take(&mut self.events)
    }

    /// Returns whether the entries on flash, and in place of them the dirty ones, are the map.
    pub fn map_is_kept(&self) -> bool {
        (0..self.rules.data.logical_pages).all(|page| {
            let is_dirty = |entry: &&Entry| entry.page == page && entry.is_dirty;
            self.probation.iter().chain(&self.protected).any(|entry| is_dirty(&entry))
                || self.on_flash.get(&page).copied() == self.find(page)
        })
    }

    fn cached(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.probation.iter_mut().chain(&mut self.protected)
    }

    fn make_dirty(&mut self, page: u32) -> bool {
        let entry = self.cached().find(|entry| entry.page == page);
        entry.map(|entry| entry.is_dirty = true).is_some()
    }

    fn look_up(&mut self, page: u32) {
        let of = |list: &[Entry]| list.iter().position(|entry| entry.page == page);
        let in_probation = of(&self.probation);
        let in_protected = of(&self.protected);
        let found = match (in_probation, in_protected) {
            (Some(position), _) => Some(self.probation.remove(position)),
            (None, Some(position)) => Some(self.protected.remove(position)),
            (None, None) => None,
        };
        if let Some(entry) = found {
            self.hits += 1;
            if !self.rules.is_segmented {
                self.probation.push(entry);
                return;
            }
            self.protected.push(entry);
            if self.protected.len() > self.rules.cmt_entries / 2 {
                let oldest = self.protected.remove(0);
                self.probation.push(oldest);
            }
            return;
        }
        self.misses += 1;
        if self.probation.len() + self.protected.len() == self.rules.cmt_entries {
            let list =
                if self.probation.is_empty() { &mut self.protected } else { &mut self.probation };
            let victim = list.remove(0);
            if victim.is_dirty {
                self.evict_dirty(victim.page);
            }
        }
        let wanted = page / self.rules.entries_per_page;
        if let Some(from) = self.translation.find(wanted) {
            self.events.push(FlashEvent::Load { from, page: wanted, wanted: page });
        }
        self.probation.push(Entry { page, is_dirty: false });
    }

    fn evict_dirty(&mut self, page: u32) {
        let translation = page / self.rules.entries_per_page;
        let mut written = vec![page];
        if self.rules.batch_eviction {
            let entries_per_page = self.rules.entries_per_page;
            for entry in self.cached() {
                if entry.is_dirty && entry.page / entries_per_page == translation {
                    entry.is_dirty = false;
                    written.push(entry.page);
                }
            }
        }
        let entries = written.into_iter().map(|page| (page, self.find(page))).collect();
        self.update(translation, entries);
    }

    /// After the pages of a block moved.
    fn write_entries(&mut self, moved: BTreeMap<u32, u32>) {
        let uncached: BTreeMap<u32, u32> =
            moved.into_iter().filter(|(page, _)| !self.make_dirty(*page)).collect();
        let pages: BTreeSet<u32> =
            uncached.keys().map(|page| page / self.rules.entries_per_page).collect();
        for translation in pages {
            let own = uncached
                .iter()
                .filter(|(page, _)| **page / self.rules.entries_per_page == translation);
            let entries = own.map(|(page, to)| (*page, Some(*to))).collect();
            self.update(translation, entries);
        }
    }

    /// Reads and programs a translation page with these entries.
    fn update(&mut self, page: u32, entries: BTreeMap<u32, Option<u32>>) {
        if let Some(from) = self.translation.find(page) {
            self.events.push(FlashEvent::ReadTranslation { from, page });
        }
        let (events, done) = self.translation.write(page);
        self.worn_out |= !done;
        self.events.extend(events.into_iter().map(|event| match event {
            FlashEvent::Program { to, page } => FlashEvent::ProgramTranslation { to, page },
            FlashEvent::Relocate { cause: FlashCause::Collect, from, to, page } => {
                FlashEvent::RelocateTranslation { from, to, page }
            }
            other => other,
        }));
        for (page, at) in entries {
            match at {
                Some(at) => self.on_flash.insert(page, at),
                None => self.on_flash.remove(&page),
            };
        }
    }
}
