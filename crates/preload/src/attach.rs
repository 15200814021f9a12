//! How a program comes to its paged memory: once in its life, and once in each forked child.

use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::{AtomicU8, Ordering};

use clockhand_pager_protocol::{Mapped, PAGE_BYTES, Packet, Request, RequestKind, SOCKET_VARIABLE};

use crate::pager::{self, Connection};
use crate::sentence::Sentence;
use crate::system::{self, ErrorNumber};
use crate::{fork, helper_thread, libraries, memory};

/// Not known yet whether the program is paged.
const UNDECIDED: u8 = 0;
/// One thread is attaching the program; its own calls, and those of others meanwhile, go to the C library.
const ATTACHING: u8 = 1;
/// Every call goes to the C library.
const NOT_PAGED: u8 = 2;
/// The program has its memory from the pager.
const PAGED: u8 = 3;

static STATE: AtomicU8 = AtomicU8::new(UNDECIDED);

/// Exit code of a program that the pager refuses.
const REFUSED_EXIT_CODE: i32 = 1;

type Outcome<T> = core::result::Result<T, Sentence>;

unsafe extern "C" {
    static environ: *const *const c_char;
}

/// Has the program paged memory? The first call that can, attaches it.
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

/// Looks into the environment and attaches the program if it names a pager.
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
    let Some(name) = environment_variable(SOCKET_VARIABLE.as_bytes()) else {
        STATE.store(NOT_PAGED, Ordering::Release);
        return false;
    };
    if let Err(sentence) = attach_program(name) {
        sentence.end_program(REFUSED_EXIT_CODE);
    }
    STATE.store(PAGED, Ordering::Release);
    true
}

/// The value of an environment variable. The C library's own function may be interposed as well.
fn environment_variable(name: &[u8]) -> Option<&'static [u8]> {
    // SAFETY: the environment is an array of strings that ends with a null pointer.
    unsafe {
        let mut entry = environ;
        while !(*entry).is_null() {
            let value = CStr::from_ptr(*entry).to_bytes().strip_prefix(name);
            if let Some(value) = value.and_then(|rest| rest.strip_prefix(b"=")) {
                return Some(value);
            }
            entry = entry.add(1);
        }
    }
    None
}

fn attach_program(name: &[u8]) -> Outcome<()> {
    if !pager::set_address(name) {
        return Err(Sentence::new(format_args!(
            "{SOCKET_VARIABLE} is no address of a pager: start the program with `clockhand run`"
        )));
    }
    let attached = attach(0, None)?;
    memory::begin(attached.address, attached.bytes).map_err(|error| failed("its table", error))?;
    attached.begin_helper_thread()?;
    fork::register()
}

/// Attaches a forked child to its copy of the parent's memory, at the same address.
pub fn attach_child(fork: u64) -> Outcome<()> {
    attach(fork, Some((memory::start(), memory::total_bytes())))?.begin_helper_thread()
}

/// What the pager gave, before the helper thread has it.
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
fn attach(fork: u64, place: Option<(usize, usize)>) -> Outcome<Attached> {
    let connection = Connection::open().map_err(pager::unreachable)?;
    let userfaultfd = system::userfaultfd().map(Descriptor);
    let error = userfaultfd.as_ref().err().map_or(0, |error| error.0);
    let request = Request { error, fork, memory: 0, ..pager::request(RequestKind::Attach) };
    let descriptor = userfaultfd.as_ref().ok().map(|descriptor| descriptor.0);
    connection.send(request.as_bytes(), descriptor).map_err(pager::unreachable)?;
    let (reply, file) = accepted(&connection)?;
    let userfaultfd = userfaultfd.map_err(|error| failed("a userfaultfd", error))?;
    let file = file.ok_or_else(|| failed("a memory file", ErrorNumber(libc::EPROTO)))?;

    let bytes = reply.memory_bytes as usize;
    let fits = bytes > 0
        && bytes.is_multiple_of(PAGE_BYTES)
        && bytes / PAGE_BYTES <= u32::MAX as usize
        && place.is_none_or(|(_, place_bytes)| place_bytes == bytes);
    if !fits {
        return Err(failed("memory of a usable size", ErrorNumber(libc::EPROTO)));
    }
    let address = map_file(&file, place.map(|(address, _)| address), bytes)
        .map_err(|error| failed("room in the address space", error))?;
    drop(file);
    let mapped = Mapped { address: address as u64 };
    connection.send(mapped.as_bytes(), None).map_err(pager::unreachable)?;
    accepted(&connection)?;
    pager::MEMORY.store(reply.memory, Ordering::Relaxed);
    Ok(Attached { connection, userfaultfd, address, bytes })
}

/// Receives a reply that is no refusal.
fn accepted(
    connection: &Connection,
) -> Outcome<(clockhand_pager_protocol::Reply, Option<Descriptor>)> {
    let (reply, descriptor) = connection.receive_reply().map_err(pager::unreachable)?;
    let descriptor = descriptor.map(Descriptor);
    match reply.refused {
        0 => Ok((reply, descriptor)),
        _ => Err(Sentence::of_packet(&reply.sentence)),
    }
}

/// Maps the memory file. A forked child does not inherit the mapping, a core dump does not contain it, and pages stay
/// single.
fn map_file(file: &Descriptor, place: Option<usize>, bytes: usize) -> system::Result<usize> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let fixed = if place.is_some() { libc::MAP_FIXED_NOREPLACE } else { 0 };
    let flags = libc::MAP_SHARED | libc::MAP_NORESERVE | fixed;
    // SAFETY: a new mapping, which replaces none; the advice keeps the contents.
    unsafe {
        let address = system::mmap(place.unwrap_or(0), bytes, protection, flags, file.0, 0)?;
        system::madvise(address, bytes, libc::MADV_DONTFORK)?;
        system::madvise(address, bytes, libc::MADV_DONTDUMP)?;
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
