//! The file in memory that holds a program's pages, and the pager's own view of it.

use std::fs;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::ptr::{self, NonNull};

use clockhand_pager_protocol::PAGE_BYTES;
use clockhand_policy::PageId;
use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, ftruncate, memfd_create};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
use rustix::pipe::{
    PipeFlags, SpliceFlags, fcntl_getpipe_size, fcntl_setpipe_size, pipe_with, splice,
};

use crate::store::{Page, PageAddress};

/// A sparse file in memory, mapped for the pager: page n lies at n × 4096 in the file and in the mapping.
#[derive(Debug)]
pub(crate) struct MemoryFile {
    descriptor: OwnedFd,
    view: NonNull<u8>,
    pages: u32,
}

// SAFETY: the view is an address range that this value owns; using a page of it needs a reason of its own.
unsafe impl Send for MemoryFile {}

impl MemoryFile {
    /// A file of `pages` pages without content.
    pub(crate) fn new(pages: u32) -> io::Result<Self> {
        let bytes = pages as usize * PAGE_BYTES;
        let descriptor = memfd_create("clockhand", MemfdFlags::CLOEXEC)?;
        ftruncate(&descriptor, bytes as u64)?;
        let view = map(descriptor.as_fd(), bytes)?;
        Ok(MemoryFile { descriptor, view, pages })
    }

    pub(crate) fn pages(&self) -> u32 {
        self.pages
    }

    pub(crate) fn bytes(&self) -> usize {
        self.pages as usize * PAGE_BYTES
    }

    pub(crate) fn address(&self, page: PageId) -> PageAddress {
        assert!(page.0 < self.pages, "page {} of {}", page.0, self.pages);
        // SAFETY: the page lies within the mapping.
        PageAddress(unsafe { self.view.add(page.index() * PAGE_BYTES) })
    }

    /// Another mapping of the same pages in this process.
    pub(crate) fn map_again(&self) -> io::Result<NonNull<u8>> {
        map(self.descriptor.as_fd(), self.bytes())
    }

    pub(crate) fn fill_with_zeros(&self, page: PageId) -> io::Result<()> {
        let offset = page.index() * PAGE_BYTES;
        // A page that is missing from the file is zeros as soon as memory is allocated for it.
        Ok(fallocate(&self.descriptor, FallocateFlags::empty(), offset as u64, PAGE_BYTES as u64)?)
    }

    /// Writes the contents of pages in a row, from `first` on.
    pub(crate) fn write(&self, first: PageId, contents: &[&Page]) -> io::Result<()> {
        let offset = (first.index() * PAGE_BYTES) as u64;
        let parts: Vec<_> = contents.iter().map(|page| IoSlice::new(&page.0)).collect();
        let write = || rustix::io::pwritev(&self.descriptor, &parts, offset);
        if rustix::io::retry_on_intr(write)? != contents.len() * PAGE_BYTES {
            return Err(io::ErrorKind::WriteZero.into());
        }
        Ok(())
    }

    /// Moves pages, which are in ascending order, out of the file. The pipe, which is empty, keeps the pages themselves while
    /// they are removed, so that nothing is lost that a program writes to its mapping until then. Pages in a row are held and
    /// removed together.
    pub(crate) fn take(
        &self,
        pages: &[PageId],
        pipe: &Pipe,
        into: &mut [Box<Page>],
    ) -> io::Result<()> {
        for (pages, into) in pages.chunks(pipe.pages).zip(into.chunks_mut(pipe.pages)) {
            let rows = || pages.chunk_by(|page, next| page.0 + 1 == next.0);
            for row in rows() {
                self.hold(row[0], row.len(), pipe)?;
            }
            for row in rows() {
                self.forget(row[0], row.len() as u32)?;
            }
            pipe.empty(into)?;
        }
        Ok(())
    }

