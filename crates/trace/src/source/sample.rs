//! The first bytes of a trace, as detection looks at them.

/// The first bytes of a trace, decompressed.
pub(crate) struct Sample<'a> {
    head: &'a [u8],
    is_all: bool,
}

impl<'a> Sample<'a> {
    /// `is_all` says that the trace ends where the head ends.
    pub(crate) fn new(head: &'a [u8], is_all: bool) -> Self {
        Self { head, is_all }
    }

    pub(crate) fn head(&self) -> &'a [u8] {
        self.head
    }

    /// The lines whose ends are in the head, without line ends; the last line of the trace may lack
    /// its end only if it is the first.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &'a [u8]> {
        let text = self.head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(self.head);
        let complete = match memchr::memrchr(b'\n', text) {
            Some(end) => &text[..end],
            None if self.is_all => text,
            None => &[],
        };
        complete.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line))
    }

    /// Returns whether lines end as they did on old Macs: none has a line feed, and more follows a carriage return.
    pub(crate) fn has_only_carriage_returns(&self) -> bool {
        let text = self.head.trim_ascii_end();
        memchr::memchr(b'\n', self.head).is_none() && memchr::memchr(b'\r', text).is_some()
    }

    /// Text has no zero bytes and few control characters.
    pub(crate) fn is_text(&self) -> bool {
        !self
            .head
            .iter()
            .any(|&byte| byte == 0 || (byte < b' ' && !byte.is_ascii_whitespace() && byte != 0x0b))
    }

    /// A few words on what this is, if its beginning shows that it is not a table.
    pub(crate) fn known_by_its_beginning(&self) -> Option<&'static str> {
        const KNOWN: &[(&[u8], &str)] = &[
            (b"PK\x03\x04", "a zip archive; unpack it first"),
            (b"7z\xbc\xaf\x27\x1c", "a 7z archive; unpack it first"),
            (b"Rar!\x1a\x07", "a RAR archive; unpack it first"),
            (b"LZIP", "lzip data; decompress it first with lzip -d"),
            (b"\x1f\x9d", "data of compress (.Z); decompress it first with gzip -d"),
            (b"\x89LZO\0", "lzop data; decompress it first with lzop -d"),
            (b"\x04\x22\x4d\x18", "lz4 data; decompress it first with lz4 -d"),
            (b"\x02\x21\x4c\x18", "lz4 data; decompress it first with lz4 -d"),
            (b"\xff\x06\0\0sNaPpY", "snappy data; decompress it first"),
            (b"\x7fELF", "a program"),
            (b"SQLite format 3\0", "an SQLite database"),
            (b"\xff\xfe", "UTF-16 text; convert it to UTF-8 first"),
            (b"\xfe\xff", "UTF-16 text; convert it to UTF-8 first"),
            (b"<!DOCTYPE", "a web page"),
            (b"<html", "a web page"),
            (b"% time ", "the summary of strace -c; record with strace -f -ttt -y instead"),
            (b"PERFILE2", "a recording of perf; print it with perf script"),
            (b"\x17\x08Dtracing", "a recording of trace-cmd; print it with trace-cmd report"),
            (b"\x93NUMPY", "a NumPy array; give its columns to Trace.from_arrays in Python"),
            (b"{\"", "JSON; make a table of it, such as by jq -r '[.op,.offset,.size]|@csv'"),
            (b"[{\"", "JSON; make a table of it, such as by jq -r '.[]|[.op,.offset,.size]|@csv'"),
            (b"version https://git-lfs", "a pointer to a file that Git LFS has not fetched"),
        ];
        if self.head.get(257..262) == Some(b"ustar") {
            return Some("a tar archive; unpack it first");
        }
        KNOWN.iter().find(|(magic, _)| self.head.starts_with(magic)).map(|(_, what)| *what)
    }

    /// The same of anything, for a message that no format fits.
    pub(crate) fn looks_like(&self) -> String {
        if let Some(known) = self.known_by_its_beginning() {
            return known.to_owned();
        }
        if !self.is_text() {
            return "binary data".to_owned();
        }
        if self.has_only_carriage_returns() {
            return "text whose lines end in carriage returns alone; convert them to line feeds"
                .to_owned();
        }
        let end = memchr::memchr(b'\n', self.head).unwrap_or(self.head.len());
        format!("text whose first line is {}", quoted(&self.head[..end]))
    }
}

/// What some editors put before UTF-8 text.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A piece of a trace as a message can show it: quoted, escaped and not longer than a line of a
/// terminal.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    const SHOWN_CHARACTERS: usize = 60;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * SHOWN_CHARACTERS)]);
    let text = text.trim_end();
    let mut shown: String = text.chars().take(SHOWN_CHARACTERS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("{shown:?}")
}
