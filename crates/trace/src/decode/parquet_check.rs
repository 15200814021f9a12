//! Checksums of Parquet files, so that a damaged file is never read as another trace.
//!
//! The format has a checksum for the content of a page, which its library reads and does not write: [`CheckedPages`]
//! puts it into the headers. The format has no checksum for the index at the end of the file, nor for the headers. So our
//! files have a *seal* in front of the index, where other readers do not look: a mark and the CRC-32 of everything
//! behind it.

use std::fs::File;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use flate2::Crc;
use parquet::column::page_store::{PageKey, PageStore, PageStoreArgs, PageStoreFactory};
use parquet::errors::{ParquetError, Result};

/// Begins a seal.
const SEAL_MARK: &[u8; 8] = b"CLKHSEAL";
/// The mark and one checksum.
const SEAL_BYTES: usize = SEAL_MARK.len() + 4;
/// The length of the index and the mark of the format.
const FOOTER_BYTES: usize = 8;

pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// The pages of one column of a row group, each with its checksum.
#[derive(Debug, Default)]
pub(crate) struct ChunkPages {
    /// The header of a page whose content has not come yet.
    header: Option<Bytes>,
    /// Headers and contents.
    dictionary: Vec<u8>,
    data: Vec<u8>,
    /// By how much the checksums made the headers longer.
    pub(crate) added_bytes: usize,
    parts: u64,
}

impl ChunkPages {
    /// A page comes in two parts, its header and its content.
    fn put(&mut self, part: Bytes) -> Result<()> {
        self.parts += 1;
        let Some(header) = self.header.take() else {
            self.header = Some(part);
            return Ok(());
        };
        let (checked, is_dictionary) = with_checksum(&header, crc32(&part))
            .ok_or_else(|| ParquetError::General("a page header of an unknown form".to_owned()))?;
        self.added_bytes += checked.len() - header.len();
        let pages = if is_dictionary { &mut self.dictionary } else { &mut self.data };
        pages.extend_from_slice(&checked);
        pages.extend_from_slice(&part);
        Ok(())
    }

    /// All pages as they stand in the file, the dictionary first, and the bytes of the dictionary.
    pub(crate) fn into_bytes(self) -> (Bytes, usize) {
        let mut bytes = self.dictionary;
        let dictionary_bytes = bytes.len();
        bytes.extend_from_slice(&self.data);
        (bytes.into(), dictionary_bytes)
    }
}

/// A page header with a checksum between its sizes and what is special to the kind of page, and whether it is that of a
/// dictionary. In the compact protocol of Thrift each field begins with a byte of its type and its distance from the
/// field before.
fn with_checksum(header: &[u8], crc: u32) -> Option<(Vec<u8>, bool)> {
    const NEXT_FIELD_INTEGER: u8 = 0x15;
    const DICTIONARY_PAGE: u8 = 2 << 1;
    let mut at = 0;
    for _ in 0..3 {
        (*header.get(at)? == NEXT_FIELD_INTEGER).then_some(())?;
        let length = header[at + 1..].iter().position(|byte| byte & 0x80 == 0)?;
        at += 2 + length;
    }
    let next = *header.get(at)?;
    (next >= 0x20).then_some(())?;
    let mut checked = header[..at].to_vec();
    checked.push(NEXT_FIELD_INTEGER);
    let signed = crc as i32;
    let mut zigzag = (signed << 1 ^ signed >> 31) as u32;
    while zigzag >= 0x80 {
        checked.push(zigzag as u8 | 0x80);
        zigzag >>= 7;
    }
    checked.push(zigzag as u8);
    checked.push(next - 0x10);
    checked.extend_from_slice(&header[at + 1..]);
    Some((checked, header[1] == DICTIONARY_PAGE))
}

/// Keeps the pages of the columns of a row group until it is complete.
#[derive(Debug, Default)]
pub(crate) struct CheckedPages {
    chunks: Mutex<Vec<Arc<Mutex<ChunkPages>>>>,
}

