//! The one way to start: files are opened and locked, compared, and what is in NVM is brought to the disk.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, RenameFlags, fallocate, renameat_with};
use rustix::rand::{GetRandomFlags, getrandom};

use super::lock::{Lock, lock};
use super::medium::FileMedium;
use super::pair::{Mark, mark, mark_of};
use crate::ServeError;
use crate::store::layout::{Header, Layout};
use crate::store::recovery::{DiskFacts, Image, Lost, header_of, write_empty};

/// Bytes of a page.
pub(crate) const PAGE_BYTES: u32 = 4096;
/// The most pages of a disk.
const LIMIT_PAGES: u64 = u32::MAX as u64;
/// Slots beside those of the buffer's pages, at least.
const LEAST_SPARE_SLOTS: u32 = 128;

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
    /// Whether the disk is used past the kernel's cache.
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

/// The disk, opened and locked.
struct Disk {
    file: File,
    bytes: u64,
    identity: [u64; 2],
    lock: Lock,
}

/// An NVM file that is there, opened and locked.
struct Found {
    file: File,
    image: Image,
    lock: Lock,
}

/// An NVM file that a server uses.
struct Ready {
    file: File,
    header: Header,
    lost: Vec<Lost>,
    lock: Lock,
}

/// The buffer's share of a new NVM file: pages of DRAM and of NVM.
type MemoryPages = (u32, u32);

/// Opens, locks, compares and recovers. `memory` gives the buffer's pages of DRAM and NVM on a disk of so many bytes.
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
    let found = match opening.nvm {
        Some(path) => open_nvm(path, opening.read_only)?,
        None => None,
    };
    check_pair(opening, &disk, found.as_ref())?;
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
    let mut recovered = Recovered::default();
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

fn missing_disk(path: &Path) -> ServeError {
    ServeError::Usage(format!(
        "{}: there is no such disk; add --size to make one, such as --size 2GiB",
        path.display()
    ))
}

fn failed(path: &Path, what: &str, error: &io::Error) -> ServeError {
    ServeError::Failed(format!("{} {what}: {error}", path.display()))
}

fn refused(path: &Path, sentence: &str) -> ServeError {
    ServeError::Failed(format!("{}: {sentence}", path.display()))
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn check_bytes(path: &Path, bytes: u64) -> Result<(), ServeError> {
    let sentence = match bytes {
        0 => "it has no bytes; give --size, at least 512, and a file that does not exist yet",
        _ if !bytes.is_multiple_of(512) => "its size is no multiple of 512 bytes; make it one",
        _ if bytes.div_ceil(PAGE_BYTES.into()) > LIMIT_PAGES => {
            "it has more than 4294967295 pages of 4096 bytes; give a smaller one"
        }
        _ => return Ok(()),
    };
    Err(ServeError::Usage(format!("{}: {sentence}", path.display())))
}

/// The path of a file that is made beside `path` and renamed when it is whole.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}", std::process::id()))
}

fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
}

fn create_disk(path: &Path, bytes: u64) -> Result<(), ServeError> {
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

fn open_disk(opening: &Opening<'_>) -> Result<Disk, ServeError> {
    let path = opening.disk;
    let is_device =
        std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_block_device());
    let flags = if is_device { libc::O_EXCL } else { 0 };
    let opened =
        OpenOptions::new().read(true).write(!opening.read_only).custom_flags(flags).open(path);
    let mut file = opened.map_err(|error| match error.raw_os_error() {
        Some(libc::EBUSY) => refused(path, "another program uses this device; end it first"),
        _ => failed(path, "cannot be opened", &error),
    })?;
    let metadata = file.metadata().map_err(|error| failed(path, "cannot be read", &error))?;
    let kind = metadata.file_type();
    if !kind.is_file() && !kind.is_block_device() {
        return Err(ServeError::Usage(format!(
            "{}: a disk is a regular file or a block device, and this is neither",
            path.display()
        )));
    }
    let bytes =
        file.seek(SeekFrom::End(0)).map_err(|error| failed(path, "cannot be read", &error))?;
    check_bytes(path, bytes)?;
    if let Some(size) = opening.size.filter(|&size| size != bytes) {
        return Err(ServeError::Usage(format!(
            "{}: it has {bytes} bytes and --size says {size}; leave --size out",
            path.display()
        )));
    }
    let lock = take_lock(path, &file, opening.read_only)?;
    Ok(Disk { file, bytes, identity: [metadata.dev(), metadata.ino()], lock })
}

fn take_lock(path: &Path, file: &File, shared: bool) -> Result<Lock, ServeError> {
    match lock(file, shared) {
        Ok(Some(lock)) => Ok(lock),
        Ok(None) => Err(refused(path, "another server uses it; end that one first")),
        Err(error) => Err(failed(path, "cannot be locked", &error)),
    }
}

