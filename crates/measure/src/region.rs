//! Memory that is mapped by hand: aligned to pages, in pages of a chosen size, or backed by a file.

use std::ffi::c_void;
use std::io::Error;
use std::os::fd::AsFd;
use std::ptr::NonNull;

use rustix::io::retry_on_intr;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};
use rustix::process::{Pid, WaitOptions, waitpid};

use crate::MeasureError;

/// Bytes of an ordinary page.
pub(crate) const PAGE_BYTES: usize = 4096;
/// Bytes of a huge page on the processors that have them by that name.
pub(crate) const HUGE_BYTES: usize = 2 << 20;

/// In which pages memory is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pages {
    Small,
    Huge,
}

/// A mapping that nothing else refers to.
pub(crate) struct Region {
    start: NonNull<u8>,
    bytes: usize,
    /// The whole mapping, which is larger where the start had to be aligned.
    mapped: (NonNull<c_void>, usize),
}

// SAFETY: a region owns its mapping alone, and a mapping belongs to no thread.
unsafe impl Send for Region {}
// SAFETY: shared access to a region only reads.
unsafe impl Sync for Region {}

impl Region {
    /// Zeroed memory that is not there yet: each page comes with its first access.
    pub(crate) fn anonymous(bytes: usize, pages: Pages) -> Result<Self, MeasureError> {
        let align = if pages == Pages::Huge { HUGE_BYTES } else { PAGE_BYTES };
        let mapped_bytes = bytes + align - PAGE_BYTES;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses an address where nothing is mapped.
        let start = unsafe {
            mmap_anonymous(std::ptr::null_mut(), mapped_bytes, access, MapFlags::PRIVATE)
        };
        let start =
            start.map_err(|error| MeasureError::system("memory cannot be mapped", error))?;
        let start = NonNull::new(start).expect("a mapping is not at address 0");
        let offset = start.cast::<u8>().align_offset(align);
        // SAFETY: the mapping is larger than asked for by what aligning can need.
        let aligned = unsafe { start.cast::<u8>().add(offset) };
        let region = Region { start: aligned, bytes, mapped: (start, mapped_bytes) };
        let advice = match pages {
            Pages::Small => Advice::LinuxNoHugepage,
            Pages::Huge => Advice::LinuxHugepage,
        };
        // Kernels without huge pages refuse both, and small pages are what is left.
        _ = region.advise(advice);
        Ok(region)
    }

    /// A file's first bytes, for reading, without reading ahead.
    pub(crate) fn of_file(file: &impl AsFd, bytes: usize) -> Result<Self, MeasureError> {
        // SAFETY: the kernel chooses an address where nothing is mapped. The file is read byte by byte through
        // volatile accesses, so that a change of it by others is no more than another value.
        let start = unsafe {
            mmap(std::ptr::null_mut(), bytes, ProtFlags::READ, MapFlags::SHARED, file, 0)
        };
        let start =
            start.map_err(|error| MeasureError::system("a file cannot be mapped", error))?;
        let start = NonNull::new(start).expect("a mapping is not at address 0");
        let region = Region { start: start.cast(), bytes, mapped: (start, bytes) };
        region
            .advise(Advice::Random)
            .map_err(|error| MeasureError::system("a mapping cannot be read at random", error))?;
        Ok(region)
    }

    fn advise(&self, advice: Advice) -> rustix::io::Result<()> {
        // SAFETY: the range is this mapping's, and none of the advices that are given drops content.
        unsafe { madvise(self.start.as_ptr().cast(), self.bytes, advice) }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Reads one byte, whatever the compiler thinks of it.
    #[inline]
    pub(crate) fn touch(&self, offset: usize) -> u8 {
        assert!(offset < self.bytes);
        // SAFETY: the byte lies in the mapping, which can be read.
        unsafe { self.start.as_ptr().add(offset).read_volatile() }
    }

    /// The memory of an anonymous region.
    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: the mapping is owned and borrowed for as long as the slice; only anonymous regions are written, which
        // the kernel zeroed.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }

    /// Has the next write to each page fault once: a child that was forked shared it, and is gone.
    pub(crate) fn forbid_writing(&self) -> Result<(), MeasureError> {
        let failed = |error| MeasureError::system("a process cannot be forked", error);
        // SAFETY: the child does nothing but end, so that no lock of another thread matters to it.
        let child = match unsafe { libc::fork() } {
            // SAFETY: it ends the child without running what the parent left for its own end.
            0 => unsafe { libc::_exit(0) },
            child => Pid::from_raw(child).filter(|_| child > 0),
        };
        let child = child.ok_or_else(|| failed(Error::last_os_error()))?;
        retry_on_intr(|| waitpid(Some(child), WaitOptions::empty()))
            .map_err(|error| failed(error.into()))?;
        Ok(())
    }

    /// Bytes of the region that are in huge pages.
    pub(crate) fn huge_bytes(&self) -> usize {
        let start = self.start.as_ptr() as usize;
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap_or_default();
        huge_bytes_of(&maps, start, start + self.bytes)
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        let (start, bytes) = self.mapped;
        // SAFETY: the mapping is this region's alone and nothing borrows it any more.
        _ = unsafe { munmap(start.as_ptr(), bytes) };
    }
}

/// Sums `AnonHugePages` over the mappings within a range; neighbours may have been merged into one.
fn huge_bytes_of(maps: &str, start: usize, end: usize) -> usize {
    let (mut is_inside, mut bytes) = (false, 0);
    for line in maps.lines() {
        let range = line.split_once(' ').and_then(|(range, _)| range.split_once('-'));
        let address = |text: &str| usize::from_str_radix(text, 16).ok();
        if let Some((from, to)) = range.and_then(|(from, to)| address(from).zip(address(to))) {
            is_inside = from < end && start < to;
        } else if let (true, Some(size)) = (is_inside, line.strip_prefix("AnonHugePages:")) {
            let kilobytes: usize = size.trim().trim_end_matches(" kB").parse().unwrap_or(0);
            bytes += kilobytes * 1024;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_pages_are_summed_over_the_mappings_of_a_region() {
        let maps = "1000-3000 rw-p 0 00:00 0\nAnonHugePages:      8 kB\n\
                    3000-5000 rw-p 0 00:00 0\nAnonHugePages:      4 kB\n\
                    9000-a000 rw-p 0 00:00 0\nAnonHugePages:     16 kB\n";
        assert_eq!(huge_bytes_of(maps, 0x2000, 0x4000), 12 << 10);
        assert_eq!(huge_bytes_of(maps, 0x5000, 0x9000), 0);
    }

    #[test]
    fn a_region_is_aligned_zeroed_and_writable() {
        for (pages, align) in [(Pages::Small, PAGE_BYTES), (Pages::Huge, HUGE_BYTES)] {
            let mut region = Region::anonymous(2 * HUGE_BYTES, pages).unwrap();
            assert_eq!(region.start() as usize % align, 0);
            assert_eq!(region.touch(HUGE_BYTES), 0);
            let last = region.bytes() - 1;
            region.as_mut_slice()[last] = 7;
            assert_eq!(region.touch(last), 7);
        }
    }
}
