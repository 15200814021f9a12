//! What programs ask and say about the processors on which they may run. While a thread takes turns with the pager, it is
//! held on the pager's processor. The program does not see that, and its own choice stands.

use core::ffi::{CStr, c_int, c_ulong};
use core::mem::transmute;

use libc::{cpu_set_t, size_t};

use crate::system::{ErrorNumber, set_errno};
use crate::{attach, pager};

/// Calls the C library's function after the pager has let the program go.
///
/// # Safety
///
/// The C library's function of this name takes one number, and bytes and address of a set as the caller promises.
unsafe fn parted(
    chooses: bool,
    name: &CStr,
    whose: c_ulong,
    bytes: size_t,
    set: *mut cpu_set_t,
) -> c_int {
    if attach::is_paged() {
        pager::part(chooses);
    }
    // SAFETY: as the caller promises.
    unsafe {
        let next: Option<unsafe extern "C" fn(c_ulong, size_t, *mut cpu_set_t) -> c_int> =
            transmute(libc::dlsym(libc::RTLD_NEXT, name.as_ptr()));
        match next {
            Some(next) => next(whose, bytes, set),
            None => {
                set_errno(ErrorNumber(libc::ENOSYS));
                -1
            }
        }
    }
}

/// `sched_getaffinity`.
#[unsafe(no_mangle)]
unsafe extern "C" fn sched_getaffinity(
    process: c_int,
    bytes: size_t,
    set: *mut cpu_set_t,
) -> c_int {
    // SAFETY: as the program promises; a process fills the lower half of a register.
    unsafe { parted(false, c"sched_getaffinity", process as c_ulong, bytes, set) }
}

/// `sched_setaffinity`.
#[unsafe(no_mangle)]
unsafe extern "C" fn sched_setaffinity(
    process: c_int,
    bytes: size_t,
    set: *mut cpu_set_t,
) -> c_int {
    // SAFETY: as the program promises; a process fills the lower half of a register.
    unsafe { parted(true, c"sched_setaffinity", process as c_ulong, bytes, set) }
}

/// `pthread_getaffinity_np`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_getaffinity_np(
    thread: c_ulong,
    bytes: size_t,
    set: *mut cpu_set_t,
) -> c_int {
    // SAFETY: as the program promises.
    unsafe { parted(false, c"pthread_getaffinity_np", thread, bytes, set) }
}

/// `pthread_setaffinity_np`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_setaffinity_np(
    thread: c_ulong,
    bytes: size_t,
    set: *mut cpu_set_t,
) -> c_int {
    // SAFETY: as the program promises.
    unsafe { parted(true, c"pthread_setaffinity_np", thread, bytes, set) }
}
