//! Key and value pairs that describe a trace, as comments of text formats.

/// Appends `key: value` and a line end; a line end inside becomes a blank.
pub(crate) fn write((key, value): &(String, String), text: &mut Vec<u8>) {
    let line = format!("{key}: {value}").replace(['\n', '\r'], " ");
    text.extend_from_slice(line.as_bytes());
    text.push(b'\n');
}

/// The pair of such a line, given without its end.
pub(crate) fn read(line: &[u8]) -> Option<(String, String)> {
    let text = String::from_utf8_lossy(line);
    let (key, value) = text.split_once(": ")?;
    Some((key.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_one_line_and_reads_back() {
        let mut text = Vec::new();
        write(&("made by".to_owned(), "clockhand: a\nb".to_owned()), &mut text);
        assert_eq!(text, b"made by: clockhand: a b\n");
        let label = read(text.trim_ascii_end()).unwrap();
        assert_eq!(label, ("made by".to_owned(), "clockhand: a b".to_owned()));
        assert_eq!(read(b"no label"), None);
    }
}
