//! Which pages of the memory are used, and for what. No I/O, no allocation: the table is in storage that its owner
//! provides.

/// Something that has grown once is placed where it can become that many times as large without being moved again.
const ROOM_TO_GROW: u32 = 8;

/// The use of a range of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Use {
    /// A segment of the heap, which hands out parts of it.
    Heap = 0,
    /// One large block of the heap.
    Block = 1,
    /// An anonymous mapping of the program.
    Mapping = 2,
    /// Something that cannot be paged, which the program has mapped here: a file, or shared memory.
    Foreign = 3,
}

/// Pages in a row that are used for one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Range {
    /// The first page, counted from the start of the memory.
    pub first_page: u32,
    /// How many.
    pub pages: u32,
    /// What for.
    pub used_for: Use,
}

impl Range {
    /// The page after the last.
    pub fn end_page(&self) -> u32 {
        self.first_page + self.pages
    }
}

/// The used ranges, in the order of their pages.
pub struct RangeTable {
    storage: &'static mut [Range],
    used: usize,
    pages: u32,
    /// The number of the memory's first page in the address space, for alignment.
    origin_page: usize,
}

impl RangeTable {
    /// A table without memory.
    pub const fn empty() -> RangeTable {
        RangeTable { storage: &mut [], used: 0, pages: 0, origin_page: 0 }
    }

    /// All of `pages` are free. `storage` has room for as many ranges as there are pages.
    pub fn new(storage: &'static mut [Range], pages: u32, origin_page: usize) -> RangeTable {
        assert!(storage.len() >= pages as usize, "a table of ranges could overflow");
        RangeTable { storage, used: 0, pages, origin_page }
    }

    /// The used ranges, in order.
    pub fn ranges(&self) -> &[Range] {
        &self.storage[..self.used]
    }

    /// From where mappings and large blocks are placed, so that the heap below can grow in one piece.
    pub fn middle_page(&self) -> u32 {
        self.pages / 2
    }

    /// The range that holds this page.
    pub fn find(&self, page: u32) -> Option<Range> {
        let after = self.ranges().partition_point(|range| range.first_page <= page);
        let range = *self.ranges().get(after.checked_sub(1)?)?;
        (page < range.end_page()).then_some(range)
    }

    /// The first part of `first_page..end_page` that is used for this.
    pub fn first_part(&self, first_page: u32, end_page: u32, used_for: Use) -> Option<Range> {
        let start = self.ranges().partition_point(|range| range.end_page() <= first_page);
        let range = self.ranges()[start..].iter().find(|range| range.used_for == used_for)?;
        let first = range.first_page.max(first_page);
        let end = range.end_page().min(end_page);
        (first < end).then(|| Range { first_page: first, pages: end - first, used_for })
    }

    /// The number of free pages.
    pub fn free_pages(&self) -> u32 {
        self.pages - self.ranges().iter().map(|range| range.pages).sum::<u32>()
    }

    /// Takes `pages` in a row, the first at a multiple of `alignment_pages` in the address space, in the first gap from
    /// `from_page` on, or else in the first one at all.
    pub fn allocate(
        &mut self,
        pages: u32,
        alignment_pages: usize,
        from_page: u32,
        used_for: Use,
    ) -> Option<u32> {
        let first_page = self
            .first_gap(pages, alignment_pages, from_page)
            .or_else(|| self.first_gap(pages, alignment_pages, 0))?;
        self.insert(Range { first_page, pages, used_for });
        Some(first_page)
    }

    /// Takes `pages` in a row for something that grows, at the end of the largest gap, with free pages behind them.
    /// First-fit allocations do not go there, so the gap stays nearly as large.
    pub fn allocate_growing(&mut self, pages: u32, used_for: Use) -> Option<u32> {
        let gap_ends = self.ranges().iter().map(|range| range.first_page).chain([self.pages]);
        let gap_starts = [0].into_iter().chain(self.ranges().iter().map(Range::end_page));
        let gaps = gap_starts.zip(gap_ends);
        let (start, end) = gaps.max_by_key(|(start, end)| end - start)?;
        let room = pages.saturating_mul(ROOM_TO_GROW).min(end - start);
        if room < pages {
            return None;
        }
        self.insert(Range { first_page: end - room, pages, used_for });
        Some(end - room)
    }

