//! A call as a line of the log.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;

use crate::calls::{Argument, Followed, Kind, OPEN_FLAGS, followed};
use crate::names::{Names, Opened, escape, is_in_cache, resolved};
use crate::ptrace::Entry;

/// No name is longer.
const LIMIT_NAME_BYTES: usize = 4096;
/// A string may end shortly before a page that cannot be read.
const PAGE_BYTES: u64 = 4096;

/// What was in the program's memory when the call began.
enum Pointed {
    Name(Vec<u8>),
    Number(u64),
}

/// A call that has begun.
pub(crate) struct Pending {
    pub(crate) call: &'static Followed,
    arguments: [u64; 6],
    /// By argument.
    pointed: Vec<(usize, Pointed)>,
}

impl Pending {
    /// Reads what must be read before the call changes it; none if the call is not followed.
    pub(crate) fn read(thread: i32, entry: &Entry) -> Option<Self> {
        let call = followed(entry.number)?;
        let mut pointed = Vec::new();
        let mut memory = None;
        for (index, argument) in call.arguments.iter().enumerate() {
            let address = entry.arguments[index];
            let is_name = matches!(argument, Argument::Path { .. } | Argument::PathIn);
            let is_number =
                matches!(argument, Argument::Offset | Argument::OpeningAt | Argument::FlagsAt(_));
            // The name of what is opened is asked for afterwards.
            if address == 0 || !(is_number || is_name && call.kind != Kind::Open) {
                continue;
            }
            if memory.is_none() {
                memory = File::open(format!("/proc/{thread}/mem")).ok();
            }
            let Some(memory) = &memory else { continue };
            let found = match is_name {
                true => name_at(memory, address).map(Pointed::Name),
                false => number_at(memory, address).map(Pointed::Number),
            };
            pointed.extend(found.map(|found| (index, found)));
        }
        Some(Self { call, arguments: entry.arguments, pointed })
    }

    /// Returns whether the call makes a thread of the same process.
    pub(crate) fn makes_a_thread(&self) -> bool {
        self.flags().is_some_and(|flags| flags & libc::CLONE_THREAD as u64 != 0)
    }

    fn flags(&self) -> Option<u64> {
        match self.call.arguments.first()? {
            Argument::Flags(_) => Some(self.arguments[0]),
            Argument::FlagsAt(_) => self.number(0),
            _ => None,
        }
    }

    fn number(&self, index: usize) -> Option<u64> {
        self.pointed.iter().find_map(|(place, pointed)| match pointed {
            Pointed::Number(number) if *place == index => Some(*number),
            _ => None,
        })
    }

    fn name(&self, index: usize) -> &[u8] {
        let name = self.pointed.iter().find_map(|(place, pointed)| match pointed {
            Pointed::Name(name) if *place == index => Some(&name[..]),
            _ => None,
        });
        name.unwrap_or_default()
    }

    /// Writes the call and its result, behind what stands in the line already; nothing if it concerns
    /// no file. `start` is written in front of each line.
    pub(crate) fn write(
        &self,
        thread: i32,
        result: u64,
        names: &mut Names,
        start: &[u8],
        lines: &mut Vec<u8>,
    ) {
        let before = lines.len();
        lines.extend_from_slice(start);
        lines.extend_from_slice(self.call.name.as_bytes());
        lines.push(b'(');
        let mut concerns_a_file = self.call.kind != Kind::Transfer;
        for (index, argument) in self.call.arguments.iter().enumerate() {
            if index > 0 {
                lines.extend_from_slice(b", ");
            }
            concerns_a_file |= self.argument(thread, index, *argument, names, lines);
        }
        lines.extend_from_slice(b") = ");
        append(lines, format_args!("{result}"));
        if self.call.kind == Kind::Open {
            concerns_a_file = write_opened(thread, result, names, start, lines);
        }
        match concerns_a_file {
            true if self.call.kind != Kind::Open => lines.push(b'\n'),
            true => {}
            false => lines.truncate(before),
        }
    }

    /// Writes an argument; whether it is a descriptor of a file.
    fn argument(
        &self,
        thread: i32,
        index: usize,
        argument: Argument,
        names: &Names,
        line: &mut Vec<u8>,
    ) -> bool {
        let value = self.arguments[index];
        match argument {
            Argument::Any => line.push(b'0'),
            Argument::Folder => line.extend_from_slice(b"AT_FDCWD"),
            Argument::Number => append(line, format_args!("{value}")),
            Argument::Descriptor => append(line, format_args!("{}", value as u32)),
            Argument::Signed => append(line, format_args!("{}", value as i64)),
            Argument::File => return write_descriptor(thread, value as u32, names, line),
            Argument::Path { .. } | Argument::PathIn => {
                self.write_name(thread, index, argument, line)
            }
            Argument::Offset => match self.number(index) {
                Some(offset) => append(line, format_args!("[{offset}]")),
                None => line.extend_from_slice(b"NULL"),
            },
            Argument::Flags(known) => write_flags(value, known, line),
            Argument::FlagsAt(known) => {
                write_flags(self.number(index).unwrap_or_default(), known, line);
            }
            Argument::Opening => write_opening(value, line),
            Argument::OpeningAt => write_opening(self.number(index).unwrap_or_default(), line),
            Argument::Control => write_control(value as i32, self.arguments[index + 1], line),
            Argument::CloseOnExec => {
                let closes = value as u32 == libc::FIOCLEX as u32;
                write_control(libc::F_SETFD, u64::from(closes), line);
            }
            Argument::Whence => line.extend_from_slice(match value as i32 {
                libc::SEEK_SET => b"SEEK_SET",
                libc::SEEK_CUR => b"SEEK_CUR",
                libc::SEEK_END => b"SEEK_END",
                _ => b"SEEK_DATA",
            }),
        }
        false
    }

