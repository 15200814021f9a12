//! Why a store cannot be opened.

use std::io;
use std::path::PathBuf;

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The swap file cannot be opened, created, locked or written.
    #[error("cannot {action} the swap file {}: {source}", path.display())]
    File {
        /// What could not be done.
        action: &'static str,
        /// The swap file.
        path: PathBuf,
        /// The kernel's reason.
        source: io::Error,
    },
    /// The name belongs to a device, a directory, a pipe.
    #[error(
        "{} is not a regular file, and a swap file must be one: give the name of a file; on a drive, make a file \
         system first",
        .0.display()
    )]
    NotRegular(PathBuf),
    /// The file holds other data.
    #[error("{} is not empty and not a Clockhand swap file: give another name, or remove it", .0.display())]
    Foreign(PathBuf),
    /// The name is a symbolic link.
    #[error("{} is a symbolic link, which others may turn elsewhere: give the name of the swap file itself", .0.display())]
    Link(PathBuf),
    /// The file has other names (hard links), through which others may reach it.
    #[error("{} has {names} names (hard links), and a swap file must have one: remove it or give another name", path.display())]
    ManyNames {
        /// The swap file.
        path: PathBuf,
        /// The number of names it has.
        names: u64,
    },
    /// The file belongs to another user, who could read the memory of the programs.
    #[error("{} belongs to user {owner}, who could read the programs' memory: give another name, or remove it", path.display())]
    OtherOwner {
        /// The swap file.
        path: PathBuf,
        /// Its owner.
        owner: u32,
    },
    /// Others may read or write the file.
    #[error(
        "{} has mode {mode:04o}, so that others could read or change the programs' memory: `chmod 600` it, or give another \
         name",
        path.display()
    )]
    Mode {
        /// The swap file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// Another run has locked the file.
    #[error(
        "{} is the swap file of another run: give another name, or wait until that run has ended",
        .0.display()
    )]
    InUse(PathBuf),
    /// The limit leaves no room for a page.
    #[error(
        "a store of at most {limit_bytes} bytes holds no page: allow at least {least_bytes} bytes"
    )]
    LimitTooSmall {
        /// The limit that was given.
        limit_bytes: u64,
        /// The smallest one that works.
        least_bytes: u64,
    },
    /// The kernel has no io_uring for this process.
    #[error(
        "the kernel refuses io_uring ({0}): set `sysctl kernel.io_uring_disabled=0`, or in a container use a seccomp \
         profile that permits it, or keep pages in compressed memory instead of a swap file"
    )]
    IoUringRefused(io::Error),
    /// The kernel could not make a ring or compressor.
    #[error("cannot set up {what}: {source}")]
    SetUp {
        /// What could not be set up.
        what: &'static str,
        /// The reason.
        source: io::Error,
    },
    /// zstd has no such level.
    #[error("zstd has no level {level}: give one from {least} to {most}")]
    Level {
        /// The level that was given.
        level: i32,
        /// The lowest.
        least: i32,
        /// The highest.
        most: i32,
    },
}
