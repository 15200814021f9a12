//! Storage: random requests to a file past the page cache, the same from the page cache, and page faults on it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use clockhand_quantity::option;
use rustix::fs::Advice as FileAdvice;

use crate::direct::{Direction, Ring};
use crate::point::times;
use crate::random::Random;
use crate::region::{PAGE_BYTES, Pages, Region};
use crate::target::Target;
use crate::{MeasureError, Point, SIZES_BYTES};

/// What is to be measured.
#[derive(Clone, Debug)]
pub struct StorageOptions {
    /// A folder, a file that does not exist yet, or with `write_to_existing` a file or a block device that does.
    pub path: PathBuf,
    /// True if the content of what exists may be overwritten.
    pub write_to_existing: bool,
    /// Bytes that requests go to.
    pub file_bytes: u64,
    /// The most times that each request is made.
    pub operations: usize,
    /// Where requests go.
    pub seed: u64,
}

/// Bytes of one step of filling the file.
const FILL_BYTES: u64 = 16 << 20;
/// All requests of one size move no more than this.
const POINT_BYTES: usize = 64 << 20;
/// The part of the file that is read from the page cache, and mapped.
const CACHED_BYTES: u64 = 64 << 20;
/// A fault on a cached file also maps its neighbours in this range, so that one page of each is touched.
const FAULT_AROUND_BYTES: usize = 64 << 10;

#[derive(Clone, Copy, Debug)]
enum Step {
    Fill { from: u64 },
    Direct { direction: Direction, bytes: usize },
    Buffered { bytes: usize },
    MinorFaults,
    MajorFaults,
}

/// A measurement of storage, step by step.
pub struct StorageMeasurement {
    target: Target,
    buffered: File,
    ring: Ring,
    buffer: Region,
    random: Random,
    operations: usize,
    steps: Vec<Step>,
}

impl StorageMeasurement {
    /// Opens the file. Nothing is written before the first step.
    ///
    /// # Errors
    ///
    /// The path exists and `write_to_existing` is not given, the file cannot be made or opened past the page cache, there
    /// is no room for it, or the kernel gives no ring.
    pub fn new(options: &StorageOptions) -> Result<Self, MeasureError> {
        if options.operations == 0 {
            return Err(MeasureError::usage(
                option("operations") + " 0 measures nothing",
                "give at least 1",
            ));
        }
        let ring = Ring::new()?;
        let target = Target::open(&options.path, options.file_bytes, options.write_to_existing)?;
        let buffered = target.buffered()?;
        let mut random = Random::new(options.seed);
        let largest = SIZES_BYTES[SIZES_BYTES.len() - 1];
        let mut buffer = Region::anonymous(largest, Pages::Small)?;
        random.fill(buffer.as_mut_slice());
        let mut steps = Vec::new();
        steps
            .extend((0..target.bytes).step_by(FILL_BYTES as usize).map(|from| Step::Fill { from }));
        for direction in [Direction::Read, Direction::Write] {
            steps.extend(SIZES_BYTES.map(|bytes| Step::Direct { direction, bytes }));
        }
        steps.extend(SIZES_BYTES.map(|bytes| Step::Buffered { bytes }));
        steps.extend([Step::MinorFaults, Step::MajorFaults]);
        let operations = options.operations;
        Ok(StorageMeasurement { target, buffered, ring, buffer, random, operations, steps })
    }

    /// Bytes that requests go to.
    pub fn file_bytes(&self) -> u64 {
        self.target.bytes
    }

    /// Bytes that all steps write at most.
    pub fn written_bytes(&self) -> u64 {
        let of_step = |step: &Step| match *step {
            Step::Fill { from } => FILL_BYTES.min(self.target.bytes - from),
            Step::Direct { direction: Direction::Write, bytes } => {
                (self.operations_of(bytes) * bytes) as u64
            }
            _ => 0,
        };
        self.steps.iter().map(of_step).sum()
    }

    /// What each step does, in a few words.
    pub fn steps(&self) -> Vec<String> {
        let words = |step: &Step| match *step {
            Step::Fill { .. } => "filling the file".to_owned(),
            Step::Direct { direction: Direction::Read, bytes } => {
                format!("reading {} KiB past the page cache", bytes >> 10)
            }
            Step::Direct { direction: Direction::Write, bytes } => {
                format!("writing {} KiB past the page cache", bytes >> 10)
            }
            Step::Buffered { bytes } => format!("reading {} KiB from the page cache", bytes >> 10),
            Step::MinorFaults => "minor page faults".to_owned(),
            Step::MajorFaults => "major page faults".to_owned(),
        };
        self.steps.iter().map(words).collect()
    }

