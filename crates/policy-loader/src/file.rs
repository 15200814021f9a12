//! A file of code that runs with the user's rights: checks, its content, and a copy that no one else can change.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use sha2::{Digest, Sha256};

/// A file that is larger is not a library of policies.
const MOST_BYTES: u64 = 256 << 20;

/// Digits of a digest, in hexadecimal.
const DIGITS: usize = 12;

const WRITABLE_BY_OTHERS: u32 = 0o022;

/// What a library holds that only the user and root can write.
pub(crate) fn content(path: &Path) -> Result<Vec<u8>, String> {
    own_code(path, MOST_BYTES, "a library")
}

/// The content of a file of code that only the user and root can write, of `most_bytes` at most. `named` says what the
/// user should have named: `a library`.
///
/// # Errors
///
/// Why it is not loaded, and what to do: one sentence without its subject.
pub fn own_code(path: &Path, most_bytes: u64, named: &str) -> Result<Vec<u8>, String> {
    let unreadable = |error: std::io::Error| {
        let reason = error.to_string();
        let reason = reason.split(" (os error").next().unwrap_or_default();
        format!("{} cannot be read ({reason}); name {named}", path.display())
    };
    let path = &path.canonicalize().map_err(unreadable)?;
    // A pipe would wait for its writer.
    if !path.metadata().map_err(unreadable)?.is_file() {
        return Err(format!("{} is no regular file; name {named}", path.display()));
    }
    let file = File::open(path).map_err(unreadable)?;
    // The open file is checked: another one may have its name by now.
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
    file.take(most_bytes + 1).read_to_end(&mut content).map_err(unreadable)?;
    if content.len() as u64 > most_bytes {
        let most_mebibytes = most_bytes >> 20;
        return Err(format!("{} has more than {most_mebibytes} MiB; name {named}", path.display()));
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
