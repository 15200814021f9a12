//! Several files as one trace: the days of a recording, what each processor recorded, or programs that share a memory.

use std::num::NonZeroU64;

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
    /// This many requests of each file in turn. A file that has ended gives up its turns. Each has pages of its own: its
    /// streams are no other's, numbered in the order of their first requests, and times are left out, since the clocks
    /// have no common origin.
    Turns(NonZeroU64),
}

impl JoinOrder {
    /// The order of this name: `time`, `files`, or `turns:` and a number from 1.
    pub fn of_name(name: &str) -> Option<Self> {
        match name {
            "time" => Some(Self::Time),
            "files" => Some(Self::Files),
            _ => name.strip_prefix("turns:")?.parse().ok().map(Self::Turns),
        }
    }
}

/// What is merged: requests, or events.
trait Item: Copy {
    fn time_ns(&self) -> Option<u64>;
    fn is_request(&self) -> bool;
    fn stream(&mut self) -> &mut u32;
    fn without_time(self) -> Self;
    fn read(reader: &mut dyn Reader, batch: &mut Vec<Self>) -> Result<bool, TraceError>;
}

impl Item for Request {
    fn time_ns(&self) -> Option<u64> {
        self.time_ns
    }

    fn is_request(&self) -> bool {
        true
    }

    fn stream(&mut self) -> &mut u32 {
        &mut self.stream
    }

    fn without_time(self) -> Self {
        Self { time_ns: None, ..self }
    }

    fn read(reader: &mut dyn Reader, batch: &mut Vec<Self>) -> Result<bool, TraceError> {
        reader.next_batch(batch)
    }
}

impl Item for Event {
    fn time_ns(&self) -> Option<u64> {
        self.time_ns
    }

    fn is_request(&self) -> bool {
        self.request().is_some()
    }

    fn stream(&mut self) -> &mut u32 {
        &mut self.object
    }

    fn without_time(self) -> Self {
        Self { time_ns: None, ..self }
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
    /// Streams of parts that take turns: (part, its stream) → stream in the joined trace.
    own_numbers: FxHashMap<(usize, u32), u32>,
    /// The part whose turn it is, and the requests that are left of it.
    turn: (usize, u64),
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
        let turn = match order {
            JoinOrder::Turns(requests) => requests.get(),
            JoinOrder::Time | JoinOrder::Files => 0,
        };
        Self {
            order,
            turn: (0, turn),
            own_numbers: FxHashMap::default(),
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
            if !matches!(self.order, JoinOrder::Turns(_)) {
                self.number_streams(index, &mut ahead.items);
            }
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

    /// An item of a part that takes turns, whose pages are no other part's.
    fn set_apart<T: Item>(&mut self, index: usize, item: T) -> T {
        let mut item = item.without_time();
        let stream = item.stream();
        let next = self.own_numbers.len() as u32;
        let number = *self.own_numbers.entry((index, *stream)).or_insert(next);
        let kinds = &mut self.report.object_kinds;
        if number == next && kinds.len() == next as usize {
            // None after a part that does not tell its kinds.
            kinds.extend(self.parts[index].reader.report().object_kinds.get(*stream as usize));
        }
        *stream = number;
        item
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
        match self.order {
            JoinOrder::Turns(requests) => self.next_in_turns(requests, all, batch)?,
            JoinOrder::Time | JoinOrder::Files => self.next_in_order(all, batch)?,
        }
        if batch.is_empty() && !self.is_at_end {
            self.is_at_end = true;
            let files = self.parts.len();
            let mut note = format!("{files} files are one trace");
            if let JoinOrder::Turns(requests) = self.order {
                note += &format!(" in turns of {requests} requests, each with pages of its own");
                self.digest.update(note.as_bytes());
            }
            self.report.notes.insert(0, note);
            // None if those of the parts were not wanted.
            let is_digested = self.parts.iter().any(|part| part.reader.report().sha256.is_some());
            self.report.sha256 = self.digest.finish().filter(|_| is_digested);
        }
        Ok(!batch.is_empty())
    }

    /// Fills a batch with turns of each part.
    fn next_in_turns<T: Item>(
        &mut self,
        requests: NonZeroU64,
        all: &mut [Ahead<T>],
        batch: &mut Vec<T>,
    ) -> Result<(), TraceError> {
        let mut ended = 0;
        while batch.len() < BATCH_REQUESTS && ended < all.len() {
            let (index, mut left) = self.turn;
            let mut ahead = std::mem::take(&mut all[index]);
            if self.fill(index, &mut ahead)? {
                ended = 0;
                for &item in ahead.items[ahead.next..].iter().take(BATCH_REQUESTS - batch.len()) {
                    if left == 0 {
                        break;
                    }
                    left -= u64::from(item.is_request());
                    ahead.next += 1;
                    batch.push(self.set_apart(index, item));
                }
            } else {
                (ended, left) = (ended + 1, 0);
            }
            all[index] = ahead;
            self.turn =
                if left == 0 { ((index + 1) % all.len(), requests.get()) } else { (index, left) };
        }
        Ok(())
    }

    /// Fills a batch with the parts one after the other, or by time.
    fn next_in_order<T: Item>(
        &mut self,
        all: &mut [Ahead<T>],
        batch: &mut Vec<T>,
    ) -> Result<(), TraceError> {
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
        Ok(())
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
