//! The file of one process: its blocks, and what they hold.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::{CapturedStream, StreamEnd};
use crate::error::TraceError;
use crate::processor::view::RecordClass;

pub(super) const MAGIC: &[u8; 8] = b"CLKHCAP\x01";
const BLOCK_HEADER_BYTES: usize = 13;
/// Front ends write records in blocks of 64 KiB; no block is as long as this.
const LONGEST_BLOCK_BYTES: u32 = 1 << 24;

/// A piece of the address space at the end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Segment {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Permissions, kind and name.
    pub(super) description: String,
}

impl Segment {
    /// Reads a line `START END PERMISSIONS KIND NAME`.
    fn parse(line: &str) -> Option<Self> {
        let mut parts = line.splitn(3, ' ');
        let mut address = || u64::from_str_radix(parts.next()?, 16).ok();
        let (start, end) = (address()?, address()?);
        Some(Self { start, end, description: parts.next()?.trim_end().to_owned() })
    }

    /// Returns whether what is written here is not backed by a file.
    pub(super) fn is_swapped(&self) -> bool {
        self.description.split(' ').nth(1).is_some_and(|kind| kind != "shared")
    }
}

/// A block of records, in its file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Block {
    pub(super) time_ns: u64,
    pub(super) stream: u32,
    pub(super) at_byte: u64,
    pub(super) payload_bytes: u32,
}

pub(super) fn io_error(
    path: &Path,
    doing: &'static str,
    byte: u64,
    source: io::Error,
) -> TraceError {
    TraceError::Io { file: path.display().to_string(), doing, byte, source }
}

pub(super) fn read_payload(path: &Path, block: Block) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(block.at_byte))?;
    let mut payload = Vec::new();
    file.take(u64::from(block.payload_bytes)).read_to_end(&mut payload)?;
    Ok(payload)
}

/// Gives `take` the class and line of each whole record.
pub(super) fn decode(payload: &[u8], mut take: impl FnMut(RecordClass, u64)) {
    let mut last_lines = [0_u64; 4];
    let mut bytes = payload.iter();
    while let Some(&first) = bytes.next() {
        let class = RecordClass::ALL[usize::from(first & 3)];
        let mut zigzag = u64::from(first >> 2 & 31);
        let mut shift = 5;
        let mut more = first & 0x80 != 0;
        while more {
            let Some(&byte) = bytes.next() else { return };
            zigzag |= u64::from(byte & 0x7f).wrapping_shl(shift);
            shift += 7;
            more = byte & 0x80 != 0;
        }
        let difference = zigzag >> 1 ^ (zigzag & 1).wrapping_neg();
        let line = &mut last_lines[class as usize];
        *line = line.wrapping_add(difference);
        take(class, *line);
    }
}

/// When the process of a file began; `None` while it has no header.
pub(super) fn began_ns(path: &Path) -> Result<Option<u64>, TraceError> {
    let mut head = Vec::new();
    File::open(path)
        .and_then(|file| {
            file.take((MAGIC.len() + BLOCK_HEADER_BYTES) as u64).read_to_end(&mut head)
        })
        .map_err(|source| io_error(path, "reading", 0, source))?;
    let header = head.get(MAGIC.len()..).and_then(|header| header.try_into().ok());
    Ok(header.map(|header| block_header(header).1))
}

/// The payload's bytes and the time of a block.
fn block_header(header: &[u8; BLOCK_HEADER_BYTES]) -> (u32, u64) {
    let payload_bytes = u32::from_le_bytes([header[1], header[2], header[3], header[4]]);
    let time_ns = header[5..].iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
    (payload_bytes, time_ns)
}

/// A file, and how far its blocks have been found.
pub(super) struct StreamFile {
    pub(super) path: PathBuf,
    at_byte: u64,
    /// The next block is not earlier.
    pub(super) next_block_ns: u64,
    /// True if the last block is a footer.
    pub(super) is_ended: bool,
}

impl StreamFile {
    pub(super) fn new(path: PathBuf) -> Self {
        StreamFile { path, at_byte: 0, next_block_ns: 0, is_ended: false }
    }

