//! The disk: a file or a block device, made if it is missing.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use clockhand_quantity::{Text, option};
use rustix::fs::{RenameFlags, renameat_with};

use super::lock::Lock;
use super::opening::{
    Opening, PAGE_BYTES, beside, create, failed, refused, sync_folder, take_lock,
};
use crate::ServeError;

/// The most pages of a disk.
const LIMIT_PAGES: u64 = u32::MAX as u64;

/// The disk, opened and locked.
pub(super) struct Disk {
    pub(super) file: File,
    pub(super) bytes: u64,
    pub(super) identity: [u64; 2],
    pub(super) lock: Lock,
}

pub(super) fn missing_disk(path: &Path) -> ServeError {
    ServeError::usage(
        format!("{}: there is no such disk", path.display()),
        Text::from("add ") + option("size") + " to make one, such as " + option("size") + " 2GiB",
    )
}

fn check_bytes(path: &Path, bytes: u64) -> Result<(), ServeError> {
    let (problem, remedy) = match bytes {
        0 => (
            "it has no bytes",
            Text::from("give ")
                + option("size")
                + ", at least 512, and a file that does not exist yet",
        ),
        _ if !bytes.is_multiple_of(512) => {
            ("its size is no multiple of 512 bytes", "make it one".into())
        }
        _ if bytes.div_ceil(PAGE_BYTES.into()) > LIMIT_PAGES => {
            ("it has more than 4294967295 pages of 4096 bytes", "give a smaller one".into())
        }
        _ => return Ok(()),
    };
    Err(ServeError::usage(format!("{}: {problem}", path.display()), remedy))
}

pub(super) fn create_disk(path: &Path, bytes: u64) -> Result<(), ServeError> {
    check_bytes(path, bytes)?;
    let new = beside(path);
    let make = || {
        let file = create(&new)?;
        file.set_len(bytes)?;
        file.sync_all()?;
        let here = rustix::fs::CWD;
        renameat_with(here, &new, here, path, RenameFlags::NOREPLACE)?;
        sync_folder(path)
    };
    make().map_err(|error| {
        let _ = std::fs::remove_file(&new);
        failed(path, "cannot be made", &error)
    })
}

pub(super) fn open_disk(opening: &Opening<'_>) -> Result<Disk, ServeError> {
    let path = opening.disk;
    let is_device =
        std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_block_device());
    let flags = if is_device { libc::O_EXCL } else { 0 };
    let opened =
        OpenOptions::new().read(true).write(!opening.read_only).custom_flags(flags).open(path);
    let mut file = opened.map_err(|error| match error.raw_os_error() {
        Some(libc::EBUSY) => refused(path, "another program uses this device", "end it first"),
        _ => failed(path, "cannot be opened", &error),
    })?;
    let metadata = file.metadata().map_err(|error| failed(path, "cannot be read", &error))?;
    let kind = metadata.file_type();
    if !kind.is_file() && !kind.is_block_device() {
        return Err(ServeError::usage(
            format!(
                "{}: a disk is a regular file or a block device, and this is neither",
                path.display()
            ),
            "",
        ));
    }
    let bytes =
        file.seek(SeekFrom::End(0)).map_err(|error| failed(path, "cannot be read", &error))?;
    check_bytes(path, bytes)?;
    if let Some(size) = opening.size.filter(|&size| size != bytes) {
        return Err(ServeError::usage(
            Text::from(format!("{}: it has {bytes} bytes and ", path.display()))
                + option("size")
                + format!(" says {size}"),
            Text::from("leave ") + option("size") + " out",
        ));
    }
    let lock = take_lock(path, &file, opening.read_only)?;
    Ok(Disk { file, bytes, identity: [metadata.dev(), metadata.ino()], lock })
}
