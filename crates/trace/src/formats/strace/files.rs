//! The files of a log: names, lengths, and when one is gone for good.

use std::collections::BTreeMap;

use super::line::FileNote;
use crate::decode::output::{Fault, Output};
use crate::event::{Action, Event, ObjectKind};
use crate::request::Op;

/// A file, by the order in which the log met them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FileNumber(u32);

/// One file.
struct File {
    /// The name that the log met first.
    name: Vec<u8>,
    /// Its number in the trace, from its first event on.
    stream: Option<u32>,
    /// Bytes, if the log has them.
    length: Option<u64>,
    /// How many names lead to it.
    names: u32,
    /// Descriptions and mappings that keep it alive without a name.
    users: u32,
}

/// All files.
#[derive(Default)]
pub(super) struct Files {
    files: Vec<File>,
    by_path: BTreeMap<Vec<u8>, FileNumber>,
    streams: u32,
    /// Letters of the paths of all files.
    letters: u64,
}

/// No log has as many; a damaged one must not fill the memory.
const LIMIT_FILES: usize = 1 << 24;

/// Bytes of a file beside its path, which is in both tables.
const BYTES_PER_FILE: u64 = 128;

impl Files {
    /// Bytes of all files' facts.
    pub(super) fn memory_bytes(&self) -> u64 {
        2 * self.letters + self.files.len() as u64 * BYTES_PER_FILE
    }

    /// The file behind a descriptor, which is new if no name leads to it yet.
    pub(super) fn open(&mut self, note: &FileNote) -> Result<FileNumber, Fault> {
        if !note.is_deleted
            && let Some(&file) = self.by_path.get(&note.path)
        {
            return Ok(file);
        }
        if self.files.len() == LIMIT_FILES {
            return Err(Fault::Trace(
                format!("the log opens more than {LIMIT_FILES} files; take a part of it").into(),
            ));
        }
        let file = FileNumber(self.files.len() as u32);
        let names = u32::from(!note.is_deleted);
        let name = note.path.clone();
        self.letters += name.len() as u64;
        self.files.push(File { name, stream: None, length: None, names, users: 0 });
        if !note.is_deleted {
            self.by_path.insert(note.path.clone(), file);
        }
        Ok(file)
    }

    /// The file that a name leads to, if the log met it.
    pub(super) fn named(&self, path: &[u8]) -> Option<FileNumber> {
        self.by_path.get(path).copied()
    }

    /// Returns whether a descriptor of the file can be noted so.
    pub(super) fn is_noted_so(&self, file: FileNumber, note: &FileNote) -> bool {
        note.is_deleted || self.named(&note.path) == Some(file)
    }

    fn of(&mut self, file: FileNumber) -> &mut File {
        &mut self.files[file.0 as usize]
    }

    pub(super) fn length(&self, file: FileNumber) -> Option<u64> {
        self.files[file.0 as usize].length
    }

    /// Returns whether any file has had an event.
    pub(super) fn has_streams(&self) -> bool {
        self.streams > 0
    }

    /// The number of files that have events and a length that the log does not tell.
    pub(super) fn unknown_lengths(&self) -> usize {
        let unknown = |file: &&File| file.stream.is_some() && file.length.is_none();
        self.files.iter().filter(unknown).count()
    }

    /// A descriptor or a mapping more.
    pub(super) fn hold(&mut self, file: FileNumber) {
        self.of(file).users += 1;
    }

    /// One less; a file without a name is gone with the last.
    pub(super) fn release(
        &mut self,
        file: FileNumber,
        time_ns: Option<u64>,
        output: &mut Output,
    ) -> Result<(), Fault> {
        self.of(file).users -= 1;
        self.delete_if_unused(file, time_ns, output)
    }

    fn delete_if_unused(
        &mut self,
        file: FileNumber,
        time_ns: Option<u64>,
        output: &mut Output,
    ) -> Result<(), Fault> {
        match *self.of(file) {
            File { names: 0, users: 0, stream: Some(object), .. } => {
                output.event(Event { object, time_ns, action: Action::Delete })
            }
            _ => Ok(()),
        }
    }

    /// A name is gone.
    pub(super) fn unlink(
        &mut self,
        path: &[u8],
        time_ns: Option<u64>,
        output: &mut Output,
    ) -> Result<(), Fault> {
        let Some(file) = self.by_path.remove(path) else { return Ok(()) };
        self.of(file).names -= 1;
        self.delete_if_unused(file, time_ns, output)
    }

