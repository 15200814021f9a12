//! A file or a block device as a medium.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{FallocateFlags, SeekFrom, fallocate, seek};
use rustix::io::{ReadWriteFlags, preadv2};

use crate::store::Medium;

/// The alignment of direct reads and writes.
const ALIGNMENT: usize = 4096;
const LIMIT_DIRECT_BYTES: usize = 256 * 1024;

/// Moves the bytes from a position of a request on between a file and aligned memory.
type Transfer<'a> = dyn FnMut(&File, &mut [u8], usize) -> io::Result<()> + 'a;

/// A file as a medium.
pub struct FileMedium {
    file: File,
    direct: Option<Direct>,
}

/// What reads and writes past the kernel's cache go through. A read waits for no write.
struct Direct {
    file: File,
    read: Mutex<Vec<u8>>,
    written: Mutex<Vec<u8>>,
}

impl Direct {
    fn read(&self) -> &Mutex<Vec<u8>> {
        &self.read
    }

    fn written(&self) -> &Mutex<Vec<u8>> {
        &self.written
    }
}

/// The same file, opened once more, to be synced while others write: each opening sees every error.
#[derive(Clone)]
pub struct Syncer(Arc<File>);

impl Syncer {
    /// Makes durable what was written before.
    ///
    /// # Errors
    ///
    /// That of the file.
    pub fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}

fn is_aligned(at: u64, bytes: usize) -> bool {
    at.is_multiple_of(ALIGNMENT as u64) && bytes.is_multiple_of(ALIGNMENT)
}

fn open_again(file: &File, flags: i32, writes: bool) -> io::Result<File> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    OpenOptions::new().read(true).write(writes).custom_flags(flags).open(path)
}

impl FileMedium {
    /// A file as a medium; past the kernel's cache if `direct`.
    ///
    /// # Errors
    ///
    /// Its file system knows no direct requests.
    pub fn new(file: File, direct: bool, writes: bool) -> io::Result<Self> {
        let direct = match direct {
            true => {
                let file = open_again(&file, libc::O_DIRECT, writes)?;
                let buffer = || Mutex::new(vec![0; LIMIT_DIRECT_BYTES + ALIGNMENT]);
                Some(Direct { file, read: buffer(), written: buffer() })
            }
            false => None,
        };
        Ok(FileMedium { file, direct })
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Reads what the kernel has, without waiting for the disk; whether that was all.
    ///
    /// # Errors
    ///
    /// The file cannot be read like that.
    pub fn read_at_once(&self, at: u64, into: &mut [u8]) -> io::Result<bool> {
        if self.direct.is_some() {
            return Ok(false);
        }
        let bytes = into.len();
        let mut into = [io::IoSliceMut::new(into)];
        match preadv2(&self.file, &mut into, at, ReadWriteFlags::NOWAIT) {
            Ok(read) => Ok(read == bytes),
            Err(rustix::io::Errno::AGAIN) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// The file through which these bytes are read: past the kernel's cache, if that is wanted and possible.
    pub fn file_for(&self, at: u64, bytes: usize) -> &File {
        let direct = self.direct.as_ref().filter(|_| is_aligned(at, bytes));
        direct.map_or(&self.file, |direct| &direct.file)
    }

    /// The same file to be synced beside.
    ///
    /// # Errors
    ///
    /// It cannot be opened once more.
    pub fn syncer(&self) -> io::Result<Syncer> {
        Ok(Syncer(Arc::new(open_again(&self.file, 0, false)?)))
    }

    /// The aligned parts of a transfer that can be made past the cache; none if it is not aligned.
    fn directly(
        &self,
        at: u64,
        bytes: usize,
        buffer_of: fn(&Direct) -> &Mutex<Vec<u8>>,
        transfer: &mut Transfer<'_>,
    ) -> Option<io::Result<()>> {
        let direct = self.direct.as_ref().filter(|_| is_aligned(at, bytes))?;
        let mut buffer = buffer_of(direct).lock().unwrap_or_else(PoisonError::into_inner);
        let start = buffer.as_ptr().align_offset(ALIGNMENT);
        let buffer = &mut buffer[start..start + LIMIT_DIRECT_BYTES];
        let mut done = 0;
        while done < bytes {
            let part = (bytes - done).min(LIMIT_DIRECT_BYTES);
            if let Err(error) = transfer(&direct.file, &mut buffer[..part], done) {
                return Some(Err(error));
            }
            done += part;
        }
        Some(Ok(()))
    }
}

impl Medium for FileMedium {
    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let bytes = into.len();
        let direct = self.directly(at, bytes, Direct::read, &mut |file, buffer, done| {
            file.read_exact_at(buffer, at + done as u64)?;
            into[done..done + buffer.len()].copy_from_slice(buffer);
            Ok(())
        });
        direct.unwrap_or_else(|| self.file.read_exact_at(into, at))
    }

    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let direct = self.directly(at, bytes.len(), Direct::written, &mut |file, buffer, done| {
            buffer.copy_from_slice(&bytes[done..done + buffer.len()]);
            file.write_all_at(buffer, at + done as u64)
        });
        direct.unwrap_or_else(|| self.file.write_all_at(bytes, at))
    }

    fn clear(&self, at: u64, bytes: u64, allocates: bool) -> io::Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let flags = match allocates {
            true => FallocateFlags::ZERO_RANGE | FallocateFlags::KEEP_SIZE,
            false => FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
        };
        match fallocate(&self.file, flags, at, bytes) {
            // `is not supported` has a second name here.
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NODEV) => {
                Err(io::ErrorKind::Unsupported.into())
            }
            done => Ok(done?),
        }
    }

    fn extent_at(&self, at: u64, end: u64) -> (bool, u64) {
        let next = |from| seek(&self.file, from).map(|found| found.min(end));
        match next(SeekFrom::Data(at)) {
            Ok(data) if data > at => (false, data),
            Ok(_) => (true, next(SeekFrom::Hole(at)).ok().filter(|&hole| hole > at).unwrap_or(end)),
            // No data behind.
            Err(rustix::io::Errno::NXIO) => (false, end),
            Err(_) => (true, end),
        }
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}
