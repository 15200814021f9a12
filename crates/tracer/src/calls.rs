//! The calls that are followed, and what their arguments are.

/// What an argument is, as far as it matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Argument {
    /// Nothing that matters.
    Any,
    /// A number, written as the kernel takes it.
    Number,
    /// A number that may be negative.
    Signed,
    /// A descriptor whose file matters.
    File,
    /// A descriptor of which only the number matters.
    Descriptor,
    /// The name of a file, below the working folder; its last link is followed or not.
    Path { follows: bool },
    /// The folder of the name in the next argument, which is written with it.
    Folder,
    /// The name of a file, below the folder in the argument before.
    PathIn,
    /// Where an offset is, or null.
    Offset,
    /// Flags; only those that matter are written.
    Flags(&'static [(u64, &'static str)]),
    /// The way a file is opened: one of three accesses, and flags.
    Opening,
    /// Where a structure begins with such flags.
    OpeningAt,
    /// Where a structure begins with flags.
    FlagsAt(&'static [(u64, &'static str)]),
    /// The command of `fcntl`, and its argument.
    Control,
    /// The commands of `ioctl` that close a descriptor at exec, or keep it.
    CloseOnExec,
    /// From where `lseek` counts.
    Whence,
}

/// A call that is followed.
pub(crate) struct Followed {
    pub(crate) number: i64,
    pub(crate) name: &'static str,
    pub(crate) arguments: &'static [Argument],
    pub(crate) kind: Kind,
}

/// The work when a call has returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Its line is written.
    Plain,
    /// Its line is written unless no descriptor of it is of a file.
    Transfer,
    /// Its line is written with the file that it opened, and then what that is.
    Open,
    /// Its line was written when it made a thread.
    Make,
    /// Its line is written when it begins, as if it had succeeded: a failure changes nothing, and a
    /// thread that need not stop at its end goes on sooner.
    Early,
}

/// The flags of `open` that matter, besides the access.
pub(crate) const OPEN_FLAGS: &[(u64, &str)] = &[
    (libc::O_CREAT as u64, "O_CREAT"),
    (libc::O_EXCL as u64, "O_EXCL"),
    (libc::O_TRUNC as u64, "O_TRUNC"),
    (libc::O_APPEND as u64, "O_APPEND"),
    (libc::O_CLOEXEC as u64, "O_CLOEXEC"),
    (libc::O_DIRECT as u64, "O_DIRECT"),
    (libc::O_TMPFILE as u64, "O_TMPFILE"),
];

/// The flags of `clone` that matter.
pub(crate) const CLONE_FLAGS: &[(u64, &str)] = &[
    (libc::CLONE_VM as u64, "CLONE_VM"),
    (libc::CLONE_FILES as u64, "CLONE_FILES"),
    (libc::CLONE_THREAD as u64, "CLONE_THREAD"),
];

const ALLOCATION: &[(u64, &str)] = &[
    (libc::FALLOC_FL_KEEP_SIZE as u64, "FALLOC_FL_KEEP_SIZE"),
    (libc::FALLOC_FL_PUNCH_HOLE as u64, "FALLOC_FL_PUNCH_HOLE"),
    (libc::FALLOC_FL_COLLAPSE_RANGE as u64, "FALLOC_FL_COLLAPSE_RANGE"),
    (libc::FALLOC_FL_ZERO_RANGE as u64, "FALLOC_FL_ZERO_RANGE"),
    (libc::FALLOC_FL_INSERT_RANGE as u64, "FALLOC_FL_INSERT_RANGE"),
    (libc::FALLOC_FL_UNSHARE_RANGE as u64, "FALLOC_FL_UNSHARE_RANGE"),
];
const MAPPING: &[(u64, &str)] =
    &[(libc::MAP_ANONYMOUS as u64, "MAP_ANONYMOUS"), (libc::MAP_SHARED as u64, "MAP_SHARED")];
const ADVICE: &[(u64, &str)] = &[(libc::MADV_DONTNEED as u64, "MADV_DONTNEED")];
const MEMORY_SYNC: &[(u64, &str)] = &[(libc::MS_SYNC as u64, "MS_SYNC")];
const REMOVAL: &[(u64, &str)] = &[(libc::AT_REMOVEDIR as u64, "AT_REMOVEDIR")];
const RENAMING: &[(u64, &str)] = &[(libc::RENAME_EXCHANGE as u64, "RENAME_EXCHANGE")];
const CLOSING: &[(u64, &str)] = &[(4, "CLOSE_RANGE_CLOEXEC")];

use Argument::{
    Any, CloseOnExec, Control, Descriptor, File, Flags, FlagsAt, Folder, Number, Offset, Opening,
    OpeningAt, PathIn, Signed, Whence,
};
use Kind::{Early, Make, Open, Plain, Transfer};

const PATH: Argument = Argument::Path { follows: false };
const FOLLOWED_PATH: Argument = Argument::Path { follows: true };

const fn call(
    number: i64,
    name: &'static str,
    kind: Kind,
    arguments: &'static [Argument],
) -> Followed {
    Followed { number, name, arguments, kind }
}

