//! Following a program: the stops of its threads, one after the other.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::calls::Kind;
use crate::filter;
use crate::inherited;
use crate::line::{Pending, append};
use crate::names::Names;
use crate::ptrace::{self, Stop, Until};
use crate::reported::Reported;
use crate::threads::Threads;
use crate::together::Together;

/// The size of the log's buffer; a killed tracer loses it.
const BUFFER_BYTES: usize = 64 * 1024;

/// Messages about a process, a line of JSON each.
#[derive(Serialize)]
#[serde(untagged)]
enum News {
    /// It runs a program.
    Runs { process: i32, command: Vec<String> },
    /// It was made by another.
    Made { process: i32, parent: i32 },
    /// It is gone, by itself or by a signal.
    Ended { process: i32, exit_code: Option<i32>, signal: Option<i32> },
    /// Why nothing more is written.
    Failed { error: String },
    /// The log is whole, as far as it goes.
    Done { done: bool },
}

/// The source of a program's calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Calls {
    /// The kernel stops the program at them.
    Stopped,
    /// The program runs under Valgrind, whose tool tells of them; times are those of the tool's clock.
    Reported,
}

/// In a process that was just forked: waits to be followed, and becomes the program. It returns only if
/// that fails.
pub fn become_followed(command: &[OsString], calls: Calls) -> io::Error {
    let Some((program, arguments)) = command.split_first() else {
        return io::ErrorKind::InvalidInput.into();
    };
    let mut filter = match calls {
        Calls::Stopped => filter::program(),
        Calls::Reported => filter::telling_program(),
    };
    let made_ready = ptrace::send(ptrace::own_process(), libc::SIGSTOP)
        .and_then(|()| ptrace::install(&mut filter));
    match made_ready {
        Ok(()) => Command::new(program).args(arguments).exec(),
        Err(error) => error,
    }
}

/// Follows a child that calls [`become_followed`], and all that it starts, until none is left. The log
/// goes to `log` and news of processes to `news`, both until the child has ended: what
/// outlives it runs on, unwritten.
///
/// # Errors
///
/// The child cannot be followed, and has been ended.
pub fn follow(child: i32, calls: Calls, log: File, news: File) -> io::Result<()> {
    let begun = ptrace::wait_until_stopped(child).and_then(|()| ptrace::seize(child));
    if let Err(error) = begun {
        _ = ptrace::send(child, libc::SIGKILL);
        return Err(error);
    }
    let mut following = Following {
        command: child,
        threads: Threads::default(),
        names: Names::default(),
        together: (calls == Calls::Stopped).then(Together::default),
        record: Some(Record::new(calls, log, news)),
    };
    following.threads.begin(child, child);
    following.begin();
    ptrace::send(child, libc::SIGCONT)?;
    while let Some((thread, stop)) = ptrace::next_stop()? {
        following.stopped(thread, stop);
    }
    following.finish();
    Ok(())
}

/// Where the log and the news go.
struct Record {
    log: File,
    buffer: Vec<u8>,
    news: File,
    clock: Clock,
}

/// Which time stands in front of a line.
enum Clock {
    /// Since 1970, and never back: from when on, and what it was then.
    Epoch { begun: Instant, begun_at_ns: u128 },
    /// That of the streams of memory references, to the nanosecond.
    Monotonic,
}

impl Clock {
    fn new(calls: Calls) -> Self {
        match calls {
            Calls::Stopped => {
                let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                Self::Epoch { begun: Instant::now(), begun_at_ns: since_epoch.as_nanos() }
            }
            Calls::Reported => Self::Monotonic,
        }
    }

    fn now_ns(&self) -> u128 {
        match self {
            Self::Epoch { begun, begun_at_ns } => begun_at_ns + begun.elapsed().as_nanos(),
            Self::Monotonic => ptrace::monotonic_ns(),
        }
    }
}

impl Record {
    fn new(calls: Calls, log: File, news: File) -> Self {
        Self { log, buffer: Vec::new(), news, clock: Clock::new(calls) }
    }

