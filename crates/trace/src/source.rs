//! The bytes of a trace: a file or standard input, decompressed by content, with a digest of what
//! is stored.
//!
//! ```text
//! file or standard input → Stored (buffers, counts, hashes)
//!                        → decompressor
//!                        → Source (keeps the head for detection)
//! ```

pub(crate) mod capture;
mod content;
pub(crate) mod detect;
pub(crate) mod evidence;
pub(crate) mod gz;
pub(crate) mod input;
pub(crate) mod joined;
pub(crate) mod read_ahead;
pub(crate) mod request_columns;
pub(crate) mod sample;
pub(crate) mod selection;
pub(crate) mod stored_digest;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use crate::error::TraceError;
use content::{
    Content, STORED_BUFFER_BYTES, Stored, announced_bytes, is_too_large_a_window, read_some,
};

/// How much of the decompressed trace detection may look at.
const HEAD_BYTES: usize = 64 * 1024;

/// The longest header of a frame of zstd.
const ZSTD_HEADER_BYTES: usize = 18;
/// The most memory that is reserved ahead while a trace is read into memory.
const MOST_AHEAD_BYTES: usize = 64 << 20;

/// The bytes of the stored file that have been read; cheap to clone and to read from another thread.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    read_bytes: Arc<AtomicU64>,
    total_bytes: Option<u64>,
}

impl Progress {
    /// Stored (compressed) bytes read so far.
    pub fn read_bytes(&self) -> u64 {
        self.read_bytes.load(Ordering::Relaxed)
    }

    /// Stored bytes in all; `None` for standard input and pipes.
    pub fn total_bytes(&self) -> Option<u64> {
        self.total_bytes
    }

    pub(crate) fn reach(&self, read_bytes: u64) {
        self.read_bytes.fetch_max(read_bytes, Ordering::Relaxed);
    }
}

/// Bytes that can be read in any order, for formats whose index stands at the end.
pub(crate) enum Seekable {
    /// A second handle of an uncompressed file.
    File(File),
    /// All bytes of a compressed file or of standard input.
    Memory(Bytes),
}

/// An opened trace: decompressed bytes, the first of which stay visible for detection.
pub(crate) struct Source {
    file: String,
    /// The path when the stored bytes can be read in any order and are not compressed.
    seekable_path: Option<PathBuf>,
    content: Content,
    head: Vec<u8>,
    head_taken_bytes: usize,
    head_is_all: bool,
    progress: Progress,
    memory_limit_bytes: u64,
    /// How many bytes the first frame of compressed data says that it unpacks to, if it does.
    announced_bytes: Option<u64>,
}

