//! The descriptors that a program has open when it begins.

use std::fs;

use crate::line::{append, write_length, write_note, write_opening};
use crate::names::{Names, Opened, is_in_cache};
use crate::ptrace::is_same_opening;

/// A file that is open.
struct Open {
    descriptor: u32,
    note: Vec<u8>,
}

/// Writes lines as if the process had opened what it inherits and the next program keeps.
pub(crate) fn write(process: i32, names: &mut Names, start: &[u8], lines: &mut Vec<u8>) {
    let mut files: Vec<Open> = Vec::new();
    for descriptor in descriptors(process) {
        let Some((offset, flags)) = position(process, descriptor) else { continue };
        if flags & libc::O_CLOEXEC as u64 != 0 {
            continue;
        }
        let Opened::File { note, bytes } = names.opened(process, descriptor) else { continue };
        if !is_in_cache(&note) {
            continue;
        }
        let same = files.iter().find(|file| is_same_opening(process, file.descriptor, descriptor));
        lines.extend_from_slice(start);
        if let Some(same) = same {
            append(lines, format_args!("dup2({}", same.descriptor));
            write_note(&same.note, lines);
            append(lines, format_args!(", {descriptor}) = {descriptor}\n"));
        } else {
            lines.extend_from_slice(b"openat(AT_FDCWD, \"\", ");
            // It was emptied, or made, before.
            write_opening(flags & !((libc::O_CREAT | libc::O_TRUNC) as u64), lines);
            append(lines, format_args!(") = {descriptor}"));
            write_note(&note, lines);
            lines.push(b'\n');
            write_length(start, descriptor, &note, bytes, lines);
            lines.extend_from_slice(start);
            append(lines, format_args!("lseek({descriptor}, {offset}, SEEK_SET) = {offset}\n"));
        }
        files.push(Open { descriptor, note });
    }
}

fn descriptors(process: i32) -> Vec<u32> {
    let entries = fs::read_dir(format!("/proc/{process}/fd"));
    let names = entries.into_iter().flatten().flatten().map(|entry| entry.file_name());
    let mut numbers: Vec<u32> = names.filter_map(|name| name.to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

/// The offset and the flags of a descriptor.
fn position(process: i32, descriptor: u32) -> Option<(u64, u64)> {
    let facts = fs::read_to_string(format!("/proc/{process}/fdinfo/{descriptor}")).ok()?;
    let field = |name: &str| facts.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let offset = field("pos:")?.parse().ok()?;
    Some((offset, u64::from_str_radix(field("flags:")?, 8).ok()?))
}
