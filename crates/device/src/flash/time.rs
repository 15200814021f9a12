//! Time in a drive: when each operation begins and ends, and how long requests wait.
//!
//! The decisions are those of the counting drive: a [`TimedDrive`] listens to the same translation layer and lays what it
//! decides over channels and dies, event by event, in whole nanoseconds. A [`Workload`] brings the requests and decides
//! for each, through a [`Decision`], what happens in the buffer.

mod blocks;
mod dies;
mod drive;
mod engine;
mod flushes;
mod latencies;
mod listener;
mod memories;
mod operation;
mod options;
mod requests;
mod slab;

pub use drive::{Arrivals, Decision, FlushedFrom, TimedDrive, TimedError, Timing, Workload};
pub use latencies::Latencies;
pub use memories::Medium;
pub use operation::{OperationKind, OperationRecord, Role};
pub use options::{MemoryTimes, Scheduling, SlcTimes, Suspend, TimeOptions, Times, transfer_ns};
pub use requests::{Asked, CompletedRequest, RequestKind, WaitCause};
