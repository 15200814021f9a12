//! The one way to start: files are opened and locked, compared, and what is in NVM is brought to the disk.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::disk::{Disk, create_disk, missing_disk, open_disk};
use super::lock::{Lock, lock};
use super::medium::FileMedium;
use super::nvm_file::{Found, MemoryPages, Ready, There, create_nvm, new_header, open_nvm};
use super::pair::{Mark, mark, mark_of};
use crate::ServeError;
use crate::store::layout::Header;
use crate::store::recovery::{DiskFacts, Image, Lost};
use clockhand_quantity::{Text, option};

/// Bytes of a page.
pub(crate) const PAGE_BYTES: u32 = 4096;

/// What is to be opened.
#[derive(Clone, Debug)]
pub struct Opening<'a> {
    /// The disk.
    pub disk: &'a Path,
    /// Its bytes; a missing disk is made with them.
    pub size: Option<u64>,
    /// The NVM file.
    pub nvm: Option<&'a Path>,
    /// Whether no file may change.
    pub read_only: bool,
    /// True if the disk is used past the kernel's cache.
    pub direct: bool,
    /// Takes an NVM file with pages for a disk that does not name it.
    pub adopt: bool,
    /// Starts although pages are damaged.
    pub salvage: bool,
}

/// What was brought to the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Pages.
    pub pages: u64,
    /// Versions that a crash cut off.
    pub torn_versions: u64,
    /// Pages and entries that were given up, or given up before and not written since.
    pub damaged_pages: u64,
    /// No copy of the NVM file's header was valid: its content, which is unknown, is given up.
    pub has_given_up_all: bool,
}

/// The files of a server.
pub struct Opened {
    /// The disk.
    pub disk: FileMedium,
    /// Its bytes.
    pub disk_bytes: u64,
    /// The NVM file with its header, and the pages that are lost.
    pub nvm: Option<(FileMedium, Header, Vec<Lost>)>,
    /// What the NVM file holds, if nothing may change.
    pub image: Option<Image>,
    /// What was brought to the disk.
    pub recovered: Recovered,
    /// As long as these are there, no other server uses the files.
    pub locks: Vec<Lock>,
}

/// Opens, locks, compares and recovers. `memory` gives the buffer's pages of DRAM and NVM for a disk's bytes.
///
/// # Errors
///
/// A sentence with the file, what is wrong and what to do. Nothing was changed then, unless a file failed.
pub fn open(
    opening: &Opening<'_>,
    memory: &dyn Fn(u64) -> Result<MemoryPages, ServeError>,
) -> Result<Opened, ServeError> {
    if !opening.disk.exists() && !opening.read_only {
        let bytes = opening.size.ok_or_else(|| missing_disk(opening.disk))?;
        memory(bytes)?;
        create_disk(opening.disk, bytes)?;
    }
    let disk = open_disk(opening)?;
    let memory = memory(disk.bytes)?;
    let (found, is_given_up) = find_nvm(opening)?;
    if !is_given_up {
        check_pair(opening, &disk, found.as_ref())?;
    }
    let disk_file = |file| {
        FileMedium::new(file, opening.direct, !opening.read_only)
            .map_err(|error| failed(opening.disk, "cannot be opened past the cache", &error))
    };
    if opening.read_only {
        return open_to_read(opening, disk, found, disk_file);
    }
    let Disk { file, bytes, identity, lock } = disk;
    let mut locks = vec![lock];
    let disk = disk_file(file)?;
    let mut recovered = Recovered { has_given_up_all: is_given_up, ..Recovered::default() };
    let Some(path) = opening.nvm else {
        return Ok(Opened { disk, disk_bytes: bytes, nvm: None, image: None, recovered, locks });
    };
    let facts = DiskFacts { bytes, identity };
    let Ready { file, header, lost, lock } = match found {
        None => create_nvm(path, new_header(memory, facts)?, &[])?,
        Some(found) => recover(path, found, &disk, facts, memory, opening, &mut recovered)?,
    };
    mark(disk.file(), header.identity, &absolute(path))
        .map_err(|error| failed(opening.disk, "cannot be marked", &error))?;
    let nvm = FileMedium::new(file, false, true)
        .map_err(|error| failed(path, "cannot be opened", &error))?;
    locks.push(lock);
    Ok(Opened {
        disk,
        disk_bytes: bytes,
        nvm: Some((nvm, header, lost)),
        image: None,
        recovered,
        locks,
    })
}

/// The NVM file, and whether all that it held is given up.
fn find_nvm(opening: &Opening<'_>) -> Result<(Option<Found>, bool), ServeError> {
    let Some(path) = opening.nvm else { return Ok((None, false)) };
    match open_nvm(path, opening.read_only)? {
        There::Nothing => Ok((None, false)),
        There::Pages(found) => Ok((Some(*found), false)),
        There::NoHeader if opening.salvage && !opening.read_only => Ok((None, true)),
        There::NoHeader => Err(refused(
            path,
            "both copies of its header are damaged, and which of its pages count is not known",
            Text::from("restore it from a copy, or add ")
                + option("salvage")
                + ": then all that was in it is lost, and the disk is as old as its last write",
        )),
    }
}

