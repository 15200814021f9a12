//! Where pages lie: their streams and numbers, the page tables above them, and the regions that can become huge pages.
//!
//! Memory and TLB know pages by dense numbers, in the order of (stream, page number). Neighbours, sets and page tables
//! need the original numbers, which are kept here once for all cells of a page size.

use std::ops::Range;

use clockhand_policy::Ratio;
use clockhand_trace::{PageView, Record, TraceError};

/// There is no such entry, region or parent.
pub(crate) const NONE: u32 = u32::MAX;

/// Bits of a page number that one level of the page table resolves: 512 entries a table.
const LEVEL_BITS: u32 = 9;

/// Huge pages: how large, and when a region becomes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Promotion {
    /// Base pages of a region, a power of two from 2 on.
    pub(crate) pages: u32,
    /// The number of them that must be resident.
    pub(crate) least_resident: u32,
}

impl Promotion {
    /// Regions of `pages` base pages of which `share` must be resident.
    pub(crate) fn new(pages: u32, share: Ratio) -> Self {
        let needed = share.numerator() * u64::from(pages);
        let least_resident = needed.div_ceil(share.denominator()) as u32;
        Promotion { pages, least_resident }
    }

    /// The level of the page table that maps a whole region.
    pub(crate) fn leaf_level(self, walk_levels: u32) -> u32 {
        (self.pages.ilog2() / LEVEL_BITS).min(walk_levels - 1)
    }
}

/// The pages that can be in memory at one page size.
#[derive(Clone, Debug)]
pub(crate) struct Space {
    /// Stream and page number of each page, ascending.
    keys: Vec<(u32, u64)>,
    /// Whether the trace references the page; `None` if it references all of them.
    referenced: Option<Vec<bool>>,
    /// The trace's records with the numbers of this space, where those of its view differ.
    renumbered: Option<Vec<Record>>,
    /// The streams, and which pages are theirs; ascending.
    streams: Vec<(u32, Range<u32>)>,
    pub(crate) tables: UpperTables,
    pub(crate) regions: Option<Regions>,
}

/// The regions that can be promoted, and which pages they have.
#[derive(Clone, Debug)]
pub(crate) struct Regions {
    pub(crate) promotion: Promotion,
    pub(crate) leaf_level: u32,
    /// By page; [`NONE`] if too few pages of its region are referenced to promote it ever.
    of_page: Vec<u32>,
    /// By region.
    first_page: Vec<u32>,
}

impl Space {
    /// The space of a view, with page tables of `walk_levels` levels; memory has at most `largest_frames` frames.
    ///
    /// # Errors
    ///
    /// [`TraceError::TooManyPages`] if promotion could fetch more pages than can be numbered.
    pub(crate) fn new(
        view: &PageView,
        walk_levels: u32,
        promotion: Option<Promotion>,
        largest_frames: u32,
    ) -> Result<Self, TraceError> {
        let promotion = promotion.filter(|promotion| promotion.pages <= largest_frames);
        let mut space = match promotion {
            None => Space::of_keys(view.page_keys().to_vec(), walk_levels),
            Some(promotion) => Space::with_whole_regions(view, walk_levels, promotion)?,
        };
        if let Some(promotion) = promotion {
            space.regions = Some(Regions::new(&space.keys, promotion, walk_levels));
        }
        Ok(space)
    }

    fn of_keys(keys: Vec<(u32, u64)>, walk_levels: u32) -> Self {
        Space {
            referenced: None,
            renumbered: None,
            streams: streams_of(&keys),
            tables: UpperTables::new(&keys, walk_levels),
            regions: None,
            keys,
        }
    }

