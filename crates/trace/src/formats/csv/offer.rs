//! The notation for a table that no format fits, filled in as far as its header and its fields allow.

use super::fields::{Fields, Separator};
use super::notation::{Meaning, meaning_for_object, usual_meaning};
use crate::decode::columns::Role;
use crate::decode::scan;
use crate::source::sample::Sample;

/// Lines that are looked at.
const LINES: usize = 50;

/// What to write after `--trace-format` to read a table, with `COLUMN` where only its user knows; none if the sample is
/// not a table.
pub(crate) fn offer(sample: &Sample) -> Option<String> {
    if !sample.is_text() || sample.known_by_its_beginning().is_some() {
        return None;
    }
    let (places, lines): (Vec<_>, Vec<_>) = (0..)
        .zip(sample.lines())
        .filter(|(_, line)| !scan::trimmed(line).is_empty() && !line.starts_with(b"#"))
        .take(LINES)
        .unzip();
    // Of marks the one that makes most fields: a comma may also stand within numbers.
    let mut fitting: Vec<_> = [b',', b';', b'\t', b'|']
        .map(Separator::Byte)
        .into_iter()
        .filter_map(|separator| Some((separator, rows(&lines, separator)?)))
        .collect();
    fitting.sort_by_key(|(_, rows)| std::cmp::Reverse(rows.last().map_or(0, Vec::len)));
    let by_blanks = || Some((Separator::Blanks, rows(&lines, Separator::Blanks)?));
    let (separator, mut rows) = fitting.into_iter().next().or_else(by_blanks)?;
    let before = lines_before(&rows);
    rows.drain(..before);
    let skip = if before > 0 { format!("skip={},", places[before]) } else { String::new() };
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
    Some(format!("csv:sep={separator},{skip}header={header},{}", columns.join(",")))
}

/// Lines in front of the table, which have fewer fields than its own.
fn lines_before(rows: &[Vec<Vec<u8>>]) -> usize {
    let width = rows.last().map_or(0, Vec::len);
    rows.iter().take_while(|row| row.len() < width).count()
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

fn part(key: &str, value: impl std::fmt::Display) -> String {
    format!("{key}={value}")
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
    if has(&["ttl", "lifetime", "expir"]) {
        return Some(("ttl", format!("{quoted}:{}", unit.unwrap_or("s"))));
    }
    if unit.is_some() || has(&["time", "when", "stamp", "arrival", "unix"]) {
        let unit = match unit {
            Some("sec" | "seconds") => "s",
            Some(unit) => unit,
            None => "UNIT",
        };
        return Some(("time", format!("{quoted}:{unit}")));
    }
    if has(&["nsect", "nblock", "sectors", "blocks", "nlb"]) || lower == "count" {
        return Some(("size", format!("{quoted}*512")));
    }
    if has(&["lba", "sector", "block", "lbn"]) {
        return Some(("address", format!("{quoted}*512")));
    }
    if has(&["offset", "addr", "pos"]) {
        return Some(("address", quoted));
    }
    if (has(&["size", "len", "bytes"])) && !has(&["key"]) {
        return Some(("size", quoted));
    }
    if matches!(&*lower, "key" | "obj" | "object" | "id")
        || has(&["obj_id", "object_id", "url", "hash"])
    {
        return Some(("object", quoted));
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
        if let Some((key, mut value)) = key_of(&name)
            && !found.iter().any(|(other, ..)| *other == key)
        {
            if let Some(start) = value.strip_suffix("UNIT") {
                value = format!("{start}{}", unit_of(body, index));
            }
            found.push((key, value, index));
        }
    }
    let has = |key: &str| found.iter().any(|(other, ..)| *other == key);
    let is_of_objects = has("object") && !has("address");
    let mut parts = Vec::new();
    for key in ["op", "address", "object", "size", "time", "stream", "ttl"] {
        let is_wanted = match key {
            "address" => !is_of_objects,
            "object" => is_of_objects,
            "ttl" => is_of_objects && has("time"),
            _ => true,
        };
        match found.iter().find(|(other, ..)| *other == key).filter(|_| is_wanted) {
            Some((_, value, index)) if key == "op" => {
                parts.push(part(key, value));
                parts.extend(words(body, *index, is_of_objects));
            }
            Some((_, value, _)) => parts.push(part(key, value)),
            // The requests of a table of objects may all be reads.
            None if key == "op" && is_of_objects => {}
            None if key == "op" || key == "address" && is_wanted => parts.push(part(key, "COLUMN")),
            None => {}
        }
    }
    parts
}

/// Without a header only operations and times show.
fn by_content(body: &[Vec<Vec<u8>>]) -> Vec<String> {
    let width = body.iter().map(Vec::len).min().unwrap_or(0);
    let find = |means: &dyn Fn(&[u8]) -> bool| {
        (0..width).find(|&index| body.iter().all(|row| means(&row[index])))
    };
    let is_request = |word: &[u8]| matches!(usual_meaning(word), Some(Meaning::Request(_)));
    let is_of_object = |word: &[u8]| meaning_for_object(word).is_some();
    let op = find(&is_request);
    let op_of_objects = if op.is_none() { find(&is_of_object) } else { None };
    let mut parts = vec![match op.or(op_of_objects) {
        Some(index) => part("op", index + 1),
        None => part("op", "COLUMN"),
    }];
    let place = if op_of_objects.is_some() { "object" } else { "address" };
    parts.push(part(place, "COLUMN"));
    parts.push(part("size", "COLUMN"));
    if let Some(index) = (0..width).find(|&index| unit_of(body, index) != "UNIT") {
        parts.push(part("time", format_args!("{}:{}", index + 1, unit_of(body, index))));
    }
    parts
}

/// The unit of a column of times, if all are dates of the years 2000 to 2050 in it; else the word `UNIT`.
fn unit_of(body: &[Vec<Vec<u8>>], index: usize) -> &'static str {
    const YEARS_S: std::ops::Range<f64> = 946_684_800.0..2_524_608_000.0;
    /// From 1601 to 1970, as Windows counts.
    const BEFORE_1970_S: f64 = 11_644_473_600.0;
    let times: Option<Vec<f64>> =
        body.iter().map(|row| std::str::from_utf8(row.get(index)?).ok()?.parse().ok()).collect();
    let fits = |per_s: f64, before_s: f64| {
        let mut times = times.iter().flatten().map(|time| time / per_s - before_s);
        times.all(|time_s| YEARS_S.contains(&time_s))
    };
    let units = [("s", 1.0), ("ms", 1e3), ("us", 1e6), ("ns", 1e9)];
    match units.into_iter().find(|&(_, per_s)| fits(per_s, 0.0)) {
        _ if times.as_ref().is_none_or(Vec::is_empty) => "UNIT",
        Some((unit, _)) => unit,
        None if fits(1e7, BEFORE_1970_S) => "100ns",
        None => "UNIT",
    }
}

