//! What the front ends of `clockhand trace capture` write: a file per process, records in blocks, as
//! `capture_stream.h` defines them.
//!
//! The files of one capture are read as one timeline. Each becomes a stream; blocks come in the
//! order of their first records' times, so that processes that ran at the same time are interleaved
//! block by block. A file without its footer was cut off, and all its whole records count.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use rustc_hash::FxHashSet;

use crate::anonymous::{AnonymousPages, SYSTEM_PAGE_BYTES};
use crate::error::TraceError;
use crate::request::Request;
use crate::view::{ClassCounts, RecordClass};

const MAGIC: &[u8; 8] = b"CLKHCAP\x01";
const BLOCK_HEADER_BYTES: usize = 13;
/// Front ends write records in blocks of 64 KiB; no block is as long as this.
const LONGEST_BLOCK_BYTES: u32 = 1 << 24;

/// How a process ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StreamEnd {
    /// It exited with this code.
    Exit(i32),
    /// It became another program, which is a stream of its own.
    Exec,
    /// A signal ended it.
    Signal,
    /// Unknown: its file ends without a footer, because it was killed.
    Cut,
}

/// What is known about one process of a capture besides its records.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CapturedStream {
    /// Number of the process in its system.
    pub process: u32,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// How it ended.
    pub end: StreamEnd,
    /// Records of each class.
    pub classes: ClassCounts,
    /// Bytes of a line.
    line_bytes: u32,
    segments: Vec<Segment>,
}

/// A piece of the address space at the end.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Segment {
    start: u64,
    end: u64,
    /// Permissions, kind and name.
    description: String,
}

impl Segment {
    /// Reads a line `START END PERMISSIONS KIND NAME`.
    fn parse(line: &str) -> Option<Self> {
        let mut parts = line.splitn(3, ' ');
        let mut address = || u64::from_str_radix(parts.next()?, 16).ok();
        let (start, end) = (address()?, address()?);
        Some(Self { start, end, description: parts.next()?.trim_end().to_owned() })
    }

    /// Whether what is written here is not backed by a file.
    fn is_swapped(&self) -> bool {
        self.description.split(' ').nth(1).is_some_and(|kind| kind != "shared")
    }
}

/// A block of records, in its file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Block {
    time_ns: u64,
    stream: u32,
    at_byte: u64,
    payload_bytes: u32,
}

/// Reads the files of one capture as one timeline.
pub struct CaptureReader {
    paths: Vec<PathBuf>,
    streams: Vec<CapturedStream>,
    /// In the order of the timeline.
    blocks: Vec<Block>,
    next_block: usize,
    written_pages: FxHashSet<(u32, u64)>,
}

impl CaptureReader {
    /// Finds the blocks of all files; the index of a file is its stream. Files that hold not even
    /// a header, of processes that were killed at once, give streams without records.
    ///
    /// # Errors
    /// [`TraceError::Io`] when a file cannot be read, [`TraceError::Content`] when it is not a file of
    /// a front end.
    pub fn open(paths: Vec<PathBuf>) -> Result<Self, TraceError> {
        let (mut streams, mut blocks) = (Vec::new(), Vec::new());
        for (stream, path) in paths.iter().enumerate() {
            streams.push(StreamFile::open(path)?.index(stream as u32, &mut blocks)?);
        }
        blocks.sort_unstable();
        let written_pages = FxHashSet::default();
        Ok(Self { paths, streams, blocks, next_block: 0, written_pages })
    }

    /// Replaces the contents of `batch` by the records of the next block, with their classes; their
    /// operation is that of the memory bus. False at the end.
    ///
    /// # Errors
    /// [`TraceError::Io`] when a file cannot be read.
    pub fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<bool, TraceError> {
        batch.clear();
        let Some(block) = self.blocks.get(self.next_block).copied() else { return Ok(false) };
        self.next_block += 1;
        let path = &self.paths[block.stream as usize];
        let payload = read_payload(path, block)
            .map_err(|source| io_error(path, "reading", block.at_byte, source))?;
        let stream = &mut self.streams[block.stream as usize];
        decode(&payload, |class, line| {
            stream.classes.add(class);
            let address = line.wrapping_mul(u64::from(stream.line_bytes));
            if matches!(class, RecordClass::StoreFill | RecordClass::WriteBack) {
                self.written_pages.insert((block.stream, address / SYSTEM_PAGE_BYTES));
            }
            let request = Request::new(class.bus_op(), address, stream.line_bytes);
            batch.push(Request { stream: block.stream, class: Some(class), ..request });
        });
        Ok(true)
    }

    /// The time of the first record of the next block, and its stream.
    pub(crate) fn next_block(&self) -> Option<(u64, u32)> {
        self.blocks.get(self.next_block).map(|block| (block.time_ns, block.stream))
    }

    /// Blocks that were read, and all blocks.
    pub fn progress(&self) -> (u64, u64) {
        (self.next_block as u64, self.blocks.len() as u64)
    }

