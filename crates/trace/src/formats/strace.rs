//! # strace
//!
//! What `strace -f -ttt -y -o FILE COMMAND` writes: the calls of a program and its children, for a page
//! cache.
//!
//! **A line** is a call with its arguments and its result; the process number in front is absent where
//! there is one process, or reads `[pid  17]`:
//!
//! ```text
//! 17 1795326088.184481 openat(AT_FDCWD</home/ada>, "notes", O_RDWR|O_CREAT, 0666) = 3</home/ada/notes>
//! 17 1795326088.184630 write(3</home/ada/notes>, "one two"..., 4096) = 4096
//! 17 1795326088.184702 fsync(3</home/ada/notes> <unfinished ...>
//! 18 1795326088.184733 read(0<pipe:[4711]>, "", 4096) = 0
//! 17 1795326088.192001 <... fsync resumed>) = 0
//! ```
//!
//! | call | becomes |
//! |---|---|
//! | `read write pread64 pwrite64 readv writev preadv pwritev preadv2 pwritev2` | a reading or writing call of as many bytes as it returned; O_DIRECT if the file was opened so |
//! | `sendfile copy_file_range splice` | a read of one file, a write of the other |
//! | `fsync fdatasync`, `msync` with MS_SYNC | a sync of the file |
//! | `sync syncfs` | a sync of all files |
//! | `truncate ftruncate`, `open` with O_TRUNC, `fallocate` that lengthens | the file gets this length |
//! | `fallocate` that makes holes or zeros | a discard |
//! | `unlink unlinkat`, `rename` onto a file, with `close munmap execve` and the end of processes | a deletion, once no name, descriptor or mapping leads to the file |
//!
//! - **Offsets** are followed from open to close, through `lseek _llseek dup dup2 dup3 fcntl fork vfork clone
//!   clone3` and the flags O_APPEND and O_CLOEXEC: descriptors that were made of each other share one
//!   offset, threads share their descriptors, children have copies. The process of a call is that of the
//!   thread that calls.
//! - **A file is a stream**, named as it was opened first, and stays one when it is renamed. What `-y`
//!   notes behind a descriptor has the last word: if the log did not show that file being opened, the
//!   offset is taken as 0, and counted in a note.
//! - A relative name is one in the directory that the process is in. Where the log does not tell it, as without `-y`, all such
//!   processes are taken to be in one, which is called `/(working directory)`.
//! - **Lengths** are known from `stat` calls, O_TRUNC, O_EXCL, `lseek` to the end, and reads that get
//!   less than they asked for. A file whose length the log does not tell has no end until it is
//!   truncated; one that is appended to is taken as empty. Notes count both.
//! - **A call that others interrupt** (`<unfinished ...>`) happens where it is resumed.
//! - Mappings only keep files in use: what programs read and write through them is not in the log. A
//!   note counts them. Names are compared as they are written: links between folders are not followed.
//! - **Times** are seconds (`-ttt`, whole ones too), times of day (`-t`, `-tt`; past midnight they run on), or pauses
//!   (`-r`); a log without any is read without times. The name of a process (`-Y`), what `-i` and `-n` add, and pauses
//!   beside times are understood.
//! - **Writes of files that are opened with O_SYNC or O_DSYNC**, or with `RWF_SYNC` or `RWF_DSYNC`, are followed by a sync of
//!   the file. A note counts them.
//! - Block devices are files of the page cache; they are recognised by `-yy` or by their name in
//!   /dev.
//!
//! **Skipped**, and counted in notes: calls that concern no file, calls that failed, and calls that the log never
//! finishes. Reads and writes of pipes, sockets, character devices, /proc and /sys. Asynchronous I/O (`io_submit`,
//! `io_uring_enter`), `sync_file_range` and advice (`fadvise64`, `readahead`). Call stacks (`-k`), the table of `-C`,
//! and signals. Calls of size 0 do nothing and are counted. Every other line that is not a call is counted as
//! malformed.
//!
//! **Source**: strace(1), and logs of strace 6.1.

mod calls;
mod files;
mod line;
mod memory;
mod names;
mod pool;
mod processes;

use rustc_hash::FxHashMap;

use crate::decode::lines::{self, Line, LineFormat};
use crate::decode::output::{Fault, Output};
use crate::decode::scan;
use crate::error::TraceError;
use crate::format::{Confidence, Decoder, Format};
use crate::report::ReadReport;
use crate::source::Source;
use crate::source::sample::Sample;
use calls::{Caller, sharing_of};
use files::Files;
use line::{Call, Content, Entry, When};
use memory::Memory;
pub(crate) use memory::MemoryReference;
use processes::{Processes, Telling};

