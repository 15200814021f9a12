//! The heap: dlmalloc for what is small, pages of its own for each large block.

use core::ptr::{copy_nonoverlapping, null_mut, write_bytes};

use clockhand_pager_protocol::PAGE_BYTES;
use dlmalloc::{Allocator, Dlmalloc};

use super::{Memory, address_of, page_of, pages_for, release, with_ranges};
use crate::ranges::{Range, RangeTable, Use};

/// As in the C library: blocks from this size on get pages of their own ...
const FIRST_BLOCK_BYTES: usize = 128 * 1024;
/// ... and when one is freed its size becomes the new limit, up to this one: what is freed and taken again and again
/// should not be forgotten and filled with zeros each time.
const LARGEST_LIMIT_BYTES: usize = 32 * 1024 * 1024;

/// The alignment of every block.
pub const ALIGNMENT_BYTES: usize = 16;

/// Bytes before a block of dlmalloc that hold its size; the lowest bits of the size are flags.
const SIZE_BYTES: usize = size_of::<usize>();
const SIZE_FLAGS: usize = 7;

/// When that many times the limit has been freed, it is time to look whether the heap has become too large.
const FREED_BEFORE_TRIMMING: usize = 2;

/// Where dlmalloc's segments come from.
struct Segments {
    /// Less than that at a segment's end is not given back: it will be taken again.
    least_given_back_bytes: usize,
}

// SAFETY: segments are pages of the memory without another use; all of this happens under the memory's lock,
// which is held whenever dlmalloc runs.
unsafe impl Allocator for Segments {
    fn alloc(&self, bytes: usize) -> (*mut u8, usize, u32) {
        let Some(pages) = pages_for(bytes) else { return (null_mut(), 0, 0) };
        // SAFETY: dlmalloc runs under the lock, and nothing that uses the ranges calls dlmalloc.
        let first_page = unsafe { with_ranges(|ranges| ranges.allocate(pages, 1, 0, Use::Heap)) };
        match first_page {
            Some(page) => (address_of(page) as *mut u8, pages as usize * PAGE_BYTES, 0),
            None => (null_mut(), 0, 0),
        }
    }

    fn remap(&self, _: *mut u8, _: usize, _: usize, _: bool) -> *mut u8 {
        null_mut()
    }

    fn free_part(&self, segment: *mut u8, bytes: usize, new_bytes: usize) -> bool {
        if bytes - new_bytes < self.least_given_back_bytes {
            return false;
        }
        let pages = ((bytes - new_bytes) / PAGE_BYTES) as u32;
        // SAFETY: dlmalloc runs under the lock and has no block in the part that it gives back.
        unsafe { release(page_of(segment as usize + new_bytes), pages) }
    }

    fn free(&self, segment: *mut u8, bytes: usize) -> bool {
        // SAFETY: as in `free_part`.
        unsafe { release(page_of(segment as usize), (bytes / PAGE_BYTES) as u32) }
    }

    fn can_release_part(&self, _: u32) -> bool {
        true
    }

    fn allocates_zeros(&self) -> bool {
        true
    }

    fn page_size(&self) -> usize {
        PAGE_BYTES
    }
}

/// The state of the heap.
pub struct Heap {
    small: Dlmalloc<Segments>,
    /// The limit from which on a block gets pages of its own.
    block_bytes: usize,
    /// Freed in small blocks since the heap has been trimmed.
    freed_bytes: usize,
}

impl Heap {
    /// Without segments.
    pub const fn new() -> Heap {
        let segments = Segments { least_given_back_bytes: 2 * FIRST_BLOCK_BYTES };
        Heap {
            small: Dlmalloc::new_with_allocator(segments),
            block_bytes: FIRST_BLOCK_BYTES,
            freed_bytes: 0,
        }
    }
}

/// The large block that begins at this address.
///
/// # Safety
/// The caller holds the lock and does not have the ranges in use.
unsafe fn large_block(address: *mut u8) -> Option<Range> {
    if !(address as usize).is_multiple_of(PAGE_BYTES) {
        return None;
    }
    let page = page_of(address as usize);
    // SAFETY: as the caller promises.
    let range = unsafe { with_ranges(|ranges| ranges.find(page)) }?;
    (range.used_for == Use::Block && range.first_page == page).then_some(range)
}

impl Memory {
    /// A block of memory; null if there is no room for it. Large ones are zero.
    pub fn allocate(&mut self, bytes: usize, alignment_bytes: usize) -> *mut u8 {
        if bytes >= self.heap.block_bytes {
            return self.allocate_large(bytes, alignment_bytes);
        }
        // SAFETY: the alignment is a power of two, which the interposed functions check.
        unsafe { self.heap.small.c_memalign(alignment_bytes, bytes) }
    }

    fn allocate_large(&mut self, bytes: usize, alignment_bytes: usize) -> *mut u8 {
        let Some(pages) = pages_for(bytes) else { return null_mut() };
        let alignment_pages = alignment_bytes.div_ceil(PAGE_BYTES);
        self.block_of_pages(|ranges| {
            let from_page = ranges.middle_page();
            ranges.allocate(pages, alignment_pages, from_page, Use::Block)
        })
    }

