//! Writing events as text, one per line: see the page of the format `events`.

use std::path::Path;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::decode::labels;
use crate::decode::scan;
use crate::error::TraceError;
use crate::event::{Action, Event, ObjectKind};
use crate::request::Op;
use crate::write::encoded_file::EncodedFile;
use crate::write::target::Decimal;

/// The end of what files and address spaces can hold.
const END_BYTES: u64 = 1 << 63;

/// What is known of the objects of a trace, by stream number.
#[derive(Clone, Copy, Debug, Default)]
pub struct ObjectNames<'a> {
    /// The names so far, if the trace names its streams.
    pub names: &'a [String],
    /// Their kinds so far, if the trace tells.
    pub kinds: &'a [ObjectKind],
}

/// Writes events to a text file.
pub(crate) struct EventTextWriter {
    file: EncodedFile,
    written_events: u64,
    /// The written form of each object.
    labels: FxHashMap<u32, String>,
    used_labels: FxHashSet<String>,
    lost_labels: Vec<String>,
    /// Flushes of what is not a file, such as a drive: the format has syncs of files and of all.
    widened_syncs: u64,
}

impl EventTextWriter {
    pub(crate) fn create(path: &Path, labels: &[(String, String)]) -> Result<Self, TraceError> {
        let mut file = EncodedFile::create(path)?;
        for label in labels {
            file.buffer.extend_from_slice(b"# ");
            labels::write(label, &mut file.buffer);
        }
        Ok(Self {
            file,
            written_events: 0,
            labels: FxHashMap::default(),
            used_labels: FxHashSet::default(),
            lost_labels: Vec::new(),
            widened_syncs: 0,
        })
    }

    /// Remembers a label that comes too late for the head.
    pub(crate) fn lose_label(&mut self, key: &str) {
        self.lost_labels.push(key.to_owned());
    }

    pub(crate) fn write(
        &mut self,
        events: impl Iterator<Item = Event>,
        objects: ObjectNames,
    ) -> Result<(), TraceError> {
        for event in events {
            self.event(&event, objects).map_err(|reason| TraceError::Unwritable {
                file: self.file.name(),
                index: self.written_events,
                reason: reason.into(),
            })?;
            self.written_events += 1;
            self.file.write_if_full()?;
        }
        Ok(())
    }

    fn event(&mut self, event: &Event, objects: ObjectNames) -> Result<(), &'static str> {
        if end_of(&event.action).is_none_or(|end| end > END_BYTES) {
            return Err("reaches beyond byte 2^63, where no object has a byte; leave it out");
        }
        let label = match event.action {
            Action::SyncAll => "*".to_owned(),
            Action::Sync => self.synced(event.object, objects)?,
            _ => self.label(event.object, &event.action, objects),
        };
        if let Some(time_ns) = event.time_ns {
            let time = Decimal { time_ns, unit_ns: 1_000_000_000, decimals: 0 };
            self.append(&format!("@{time} "));
        }
        self.append(&line(&event.action, &label));
        Ok(())
    }

    fn append(&mut self, text: &str) {
        self.file.buffer.extend_from_slice(text.as_bytes());
    }

    /// The target of a sync of the object.
    fn synced(&mut self, object: u32, objects: ObjectNames) -> Result<String, &'static str> {
        let known = self.labels.get(&object);
        let is_file = known.is_some_and(|label| label.starts_with('f'))
            || objects.kinds.get(object as usize) == Some(&ObjectKind::File);
        if !is_file {
            self.widened_syncs += 1;
            return Ok("*".to_owned());
        }
        known.cloned().ok_or(
            "syncs a file that no event before it names, which the format cannot hold; convert to Parquet",
        )
    }

    /// The written form of the object; its name comes before its first event.
    fn label(&mut self, object: u32, action: &Action, objects: ObjectNames) -> String {
        if let Some(label) = self.labels.get(&object) {
            return label.clone();
        }
        let name = objects.names.get(object as usize);
        let named = name.and_then(|name| kind_of_label(name).map(|kind| (kind, name.clone())));
        let kind = objects.kinds.get(object as usize).copied();
        let kind = kind
            .or(named.as_ref().map(|(kind, _)| *kind))
            .unwrap_or(if action.is_of_files() { ObjectKind::File } else { ObjectKind::Anonymous });
        let label = named
            .filter(|(named, label)| *named == kind && !self.used_labels.contains(label))
            .map(|(_, label)| label);
        let is_name = label.is_some();
        let label = label.unwrap_or_else(|| self.unused_label(kind, object));
        if let Some(name) = name.filter(|_| !is_name) {
            let name = name.replace(['\n', '\r'], " ");
            self.append(&format!("# object {label}: {name}\n"));
        }
        self.used_labels.insert(label.clone());
        self.labels.insert(object, label.clone());
        label
    }

    fn unused_label(&self, kind: ObjectKind, object: u32) -> String {
        let letter = if kind == ObjectKind::File { 'f' } else { 'a' };
        let mut labels = (u64::from(object)..).map(|number| format!("{letter}{number}"));
        let unused = labels.find(|label| !self.used_labels.contains(label));
        unused.expect("there are more numbers than objects")
    }

    pub(crate) fn finish(self) -> Result<Vec<String>, TraceError> {
        let Self { file, lost_labels, widened_syncs, .. } = self;
        file.finish()?;
        let lost = format!("labels are lost: {}", lost_labels.join(", "));
        let widened =
            format!("{widened_syncs} flushes of what is no file are written as `sync *`, of all");
        let notes =
            [(!lost_labels.is_empty()).then_some(lost), (widened_syncs > 0).then_some(widened)];
        Ok(notes.into_iter().flatten().collect())
    }
}

