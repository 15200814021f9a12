//! What a reader reports about a trace besides its requests.

use crate::event::ObjectKind;
use crate::pages::anonymous::AnonymousPages;
use crate::processor::view::{ClassCounts, View};
use crate::source::stored_digest::hex;

/// A line or record that holds no request although it should.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SkippedRecord {
    /// Number of the line or record, from 1.
    pub record: u64,
    /// What is wrong with it, as the end of a sentence: `has no R or W after the address:
    /// "0041f7a0"`.
    pub reason: String,
}

/// A reader's report so far; complete once the trace has ended.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReadReport {
    /// Name of the format, as in the table of formats.
    pub format: &'static str,
    /// The compression of the stored bytes: `gz`, `xz`, `lzma`, `zstd` or `bz2`.
    pub compression: Option<&'static str>,
    /// Lines, binary records or rows that were read, including those that were skipped.
    pub records: u64,
    /// Requests that were handed out.
    pub requests: u64,
    /// Malformed lines or records; none of them became a request.
    pub skipped_records: u64,
    /// The first of the malformed lines or records, at most [`ReadReport::SKIPPED_SHOWN`].
    pub first_skipped: Vec<SkippedRecord>,
    /// Lines or records that hold no request by the rules of the format, such as headers, flushes
    /// and discards: what they are, in the plural, and how many; in the order of appearance. A note
    /// says the same at the end of the trace.
    pub passed_over: Vec<(&'static str, u64)>,
    /// Events that are not requests, where events are read: what they are, in the plural, and how many.
    pub events: Vec<(&'static str, u64)>,
    /// The name of each stream, if the trace has one; the index is the stream number.
    pub object_kinds: Vec<ObjectKind>,
    /// Requests that were skipped because they touch no byte.
    pub zero_size_requests: u64,
    /// Requests of 4 GiB or more, which were handed out in pieces.
    pub long_requests: u64,
    /// Requests whose time cannot be read, below zero for example; they have that of the request before.
    pub unreadable_times: u64,
    /// Requests that a [`Selection`](crate::Selection) left out; a note says by what.
    pub left_out_requests: u64,
    /// Requests without a recorded operation that were taken as reads, as asked.
    pub assumed_reads: u64,
    /// The bytes of the blocks or objects that the trace numbers, where it has no addresses within them.
    pub numbered_bytes: Option<u32>,
    /// Columns of the trace that no request uses.
    pub ignored_columns: Vec<String>,
    /// What the reader had to assume.
    pub notes: Vec<String>,
    /// Names of the streams where the trace names them; the index is the stream number.
    pub stream_names: Vec<String>,
    /// Key and value pairs that the maker of the trace stored in it.
    pub labels: Vec<(String, String)>,
    /// The number of records of each class, before a view was taken; `None` if the trace has no classes.
    pub classes: Option<ClassCounts>,
    /// The view that was taken: `paper`; `None` where the trace has no classes or keeps them.
    pub view: Option<&'static str>,
    /// The address space of a captured program, a line per segment: stream, first byte, end,
    /// permissions, kind, name.
    pub segments: Vec<String>,
    /// The pages of a captured program that would go to swap, if the trace contains them.
    pub anonymous_pages: Option<AnonymousPages>,
    /// SHA-256 of the stored bytes (`sha256sum FILE`), once the trace has ended.
    pub sha256: Option<[u8; 32]>,
    /// Number of stored bytes, once the trace has ended.
    pub stored_bytes: Option<u64>,
}

impl ReadReport {
    /// The number of malformed lines or records that are kept with their reasons.
    pub const SKIPPED_SHOWN: usize = 3;
    /// The number of malformed lines or records that any trace may have, if it is long enough.
    const SKIPPED_ALLOWED: u64 = 10;
    /// Short traces may have one malformed line or record in this many, and one in any case.
    const RECORDS_PER_SKIPPED_OF_SHORT: u64 = 4;
    /// Longer traces may have one malformed line or record in this many.
    const RECORDS_PER_SKIPPED_ALLOWED: u64 = 1000;

    /// The digest as 64 hexadecimal digits.
    pub fn sha256_hex(&self) -> Option<String> {
        self.sha256.as_ref().map(hex)
    }

    /// Counts the record that was read last as malformed; the reason is only asked for when it will
    /// be shown.
    pub(crate) fn skip(&mut self, reason: impl FnOnce() -> String) {
        self.skipped_records += 1;
        if self.first_skipped.len() < Self::SKIPPED_SHOWN {
            self.first_skipped.push(SkippedRecord { record: self.records, reason: reason() });
        }
    }

    /// Counts the record that was read last as one that holds no request by the rules of the format.
    /// `what` names such records in the plural: `discards`.
    pub(crate) fn pass_over(&mut self, what: &'static str) {
        count(&mut self.passed_over, what);
    }

    /// Counts an event that is not a request and was handed out.
    pub(crate) fn count_event(&mut self, what: &'static str) {
        count(&mut self.events, what);
    }

    /// Turns the counts of [`ReadReport::passed_over`] into a note, at the end of the trace.
    pub(crate) fn note_passed_over(&mut self) {
        if self.passed_over.is_empty() {
            return;
        }
        let counts: Vec<_> =
            self.passed_over.iter().map(|(what, count)| format!("{what} ({count})")).collect();
        self.notes.push(format!("passed over because they hold no request: {}", counts.join(", ")));
    }

    /// Turns the count of [`ReadReport::assumed_reads`] into a note, at the end of the trace.
    pub(crate) fn note_assumed_reads(&mut self) {
        if self.assumed_reads > 0 {
            self.notes.push(format!(
                "{} requests of which the trace tells no operation are taken as reads, as asked",
                self.assumed_reads
            ));
        }
    }

    /// Adds notes on requests with an unusual field, at the end of the trace.
    pub(crate) fn note_odd_fields(&mut self) {
        if self.long_requests > 0 {
            self.notes.push(format!(
                "{} requests of 4 GiB or more are read in pieces",
                self.long_requests
            ));
        }
        if self.unreadable_times > 0 {
            self.notes.push(format!(
                "{} requests have a time that cannot be read, such as one below zero; they get that of the request \
                 before",
                self.unreadable_times
            ));
        }
    }

    /// Says in a note which view was taken, and what it makes of each class, at the end of the trace.
    pub(crate) fn note_view(&mut self, view: Option<View>) {
        if let (Some(view), Some(classes)) = (view, self.classes) {
            self.notes.push(format!("view {}{}", view.name(), view.described(classes)));
        }
    }

    /// More than one record is malformed, more than a quarter, and more than the larger of 10 and 0.1 %.
    pub(crate) fn skipped_too_many(&self) -> bool {
        let of_short = Self::SKIPPED_ALLOWED.min(self.records / Self::RECORDS_PER_SKIPPED_OF_SHORT);
        self.skipped_records > 1.max(of_short).max(self.records / Self::RECORDS_PER_SKIPPED_ALLOWED)
    }
}

fn count(counts: &mut Vec<(&'static str, u64)>, what: &'static str) {
    match counts.iter_mut().find(|(kind, _)| *kind == what) {
        Some((_, count)) => *count += 1,
        None => counts.push((what, 1)),
    }
}

/// A number with commas between its thousands.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
