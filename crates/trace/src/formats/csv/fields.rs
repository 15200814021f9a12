//! The fields of one line of a table, with quotes as RFC 4180 has them.

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use memchr::memchr;

use crate::decode::scan;

/// What stands between the fields of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Separator {
    /// One such byte.
    Byte(u8),
    /// Any number of spaces and tabs.
    Blanks,
}

/// The fields of one line, unquoted; the buffers are kept from line to line.
pub(super) struct Fields {
    separator: Separator,
    splitter: Reader,
    text: Vec<u8>,
    ends: Vec<usize>,
    count: usize,
}

impl Default for Fields {
    fn default() -> Self {
        Self::between(Separator::Byte(b','))
    }
}

impl Fields {
    /// For lines whose fields have this between them.
    pub(super) fn between(separator: Separator) -> Self {
        let splitter = match separator {
            Separator::Byte(byte) => ReaderBuilder::new().delimiter(byte).build(),
            Separator::Blanks => ReaderBuilder::new().delimiter(b' ').build(),
        };
        Self { separator, splitter, text: Vec::new(), ends: Vec::new(), count: 0 }
    }

    pub(super) fn split(&mut self, line: &[u8]) {
        let is_quoted = memchr(b'"', line).is_some();
        match self.separator {
            Separator::Byte(byte) if !is_quoted => self.split_unquoted(line, byte),
            Separator::Byte(_) => self.split_quoted(line),
            Separator::Blanks => self.split_blanks(line),
        }
    }

    /// Runs of blanks are one separator, and quotes hold blanks together.
    fn split_blanks(&mut self, line: &[u8]) {
        self.text.clear();
        self.ends.clear();
        let mut rest = scan::after_blanks(line);
        while !rest.is_empty() {
            let is_end = |byte: &u8| *byte == b' ' || *byte == b'\t';
            let (field, behind) = match rest.strip_prefix(b"\"") {
                Some(quoted) => match memchr(b'"', quoted) {
                    Some(end) => (&quoted[..end], &quoted[end + 1..]),
                    None => (quoted, &quoted[quoted.len()..]),
                },
                None => rest.split_at(rest.iter().position(is_end).unwrap_or(rest.len())),
            };
            self.text.extend_from_slice(field);
            self.ends.push(self.text.len());
            rest = scan::after_blanks(behind);
        }
        self.count = self.ends.len();
    }

    /// Most lines have no quotes, and splitting them at their separators is several times as fast.
    fn split_unquoted(&mut self, line: &[u8], separator: u8) {
        self.text.clear();
        self.ends.clear();
        for field in line.split(|&byte| byte == separator) {
            self.text.extend_from_slice(field);
            self.ends.push(self.text.len());
        }
        self.count = self.ends.len();
    }

    fn split_quoted(&mut self, line: &[u8]) {
        self.splitter.reset();
        // Unquoted text is never longer than the line, nor has it more fields than that and one.
        self.text.resize(line.len() + 1, 0);
        self.ends.resize(line.len() + 1, 0);
        let (mut input, mut text_length) = (line, 0);
        self.count = 0;
        loop {
            let (result, taken, written, ended) = self.splitter.read_record(
                input,
                &mut self.text[text_length..],
                &mut self.ends[self.count..],
            );
            input = &input[taken..];
            text_length += written;
            self.count += ended;
            match result {
                // An empty input after the line's last byte tells the splitter that the record is
                // over.
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => self.text.resize(2 * self.text.len(), 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(2 * self.ends.len(), 0),
                ReadRecordResult::Record | ReadRecordResult::End => return,
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn get(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.text[start..self.ends[index]]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.count).map(|index| self.get(index))
    }
}