    /// A second name leads to a file.
    pub(super) fn link(&mut self, from: &[u8], to: &[u8]) {
        if let Some(file) = self.named(from)
            && !self.by_path.contains_key(to)
        {
            self.by_path.insert(to.to_vec(), file);
            self.of(file).names += 1;
        }
    }

    /// A file or a folder gets another name; what had that name is gone.
    pub(super) fn rename(
        &mut self,
        from: &[u8],
        to: &[u8],
        time_ns: Option<u64>,
        output: &mut Output,
    ) -> Result<(), Fault> {
        let moved = self.by_path.get(from).copied();
        if moved.is_some() && moved == self.named(to) {
            return Ok(());
        }
        self.unlink(to, time_ns, output)?;
        if let Some(file) = self.by_path.remove(from) {
            self.by_path.insert(to.to_vec(), file);
            return Ok(());
        }
        let folder = [from, b"/"].concat();
        let within = self.by_path.range(folder.clone()..);
        let within = within.take_while(|(path, _)| path.starts_with(&folder));
        let paths: Vec<Vec<u8>> = within.map(|(path, _)| path.clone()).collect();
        for path in paths {
            if let Some(file) = self.by_path.remove(&path) {
                self.by_path.insert([to, &path[from.len()..]].concat(), file);
            }
        }
        Ok(())
    }

    /// Two names lead to each other's files.
    pub(super) fn exchange(&mut self, one: &[u8], other: &[u8]) {
        let (first, second) = (self.by_path.remove(one), self.by_path.remove(other));
        self.by_path.extend(second.map(|file| (one.to_vec(), file)));
        self.by_path.extend(first.map(|file| (other.to_vec(), file)));
    }

    /// The log tells the length of a file; it counts where none is known.
    pub(super) fn learn_length(
        &mut self,
        file: FileNumber,
        bytes: u64,
        time_ns: Option<u64>,
        output: &mut Output,
    ) -> Result<(), Fault> {
        let known = self.of(file);
        if known.length.is_some() {
            return Ok(());
        }
        known.length = Some(bytes);
        self.tell(file, time_ns, Action::Length { bytes }, output)
    }

    /// The file gets this length.
    pub(super) fn truncate(
        &mut self,
        file: FileNumber,
        bytes: u64,
        time_ns: Option<u64>,
        output: &mut Output,
    ) -> Result<(), Fault> {
        let known = self.of(file);
        known.length = Some(bytes);
        self.tell(file, time_ns, Action::Truncate { bytes }, output)
    }

    /// Tells of an event of a file; what only matters to pages that were referenced before is left
    /// out for a file without references.
    pub(super) fn tell(
        &mut self,
        file: FileNumber,
        time_ns: Option<u64>,
        action: Action,
        output: &mut Output,
    ) -> Result<(), Fault> {
        let begins =
            matches!(action, Action::Call { .. } | Action::Direct { .. } | Action::Memory { .. });
        let object = match self.of(file).stream {
            Some(object) => object,
            None if begins => self.begin(file, time_ns, output)?,
            None => return Ok(()),
        };
        let file = self.of(file);
        if let Action::Call { op: Op::Write, offset, bytes, .. }
        | Action::Direct { op: Op::Write, offset, bytes } = action
        {
            let end = offset.saturating_add(bytes.into());
            file.length = file.length.map(|length| length.max(end));
        }
        output.event(Event { object, time_ns, action })
    }

    /// Gives the memory of a process its number in the trace.
    pub(super) fn begin_memory(&mut self, name: String, output: &mut Output) -> u32 {
        let object = self.streams;
        self.streams += 1;
        output.report.stream_names.push(name);
        output.report.object_kinds.push(ObjectKind::Anonymous);
        object
    }

    /// Gives the file its number in the trace, and tells its length if it is known.
    fn begin(
        &mut self,
        file: FileNumber,
        time_ns: Option<u64>,
        output: &mut Output,
    ) -> Result<u32, Fault> {
        let object = self.streams;
        self.streams += 1;
        let file = self.of(file);
        file.stream = Some(object);
        output.report.stream_names.push(String::from_utf8_lossy(&file.name).into_owned());
        output.report.object_kinds.push(ObjectKind::File);
        if let Some(bytes) = file.length {
            output.event(Event { object, time_ns, action: Action::Length { bytes } })?;
        }
        Ok(object)
    }
}
