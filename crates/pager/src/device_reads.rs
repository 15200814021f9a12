//! Notices devices that may write into a program's paged memory without having been seen by the preloaded library.
//!
//! The library copies or refuses such reads where the program calls the C library. It does not see requests by a
//! program's own instructions, by statically linked libraries, or by those opened with `dlopen`. But /proc shows how a
//! process lets devices write into its memory.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use libc::c_long;

/// By what means a device may write into paged memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Means {
    /// An io_uring. The library makes none.
    Ring,
    /// Memory that is pinned for a device: registered buffers, and those of RDMA.
    Pins,
    /// A context for asynchronous requests (`io_setup`) that the library has not made, and a file to read directly.
    Requests,
    /// A direct read into paged memory that goes on at the moment. The library reads into other memory.
    Read,
}

impl Means {
    fn words(self) -> &'static str {
        match self {
            Means::Ring => "has an io_uring that the pager cannot watch",
            Means::Pins => "has had memory pinned for a device",
            Means::Requests => {
                "makes asynchronous reads (`io_submit`) that the pager cannot watch, with a file opened with O_DIRECT"
            }
            Means::Read => "reads a file opened with O_DIRECT by instructions of its own",
        }
    }
}

/// Remembers the last look at each memory.
#[derive(Default)]
pub(crate) struct DeviceReads {
    evictions: HashMap<usize, u64>,
    /// A context may be seen before the library has marked it, so that one look is not enough.
    suspected: HashSet<usize>,
}

impl DeviceReads {
    /// Checks the process of a memory that has lost `evictions` pages; returns findings that are new.
    pub(crate) fn look(
        &mut self,
        memory: usize,
        evictions: u64,
        process: i32,
        known: &[Means],
    ) -> Vec<Means> {
        // A page that stays in memory is not lost, even if a device writes into it.
        if self.evictions.insert(memory, evictions).unwrap_or(0) == evictions {
            return Vec::new();
        }
        let process_folder = PathBuf::from(format!("/proc/{process}"));
        let mut seen = means(&process_folder);
        if !seen.contains(&Means::Requests) {
            self.suspected.remove(&memory);
        } else if self.suspected.insert(memory) {
            seen.retain(|&means| means != Means::Requests);
        }
        seen.retain(|means| !known.contains(means));
        seen
    }
}

/// A sentence without its subject: how devices may have written, and what may be lost.
pub(crate) fn sentence(means: &[Means]) -> String {
    let means: Vec<_> = means.iter().map(|means| means.words()).collect();
    format!(
        "{}: what a device writes into a page that has been swapped out meanwhile is lost; run it with memory for all \
         of its pages, or unpaged",
        means.join(" and ")
    )
}

/// Reads what /proc shows of a process; `process_folder` is its folder there.
fn means(process_folder: &Path) -> Vec<Means> {
    let text = |name| fs::read_to_string(process_folder.join(name)).unwrap_or_default();
    let descriptors = Descriptors::of(process_folder);
    let mut seen = Vec::new();
    if descriptors.has_ring {
        seen.push(Means::Ring);
    }
    // The kernel counts the buffers of `perf` as pinned, too.
    if !descriptors.has_perf && has_pins(&text("status")) {
        seen.push(Means::Pins);
    }
    if descriptors.has_direct_file {
        let maps = text("maps");
        if maps.lines().any(is_context) && has_unmarked_context(&text("smaps")) {
            seen.push(Means::Requests);
        }
        if is_reading(process_folder, &paged_ranges(&maps)) {
            seen.push(Means::Read);
        }
    }
    seen
}

/// The descriptors that a process has open.
#[derive(Default)]
struct Descriptors {
    has_ring: bool,
    has_perf: bool,
    has_direct_file: bool,
}

impl Descriptors {
    fn of(process_folder: &Path) -> Self {
        let mut descriptors = Descriptors::default();
        let Ok(entries) = fs::read_dir(process_folder.join("fd")) else { return descriptors };
        for entry in entries.flatten() {
            let Ok(target) = fs::read_link(entry.path()) else { continue };
            match target.to_str() {
                Some("anon_inode:[io_uring]") => descriptors.has_ring = true,
                Some("anon_inode:[perf_event]") => descriptors.has_perf = true,
                // The flag means something else for a pipe.
                _ if target.is_absolute() && !descriptors.has_direct_file => {
                    let number = entry.file_name();
                    descriptors.has_direct_file =
                        is_direct(&process_folder.join("fdinfo").join(number));
                }
                _ => {}
            }
        }
        descriptors
    }
}

/// Returns whether a descriptor, of which this file tells, has been opened with O_DIRECT.
fn is_direct(information: &Path) -> bool {
    let text = fs::read_to_string(information).unwrap_or_default();
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| i32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & libc::O_DIRECT != 0)
}

fn has_pins(status: &str) -> bool {
    let pinned = status.lines().find_map(|line| line.strip_prefix("VmPin:"));
    pinned.is_some_and(|size| size.trim() != "0 kB")
}

/// Returns whether a line of `maps` or `smaps` is the mapping of a context for asynchronous requests.
fn is_context(line: &str) -> bool {
    line.ends_with("/[aio] (deleted)") || line.ends_with("/[aio]")
}

