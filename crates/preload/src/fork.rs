//! A forked child gets a private copy of its parent's memory before it runs, or it does not run.
//!
//! In a sandbox that refuses what that takes, the copy is ordinary memory (`private_copy`).
//!
//! The mapping is not inherited, so that nothing is ever shared by accident. Before the fork the pager freezes the pages
//! and copies them; the child attaches itself to the copy, at the same address. Between, the heap is locked and no signal
//! handler runs on the forking thread, which must not write to a frozen page. A signal handler may fork as well, also while the
//! thread that it interrupts works on the heap: that goes on in both processes.
//!
//! The kernel makes no child while a signal waits for the forking thread: the signal comes first, and then the fork from its
//! beginning. Thus what is sent to a whole group ends a program before its child exists, or reaches both. But the kernel
//! does not count a blocked signal as waiting, and the copy takes milliseconds. So we do the same: with the copy made, we
//! look whether a signal has come, and if so give the copy back, let the signal have its effect, and begin again.

use core::cell::UnsafeCell;
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering};

use clockhand_pager_protocol::{NO_TOKEN, RequestKind, Token};

use crate::pager::Connection;
use crate::private_copy::{self, PrivateCopy};
use crate::sentence::{LOST_MEMORY_EXIT_CODE, Sentence};
use crate::system::{self, ErrorNumber, Result, SignalSet};
use crate::{address_space, attach, memory, pager};

/// The number of times that a fork is begun again because a signal came. The signal that matters has its effect after
/// the first; a program with a timer that is faster than the copy shall fork at last.
const MAX_BEGINNINGS: u32 = 4;

/// Tells of children of the program, hence never of what a child should have heard as well; common in shells that fork.
const OF_CHILDREN: SignalSet = 1 << (libc::SIGCHLD - 1);

/// What the child gets.
#[derive(Clone, Copy)]
enum Copy {
    /// A copy that the pager keeps, by its token, and the connection that keeps it alive and the pages frozen. Parent and child
    /// each have a descriptor of that, and close it.
    Paged { token: Token, connection: i32 },
    /// Ordinary memory, because a sandbox refuses the other.
    Private(PrivateCopy),
    /// The process itself has ordinary memory, which the kernel copies.
    Inherited,
}

/// A fork under way.
struct Fork {
    /// The copy, or why there is none.
    copy: core::result::Result<Copy, Sentence>,
    /// Parent and child have one table of descriptors, so that the connection is closed by the child only.
    shares_descriptors: bool,
    /// What the forking thread had blocked.
    signals: SignalSet,
    /// True if the lock was taken for it.
    is_locked: bool,
}

/// The fork under way, kept outside of the paged memory.
struct ForkUnderWay(UnsafeCell<Fork>);

// SAFETY: used between `prepare` and `finish` only, under the lock of the memory.
unsafe impl Sync for ForkUnderWay {}

static FORK: ForkUnderWay = ForkUnderWay(UnsafeCell::new(Fork {
    copy: Ok(Copy::Inherited),
    shares_descriptors: false,
    signals: 0,
    is_locked: false,
}));

/// Has the C library call us around each fork: last before it, first after it.
pub fn register() -> core::result::Result<(), Sentence> {
    // SAFETY: the three functions live as long as the program: a preloaded library is not unloaded.
    match unsafe {
        libc::pthread_atfork(Some(prepare), Some(finish_in_parent), Some(finish_in_child))
    } {
        0 => Ok(()),
        error => Err(Sentence::new(format_args!(
            "forks of the program cannot be watched (error {error}): it cannot run under the pager"
        ))),
    }
}

extern "C" fn prepare() {
    prepare_for(0);
}

/// Makes a child by a call that has none of these functions called around it, and returns twice as that does.
///
/// # Safety
/// `make` makes a child with a copy of the memory and returns 0 there, or goes on elsewhere after [`finish_in_child`].
pub unsafe fn around(flags: usize, make: impl FnOnce() -> Result<usize>) -> Result<usize> {
    prepare_for(flags);
    let made = make();
    match made {
        Ok(0) => finish_in_child(),
        // SAFETY: the lock is held since `prepare_for`.
        Ok(_) => unsafe {
            (*FORK.0.get()).shares_descriptors = flags & libc::CLONE_FILES as usize != 0;
            finish_in_parent();
        },
        Err(_) => finish_in_parent(),
    }
    made
}

/// Prepares for a child that is made with these flags of `clone`.
fn prepare_for(flags: usize) {
    for beginning in 1.. {
        let signals = system::block_signals();
        let is_locked = memory::lock_to_fork();
        let copy = begin(signals as usize, flags);
        let came = system::pending_signals() & !signals & !OF_CHILDREN;
        // SAFETY: the lock is held.
        unsafe { *FORK.0.get() = Fork { copy, shares_descriptors: false, signals, is_locked } };
        if came == 0 || copy.is_err() || beginning == MAX_BEGINNINGS {
            return;
        }
        // The signals that came have their effect in here.
        end(true);
    }
}

