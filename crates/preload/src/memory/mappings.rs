//! Anonymous mappings of the program that lie in the paged memory.

use core::ptr::{copy_nonoverlapping, write_bytes};

use clockhand_pager_protocol::PAGE_BYTES;

use super::{Memory, address_of, page_of, pages_for, release, with_ranges};
use crate::ranges::Use;

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

    /// Ends what is mapped in these addresses, which lie in the memory. Blocks of the heap stay.
    ///
    /// # Safety
    /// The addresses are not longer in use.
    pub unsafe fn unmap(&mut self, address: usize, bytes: usize) {
        let Some(pages) = pages_for(bytes) else { return };
        let mut first_page = page_of(address);
        let end_page = first_page.saturating_add(pages);
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