pub(super) const FORMAT: Format = Format {
    sniff,
    open,
    ..Format::text::<Log>(
        "strace",
        "`17 1.5 read(3</etc/passwd>, \"…\", 4096) = 100`: calls of programs, strace -f -ttt -y",
        include_str!("strace.rs"),
    )
    .with_streams_of("file")
};

/// A log with mostly calls, and with what strace puts around them.
fn sniff(sample: &Sample) -> Confidence {
    const LINES_TRIED: usize = 400;
    if !sample.is_text() {
        return Confidence::Unfit;
    }
    let (mut fitting, mut others, mut in_summary) = (0, 0, false);
    for line in sample.lines().take(LINES_TRIED).filter(|line| !scan::trimmed(line).is_empty()) {
        in_summary |= begins_summary(line);
        match Entry::read(line) {
            _ if line.starts_with(b" > ") => {}
            Ok(_) => fitting += 1,
            Err(_) if in_summary => {}
            Err(_) => others += 1,
        }
    }
    if fitting > 3 * others { Confidence::Likely } else { Confidence::Unfit }
}

fn open(source: &mut Source, output: &mut Output) -> Result<Box<dyn Decoder>, TraceError> {
    output.holds_events = true;
    lines::open_as(Log::default(), source, output)
}

/// All beginnings together; no log has as many threads that wait.
const LIMIT_UNFINISHED_BYTES: usize = 1 << 26;

/// What is known of the processes and files of a log so far.
#[derive(Default)]
pub(crate) struct Log {
    files: Files,
    processes: Processes,
    /// Where references to memory come between the calls.
    memory: Option<Memory>,
    /// The beginnings of calls, by thread.
    unfinished: FxHashMap<u32, Vec<u8>>,
    unfinished_bytes: usize,
    /// Threads that are making others, in the order they began.
    forking: Vec<u32>,
    /// Descriptors that were met without having been opened.
    unopened_descriptors: u64,
    appends_to_unknown: u64,
    mappings: u64,
    unclear_parents: u64,
    /// Writes that were persistent when they returned.
    pub(crate) synchronous_writes: u64,
    clock: Clock,
    /// True if the table of counts has begun.
    in_summary: bool,
}

/// What makes a time of what lines say.
#[derive(Default)]
struct Clock {
    last_ns: u64,
    /// Midnights that passed.
    days: u64,
}

impl Clock {
    fn time_ns(&mut self, when: When) -> Option<u64> {
        const DAY_NS: u64 = 86_400 * 1_000_000_000;
        let time_ns = match when {
            When::Unknown => return None,
            When::At { time_ns } => time_ns,
            When::SinceLast { time_ns } => self.last_ns.saturating_add(time_ns),
            When::OfDay { time_ns } => {
                // Lines of several threads are a little out of order now and then.
                let is_next_day =
                    (self.days * DAY_NS + time_ns).saturating_add(DAY_NS / 2) < self.last_ns;
                self.days += u64::from(is_next_day);
                self.days * DAY_NS + time_ns
            }
        };
        self.last_ns = time_ns;
        Some(time_ns)
    }
}

impl LineFormat for Log {
    fn kept_bytes(&self) -> u64 {
        self.files.memory_bytes()
    }

    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<Line, Fault> {
        let text = scan::trimmed(line);
        if text.is_empty() {
            return Ok(Line::Passed);
        }
        if line.starts_with(b" > ") {
            output.report.pass_over("lines of call stacks");
            return Ok(Line::Passed);
        }
        self.in_summary |= begins_summary(text);
        // Blanks in front of a time tell what it counts from.
        let entry = Entry::read(if text.starts_with(b"[") { text } else { line });
        if self.in_summary && entry.is_err() {
            output.report.pass_over("lines of the summary");
            return Ok(Line::Passed);
        }
        self.in_summary = false;
        let given =
            |output: &Output| output.requests.len() + output.events.as_ref().map_or(0, Vec::len);
        let before = given(output);
        self.entry(entry?, output)?;
        Ok(if given(output) > before { Line::Taken } else { Line::Passed })
    }

    fn end(&mut self, report: &mut ReadReport) {
        let notes = [
            (self.unfinished.len() as u64, "calls that the log does not finish are left out"),
            (
                self.unopened_descriptors,
                "descriptors are of files that the log does not show being opened; their offsets are taken as 0",
            ),
            (
                self.files.unknown_lengths() as u64,
                "files have no length in the log, and no end until they are truncated",
            ),
            (
                self.appends_to_unknown,
                "files of unknown length were appended to and are taken as empty before",
            ),
            (
                if self.memory.is_none() { self.mappings } else { 0 },
                "mappings of files; what programs read and write through them is not in the log",
            ),
            (
                self.synchronous_writes,
                "writes of files opened with O_SYNC or O_DSYNC, or with RWF_SYNC or RWF_DSYNC; each is followed by a \
                 sync of its file",
            ),
            (
                self.unclear_parents,
                "processes appeared while several were being made; each is taken as the child of the one that began first",
            ),
        ];
        for (count, what) in notes.into_iter().filter(|(count, _)| *count > 0) {
            report.notes.push(format!("{count} {what}"));
        }
    }
}

