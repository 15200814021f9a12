//! Stores for pages that are not in memory.
//!
//! [`SwapFile`] is a file, read and written past the page cache; [`CompressedRam`] keeps pages compressed in memory.
//! Any number of paged memories share one; each drives its own store in it. [`EmulatedStore`] takes the times of a
//! device that is not there. [`FaultyStore`] is the test kit: any store, with failures when a test wants them.

/// Methods of a [`Store`] that do what the store below does, which is in the field `store`.
#[doc(hidden)]
#[macro_export]
macro_rules! as_below {
    ($($method:ident),+) => { $($crate::as_below!(@ $method);)+ };
    (@ allocate) => {
        fn allocate(&mut self, pages: usize, slots: &mut Vec<Slot>) -> io::Result<()> {
            self.store.allocate(pages, slots)
        }
    };
    (@ release) => {
        fn release(&mut self, slot: Slot) {
            self.store.release(slot);
        }
    };
    (@ share) => {
        fn share(&mut self, slot: Slot) {
            self.store.share(slot);
        }
    };
    (@ is_shared) => {
        fn is_shared(&self, slot: Slot) -> bool {
            self.store.is_shared(slot)
        }
    };
    (@ has_read) => {
        fn has_read(&mut self) -> bool {
            self.store.has_read()
        }
    };
    (@ end_read_of) => {
        fn end_read_of(&mut self, slot: Slot) -> bool {
            self.store.end_read_of(slot)
        }
    };
    (@ end_read) => {
        fn end_read(&mut self) -> io::Result<()> {
            self.store.end_read()
        }
    };
    (@ occupied_bytes) => {
        fn occupied_bytes(&self) -> u64 {
            self.store.occupied_bytes()
        }
    };
}

mod compressed;
mod emulated;
mod error;
mod faulty;
mod slots;
mod swap_file;
#[cfg(test)]
mod tests;

use std::io;
use std::ptr::NonNull;

use clockhand_pager_protocol::PAGE_BYTES;

pub use compressed::{CompressedRam, CompressedRamStore, DEFAULT_LEVEL};
pub use emulated::{EmulatedDevice, EmulatedStore};
pub use error::StoreError;
pub use faulty::{FaultScript, FaultyStore, WriteFault};
pub use swap_file::{SwapFile, SwapFileStore};

/// A place for one page in a store, numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot(pub u32);

/// A page of memory that a store reads into or writes from: 4096 bytes, aligned to 4096.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageAddress(pub NonNull<u8>);

// SAFETY: an address alone does nothing; code that dereferences it justifies that the page is alive and unshared.
unsafe impl Send for PageAddress {}

impl PageAddress {
    /// Returns whether every byte is 0.
    ///
    /// # Safety
    ///
    /// The page is readable, and is not changed during the call.
    pub(crate) unsafe fn is_zeros(self) -> bool {
        // SAFETY: as the caller promises; a page is aligned to more than a word.
        let words = unsafe { self.0.cast::<[u64; PAGE_BYTES / 8]>().as_ref() };
        words.chunks(8).all(|words| words.iter().fold(0, |all, word| all | word) == 0)
    }
}

/// The bytes of a page, aligned as stores want them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(C, align(4096))]
pub struct Page(pub [u8; PAGE_BYTES]);

impl Page {
    /// A page of zeros.
    pub const ZEROS: Page = Page([0; PAGE_BYTES]);

    /// Where the page is.
    pub fn address(&mut self) -> PageAddress {
        PageAddress(NonNull::from(&mut self.0).cast())
    }

    /// Returns whether every byte is 0.
    pub(crate) fn is_zeros(&mut self) -> bool {
        // SAFETY: the page is borrowed for the call.
        unsafe { self.address().is_zeros() }
    }
}

/// A write that has been started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteTicket(pub u64);