    /// Takes `pages` in a row at the end of the last gap that has as many.
    pub fn allocate_last(&mut self, pages: u32, used_for: Use) -> Option<u32> {
        let mut end_page = self.pages;
        for range in self.ranges().iter().rev() {
            if end_page - range.end_page() >= pages {
                break;
            }
            end_page = range.first_page;
        }
        let first_page = end_page.checked_sub(pages)?;
        self.insert(Range { first_page, pages, used_for });
        Some(first_page)
    }

    fn first_gap(&self, pages: u32, alignment_pages: usize, from_page: u32) -> Option<u32> {
        let start = self.ranges().partition_point(|range| range.end_page() <= from_page);
        let mut candidate = self.align(from_page, alignment_pages)?;
        for range in &self.ranges()[start..] {
            if u64::from(candidate) + u64::from(pages) <= u64::from(range.first_page) {
                return Some(candidate);
            }
            candidate = self.align(range.end_page().max(candidate), alignment_pages)?;
        }
        (u64::from(candidate) + u64::from(pages) <= u64::from(self.pages)).then_some(candidate)
    }

    /// The next page from this one on that is aligned in the address space.
    fn align(&self, page: u32, alignment_pages: usize) -> Option<u32> {
        let number = self.origin_page + page as usize;
        let aligned = number.checked_next_multiple_of(alignment_pages)?;
        u32::try_from(aligned - self.origin_page).ok()
    }

    /// Adds a range where nothing is used, and joins it with its neighbours. Blocks stay apart: each is freed as one.
    fn insert(&mut self, range: Range) {
        let index = self.ranges().partition_point(|other| other.first_page < range.first_page);
        let joins = |left: &Range, right: &Range| {
            left.end_page() == right.first_page
                && left.used_for == right.used_for
                && left.used_for != Use::Block
        };
        let with_left = index > 0 && joins(&self.storage[index - 1], &range);
        let with_right = index < self.used && joins(&range, &self.storage[index]);
        match (with_left, with_right) {
            (true, true) => {
                self.storage[index - 1].pages += range.pages + self.storage[index].pages;
                self.remove_at(index);
            }
            (true, false) => self.storage[index - 1].pages += range.pages,
            (false, true) => {
                self.storage[index].first_page = range.first_page;
                self.storage[index].pages += range.pages;
            }
            (false, false) => self.insert_at(index, range),
        }
    }

    fn insert_at(&mut self, index: usize, range: Range) {
        self.storage.copy_within(index..self.used, index + 1);
        self.storage[index] = range;
        self.used += 1;
    }

    fn remove_at(&mut self, index: usize) {
        self.storage.copy_within(index + 1..self.used, index);
        self.used -= 1;
    }

    /// Takes those of `first_page..end_page` that are free.
    pub fn take_free(&mut self, first_page: u32, end_page: u32, used_for: Use) {
        let mut page = first_page;
        while page < end_page {
            if let Some(range) = self.find(page) {
                page = range.end_page();
                continue;
            }
            let next = self.ranges().partition_point(|range| range.first_page <= page);
            let end =
                self.ranges().get(next).map_or(end_page, |range| range.first_page.min(end_page));
            self.insert(Range { first_page: page, pages: end - page, used_for });
            page = end;
        }
    }

    /// Lengthens the range that ends at `end_page` if what follows is free; returns whether it did.
    pub fn extend(&mut self, end_page: u32, pages: u32) -> bool {
        let index = self.ranges().partition_point(|range| range.end_page() < end_page);
        let limit = self.ranges().get(index + 1).map_or(self.pages, |range| range.first_page);
        match self.ranges().get(index) {
            Some(range)
                if range.end_page() == end_page
                    && u64::from(end_page) + u64::from(pages) <= u64::from(limit) =>
            {
                self.storage[index].pages += pages;
                true
            }
            _ => false,
        }
    }

    /// Frees these pages, which lie in one range.
    pub fn release(&mut self, first_page: u32, pages: u32) {
        let end_page = first_page + pages;
        let after = self.ranges().partition_point(|range| range.first_page <= first_page);
        let index = after - 1;
        let range = self.storage[index];
        debug_assert!(end_page <= range.end_page());
        let left = first_page - range.first_page;
        let right = range.end_page() - end_page;
        let rest = Range { first_page: end_page, pages: right, used_for: range.used_for };
        match (left, right) {
            (0, 0) => self.remove_at(index),
            (0, _) => self.storage[index] = rest,
            (_, 0) => self.storage[index].pages = left,
            (_, _) => {
                self.storage[index].pages = left;
                self.insert_at(index + 1, rest);
            }
        }
    }
}
