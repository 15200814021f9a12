//! What calls do to the page cache: transfers, syncs, lengths.

use super::Log;
use super::files::FileNumber;
use super::line::{Call, Descriptor};
use super::processes::{Description, DescriptionNumber, Sharing, Telling};
use crate::decode::output::{Fault, Output};
use crate::decode::scan;
use crate::event::Action;
use crate::request::Op;

/// What lines without events are, in the plural, for the note at the end.
const OTHER: &str = "calls that concern no file";
const FAILED: &str = "calls that failed";
const NO_DATA: &str = "calls that move no data, which are followed";
const NO_FILE: &str = "reads and writes of pipes, sockets, devices, /proc and /sys";
pub(super) const NO_NAME: &str = "calls on names in an unknown directory";
const ASYNCHRONOUS: &str = "calls of asynchronous I/O, which are not followed";
const PARTLY: &str =
    "sync_file_range calls, and changes of files by fallocate that are not followed";
const ADVICE: &str = "advice to the page cache that is not followed (fadvise64, such as POSIX_FADV_DONTNEED, and readahead)";

/// No file has a byte behind it.
pub(super) const END_BYTES: u64 = 1 << 63;

/// Where a call reads or writes.
#[derive(Clone, Copy)]
enum At {
    /// Where the description stands, which moves on.
    Current,
    /// At this byte.
    Byte(u64),
}

/// One call of a thread, and what it may change.
pub(super) struct Caller<'a, 'b> {
    pub(super) log: &'a mut Log,
    pub(super) thread: u32,
    pub(super) time_ns: Option<u64>,
    pub(super) call: Call<'b>,
    pub(super) output: &'a mut Output,
}