/// What a name such as `f1` says of its object.
fn kind_of_label(name: &str) -> Option<ObjectKind> {
    let kind = match name.as_bytes().first()? {
        b'a' => ObjectKind::Anonymous,
        b'f' => ObjectKind::File,
        _ => return None,
    };
    let digits = &name[1..];
    let is_usual = digits == "0" || !digits.starts_with('0');
    (is_usual && digits.len() < 19 && scan::decimal(digits.as_bytes()).is_some()).then_some(kind)
}

/// The byte behind the last one that an event speaks of; `None` if 64 bits do not hold it.
fn end_of(action: &Action) -> Option<u64> {
    match *action {
        Action::Memory { address, bytes, .. }
        | Action::ForcedWrite { address, bytes }
        | Action::Call { offset: address, bytes, .. }
        | Action::Direct { offset: address, bytes, .. } => address.checked_add(bytes.into()),
        Action::Release { address, bytes } | Action::Discard { address, bytes } => {
            address.checked_add(bytes)
        }
        Action::Length { bytes } | Action::Truncate { bytes } => Some(bytes),
        Action::Sync | Action::SyncAll | Action::Delete | Action::ReleaseAll => Some(0),
    }
}

fn line(action: &Action, label: &str) -> String {
    let letter = |op| if op == Op::Read { 'r' } else { 'w' };
    match *action {
        Action::Memory { op, address, bytes } => {
            format!("m{} {label} {address} {bytes}\n", letter(op))
        }
        Action::ForcedWrite { address, bytes } => format!("fw {label} {address} {bytes}\n"),
        Action::Call { op, offset, bytes, process: 0 } => {
            format!("c{} {label} {offset} {bytes}\n", letter(op))
        }
        Action::Call { op, offset, bytes, process } => {
            format!("c{} {label} {offset} {bytes} {process}\n", letter(op))
        }
        Action::Direct { op, offset, bytes } => {
            format!("d{} {label} {offset} {bytes}\n", letter(op))
        }
        Action::Length { bytes } => format!("length {label} {bytes}\n"),
        Action::Sync | Action::SyncAll => format!("sync {label}\n"),
        Action::Truncate { bytes } => format!("truncate {label} {bytes}\n"),
        Action::Delete => format!("delete {label}\n"),
        Action::Release { address, bytes } => format!("release {label} {address} {bytes}\n"),
        Action::ReleaseAll => format!("release {label}\n"),
        Action::Discard { address, bytes } => format!("discard {label} {address} {bytes}\n"),
    }
}
