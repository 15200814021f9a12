//! How a page cache behaves beside its policy: what first touches read, the flusher, reading ahead.

use clockhand_policy::Ratio;
use clockhand_quantity::{Text, option};

use crate::error::SimError;

/// What the first reference to anonymous memory reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FirstTouch {
    /// Nothing: the page is zero.
    #[default]
    Zero,
    /// The page, as any other miss.
    Read,
}

/// Read of a miss on an anonymous page that was never written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ZeroClean {
    /// Nothing: the page is zero again.
    #[default]
    Drop,
    /// The page.
    Read,
}

/// The unit in which a flusher counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushUnit {
    /// Nanoseconds of trace time.
    Time,
    /// References served.
    References,
}

/// A daemon that writes dirty pages of files from time to time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flusher {
    /// The unit of the two that follow.
    pub unit: FlushUnit,
    /// It runs at multiples of this, at least 1.
    pub every: u64,
    /// Pages that have been dirty for this long are written.
    pub age: u64,
    /// More dirty pages than this share of the frames are written, the oldest first.
    pub dirty_limit: Option<Ratio>,
}

/// Read-ahead of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileReadAhead {
    /// Pages of a first window, at least 1.
    pub first_pages: u64,
    /// Pages that a window has at most.
    pub most_pages: u64,
}

/// What is read ahead of a miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ReadAhead {
    /// Of files.
    pub file: Option<FileReadAhead>,
    /// Of the swap: the slots of an aligned group, a power of two.
    pub swap_slots: Option<u32>,
}

/// The options of a page cache; the default is a cache of its policy alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PageCacheOptions {
    /// What the first reference to anonymous memory reads.
    pub first_touch: FirstTouch,
    /// Read of a miss on an anonymous page that was never written.
    pub zero_clean: ZeroClean,
    /// The flusher, if there is one.
    pub flusher: Option<Flusher>,
    /// What is read ahead.
    pub read_ahead: ReadAhead,
    /// True if dirty pages are written when the trace ends.
    pub flush_at_end: bool,
}

/// The largest window; more would be no read-ahead but another file system.
const MOST_PAGES: u64 = 1 << 16;

impl FirstTouch {
    /// Reads `--first-touch`.
    ///
    /// # Errors
    /// A sentence that names the two words.
    pub fn parse(text: &str) -> Result<Self, SimError> {
        match text {
            "zero" => Ok(Self::Zero),
            "read" => Ok(Self::Read),
            _ => Err(SimError::usage(
                option("first-touch") + format!(" {text:?} is neither zero nor read"),
                "give one of them",
            )),
        }
    }

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Zero => "zero",
            Self::Read => "read",
        }
    }
}

impl ZeroClean {
    /// Reads `--zero-clean`.
    ///
    /// # Errors
    /// A sentence that names the two words.
    pub fn parse(text: &str) -> Result<Self, SimError> {
        match text {
            "drop" => Ok(Self::Drop),
            "read" => Ok(Self::Read),
            _ => Err(SimError::usage(
                option("zero-clean") + format!(" {text:?} is neither drop nor read"),
                "give one of them",
            )),
        }
    }

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Drop => "drop",
            Self::Read => "read",
        }
    }
}

impl Flusher {
    /// Reads `--flush-every`, `--flush-age` and `--dirty-limit`; the others need the first.
    ///
    /// # Errors
    /// A sentence that names the option and what it takes.
    pub fn parse(
        every: Option<&str>,
        age: Option<&str>,
        dirty_limit: Option<&str>,
    ) -> Result<Option<Self>, SimError> {
        let Some(every_text) = every else {
            let lonely = age.map(|_| "flush-age").or(dirty_limit.map(|_| "dirty-limit"));
            return match lonely {
                Some(name) => Err(SimError::usage(
                    option(name) + " needs a flusher",
                    Text::from("add ") + option("flush-every") + ", 5s for example",
                )),
                None => Ok(None),
            };
        };
        let (every, unit) = span("flush-every", every_text)?;
        if every == 0 {
            return Err(SimError::usage(
                option("flush-every") + format!(" {every_text:?} is no span"),
                "give more than 0",
            ));
        }
        let unit = unit.unwrap_or(FlushUnit::References);
        let (age, age_unit) = age.map_or(Ok((0, None)), |age| span("flush-age", age))?;
        if age_unit.is_some_and(|age_unit| age_unit != unit) {
            return Err(SimError::usage(
                option("flush-age") + " and " + option("flush-every") + " have different units",
                "give both in seconds or both in references",
            ));
        }
        let dirty_limit = dirty_limit.map(share).transpose()?;
        Ok(Some(Flusher { unit, every, age, dirty_limit }))
    }

    /// As it is written: `every=5s,age=0,dirty_limit=1/2`.
    pub fn written(&self) -> String {
        let span = |count: u64| match self.unit {
            FlushUnit::Time => format!("{}s", count as f64 / 1e9),
            FlushUnit::References => format!("{count}r"),
        };
        let limit = self.dirty_limit.map_or(String::new(), |limit| format!(",dirty_limit={limit}"));
        format!("every={},age={}{limit}", span(self.every), span(self.age))
    }
}

/// A span such as `5s` or `1000r`; 0 needs no unit.
fn span(name: &'static str, text: &str) -> Result<(u64, Option<FlushUnit>), SimError> {
    let refused = || {
        SimError::usage(
            option(name) + format!(" {text:?} is no span"),
            "give seconds of trace time such as 5s or references such as 1000r",
        )
    };
    if text == "0" {
        return Ok((0, None));
    }
    if let Some(references) = text.strip_suffix('r') {
        let count = references.parse().map_err(|_| refused())?;
        return Ok((count, Some(FlushUnit::References)));
    }
    let seconds = text.strip_suffix('s').ok_or_else(refused)?;
    Ok((nanoseconds(seconds).ok_or_else(refused)?, Some(FlushUnit::Time)))
}

