//! The files of a server: opened, locked, checked against each other, and recovered.

mod disk;
mod lock;
mod medium;
mod nvm_file;
mod opening;
mod pair;

pub use lock::Lock;
pub use medium::{FileMedium, Syncer};
pub(crate) use opening::PAGE_BYTES;
pub use opening::{Opened, Opening, Recovered, open};
pub(crate) use pair::unmark;
