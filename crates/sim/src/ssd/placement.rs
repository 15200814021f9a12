//! Where the pages of a trace lie on a drive: at their original addresses, because write buffers, mapping and
//! collection depend on which pages are neighbours.

use std::collections::BTreeMap;
use std::str::FromStr;

use super::requests::{ByteRange, RequestList};
use crate::SimError;

/// What to do with a trace that reaches beyond the drive's end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressMap {
    /// Refuse it.
    #[default]
    Original,
    /// Take block numbers modulo the drive's whole blocks.
    Wrap,
    /// Number the blocks that the trace touches one after the other; the pages of a block stay together.
    Compact,
}

impl AddressMap {
    /// Its name: what `--map` takes, or `original`.
    pub fn name(self) -> &'static str {
        match self {
            AddressMap::Original => "original",
            AddressMap::Wrap => "wrap",
            AddressMap::Compact => "compact",
        }
    }
}

impl FromStr for AddressMap {
    type Err = SimError;

    fn from_str(text: &str) -> Result<AddressMap, SimError> {
        let all = [AddressMap::Original, AddressMap::Wrap, AddressMap::Compact];
        all.into_iter().find(|map| map.name() == text).ok_or_else(|| {
            SimError::Usage(format!("--map {text:?} is unknown; give original, wrap or compact"))
        })
    }
}

/// A drive as placement sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Space {
    /// Pages that the host may use.
    pub(super) logical_pages: u64,
    /// Bytes of a page.
    pub(super) page_bytes: u32,
    /// Pages of a block of the write buffer.
    pub(super) pages_per_block: u32,
}

/// Consecutive pages of the drive that one request reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageRange {
    /// The first page.
    pub(super) first: u32,
    /// How many; the top bit says that they are written.
    pages_and_op: u32,
}

const WRITES: u32 = 1 << 31;

impl PageRange {
    fn new(first: u64, pages: u64, is_write: bool) -> Self {
        let op = if is_write { WRITES } else { 0 };
        PageRange { first: first as u32, pages_and_op: pages as u32 | op }
    }

    pub(super) fn is_write(self) -> bool {
        self.pages_and_op & WRITES != 0
    }

    pub(super) fn pages(self) -> std::ops::Range<u32> {
        self.first..self.first + (self.pages_and_op & !WRITES)
    }
}

/// The requests of a trace on a drive.
pub(super) struct Placed {
    pub(super) ranges: Vec<PageRange>,
    /// Page references.
    pub(super) references: u64,
    /// Page references that write.
    pub(super) write_references: u64,
    /// Distinct pages.
    pub(super) footprint_pages: u32,
    /// Distinct pages that are written.
    pub(super) dirty_footprint_pages: u32,
}

/// Places a trace on a drive.
///
/// Streams get disjoint ranges that begin with a block, in the order of their numbers. A trace of one stream
/// keeps its addresses.
///
/// # Errors
///
/// A sentence with both sizes if the trace reaches beyond the drive's end and `map` does not help.
pub(super) fn place(
    trace: &str,
    list: &RequestList,
    space: Space,
    map: AddressMap,
) -> Result<Placed, SimError> {
    let bases = stream_bases(list, space);
    let end = bases.last().copied().unwrap_or(0);
    if map == AddressMap::Original && end > space.logical_pages.into() {
        return Err(beyond_the_end(trace, end, space, "add --map wrap or --map compact"));
    }
    let blocks = match map {
        AddressMap::Compact => Some(compact_blocks(trace, list, space, &bases)?),
        AddressMap::Original | AddressMap::Wrap => None,
    };
    let per_block = u64::from(space.pages_per_block);
    let whole_blocks = space.logical_pages / per_block;
    if map == AddressMap::Wrap && whole_blocks == 0 {
        return Err(beyond_the_end(trace, end, space, "give a drive of at least one block"));
    }
    let mut placed = Collector::new(list.requests.len(), space.logical_pages);
    for &request in &list.requests {
        for_each_block(request, &bases, space, &mut |block, first, pages| {
            let block = match (&blocks, map) {
                (Some(blocks), _) => blocks[&block],
                (None, AddressMap::Wrap) => (block % u128::from(whole_blocks)) as u64,
                // The end was compared with the drive's.
                (None, _) => block as u64,
            };
            placed.take(block * per_block + first, pages, request.is_write());
        });
    }
    Ok(placed.finish())
}

