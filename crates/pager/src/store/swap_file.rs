//! Pages in a file.
//!
//! The first page of the file is its header, which says what the file is; slot `n` is the page after `n` others. The
//! file grows when no slot is free, or when a batch would be split although the file is not yet twice as large as its
//! content: consecutive slots are written in one operation.
//!
//! The new space is reserved, not written. On ext4 the first write into reserved blocks takes longer, since it ends
//! with a transaction (16 pages: 150 µs instead of 100). Writing zeros first costs more in total: 64 MiB in writes of
//! 16 pages took 0.07–0.14 s when reserved and 0.13–0.21 s after zeros.
//!
//! The kernel protects its own swap files from all other access; this one is an ordinary file. So a checksum of each
//! page is kept in memory, and a read that does not return the written content fails. Without it, the holes of a
//! truncated file would read as zeros.

mod ring;

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use clockhand_pager_protocol::PAGE_BYTES;
use rustix::fs::{FallocateFlags, FlockOperation, OFlags};
use rustix::io::Errno;

use super::slots::SlotTable;
use super::{Page, PageAddress, Slot, StoreError};
use crate::pace::Interrupts;

pub use ring::SwapFileStore;

/// How the header begins.
const MAGIC: &[u8] = b"Clockhand swap file\n";

/// What the header says after that.
const EXPLANATION: &[u8] =
    b"Memory of programs that `clockhand run` runs; means nothing when none does.\n";

/// And then in a file that did not exist before: if the run is killed, the next one knows by it that the file is to go.
const MADE_BY_A_RUN: &[u8] = b"A run made it, and removes it at its end.\n";

/// The header, and a slot.
const HEADER_BYTES: u64 = PAGE_BYTES as u64;

/// By how many slots the file grows at a time: 16 MiB.
const GROWTH_SLOTS: usize = (16 << 20) / PAGE_BYTES;

/// A swap file, shared by the [stores](SwapFileStore) of any number of paged memories; clones are the same file.
///
/// It is locked as long as one of them lives. At the end a file that did not exist before is removed, also if a run before
/// this one created it and was killed; one that the user made is cut to its header.
#[derive(Clone, Debug)]
pub struct SwapFile(Arc<Shared>);

/// What all stores of a file share.
#[derive(Debug)]
struct Shared {
    file: File,
    path: PathBuf,
    limit_slots: usize,
    is_direct: bool,
    is_created: bool,
    /// Whether the last growth succeeded. If not, the file grows only when it must, and only by what it must: asking a
    /// full file system for space is slow.
    has_grown: AtomicBool,
    slots: Mutex<SlotTable>,
    /// Checksums of what was last written to each slot.
    checksums: Mutex<Vec<u32>>,
}

impl SwapFile {
    /// Opens the swap file at `path`, which grows to at most `limit_bytes`, header included; creates it if there is
    /// none.
    ///
    /// # Errors
    ///
    /// If it is not a regular file, belongs to another user, has other names, or may be read or written by others. If
    /// it is not empty and does not begin with the header of a swap file, is locked by another run, or cannot be opened
    /// or written. If the limit leaves no room for a page.
    pub fn open(path: &Path, limit_bytes: Option<u64>) -> Result<SwapFile, StoreError> {
        let limit_slots = limit_in_slots(limit_bytes)?;
        let path = std::path::absolute(path).map_err(failed("name", path))?;
        let (file, is_created) = open_locked(&path)?;
        let mut shared = Shared {
            file,
            path,
            limit_slots,
            is_direct: false,
            is_created,
            has_grown: AtomicBool::new(true),
            slots: Mutex::default(),
            checksums: Mutex::default(),
        };
        shared.is_direct =
            shared.write_header().map_err(failed("write the header of", &shared.path))?;
        Ok(SwapFile(Arc::new(shared)))
    }

    /// A store for one paged memory, with an io_uring of its own.
    ///
    /// # Errors
    ///
    /// If the kernel refuses the ring.
    pub fn store(&self) -> Result<SwapFileStore, StoreError> {
        SwapFileStore::new(self.clone())
    }

    /// The absolute path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Returns whether reads and writes bypass the page cache (`O_DIRECT`). If the file system does not support that,
    /// the kernel keeps copies of swapped pages in memory, which no budget of frames counts: a report must say so.
    #[must_use]
    pub fn is_direct(&self) -> bool {
        self.0.is_direct
    }

    /// Those of the drive that holds the file, if reads and writes go to it.
    pub(crate) fn interrupts(&self) -> Option<Interrupts> {
        self.is_direct().then(|| Interrupts::of_drive_with(&self.0.file)).flatten()
    }

    /// Bytes of the file now.
    #[must_use]
    pub fn occupied_bytes(&self) -> u64 {
        offset_of(self.slots().slots())
    }

    /// Recounts all slots and checks that none has an owner.
    #[cfg(test)]
    pub(super) fn check_all_free(&self) {
        let slots = self.slots();
        slots.check_invariants();
        assert_eq!(slots.free_slots(), slots.slots());
    }

