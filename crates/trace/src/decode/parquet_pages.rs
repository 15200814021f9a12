//! The bytes of a Parquet file as the Parquet library requests them, with a limit on how much memory they will take.
//!
//! A page's header says how large the page is when it is decompressed, and a few bytes may decompress to any number of
//! zeros. The library trusts the header, so each header is read here first, and the library gets an error before the
//! page is decompressed.

use std::collections::HashMap;
use std::io::{self, Cursor, Read};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

/// More than any header that the library writes; statistics can make a header longer, which is then not understood.
const HEADER_BYTES: usize = 16 * 1024;
/// The pages of one batch of rows may take the memory limit divided by this.
const SHARE_OF_LIMIT: u64 = 4;

/// What further reading would take too much memory for.
#[derive(Debug)]
pub(crate) struct TooLarge;

impl std::fmt::Display for TooLarge {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.write_str("pages of too many bytes")
    }
}

impl std::error::Error for TooLarge {}

/// The pages that were announced and not read yet.
#[derive(Default)]
struct Pages {
    /// Size when decompressed, by the place of the content.
    announced: HashMap<u64, u64>,
    /// Bytes of the pages that the batch has asked for, decompressed and not.
    batch_bytes: u64,
}

/// Counts what the pages of a batch of rows take; shared by all columns.
#[derive(Clone)]
pub(crate) struct PageBudget {
    pages: Arc<Mutex<Pages>>,
    limit_bytes: u64,
}

impl PageBudget {
    pub(crate) fn new(memory_limit_bytes: u64) -> Self {
        Self { pages: Arc::default(), limit_bytes: memory_limit_bytes / SHARE_OF_LIMIT }
    }

    /// A batch of rows is finished, and so are the pages that were read for it.
    pub(crate) fn begin_batch(&self) {
        self.with_pages(|pages| pages.batch_bytes = 0);
    }