    /// What stands in front of the lines of a thread now.
    fn start(&self, thread: i32) -> Vec<u8> {
        let now_ns = self.clock.now_ns();
        let (seconds, rest_ns) = (now_ns / 1_000_000_000, now_ns % 1_000_000_000);
        let mut start = Vec::with_capacity(40);
        append(&mut start, format_args!("{thread} {seconds}.{rest_ns:09} "));
        start
    }

    fn line(&mut self, thread: i32, text: std::fmt::Arguments) {
        let start = self.start(thread);
        self.buffer.extend_from_slice(&start);
        append(&mut self.buffer, text);
        self.buffer.push(b'\n');
    }

    fn flush(&mut self) -> io::Result<()> {
        self.log.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// Tells; a listener that is gone hears nothing.
    fn tell(&mut self, news: &News) {
        if let Ok(mut line) = serde_json::to_vec(news) {
            line.push(b'\n');
            _ = self.news.write_all(&line);
        }
    }
}

struct Following {
    /// The process whose end ends the log.
    command: i32,
    threads: Threads,
    names: Names,
    /// The processors of threads and tracer. None if the program reports its calls itself, because some are missing
    /// then.
    together: Option<Together>,
    /// None once nothing more is to be written.
    record: Option<Record>,
}

impl Following {
    fn begin(&mut self) {
        let Some(record) = &mut self.record else { return };
        let start = record.start(self.command);
        inherited::write(self.command, &mut self.names, &start, &mut record.buffer);
        record.tell(&News::Runs { process: self.command, command: Vec::new() });
    }

    fn stopped(&mut self, thread: i32, stop: Stop) {
        if let Some(together) = &mut self.together {
            together.stopped(thread);
        }
        let (until, signal) = match stop {
            Stop::Call => (self.call_begins(thread), 0),
            Stop::Returned => {
                self.call_ends(thread);
                (Until::NextCall, 0)
            }
            Stop::Made => (self.has_made(thread), 0),
            Stop::Exec => {
                self.runs_another(thread);
                (Until::NextCall, 0)
            }
            Stop::New | Stop::Group | Stop::Signal(_) => {
                let Some(known) = self.threads.get(thread) else {
                    return self.threads.hold(thread);
                };
                match stop {
                    Stop::Group => (Until::Continued, 0),
                    Stop::Signal(signal) => (known.until(), signal),
                    _ => (known.until(), 0),
                }
            }
            Stop::Exited(code) => return self.ended(thread, Some(code), None),
            Stop::Killed(signal) => return self.ended(thread, None, Some(signal)),
        };
        // A killed thread cannot go on; its end is reported next.
        _ = ptrace::resume(thread, until, signal);
        self.keep_buffer_small();
    }

    fn call_begins(&mut self, thread: i32) -> Until {
        let pending = match (&self.record, ptrace::entry(thread)) {
            (Some(_), Ok(entry)) => {
                if let Some(reported) = Reported::read(thread, &entry) {
                    self.take_report(thread, reported);
                    return Until::NextCall;
                }
                Pending::read(thread, &entry)
            }
            _ => None,
        };
        if pending.as_ref().is_some_and(|pending| pending.call.kind == Kind::Early) {
            self.returned(thread, pending, Some(0));
            return Until::NextCall;
        }
        // It makes another thread, or asks for its processors; only the latter is not written down.
        if pending.as_ref().is_none_or(|pending| pending.call.kind == Kind::Make) {
            self.part();
        }
        match self.threads.get(thread) {
            Some(known) => {
                known.pending = pending;
                known.until()
            }
            None => Until::NextCall,
        }
    }

    /// A thread tells what it does.
    fn take_report(&mut self, thread: i32, reported: Reported) {
        match reported {
            Reported::Begins(pending) => {
                if let Some(known) = self.threads.get(thread) {
                    known.reported = pending;
                }
            }
            Reported::Returned(result) => {
                let pending = self.threads.get(thread).and_then(|known| known.reported.take());
                self.returned(thread, pending, result);
            }
            Reported::Mapped(mapping) => {
                let Some(record) = &mut self.record else { return };
                let start = record.start(thread);
                mapping.write(&start, &mut record.buffer);
            }
        }
    }