    /// A block that begins at the page that `place` took; null if it took none.
    fn block_of_pages(&mut self, place: impl FnOnce(&mut RangeTable) -> Option<u32>) -> *mut u8 {
        // SAFETY: `self` is reached under the lock only, and dlmalloc is not running.
        let first_page = unsafe { with_ranges(place) };
        first_page.map_or(null_mut(), |page| address_of(page) as *mut u8)
    }

    /// A block of zeros.
    pub fn allocate_zeros(&mut self, bytes: usize) -> *mut u8 {
        let large = bytes >= self.heap.block_bytes;
        let block = self.allocate(bytes, ALIGNMENT_BYTES);
        if !large && !block.is_null() {
            // SAFETY: the block is new and as large as that.
            unsafe { write_bytes(block, 0, bytes) };
        }
        block
    }

    /// Frees a block.
    ///
    /// # Safety
    /// It is a block of this heap, and is no longer in use.
    pub unsafe fn free(&mut self, block: *mut u8) {
        // SAFETY: `self` is reached under the lock only; the rest is as the caller promises.
        unsafe {
            let Some(range) = large_block(block) else { return self.free_small(block) };
            release(range.first_page, range.pages);
            let bytes = range.pages as usize * PAGE_BYTES;
            if (self.heap.block_bytes..LARGEST_LIMIT_BYTES).contains(&bytes) {
                self.heap.block_bytes = bytes + 1;
                self.heap.small.allocator_mut().least_given_back_bytes = 2 * bytes;
            }
        }
    }

    /// dlmalloc's own trimming gives up once a segment's end was not given back, so that it is tried from time to time.
    ///
    /// # Safety
    /// As for [`Memory::free`], of a block of dlmalloc.
    unsafe fn free_small(&mut self, block: *mut u8) {
        // SAFETY: as the caller promises.
        unsafe {
            self.heap.freed_bytes += self.usable_bytes(block);
            self.heap.small.c_free(block);
            if self.heap.freed_bytes > FREED_BEFORE_TRIMMING * self.heap.block_bytes {
                self.heap.freed_bytes = 0;
                self.heap.small.trim(self.heap.block_bytes);
            }
        }
    }

    /// How many bytes of a block the program may use.
    ///
    /// # Safety
    /// It is a block of this heap.
    pub unsafe fn usable_bytes(&self, block: *mut u8) -> usize {
        // SAFETY: `self` is reached under the lock only; dlmalloc keeps a block's size, with its own overhead of one
        // word, in the word before it.
        unsafe {
            match large_block(block) {
                Some(range) => range.pages as usize * PAGE_BYTES,
                None => (*block.sub(SIZE_BYTES).cast::<usize>() & !SIZE_FLAGS) - SIZE_BYTES,
            }
        }
    }

    /// Makes a block larger or smaller, if need be elsewhere; null, and nothing has changed, if there is no room.
    ///
    /// # Safety
    /// It is a block of this heap, and is no longer used if another one is returned.
    pub unsafe fn reallocate(&mut self, block: *mut u8, bytes: usize) -> *mut u8 {
        // SAFETY: `self` is reached under the lock only; the rest is as the caller promises.
        unsafe {
            match large_block(block) {
                None if bytes < self.heap.block_bytes => self.heap.small.c_realloc(block, bytes),
                Some(range) if bytes >= FIRST_BLOCK_BYTES && resize_in_place(range, bytes) => block,
                _ => self.reallocate_elsewhere(block, bytes),
            }
        }
    }

    /// # Safety
    /// As for [`Memory::reallocate`].
    unsafe fn reallocate_elsewhere(&mut self, block: *mut u8, bytes: usize) -> *mut u8 {
        let new_block = match pages_for(bytes) {
            Some(pages) if bytes >= self.heap.block_bytes => {
                self.block_of_pages(|ranges| ranges.allocate_growing(pages, Use::Block))
            }
            _ => self.allocate(bytes, ALIGNMENT_BYTES),
        };
        if !new_block.is_null() {
            // SAFETY: both blocks are as large as what is copied, and the new one is new.
            unsafe {
                copy_nonoverlapping(block, new_block, self.usable_bytes(block).min(bytes));
                self.free(block);
            }
        }
        new_block
    }

    /// Gives back to the pager what the heap does not need, but for `pad_bytes`: whether there was any.
    pub fn trim(&mut self, pad_bytes: usize) -> bool {
        let usual_bytes = self.heap.small.allocator().least_given_back_bytes;
        self.heap.small.allocator_mut().least_given_back_bytes = 0;
        // SAFETY: `self` is reached under the lock only.
        let trimmed = unsafe { self.heap.small.trim(pad_bytes) };
        self.heap.small.allocator_mut().least_given_back_bytes = usual_bytes;
        trimmed
    }
}

/// Makes a large block larger or smaller where it is: whether it could.
///
/// # Safety
/// The caller holds the lock and does not have the ranges in use; pages beyond the new size are not used any more.
unsafe fn resize_in_place(range: Range, bytes: usize) -> bool {
    let Some(pages) = pages_for(bytes) else { return false };
    if pages < range.pages {
        // SAFETY: as the caller promises. If it cannot be released the block stays as large as it was.
        unsafe { release(range.first_page + pages, range.pages - pages) };
        return true;
    }
    // SAFETY: as the caller promises.
    pages == range.pages
        || unsafe { with_ranges(|ranges| ranges.extend(range.end_page(), pages - range.pages)) }
}
