//! The system calls by which one process follows another; all unsafe code of the crate.

use std::io;
use std::mem::{size_of, zeroed};
use std::ptr::null_mut;

use libc::{c_int, c_long, c_uint, c_void, pid_t};

/// The events that `ptrace` reports besides the calls that the filter names.
const OPTIONS: c_int = libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACESECCOMP
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEEXEC
    // A thread whose tracer is gone would see its calls fail.
    | libc::PTRACE_O_EXITKILL;

/// How a stopped thread goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Until {
    /// To the next call that the filter names.
    NextCall,
    /// To the end of the call that it is in.
    EndOfCall,
    /// Not at all, until its process is continued.
    Continued,
}

/// What a thread did that made it stop, or end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    /// It makes a call that the filter names.
    Call,
    /// Its call has returned.
    Returned,
    /// It has made another thread or process.
    Made,
    /// It runs another program.
    Exec,
    /// It is new, or was asked to stop.
    New,
    /// A signal stopped its whole process, as by Ctrl-Z.
    Group,
    /// It gets this signal.
    Signal(c_int),
    /// It exited with this code.
    Exited(c_int),
    /// This signal ended it.
    Killed(c_int),
}

/// A call: its number, and its arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) number: u64,
    pub(crate) arguments: [u64; 6],
}

fn checked(result: c_long) -> io::Result<c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn plain(request: c_uint, thread: pid_t, data: c_long) -> io::Result<()> {
    // SAFETY: the requests of this file that come here take a number as data and touch no memory of ours.
    let result = unsafe { libc::ptrace(request as _, thread, null_mut::<c_void>(), data) };
    checked(result).map(drop)
}

/// Begins to follow a process and all that it makes.
pub(crate) fn seize(process: pid_t) -> io::Result<()> {
    plain(libc::PTRACE_SEIZE as _, process, c_long::from(OPTIONS))
}

/// Lets a stopped thread go on, with a signal that it gets if it is not 0.
pub(crate) fn resume(thread: pid_t, until: Until, signal: c_int) -> io::Result<()> {
    let request = match until {
        Until::NextCall => libc::PTRACE_CONT,
        Until::EndOfCall => libc::PTRACE_SYSCALL,
        Until::Continued => libc::PTRACE_LISTEN,
    };
    plain(request as _, thread, c_long::from(signal))
}

/// The number that comes with a stop: of the thread that was made, or that ran another program.
pub(crate) fn message(thread: pid_t) -> io::Result<pid_t> {
    let mut message: libc::c_ulong = 0;
    // SAFETY: the kernel writes one number to where the pointer leads, and this lives through the call.
    let result = unsafe {
        libc::ptrace(libc::PTRACE_GETEVENTMSG as _, thread, null_mut::<c_void>(), &raw mut message)
    };
    checked(result).map(|_| message as pid_t)
}

fn call_facts(thread: pid_t) -> io::Result<libc::ptrace_syscall_info> {
    // SAFETY: the structure is made of numbers, for which all bits 0 is a value.
    let mut facts: libc::ptrace_syscall_info = unsafe { zeroed() };
    // SAFETY: the kernel writes at most the given number of bytes, to a structure that lives on.
    let result = unsafe {
        libc::ptrace(
            libc::PTRACE_GET_SYSCALL_INFO as _,
            thread,
            size_of::<libc::ptrace_syscall_info>(),
            &raw mut facts,
        )
    };
    checked(result).map(|_| facts)
}

/// The call that a thread makes, at [`Stop::Call`].
pub(crate) fn entry(thread: pid_t) -> io::Result<Entry> {
    let facts = call_facts(thread)?;
    // SAFETY: at this stop the kernel has filled this part; it is made of numbers.
    let call = unsafe { facts.u.seccomp };
    Ok(Entry { number: call.nr, arguments: call.args })
}

/// What a call returned, at [`Stop::Returned`]; none if it failed.
pub(crate) fn returned(thread: pid_t) -> io::Result<Option<u64>> {
    let facts = call_facts(thread)?;
    // SAFETY: at this stop the kernel has filled this part; it is made of numbers.
    let exit = unsafe { facts.u.exit };
    Ok((exit.is_error == 0).then_some(exit.sval as u64))
}

/// Waits for the next stop of any thread that is followed; none when there is none left.
pub(crate) fn next_stop() -> io::Result<Option<(pid_t, Stop)>> {
    let mut status: c_int = 0;
    loop {
        // SAFETY: the kernel writes one number to where the pointer leads, and this lives through the call.
        let thread = unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL) };
        if thread > 0 {
            return Ok(Some((thread, stop_of(status))));
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::ECHILD) => return Ok(None),
            Some(libc::EINTR) => {}
            _ => return Err(error),
        }
    }
}

