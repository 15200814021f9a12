//! Measures the machine that it runs on: how long requests to a file take past the page cache and within it, and what
//! memory, page faults and TLB misses cost. Linux only.
//!
//! A measurement is a list of steps. Its caller runs them one after the other and so decides about progress and
//! interruption; each gives points. A storage measurement says before its first step how much it will write, and its
//! file has no name from the moment it exists, so that nothing is left behind however it ends.
//!
//! This crate needs `unsafe` for two things that no safe interface offers. One is memory that is mapped by hand, in
//! pages of a chosen size and from a chosen file (`region.rs`). The other is requests to the kernel's ring
//! (`direct.rs`).

#[cfg(not(target_os = "linux"))]
compile_error!("clockhand-measure needs Linux");

mod direct;
mod error;
mod machine;
mod memory;
mod point;
mod random;
mod region;
mod storage;
mod target;

pub use error::MeasureError;
pub use machine::Machine;
pub use memory::MemoryMeasurement;
pub use point::{PERCENTILES, Point};
pub use storage::{StorageMeasurement, StorageOptions};

/// Sizes of requests and copies in bytes: 4 KiB to 1 MiB, doubling.
pub const SIZES_BYTES: [usize; 9] =
    [4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20];
