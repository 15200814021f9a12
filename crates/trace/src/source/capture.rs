//! What the front ends of `clockhand trace capture` write: a file per process, records in blocks, as
//! `capture_stream.h` defines them.
//!
//! The files of one capture are read as one timeline. Each becomes a stream; blocks come in the
//! order of their first records' times, so that processes that ran at the same time are interleaved
//! block by block. A file without its footer was cut off, and all its whole records count.
//!
//! They can be read while they grow: a block is given as soon as no process can write an earlier one. The next block of a
//! process is later than its last one, and a process that is not known yet is later than all that was written before. So
//! a process that waits with a block begun holds the timeline up, until it writes the block or the capture ends.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashSet;

mod stream_file;

use crate::error::TraceError;
use crate::pages::anonymous::{AnonymousPages, SYSTEM_PAGE_BYTES};
use crate::processor::view::{ClassCounts, RecordClass};
use crate::request::Request;
use stream_file::{Block, Segment, StreamFile, began_ns, decode, io_error, read_payload};

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

/// Reads the files of one capture as one timeline.
pub struct CaptureReader {
    files: Vec<StreamFile>,
    streams: Vec<CapturedStream>,
    /// Those that were found and not given yet, in the order of the timeline.
    blocks: BTreeSet<Block>,
    /// No block before this time is to come any more.
    settled_ns: u64,
    given_blocks: u64,
    last_written: Option<(u32, u64)>,
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
        let mut reader = Self::of_no_file();
        paths.into_iter().for_each(|path| reader.add(path));
        reader.index(true)?;
        reader.settled_ns = u64::MAX;
        Ok(reader)
    }

    /// A reader for files that are still to be written.
    pub(crate) fn of_no_file() -> Self {
        Self {
            files: Vec::new(),
            streams: Vec::new(),
            blocks: BTreeSet::new(),
            settled_ns: 0,
            given_blocks: 0,
            last_written: None,
            written_pages: FxHashSet::default(),
        }
    }

    fn add(&mut self, path: PathBuf) {
        self.files.push(StreamFile::new(path));
        self.streams.push(CapturedStream {
            process: 0,
            command: Vec::new(),
            end: StreamEnd::Cut,
            classes: ClassCounts::default(),
            line_bytes: 1,
            segments: Vec::new(),
        });
    }

    /// Finds what was added to the files.
    fn index(&mut self, is_complete: bool) -> Result<(), TraceError> {
        for (number, (file, stream)) in self.files.iter_mut().zip(&mut self.streams).enumerate() {
            file.index(number as u32, stream, &mut self.blocks, is_complete)?;
        }
        Ok(())
    }

    /// Finds what was added since the last time: to the files that are known, and the files that `list` gives now, which
    /// become streams in the order in which their processes began. Nothing is added any more if it `is_complete`.
    ///
    /// # Errors
    /// As [`open`](Self::open), and those of `list`.
    pub(crate) fn follow(
        &mut self,
        list: impl FnOnce() -> Result<Vec<PathBuf>, TraceError>,
        is_complete: bool,
    ) -> Result<(), TraceError> {
        let last_found_ns = self.blocks.last().map_or(0, |block| block.time_ns);
        let known: FxHashSet<&Path> = self.files.iter().map(|file| file.path.as_path()).collect();
        let is_new = |path: &PathBuf| !known.contains(path.as_path());
        let began = |path: PathBuf| Ok((began_ns(&path)?, path));
        let mut new: Vec<(Option<u64>, PathBuf)> =
            list()?.into_iter().filter(is_new).map(began).collect::<Result<_, TraceError>>()?;
        // A file without a header may still turn out to have begun before the others, unless its process was killed at
        // once.
        let is_known = is_complete || new.iter().all(|(began_ns, _)| began_ns.is_some());
        if is_known {
            new.sort_by_key(|(began_ns, _)| began_ns.unwrap_or(u64::MAX));
            new.into_iter().for_each(|(_, path)| self.add(path));
        }
        self.index(is_complete)?;
        if is_complete {
            self.settled_ns = u64::MAX;
        } else if is_known {
            // Whoever was not listed began after the blocks that were found before.
            let numbers = 0..self.files.len();
            let least = numbers.map(|number| self.next_block_ns(number)).min();
            let settled_ns = least.unwrap_or(0).min(last_found_ns.saturating_add(1));
            self.settled_ns = self.settled_ns.max(settled_ns);
        }
        Ok(())
    }

    /// The earliest time that the next block of a stream can have.
    fn next_block_ns(&self, number: usize) -> u64 {
        let (file, stream) = (&self.files[number], &self.streams[number]);
        // A process that has become another program writes to another file; unless that failed, and it goes on.
        let is_followed =
            || self.streams[number + 1..].iter().any(|later| later.process == stream.process);
        match stream.end {
            StreamEnd::Exit(_) | StreamEnd::Signal if file.is_ended => u64::MAX,
            StreamEnd::Exec if file.is_ended && is_followed() => u64::MAX,
            _ => file.next_block_ns,
        }
    }

    /// Replaces the contents of `batch` by the records of the next block, with their classes; their
    /// operation is that of the memory bus. False at the end, or if the next block may not be known yet.
    ///
    /// # Errors
    /// [`TraceError::Io`] when a file cannot be read.
    pub fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<bool, TraceError> {
        batch.clear();
        let is_settled = |block: &Block| block.time_ns < self.settled_ns;
        if !self.blocks.first().is_some_and(is_settled) {
            return Ok(false);
        }
        let block = self.blocks.pop_first().expect("it was looked at");
        self.given_blocks += 1;
        let path = &self.files[block.stream as usize].path;
        let payload = read_payload(path, block)
            .map_err(|source| io_error(path, "reading", block.at_byte, source))?;
        let stream = &mut self.streams[block.stream as usize];
        decode(&payload, |class, line| {
            stream.classes.add(class);
            let address = line.wrapping_mul(u64::from(stream.line_bytes));
            if matches!(class, RecordClass::StoreFill | RecordClass::WriteBack) {
                let page = (block.stream, address / SYSTEM_PAGE_BYTES);
                if self.last_written != Some(page) {
                    self.last_written = Some(page);
                    self.written_pages.insert(page);
                }
            }
            let request = Request::new(class.bus_op(), address, stream.line_bytes);
            batch.push(Request { stream: block.stream, class: Some(class), ..request });
        });
        Ok(true)
    }

    /// The time of the first record of the next block, and its stream.
    pub(crate) fn next_block(&self) -> Option<(u64, u32)> {
        self.blocks.first().map(|block| (block.time_ns, block.stream))
    }

    /// Blocks that were read, and all blocks that were found.
    pub fn progress(&self) -> (u64, u64) {
        (self.given_blocks, self.given_blocks + self.blocks.len() as u64)
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

    /// The pages that were written and that no file backs, once the records have been read. `None` if the address space
    /// of a process is unknown, because it was cut off or its front end does not record it.
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

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write;

    use super::stream_file::MAGIC;
    use super::*;

    fn random_numbers() -> impl FnMut(u64) -> u64 {
        let mut number = 1_u64;
        move |below| {
            number = number.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (number >> 33) % below
        }
    }

    /// Processes that write to files as a front end does; the clock goes on with everything that happens.
    struct Processes {
        folder: tempfile::TempDir,
        now_ns: u64,
        /// The file of each, and when it began the block that it holds.
        running: Vec<(PathBuf, Option<u64>)>,
        begun: u32,
    }

    impl Processes {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            Processes { folder, now_ns: 100, running: Vec::new(), begun: 0 }
        }

        fn write(&self, path: &Path, bytes: &[u8]) {
            let file = OpenOptions::new().create(true).append(true).open(path);
            file.unwrap().write_all(bytes).unwrap();
        }

        fn block(tag: u8, time_ns: u64, payload: &[u8]) -> Vec<u8> {
            let length = (payload.len() as u32).to_le_bytes();
            [&[tag], &length[..], &time_ns.to_le_bytes(), payload].concat()
        }

        fn begin(&mut self) {
            let path = self.folder.path().join(format!("stream.{}.0", 90 - self.begun));
            let header = format!("process={}\nline_bytes=32\n", self.begun);
            let block = Self::block(b'H', self.now_ns, header.as_bytes());
            self.write(&path, &[&MAGIC[..], &block].concat());
            self.running.push((path, None));
            self.begun += 1;
        }

        /// A process begins a block, writes the one that it holds, or ends.
        fn go_on(&mut self, which: usize, random: &mut impl FnMut(u64) -> u64) {
            let (path, held) = self.running[which].clone();
            if random(12) == 0 && self.running.len() > 1 {
                let held = held.map(|began_ns| Self::block(b'R', began_ns, &[1]));
                let footer = Self::block(b'F', self.now_ns, b"end=exit\nexit_code=0\n");
                // Some are killed.
                let is_killed = random(4) == 0;
                let end = if is_killed {
                    Vec::new()
                } else {
                    [held.unwrap_or_default(), footer].concat()
                };
                self.write(&path, &end);
                self.running.remove(which);
                return;
            }
            match held {
                None => self.running[which].1 = Some(self.now_ns),
                Some(began_ns) => {
                    self.write(&path, &Self::block(b'R', began_ns, &[1]));
                    self.running[which].1 = None;
                }
            }
        }

        fn list(&self) -> Vec<PathBuf> {
            let entries = self.folder.path().read_dir().unwrap();
            entries.map(|entry| entry.unwrap().path()).collect()
        }
    }

    /// The streams of all blocks that can be read now.
    fn read(reader: &mut CaptureReader, streams: &mut Vec<u32>) {
        let mut batch = Vec::new();
        while reader.next_batch(&mut batch).unwrap() {
            streams.extend(batch.iter().map(|request| request.stream));
        }
    }

    #[test]
    fn files_that_grow_give_the_timeline_of_whole_ones() {
        let mut random = random_numbers();
        let (mut early, mut all) = (0, 0);
        for _ in 0..30 {
            let mut processes = Processes::new();
            let mut reader = CaptureReader::of_no_file();
            let mut followed = Vec::new();
            processes.begin();
            for _ in 0..150 {
                processes.now_ns += 1 + random(5);
                match random(20) {
                    0 if processes.begun < 9 => processes.begin(),
                    1..=3 => {
                        let list = processes.list();
                        reader.follow(|| Ok(list), false).unwrap();
                        read(&mut reader, &mut followed);
                    }
                    _ => {
                        let which = random(processes.running.len() as u64) as usize;
                        processes.go_on(which, &mut random);
                    }
                }
            }
            early += followed.len();
            reader.follow(|| Ok(processes.list()), true).unwrap();
            read(&mut reader, &mut followed);
            let mut paths = processes.list();
            paths.sort_by_key(|path| began_ns(path).unwrap());
            let (mut whole, mut expected) = (CaptureReader::open(paths).unwrap(), Vec::new());
            read(&mut whole, &mut expected);
            assert_eq!(followed, expected);
            assert_eq!(reader.streams(), whole.streams());
            all += expected.len();
        }
        assert!(early * 3 > all, "{early} of {all} blocks were given before the end");
    }

    #[test]
    fn half_a_block_is_waited_for_and_counts_when_nothing_comes_any_more() {
        let mut processes = Processes::new();
        processes.begin();
        let path = processes.running[0].0.clone();
        let block = Processes::block(b'R', 200, &[1, 1, 1, 1]);
        let mut reader = CaptureReader::of_no_file();
        let mut streams = Vec::new();
        for part in [&block[..5], &block[5..15]] {
            processes.write(&path, part);
            reader.follow(|| Ok(processes.list()), false).unwrap();
            read(&mut reader, &mut streams);
            assert!(streams.is_empty());
        }
        reader.follow(|| Ok(processes.list()), true).unwrap();
        read(&mut reader, &mut streams);
        assert_eq!(streams, [0, 0], "two of four records were written");
    }
}
