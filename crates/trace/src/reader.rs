//! Reading a trace in batches.

use std::path::Path;

use crate::decode::output::{BATCH_REQUESTS, Output};
use crate::decode::time_check::TimeCheck;
use crate::error::TraceError;
use crate::event::Event;
use crate::format::Decoder;
use crate::formats::csv::open_named;
use crate::formats::{find_format, formats, names};
use crate::memory_limit::default_memory_limit_bytes;
use crate::processor::cpu_cache::{CpuCache, CpuCacheConfig};
use crate::processor::view::{self, Classes, View};
use crate::report::ReadReport;
use crate::request::Request;
use crate::source::detect::detect;
use crate::source::{Progress, Source};

/// The format behind whose name, and a colon, the columns of any table may be named.
const CSV: &str = "csv";

/// Gives the requests of a trace in batches, in the order of the trace.
///
/// Call it until it returns `false`; only then is the report complete, and only then is it known that
/// the trace was whole. To cancel, stop calling.
pub trait Reader: Send {
    /// Replaces the contents of `batch` by the next requests, about 16 Ki of them. `true` when
    /// there is at least one; `false`, with an empty batch, at the end of the trace, and again on
    /// every further call.
    ///
    /// # Errors
    /// Any [`TraceError`] about the content: cut, damaged, too many malformed lines, no request at
    /// all. After an error the trace must not be read on.
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<bool, TraceError>;

    /// As [`Reader::next_batch`], with all events of the trace in their order: calls, syncs and
    /// truncations too. The requests of a trace without events are memory accesses. Read a
    /// trace with one of the two methods, not with both.
    ///
    /// # Errors
    /// Those of [`Reader::next_batch`].
    fn next_events(&mut self, batch: &mut Vec<Event>) -> Result<bool, TraceError> {
        let mut requests = Vec::new();
        let is_more = self.next_batch(&mut requests)?;
        batch.clear();
        batch.extend(requests.into_iter().map(Event::from));
        Ok(is_more)
    }

    /// Returns whether the trace can contain events that are not requests.
    fn holds_events(&self) -> bool {
        false
    }

    /// Returns whether the next batch takes no longer than to hand it to another thread: there is little to decode.
    fn is_quick(&self) -> bool {
        false
    }

    /// What was found so far.
    fn report(&self) -> &ReadReport;
}

/// How to open a trace.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// The name of the format, or `csv:` and the columns of a table (`clockhand formats csv`); without it the format
    /// is found by content.
    pub format: Option<String>,
    /// Takes requests as reads if the trace does not record their operation; such traces are
    /// refused otherwise.
    pub assume_reads: bool,
    /// Puts a first-level cache between the processor accesses of the trace and memory.
    pub cpu_cache: Option<CpuCacheConfig>,
    /// The treatment of record classes.
    pub classes: Classes,
    /// Takes only the pages of a captured program that would go to swap.
    pub only_anonymous: bool,
    /// The memory that the reading may take; the default is a share of the machine's.
    pub memory_limit_bytes: Option<u64>,
    /// The largest block, in bytes, of a study that wants the objects of key-value traces as they live: with as many
    /// blocks as they have, and events where a delete or a lifetime drops their content. Without it an object is one
    /// block of 4096 bytes that lives for ever.
    pub object_block_bytes: Option<u64>,
    /// The name of the trace in rows and messages, if its path means nothing to the user.
    pub name: Option<String>,
    /// Computes no SHA-256 of the stored bytes, for runs that show none.
    pub without_digest: bool,
}

impl OpenOptions {
    /// The memory that the trace and its views may take.
    pub fn memory_limit_bytes(&self) -> u64 {
        self.memory_limit_bytes.unwrap_or_else(default_memory_limit_bytes)
    }
}

/// A [`Reader`] of a trace file or of standard input.
pub struct TraceReader {
    source: Source,
    decoder: Box<dyn Decoder>,
    output: Output,
    record_noun: &'static str,
    classes: Classes,
    only_anonymous: bool,
    ended: bool,
}

