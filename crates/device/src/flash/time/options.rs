//! Times and scheduling of a drive.

use num_traits::ToPrimitive;

use crate::exact::Exact;
use crate::flash::options::MinimumFree;

/// How long a page of a memory takes. Unit: nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryTimes {
    /// To read a page.
    pub read_ns: u64,
    /// To write a page.
    pub write_ns: u64,
}

/// How long the operations of a block take that holds one bit per cell. Unit: nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlcTimes {
    /// To read a page.
    pub read_ns: u64,
    /// To program a page.
    pub program_ns: u64,
    /// To erase a block.
    pub erase_ns: u64,
}

/// How long the parts of a drive take. Unit: nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Times {
    /// To read a page, by page type; at least one.
    pub read_ns: Vec<u64>,
    /// To program a page, by page type; at least one.
    pub program_ns: Vec<u64>,
    /// To erase a block.
    pub erase_ns: u64,
    /// A command on a channel.
    pub command_ns: u64,
    /// A page on a channel.
    pub transfer_ns: u64,
    /// Until a suspended operation has stopped.
    pub suspend_ns: u64,
    /// Until a resumed operation goes on.
    pub resume_ns: u64,
    /// A request in the front end.
    pub request_ns: u64,
    /// The rest after which collection in the background begins.
    pub idle_ns: u64,
    /// The link to the host; without one, transfers take no time. Unit: 10^6 bytes per second.
    pub link_mb_s: Option<Exact>,
    /// The volatile memory.
    pub dram: MemoryTimes,
    /// The non-volatile memory of a write buffer.
    pub nvm: MemoryTimes,
    /// The blocks with one bit per cell, if there are any.
    pub slc: Option<SlcTimes>,
}

impl Times {
    /// How long this many bytes take over the link.
    pub(super) fn link_ns(&self, bytes: u64) -> u64 {
        self.link_mb_s.as_ref().map_or(0, |mb_s| transfer_ns(bytes, mb_s))
    }
}

/// How long `bytes` take at `mb_s`, 10^6 bytes per second, rounded up to a nanosecond.
pub fn transfer_ns(bytes: u64, mb_s: &Exact) -> u64 {
    let ns = Exact::from_integer(u128::from(bytes) * 1_000) / mb_s;
    ns.ceil().to_integer().to_u64().unwrap_or(u64::MAX)
}

/// Which of two operations that are ready a die begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scheduling {
    /// The one that was issued first.
    #[default]
    Fifo,
    /// A read of the host.
    ReadFirst,
}

/// Which operations stop for a read of the host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Suspend {
    /// Erases.
    pub erase: bool,
    /// Programs.
    pub program: bool,
}

/// How a drive works in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeOptions {
    /// How long everything takes.
    pub times: Times,
    /// Which operation comes first.
    pub scheduling: Scheduling,
    /// Which operations stop for a read of the host.
    pub suspend: Suspend,
    /// The most suspensions of an operation.
    pub suspend_limit: u32,
    /// True if a page that moves within a plane is not read out of the die.
    pub copyback: bool,
    /// True if a page is transferred while the array programs the one before.
    pub cache_program: bool,
    /// Pages of a block that are programmed together, at least 1.
    pub pages_per_program: u32,
    /// Requests that are accepted and not complete, at most.
    pub queue_depth: u32,
    /// Erased blocks of a pool below which it is collected while it rests; none if collection only precedes writes.
    pub background_free: Option<MinimumFree>,
}

impl TimeOptions {
    /// The default of every option.
    pub fn new(times: Times) -> TimeOptions {
        TimeOptions {
            times,
            scheduling: Scheduling::Fifo,
            suspend: Suspend::default(),
            suspend_limit: 4,
            copyback: false,
            cache_program: false,
            pages_per_program: 1,
            queue_depth: 32,
            background_free: None,
        }
    }
}
