//! What becomes of a call of the program.

use core::ffi::{CStr, c_char, c_int};

use libc::{
    REG_R8, REG_R9, REG_R10, REG_RAX, REG_RCX, REG_RDI, REG_RDX, REG_RIP, REG_RSI, REG_RSP, iovec,
    siginfo_t, ucontext_t,
};

use super::executed::Hosted;
use super::{children, gate, path, program_break, result_of, returned, signals, stacks};
use crate::system::{self, ErrorNumber};
use crate::{attach, interposed, pager};

/// Where the kernel keeps a call's arguments.
pub(super) const ARGUMENTS: [usize; 6] = [
    REG_RDI as usize,
    REG_RSI as usize,
    REG_RDX as usize,
    REG_R10 as usize,
    REG_R8 as usize,
    REG_R9 as usize,
];
/// The number of the call before it, and its result after it.
const RESULT: usize = REG_RAX as usize;
pub(super) const STACK_POINTER: usize = REG_RSP as usize;

/// `SYS_USER_DISPATCH`: the signal gives a call back, and is not from a filter.
const GIVEN_BACK: c_int = 2;

/// How a call is made.
enum Way {
    /// As it is, behind the handler.
    AsItIs,
    /// As it is; it returns twice.
    Twice,
    /// It has been carried out, with this result.
    Done(isize),
    /// On a stack of ours.
    Here,
}

/// Looks at a call, and returns a place where it is to be carried out; 0 if that is not needed. This runs with the
/// program's thread pointer and on its stack.
pub(super) unsafe extern "C" fn look(context: *mut ucontext_t, signal: *const siginfo_t) -> usize {
    // SAFETY: what the kernel gives to a handler.
    let (context_ref, code) = unsafe { (&mut *context, (*signal).si_code) };
    if code != GIVEN_BACK {
        signals::end_by_filter();
    }
    let registers = &mut context_ref.uc_mcontext.gregs;
    let number = registers[RESULT];
    let arguments = ARGUMENTS.map(|index| registers[index] as usize);
    let behind = registers[REG_RIP as usize];
    // SAFETY: as the program promises.
    match unsafe { way(context, number, arguments) } {
        Way::AsItIs => registers[REG_RIP as usize] = gate::site(behind as usize) as i64,
        Way::Twice => {
            registers[REG_RCX as usize] = behind;
            registers[REG_RIP as usize] = gate::make_thread as *const () as i64;
        }
        Way::Done(result) => registers[RESULT] = result as i64,
        Way::Here => return stacks::take(registers[STACK_POINTER] as usize),
    }
    0
}

/// # Safety
/// As for the call.
unsafe fn way(context: *mut ucontext_t, number: i64, arguments: [usize; 6]) -> Way {
    let [first, second, third, fourth, fifth, sixth] = arguments;
    let here = |is_here| if is_here { Way::Here } else { Way::AsItIs };
    // SAFETY: as the caller promises.
    unsafe {
        match number {
            libc::SYS_rt_sigprocmask => Way::Done(signals::block(context, arguments)),
            libc::SYS_rt_sigsuspend => allowing(first),
            libc::SYS_ppoll => allowing(fourth),
            libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => allowing(fifth),
            libc::SYS_pselect6 if sixth != 0 => allowing(*(sixth as *const usize)),
            libc::SYS_vfork => Way::Twice,
            libc::SYS_fork | libc::SYS_clone | libc::SYS_clone3 => {
                if children::copies_memory(number, first) { Way::Here } else { Way::Twice }
            }
            libc::SYS_read | libc::SYS_pread64 => {
                here(interposed::is_direct(first as c_int, second, third))
            }
            libc::SYS_readv | libc::SYS_preadv | libc::SYS_preadv2 => {
                let parts = interposed::direct_parts(
                    first as c_int,
                    second as *const iovec,
                    third as c_int,
                );
                here(parts.is_some())
            }
            libc::SYS_close | libc::SYS_fcntl | libc::SYS_ioctl => {
                here(pager::is_inherited_socket(first as c_int))
            }
            libc::SYS_dup2 | libc::SYS_dup3 => here(pager::is_inherited_socket(second as c_int)),
            libc::SYS_readlink | libc::SYS_open => here(is_own_file(first)),
            libc::SYS_readlinkat | libc::SYS_openat => here(is_own_file(second)),
            libc::SYS_brk
            | libc::SYS_rt_sigaction
            | libc::SYS_execve
            | libc::SYS_execveat
            | libc::SYS_exit_group
            | libc::SYS_mmap
            | libc::SYS_munmap
            | libc::SYS_mremap
            | libc::SYS_madvise
            | libc::SYS_process_madvise
            | libc::SYS_shmat
            | libc::SYS_remap_file_pages
            | libc::SYS_mlock
            | libc::SYS_mlock2
            | libc::SYS_mlockall
            | libc::SYS_munlock
            | libc::SYS_munlockall
            | libc::SYS_io_setup
            | libc::SYS_io_submit
            | libc::SYS_io_uring_setup
            | libc::SYS_unshare
            | libc::SYS_setns
            | libc::SYS_close_range
            | libc::SYS_sched_getaffinity
            | libc::SYS_sched_setaffinity => Way::Here,
            _ => Way::AsItIs,
        }
    }
}

