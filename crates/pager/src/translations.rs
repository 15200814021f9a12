//! Which pages a program has translations for: the source of sensed reference bits.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use clockhand_pager_protocol::PAGE_BYTES;
use clockhand_policy::PageId;

use crate::driver::Bits;

/// What is seen of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The program has a translation for it.
    pub is_translated: bool,
    /// It may have been written since writes were last forbidden. Never, if each first write is a fault.
    pub is_written: bool,
}

/// Shows which pages of a program have a translation, and which have been written.
///
/// A translation that was dropped comes back with the next access, so that one which is back says that its page was
/// accessed. A kernel that clears and shows accesses itself (`UFFDIO_REGISTER_MODE_RWP`, `PAGE_IS_ACCESSED`) would be
/// another source, if it did not refuse that for memory whose writes are watched: both need the same bit of an entry.
pub trait Translations: Send {
    /// Whether a write to a page whose writes are forbidden goes on and is seen here; else it waits as a fault.
    fn sees_writes(&self) -> bool;

    /// Adds what is seen of each of the pages, which are in ascending order. Of a program that has ended nothing is known,
    /// so that its pages may have been written.
    fn look(&mut self, pages: &[PageId], seen: &mut Vec<Seen>);
}

/// Bytes of an entry of the page map, and the bits which say that the page has a translation and that it is
/// write-protected; see Documentation/admin-guide/mm/pagemap.rst of Linux. The kernel keeps the protection of a page whose
/// translation is dropped.
const ENTRY_BYTES: usize = 8;
const IS_PRESENT: u64 = 1 << 63;
const IS_WRITE_PROTECTED: u64 = 1 << 57;

/// Entries that are read at once: reading 64 takes the kernel little longer than reading one, many more do not.
const MOST_AT_ONCE: usize = 64;

/// `/proc/PID/pagemap` of a program.
pub(crate) struct PageMap {
    file: File,
    /// Where the program sees the first page.
    base: u64,
    sees_writes: bool,
}

impl PageMap {
    /// The page map of a process, if bits are to be sensed and the kernel lets this process look at it; else bits are mapped.
    pub(crate) fn of_process(bits: Bits, process: i32) -> Option<Self> {
        if bits == Bits::Mapped {
            return None;
        }
        let file = File::open(format!("/proc/{process}/pagemap")).ok()?;
        let map = PageMap { file, base: 0, sees_writes: false };
        map.read(PageId(0), &mut [0; ENTRY_BYTES]).ok()?;
        Some(map)
    }

    /// Shows the memory that begins at `base`, and writes if they are not faults.
    pub(crate) fn at(self, base: u64, sees_writes: bool) -> Box<dyn Translations> {
        Box::new(PageMap { base, sees_writes, ..self })
    }

    fn read(&self, first: PageId, entries: &mut [u8]) -> io::Result<()> {
        let number = self.base / PAGE_BYTES as u64 + u64::from(first.0);
        self.file.read_exact_at(entries, number * ENTRY_BYTES as u64)
    }
}

impl Translations for PageMap {
    fn sees_writes(&self) -> bool {
        self.sees_writes
    }

    fn look(&mut self, pages: &[PageId], seen: &mut Vec<Seen>) {
        let mut entries = [0; ENTRY_BYTES * MOST_AT_ONCE];
        let mut rest = pages;
        while let [first, ..] = *rest {
            let is_near = |page: &&PageId| ((page.0 - first.0) as usize) < MOST_AT_ONCE;
            let near = rest.iter().take_while(is_near).count();
            let (together, others) = rest.split_at(near);
            rest = others;
            let last = together[near - 1];
            let entries = &mut entries[..(last.0 - first.0 + 1) as usize * ENTRY_BYTES];
            if self.read(first, entries).is_err() {
                entries.fill(0);
            }
            seen.extend(together.iter().map(|page| {
                let entry = &entries[(page.0 - first.0) as usize * ENTRY_BYTES..][..ENTRY_BYTES];
                let entry = u64::from_ne_bytes(entry.try_into().expect("an entry"));
                Seen {
                    is_translated: entry & IS_PRESENT != 0,
                    is_written: self.sees_writes && entry & IS_WRITE_PROTECTED == 0,
                }
            }));
        }
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
        let map = PageMap::of_process(Bits::Sensed, process).expect("a process sees its own");
        let mut map = map.at(memory as u64, false);
        for step in [1, 2, 3, 70] {
            let pages: Vec<_> = (0..PAGES as u32).step_by(step).map(PageId).collect();
            let mut seen = Vec::new();
            map.look(&pages, &mut seen);
            let expected = pages.iter().map(|page| touched.contains(page));
            assert!(seen.iter().map(|seen| seen.is_translated).eq(expected), "every {step}th page");
            assert!(!seen.iter().any(|seen| seen.is_written));
        }
        // SAFETY: nothing uses the range any more.
        unsafe { munmap(memory, bytes) }.expect("the range was mapped");
    }
}
