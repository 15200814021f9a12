//! Pages that are kept apart on flash: which class a page belongs to.

use super::geometry::LogicalPage;
use super::mapping_options::Separation;

/// The classes of all pages.
#[derive(Debug, Clone)]
pub(super) enum Classes {
    Streams {
        streams: u8,
        /// By page: the class of the stream that wrote it last, whether or not that version is on flash yet.
        wanted: Vec<u8>,
        /// By page: the class of the version on flash.
        on_flash: Vec<u8>,
    },
    Temperature {
        hot_within: u64,
        /// By page: the host write that wrote it last, counted from 1; 0 if none did.
        written: Vec<u64>,
    },
}

/// The class of pages that are written again soon.
const HOT: usize = 1;
const COLD: usize = 0;

impl Classes {
    /// None if no pages are kept apart.
    pub(super) fn new(separation: Separation, logical_pages: u32) -> Option<Classes> {
        let pages = logical_pages as usize;
        match separation {
            Separation::Off => None,
            Separation::Stream(streams) => {
                Some(Classes::Streams { streams, wanted: vec![0; pages], on_flash: vec![0; pages] })
            }
            Separation::Temperature { hot_within } => Some(Classes::Temperature {
                hot_within: hot_within.unwrap_or(logical_pages).into(),
                written: vec![0; pages],
            }),
        }
    }

    /// A stream, by its position among those of the trace, wrote a page.
    pub(super) fn wrote(&mut self, page: LogicalPage, stream: u32) {
        if let Classes::Streams { streams, wanted, .. } = self {
            wanted[page.0 as usize] = (stream % u32::from(*streams)) as u8;
        }
    }

    /// The class of a page that is about to be programmed for the host, by host write `clock`.
    pub(super) fn of_written(&self, page: LogicalPage, clock: u64) -> usize {
        match self {
            Classes::Streams { wanted, .. } => wanted[page.0 as usize].into(),
            Classes::Temperature { .. } => self.of_moved(page, clock),
        }
    }

    /// The class of a page that is moved during host write `clock`.
    pub(super) fn of_moved(&self, page: LogicalPage, clock: u64) -> usize {
        match self {
            Classes::Streams { on_flash, .. } => on_flash[page.0 as usize].into(),
            Classes::Temperature { hot_within, written } => match written[page.0 as usize] {
                0 => COLD,
                last if clock - last <= *hot_within => HOT,
                _ => COLD,
            },
        }
    }

    /// A page was programmed for the host, by host write `clock`.
    pub(super) fn programmed(&mut self, page: LogicalPage, clock: u64) {
        let page = page.0 as usize;
        match self {
            Classes::Streams { wanted, on_flash, .. } => on_flash[page] = wanted[page],
            Classes::Temperature { written, .. } => written[page] = clock,
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        match self {
            Classes::Streams { wanted, on_flash, .. } => wanted.len() + on_flash.len(),
            Classes::Temperature { written, .. } => size_of_val(&**written),
        }
    }
}
