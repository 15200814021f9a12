//! Which pages a program has translations for: the source of sensed reference bits.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use clockhand_pager_protocol::PAGE_BYTES;
use clockhand_policy::PageId;

use crate::driver::Bits;

/// Tells which pages of a program have a translation.
///
/// A translation that was dropped comes back with the next access, so that one which is back says that its page was
/// accessed. A kernel that clears and shows accesses itself (`UFFDIO_REGISTER_MODE_RWP`, `PAGE_IS_ACCESSED`) would be
/// another source.
pub trait Translations: Send {
    /// Keeps those of the pages, which are in ascending order, that have a translation. If the program has ended, none has.
    fn keep_translated(&mut self, pages: &mut Vec<PageId>);
}

/// The page map of a process whose memory begins at `base`, if bits are to be sensed and the kernel lets this process look
/// at it; else bits are mapped.
pub(crate) fn page_map(bits: Bits, process: i32, base: u64) -> Option<Box<dyn Translations>> {
    if bits == Bits::Mapped {
        return None;
    }
    let map = PageMap::open(process, base).ok()?;
    Some(Box::new(map))
}

/// Bytes of an entry of the page map, and the bit which says that the page has a translation; see
/// Documentation/admin-guide/mm/pagemap.rst of Linux.
const ENTRY_BYTES: usize = 8;
const IS_PRESENT: u64 = 1 << 63;

/// Entries that are read at once: reading 64 takes the kernel little longer than reading one, many more do not.
const MOST_AT_ONCE: usize = 64;

/// `/proc/PID/pagemap` of a program.
pub(crate) struct PageMap {
    file: File,
    /// Where the program sees the first page.
    base: u64,
}

impl PageMap {
    /// The page map of a process whose memory begins at `base`.
    ///
    /// # Errors
    ///
    /// If the kernel does not let this process look at it.
    pub(crate) fn open(process: i32, base: u64) -> io::Result<Self> {
        let file = File::open(format!("/proc/{process}/pagemap"))?;
        let map = PageMap { file, base };
        map.read(PageId(0), &mut [0; ENTRY_BYTES])?;
        Ok(map)
    }

    fn read(&self, first: PageId, entries: &mut [u8]) -> io::Result<()> {
        let number = self.base / PAGE_BYTES as u64 + u64::from(first.0);
        self.file.read_exact_at(entries, number * ENTRY_BYTES as u64)
    }
}

impl Translations for PageMap {
    fn keep_translated(&mut self, pages: &mut Vec<PageId>) {
        let mut entries = [0; ENTRY_BYTES * MOST_AT_ONCE];
        // The entries read last: of pages from the first up to, and without, the second.
        let mut read = (0, 0);
        let after = |page: u32| page.saturating_add(MOST_AT_ONCE as u32);
        let mut position = 0;
        let ahead = pages.clone();
        pages.retain(|&page| {
            if page.0 >= read.1 {
                let together = ahead[position..].iter().take_while(|other| other.0 < after(page.0));
                let last = together.last().map_or(page.0, |last| last.0);
                read = (page.0, last + 1);
                let bytes = &mut entries[..(last + 1 - page.0) as usize * ENTRY_BYTES];
                if self.read(page, bytes).is_err() {
                    bytes.fill(0);
                }
            }
            position += 1;
            let offset = (page.0 - read.0) as usize * ENTRY_BYTES;
            let entry = entries[offset..offset + ENTRY_BYTES].try_into().expect("an entry");
            u64::from_ne_bytes(entry) & IS_PRESENT != 0
        });
    }
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

    use super::*;

    #[test]
    fn touched_pages_have_translations_and_others_do_not() {
        const PAGES: usize = 300;
        let bytes = PAGES * PAGE_BYTES;
        // SAFETY: the kernel chooses a free address range, which is this test's alone.
        let memory = unsafe {
            mmap_anonymous(
                ptr::null_mut(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        }
        .expect("there is memory");
        // SAFETY: advice on a range that nothing uses yet; a huge page would translate many pages.
        let _ = unsafe { rustix::mm::madvise(memory, bytes, rustix::mm::Advice::LinuxNoHugepage) };
        let touched = [0, 1, 63, 64, 65, 128, 299].map(PageId);
        for page in touched {
            // SAFETY: the page lies in the range.
            unsafe { memory.cast::<u8>().add(page.index() * PAGE_BYTES).write_volatile(1) };
        }
        let process = std::process::id() as i32;
        let mut map = PageMap::open(process, memory as u64).expect("a process sees its own");
        for step in [1, 2, 3, 70] {
            let mut pages: Vec<_> = (0..PAGES as u32).step_by(step).map(PageId).collect();
            let expected: Vec<_> = pages.iter().copied().filter(|p| touched.contains(p)).collect();
            map.keep_translated(&mut pages);
            assert_eq!(pages, expected, "every {step}th page");
        }
        // SAFETY: nothing uses the range any more.
        unsafe { munmap(memory, bytes) }.expect("the range was mapped");
    }
}
