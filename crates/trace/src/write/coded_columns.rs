//! Columns of few different values: Parquet pages of a dictionary and of codes.
//!
//! The Parquet library asks a hash table for every single value. Here words come with their codes, and numbers are
//! mostly equal to the one before.

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, PageType, ZstdLevel};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ColumnChunkMetaData, PageEncodingStats};
use parquet::file::statistics::Statistics;
use parquet::schema::types::ColumnDescPtr;
use rustc_hash::FxHashMap;

use crate::decode::parquet_check::crc32;
use crate::request::{Op, Request};

/// The names of the columns.
pub(crate) const OP: &str = "op";
pub(crate) const SIZE: &str = "size";
pub(crate) const STREAM: &str = "stream";
pub(crate) const CLASS: &str = "class";

/// Codes have at most 8 bits.
const MOST_VALUES: usize = 256;
/// Codes that are packed together, and the shortest run that is written as one.
const GROUP_CODES: usize = 8;

/// A column of a row group, ready to be written: its bytes, and what the index says of it.
pub(crate) type FinishedColumn = (Bytes, ColumnCloseResult);

/// A column of a few words, each given by its number among them.
pub(crate) struct WordColumn {
    words: &'static [&'static str],
    codes: Vec<u8>,
}

impl WordColumn {
    pub(crate) fn of(words: &'static [&'static str]) -> Self {
        Self { words, codes: Vec::new() }
    }

    pub(crate) fn extend(&mut self, codes: impl Iterator<Item = u8>) {
        self.codes.extend(codes);
    }

    /// The pages of the column; the next row group begins.
    pub(crate) fn finish(
        &mut self,
        column: ColumnDescPtr,
        level: ZstdLevel,
    ) -> Result<FinishedColumn> {
        let mut dictionary = Vec::new();
        for word in self.words {
            dictionary.extend_from_slice(&(word.len() as u32).to_le_bytes());
            dictionary.extend_from_slice(word.as_bytes());
        }
        let mut used = [false; MOST_VALUES];
        self.codes.iter().for_each(|&code| used[usize::from(code)] = true);
        let used = || (0..self.words.len()).filter(|&code| used[code]).map(|code| self.words[code]);
        let (least, most) = (used().min().map(Into::into), used().max().map(Into::into));
        let statistics = Statistics::byte_array(least, most, None, Some(0), false);
        let column = Coded { dictionary, values: self.words.len(), codes: &self.codes, statistics }
            .finish(column, level);
        self.codes.clear();
        column
    }
}

/// A column of numbers that are mostly few.
#[derive(Default)]
pub(crate) struct NumberColumn {
    values: Vec<u32>,
    codes: Vec<u8>,
    code_of: FxHashMap<u32, u8>,
    last: Option<(u32, u8)>,
}

impl NumberColumn {
    /// Takes numbers up to the first without a code; returns how many.
    pub(crate) fn extend(&mut self, mut numbers: impl Iterator<Item = u32>) -> usize {
        let before = self.codes.len();
        for number in &mut numbers {
            let code = match self.last {
                Some((last, code)) if last == number => code,
                _ => {
                    let Some(code) = self.code(number) else { break };
                    self.last = Some((number, code));
                    code
                }
            };
            self.codes.push(code);
        }
        self.codes.len() - before
    }

    fn code(&mut self, number: u32) -> Option<u8> {
        if let Some(&code) = self.code_of.get(&number) {
            return Some(code);
        }
        let code = u8::try_from(self.values.len()).ok()?;
        self.values.push(number);
        self.code_of.insert(number, code);
        Some(code)
    }

    /// All numbers so far, which the column then forgets.
    pub(crate) fn take_numbers(&mut self) -> Vec<u32> {
        let Self { values, codes, .. } = std::mem::take(self);
        codes.into_iter().map(|code| values[usize::from(code)]).collect()
    }

    /// The pages of the column; the next row group begins.
    pub(crate) fn finish(
        &mut self,
        column: ColumnDescPtr,
        level: ZstdLevel,
    ) -> Result<FinishedColumn> {
        let Self { values, codes, .. } = std::mem::take(self);
        let (least, most) = (values.iter().min(), values.iter().max());
        // Columns of 32 bits are signed to Parquet, whatever they mean.
        let bits = |number: Option<&u32>| number.map(|&number| number as i32);
        let statistics = Statistics::int32(bits(least), bits(most), None, Some(0), false);
        let dictionary = values.iter().flat_map(|number| number.to_le_bytes()).collect();
        Coded { dictionary, values: values.len(), codes: &codes, statistics }.finish(column, level)
    }
}

/// The columns of requests that have few values, of a row group that is not complete.
pub(crate) struct RequestColumns {
    ops: WordColumn,
    classes: Option<WordColumn>,
    /// `None` as soon as there are too many.
    sizes: Option<NumberColumn>,
    streams: Option<NumberColumn>,
}

