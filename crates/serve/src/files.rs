//! The files of a server: opened, locked, checked against each other, and recovered.

mod lock;
mod medium;
mod opening;
mod pair;

pub use lock::Lock;
pub use medium::{FileMedium, Syncer};
pub(crate) use opening::PAGE_BYTES;
pub use opening::{Opened, Opening, Recovered, open};
pub(crate) use pair::unmark;