impl<'b> Caller<'_, 'b> {
    /// Follows the call.
    pub(super) fn follow(mut self) -> Result<(), Fault> {
        let name = self.call.name;
        if matches!(name, b"io_submit" | b"io_uring_enter") {
            return self.leave_out(ASYNCHRONOUS);
        }
        if self.log.memory.is_some() && matches!(name, b"brk" | b"madvise") {
            return self.follow_memory();
        }
        if matches!(
            name,
            b"fadvise64" | b"fadvise64_64" | b"arm_fadvise64_64" | b"posix_fadvise" | b"readahead"
        ) {
            return self.leave_out(ADVICE);
        }
        if !is_followed(name) {
            return self.leave_out(OTHER);
        }
        let Some(returned) = self.call.returned() else { return self.leave_out(FAILED) };
        match name {
            b"read" | b"pread64" | b"readv" | b"preadv" | b"preadv2" => {
                self.transfer_by(Op::Read, returned)
            }
            b"write" | b"pwrite64" | b"writev" | b"pwritev" | b"pwritev2" => {
                self.transfer_by(Op::Write, returned)
            }
            b"sendfile" | b"sendfile64" => self.move_between((1, Some(2)), (0, None), returned),
            b"copy_file_range" | b"splice" => {
                self.move_between((0, Some(1)), (2, Some(3)), returned)
            }
            b"fsync" | b"fdatasync" => self.sync(),
            b"sync" | b"syncfs" => self.sync_all(),
            b"msync" => self.sync_mapped(),
            b"sync_file_range" => self.leave_out(PARTLY),
            b"ftruncate" | b"ftruncate64" | b"truncate" | b"truncate64" => self.truncate(),
            b"fallocate" => self.allocate(),
            _ => {
                self.leave_out(NO_DATA)?;
                self.follow_without_data(returned)
            }
        }
    }

    /// Counts the line as one without an event.
    pub(super) fn leave_out(&mut self, what: &'static str) -> Result<(), Fault> {
        self.output.report.pass_over(what);
        Ok(())
    }

    pub(super) fn argument(&self, index: usize) -> Option<&'b [u8]> {
        self.call.arguments().nth(index)
    }

    pub(super) fn number(&self, index: usize) -> Result<u64, Fault> {
        let number = self.argument(index).and_then(scan::decimal_or_hex);
        number.ok_or_else(|| format!("has no number in argument {}", index + 1).into())
    }

    /// The thread with all processes, and the receiver of file events.
    pub(super) fn parts(&mut self) -> ((u32, &mut super::processes::Processes), Telling<'_>) {
        let telling =
            Telling { files: &mut self.log.files, time_ns: self.time_ns, output: self.output };
        ((self.thread, &mut self.log.processes), telling)
    }

    fn tell(&mut self, file: FileNumber, action: Action) -> Result<(), Fault> {
        self.log.files.tell(file, self.time_ns, action, self.output)
    }

    pub(super) fn learn_length(&mut self, file: FileNumber, bytes: u64) -> Result<(), Fault> {
        if bytes > END_BYTES {
            return Err("has a length beyond byte 2^63".into());
        }
        self.log.files.learn_length(file, bytes, self.time_ns, self.output)
    }

    /// The description behind a descriptor; none if there is not a file behind it.
    pub(super) fn describe(&mut self, index: usize) -> Result<Option<DescriptionNumber>, Fault> {
        let descriptor = self.argument(index).and_then(Descriptor::read);
        let Some(Descriptor { number: Some(number), file }) = descriptor else {
            return Err(format!("has no descriptor in argument {}", index + 1).into());
        };
        let known = self.log.processes.description(self.thread, number);
        let Some(note) = file else { return Ok(known) };
        if !is_in_cache(&note.path) {
            let ((thread, processes), mut telling) = self.parts();
            processes.close(thread, number, &mut telling)?;
            return Ok(None);
        }
        if let Some(known) = known {
            let file = self.log.processes.get(known).file;
            if self.log.files.is_noted_so(file, &note) {
                return Ok(Some(known));
            }
        }
        self.log.unopened_descriptors += 1;
        let file = self.log.files.open(&note)?;
        let ((thread, processes), mut telling) = self.parts();
        processes.open(thread, number, Description::new(file), false, &mut telling).map(Some)
    }

    /// Reads or writes by a call whose first argument is the descriptor.
    fn transfer_by(&mut self, op: Op, returned: u64) -> Result<(), Fault> {
        let at = match self.call.name {
            b"read" | b"readv" | b"write" | b"writev" => At::Current,
            _ => match self.argument(3) {
                Some(b"-1") => At::Current,
                _ => At::Byte(self.number(3)?),
            },
        };
        let asked = match self.call.name {
            b"read" | b"pread64" => Some(self.number(2)?),
            _ => None,
        };
        self.transfer(op, 0, at, returned, asked)
    }

    /// Moves bytes between two descriptors, each at the offset in an argument or at its own.
    fn move_between(
        &mut self,
        from: (usize, Option<usize>),
        to: (usize, Option<usize>),
        returned: u64,
    ) -> Result<(), Fault> {
        for (op, (descriptor, offset)) in [(Op::Read, from), (Op::Write, to)] {
            let offset = offset.and_then(|index| self.argument(index));
            let offset = offset.and_then(|field| field.strip_prefix(b"["));
            let at = match offset {
                Some(digits) => {
                    let (byte, _) = scan::leading_decimal(digits).ok_or("has no offset in []")?;
                    At::Byte(byte)
                }
                None => At::Current,
            };
            self.transfer(op, descriptor, at, returned, None)?;
        }
        Ok(())
    }

    /// Reads or writes `returned` bytes; a read that got less than it `asked` for shows the file's end.
    fn transfer(
        &mut self,
        op: Op,
        descriptor: usize,
        at: At,
        returned: u64,
        asked: Option<u64>,
    ) -> Result<(), Fault> {
        let Some(number) = self.describe(descriptor)? else { return self.leave_out(NO_FILE) };
        let Description { file, offset: current, appends, is_direct, is_synchronous, .. } =
            *self.log.processes.get(number);
        if returned == 0 {
            self.output.report.zero_size_requests += 1;
            return Ok(());
        }
        let offset = match at {
            _ if op == Op::Write && appends => self.end_of(file)?,
            At::Byte(byte) => byte,
            At::Current => current,
        };
        let bytes = u32::try_from(returned).map_err(|_| "moves more than 4294967295 bytes")?;
        let end = offset.checked_add(returned).filter(|&end| end <= END_BYTES);
        let end = end.ok_or("reaches beyond byte 2^63, where no file has a byte")?;
        if op == Op::Read && asked.is_some_and(|asked| returned < asked) {
            self.learn_length(file, end)?;
        }
        if matches!(at, At::Current) {
            self.log.processes.get(number).offset = end;
        }
        let process = self.log.processes.process_of(self.thread);
        let action = match is_direct {
            true => Action::Direct { op, offset, bytes },
            false => Action::Call { op, offset, bytes, process },
        };
        self.tell(file, action)?;
        let must_persist = is_synchronous || self.asks_for_persistence();
        if op == Op::Write && must_persist && !is_direct {
            self.log.synchronous_writes += 1;
            return self.tell(file, Action::Sync);
        }
        Ok(())
    }

    /// Returns whether this one write is to be persistent when it returns (`RWF_SYNC`, `RWF_DSYNC`).
    fn asks_for_persistence(&self) -> bool {
        let flags = || self.call.arguments().last().unwrap_or_default();
        self.call.name == b"pwritev2" && (has(flags(), b"RWF_SYNC") || has(flags(), b"RWF_DSYNC"))
    }

    /// The offset of a write that appends; a file of unknown length is taken as empty.
    fn end_of(&mut self, file: FileNumber) -> Result<u64, Fault> {
        if let Some(length) = self.log.files.length(file) {
            return Ok(length);
        }
        self.log.appends_to_unknown += 1;
        self.learn_length(file, 0)?;
        Ok(0)
    }

    fn sync(&mut self) -> Result<(), Fault> {
        let Some(number) = self.describe(0)? else { return self.leave_out(NO_FILE) };
        let file = self.log.processes.get(number).file;
        self.tell(file, Action::Sync)
    }

    fn sync_all(&mut self) -> Result<(), Fault> {
        if !self.log.files.has_streams() {
            return self.leave_out(NO_DATA);
        }
        let event =
            crate::event::Event { object: 0, time_ns: self.time_ns, action: Action::SyncAll };
        self.output.event(event)
    }

    fn sync_mapped(&mut self) -> Result<(), Fault> {
        if !self.argument(2).is_some_and(|flags| has(flags, b"MS_SYNC")) {
            return self.leave_out(NO_DATA);
        }
        let addresses = self.addresses(0, 1)?;
        let files = self.log.processes.mapped(self.thread, addresses);
        files.into_iter().try_for_each(|file| self.tell(file, Action::Sync))
    }

    fn truncate(&mut self) -> Result<(), Fault> {
        let bytes = self.number(1)?;
        if bytes > END_BYTES {
            return Err("has a length beyond byte 2^63".into());
        }
        let file = match self.call.name {
            b"truncate" | b"truncate64" => {
                let Some(path) = self.path(None, 0) else { return self.leave_out(NO_NAME) };
                self.log.files.named(&path)
            }
            _ => {
                let number = self.describe(0)?;
                number.map(|number| self.log.processes.get(number).file)
            }
        };
        match file {
            Some(file) => self.log.files.truncate(file, bytes, self.time_ns, self.output),
            None => self.leave_out(NO_DATA),
        }
    }

    fn allocate(&mut self) -> Result<(), Fault> {
        let (offset, bytes) = (self.number(2)?, self.number(3)?);
        let end = offset.checked_add(bytes).filter(|&end| end <= END_BYTES);
        let end = end.ok_or("reaches beyond byte 2^63, where no file has a byte")?;
        let Some(number) = self.describe(0)? else { return self.leave_out(NO_FILE) };
        let file = self.log.processes.get(number).file;
        let mode = self.argument(1).unwrap_or_default();
        let keeps_size = has(mode, b"FALLOC_FL_KEEP_SIZE");
        if has(mode, b"FALLOC_FL_PUNCH_HOLE") || has(mode, b"FALLOC_FL_ZERO_RANGE") {
            self.tell(file, Action::Discard { address: offset, bytes })?;
        } else if mode != b"0" && !keeps_size {
            return self.leave_out(PARTLY);
        }
        let grows = self.log.files.length(file).is_some_and(|length| length < end);
        if grows && !keeps_size {
            return self.log.files.truncate(file, end, self.time_ns, self.output);
        }
        Ok(())
    }

    pub(super) fn addresses(
        &self,
        start: usize,
        bytes: usize,
    ) -> Result<std::ops::Range<u64>, Fault> {
        let start = self.number(start)?;
        Ok(start..start.saturating_add(self.number(bytes)?))
    }
}