    /// Reads everything except the records that was added, and adds the positions of those; of a file that is complete also
    /// of a block that was cut off.
    pub(super) fn index(
        &mut self,
        number: u32,
        stream: &mut CapturedStream,
        blocks: &mut BTreeSet<Block>,
        is_complete: bool,
    ) -> Result<(), TraceError> {
        let bytes = self.path.metadata().map_err(|source| self.failed(source))?.len();
        if bytes < (self.at_byte + BLOCK_HEADER_BYTES as u64).max(MAGIC.len() as u64) {
            return Ok(());
        }
        let mut file = File::open(&self.path).map_err(|source| self.failed(source))?;
        if self.at_byte == 0 {
            if self.take_bytes(&mut file, MAGIC.len())? != MAGIC {
                return Err(self.content("there is no mark of a capture; capture again"));
            }
            self.at_byte = MAGIC.len() as u64;
        }
        while self.at_byte + BLOCK_HEADER_BYTES as u64 <= bytes {
            let header = self.take_bytes(&mut file, BLOCK_HEADER_BYTES)?;
            let header = header.try_into().expect("so many bytes were read");
            let (payload_bytes, time_ns) = block_header(&header);
            if payload_bytes > LONGEST_BLOCK_BYTES {
                return Err(self.content("no block is as long; capture again"));
            }
            let at_byte = self.at_byte + BLOCK_HEADER_BYTES as u64;
            let is_whole = at_byte + u64::from(payload_bytes) <= bytes;
            if !is_whole && !is_complete {
                break;
            }
            self.at_byte = at_byte;
            match header[0] {
                b'R' => {
                    stream.end = StreamEnd::Cut;
                    blocks.insert(Block { time_ns, stream: number, at_byte, payload_bytes });
                }
                tag if is_whole => {
                    let payload = self.take_bytes(&mut file, payload_bytes as usize)?;
                    take_text(stream, tag, &String::from_utf8_lossy(&payload));
                }
                _ => {}
            }
            self.at_byte = at_byte + u64::from(payload_bytes);
            (self.next_block_ns, self.is_ended) = (time_ns, header[0] == b'F');
        }
        Ok(())
    }

    fn take_bytes(&self, file: &mut File, count: usize) -> Result<Vec<u8>, TraceError> {
        let mut bytes = vec![0; count];
        file.seek(SeekFrom::Start(self.at_byte))
            .and_then(|_| file.read_exact(&mut bytes))
            .map_err(|source| self.failed(source))?;
        Ok(bytes)
    }

    fn failed(&self, source: io::Error) -> TraceError {
        io_error(&self.path, "reading", self.at_byte, source)
    }

    fn content(&self, reason: &str) -> TraceError {
        TraceError::Content {
            file: self.path.display().to_string(),
            place: format!("byte {}", self.at_byte),
            reason: reason.into(),
        }
    }
}

/// Takes a header, a map or a footer.
fn take_text(stream: &mut CapturedStream, tag: u8, text: &str) {
    let pairs = || text.lines().filter_map(|line| line.trim_start().split_once('='));
    let number = |key| pairs().find(|(other, _)| *other == key)?.1.parse::<i64>().ok();
    match tag {
        b'H' => {
            stream.process = number("process").unwrap_or(0) as u32;
            stream.line_bytes = number("line_bytes").unwrap_or(1) as u32;
            stream.command = pairs()
                .filter(|(key, _)| matches!(*key, "command" | "argument"))
                .map(|(_, word)| word.to_owned())
                .collect();
        }
        b'M' => stream.segments = text.lines().filter_map(Segment::parse).collect(),
        b'F' => {
            let end = pairs().find(|(key, _)| *key == "end").map(|(_, end)| end);
            stream.end = match end {
                Some("exec") => StreamEnd::Exec,
                Some("signal") => StreamEnd::Signal,
                _ => StreamEnd::Exit(number("exit_code").unwrap_or(0) as i32),
            };
        }
        _ => {}
    }
}