/// Asks the pager for the copy.
fn begin(on_stack: usize, flags: usize) -> core::result::Result<Copy, Sentence> {
    // The next call would write to a frozen page and wait forever. Reported now, since the child has no stack to report it.
    if memory::contains(&raw const on_stack as usize) {
        let sentence = Sentence::new(format_args!(
            "a thread whose stack is paged memory cannot fork, and its child ends at once: run the program without the pager"
        ));
        sentence.write_to(libc::STDERR_FILENO);
        return Err(sentence);
    }
    if private_copy::is_in_use() {
        return Ok(Copy::Inherited);
    }
    // In a user namespace of its own a child is not allowed a userfaultfd.
    let is_elsewhere = flags & libc::CLONE_NEWUSER as usize != 0;
    let refusal = private_copy::refusal().or(is_elsewhere.then_some(ErrorNumber(libc::EPERM)));
    if let Some(error) = refusal {
        return in_a_sandbox(error);
    }
    let connection = match Connection::open() {
        Err(error) if private_copy::is_of_sandbox(error) => return in_a_sandbox(error),
        connection => connection.map_err(pager::unreachable)?,
    };
    let reply = pager::ask_over(&connection, &pager::request(RequestKind::BeginFork))?;
    note_protection();
    Ok(Copy::Paged { token: reply.fork, connection: connection.into_descriptor() })
}

/// How many parts of the memory with another protection than usual a child gets so; others it can read and write.
const MOST_PROTECTED: usize = 1024;

/// A part of the memory that is protected alike.
#[derive(Clone, Copy)]
struct Part {
    first: usize,
    after: usize,
    protection: c_int,
}

/// Such parts, from the first of the array.
struct Parts {
    parts: [Part; MOST_PROTECTED],
    used: usize,
}

/// The parts that are not protected as usual, kept outside of the paged memory.
struct Protected(UnsafeCell<Parts>);

// SAFETY: used between `prepare` and `finish` only, under the lock of the memory.
unsafe impl Sync for Protected {}

static PROTECTED: Protected = Protected(UnsafeCell::new(Parts {
    parts: [Part { first: 0, after: 0, protection: 0 }; MOST_PROTECTED],
    used: 0,
}));

/// Notes how the memory is protected, for a child whose mapping is new.
fn note_protection() {
    let usual = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the lock is held.
    let Parts { parts, used } = unsafe { &mut *PROTECTED.0.get() };
    *used = 0;
    let (start, end) = (memory::start(), memory::start() + memory::total_bytes());
    // A program that cannot see /proc protects nothing in its children.
    let _ = address_space::for_each_mapped(start, end, |first, after, mapped| {
        if mapped.is_memory_file && mapped.protection != usual && *used < MOST_PROTECTED {
            parts[*used] = Part { first, after, protection: mapped.protection };
            *used += 1;
        }
        Ok(())
    });
}

/// Protects the child's memory as that of its parent is.
fn protect_as_noted() {
    // SAFETY: the lock is held since `prepare`.
    let Parts { parts, used } = unsafe { &*PROTECTED.0.get() };
    for &Part { first, after, protection } in &parts[..*used] {
        // SAFETY: the parent had protected it so. An error leaves the usual protection.
        let _ = unsafe { system::mprotect(first, after - first, protection) };
    }
}

/// Set when the program has said that its children are not paged; they do not repeat it.
static HAS_SAID: AtomicBool = AtomicBool::new(false);

/// Copies the memory for a child that cannot be paged.
fn in_a_sandbox(error: ErrorNumber) -> core::result::Result<Copy, Sentence> {
    let copy = PrivateCopy::make().map_err(|why| {
        Sentence::new(format_args!(
            "a sandbox, or its user's rights, refuse what forked children need for paged memory (error {}), and there is no memory for a copy \
             that is not paged (error {}): run the program without the pager",
            error.0, why.0
        ))
    })?;
    if !HAS_SAID.swap(true, Ordering::Relaxed) {
        let sentence = Sentence::new(format_args!(
            "a sandbox, or its user's rights, refuse what forked children need for paged memory (error {}): they, and programs that they start, \
             run without it",
            error.0
        ));
        sentence.write_to(libc::STDERR_FILENO);
    }
    Ok(Copy::Private(copy))
}

extern "C" fn finish_in_parent() {
    end(false);
}

/// Lets pages change again. When no child has been made, `give_back` ends the copy at once, so that a second one has room.
fn end(give_back: bool) {
    // SAFETY: the lock is held since `prepare`.
    let fork = unsafe { &*FORK.0.get() };
    match fork.copy {
        Ok(Copy::Paged { token, connection }) => {
            let connection = Connection::of_descriptor(connection);
            let mut request = pager::request(RequestKind::EndFork);
            request.fork = if give_back { token } else { NO_TOKEN };
            if let Err(sentence) = pager::ask_over(&connection, &request) {
                // The pager has ended, or the program has closed our descriptor: then its child may be lost.
                sentence.end_program(LOST_MEMORY_EXIT_CODE);
            }
            if fork.shares_descriptors {
                connection.into_descriptor();
            }
        }
        Ok(Copy::Private(copy)) => copy.give_back(),
        Ok(Copy::Inherited) | Err(_) => {}
    }
    finish(fork);
}

/// Gives the child its memory.
pub extern "C" fn finish_in_child() {
    // SAFETY: the lock is held since `prepare`, by the thread that this one is a copy of.
    let fork = unsafe { &*FORK.0.get() };
    let attached = match &fork.copy {
        Ok(Copy::Paged { token, connection }) => {
            let _copy = Connection::of_descriptor(*connection);
            attach::attach_child(*token).inspect(|()| protect_as_noted())
        }
        Ok(Copy::Private(copy)) => attach::leave_pager(*copy),
        Ok(Copy::Inherited) => Ok(()),
        Err(sentence) => Err(*sentence),
    };
    if let Err(sentence) = attached {
        sentence.end_program(LOST_MEMORY_EXIT_CODE);
    }
    finish(fork);
}

fn finish(fork: &Fork) {
    let signals = fork.signals;
    if fork.is_locked {
        memory::unlock();
    }
    system::restore_signals(signals);
}
