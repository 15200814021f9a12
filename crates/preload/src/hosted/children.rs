//! Children of the program that have a copy of its memory.

use core::ffi::c_int;
use core::mem::zeroed;

use libc::{clone_args, ucontext_t};

use super::calls::{ARGUMENTS, STACK_POINTER};
use super::{gate, returned, stacks};
use crate::fork;
use crate::sentence::{LOST_MEMORY_EXIT_CODE, Sentence};
use crate::system::{self, Result};

/// What is done here and not by the kernel, which would change memory that is not to change during a fork, or that the child has
/// not yet.
const DONE_HERE: u64 =
    (libc::CLONE_SETTLS | libc::CLONE_PARENT_SETTID | libc::CLONE_CHILD_SETTID) as u64;

/// In the flags of `clone`, the signal at the child's end.
const SIGNAL_AT_END: u64 = 0xff;

/// Does this call make a child with a copy of the memory?
///
/// # Safety
/// As for the call.
pub(super) unsafe fn copies_memory(number: i64, first: usize) -> bool {
    let flags = match number {
        libc::SYS_fork => return true,
        libc::SYS_clone => first,
        // SAFETY: as the caller promises; the flags come first.
        libc::SYS_clone3 if first != 0 => unsafe { *(first as *const u64) as usize },
        _ => return false,
    };
    flags & libc::CLONE_VM as usize == 0
}

/// What is asked of `fork`, `clone` or `clone3`, in the words of the last.
///
/// # Safety
/// As for the call.
unsafe fn wanted(number: i64, arguments: [usize; 6]) -> (clone_args, usize) {
    let [first, second, third, fourth, fifth, _] = arguments.map(|argument| argument as u64);
    // SAFETY: numbers, for which zero is valid; the rest is as the caller promises.
    unsafe {
        let mut wanted: clone_args = zeroed();
        let bytes = size_of::<clone_args>();
        match number {
            libc::SYS_clone3 => {
                let bytes = arguments[1].min(bytes);
                let from = first as *const u8;
                core::ptr::copy_nonoverlapping(from, (&raw mut wanted).cast(), bytes);
                wanted.stack += wanted.stack_size;
                (wanted, bytes)
            }
            libc::SYS_clone => {
                wanted.flags = first & !SIGNAL_AT_END;
                wanted.exit_signal = first & SIGNAL_AT_END;
                wanted.stack = second;
                wanted.parent_tid = third;
                wanted.pidfd = third;
                wanted.child_tid = fourth;
                wanted.tls = fifth;
                (wanted, bytes)
            }
            _ => {
                wanted.exit_signal = libc::SIGCHLD as u64;
                (wanted, bytes)
            }
        }
    }
}

/// Makes the child, which goes on here, and returns its descriptor, if there is one.
///
/// # Safety
/// The child has its memory when it goes on.
unsafe fn call(
    number: i64,
    wanted: &clone_args,
    bytes: usize,
    descriptor: &mut c_int,
) -> Result<usize> {
    let descriptor = &raw mut *descriptor as usize;
    let flags = wanted.flags & !DONE_HERE;
    // SAFETY: as the caller promises; without a stack the child goes on here.
    unsafe {
        if number != libc::SYS_clone3 {
            let flags = (flags | wanted.exit_signal) as usize;
            let child = wanted.child_tid as usize;
            return system::call(libc::SYS_clone, [flags, 0, descriptor, child, 0, 0]);
        }
        let changed = clone_args {
            flags,
            pidfd: descriptor as u64,
            stack: 0,
            stack_size: 0,
            tls: 0,
            ..core::ptr::read(wanted)
        };
        system::call(number, [&raw const changed as usize, bytes, 0, 0, 0, 0])
    }
}

/// `fork`, and `clone` and `clone3` without shared memory, which return in the parent and in the child; the child's thread
/// pointer is changed if that is asked for.
///
/// # Safety
/// As for the call, and the calling thread is in this place.
pub(super) unsafe fn make(
    number: i64,
    context: *mut ucontext_t,
    place: usize,
    thread_pointer: &mut usize,
) -> isize {
    // SAFETY: registers of the program; the rest is as the caller promises.
    unsafe {
        let registers = &mut (*context).uc_mcontext.gregs;
        let (wanted, bytes) = wanted(number, ARGUMENTS.map(|index| registers[index] as usize));
        let has = |flag: c_int| wanted.flags & flag as u64 != 0;
        let mut descriptor = -1;
        let flags = wanted.flags as usize;
        let made = fork::around(flags, || call(number, &wanted, bytes, &mut descriptor));
        match made {
            Ok(0) => {
                stacks::give_back_others(place);
                if gate::close_for_child().is_err() {
                    Sentence::new(format_args!(
                        "the kernel does not give a child's system calls back"
                    ))
                    .end_program(LOST_MEMORY_EXIT_CODE);
                }
                if has(libc::CLONE_SETTLS) {
                    *thread_pointer = wanted.tls as usize;
                }
                if has(libc::CLONE_CHILD_SETTID) {
                    *(wanted.child_tid as *mut c_int) = system::process_id();
                }
                if wanted.stack != 0 {
                    registers[STACK_POINTER] = wanted.stack as i64;
                }
            }
            Ok(id) => {
                if has(libc::CLONE_PARENT_SETTID) {
                    *(wanted.parent_tid as *mut c_int) = id as c_int;
                }
                if has(libc::CLONE_PIDFD) {
                    *(wanted.pidfd as *mut c_int) = descriptor;
                }
            }
            Err(_) => {}
        }
        returned(made)
    }
}
