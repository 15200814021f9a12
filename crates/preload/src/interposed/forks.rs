//! Children that a program makes past `fork`: by `_Fork`, by `clone` without shared memory, and by their numbers. They get a
//! copy of the paged memory as well. Also what moves the process itself to other namespaces.

use core::arch::naked_asm;
use core::cell::UnsafeCell;
use core::ffi::{c_int, c_long};
use core::mem::transmute;

use libc::pid_t;

use super::direct_reads::bytes_or_error;
use super::mappings::zero_or_error;
use super::next::Next;
use crate::attach;
use crate::fork;
use crate::sentence::Sentence;
use crate::system::{self, ErrorNumber, Result, set_errno};

/// Sets `errno`.
fn refused() -> c_int {
    set_errno(ErrorNumber(libc::ENOSYS));
    -1
}

/// A child of a function of the C library, which returns -1 and sets `errno` if there is none.
fn result_of(child: c_int) -> Result<usize> {
    // SAFETY: the C library's own location for this thread.
    usize::try_from(child).map_err(|_| ErrorNumber(unsafe { *libc::__errno_location() }))
}

/// `_Fork`: as `fork`, without the functions that are called around one.
#[unsafe(no_mangle)]
unsafe extern "C" fn _Fork() -> pid_t {
    static NEXT: Next = Next::new(c"_Fork");
    let next = NEXT.address();
    if next == 0 {
        return refused();
    }
    // SAFETY: the C library's function has this type.
    let next: unsafe extern "C" fn() -> pid_t = unsafe { transmute(next) };
    if !attach::is_paged() {
        // SAFETY: as the program promises.
        return unsafe { next() };
    }
    // SAFETY: the child goes on here, as its parent does.
    bytes_or_error(unsafe { fork::around(0, || result_of(next())) }) as pid_t
}

/// A clone without shared memory, by number, which goes on where its parent does.
///
/// # Safety
/// As the program promises, which gives no stack.
pub(super) unsafe fn clone_by_number(number: c_long, arguments: [usize; 6]) -> c_long {
    let flags = match number {
        // SAFETY: the caller has read the first word, which is the flags.
        libc::SYS_clone3 => unsafe { *(arguments[0] as *const u64) as usize },
        libc::SYS_clone => arguments[0],
        _ => 0,
    };
    // SAFETY: as the caller promises.
    let call = || unsafe { system::call(number, arguments) };
    // SAFETY: the child goes on here, as its parent does.
    let made = if attach::is_paged() { unsafe { fork::around(flags, call) } } else { call() };
    bytes_or_error(made) as c_long
}

/// `unshare`. The kernel gives a user namespace to processes with one thread only, and a paged one has one more than it knows of.
#[unsafe(no_mangle)]
unsafe extern "C" fn unshare(flags: c_int) -> c_int {
    zero_or_error(elsewhere(libc::SYS_unshare, [flags as usize, 0, 0, 0, 0, 0], flags as usize))
}

/// `setns`: as [`unshare`].
#[unsafe(no_mangle)]
unsafe extern "C" fn setns(namespace: c_int, kind: c_int) -> c_int {
    let arguments = [namespace as usize, kind as usize, 0, 0, 0, 0];
    zero_or_error(elsewhere(libc::SYS_setns, arguments, kind as usize))
}

/// Moves the process to other namespaces, and says so if it cannot be done because of the pager.
pub(super) fn elsewhere(number: c_long, arguments: [usize; 6], kinds: usize) -> Result<usize> {
    // SAFETY: takes no addresses.
    let moved = unsafe { system::call(number, arguments) };
    let is_of_users = kinds & libc::CLONE_NEWUSER as usize != 0;
    if moved == Err(ErrorNumber(libc::EINVAL)) && is_of_users && attach::is_paged() {
        let sentence = Sentence::new(format_args!(
            "a paged program has one thread more than it knows of, so that the kernel gives it no other user namespace (error \
             {}): run it unpaged",
            libc::EINVAL
        ));
        sentence.write_to(libc::STDERR_FILENO);
    }
    moved
}

/// Where a child begins with a function of the program.
#[repr(C)]
struct Beginning {
    function: usize,
    argument: usize,
    stack: usize,
}

const STACK_BYTES: usize = 64 * 1024;

/// The stack of a child until it has its memory, in which the other may lie.
#[repr(C, align(4096))]
struct Stack(UnsafeCell<[u8; STACK_BYTES]>);

// SAFETY: used by the child, in its own copy. The C library writes to its end before, in the parent, under the memory's lock.
unsafe impl Sync for Stack {}

static STACK: Stack = Stack(UnsafeCell::new([0; STACK_BYTES]));

type CloneFunction =
    unsafe extern "C" fn(usize, *mut u8, c_int, usize, usize, usize, usize) -> c_int;

/// `clone`. The C library's takes any number of arguments and uses these, at the same places.
#[unsafe(no_mangle)]
unsafe extern "C" fn clone(
    function: usize,
    stack: *mut u8,
    flags: c_int,
    argument: usize,
    parent: usize,
    storage: usize,
    child: usize,
) -> c_int {
    static NEXT: Next = Next::new(c"clone");
    let next = NEXT.address();
    if next == 0 {
        return refused();
    }
    // SAFETY: the C library's function has this type.
    let next: CloneFunction = unsafe { transmute(next) };
    let shares = flags & libc::CLONE_VM != 0;
    if shares || function == 0 || stack.is_null() || !attach::is_paged() {
        // SAFETY: as the program promises.
        return unsafe { next(function, stack, flags, argument, parent, storage, child) };
    }
    let beginning = Beginning { function, argument, stack: stack as usize & !15 };
    let begins = &raw const beginning as usize;
    // SAFETY: the end of an aligned stack, which only the child uses; the rest is as the program promises.
    let made = unsafe {
        let end = STACK.0.get().cast::<u8>().add(STACK_BYTES);
        fork::around(flags as usize, || {
            result_of(next(begin as *const () as usize, end, flags, begins, parent, storage, child))
        })
    };
    bytes_or_error(made) as c_int
}

/// Where such a child begins: it gets its memory, and goes on in the program's function on the program's stack.
#[unsafe(naked)]
unsafe extern "C" fn begin(beginning: *const Beginning) -> c_int {
    naked_asm!(
        "mov rbx, rdi",
        "sub rsp, 8",
        "call {finish}",
        "mov rsp, [rbx + 16]",
        "mov rdi, [rbx + 8]",
        "xor ebp, ebp",
        "call [rbx]",
        "mov edi, eax",
        "mov eax, {exit}",
        "syscall",
        "ud2",
        finish = sym fork::finish_in_child,
        exit = const libc::SYS_exit,
    )
}
