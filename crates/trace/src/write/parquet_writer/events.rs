//! Columns of events.

use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{ArrayRef, DictionaryArray, Int8Array, StringArray, UInt32Array, UInt64Array};

use crate::event::{Action, Event, ObjectKind};
use crate::request::Op;

/// The words of the column `op` in a table of events.
const EVENT_WORDS: [&str; 10] = [
    "R",
    "W",
    "length",
    "sync",
    "sync-all",
    "truncate",
    "delete",
    "release",
    "release-all",
    "discard",
];
/// The words of the column `by`: how a read or write comes.
const BY_WORDS: [&str; 5] = ["memory", "call", "direct", "none", "forced"];

/// A column of a few words, given by their numbers.
fn words(numbers: impl Iterator<Item = i8>, words: Vec<&str>) -> ArrayRef {
    let numbers = Int8Array::from_iter_values(numbers);
    Arc::new(DictionaryArray::<Int8Type>::new(numbers, Arc::new(StringArray::from(words))))
}

/// Word, `by`, first byte, bytes and process of an event, as the columns hold it.
fn cells(action: &Action) -> (i8, i8, u64, u64, u32) {
    let word = |op| i8::from(op == Op::Write);
    const NONE: i8 = 3;
    match *action {
        Action::Memory { op, address, bytes } => (word(op), 0, address, bytes.into(), 0),
        Action::ForcedWrite { address, bytes } => (word(Op::Write), 4, address, bytes.into(), 0),
        Action::Call { op, offset, bytes, process } => (word(op), 1, offset, bytes.into(), process),
        Action::Direct { op, offset, bytes } => (word(op), 2, offset, bytes.into(), 0),
        Action::Length { bytes } => (2, NONE, 0, bytes, 0),
        Action::Sync => (3, NONE, 0, 0, 0),
        Action::SyncAll => (4, NONE, 0, 0, 0),
        Action::Truncate { bytes } => (5, NONE, 0, bytes, 0),
        Action::Delete => (6, NONE, 0, 0, 0),
        Action::Release { address, bytes } => (7, NONE, address, bytes, 0),
        Action::ReleaseAll => (8, NONE, 0, 0, 0),
        Action::Discard { address, bytes } => (9, NONE, address, bytes, 0),
    }
}

/// In the order of the schema.
pub(super) fn event_columns(events: &[Event]) -> Vec<ArrayRef> {
    let cells: Vec<_> = events.iter().map(|event| cells(&event.action)).collect();
    let cells = || cells.iter();
    let streams = UInt32Array::from_iter_values(events.iter().map(|event| event.object));
    let times: UInt64Array = events.iter().map(|event| event.time_ns).collect();
    vec![
        words(cells().map(|cells| cells.0), EVENT_WORDS.to_vec()),
        Arc::new(UInt64Array::from_iter_values(cells().map(|cells| cells.2))),
        Arc::new(UInt64Array::from_iter_values(cells().map(|cells| cells.3))),
        Arc::new(streams),
        words(cells().map(|cells| cells.1), BY_WORDS.to_vec()),
        Arc::new(UInt32Array::from_iter_values(cells().map(|cells| cells.4))),
        Arc::new(times),
    ]
}

/// What the streams are, a line each; the last column, the name, may be empty.
pub(crate) fn objects_text(names: &[String], kinds: &[ObjectKind]) -> String {
    let mut text = String::new();
    for number in 0..names.len().max(kinds.len()) {
        let kind = kinds.get(number).map_or("unknown", |kind| kind.name());
        let name = names.get(number).map_or("", String::as_str).replace(['\n', '\r'], " ");
        text += &format!("{number} {kind} {name}\n");
    }
    text
}