    /// The processes; complete once the records have been read.
    pub fn streams(&self) -> &[CapturedStream] {
        &self.streams
    }

    /// The address spaces at the end of each process, a line per segment.
    pub fn segments(&self) -> Vec<String> {
        let streams = self.streams.iter().enumerate();
        let lines = streams.flat_map(|(number, stream)| {
            stream.segments.iter().map(move |segment| {
                let Segment { start, end, description } = segment;
                format!("{number} {start:x} {end:x} {description}")
            })
        });
        lines.collect()
    }

    /// The pages that were written and that are not backed by a file, once the records have been read;
    /// `None` if the address space of a process with records is not known, because it was cut off
    /// or its front end does not record it.
    pub fn anonymous_pages(&self) -> Option<AnonymousPages> {
        let is_unknown = |stream: &CapturedStream| {
            stream.segments.is_empty() && stream.classes != ClassCounts::default()
        };
        if self.streams.iter().any(is_unknown) {
            return None;
        }
        let is_swapped = |&&(stream, page): &&(u32, u64)| {
            let address = page * SYSTEM_PAGE_BYTES;
            self.streams[stream as usize].segments.iter().any(|segment| {
                (segment.start..segment.end).contains(&address) && segment.is_swapped()
            })
        };
        let mut pages: Vec<_> = self.written_pages.iter().filter(is_swapped).copied().collect();
        pages.sort_unstable();
        Some(AnonymousPages::of_pages(pages))
    }
}

fn io_error(path: &Path, doing: &'static str, byte: u64, source: io::Error) -> TraceError {
    TraceError::Io { file: path.display().to_string(), doing, byte, source }
}

fn read_payload(path: &Path, block: Block) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(block.at_byte))?;
    let mut payload = Vec::new();
    file.take(u64::from(block.payload_bytes)).read_to_end(&mut payload)?;
    Ok(payload)
}

/// Gives `take` the class and line of each whole record.
fn decode(payload: &[u8], mut take: impl FnMut(RecordClass, u64)) {
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

/// A file while its blocks are found.
struct StreamFile<'a> {
    path: &'a Path,
    file: File,
    bytes: u64,
}

impl<'a> StreamFile<'a> {
    fn open(path: &'a Path) -> Result<Self, TraceError> {
        let failed = |source| io_error(path, "opening", 0, source);
        let file = File::open(path).map_err(failed)?;
        let bytes = file.metadata().map_err(failed)?.len();
        Ok(Self { path, file, bytes })
    }

    /// Reads everything except the records, and adds the positions of those.
    fn index(mut self, number: u32, blocks: &mut Vec<Block>) -> Result<CapturedStream, TraceError> {
        let mut stream = CapturedStream {
            process: 0,
            command: Vec::new(),
            end: StreamEnd::Cut,
            classes: ClassCounts::default(),
            line_bytes: 1,
            segments: Vec::new(),
        };
        if self.bytes < MAGIC.len() as u64 {
            return Ok(stream);
        }
        if self.take_bytes(0, MAGIC.len())? != MAGIC {
            return Err(self.content(0, "there is no mark of a capture; capture again"));
        }
        let mut at_byte = MAGIC.len() as u64;
        while at_byte + BLOCK_HEADER_BYTES as u64 <= self.bytes {
            let header = self.take_bytes(at_byte, BLOCK_HEADER_BYTES)?;
            let payload_bytes = u32::from_le_bytes([header[1], header[2], header[3], header[4]]);
            let time_ns = header[5..].iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
            if payload_bytes > LONGEST_BLOCK_BYTES {
                return Err(self.content(at_byte, "no block is as long; capture again"));
            }
            at_byte += BLOCK_HEADER_BYTES as u64;
            let is_whole = at_byte + u64::from(payload_bytes) <= self.bytes;
            match header[0] {
                b'R' => {
                    stream.end = StreamEnd::Cut;
                    blocks.push(Block { time_ns, stream: number, at_byte, payload_bytes });
                }
                tag if is_whole => {
                    let payload = self.take_bytes(at_byte, payload_bytes as usize)?;
                    take_text(&mut stream, tag, &String::from_utf8_lossy(&payload));
                }
                _ => {}
            }
            at_byte += u64::from(payload_bytes);
        }
        Ok(stream)
    }

    fn take_bytes(&mut self, at_byte: u64, count: usize) -> Result<Vec<u8>, TraceError> {
        let mut bytes = vec![0; count];
        self.file
            .seek(SeekFrom::Start(at_byte))
            .and_then(|_| self.file.read_exact(&mut bytes))
            .map_err(|source| io_error(self.path, "reading", at_byte, source))?;
        Ok(bytes)
    }

    fn content(&self, byte: u64, reason: &str) -> TraceError {
        TraceError::Content {
            file: self.path.display().to_string(),
            place: format!("byte {byte}"),
            reason: reason.to_owned(),
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
