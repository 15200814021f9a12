//! Sources of traces, read with progress and until the run is cancelled.

mod reading;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::TraceError;
use crate::event::Event;
use crate::memory_limit::default_memory_limit_bytes;
use crate::processor::view::Classes;
use crate::reader::{OpenOptions, Reader};
use crate::report::ReadReport;
use crate::request::Request;
use crate::source::Progress as StoredProgress;
use crate::source::joined::JoinOrder;
use crate::source::request_columns::RequestColumns;
use crate::source::selection::Selection;
use crate::synthetic::Recipe;

/// Where a trace comes from.
#[derive(Clone, Debug)]
pub enum TraceInput {
    /// A file, or standard input for `-`.
    File {
        /// The file.
        path: PathBuf,
        /// How it is opened.
        options: OpenOptions,
    },
    /// Requests in memory.
    Table {
        /// What the rows of a result call it.
        name: String,
        /// The requests.
        table: Arc<RequestTable>,
    },
    /// Requests that are made while they are read.
    Synthetic {
        /// Their properties.
        recipe: Arc<Recipe>,
        /// The memory that they and their views may take; the default is a share of the machine's.
        memory_limit_bytes: Option<u64>,
    },
    /// Several traces as one.
    Joined {
        /// What the rows of a result call it.
        name: String,
        /// The traces.
        parts: Vec<TraceInput>,
        /// In which order.
        order: JoinOrder,
    },
    /// A part of another trace.
    Part {
        /// The other trace.
        whole: Box<TraceInput>,
        /// Which of its requests.
        selection: Selection,
    },
    /// Another trace, whose page views are kept in files.
    OnScratch {
        /// The other trace.
        whole: Box<TraceInput>,
        /// The folder of the files.
        folder: PathBuf,
    },
}

/// The columns of a trace in memory; row `i` of each belongs to request `i`.
#[derive(Clone, Debug, Default)]
pub struct RequestTable {
    /// Whether each request writes.
    pub is_write: Vec<bool>,
    /// First byte of each request.
    pub addresses: Vec<u64>,
    /// Bytes of each request; 1 without the column.
    pub sizes_bytes: Option<Vec<u32>>,
    /// Stream of each request; 0 without the column.
    pub streams: Option<Vec<u32>>,
    /// Time of each request in nanoseconds.
    pub times_ns: Option<Vec<u64>>,
}

impl RequestTable {
    fn columns(&self) -> RequestColumns<'_> {
        RequestColumns {
            is_write: &self.is_write,
            addresses: &self.addresses,
            sizes_bytes: self.sizes_bytes.as_deref(),
            streams: self.streams.as_deref(),
            times_ns: self.times_ns.as_deref(),
        }
    }
}

/// Takes a batch of requests, and what was found so far.
type TakeReported<'a> = dyn FnMut(&[Request], &ReadReport) -> Result<(), TraceError> + 'a;

/// Takes a batch of what fits the trace, and what was found so far.
pub(crate) type TakeBatch<'a> = dyn FnMut(Batch<'_>, &ReadReport) -> Result<(), TraceError> + 'a;

/// A part of a trace.
#[derive(Clone, Copy, Debug)]
pub enum Batch<'a> {
    /// Of a trace that has no other events.
    Requests(&'a [Request]),
    /// Of any other trace.
    Events(&'a [Event]),
}

/// What is to be read of a trace.
#[derive(Clone, Copy)]
enum Wanted {
    Requests,
    Events,
    Fitting,
}

/// A reader, and how far it has read the stored bytes.
type Opened<'a> = (Box<dyn Reader + 'a>, StoredProgress);

