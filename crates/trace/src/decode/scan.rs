//! Numbers and fields in a line of bytes, without allocating and without guessing.

use crate::request::Op;

/// The value of each hexadecimal digit, `NOT_A_DIGIT` for other bytes.
const HEX_VALUES: [u8; 256] = {
    let mut values = [NOT_A_DIGIT; 256];
    let mut digit = 0;
    while digit < 16 {
        values[b"0123456789abcdef"[digit as usize] as usize] = digit;
        values[b"0123456789ABCDEF"[digit as usize] as usize] = digit;
        digit += 1;
    }
    values
};
const NOT_A_DIGIT: u8 = 0xff;

/// Reads 1 to 16 hexadecimal digits at the start of `bytes`: the number and the rest.
#[inline]
pub(crate) fn leading_hex(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0;
    let mut length = 0;
    for &byte in bytes {
        let digit = HEX_VALUES[usize::from(byte)];
        if digit == NOT_A_DIGIT {
            break;
        }
        number = number << 4 | u64::from(digit);
        length += 1;
    }
    (1..=16).contains(&length).then(|| (number, &bytes[length..]))
}

/// Reads decimal digits at the start of `bytes`: the number and the rest; none when it does not fit
/// 64 bits.
#[inline(always)]
pub(crate) fn leading_decimal(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number: u64 = 0;
    let mut rest = bytes;
    // Most have fewer than eight digits, nearly all fewer than sixteen, which always fit.
    if let Some(&chunk) = rest.first_chunk() {
        let (digits, value) = leading_digits(chunk);
        (number, rest) = (value, &rest[digits..]);
        if digits < 8 {
            return (digits > 0).then_some((number, rest));
        }
    }
    if let Some(&chunk) = rest.first_chunk() {
        let (digits, value) = leading_digits(chunk);
        (number, rest) = (number * POWERS_OF_TEN[digits] + value, &rest[digits..]);
        if digits < 8 {
            return Some((number, rest));
        }
    }
    while let Some(&chunk) = rest.first_chunk() {
        let (digits, value) = leading_digits(chunk);
        number = number.checked_mul(POWERS_OF_TEN[digits])?.checked_add(value)?;
        rest = &rest[digits..];
        if digits < 8 {
            return (rest.len() < bytes.len()).then_some((number, rest));
        }
    }
    // Fewer than eight bytes are left, and a multiple of eight digits came before.
    while let [byte @ b'0'..=b'9', after @ ..] = rest {
        number = number.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
        rest = after;
    }
    (rest.len() < bytes.len()).then_some((number, rest))
}

/// Reads decimal digits at the start of `bytes`, and the separator behind them: the number and what follows.
#[inline(always)]
pub(crate) fn decimal_before(bytes: &[u8], separator: u8) -> Option<(u64, &[u8])> {
    let (number, rest) = leading_decimal(bytes)?;
    match rest {
        [byte, behind @ ..] if *byte == separator => Some((number, behind)),
        _ => None,
    }
}

const POWERS_OF_TEN: [u64; 10] =
    [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// The number of leading digits among eight bytes, and their value. No loop: digits are moved behind zeros, and each
/// step joins neighbours to pairs, fours and the number.
#[inline(always)]
fn leading_digits(bytes: [u8; 8]) -> (usize, u64) {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let values = u64::from_le_bytes(bytes) ^ (ONES * b'0' as u64);
    // Adding 0x76 carries a byte above 9 into its highest bit; what it carries into later bytes
    // does not matter.
    let no_digits = (values | values.wrapping_add(ONES * 0x76)) & (ONES * 0x80);
    let digits = no_digits.trailing_zeros() / 8;
    let Some(values) = values.checked_shl(64 - 8 * digits) else { return (0, 0) };
    let pairs = (values.wrapping_mul(10).wrapping_add(values >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100).wrapping_add(pairs >> 16)) & 0x0000_ffff_0000_ffff;
    let number = fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff;
    (digits as usize, number)
}

/// A whole field of decimal digits.
#[inline]
pub(crate) fn decimal(field: &[u8]) -> Option<u64> {
    leading_decimal(field).and_then(|(number, rest)| rest.is_empty().then_some(number))
}

/// A whole field of hexadecimal digits, without `0x`.
#[inline]
pub(crate) fn hex(field: &[u8]) -> Option<u64> {
    leading_hex(field).and_then(|(number, rest)| rest.is_empty().then_some(number))
}

/// A whole field: decimal digits, or hexadecimal digits after `0x`.
#[inline]
pub(crate) fn decimal_or_hex(field: &[u8]) -> Option<u64> {
    match without_hex_prefix(field) {
        Some(digits) => hex(digits),
        None => decimal(field),
    }
}

/// The digits after `0x` or `0X`.
#[inline]
pub(crate) fn without_hex_prefix(bytes: &[u8]) -> Option<&[u8]> {
    match bytes {
        [b'0', b'x' | b'X', digits @ ..] => Some(digits),
        _ => None,
    }
}

/// A field up to a comma or the end, and the rest from the comma on; `None` if it has a quote, or a blank at either end.
#[inline]
pub(crate) fn leading_plain_field(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|&byte| byte == b',' || byte == b'"').unwrap_or(bytes.len());
    let (field, rest) = bytes.split_at(end);
    let is_blank = |byte: Option<&u8>| byte.is_some_and(|&byte| byte == b' ' || byte == b'\t');
    let is_quoted = rest.first() == Some(&b'"');
    let is_plain = !is_quoted && !is_blank(field.first()) && !is_blank(field.last());
    is_plain.then_some((field, rest))
}

