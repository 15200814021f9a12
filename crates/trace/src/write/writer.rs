//! The driver of all writers: checks what a format can hold, splits and cuts where it must, counts
//! what is lost, and writes beside the file's place.

use std::path::Path;

mod entries;
mod streams;

use crate::error::TraceError;
use crate::event::{Event, ObjectKind};
use crate::pages::anonymous::AnonymousPages;
use crate::request::Request;
use crate::write::event_writer::{EventTextWriter, ObjectNames};
use crate::write::parquet_writer::{OBJECTS_KEY, OptionalColumns, ParquetWriter, objects_text};
use crate::write::sink::Compression;
use crate::write::target::{Encoding, Target};
use clockhand_quantity::Text;
use entries::EntryWriter;

/// The options of writing a trace.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// The format.
    pub target: &'static Target,
    /// Widens requests to whole sectors, blocks or cache lines where the format has no others;
    /// such requests are errors otherwise.
    pub widen: bool,
    /// Key and value pairs to keep with the trace, where the format can.
    pub labels: Vec<(String, String)>,
}

/// Writes requests to a file in any format that can be written, compressed as the ending of its
/// name says.
///
/// The file appears at its path in [`finish`](Self::finish); a writer that is dropped before leaves
/// nothing.
pub struct TraceWriter {
    rows: Rows,
}

/// Why a request cannot be written, as the end of a sentence.
type Reason = Text;

enum Rows {
    Parquet {
        writer: Box<ParquetWriter>,
        has_named_streams: bool,
    },
    /// A table of events, and names and kinds of their objects.
    EventTable {
        writer: Box<ParquetWriter>,
        names: Vec<String>,
        kinds: Vec<ObjectKind>,
    },
    Events(Box<EventTextWriter>),
    Entries(Box<EntryWriter>),
}

impl TraceWriter {
    /// Begins a file at `path` for requests that have these columns.
    ///
    /// # Errors
    /// [`TraceError::Io`] when nothing can be written beside `path`, and
    /// [`TraceError::NotWritable`] for compressed Parquet, which is compressed inside.
    pub fn create(
        path: impl AsRef<Path>,
        options: &WriteOptions,
        columns: OptionalColumns,
    ) -> Result<Self, TraceError> {
        let path = path.as_ref();
        let rows = match options.target.encoding {
            Encoding::Parquet => {
                if Compression::of(path).0.is_some() {
                    let file = path.display();
                    return Err(TraceError::NotWritable {
                        reason: format!(
                            "{file}: Parquet is compressed inside; leave the second ending out"
                        )
                        .into(),
                        writable: "parquet, or as compressed text in other formats".to_owned(),
                    });
                }
                let writer = Box::new(ParquetWriter::create(path, &options.labels, columns)?);
                if columns.events {
                    Rows::EventTable { writer, names: Vec::new(), kinds: Vec::new() }
                } else {
                    Rows::Parquet { writer, has_named_streams: false }
                }
            }
            Encoding::Events => {
                Rows::Events(Box::new(EventTextWriter::create(path, &options.labels)?))
            }
            Encoding::Entries { entry, .. } => {
                Rows::Entries(Box::new(EntryWriter::create(path, options, entry, columns.times)?))
            }
        };
        Ok(Self { rows })
    }

    /// Keeps another label, if the format can do so this late.
    pub fn add_label(&mut self, key: &str, value: &str) {
        match &mut self.rows {
            Rows::Parquet { writer, .. } | Rows::EventTable { writer, .. } => {
                writer.add_label(key, value);
            }
            Rows::Events(writer) => writer.lose_label(key),
            Rows::Entries(writer) => writer.lose_label(key),
        }
    }

    /// Keeps the address space of a captured program, and which of its pages would go to swap, if
    /// the format can.
    pub fn keep_address_space(&mut self, segments: &[String], pages: &AnonymousPages) {
        if let Rows::Parquet { writer, .. } = &mut self.rows {
            writer.keep_address_space(segments, pages);
        }
    }

    /// Appends requests. `stream_names` has the names of the streams so far, by number, if the
    /// trace names them.
    ///
    /// # Errors
    /// [`TraceError::Unwritable`] for a request that the format cannot hold; [`TraceError::Io`]
    /// when the disk refuses.
    pub fn write(
        &mut self,
        requests: &[Request],
        stream_names: &[String],
    ) -> Result<(), TraceError> {
        match &mut self.rows {
            Rows::Parquet { writer, has_named_streams } => {
                *has_named_streams |= !stream_names.is_empty();
                writer.write(requests)
            }
            Rows::EventTable { writer, .. } => {
                writer.write_events(&Vec::from_iter(requests.iter().copied().map(Event::from)))
            }
            Rows::Events(writer) => {
                let objects = ObjectNames { names: stream_names, kinds: &[] };
                writer.write(requests.iter().copied().map(Event::from), objects)
            }
            Rows::Entries(writer) => writer.write(requests, stream_names),
        }
    }

    /// Returns whether [`write_events`](Self::write_events) can be called.
    pub fn takes_events(&self) -> bool {
        matches!(self.rows, Rows::EventTable { .. } | Rows::Events(_))
    }

    /// Appends events, for targets that [hold them](Target::holds_events) and, as a table, were
    /// created with columns of events. `objects` has what is known of the streams so far.
    ///
    /// # Errors
    /// [`TraceError::Unwritable`] for an event that the format cannot hold; [`TraceError::Io`] when
    /// the disk refuses.
    ///
    /// # Panics
    /// If the target holds requests only.
    pub fn write_events(
        &mut self,
        events: &[Event],
        objects: ObjectNames,
    ) -> Result<(), TraceError> {
        match &mut self.rows {
            Rows::EventTable { writer, names, kinds } => {
                objects.names.clone_into(names);
                objects.kinds.clone_into(kinds);
                writer.write_events(events)
            }
            Rows::Events(writer) => writer.write(events.iter().copied(), objects),
            Rows::Parquet { .. } | Rows::Entries(_) => {
                panic!("events are written to targets and columns that hold them")
            }
        }
    }

    /// Completes the file and puts it at its path, in place of what was there. Gives what the
    /// format could not hold, a sentence each.
    ///
    /// # Errors
    /// [`TraceError::Io`] when the disk refuses; then nothing has changed at the path.
    pub fn finish(self) -> Result<Vec<String>, TraceError> {
        match self.rows {
            Rows::Parquet { writer, has_named_streams } => {
                writer.finish()?;
                let lost = "the names of streams are lost: parquet numbers them".to_owned();
                Ok(Vec::from_iter(has_named_streams.then_some(lost)))
            }
            Rows::EventTable { mut writer, names, kinds } => {
                writer.add_label(OBJECTS_KEY, &objects_text(&names, &kinds));
                writer.finish()?;
                Ok(Vec::new())
            }
            Rows::Events(writer) => writer.finish(),
            Rows::Entries(writer) => writer.finish(),
        }
    }
}
