//! The pages a trace touches, numbered as they appear.

use clockhand_prefetch::prefetch;
use rustc_hash::FxHashMap;

/// A page: its stream and its number in the stream.
pub(crate) type PageKey = (u32, u64);

/// Pages of a line, which share one cache line of the processor.
const LINE_PAGES: u64 = 16;
/// Lines of a region.
const REGION_LINES: u64 = 1024;
const REGION_PAGES: u64 = LINE_PAGES * REGION_LINES;
/// A region takes as much memory as this many pages that are numbered singly, so it must have as many on average.
const MIN_PAGES_PER_REGION: usize = 64;
/// Regions that a trace may have before the number of pages in them is checked.
const FREE_REGIONS: usize = 256;
/// Places for regions that were found last: more than most traces have regions.
const FOUND_REGIONS: usize = 1024;
/// Streams with equal addresses have their regions this far apart.
const STREAM_STEP: usize = 61;
/// No page has such a number, so that the region is none.
const NO_REGION: PageKey = (0, u64::MAX);
/// Pages whose bits share a word.
const WORD_PAGES: usize = u64::BITS as usize;
/// Pages that are looked up together.
pub(crate) const GROUP_PAGES: usize = 64;
/// Where a group's numbers are among those of lines; beyond the end if they are not there.
pub(crate) type Places = [usize; GROUP_PAGES];
/// There is no number, line or table.
pub(crate) const NONE: u32 = u32::MAX;

/// Numbers pages in the order of their first touch and remembers which were written.
///
/// A page is found in a table of its region (16,384 neighbours), which leads to the line of its 16 nearest neighbours.
/// There are few regions, so that all but the line stays in the processor's cache. If a trace has many regions of few
/// pages, further regions have no table and their pages are found by hashing.
pub(crate) struct Footprint {
    /// The table of each region, or [`NONE`] if its pages are in `single_pages`.
    tables: FxHashMap<PageKey, u32>,
    /// Regions that were found last, with their tables, each in the one place that its number leads to.
    found: Box<[(PageKey, u32)]>,
    /// Numbers of lines, [`REGION_LINES`] for each table.
    lines_of_tables: Vec<u32>,
    /// Numbers of pages, [`LINE_PAGES`] for each line.
    pages_of_lines: Vec<u32>,
    single_pages: FxHashMap<PageKey, u32>,
    pages: u32,
    /// A bit for each page.
    written: Vec<u64>,
}

impl Default for Footprint {
    fn default() -> Self {
        Footprint {
            tables: FxHashMap::default(),
            found: vec![(NO_REGION, NONE); FOUND_REGIONS].into(),
            lines_of_tables: Vec::new(),
            pages_of_lines: Vec::new(),
            single_pages: FxHashMap::default(),
            pages: 0,
            written: Vec::new(),
        }
    }
}

impl Footprint {
    /// The number of a page, given now if it is new; `None` when it would be number `limit_pages`.
    #[inline]
    pub(crate) fn number(&mut self, key: PageKey, limit_pages: u32) -> Option<u32> {
        let id = self.find(key);
        if id != NONE { Some(id) } else { self.add_page(key, limit_pages) }
    }

    /// The number of a page, or [`NONE`] if it is new.
    #[inline]
    fn find(&mut self, key: PageKey) -> u32 {
        let place = self.place_of(key);
        let id = self.pages_of_lines.get(place).copied().unwrap_or(NONE);
        if id == NONE && !self.single_pages.is_empty() {
            return self.single_pages.get(&key).copied().unwrap_or(NONE);
        }
        id
    }

    /// The places of the numbers of a group's pages, which the processor fetches meanwhile.
    #[inline]
    pub(crate) fn places_of(&mut self, keys: impl Iterator<Item = PageKey>) -> Places {
        let mut places = [usize::MAX; GROUP_PAGES];
        for (place, key) in places.iter_mut().zip(keys) {
            *place = self.place_of(key);
            self.pages_of_lines.get(*place).inspect(|&number| prefetch(number));
        }
        places
    }

