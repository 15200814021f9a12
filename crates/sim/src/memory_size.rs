//! How much memory: in frames, in bytes, or as a share of what the trace touches.

use clockhand_quantity::{Text, option};
use std::fmt;

use clockhand_trace::{bytes_text, bytes_with_unit, size_bytes};

use crate::error::SimError;

/// A memory size as the user gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemorySize {
    /// A number of page frames, at least 1.
    Frames(u32),
    /// A number of bytes.
    Bytes(u64),
    /// This share of the footprint, above 0 and at most 1, as an exact fraction.
    Share {
        /// Numerator.
        numerator: u64,
        /// Denominator.
        denominator: u64,
    },
}

/// Decimals of a percentage that are kept; more are refused, not rounded.
const PERCENT_DECIMALS: usize = 9;

impl MemorySize {
    /// Reads `--frames`: whole numbers, separated by commas.
    ///
    /// # Errors
    ///
    /// A sentence that names the number and the range.
    pub fn parse_frames(text: &str) -> Result<Vec<MemorySize>, SimError> {
        text.split(',')
            .map(|item| {
                let frames =
                    item.trim().parse().ok().filter(|frames| (1..u32::MAX).contains(frames));
                frames.map(MemorySize::Frames).ok_or_else(|| {
                    SimError::usage(
                        option("frames") + format!(" {item:?} is not a number of page frames"),
                        format!(
                            "give whole numbers from 1 to {}, separated by commas",
                            u32::MAX - 1
                        ),
                    )
                })
            })
            .collect()
    }

    /// Reads `--memory`: shares of the footprint (`5%`), ranges of them (`1%..100%`, every whole percent) and
    /// sizes (`64MiB`), separated by commas.
    ///
    /// # Errors
    ///
    /// A sentence that names the item and what is allowed.
    pub fn parse_memory(text: &str) -> Result<Vec<MemorySize>, SimError> {
        Self::parse_sizes_of("memory", text)
    }

    /// Reads an option that takes what `--memory` takes.
    pub(crate) fn parse_sizes_of(
        name: &'static str,
        text: &str,
    ) -> Result<Vec<MemorySize>, SimError> {
        let mut sizes = Vec::new();
        for item in text.split(',').map(str::trim) {
            match item.split_once("..") {
                Some((first, last)) => sizes.extend(percent_range(name, item, first, last)?),
                None if item.ends_with('%') => sizes.push(share(name, item)?),
                None => sizes.push(bytes(name, item)?),
            }
        }
        Ok(sizes)
    }

    /// Reads `--frames` or `--memory`; exactly one is given.
    ///
    /// # Errors
    ///
    /// The error of the given one, or that there is not exactly one.
    pub fn parse_either(
        frames: Option<&str>,
        memory: Option<&str>,
    ) -> Result<Vec<MemorySize>, SimError> {
        match (frames, memory) {
            (Some(frames), None) => Self::parse_frames(frames),
            (None, Some(memory)) => Self::parse_memory(memory),
            _ => Err(SimError::usage(
                Text::from("the memory size is given by ")
                    + option("frames")
                    + " or by "
                    + option("memory"),
                "give one of them",
            )),
        }
    }

    /// The size as text that is read as this size: frames, `64MiB`, `12.5%`.
    pub fn written(self) -> String {
        match self {
            MemorySize::Frames(frames) => frames.to_string(),
            MemorySize::Bytes(bytes) => match bytes_text(bytes) {
                plain if plain.ends_with('B') => plain,
                plain => format!("{plain}B"),
            },
            MemorySize::Share { numerator, denominator } => {
                let (percent, decimals) = (denominator / 100, denominator.ilog10() as usize - 2);
                let fraction = format!("{:0decimals$}", numerator % percent);
                match fraction.trim_end_matches('0') {
                    "" => format!("{}%", numerator / percent),
                    fraction => format!("{}.{fraction}%", numerator / percent),
                }
            }
        }
    }

    /// The number of frames: `max(1, floor(size / page_bytes))` or `max(1, floor(share × footprint))`.
    pub fn frames(self, footprint_pages: u32, page_bytes: u64) -> u32 {
        let frames = match self {
            MemorySize::Frames(frames) => frames.into(),
            MemorySize::Bytes(bytes) => u128::from(bytes / page_bytes),
            MemorySize::Share { numerator, denominator } => {
                u128::from(footprint_pages) * u128::from(numerator) / u128::from(denominator)
            }
        };
        frames.clamp(1, u128::from(u32::MAX - 1)) as u32
    }
}

impl fmt::Display for MemorySize {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemorySize::Frames(frames) => write!(formatter, "{frames} frames"),
            MemorySize::Bytes(bytes) => write!(formatter, "{bytes} bytes"),
            MemorySize::Share { numerator, denominator } => {
                write!(formatter, "{numerator}/{denominator} of the footprint")
            }
        }
    }
}

