//! What is wrong with a TOML file, in the words of its author: keys, texts and whole numbers.

/// More dots than a key in any file of ours has. A reader's work on a key grows with the square of its dots.
const MOST_DOTS: usize = 100;

/// The byte offset of a key with far too many dots in a TOML file; a reader would take minutes for it.
pub fn deep_toml_key(text: &str) -> Option<usize> {
    let (mut from, mut dots) = (0, 0);
    for (place, byte) in text.bytes().enumerate() {
        match byte {
            b'.' => dots += 1,
            b'"' | b'\'' | b'_' | b'-' | b' ' | b'\t' => {}
            _ if byte.is_ascii_alphanumeric() => {}
            _ => (from, dots) = (place + 1, 0),
        }
        if dots > MOST_DOTS {
            return Some(from);
        }
    }
    None
}

/// The message of a TOML reader about a key or a value in plain words, without its remedy; other messages as they are, in
/// one line.
pub fn plain_toml_message(message: &str) -> String {
    let message = message.trim().replace('\n', " ");
    let plain = about_key(&message).or_else(|| about_value(&message));
    plain.unwrap_or(message)
}

/// About a key that there is not, or that is missing, and about a word that is none of some.
fn about_key(message: &str) -> Option<String> {
    if let Some(key) = message.strip_prefix("missing field ") {
        return Some(format!("the key {} is missing", bare(key)));
    }
    for (start, end) in
        [("unknown field ", "there is no key "), ("unknown variant ", "there is no word ")]
    {
        let Some(rest) = message.strip_prefix(start) else { continue };
        let (found, known) = rest.split_once(", ")?;
        let known =
            known.strip_prefix("expected one of ").or_else(|| known.strip_prefix("expected "));
        let known = known.map_or(String::new(), |known| format!("; there are {}", bare(known)));
        return Some(format!("{end}{}{known}", bare(found)));
    }
    None
}

/// About a value of another kind, or out of its range.
fn about_value(message: &str) -> Option<String> {
    let rest = message
        .strip_prefix("invalid type: ")
        .or_else(|| message.strip_prefix("invalid value: "))?;
    let (found, expected) = rest.split_once(", expected ")?;
    let found = match found.split_once(' ') {
        Some(("string", text)) => format!("the text {text}"),
        Some(("integer" | "floating", number)) => {
            format!("the number {}", bare(number.trim_start_matches("point ")))
        }
        Some(("boolean", word)) => bare(word),
        _ => match found {
            "map" => "a table".to_owned(),
            "sequence" => "a list".to_owned(),
            other => bare(other),
        },
    };
    let expected = match expected {
        "a string" => "a text",
        "a sequence" => "a list",
        "a map" => "a table",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number from 0",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        other => other.trim_start_matches("struct "),
    };
    Some(format!("{found} stands where {expected} belongs"))
}

/// Without the marks around names.
fn bare(text: &str) -> String {
    text.replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::{MOST_DOTS, deep_toml_key, plain_toml_message};

    #[test]
    fn a_key_of_thousands_of_parts_is_found_without_reading_it() {
        let deep = |dots| format!("a = 1\n{}\nb = 2\n", "c.".repeat(dots) + "d = 3");
        assert_eq!(deep_toml_key(&deep(MOST_DOTS)), None);
        assert_eq!(deep_toml_key(&deep(20_000)), Some("a = 1\n".len()));
    }

    #[test]
    fn a_readers_words_become_those_of_the_file() {
        for (message, plain) in [
            ("missing field `read`", "the key read is missing"),
            (
                "unknown field `foo`, expected one of `a`, `b`",
                "there is no key foo; there are a, b",
            ),
            ("unknown field `foo`, expected `a` or `b`", "there is no key foo; there are a or b"),
            ("unknown field `foo`, there are no fields", "there is no key foo"),
            (
                "unknown variant `per-bit`, expected `a` or `b`",
                "there is no word per-bit; there are a or b",
            ),
            (
                "invalid type: string \"abc\", expected u32",
                "the text \"abc\" stands where a whole number from 0 belongs",
            ),
            (
                "invalid value: integer `-1`, expected u64",
                "the number -1 stands where a whole number from 0 belongs",
            ),
            (
                "invalid type: floating point `1.5`, expected u64",
                "the number 1.5 stands where a whole number from 0 belongs",
            ),
            ("invalid type: map, expected a string", "a table stands where a text belongs"),
            ("key with no value,\nexpected `=`", "key with no value, expected `=`"),
        ] {
            assert_eq!(plain_toml_message(message), plain);
        }
    }
}
