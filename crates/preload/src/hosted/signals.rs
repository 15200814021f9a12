//! Calls about signals. The program must not block the one by which its calls are given back, nor take it over.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, Ordering};

use libc::ucontext_t;

use super::gate::{Action, SIGNAL_BIT, set_action};
use super::{SIGNAL, returned};
use crate::system::{self, ErrorNumber, Result};

/// What the program has asked for when the signal comes; it does not come.
static WANTED: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];

/// The program's blocked signals in what the kernel restores after the handler.
fn blocked(context: *mut ucontext_t) -> *mut u64 {
    // SAFETY: an address within the structure.
    unsafe { (&raw mut (*context).uc_sigmask).cast() }
}

/// `rt_sigprocmask`: the kernel restores the blocked signals after the handler, and so sets them.
///
/// # Safety
/// As for the call.
pub(super) unsafe fn block(
    context: *mut ucontext_t,
    [how, set, before, bytes, ..]: [usize; 6],
) -> isize {
    let invalid = returned(Err(ErrorNumber(libc::EINVAL)));
    if bytes != size_of::<u64>() {
        return invalid;
    }
    let blocked = blocked(context);
    // SAFETY: as the caller promises.
    unsafe {
        let old = *blocked;
        if set != 0 {
            let set = (set as *const u64).read_unaligned();
            let new = match how as c_int {
                libc::SIG_BLOCK => old | set,
                libc::SIG_UNBLOCK => old & !set,
                libc::SIG_SETMASK => set,
                _ => return invalid,
            };
            *blocked = new & !SIGNAL_BIT;
        }
        if before != 0 {
            (before as *mut u64).write_unaligned(old);
        }
    }
    0
}

/// `rt_sigaction`: a handler does not block the signal, and that has no handler of the program.
///
/// # Safety
/// As for the call.
pub(super) unsafe fn act([signal, action, before, bytes, ..]: [usize; 6]) -> Result<usize> {
    if bytes != size_of::<u64>() {
        return Err(ErrorNumber(libc::EINVAL));
    }
    let signal = signal as c_int;
    // SAFETY: as the caller promises.
    unsafe {
        if signal == SIGNAL {
            imagine(action as *const Action, before as *mut Action);
            return Ok(0);
        }
        if action == 0 {
            let arguments = [signal as usize, 0, before, bytes, 0, 0];
            return system::call(libc::SYS_rt_sigaction, arguments);
        }
        let mut changed = (action as *const Action).read_unaligned();
        changed.blocked &= !SIGNAL_BIT;
        set_action(signal, &changed, before)
    }
}

/// Keeps what the program asks for, and says what it has asked for before.
///
/// # Safety
/// The addresses are zero, or of such structures.
unsafe fn imagine(action: *const Action, before: *mut Action) {
    let old = WANTED.each_ref().map(|word| word.load(Ordering::Relaxed));
    // SAFETY: as the caller promises; the structure has four words.
    unsafe {
        if !action.is_null() {
            let new = action.cast::<[u64; 4]>().read_unaligned();
            WANTED.iter().zip(new).for_each(|(word, new)| word.store(new, Ordering::Relaxed));
        }
        if !before.is_null() {
            before.cast::<[u64; 4]>().write_unaligned(old);
        }
    }
}

/// Takes the signal out of a set that a call blocks while it waits: a handler that runs meanwhile makes calls too.
///
/// # Safety
/// The address is zero, or of a set.
pub(super) unsafe fn allow(set: usize) {
    // SAFETY: as the caller promises. The kernel writes where the program may, and nothing elsewhere.
    unsafe {
        if set == 0 || (set as *const u64).read_unaligned() & SIGNAL_BIT == 0 {
            return;
        }
        let allowed = (set as *const u64).read_unaligned() & !SIGNAL_BIT;
        let from = libc::iovec { iov_base: (&raw const allowed).cast_mut().cast(), iov_len: 8 };
        let to = libc::iovec { iov_base: set as *mut _, iov_len: 8 };
        let own = system::process_id() as usize;
        let arguments = [own, &raw const from as usize, 1, &raw const to as usize, 1, 0];
        let _ = system::call(libc::SYS_process_vm_writev, arguments);
    }
}

/// Ends the program as the kernel does when a filter of its own forbids a call.
pub(super) fn end_by_filter() -> ! {
    let usual = Action { handler: libc::SIG_DFL, flags: 0, restorer: 0, blocked: 0 };
    // SAFETY: the program ends.
    unsafe {
        let _ = set_action(SIGNAL, &usual, 0);
        let _ = system::call(
            libc::SYS_kill,
            [system::process_id() as usize, SIGNAL as usize, 0, 0, 0, 0],
        );
    }
    system::exit(SIGNALLED_EXIT_CODE + SIGNAL)
}

/// Shells add a signal's number to this.
const SIGNALLED_EXIT_CODE: c_int = 128;