    fn with_pages<T>(&self, action: impl FnOnce(&mut Pages) -> T) -> T {
        action(&mut self.pages.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn take(&self, bytes: u64) -> Result<()> {
        self.with_pages(|pages| {
            pages.batch_bytes = pages.batch_bytes.saturating_add(bytes);
            if pages.batch_bytes > self.limit_bytes {
                return Err(ParquetError::External(Box::new(TooLarge)));
            }
            Ok(())
        })
    }
}

/// The bytes of a file within a budget.
pub(crate) struct BudgetedBytes<R> {
    pub(crate) bytes: R,
    pub(crate) budget: PageBudget,
}

impl<R: ChunkReader> Length for BudgetedBytes<R> {
    fn len(&self) -> u64 {
        self.bytes.len()
    }
}

impl<R: ChunkReader> ChunkReader for BudgetedBytes<R> {
    type T = io::Chain<Cursor<Vec<u8>>, R::T>;

    /// The library reads headers so, and sometimes opens the content of a page whose header it has.
    fn get_read(&self, start: u64) -> Result<Self::T> {
        let mut rest = self.bytes.get_read(start)?;
        let mut head = Vec::new();
        if !self.budget.with_pages(|pages| pages.announced.contains_key(&start)) {
            rest.by_ref().take(HEADER_BYTES as u64).read_to_end(&mut head)?;
            if let Some(header) = PageHeader::parse(&head) {
                let content = start + header.header_bytes as u64;
                let announced = header.announced_bytes(&head[header.header_bytes..]);
                self.budget.with_pages(|pages| pages.announced.insert(content, announced));
            }
        }
        Ok(Cursor::new(head).chain(rest))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let announced = self.budget.with_pages(|pages| pages.announced.remove(&start));
        self.budget.take((length as u64).saturating_add(announced.unwrap_or(0)))?;
        let bytes = self.bytes.get_bytes(start, length)?;
        if let Some(announced) = announced.filter(|_| bytes.starts_with(GZIP_MARK)) {
            refuse_more_than(announced, &bytes)?;
        }
        Ok(bytes)
    }
}

const GZIP_MARK: &[u8] = &[0x1f, 0x8b, 0x08];

/// The library accepts all that comes out of gzip, however large the header says the page is.
fn refuse_more_than(announced_bytes: u64, page: &[u8]) -> Result<()> {
    let decoder = flate2::read::MultiGzDecoder::new(page);
    let decompressed = io::copy(&mut decoder.take(announced_bytes + 1), &mut io::sink());
    match decompressed {
        Ok(bytes) if bytes > announced_bytes => {
            Err(ParquetError::General("a page is larger than its header says".to_owned()))
        }
        // The library will find what is wrong with it.
        _ => Ok(()),
    }
}

/// The part of a page's header that tells its size, in the compact protocol of Thrift.
#[derive(Debug, PartialEq)]
struct PageHeader {
    decompressed_bytes: u64,
    /// Bytes of the content behind the header.
    content_bytes: u64,
    /// Bytes of the header itself.
    header_bytes: usize,
}

/// LZ4 cannot make more bytes of one.
const LZ4_HIGHEST_RATIO: u64 = 255;
const LZ4_FRAME_MARK: &[u8] = &[0x04, 0x22, 0x4d, 0x18];

impl PageHeader {
    /// The header at the start of some bytes; `None` if there is none, or if it is longer than the bytes.
    fn parse(bytes: &[u8]) -> Option<Self> {
        const DECOMPRESSED_SIZE_FIELD: i64 = 2;
        const SIZE_FIELD: i64 = 3;
        let mut fields = Thrift { bytes, at: 0 };
        let (mut decompressed_bytes, mut content_bytes) = (None, None);
        let mut field = 0;
        while let Some(kind) = fields.next_field(&mut field)? {
            if field == DECOMPRESSED_SIZE_FIELD && kind == Thrift::INTEGER {
                decompressed_bytes = u64::try_from(fields.integer()?).ok();
            } else if field == SIZE_FIELD && kind == Thrift::INTEGER {
                content_bytes = u64::try_from(fields.integer()?).ok();
            } else {
                fields.skip(kind, 0)?;
            }
        }
        Some(Self {
            decompressed_bytes: decompressed_bytes?,
            content_bytes: content_bytes?,
            header_bytes: fields.at,
        })
    }

    /// The decompressed size of the content, some bytes of which are at hand. The library takes all that comes out of a
    /// frame of LZ4, whatever the header says.
    fn announced_bytes(&self, content: &[u8]) -> u64 {
        if content.starts_with(LZ4_FRAME_MARK) {
            return self.decompressed_bytes.saturating_mul(LZ4_HIGHEST_RATIO);
        }
        self.decompressed_bytes
    }
}

/// How many bytes the pages of one column of a row group unpack to, as their headers say; `None` where a header is none or
/// its page is cut off. `chunk` are all bytes of the column, headers and contents.
pub fn unpacked_bytes(chunk: &[u8]) -> Option<u64> {
    let (mut rest, mut total) = (chunk, 0_u64);
    while !rest.is_empty() {
        let header = PageHeader::parse(rest)?;
        let content = &rest[header.header_bytes..];
        total = total.saturating_add(header.announced_bytes(content));
        rest = content.get(usize::try_from(header.content_bytes).ok()?..)?;
    }
    Some(total)
}

/// Reads the compact protocol of Thrift.
struct Thrift<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Thrift<'_> {
    const INTEGER: u8 = 5;
    const DEEPEST: usize = 8;

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn unsigned(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn integer(&mut self) -> Option<i64> {
        let zigzag = self.unsigned()?;
        Some((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
    }

    /// Moves to the next field of a structure and gives its kind; `Some(None)` at its end.
    fn next_field(&mut self, field: &mut i64) -> Option<Option<u8>> {
        let first = self.byte()?;
        if first == 0 {
            return Some(None);
        }
        let distance = i64::from(first >> 4);
        *field = if distance == 0 { self.integer()? } else { field.checked_add(distance)? };
        Some(Some(first & 0x0f))
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
        match kind {
            1 | 2 => Some(()),
            3 => self.byte().map(drop),
            4..=6 => self.unsigned().map(drop),
            7 => self.skip_bytes(8),
            8 => {
                let length = usize::try_from(self.unsigned()?).ok()?;
                self.skip_bytes(length)
            }
            9 | 10 if depth < Self::DEEPEST => {
                let first = self.byte()?;
                let length =
                    if first >> 4 == 15 { self.unsigned()? } else { u64::from(first >> 4) };
                // Each element takes a byte, so that no length can be long to count through.
                (length <= self.bytes.len() as u64).then_some(())?;
                (0..length).try_for_each(|_| match first & 0x0f {
                    1 | 2 => self.byte().map(drop),
                    kind => self.skip(kind, depth + 1),
                })
            }
            12 if depth < Self::DEEPEST => {
                let mut field = 0;
                while let Some(kind) = self.next_field(&mut field)? {
                    self.skip(kind, depth + 1)?;
                }
                Some(())
            }
            _ => None,
        }
    }

    fn skip_bytes(&mut self, count: usize) -> Option<()> {
        self.at = self.at.checked_add(count).filter(|&at| at <= self.bytes.len())?;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_in_a_header_is_found_behind_statistics() {
        // Data page, 300 and 100 bytes; a structure with a structure of two strings.
        let header = [
            0x15, 0x00, 0x15, 0xd8, 0x04, 0x15, 0xc8, 0x01, 0x2c, 0x15, 0x02, 0x4c, 0x18, 0x01,
            b'a', 0x18, 0x01, b'b', 0x00, 0x00, 0x00, 0xff,
        ];
        let parsed = PageHeader::parse(&header).unwrap();
        assert_eq!(
            parsed,
            PageHeader { decompressed_bytes: 300, content_bytes: 100, header_bytes: 21 }
        );
        for length in 0..21 {
            assert_eq!(PageHeader::parse(&header[..length]), None);
        }
    }

    #[test]
    fn random_bytes_are_parsed_or_not_but_never_for_long() {
        let mut number = 7_u64;
        for _ in 0..20_000 {
            let bytes: Vec<u8> = (0..64)
                .map(|_| {
                    number =
                        number.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    (number >> 56) as u8
                })
                .collect();
            if let Some(header) = PageHeader::parse(&bytes) {
                assert!(header.header_bytes <= bytes.len());
            }
        }
    }
}
