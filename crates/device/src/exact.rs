//! Exact decimals: a profile's `284.2` is 1421/5, never the nearest binary fraction.

use std::fmt;

use num_rational::Ratio;
use num_traits::{CheckedDiv, CheckedMul, ToPrimitive};
use serde::de::{self, Deserialize, Deserializer, Visitor};

/// An exact, non-negative number.
pub type Exact = Ratio<u128>;

/// What a number in a profile or an option must look like.
const EXPECTED: &str = "a decimal number from 0.000000001 to 1000000000000 with at most 18 digits \
                        after the point";

/// The most digits after the point that are read and written.
const FRACTION_DIGITS_MAX: u32 = 18;

/// Reads a decimal such as `284.2` exactly.
///
/// The range keeps nonsense out (a `nan`, a picosecond disk); the error says what is accepted.
pub(crate) fn parse_decimal(text: &str) -> Result<Exact, String> {
    let refused = || format!("'{text}' is not {EXPECTED}");
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !all_digits(whole) || !all_digits(fraction) {
        return Err(refused());
    }
    let numerator: u128 = format!("{whole}{fraction}").parse().map_err(|_| refused())?;
    let fraction_digits = u32::try_from(fraction.len()).map_err(|_| refused())?;
    if fraction_digits > FRACTION_DIGITS_MAX {
        return Err(refused());
    }
    let value = Exact::new(numerator, 10u128.pow(fraction_digits));
    let in_range =
        Exact::new(1, 1_000_000_000) <= value && value <= Exact::from_integer(1_000_000_000_000);
    if in_range { Ok(value) } else { Err(refused()) }
}

/// Reads a decimal or a fraction of two, such as `40/3`, exactly.
pub(crate) fn parse_fraction(text: &str) -> Result<Exact, String> {
    let Some((above, below)) = text.split_once('/') else { return parse_decimal(text) };
    let parts = parse_decimal(above).ok().zip(parse_decimal(below).ok());
    let value = parts.and_then(|(above, below)| above.checked_div(&below));
    value.ok_or_else(|| format!("'{text}' is not a fraction of two numbers, each {EXPECTED}"))
}

/// A positive number as a profile writes it, integer or decimal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Decimal(pub(crate) Exact);

impl<'de> Deserialize<'de> for Decimal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DecimalVisitor)
    }
}

struct DecimalVisitor;

impl Visitor<'_> for DecimalVisitor {
    type Value = Decimal;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(EXPECTED)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Decimal, E> {
        parse_decimal(&value.to_string()).map(Decimal).map_err(E::custom)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Decimal, E> {
        // Rust prints the shortest decimal that reads back as the same float: for any number of up
        // to 15 digits, that is the number as its author wrote it.
        parse_decimal(&value.to_string()).map(Decimal).map_err(E::custom)
    }
}

/// Writes a number so that [`parse_fraction`] reads the same one: a decimal, or else a fraction.
pub(crate) fn exact_text(value: &Exact) -> String {
    decimal_text(value).unwrap_or_else(|| format!("{}/{}", value.numer(), value.denom()))
}

/// Writes a number for people: `284.2` where a short decimal is exact, else `200/7 (28.571429)`.
pub(crate) fn readable(value: &Exact) -> String {
    decimal_text(value).unwrap_or_else(|| {
        let approximate = value.to_f64().unwrap_or(f64::NAN);
        format!("{}/{} ({approximate:.6})", value.numer(), value.denom())
    })
}

/// The decimal with the fewest digits that equals `value`, if one exists.
fn decimal_text(value: &Exact) -> Option<String> {
    (0..=FRACTION_DIGITS_MAX).find_map(|digits| {
        let scaled = value.checked_mul(&Exact::from_integer(10u128.pow(digits)))?;
        let width = usize::try_from(digits).ok()?;
        if !scaled.is_integer() {
            return None;
        }
        let text = format!("{:0>1$}", scaled.to_integer(), width + 1);
        let (whole, fraction) = text.split_at(text.len() - width);
        Some(if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_is_read_without_rounding() {
        assert_eq!(parse_decimal("284.2"), Ok(Exact::new(2842, 10)));
        assert_eq!(parse_decimal("0.05"), Ok(Exact::new(1, 20)));
        assert_eq!(parse_decimal("7"), Ok(Exact::from_integer(7)));
    }

    #[test]
    fn what_is_not_a_positive_decimal_is_refused() {
        for text in [
            "0",
            "0.0",
            "-1",
            "nan",
            "NaN",
            "inf",
            "1e3",
            "",
            ".5",
            "5.",
            "1,5",
            "+1",
            "1.2.3",
            "0.0000000001",
            "0.1234567890123456789",
            "1000000000001",
            "99999999999999999999999999999999999999999999",
        ] {
            assert!(parse_decimal(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_fraction_is_read_as_it_is_written() {
        assert_eq!(parse_fraction("40/3"), Ok(Exact::new(40, 3)));
        assert_eq!(parse_fraction("2.5/0.5"), Ok(Exact::from_integer(5)));
        assert_eq!(parse_fraction("2.50"), Ok(Exact::new(5, 2)));
        for value in [Exact::new(40, 3), Exact::new(5, 2), Exact::from_integer(1)] {
            assert_eq!(parse_fraction(&exact_text(&value)), Ok(value));
        }
        for text in ["/", "1/", "1/0", "/3", "1/2/3", "-1/3", "40 / 3"] {
            assert!(parse_fraction(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_are_written_exactly_and_with_few_digits() {
        assert_eq!(readable(&Exact::new(2842, 10)), "284.2");
        assert_eq!(readable(&Exact::new(1, 20)), "0.05");
        assert_eq!(readable(&Exact::from_integer(400)), "400");
        assert_eq!(readable(&Exact::new(200, 7)), "200/7 (28.571429)");
    }
}