/// Returns whether `smaps` shows a context without the library's mark, which is that it does not go into a core dump.
fn has_unmarked_context(smaps: &str) -> bool {
    let mut lines = smaps.lines();
    while lines.any(is_context) {
        let flags = lines.find_map(|line| line.strip_prefix("VmFlags:"));
        if flags.is_some_and(|flags| !flags.split_whitespace().any(|flag| flag == "dd")) {
            return true;
        }
    }
    false
}

/// The addresses of paged memory, from the lines of `maps`.
fn paged_ranges(maps: &str) -> Vec<Range<u64>> {
    let range = |line: &str| {
        let (start, end) = line.split_once(' ')?.0.split_once('-')?;
        let number = |digits| u64::from_str_radix(digits, 16).ok();
        Some(number(start)?..number(end)?)
    };
    let is_paged = |line: &&str| line.ends_with("/memfd:clockhand (deleted)");
    maps.lines().filter(is_paged).filter_map(range).collect()
}

/// Returns whether a thread of the process waits for a direct read into paged memory.
fn is_reading(process_folder: &Path, paged: &[Range<u64>]) -> bool {
    let Ok(threads) = fs::read_dir(process_folder.join("task")) else { return false };
    threads.flatten().any(|thread| {
        let text = || fs::read_to_string(thread.path().join("syscall")).ok();
        let Some(call) = text() else { return false };
        let Some(read) = ReadCall::parse(&call).filter(|read| read.is_into(paged, process_folder))
        else {
            return false;
        };
        let number = read.descriptor.to_string();
        let is_file = fs::read_link(process_folder.join("fd").join(&number))
            .is_ok_and(|target| target.is_absolute());
        // The descriptor is that of the read only if this still goes on.
        is_file
            && is_direct(&process_folder.join("fdinfo").join(&number))
            && text().is_some_and(|later| later == call)
    })
}

/// A system call that reads from a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ReadCall {
    descriptor: u64,
    address: u64,
    /// Bytes, or parts if `is_in_parts`.
    count: u64,
    is_in_parts: bool,
}

/// The most parts that the kernel takes.
const MOST_PARTS: u64 = 1024;

impl ReadCall {
    /// Parses the kernel's line about the call that a thread waits in: its number in decimal, its arguments in
    /// hexadecimal.
    fn parse(call: &str) -> Option<ReadCall> {
        let mut words = call.split_whitespace();
        let is_in_parts = match words.next()?.parse::<c_long>().ok()? {
            libc::SYS_read | libc::SYS_pread64 => false,
            libc::SYS_readv | libc::SYS_preadv | libc::SYS_preadv2 => true,
            _ => return None,
        };
        let mut argument = || u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
        Some(ReadCall {
            // The upper half of the register is without meaning.
            descriptor: argument()? & u64::from(u32::MAX),
            address: argument()?,
            count: argument()?,
            is_in_parts,
        })
    }