/// A time such as `12.000345` in a unit of `unit_ns` nanoseconds, a power of ten, as nanoseconds;
/// digits below one nanosecond are cut.
#[inline]
pub(crate) fn time_ns(field: &[u8], unit_ns: u64) -> Option<u64> {
    plain_time_ns(field, unit_ns).or_else(|| odd_time_ns(field, unit_ns))
}

#[inline]
fn plain_time_ns(field: &[u8], unit_ns: u64) -> Option<u64> {
    let (whole, rest) = leading_decimal(field)?;
    let time_ns = whole.checked_mul(unit_ns)?;
    match rest {
        [] | [b'.'] => Some(time_ns),
        [b'.', digits @ ..] if digits.iter().all(u8::is_ascii_digit) => {
            let kept = &digits[..digits.len().min(unit_ns.ilog10() as usize)];
            let fraction = if kept.is_empty() { 0 } else { decimal(kept)? };
            time_ns.checked_add(fraction * (unit_ns / 10_u64.pow(kept.len() as u32)))
        }
        _ => None,
    }
}

/// A time that stands in its field but cannot be read: the request keeps the time of the one before. No clock comes
/// as far.
pub(crate) const UNREADABLE_TIME_NS: u64 = u64::MAX;

/// A time as few programs write it: with an exponent (`9.1e-05`), or unreadable: below zero, or no number (`nan`, `-`).
#[cold]
pub(crate) fn odd_time_ns(field: &[u8], unit_ns: u64) -> Option<u64> {
    if matches!(field, b"-" | b"nan" | b"NaN" | b"NA" | b"null" | b"None") {
        return Some(UNREADABLE_TIME_NS);
    }
    let is_of_number = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    if !field.iter().all(is_of_number) {
        return None;
    }
    let time: f64 = std::str::from_utf8(field).ok()?.parse().ok()?;
    let time_ns = (time * unit_ns as f64).round();
    match time_ns {
        _ if time_ns < 0.0 => Some(UNREADABLE_TIME_NS),
        _ if time_ns < u64::MAX as f64 => Some(time_ns as u64),
        _ => None,
    }
}

/// Reads a time as [`time_ns`] does at the start of `bytes`: the time and the rest. `None` also for a time with nothing
/// behind its point, or with digits below one nanosecond, which few have.
#[inline(always)]
pub(crate) fn leading_time_ns(bytes: &[u8], unit_ns: u64) -> Option<(u64, &[u8])> {
    let (whole, rest) = leading_decimal(bytes)?;
    let time_ns = whole.checked_mul(unit_ns)?;
    let Some(digits) = rest.strip_prefix(b".") else { return Some((time_ns, rest)) };
    let (fraction, rest) = leading_decimal(digits)?;
    let missing_digits = (unit_ns.ilog10() as usize).checked_sub(digits.len() - rest.len())?;
    Some((time_ns.checked_add(fraction * POWERS_OF_TEN[missing_digits])?, rest))
}

/// A whole number as programs write it that know only fractions: `4096.0`, `1e6`.
#[cold]
pub(crate) fn whole_number(field: &[u8]) -> Option<u64> {
    /// Whole numbers above it are not exact in 64 bits of floating point.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if !field.first().is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let number: f64 = std::str::from_utf8(field).ok()?.parse().ok()?;
    (number.fract() == 0.0 && number < EXACT).then_some(number as u64)
}

/// `R`, `W`, `read` or `write` in either case.
#[inline]
pub(crate) fn op(field: &[u8]) -> Option<Op> {
    match field {
        b"R" | b"r" | b"Read" => Some(Op::Read),
        b"W" | b"w" | b"Write" => Some(Op::Write),
        _ if field.eq_ignore_ascii_case(b"read") => Some(Op::Read),
        _ if field.eq_ignore_ascii_case(b"write") => Some(Op::Write),
        _ => None,
    }
}

/// The bytes without spaces and tabs at the start.
#[inline]
pub(crate) fn after_blanks(bytes: &[u8]) -> &[u8] {
    let blanks = bytes.iter().take_while(|&&byte| byte == b' ' || byte == b'\t').count();
    &bytes[blanks..]
}