/// Keeps pages that are not in memory.
///
/// One store belongs to one paged memory and is driven by one thread. Several stores may share one file.
///
/// Reads are synchronous. Writes are started and complete later, so that a fault's read need not wait for them; a
/// caller that wants a synchronous write waits for it at once. A write that fails, or is short, changes no slot in a
/// way that loses a page: the page is still in memory, and the same write may be started again.
pub trait Store: Send {
    /// A free slot for each of `pages` pages, next to each other if they can be: consecutive slots are written in one
    /// operation. The slots belong to the caller until they are [released](Store::release).
    ///
    /// # Errors
    ///
    /// If the store is full or cannot grow; no slot has been taken then.
    fn allocate(&mut self, pages: usize, slots: &mut Vec<Slot>) -> io::Result<()>;

    /// Removes one owner of `slot`. A slot without an owner is free; a slot that is being written becomes free when the
    /// write has ended.
    fn release(&mut self, slot: Slot);

    /// Adds one owner to `slot`, which is not being written: a forked process shares the pages that neither process has
    /// changed since.
    fn share(&mut self, slot: Slot);

    /// Returns whether `slot` has more than one owner, so that it must not be overwritten.
    fn is_shared(&self, slot: Slot) -> bool;

    /// Reads the page in `slot`, which has been written and is not being written now, and waits for it.
    ///
    /// # Safety
    ///
    /// `into` is a writable page that nothing else accesses during the call.
    ///
    /// # Errors
    ///
    /// If the page cannot be read as a whole; the content of `into` is then undefined.
    unsafe fn read(&mut self, slot: Slot, into: PageAddress) -> io::Result<()>;

    /// Reads pages as [`Store::read`] does, and waits for all of them: several cost hardly more than one if the store
    /// can do more than one operation at a time.
    ///
    /// # Safety
    ///
    /// Each page is writable, and nothing else accesses it during the call.
    ///
    /// # Errors
    ///
    /// If one of the pages cannot be read as a whole; the content of all of them is then undefined.
    unsafe fn read_together(&mut self, pages: &[(Slot, PageAddress)]) -> io::Result<()> {
        // SAFETY: as the caller promises.
        pages.iter().try_for_each(|&(slot, into)| unsafe { self.read(slot, into) })
    }

    /// Begins to read pages as [`Store::read_together`] does, which [`Store::end_read`] completes before the next read
    /// begins. A store that cannot work in the background reads them at once.
    ///
    /// # Safety
    ///
    /// Each page is writable and stays so, and nothing else accesses it, until [`Store::end_read`] has returned or the store
    /// has been dropped; or, of one page, until [`Store::end_read_of`] has returned that it has been read.
    ///
    /// # Errors
    ///
    /// As [`Store::read_together`]; there is no read to complete then.
    unsafe fn begin_read(&mut self, pages: &[(Slot, PageAddress)]) -> io::Result<()> {
        // SAFETY: as the caller promises.
        unsafe { self.read_together(pages) }
    }

    /// Returns whether the read that was begun has ended, so that [`Store::end_read`] does not wait.
    fn has_read(&mut self) -> bool {
        true
    }

    /// Waits for one page of the read that was begun, while the others are still read; [`Store::end_read`] completes it. Returns
    /// whether the page has been read: if not, which is always so of a store that reads at once, it completes with the others.
    fn end_read_of(&mut self, _slot: Slot) -> bool {
        false
    }

    /// Waits for the read that was begun.
    ///
    /// # Errors
    ///
    /// As [`Store::read_together`].
    fn end_read(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Starts to write pages, at least one, which complete together. None of the slots is being written already, and
    /// none is shared.
    ///
    /// # Safety
    ///
    /// Every page stays mapped and readable until [`Store::finished_write`] has returned the ticket.
    ///
    /// # Errors
    ///
    /// If the write cannot be started; nothing has changed then.
    unsafe fn start_write(&mut self, pages: &[(Slot, PageAddress)]) -> io::Result<WriteTicket>;

    /// A write that has finished since the last call, if any, and its result; waits for one if `wait` is set.
    /// `None` if nothing has finished, or, with `wait`, if nothing is under way.
    fn finished_write(&mut self, wait: bool) -> Option<(WriteTicket, io::Result<()>)>;

    /// Bytes that the store occupies now: of the file, or of RAM.
    fn occupied_bytes(&self) -> u64;
}
