//! How a program gets its paged memory: once in its life, and once in each forked child.

use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::{AtomicU8, Ordering};

use clockhand_pager_protocol::{
    Mapped, PAGE_BYTES, Packet, Reply, Request, SOCKET_VARIABLE, Token, UNPAGED,
};

use crate::pager::{self, Connection, InheritedSocket};
use crate::private_copy::{self, PrivateCopy};
use crate::sentence::Sentence;
use crate::system::{self, ErrorNumber};
use crate::{address_space, fork, helper_thread, interposed, libraries, memory};

/// Not known yet whether the program is paged.
const UNDECIDED: u8 = 0;
/// One thread is attaching the program; until it is done, all calls go to the C library.
const ATTACHING: u8 = 1;
/// Every call goes to the C library.
const NOT_PAGED: u8 = 2;
/// The program has memory from the pager.
const PAGED: u8 = 3;

static STATE: AtomicU8 = AtomicU8::new(UNDECIDED);

/// Exit code of a program that the pager refuses.
const REFUSED_EXIT_CODE: i32 = 1;

type Outcome<T> = core::result::Result<T, Sentence>;

unsafe extern "C" {
    static environ: *mut *const c_char;
}

/// Returns whether the program has paged memory. The first call that can attach the program does so.
#[inline]
pub fn is_paged() -> bool {
    match STATE.load(Ordering::Acquire) {
        PAGED => true,
        UNDECIDED => decide(),
        _ => false,
    }
}

/// As [`is_paged`], for a caller with this return address: the loader calls before the C library is ready.
#[inline]
pub fn is_paged_for(caller: usize) -> bool {
    match STATE.load(Ordering::Acquire) {
        PAGED => true,
        UNDECIDED if !libraries::is_loader(caller) => decide(),
        _ => false,
    }
}

/// Reads the environment and attaches the program if it names a pager.
#[cold]
fn decide() -> bool {
    // SAFETY: a variable of the C library, null before it has been initialised.
    if unsafe { environ.is_null() } {
        return false;
    }
    let decided =
        STATE.compare_exchange(UNDECIDED, ATTACHING, Ordering::Acquire, Ordering::Relaxed);
    if decided.is_err() {
        return STATE.load(Ordering::Acquire) == PAGED;
    }
    let Some(address) = environment_variable(SOCKET_VARIABLE.as_bytes()) else {
        STATE.store(NOT_PAGED, Ordering::Release);
        return false;
    };
    match attach_program(address) {
        Ok(()) => STATE.store(PAGED, Ordering::Release),
        Err(Failure::Ends(sentence)) => sentence.end_program(REFUSED_EXIT_CODE),
        Err(Failure::Unpaged(sentence)) => {
            sentence.write_to(libc::STDERR_FILENO);
            // Otherwise programs that this one starts would repeat the message.
            remove_environment_variable(SOCKET_VARIABLE.as_bytes());
            pager::forget_inherited_socket();
            STATE.store(NOT_PAGED, Ordering::Release);
            return false;
        }
    }
    true
}

/// Why a program is not paged.
enum Failure {
    /// It cannot run.
    Ends(Sentence),
    /// It runs without paged memory.
    Unpaged(Sentence),
}

impl From<Sentence> for Failure {
    fn from(sentence: Sentence) -> Self {
        Failure::Ends(sentence)
    }
}

/// The value of an environment variable. The C library's own function may be interposed as well.
pub fn environment_variable(name: &[u8]) -> Option<&'static [u8]> {
    // SAFETY: the environment is an array of strings that ends with a null pointer.
    unsafe {
        let mut entry = environ;
        while !(*entry).is_null() {
            if let Some(value) = value_of(*entry, name) {
                return Some(value);
            }
            entry = entry.add(1);
        }
    }
    None
}

/// The value of a variable in an entry of the environment, if the entry is this variable's.
///
/// # Safety
/// The entry is a string of the environment.
pub unsafe fn value_of(entry: *const c_char, name: &[u8]) -> Option<&'static [u8]> {
    // SAFETY: as the caller promises.
    let value = unsafe { CStr::from_ptr(entry) }.to_bytes().strip_prefix(name);
    value.and_then(|rest| rest.strip_prefix(b"="))
}