impl RequestColumns {
    pub(crate) fn new(has_classes: bool) -> Self {
        Self {
            ops: WordColumn::of(&["R", "W"]),
            classes: has_classes.then(|| WordColumn::of(&["I", "R", "A", "W"])),
            sizes: Some(NumberColumn::default()),
            streams: Some(NumberColumn::default()),
        }
    }

    /// Takes what it can of the requests, and gives the numbers that the library is to write instead, by column.
    pub(crate) fn extend(&mut self, requests: &[Request]) -> Vec<(&'static str, Vec<u32>)> {
        self.ops.extend(requests.iter().map(|request| u8::from(request.op == Op::Write)));
        if let Some(classes) = &mut self.classes {
            classes.extend(requests.iter().filter_map(|request| Some(request.class? as u8)));
        }
        let mut others = Vec::new();
        for (name, column, number) in [
            (SIZE, &mut self.sizes, (|request| request.bytes) as fn(&Request) -> u32),
            (STREAM, &mut self.streams, |request| request.stream),
        ] {
            let taken = column.as_mut().map_or(0, |it| it.extend(requests.iter().map(number)));
            if taken < requests.len() {
                let mut numbers = column.take().map_or_else(Vec::new, |mut it| it.take_numbers());
                numbers.extend(requests[taken..].iter().map(number));
                others.push((name, numbers));
            }
        }
        others
    }

    /// The pages of a column of this name, unless the library writes it; the next row group begins.
    pub(crate) fn finish(
        &mut self,
        column: &ColumnDescPtr,
        level: ZstdLevel,
    ) -> Result<Option<FinishedColumn>> {
        let numbers = match column.name() {
            OP => return self.ops.finish(column.clone(), level).map(Some),
            CLASS => {
                let classes = self.classes.as_mut();
                return classes.map(|it| it.finish(column.clone(), level)).transpose();
            }
            SIZE => &mut self.sizes,
            STREAM => &mut self.streams,
            _ => return Ok(None),
        };
        match numbers {
            Some(numbers) => numbers.finish(column.clone(), level).map(Some),
            None => {
                *numbers = Some(NumberColumn::default());
                Ok(None)
            }
        }
    }
}

/// What is written of a column.
struct Coded<'a> {
    /// The values in the plain encoding.
    dictionary: Vec<u8>,
    values: usize,
    codes: &'a [u8],
    statistics: Statistics,
}

impl Coded<'_> {
    fn finish(self, column: ColumnDescPtr, level: ZstdLevel) -> Result<FinishedColumn> {
        let width = (usize::BITS - self.values.saturating_sub(1).leading_zeros()).max(1);
        let mut codes = vec![width as u8];
        put_codes(&mut codes, self.codes, width as usize);
        let mut pages = Pages { bytes: Vec::new(), uncompressed_bytes: 0, level };
        pages.put(PageKind::Dictionary, self.values, &self.dictionary)?;
        let dictionary_bytes = pages.bytes.len();
        pages.put(PageKind::Codes, self.codes.len(), &codes)?;
        let page_of = |page_type, encoding| PageEncodingStats { page_type, encoding, count: 1 };
        let metadata = ColumnChunkMetaData::builder(column)
            .set_compression(Compression::ZSTD(level))
            .set_encodings(vec![Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY])
            .set_page_encoding_stats(vec![
                page_of(PageType::DICTIONARY_PAGE, Encoding::PLAIN),
                page_of(PageType::DATA_PAGE, Encoding::RLE_DICTIONARY),
            ])
            .set_num_values(self.codes.len() as i64)
            .set_total_compressed_size(pages.bytes.len() as i64)
            .set_total_uncompressed_size(pages.uncompressed_bytes as i64)
            .set_dictionary_page_offset(Some(0))
            .set_data_page_offset(dictionary_bytes as i64)
            .set_statistics(self.statistics)
            .build()?;
        let closed = ColumnCloseResult {
            bytes_written: pages.bytes.len() as u64,
            rows_written: self.codes.len() as u64,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        Ok((pages.bytes.into(), closed))
    }
}

#[derive(Clone, Copy)]
enum PageKind {
    Dictionary,
    Codes,
}

/// Pages as they stand in the file, with checksums.
struct Pages {
    bytes: Vec<u8>,
    uncompressed_bytes: usize,
    level: ZstdLevel,
}

impl Pages {
    fn put(&mut self, kind: PageKind, values: usize, content: &[u8]) -> Result<()> {
        let packed = zstd::bulk::compress(content, self.level.compression_level())
            .map_err(|error| ParquetError::External(Box::new(error)))?;
        let header = header(kind, values, content.len(), &packed);
        self.uncompressed_bytes += header.len() + content.len();
        self.bytes.extend_from_slice(&header);
        self.bytes.extend_from_slice(&packed);
        Ok(())
    }
}

