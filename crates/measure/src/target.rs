//! The file that is measured: what may be written, and that nothing is left behind.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use clockhand_quantity::{Text, option};
use rustix::fs::OFlags;

use crate::{MeasureError, SIZES_BYTES};

/// Requests are aligned to the largest of them.
const UNIT_BYTES: u64 = SIZES_BYTES[SIZES_BYTES.len() - 1] as u64;
/// Fewer different places would measure a device's own cache.
const UNITS_MIN: u64 = 16;

/// A file that is opened past the page cache.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) file: File,
    /// The path as it was given.
    pub(crate) path: PathBuf,
    /// Bytes that requests go to, a multiple of the largest request.
    pub(crate) bytes: u64,
}

/// What a path turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// A file is made in it, which never has a name for long.
    Folder,
    /// A file is made there and loses its name at once.
    NewFile,
    ExistingFile,
    BlockDevice,
}

impl Target {
    /// Opens the file; one that is made has no name any more when this returns.
    pub(crate) fn open(
        path: &Path,
        bytes: u64,
        write_to_existing: bool,
    ) -> Result<Self, MeasureError> {
        let bytes = bytes / UNIT_BYTES * UNIT_BYTES;
        if bytes < UNITS_MIN * UNIT_BYTES {
            return Err(MeasureError::usage(
                option("file-size") + " is too small",
                format!("give at least {} MiB", (UNITS_MIN * UNIT_BYTES) >> 20),
            ));
        }
        let place = Place::of(path)?;
        if matches!(place, Place::ExistingFile | Place::BlockDevice) && !write_to_existing {
            return Err(MeasureError::usage(
                format!(
                    "{} {}, and its content would be overwritten",
                    path.display(),
                    if place == Place::BlockDevice { "is a block device" } else { "exists" }
                ),
                Text::from("name a folder or a new file, or add ") + option("write-to-existing"),
            ));
        }
        let file = match place {
            Place::Folder => {
                make(&path.join(format!(".clockhand-measure-{}", std::process::id())))?
            }
            Place::NewFile => make(path)?,
            Place::ExistingFile => open_direct(path, OpenOptions::new().read(true).write(true), 0)?,
            // With O_EXCL the kernel refuses a device that is mounted.
            Place::BlockDevice => {
                let exclusive = OFlags::EXCL.bits() as i32;
                open_direct(path, OpenOptions::new().read(true).write(true), exclusive)?
            }
        };
        let bytes = match place {
            Place::Folder | Place::NewFile => {
                check_room(&file, path, bytes)?;
                bytes
            }
            Place::ExistingFile | Place::BlockDevice => existing_bytes(&file, path, bytes)?,
        };
        Ok(Target { file, path: path.to_owned(), bytes })
    }

    /// The same file through the page cache, for reading. It has no name, but the process has it open.
    pub(crate) fn buffered(&self) -> Result<File, MeasureError> {
        File::open(format!("/proc/self/fd/{}", self.file.as_raw_fd()))
            .map_err(|error| MeasureError::file(&self.path, "cannot be opened for reading", error))
    }
}

impl Place {
    fn of(path: &Path) -> Result<Self, MeasureError> {
        let kind = match std::fs::metadata(path) {
            Ok(metadata) => metadata.file_type(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Place::NewFile);
            }
            Err(error) => return Err(MeasureError::file(path, "cannot be looked at", error)),
        };
        if kind.is_dir() {
            Ok(Place::Folder)
        } else if kind.is_file() {
            Ok(Place::ExistingFile)
        } else if kind.is_block_device() {
            Ok(Place::BlockDevice)
        } else {
            Err(MeasureError::usage(
                format!("{} is neither a folder nor a file nor a block device", path.display()),
                "name one that is",
            ))
        }
    }
}

fn open_direct(path: &Path, options: &mut OpenOptions, flags: i32) -> Result<File, MeasureError> {
    let direct = OFlags::DIRECT.bits() as i32;
    options.custom_flags(direct | flags).open(path).map_err(|error| {
        let remedy = match error.raw_os_error() {
            Some(code) if code == rustix::io::Errno::INVAL.raw_os_error() => {
                "its file system takes no O_DIRECT; name a path on another"
            }
            Some(code) if code == rustix::io::Errno::BUSY.raw_os_error() => {
                "it is in use; unmount it first"
            }
            _ => "it cannot be opened",
        };
        MeasureError::file(path, remedy, error)
    })
}

/// Makes a file and takes its name away.
fn make(path: &Path) -> Result<File, MeasureError> {
    let file = open_direct(path, OpenOptions::new().read(true).write(true).create_new(true), 0);
    // Some file systems make the file before they refuse O_DIRECT.
    let removed = match std::fs::remove_file(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    };
    let file = file?;
    removed.map_err(|error| MeasureError::file(path, "its name cannot be taken away", error))?;
    Ok(file)
}

fn check_room(file: &File, path: &Path, bytes: u64) -> Result<(), MeasureError> {
    let room = rustix::fs::fstatvfs(file)
        .map_err(|error| MeasureError::file(path, "its room cannot be asked for", error))?;
    let free_bytes = room.f_bavail * room.f_frsize;
    if free_bytes < bytes + bytes / 4 {
        return Err(MeasureError::usage(
            format!(
                "{} has room for {} MiB, and the file is to have {} MiB",
                path.display(),
                free_bytes >> 20,
                bytes >> 20
            ),
            Text::from("give a smaller ") + option("file-size") + " or another path",
        ));
    }
    Ok(())
}

fn existing_bytes(mut file: &File, path: &Path, bytes: u64) -> Result<u64, MeasureError> {
    let all = file
        .seek(SeekFrom::End(0))
        .map_err(|error| MeasureError::file(path, "its size cannot be asked for", error))?;
    let bytes = all.min(bytes) / UNIT_BYTES * UNIT_BYTES;
    if bytes < UNITS_MIN * UNIT_BYTES {
        return Err(MeasureError::usage(
            format!("{} has {all} bytes, too few to measure", path.display()),
            format!("name one of at least {} MiB", (UNITS_MIN * UNIT_BYTES) >> 20),
        ));
    }
    Ok(bytes)
}