/// The calls that change where a descriptor points, how long a file is, or what is in memory.
#[rustfmt::skip]
const FOLLOWED: &[&str] = &[
    "read", "pread64", "readv", "preadv", "preadv2", "write", "pwrite64", "writev", "pwritev",
    "pwritev2", "sendfile", "sendfile64", "copy_file_range", "splice", "fsync", "fdatasync", "sync",
    "syncfs", "msync", "sync_file_range", "ftruncate", "ftruncate64", "truncate", "truncate64",
    "fallocate", "open", "openat", "openat2", "creat", "close", "close_range", "dup", "dup2",
    "dup3", "fcntl", "fcntl64", "lseek", "_llseek", "unlink", "unlinkat", "rename", "renameat",
    "renameat2", "link", "linkat", "mmap", "mmap2", "munmap", "mremap", "chdir", "fchdir", "clone",
    "clone3", "fork", "vfork", "execve", "execveat", "stat", "stat64", "lstat", "lstat64", "fstat",
    "fstat64", "newfstatat", "fstatat64", "statx",
];

fn is_followed(name: &[u8]) -> bool {
    FOLLOWED.iter().any(|followed| followed.as_bytes() == name)
}

/// What a new thread shares with its maker; the rest of the arguments may still be missing.
pub(super) fn sharing_of(name: &[u8], arguments: &[u8]) -> Sharing {
    match name {
        b"fork" => Sharing::default(),
        b"vfork" => Sharing { memory: true, ..Sharing::default() },
        _ => Sharing {
            process: has(arguments, b"CLONE_THREAD"),
            descriptors: has(arguments, b"CLONE_FILES"),
            memory: has(arguments, b"CLONE_VM"),
        },
    }
}