/// Opens an NVM file that is there and not empty.
fn open_nvm(path: &Path, read_only: bool) -> Result<Option<Found>, ServeError> {
    let opened = OpenOptions::new()
        .read(true)
        .write(!read_only)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound && !read_only => return Ok(None),
        Err(error) if error.raw_os_error() == Some(libc::ELOOP) => {
            return Err(refused(path, "it is a symbolic link; give the NVM file itself"));
        }
        Err(error) => return Err(failed(path, "cannot be opened", &error)),
    };
    let lock = take_lock(path, &file, read_only)?;
    let metadata = file.metadata().map_err(|error| failed(path, "cannot be read", &error))?;
    let now = std::fs::symlink_metadata(path);
    let sentence = if !metadata.is_file() {
        "an NVM file is a regular file; give another one"
    } else if now.is_ok_and(|now| now.ino() != metadata.ino()) {
        "another server has just replaced it; try again"
    } else if metadata.nlink() != 1 {
        "it has more than one name; remove the others, or copy it"
    } else if metadata.uid() != rustix::process::geteuid().as_raw() {
        "it belongs to another user; give a file of your own"
    } else if metadata.permissions().mode() & 0o077 != 0 {
        "others can read or write it; chmod it to 0600"
    } else if metadata.len() == 0 {
        return Ok(None);
    } else {
        return read_image(path, file, metadata.len(), lock).map(Some);
    };
    Err(refused(path, sentence))
}

fn read_image(path: &Path, file: File, bytes: u64, lock: Lock) -> Result<Found, ServeError> {
    let again = file.try_clone().map_err(|error| failed(path, "cannot be read", &error))?;
    let nvm = FileMedium::new(again, false, false)
        .map_err(|error| failed(path, "cannot be read", &error))?;
    let Some(header) = header_of(&nvm) else {
        return Err(without_header(path, &nvm));
    };
    let Layout { page_bytes, slots } = header.layout;
    if page_bytes != PAGE_BYTES || slots == 0 {
        return Err(refused(path, "it is an NVM file of another version; use that version"));
    }
    if bytes < header.layout.file_bytes() {
        return Err(refused(
            path,
            "it is shorter than when it was made; restore it whole, since pages of the disk are in it",
        ));
    }
    let image =
        Image::read(&nvm, header).map_err(|error| failed(path, "cannot be read", &error))?;
    Ok(Found { file, image, lock })
}

fn without_header(path: &Path, nvm: &FileMedium) -> ServeError {
    use crate::store::Medium;
    let is_ours = (0..2).any(|copy| {
        let mut bytes = [0; 8];
        nvm.read(Layout::header_at(copy), &mut bytes).is_ok() && Header::begins_like_one(&bytes)
    });
    match is_ours {
        true => refused(
            path,
            "both copies of its header are damaged, and which of its pages count is not known; restore it from a copy, \
             or serve the disk without it and lose what is in it",
        ),
        false => refused(path, "it is no NVM file; give one, or a name that does not exist yet"),
    }
}

fn damaged(path: &Path, image: &Image) -> ServeError {
    let pages = image.pages.len();
    let count = image.damage.len();
    refused(
        path,
        &format!(
            "{count} of its entries are damaged, each the newest version of a page; restore it from a copy, or add \
             --salvage: then {pages} pages are kept, and the damaged ones are errors until they are written whole"
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
            &format!("its newest pages are in the NVM file {0}; give --nvm {0}", path.display()),
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
                "it holds {} pages of a disk, and {} does not say that it is this one; if it is, add --adopt",
                image.pages.len(),
                opening.disk.display()
            ),
        ));
    }
    let end_of = |page: u64| ((page + 1) * u64::from(PAGE_BYTES)).min(image.header.disk_bytes);
    let last = image.pages.last().map_or(0, |found| end_of(found.page));
    if last > disk.bytes {
        return Err(refused(
            opening.disk,
            &format!(
                "it ends at byte {} and a page in NVM ends at {last}; give the disk at its full size",
                disk.bytes
            ),
        ));
    }
    Ok(())
}

fn new_header(memory: MemoryPages, facts: DiskFacts) -> Result<Header, ServeError> {
    let (dram_pages, nvm_pages) = memory;
    let spare = LEAST_SPARE_SLOTS.max(nvm_pages.div_ceil(8));
    // A page in DRAM may have an older version in NVM that still counts.
    let slots = nvm_pages.checked_add(spare).and_then(|slots| slots.checked_add(dram_pages));
    let slots = slots.filter(|&slots| slots < 1 << 31).ok_or_else(|| {
        ServeError::Usage(
            "the buffer is too large for an NVM file; give a smaller total".to_owned(),
        )
    })?;
    let mut identity = [0; 16];
    getrandom(&mut identity, GetRandomFlags::empty())
        .map_err(|error| ServeError::Failed(format!("no random numbers: {error}")))?;
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
fn create_nvm(path: &Path, header: Header, lost: &[Lost]) -> Result<Ready, ServeError> {
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
