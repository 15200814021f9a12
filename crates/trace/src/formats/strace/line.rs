//! One line of a log: who, when, and which call with which arguments and result.

use crate::decode::fields::BlankFields;
use crate::decode::scan;

/// What a line tells.
pub(super) enum Content<'a> {
    /// A whole call.
    Call(Call<'a>),
    /// The beginning of a call that another process interrupts.
    Unfinished(&'a [u8]),
    /// The rest of such a call.
    Resumed(&'a [u8]),
    /// The thread is gone.
    Ended,
    /// A signal, or a message of strace itself.
    Remark,
}

/// One line.
pub(super) struct Entry<'a> {
    /// The thread; 0 where the log has one process and does not name it.
    pub(super) thread: u32,
    pub(super) when: When,
    pub(super) content: Content<'a>,
}

/// When a line was written, as it says itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum When {
    Unknown,
    /// Since 1970, or since any other beginning (`-ttt`).
    At {
        time_ns: u64,
    },
    /// Since midnight (`-t`, `-tt`).
    OfDay {
        time_ns: u64,
    },
    /// Since the line before (`-r`).
    SinceLast {
        time_ns: u64,
    },
}

/// A call as it is written.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) name: &'a [u8],
    /// What stands between the parentheses.
    pub(super) arguments: &'a [u8],
    /// What stands behind the equals sign.
    pub(super) result: &'a [u8],
}

const UNFINISHED: &[u8] = b"<unfinished ...>";
const SECOND_NS: u64 = 1_000_000_000;

impl<'a> Entry<'a> {
    /// Takes a line apart; the reason if it is none of a log.
    pub(super) fn read(line: &'a [u8]) -> Result<Self, &'static str> {
        if line.starts_with(b"strace: ") {
            return Ok(Entry { thread: 0, when: When::Unknown, content: Content::Remark });
        }
        let (thread, rest) = thread(line)?;
        let (when, rest) = when(rest)?;
        Ok(Entry { thread, when, content: content(without_brackets(rest))? })
    }
}

/// Linux numbers no process higher; a higher number in front of a line is a time in whole seconds.
const HIGHEST_PROCESS: u64 = 1 << 22;

/// `[pid  17] rest`, `17 rest`, `17<server> rest` (`-Y`), or no number; of the rest, one blank at most is taken.
fn thread(line: &[u8]) -> Result<(u32, &[u8]), &'static str> {
    let number = |number: u64| u32::try_from(number).map_err(|_| "has a process above 4294967295");
    if let Some(rest) = line.strip_prefix(b"[pid") {
        let bracketed = scan::leading_decimal(scan::after_blanks(rest));
        let bracketed = bracketed.map(|(process, rest)| (process, without_name(rest)));
        let Some((process, [b']', rest @ ..])) = bracketed else {
            return Err("has no process number behind [pid");
        };
        return Ok((number(process)?, rest.strip_prefix(b" ").unwrap_or(rest)));
    }
    match scan::leading_decimal(line).map(|(process, rest)| (process, without_name(rest))) {
        Some((process, [b' ' | b'\t', rest @ ..])) => {
            let is_before_number = scan::after_blanks(rest).first().is_some_and(u8::is_ascii_digit);
            if process > HIGHEST_PROCESS && !is_before_number {
                return Ok((0, line));
            }
            Ok((number(process)?, rest))
        }
        _ => Ok((0, line)),
    }
}

/// The text behind the name of a process, if there is one: `<server> 1.5 read(…`.
fn without_name(text: &[u8]) -> &[u8] {
    match text.strip_prefix(b"<") {
        Some(name) => {
            let end = name.iter().position(|&byte| byte == b'>');
            end.map_or(text, |end| &name[end + 1..])
        }
        None => text,
    }
}

/// The text behind what `-i` and `-n` put in front of a call: `[00007f3c4e5d6a01] `.
fn without_brackets(text: &[u8]) -> &[u8] {
    let end =
        text.strip_prefix(b"[").and_then(|inside| inside.iter().position(|&byte| byte == b']'));
    match end {
        Some(end)
            if text[1..=end]
                .iter()
                .all(|byte| byte.is_ascii_hexdigit() || b" ?".contains(byte)) =>
        {
            scan::after_blanks(&text[end + 2..])
        }
        _ => text,
    }
}

