//! Columns of numbers in files without a name: what a view of a trace that is larger than memory is kept in.
//!
//! Numbers are read and written in chunks, at any place and by several threads. The system keeps in memory what it has
//! room for, and a process that ends leaves nothing behind.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::error::TraceError;

/// Numbers of 32 bits in a file of the user's own (mode 0600) that has no name in its folder.
#[derive(Debug)]
pub struct ScratchColumn {
    file: File,
    folder: PathBuf,
    count: u64,
}

impl ScratchColumn {
    /// An empty column in a folder.
    ///
    /// # Errors
    /// There is no such folder, or it cannot be written to.
    pub fn create(folder: &Path) -> Result<Self, TraceError> {
        let failed = |source| failed(folder, "creating", 0, source);
        let file = tempfile::tempfile_in(folder).map_err(failed)?;
        Ok(ScratchColumn { file, folder: folder.to_owned(), count: 0 })
    }

    /// The folder that its file is in.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Numbers in it.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Adds numbers at its end.
    ///
    /// # Errors
    /// The disk is full, or the like.
    pub fn append(
        &mut self,
        numbers: impl ExactSizeIterator<Item = u32>,
    ) -> Result<(), TraceError> {
        let (first, added) = (self.count, numbers.len() as u64);
        self.count += added;
        self.put(first, numbers)
    }

    /// Writes numbers from place `first` on, which may be behind the end.
    ///
    /// # Errors
    /// The disk is full, or the like.
    pub fn put(
        &mut self,
        first: u64,
        numbers: impl ExactSizeIterator<Item = u32>,
    ) -> Result<(), TraceError> {
        self.count = self.count.max(first + numbers.len() as u64);
        let mut bytes = vec![0; numbers.len() * size_of::<u32>()];
        for (place, number) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(numbers) {
            *place = number.to_ne_bytes();
        }
        let written = self.file.write_all_at(&bytes, at(first));
        written.map_err(|source| failed(&self.folder, "writing", at(first), source))
    }

    /// Reads numbers from place `first` on, at most `most` and fewer at the end; `bytes` is room to work in.
    ///
    /// # Errors
    /// The disk fails.
    pub fn get<T>(
        &self,
        first: u64,
        most: usize,
        of_number: impl Fn(u32) -> T,
        bytes: &mut Vec<u8>,
        numbers: &mut Vec<T>,
    ) -> Result<(), TraceError> {
        let count = self.count.saturating_sub(first).min(most as u64) as usize;
        bytes.resize(count * size_of::<u32>(), 0);
        let read = self.file.read_exact_at(bytes, at(first));
        read.map_err(|source| failed(&self.folder, "reading", at(first), source))?;
        numbers.clear();
        numbers.extend(
            bytes.as_chunks::<4>().0.iter().map(|&number| of_number(u32::from_ne_bytes(number))),
        );
        Ok(())
    }
}

fn at(place: u64) -> u64 {
    place * size_of::<u32>() as u64
}

fn failed(folder: &Path, doing: &'static str, byte: u64, source: io::Error) -> TraceError {
    let file = format!("a scratch file in {}", folder.display());
    TraceError::Io { file, doing, byte, source }
}
