//! Facts of Linux's block layer about a request, in any printed or stored form.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::decode::lines::Line;
use crate::decode::output::{Fault, Output};
use crate::decode::units;
use crate::event::{Action, Event};
use crate::report::ReadReport;
use crate::request::Op;

/// What a request asks for, by its letters (RWBS).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Asked {
    /// True if the device's cache is written first.
    pub(crate) flushes_first: bool,
    pub(crate) what: What,
}

/// What is done with the sectors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    Read,
    Write,
    /// A write that forces unit access.
    ForcedWrite,
    Discard,
    /// A write at the place where the zone's last one ended.
    Append,
    /// All data of a zone is gone.
    Reset,
    /// Anything else, by its name in the plural.
    Other(&'static str),
}

const NO_DATA: &str = "requests without data";
const OF_ZONES: &str = "zones that are opened, closed, finished or reset together";

impl Asked {
    /// Reads letters such as `FWFS` by their places: a flush first, what is done, how.
    pub(crate) fn of_letters(letters: &[u8]) -> Self {
        let behind_flush = letters.strip_prefix(b"F");
        let flushes_first = behind_flush.is_some();
        let what = match behind_flush.unwrap_or(letters) {
            [b'R', ..] => What::Read,
            [b'W', how @ ..] if how.contains(&b'F') => What::ForcedWrite,
            [b'W', ..] => What::Write,
            [b'D', ..] => What::Discard,
            [b'Z', b'A', ..] => What::Append,
            [b'Z', b'R', b'A', ..] => What::Other(OF_ZONES),
            [b'Z', b'R', ..] => What::Reset,
            [b'Z', ..] => What::Other(OF_ZONES),
            _ => What::Other(NO_DATA),
        };
        Self { flushes_first, what }
    }
}

/// A request of the block layer.
#[derive(Clone, Copy)]
pub(crate) struct BlockRequest {
    pub(crate) stream: u32,
    pub(crate) time_ns: Option<u64>,
    pub(crate) asked: Asked,
    /// First sector and number of sectors, of 512 bytes; none if no data is moved.
    pub(crate) sectors: Option<(u64, u64)>,
}

/// Turns requests of the block layer into requests and events.
#[derive(Default)]
pub(crate) struct BlockRequests {
    /// Sectors that were appended to a zone, by stream and first sector.
    appended: FxHashMap<(u32, u64), u64>,
}

impl BlockRequests {
    /// Puts what a request does into the output.
    pub(crate) fn tell(
        &mut self,
        request: BlockRequest,
        output: &mut Output,
    ) -> Result<Line, Fault> {
        let BlockRequest { stream, time_ns, asked, sectors } = request;
        let event = |action| Event { object: stream, time_ns, action };
        if asked.flushes_first {
            output.event(event(Action::Sync))?;
        }
        let passed = |what, output: &mut Output| {
            if asked.flushes_first {
                return Ok(Line::Taken);
            }
            output.report.pass_over(what);
            Ok(Line::Passed)
        };
        let Some((sector, sectors)) = sectors else {
            return passed(NO_DATA, output);
        };
        let op = match asked.what {
            What::Other(what) => return passed(what, output),
            What::Discard | What::Reset => {
                self.appended.remove(&(stream, sector));
                let (address, bytes) = units::long_sector_range(sector, sectors)?;
                output.event(event(Action::Discard { address, bytes }))?;
                return Ok(Line::Taken);
            }
            What::Read => Op::Read,
            What::Write | What::ForcedWrite | What::Append => Op::Write,
        };
        let mut first = sector;
        if asked.what == What::Append {
            let appended = self.appended.entry((stream, sector)).or_default();
            first = sector.saturating_add(*appended);
            *appended = appended.saturating_add(sectors);
        }
        let (address, size_bytes) = units::sector_range(first, sectors)?;
        output.event_of(size_bytes, |offset, bytes| {
            let address = address.saturating_add(offset);
            event(match asked.what {
                What::ForcedWrite => Action::ForcedWrite { address, bytes },
                _ => Action::Memory { op, address, bytes },
            })
        })?;
        Ok(Line::Taken)
    }
}

/// Devices that are built on others, which both show what programs asked for; it is to be counted once.
#[derive(Default)]
pub(crate) struct StackedDevices {
    /// Devices that requests were taken of.
    asked: FxHashSet<u32>,
    last_asked: Option<u32>,
    /// Requests that a device passed on to one below, by that one's stream and sector.
    passed_on: FxHashSet<(u32, u64)>,
    counted_once: u64,
}

impl StackedDevices {
    /// A device passes a request on to the one below; what that one shows of it is counted already.
    pub(crate) fn pass_on(&mut self, upper: u32, below: u32, sector: u64) {
        /// So many requests can be on their way from a device to the one below.
        const LIMIT_PASSED_ON: usize = 1 << 20;
        if self.asked.contains(&upper) && self.passed_on.len() < LIMIT_PASSED_ON {
            self.passed_on.insert((below, sector));
        }
    }

    /// Returns whether any request is on its way from a device to one below.
    pub(crate) fn has_passed_on(&self) -> bool {
        !self.passed_on.is_empty()
    }

    /// Takes a request of a device; true if it is counted already.
    pub(crate) fn is_counted(&mut self, stream: u32, sector: u64) -> bool {
        let is_counted = self.has_passed_on() && self.passed_on.remove(&(stream, sector));
        self.counted_once += u64::from(is_counted);
        // The device below may itself be built on another.
        self.take(stream);
        is_counted
    }

    /// A request of a device is taken.
    #[inline]
    pub(crate) fn take(&mut self, stream: u32) {
        if self.last_asked != Some(stream) {
            self.asked.insert(stream);
            self.last_asked = Some(stream);
        }
    }

    /// Says what was counted once.
    pub(crate) fn note(&self, report: &mut ReadReport) {
        if self.counted_once > 0 {
            report.notes.push(format!(
                "{} requests went through devices that are built on others; each is counted once, where programs \
                 asked for it",
                self.counted_once
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_read_by_their_places() {
        for (letters, flushes_first, what) in [
            ("R", false, What::Read),
            ("RA", false, What::Read),
            ("RAM", false, What::Read),
            ("WS", false, What::Write),
            ("WFS", false, What::ForcedWrite),
            ("FWS", true, What::Write),
            ("FWFS", true, What::ForcedWrite),
            ("D", false, What::Discard),
            ("DES", false, What::Discard),
            ("ZA", false, What::Append),
            ("ZAS", false, What::Append),
            ("ZR", false, What::Reset),
            ("ZRA", false, What::Other(OF_ZONES)),
            ("ZF", false, What::Other(OF_ZONES)),
            ("N", false, What::Other(NO_DATA)),
            ("NR", false, What::Other(NO_DATA)),
            ("FN", true, What::Other(NO_DATA)),
            ("F", true, What::Other(NO_DATA)),
            ("", false, What::Other(NO_DATA)),
        ] {
            assert_eq!(
                Asked::of_letters(letters.as_bytes()),
                Asked { flushes_first, what },
                "{letters}"
            );
        }
    }
}
