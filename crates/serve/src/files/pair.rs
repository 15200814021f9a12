//! Ties an NVM file to its disk: by an attribute of the disk if its file system has attributes, otherwise by the disk's
//! inode.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{XattrFlags, fgetxattr, fremovexattr, fsetxattr};
use rustix::io::Errno;

const ATTRIBUTE: &str = "user.clockhand.nvm";

/// What a disk says of its NVM file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// Its newest pages are in this file.
    Pages(u128, PathBuf),
    /// Nothing.
    None,
    /// Its file system has no attributes.
    Unsupported,
}

/// Reads what a disk says.
///
/// # Errors
///
/// It cannot be read, or makes no sense.
pub(super) fn mark_of(disk: &File) -> io::Result<Mark> {
    let mut value = [0; 4096 + 64];
    let bytes = match fgetxattr(disk, ATTRIBUTE, &mut value) {
        Ok(bytes) => bytes,
        Err(Errno::NODATA) => return Ok(Mark::None),
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::PERM) => return Ok(Mark::Unsupported),
        Err(error) => return Err(error.into()),
    };
    let text = String::from_utf8_lossy(&value[..bytes]).into_owned();
    let parsed = text.split_once(' ').and_then(|(identity, path)| {
        Some(Mark::Pages(u128::from_str_radix(identity, 16).ok()?, path.into()))
    });
    parsed.ok_or_else(|| io::Error::other(format!("its attribute {ATTRIBUTE} is {text:?}")))
}

/// Says on a disk, durably, that its newest pages may be in this file.
///
/// # Errors
///
/// The disk's identity; none if it has no attributes.
pub(super) fn mark(disk: &File, identity: u128, path: &Path) -> io::Result<()> {
    let value = format!("{identity:032x} {}", path.display());
    match fsetxattr(disk, ATTRIBUTE, value.as_bytes(), XattrFlags::empty()) {
        Ok(()) => disk.sync_all(),
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::PERM) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The disk has every page again.
///
/// # Errors
///
/// That of the disk.
pub(crate) fn unmark(disk: &File) -> io::Result<()> {
    match fremovexattr(disk, ATTRIBUTE) {
        Ok(()) => disk.sync_all(),
        Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS | Errno::PERM) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
