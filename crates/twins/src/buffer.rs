//! Slow, literal twins of the write buffers (A-70 … A-76 and, where no rule names the buffer, the section on write
//! buffers beside them). A page is a number, a block is page / pages per block, and every search is a scan.

mod bpac;
mod cbm;
mod clock_dnv;
mod dram;
mod page_level;

use crate::State;
use crate::parameters::Parameters;

/// What the host wants, page by page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BufferRequest {
    /// A page is read.
    Read(u64),
    /// A page is written.
    Write(u64),
    /// A page is written with force unit access.
    ForceUnitAccess(u64),
    /// What was written must be persistent.
    Flush,
    /// A page's content is no longer needed.
    Trim(u64),
    /// Every dirty page goes to flash.
    Drain,
}

/// Where a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// In the buffer's volatile memory.
    Dram,
    /// In the buffer's non-volatile memory.
    Nvm,
    /// On flash only.
    Flash,
    /// In the request.
    Request,
}

/// A page that is written to flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flushed {
    /// The page.
    pub page: u64,
    /// True if it is newer than on flash.
    pub dirty: bool,
    /// Where its content comes from.
    pub from: Place,
    /// True if it stays in the buffer.
    pub stays: bool,
}

/// Something that happened before a request was served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BufferStep {
    /// These pages were written to flash as one batch.
    Flush(Vec<Flushed>),
    /// This page moved from DRAM to NVM.
    Migrate(u64),
    /// These clean pages were forgotten.
    Drop(Vec<u64>),
}

/// One request's outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BufferEvent {
    /// What happened first, in order.
    pub steps: Vec<BufferStep>,
    /// The place of the page when the request began, if it was buffered.
    pub hit: Option<Place>,
    /// Pages written to NVM, but for those that moved there.
    pub nvm_writes: u64,
}

/// How large a buffer is, in pages.
#[derive(Clone, Copy, Debug)]
pub struct BufferPages {
    /// DRAM and NVM together.
    pub total: usize,
    /// Pages of a block.
    pub per_block: u64,
}

/// A write buffer that learns of every request.
pub trait BufferTwin {
    /// The pages that will be written, in order; only `block-min` looks at them.
    fn foresee(&mut self, writes: &[u64]) {
        let _ = writes;
    }

    /// Applies one request and says what happened.
    fn request(&mut self, request: BufferRequest) -> BufferEvent;

    /// The complete state, with exactly the keys of the golden files.
    fn state(&self) -> State;

    /// The pages that are newer than on flash, ascending.
    fn dirty(&self) -> Vec<u64>;
}

/// Names of the buffers that have a twin, as the command writes them.
pub const BUFFERS: [&str; 15] = [
    "clock-dnv",
    "fab",
    "cbm",
    "bplru",
    "clc",
    "lb-clock",
    "pud-lru",
    "bpac",
    "block-min",
    "lru",
    "clock",
    "cflru",
    "lru-wsr",
    "craw",
    "credit-clock",
];

/// Builds the twin of `buffer` (a name of [`BUFFERS`]).
///
/// # Panics
///
/// On an unknown buffer or parameter, a value out of its range, or no page of a memory that the buffer needs.
pub fn build_buffer(
    buffer: &str,
    pages: BufferPages,
    parameters: &[(&str, &str)],
) -> Box<dyn BufferTwin> {
    let given = parameters;
    let mut parameters = Parameters::new(buffer, given);
    let twin: Box<dyn BufferTwin> = match buffer {
        "clock-dnv" => Box::new(clock_dnv::ClockDnv::new(pages, &mut parameters)),
        "cbm" => Box::new(cbm::Cbm::new(pages, &mut parameters)),
        "bpac" => Box::new(bpac::Bpac::new(pages, &mut parameters)),
        "fab" | "bplru" | "clc" | "lb-clock" | "pud-lru" | "block-min" => {
            Box::new(dram::DramBuffer::new(buffer, pages, &mut parameters))
        }
        "lru" | "clock" | "cflru" | "lru-wsr" | "craw" | "credit-clock" => {
            return Box::new(page_level::PageLevel::new(buffer, pages, given));
        }
        _ => panic!("there is no twin of write buffer `{buffer}`"),
    };
    parameters.expect_all_taken();
    twin
}

/// The pages of DRAM and of NVM: DRAM = max(1, floor(share · total)), NVM = the rest.
fn media(pages: BufferPages, parameters: &mut Parameters) -> (usize, usize) {
    let dram = parameters.share("dram_share", (1, 10), pages.total).max(1);
    assert!(dram < pages.total, "a hybrid buffer has DRAM and NVM");
    (dram, pages.total - dram)
}

/// Returns whether FLUSH and FUA are heeded.
fn is_safe(parameters: &mut Parameters) -> bool {
    parameters.choice("commands", &["paper", "safe", "protected"]) == 1
}
