//! The library's messages on standard error: one sentence, written at once.

use core::fmt::{Arguments, Write};

use crate::system;

/// Exit code of a program that had its memory from a pager and cannot go on.
pub const LOST_MEMORY_EXIT_CODE: i32 = 125;

/// A sentence of limited length; what is too long is cut.
#[derive(Clone, Copy)]
pub struct Sentence {
    bytes: [u8; 512],
    used: usize,
}

impl Sentence {
    /// An empty sentence.
    pub const EMPTY: Sentence = Sentence { bytes: [0; 512], used: 0 };

    /// A sentence with this text.
    pub fn new(words: Arguments) -> Sentence {
        let mut sentence = Sentence::EMPTY;
        // Writing into the array cannot fail.
        let _ = sentence.write_fmt(words);
        sentence
    }

    /// The sentence in a packet, which is filled up with zeros.
    pub fn of_packet(bytes: &[u8]) -> Sentence {
        let mut sentence = Sentence::EMPTY;
        sentence.append(bytes.split(|byte| *byte == 0).next().unwrap_or_default());
        sentence
    }

    fn append(&mut self, bytes: &[u8]) {
        let taken = bytes.len().min(self.bytes.len() - self.used);
        self.bytes[self.used..self.used + taken].copy_from_slice(&bytes[..taken]);
        self.used += taken;
    }

    /// Writes `clockhand: `, the sentence and the end of the line to a descriptor.
    pub fn write_to(&self, descriptor: i32) {
        let mut line = Sentence::EMPTY;
        line.append(b"clockhand: ");
        line.append(&self.bytes[..self.used]);
        line.used = line.used.min(line.bytes.len() - 1);
        line.append(b"\n");
        // An error cannot be reported to anyone.
        let _ = system::write(descriptor, &line.bytes[..line.used]);
    }

    /// Writes it to standard error and ends the program.
    pub fn end_program(&self, code: i32) -> ! {
        self.write_to(libc::STDERR_FILENO);
        system::exit(code)
    }
}

impl Write for Sentence {
    fn write_str(&mut self, words: &str) -> core::fmt::Result {
        self.append(words.as_bytes());
        Ok(())
    }
}
