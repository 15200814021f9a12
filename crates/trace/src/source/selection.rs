//! A part of a trace: some of its streams, reads or writes only, a stretch of its requests.
//!
//! The order is fixed: `only` and `streams` choose first, then `skip` and `limit` count the requests
//! that are left, so that `--streams 3 --limit 1000` gives a thousand requests of stream 3. The
//! trace is still read to its end: what was left out is counted, a damaged end is noticed, and the
//! digest is that of the whole file.

use std::ops::RangeInclusive;

use crate::decode::scan;
use crate::error::TraceError;
use crate::event::{Action, Event};
use crate::reader::Reader;
use crate::report::{ReadReport, grouped};
use crate::request::{Op, Request};
use clockhand_quantity::{Sentence, option};

/// Which requests of a trace are wanted; the default is all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Requests of one operation only.
    pub only: Option<Op>,
    /// Requests of these streams only, by the numbers of the trace's own streams.
    pub streams: Option<Vec<RangeInclusive<u32>>>,
    /// The number of chosen requests that are skipped at the start.
    pub skip: u64,
    /// The number that are taken then; all of them without a limit.
    pub limit: Option<u64>,
}

impl Selection {
    /// Returns whether all requests are wanted.
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }

    /// The operation that `reads` or `writes` names.
    ///
    /// # Errors
    /// [`TraceError::Selection`] for any other word.
    pub fn parse_only(text: &str) -> Result<Op, TraceError> {
        match text {
            "reads" => Ok(Op::Read),
            "writes" => Ok(Op::Write),
            _ => Err(TraceError::Selection {
                sentence: Sentence::new(
                    option("only") + format!(" {text:?} is unknown"),
                    "give reads, writes or anonymous",
                ),
            }),
        }
    }

    /// The streams of a list such as `0,3-5`.
    ///
    /// # Errors
    /// [`TraceError::Selection`] unless it consists of numbers of 32 bits and ascending ranges.
    pub fn parse_streams(text: &str) -> Result<Vec<RangeInclusive<u32>>, TraceError> {
        let number = |text: &str| u32::try_from(scan::decimal(text.trim().as_bytes())?).ok();
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let range = number(first)?..=number(last)?;
            (!range.is_empty()).then_some(range)
        };
        text.split(',').map(range).collect::<Option<_>>().ok_or_else(|| TraceError::Selection {
            sentence: Sentence::new(
                option("streams") + format!(" {text:?} is no list of stream numbers"),
                "give numbers and ranges such as 0,3-5",
            ),
        })
    }

    fn chooses(&self, request: &Request) -> bool {
        self.only.is_none_or(|op| op == request.op) && self.chooses_stream(request.stream)
    }

    fn chooses_stream(&self, stream: u32) -> bool {
        let ranges = self.streams.as_ref();
        ranges.is_none_or(|ranges| ranges.iter().any(|streams| streams.contains(&stream)))
    }
}

/// Gives the part of another reader's requests that a [`Selection`] wants.
pub struct SelectedReader<R> {
    reader: R,
    /// What messages call the trace.
    file: String,
    selection: Selection,
    read_requests: u64,
    chosen_requests: u64,
    given_requests: u64,
    /// The report of the reader, with what was left out; once the trace has ended.
    report: Option<ReadReport>,
}

impl<R: Reader> SelectedReader<R> {
    /// A reader of the part of `reader`'s requests, whose trace messages call `file`.
    pub fn new(reader: R, file: &str, selection: Selection) -> Self {
        Self {
            reader,
            file: file.to_owned(),
            selection,
            read_requests: 0,
            chosen_requests: 0,
            given_requests: 0,
            report: None,
        }
    }

    fn select(&mut self, batch: &mut Vec<Request>) {
        batch.retain(|request| self.takes(request));
    }

