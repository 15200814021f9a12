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

/// A trace to read: where it comes from, which of its requests are taken, and what the reading may take.
#[derive(Clone, Debug)]
pub struct TraceInput {
    origin: Origin,
    /// Each takes a part of what the one before it leaves.
    selections: Vec<Selection>,
    budget: Budget,
}

/// Where a trace comes from.
#[derive(Clone, Debug)]
enum Origin {
    /// A file, or standard input for `-`.
    File { path: PathBuf, options: OpenOptions },
    /// Requests in memory.
    Table { name: String, table: Arc<RequestTable> },
    /// Requests that are made while they are read.
    Synthetic(Arc<Recipe>),
    /// Several traces as one.
    Joined { name: String, parts: Vec<TraceInput>, order: JoinOrder },
}

/// What the reading of a trace and its views may take.
#[derive(Clone, Debug, Default)]
struct Budget {
    /// The memory; the default is a share of the machine's.
    memory_limit_bytes: Option<u64>,
    /// The folder of the files that page views are kept in, in place of memory.
    scratch: Option<PathBuf>,
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
pub(crate) enum Wanted {
    Requests,
    Events,
    /// Events if the trace can hold any that are not requests, else requests.
    Fitting,
}

/// A reader, and how far it has read the stored bytes.
type Opened<'a> = (Box<dyn Reader + 'a>, StoredProgress);

impl TraceInput {
    /// A file whose format is found by content, or standard input for `-`.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self::opened(path, OpenOptions::default())
    }

    /// A file, or standard input for `-`, that is opened as the options say.
    pub fn opened(path: impl Into<PathBuf>, mut options: OpenOptions) -> Self {
        let memory_limit_bytes = options.memory_limit_bytes.take();
        Self::of(Origin::File { path: path.into(), options }).limited(memory_limit_bytes)
    }

    /// Requests in memory, which the rows of a result call `name`.
    pub fn table(name: impl Into<String>, table: Arc<RequestTable>) -> Self {
        Self::of(Origin::Table { name: name.into(), table })
    }

    /// Requests that are made while they are read, with the properties of a recipe.
    pub fn synthetic(recipe: Recipe) -> Self {
        Self::of(Origin::Synthetic(Arc::new(recipe)))
    }

    /// Several traces as one, which the rows of a result call `name`.
    pub fn joined(name: impl Into<String>, parts: Vec<TraceInput>, order: JoinOrder) -> Self {
        Self::of(Origin::Joined { name: name.into(), parts, order })
    }

    fn of(origin: Origin) -> Self {
        Self { origin, selections: Vec::new(), budget: Budget::default() }
    }

    /// The same trace, whose reading and views may take this much memory; `None` is the default.
    #[must_use]
    pub fn limited(mut self, memory_limit_bytes: Option<u64>) -> Self {
        self.budget.memory_limit_bytes = memory_limit_bytes;
        self
    }

    /// This file under another name, in rows and messages; what is no file keeps its own.
    #[must_use]
    pub fn named(mut self, name: String) -> Self {
        if let Some(options) = self.file_options() {
            options.name = Some(name);
        }
        self
    }

    /// The part of this trace that a selection wants.
    #[must_use]
    pub fn part(mut self, selection: Selection) -> Self {
        if !selection.is_all() {
            self.selections.push(selection);
        }
        self
    }

    /// The same trace, whose page views are to be kept in files without names in a folder. Take the folder
    /// [apart](Self::apart_from_scratch) before reading; studies that cannot spill to disk return an error.
    #[must_use]
    pub fn on_scratch(mut self, folder: impl Into<PathBuf>) -> Self {
        self.budget.scratch = Some(folder.into());
        self
    }

    /// The folder of its page views, if they are not in memory.
    pub fn scratch(&self) -> Option<&Path> {
        self.budget.scratch.as_deref()
    }

    /// The trace itself, and the folder of its page views, if they are not in memory.
    pub fn apart_from_scratch(&self) -> (Self, Option<PathBuf>) {
        let mut input = self.clone();
        let scratch = input.budget.scratch.take();
        (input, scratch)
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
        match &mut input.origin {
            Origin::File { options, .. } => options.without_digest = !is_digested,
            Origin::Joined { parts, .. } => {
                parts.iter_mut().for_each(|part| *part = part.digested(is_digested));
            }
            Origin::Table { .. } | Origin::Synthetic(_) => {}
        }
        input
    }

    /// The options of a file.
    fn file_options(&mut self) -> Option<&mut OpenOptions> {
        match &mut self.origin {
            Origin::File { options, .. } => Some(options),
            _ => None,
        }
    }

    /// The memory that the trace and its views may take.
    pub fn memory_limit_bytes(&self) -> u64 {
        let of_parts = match &self.origin {
            Origin::Joined { parts, .. } => parts.iter().map(Self::memory_limit_bytes).min(),
            _ => None,
        };
        let own = self.budget.memory_limit_bytes.or(of_parts);
        own.unwrap_or_else(default_memory_limit_bytes)
    }

    /// The same trace, of which no more than this may be made; `None` for one in memory, which takes its own already.
    pub fn within(&self, limit_bytes: u64) -> Option<Self> {
        let mut input = self.clone();
        match &mut input.origin {
            Origin::Table { .. } => return None,
            Origin::Joined { parts, .. } => {
                for part in parts {
                    *part = part.within(limit_bytes)?;
                }
            }
            Origin::File { .. } | Origin::Synthetic(_) => {}
        }
        Some(input.limited(Some(limit_bytes)))
    }

    /// Returns whether it gives the same requests when it is read a second time: standard input and pipes do not.
    pub fn can_be_read_again(&self) -> bool {
        match &self.origin {
            // A file that does not exist is refused when it is read, with the reason.
            Origin::File { path, .. } => {
                path.as_os_str() != "-"
                    && path.metadata().map_or(true, |found| found.is_file() || found.is_dir())
            }
            Origin::Table { .. } | Origin::Synthetic(_) => true,
            Origin::Joined { parts, .. } => parts.iter().all(Self::can_be_read_again),
        }
    }

    /// What the rows of a result call it.
    pub fn name(&self) -> String {
        match &self.origin {
            Origin::File { path, options } => {
                options.name.clone().unwrap_or_else(|| path.display().to_string())
            }
            Origin::Table { name, .. } | Origin::Joined { name, .. } => name.clone(),
            Origin::Synthetic(recipe) => recipe.name.clone().unwrap_or_else(|| recipe.pattern()),
        }
    }
}