/// Decimal seconds with at most nine decimals, exactly.
fn nanoseconds(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || fraction.len() > 9 || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let fraction_ns: u64 = format!("{fraction:0<9}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(fraction_ns)
}

/// A share of the frames from 0 to 1: `1/2`, `0.5` or `50%`.
fn share(text: &str) -> Result<Ratio, SimError> {
    let refused = || {
        SimError::usage(
            option("dirty-limit") + format!(" {text:?} is no share"),
            "give a number from 0 to 1 such as 1/2, 0.5 or 50%",
        )
    };
    let ratio = match text.strip_suffix('%') {
        Some(percent) => {
            let percent: u128 = percent.parse().map_err(|_| refused())?;
            Ratio::new(percent, 100).map_err(|_| refused())?
        }
        None => text.parse().map_err(|_| refused())?,
    };
    if ratio > Ratio::whole(1) { Err(refused()) } else { Ok(ratio) }
}

impl ReadAhead {
    /// Reads `--read-ahead`: `none`, or `file:MIN-MAX` and `swap:N`, separated by commas.
    ///
    /// # Errors
    /// A sentence that names the part and what it takes.
    pub fn parse(text: &str) -> Result<Self, SimError> {
        let mut read_ahead = ReadAhead::default();
        if text == "none" {
            return Ok(read_ahead);
        }
        for part in text.split(',').map(str::trim) {
            let twice = match part.split_once(':') {
                Some(("file", window)) => {
                    read_ahead.file.replace(file_window(part, window)?).is_some()
                }
                Some(("swap", slots)) => {
                    let slots: Option<u32> = slots.parse().ok();
                    let slots = slots.filter(|slots| slots.is_power_of_two() && *slots <= 1 << 16);
                    let slots = slots.ok_or_else(|| {
                        SimError::usage(
                            option("read-ahead") + format!(" {part:?} is no number of slots"),
                            "give a power of two from 1 to 65536, swap:8 for example",
                        )
                    })?;
                    read_ahead.swap_slots.replace(slots).is_some()
                }
                _ => {
                    return Err(SimError::usage(
                        option("read-ahead") + format!(" {part:?} is unknown"),
                        "give none, file:MIN-MAX, swap:N or both with a comma",
                    ));
                }
            };
            if twice {
                return Err(SimError::usage(
                    option("read-ahead") + format!(" {text:?} names a part twice"),
                    "give each once",
                ));
            }
        }
        Ok(read_ahead)
    }

    /// As it is written.
    pub fn written(&self) -> String {
        let file = self.file.map(|file| format!("file:{}-{}", file.first_pages, file.most_pages));
        let swap = self.swap_slots.map(|slots| format!("swap:{slots}"));
        let parts: Vec<String> = file.into_iter().chain(swap).collect();
        if parts.is_empty() { "none".to_owned() } else { parts.join(",") }
    }
}

fn file_window(part: &str, window: &str) -> Result<FileReadAhead, SimError> {
    let numbers = window.split_once('-').and_then(|(first, most)| {
        Some(FileReadAhead { first_pages: first.parse().ok()?, most_pages: most.parse().ok()? })
    });
    let fits = |window: &FileReadAhead| {
        (1..=window.most_pages).contains(&window.first_pages) && window.most_pages <= MOST_PAGES
    };
    numbers.filter(fits).ok_or_else(|| {
        SimError::usage(
            option("read-ahead") + format!(" {part:?} is no window"),
            format!("give pages with 1 <= MIN <= MAX <= {MOST_PAGES}, file:3-31 for example"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_exact_and_of_one_unit() {
        let flusher = Flusher::parse(Some("0.5s"), Some("10s"), Some("50%")).unwrap().unwrap();
        assert_eq!(
            (flusher.every, flusher.age, flusher.unit),
            (500_000_000, 10_000_000_000, FlushUnit::Time)
        );
        assert_eq!(flusher.written(), "every=0.5s,age=10s,dirty_limit=1/2");
        let flusher = Flusher::parse(Some("1000r"), Some("0"), None).unwrap().unwrap();
        assert_eq!(flusher.written(), "every=1000r,age=0r");
        for (every, age, limit) in [
            (Some("5"), None, None),
            (Some("0s"), None, None),
            (Some("-1s"), None, None),
            (Some("1e3r"), None, None),
            (Some("99999999999999999999s"), None, None),
            (Some("5s"), Some("10r"), None),
            (Some("5s"), None, Some("2")),
            (None, Some("5s"), None),
            (None, None, Some("1/2")),
        ] {
            let message = Flusher::parse(every, age, limit).unwrap_err().to_string();
            assert!(message.contains("; "), "{message}");
        }
    }

    #[test]
    fn read_ahead_takes_both_parts_once() {
        let both = ReadAhead::parse("file:3-31,swap:8").unwrap();
        assert_eq!(both.written(), "file:3-31,swap:8");
        assert_eq!(ReadAhead::parse("none").unwrap(), ReadAhead::default());
        for wrong in [
            "",
            "file:0-3",
            "file:4-3",
            "file:3",
            "swap:3",
            "swap:0",
            "disk:1",
            "swap:8,swap:8",
            "file:1-99999999",
        ] {
            let message = ReadAhead::parse(wrong).unwrap_err().to_string();
            assert!(message.contains("--read-ahead") && message.contains("give"), "{message}");
        }
    }
}
