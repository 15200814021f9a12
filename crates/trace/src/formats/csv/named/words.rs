//! The fields of a line, and the numbers in them.

use memchr::memchr2;

use crate::decode::output::Fault;
use crate::decode::scan;

/// The fields of a line, one after the other.
pub(super) struct Walk<'a> {
    pub(super) rest: &'a [u8],
    pub(super) separator: u8,
    pub(super) has_ended: bool,
}

impl<'a> Walk<'a> {
    #[inline(always)]
    pub(super) fn skip_field(&mut self) -> Option<()> {
        self.field().map(|_| ())
    }

    /// A field as it stands; none if it has quotes or blanks around it.
    #[inline(always)]
    pub(super) fn field(&mut self) -> Option<&'a [u8]> {
        if self.has_ended {
            return None;
        }
        let mut end = 0;
        // Most fields are shorter than a search with vectors takes to begin.
        while end < self.rest.len().min(SHORT_FIELD_BYTES)
            && self.rest[end] != self.separator
            && self.rest[end] != b'"'
            && self.rest[end] != b'\t'
        {
            end += 1;
        }
        if end == SHORT_FIELD_BYTES {
            end +=
                memchr2(self.separator, b'"', &self.rest[end..]).unwrap_or(self.rest.len() - end);
        }
        let (field, behind) = self.rest.split_at(end);
        if matches!(field, [b' ', ..] | [.., b' ']) {
            return None;
        }
        self.pass(behind)?;
        Some(field)
    }

    #[inline(always)]
    pub(super) fn decimal(&mut self) -> Option<u64> {
        let (number, behind) = scan::leading_decimal(self.rest)?;
        self.pass(behind)?;
        Some(number)
    }

    #[inline(always)]
    pub(super) fn time_ns(&mut self, unit_ns: u64) -> Option<u64> {
        let (time_ns, behind) = scan::leading_time_ns(self.rest, unit_ns)?;
        self.pass(behind)?;
        Some(time_ns)
    }

    /// Goes on behind the separator that must stand here, or the end.
    #[inline(always)]
    fn pass(&mut self, behind: &'a [u8]) -> Option<()> {
        match behind {
            [] => (self.rest, self.has_ended) = (behind, true),
            [byte, behind @ ..] if *byte == self.separator => {
                self.rest =
                    if self.separator == b' ' { scan::after_blanks(behind) } else { behind };
            }
            _ => return None,
        }
        Some(())
    }
}

const SHORT_FIELD_BYTES: usize = 24;

/// Returns whether a line is blank, or begins with `#`.
pub(super) fn is_comment(line: &[u8]) -> bool {
    matches!(scan::trimmed(line), [] | [b'#', ..])
}

/// The number of an object: its key, or a hash of 64 bits of a key that is none.
#[inline]
pub(super) fn object_number(key: &[u8]) -> u64 {
    scan::decimal(key).unwrap_or_else(|| hashed(0, key))
}

/// A number made of a number and bytes: FNV-1a, with its bits mixed at the end.
pub(super) fn hashed(number: u64, bytes: &[u8]) -> u64 {
    let start = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0xcbf2_9ce4_8422_2325;
    let hash = bytes
        .iter()
        .fold(start, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let mixed = (hash ^ hash >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ mixed >> 32
}

/// Without a number, and with one of 0 or less, there is no lifetime.
pub(super) fn lifetime_ns(field: &[u8], unit_ns: u64, column: usize) -> Result<u64, Fault> {
    match scan::time_ns(field, unit_ns) {
        _ if field.is_empty() => Ok(0),
        Some(scan::UNREADABLE_TIME_NS) => Ok(0),
        Some(lifetime_ns) => Ok(lifetime_ns),
        None => Err(no_number("lifetime", column)),
    }
}

/// A whole number times a factor.
pub(super) fn number(field: &[u8], factor: u64, is_hexadecimal: bool) -> Option<u64> {
    let number = match is_hexadecimal {
        true => scan::hex(scan::without_hex_prefix(field).unwrap_or(field)),
        false => scan::decimal_or_hex(field).or_else(|| scan::whole_number(field)),
    };
    number?.checked_mul(factor)
}

#[cold]
pub(super) fn no_number(what: &str, column: usize) -> Fault {
    format!("has no {what} that is a number of 64 bits in field {}", column + 1).into()
}