    fn write_name(&self, thread: i32, index: usize, argument: Argument, line: &mut Vec<u8>) {
        line.push(b'"');
        if self.call.kind != Kind::Open {
            let (folder, follows) = match argument {
                Argument::Path { follows } => (libc::AT_FDCWD, follows),
                _ => (self.arguments[index - 1] as i32, false),
            };
            escape(&resolved(thread, folder, self.name(index), follows), line);
        }
        line.push(b'"');
    }
}

pub(crate) fn append(line: &mut Vec<u8>, text: std::fmt::Arguments) {
    line.write_fmt(text).expect("memory takes what is written");
}

/// Writes a descriptor with its file; whether the page cache may hold that.
fn write_descriptor(thread: i32, descriptor: u32, names: &Names, line: &mut Vec<u8>) -> bool {
    append(line, format_args!("{descriptor}"));
    let Some(note) = names.note(thread, descriptor) else { return false };
    write_note(&note, line);
    is_in_cache(&note)
}

pub(crate) fn write_note(note: &[u8], line: &mut Vec<u8>) {
    line.push(b'<');
    escape(note, line);
    line.push(b'>');
}

/// Writes the file behind a descriptor that was opened, and its length; false if it is not a file.
fn write_opened(
    thread: i32,
    result: u64,
    names: &mut Names,
    start: &[u8],
    lines: &mut Vec<u8>,
) -> bool {
    match names.opened(thread, result as u32) {
        Opened::File { note, bytes } if is_in_cache(&note) => {
            write_note(&note, lines);
            lines.push(b'\n');
            write_length(start, result as u32, &note, bytes, lines);
            true
        }
        _ => false,
    }
}

/// Writes a line that tells the length of a file.
pub(crate) fn write_length(
    start: &[u8],
    descriptor: u32,
    note: &[u8],
    bytes: u64,
    lines: &mut Vec<u8>,
) {
    lines.extend_from_slice(start);
    append(lines, format_args!("fstat({descriptor}"));
    write_note(note, lines);
    append(lines, format_args!(", {{st_mode=S_IFREG, st_size={bytes}}}) = 0\n"));
}

fn write_flags(value: u64, known: &[(u64, &str)], line: &mut Vec<u8>) {
    let before = line.len();
    for (bits, name) in known {
        if value & bits == *bits {
            if line.len() > before {
                line.push(b'|');
            }
            line.extend_from_slice(name.as_bytes());
        }
    }
    if line.len() == before {
        line.push(b'0');
    }
}

pub(crate) fn write_opening(flags: u64, line: &mut Vec<u8>) {
    line.extend_from_slice(match flags as i32 & libc::O_ACCMODE {
        libc::O_RDONLY => b"O_RDONLY|",
        libc::O_WRONLY => b"O_WRONLY|",
        _ => b"O_RDWR|",
    });
    write_flags(flags, OPEN_FLAGS, line);
}

fn write_control(command: i32, argument: u64, line: &mut Vec<u8>) {
    match command {
        libc::F_DUPFD => append(line, format_args!("F_DUPFD, {argument}")),
        libc::F_DUPFD_CLOEXEC => append(line, format_args!("F_DUPFD_CLOEXEC, {argument}")),
        libc::F_SETFD => {
            line.extend_from_slice(b"F_SETFD, ");
            write_flags(argument, &[(libc::FD_CLOEXEC as u64, "FD_CLOEXEC")], line);
        }
        _ => {
            line.extend_from_slice(b"F_SETFL, ");
            write_flags(argument, OPEN_FLAGS, line);
        }
    }
}

fn number_at(memory: &File, address: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    memory.read_exact_at(&mut bytes, address).ok()?;
    Some(u64::from_ne_bytes(bytes))
}

pub(crate) fn name_at(memory: &File, address: u64) -> Option<Vec<u8>> {
    let mut name = Vec::new();
    while name.len() < LIMIT_NAME_BYTES {
        let place = address + name.len() as u64;
        let mut part = vec![0; (PAGE_BYTES - place % PAGE_BYTES) as usize];
        let read = memory.read_at(&mut part, place).ok()?;
        let end = part[..read].iter().position(|&byte| byte == 0);
        name.extend_from_slice(&part[..end.unwrap_or(read)]);
        if end.is_some() {
            return Some(name);
        }
        if read == 0 {
            return None;
        }
    }
    None
}
