//! What is told of traces, as maps: the facts of reports and of `clockhand trace info`.

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::format::Format;
use crate::formats::find_format;
use crate::info::TraceInfo;
use crate::pages::anonymous::AnonymousPages;
use crate::processor::view::{ClassCounts, RecordClass};
use crate::report::ReadReport;
use crate::source::capture::{CapturedStream, StreamEnd};

/// Adds entries to a map.
macro_rules! tell {
    ($map:expr, {$($name:literal: $value:expr),+ $(,)?}) => {
        $($map.serialize_entry($name, &$value)?;)+
    };
}

/// A number for each letter.
impl Serialize for ClassCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(RecordClass::ALL.map(|class| (class.letter(), self.get(class))))
    }
}

impl ReadReport {
    fn tell<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let skipped = self.first_skipped.iter();
        let first_skipped: Vec<_> =
            skipped.map(|it| format!("record {}: {}", it.record, it.reason)).collect();
        let mut notes = self.notes.clone();
        if !self.ignored_columns.is_empty() {
            notes.push(format!("columns that are not used: {}", self.ignored_columns.join(", ")));
        }
        tell!(map, {
            "format": self.format,
            "compression": self.compression,
            "sha256": self.sha256_hex(),
            "stored_bytes": self.stored_bytes,
            "records": self.records,
            "requests": self.requests,
            "skipped_records": self.skipped_records,
            "first_skipped": first_skipped,
            "zero_size_requests": self.zero_size_requests,
            "left_out_requests": self.left_out_requests,
            "assumed_reads": self.assumed_reads,
            "notes": notes,
            "labels": self.labels,
            "view": self.view,
            "classes": self.classes,
        });
        Ok(())
    }
}

impl Serialize for ReadReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.tell(&mut map)?;
        map.end()
    }
}

impl Serialize for TraceInfo {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.report.tell(&mut map)?;
        tell!(map, {
            "read_requests": self.read_requests,
            "write_requests": self.write_requests,
            "read_bytes": self.read_bytes,
            "written_bytes": self.written_bytes,
            "min_request_bytes": self.min_request_bytes,
            "mean_request_bytes": self.mean_request_bytes(),
            "max_request_bytes": self.max_request_bytes,
            "page_bytes": self.page_bytes,
            "references": self.references(),
            "read_references": self.read_references,
            "write_references": self.write_references,
            "footprint_pages": self.footprint_pages,
            "dirty_footprint_pages": self.dirty_footprint_pages,
            "first_requests": self.first_requests,
            "streams": self.streams,
            // The format's word for a stream: `volume`, for example.
            "stream_noun": find_format(self.report.format).map_or("stream", Format::stream_noun),
            "stream_counts": self.stream_counts,
            "events": self.report.events,
            "span_ns": self.span_ns,
            "sorted_by_time": self.sorted_by_time,
            "anonymous_pages": self.report.anonymous_pages.as_ref().map(AnonymousPages::pages),
            "segments": self.report.segments,
        });
        map.end()
    }
}

impl Serialize for CapturedStream {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (end, exit_code) = match self.end {
            StreamEnd::Exit(code) => ("exit", Some(code)),
            StreamEnd::Exec => ("exec", None),
            StreamEnd::Signal => ("signal", None),
            StreamEnd::Cut => ("cut", None),
        };
        let mut map = serializer.serialize_map(None)?;
        tell!(map, {
            "process": self.process,
            "command": self.command,
            "end": end,
            "exit_code": exit_code,
            "classes": self.classes,
        });
        map.end()
    }
}