impl Source {
    /// Opens a file, or standard input for `-`, and reads its head; messages call it `name`, or by its path.
    pub(crate) fn open(
        path: &Path,
        name: Option<&str>,
        memory_limit_bytes: u64,
    ) -> Result<Self, TraceError> {
        if path.as_os_str() == "-" {
            let (file, inner) = ("standard input".to_owned(), Box::new(io::stdin()));
            return Self::new(file, None, inner, Progress::default(), memory_limit_bytes);
        }
        let file = name.map_or_else(|| path.display().to_string(), str::to_owned);
        let opening = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => TraceError::NotFound { file: file.clone() },
            io::ErrorKind::IsADirectory => TraceError::Directory { file: file.clone() },
            _ => TraceError::Io { file: file.clone(), doing: "opening", byte: 0, source },
        };
        let handle = File::open(path).map_err(opening)?;
        let facts = handle.metadata().map_err(opening)?;
        if facts.is_dir() {
            return Err(TraceError::Directory { file });
        }
        let total_bytes = facts.is_file().then_some(facts.len());
        let progress = Progress { total_bytes, ..Progress::default() };
        let seekable_path = facts.is_file().then(|| path.to_owned());
        Self::new(file, seekable_path, Box::new(handle), progress, memory_limit_bytes)
    }

    /// A source over bytes in memory, called `file` in messages.
    pub(crate) fn from_bytes(
        file: &str,
        bytes: Vec<u8>,
        memory_limit_bytes: u64,
    ) -> Result<Self, TraceError> {
        let inner = Box::new(io::Cursor::new(bytes));
        Self::new(file.to_owned(), None, inner, Progress::default(), memory_limit_bytes)
    }

    fn new(
        file: String,
        seekable_path: Option<PathBuf>,
        inner: Box<dyn Read + Send>,
        progress: Progress,
        memory_limit_bytes: u64,
    ) -> Result<Self, TraceError> {
        let mut stored = Stored::new(inner, progress.clone());
        let reading =
            |source| TraceError::Io { file: file.clone(), doing: "reading", byte: 0, source };
        let announced_bytes = announced_bytes(stored.peek(ZSTD_HEADER_BYTES).map_err(reading)?);
        let content = Content::detect(stored, memory_limit_bytes).map_err(reading)?;
        let seekable_path = seekable_path.filter(|_| content.compression().is_none());
        let head = Vec::new();
        let mut source = Self {
            file,
            seekable_path,
            content,
            head,
            head_taken_bytes: 0,
            head_is_all: false,
            progress,
            memory_limit_bytes,
            announced_bytes,
        };
        source.read_head()?;
        if source.head.is_empty() {
            return Err(TraceError::EmptyFile { file: source.file });
        }
        Ok(source)
    }

    fn read_head(&mut self) -> Result<(), TraceError> {
        let mut head = vec![0; HEAD_BYTES];
        let mut filled_bytes = 0;
        while filled_bytes < HEAD_BYTES {
            let count = self.read_content(&mut head[filled_bytes..])?;
            if count == 0 {
                self.head_is_all = true;
                break;
            }
            filled_bytes += count;
        }
        head.truncate(filled_bytes);
        self.head = head;
        Ok(())
    }

    /// The name of the file in messages.
    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// `gz`, `xz`, `lzma`, `zstd` or `bz2`.
    pub(crate) fn compression(&self) -> Option<&'static str> {
        self.content.compression()
    }

    /// The first 64 KiB of the trace.
    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    /// Returns whether the head is the whole trace.
    pub(crate) fn head_is_all(&self) -> bool {
        self.head_is_all
    }

    /// How much of the trace may be in memory.
    pub(crate) fn memory_limit_bytes(&self) -> u64 {
        self.memory_limit_bytes
    }

    pub(crate) fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Reads decompressed bytes, the head first; 0 at the end.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> Result<usize, TraceError> {
        let head = &self.head[self.head_taken_bytes..];
        if !head.is_empty() {
            let count = head.len().min(into.len());
            into[..count].copy_from_slice(&head[..count]);
            self.head_taken_bytes += count;
            return Ok(count);
        }
        self.read_content(into)
    }

    fn read_content(&mut self, into: &mut [u8]) -> Result<usize, TraceError> {
        read_some(&mut self.content.reader(), into).map_err(|error| self.describe(error))
    }

    fn describe(&self, error: io::Error) -> TraceError {
        let file = self.file.clone();
        let byte = self.content.stored().read_bytes;
        match self.content.compression() {
            // Decompressors make their own errors; only the operating system's carry a number.
            Some(compression) if error.raw_os_error().is_none() => {
                if is_too_large_a_window(&error) {
                    TraceError::too_much_memory(
                        &file,
                        format!("to decompress this {compression} data takes"),
                        "compress it with a smaller window",
                        self.memory_limit_bytes,
                    )
                } else if error.kind() == io::ErrorKind::UnexpectedEof {
                    TraceError::CutCompressed { file, compression, byte }
                } else {
                    TraceError::DamagedCompressed {
                        file,
                        compression,
                        byte,
                        reason: error.to_string(),
                    }
                }
            }
            _ => TraceError::Io { file, doing: "reading", byte, source: error },
        }
    }

    /// The whole trace for reading in any order; standard input and compressed files are taken into
    /// memory.
    pub(crate) fn seekable(&mut self) -> Result<Seekable, TraceError> {
        if let Some(path) = &self.seekable_path {
            let failed = |source| TraceError::Io {
                file: self.file.clone(),
                doing: "opening",
                byte: 0,
                source,
            };
            return File::open(path).map(Seekable::File).map_err(failed);
        }
        // Content that is known to be too large is not unpacked.
        if self.announced_bytes.is_some_and(|bytes| bytes > self.memory_limit_bytes) {
            return Err(self.too_much_to_keep(self.memory_limit_bytes));
        }
        let mut all = Vec::new();
        let mut buffer = vec![0; STORED_BUFFER_BYTES];
        loop {
            let count = self.read(&mut buffer)?;
            if count == 0 {
                return Ok(Seekable::Memory(all.into()));
            }
            self.make_room(&mut all, count)?;
            all.extend_from_slice(&buffer[..count]);
        }
    }

    /// Reserves room for further bytes, never beyond the limit, nor beyond what the system has to give.
    fn make_room(&self, all: &mut Vec<u8>, bytes: usize) -> Result<(), TraceError> {
        let needed = all.len() + bytes;
        if needed as u64 > self.memory_limit_bytes {
            return Err(self.too_much_to_keep(self.memory_limit_bytes));
        }
        if needed > all.capacity() {
            let most = usize::try_from(self.memory_limit_bytes).unwrap_or(usize::MAX);
            let ahead = all.len().clamp(STORED_BUFFER_BYTES, MOST_AHEAD_BYTES);
            let capacity = needed.saturating_add(ahead).min(most);
            all.try_reserve_exact(capacity - all.len())
                .map_err(|_| self.too_much_to_keep(all.len() as u64))?;
        }
        Ok(())
    }

    fn too_much_to_keep(&self, limit_bytes: u64) -> TraceError {
        TraceError::too_much_memory(
            &self.file,
            "a table that is compressed as a whole or comes from a pipe is kept in memory, and this one takes",
            "write it to a file that is not compressed once more",
            limit_bytes,
        )
    }

    /// Bytes behind compressed data that were passed over because they are none.
    pub(crate) fn trailing_bytes(&self) -> u64 {
        match &self.content {
            Content::Gz(decoder) => decoder.trailing_bytes(),
            _ => 0,
        }
    }

    /// Gives no digest in the end, which then need not be computed.
    pub(crate) fn skip_digest(&mut self) {
        self.content.stored_mut().digest.stop();
    }

    /// Reads what the format left unread and returns the SHA-256 of all stored bytes, if it is wanted, and their
    /// number.
    pub(crate) fn finish(&mut self) -> Result<(Option<[u8; 32]>, u64), TraceError> {
        let mut rest = vec![0; STORED_BUFFER_BYTES];
        while self.read(&mut rest)? > 0 {}
        let stored = self.content.stored_mut();
        Ok((stored.digest.finish(), stored.read_bytes))
    }
}
