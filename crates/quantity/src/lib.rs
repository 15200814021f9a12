//! What people write and read: sizes in bytes and numbers of requests, with the one parser for memory, traces and drives,
//! and the sentences of errors about options and files.

#![forbid(unsafe_code)]

mod sentence;
mod toml_words;

pub use sentence::{Piece, Sentence, Text, command, option};
pub use toml_words::{deep_toml_key, plain_toml_message};

/// Units of a size in bytes, in any case; those without `i` are decimal.
const BYTE_UNITS: [(&str, u64); 9] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("B", 1),
];

/// Units of a number of requests.
const COUNT_UNITS: [(&str, u64); 4] =
    [("k", 1_000), ("M", 1_000_000), ("G", 1_000_000_000), ("", 1)];

/// A size with a unit, such as `64MiB`, `1GB` or `1.6TB`, in bytes; `None` when it is not one, is above 64 bits, or is no
/// whole number of bytes.
pub fn bytes_with_unit(text: &str) -> Option<u64> {
    with_unit(text, &BYTE_UNITS)
}

/// A size with a unit or, in bytes, without.
pub fn size_bytes(text: &str) -> Option<u64> {
    bytes_with_unit(text).or_else(|| whole(text))
}

/// A number of requests, such as `20M`, `500k` or `123456`.
pub fn count(text: &str) -> Option<u64> {
    with_unit(text, &COUNT_UNITS)
}

/// A number with decimals in units of 10^-`decimals`; `None` when it has more of them.
pub fn decimal(text: &str, decimals: usize) -> Option<u64> {
    let (whole_part, fraction) = text.split_once('.').unwrap_or((text, "0"));
    if fraction.is_empty() || fraction.len() > decimals {
        return None;
    }
    let scale = 10_u64.checked_pow(u32::try_from(decimals).ok()?)?;
    whole(whole_part)?.checked_mul(scale)?.checked_add(whole(&format!("{fraction:0<decimals$}"))?)
}

/// The shortest text that is read as this size in binary units, such as `64MiB`.
pub fn bytes_text(bytes: u64) -> String {
    let unit =
        BYTE_UNITS[..4].iter().rev().find(|&&(_, unit)| bytes > 0 && bytes.is_multiple_of(unit));
    unit.map_or_else(|| bytes.to_string(), |(name, unit)| format!("{}{name}", bytes / unit))
}

/// The size in the largest unit that divides it, binary or decimal, such as `8GiB` or `1600GB`: for sizes that are not
/// those of memory.
pub fn bytes_text_in_any_unit(bytes: u64) -> String {
    let units = BYTE_UNITS.iter().filter(|(_, unit)| bytes.is_multiple_of(*unit));
    let (name, unit) = units.max_by_key(|(_, unit)| unit).unwrap_or(&("B", 1));
    format!("{}{name}", bytes / unit)
}

/// The text that [`decimal`] reads as this many units of 10^-`decimals`.
pub fn decimal_text(units: u64, decimals: usize) -> String {
    let scale = 10_u64.pow(decimals as u32);
    let text = format!("{}.{:0decimals$}", units / scale, units % scale);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn with_unit(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let start = text.trim_end_matches(|character: char| character.is_ascii_alphabetic()).len();
    let (number, name) = text.split_at(start);
    let &(_, unit) = units.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
    let Some((above, below)) = number.trim().split_once('.') else {
        return whole(number.trim())?.checked_mul(unit);
    };
    let scale = 10_u128.checked_pow(u32::try_from(below.len()).ok()?)?;
    let parts = u128::from(whole(below)?).checked_mul(u128::from(unit))?;
    let below = parts.is_multiple_of(scale).then_some(parts / scale)?;
    whole(above)?.checked_mul(unit)?.checked_add(u64::try_from(below).ok()?)
}

/// Digits only: the standard parser would take a sign.
fn whole(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_counts_have_units_and_nothing_else() {
        assert_eq!(size_bytes("4KiB"), Some(4096));
        assert_eq!(size_bytes("1 GB"), Some(1_000_000_000));
        assert_eq!(size_bytes("512"), Some(512));
        assert_eq!(
            (size_bytes("1mib"), size_bytes("1kb"), count("5m")),
            (Some(1 << 20), Some(1000), Some(5_000_000))
        );
        assert_eq!(count("20M"), Some(20_000_000));
        assert_eq!(count("7"), Some(7));
        assert_eq!(size_bytes("1.5MiB"), Some(3 << 19));
        assert_eq!(size_bytes("1.6TB"), Some(1_600_000_000_000));
        for text in [
            "",
            "+1",
            "-1",
            "1.5",
            "1.0005KB",
            "1.MiB",
            ".5MiB",
            "MiB",
            "4 pages",
            "99999999999TiB",
        ] {
            assert_eq!((size_bytes(text), count(text)), (None, None), "{text}");
        }
    }

    #[test]
    fn decimals_are_exact_and_too_many_are_refused() {
        assert_eq!(decimal("12.5", 9), Some(12_500_000_000));
        assert_eq!(decimal("3", 2), Some(300));
        assert_eq!(decimal_text(12_500_000_000, 9), "12.5");
        assert_eq!(decimal_text(300, 2), "3");
        for text in ["", ".5", "1.", "1.234", "-1", "1e3", "18446744073709551616"] {
            assert_eq!(decimal(text, 2), None, "{text}");
        }
    }

    #[test]
    fn a_size_is_written_as_it_is_read() {
        for (size, text) in [(4096, "4KiB"), (1 << 30, "1GiB"), (1_000, "1000"), (0, "0")] {
            assert_eq!(bytes_text(size), text);
            assert_eq!(size_bytes(text), Some(size));
        }
        for (size, text) in
            [(8 << 30, "8GiB"), (512_000_000, "512MB"), (1_600_000_000_000, "1600GB")]
        {
            assert_eq!(bytes_text_in_any_unit(size), text);
        }
    }
}