fn open_to_read(
    opening: &Opening<'_>,
    disk: Disk,
    found: Option<Found>,
    disk_file: impl Fn(File) -> Result<FileMedium, ServeError>,
) -> Result<Opened, ServeError> {
    let Disk { file, bytes, lock, .. } = disk;
    let mut locks = vec![lock];
    let disk = disk_file(file)?;
    let (nvm, image) = match found {
        None => (None, None),
        Some(Found { file, image, lock }) => {
            locks.push(lock);
            let path = opening.nvm.expect("it was found there");
            if !image.damage.is_empty() {
                return Err(damaged(path, &image));
            }
            let nvm = FileMedium::new(file, false, false)
                .map_err(|error| failed(path, "cannot be opened", &error))?;
            (Some((nvm, image.header, image.lost.clone())), Some(image))
        }
    };
    let damaged_pages = image.as_ref().map_or(0, |image| image.lost.len() as u64);
    let recovered = Recovered { damaged_pages, ..Recovered::default() };
    Ok(Opened { disk, disk_bytes: bytes, nvm, image, recovered, locks })
}

fn recover(
    path: &Path,
    Found { file, mut image, lock }: Found,
    disk: &FileMedium,
    facts: DiskFacts,
    memory: MemoryPages,
    opening: &Opening<'_>,
    recovered: &mut Recovered,
) -> Result<Ready, ServeError> {
    let again = file.try_clone().map_err(|error| failed(path, "cannot be opened", &error))?;
    let nvm = FileMedium::new(file, false, true)
        .map_err(|error| failed(path, "cannot be opened", &error))?;
    if !image.damage.is_empty() {
        if !opening.salvage {
            return Err(damaged(path, &image));
        }
        recovered.damaged_pages += image
            .give_up_damaged(&nvm)
            .map_err(|error| failed(path, "cannot be written", &error))?;
    }
    recovered.damaged_pages = recovered.damaged_pages.max(image.lost.len() as u64);
    recovered.pages = image.pages.len() as u64;
    recovered.torn_versions = image.torn;
    let header = image.recover(disk, &nvm, facts).map_err(|error| {
        failed(opening.disk, "cannot take the pages that are in NVM, which stay there", &error)
    })?;
    let wanted = new_header(memory, facts)?;
    if (header.layout, header.nvm_pages) == (wanted.layout, wanted.nvm_pages) {
        return Ok(Ready { file: again, header, lost: image.lost, lock });
    }
    let Header { identity, epoch, durable_seq, counter, .. } = header;
    let header = Header { identity, epoch, durable_seq, counter: counter + 1, ..wanted };
    create_nvm(path, header, &image.lost)
}

pub(super) fn failed(path: &Path, what: &str, error: &io::Error) -> ServeError {
    ServeError::Failed(format!("{} {what}: {error}", path.display()).into())
}

pub(super) fn refused(path: &Path, problem: &str, remedy: impl Into<Text>) -> ServeError {
    ServeError::failed(format!("{}: {problem}", path.display()), remedy)
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The path of a file that is made beside `path` and renamed when it is whole.
pub(super) fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}", std::process::id()))
}

pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

pub(super) fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
}

pub(super) fn take_lock(path: &Path, file: &File, shared: bool) -> Result<Lock, ServeError> {
    match lock(file, shared) {
        Ok(Some(lock)) => Ok(lock),
        Ok(None) => Err(refused(path, "another server uses it", "end that one first")),
        Err(error) => Err(failed(path, "cannot be locked", &error)),
    }
}

fn damaged(path: &Path, image: &Image) -> ServeError {
    let pages = image.pages.len();
    let count = image.damage.len();
    refused(
        path,
        &format!("{count} of its entries are damaged, each the newest version of a page"),
        Text::from("restore it from a copy, or add ")
            + option("salvage")
            + format!(
                ": then {pages} pages are kept, and the damaged ones are errors until they are written whole"
            ),
    )
}

/// Refuses a disk without its NVM file, and an NVM file with pages of another disk.
fn check_pair(opening: &Opening<'_>, disk: &Disk, found: Option<&Found>) -> Result<(), ServeError> {
    let marked = mark_of(&disk.file)
        .map_err(|error| failed(opening.disk, "cannot be compared with its NVM file", &error))?;
    let identity = found.map(|found| found.image.header.identity);
    if let Mark::Pages(named, path) = &marked
        && identity != Some(*named)
    {
        return Err(refused(
            opening.disk,
            &format!("its newest pages are in the NVM file {}", path.display()),
            Text::from("give ") + option("nvm") + format!(" {}", path.display()),
        ));
    }
    let Some(Found { image, .. }) = found else { return Ok(()) };
    let nvm = opening.nvm.expect("it was found there");
    let is_named = match marked {
        Mark::Pages(..) => true,
        Mark::None => false,
        Mark::Unsupported => image.header.disk_identity == disk.identity,
    };
    let has_pages = !image.pages.is_empty() || !image.lost.is_empty() || !image.damage.is_empty();
    if has_pages && !is_named && !opening.adopt {
        return Err(refused(
            nvm,
            &format!(
                "it holds {} pages of a disk, and {} does not say that it is this one",
                image.pages.len(),
                opening.disk.display()
            ),
            Text::from("if it is, add ") + option("adopt"),
        ));
    }
    let end_of = |page: u64| ((page + 1) * u64::from(PAGE_BYTES)).min(image.header.disk_bytes);
    let last = image.pages.last().map_or(0, |found| end_of(found.page));
    if last > disk.bytes {
        return Err(refused(
            opening.disk,
            &format!("it ends at byte {} and a page in NVM ends at {last}", disk.bytes),
            "give the disk at its full size",
        ));
    }
    Ok(())
}
