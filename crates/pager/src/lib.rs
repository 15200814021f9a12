//! The policies of the catalog on real memory: a user-space pager for Linux.
//!
//! A [`PagedRegion`] is memory of this process with at most as many resident pages as there are frames; the
//! rest is in a [`store`]. The server gives such memory to other programs, which need not be changed.
//!
//! ```
//! use std::time::Duration;
//!
//! use clockhand_pager::store::{CompressedRam, DEFAULT_LEVEL};
//! use clockhand_pager::{Bits, Event, PagedRegion, PredictorSet, Settings, obstacle};
//! use clockhand_policy::Ratio;
//! use clockhand_policy::catalog::PolicySpec;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! if let Some(sentence) = obstacle() {
//!     eprintln!("SKIPPED: {sentence}");
//!     return Ok(());
//! }
//! let (pages, frames, reserve) = (1024, 64, 8);
//! let policy = PolicySpec::parse("craw")?.resolve(frames - reserve, Ratio::whole(8))?;
//! let settings = Settings { policy, frames, reserve, read_ahead: 0,
//!     predictors: PredictorSet::ALL, bits: Bits::Mapped, patience: Duration::from_secs(5) };
//! let store = CompressedRam::new(DEFAULT_LEVEL, None)?.store()?;
//! let region = PagedRegion::new(pages, settings, Box::new(store), Box::new(|_: Event| {}))?;
//!
//! // SAFETY: nothing else uses the region's memory, and the region outlives the slice.
//! let memory = unsafe { std::slice::from_raw_parts_mut(region.as_ptr(), region.bytes()) };
//! memory.fill(7);
//! assert!(memory.iter().all(|&byte| byte == 7));
//!
//! let counts = region.finish().counts;
//! assert!(counts.pages_read >= u64::from(pages - frames));
//! assert!(counts.peak_resident_pages <= u64::from(frames));
//! # Ok(())
//! # }
//! ```

mod anonymous;
mod any_memory;
mod connection;
mod control;
mod device_reads;
mod driver;
mod frames;
mod given_away;
mod inherited_socket;
mod memory_file;
mod pace;
mod pager;
mod parts;
mod program_memory;
mod region;
mod server;
mod settings;
mod statistics;
pub mod store;
mod translations;
mod unpaged;
mod userfault;
mod userfault_memory;

pub use clockhand_pager_protocol::{PAGE_BYTES, SOCKET_VARIABLE};
pub use clockhand_prefetch::{Predictor, PredictorSet};
pub use control::Progress;
pub use pager::Pager;
pub use parts::{Event, EventSink, InitialPages, PagerError, Parts};
pub use program_memory::ProgramMemory;
pub use region::{PagedRegion, RegionError};
pub use server::{EventLog, PagedProcess, Server, Swap};
pub use settings::{Bits, MIN_FRAMES, Settings};
pub use statistics::{Counts, Times};
pub use translations::{Seen, Translations};
pub use userfault::obstacle;
