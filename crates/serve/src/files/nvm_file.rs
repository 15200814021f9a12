//! The NVM file: found and checked, or made.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate};
use rustix::rand::{GetRandomFlags, getrandom};

use super::lock::{Lock, lock};
use super::medium::FileMedium;
use super::opening::{PAGE_BYTES, beside, create, failed, refused, sync_folder, take_lock};
use crate::ServeError;
use crate::store::Medium;
use crate::store::layout::{Header, Layout};
use crate::store::recovery::{DiskFacts, Image, Lost, header_of, write_empty};

/// Slots beside those of the buffer's pages, at least.
const LEAST_SPARE_SLOTS: u32 = 128;

/// An NVM file that is there, opened and locked.
pub(super) struct Found {
    pub(super) file: File,
    pub(super) image: Image,
    pub(super) lock: Lock,
}

/// The object at the place of an NVM file.
pub(super) enum There {
    Nothing,
    Pages(Box<Found>),
    /// One of ours, both copies of whose header are damaged.
    NoHeader,
}

/// An NVM file that a server uses.
pub(super) struct Ready {
    pub(super) file: File,
    pub(super) header: Header,
    pub(super) lost: Vec<Lost>,
    pub(super) lock: Lock,
}

/// The buffer's share of a new NVM file: pages of DRAM and of NVM.
pub(super) type MemoryPages = (u32, u32);

/// Opens an NVM file that is there and not empty.
pub(super) fn open_nvm(path: &Path, read_only: bool) -> Result<There, ServeError> {
    let opened = OpenOptions::new()
        .read(true)
        .write(!read_only)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound && !read_only => {
            return Ok(There::Nothing);
        }
        Err(error) if error.raw_os_error() == Some(libc::ELOOP) => {
            return Err(refused(path, "it is a symbolic link", "give the NVM file itself"));
        }
        Err(error) => return Err(failed(path, "cannot be opened", &error)),
    };
    let lock = take_lock(path, &file, read_only)?;
    let metadata = file.metadata().map_err(|error| failed(path, "cannot be read", &error))?;
    let now = std::fs::symlink_metadata(path);
    let (problem, remedy) = if !metadata.is_file() {
        ("an NVM file is a regular file", "give another one")
    } else if now.is_ok_and(|now| now.ino() != metadata.ino()) {
        ("another server has just replaced it", "try again")
    } else if metadata.nlink() != 1 {
        ("it has more than one name", "remove the others, or copy it")
    } else if metadata.uid() != rustix::process::geteuid().as_raw() {
        ("it belongs to another user", "give a file of your own")
    } else if metadata.permissions().mode() & 0o077 != 0 {
        ("others can read or write it", "chmod it to 0600")
    } else if metadata.len() == 0 {
        return Ok(There::Nothing);
    } else {
        return read_image(path, file, metadata.len(), lock);
    };
    Err(refused(path, problem, remedy))
}

fn read_image(path: &Path, file: File, bytes: u64, lock: Lock) -> Result<There, ServeError> {
    let again = file.try_clone().map_err(|error| failed(path, "cannot be read", &error))?;
    let nvm = FileMedium::new(again, false, false)
        .map_err(|error| failed(path, "cannot be read", &error))?;
    let Some(header) = header_of(&nvm) else {
        return match is_ours(&nvm) {
            true => Ok(There::NoHeader),
            false => {
                let remedy = "give one, or a name that does not exist yet";
                Err(refused(path, "it is no NVM file", remedy))
            }
        };
    };
    let Layout { page_bytes, slots } = header.layout;
    if page_bytes != PAGE_BYTES || slots == 0 {
        return Err(refused(path, "it is an NVM file of another version", "use that version"));
    }
    if bytes < header.layout.file_bytes() {
        return Err(refused(
            path,
            "it is shorter than when it was made",
            "restore it whole, since pages of the disk are in it",
        ));
    }
    let image =
        Image::read(&nvm, header).map_err(|error| failed(path, "cannot be read", &error))?;
    Ok(There::Pages(Box::new(Found { file, image, lock })))
}

/// Whether a file without a valid header begins like one of ours.
fn is_ours(nvm: &FileMedium) -> bool {
    (0..2).any(|copy| {
        let mut bytes = [0; 8];
        nvm.read(Layout::header_at(copy), &mut bytes).is_ok() && Header::begins_like_one(&bytes)
    })
}

pub(super) fn new_header(memory: MemoryPages, facts: DiskFacts) -> Result<Header, ServeError> {
    let (dram_pages, nvm_pages) = memory;
    let spare = LEAST_SPARE_SLOTS.max(nvm_pages.div_ceil(8));
    // A page in DRAM may have an older version in NVM that still counts.
    let slots = nvm_pages.checked_add(spare).and_then(|slots| slots.checked_add(dram_pages));
    let slots = slots.filter(|&slots| slots < 1 << 31).ok_or_else(|| {
        ServeError::usage("the buffer is too large for an NVM file", "give a smaller total")
    })?;
    let mut identity = [0; 16];
    getrandom(&mut identity, GetRandomFlags::empty())
        .map_err(|error| ServeError::Failed(format!("no random numbers: {error}").into()))?;
    Ok(Header {
        layout: Layout { page_bytes: PAGE_BYTES, slots },
        nvm_pages,
        identity: u128::from_le_bytes(identity),
        counter: 1,
        epoch: 1,
        durable_seq: 0,
        disk_bytes: facts.bytes,
        disk_identity: facts.identity,
    })
}

/// Makes an NVM file without pages beside its place, and renames it there.
pub(super) fn create_nvm(path: &Path, header: Header, lost: &[Lost]) -> Result<Ready, ServeError> {
    let new = beside(path);
    let make = || {
        let _ = std::fs::remove_file(&new);
        let file = create(&new)?;
        let bytes = header.layout.file_bytes();
        match fallocate(&file, FallocateFlags::empty(), 0, bytes) {
            Err(rustix::io::Errno::OPNOTSUPP) => file.set_len(bytes)?,
            done => done?,
        }
        let lock = lock(&file, false)?.ok_or(io::ErrorKind::WouldBlock)?;
        let medium = FileMedium::new(file.try_clone()?, false, true)?;
        let lost = write_empty(&medium, header, lost)?;
        file.sync_all()?;
        std::fs::rename(&new, path)?;
        sync_folder(path)?;
        let header = header_of(&medium).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Ready { file, header, lost, lock })
    };
    make().map_err(|error: io::Error| {
        let _ = std::fs::remove_file(&new);
        failed(path, "cannot be made", &error)
    })
}