impl CheckedPages {
    /// The pages of the columns that were made since the last call, in their order.
    pub(crate) fn take(&self) -> Vec<ChunkPages> {
        let chunks =
            std::mem::take(&mut *self.chunks.lock().unwrap_or_else(PoisonError::into_inner));
        let taken = |chunk: Arc<Mutex<ChunkPages>>| {
            std::mem::take(&mut *chunk.lock().unwrap_or_else(PoisonError::into_inner))
        };
        chunks.into_iter().map(taken).collect()
    }
}

impl PageStoreFactory for CheckedPages {
    fn create(&self, _: &PageStoreArgs<'_>) -> Result<Box<dyn PageStore>> {
        let chunk = Arc::new(Mutex::new(ChunkPages::default()));
        self.chunks.lock().unwrap_or_else(PoisonError::into_inner).push(chunk.clone());
        Ok(Box::new(ColumnStore(chunk)))
    }
}

/// The part that the library's writer of one column sees.
struct ColumnStore(Arc<Mutex<ChunkPages>>);

impl PageStore for ColumnStore {
    fn put(&mut self, value: Bytes) -> Result<PageKey> {
        let mut pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pages.put(value)?;
        Ok(PageKey::new(pages.parts - 1))
    }

    fn take(&mut self, _: PageKey) -> Result<Bytes> {
        Err(ParquetError::General("the pages of a column are taken all at once".to_owned()))
    }
}

/// A file whose last part, the index, is kept until its seal can be written before it.
pub(crate) struct SealedFile {
    file: File,
    index: Option<Vec<u8>>,
}

impl SealedFile {
    pub(crate) fn new(file: File) -> Self {
        Self { file, index: None }
    }

    /// From here on the index is written.
    pub(crate) fn begin_index(&mut self) {
        self.index = Some(Vec::new());
    }

    /// Writes the seal and the index.
    pub(crate) fn seal(&mut self) -> io::Result<&File> {
        let index = self.index.take().unwrap_or_default();
        self.file.write_all(SEAL_MARK)?;
        self.file.write_all(&crc32(&index).to_le_bytes())?;
        self.file.write_all(&index)?;
        Ok(&self.file)
    }
}

impl Write for SealedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.index {
            Some(index) => index.write(bytes),
            None => self.file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Returns whether the end of a file, from its seal on if it has one, is as it was written.
pub(crate) fn is_intact(end: &[u8]) -> bool {
    match end.split_at_checked(SEAL_BYTES) {
        Some((seal, index)) if seal.starts_with(SEAL_MARK) => {
            seal[SEAL_MARK.len()..] == crc32(index).to_le_bytes()
        }
        _ => true,
    }
}

/// The number of bytes at the end of a file that its seal needs, given its last eight; more than the file has if the
/// length of the index is wrong.
pub(crate) fn sealed_bytes(footer: [u8; FOOTER_BYTES]) -> u64 {
    let index_bytes = u32::from_le_bytes([footer[0], footer[1], footer[2], footer[3]]);
    u64::from(index_bytes) + (FOOTER_BYTES + SEAL_BYTES) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_gets_its_checksum_between_the_sizes_and_the_rest() {
        // A data page of 300 and 100 bytes: the fields 1, 2, 3 and 5.
        let header = [0x15, 0x00, 0x15, 0xd8, 0x04, 0x15, 0xc8, 0x01, 0x2c, 0x15, 0x02, 0x00, 0x00];
        let (checked, is_dictionary) = with_checksum(&header, 1).unwrap();
        assert!(!is_dictionary);
        assert_eq!(checked[..8], header[..8]);
        assert_eq!(checked[8..], [0x15, 0x02, 0x1c, 0x15, 0x02, 0x00, 0x00]);
        let (checked, _) = with_checksum(&header, u32::MAX).unwrap();
        assert_eq!(checked[8..11], [0x15, 0x01, 0x1c]);
        assert!(with_checksum(&header[..8], 1).is_none());
    }

    #[test]
    fn a_seal_fits_its_index_alone() {
        let mut end = SEAL_MARK.to_vec();
        end.extend_from_slice(&crc32(b"index").to_le_bytes());
        end.extend_from_slice(b"index");
        assert!(is_intact(&end) && is_intact(b"other") && is_intact(&[0; 40]));
        *end.last_mut().unwrap() ^= 1;
        assert!(!is_intact(&end));
    }
}
