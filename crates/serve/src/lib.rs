//! A write buffer as a block device: an NBD server whose buffer is the very code that `clockhand ssd` simulates.
//!
//! ```text
//! server     sockets, TLS, connections, the threads that read, write and sync beside the engine
//! protocol   messages of NBD, without I/O
//! engine     requests of bytes → references of pages → steps, carried out
//! store      disk and NVM file: what is durable, and how it is recovered
//! files      opened, locked, compared with each other
//! ```

mod buffer;
mod engine;
mod error;
pub mod files;
pub mod latency;
#[cfg(test)]
mod model;
pub mod protocol;
mod server;
pub mod store;

pub use buffer::ServedBuffer;
pub use engine::{
    Counts, DiskRead, Engine, Extent, Fill, Recorded, Recorder, Refused, Run, StatusKind,
};
pub use error::ServeError;
pub use server::{Ended, Options, Place, Report, Server, Teller, TlsFiles};