/// Waits until a child has stopped itself.
pub(crate) fn wait_until_stopped(child: pid_t) -> io::Result<()> {
    let mut status: c_int = 0;
    // SAFETY: the kernel writes one number to where the pointer leads, and this lives through the call.
    let waited = unsafe { libc::waitpid(child, &raw mut status, libc::WUNTRACED) };
    checked(waited.into())?;
    if libc::WIFSTOPPED(status) { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

fn stop_of(status: c_int) -> Stop {
    if libc::WIFEXITED(status) {
        return Stop::Exited(libc::WEXITSTATUS(status));
    }
    if libc::WIFSIGNALED(status) {
        return Stop::Killed(libc::WTERMSIG(status));
    }
    let signal = libc::WSTOPSIG(status);
    match status >> 16 {
        libc::PTRACE_EVENT_SECCOMP => Stop::Call,
        libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => Stop::Made,
        libc::PTRACE_EVENT_EXEC => Stop::Exec,
        libc::PTRACE_EVENT_STOP if signal == libc::SIGTRAP => Stop::New,
        libc::PTRACE_EVENT_STOP => Stop::Group,
        _ if signal == libc::SIGTRAP | 0x80 => Stop::Returned,
        _ => Stop::Signal(signal),
    }
}

/// Sends a signal to a process.
pub(crate) fn send(process: pid_t, signal: c_int) -> io::Result<()> {
    // SAFETY: the call takes two numbers.
    checked(unsafe { libc::kill(process, signal) }.into()).map(drop)
}

/// The number of this process.
pub(crate) fn own_process() -> pid_t {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::getpid() }
}

/// The number of this thread.
pub(crate) fn own_thread() -> pid_t {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::gettid() }
}

/// Processors on which a thread may run, a bit each, as the kernel has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Processors([u64; 16]);

impl Processors {
    /// Those of a thread; none if the kernel does not tell.
    pub(crate) fn of(thread: pid_t) -> Option<Self> {
        let mut found = Self([0; 16]);
        let bits = (&raw mut found.0).cast();
        // SAFETY: the kernel writes at most this many bytes, to numbers that live through the call.
        let result = unsafe { libc::sched_getaffinity(thread, size_of::<Self>(), bits) };
        (result == 0).then_some(found)
    }

    /// The one on which this thread runs.
    pub(crate) fn current() -> Option<Self> {
        // SAFETY: the call takes nothing.
        let number = usize::try_from(unsafe { libc::sched_getcpu() }).ok()?;
        let mut found = Self([0; 16]);
        *found.0.get_mut(number / 64)? = 1 << (number % 64);
        Some(found)
    }

    /// Returns whether all of them are among others.
    pub(crate) fn is_within(&self, others: &Self) -> bool {
        self.0.iter().zip(&others.0).all(|(own, others)| own & !others == 0)
    }

    /// Lets a thread run on these only; whether the kernel has agreed.
    pub(crate) fn allow(&self, thread: pid_t) -> bool {
        let bits = (&raw const self.0).cast();
        // SAFETY: the kernel reads this many bytes, of numbers that live through the call.
        unsafe { libc::sched_setaffinity(thread, size_of::<Self>(), bits) == 0 }
    }
}

/// The time that programs have in common, whatever is done to the clock.
pub(crate) fn monotonic_ns() -> u128 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes two numbers to a structure that lives through the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u128 * 1_000_000_000 + now.tv_nsec as u128
}

/// Returns whether two descriptors of a process are of one opening; false if the kernel does not tell.
pub(crate) fn is_same_opening(process: pid_t, one: u32, other: u32) -> bool {
    const KCMP_FILE: c_int = 0;
    // SAFETY: the call takes five numbers.
    let order = unsafe {
        libc::syscall(
            libc::SYS_kcmp,
            process,
            process,
            KCMP_FILE,
            libc::c_ulong::from(one),
            libc::c_ulong::from(other),
        )
    };
    order == 0
}

/// Lets the kernel stop this process, and all that it makes, at the calls that a filter names.
pub(crate) fn install(filter: &mut [libc::sock_filter]) -> io::Result<()> {
    let length = u16::try_from(filter.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let program = libc::sock_fprog { len: length, filter: filter.as_mut_ptr() };
    // SAFETY: the call takes five numbers.
    checked(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }.into())?;
    // SAFETY: the program leads to `len` instructions that live through the call, which copies them.
    let result = unsafe {
        libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program, 0, 0)
    };
    checked(result.into()).map(drop)
}