/// Takes a variable out of the environment.
fn remove_environment_variable(name: &[u8]) {
    // SAFETY: the environment is an array of strings that ends with a null pointer; the program has hardly started.
    unsafe {
        let (mut entry, mut kept) = (environ, environ);
        loop {
            let is_removed = !(*entry).is_null() && value_of(*entry, name).is_some();
            *kept = *entry;
            if (*entry).is_null() {
                return;
            }
            entry = entry.add(1);
            kept = kept.add(usize::from(!is_removed));
        }
    }
}

/// The prefix of the libraries that Valgrind preloads into its programs.
const VALGRIND_LIBRARY: &[u8] = b"/vgpreload_";

fn attach_program(address: &[u8]) -> core::result::Result<(), Failure> {
    let preloaded = environment_variable(b"LD_PRELOAD").unwrap_or_default();
    if preloaded.windows(VALGRIND_LIBRARY.len()).any(|part| part == VALGRIND_LIBRARY) {
        return Err(Failure::Unpaged(Sentence::new(format_args!(
            "the program runs under Valgrind, which has a heap of its own and no userfaultfd: it runs without paged memory"
        ))));
    }
    match pager::set_inherited_socket(address) {
        InheritedSocket::Open => {}
        InheritedSocket::Closed => {
            let number = address.split(|&byte| byte == b':').next().unwrap_or_default();
            return Err(Failure::Unpaged(Sentence::new(format_args!(
                "who started the program has closed descriptor {}, through which the pager is reached: it runs without \
                 paged memory",
                core::str::from_utf8(number).unwrap_or_default()
            ))));
        }
        InheritedSocket::Unknown => {
            return Err(Failure::Ends(Sentence::new(format_args!(
                "{SOCKET_VARIABLE} does not describe the way to a pager: start the program with `clockhand run`"
            ))));
        }
    }
    // The thread that works for the pager needs it.
    if let Err(error) = system::close_range(u32::MAX, u32::MAX, 0) {
        return Err(Failure::Unpaged(Sentence::new(format_args!(
            "a sandbox refuses close_range (error {}), without which the program cannot be paged: it runs without paged \
             memory",
            error.0
        ))));
    }
    let attached = attach(None, None)?;
    memory::begin(attached.address, attached.bytes).map_err(|error| failed("its table", error))?;
    attached.begin_helper_thread()?;
    interposed::watch_ends();
    Ok(fork::register()?)
}

/// Attaches a forked child to its copy of the parent's memory, at the same address.
pub fn attach_child(copy: Token) -> Outcome<()> {
    match attach(Some(copy), Some((memory::start(), memory::total_bytes()))) {
        Ok(attached) => attached.begin_helper_thread(),
        Err(Failure::Ends(sentence) | Failure::Unpaged(sentence)) => Err(sentence),
    }
}

/// Less than that is what every program has: stacks, data, small blocks of the C library.
const NOTICEABLE_BYTES: usize = 1 << 20;

/// Tells the pager how much memory the program has that is not paged.
pub fn tell_unpaged() {
    if STATE.load(Ordering::Acquire) != PAGED || private_copy::is_in_use() {
        return;
    }
    let bytes = address_space::anonymous_bytes().unwrap_or(0);
    if bytes >= NOTICEABLE_BYTES {
        pager::tell_unpaged(bytes);
    }
}

/// Gives a forked child its copy as ordinary memory. Programs that it starts run without a pager, and do not say so
/// again.
pub fn leave_pager(copy: PrivateCopy) -> Outcome<()> {
    copy.put_in_place().map_err(|error| failed("its copy in place", error))?;
    remove_environment_variable(SOCKET_VARIABLE.as_bytes());
    Ok(())
}

/// The reason for a missing connection. The program is ended, except in a sandbox, which it cannot leave.
fn not_connected(error: ErrorNumber) -> Failure {
    if !private_copy::is_of_sandbox(error) {
        return Failure::Ends(pager::unreachable(error));
    }
    Failure::Unpaged(Sentence::new(format_args!(
        "a sandbox refuses the sockets by which the program would reach its pager (error {}): it runs without paged memory",
        error.0
    )))
}

/// The pager's answer, before the helper thread has it.
struct Attached {
    connection: Connection,
    userfaultfd: Descriptor,
    address: usize,
    bytes: usize,
}

impl Attached {
    fn begin_helper_thread(self) -> Outcome<()> {
        helper_thread::start(self.connection.descriptor(), self.userfaultfd.0)
            .map_err(|error| failed("a thread", error))
    }
}

/// A descriptor that is closed when dropped.
struct Descriptor(c_int);

impl Drop for Descriptor {
    fn drop(&mut self) {
        system::close(self.0);
    }
}

