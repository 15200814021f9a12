//! Places the pages of a trace on a drive, at their original addresses: write buffers, mapping and collection depend on
//! neighbours.

use std::collections::BTreeMap;
use std::ops::Range;
use std::str::FromStr;

use super::requests::{ByteRange, Command, RequestList, Told};
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
    /// Classes of streams that the drive keeps apart, at least 1.
    pub(super) streams: u32,
    /// Reads the rest of a page that is written in part.
    pub(super) reads_rest: bool,
}

/// Consecutive pages of the drive that one request reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageRange {
    /// The first page.
    pub(super) first: u32,
    /// The number of pages, at most those of a block. The top bit says that they are written, the next one that they
    /// must be persistent before the answer, the third one that the range before belongs to the same request. Above the
    /// number is the class of the request's stream.
    pages_and_op: u32,
}

const WRITES: u32 = 1 << 31;
const FORCES: u32 = 1 << 30;
const CONTINUES: u32 = 1 << 29;
/// The first page is written from its middle on, the last one to its middle, and their rest is read first.
const STARTS_INSIDE: u32 = 1 << 28;
const ENDS_INSIDE: u32 = 1 << 27;
/// Pages are at most 64, classes of streams at most 255.
const PAGES: u32 = 0xff;
const STREAM_SHIFT: u32 = 8;
const STREAMS: u32 = 0xff;

impl PageRange {
    fn new(first: u64, pages: u64, request: ByteRange, continues: bool, streams: u32) -> Self {
        let op = if request.is_write() { WRITES } else { 0 };
        let op = op | if request.is_forced() { FORCES } else { 0 };
        let op = op | if continues { CONTINUES } else { 0 };
        let stream = (request.stream() as u32 % streams) << STREAM_SHIFT;
        PageRange { first: first as u32, pages_and_op: pages as u32 | op | stream }
    }

    /// Returns whether the range before is of the same request.
    pub(super) fn continues(self) -> bool {
        self.pages_and_op & CONTINUES != 0
    }

    /// The request's stream, modulo the classes of streams that the drive keeps apart.
    pub(super) fn stream(self) -> u32 {
        self.pages_and_op >> STREAM_SHIFT & STREAMS
    }

    pub(super) fn is_forced(self) -> bool {
        self.pages_and_op & FORCES != 0
    }

    /// True if a page is written in part, after its rest was read.
    #[inline]
    pub(super) fn is_partial(self, page: u32) -> bool {
        let inside = |flag| self.pages_and_op & flag != 0;
        inside(STARTS_INSIDE | ENDS_INSIDE)
            && (inside(STARTS_INSIDE) && page == self.first
                || inside(ENDS_INSIDE) && page + 1 == self.pages().end)
    }

    pub(super) fn is_write(self) -> bool {
        self.pages_and_op & WRITES != 0
    }

    pub(super) fn pages(self) -> std::ops::Range<u32> {
        self.first..self.first + (self.pages_and_op & PAGES)
    }
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
            placed.ranges[first_range].pages_and_op |= if starts { STARTS_INSIDE } else { 0 };
            let last = placed.ranges.last_mut().expect("a request has a page");
            last.pages_and_op |= if ends { ENDS_INSIDE } else { 0 };
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
    commands: Vec<(usize, PlacedCommand)>,
    command_numbers: Vec<u32>,
    /// Commands of the trace so far.
    told: u32,
    streams: u32,
    touched: PageSet,
    written: PageSet,
    references: u64,
    write_references: u64,
}

impl Collector {
    fn new(requests: usize, space: Space) -> Self {
        let Space { logical_pages, streams, .. } = space;
        Collector {
            ranges: Vec::with_capacity(requests),
            commands: Vec::new(),
            command_numbers: Vec::new(),
            told: 0,
            streams,
            touched: PageSet::new(logical_pages),
            written: PageSet::new(logical_pages),
            references: 0,
            write_references: 0,
        }
    }

    /// Places a command; pages that follow each other on the drive stay one range.
    fn command(
        &mut self,
        list: &RequestList,
        command: &Command,
        bases: &[u128],
        (space, map): (Space, AddressMap),
        place_of: &dyn Fn(u128) -> Option<u64>,
    ) {
        let before = self.ranges.len();
        self.told += 1;
        let Told::Trim { stream, address, bytes } = command.told else {
            return self.push(before, PlacedCommand::Flush);
        };
        let pushed = self.commands.len();
        let mut pages = trimmed_pages(list, (stream, address, bytes), bases, (space, map));
        // What wraps meets the same pages again.
        let whole_blocks = u128::from(space.logical_pages / u64::from(space.pages_per_block));
        let most = (whole_blocks + 2) * u128::from(space.pages_per_block);
        pages.end = pages.end.min(pages.start + most);
        let mut range = 0..0;
        for_each_part(pages, space, &mut |block, first, count| {
            let Some(block) = place_of(block) else { return };
            let first = block * u64::from(space.pages_per_block) + first;
            if range.end != first {
                self.trim(before, std::mem::replace(&mut range, first..first));
            }
            range.end += count;
        });
        // One without a page is a request all the same.
        if !range.is_empty() || self.commands.len() == pushed {
            self.push(before, PlacedCommand::Trim(range.start as u32..range.end as u32));
        }
    }

    fn trim(&mut self, before: usize, pages: Range<u64>) {
        if !pages.is_empty() {
            let pages = pages.start as u32..pages.end as u32;
            self.push(before, PlacedCommand::Trim(pages));
        }
    }

    fn push(&mut self, before: usize, command: PlacedCommand) {
        self.commands.push((before, command));
        self.command_numbers.push(self.told - 1);
    }

    fn take(&mut self, first: u64, pages: u64, request: ByteRange, continues: bool) {
        let is_write = request.is_write();
        self.ranges.push(PageRange::new(first, pages, request, continues, self.streams));
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
            commands: self.commands,
            command_numbers: self.command_numbers,
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

/// A trace that tests place by hand.
#[cfg(test)]
pub(super) struct PlacedForTest(Collector);

#[cfg(test)]
impl PlacedForTest {
    pub(super) fn new() -> Self {
        let (logical_pages, page_bytes, pages_per_block) = (1 << 20, 4096, 4);
        let (streams, reads_rest) = (255, false);
        let space = Space { logical_pages, page_bytes, pages_per_block, streams, reads_rest };
        PlacedForTest(Collector::new(0, space))
    }

    pub(super) fn request(&mut self, pages: Range<u32>, writes: bool, forces: bool, stream: u32) {
        let request = ByteRange::of_op(writes, forces, stream);
        self.0.take(pages.start.into(), pages.len() as u64, request, false);
    }

    pub(super) fn command(&mut self, command: PlacedCommand) {
        self.0.told += 1;
        let before = self.0.ranges.len();
        self.0.push(before, command);
    }

    pub(super) fn finish(self) -> Placed {
        self.0.finish()
    }
}