impl TraceReader {
    /// Opens a trace file, or standard input for `-`, and finds its compression and format.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, is empty, or is not a trace in the format asked for
    /// or in any known one. Also when the cache has an impossible shape, or the trace holds no
    /// processor accesses to put through it.
    pub fn open(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self, TraceError> {
        let name = options.name.as_deref();
        Self::from_source(|limit_bytes| Source::open(path.as_ref(), name, limit_bytes), options)
    }

    /// Opens a trace that is in memory, compressed or not, which messages call `file`.
    ///
    /// # Errors
    /// As [`TraceReader::open`].
    pub fn from_bytes(
        file: &str,
        bytes: Vec<u8>,
        options: &OpenOptions,
    ) -> Result<Self, TraceError> {
        Self::from_source(|limit_bytes| Source::from_bytes(file, bytes, limit_bytes), options)
    }

    /// Options are checked before the source is touched.
    fn from_source(
        open: impl FnOnce(u64) -> Result<Source, TraceError>,
        options: &OpenOptions,
    ) -> Result<Self, TraceError> {
        let (name, columns) =
            match options.format.as_deref().map(|name| (name, name.split_once(':'))) {
                Some((_, Some((CSV, columns)))) => (Some(CSV), Some(columns)),
                Some((name, _)) => (Some(name), None),
                None => (None, None),
            };
        let named = name.map(find_format).transpose()?;
        let cpu_cache = options.cpu_cache.map(CpuCache::new).transpose()?;
        let mut source = open(options.memory_limit_bytes())?;
        if options.without_digest {
            source.skip_digest();
        }
        let format = match named {
            Some(format) => format,
            None => detect(&source)?,
        };
        if cpu_cache.is_some() && !format.holds_processor_accesses {
            return Err(TraceError::NoCpuCache {
                file: source.file().to_owned(),
                format: format.name,
                fitting: names(formats().iter().filter(|format| format.holds_processor_accesses)),
            });
        }
        let report = ReadReport {
            format: format.name,
            compression: source.compression(),
            ..ReadReport::default()
        };
        let mut output = Output::new(report, cpu_cache);
        output.assume_reads = options.assume_reads;
        output.object_block_bytes = options.object_block_bytes;
        let decoder = match columns {
            Some(columns) => open_named(columns, &mut source, &mut output)?,
            None => (format.open)(&mut source, &mut output)?,
        };
        let only_anonymous = options.only_anonymous;
        if only_anonymous && output.report.anonymous_pages.is_none() {
            return Err(TraceError::NoAddressSpace { file: source.file().to_owned() });
        }
        let (classes, record_noun) = (options.classes, format.record_noun);
        Ok(Self { source, decoder, output, record_noun, classes, only_anonymous, ended: false })
    }

    /// Applies the view to the decoded requests, then keeps only the ones that were asked for.
    fn view(&mut self) -> Result<(), TraceError> {
        let Output { requests, report, has_classes, .. } = &mut self.output;
        if *has_classes {
            report.view = self.classes.view().map(View::name);
            view::apply(self.classes, requests, report.classes.get_or_insert_default());
        } else if let Classes::Viewed(view) = self.classes {
            return Err(TraceError::NoClasses {
                file: self.source.file().to_owned(),
                format: report.format,
                view: view.name(),
            });
        }
        if let Some(pages) = report.anonymous_pages.as_ref().filter(|_| self.only_anonymous) {
            requests.retain(|request| pages.contains(request.stream, request.address));
        }
        Ok(())
    }

    /// The bytes of the stored file that have been read, for a progress bar on another thread.
    pub fn progress(&self) -> Progress {
        self.source.progress().clone()
    }

    /// Reports what only the whole trace can show.
    fn end(&mut self) -> Result<(), TraceError> {
        let (sha256, stored_bytes) = self.source.finish()?;
        let report = &mut self.output.report;
        report.sha256 = sha256;
        report.stored_bytes = Some(stored_bytes);
        let trailing_bytes = self.source.trailing_bytes();
        if trailing_bytes > 0 {
            report.notes.push(format!(
                "{trailing_bytes} bytes behind the gz data are none and are ignored, as gzip does"
            ));
        }
        report.note_passed_over();
        report.note_assumed_reads();
        report.note_odd_fields();
        report.note_view(self.classes.view());
        if self.only_anonymous {
            report.notes.push("only pages that would go to swap".to_owned());
        }
        report.notes.extend(self.output.time_check.as_ref().and_then(TimeCheck::doubt));
        let file = self.source.file();
        if report.skipped_too_many() || (report.requests == 0 && report.skipped_records > 0) {
            let first = &report.first_skipped[0];
            return Err(TraceError::TooManyBadRecords {
                file: file.to_owned(),
                format: report.format,
                skipped: report.skipped_records,
                records: report.records,
                place: format!("{} {}", self.record_noun, first.record),
                reason: first.reason.clone(),
            });
        }
        if report.requests == 0 {
            return Err(TraceError::NoRequest {
                file: file.to_owned(),
                format: report.format,
                records: report.records,
                zero_size: report.zero_size_requests,
                left_out: report
                    .passed_over
                    .iter()
                    .map(|(what, count)| format!(", and {count} were {what}"))
                    .collect(),
            });
        }
        Ok(())
    }
}

impl TraceReader {
    /// Decodes more, and counts the results.
    fn decode_batch(&mut self) -> Result<(), TraceError> {
        self.ended = !self.decoder.decode(&mut self.source, &mut self.output)?;
        self.output.check_kept(self.output.objects_bytes, &self.source)?;
        self.view()?;
        let Output { requests, events, report, time_check, last_time_ns, .. } = &mut self.output;
        if let Some(events) = events {
            events.extend(requests.drain(..).map(Event::from));
            report.requests +=
                events.iter().filter(|event| event.request().is_some()).count() as u64;
        }
        report.requests += requests.len() as u64;
        let of_events = events.iter().flatten().rev().find_map(|event| event.time_ns);
        let of_requests = requests.last().and_then(|request| request.time_ns);
        *last_time_ns = of_requests.or(of_events).unwrap_or(*last_time_ns);
        if let Some(check) = time_check {
            check.observe(requests.iter().map(|request| request.time_ns));
            check.observe(events.iter().flatten().map(|event| event.time_ns));
        }
        if self.ended { self.end() } else { Ok(()) }
    }
}

impl Reader for TraceReader {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<bool, TraceError> {
        batch.clear();
        batch.reserve(BATCH_REQUESTS);
        std::mem::swap(batch, &mut self.output.requests);
        while !self.ended && self.output.requests.is_empty() {
            self.decode_batch()?;
        }
        std::mem::swap(batch, &mut self.output.requests);
        Ok(!batch.is_empty())
    }

    fn next_events(&mut self, batch: &mut Vec<Event>) -> Result<bool, TraceError> {
        batch.clear();
        let mut events = self.output.events.take().unwrap_or_default();
        std::mem::swap(batch, &mut events);
        self.output.events = Some(events);
        while !self.ended && self.output.events.as_ref().is_some_and(Vec::is_empty) {
            self.decode_batch()?;
        }
        std::mem::swap(batch, self.output.events.get_or_insert_default());
        Ok(!batch.is_empty())
    }

    fn holds_events(&self) -> bool {
        self.output.holds_events
    }

    fn is_quick(&self) -> bool {
        self.decoder.is_quick() && self.source.compression().is_none()
    }

    fn report(&self) -> &ReadReport {
        &self.output.report
    }
}
