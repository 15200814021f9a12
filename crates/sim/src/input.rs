//! Where traces come from, and how they are pulled: with progress, and until told to stop.

use std::path::PathBuf;
use std::sync::Arc;

use clockhand_trace::{
    ColumnReader, CpuCacheConfig, OpenOptions, ReadReport, Reader, Recipe, Request, RequestColumns,
    SyntheticReader, TraceInfo, TraceInfoBuilder, TraceReader,
};

use crate::{Phase, Progress, SimError};

/// Where a trace comes from.
#[derive(Clone, Debug)]
pub enum TraceInput {
    /// A file, or standard input for `-`.
    File {
        /// The file.
        path: PathBuf,
        /// The name of the format; found by content if `None`.
        format: Option<String>,
        /// A CPU cache between a trace of processor accesses and memory.
        cpu_cache: Option<CpuCacheConfig>,
    },
    /// Requests in memory.
    Table {
        /// What the rows of a result call it.
        name: String,
        /// The requests.
        table: Arc<RequestTable>,
    },
    /// Requests that are made while they are read.
    Synthetic(Arc<Recipe>),
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

impl TraceInput {
    /// A file whose format is found by content.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        TraceInput::File { path: path.into(), format: None, cpu_cache: None }
    }

    /// What the rows of a result call it.
    pub fn name(&self) -> String {
        match self {
            TraceInput::File { path, .. } => path.display().to_string(),
            TraceInput::Table { name, .. } => name.clone(),
            TraceInput::Synthetic(recipe) => {
                recipe.name.clone().unwrap_or_else(|| recipe.pattern())
            }
        }
    }

    /// Hands all requests to `take`, batch by batch, and says what was met on the way.
    ///
    /// # Errors
    ///
    /// Those of the reader and of `take`, or [`SimError::Interrupted`].
    pub fn for_each_batch(
        &self,
        progress: &Progress,
        take: &mut dyn FnMut(&[Request]) -> Result<(), SimError>,
    ) -> Result<ReadReport, SimError> {
        match self {
            TraceInput::File { path, format, cpu_cache } => {
                let options = OpenOptions { format: format.as_deref(), cpu_cache: *cpu_cache };
                let mut reader = TraceReader::open(path, &options)?;
                let stored = reader.progress();
                progress.enter(Phase::Reading, stored.total_bytes().unwrap_or(0));
                pull(&mut reader, progress, &mut |batch| {
                    progress.set_done(stored.read_bytes());
                    take(batch)
                })
            }
            TraceInput::Table { table, .. } => {
                progress.enter(Phase::Reading, 0);
                pull(&mut ColumnReader::new(table.columns())?, progress, take)
            }
            TraceInput::Synthetic(recipe) => {
                progress.enter(Phase::Synthesizing, recipe.requests);
                pull(&mut SyntheticReader::new(recipe), progress, &mut |batch| {
                    progress.add_done(batch.len() as u64);
                    take(batch)
                })
            }
        }
    }

    /// Reads the trace to its end and tells what it is like.
    ///
    /// # Errors
    ///
    /// Those of the reader, or [`SimError::Interrupted`].
    pub fn info(&self, page_bytes: u64, progress: &Progress) -> Result<TraceInfo, SimError> {
        let mut builder = TraceInfoBuilder::new(page_bytes)?;
        let report = self.for_each_batch(progress, &mut |batch| {
            builder.extend(batch);
            Ok(())
        })?;
        Ok(builder.finish(report)?)
    }
}

fn pull(
    reader: &mut dyn Reader,
    progress: &Progress,
    take: &mut dyn FnMut(&[Request]) -> Result<(), SimError>,
) -> Result<ReadReport, SimError> {
    let mut batch = Vec::new();
    while reader.next_batch(&mut batch)? {
        take(&batch)?;
        if progress.is_cancelled() {
            return Err(SimError::Interrupted);
        }
    }
    Ok(reader.report().clone())
}
