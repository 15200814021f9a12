//! The stored bytes of a trace, counted and hashed, and what unpacks them.

use std::io::{self, BufRead, Read};

use super::Progress;
use crate::source::gz::GzMembers;
use crate::source::stored_digest::StoredDigest;

pub(super) const STORED_BUFFER_BYTES: usize = 256 * 1024;
/// The longest magic number that tells a compression: `BZh9` and the mark of the first block.
const MAGIC_BYTES: usize = 10;
/// The window `zstd --long=31` uses; the default of the library refuses files that were made so.
const ZSTD_WINDOW_LOG_MAX: u32 = 31;
/// The window of the highest usual level, which must fit in any memory limit.
const ZSTD_WINDOW_LOG_MIN: u32 = 27;

/// The stored bytes, buffered, counted and hashed as they are read.
pub(super) struct Stored {
    inner: Box<dyn Read + Send>,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    pub(super) read_bytes: u64,
    pub(super) digest: StoredDigest,
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
    pub(super) fn new(inner: Box<dyn Read + Send>, progress: Progress) -> Self {
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
    pub(super) fn peek(&mut self, count: usize) -> io::Result<&[u8]> {
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

pub(super) fn read_some(from: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    loop {
        match from.read(into) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// The stored bytes, and what unpacks them.
pub(super) enum Content {
    Plain(Stored),
    Gz(Box<GzMembers<Stored>>),
    Xz(Box<liblzma::bufread::XzDecoder<Stored>>),
    /// The format before xz.
    Lzma(Box<liblzma::bufread::XzDecoder<Stored>>),
    Zstd(Box<zstd::Decoder<'static, Stored>>),
    Bz2(Box<bzip2::bufread::MultiBzDecoder<Stored>>),
}

impl Content {
    pub(super) fn detect(mut stored: Stored, memory_limit_bytes: u64) -> io::Result<Self> {
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

    pub(super) fn compression(&self) -> Option<&'static str> {
        match self {
            Self::Plain(_) => None,
            Self::Gz(_) => Some("gz"),
            Self::Xz(_) => Some("xz"),
            Self::Lzma(_) => Some("lzma"),
            Self::Zstd(_) => Some("zstd"),
            Self::Bz2(_) => Some("bz2"),
        }
    }

    pub(super) fn reader(&mut self) -> &mut dyn Read {
        match self {
            Self::Plain(stored) => stored,
            Self::Gz(decoder) => decoder,
            Self::Xz(decoder) | Self::Lzma(decoder) => decoder,
            Self::Zstd(decoder) => decoder,
            Self::Bz2(decoder) => decoder,
        }
    }

    pub(super) fn stored(&self) -> &Stored {
        match self {
            Self::Plain(stored) => stored,
            Self::Gz(decoder) => decoder.get_ref(),
            Self::Xz(decoder) | Self::Lzma(decoder) => decoder.get_ref(),
            Self::Zstd(decoder) => decoder.get_ref(),
            Self::Bz2(decoder) => decoder.get_ref(),
        }
    }

    pub(super) fn stored_mut(&mut self) -> &mut Stored {
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
pub(super) fn announced_bytes(head: &[u8]) -> Option<u64> {
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
pub(super) fn is_too_large_a_window(error: &io::Error) -> bool {
    let is_of_xz = error.get_ref().is_some_and(|inner| {
        matches!(inner.downcast_ref(), Some(liblzma::stream::Error::MemLimit))
    });
    // The zstd library reports its errors only as text.
    is_of_xz || error.to_string() == "Frame requires too much memory for decoding"
}
