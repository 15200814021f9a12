//! Anonymous mappings of the program that lie in the paged memory.

use core::ptr::{copy_nonoverlapping, write_bytes};
use core::sync::atomic::Ordering;

use clockhand_pager_protocol::PAGE_BYTES;

use super::{
    Foreign, HAS_FOREIGN, Memory, address_of, page_of, pages_for, release, total_bytes, with_ranges,
};
use crate::ranges::{Range, Use};
use crate::system::{self, Result};

/// One part of this many of the memory is left for other things than reservations.
const LEFT_BY_RESERVATIONS: usize = 4;

impl Memory {
    /// A new mapping of zeros; `None` if there is no room.
    pub fn map(&mut self, bytes: usize) -> Option<usize> {
        let pages = pages_for(bytes)?;
        // SAFETY: `self` is reached under the lock only.
        let first_page = unsafe {
            with_ranges(|ranges| {
                let from_page = ranges.middle_page();
                ranges.allocate(pages, 1, from_page, Use::Mapping)
            })
        };
        first_page.map(address_of)
    }

    /// A new mapping without access, for parts that are committed later. `None` if there is no room, or if too little would be
    /// left for what is used at once.
    pub fn reserve(&mut self, bytes: usize) -> Option<usize> {
        let pages = pages_for(bytes)?;
        // SAFETY: `self` is reached under the lock only.
        let free = unsafe { with_ranges(|ranges| ranges.free_pages()) };
        let kept = total_bytes() / PAGE_BYTES / LEFT_BY_RESERVATIONS;
        if (free as usize).saturating_sub(kept) < pages as usize {
            return None;
        }
        // SAFETY: as above.
        let first_page = unsafe { with_ranges(|ranges| ranges.allocate_last(pages, Use::Mapping)) };
        let (address, bytes) = (address_of(first_page?), pages as usize * PAGE_BYTES);
        // SAFETY: a new mapping, which nothing uses yet.
        unsafe {
            if system::mprotect(address, bytes, libc::PROT_NONE).is_err() {
                self.unmap(address, bytes);
                return None;
            }
        }
        Some(address)
    }

    /// The first part of this, which lies in the memory, that is something of the program's and not paged.
    fn foreign_part(&self, address: usize, bytes: usize) -> Option<Range> {
        let (first_page, pages) = (page_of(address), pages_for(bytes)?);
        let end_page = first_page.saturating_add(pages);
        // SAFETY: `self` is reached under the lock only.
        unsafe { with_ranges(|ranges| ranges.first_part(first_page, end_page, Use::Foreign)) }
    }

    pub(super) fn foreign(&self, address: usize, bytes: usize) -> Foreign {
        match self.foreign_part(address, bytes) {
            None => Foreign::None,
            Some(part)
                if part.first_page == page_of(address) && pages_for(bytes) == Some(part.pages) =>
            {
                Foreign::All
            }
            Some(_) => Foreign::Part,
        }
    }

