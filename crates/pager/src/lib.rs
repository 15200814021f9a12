//! The policies of the catalog on real memory: a user-space pager for Linux.
//!
//! A [`PagedRegion`] is memory of this process of which only so many pages are resident as there are frames; the
//! rest is in a [`store`]. The server gives such memory to other programs, which need not be changed.

mod affinity;
mod connection;
mod driver;
mod frames;
mod memory_file;
mod pager;
mod program_memory;
mod reference_log;
mod region;
mod server;
mod statistics;
pub mod store;
mod userfault;
mod userfault_memory;

pub use clockhand_pager_protocol::SOCKET_VARIABLE;
pub use driver::{MIN_FRAMES, Progress, Settings};
pub use pager::{Event, EventSink, InitialPages, PagerError, Paging, Parts};
pub use program_memory::ProgramMemory;
pub use reference_log::ReferenceLog;
pub use region::{PagedRegion, RegionError};
pub use server::{PagedProcess, Server, Swap};
pub use statistics::{Counts, Times};
pub use userfault::obstacle;
