//! From page number to frame: first and second level of the TLB, and the walk of the page table (A-53 … A-55).

use super::geometry::TlbGeometry;
use super::space::{NONE, Space};
use super::tlb::Tlb;
use crate::error::SimError;
use crate::intervals::grows;

/// Both levels of a TLB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TlbLevels {
    /// The first level.
    pub first: TlbGeometry,
    /// The second one, looked up when the first misses.
    pub second: Option<TlbGeometry>,
}

impl TlbLevels {
    /// Every first level with every second one, in this order; no second level if `tlb2` is empty or names 0 entries.
    ///
    /// # Errors
    ///
    /// A sentence that names the text and what is allowed.
    pub fn parse_all(tlb: &[String], tlb2: &[String]) -> Result<Vec<TlbLevels>, SimError> {
        let mut levels = Vec::new();
        for text in tlb {
            let first = TlbGeometry::parse(text)?;
            if tlb2.is_empty() {
                levels.push(TlbLevels { first, second: None });
            }
            for text in tlb2 {
                let second = TlbGeometry::parse_second(text, first)?;
                levels.push(TlbLevels {
                    first,
                    second: Some(second).filter(|tlb| tlb.entries() > 0),
                });
            }
        }
        Ok(levels)
    }
}

/// Counts of translation; the other references hit the first level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TranslationCounts {
    /// First-level misses.
    pub(crate) tlb_misses: u64,
    /// Second-level hits.
    pub(crate) tlb2_hits: u64,
    /// Page-table walks.
    pub(crate) walks: u64,
    /// Page-table reads.
    pub(crate) walk_accesses: u64,
}

grows!(TranslationCounts { tlb_misses, tlb2_hits, walks, walk_accesses });

/// How a look-up ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LookUp {
    /// The first level had it.
    Hit,
    /// The second level had it.
    SecondHit,
    /// The page table was walked, with this many reads.
    Walked(u32),
}

/// A TLB before a page table.
#[derive(Clone, Debug)]
pub(crate) struct Translator {
    first: Tlb,
    has_first: bool,
    second: Option<Tlb>,
    walk_cache: Option<Tlb>,
    pub(crate) counts: TranslationCounts,
}

impl Translator {
    pub(crate) fn new(levels: TlbLevels, walk_cache: u32, seed: u64, space: &Space) -> Self {
        let translations = space.translations();
        let level = |geometry, seed| Tlb::new(geometry, translations, seed);
        let walk_cache = (walk_cache > 0 && space.tables.len() > 0)
            .then(|| Tlb::new(TlbGeometry::fully_associative(walk_cache), space.tables.len(), 0));
        Translator {
            first: level(levels.first, seed),
            has_first: levels.first.entries() > 0,
            second: levels.second.map(|second| level(second, seed.wrapping_add(1))),
            walk_cache,
            counts: TranslationCounts::default(),
        }
    }

    /// A reference to a page in memory, whose leaf stands at `leaf_level`.
    #[inline]
    pub(crate) fn reference(
        &mut self,
        translation: u32,
        page: u32,
        leaf_level: u32,
        space: &Space,
    ) -> LookUp {
        if self.first.uses(translation) {
            return LookUp::Hit;
        }
        self.miss(translation, page, leaf_level, space)
    }

    #[inline(never)]
    fn miss(&mut self, translation: u32, page: u32, leaf_level: u32, space: &Space) -> LookUp {
        self.counts.tlb_misses += 1;
        if self.second.as_mut().is_some_and(|second| second.uses(translation)) {
            self.counts.tlb2_hits += 1;
            let (_, number) = space.number_of_translation(translation);
            self.first.insert(translation, number);
            return LookUp::SecondHit;
        }
        let reads = self.walk(page, leaf_level, space);
        self.fill(translation, space);
        LookUp::Walked(reads)
    }

    /// A reference to a page that is not in memory, up to the fault: nothing can hold its translation.
    pub(crate) fn walk_to_fault(&mut self, page: u32, space: &Space) -> LookUp {
        self.counts.tlb_misses += 1;
        LookUp::Walked(self.walk(page, 0, space))
    }

    /// Puts a translation that was walked for into both levels.
    pub(crate) fn fill(&mut self, translation: u32, space: &Space) {
        let (_, number) = space.number_of_translation(translation);
        self.first.insert(translation, number);
        if let Some(second) = &mut self.second {
            second.insert(translation, number);
        }
    }

    /// `times` more references to the page that was referenced just now: hits, if there is a level to hit.
    #[inline]
    pub(crate) fn repeat(&mut self, times: u64, page: u32, space: &Space) {
        if !self.has_first && times > 0 {
            self.repeat_without_first(times, page, space);
        }
    }

    fn repeat_without_first(&mut self, times: u64, page: u32, space: &Space) {
        self.counts.tlb_misses += times;
        if self.second.is_some() {
            self.counts.tlb2_hits += times;
            return;
        }
        // The first walk may find the walk cache empty: the page's own stream may have been killed for the frame. It leaves
        // the entry above the leaf there for the others.
        self.walk(page, 0, space);
        let reads = if self.walk_cache.is_some() { 1 } else { u64::from(space.tables.levels) };
        self.counts.walks += times - 1;
        self.counts.walk_accesses += (times - 1) * reads;
    }

    /// Walks from the lowest cached entry above the leaf, or from the root; how many entries were read.
    fn walk(&mut self, page: u32, leaf_level: u32, space: &Space) -> u32 {
        let tables = &space.tables;
        let from_root = tables.levels - leaf_level;
        let mut reads = from_root;
        if let Some(cache) = &mut self.walk_cache {
            let (mut missing, mut count) = ([NONE; MOST_LEVELS as usize], 0);
            let mut entry = tables.above(page, leaf_level);
            while entry != NONE && !cache.uses(entry) {
                missing[count] = entry;
                count += 1;
                entry = tables.parent_of(entry);
            }
            if entry != NONE {
                reads = count as u32 + 1;
            }
            for &read in missing[..count].iter().rev() {
                cache.insert(read, 0);
            }
        }
        self.counts.walks += 1;
        self.counts.walk_accesses += u64::from(reads);
        reads
    }

    /// A page has left memory, or a region is no longer one: its translation is wrong.
    pub(crate) fn invalidate(&mut self, translation: u32) {
        self.first.invalidate(translation);
        if let Some(second) = &mut self.second {
            second.invalidate(translation);
        }
    }

    #[cfg(test)]
    pub(crate) fn first(&self) -> &Tlb {
        &self.first
    }

    #[cfg(test)]
    pub(crate) fn second(&self) -> Option<&Tlb> {
        self.second.as_ref()
    }

    #[cfg(test)]
    pub(crate) fn walk_cache(&self) -> Option<&Tlb> {
        self.walk_cache.as_ref()
    }

    /// Drops everything that belongs to streams of which `is_gone` holds.
    pub(crate) fn invalidate_streams(&mut self, space: &Space, is_gone: impl Fn(u32) -> bool) {
        let gone = |translation| is_gone(space.number_of_translation(translation).0);
        self.first.invalidate_where(gone);
        if let Some(second) = &mut self.second {
            second.invalidate_where(gone);
        }
        if let Some(cache) = &mut self.walk_cache {
            cache.invalidate_where(|entry| is_gone(space.key(space.tables.first_page(entry)).0));
        }
    }
}

/// The most levels of a page table: more than page numbers of 64 bits can use.
pub(crate) const MOST_LEVELS: u32 = 8;