impl TraceInput {
    /// A file whose format is found by content.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        TraceInput::File { path: path.into(), options: OpenOptions::default() }
    }

    /// The part of this trace that a selection wants.
    pub fn part(self, selection: Selection) -> Self {
        if selection.is_all() {
            return self;
        }
        if let TraceInput::OnScratch { whole, folder } = self {
            return whole.part(selection).on_scratch(folder);
        }
        TraceInput::Part { whole: Box::new(self), selection }
    }

    /// The same trace, whose page views are to be kept in files without names in a folder. Call
    /// [`scratch`](Self::scratch) before reading; studies that cannot spill to disk return an error.
    pub fn on_scratch(self, folder: impl Into<PathBuf>) -> Self {
        TraceInput::OnScratch { whole: Box::new(self), folder: folder.into() }
    }

    /// The trace itself, and the folder of its page views, if they are not in memory.
    pub fn scratch(&self) -> (&Self, Option<&Path>) {
        match self {
            TraceInput::OnScratch { whole, folder } => (whole, Some(folder)),
            _ => (self, None),
        }
    }

    /// Only the pages of a captured program that would go to swap.
    ///
    /// # Errors
    ///
    /// The trace is not a file, so it has no address space.
    pub fn only_anonymous(mut self) -> Result<Self, TraceError> {
        let Some(options) = self.file_options() else {
            return Err(TraceError::NoAddressSpace { file: self.name() });
        };
        options.only_anonymous = true;
        Ok(self)
    }

    /// The same trace for a file that is to hold its classes, unless it is seen in a view that was
    /// asked for.
    pub(crate) fn keeping_classes(&self) -> Self {
        let mut input = self.clone();
        if let Some(options) = input.file_options()
            && options.classes == Classes::DefaultView
        {
            options.classes = Classes::Kept;
        }
        input
    }

    /// The same trace, whose objects take the blocks that they have and live as long as they are said to, if it is one
    /// of a key-value store; `block_bytes` is the largest block that is looked at.
    #[must_use]
    pub fn with_living_objects(&self, block_bytes: u64) -> Self {
        let mut input = self.clone();
        if let Some(options) = input.file_options() {
            options.object_block_bytes = Some(block_bytes);
        }
        input
    }

    /// The same trace, whose report has the SHA-256 of each of its files, or of none, which takes less time.
    #[must_use]
    pub fn digested(&self, is_digested: bool) -> Self {
        let mut input = self.clone();
        if let TraceInput::Joined { parts, .. } = &mut input {
            parts.iter_mut().for_each(|part| *part = part.digested(is_digested));
        } else if let Some(options) = input.file_options() {
            options.without_digest = !is_digested;
        }
        input
    }

    /// The options of the file that this trace is, or is a part of.
    fn file_options(&mut self) -> Option<&mut OpenOptions> {
        match self {
            TraceInput::File { options, .. } => Some(options),
            TraceInput::Part { whole, .. } | TraceInput::OnScratch { whole, .. } => {
                whole.file_options()
            }
            TraceInput::Table { .. } | TraceInput::Synthetic { .. } | TraceInput::Joined { .. } => {
                None
            }
        }
    }

    /// The memory that the trace and its views may take.
    pub fn memory_limit_bytes(&self) -> u64 {
        match self {
            TraceInput::File { options, .. } => options.memory_limit_bytes(),
            TraceInput::Part { whole, .. } | TraceInput::OnScratch { whole, .. } => {
                whole.memory_limit_bytes()
            }
            TraceInput::Synthetic { memory_limit_bytes, .. } => {
                memory_limit_bytes.unwrap_or_else(default_memory_limit_bytes)
            }
            TraceInput::Joined { parts, .. } => parts
                .iter()
                .map(TraceInput::memory_limit_bytes)
                .min()
                .unwrap_or_else(default_memory_limit_bytes),
            TraceInput::Table { .. } => default_memory_limit_bytes(),
        }
    }

    /// The same trace, of which no more than this may be made; `None` for one in memory, which takes its own already.
    pub fn within(&self, limit_bytes: u64) -> Option<Self> {
        let mut input = self.clone();
        match &mut input {
            TraceInput::File { options, .. } => options.memory_limit_bytes = Some(limit_bytes),
            TraceInput::Part { whole, .. } | TraceInput::OnScratch { whole, .. } => {
                **whole = whole.within(limit_bytes)?;
            }
            TraceInput::Synthetic { memory_limit_bytes, .. } => {
                *memory_limit_bytes = Some(limit_bytes)
            }
            TraceInput::Joined { parts, .. } => {
                for part in parts {
                    *part = part.within(limit_bytes)?;
                }
            }
            TraceInput::Table { .. } => return None,
        }
        Some(input)
    }

    /// Returns whether it gives the same requests when it is read a second time: standard input and pipes do not.
    pub fn can_be_read_again(&self) -> bool {
        match self {
            // A file that does not exist is refused when it is read, with the reason.
            TraceInput::File { path, .. } => {
                path.as_os_str() != "-"
                    && path.metadata().map_or(true, |found| found.is_file() || found.is_dir())
            }
            TraceInput::Table { .. } | TraceInput::Synthetic { .. } => true,
            TraceInput::Joined { parts, .. } => parts.iter().all(TraceInput::can_be_read_again),
            TraceInput::Part { whole, .. } | TraceInput::OnScratch { whole, .. } => {
                whole.can_be_read_again()
            }
        }
    }

    /// What the rows of a result call it.
    pub fn name(&self) -> String {
        match self {
            TraceInput::File { path, options } => {
                options.name.clone().unwrap_or_else(|| path.display().to_string())
            }
            TraceInput::Table { name, .. } | TraceInput::Joined { name, .. } => name.clone(),
            TraceInput::Synthetic { recipe, .. } => {
                recipe.name.clone().unwrap_or_else(|| recipe.pattern())
            }
            TraceInput::Part { whole, .. } | TraceInput::OnScratch { whole, .. } => whole.name(),
        }
    }
}
