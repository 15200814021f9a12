//! Which pages a program has translations for: the source of sensed reference bits.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use clockhand_pager_protocol::PAGE_BYTES;
use clockhand_policy::PageId;

use crate::given_away::GivenAway;
use crate::settings::Bits;

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
    /// Returns whether a write to a page whose writes are forbidden goes on and is seen here; else it waits as a fault.
    fn sees_writes(&self) -> bool;

    /// Adds what is seen of each of the pages, which are in ascending order. Of a program that has ended nothing is known,
    /// so that its pages may have been written.
    fn look(&mut self, pages: &[PageId], seen: &mut Vec<Seen>);

    /// Which of the pages from `first` on, at most 64, have a translation: a bit for each, the lowest for the first.
    fn translated(&mut self, first: PageId, pages: u32) -> u64 {
        translated_by_looking(self, first, pages)
    }
}

fn translated_by_looking(
    translations: &mut (impl Translations + ?Sized),
    first: PageId,
    pages: u32,
) -> u64 {
    let together: Vec<_> = (first.0..first.0 + pages).map(PageId).collect();
    let mut seen = Vec::with_capacity(together.len());
    translations.look(&together, &mut seen);
    seen.iter().rev().fold(0, |bits, seen| bits << 1 | u64::from(seen.is_translated))
}

/// Bytes of an entry of the page map, and the bits which say that the page has a translation and that it is
/// write-protected; see Documentation/admin-guide/mm/pagemap.rst of Linux. The kernel keeps the protection of a page whose
/// translation is dropped.
const ENTRY_BYTES: usize = 8;
const IS_PRESENT: u64 = 1 << 63;
const IS_WRITE_PROTECTED: u64 = 1 << 57;

/// Entries that are read at once: reading 64 takes the kernel little longer than reading one, many more do not.
const MOST_AT_ONCE: usize = 64;

/// `struct pm_scan_arg` and `struct page_region` of Linux, from 6.7 on.
#[repr(C)]
struct Scan {
    bytes: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    regions: u64,
    regions_len: u64,
    most_pages: u64,
    inverted: u64,
    all_of: u64,
    any_of: u64,
    returned: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Region {
    start: u64,
    end: u64,
    categories: u64,
}

/// `_IOWR('f', 16, struct pm_scan_arg)`.
const IOCTL_SCAN: libc::Ioctl =
    (3 << 30 | size_of::<Scan>() << 16 | (b'f' as usize) << 8 | 16) as libc::Ioctl;
const CATEGORY_PRESENT: u64 = 1 << 3;

/// `/proc/PID/pagemap` of a program.
pub(crate) struct PageMap {
    file: File,
    /// Where the program sees the first page.
    base: u64,
    sees_writes: bool,
    /// True if the kernel scans ranges. It takes half as long as reading their entries, which say more.
    scans: bool,
    given_away: GivenAway,
}

impl PageMap {
    /// The page map of a process, if bits are to be sensed and the kernel lets this process look at it; else bits are mapped.
    pub(crate) fn of_process(bits: Bits, process: i32) -> Option<Self> {
        if bits == Bits::Mapped {
            return None;
        }
        let file = File::open(format!("/proc/{process}/pagemap")).ok()?;
        let given_away = GivenAway::default();
        let map = PageMap { file, base: 0, sees_writes: false, scans: true, given_away };
        map.read(PageId(0), &mut [0; ENTRY_BYTES]).ok()?;
        Some(map)
    }

    /// Shows the memory that begins at `base`, and writes if they are not faults. Pages that were given away have no
    /// translation.
    pub(crate) fn at(
        self,
        base: u64,
        sees_writes: bool,
        given_away: GivenAway,
    ) -> Box<dyn Translations> {
        Box::new(PageMap { base, sees_writes, given_away, ..self })
    }

    fn read(&self, first: PageId, entries: &mut [u8]) -> io::Result<()> {
        let number = self.base / PAGE_BYTES as u64 + u64::from(first.0);
        self.file.read_exact_at(entries, number * ENTRY_BYTES as u64)
    }

    /// Which of the pages have a translation; `None` if the kernel does not scan.
    fn scan(&self, first: PageId, pages: u32) -> Option<u64> {
        let start = self.base + first.index() as u64 * PAGE_BYTES as u64;
        let empty = Region { start: 0, end: 0, categories: 0 };
        // No two regions meet.
        let mut regions = [empty; MOST_AT_ONCE / 2];
        let mut scan = Scan {
            bytes: size_of::<Scan>() as u64,
            flags: 0,
            start,
            end: start + u64::from(pages) * PAGE_BYTES as u64,
            walk_end: 0,
            regions: regions.as_mut_ptr() as u64,
            regions_len: regions.len() as u64,
            most_pages: 0,
            inverted: 0,
            all_of: CATEGORY_PRESENT,
            any_of: 0,
            returned: CATEGORY_PRESENT,
        };
        // SAFETY: the kernel writes to the argument and to as many regions as there are.
        let found = unsafe { libc::ioctl(self.file.as_raw_fd(), IOCTL_SCAN, &raw mut scan) };
        let found = regions.get(..usize::try_from(found).ok()?)?;
        let number = |address: u64| (address - start) / PAGE_BYTES as u64;
        Some(found.iter().fold(0, |bits, region| {
            let pages = number(region.end) - number(region.start);
            bits | u64::MAX >> (u64::from(u64::BITS) - pages) << number(region.start)
        }))
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
                let is_ours = !self.given_away.has(*page);
                Seen {
                    is_translated: is_ours && entry & IS_PRESENT != 0,
                    is_written: is_ours && self.sees_writes && entry & IS_WRITE_PROTECTED == 0,
                }
            }));
        }
    }

    fn translated(&mut self, first: PageId, pages: u32) -> u64 {
        assert!(pages as usize <= MOST_AT_ONCE, "{pages} pages");
        if self.scans {
            match self.scan(first, pages) {
                Some(translated) if self.given_away.is_empty() => return translated,
                Some(translated) => {
                    let is_ours = |bit: &u32| !self.given_away.has(PageId(first.0 + bit));
                    let ours = (0..pages).filter(is_ours).fold(0, |bits, bit| bits | 1 << bit);
                    return translated & ours;
                }
                None => self.scans = false,
            }
        }
        translated_by_looking(self, first, pages)
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
        let mut map = PageMap { base: memory as u64, ..map };
        for step in [1, 2, 3, 70] {
            let pages: Vec<_> = (0..PAGES as u32).step_by(step).map(PageId).collect();
            let mut seen = Vec::new();
            map.look(&pages, &mut seen);
            let expected = pages.iter().map(|page| touched.contains(page));
            assert!(seen.iter().map(|seen| seen.is_translated).eq(expected), "every {step}th page");
            assert!(!seen.iter().any(|seen| seen.is_written));
        }
        let bits = |first: u32, pages: u32| {
            let there = touched.iter().filter(|page| (first..first + pages).contains(&page.0));
            there.fold(0, |bits, page| bits | 1u64 << (page.0 - first))
        };
        // A kernel before 6.7 does not scan, and turns this off.
        for scans in [true, false] {
            map.scans = scans;
            for (first, pages) in [(0, 64), (64, 64), (1, 63), (62, 5), (100, 64), (299, 1)] {
                let found = map.translated(PageId(first), pages);
                assert_eq!(found, bits(first, pages), "{pages} from {first}, scanned: {scans}");
            }
        }
        // SAFETY: nothing uses the range any more.
        unsafe { munmap(memory, bytes) }.expect("the range was mapped");
    }
}