    /// Returns whether a request is in the part; to be asked once about each, in order.
    fn takes(&mut self, request: &Request) -> bool {
        self.read_requests += 1;
        if !self.selection.chooses(request) {
            return false;
        }
        self.chosen_requests += 1;
        let is_taken = self.window().contains(&(self.chosen_requests - 1));
        self.given_requests += u64::from(is_taken);
        is_taken
    }

    /// Returns whether an event is in the part: with its object, and between requests that are. The length of a file is
    /// always told.
    fn takes_event(&mut self, event: &Event) -> bool {
        if let Some(request) = event.request() {
            return self.takes(&request);
        }
        let is_of_all = event.action == Action::SyncAll;
        if !is_of_all && !self.selection.chooses_stream(event.object) {
            return false;
        }
        let is_length = matches!(event.action, Action::Length { .. });
        is_length || self.window().contains(&self.chosen_requests)
    }

    /// Of the chosen requests, those that are taken.
    fn window(&self) -> std::ops::Range<u64> {
        let Selection { skip, limit, .. } = self.selection;
        skip..skip.saturating_add(limit.unwrap_or(u64::MAX))
    }

    fn end(&mut self) -> Result<(), TraceError> {
        if self.given_requests == 0 {
            return Err(TraceError::NothingSelected {
                file: self.file.clone(),
                requests: self.read_requests,
                chosen: self.chosen_requests,
            });
        }
        let mut report = self.reader.report().clone();
        report.requests = self.given_requests;
        let left_out = self.read_requests - self.given_requests;
        report.left_out_requests += left_out;
        if left_out > 0 {
            let by_kind = self.read_requests - self.chosen_requests;
            let by_place = self.chosen_requests - self.given_requests;
            let why = match (by_kind, by_place) {
                (0, place) => format!("{} are left out by skip and limit", grouped(place)),
                (kind, 0) => format!("{} are left out by operation or stream", grouped(kind)),
                (kind, place) => format!(
                    "{} are left out by operation or stream, {} by skip and limit",
                    grouped(kind),
                    grouped(place)
                ),
            };
            let [given, all] = [self.given_requests, self.read_requests].map(grouped);
            report.notes.push(format!("a part of the trace: {given} of {all} requests; {why}"));
        }
        self.report = Some(report);
        Ok(())
    }

    /// Gives an empty batch: the part has ended.
    fn ended<T>(&mut self, batch: &mut Vec<T>) -> Result<bool, TraceError> {
        batch.clear();
        if self.report.is_none() {
            self.end()?;
        }
        Ok(false)
    }
}

impl<R: Reader> Reader for SelectedReader<R> {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<bool, TraceError> {
        while self.report.is_none() && self.reader.next_batch(batch)? {
            self.select(batch);
            if !batch.is_empty() {
                return Ok(true);
            }
        }
        self.ended(batch)
    }

    fn next_events(&mut self, batch: &mut Vec<Event>) -> Result<bool, TraceError> {
        while self.report.is_none() && self.reader.next_events(batch)? {
            batch.retain(|event| self.takes_event(event));
            if !batch.is_empty() {
                return Ok(true);
            }
        }
        self.ended(batch)
    }

    fn holds_events(&self) -> bool {
        self.reader.holds_events()
    }

    fn report(&self) -> &ReadReport {
        self.report.as_ref().unwrap_or_else(|| self.reader.report())
    }
}

impl<R: Reader + ?Sized> Reader for Box<R> {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<bool, TraceError> {
        (**self).next_batch(batch)
    }

    fn next_events(&mut self, batch: &mut Vec<Event>) -> Result<bool, TraceError> {
        (**self).next_events(batch)
    }

    fn holds_events(&self) -> bool {
        (**self).holds_events()
    }

    fn is_quick(&self) -> bool {
        (**self).is_quick()
    }