/// The first page of each stream's range, and last the end of all.
fn stream_bases(list: &RequestList, space: Space) -> Vec<u128> {
    let per_block = u128::from(space.pages_per_block);
    let mut bases = vec![0];
    for &(_, last_byte) in &list.streams {
        let pages = u128::from(last_byte / u64::from(space.page_bytes)) + 1;
        let base = bases.last().copied().unwrap_or(0);
        // The last stream need not fill its block.
        let is_last = bases.len() == list.streams.len();
        bases.push(base + if is_last { pages } else { pages.div_ceil(per_block) * per_block });
    }
    bases
}

/// Calls `take(block, first page in it, pages)` for each block that a request touches.
fn for_each_block(
    request: ByteRange,
    bases: &[u128],
    space: Space,
    take: &mut dyn FnMut(u128, u64, u64),
) {
    let (first, last) = request.pages(space.page_bytes);
    let per_block = u128::from(space.pages_per_block);
    let base = bases[request.stream()];
    let (mut page, end) = (base + u128::from(first), base + u128::from(last) + 1);
    while page < end {
        let block = page / per_block;
        let block_end = ((block + 1) * per_block).min(end);
        take(block, (page % per_block) as u64, (block_end - page) as u64);
        page = block_end;
    }
}

/// A number for each block that the trace touches, in the order of the blocks.
fn compact_blocks(
    trace: &str,
    list: &RequestList,
    space: Space,
    bases: &[u128],
) -> Result<BTreeMap<u128, u64>, SimError> {
    let mut blocks = BTreeMap::new();
    for &request in &list.requests {
        for_each_block(request, bases, space, &mut |block, _, _| {
            blocks.insert(block, 0);
        });
    }
    for (number, place) in blocks.values_mut().enumerate() {
        *place = number as u64;
    }
    let pages = blocks.len() as u128 * u128::from(space.pages_per_block);
    match pages > space.logical_pages.into() {
        true => Err(beyond_the_end(
            trace,
            pages,
            space,
            "even with --map compact, so give a larger drive",
        )),
        false => Ok(blocks),
    }
}

fn beyond_the_end(trace: &str, pages: u128, space: Space, remedy: &str) -> SimError {
    let bytes = |pages: u128| pages * u128::from(space.page_bytes);
    SimError::Usage(format!(
        "{trace}: the trace reaches to byte {} and the drive has {} bytes; {remedy}",
        bytes(pages),
        bytes(space.logical_pages.into()),
    ))
}

/// Collects ranges, none of which spans two blocks, and counts.
struct Collector {
    ranges: Vec<PageRange>,
    touched: PageSet,
    written: PageSet,
    references: u64,
    write_references: u64,
}

impl Collector {
    fn new(requests: usize, logical_pages: u64) -> Self {
        Collector {
            ranges: Vec::with_capacity(requests),
            touched: PageSet::new(logical_pages),
            written: PageSet::new(logical_pages),
            references: 0,
            write_references: 0,
        }
    }

    fn take(&mut self, first: u64, pages: u64, is_write: bool) {
        self.ranges.push(PageRange::new(first, pages, is_write));
        self.references += pages;
        self.touched.add(first..first + pages);
        if is_write {
            self.write_references += pages;
            self.written.add(first..first + pages);
        }
    }

    fn finish(self) -> Placed {
        Placed {
            ranges: self.ranges,
            references: self.references,
            write_references: self.write_references,
            footprint_pages: self.touched.len,
            dirty_footprint_pages: self.written.len,
        }
    }
}

/// A set of pages of a drive, one bit each.
struct PageSet {
    bits: Vec<u64>,
    len: u32,
}

impl PageSet {
    fn new(logical_pages: u64) -> Self {
        PageSet { bits: vec![0; logical_pages.div_ceil(64) as usize], len: 0 }
    }

    fn add(&mut self, pages: std::ops::Range<u64>) {
        for page in pages {
            let (word, bit) = ((page / 64) as usize, 1 << (page % 64));
            self.len += u32::from(self.bits[word] & bit == 0);
            self.bits[word] |= bit;
        }
    }
}
