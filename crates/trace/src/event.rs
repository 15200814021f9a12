//! What happens to a page cache besides plain reads and writes: calls on files, syncs, truncations.
//!
//! An object is an anonymous address space or a file; it is a stream of the trace. Code that handles
//! events gets them from [`Reader::next_events`](crate::Reader::next_events); all other code
//! gets their reads and writes as requests, and the report names what was left out.

use serde::Serialize;

use crate::request::{Op, Request};

/// What an object is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ObjectKind {
    /// Memory of a process that is not backed by a file.
    Anonymous,
    /// A file, however it is reached.
    File,
}

impl ObjectKind {
    /// `anonymous` or `file`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anonymous => "anonymous",
            Self::File => "file",
        }
    }

    /// The kind of this name.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        [Self::Anonymous, Self::File].into_iter().find(|kind| kind.name() == name)
    }
}

/// What happens to an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// A load or a store of a processor.
    Memory {
        /// Which of the two.
        op: Op,
        /// First byte.
        address: u64,
        /// Bytes, at least 1.
        bytes: u32,
    },
    /// A write that must be persistent before it is answered (force unit access).
    ForcedWrite {
        /// First byte.
        address: u64,
        /// Bytes, at least 1.
        bytes: u32,
    },
    /// A reading or writing call on a file.
    Call {
        /// Which of the two.
        op: Op,
        /// First byte.
        offset: u64,
        /// Bytes, at least 1; of a reading call those that it returned.
        bytes: u32,
        /// Who calls.
        process: u32,
    },
    /// A call that goes past the cache (O_DIRECT).
    Direct {
        /// Whether it reads or writes.
        op: Op,
        /// First byte.
        offset: u64,
        /// Bytes, at least 1.
        bytes: u32,
    },
    /// The file has this length.
    Length {
        /// Bytes.
        bytes: u64,
    },
    /// The dirty pages of the file are written.
    Sync,
    /// The dirty pages of all files are written; the object of the event means nothing.
    SyncAll,
    /// The file gets this length.
    Truncate {
        /// Bytes.
        bytes: u64,
    },
    /// The file is gone.
    Delete,
    /// A range is unmapped.
    Release {
        /// First byte.
        address: u64,
        /// Bytes, at least 1.
        bytes: u64,
    },
    /// All of the object is unmapped: its process has ended.
    ReleaseAll,
    /// The content of a range is not needed any more (TRIM, a hole in a file).
    Discard {
        /// First byte.
        address: u64,
        /// Bytes, at least 1.
        bytes: u64,
    },
}

impl Action {
    /// The name of such events in the plural, for notes about what is left out.
    pub fn plural(&self) -> &'static str {
        match self {
            Self::Memory { .. } => "memory accesses",
            Self::ForcedWrite { .. } => "writes that force unit access",
            Self::Call { .. } => "calls",
            Self::Direct { op: Op::Read, .. } => "O_DIRECT reads",
            Self::Direct { op: Op::Write, .. } => "O_DIRECT writes",
            Self::Length { .. } => "lengths of files",
            Self::Sync | Self::SyncAll => "syncs",
            Self::Truncate { .. } => "truncations",
            Self::Delete => "deletions",
            Self::Release { .. } | Self::ReleaseAll => "releases of memory",
            Self::Discard { .. } => "discards",
        }
    }

    /// Returns whether only files have such events.
    pub fn is_of_files(&self) -> bool {
        match self {
            Self::Memory { .. } | Self::ForcedWrite { .. } => false,
            Self::Release { .. } | Self::ReleaseAll => false,
            Self::Discard { .. } | Self::SyncAll => false,
            Self::Call { .. } | Self::Direct { .. } | Self::Length { .. } => true,
            Self::Sync | Self::Truncate { .. } | Self::Delete => true,
        }
    }
}

/// One event of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// The object, a stream of the trace.
    pub object: u32,
    /// When, in nanoseconds from an origin that the trace chooses; an event without a time happens at
    /// the time of the one before.
    pub time_ns: Option<u64>,
    /// What happens.
    pub action: Action,
}

impl Event {
    /// An event without a time.
    pub fn new(object: u32, action: Action) -> Self {
        Self { object, time_ns: None, action }
    }

    /// The request for pages that the event is, by memory or by a call; `None` for all others.
    pub fn request(&self) -> Option<Request> {
        let (op, address, bytes) = match self.action {
            Action::Memory { op, address, bytes }
            | Action::Call { op, offset: address, bytes, .. } => (op, address, bytes),
            Action::ForcedWrite { address, bytes } => (Op::Write, address, bytes),
            _ => return None,
        };
        let request = Request::new(op, address, bytes).in_stream(self.object);
        Some(Request { time_ns: self.time_ns, ..request })
    }
}

impl From<Request> for Event {
    /// A request of a trace that knows of no calls is an access of memory.
    fn from(request: Request) -> Self {
        let Request { op, address, bytes, stream, time_ns, .. } = request;
        Self { object: stream, time_ns, action: Action::Memory { op, address, bytes } }
    }
}

/// The length of every file, as the events tell it.
#[derive(Clone, Debug, Default)]
pub struct FileLengths {
    /// By object; a file that is not here, or `None`, has an unknown length.
    bytes: Vec<Option<u64>>,
}

impl FileLengths {
    /// The length of a file now, if it is known.
    pub fn of(&self, object: u32) -> Option<u64> {
        self.bytes.get(object as usize).copied().flatten()
    }

    /// Follows an event; the length of its file before it, if that was known.
    pub fn follow(&mut self, event: &Event) -> Option<u64> {
        let before = self.of(event.object);
        let after = match event.action {
            Action::Length { bytes } | Action::Truncate { bytes } => Some(bytes),
            Action::Delete => Some(0),
            Action::Call { op: Op::Write, offset, bytes, .. }
            | Action::Direct { op: Op::Write, offset, bytes } => {
                before.map(|length| length.max(offset.saturating_add(bytes.into())))
            }
            _ => before,
        };
        if after != before {
            let index = event.object as usize;
            self.bytes.resize(self.bytes.len().max(index + 1), None);
            self.bytes[index] = after;
        }
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_follows_writes_truncations_and_deletion() {
        let mut lengths = FileLengths::default();
        let mut after = |action| {
            lengths.follow(&Event::new(3, action));
            lengths.of(3)
        };
        let write = |offset| Action::Call { op: Op::Write, offset, bytes: 10, process: 0 };
        assert_eq!(after(write(5)), None, "an unknown length stays unknown");
        assert_eq!(after(Action::Length { bytes: 100 }), Some(100));
        assert_eq!(after(write(5)), Some(100));
        assert_eq!(after(write(95)), Some(105));
        assert_eq!(after(Action::Memory { op: Op::Write, address: 200, bytes: 1 }), Some(105));
        assert_eq!(after(Action::Truncate { bytes: 7 }), Some(7));
        assert_eq!(after(Action::Direct { op: Op::Write, offset: 8, bytes: 2 }), Some(10));
        assert_eq!(after(Action::Delete), Some(0));
    }
}
