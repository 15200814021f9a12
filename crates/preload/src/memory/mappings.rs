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
    /// The addresses are no longer in use.
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

    /// Makes a mapping larger or smaller, elsewhere if `may_move`; `None`, and nothing has changed, if it cannot.
    ///
    /// # Safety
    /// It is a mapping that begins at a page, and is no longer used if another address is returned.
    pub unsafe fn remap(
        &mut self,
        address: usize,
        bytes: usize,
        new_bytes: usize,
        may_move: bool,
    ) -> Option<usize> {
        let pages = pages_for(bytes)?;
        let new_pages = pages_for(new_bytes)?;
        let end_page = page_of(address).checked_add(pages)?;
        // SAFETY: `self` is reached under the lock only; the rest is as the caller promises.
        unsafe {
            if new_pages <= pages {
                let kept_bytes = new_pages as usize * PAGE_BYTES;
                if new_pages < pages {
                    self.unmap(address + kept_bytes, (pages - new_pages) as usize * PAGE_BYTES);
                }
                return Some(address);
            }
            if with_ranges(|ranges| ranges.extend(end_page, new_pages - pages)) {
                return Some(address);
            }
            if !may_move {
                return None;
            }
            let new_page = with_ranges(|ranges| ranges.allocate_growing(new_pages, Use::Mapping))?;
            let new_address = address_of(new_page);
            let kept_bytes = pages as usize * PAGE_BYTES;
            copy_nonoverlapping(address as *const u8, new_address as *mut u8, kept_bytes);
            self.unmap(address, kept_bytes);
            Some(new_address)
        }
    }
}