/// The user must explain words of a column of operations whose meaning cannot be known.
fn words(body: &[Vec<Vec<u8>>], index: usize, is_of_objects: bool) -> Option<String> {
    let is_known = |word: &[u8]| {
        usual_meaning(word).is_some() || is_of_objects && meaning_for_object(word).is_some()
    };
    let unknown = body.iter().filter_map(|row| row.get(index)).find(|word| !is_known(word))?;
    let is_digit = matches!(unknown.as_slice(), b"0" | b"1");
    let text = if is_digit { "read=0,write=1" } else { "read=WORDS,write=WORDS" };
    Some(text.to_owned())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offer_is_filled_in_as_far_as_the_table_allows() {
        for (head, row, expected) in [
            ("Zeit;Art;Block\n", "0,5;R;12", "sep=;,header=yes,op=COLUMN,address=Block*512"),
            (
                "Timestamp;Hostname;DiskNumber;Type;Offset;Size\n",
                "128166372003061629;usr;0;Read;4096;512",
                "sep=;,header=yes,op=Type,address=Offset,size=Size,time=Timestamp:100ns,stream=Hostname",
            ),
            (
                "# by hand\nAttaching 1 probe...\n",
                "1.5 R 8 16",
                "sep=blank,skip=2,header=no,op=2,address=COLUMN,size=COLUMN",
            ),
            ("", "1,k7,20,900,get,0", "sep=comma,header=no,op=5,object=COLUMN,size=COLUMN"),
            (
                "op_time,key,key_size,op,size,ttl\n",
                "1700000000,5,20,GET_LEASE,900,0",
                "sep=comma,header=yes,op=op,object=key,size=size,time=op_time:s,ttl=ttl:s",
            ),
            (
                "time|op|lba|count\n",
                "1|0|5|8",
                "sep=|,header=yes,op=op,read=0,write=1,address=lba*512,size=count*512,time=time:UNIT",
            ),
        ] {
            let text = format!("{head}{}", format!("{row}\n").repeat(8));
            let offered = offer(&Sample::new(text.as_bytes(), true));
            assert_eq!(offered.as_deref(), Some(&*format!("csv:{expected}")), "{text}");
        }
    }
}
