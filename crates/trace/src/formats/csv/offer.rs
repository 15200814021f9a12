//! The notation for a table that no format fits, filled in as far as its header and its fields allow.

use super::fields::{Fields, Separator};
use super::notation::{Meaning, usual_meaning};
use crate::columns::Role;
use crate::sample::Sample;
use crate::scan;

/// Lines that are looked at.
const LINES: usize = 50;

/// What to write after `--trace-format` to read a table, with `COLUMN` where only its user knows; none if the sample is
/// not a table.
pub(crate) fn offer(sample: &Sample) -> Option<String> {
    if !sample.is_text() || sample.known_by_its_beginning().is_some() {
        return None;
    }
    let lines: Vec<_> = sample
        .lines()
        .filter(|line| !scan::trimmed(line).is_empty() && !line.starts_with(b"#"))
        .take(LINES)
        .collect();
    let (separator, rows) = [b',', b';', b'\t', b'|']
        .map(Separator::Byte)
        .into_iter()
        .chain([Separator::Blanks])
        .find_map(|separator| Some((separator, rows(&lines, separator)?)))?;
    let (first, others) = rows.split_first()?;
    let body = if others.is_empty() { std::slice::from_ref(first) } else { others };
    let numbers = body.iter().flatten().filter(|field| is_number(field)).count();
    if numbers == 0 {
        return None;
    }
    let has_header = !others.is_empty() && !first.iter().any(|field| is_number(field));
    let columns = if has_header { by_names(first, body) } else { by_content(body) };
    let separator = match separator {
        Separator::Byte(b',') => "comma".to_owned(),
        Separator::Byte(b'\t') => "tab".to_owned(),
        Separator::Byte(byte) => char::from(byte).to_string(),
        Separator::Blanks => "blank".to_owned(),
    };
    let header = if has_header { "yes" } else { "no" };
    Some(format!("csv:sep={separator},header={header},{}", columns.join(",")))
}

/// The fields of all lines if there are as many in nearly every line, and two at least.
fn rows(lines: &[&[u8]], separator: Separator) -> Option<Vec<Vec<Vec<u8>>>> {
    let mut fields = Fields::between(separator);
    let rows: Vec<Vec<Vec<u8>>> = lines
        .iter()
        .map(|line| {
            fields.split(line);
            fields.iter().map(|field| scan::trimmed(field).to_vec()).collect()
        })
        .collect();
    let width = rows.last()?.len();
    let fitting = rows.iter().filter(|row| row.len() == width).count();
    (width >= 2 && 4 * fitting >= 3 * rows.len()).then_some(rows)
}

fn is_number(field: &[u8]) -> bool {
    scan::decimal_or_hex(field).is_some() || scan::time_ns(field, 1_000_000).is_some()
}

/// What a column of a header seems to be.
fn key_of(name: &str) -> Option<(&'static str, String)> {
    let quoted = quoted(name);
    let lower = name.to_ascii_lowercase();
    let unit = ["ns", "us", "ms", "s", "sec", "seconds"].into_iter().find(|unit| {
        lower.strip_suffix(unit).is_some_and(|rest| rest.ends_with(['_', '(', ' ', '[', '.']))
            || lower.ends_with(&format!("({unit})"))
            || lower.ends_with(&format!("[{unit}]"))
    });
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    match Role::of(name) {
        Role::Op => return Some(("op", quoted)),
        Role::Address => return Some(("address", quoted)),
        Role::Size => return Some(("size", quoted)),
        Role::Stream => return Some(("stream", quoted)),
        Role::UnitUnknown => return Some(("address", format!("{quoted}*512"))),
        Role::Time { .. } | Role::Class | Role::Other => {}
    }
    if unit.is_some() || has(&["time", "when", "stamp", "arrival"]) {
        let unit = match unit {
            Some("sec" | "seconds") => "s",
            Some(unit) => unit,
            None => "UNIT",
        };
        return Some(("time", format!("{quoted}:{unit}")));
    }
    if has(&["nsect", "nblock", "sectors", "blocks", "count", "nlb"]) {
        return Some(("size", format!("{quoted}*512")));
    }
    if has(&["lba", "sector", "block", "lbn"]) {
        return Some(("address", format!("{quoted}*512")));
    }
    if has(&["offset", "addr", "pos"]) {
        return Some(("address", quoted));
    }
    if has(&["size", "len", "bytes"]) {
        return Some(("size", quoted));
    }
    if has(&["cmd", "type", "rwbs", "opcode", "action", "direction", "rw"]) || lower == "t" {
        return Some(("op", quoted));
    }
    if has(&["dev", "disk", "volume", "vol", "vm", "lun", "stream", "host", "namespace"]) {
        return Some(("stream", quoted));
    }
    None
}

fn by_names(names: &[Vec<u8>], body: &[Vec<Vec<u8>>]) -> Vec<String> {
    let mut found: Vec<(&'static str, String, usize)> = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let name = String::from_utf8_lossy(name);
        if let Some((key, value)) = key_of(&name)
            && !found.iter().any(|(other, ..)| *other == key)
        {
            found.push((key, value, index));
        }
    }
    let mut parts = Vec::new();
    for key in ["op", "address", "size", "time", "stream"] {
        match found.iter().find(|(other, ..)| *other == key) {
            Some((_, value, index)) if key == "op" => {
                parts.push(format!("op={value}"));
                parts.extend(words(body, *index));
            }
            Some((_, value, _)) => parts.push(format!("{key}={value}")),
            None if key == "op" || key == "address" => parts.push(format!("{key}=COLUMN")),
            None => {}
        }
    }
    parts
}

/// Without a header only operations show.
fn by_content(body: &[Vec<Vec<u8>>]) -> Vec<String> {
    let width = body.iter().map(Vec::len).min().unwrap_or(0);
    let is_op = |index: &usize| {
        body.iter().all(|row| matches!(usual_meaning(&row[*index]), Some(Meaning::Request(_))))
    };
    let op = (0..width).find(is_op);
    let op = op.map_or_else(|| "COLUMN".to_owned(), |index| (index + 1).to_string());
    vec![format!("op={op}"), "address=COLUMN".to_owned(), "size=COLUMN".to_owned()]
}

/// The user must explain words of a column of operations whose meaning cannot be known.
fn words(body: &[Vec<Vec<u8>>], index: usize) -> Option<String> {
    let unknown =
        body.iter().filter_map(|row| row.get(index)).find(|word| usual_meaning(word).is_none())?;
    let is_digit = matches!(unknown.as_slice(), b"0" | b"1");
    Some(if is_digit { "read=0,write=1" } else { "read=WORDS,write=WORDS" }.to_owned())
}

fn quoted(name: &str) -> String {
    let is_plain = !name.is_empty()
        && !name.contains([',', '*', ':', '+', '=', '"', '\'', '|'])
        && scan::decimal(name.as_bytes()).is_none();
    match (is_plain, name.contains('"')) {
        (true, _) => name.to_owned(),
        (false, false) => format!("\"{name}\""),
        (false, true) => format!("'{name}'"),
    }
}
