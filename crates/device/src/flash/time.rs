//! Time in a drive: when each operation begins and ends, and how long requests wait.
//!
//! The decisions are those of the counting drive: a [`TimedDrive`] listens to the same translation layer and lays what it
//! decides over channels and dies, event by event, in whole nanoseconds. A [`Workload`] brings the requests and decides
//! for each, through a [`Decision`], what happens in the buffer.

mod actions;
mod blocks;
mod deadlines;
mod decision;
mod dies;
mod drive;
mod ends;
mod engine;
mod flushes;
mod issue;
mod latencies;
mod listener;
mod marks;
mod memories;
mod operation;
mod options;
mod phases;
mod requests;
mod slab;
mod starts;
mod waits;

pub use decision::{Decision, FlushedFrom};
pub use drive::{Arrivals, TimedDrive, TimedError, Timing, Workload};
pub use latencies::Latencies;
pub use memories::Medium;
pub use operation::{OperationKind, OperationRecord, Role};
pub use options::{MemoryTimes, Scheduling, SlcTimes, Suspend, TimeOptions, Times, transfer_ns};
pub use requests::{Asked, CompletedRequest, RequestKind, WaitCause};
