//! The bytes of a trace: a file or standard input, decompressed by content, with a digest of what
//! is stored.
//!
//! ```text
//! file or standard input → Stored (buffers, counts, hashes)
//!                        → decompressor
//!                        → Source (keeps the head for detection)
//! ```

pub(crate) mod capture;
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
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use crate::error::TraceError;
use crate::source::gz::GzMembers;
use crate::source::stored_digest::StoredDigest;

/// How much of the decompressed trace detection may look at.
const HEAD_BYTES: usize = 64 * 1024;
const STORED_BUFFER_BYTES: usize = 256 * 1024;
/// The longest magic number that tells a compression: `BZh9` and the mark of the first block.
const MAGIC_BYTES: usize = 10;
/// The longest header of a frame of zstd.
const ZSTD_HEADER_BYTES: usize = 18;
/// The most memory that is reserved ahead while a trace is read into memory.
const MOST_AHEAD_BYTES: usize = 64 << 20;
/// The window `zstd --long=31` uses; the default of the library refuses files that were made so.
const ZSTD_WINDOW_LOG_MAX: u32 = 31;
/// The window of the highest usual level, which must fit in any memory limit.
const ZSTD_WINDOW_LOG_MIN: u32 = 27;

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

/// The stored bytes, buffered, counted and hashed as they are read.
pub(crate) struct Stored {
    inner: Box<dyn Read + Send>,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    read_bytes: u64,
    digest: StoredDigest,
    progress: Progress,
}

impl Default for Stored {
    /// No bytes.
    fn default() -> Self {
        Self {
            inner: Box::new(io::empty()),
            buffer: Box::default(),
            start: 0,
            end: 0,
            read_bytes: 0,
            digest: StoredDigest::new(),
            progress: Progress::default(),
        }
    }
}

impl Stored {
    fn new(inner: Box<dyn Read + Send>, progress: Progress) -> Self {
        let buffer = vec![0; STORED_BUFFER_BYTES].into_boxed_slice();
        Self {
            inner,
            buffer,
            start: 0,
            end: 0,
            read_bytes: 0,
            digest: StoredDigest::new(),
            progress,
        }
    }

    fn account(&mut self, range: &[u8]) {
        self.digest.update(range);
        self.read_bytes += range.len() as u64;
        self.progress.reach(self.read_bytes);
    }

    /// Appends to the buffer; false at the end of the file.
    fn fetch(&mut self) -> io::Result<bool> {
        let count = read_some(&mut self.inner, &mut self.buffer[self.end..])?;
        let buffer = std::mem::take(&mut self.buffer);
        self.account(&buffer[self.end..self.end + count]);
        self.buffer = buffer;
        self.end += count;
        Ok(count > 0)
    }

    /// The first bytes of the file, without taking them; only before anything was taken.
    fn peek(&mut self, count: usize) -> io::Result<&[u8]> {
        while self.end < count && self.fetch()? {}
        Ok(&self.buffer[..self.end.min(count)])
    }
}

impl Read for Stored {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.start == self.end && into.len() >= self.buffer.len() {
            let count = read_some(&mut self.inner, into)?;
            self.account(&into[..count]);
            return Ok(count);
        }
        let count = self.fill_buf()?.read(into)?;
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Stored {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            self.fetch()?;
        }
        Ok(&self.buffer[self.start..self.end])
    }

    fn consume(&mut self, count: usize) {
        self.start += count;
    }
}

