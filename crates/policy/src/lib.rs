//! Decisions and mechanism of memory replacement, and nothing else.
//!
//! A *policy* ([`page`]) is a pure state machine that says which page leaves; the *mechanism* ([`Memory`])
//! owns the page table, the dirty and pinned state and the pending victim, and carries decisions out.
//! A *write buffer* ([`buffer`]) decides which pages a flash drive holds back and which go to flash together.
//! Of two tiers of memory ([`tier`]) a policy decides who lives in the fast one.
//! None of them does I/O, reads a clock, counts, logs or allocates on a reference, so that a simulator, a
//! user-space pager, a kernel or a firmware can use the same code. The [`catalog`] is the table of
//! all policies.
//!
//! # A driver in twenty lines
//!
//! ```
//! use clockhand_policy::catalog::{Size, built};
//! use clockhand_policy::page::{Fault, clock::Clock};
//! use clockhand_policy::{Frame, Frames, Memory, Op, PageId, Ratio, Step};
//!
//! let size = Size { frames: 2, pages: 4 };
//! let policy: Clock = built("", size, Ratio::whole(8))?;
//! let mut memory = Memory::new(size.frames, size.pages, policy);
//! let (mut reads, mut writes) = (0, 0);
//! for (page, op) in [(0, Op::Write), (1, Op::Read), (0, Op::Read), (2, Op::Read), (3, Op::Read)] {
//!     let page = PageId(page);
//!     match memory.frame_of(page) {
//!         Frame::NONE => {
//!             while let Some(step) = memory.next_step(page, 1)? {
//!                 let (Step::WriteBack(frame) | Step::Evict(frame)) = step;
//!                 if memory.frames().is_dirty(frame) {
//!                     writes += 1; // Here a driver writes the page.
//!                     memory.written_back(frame);
//!                 }
//!                 if matches!(step, Step::Evict(_)) {
//!                     memory.commit_eviction();
//!                 }
//!             }
//!             reads += 1; // And here it reads one.
//!             memory.load(Fault::new(page, op));
//!         }
//!         frame => memory.hit(op, frame),
//!     }
//! }
//! // Page 1 left first, since page 0 had been referenced again; then page 0 left, which was dirty.
//! assert_eq!((reads, writes), (4, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Policies that learn of every hit, such as [`page::lru::Lru`], take `memory.access(op, frame)` instead of `hit`. If
//! the policy is chosen at run time, [`catalog::PolicySpec`] parses its name and passes it to a [`catalog::Visitor`] as
//! its concrete type. A policy with a [period](page::Capabilities::period) also wants a `tick`, which is in
//! [`memory::fast`].
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod buffer;
mod capabilities;
pub mod catalog;
mod counting;
mod frames;
mod ids;
pub mod memory;
pub mod own;
pub mod page;
pub mod parameters;
mod parts;
mod ratio;
mod residents;
pub mod tier;
#[cfg(test)]
mod worked_examples;

pub use frames::{FrameTable, Frames, HitBits, PageTable, Scans};
pub use ids::{Frame, LogicalPage, Op, PageId};
pub use memory::{AllPinned, Memory, PinRefused, Step};
pub use parts::SplitMix64;
pub use ratio::{Ratio, RatioError};