/// The bytes without spaces and tabs at either end.
#[inline]
pub(crate) fn trimmed(bytes: &[u8]) -> &[u8] {
    let bytes = after_blanks(bytes);
    let blanks = bytes.iter().rev().take_while(|&&byte| byte == b' ' || byte == b'\t').count();
    &bytes[..bytes.len() - blanks]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_takes_one_to_sixteen_digits_of_either_case() {
        assert_eq!(hex(b"0"), Some(0));
        assert_eq!(hex(b"00fFfFfF0123Abcd"), Some(0x00ff_ffff_0123_abcd));
        assert_eq!(hex(b"ffffffffffffffff"), Some(u64::MAX));
        for malformed in [&b""[..], b"0ffffffffffffffff", b"12g", b"-1", b" 1", b"0x1"] {
            assert_eq!(hex(malformed), None);
        }
    }

    #[test]
    fn plain_fields_end_at_a_comma_and_have_neither_quotes_nor_blanks_around_them() {
        assert_eq!(leading_plain_field(b"a b,c"), Some((&b"a b"[..], &b",c"[..])));
        assert_eq!(leading_plain_field(b""), Some((&b""[..], &b""[..])));
        for other in [&b"\"a\",c"[..], b" a,c", b"a\t,c", b"a\"b"] {
            assert_eq!(leading_plain_field(other), None);
        }
    }

    #[test]
    fn decimal_refuses_what_does_not_fit() {
        assert_eq!(decimal(b"18446744073709551615"), Some(u64::MAX));
        for malformed in [&b""[..], b"18446744073709551616", b"1.0", b"+1", b"-1", b"1 ", b"1e3"] {
            assert_eq!(decimal(malformed), None);
        }
        assert_eq!(decimal(b"184467440737095516150"), None);
        assert_eq!(decimal(b"99999999999999999999"), None);
        assert_eq!(decimal(b"000000000000000000000000000000000000017"), Some(17));
        assert_eq!(decimal_or_hex(b"0X1f"), Some(31));
        assert_eq!(decimal_or_hex(b"31"), Some(31));
        assert_eq!(decimal_or_hex(b"1f"), None);
    }

    #[test]
    fn eight_digits_at_once_are_those_one_by_one() {
        assert_eq!(decimal(b"12345678"), Some(12_345_678));
        assert_eq!(decimal(b"99999999"), Some(99_999_999));
        assert_eq!(decimal(b"1234567890123456789"), Some(1_234_567_890_123_456_789));
        for place in 0..8 {
            for byte in 0..=u8::MAX {
                let mut bytes = *b"12345678";
                bytes[place] = byte;
                let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
                let number = std::str::from_utf8(&bytes[..digits]).unwrap().parse().ok();
                assert_eq!(leading_decimal(&bytes).map(|(number, _)| number), number);
                let rest = leading_decimal(&bytes).map(|(_, rest)| rest);
                assert_eq!(rest, number.map(|_: u64| &bytes[digits..]));
            }
        }
    }

    #[test]
    fn times_are_exact_to_the_nanosecond() {
        assert_eq!(time_ns(b"1.000000001", 1_000_000_000), Some(1_000_000_001));
        assert_eq!(time_ns(b"0.1", 1_000_000_000), Some(100_000_000));
        assert_eq!(time_ns(b"12.5", 1_000), Some(12_500));
        assert_eq!(time_ns(b"12.5009", 1_000), Some(12_500));
        assert_eq!(time_ns(b"7.", 1), Some(7));
        assert_eq!(time_ns(b"7.9", 1), Some(7));
        assert_eq!(
            time_ns(b"1456135200.013118000", 1_000_000_000),
            Some(1_456_135_200_013_118_000)
        );
        for malformed in [&b""[..], b"1.5s", b"1.0000000000s", b"1e", b"1e99", b"20000000000"] {
            assert_eq!(time_ns(malformed, 1_000_000_000), None);
        }
    }

    #[test]
    fn times_may_have_exponents_or_be_unreadable() {
        assert_eq!(time_ns(b"9.1e-05", 1_000_000_000), Some(91_000));
        assert_eq!(time_ns(b"1E3", 1_000), Some(1_000_000));
        assert_eq!(time_ns(b".5", 1_000_000_000), Some(500_000_000));
        for unreadable in [&b"-1"[..], b"-0.5", b"-2e3", b"nan", b"-"] {
            assert_eq!(time_ns(unreadable, 1_000_000_000), Some(UNREADABLE_TIME_NS));
        }
    }

    #[test]
    fn ops_are_words_and_never_numbers() {
        assert_eq!(op(b"wRITE"), Some(Op::Write));
        assert_eq!(op(b"r"), Some(Op::Read));
        for other in [&b""[..], b"0", b"1", b"rw", b"D"] {
            assert_eq!(op(other), None);
        }
    }
}
