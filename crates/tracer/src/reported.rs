//! Calls that a program under another tracer of its own tells: Valgrind makes the calls of the program that
//! it runs, among many of its own, and so its tool says which are the program's.
//!
//! It tells by a call that no kernel knows, at which the filter stops the thread.

use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;

use crate::line::{Pending, append, name_at, write_length, write_note};
use crate::names::is_in_cache;
use crate::ptrace::Entry;

/// The number of the call; `clockhand.c` of the capture has the same.
pub(crate) const TELLING: u64 = 49_420;

/// A descriptor that no program has, for what is mapped when it begins.
const LOADED_DESCRIPTOR: u32 = 1 << 30;
const ARGUMENTS: usize = 6;

/// The report.
pub(crate) enum Reported {
    /// A call begins; none if it is not followed.
    Begins(Option<Pending>),
    /// The call has returned; none if it failed.
    Returned(Option<u64>),
    /// A part of a file is mapped.
    Mapped(Mapping),
}

/// A part of a file in memory.
pub(crate) struct Mapping {
    start: u64,
    end: u64,
    offset: u64,
    name: Vec<u8>,
}

impl Reported {
    /// Reads what a thread tells; none if that makes no sense.
    pub(crate) fn read(thread: i32, entry: &Entry) -> Option<Self> {
        if entry.number != TELLING {
            return None;
        }
        let [what, first, second, third, fourth, _] = entry.arguments;
        let memory = || File::open(format!("/proc/{thread}/mem")).ok();
        match what {
            0 => {
                let mut bytes = [0; ARGUMENTS * 8];
                memory()?.read_exact_at(&mut bytes, second).ok()?;
                let mut arguments = [0; ARGUMENTS];
                for (argument, bytes) in arguments.iter_mut().zip(bytes.chunks_exact(8)) {
                    *argument = u64::from_ne_bytes(bytes.try_into().ok()?);
                }
                Some(Self::Begins(Pending::read(thread, &Entry { number: first, arguments })))
            }
            1 => Some(Self::Returned((first == 0).then_some(second))),
            2 => {
                let name = name_at(&memory()?, fourth)?;
                Some(Self::Mapped(Mapping { start: first, end: second, offset: third, name }))
            }
            _ => None,
        }
    }
}

impl Mapping {
    /// Writes lines as if the process had opened the file, mapped it, and closed it.
    pub(crate) fn write(&self, start: &[u8], lines: &mut Vec<u8>) {
        let Self { name, offset, .. } = self;
        if !is_in_cache(name) {
            return;
        }
        let bytes = self.end.saturating_sub(self.start);
        let descriptor = LOADED_DESCRIPTOR;
        lines.extend_from_slice(start);
        append(lines, format_args!("openat(AT_FDCWD, \"\", O_RDONLY) = {descriptor}"));
        write_note(name, lines);
        lines.push(b'\n');
        if let Ok(facts) = std::fs::metadata(std::ffi::OsStr::from_bytes(name)) {
            write_length(start, descriptor, name, facts.len(), lines);
        }
        lines.extend_from_slice(start);
        append(lines, format_args!("mmap({}, {bytes}, 0, MAP_PRIVATE, {descriptor}", self.start));
        write_note(name, lines);
        append(lines, format_args!(", {offset}) = {}\n", self.start));
        lines.extend_from_slice(start);
        append(lines, format_args!("close({descriptor}) = 0\n"));
    }
}
