//! `syscall`: what a program asks for by number is what the interposed functions do.

use core::arch::naked_asm;
use core::ffi::{c_int, c_long, c_void};
use core::mem::offset_of;

use libc::off_t;

use super::asynchronous_reads::{set_up_or_errno, set_up_ring, submit_or_errno};
use super::direct_reads::{bytes_or_error, read_by_number};
use super::{advice, descriptors, executions, forks, mappings, moves, processors, threads};
use crate::system;

/// The calls that have an interposed function. Every other one goes to the kernel as it is.
const INTERPOSED: [c_long; 34] = [
    libc::SYS_read,
    libc::SYS_pread64,
    libc::SYS_readv,
    libc::SYS_preadv,
    libc::SYS_preadv2,
    libc::SYS_io_setup,
    libc::SYS_io_submit,
    libc::SYS_io_uring_setup,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_process_madvise,
    libc::SYS_shmat,
    libc::SYS_remap_file_pages,
    libc::SYS_mlock,
    libc::SYS_mlock2,
    libc::SYS_mlockall,
    libc::SYS_munlock,
    libc::SYS_munlockall,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_dup2,
    libc::SYS_dup3,
    libc::SYS_fcntl,
    libc::SYS_ioctl,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_setaffinity,
    libc::SYS_fork,
    libc::SYS_exit,
    libc::SYS_execve,
    libc::SYS_execveat,
];

/// More than any of these numbers.
const NUMBERS: usize = 512;

/// For each number, whether there is an interposed function.
static IS_INTERPOSED: [bool; NUMBERS] = {
    let mut is_interposed = [false; NUMBERS];
    let mut index = 0;
    while index < INTERPOSED.len() {
        is_interposed[INTERPOSED[index] as usize] = true;
        index += 1;
    }
    is_interposed
};

/// `syscall`. What it does not hand on leaves the stack alone, as the C library's own does: some calls return twice.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(number: c_long) -> c_long {
    naked_asm!(
        "cmp rdi, {numbers}",
        "jae 2f",
        "lea rax, [rip + {is_interposed}]",
        "cmp byte ptr [rax + rdi], 0",
        "jne {by_number}",
        // A clone that shares no memory and goes on here: without a stack of its own.
        "cmp rdi, {clone}",
        "jne 4f",
        "test esi, {shares_memory}",
        "jnz 2f",
        "test rdx, rdx",
        "je {by_number}",
        "jmp 2f",
        "4:",
        "cmp rdi, {clone3}",
        "jne 2f",
        "cmp rdx, {clone3_bytes}",
        "jb 2f",
        "test rsi, rsi",
        "je 2f",
        "test dword ptr [rsi], {shares_memory}",
        "jnz 2f",
        "cmp qword ptr [rsi + {clone3_stack}], 0",
        "je {by_number}",
        "2:",
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "mov r10, r8",
        "mov r8, r9",
        "mov r9, [rsp + 8]",
        "syscall",
        "cmp rax, -4095",
        "jae 3f",
        "ret",
        "3:",
        "neg rax",
        "mov rdi, rax",
        "jmp {fail}",
        numbers = const NUMBERS,
        is_interposed = sym IS_INTERPOSED,
        by_number = sym by_arguments,
        clone = const libc::SYS_clone,
        shares_memory = const libc::CLONE_VM,
        clone3 = const libc::SYS_clone3,
        clone3_bytes = const offset_of!(libc::clone_args, set_tid),
        clone3_stack = const offset_of!(libc::clone_args, stack),
        fail = sym super::asynchronous_reads::fail,
    )
}

/// The same for [`by_number`], with the arguments of `syscall` as they came.
unsafe extern "C" fn by_arguments(
    number: c_long,
    first: usize,
    second: usize,
    third: usize,
    fourth: usize,
    fifth: usize,
    sixth: usize,
) -> c_long {
    // SAFETY: as the program promises.
    unsafe { by_number(number, [first, second, third, fourth, fifth, sixth]) }
}

/// One of [`INTERPOSED`], or a clone without shared memory.
///
/// # Safety
/// As for the call.
pub unsafe fn by_number(number: c_long, arguments: [usize; 6]) -> c_long {
    let [first, second, third, fourth, fifth, sixth] = arguments;
    let (address, number_of_first) = (first as *mut c_void, first as c_int);
    // SAFETY: as the program promises.
    unsafe {
        match number {
            libc::SYS_io_setup => set_up_or_errno(first as c_long, second as *mut usize),
            libc::SYS_io_submit => submit_or_errno(first, second as c_long, third as *const _),
            libc::SYS_io_uring_setup => set_up_ring(first, second),
            libc::SYS_mmap => {
                let (protection, flags, descriptor) =
                    (third as c_int, fourth as c_int, fifth as c_int);
                let offset = sixth as off_t;
                mappings::mmap(address, second, protection, flags, descriptor, offset) as c_long
            }
            libc::SYS_munmap => mappings::munmap(address, second).into(),
            libc::SYS_mremap => {
                moves::mremap(address, second, third, fourth as c_int, fifth as *mut c_void)
                    as c_long
            }
            libc::SYS_madvise => advice::madvise(address, second, third as c_int).into(),
            libc::SYS_process_madvise => advice::process_madvise(
                number_of_first,
                second as *const _,
                third,
                fourth as c_int,
                fifth as u32,
            ) as c_long,
            libc::SYS_shmat => {
                mappings::shmat(number_of_first, second as *const c_void, third as c_int) as c_long
            }
            libc::SYS_remap_file_pages => {
                moves::remap_file_pages(address, second, third as c_int, fourth, fifth as c_int)
                    .into()
            }
            libc::SYS_mlock => mappings::mlock(address, second).into(),
            libc::SYS_mlock2 => mappings::mlock2(address, second, third as u32).into(),
            libc::SYS_munlock => mappings::munlock(address, second).into(),
            libc::SYS_munlockall => mappings::munlockall().into(),
            libc::SYS_mlockall => mappings::mlockall(number_of_first).into(),
            libc::SYS_sched_getaffinity | libc::SYS_sched_setaffinity => {
                processors::part_by_number(number);
                bytes_or_error(system::call(number, arguments)) as c_long
            }
            libc::SYS_fork | libc::SYS_clone | libc::SYS_clone3 => {
                forks::clone_by_number(number, arguments)
            }
            libc::SYS_execve | libc::SYS_execveat => executions::by_number(number, arguments),
            libc::SYS_exit => {
                threads::touch_robust_mutexes();
                bytes_or_error(system::call(number, arguments)) as c_long
            }
            libc::SYS_unshare => {
                bytes_or_error(forks::elsewhere(number, arguments, first)) as c_long
            }
            libc::SYS_setns => {
                bytes_or_error(forks::elsewhere(number, arguments, second)) as c_long
            }
            libc::SYS_read
            | libc::SYS_pread64
            | libc::SYS_readv
            | libc::SYS_preadv
            | libc::SYS_preadv2 => read_by_number(number, arguments) as c_long,
            _ => descriptors::by_number(number, arguments),
        }
    }
}
