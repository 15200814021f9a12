//! Files that are either complete or absent: they are written beside their place and moved there at
//! the end.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempPath};

use crate::error::TraceError;

/// The place of a file that is not complete yet; dropped before its end, it leaves nothing.
pub(crate) struct Unfinished {
    /// As the user named it.
    path: PathBuf,
    /// `None` for a device or a pipe, which is written to directly.
    beside: Option<Beside>,
}

/// A file beside its place, removed when it is dropped.
struct Beside {
    file: TempPath,
    /// The place, links followed.
    place: PathBuf,
}

impl Unfinished {
    /// Begins a file beside the place that `path` names or links to, or opens the device or pipe there.
    pub(crate) fn create(path: &Path) -> Result<(File, Self), TraceError> {
        let failed = |source| io_error(path, "creating", 0, source);
        let place = followed(path).map_err(failed)?;
        if let Ok(facts) = std::fs::metadata(&place)
            && !facts.is_file()
        {
            // A folder refuses to be opened so.
            let file = OpenOptions::new().write(true).open(&place).map_err(failed)?;
            return Ok((file, Self { path: path.to_owned(), beside: None }));
        }
        let folder = match place.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let (file, beside) = locked_temporary_file(folder).map_err(failed)?.into_parts();
        let beside = Some(Beside { file: beside, place });
        Ok((file, Self { path: path.to_owned(), beside }))
    }

    /// Where the file will stand.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The error for a refusal of the disk, after `byte` bytes were written.
    pub(crate) fn failed(&self, byte: u64, source: io::Error) -> TraceError {
        io_error(&self.path, "writing", byte, source)
    }

    /// Makes sure that the complete file is on the disk and puts it at its place, instead of what
    /// was there.
    pub(crate) fn finish(self, file: &File, byte: u64) -> Result<(), TraceError> {
        let Self { path, beside } = self;
        let failed = |error| io_error(&path, "writing", byte, error);
        let Some(Beside { file: beside, place }) = beside else { return Ok(()) };
        file.sync_all().map_err(failed)?;
        beside.persist(&place).map_err(|refused| failed(refused.error))
    }
}

fn io_error(path: &Path, doing: &'static str, byte: u64, source: io::Error) -> TraceError {
    TraceError::Io { file: path.display().to_string(), doing, byte, source }
}

/// The end of a chain of links, whether it exists or not.
fn followed(path: &Path) -> io::Result<PathBuf> {
    const LONGEST_CHAIN: usize = 40;
    let mut place = path.to_owned();
    for _ in 0..LONGEST_CHAIN {
        if !std::fs::symlink_metadata(&place).is_ok_and(|facts| facts.is_symlink()) {
            return Ok(place);
        }
        let target = std::fs::read_link(&place)?;
        place = place.parent().unwrap_or(Path::new("")).join(target);
    }
    Err(io::Error::other("too many links"))
}

/// An unfinished file that is locked while it is written, so that what a killed process left is recognized by its free
/// lock. Another run may remove leftovers before the lock is taken: then there is another file.
fn locked_temporary_file(folder: &Path) -> io::Result<NamedTempFile> {
    const TRIES: usize = 10;
    for _ in 0..TRIES {
        let file = temporary_file(folder)?;
        #[cfg(unix)]
        {
            use rustix::fs::{FlockOperation, flock};
            use std::os::unix::fs::MetadataExt;
            // Some file systems have no locks; there, nothing is taken for a leftover either.
            let _ = flock(file.as_file(), FlockOperation::NonBlockingLockExclusive);
            if file.as_file().metadata()?.nlink() == 0 {
                continue;
            }
        }
        return Ok(file);
    }
    Err(io::Error::other("another process removes files that are being written"))
}

/// An unfinished file, with the permissions that a new file gets and not those of a secret.
fn temporary_file(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".clockhand-").suffix(".unfinished");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}
