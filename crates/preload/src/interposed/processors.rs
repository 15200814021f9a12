//! Calls about the processors that a thread may run on. While a thread takes turns with the pager, it is held on the
//! pager's processor. The program does not see that, and its own choice stands.

use core::ffi::{CStr, c_int, c_long, c_ulong};
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

/// The pager lets the program go before one of these calls, which a program asks for by its number.
pub(super) fn part_by_number(number: c_long) {
    if attach::is_paged() {
        pager::part(number == libc::SYS_sched_setaffinity);
    }
}

/// Functions of the C library that ask for a set of processors, or choose it.
macro_rules! interpose {
    ($($chooses:literal, $name:ident($whose:ty), $c_name:literal;)*) => {$(
        #[doc = concat!("`", stringify!($name), "`.")]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(whose: $whose, bytes: size_t, set: *mut cpu_set_t) -> c_int {
            // SAFETY: as the program promises; a process fills the lower half of a register.
            unsafe { parted($chooses, $c_name, whose as c_ulong, bytes, set) }
        }
    )*};
}

interpose! {
    false, sched_getaffinity(c_int), c"sched_getaffinity";
    true, sched_setaffinity(c_int), c"sched_setaffinity";
    false, pthread_getaffinity_np(c_ulong), c"pthread_getaffinity_np";
    true, pthread_setaffinity_np(c_ulong), c"pthread_setaffinity_np";
}
