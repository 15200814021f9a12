//! Several files as one trace: the days of a recording, or what each processor recorded.

use rustc_hash::FxHashMap;

use crate::decode::output::BATCH_REQUESTS;
use crate::error::TraceError;
use crate::event::Event;
use crate::reader::Reader;
use crate::report::ReadReport;
use crate::request::Request;
use crate::source::stored_digest::StoredDigest;

/// In which order the requests of several files are one trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum JoinOrder {
    /// By time, if all have times; one file after the other otherwise.
    #[default]
    Time,
    /// One file after the other.
    Files,
}

impl JoinOrder {
    /// The order of this name: `time` or `files`.
    pub fn of_name(name: &str) -> Option<Self> {
        match name {
            "time" => Some(Self::Time),
            "files" => Some(Self::Files),
            _ => None,
        }
    }
}

/// What is merged: requests, or events.
trait Item: Copy {
    fn time_ns(&self) -> Option<u64>;
    fn stream(&mut self) -> &mut u32;
    fn read(reader: &mut dyn Reader, batch: &mut Vec<Self>) -> Result<bool, TraceError>;
}

impl Item for Request {
    fn time_ns(&self) -> Option<u64> {
        self.time_ns
    }

    fn stream(&mut self) -> &mut u32 {
        &mut self.stream
    }

    fn read(reader: &mut dyn Reader, batch: &mut Vec<Self>) -> Result<bool, TraceError> {
        reader.next_batch(batch)
    }
}

impl Item for Event {
    fn time_ns(&self) -> Option<u64> {
        self.time_ns
    }

    fn stream(&mut self) -> &mut u32 {
        &mut self.object
    }

    fn read(reader: &mut dyn Reader, batch: &mut Vec<Self>) -> Result<bool, TraceError> {
        reader.next_events(batch)
    }
}

/// What was read of one file and not yet handed out.
struct Ahead<T> {
    items: Vec<T>,
    next: usize,
}

impl<T> Default for Ahead<T> {
    fn default() -> Self {
        Self { items: Vec::new(), next: 0 }
    }
}

struct Part<'a> {
    reader: Box<dyn Reader + 'a>,
    has_ended: bool,
    /// The stream in the joined trace of each of its streams that has a name.
    streams: Vec<u32>,
}

/// A [`Reader`] of several readers.
pub(crate) struct JoinedReader<'a> {
    parts: Vec<Part<'a>>,
    order: JoinOrder,
    requests: Vec<Ahead<Request>>,
    events: Vec<Ahead<Event>>,
    /// Streams by their names: those of equal names are one.
    numbers: FxHashMap<String, u32>,
    digest: StoredDigest,
    is_at_end: bool,
    report: ReadReport,
}

impl<'a> JoinedReader<'a> {
    pub(crate) fn new(readers: Vec<Box<dyn Reader + 'a>>, order: JoinOrder) -> Self {
        let parts: Vec<_> = readers
            .into_iter()
            .map(|reader| Part { reader, has_ended: false, streams: Vec::new() })
            .collect();
        Self {
            order,
            requests: parts.iter().map(|_| Ahead::default()).collect(),
            events: parts.iter().map(|_| Ahead::default()).collect(),
            parts,
            numbers: FxHashMap::default(),
            digest: StoredDigest::new(),
            is_at_end: false,
            report: ReadReport::default(),
        }
    }

    /// Reads more of a part that has nothing left to hand out; false at its end.
    fn fill<T: Item>(&mut self, index: usize, ahead: &mut Ahead<T>) -> Result<bool, TraceError> {
        if ahead.next < ahead.items.len() {
            return Ok(true);
        }
        ahead.next = 0;
        ahead.items.clear();
        if self.parts[index].has_ended {
            return Ok(false);
        }
        let part = &mut self.parts[index];
        if T::read(&mut *part.reader, &mut ahead.items)? {
            self.number_streams(index, &mut ahead.items);
            return Ok(true);
        }
        part.has_ended = true;
        self.take_report(index);
        Ok(false)
    }

    /// Gives streams with names the numbers that these names have in the joined trace.
    fn number_streams<T: Item>(&mut self, index: usize, items: &mut [T]) {
        let part = &mut self.parts[index];
        let names = &part.reader.report().stream_names;
        for name in &names[part.streams.len()..] {
            let next = self.numbers.len() as u32;
            let number = *self.numbers.entry(name.clone()).or_insert(next);
            if number == next {
                self.report.stream_names.push(name.clone());
                let kind = part.reader.report().object_kinds.get(part.streams.len());
                self.report.object_kinds.extend(kind);
            }
            part.streams.push(number);
        }
        for item in items {
            let stream = item.stream();
            *stream = part.streams.get(*stream as usize).copied().unwrap_or(*stream);
        }
    }