    fn slots(&self) -> MutexGuard<'_, SlotTable> {
        self.0.slots.lock().expect("no thread panics with a table of slots that is half changed")
    }

    /// Records checksums of what the slots are to hold.
    ///
    /// # Safety
    ///
    /// The pages are readable. One that changes during the write must not be read from its slot later.
    unsafe fn remember(&self, pages: &[(Slot, PageAddress)]) {
        let mut checksums = self.checksums();
        for &(slot, page) in pages {
            let index = slot.0 as usize;
            if checksums.len() <= index {
                checksums.resize(index + 1, 0);
            }
            // SAFETY: as the caller promises.
            checksums[index] = unsafe { checksum(page) };
        }
    }

    /// Returns whether the page that was read is the one that was last written to the slot.
    ///
    /// # Safety
    ///
    /// The page is readable, and is not changed during the call.
    unsafe fn is_as_written(&self, slot: Slot, page: PageAddress) -> bool {
        // SAFETY: as the caller promises.
        self.checksums()[slot.0 as usize] == unsafe { checksum(page) }
    }

    fn checksums(&self) -> MutexGuard<'_, Vec<u32>> {
        self.0.checksums.lock().expect("no thread panics with checksums that are half changed")
    }

    fn allocate(&self, pages: usize, taken: &mut Vec<Slot>) -> io::Result<()> {
        let mut slots = self.slots();
        let used = slots.slots() - slots.free_slots();
        let is_worth_growing = slots.slots() < 2 * used
            && self.0.has_grown.load(Ordering::Relaxed)
            && slots.find_run(pages).is_none();
        if slots.free_slots() < pages || is_worth_growing {
            let grown = self.0.grow(&mut slots, pages);
            if slots.free_slots() < pages {
                grown?;
            }
        }
        slots.take(pages, taken);
        Ok(())
    }
}

impl Shared {
    /// Cuts the file to its header; returns whether it is now open for direct reads and writes.
    fn write_header(&self) -> io::Result<bool> {
        let mut header = Page::ZEROS;
        let (magic, rest) = header.0.split_at_mut(MAGIC.len());
        magic.copy_from_slice(MAGIC);
        let (explanation, rest) = rest.split_at_mut(EXPLANATION.len());
        explanation.copy_from_slice(EXPLANATION);
        if self.is_created {
            rest[..MADE_BY_A_RUN.len()].copy_from_slice(MADE_BY_A_RUN);
        }

        self.file.set_len(0)?;
        let flags = rustix::fs::fcntl_getfl(&self.file)?;
        // A file system in memory may accept the flag, but cannot bypass the page cache.
        let is_in_memory = rustix::fs::fstatfs(&self.file)?.f_type == libc::TMPFS_MAGIC;
        if !is_in_memory && rustix::fs::fcntl_setfl(&self.file, flags | OFlags::DIRECT).is_ok() {
            match self.file.write_all_at(&header.0, 0) {
                // Refused, or the file system requires blocks that are larger than a page.
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                    rustix::fs::fcntl_setfl(&self.file, flags)?;
                }
                written => return written.map(|()| true),
            }
        }
        self.file.write_all_at(&header.0, 0)?;
        Ok(false)
    }

    /// Adds slots, so that `pages` free ones lie side by side if the limit and the file system allow it.
    fn grow(&self, slots: &mut SlotTable, pages: usize) -> io::Result<()> {
        let least = pages.saturating_sub(slots.free_slots()).max(1);
        let wanted = if self.has_grown.load(Ordering::Relaxed) { GROWTH_SLOTS } else { least };
        let mut growth = pages.max(wanted).min(self.limit_slots - slots.slots());
        if growth < least {
            let (path, bytes) = (self.path.display(), offset_of(self.limit_slots));
            let message =
                format!("the swap file {path} is full: it may have {bytes} bytes; allow it more");
            return Err(io::Error::new(io::ErrorKind::StorageFull, message));
        }
        let lengthened = loop {
            match self.lengthen(slots.slots(), growth) {
                Err(error) if error.kind() == io::ErrorKind::StorageFull && growth > least => {
                    growth = (growth / 2).max(least);
                }
                lengthened => break lengthened,
            }
        };
        self.has_grown.store(lengthened.is_ok(), Ordering::Relaxed);
        lengthened.map_err(|error| {
            let message =
                format!("cannot enlarge {}: {error}; make room for it", self.path.display());
            io::Error::new(error.kind(), message)
        })?;
        slots.extend(growth);
        Ok(())
    }

    /// Makes the file longer by `growth` pages.
    ///
    /// If the file system cannot reserve blocks, that it is full only shows when a page is written.
    fn lengthen(&self, slots: usize, growth: usize) -> io::Result<()> {
        let (start, end) = (offset_of(slots), offset_of(slots + growth));
        match rustix::fs::fallocate(&self.file, FallocateFlags::empty(), start, end - start) {
            Ok(()) => Ok(()),
            Err(Errno::OPNOTSUPP) => self.file.set_len(end),
            Err(error) => {
                // Some of the blocks may have been reserved.
                self.file.set_len(start)?;
                Err(error.into())
            }
        }
    }
}

