//! Decisions and mechanism of memory replacement, and nothing else.
//!
//! A *policy* ([`page`]) is a pure state machine that says which page leaves; the *mechanism* ([`Memory`])
//! owns the page table, the dirty and pinned state and the pending victim, and carries decisions out.
//! A *write buffer* ([`buffer`]) decides which pages a flash drive holds back and which go to flash together.
//! None does I/O, reads a clock, counts, logs or allocates on a reference, so that a simulator, a
//! user-space pager, a kernel or a firmware can use the same code. The [`catalog`] is the one table of
//! what there is.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod buffer;
pub mod catalog;
mod counting;
mod frames;
mod ids;
mod memory;
pub mod page;
pub mod parameters;
mod parts;
mod ratio;
#[cfg(test)]
mod worked_examples;

pub use frames::{FrameTable, Frames, HitBits, PageTable};
pub use ids::{Frame, LogicalPage, Op, PageId};
pub use memory::{AllPinned, Memory, PinRefused, Step};
pub use parts::SplitMix64;
pub use ratio::{Ratio, RatioError};