    /// Runs a step; they are run in their order, each once.
    ///
    /// # Errors
    ///
    /// A request fails.
    ///
    /// # Panics
    ///
    /// If there is no such step.
    pub fn run(&mut self, step: usize) -> Result<Vec<Point>, MeasureError> {
        match self.steps[step] {
            Step::Fill { from } => self.fill(from).map(|()| Vec::new()),
            Step::Direct { direction, bytes } => Ok(vec![self.direct(direction, bytes)?]),
            Step::Buffered { bytes } => Ok(vec![self.read_buffered(bytes)?]),
            Step::MinorFaults => {
                self.warm()?;
                let times_ns = self.faults()?.0;
                Ok(vec![Point::of("minor_fault", PAGE_BYTES, 1, times_ns)])
            }
            Step::MajorFaults => self.major_faults(),
        }
    }

    fn operations_of(&self, bytes: usize) -> usize {
        self.operations.min(POINT_BYTES / bytes)
    }

    fn fill(&mut self, from: u64) -> Result<(), MeasureError> {
        let bytes = self.buffer.bytes();
        let end = self.target.bytes.min(from + FILL_BYTES);
        for offset in (from..end).step_by(bytes) {
            // Other content in every megabyte, so that nothing is stored once.
            self.random.fill(&mut self.buffer.as_mut_slice()[..PAGE_BYTES]);
            self.request(Direction::Write, offset, bytes)?;
        }
        if end == self.target.bytes {
            let synced = self.target.file.sync_all();
            synced.map_err(|error| {
                MeasureError::file(&self.target.path, "cannot be synced", error)
            })?;
        }
        Ok(())
    }

    fn request(
        &mut self,
        direction: Direction,
        offset: u64,
        bytes: usize,
    ) -> Result<(), MeasureError> {
        let Target { file, path, .. } = &self.target;
        self.ring.request(file, path, direction, offset, &mut self.buffer, bytes)
    }

    fn direct(&mut self, direction: Direction, bytes: usize) -> Result<Point, MeasureError> {
        let places = self.target.bytes as usize / bytes;
        let times_ns = times(self.operations_of(bytes), || {
            let offset = (self.random.below(places) * bytes) as u64;
            self.request(direction, offset, bytes)
        })?;
        let operation = match direction {
            Direction::Read => "read",
            Direction::Write => "write",
        };
        Ok(Point::of(operation, bytes, 1, times_ns))
    }

    fn cached_bytes(&self) -> usize {
        self.target.bytes.min(CACHED_BYTES) as usize
    }

    /// Brings what is read from the page cache into it.
    fn warm(&mut self) -> Result<(), MeasureError> {
        let bytes = self.buffer.bytes();
        for offset in (0..self.cached_bytes()).step_by(bytes) {
            self.pread(offset, bytes)?;
        }
        Ok(())
    }

    fn pread(&mut self, offset: usize, bytes: usize) -> Result<(), MeasureError> {
        let buffer = &mut self.buffer.as_mut_slice()[..bytes];
        let read = self.buffered.read_exact_at(buffer, offset as u64);
        read.map_err(|error| MeasureError::file(&self.target.path, "cannot be read", error))
    }

    fn read_buffered(&mut self, bytes: usize) -> Result<Point, MeasureError> {
        self.warm()?;
        let places = self.cached_bytes() / bytes;
        let times_ns = times(self.operations_of(bytes), || {
            let offset = self.random.below(places) * bytes;
            self.pread(offset, bytes)
        })?;
        Ok(Point::of("buffered_read", bytes, 1, times_ns))
    }

    /// Times of first touches of mapped pages, and how many of them were major faults.
    fn faults(&mut self) -> Result<(Vec<f64>, u64), MeasureError> {
        let region = Region::of_file(&self.buffered, self.cached_bytes())?;
        let places = region.bytes() / FAULT_AROUND_BYTES;
        let mut order = self.random.cycle(places).into_iter();
        let before = major_faults();
        let times_ns = times(places, || {
            let place = order.next().expect("each place is touched once") as usize;
            std::hint::black_box(region.touch(place * FAULT_AROUND_BYTES));
            Ok::<(), MeasureError>(())
        })?;
        Ok((times_ns, major_faults() - before))
    }

    /// Nothing where the system keeps the pages although it was asked to drop them.
    fn major_faults(&mut self) -> Result<Vec<Point>, MeasureError> {
        let dropped = rustix::fs::fadvise(&self.buffered, 0, None, FileAdvice::DontNeed);
        dropped.map_err(|error| {
            MeasureError::file(&self.target.path, "cannot be dropped from the page cache", error)
        })?;
        let (times_ns, major) = self.faults()?;
        let mostly = major * 10 >= times_ns.len() as u64 * 9;
        let point = mostly.then(|| Point::of("major_fault", PAGE_BYTES, 1, times_ns));
        Ok(point.into_iter().collect())
    }
}

/// Major faults of this thread so far: the twelfth field of its line, counted after the name in parentheses.
fn major_faults() -> u64 {
    let line = std::fs::read_to_string("/proc/thread-self/stat").unwrap_or_default();
    let after_name = line.rsplit_once(')').map_or("", |(_, rest)| rest);
    after_name.split_whitespace().nth(9).and_then(|field| field.parse().ok()).unwrap_or(0)
}