/// A call that blocks this set of signals while it waits.
///
/// # Safety
/// The address is zero, or of a set.
unsafe fn allowing(set: usize) -> Way {
    // SAFETY: as the caller promises.
    unsafe { signals::allow(set) };
    Way::AsItIs
}

/// How the program calls its own file.
const OWN_FILE: &CStr = c"/proc/self/exe";

/// Is this the path of the program's own file, which the kernel takes for ours?
///
/// # Safety
/// The address is that of a string, or zero.
unsafe fn is_own_file(path: usize) -> bool {
    // SAFETY: as the caller promises.
    path != 0 && unsafe { CStr::from_ptr(path as *const c_char) } == OWN_FILE
}

/// Carries a call out, in a place of ours.
pub(super) unsafe extern "C" fn carry_out(context: *mut ucontext_t, place: usize) {
    let mut thread_pointer = stacks::thread_pointer();
    stacks::enter(place);
    // SAFETY: what the kernel gives to a handler.
    let registers = unsafe { &mut (*context).uc_mcontext.gregs };
    let number = registers[RESULT];
    let arguments = ARGUMENTS.map(|index| registers[index] as usize);
    // SAFETY: as the program promises.
    let result = unsafe {
        match number {
            libc::SYS_fork | libc::SYS_clone | libc::SYS_clone3 => {
                Some(children::make(number, context, place, &mut thread_pointer))
            }
            libc::SYS_execve | libc::SYS_execveat => {
                execute(registers, arguments);
                None
            }
            libc::SYS_exit_group => {
                attach::tell_unpaged();
                None
            }
            libc::SYS_brk => Some(program_break::set(arguments[0]) as isize),
            libc::SYS_rt_sigaction => Some(returned(signals::act(arguments))),
            libc::SYS_readlink | libc::SYS_open | libc::SYS_readlinkat | libc::SYS_openat => {
                Some(returned(of_own_file(number, arguments)))
            }
            _ => Some(result_of(interposed::by_number(number, arguments) as isize)),
        }
    };
    stacks::set_thread_pointer(thread_pointer);
    match result {
        Some(result) => registers[RESULT] = result as i64,
        None => {
            let behind = registers[REG_RIP as usize] as usize;
            registers[REG_RIP as usize] = gate::site(behind) as i64;
        }
    }
}

/// Changes what is to be executed: the program's own file for ours, and ours for a static program that is to be paged.
///
/// # Safety
/// As for the call.
unsafe fn execute(registers: &mut [i64; 23], mut words: [usize; 6]) {
    let is_at = registers[RESULT] == libc::SYS_execveat;
    let path_at = usize::from(is_at);
    // SAFETY: as the caller promises.
    let hosted = unsafe {
        if let Some(own) = path()
            && is_own_file(words[path_at])
        {
            words[path_at] = own.as_ptr() as usize;
            registers[ARGUMENTS[path_at]] = own.as_ptr() as i64;
        }
        let [first, second, third, fourth, fifth, _] = words;
        match is_at {
            true => Hosted::prepare_at(
                first as c_int,
                second as *const c_char,
                third as *const _,
                fourth as *const _,
                fifth as c_int,
            ),
            false => Hosted::prepare(first as *const c_char, second as *const _, third as *const _),
        }
    };
    if let Some(hosted) = hosted {
        let [path, arguments, environment, ..] = ARGUMENTS;
        registers[RESULT] = libc::SYS_execve;
        registers[path] = hosted.library() as i64;
        registers[arguments] = hosted.arguments() as i64;
        registers[environment] = hosted.environment() as i64;
    }
}

/// A call with the path of the program's own file.
///
/// # Safety
/// As for the call.
unsafe fn of_own_file(number: i64, mut arguments: [usize; 6]) -> system::Result<usize> {
    let path = path().ok_or(ErrorNumber(libc::ENOENT))?;
    let bytes = path.to_bytes();
    let path_at = usize::from(matches!(number, libc::SYS_readlinkat | libc::SYS_openat));
    if matches!(number, libc::SYS_open | libc::SYS_openat) {
        arguments[path_at] = path.as_ptr() as usize;
        // SAFETY: as the caller promises.
        return unsafe { system::call(number, arguments) };
    }
    let (buffer, room) = (arguments[path_at + 1], arguments[path_at + 2]);
    let used = bytes.len().min(room);
    // SAFETY: the program has room there.
    unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer as *mut u8, used) };
    Ok(used)
}