    /// The number at a place, or [`NONE`] if the page had no line then, has no number yet, or is numbered singly.
    #[inline]
    pub(crate) fn number_at(&self, place: usize) -> u32 {
        self.pages_of_lines.get(place).copied().unwrap_or(NONE)
    }

    /// The place of a page's number among those of lines; beyond the end if it is not there.
    #[inline]
    fn place_of(&mut self, key: PageKey) -> usize {
        let table = self.table_of((key.0, key.1 / REGION_PAGES));
        if table == NONE {
            return usize::MAX;
        }
        match self.lines_of_tables[in_tables(table, key)] {
            NONE => usize::MAX,
            line => (u64::from(line) * LINE_PAGES + key.1 % LINE_PAGES) as usize,
        }
    }

    /// The table of a region, or [`NONE`] if its pages are single or there are none yet.
    #[inline]
    fn table_of(&mut self, region: PageKey) -> u32 {
        let place = (region.1 as usize ^ (region.0 as usize * STREAM_STEP)) % FOUND_REGIONS;
        let (found, table) = self.found[place];
        if found == region {
            return table;
        }
        let Some(&table) = self.tables.get(&region) else { return NONE };
        self.found[place] = (region, table);
        table
    }

    #[inline(never)]
    fn add_page(&mut self, key: PageKey, limit_pages: u32) -> Option<u32> {
        if self.pages >= limit_pages {
            return None;
        }
        let id = self.pages;
        let region = (key.0, key.1 / REGION_PAGES);
        let known = self.tables.get(&region).copied();
        let table = known.unwrap_or_else(|| self.add_region(region));
        if table == NONE {
            self.single_pages.insert(key, id);
        } else {
            let line = &mut self.lines_of_tables[in_tables(table, key)];
            if *line == NONE {
                *line = (self.pages_of_lines.len() / LINE_PAGES as usize) as u32;
                self.pages_of_lines.extend([NONE; LINE_PAGES as usize]);
            }
            let in_lines = u64::from(*line) * LINE_PAGES + key.1 % LINE_PAGES;
            self.pages_of_lines[in_lines as usize] = id;
        }
        self.pages += 1;
        self.written.resize((self.pages as usize).div_ceil(WORD_PAGES), 0);
        Some(id)
    }

    /// Gives a region that is new a table, unless there are too many with few pages.
    fn add_region(&mut self, region: PageKey) -> u32 {
        let tables = self.lines_of_tables.len() / REGION_LINES as usize;
        let mut table = NONE;
        if tables < FREE_REGIONS + self.pages as usize / MIN_PAGES_PER_REGION {
            table = tables as u32;
            self.lines_of_tables.resize(self.lines_of_tables.len() + REGION_LINES as usize, NONE);
        }
        self.tables.insert(region, table);
        table
    }

    /// Remembers whether the page was written, beside what is known of it.
    #[inline]
    pub(crate) fn note(&mut self, id: u32, is_write: bool) {
        let id = id as usize;
        self.written[id / WORD_PAGES] |= u64::from(is_write) << (id % WORD_PAGES);
    }

    pub(crate) fn pages(&self) -> u32 {
        self.pages
    }

    /// What it takes in memory, about.
    pub(crate) fn memory_bytes(&self) -> u64 {
        const SINGLE_PAGE_BYTES: usize = 2 * size_of::<(PageKey, u32)>();
        let tables = self.lines_of_tables.len() + self.pages_of_lines.len();
        let singles = (self.single_pages.len() + self.tables.len()) * SINGLE_PAGE_BYTES;
        (tables * size_of::<u32>() + singles + self.written.len() * size_of::<u64>()) as u64
    }

    pub(crate) fn dirty_pages(&self) -> u32 {
        self.written.iter().map(|word| word.count_ones()).sum()
    }

