//! The times of a drive's parts and its scheduling, from a profile and from options after a drive's name.

use num_traits::{ToPrimitive, Zero};

use crate::exact::{Exact, parse_decimal};
use crate::flash::time::{
    MemoryTimes, Scheduling, SlcTimes, Suspend, TimeOptions, Times, transfer_ns,
};
use crate::flash::{Geometry, MinimumFree};
use crate::ssd_profile::FlashTimes;

/// Keys of a profile's `[times]` table.
const TIMES: [&str; 13] = [
    "read_us",
    "program_us",
    "erase_us",
    "command_us",
    "suspend_us",
    "resume_us",
    "request_us",
    "idle_us",
    "bus_mb_s",
    "link_mb_s",
    "slc_read_us",
    "slc_program_us",
    "slc_erase_us",
];

/// Options that say how long the memories of a write buffer take.
const MEMORIES: [&str; 4] = ["dram_read_ns", "dram_write_ns", "nvm_read_ns", "nvm_write_ns"];

/// Keys of a profile's `[drive]` table that only mean something in time.
const ORDER: [&str; 9] = [
    "queue_depth",
    "scheduling",
    "suspend",
    "suspend_limit",
    "copyback",
    "cache_program",
    "pages_per_program",
    "collection",
    "background_free",
];

/// All names.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    ORDER.into_iter().chain(TIMES).chain(MEMORIES)
}

/// The time of a page of DRAM if none is given.
const DRAM_NS: u64 = 50;
/// No part of a drive takes longer, in microseconds; so sums of times do not overflow.
const TIME_MAX: u128 = 1_000_000_000;
/// Seconds in which the slowest bus carries 10^6 bytes.
const MB_S_PARTS: u128 = 1_000;
/// The most requests that are in flight.
const QUEUE_DEPTH_MAX: u32 = 65_535;