/// The header of a page in the compact protocol of Thrift, where a field begins with its distance from the one before and
/// its type: 5 is an integer, 12 a structure, and 0 ends one.
fn header(kind: PageKind, values: usize, bytes: usize, packed: &[u8]) -> Vec<u8> {
    const INTEGER: u8 = 0x15;
    // Numbers of the format: the kind of the page, then where its structure is, and what this has after the values.
    let (page_type, structure, of_kind): (i32, u8, &[i32]) = match kind {
        PageKind::Dictionary => (2, 0x3c, &[0]),
        PageKind::Codes => (0, 0x1c, &[8, 3, 3]),
    };
    let mut header = Vec::new();
    for number in [page_type, bytes as i32, packed.len() as i32, crc32(packed) as i32] {
        header.push(INTEGER);
        put_number(&mut header, u64::from((number << 1 ^ number >> 31) as u32));
    }
    header.push(structure);
    for &number in [values as i32].iter().chain(of_kind) {
        header.push(INTEGER);
        put_number(&mut header, u64::from((number << 1) as u32));
    }
    header.extend([0, 0]);
    header
}

/// Seven bits per byte, the lowest first.
fn put_number(into: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        into.push(number as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

/// Runs of equal codes, and groups of packed ones between them.
fn put_codes(into: &mut Vec<u8>, codes: &[u8], width: usize) {
    let (mut packed_from, mut at) = (0, 0);
    while at < codes.len() {
        let run = codes[at..].iter().take_while(|&&code| code == codes[at]).count();
        if run < GROUP_CODES {
            at = (at + GROUP_CODES).min(codes.len());
            continue;
        }
        put_packed(into, &codes[packed_from..at], width);
        put_number(into, (run as u64) << 1);
        into.push(codes[at]);
        at += run;
        packed_from = at;
    }
    put_packed(into, &codes[packed_from..], width);
}

fn put_packed(into: &mut Vec<u8>, codes: &[u8], width: usize) {
    if codes.is_empty() {
        return;
    }
    put_number(into, (codes.len().div_ceil(GROUP_CODES) as u64) << 1 | 1);
    for group in codes.chunks(GROUP_CODES) {
        let bits = group.iter().rev().fold(0, |bits: u64, &code| bits << width | u64::from(code));
        into.extend_from_slice(&bits.to_le_bytes()[..width]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Codes of runs and groups, read again.
    fn unpacked(mut bytes: &[u8], width: usize, count: usize) -> Vec<u8> {
        let mut codes = Vec::new();
        while !bytes.is_empty() {
            let length = bytes.iter().position(|byte| byte & 0x80 == 0).unwrap() + 1;
            let number = bytes[..length]
                .iter()
                .rev()
                .fold(0_usize, |sum, &byte| sum << 7 | usize::from(byte & 0x7f));
            bytes = &bytes[length..];
            if number & 1 == 0 {
                codes.extend(std::iter::repeat_n(bytes[0], number >> 1));
                bytes = &bytes[1..];
                continue;
            }
            for _ in 0..number >> 1 {
                let bits = bytes[..width]
                    .iter()
                    .rev()
                    .fold(0_u64, |sum, &byte| sum << 8 | u64::from(byte));
                codes
                    .extend((0..8).map(|code| (bits >> (code * width) & ((1 << width) - 1)) as u8));
                bytes = &bytes[width..];
            }
        }
        codes.truncate(count);
        codes
    }

    #[test]
    fn codes_of_every_width_are_read_as_they_were_written() {
        let mut number = 1_u64;
        let mut random = move || {
            number = number.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            number >> 33
        };
        for width in 1..=8 {
            let mut codes = Vec::new();
            while codes.len() < 5_000 {
                let code = (random() % (1 << width)) as u8;
                let run = if random() % 5 == 0 { random() % 40 } else { 1 };
                codes.extend(std::iter::repeat_n(code, run as usize));
            }
            for count in [0, 1, 7, 8, 9, codes.len()] {
                let mut bytes = Vec::new();
                put_codes(&mut bytes, &codes[..count], width);
                assert_eq!(
                    unpacked(&bytes, width, count),
                    codes[..count],
                    "{count} of {width} bits"
                );
            }
        }
    }

    #[test]
    fn numbers_are_taken_up_to_the_first_without_a_code() {
        let mut column = NumberColumn::default();
        let numbers: Vec<u32> = (0..256).chain(0..256).chain([7, 7, 1000, 3]).collect();
        assert_eq!(column.extend(numbers.iter().copied()), 514);
        assert_eq!(column.take_numbers(), numbers[..514]);
        assert_eq!(column.extend([1000, 3].into_iter()), 2);
        assert_eq!(column.take_numbers(), [1000, 3]);
    }
}
