//! Files that appear whole or not at all: they are written beside their place and take it at the
//! end.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempPath};

use crate::error::TraceError;

/// The place of a file that is not complete yet; dropped before its end, it leaves nothing.
pub(crate) struct Unfinished {
    path: PathBuf,
    /// Removes the unfinished file when it is dropped.
    beside: TempPath,
}

impl Unfinished {
    /// Begins a file beside `path`.
    pub(crate) fn create(path: &Path) -> Result<(File, Self), TraceError> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let failed = |source| io_error(path, "creating", 0, source);
        let (file, beside) = temporary_file(folder).map_err(failed)?.into_parts();
        Ok((file, Self { path: path.to_owned(), beside }))
    }

    /// Where the file will stand.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What a refusal of the disk is, after `byte` bytes were written.
    pub(crate) fn failed(&self, byte: u64, source: io::Error) -> TraceError {
        io_error(&self.path, "writing", byte, source)
    }

    /// Makes sure that the complete file is on the disk and puts it at its path, in place of what
    /// was there.
    pub(crate) fn finish(self, file: &File, byte: u64) -> Result<(), TraceError> {
        file.sync_all().map_err(|source| self.failed(byte, source))?;
        let Self { path, beside } = self;
        beside.persist(&path).map_err(|refused| io_error(&path, "writing", byte, refused.error))
    }
}

fn io_error(path: &Path, doing: &'static str, byte: u64, source: io::Error) -> TraceError {
    TraceError::Io { file: path.display().to_string(), doing, byte, source }
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
