//! The file of a library: whether it may be loaded, its content, and a copy that nobody else can change.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use sha2::{Digest, Sha256};

/// A file that is larger is no library of policies.
const MOST_BYTES: u64 = 256 << 20;

/// Digits of a digest, in hexadecimal.
const DIGITS: usize = 12;

const WRITABLE_BY_OTHERS: u32 = 0o022;

/// What a file holds that only the user and root can write.
pub(crate) fn content(path: &Path) -> Result<Vec<u8>, String> {
    let unreadable = |error: std::io::Error| {
        format!("{} cannot be read ({error}); name a library", path.display())
    };
    let path = &path.canonicalize().map_err(unreadable)?;
    // A pipe would wait for its writer.
    if !path.metadata().map_err(unreadable)?.is_file() {
        return Err(format!("{} is no regular file; name a library", path.display()));
    }
    let file = File::open(path).map_err(unreadable)?;
    // What is checked is the open file: another one may have its name by now.
    let facts = file.metadata().map_err(unreadable)?;
    let user = rustix::process::geteuid().as_raw();
    if facts.uid() != user && facts.uid() != 0 {
        return Err(format!(
            "{} belongs to another user, whose code would run with your rights; copy it if you trust it",
            path.display()
        ));
    }
    if facts.mode() & WRITABLE_BY_OTHERS != 0 {
        return Err(format!(
            "others can write to {}, and its code would run with your rights; take that away with: chmod go-w {}",
            path.display(),
            path.display()
        ));
    }
    let mut content = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut content).map_err(unreadable)?;
    if content.len() as u64 > MOST_BYTES {
        return Err(format!("{} has more than 256 MiB; name a library", path.display()));
    }
    Ok(content)
}

/// The first digits of the digest of a content.
pub(crate) fn digest(content: &[u8]) -> String {
    let digest = Sha256::digest(content);
    let mut digits = String::new();
    for byte in digest.iter().take(DIGITS / 2) {
        _ = write!(digits, "{byte:02x}");
    }
    digits
}

/// A file in memory with this content, which can no longer be changed.
pub(crate) fn sealed_copy(content: &[u8]) -> std::io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut copy = File::from(memfd_create("clockhand-policy-library", flags)?);
    copy.write_all(content)?;
    let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    fcntl_add_seals(&copy, seals)?;
    Ok(copy.into())
}
