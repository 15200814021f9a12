//! Places the pages of a trace on a drive, at their original addresses: write buffers, mapping and collection depend on
//! neighbours.

mod collector;
mod page_range;

use clockhand_policy::LogicalPage;
use clockhand_quantity::{Text, option};
use std::collections::BTreeMap;
use std::ops::Range;
use std::str::FromStr;

use super::requests::{ByteRange, RequestList};
use crate::error::SimError;
use collector::Collector;
#[cfg(test)]
pub(super) use collector::PlacedForTest;
pub(super) use page_range::PageRange;

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
            SimError::usage(
                option("map") + format!(" {text:?} is unknown"),
                "give original, wrap or compact",
            )
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
    /// Classes of streams that the drive keeps apart, at least 1.
    pub(super) streams: u32,
    /// Reads the rest of a page that is written in part.
    pub(super) reads_rest: bool,
}

/// A command for the drive, between two ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PlacedCommand {
    /// All that was written before must be persistent.
    Flush,
    /// These pages are not needed any more.
    Trim(Range<u32>),
}

/// The requests of a trace on a drive.
pub(super) struct Placed {
    pub(super) ranges: Vec<PageRange>,
    /// The commands, each with the index of the range before which it comes; a TRIM whose pages are apart is several.
    pub(super) commands: Vec<(usize, PlacedCommand)>,
    /// Which command of the trace each of them is.
    pub(super) command_numbers: Vec<u32>,
    /// Page references.
    pub(super) references: u64,
    /// Page references that write.
    pub(super) write_references: u64,
    /// Distinct pages.
    pub(super) footprint_pages: u32,
    /// Distinct pages that are written.
    pub(super) dirty_footprint_pages: u32,
}

impl Placed {
    /// The pages that are written, in their order.
    pub(super) fn writes(&self) -> impl Iterator<Item = LogicalPage> {
        let written = self.ranges.iter().filter(|range| range.is_write());
        written.flat_map(|range| range.pages()).map(|page| LogicalPage(page.into()))
    }

    /// Which request of the trace a range is of, commands counted too.
    pub(super) fn request_of(&self, range: usize) -> u64 {
        let ranges = self.ranges[..=range].iter().filter(|range| !range.continues()).count();
        let before = self.commands.iter().take_while(|(before, _)| *before <= range).count();
        let commands = self.command_numbers[..before].last().map_or(0, |number| number + 1);
        ranges as u64 - 1 + u64::from(commands)
    }

    /// Bytes of its lists.
    pub(super) fn memory_bytes(&self) -> u64 {
        (size_of_val(&*self.ranges) + size_of_val(&*self.commands)) as u64
    }
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
        return Err(beyond_the_end(
            trace,
            end,
            space,
            Text::from("add ") + option("map") + " wrap or " + option("map") + " compact",
        ));
    }
    let blocks = match map {
        AddressMap::Compact => Some(compact_blocks(trace, list, space, &bases)?),
        AddressMap::Original | AddressMap::Wrap => None,
    };
    let per_block = u64::from(space.pages_per_block);
    let whole_blocks = space.logical_pages / per_block;
    if map == AddressMap::Wrap && whole_blocks == 0 {
        return Err(beyond_the_end(trace, end, space, "give a drive of at least one block".into()));
    }
    let mut placed = Collector::new(list.requests.len(), space);
    let place_of = |block: u128| match (&blocks, map) {
        (Some(blocks), _) => blocks.get(&block).copied(),
        (None, AddressMap::Wrap) => Some((block % u128::from(whole_blocks)) as u64),
        // The end was compared with the drive's.
        (None, _) => Some(block as u64),
    };
    let mut commands = list.commands.iter().peekable();
    for (index, &request) in list.requests.iter().enumerate() {
        while let Some(command) = commands.next_if(|command| command.before <= index) {
            placed.command(list, command, &bases, (space, map), &place_of);
        }
        let mut continues = false;
        let first_range = placed.ranges.len();
        for_each_block(request, &bases, space, &mut |block, first, pages| {
            let block = place_of(block).expect("blocks of requests have places");
            placed.take(block * per_block + first, pages, request, continues);
            continues = true;
        });
        if space.reads_rest && request.is_write() {
            let (starts, ends) = request.is_inside(space.page_bytes);
            placed.ranges[first_range].starts_inside(starts);
            placed.ranges.last_mut().expect("a request has a page").ends_inside(ends);
        }
    }
    for command in commands {
        placed.command(list, command, &bases, (space, map), &place_of);
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
    let base = bases[request.stream()];
    for_each_part(base + u128::from(first)..base + u128::from(last) + 1, space, take);
}

/// Calls `take(block, first page in it, pages)` for each block of a range of pages.
fn for_each_part(pages: Range<u128>, space: Space, take: &mut dyn FnMut(u128, u64, u64)) {
    let per_block = u128::from(space.pages_per_block);
    let mut page = pages.start;
    while page < pages.end {
        let block = page / per_block;
        let block_end = ((block + 1) * per_block).min(pages.end);
        take(block, (page % per_block) as u64, (block_end - page) as u64);
        page = block_end;
    }
}

/// The pages wholly inside a range of bytes, as far as requests of the stream reach; of the last stream at original
/// addresses, as far as the drive reaches. None if the stream has no request.
fn trimmed_pages(
    list: &RequestList,
    (stream, address, bytes): (u32, u64, u64),
    bases: &[u128],
    (space, map): (Space, AddressMap),
) -> Range<u128> {
    let page_bytes = u64::from(space.page_bytes);
    let Some(position) = list.streams.iter().position(|&(number, _)| number == stream) else {
        return 0..0;
    };
    let base = bases[position];
    let is_last = position + 1 == list.streams.len();
    let reached = match space.logical_pages.checked_sub(base as u64) {
        Some(to_the_end) if is_last && map == AddressMap::Original => to_the_end,
        _ => list.streams[position].1 / page_bytes + 1,
    };
    let first = address.div_ceil(page_bytes).min(reached);
    let end = (address.saturating_add(bytes) / page_bytes).min(reached);
    base + u128::from(first)..base + u128::from(end.max(first))
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
            Text::from("even with ") + option("map") + " compact, so give a larger drive",
        )),
        false => Ok(blocks),
    }
}

fn beyond_the_end(trace: &str, pages: u128, space: Space, remedy: Text) -> SimError {
    let bytes = |pages: u128| pages * u128::from(space.page_bytes);
    SimError::usage(
        format!(
            "{trace}: the trace reaches to byte {} and the drive has {} bytes",
            bytes(pages),
            bytes(space.logical_pages.into())
        ),
        remedy,
    )
}