    fn is_into(self, paged: &[Range<u64>], process_folder: &Path) -> bool {
        let overlaps = |address: u64, bytes: u64| {
            let end = address.saturating_add(bytes);
            paged.iter().any(|range| range.start < end && address < range.end)
        };
        if !self.is_in_parts {
            return overlaps(self.address, self.count);
        }
        let bytes = self.count.min(MOST_PARTS) * size_of::<[u64; 2]>() as u64;
        // A list in paged memory is not looked at, because that would be an access.
        if overlaps(self.address, bytes) {
            return false;
        }
        let mut list = vec![0; bytes as usize];
        let memory = File::open(process_folder.join("mem"));
        if memory.and_then(|memory| memory.read_exact_at(&mut list, self.address)).is_err() {
            return false;
        }
        let (parts, _) = list.as_chunks::<8>();
        let (parts, _) = parts.as_chunks::<2>();
        parts.iter().any(|&[address, bytes]| {
            overlaps(u64::from_ne_bytes(address), u64::from_ne_bytes(bytes))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A folder as /proc has one for each process.
    fn process_folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in ["fd", "fdinfo", "task/7"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        folder
    }

    fn open(folder: &Path, number: u32, target: &str, flags: &str) {
        symlink(target, folder.join(format!("fd/{number}"))).unwrap();
        let information = format!("pos:\t0\nflags:\t{flags}\nmnt_id:\t1\n");
        fs::write(folder.join(format!("fdinfo/{number}")), information).unwrap();
    }

    const DIRECT: &str = "0140000";
    const PAGED: &str =
        "7f0000000000-7f0000100000 rw-s 00000000 00:01 5  /memfd:clockhand (deleted)\n";

    #[test]
    fn a_ring_is_seen_among_the_descriptors() {
        let folder = process_folder();
        open(folder.path(), 3, "/data", "0100000");
        assert_eq!(means(folder.path()), []);
        open(folder.path(), 4, "anon_inode:[io_uring]", "02000002");
        assert_eq!(means(folder.path()), [Means::Ring]);
    }

    #[test]
    fn pinned_memory_is_seen_unless_it_may_be_a_buffer_of_perf() {
        let folder = process_folder();
        let status = folder.path().join("status");
        fs::write(&status, "VmLck:\t       8 kB\nVmPin:\t       0 kB\n").unwrap();
        assert_eq!(means(folder.path()), []);
        fs::write(&status, "VmLck:\t       0 kB\nVmPin:\t      64 kB\n").unwrap();
        assert_eq!(means(folder.path()), [Means::Pins]);
        open(folder.path(), 5, "anon_inode:[perf_event]", "02000002");
        assert_eq!(means(folder.path()), []);
    }

    #[test]
    fn a_context_without_mark_is_seen_if_a_file_can_be_read_directly() {
        let folder = process_folder();
        let context = "7f1000000000-7f1000003000 rw-s 00000000 00:0e 9   /[aio] (deleted)\n";
        fs::write(folder.path().join("maps"), [PAGED, context].concat()).unwrap();
        let smaps = |flags: &str| {
            let rest = "Size:   12 kB\nVmFlags: ";
            let other = "VmFlags: rd wr sh dd\n";
            let text = [PAGED, other, context, rest, flags, "\n", PAGED, other].concat();
            fs::write(folder.path().join("smaps"), text).unwrap();
        };
        smaps("rd wr sh mr mw me ms de");
        open(folder.path(), 3, "/data", "0100000");
        assert_eq!(means(folder.path()), [], "no file can be read directly");
        open(folder.path(), 4, "pipe:[7]", DIRECT);
        assert_eq!(means(folder.path()), [], "a pipe in packets is not one");
        open(folder.path(), 5, "/data", DIRECT);
        assert_eq!(means(folder.path()), [Means::Requests]);
        smaps("rd wr sh mr mw me ms de dd");
        assert_eq!(means(folder.path()), [], "the library has made it");
    }

    #[test]
    fn a_direct_read_into_paged_memory_is_seen_while_it_goes_on() {
        let folder = process_folder();
        fs::write(folder.path().join("maps"), PAGED).unwrap();
        open(folder.path(), 3, "/data", "0100000");
        open(folder.path(), 4, "/data", DIRECT);
        let seen = |call: &str| {
            fs::write(folder.path().join("task/7/syscall"), call).unwrap();
            means(folder.path())
        };
        let rest = "0x7ffc00000000 0x401000";
        for number in [libc::SYS_read, libc::SYS_pread64] {
            let call = |descriptor: u32, address: &str| {
                format!("{number} {descriptor:#x} {address} 0x1000 0x0 0x0 0x0 {rest}\n")
            };
            assert_eq!(seen(&call(4, "0x7f0000001000")), [Means::Read]);
            assert_eq!(seen(&call(4, "0x7effffffffff")), [Means::Read], "its end is paged");
            assert_eq!(seen(&call(4, "0x7f0000100000")), [], "that is behind paged memory");
            assert_eq!(seen(&call(3, "0x7f0000001000")), [], "that goes through the page cache");
        }
        let write = libc::SYS_write;
        let written = format!("{write} 0x4 0x7f0000001000 0x1000 0x0 0x0 0x0 {rest}");
        assert_eq!(seen(&written), [], "memory is only read");
        assert_eq!(seen("running\n"), []);
        assert_eq!(seen("-1 0x7ffc00000000 0x401000\n"), []);

        // 16 bytes each: an address outside, then one in paged memory.
        let parts = [0x1000, 0x1000, 0x7f00_0000_2000, 0x1000].map(u64::to_ne_bytes).concat();
        fs::write(folder.path().join("mem"), [vec![0; 64], parts].concat()).unwrap();
        for number in [libc::SYS_readv, libc::SYS_preadv, libc::SYS_preadv2] {
            let call = |count: u32| format!("{number} 0x4 0x40 {count:#x} 0x0 0x0 0x0 {rest}\n");
            assert_eq!(seen(&call(1)), []);
            assert_eq!(seen(&call(2)), [Means::Read]);
            assert_eq!(seen(&call(3)), [], "so many parts are not there");
        }
    }

    #[test]
    fn nothing_is_seen_before_a_page_has_left_and_everything_once() {
        let process = std::process::id() as i32;
        let mut device_reads = DeviceReads::default();
        let _ring = match io_uring::IoUring::new(2) {
            Ok(ring) => ring,
            Err(error) => {
                eprintln!("SKIPPED: the kernel refuses io_uring: {error}");
                return;
            }
        };
        assert_eq!(device_reads.look(0, 0, process, &[]), []);
        let seen = device_reads.look(0, 1, process, &[]);
        assert!(seen.contains(&Means::Ring));
        assert_eq!(device_reads.look(0, 2, process, &seen), []);
        assert_eq!(device_reads.look(1, 0, process, &[]), [], "another memory, still in frames");
        assert!(device_reads.look(1, 2, process, &[]).contains(&Means::Ring));
    }

    #[test]
    fn a_sentence_names_all_means() {
        let said = sentence(&[Means::Ring, Means::Pins]);
        let start =
            "has an io_uring that the pager cannot watch and has had memory pinned for a device: ";
        assert!(said.starts_with(start), "{said}");
    }
}