    /// Has the pipe keep pages in a row.
    fn hold(&self, first: PageId, pages: usize, pipe: &Pipe) -> io::Result<()> {
        let mut offset = (first.index() * PAGE_BYTES) as u64;
        let end = offset + (pages * PAGE_BYTES) as u64;
        while offset < end {
            let bytes = (end - offset) as usize;
            let held = rustix::io::retry_on_intr(|| {
                let (from, flags) = (self.descriptor.as_fd(), SpliceFlags::empty());
                splice(from, Some(&mut offset), &pipe.entry, None, bytes, flags)
            })?;
            if held == 0 || !held.is_multiple_of(PAGE_BYTES) {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(())
    }

    pub(crate) fn read(&self, page: PageId, into: &mut Page) -> io::Result<()> {
        // Not through the view, which would cost a translation and its end.
        let offset = page.index() * PAGE_BYTES;
        match rustix::io::retry_on_intr(|| {
            rustix::io::pread(&self.descriptor, &mut into.0, offset as u64)
        })? {
            PAGE_BYTES => Ok(()),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Reads words, which are zeros where nothing can be read.
    pub(crate) fn peek(&self, first: u64, words: &mut [u64]) {
        // SAFETY: these are the bytes of the words, and every byte is one of a word.
        let bytes = unsafe {
            std::slice::from_raw_parts_mut(words.as_mut_ptr().cast::<u8>(), size_of_val(words))
        };
        let read = rustix::io::retry_on_intr(|| {
            rustix::io::pread(&self.descriptor, &mut *bytes, first * size_of::<u64>() as u64)
        });
        bytes[read.unwrap_or(0)..].fill(0);
    }

    pub(crate) fn forget(&self, first: PageId, pages: u32) -> io::Result<()> {
        let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let (offset, bytes) = (first.index() * PAGE_BYTES, pages as usize * PAGE_BYTES);
        Ok(fallocate(&self.descriptor, punch, offset as u64, bytes as u64)?)
    }
}

/// Returns whether the kernel keeps each page of such a file by itself, so that one can be taken out as it is. Part of
/// a huge page would be cleared instead.
pub(crate) fn are_pages_single() -> bool {
    let folder = Path::new("/sys/kernel/mm/transparent_hugepage");
    let sizes = fs::read_dir(folder).into_iter().flatten().flatten().map(|size| size.path());
    let settings = sizes.chain([folder.to_owned()]).map(|size| size.join("shmem_enabled"));
    // A kernel without huge pages has none of these files.
    let mut chosen = settings.filter_map(|setting| fs::read_to_string(setting).ok());
    !chosen.any(|words| HUGE_WITHOUT_ADVICE.iter().any(|word| words.contains(word)))
}

/// Kernel settings that may give files in memory huge pages unasked.
const HUGE_WITHOUT_ADVICE: [&str; 3] = ["[always]", "[within_size]", "[force]"];

/// Holds pages that are being taken out of a memory file.
#[derive(Debug)]
pub(crate) struct Pipe {
    exit: OwnedFd,
    entry: OwnedFd,
    /// The number of pages it has room for.
    pages: usize,
}

/// The number of pages that are to be taken out together.
const PAGES_TOGETHER: usize = 64;

impl Pipe {
    pub(crate) fn new() -> io::Result<Self> {
        let (exit, entry) = pipe_with(PipeFlags::CLOEXEC)?;
        // A user's pipes may have used up what the kernel allows; then it stays as small as it is.
        let _ = fcntl_setpipe_size(&entry, PAGES_TOGETHER * PAGE_BYTES);
        let pages = (fcntl_getpipe_size(&entry)? / PAGE_BYTES).max(1);
        Ok(Pipe { exit, entry, pages })
    }

    /// Copies what it holds.
    fn empty(&self, into: &mut [Box<Page>]) -> io::Result<()> {
        let bytes = into.len() * PAGE_BYTES;
        let mut parts: Vec<_> = into.iter_mut().map(|page| IoSliceMut::new(&mut page.0)).collect();
        match rustix::io::retry_on_intr(|| rustix::io::readv(&self.exit, &mut parts))? {
            read if read == bytes => Ok(()),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

impl AsFd for MemoryFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl Drop for MemoryFile {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and no page address of it outlives the value's owner.
        let unmapped = unsafe { munmap(self.view.as_ptr().cast(), self.bytes()) };
        debug_assert!(unmapped.is_ok());
    }
}

fn map(descriptor: BorrowedFd<'_>, bytes: usize) -> io::Result<NonNull<u8>> {
    let (protection, flags) =
        (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::NORESERVE);
    // SAFETY: the kernel chooses a free address range.
    let view = unsafe { mmap(ptr::null_mut(), bytes, protection, flags, descriptor, 0) }?;
    // SAFETY: advice on a mapping that was just made and is not in use yet.
    unsafe {
        // A forked child would share the memory, and see zeros where pages are missing.
        madvise(view, bytes, Advice::LinuxDontFork)?;
        // Dumping a crashed process would fault on pages whose faults are no longer served.
        madvise(view, bytes, Advice::LinuxDontDump)?;
        // A huge page would be one translation for 512 pages. A kernel without huge pages refuses this, which is fine.
        let _ = madvise(view, bytes, Advice::LinuxNoHugepage);
    }
    Ok(NonNull::new(view.cast()).expect("a mapping is not at 0"))
}