/// Asks the pager for memory and maps it, at `place` (address and bytes) if there is one.
fn attach(
    copy: Option<Token>,
    place: Option<(usize, usize)>,
) -> core::result::Result<Attached, Failure> {
    let connection = Connection::open().map_err(not_connected)?;
    let userfaultfd = system::userfaultfd().map(Descriptor);
    let error = userfaultfd.as_ref().err().map_or(0, |error| error.0);
    let has_own_heap = u32::from(copy.is_none() && libraries::has_other_heap());
    let request = Request { error, has_own_heap, ..pager::request_to_attach(copy) };
    let descriptor = userfaultfd.as_ref().ok().map(|descriptor| descriptor.0);
    connection.send(request.as_bytes(), descriptor).map_err(not_connected)?;
    let (reply, file) = accepted(&connection)?;
    let userfaultfd = userfaultfd.map_err(|error| failed("a userfaultfd", error))?;
    // The kernel leaves out a descriptor for which the program's table has no room.
    let file = file.ok_or_else(|| pager::unreachable(ErrorNumber(libc::EMFILE)))?;

    let bytes = reply.memory_bytes as usize;
    let fits = bytes > 0
        && bytes.is_multiple_of(PAGE_BYTES)
        && bytes / PAGE_BYTES <= u32::MAX as usize
        && place.is_none_or(|(_, place_bytes)| place_bytes == bytes);
    if !fits {
        return Err(failed("memory of a usable size", ErrorNumber(libc::EPROTO)).into());
    }
    let mapped = match place {
        None => map_file(&file, None, 0, bytes),
        // SAFETY: a forked child holds the lock that its parent took.
        Some((start, _)) => unsafe {
            memory::for_each_pageable(|address, bytes| {
                map_file(&file, Some(address), address - start, bytes).map(drop)
            })
        }
        .map(|()| start),
    };
    let address = mapped.map_err(|error| failed("room in the address space", error))?;
    // Unknown, it is that of nothing.
    memory::set_file_inode(system::inode_of(file.0).unwrap_or(0));
    drop(file);
    let mapped = Mapped { address: address as u64 };
    connection.send(mapped.as_bytes(), None).map_err(pager::unreachable)?;
    accepted(&connection)?;
    pager::set_memory(reply.memory);
    Ok(Attached { connection, userfaultfd, address, bytes })
}

/// Receives a reply that is not a refusal.
fn accepted(connection: &Connection) -> core::result::Result<(Reply, Option<Descriptor>), Failure> {
    let (reply, descriptor) = connection.receive_reply().map_err(not_connected)?;
    let descriptor = descriptor.map(Descriptor);
    match reply.refused {
        0 => Ok((reply, descriptor)),
        UNPAGED => Err(Failure::Unpaged(Sentence::of_packet(&reply.sentence))),
        _ => Err(Failure::Ends(Sentence::of_packet(&reply.sentence))),
    }
}

/// Maps a part of the memory file. A forked child does not inherit the mapping, a core dump does not contain it, and pages stay
/// single.
fn map_file(
    file: &Descriptor,
    place: Option<usize>,
    offset: usize,
    bytes: usize,
) -> system::Result<usize> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let fixed = if place.is_some() { libc::MAP_FIXED_NOREPLACE } else { 0 };
    let flags = libc::MAP_SHARED | libc::MAP_NORESERVE | fixed;
    // SAFETY: a new mapping, which replaces none; the advice keeps the contents.
    unsafe {
        let wanted = place.unwrap_or(0);
        let offset = offset as libc::off_t;
        let address = system::mmap(wanted, bytes, protection, flags, file.0, offset)?;
        system::madvise(address, bytes, libc::MADV_DONTFORK)?;
        system::madvise(address, bytes, libc::MADV_DONTDUMP)?;
        // So that the kernel refuses (`EINVAL`) what a program's own instructions would have it forget, without the pager's
        // knowledge. Not every user may have that much locked.
        let _ = system::lock_on_fault(address, bytes);
        match system::madvise(address, bytes, libc::MADV_NOHUGEPAGE) {
            // A kernel without huge pages.
            Ok(_) | Err(ErrorNumber(libc::EINVAL)) => Ok(address),
            Err(error) => Err(error),
        }
    }
}

/// The sentence for what the program could not get for its paged memory.
fn failed(what: &str, error: ErrorNumber) -> Sentence {
    Sentence::new(format_args!(
        "the program cannot have its memory from the pager: it could not get {what} (error {})",
        error.0
    ))
}
