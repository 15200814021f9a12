//! The program's paged memory: where it is, its lock, and what each part is used for. The heap is in `memory/heap.rs`,
//! the anonymous mappings are in `memory/mappings.rs`.

mod heap;
mod lock;
mod mappings;

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use clockhand_pager_protocol::PAGE_BYTES;

pub use self::heap::ALIGNMENT_BYTES;
use self::heap::Heap;
use self::lock::Lock;
pub use self::mappings::{copy_pages, keep_out};
use crate::ranges::{Range, RangeTable, Use};
use crate::sentence::{LOST_MEMORY_EXIT_CODE, Sentence};
use crate::system::{self, Result};

const MEBIBYTE: usize = 1 << 20;

/// The address of the memory; 0 before there is one.
static START: AtomicUsize = AtomicUsize::new(0);
/// Where it ends.
static END: AtomicUsize = AtomicUsize::new(0);

/// The inode of the file that is mapped there.
static FILE_INODE: AtomicU64 = AtomicU64::new(0);

/// The inode of the file that the pager has given for the memory.
pub fn file_inode() -> u64 {
    FILE_INODE.load(Ordering::Relaxed)
}

/// Keeps the inode of the memory's file. Called by the thread that attaches the program, or its child.
pub fn set_file_inode(inode: u64) {
    FILE_INODE.store(inode, Ordering::Relaxed);
}

/// Where the memory begins in the address space.
pub fn start() -> usize {
    START.load(Ordering::Acquire)
}

/// The number of bytes it has.
pub fn total_bytes() -> usize {
    END.load(Ordering::Acquire) - start()
}

/// Does this address lie in the memory?
#[inline]
pub fn contains(address: usize) -> bool {
    address < END.load(Ordering::Relaxed) && address >= START.load(Ordering::Relaxed)
}

/// Do any of these addresses lie in the memory?
pub fn overlaps(address: usize, bytes: usize) -> bool {
    address < END.load(Ordering::Relaxed)
        && address.saturating_add(bytes) > START.load(Ordering::Relaxed)
}

/// What the lock guards. Its own data are outside of the paged memory; the heap's blocks have their sizes in it.
pub struct Memory {
    heap: Heap,
}

/// The lock of the memory, and what it guards.
struct Locked {
    lock: Lock,
    memory: UnsafeCell<Memory>,
    ranges: UnsafeCell<RangeTable>,
}

// SAFETY: `memory` and `ranges` are used by the holder of `lock` only.
unsafe impl Sync for Locked {}

static LOCKED: Locked = Locked {
    lock: Lock::new(),
    memory: UnsafeCell::new(Memory { heap: Heap::new() }),
    ranges: UnsafeCell::new(RangeTable::empty()),
};

/// Takes the lock for a fork, which holds it throughout; false if the calling thread holds it already: then a signal handler
/// forks, and what it has interrupted goes on in both processes.
pub fn lock_to_fork() -> bool {
    LOCKED.lock.take()
}

/// Takes the lock.
fn lock() {
    if !LOCKED.lock.take() {
        let sentence = Sentence::new(format_args!(
            "a signal handler used the heap while its thread did, which would destroy it: the program ends"
        ));
        sentence.end_program(LOST_MEMORY_EXIT_CODE);
    }
}

/// Releases the lock, also in a child that was forked under it.
pub fn unlock() {
    LOCKED.lock.give_back();
}

/// Works with the memory under its lock.
pub fn with<T>(work: impl FnOnce(&mut Memory) -> T) -> T {
    lock();
    // SAFETY: the lock is held, and `work` has no way back to here: nothing below this module calls it.
    let result = work(unsafe { &mut *LOCKED.memory.get() });
    unlock();
    result
}

/// Works with the table of ranges. The heap calls this by itself while [`with`] has the memory in use.
///
/// # Safety
/// The caller holds the lock, and `work` does not call this function again.
unsafe fn with_ranges<T>(work: impl FnOnce(&mut RangeTable) -> T) -> T {
    // SAFETY: as the caller promises.
    work(unsafe { &mut *LOCKED.ranges.get() })
}

/// True once something that cannot be paged has been mapped in the memory.
static HAS_FOREIGN: AtomicBool = AtomicBool::new(false);

/// The share of a part of the memory that the program has mapped itself and that is not paged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// Nothing.
    None,
    /// Some of it.
    Part,
    /// All of it.
    All,
}

/// The share of this range of the memory that is not paged.
pub fn foreign(address: usize, bytes: usize) -> Foreign {
    match HAS_FOREIGN.load(Ordering::Relaxed) {
        true => with(|memory| memory.foreign(address, bytes)),
        false => Foreign::None,
    }
}

/// Set when the message about too little memory was printed.
static HAS_SAID: AtomicBool = AtomicBool::new(false);

/// More than that is in no address space, so that every system would refuse it.
const LARGEST_ADDRESS_SPACE_BYTES: usize = 1 << 46;

