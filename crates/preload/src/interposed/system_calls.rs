//! `syscall`: what a program asks for by number is what the interposed functions do.

use core::arch::naked_asm;
use core::ffi::c_long;

use super::asynchronous_reads::{fail, set_up_or_errno, set_up_ring, submit_or_errno};
use super::direct_reads::read_by_number;

/// `syscall`. It leaves the stack alone, as the C library's own does: some calls return twice.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(number: c_long) -> c_long {
    naked_asm!(
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "cmp rax, {read}",
        "je 3f",
        "cmp rax, {pread64}",
        "je 3f",
        "cmp rax, {readv}",
        "je 3f",
        "cmp rax, {preadv}",
        "je 3f",
        "cmp rax, {preadv2}",
        "je 3f",
        "cmp rax, {io_setup}",
        "je {set_up}",
        "cmp rax, {io_submit}",
        "je {submit}",
        "cmp rax, {io_uring_setup}",
        "je {set_up_ring}",
        "mov r10, r8",
        "mov r8, r9",
        "mov r9, [rsp + 8]",
        "syscall",
        "cmp rax, -4095",
        "jae 2f",
        "ret",
        "2:",
        "neg rax",
        "mov rdi, rax",
        "jmp {fail}",
        "3:",
        "mov rcx, r8",
        "mov r8, rax",
        "mov r9, [rsp + 8]",
        "jmp {read_by_number}",
        read = const libc::SYS_read,
        pread64 = const libc::SYS_pread64,
        readv = const libc::SYS_readv,
        preadv = const libc::SYS_preadv,
        preadv2 = const libc::SYS_preadv2,
        io_setup = const libc::SYS_io_setup,
        io_submit = const libc::SYS_io_submit,
        io_uring_setup = const libc::SYS_io_uring_setup,
        set_up = sym set_up_or_errno,
        submit = sym submit_or_errno,
        set_up_ring = sym set_up_ring,
        fail = sym fail,
        read_by_number = sym read_by_number,
    )
}
