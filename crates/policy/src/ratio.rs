//! Exact rational numbers: cost ratios and shares are never rounded.

use core::fmt;
use core::str::FromStr;

/// A non-negative rational number in lowest terms.
///
/// Numerator and denominator are 32-bit, so that a policy can scale sizes of up to 2^31 frames by them
/// within 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ratio {
    numerator: u32,
    denominator: u32,
}

/// Why a text or a pair of numbers is not a [`Ratio`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RatioError {
    /// Not of the form `8`, `13.3` or `1/3`.
    NotANumber,
    /// The denominator is zero.
    ZeroDenominator,
    /// In lowest terms, numerator or denominator exceeds 32 bits.
    TooManyDigits,
}

impl fmt::Display for RatioError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            RatioError::NotANumber => "it is not a number such as 8, 13.3 or 1/3",
            RatioError::ZeroDenominator => "its denominator is zero",
            RatioError::TooManyDigits => {
                "it has too many digits (numerator and denominator go up to 4294967295)"
            }
        })
    }
}

impl core::error::Error for RatioError {}

impl Ratio {
    /// The whole number `value`.
    pub const fn whole(value: u32) -> Self {
        Ratio { numerator: value, denominator: 1 }
    }

    /// `numerator / denominator` in lowest terms.
    pub fn new(numerator: u128, denominator: u128) -> Result<Self, RatioError> {
        if denominator == 0 {
            return Err(RatioError::ZeroDenominator);
        }
        let divisor = greatest_common_divisor(numerator, denominator);
        let narrow =
            |value: u128| u32::try_from(value / divisor).map_err(|_| RatioError::TooManyDigits);
        Ok(Ratio { numerator: narrow(numerator)?, denominator: narrow(denominator)? })
    }

    /// The numerator in lowest terms.
    pub fn numerator(self) -> u64 {
        self.numerator.into()
    }

    /// The denominator in lowest terms.
    pub fn denominator(self) -> u64 {
        self.denominator.into()
    }

    /// The largest whole number not above the product with `factor`.
    pub fn floor_of(self, factor: u32) -> u64 {
        self.numerator() * u64::from(factor) / self.denominator()
    }

    /// The smallest whole number not below this one.
    pub fn ceil(self) -> u64 {
        self.numerator().div_ceil(self.denominator())
    }
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        let left = self.numerator() * other.denominator();
        left.cmp(&(other.numerator() * self.denominator()))
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.denominator {
            1 => write!(formatter, "{}", self.numerator),
            denominator => write!(formatter, "{}/{denominator}", self.numerator),
        }
    }
}

impl FromStr for Ratio {
    type Err = RatioError;

    /// Reads a whole number, a decimal or a fraction of whole numbers.
    fn from_str(text: &str) -> Result<Self, RatioError> {
        if let Some((numerator, denominator)) = text.split_once('/') {
            return Ratio::new(digits(numerator)?, digits(denominator)?);
        }
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        if fraction.len() > 18 {
            return Err(RatioError::TooManyDigits);
        }
        let scale = 10u128.pow(fraction.len() as u32);
        Ratio::new(digits(whole)? * scale + digits(fraction)?, scale)
    }
}

fn digits(text: &str) -> Result<u128, RatioError> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(RatioError::NotANumber);
    }
    let value: u64 = text.parse().map_err(|_| RatioError::TooManyDigits)?;
    Ok(value.into())
}

fn greatest_common_divisor(mut left: u128, mut right: u128) -> u128 {
    while right != 0 {
        (left, right) = (right, left % right);
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn decimals_and_fractions_are_read_exactly() {
        for (text, shown) in [("8", "8"), ("13.3", "133/10"), ("2/6", "1/3"), ("0.25", "1/4")] {
            assert_eq!(text.parse::<Ratio>().unwrap().to_string(), shown);
        }
    }

    #[test]
    fn what_is_not_a_number_is_refused() {
        for text in ["", "-1", "1e3", "1/", "/2", ".", "1.", "nan", "1/2/3", "+8", " 8"] {
            assert_eq!(text.parse::<Ratio>(), Err(RatioError::NotANumber), "{text:?}");
        }
        assert_eq!("1/0".parse::<Ratio>(), Err(RatioError::ZeroDenominator));
        assert_eq!("4294967296".parse::<Ratio>(), Err(RatioError::TooManyDigits));
    }

    #[test]
    fn floor_and_ceiling_are_those_of_the_exact_value() {
        assert_eq!("1/3".parse::<Ratio>().unwrap().floor_of(10), 3);
        assert_eq!("13.3".parse::<Ratio>().unwrap().ceil(), 14);
        assert_eq!("8".parse::<Ratio>().unwrap().ceil(), 8);
    }
}
