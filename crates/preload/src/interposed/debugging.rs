//! `ptrace`: debuggers read and write the memory of stopped programs with it.
//!
//! On this way the kernel does not wait for a page that is swapped out: the call fails with `EIO`. `process_vm_readv` and
//! `process_vm_writev` wait for it, so that the word is read or written by them.

use core::ffi::{c_int, c_long, c_void};

use libc::iovec;

use crate::system::{self, ErrorNumber, set_errno};

/// `ptrace`. The C library's takes any number of arguments and uses these, in the same registers.
#[unsafe(no_mangle)]
unsafe extern "C" fn ptrace(
    request: c_int,
    process: c_int,
    address: *mut c_void,
    data: *mut c_void,
) -> c_long {
    let kind = request as u32;
    let is_peek =
        matches!(kind, libc::PTRACE_PEEKTEXT | libc::PTRACE_PEEKDATA | libc::PTRACE_PEEKUSER);
    let is_user = kind == libc::PTRACE_PEEKUSER;
    let mut word: c_long = 0;
    let given = if is_peek { (&raw mut word).cast() } else { data };
    let arguments = [request as usize, process as usize, address as usize, given as usize, 0, 0];
    // SAFETY: as the program promises; the kernel writes a peeked word to the variable.
    let result = match unsafe { system::call(libc::SYS_ptrace, arguments) } {
        Err(error) if is_peek && !is_user => {
            let part = iovec { iov_base: (&raw mut word).cast(), iov_len: size_of::<c_long>() };
            // SAFETY: one word is written to the variable.
            unsafe { of_process(libc::SYS_process_vm_readv, process, &part, address) }.ok_or(error)
        }
        Err(error) if matches!(kind, libc::PTRACE_POKETEXT | libc::PTRACE_POKEDATA) => {
            let mut word = data as c_long;
            let part = iovec { iov_base: (&raw mut word).cast(), iov_len: size_of::<c_long>() };
            // SAFETY: one word is read from the variable; the program writes to the other process as it wants to.
            unsafe { of_process(libc::SYS_process_vm_writev, process, &part, address) }.ok_or(error)
        }
        result => result,
    };
    match result {
        Ok(_) if is_peek => {
            set_errno(ErrorNumber(0));
            word
        }
        Ok(result) => result as c_long,
        Err(error) => {
            set_errno(error);
            -1
        }
    }
}

/// Moves one word from or to the memory of another process; `None` if it could not.
///
/// # Safety
///
/// As for `process_vm_readv` and `process_vm_writev`; `number` names one of the two.
unsafe fn of_process(
    number: c_long,
    process: c_int,
    part: &iovec,
    address: *mut c_void,
) -> Option<usize> {
    let remote = iovec { iov_base: address, iov_len: part.iov_len };
    let arguments =
        [process as usize, &raw const *part as usize, 1, &raw const remote as usize, 1, 0];
    // SAFETY: as the caller promises.
    let moved = unsafe { system::call(number, arguments) }.ok()?;
    (moved == part.iov_len).then_some(0)
}