    /// Adds what a part reported to what the joined trace reports.
    fn take_report(&mut self, index: usize) {
        let part = self.parts[index].reader.report();
        let report = &mut self.report;
        if report.format.is_empty() {
            (report.format, report.compression) = (part.format, part.compression);
        }
        report.records += part.records;
        report.skipped_records += part.skipped_records;
        let room = ReadReport::SKIPPED_SHOWN - report.first_skipped.len();
        report.first_skipped.extend(part.first_skipped.iter().take(room).cloned());
        for (counts, more) in
            [(&mut report.passed_over, &part.passed_over), (&mut report.events, &part.events)]
        {
            for &(what, count) in more {
                match counts.iter_mut().find(|(known, _)| *known == what) {
                    Some((_, known)) => *known += count,
                    None => counts.push((what, count)),
                }
            }
        }
        report.zero_size_requests += part.zero_size_requests;
        report.long_requests += part.long_requests;
        report.unreadable_times += part.unreadable_times;
        report.left_out_requests += part.left_out_requests;
        report.assumed_reads += part.assumed_reads;
        report.numbered_bytes = report.numbered_bytes.or(part.numbered_bytes);
        report.view = report.view.or(part.view);
        report.stored_bytes =
            Some(report.stored_bytes.unwrap_or(0) + part.stored_bytes.unwrap_or(0));
        for column in &part.ignored_columns {
            if !report.ignored_columns.contains(column) {
                report.ignored_columns.push(column.clone());
            }
        }
        for note in &part.notes {
            if !report.notes.contains(note) {
                report.notes.push(note.clone());
            }
        }
        for label in &part.labels {
            if !report.labels.contains(label) {
                report.labels.push(label.clone());
            }
        }
        if let Some(classes) = part.classes {
            report.classes.get_or_insert_default().add_all(classes);
        }
        self.digest.update(&part.sha256.unwrap_or_default());
    }

    fn next<T: Item>(
        &mut self,
        all: &mut [Ahead<T>],
        batch: &mut Vec<T>,
    ) -> Result<bool, TraceError> {
        batch.clear();
        let is_by_time = self.order == JoinOrder::Time;
        while batch.len() < BATCH_REQUESTS {
            // The part of the earliest time, and the earliest of the others.
            let mut first: Option<(u64, usize)> = None;
            let mut limit_ns = u64::MAX;
            for (index, of_part) in all.iter_mut().enumerate() {
                let mut ahead = std::mem::take(of_part);
                let has_more = self.fill(index, &mut ahead)?;
                *of_part = ahead;
                if !has_more {
                    continue;
                }
                let time_ns = of_part.items[of_part.next].time_ns();
                let Some(time_ns) = time_ns.filter(|_| is_by_time) else {
                    // Without times, one file after the other.
                    (first, limit_ns) = (first.or(Some((0, index))), u64::MAX);
                    break;
                };
                match first {
                    Some((first_ns, _)) if first_ns <= time_ns => limit_ns = limit_ns.min(time_ns),
                    _ => {
                        limit_ns = first.map_or(limit_ns, |(before, _)| limit_ns.min(before));
                        first = Some((time_ns, index));
                    }
                }
            }
            let Some((_, index)) = first else { break };
            let ahead = &mut all[index];
            let rest = &ahead.items[ahead.next..];
            let take =
                rest.iter().take_while(|item| item.time_ns().is_none_or(|it| it <= limit_ns));
            let count = take.count().max(1);
            batch.extend_from_slice(&rest[..count]);
            ahead.next += count;
        }
        if batch.is_empty() && !self.is_at_end {
            self.is_at_end = true;
            // None if those of the parts were not wanted.
            let is_digested = self.parts.iter().any(|part| part.reader.report().sha256.is_some());
            self.report.sha256 = self.digest.finish().filter(|_| is_digested);
            let files = self.parts.len();
            self.report.notes.insert(0, format!("{files} files are one trace"));
        }
        Ok(!batch.is_empty())
    }
}

impl Reader for JoinedReader<'_> {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<bool, TraceError> {
        let mut ahead = std::mem::take(&mut self.requests);
        let result = self.next(&mut ahead, batch);
        self.requests = ahead;
        self.report.requests += batch.len() as u64;
        result
    }

    fn next_events(&mut self, batch: &mut Vec<Event>) -> Result<bool, TraceError> {
        let mut ahead = std::mem::take(&mut self.events);
        let result = self.next(&mut ahead, batch);
        self.events = ahead;
        self.report.requests +=
            batch.iter().filter(|event| event.request().is_some()).count() as u64;
        result
    }

    fn holds_events(&self) -> bool {
        self.parts.iter().any(|part| part.reader.holds_events())
    }

    fn report(&self) -> &ReadReport {
        &self.report
    }
}