    /// As [`Space::of_keys`], with all pages of the regions that can be promoted, referenced or not.
    fn with_whole_regions(
        view: &PageView,
        walk_levels: u32,
        promotion: Promotion,
    ) -> Result<Self, TraceError> {
        let per_region = u64::from(promotion.pages);
        let (mut keys, mut referenced, mut number_of) = (Vec::new(), Vec::new(), Vec::new());
        for region in view.page_keys().chunk_by(|left, right| {
            (left.0, left.1 / per_region) == (right.0, right.1 / per_region)
        }) {
            if region.len() < promotion.least_resident as usize {
                number_of.extend(keys.len() as u32..(keys.len() + region.len()) as u32);
                keys.extend(region);
                referenced.resize(keys.len(), true);
                continue;
            }
            let first = region[0].1 / per_region * per_region;
            let base = keys.len() as u32;
            keys.extend((first..=first + (per_region - 1)).map(|number| (region[0].0, number)));
            if keys.len() > PageView::LIMIT_PAGES as usize {
                let limit_pages = u64::from(PageView::LIMIT_PAGES);
                return Err(TraceError::TooManyPages {
                    limit_pages,
                    page_bytes: view.page_bytes(),
                });
            }
            referenced.resize(keys.len(), false);
            for &(_, number) in region {
                let page = base + (number - first) as u32;
                referenced[page as usize] = true;
                number_of.push(page);
            }
        }
        let mut space = Space::of_keys(keys, walk_levels);
        if space.keys.len() > number_of.len() {
            let renumber = |record: &Record| record.of_page(number_of[record.page() as usize]);
            space.renumbered = Some(view.records().iter().map(renumber).collect());
            space.referenced = Some(referenced);
        }
        Ok(space)
    }

    /// The records of the view that the space was made of, with this space's numbers.
    pub(crate) fn records<'a>(&'a self, view: &'a PageView) -> &'a [Record] {
        self.renumbered.as_deref().unwrap_or(view.records())
    }

    /// Pages, numbered from 0.
    pub(crate) fn pages(&self) -> u32 {
        self.keys.len() as u32
    }

    /// Stream and number of a page.
    pub(crate) fn key(&self, page: u32) -> (u32, u64) {
        self.keys[page as usize]
    }

    /// Translations are known by the number of their page, or by this one for a region.
    pub(crate) fn region_translation(&self, region: u32) -> u32 {
        self.pages() + region
    }

    /// How many translations there can be.
    pub(crate) fn translations(&self) -> usize {
        self.keys.len() + self.regions.as_ref().map_or(0, |regions| regions.first_page.len())
    }

    /// Stream and number of what a translation is of: a page, or a region.
    pub(crate) fn number_of_translation(&self, translation: u32) -> (u32, u64) {
        match (&self.regions, translation.checked_sub(self.pages())) {
            (Some(regions), Some(region)) => {
                let (stream, number) = self.key(regions.first_page[region as usize]);
                (stream, number / u64::from(regions.promotion.pages))
            }
            _ => self.key(translation),
        }
    }

    /// The pages behind `page`, at most `count` page numbers away in its stream, that the trace references.
    pub(crate) fn following(&self, page: u32, count: u32) -> impl Iterator<Item = u32> + '_ {
        let (stream, number) = self.key(page);
        let last = number.saturating_add(u64::from(count));
        (page + 1..self.pages())
            .take_while(move |&next| {
                let (of_stream, next_number) = self.key(next);
                of_stream == stream && next_number <= last
            })
            .filter(|&next| self.referenced.as_ref().is_none_or(|known| known[next as usize]))
    }

    /// The streams, as positions from 0, each with its pages.
    pub(crate) fn streams(&self) -> &[(u32, Range<u32>)] {
        &self.streams
    }

    /// The position of each page's stream.
    pub(crate) fn stream_positions(&self) -> Vec<u32> {
        let mut positions = Vec::with_capacity(self.keys.len());
        for (position, (_, pages)) in self.streams.iter().enumerate() {
            positions.resize(pages.end as usize, position as u32);
        }
        positions
    }
}

