//! A file as the store uses it. The model checker has one of its own.

use std::io;
use std::sync::Arc;

/// Something that holds bytes at addresses and forgets in a power failure what was not synced.
pub trait Medium {
    /// Fills `into` with the bytes at `at`.
    ///
    /// # Errors
    ///
    /// That of the file, or of one that ends before.
    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()>;

    /// Writes `bytes` at `at`.
    ///
    /// # Errors
    ///
    /// That of the file.
    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()>;

    /// Makes `bytes` bytes read as zeros: a hole, or zeros that keep their place if `allocates`.
    ///
    /// # Errors
    ///
    /// That of the file.
    fn clear(&self, at: u64, bytes: u64, allocates: bool) -> io::Result<()>;

    /// Tells whether the bytes from `at` on are data, and where that ends, at most at `end`.
    fn extent_at(&self, at: u64, end: u64) -> (bool, u64) {
        let _ = at;
        (true, end)
    }

    /// Makes durable what was written before.
    ///
    /// # Errors
    ///
    /// That of the file. What was written before may then be lost.
    fn sync(&self) -> io::Result<()>;
}

impl<M: Medium + ?Sized> Medium for Arc<M> {
    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        (**self).read(at, into)
    }
    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        (**self).write(at, bytes)
    }
    fn clear(&self, at: u64, bytes: u64, allocates: bool) -> io::Result<()> {
        (**self).clear(at, bytes, allocates)
    }
    fn extent_at(&self, at: u64, end: u64) -> (bool, u64) {
        (**self).extent_at(at, end)
    }
    fn sync(&self) -> io::Result<()> {
        (**self).sync()
    }
}