/// All of them.
pub(crate) const FOLLOWED: &[Followed] = &[
    call(libc::SYS_read, "read", Transfer, &[File, Any, Number]),
    call(libc::SYS_pread64, "pread64", Transfer, &[File, Any, Number, Number]),
    call(libc::SYS_readv, "readv", Transfer, &[File, Any, Number]),
    call(libc::SYS_preadv, "preadv", Transfer, &[File, Any, Number, Number]),
    call(libc::SYS_preadv2, "preadv2", Transfer, &[File, Any, Number, Signed]),
    call(libc::SYS_write, "write", Transfer, &[File, Any, Number]),
    call(libc::SYS_pwrite64, "pwrite64", Transfer, &[File, Any, Number, Number]),
    call(libc::SYS_writev, "writev", Transfer, &[File, Any, Number]),
    call(libc::SYS_pwritev, "pwritev", Transfer, &[File, Any, Number, Number]),
    call(libc::SYS_pwritev2, "pwritev2", Transfer, &[File, Any, Number, Signed]),
    call(libc::SYS_sendfile, "sendfile", Transfer, &[File, File, Offset, Number]),
    call(
        libc::SYS_copy_file_range,
        "copy_file_range",
        Transfer,
        &[File, Offset, File, Offset, Number],
    ),
    call(libc::SYS_splice, "splice", Transfer, &[File, Offset, File, Offset, Number]),
    call(libc::SYS_fsync, "fsync", Transfer, &[File]),
    call(libc::SYS_fdatasync, "fdatasync", Transfer, &[File]),
    call(libc::SYS_sync, "sync", Plain, &[]),
    call(libc::SYS_syncfs, "syncfs", Plain, &[Descriptor]),
    call(libc::SYS_msync, "msync", Plain, &[Number, Number, Flags(MEMORY_SYNC)]),
    call(libc::SYS_sync_file_range, "sync_file_range", Transfer, &[File, Number, Number]),
    call(libc::SYS_ftruncate, "ftruncate", Transfer, &[File, Number]),
    call(libc::SYS_truncate, "truncate", Plain, &[FOLLOWED_PATH, Number]),
    call(libc::SYS_fallocate, "fallocate", Transfer, &[File, Flags(ALLOCATION), Number, Number]),
    call(libc::SYS_openat, "openat", Open, &[Folder, PathIn, Opening]),
    call(libc::SYS_openat2, "openat2", Open, &[Folder, PathIn, OpeningAt]),
    call(libc::SYS_close, "close", Early, &[Descriptor]),
    call(libc::SYS_close_range, "close_range", Plain, &[Number, Number, Flags(CLOSING)]),
    call(libc::SYS_dup, "dup", Plain, &[File]),
    call(libc::SYS_dup3, "dup3", Plain, &[File, Number, Opening]),
    call(libc::SYS_fcntl, "fcntl", Plain, &[File, Control]),
    // Two of its many uses do what fcntl does, and are written so.
    call(libc::SYS_ioctl, "fcntl", Plain, &[File, CloseOnExec]),
    call(libc::SYS_lseek, "lseek", Transfer, &[File, Signed, Whence]),
    call(libc::SYS_unlinkat, "unlinkat", Plain, &[Folder, PathIn, Flags(REMOVAL)]),
    call(libc::SYS_renameat, "renameat", Plain, &[Folder, PathIn, Folder, PathIn]),
    call(
        libc::SYS_renameat2,
        "renameat2",
        Plain,
        &[Folder, PathIn, Folder, PathIn, Flags(RENAMING)],
    ),
    call(libc::SYS_linkat, "linkat", Plain, &[Folder, PathIn, Folder, PathIn]),
    call(libc::SYS_mmap, "mmap", Plain, &[Number, Number, Any, Flags(MAPPING), File, Number]),
    call(libc::SYS_munmap, "munmap", Plain, &[Number, Number]),
    call(libc::SYS_mremap, "mremap", Plain, &[Number, Number, Number]),
    call(libc::SYS_io_submit, "io_submit", Plain, &[]),
    call(libc::SYS_io_uring_enter, "io_uring_enter", Plain, &[]),
    call(libc::SYS_clone, "clone", Make, &[Flags(CLONE_FLAGS)]),
    call(libc::SYS_clone3, "clone3", Make, &[FlagsAt(CLONE_FLAGS)]),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_open, "open", Open, &[PATH, Opening]),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_creat, "creat", Open, &[PATH]),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_dup2, "dup2", Plain, &[File, Number]),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_unlink, "unlink", Plain, &[PATH]),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_rename, "rename", Plain, &[PATH, PATH]),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_link, "link", Plain, &[PATH, PATH]),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_fork, "fork", Make, &[]),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_vfork, "vfork", Make, &[]),
];

/// Further calls that matter when references to memory are captured too.
const FOLLOWED_WITH_MEMORY: &[Followed] = &[
    call(libc::SYS_brk, "brk", Plain, &[Number]),
    call(libc::SYS_madvise, "madvise", Plain, &[Number, Number, Flags(ADVICE)]),
];

/// The call of a number; none if it is not followed.
pub(crate) fn followed(number: u64) -> Option<&'static Followed> {
    let number = i64::try_from(number).ok()?;
    FOLLOWED.iter().chain(FOLLOWED_WITH_MEMORY).find(|followed| followed.number == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_stands_once() {
        let all: Vec<&Followed> = FOLLOWED.iter().chain(FOLLOWED_WITH_MEMORY).collect();
        for (place, one) in all.iter().enumerate() {
            for other in &all[place + 1..] {
                assert_ne!((one.number, one.name), (other.number, other.name));
            }
            assert_eq!(followed(one.number as u64).map(|found| found.name), Some(one.name));
        }
        assert!(followed(u64::MAX).is_none());
    }
}
