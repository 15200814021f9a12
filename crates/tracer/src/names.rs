//! Which file a descriptor or a name stands for.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustc_hash::FxHashSet;

/// What is behind descriptors, as the kernel tells.
#[derive(Default)]
pub(crate) struct Names {
    /// Pipes that have a name, which looks like that of a file.
    pipes: FxHashSet<Vec<u8>>,
}

/// The file behind a descriptor that was just opened.
pub(crate) enum Opened {
    /// A file, with its length.
    File { note: Vec<u8>, bytes: u64 },
    /// Something else.
    Other,
}

/// The working folder, as a descriptor.
const WORKING_FOLDER: i32 = libc::AT_FDCWD;

impl Names {
    /// What strace notes behind a descriptor: the name of a file, or something like `pipe:[17]`.
    pub(crate) fn note(&self, thread: i32, descriptor: u32) -> Option<Vec<u8>> {
        let link = fs::read_link(format!("/proc/{thread}/fd/{descriptor}")).ok()?;
        let name = link.into_os_string().into_vec();
        if self.pipes.contains(&name) { Some([b"fifo:", &name[..]].concat()) } else { Some(name) }
    }

    /// The file that a thread has opened.
    pub(crate) fn opened(&mut self, thread: i32, descriptor: u32) -> Opened {
        let place = format!("/proc/{thread}/fd/{descriptor}");
        let (Ok(link), Ok(facts)) = (fs::read_link(&place), fs::metadata(&place)) else {
            return Opened::Other;
        };
        let note = link.into_os_string().into_vec();
        if facts.is_file() {
            self.pipes.remove(&note);
            return Opened::File { note, bytes: facts.len() };
        }
        if !facts.is_dir() && is_in_cache(&note) {
            self.pipes.insert(note);
        }
        Opened::Other
    }
}

/// Returns whether the page cache may hold what has this name.
pub(crate) fn is_in_cache(note: &[u8]) -> bool {
    const OUTSIDE: [&[u8]; 4] = [b"/dev/", b"/proc/", b"/sys/", b"/memfd:"];
    note.starts_with(b"/dev/shm/")
        || note.starts_with(b"/") && !OUTSIDE.iter().any(|start| note.starts_with(start))
}

/// The absolute name of what a thread names, below a folder that it has open. Links between folders
/// are followed, and the last one if the call does.
pub(crate) fn resolved(thread: i32, folder: i32, name: &[u8], follows: bool) -> Vec<u8> {
    let name = Path::new(OsStr::from_bytes(name));
    let base = match folder {
        WORKING_FOLDER => fs::read_link(format!("/proc/{thread}/cwd")),
        descriptor => fs::read_link(format!("/proc/{thread}/fd/{descriptor}")),
    };
    let whole = base.unwrap_or_else(|_| PathBuf::from("/")).join(name);
    let found = match (whole.parent(), whole.file_name()) {
        (Some(parent), Some(last)) if !follows => {
            parent.canonicalize().map(|parent| parent.join(last))
        }
        _ => whole.canonicalize(),
    };
    found.unwrap_or(whole).into_os_string().into_vec()
}

/// Writes a name as strace does: what could be taken for a bracket or a quotation mark, and what cannot
/// be printed, as an octal number.
pub(crate) fn escape(name: &[u8], line: &mut Vec<u8>) {
    for &byte in name {
        match byte {
            b'<' | b'>' | b'"' | b'\\' | 0..b' ' | 127.. => {
                line.extend_from_slice(format!("\\{byte:03o}").as_bytes());
            }
            _ => line.push(byte),
        }
    }
}