fn read_some(from: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    loop {
        match from.read(into) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

enum Content {
    Plain(Stored),
    Gz(Box<GzMembers<Stored>>),
    Xz(Box<liblzma::bufread::XzDecoder<Stored>>),
    /// The format before xz.
    Lzma(Box<liblzma::bufread::XzDecoder<Stored>>),
    Zstd(Box<zstd::Decoder<'static, Stored>>),
    Bz2(Box<bzip2::bufread::MultiBzDecoder<Stored>>),
}

impl Content {
    fn detect(mut stored: Stored, memory_limit_bytes: u64) -> io::Result<Self> {
        Ok(match stored.peek(MAGIC_BYTES)? {
            [0x1f, 0x8b, ..] => Self::Gz(Box::new(GzMembers::new(stored))),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => {
                let stream = liblzma::stream::Stream::new_auto_decoder(
                    memory_limit_bytes,
                    liblzma::stream::CONCATENATED,
                )?;
                Self::Xz(Box::new(liblzma::bufread::XzDecoder::new_stream(stored, stream)))
            }
            // Properties, a dictionary of a power of two, and a size that is unknown or below 1 TiB.
            [0x5d, 0, 0, _, _, size @ ..] if is_lzma_size(size) => {
                let stream = liblzma::stream::Stream::new_auto_decoder(memory_limit_bytes, 0)?;
                Self::Lzma(Box::new(liblzma::bufread::XzDecoder::new_stream(stored, stream)))
            }
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
                let mut decoder = zstd::Decoder::with_buffer(stored)?;
                let fitting = memory_limit_bytes.max(1).ilog2();
                decoder.window_log_max(fitting.clamp(ZSTD_WINDOW_LOG_MIN, ZSTD_WINDOW_LOG_MAX))?;
                Self::Zstd(Box::new(decoder))
            }
            [b'B', b'Z', b'h', b'1'..=b'9', block @ ..] if is_bz2_block(block) => {
                Self::Bz2(Box::new(bzip2::bufread::MultiBzDecoder::new(stored)))
            }
            _ => Self::Plain(stored),
        })
    }

    fn compression(&self) -> Option<&'static str> {
        match self {
            Self::Plain(_) => None,
            Self::Gz(_) => Some("gz"),
            Self::Xz(_) => Some("xz"),
            Self::Lzma(_) => Some("lzma"),
            Self::Zstd(_) => Some("zstd"),
            Self::Bz2(_) => Some("bz2"),
        }
    }

    fn reader(&mut self) -> &mut dyn Read {
        match self {
            Self::Plain(stored) => stored,
            Self::Gz(decoder) => decoder,
            Self::Xz(decoder) | Self::Lzma(decoder) => decoder,
            Self::Zstd(decoder) => decoder,
            Self::Bz2(decoder) => decoder,
        }
    }

    fn stored(&self) -> &Stored {
        match self {
            Self::Plain(stored) => stored,
            Self::Gz(decoder) => decoder.get_ref(),
            Self::Xz(decoder) | Self::Lzma(decoder) => decoder.get_ref(),
            Self::Zstd(decoder) => decoder.get_ref(),
            Self::Bz2(decoder) => decoder.get_ref(),
        }
    }

    fn stored_mut(&mut self) -> &mut Stored {
        match self {
            Self::Plain(stored) => stored,
            Self::Gz(decoder) => decoder.get_mut(),
            Self::Xz(decoder) | Self::Lzma(decoder) => decoder.get_mut(),
            Self::Zstd(decoder) => decoder.get_mut(),
            Self::Bz2(decoder) => decoder.get_mut(),
        }
    }
}

/// What a frame of zstd that begins so says of the bytes that come out of it; other compressions say it at the end.
fn announced_bytes(head: &[u8]) -> Option<u64> {
    zstd::zstd_safe::get_frame_content_size(head).ok().flatten()
}

/// Returns whether these bytes can begin the size behind the header of lzma.
fn is_lzma_size(bytes: &[u8]) -> bool {
    let is_unknown = bytes.iter().all(|&byte| byte == 0xff);
    bytes.len() == MAGIC_BYTES - 5 && (is_unknown || bytes[4] == 0 || bytes[4] < 4)
}

/// Returns whether a block or the end of a bz2 stream begins here; a file cut inside the mark is still a bz2 file.
fn is_bz2_block(bytes: &[u8]) -> bool {
    const BLOCK: [u8; 6] = [0x31, 0x41, 0x59, 0x26, 0x53, 0x59];
    const END: [u8; 6] = [0x17, 0x72, 0x45, 0x38, 0x50, 0x90];
    BLOCK.starts_with(bytes) || END.starts_with(bytes)
}

/// Returns whether a decompressor asks for more memory than it was allowed.
fn is_too_large_a_window(error: &io::Error) -> bool {
    let is_of_xz = error.get_ref().is_some_and(|inner| {
        matches!(inner.downcast_ref(), Some(liblzma::stream::Error::MemLimit))
    });
    // The zstd library reports its errors only as text.
    is_of_xz || error.to_string() == "Frame requires too much memory for decoding"
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