/// `1795326088.184481 rest`, `12:00:00.1 rest`, `     0.000123 rest`, or no time.
fn when(text: &[u8]) -> Result<(When, &[u8]), &'static str> {
    /// `-r` fills seconds up to six places, and no call takes longer.
    const LONGEST_PAUSE_NS: u64 = 100_000 * SECOND_NS;
    let behind_blanks = scan::after_blanks(text);
    let blanks = text.len() - behind_blanks.len();
    let text = behind_blanks;
    if !text.first().is_some_and(u8::is_ascii_digit) {
        return Ok((When::Unknown, text));
    }
    let field = BlankFields::new(text).next().unwrap_or_default();
    let mut rest = scan::after_blanks(&text[field.len()..]);
    let when = match of_day_ns(field) {
        Some(time_ns) => When::OfDay { time_ns },
        None => {
            let time_ns = scan::time_ns(field, SECOND_NS).filter(|&time_ns| time_ns < u64::MAX);
            let time_ns = time_ns.ok_or(
                "has no time that can be read in front of the call; record with strace -f -ttt -y",
            )?;
            let is_filled = blanks > 1 && time_ns < LONGEST_PAUSE_NS;
            if is_filled { When::SinceLast { time_ns } } else { When::At { time_ns } }
        }
    };
    // With -r beside another time, the pause stands in parentheses.
    if let Some(pause) = rest.strip_prefix(b"(+")
        && let Some(end) = pause.iter().position(|&byte| byte == b')')
    {
        rest = scan::after_blanks(&pause[end + 1..]);
    }
    Ok((when, rest))
}

/// `12:00:00.100000` in nanoseconds.
fn of_day_ns(field: &[u8]) -> Option<u64> {
    let (hours, rest) = scan::decimal_before(field, b':')?;
    let (minutes, seconds) = scan::decimal_before(rest, b':')?;
    let seconds_ns = scan::time_ns(seconds, SECOND_NS)?;
    let is_of_clock = hours < 24 && minutes < 60 && seconds_ns <= 60 * SECOND_NS;
    is_of_clock.then(|| (hours * 3600 + minutes * 60) * SECOND_NS + seconds_ns)
}

fn content(text: &[u8]) -> Result<Content<'_>, &'static str> {
    if text.starts_with(b"+++ ") {
        return Ok(Content::Ended);
    }
    if text.starts_with(b"--- ") {
        return Ok(Content::Remark);
    }
    if let Some(rest) = text.strip_prefix(b"<... ") {
        let name = rest.iter().take_while(|&&byte| is_name(byte)).count();
        let rest = rest[name..].strip_prefix(b" resumed>").ok_or("has no call that is resumed")?;
        return Ok(Content::Resumed(rest));
    }
    if let Some(begun) = text.strip_suffix(UNFINISHED) {
        return Ok(Content::Unfinished(begun));
    }
    Call::read(text).map(Content::Call)
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

impl<'a> Call<'a> {
    /// `name(arguments) = result`.
    pub(super) fn read(text: &'a [u8]) -> Result<Self, &'static str> {
        let length = text.iter().take_while(|&&byte| is_name(byte)).count();
        let (name, rest) = text.split_at(length);
        let (false, Some(rest)) = (name.is_empty(), rest.strip_prefix(b"(")) else {
            return Err("has no call");
        };
        let end = end_of_group(rest).ok_or("has no end of the arguments")?;
        let behind = scan::after_blanks(&rest[end + 1..]);
        let result = behind.strip_prefix(b"=").map(scan::trimmed).unwrap_or_default();
        if result.is_empty() {
            return Err("has no result");
        }
        Ok(Call { name, arguments: &rest[..end], result })
    }

    /// The arguments, one after the other.
    pub(super) fn arguments(&self) -> Arguments<'a> {
        Arguments { rest: Some(self.arguments) }
    }

    /// The number that the call returned; none if it failed or did not return.
    pub(super) fn returned(&self) -> Option<u64> {
        let field = self.result.split(|byte| b" <\t".contains(byte)).next()?;
        scan::decimal_or_hex(field)
    }

    /// The file behind the descriptor that the call returned.
    pub(super) fn returned_file(&self) -> Option<FileNote> {
        FileNote::behind_number(self.result)
    }
}

/// Arguments between commas.
pub(super) struct Arguments<'a> {
    rest: Option<&'a [u8]>,
}

impl<'a> Iterator for Arguments<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        let mut place = 0;
        while place < rest.len() && rest[place] != b',' {
            place = after_item(rest, place)?;
        }
        self.rest = rest.get(place + 1..);
        Some(scan::trimmed(&rest[..place]))
    }
}

/// The place of the parenthesis that closes the group in front of `text`.
fn end_of_group(text: &[u8]) -> Option<usize> {
    let mut place = 0;
    while place < text.len() {
        if matches!(text[place], b')' | b']' | b'}') {
            return Some(place);
        }
        place = after_item(text, place)?;
    }
    None
}