    /// All pages with their numbers, ascending by stream and page.
    pub(crate) fn into_pages_by_address(self) -> Vec<(PageKey, u32)> {
        let mut pages = Vec::with_capacity(self.pages as usize);
        let mut regions: Vec<(PageKey, u32)> =
            self.tables.iter().map(|(&region, &table)| (region, table)).collect();
        regions.retain(|&(_, table)| table != NONE);
        regions.sort_unstable();
        for ((stream, region), table) in regions {
            let first = table as usize * REGION_LINES as usize;
            let lines = &self.lines_of_tables[first..first + REGION_LINES as usize];
            for (in_region, &line) in lines.iter().enumerate().filter(|&(_, &line)| line != NONE) {
                let first_page = region * REGION_PAGES + in_region as u64 * LINE_PAGES;
                let first = line as usize * LINE_PAGES as usize;
                let ids = &self.pages_of_lines[first..first + LINE_PAGES as usize];
                let keys = (0..LINE_PAGES).map(|in_line| (stream, first_page + in_line));
                pages.extend(keys.zip(ids.iter().copied()).filter(|&(_, id)| id != NONE));
            }
        }
        if !self.single_pages.is_empty() {
            pages.extend(self.single_pages);
            // The larger part is sorted already, which a stable sort makes use of.
            pages.sort();
        }
        pages
    }
}

/// The place of a page's line in the tables.
#[inline]
fn in_tables(table: u32, key: PageKey) -> usize {
    (u64::from(table) * REGION_LINES + key.1 / LINE_PAGES % REGION_LINES) as usize
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Numbers the keys twice over and compares with an ordered map.
    fn assert_numbered(keys: &[PageKey]) -> Footprint {
        let mut expected = BTreeMap::new();
        for &key in keys {
            let next = expected.len() as u32;
            expected.entry(key).or_insert(next);
        }
        let mut footprint = Footprint::default();
        for key in keys.iter().chain(keys) {
            assert_eq!(footprint.number(*key, NONE), Some(expected[key]));
        }
        let mut numbered = Footprint::default();
        keys.iter().for_each(|&key| assert!(numbered.number(key, NONE).is_some()));
        assert_eq!(numbered.into_pages_by_address(), Vec::from_iter(expected));
        footprint
    }

    fn random_numbers() -> impl Iterator<Item = u64> {
        let mut number = 1_u64;
        std::iter::repeat_with(move || {
            number = number.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            number >> 16
        })
    }

    #[test]
    fn pages_near_each_other_are_numbered_through_tables() {
        let near = random_numbers().map(|number| ((number % 3) as u32, number >> 8 & 0xffff));
        let footprint = assert_numbered(&Vec::from_iter(near.take(20_000)));
        assert!(footprint.single_pages.is_empty());
    }

    #[test]
    fn pages_far_from_each_other_are_hashed_and_keep_the_order_of_addresses() {
        let far = random_numbers().map(|number| ((number % 3) as u32, number));
        let footprint = assert_numbered(&Vec::from_iter(far.take(20_000)));
        let tables = footprint.lines_of_tables.len() / REGION_LINES as usize;
        assert!(tables <= FREE_REGIONS + 20_000 / MIN_PAGES_PER_REGION, "{tables} tables");
        assert!(footprint.single_pages.len() > 10_000);
    }

    #[test]
    fn both_ends_of_the_address_space_are_pages() {
        let last = u64::MAX / 512;
        assert_numbered(&[(u32::MAX, last), (0, 0), (0, last), (u32::MAX, 0), (0, last - 1)]);
    }

    #[test]
    fn a_footprint_beyond_the_limit_takes_no_more_pages() {
        let mut footprint = Footprint::default();
        assert_eq!(footprint.number((0, 7), 2), Some(0));
        assert_eq!(footprint.number((0, 8), 2), Some(1));
        assert_eq!(footprint.number((0, 9), 2), None);
        assert_eq!(footprint.number((0, 8), 2), Some(1));
        assert_eq!(footprint.pages(), 2);
    }
}
