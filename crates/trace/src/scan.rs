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
#[inline]
pub(crate) fn leading_decimal(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number: u64 = 0;
    let mut length = 0;
    for &byte in bytes {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        number = number.checked_mul(10)?.checked_add(u64::from(digit))?;
        length += 1;
    }
    (length > 0).then(|| (number, &bytes[length..]))
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

/// A time such as `12.000345` in a unit of `unit_ns` nanoseconds, as nanoseconds; digits below one
/// nanosecond are cut.
pub(crate) fn time_ns(field: &[u8], unit_ns: u64) -> Option<u64> {
    let (whole, rest) = leading_decimal(field)?;
    let mut time_ns = whole.checked_mul(unit_ns)?;
    if let Some(digits) = rest.strip_prefix(b".") {
        let mut digit_ns = unit_ns;
        for &byte in digits {
            digit_ns /= 10;
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return None;
            }
            time_ns = time_ns.checked_add(u64::from(digit) * digit_ns)?;
        }
    } else if !rest.is_empty() {
        return None;
    }
    Some(time_ns)
}

/// `R`, `W`, `read` or `write` in either case.
#[inline]
pub(crate) fn op(field: &[u8]) -> Option<Op> {
    match field {
        b"R" | b"r" => Some(Op::Read),
        b"W" | b"w" => Some(Op::Write),
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
    fn decimal_refuses_what_does_not_fit() {
        assert_eq!(decimal(b"18446744073709551615"), Some(u64::MAX));
        for malformed in [&b""[..], b"18446744073709551616", b"1.0", b"+1", b"-1", b"1 ", b"1e3"] {
            assert_eq!(decimal(malformed), None);
        }
        assert_eq!(decimal_or_hex(b"0X1f"), Some(31));
        assert_eq!(decimal_or_hex(b"31"), Some(31));
        assert_eq!(decimal_or_hex(b"1f"), None);
    }

    #[test]
    fn times_are_exact_to_the_nanosecond() {
        assert_eq!(time_ns(b"1.000000001", 1_000_000_000), Some(1_000_000_001));
        assert_eq!(time_ns(b"0.1", 1_000_000_000), Some(100_000_000));
        assert_eq!(time_ns(b"12.5", 1_000), Some(12_500));
        assert_eq!(time_ns(b"12.5009", 1_000), Some(12_500));
        assert_eq!(time_ns(b"7.", 1), Some(7));
        for malformed in [&b""[..], b".5", b"1.5s", b"-1", b"1e9", b"20000000000"] {
            assert_eq!(time_ns(malformed, 1_000_000_000), None);
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