impl Log {
    fn entry(&mut self, entry: Entry, output: &mut Output) -> Result<(), Fault> {
        let Entry { thread, when, content } = entry;
        let time_ns = self.clock.time_ns(when);
        match content {
            Content::Remark => output.report.pass_over("signals and remarks of strace"),
            Content::Ended => self.end_thread(self.processes.named(thread), time_ns, output)?,
            Content::Unfinished(text) => {
                let thread = self.meet(thread, true, time_ns, output)?;
                self.begin_call(thread, text)?;
            }
            Content::Resumed(rest) => {
                let thread = self.meet(thread, false, time_ns, output)?;
                self.resume_call(thread, rest, time_ns, output)?;
            }
            Content::Call(call) => {
                let thread = self.meet(thread, true, time_ns, output)?;
                Caller { log: self, thread, time_ns, call, output }.follow()?;
            }
        }
        Ok(())
    }

    /// The thread of a line. One that was not met before is the child of a process that is making
    /// one, or has been in the log without a number.
    fn meet(
        &mut self,
        written: u32,
        may_be_new: bool,
        time_ns: Option<u64>,
        output: &mut Output,
    ) -> Result<u32, Fault> {
        let thread = self.processes.named(written);
        if self.processes.is_known(thread) {
            return Ok(thread);
        }
        if may_be_new && !self.forking.is_empty() {
            self.unclear_parents += u64::from(self.forking.len() > 1);
            let parent = self.forking.remove(0);
            let begun = self.unfinished.get(&parent).map(Vec::as_slice).unwrap_or_default();
            let (name, arguments) = begun_call(begun);
            let sharing = sharing_of(name, arguments);
            let mut telling = Telling { files: &mut self.files, time_ns, output };
            self.processes.fork(parent, thread, sharing, true, &mut telling)?;
        } else if !self.processes.give_number(thread) {
            self.processes.begin(thread);
        }
        Ok(thread)
    }

    fn begin_call(&mut self, thread: u32, text: &[u8]) -> Result<(), Fault> {
        self.forget_call(thread);
        self.unfinished_bytes += text.len();
        if self.unfinished_bytes > LIMIT_UNFINISHED_BYTES {
            return Err(Fault::Trace(format!(
                "calls that began and did not end have more than {LIMIT_UNFINISHED_BYTES} bytes; \
                 take a part of the log"
            ).into()));
        }
        if makes_a_thread(begun_call(text).0) {
            self.forking.push(thread);
        }
        self.unfinished.insert(thread, text.to_vec());
        Ok(())
    }

    fn forget_call(&mut self, thread: u32) -> Option<Vec<u8>> {
        let text = self.unfinished.remove(&thread)?;
        self.unfinished_bytes -= text.len();
        self.forking.retain(|&forking| forking != thread);
        Some(text)
    }

    fn resume_call(
        &mut self,
        thread: u32,
        rest: &[u8],
        time_ns: Option<u64>,
        output: &mut Output,
    ) -> Result<(), Fault> {
        let Some(mut text) = self.forget_call(thread) else {
            output.report.pass_over("ends of calls whose beginning is not in the log");
            return Ok(());
        };
        text.extend_from_slice(rest);
        let call = Call::read(&text)?;
        Caller { log: self, thread, time_ns, call, output }.follow()
    }

    fn end_thread(
        &mut self,
        thread: u32,
        time_ns: Option<u64>,
        output: &mut Output,
    ) -> Result<(), Fault> {
        self.forget_call(thread);
        self.end_memory(thread, time_ns, output)?;
        let mut telling = Telling { files: &mut self.files, time_ns, output };
        self.processes.end(thread, &mut telling)
    }
}

/// Returns whether the table of counts begins that `-C` adds: `% time     seconds  usecs/call     calls    errors
/// syscall`.
fn begins_summary(text: &[u8]) -> bool {
    text.starts_with(b"% time ")
}

/// The name and the first arguments of a call that was begun.
fn begun_call(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|&byte| byte == b'(').unwrap_or(text.len());
    (&text[..end], &text[end..])
}

fn makes_a_thread(name: &[u8]) -> bool {
    matches!(name, b"clone" | b"clone3" | b"fork" | b"vfork")
}