/// Prints once that `bytes` have no room in the memory; the program gets an error, or unpaged memory.
pub fn say_full(bytes: usize, is_given_unpaged: bool) {
    if bytes > LARGEST_ADDRESS_SPACE_BYTES || HAS_SAID.swap(true, Ordering::Relaxed) {
        return;
    }
    let (wanted, whole) = (bytes.div_ceil(MEBIBYTE), total_bytes() / MEBIBYTE);
    let then =
        if is_given_unpaged { "they are not paged" } else { "it is told that there is no memory" };
    let sentence = Sentence::new(format_args!(
        "the program asks for {wanted} MiB at once, for which there is no room in the {whole} MiB that it can have paged: \
         {then}; --address-space allows it more"
    ));
    sentence.write_to(libc::STDERR_FILENO);
}

/// The program has memory, all of it free. Called once, by the thread that attaches the program.
pub fn begin(address: usize, bytes: usize) -> Result<()> {
    let pages = bytes / PAGE_BYTES;
    let table_bytes = (pages * size_of::<Range>()).next_multiple_of(PAGE_BYTES);
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping.
    let table = unsafe { system::mmap(0, table_bytes, protection, flags, -1, 0) }?;
    // SAFETY: the mapping is new, large enough, never unmapped, and zero is valid for a range.
    let storage = unsafe { core::slice::from_raw_parts_mut(table as *mut Range, pages) };
    let ranges = RangeTable::new(storage, pages as u32, address / PAGE_BYTES);
    lock();
    // SAFETY: the lock is held.
    unsafe { with_ranges(|table| *table = ranges) };
    unlock();
    END.store(address + bytes, Ordering::Release);
    START.store(address, Ordering::Release);
    Ok(())
}

/// The page of an address in the memory.
fn page_of(address: usize) -> u32 {
    ((address - start()) / PAGE_BYTES) as u32
}

/// The address of a page.
fn address_of(page: u32) -> usize {
    start() + page as usize * PAGE_BYTES
}

/// The number of pages for `bytes`; `None` if no memory has that many.
fn pages_for(bytes: usize) -> Option<u32> {
    u32::try_from(bytes.div_ceil(PAGE_BYTES).max(1)).ok()
}

/// Calls `take` with the parts of the memory that are, or can be, paged, in order: address and bytes.
///
/// # Safety
/// As for [`for_each_used`].
pub unsafe fn for_each_pageable(mut take: impl FnMut(usize, usize) -> Result<()>) -> Result<()> {
    let mut first_page = 0;
    // SAFETY: as the caller promises.
    unsafe {
        with_ranges(|ranges| {
            let foreign = ranges.ranges().iter().filter(|range| range.used_for == Use::Foreign);
            for range in foreign {
                let pages = range.first_page - first_page;
                if pages > 0 {
                    take(address_of(first_page), pages as usize * PAGE_BYTES)?;
                }
                first_page = range.end_page();
            }
            let bytes = END.load(Ordering::Acquire) - address_of(first_page);
            if bytes > 0 { take(address_of(first_page), bytes) } else { Ok(()) }
        })
    }
}

/// Calls `take` with the used parts of these addresses, which lie in the memory: address and bytes.
///
/// # Safety
/// The caller holds the lock and does not have the ranges in use, nor does `take` use them.
pub unsafe fn for_each_used(address: usize, end: usize, mut take: impl FnMut(usize, usize)) {
    let take_part = |range: &Range| {
        let (first, after) = (address_of(range.first_page), address_of(range.end_page()));
        let (first, after) = (first.max(address), after.min(end));
        if first < after {
            take(first, after - first);
        }
    };
    let is_ours = |range: &&Range| range.used_for != Use::Foreign;
    // SAFETY: as the caller promises.
    unsafe { with_ranges(|ranges| ranges.ranges().iter().filter(is_ours).for_each(take_part)) };
}

/// Forgets the contents of used pages and frees them. They must be zero when they are given out again: what a sandbox does
/// not let the pager forget is overwritten, and pages that cannot be made zero stay used forever.
///
/// # Safety
/// The caller holds the lock and does not have the ranges in use; the pages lie in one range and are not longer in use.
unsafe fn release(first_page: u32, pages: u32) -> bool {
    let bytes = pages as usize * PAGE_BYTES;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: these pages are not longer in use. Any protection that the program had set is removed for the next user.
    let restored = unsafe { system::mprotect(address_of(first_page), bytes, protection) };
    let released = restored.is_ok() && {
        if !crate::pager::discard(first_page, pages) {
            // SAFETY: these pages are not longer in use, and can be written.
            unsafe { core::ptr::write_bytes(address_of(first_page) as *mut u8, 0, bytes) };
        }
        true
    };
    if released {
        // SAFETY: as the caller promises.
        unsafe { with_ranges(|ranges| ranges.release(first_page, pages)) };
    }
    released
}
