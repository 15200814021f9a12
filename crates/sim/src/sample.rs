//! Samples of pages: which pages belong to one is decided by their hash (SHARDS: Waldspurger, Park, Garthwaite and Ahmad,
//! FAST 2015).

use clockhand_quantity::option;
use std::fmt;

use crate::error::SimError;

/// Which pages are followed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sample {
    /// Each page with this probability, above 0 and at most 1.
    Rate(f64),
    /// At most this many pages.
    Pages(u32),
}

impl Sample {
    /// Reads `--sample`: a rate (`0.01`, `1%`) or a number of pages (`8192`).
    ///
    /// # Errors
    ///
    /// A sentence that names the text and what is allowed.
    pub fn parse(text: &str) -> Result<Self, SimError> {
        let rate = |digits: &str, whole: f64| {
            let is_number = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
            let value = digits.parse::<f64>().ok().filter(|_| is_number)? / whole;
            (value > 0.0 && value <= 1.0).then_some(Sample::Rate(value))
        };
        let pages = || text.parse().ok().filter(|&pages| pages >= FEWEST_PAGES).map(Sample::Pages);
        let sample = match text.strip_suffix('%') {
            Some(percentage) => rate(percentage, 100.0),
            None if text.contains('.') => rate(text, 1.0),
            None => pages(),
        };
        sample.ok_or_else(|| {
            SimError::usage(
                option("sample") + format!(" {text:?} is neither a rate nor a number of pages"),
                format!(
                    "give a rate such as 0.1 or 10%, above 0 and up to 1, or a whole number of \
                     pages from {FEWEST_PAGES}"
                ),
            )
        })
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sample::Rate(rate) => write!(formatter, "{}%", rate * 100.0),
            Sample::Pages(pages) => write!(formatter, "{pages}"),
        }
    }
}

/// Fewer pages than the groups of a locality analysis have no spread.
pub(crate) const FEWEST_PAGES: u32 = 32;

pub(crate) const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;

/// Of the stream and number of a page. Two pages with one hash would be taken for one; among a million pages the chance of that
/// is below 1 in 10^7.
pub(crate) fn page_hash(seed: u64, stream: u32, page: u64) -> u64 {
    mixed(page ^ mixed(u64::from(stream) ^ mixed(seed)))
}

/// A number whose every bit depends on every bit of `value`: the steps of SplitMix64 (Steele, Lea and Flood 2014).
#[inline]
pub(crate) fn mixed(value: u64) -> u64 {
    let value = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

/// The hashes up to this one are a share `rate` of all, above 0 and at most 1.
pub(crate) fn threshold(rate: f64) -> u64 {
    // Casts saturate, so that the rate 1 is every hash.
    (rate * TWO_TO_64) as u64
}