fn streams_of(keys: &[(u32, u64)]) -> Vec<(u32, Range<u32>)> {
    let mut streams = Vec::new();
    let mut first = 0;
    for pages in keys.chunk_by(|left, right| left.0 == right.0) {
        let end = first + pages.len() as u32;
        streams.push((pages[0].0, first..end));
        first = end;
    }
    streams
}

impl Regions {
    fn new(keys: &[(u32, u64)], promotion: Promotion, walk_levels: u32) -> Self {
        let per_region = u64::from(promotion.pages);
        let (mut of_page, mut first_page) = (Vec::with_capacity(keys.len()), Vec::new());
        for region in keys.chunk_by(|left, right| {
            (left.0, left.1 / per_region) == (right.0, right.1 / per_region)
        }) {
            // If all could be resident, all are here.
            let is_whole = region.len() == promotion.pages as usize;
            let number = if is_whole { first_page.len() as u32 } else { NONE };
            if is_whole {
                first_page.push(of_page.len() as u32);
            }
            of_page.resize(of_page.len() + region.len(), number);
        }
        Regions { promotion, leaf_level: promotion.leaf_level(walk_levels), of_page, first_page }
    }

    /// The region of a page, or [`NONE`].
    #[inline]
    pub(crate) fn of(&self, page: u32) -> u32 {
        self.of_page[page as usize]
    }

    /// Regions, numbered from 0.
    pub(crate) fn len(&self) -> usize {
        self.first_page.len()
    }

    /// The pages of a region.
    pub(crate) fn pages(&self, region: u32) -> Range<u32> {
        let first = self.first_page[region as usize];
        first..first + self.promotion.pages
    }
}

/// The entries of the page tables above the leaves of single pages, from level 1 up, numbered densely.
#[derive(Clone, Debug)]
pub(crate) struct UpperTables {
    pub(crate) levels: u32,
    /// The entry of level 1 above each page; empty if there is no such level.
    of_page: Vec<u32>,
    /// The entry above each entry, or [`NONE`] at the top.
    parent: Vec<u32>,
    /// By entry: the first page below it.
    first_page: Vec<u32>,
}

impl UpperTables {
    fn new(keys: &[(u32, u64)], levels: u32) -> Self {
        let mut tables =
            UpperTables { levels, of_page: Vec::new(), parent: Vec::new(), first_page: Vec::new() };
        let mut below: Vec<u32> = (0..keys.len() as u32).collect();
        for level in 1..levels {
            let prefix = |page: u32| {
                let (stream, number) = keys[page as usize];
                (stream, number.checked_shr(LEVEL_BITS * level).unwrap_or(0))
            };
            let first_entry = tables.first_page.len() as u32;
            let mut above = Vec::with_capacity(below.len());
            let mut last = None;
            for &page in &below {
                if last != Some(prefix(page)) {
                    last = Some(prefix(page));
                    tables.first_page.push(page);
                }
                above.push(tables.first_page.len() as u32 - 1);
            }
            if level == 1 {
                tables.of_page = above;
            } else {
                tables.parent.extend(above);
            }
            below = tables.first_page[first_entry as usize..].to_vec();
        }
        tables.parent.resize(tables.first_page.len(), NONE);
        tables
    }

    /// The number of entries above the leaves.
    pub(crate) fn len(&self) -> usize {
        self.first_page.len()
    }

    /// The entry above a leaf at `level` that maps `page`, or [`NONE`].
    pub(crate) fn above(&self, page: u32, level: u32) -> u32 {
        let mut entry = self.of_page.get(page as usize).copied().unwrap_or(NONE);
        for _ in 0..level {
            entry = self.parent_of(entry);
        }
        entry
    }

    /// The entry above an entry, or [`NONE`].
    pub(crate) fn parent_of(&self, entry: u32) -> u32 {
        if entry == NONE { NONE } else { self.parent[entry as usize] }
    }

    /// The first page below an entry.
    pub(crate) fn first_page(&self, entry: u32) -> u32 {
        self.first_page[entry as usize]
    }
}
