//! What programs do to descriptors that they do not know. Many close all of them but the first three, before they start
//! another program or as soon as they have been started; the inherited socket must stay open then, or nothing that they start is
//! paged. To them its number appears to be free, but cannot be taken.

use core::ffi::{c_int, c_long, c_uint, c_ulong};

use super::asynchronous_reads::fail;
use super::direct_reads::bytes_or_error;
use crate::pager;
use crate::system::{self, ErrorNumber, Result, set_errno};

unsafe extern "C" {
    fn __close(descriptor: c_int) -> c_int;
    fn __fcntl(descriptor: c_int, command: c_int, ...) -> c_int;
}

/// The result, or -1 and `errno`.
fn number_or_error(result: Result<c_int>) -> c_int {
    result.unwrap_or_else(|error| {
        set_errno(error);
        -1
    })
}

/// `close`.
#[unsafe(no_mangle)]
extern "C" fn close(descriptor: c_int) -> c_int {
    if pager::is_inherited_socket(descriptor) {
        return number_or_error(Err(ErrorNumber(libc::EBADF)));
    }
    // SAFETY: the C library's own; takes no addresses.
    unsafe { __close(descriptor) }
}

/// Does what [`system::close_range`] does to the descriptors from `first` to `last`, except to the inherited socket.
fn close_all_but_door(first: c_uint, last: c_uint, flags: c_uint) -> Result<()> {
    let inherited_socket = pager::inherited_socket();
    let is_spared = inherited_socket >= 0 && (first..=last).contains(&(inherited_socket as c_uint));
    if !is_spared {
        return system::close_range(first, last, flags);
    }
    let inherited_socket = inherited_socket as c_uint;
    if first < inherited_socket {
        system::close_range(first, inherited_socket - 1, flags)?;
    }
    if inherited_socket < last {
        system::close_range(inherited_socket + 1, last, flags)
    } else {
        Ok(())
    }
}

/// `close_range`.
#[unsafe(no_mangle)]
extern "C" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    number_or_error(close_all_but_door(first, last, flags as c_uint).map(|()| 0))
}

/// `closefrom`.
#[unsafe(no_mangle)]
extern "C" fn closefrom(first: c_int) {
    // The C library's own does not tell of errors either.
    let _ = close_all_but_door(first.max(0) as c_uint, c_uint::MAX, 0);
}

/// `dup2`.
#[unsafe(no_mangle)]
extern "C" fn dup2(descriptor: c_int, number: c_int) -> c_int {
    if pager::is_inherited_socket(number) {
        return number_or_error(Err(ErrorNumber(libc::EBADF)));
    }
    if descriptor == number {
        // SAFETY: the C library's own; takes no addresses. It says whether the descriptor is open.
        return match unsafe { __fcntl(descriptor, libc::F_GETFD) } {
            -1 => -1,
            _ => number,
        };
    }
    number_or_error(system::duplicate_to(descriptor, number, 0))
}

/// `dup3`.
#[unsafe(no_mangle)]
extern "C" fn dup3(descriptor: c_int, number: c_int, flags: c_int) -> c_int {
    if pager::is_inherited_socket(number) {
        return number_or_error(Err(ErrorNumber(libc::EBADF)));
    }
    number_or_error(system::duplicate_to(descriptor, number, flags))
}

/// `fcntl`. A third argument is a number or an address, and comes in the same register as one of a function with three.
#[unsafe(no_mangle)]
unsafe extern "C" fn fcntl(descriptor: c_int, command: c_int, argument: usize) -> c_int {
    if command == libc::F_SETFD && pager::is_inherited_socket(descriptor) {
        return number_or_error(Err(ErrorNumber(libc::EBADF)));
    }
    // SAFETY: as the program promises.
    unsafe { __fcntl(descriptor, command, argument) }
}

with_64_bits! { fcntl64 = fcntl(descriptor: c_int, command: c_int, argument: usize) -> c_int }

/// `ioctl`, by which a descriptor can be made to close on exec too. Arguments are as those of [`fcntl`].
#[unsafe(no_mangle)]
unsafe extern "C" fn ioctl(descriptor: c_int, request: c_ulong, argument: usize) -> c_int {
    if request == libc::FIOCLEX && pager::is_inherited_socket(descriptor) {
        return number_or_error(Err(ErrorNumber(libc::EBADF)));
    }
    let arguments = [descriptor as usize, request as usize, argument, 0, 0, 0];
    // SAFETY: as the program promises.
    let result = unsafe { system::call(libc::SYS_ioctl, arguments) };
    number_or_error(result.map(|number| number as c_int))
}

/// One of these calls, which a program asks for by its number.
///
/// # Safety
/// As for the call.
pub(super) unsafe fn by_number(number: c_long, arguments: [usize; 6]) -> c_long {
    let [first, second, third, ..] = arguments;
    let is_inherited_socket = pager::is_inherited_socket(first as c_int);
    match number {
        libc::SYS_close if is_inherited_socket => fail(libc::EBADF),
        libc::SYS_fcntl if is_inherited_socket && second as c_int == libc::F_SETFD => {
            fail(libc::EBADF)
        }
        libc::SYS_ioctl if is_inherited_socket && second == libc::FIOCLEX as usize => {
            fail(libc::EBADF)
        }
        libc::SYS_close_range => {
            close_range(first as c_uint, second as c_uint, third as c_int).into()
        }
        libc::SYS_dup2 => dup2(first as c_int, second as c_int).into(),
        libc::SYS_dup3 => dup3(first as c_int, second as c_int, third as c_int).into(),
        // SAFETY: as the caller promises.
        _ => bytes_or_error(unsafe { system::call(number, arguments) }) as c_long,
    }
}