/// Everything about time that was given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TimeSettings {
    given: Vec<(&'static str, Given)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Given {
    Number(Exact),
    Numbers(Vec<Exact>),
    Count(u32),
    Free(MinimumFree),
    Word(&'static str),
    Flag(bool),
}

impl TimeSettings {
    /// Sets one from text, if it has this name. A later value replaces an earlier one.
    ///
    /// # Errors
    ///
    /// The sentence that says what is wrong with the value, and what to write.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Option<Result<(), String>> {
        let name = names().find(|known| *known == name)?;
        let given = match parse(name, value) {
            Ok(given) => given,
            Err(problem) => return Some(Err(problem)),
        };
        self.given.retain(|(other, _)| *other != name);
        self.given.push((name, given));
        Some(Ok(()))
    }

    /// Sets a number, if there is one.
    pub(crate) fn set_number(&mut self, name: &'static str, number: Option<Exact>) {
        if let Some(number) = number {
            self.given.retain(|(other, _)| *other != name);
            self.given.push((name, Given::Number(number)));
        }
    }

    fn get(&self, name: &str) -> Option<&Given> {
        self.given.iter().find(|(given, _)| *given == name).map(|(_, value)| value)
    }

    fn number(&self, name: &str) -> Option<Exact> {
        match self.get(name)? {
            Given::Number(number) => Some(*number),
            _ => None,
        }
    }

    fn numbers(&self, name: &str) -> Option<Vec<Exact>> {
        match self.get(name)? {
            Given::Number(number) => Some(vec![*number]),
            Given::Numbers(numbers) => Some(numbers.clone()),
            _ => None,
        }
    }

    fn count(&self, name: &str) -> Option<u32> {
        match self.get(name)? {
            Given::Count(count) => Some(*count),
            _ => None,
        }
    }

    fn word(&self, name: &str) -> Option<&'static str> {
        match self.get(name)? {
            Given::Word(word) => Some(word),
            _ => None,
        }
    }

    fn flag(&self, name: &str) -> bool {
        self.get(name) == Some(&Given::Flag(true))
    }

    /// The times of pages and blocks; that of a page which depends on its type, on average.
    pub(crate) fn of_flash(&self) -> FlashTimes {
        let mean = |name: &str| {
            let numbers = self.numbers(name)?;
            let sum = numbers.iter().fold(Exact::zero(), |sum, number| sum + number);
            Some(sum / Exact::from_integer(numbers.len() as u128))
        };
        FlashTimes {
            read_us: mean("read_us"),
            program_us: mean("program_us"),
            erase_us: mean("erase_us"),
        }
    }

    /// How the drive works in time. `needs_nvm` says that its buffer has NVM.
    ///
    /// # Errors
    ///
    /// The sentence that says what is missing or contradicts itself, and what to add.
    pub(crate) fn build(
        &self,
        geometry: &Geometry,
        slc_blocks: u32,
        needs_nvm: bool,
    ) -> Result<TimeOptions, String> {
        let times = self.times(geometry, slc_blocks, needs_nvm)?;
        let defaults = TimeOptions::new(times);
        let is_read_first = self.word("scheduling") == Some("read-first");
        let suspend = self.word("suspend").unwrap_or("none");
        if suspend != "none" && !is_read_first {
            return Err(format!(
                "suspend={suspend} is for drives that serve reads first; add scheduling=read-first"
            ));
        }
        Ok(TimeOptions {
            scheduling: if is_read_first { Scheduling::ReadFirst } else { Scheduling::Fifo },
            suspend: Suspend {
                erase: matches!(suspend, "erase" | "both"),
                program: matches!(suspend, "program" | "both"),
            },
            suspend_limit: self.count("suspend_limit").unwrap_or(defaults.suspend_limit),
            copyback: self.flag("copyback"),
            cache_program: self.flag("cache_program"),
            pages_per_program: self
                .count("pages_per_program")
                .unwrap_or(defaults.pages_per_program),
            queue_depth: self.count("queue_depth").unwrap_or(defaults.queue_depth),
            background_free: self.background_free()?,
            ..defaults
        })
    }

    /// Erased blocks below which a pool is collected while it rests, if it is.
    fn background_free(&self) -> Result<Option<MinimumFree>, String> {
        let blocks = match self.get("background_free") {
            Some(Given::Free(free)) => Some(*free),
            _ => None,
        };
        match (self.word("collection"), blocks) {
            (Some("background"), None) => Err(
                "collection=background needs to know when to begin; add background_free, a number of blocks above \
                 minimum_free"
                    .to_owned(),
            ),
            (Some("background"), blocks) => Ok(blocks),
            (_, Some(_)) => Err(
                "background_free is for collection=background; add that, or leave background_free out".to_owned(),
            ),
            (_, None) => Ok(None),
        }
    }

    fn times(
        &self,
        geometry: &Geometry,
        slc_blocks: u32,
        needs_nvm: bool,
    ) -> Result<Times, String> {
        let missing = |name: &str, table: &str| {
            format!(
                "{name} is not given, without which nothing can be timed; add it to {table} or after the drive's name"
            )
        };
        let required = |name: &str| self.numbers(name).ok_or_else(|| missing(name, "[times]"));
        let one = |name: &str| Ok::<u64, String>(us_to_ns(&required(name)?[0]));
        let list =
            |name: &str| Ok::<Vec<u64>, String>(required(name)?.iter().map(us_to_ns).collect());
        let or_zero = |name: &str| self.number(name).map_or(0, |time| us_to_ns(&time));
        let page_bytes = u64::from(geometry.page_bytes);
        let memory = |read: &str, write: &str, default: u64| MemoryTimes {
            read_ns: self.number(read).map_or(default, |time| rounded(&time)),
            write_ns: self.number(write).map_or(default, |time| rounded(&time)),
        };
        if needs_nvm && let Some(name) = MEMORIES[2..].iter().find(|name| self.get(name).is_none())
        {
            return Err(missing(name, "[nvm]"));
        }
        let slc = match slc_blocks {
            0 => None,
            _ => Some(SlcTimes {
                read_ns: one("slc_read_us")?,
                program_ns: one("slc_program_us")?,
                erase_ns: one("slc_erase_us")?,
            }),
        };
        Ok(Times {
            read_ns: list("read_us")?,
            program_ns: list("program_us")?,
            erase_ns: one("erase_us")?,
            command_ns: or_zero("command_us"),
            transfer_ns: self.number("bus_mb_s").map_or(0, |bus| transfer_ns(page_bytes, &bus)),
            suspend_ns: or_zero("suspend_us"),
            resume_ns: or_zero("resume_us"),
            request_ns: or_zero("request_us"),
            idle_ns: or_zero("idle_us"),
            link_mb_s: self.number("link_mb_s"),
            dram: memory("dram_read_ns", "dram_write_ns", DRAM_NS),
            nvm: memory("nvm_read_ns", "nvm_write_ns", 0),
            slc,
        })
    }
}