    /// Has the pager leave these whole pages, which lie in the memory, to what the program maps there; whether it does. Their
    /// contents are lost. Blocks of the heap cannot be given away.
    ///
    /// # Safety
    /// The code that uses these addresses expects this, and something is mapped there at once.
    pub unsafe fn give_away(&mut self, address: usize, bytes: usize) -> bool {
        let Some(pages) = pages_for(bytes) else { return false };
        let first_page = page_of(address);
        let end_page = first_page.saturating_add(pages);
        // SAFETY: `self` is reached under the lock only.
        let has_blocks = unsafe {
            with_ranges(|ranges| {
                [Use::Heap, Use::Block]
                    .iter()
                    .any(|&used_for| ranges.first_part(first_page, end_page, used_for).is_some())
            })
        };
        if has_blocks || !crate::pager::give_away(first_page, pages) {
            return false;
        }
        HAS_FOREIGN.store(true, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe {
            with_ranges(|ranges| {
                while let Some(part) = ranges.first_part(first_page, end_page, Use::Mapping) {
                    ranges.release(part.first_page, part.pages);
                }
                ranges.take_free(first_page, end_page, Use::Foreign);
            });
        }
        true
    }

    /// Ends what is mapped in these addresses, which lie in the memory. Blocks of the heap stay, and where something was that is
    /// not paged nothing of ours comes again.
    ///
    /// # Safety
    /// The addresses are not longer in use.
    pub unsafe fn unmap(&mut self, address: usize, bytes: usize) {
        let Some(pages) = pages_for(bytes) else { return };
        let mut first_page = page_of(address);
        let end_page = first_page.saturating_add(pages);
        // SAFETY: as the caller promises.
        unsafe { end_foreign(first_page, end_page) };
        loop {
            // SAFETY: `self` is reached under the lock only; the rest is as the caller promises.
            unsafe {
                let part =
                    with_ranges(|ranges| ranges.first_part(first_page, end_page, Use::Mapping));
                let Some(part) = part else { return };
                release(part.first_page, part.pages);
                first_page = part.end_page();
            }
        }
    }

    /// Makes whole pages of zeros of what lies in these addresses, which lie in the memory.
    ///
    /// # Safety
    /// The code that uses these addresses expects this.
    pub unsafe fn make_zero(&mut self, address: usize, bytes: usize) {
        let Some(pages) = pages_for(bytes) else { return };
        if !crate::pager::discard(page_of(address), pages) {
            // SAFETY: the addresses lie in the memory; the rest is as the caller promises.
            unsafe { write_bytes(address as *mut u8, 0, pages as usize * PAGE_BYTES) };
        }
    }

    /// A mapping of zeros in these addresses, which lie in the memory and can be written, whatever was there. Blocks of the heap
    /// stay blocks.
    ///
    /// # Safety
    /// The code that uses these addresses expects this.
    pub unsafe fn map_over(&mut self, address: usize, bytes: usize) {
        let Some(pages) = pages_for(bytes) else { return };
        let first_page = page_of(address);
        // SAFETY: as the caller promises; `self` is reached under the lock only.
        unsafe {
            self.make_zero(address, bytes);
            with_ranges(|ranges| ranges.take_free(first_page, first_page + pages, Use::Mapping));
        }
    }

    /// Makes a mapping larger or smaller where it is: whether it could.
    ///
    /// # Safety
    /// It is a mapping that begins at a page; what lies behind the new size is no longer used.
    pub unsafe fn resize_in_place(
        &mut self,
        address: usize,
        bytes: usize,
        new_bytes: usize,
    ) -> bool {
        let (Some(pages), Some(new_pages)) = (pages_for(bytes), pages_for(new_bytes)) else {
            return false;
        };
        let Some(end_page) = page_of(address).checked_add(pages) else { return false };
        // SAFETY: `self` is reached under the lock only; the rest is as the caller promises.
        unsafe {
            if new_pages < pages {
                let kept_bytes = new_pages as usize * PAGE_BYTES;
                self.unmap(address + kept_bytes, (pages - new_pages) as usize * PAGE_BYTES);
            }
            new_pages <= pages || with_ranges(|ranges| ranges.extend(end_page, new_pages - pages))
        }
    }

    /// A new mapping of zeros for something that grows; `None` if there is no room.
    pub fn map_to_grow(&mut self, bytes: usize) -> Option<usize> {
        let pages = pages_for(bytes)?;
        // SAFETY: `self` is reached under the lock only.
        unsafe { with_ranges(|ranges| ranges.allocate_growing(pages, Use::Mapping)) }
            .map(address_of)
    }
}

/// Ends what lies in these pages and is not paged, and keeps others from mapping anything there.
///
/// # Safety
/// It is no longer in use; the caller holds the lock and does not have the ranges in use.
unsafe fn end_foreign(mut first_page: u32, end_page: u32) {
    if !HAS_FOREIGN.load(Ordering::Relaxed) {
        return;
    }
    let next = |first_page| {
        // SAFETY: as the caller promises.
        unsafe { with_ranges(|ranges| ranges.first_part(first_page, end_page, Use::Foreign)) }
    };
    while let Some(part) = next(first_page) {
        // SAFETY: as the caller promises. What cannot be replaced stays as it is.
        let _ = unsafe { keep_out(address_of(part.first_page), part.pages as usize * PAGE_BYTES) };
        first_page = part.end_page();
    }
}

/// Maps nothing of use in these addresses, whatever was there.
///
/// # Safety
/// What was there is no longer in use.
pub unsafe fn keep_out(address: usize, bytes: usize) -> Result<usize> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    // SAFETY: as the caller promises.
    unsafe { system::mmap(address, bytes, libc::PROT_NONE, flags, -1, 0) }
}

/// Copies whole pages to a mapping of zeros. Pages of zeros are not written, so that they take no memory there.
///
/// # Safety
/// The program may read here and write there, and expects this.
pub unsafe fn copy_pages(from: usize, to: usize, bytes: usize) {
    for offset in (0..bytes).step_by(PAGE_BYTES) {
        let (page, copy) = ((from + offset) as *const u64, (to + offset) as *mut u64);
        // SAFETY: as the caller promises; both begin at a page.
        unsafe {
            let words = core::slice::from_raw_parts(page, PAGE_BYTES / size_of::<u64>());
            if words.iter().any(|&word| word != 0) {
                copy_nonoverlapping(page, copy, words.len());
            }
        }
    }
}