impl Drop for Shared {
    /// An error cannot be reported to anyone here: the file then stays, and is a swap file.
    fn drop(&mut self) {
        if self.is_created && is_same_file(&self.file, &self.path).unwrap_or(false) {
            let _ = std::fs::remove_file(&self.path);
        } else if self.file.metadata().is_ok_and(|now| now.len() > HEADER_BYTES) {
            let _ = self.file.set_len(HEADER_BYTES);
        }
    }
}

/// # Safety
///
/// The page is readable.
unsafe fn checksum(page: PageAddress) -> u32 {
    // SAFETY: as the caller promises.
    crc32fast::hash(unsafe { page.0.cast::<[u8; PAGE_BYTES]>().as_ref() })
}

/// Where a slot begins in the file, in bytes.
fn offset_of(slot: usize) -> u64 {
    HEADER_BYTES + slot as u64 * PAGE_BYTES as u64
}

/// The number of slots of a file of `limit_bytes`; without a limit, as many as there are slot numbers.
fn limit_in_slots(limit_bytes: Option<u64>) -> Result<usize, StoreError> {
    let Some(limit_bytes) = limit_bytes else { return Ok(u32::MAX as usize) };
    let least_bytes = offset_of(1);
    if limit_bytes < least_bytes {
        return Err(StoreError::LimitTooSmall { limit_bytes, least_bytes });
    }
    let slots = (limit_bytes - HEADER_BYTES) / PAGE_BYTES as u64;
    Ok(slots.min(u64::from(u32::MAX)) as usize)
}

/// The file, locked for this run, with the header of a swap file or empty; and whether a run created it, this one or
/// one that was killed.
fn open_locked(path: &Path) -> Result<(File, bool), StoreError> {
    loop {
        let (mut file, is_created) = open_or_create(path)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(StoreError::InUse(path.into())),
            Err(error) => return Err(failed("lock", path)(error.into())),
        }
        // The run that held the lock until now may have removed the file.
        if !is_same_file(&file, path).map_err(failed("examine", path))? {
            continue;
        }
        let mut start = Vec::new();
        let header = (MAGIC.len() + EXPLANATION.len() + MADE_BY_A_RUN.len()) as u64;
        let beginning = (&mut file).take(header).read_to_end(&mut start);
        beginning.map_err(failed("read", path))?;
        if !start.is_empty() && !start.starts_with(MAGIC) {
            return Err(StoreError::Foreign(path.into()));
        }
        if !is_created {
            check_is_private(&file, path)?;
        }
        return Ok((file, is_created || start.ends_with(MADE_BY_A_RUN)));
    }
}

/// The file at `path`, and whether it has been created. Only the user can read or write a new one.
fn open_or_create(path: &Path) -> Result<(File, bool), StoreError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    loop {
        match options.clone().create_new(true).open(path) {
            Ok(file) => return Ok((file, true)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed("create", path)(error)),
        }
        // Examined before it is opened, because opening may already have an effect on a device.
        match std::fs::symlink_metadata(path) {
            Ok(found) if found.is_symlink() => return Err(StoreError::Link(path.into())),
            Ok(found) if !found.is_file() => return Err(StoreError::NotRegular(path.into())),
            _ => {}
        }
        // A link that takes its place in the meantime is not followed.
        match options.clone().custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path) {
            Ok(file) => return Ok((file, false)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.raw_os_error() == Some(libc::ELOOP) => {
                return Err(StoreError::Link(path.into()));
            }
            Err(error) => return Err(failed("open", path)(error)),
        }
    }
}

/// Checks that only this user, and root, can reach what an existing file is about to hold.
fn check_is_private(file: &File, path: &Path) -> Result<(), StoreError> {
    let found = file.metadata().map_err(failed("examine", path))?;
    let (path, owner, names, mode) =
        (path.into(), found.uid(), found.nlink(), found.mode() & 0o7777);
    if !found.is_file() {
        Err(StoreError::NotRegular(path))
    } else if owner != rustix::process::geteuid().as_raw() {
        Err(StoreError::OtherOwner { path, owner })
    } else if names != 1 {
        Err(StoreError::ManyNames { path, names })
    } else if mode & !0o600 != 0 {
        Err(StoreError::Mode { path, mode })
    } else {
        Ok(())
    }
}

/// Returns whether `path` is still the name of `file`.
fn is_same_file(file: &File, path: &Path) -> io::Result<bool> {
    let opened = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(named) => Ok((named.dev(), named.ino()) == (opened.dev(), opened.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_path_buf();
    move |source| StoreError::File { action, path, source }
}
