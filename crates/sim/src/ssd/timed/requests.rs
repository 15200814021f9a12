//! The requests of a placed trace, one after the other: ranges that belong together, and commands.

use std::ops::Range;

use clockhand_device::flash::time::RequestKind;

use crate::ssd::placement::{PageRange, Placed, PlacedCommand};

/// A request, as positions in the placed trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// These ranges.
    Ranges(Range<usize>),
    /// These commands.
    Commands(Range<usize>),
}

impl Item {
    /// What it wants, from which page on, and of how many.
    pub(super) fn shape(&self, trace: &Placed) -> (RequestKind, u32, u32) {
        match self {
            Item::Ranges(ranges) => {
                let ranges = &trace.ranges[ranges.clone()];
                let kind = match (ranges[0].is_write(), ranges[0].is_forced()) {
                    (false, _) => RequestKind::Read,
                    (true, false) => RequestKind::Write,
                    (true, true) => RequestKind::ForcedWrite,
                };
                let pages = ranges.iter().map(|range| range.pages().len() as u32).sum();
                (kind, ranges[0].first, pages)
            }
            Item::Commands(commands) => {
                let mut shape = (RequestKind::Flush, 0, 0);
                for (_, command) in &trace.commands[commands.clone()] {
                    if let PlacedCommand::Trim(pages) = command {
                        let first =
                            if shape.0 == RequestKind::Trim { shape.1 } else { pages.start };
                        shape = (RequestKind::Trim, first, shape.2 + pages.len() as u32);
                    }
                }
                shape
            }
        }
    }
}

/// How many requests a trace has.
pub(in crate::ssd) fn count(trace: &Placed) -> u64 {
    let requests = trace.ranges.iter().filter(|range| !range.continues()).count();
    let commands = trace.command_numbers.last().map_or(0, |last| u64::from(*last) + 1);
    requests as u64 + commands
}

/// A place in the sequence of requests, which begins again at its end.
#[derive(Debug, Default)]
pub(super) struct Cursor {
    range: usize,
    command: usize,
}

impl Cursor {
    /// The ranges from here to the end.
    pub(super) fn ranges<'a>(&self, trace: &'a Placed) -> &'a [PageRange] {
        &trace.ranges[self.range..]
    }

    /// The request here; the cursor moves on.
    pub(super) fn next(&mut self, trace: &Placed) -> Item {
        if self.range == trace.ranges.len() && self.command == trace.commands.len() {
            *self = Cursor::default();
        }
        if let Some((before, _)) = trace.commands.get(self.command)
            && *before <= self.range
        {
            let first = self.command;
            let number = trace.command_numbers[first];
            let rest = &trace.command_numbers[first..];
            self.command += rest.iter().take_while(|other| **other == number).count();
            return Item::Commands(first..self.command);
        }
        let first = self.range;
        let rest = &trace.ranges[first + 1..];
        self.range += 1 + rest.iter().take_while(|range| range.continues()).count();
        Item::Ranges(first..self.range)
    }
}