/// The place behind a character, a string, a group in brackets or the name of a file. Groups are few
/// deep, but a damaged log may have anything, so that no call goes down with them.
fn after_item(text: &[u8], place: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut place = place;
    loop {
        match *text.get(place)? {
            b'"' => place = after_string(text, place)?,
            b'<' if opens_a_name(text, place) => place = after_name(text, place)?,
            byte => {
                match byte {
                    b'(' | b'[' | b'{' => depth += 1,
                    b')' | b']' | b'}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                place += 1;
            }
        }
        if depth == 0 {
            return Some(place);
        }
    }
}

/// The place behind the string that begins at `start`.
fn after_string(text: &[u8], start: usize) -> Option<usize> {
    let mut place = start + 1;
    loop {
        match text.get(place)? {
            b'\\' => place += 2,
            b'"' => return Some(place + 1),
            _ => place += 1,
        }
    }
}

/// Returns whether the `<` at `place` is that of `3</etc/passwd>` and not that of `1<<20`.
fn opens_a_name(text: &[u8], place: usize) -> bool {
    let before = place.checked_sub(1).map(|before| text[before]);
    let is_behind_number = before.is_some_and(|byte| byte.is_ascii_digit() || byte == b'D');
    is_behind_number && text.get(place + 1) != Some(&b'<')
}

/// The place behind the name that begins at `start`; what strace knows about devices and sockets may
/// hold brackets of its own, and arrows.
fn after_name(text: &[u8], start: usize) -> Option<usize> {
    let mut depth = 0;
    for place in start..text.len() {
        match text[place] {
            b'<' => depth += 1,
            b'>' if text[place - 1] != b'-' => depth -= 1,
            _ => continue,
        }
        if depth == 0 {
            return Some(place + 1);
        }
    }
    None
}

/// What strace -y notes behind a descriptor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct FileNote {
    pub(super) path: Vec<u8>,
    /// True if no name leads to the file any more.
    pub(super) is_deleted: bool,
}

impl FileNote {
    /// The note of `3</etc/passwd>`.
    pub(super) fn behind_number(field: &[u8]) -> Option<FileNote> {
        // Behind a blank stands how long the call took (`-T`).
        let start = field.iter().position(|&byte| byte == b'<')?;
        if !opens_a_name(field, start) {
            return None;
        }
        let end = after_name(field, start)?;
        let name = &field[start + 1..end - 1];
        let within = name.strip_suffix(b" (deleted)");
        let is_deleted = within.is_some() || field[end..].starts_with(b"(deleted)");
        Some(FileNote { path: unescaped(within.unwrap_or(name)), is_deleted })
    }
}

/// A descriptor as an argument: its number, and what is behind it.
pub(super) struct Descriptor {
    /// None for the working directory (`AT_FDCWD`).
    pub(super) number: Option<u32>,
    pub(super) file: Option<FileNote>,
}

impl Descriptor {
    pub(super) fn read(field: &[u8]) -> Option<Descriptor> {
        let file = FileNote::behind_number(field);
        if field.starts_with(b"AT_FDCWD") {
            return Some(Descriptor { number: None, file });
        }
        let (number, _) = scan::leading_decimal(field)?;
        Some(Descriptor { number: Some(u32::try_from(number).ok()?), file })
    }
}

/// The bytes of an argument such as `"a\303\244"`; none if it is not a string or was cut.
pub(super) fn string(field: &[u8]) -> Option<Vec<u8>> {
    let text = field.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    Some(unescaped(text))
}

/// Takes back what strace does to bytes that are not to be printed.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, after @ ..] = rest {
        rest = after;
        let ([escape, behind @ ..], b'\\') = (after, *first) else {
            bytes.push(*first);
            continue;
        };
        rest = behind;
        match escape {
            b'0'..=b'7' => {
                let digits = after.iter().take(3).take_while(|byte| (b'0'..=b'7').contains(byte));
                let value =
                    digits.clone().fold(0_u32, |value, &digit| value * 8 + u32::from(digit - b'0'));
                rest = &after[digits.count()..];
                bytes.push(value as u8);
            }
            b'x' => {
                let digits = &behind[..behind.len().min(2)];
                bytes.push(scan::hex(digits).unwrap_or_default() as u8);
                rest = &behind[digits.len()..];
            }
            b'n' => bytes.push(b'\n'),
            b't' => bytes.push(b'\t'),
            b'r' => bytes.push(b'\r'),
            b'v' => bytes.push(0x0b),
            b'f' => bytes.push(0x0c),
            &other => bytes.push(other),
        }
    }
    bytes
}

#[cfg(test)]
mod tests;