/// Returns whether a word stands among flags.
pub(super) fn has(flags: &[u8], flag: &[u8]) -> bool {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    flags.split(|byte| !is_word(byte)).any(|word| word == flag)
}

/// Returns whether the page cache holds what is behind a path: files, and block devices as far as they are known.
pub(super) fn is_in_cache(path: &[u8]) -> bool {
    const DISKS: [&[u8]; 11] = [
        b"sd", b"nvme", b"vd", b"xvd", b"hd", b"dm-", b"md", b"mapper/", b"loop", b"mmcblk",
        b"zram",
    ];
    if memchr::memmem::find(path, b"<block ").is_some() {
        return true;
    }
    if memchr::memmem::find(path, b"<char ").is_none()
        && let Some(device) = path.strip_prefix(b"/dev/")
        && DISKS.iter().any(|disk| {
            let rest = device.strip_prefix(*disk);
            rest.is_some_and(|rest| !rest.is_empty() && rest != b"control" && rest != b"-control")
        })
    {
        return true;
    }
    const OUTSIDE: [&[u8]; 4] = [b"/dev/", b"/proc/", b"/sys/", b"/memfd:"];
    let is_shared_memory = path.starts_with(b"/dev/shm/");
    path.starts_with(b"/")
        && (is_shared_memory || !OUTSIDE.iter().any(|start| path.starts_with(start)))
}
