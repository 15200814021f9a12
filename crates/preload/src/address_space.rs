//! What the kernel says of the program's mappings, in /proc.

use core::ffi::c_int;

use crate::memory;
use crate::system::{self, ErrorNumber, Result};

/// Mappings in a row with the same protection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// What the program may do there: `PROT_READ` and so on.
    pub protection: c_int,
    /// True if this is memory of nothing but this process.
    pub is_private_and_anonymous: bool,
    /// True if this is memory that the pager has given.
    pub is_memory_file: bool,
}

/// What is mapped in these addresses. `EFAULT` if some are not mapped, or are not mapped as the others; `None` if the program
/// cannot see /proc.
pub fn mapped(address: usize, bytes: usize) -> Result<Option<Mapped>> {
    let mut wanted = Wanted { address, end: address + bytes, found: None };
    let Ok(result) = first_of_lines(|line| wanted.next_line(line)) else { return Ok(None) };
    result.unwrap_or(Err(ErrorNumber(libc::EFAULT))).map(Some)
}

/// Calls `take` with the part in these addresses of each mapping that has one: its first address, the one after the
/// last, and what it is. `take` may change this part without effect on later ones. An error if the program cannot see
/// /proc.
pub fn for_each_mapped(
    address: usize,
    end: usize,
    mut take: impl FnMut(usize, usize, Mapped) -> Result<()>,
) -> Result<()> {
    let taken = first_of_lines(|line| {
        let (first, after, mapped) = line.parse()?;
        let (first, after) = (first.max(address), after.min(end));
        if first < after { take(first, after, mapped).err().map(Err) } else { None }
    })?;
    taken.unwrap_or(Ok(()))
}

/// The first result that `look` gives for a line of the list of mappings; `None` if it gives none.
fn first_of_lines<T>(mut look: impl FnMut(&Line) -> Option<T>) -> Result<Option<T>> {
    let file = system::open_to_read(c"/proc/thread-self/maps")?;
    let mut line = Line { head: [0; LINE_HEAD_BYTES], used: 0 };
    let mut text = [0; 2048];
    let result = 'read: loop {
        let read = match system::read(file, &mut text) {
            Ok(0) | Err(_) => break None,
            Ok(read) => read,
        };
        for &byte in &text[..read] {
            if byte != b'\n' {
                line.push(byte);
            } else if let Some(result) = look(&line.take()) {
                break 'read Some(result);
            }
        }
    };
    system::close(file);
    Ok(result)
}

/// Bytes of memory of nothing but this process that are present: stacks, data, and what is not paged; `None` if the program
/// cannot see /proc.
pub fn anonymous_bytes() -> Option<usize> {
    const NAME: &[u8] = b"RssAnon:";
    let file = system::open_to_read(c"/proc/self/status").ok()?;
    let mut text = [0; 4096];
    let read = system::read(file, &mut text);
    system::close(file);
    let text = &text[..read.ok()?];
    let line = text.split(|&byte| byte == b'\n').find_map(|line| line.strip_prefix(NAME))?;
    let digits = line.trim_ascii().strip_suffix(b" kB")?;
    core::str::from_utf8(digits).ok()?.parse::<usize>().ok()?.checked_mul(1024)
}

/// Bytes of a line up to the beginning of the name, at most: addresses, what is allowed, offset, device and inode take fewer.
const LINE_HEAD_BYTES: usize = 112;

/// How the names of files in memory begin.
const IN_MEMORY: &str = "/memfd:";

/// A line as far as it has been read.
struct Line {
    head: [u8; LINE_HEAD_BYTES],
    used: usize,
}

impl Line {
    fn push(&mut self, byte: u8) {
        if self.used < LINE_HEAD_BYTES {
            self.head[self.used] = byte;
            self.used += 1;
        }
    }

    /// The line, which is empty afterwards.
    fn take(&mut self) -> Line {
        let taken = Line { head: self.head, used: self.used };
        self.used = 0;
        taken
    }

    /// First address, the one after the last, and what is mapped there.
    fn parse(&self) -> Option<(usize, usize, Mapped)> {
        let text = core::str::from_utf8(&self.head[..self.used]);
        // What follows the inode may be cut within a letter.
        let text = match text {
            Ok(text) => text,
            Err(error) => core::str::from_utf8(&self.head[..error.valid_up_to()]).ok()?,
        };
        let mut words = text.split(' ');
        let (start, end) = words.next()?.split_once('-')?;
        let allowed = words.next()?.as_bytes();
        let inode = words.nth(2)?;
        let name = words.find(|word| !word.is_empty()).unwrap_or_default();
        let may = |index: usize, letter: u8, protection: c_int| match allowed.get(index) {
            Some(&found) if found == letter => protection,
            _ => 0,
        };
        let mapped = Mapped {
            protection: may(0, b'r', libc::PROT_READ)
                | may(1, b'w', libc::PROT_WRITE)
                | may(2, b'x', libc::PROT_EXEC),
            is_private_and_anonymous: allowed.get(3) == Some(&b'p') && inode == "0",
            is_memory_file: allowed.get(3) == Some(&b's')
                && name.starts_with(IN_MEMORY)
                && inode.parse() == Ok(memory::file_inode()),
        };
        let number = |digits| usize::from_str_radix(digits, 16).ok();
        Some((number(start)?, number(end)?, mapped))
    }
}

/// The addresses of which nothing has been read yet, and what the ones before are.
struct Wanted {
    address: usize,
    end: usize,
    found: Option<Mapped>,
}

impl Wanted {
    /// What all of them are, or that they differ, when this line decides it.
    fn next_line(&mut self, line: &Line) -> Option<Result<Mapped>> {
        let (start, end, mapped) = line.parse()?;
        if end <= self.address {
            return None;
        }
        if start > self.address || self.found.is_some_and(|found| found != mapped) {
            return Some(Err(ErrorNumber(libc::EFAULT)));
        }
        self.found = Some(mapped);
        self.address = end;
        (end >= self.end).then_some(Ok(mapped))
    }
}