    fn report(&self) -> &ReadReport {
        (**self).report()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::{OpenOptions, TraceReader};

    #[test]
    fn a_reader_in_a_box_is_as_quick_as_it_is() {
        let format = Some("oracle-general".to_owned());
        let options = OpenOptions { format, assume_reads: true, ..OpenOptions::default() };
        let quick = TraceReader::from_bytes("two", vec![1; 48], &options).unwrap();
        assert!(quick.is_quick());
        let boxed: Box<dyn Reader> = Box::new(quick);
        assert!(Reader::is_quick(&boxed));
        assert!(!Reader::is_quick(&(Box::new(trace()) as Box<dyn Reader>)));
    }

    /// Ten requests of streams 0 to 4 in turn; every third writes; the address is the position.
    fn trace() -> TraceReader {
        let mut text = "op,address,size,stream\n".to_owned();
        for place in 0..10 {
            let op = if place % 3 == 0 { 'W' } else { 'R' };
            text += &format!("{op},{place},1,{}\n", place % 5);
        }
        TraceReader::from_bytes("the.csv", text.into_bytes(), &OpenOptions::default()).unwrap()
    }

    fn selected(selection: Selection) -> Result<(Vec<u64>, ReadReport), TraceError> {
        let mut reader = SelectedReader::new(trace(), "the.csv", selection);
        let (mut places, mut batch) = (Vec::new(), Vec::new());
        while reader.next_batch(&mut batch)? {
            places.extend(batch.iter().map(|request| request.address));
        }
        assert!(!reader.next_batch(&mut batch)? && batch.is_empty());
        Ok((places, reader.report().clone()))
    }

    #[test]
    fn skip_and_limit_count_what_operation_and_stream_leave() {
        let streams = Some(Selection::parse_streams("0,3-4").unwrap());
        let only = Some(Op::Read);
        let (places, report) =
            selected(Selection { only, streams: streams.clone(), skip: 1, limit: Some(2) })
                .unwrap();
        // Of 0, 3, 4, 5, 8, 9 the reads are 4, 5, 8.
        assert_eq!(places, [5, 8]);
        assert_eq!((report.requests, report.left_out_requests, report.records), (2, 8, 11));
        let note = report.notes.last().unwrap();
        assert!(note.contains("2 of 10 requests; 7 are left out by operation or stream, 1 by"));
        let (places, _) = selected(Selection { streams, ..Selection::default() }).unwrap();
        assert_eq!(places, [0, 3, 4, 5, 8, 9]);
    }

    #[test]
    fn all_requests_are_no_part() {
        let (places, report) =
            selected(Selection { limit: Some(10), ..Selection::default() }).unwrap();
        assert_eq!((places.len(), report.left_out_requests, report.notes.len()), (10, 0, 0));
        assert!(Selection::default().is_all());
    }

    #[test]
    fn the_digest_is_that_of_the_whole_trace() {
        let (_, part) = selected(Selection { limit: Some(1), ..Selection::default() }).unwrap();
        let (_, whole) = selected(Selection::default()).unwrap();
        assert_eq!(part.sha256, whole.sha256);
        assert!(part.sha256.is_some());
    }

    #[test]
    fn a_selection_of_nothing_is_an_error_that_counts() {
        let beyond = Selection { skip: u64::MAX, limit: Some(7), ..Selection::default() };
        let message = selected(beyond).unwrap_err().to_string();
        assert!(message.contains("none of the 10 requests"), "{message}");
        let nowhere = Selection { streams: Some(vec![9..=9]), ..Selection::default() };
        assert!(selected(nowhere).is_err());
    }

    #[test]
    fn streams_are_numbers_and_ascending_ranges() {
        assert_eq!(Selection::parse_streams("0, 3-5,7").unwrap(), [0..=0, 3..=5, 7..=7]);
        for wrong in ["", "a", "1,", "5-3", "1-2-3", "-1", "4294967296"] {
            let message = Selection::parse_streams(wrong).unwrap_err().to_string();
            assert!(message.contains("0,3-5"), "{message}");
        }
        assert!(Selection::parse_only("Writes").is_err());
    }
}
