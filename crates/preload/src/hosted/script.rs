//! The first line of a script: which program runs it. It is read as the kernel reads it.

use core::ffi::{c_char, c_int};

use crate::system;

/// As many scripts may interpret one another; the kernel follows no more.
pub(super) const MOST_INTERPRETERS: usize = 6;

/// The kernel looks at so many bytes.
const LINE_BYTES: usize = 256;
const MARK: &[u8] = b"#!";

/// The first line, with a zero behind the interpreter and behind its argument.
pub(super) struct Script {
    line: [u8; LINE_BYTES],
    interpreter: usize,
    argument: Option<usize>,
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

impl Script {
    pub(super) const EMPTY: Script =
        Script { line: [0; LINE_BYTES], interpreter: 0, argument: None };

    /// Is this the file of a script?
    pub(super) fn begins(descriptor: c_int) -> bool {
        let mut mark = [0; MARK.len()];
        read_start(descriptor, &mut mark);
        mark == MARK
    }

    /// Reads the line of a file; `None` if it is no script that the kernel would run.
    pub(super) fn read(&mut self, descriptor: c_int) -> Option<()> {
        self.line = [0; LINE_BYTES];
        read_start(descriptor, &mut self.line);
        self.split()
    }

    /// Finds the words. One that the kernel has not read as a whole runs nothing.
    fn split(&mut self) -> Option<()> {
        let line = &mut self.line;
        if !line.starts_with(MARK) {
            return None;
        }
        let is_end = |&byte: &u8| is_space(byte) || byte == 0;
        let newline = line.iter().position(|&byte| byte == b'\n');
        let mut end = newline.unwrap_or(LINE_BYTES - 1);
        let name = MARK.len() + line[MARK.len()..end].iter().position(|&byte| !is_space(byte))?;
        let name_end = line[name..end].iter().position(is_end).map(|bytes| name + bytes);
        if newline.is_none() && name_end.is_none() {
            return None;
        }
        while is_space(line[end - 1]) {
            end -= 1;
        }
        line[end] = 0;
        let name_end = name_end.unwrap_or(end).min(end);
        let has_more = line[name_end] != 0;
        line[name_end] = 0;
        self.interpreter = name;
        self.argument = None;
        if has_more {
            let spaces = line[name_end + 1..end].iter().position(|&byte| !is_space(byte));
            self.argument = spaces.map(|spaces| name_end + 1 + spaces);
        }
        (line[name] != 0).then_some(())
    }

    /// The path of the program that runs the script.
    pub(super) fn interpreter(&self) -> *const c_char {
        self.line[self.interpreter..].as_ptr().cast()
    }

    /// What that is passed before the script: the rest of the line.
    pub(super) fn argument(&self) -> Option<*const c_char> {
        self.argument.map(|start| self.line[start..].as_ptr().cast())
    }
}

/// Reads the first bytes of a file, fewer if it has not so many.
fn read_start(descriptor: c_int, into: &mut [u8]) {
    let arguments = [descriptor as usize, into.as_mut_ptr() as usize, into.len(), 0, 0, 0];
    // SAFETY: the kernel writes where the slice says.
    let _ = unsafe { system::call(libc::SYS_pread64, arguments) };
}
