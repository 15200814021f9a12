//! Why a program runs without the library.

use std::fs;
use std::io::Read;
use std::path::Path;

/// What is in the path of glibc's loader of libraries, and of musl's.
pub(super) const LOADER: &str = "/ld-linux";
const OTHER_LOADER: &str = "/ld-musl";

/// The auxiliary value that says whether a program has rights of its own (`AT_SECURE`).
const SECURE: u64 = 23;

/// How a file of a program for this processor begins: 64 bits, the lower byte first; and the processor's number, and where
/// it stands.
const BEGINNING: &[u8] = b"\x7fELF\x02\x01";
const X86_64: [u8; 2] = [62, 0];
const PROCESSOR_AT: usize = 18;

/// The reason, as the rest of a sentence, for a process whose folder in /proc this is.
pub(super) fn reason(folder: &Path) -> &'static str {
    let maps = fs::read_to_string(folder.join("maps")).unwrap_or_default();
    if has_rights(folder) {
        "it has rights of its own"
    } else if is_for_other_processor(folder) {
        "it is for another kind of processor"
    } else if maps.contains(OTHER_LOADER) {
        "its C library is not glibc"
    } else if maps.contains(LOADER) {
        "it was started with another LD_PRELOAD"
    } else {
        "it is linked statically, and was started with other variables or by instructions of its own"
    }
}

fn has_rights(folder: &Path) -> bool {
    let values = fs::read(folder.join("auxv")).unwrap_or_default();
    let words: Vec<_> = values.chunks_exact(8).map(number).collect();
    words.chunks_exact(2).any(|pair| pair[0] == SECURE && pair[1] != 0)
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

fn is_for_other_processor(folder: &Path) -> bool {
    let mut header = [0; 20];
    let read = fs::File::open(folder.join("exe")).and_then(|mut file| file.read_exact(&mut header));
    let is_ours = header.starts_with(BEGINNING) && header[PROCESSOR_AT..] == X86_64;
    read.is_ok() && !is_ours
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel says of a process, as [`reason`] finds it.
    fn reason_of(secure: u64, header: &[u8], maps: &str) -> &'static str {
        let folder = tempfile::tempdir().unwrap();
        let pairs = [(6_u64, 4096_u64), (SECURE, secure), (0, 0)];
        let values: Vec<_> = pairs
            .iter()
            .flat_map(|(key, value)| [key.to_ne_bytes(), value.to_ne_bytes()])
            .collect();
        fs::write(folder.path().join("auxv"), values.concat()).unwrap();
        fs::write(folder.path().join("exe"), header).unwrap();
        fs::write(folder.path().join("maps"), maps).unwrap();
        reason(folder.path())
    }

    #[test]
    fn rights_come_before_the_processor_and_that_before_the_loader() {
        let ours = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x3e\0";
        let theirs = b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x03\0";
        let loader =
            "7f1000000000-7f1000001000 r-xp 00000000 00:01 5 /lib64/ld-linux-x86-64.so.2\n";
        let musl = "7f1000000000-7f1000001000 r-xp 00000000 00:01 5 /lib/ld-musl-x86_64.so.1\n";
        let said = |secure, header: &[u8], maps| {
            reason_of(secure, header, maps).split(' ').next_back().unwrap().to_owned()
        };
        assert_eq!(said(1, theirs, loader), "own");
        assert_eq!(said(0, theirs, loader), "processor");
        assert_eq!(said(0, ours, musl), "glibc");
        assert_eq!(said(0, ours, loader), "LD_PRELOAD");
        assert!(reason_of(0, ours, "").starts_with("it is linked statically"));
        assert!(reason(Path::new("/nowhere")).starts_with("it is linked statically"));
    }
}