/// Nanoseconds, rounded half up.
fn rounded(ns: &Exact) -> u64 {
    (ns + Exact::new(1, 2)).to_integer().to_u64().unwrap_or(u64::MAX)
}

fn us_to_ns(us: &Exact) -> u64 {
    rounded(&(us * Exact::from_integer(1_000)))
}

fn parse(name: &'static str, value: &str) -> Result<Given, String> {
    match name {
        "read_us" | "program_us" => {
            let numbers = value.split('/').map(|text| parse_time(name, text));
            match &numbers.collect::<Result<Vec<_>, _>>()?[..] {
                [number] => Ok(Given::Number(*number)),
                numbers => Ok(Given::Numbers(numbers.to_vec())),
            }
        }
        "bus_mb_s" | "link_mb_s" => match parse_decimal_from_0(name, value)? {
            zero if zero.is_zero() => Err(format!(
                "{name} '{value}' carries nothing; give 10^6 bytes per second above 0, or leave it out for no limit"
            )),
            slow if slow < Exact::new(1, MB_S_PARTS) => Err(format!(
                "{name} '{value}' is too slow; give at least 0.001, 10^6 bytes per second"
            )),
            number => Ok(Given::Number(number)),
        },
        "queue_depth" => parse_count(name, value, QUEUE_DEPTH_MAX),
        "suspend_limit" | "pages_per_program" => parse_count(name, value, u32::MAX),
        "background_free" => match value.parse::<MinimumFree>() {
            Ok(free) => Ok(Given::Free(free)),
            Err(_) => Err(format!(
                "background_free '{value}' is neither a number of blocks nor a share of them below 100%; write 5 or 8%"
            )),
        },
        "scheduling" => parse_word(name, value, &["fifo", "read-first"]),
        "suspend" => parse_word(name, value, &["none", "erase", "program", "both"]),
        "collection" => parse_word(name, value, &["foreground", "background"]),
        "copyback" | "cache_program" => match value {
            "true" => Ok(Given::Flag(true)),
            "false" => Ok(Given::Flag(false)),
            _ => Err(format!("{name} '{value}' is neither true nor false; use one of them")),
        },
        _ => parse_time(name, value).map(Given::Number),
    }
}

/// A time from 0, in the unit that the name ends with.
fn parse_time(name: &str, value: &str) -> Result<Exact, String> {
    let time = parse_decimal_from_0(name, value)?;
    match time > Exact::from_integer(TIME_MAX) {
        true => Err(format!("{name} '{value}' is too long; give at most {TIME_MAX}")),
        false => Ok(time),
    }
}

/// A decimal from 0.
fn parse_decimal_from_0(name: &str, value: &str) -> Result<Exact, String> {
    let is_zero = !value.is_empty()
        && value.bytes().all(|byte| byte == b'0' || byte == b'.')
        && value.bytes().filter(|byte| *byte == b'.').count() <= 1
        && value.bytes().any(|byte| byte == b'0');
    match parse_decimal(value) {
        Ok(number) => Ok(number),
        Err(_) if is_zero => Ok(Exact::zero()),
        Err(_) => Err(format!(
            "{name} '{value}' is not a number; give a decimal number from 0 such as 25 or 0.3"
        )),
    }
}

fn parse_count(name: &str, value: &str, most: u32) -> Result<Given, String> {
    let count = value.parse().ok().filter(|count| (1..=most).contains(count));
    count.map(Given::Count).ok_or_else(|| {
        format!("{name} '{value}' is not possible; give a whole number from 1 to {most}")
    })
}

fn parse_word(name: &str, value: &str, words: &[&'static str]) -> Result<Given, String> {
    words
        .iter()
        .find(|word| **word == value)
        .map(|word| Given::Word(word))
        .ok_or_else(|| format!("{name} '{value}' is unknown; use {}", words.join(", ")))
}