    fn call_ends(&mut self, thread: i32) {
        let pending = self.threads.get(thread).and_then(|known| known.pending.take());
        let result = ptrace::returned(thread).ok().flatten();
        self.returned(thread, pending, result);
    }

    /// A call has returned; none if it failed.
    fn returned(&mut self, thread: i32, pending: Option<Pending>, result: Option<u64>) {
        let (Some(pending), Some(record)) = (pending, &mut self.record) else { return };
        if let Some(result) = result
            && pending.call.kind != Kind::Make
        {
            let start = record.start(thread);
            pending.write(thread, result, &mut self.names, &start, &mut record.buffer);
        }
    }

    /// Adds the thread or process that a call has made.
    fn has_made(&mut self, thread: i32) -> Until {
        let Some(known) = self.threads.get(thread) else { return Until::NextCall };
        let (until, parent) = (known.until(), known.process);
        let Ok(child) = ptrace::message(thread) else { return until };
        let pending = known.pending.as_ref().or(known.reported.as_ref());
        let is_thread = pending.is_some_and(Pending::makes_a_thread);
        if let (Some(record), Some(pending)) = (&mut self.record, pending) {
            let start = record.start(thread);
            pending.write(thread, child as u64, &mut self.names, &start, &mut record.buffer);
            if !is_thread {
                record.tell(&News::Made { process: child, parent });
            }
        }
        if self.threads.begin(child, if is_thread { parent } else { child }) {
            _ = ptrace::resume(child, Until::NextCall, 0);
        }
        until
    }

    /// A process runs another program: its other threads are gone, and the one that is left has the
    /// number of the process.
    fn runs_another(&mut self, process: i32) {
        let former = ptrace::message(process).unwrap_or(process);
        for thread in self.threads.of(process) {
            if thread != former {
                self.thread_ended(thread);
            }
        }
        if former != process {
            if let Some(record) = &mut self.record {
                let flags = "CLONE_VM|CLONE_FILES|CLONE_THREAD";
                record.line(former, format_args!("clone({flags}) = {process}"));
            }
            self.thread_ended(former);
        }
        self.threads.begin(process, process);
        let Some(record) = &mut self.record else { return };
        record.line(process, format_args!("execve(\"\", 0) = 0"));
        let arguments = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        let arguments = arguments.strip_suffix(b"\0").unwrap_or(&arguments);
        let words = arguments.split(|&byte| byte == 0);
        let command = words.map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        record.tell(&News::Runs { process, command });
    }

    fn thread_ended(&mut self, thread: i32) {
        let known = self.threads.end(thread).is_some();
        if let Some(record) = self.record.as_mut().filter(|_| known) {
            record.line(thread, format_args!("+++ exited with 0 +++"));
        }
    }

    fn ended(&mut self, thread: i32, exit_code: Option<i32>, signal: Option<i32>) {
        let is_process = self.threads.get(thread).is_some_and(|known| known.process == thread);
        self.thread_ended(thread);
        if !is_process {
            return;
        }
        if let Some(record) = &mut self.record {
            record.tell(&News::Ended { process: thread, exit_code, signal });
        }
        if thread == self.command {
            self.finish();
        }
    }

    /// Lets a thread that is held on one processor go.
    fn part(&mut self) {
        if let Some(together) = &mut self.together {
            together.part();
        }
    }

    fn keep_buffer_small(&mut self) {
        let Some(record) = self.record.as_mut().filter(|record| record.buffer.len() > BUFFER_BYTES)
        else {
            return;
        };
        if let Err(error) = record.flush() {
            record.tell(&News::Failed { error: error.to_string() });
            self.record = None;
        }
    }

    /// Writes what is left, and no more.
    fn finish(&mut self) {
        self.part();
        let Some(mut record) = self.record.take() else { return };
        for process in self.threads.processes() {
            record.tell(&News::Ended { process, exit_code: None, signal: None });
        }
        if let Err(error) = record.flush() {
            record.tell(&News::Failed { error: error.to_string() });
        }
        record.tell(&News::Done { done: true });
    }
}