/// Reads `--page-size`: bytes, with a unit (`4KiB`) or without, a power of two.
///
/// # Errors
///
/// A sentence that names the text and what is allowed.
pub fn parse_page_bytes(text: &str) -> Result<u64, SimError> {
    let bytes = size_bytes(text);
    bytes.filter(|bytes| bytes.is_power_of_two()).ok_or_else(|| {
        SimError::usage(
            option("page-size") + format!(" {text:?} is not a page size"),
            "give a power of two such as 4KiB or 512",
        )
    })
}

fn bytes(name: &'static str, item: &str) -> Result<MemorySize, SimError> {
    bytes_with_unit(item).filter(|&bytes| bytes > 0).map(MemorySize::Bytes).ok_or_else(|| {
        SimError::usage(
            option(name) + format!(" {item:?} is not a memory size"),
            "give shares of the footprint such as 5%, or sizes such as 64MiB",
        )
    })
}

fn percent_range(
    name: &'static str,
    item: &str,
    first: &str,
    last: &str,
) -> Result<Vec<MemorySize>, SimError> {
    let whole = |text: &str| text.strip_suffix('%').and_then(|digits| digits.parse::<u64>().ok());
    match (whole(first), whole(last)) {
        (Some(first), Some(last)) if 1 <= first && first <= last && last <= 100 => Ok((first
            ..=last)
            .map(|numerator| MemorySize::Share { numerator, denominator: 100 })
            .collect()),
        _ => Err(SimError::usage(
            option(name) + format!(" {item:?} is not a range of percentages"),
            "give one such as 1%..100%, rising, within 1 and 100",
        )),
    }
}

fn share(name: &'static str, item: &str) -> Result<MemorySize, SimError> {
    let refused = || {
        SimError::usage(
            option(name) + format!(" {item:?} is not a share of the footprint"),
            "give a percentage above 0% and up to 100%",
        )
    };
    let digits = item.trim_end_matches('%');
    let (whole, decimals) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = !whole.is_empty()
        && item.len() == digits.len() + 1
        && (whole.bytes().chain(decimals.bytes())).all(|byte| byte.is_ascii_digit())
        && decimals.len() <= PERCENT_DECIMALS;
    let numerator = format!("{whole}{decimals}").parse::<u64>().ok().filter(|_| is_number);
    let denominator = 100 * 10u64.pow(decimals.len().min(PERCENT_DECIMALS) as u32);
    match numerator {
        Some(numerator) if (1..=denominator).contains(&numerator) => {
            Ok(MemorySize::Share { numerator, denominator })
        }
        _ => Err(refused()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames_of(text: &str, footprint_pages: u32) -> Vec<u32> {
        let sizes = MemorySize::parse_memory(text).unwrap();
        sizes.iter().map(|size| size.frames(footprint_pages, 4096)).collect()
    }

    #[test]
    fn shares_are_exact_and_rounded_down_to_at_least_one_frame() {
        assert_eq!(frames_of("5%,20%,0.1%,12.5%,100%", 1000), [50, 200, 1, 125, 1000]);
        assert_eq!(frames_of("1%", 99), [1]);
        // In binary64, 0.29 × 100 is 28.999….
        assert_eq!(frames_of("29%", 100), [29]);
        assert_eq!(frames_of("1%..100%", 100), (1..=100).collect::<Vec<u32>>());
    }

    #[test]
    fn a_size_is_written_as_it_is_read() {
        for text in ["5%", "12.5%", "0.000000001%", "100%", "64MiB", "1000B", "2%,3%"] {
            let sizes = MemorySize::parse_memory(text).unwrap();
            let written: Vec<String> = sizes.iter().map(|size| size.written()).collect();
            assert_eq!(written.join(","), text);
        }
        let shares = MemorySize::parse_memory("9%..11%,1KB,1.50%").unwrap();
        let written: Vec<String> = shares.iter().map(|size| size.written()).collect();
        assert_eq!(written, ["9%", "10%", "11%", "1000B", "1.5%"]);
        assert_eq!(MemorySize::Frames(64).written(), "64");
    }

    #[test]
    fn sizes_in_bytes_are_whole_frames() {
        assert_eq!(frames_of("64MiB,1MB,4095B,8192B", 10), [16384, 244, 1, 2]);
    }

    #[test]
    fn page_sizes_are_powers_of_two_with_or_without_a_unit() {
        assert_eq!(parse_page_bytes("4KiB").unwrap(), 4096);
        assert_eq!(parse_page_bytes("512").unwrap(), 512);
        for text in ["0", "3", "4KB", "-4KiB", "4 pages", "", "99999999999999999999"] {
            let error = parse_page_bytes(text).unwrap_err().to_string();
            assert!(error.starts_with("--page-size"), "{text}: {error}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused_with_the_item() {
        for text in [
            "0%", "101%", "100.1%", "-5%", "5%%", "%", "5", "0MiB", "abc", "", "5%,", "3%..1%",
            "0%..5%",
        ] {
            let error = MemorySize::parse_memory(text).unwrap_err().to_string();
            assert!(error.starts_with("--memory"), "{text}: {error}");
        }
        for text in ["0", "-1", "1.5", "", "64,", "4294967295", "5%"] {
            let error = MemorySize::parse_frames(text).unwrap_err().to_string();
            assert!(error.starts_with("--frames"), "{text}: {error}");
        }
    }
}
