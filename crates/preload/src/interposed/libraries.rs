//! `dlopen`. A library that is opened with `RTLD_DEEPBIND` finds the C library's functions before ours, and frees there what
//! the program has allocated here. So the flag is left out.

use core::arch::naked_asm;
use core::ffi::{c_char, c_int, c_void};
use core::ptr::null_mut;

use super::next::Next;
use crate::attach;

/// Where a call goes on, and with which flags.
#[repr(C)]
struct Opening {
    next: usize,
    flags: usize,
}

impl Opening {
    /// Whoever opens a library is not asked to leave out a flag if the program is not paged.
    fn by(next: &Next, flags: c_int) -> Opening {
        let left_out = if attach::is_paged() { libc::RTLD_DEEPBIND } else { 0 };
        let next = match next.address() {
            0 => opens_nothing as *const () as usize,
            address => address,
        };
        Opening { next, flags: (flags & !left_out) as usize }
    }
}

/// In a program that has no such function, which therefore does not call it.
extern "C" fn opens_nothing() -> *mut c_void {
    null_mut()
}

extern "C" fn opening(flags: c_int) -> Opening {
    static NEXT: Next = Next::new(c"dlopen");
    Opening::by(&NEXT, flags)
}

extern "C" fn opening_in_namespace(flags: c_int) -> Opening {
    static NEXT: Next = Next::new(c"dlmopen");
    Opening::by(&NEXT, flags)
}

/// `dlopen`. The C library looks at who calls, in whose search path the library is looked for: so this jumps, and does not call.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void {
    naked_asm!(
        "push rdi",
        "sub rsp, 16",
        "mov edi, esi",
        "call {opening}",
        "add rsp, 16",
        "pop rdi",
        "mov esi, edx",
        "jmp rax",
        opening = sym opening,
    )
}

/// `dlmopen`: as [`dlopen`], in a namespace.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn dlmopen(namespace: isize, name: *const c_char, flags: c_int) -> *mut c_void {
    naked_asm!(
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "mov edi, edx",
        "call {opening}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "jmp rax",
        opening = sym opening_in_namespace,
    )
}
