//! The code between the program and its calls. Only from here, in this library's code, do calls reach the kernel.
//!
//! A call that is to be made as it is, is made at a *site* of its own, which leads back behind the program's instruction. So
//! the program's registers, its stack and its signals are what they would be, and the kernel restarts the call where it should.
//! A call that makes a thread or child, which returns in both, is made at one place; the kernel gives calls of the new one
//! back after that has asked for it.

use core::arch::{global_asm, naked_asm};
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use libc::PF_X;

use super::{SIGNAL, calls, stacks};
use crate::libraries;
use crate::sentence::{LOST_MEMORY_EXIT_CODE, Sentence};
use crate::system::{self, ErrorNumber, Result};

/// `PR_SET_SYSCALL_USER_DISPATCH` and `PR_SYS_DISPATCH_ON`.
const SET_DISPATCH: usize = 59;
const DISPATCH_ON: usize = 1;

/// As many instructions of a program can make calls; a C library has some hundreds.
const SITES: usize = 4096;

/// Behind which instruction of the program each site goes on; 0 where none does yet.
static BEHIND: [AtomicUsize; SITES] = [const { AtomicUsize::new(0) }; SITES];

/// Where this library's code lies, and its bytes.
static CODE_START: AtomicUsize = AtomicUsize::new(0);
static CODE_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Bytes of the two instructions of a site.
const SITE_BYTES: usize = 8;

global_asm!(
    ".pushsection .text.clockhand_sites, \"ax\", @progbits",
    ".p2align 4",
    ".local clockhand_sites",
    "clockhand_sites:",
    ".set clockhand_offset, 0",
    ".rept {sites}",
    "syscall",
    "jmp qword ptr [rip + {behind} + clockhand_offset]",
    ".set clockhand_offset, clockhand_offset + 8",
    ".endr",
    ".popsection",
    sites = const SITES,
    behind = sym BEHIND,
);

unsafe extern "C" {
    static clockhand_sites: u8;
}

/// The place where calls of the instruction before this address are made. A signal handler may ask too.
pub(super) fn site(behind: usize) -> usize {
    let mut index = behind.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - SITES.ilog2());
    for _ in 0..SITES {
        let found = match BEHIND[index].load(Ordering::Acquire) {
            0 => BEHIND[index]
                .compare_exchange(0, behind, Ordering::AcqRel, Ordering::Acquire)
                .map_or_else(|other| other, |_| behind),
            other => other,
        };
        if found == behind {
            return &raw const clockhand_sites as usize + index * SITE_BYTES;
        }
        index = (index + 1) % SITES;
    }
    Sentence::new(format_args!(
        "the program makes system calls at more than {SITES} places, which the pager does not follow: run it unpaged"
    ))
    .end_program(LOST_MEMORY_EXIT_CODE)
}

/// Where a thread or child is made that begins behind the program's instruction, which is in `rcx`: the kernel leaves nothing
/// there. Registers that a call does not keep in C keep the rest.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn make_thread() {
    naked_asm!(
        "movq xmm8, rcx",
        "syscall",
        "test rax, rax",
        "jz 2f",
        "movq rcx, xmm8",
        "jmp rcx",
        "2:",
        "movq xmm9, rdi",
        "movq xmm10, rsi",
        "movq xmm11, rdx",
        "movq xmm12, r10",
        "movq xmm13, r8",
        "mov edi, {set_dispatch}",
        "mov esi, {on}",
        "mov rdx, [rip + {code_start}]",
        "mov r10, [rip + {code_bytes}]",
        "xor r8d, r8d",
        "mov eax, {prctl}",
        "syscall",
        "movq rdi, xmm9",
        "movq rsi, xmm10",
        "movq rdx, xmm11",
        "movq r10, xmm12",
        "movq r8, xmm13",
        "xor eax, eax",
        "movq rcx, xmm8",
        "jmp rcx",
        set_dispatch = const SET_DISPATCH,
        on = const DISPATCH_ON,
        code_start = sym CODE_START,
        code_bytes = sym CODE_BYTES,
        prctl = const libc::SYS_prctl,
    )
}

/// The handler of the signal. What takes more than a look is done on a stack of ours: that of the program may be small, or lie
/// in pages that do not change during a fork. The registers are restored by the kernel.
#[unsafe(naked)]
unsafe extern "C" fn handle(_: c_int, _: *mut c_void, _: *mut c_void) {
    naked_asm!(
        "sub rsp, 8",
        "mov r12, rdx",
        "mov rdi, rdx",
        "call {look}",
        "test rax, rax",
        "jz 2f",
        "mov rbx, rsp",
        "mov r13, rax",
        "lea rsp, [rax + {stack_bytes}]",
        "mov rdi, r12",
        "mov rsi, rax",
        "call {carry_out}",
        "mov rsp, rbx",
        "mov rdi, r13",
        "call {give_back}",
        "2:",
        "add rsp, 8",
        "ret",
        look = sym calls::look,
        carry_out = sym calls::carry_out,
        give_back = sym stacks::give_back,
        stack_bytes = const stacks::STACK_BYTES,
    )
}

/// Where the handler returns to: the kernel takes this call from our code only.
#[unsafe(naked)]
unsafe extern "C" fn return_from_handler() {
    naked_asm!("mov eax, {number}", "syscall", "ud2", number = const libc::SYS_rt_sigreturn)
}

/// What a program, or the kernel, knows of a signal (`struct kernel_sigaction`).
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Action {
    pub(super) handler: usize,
    pub(super) flags: u64,
    pub(super) restorer: usize,
    pub(super) blocked: u64,
}

/// `SA_RESTORER`.
const HAS_RESTORER: u64 = 0x0400_0000;

/// The bit of the signal in a set.
pub(super) const SIGNAL_BIT: u64 = 1 << (SIGNAL - 1);

/// Sets what happens when a signal comes, past [`super::signals`].
///
/// # Safety
/// As for `sigaction`.
pub(super) unsafe fn set_action(signal: c_int, action: &Action, before: usize) -> Result<usize> {
    let arguments = [signal as usize, &raw const *action as usize, before, size_of::<u64>(), 0, 0];
    // SAFETY: as the caller promises.
    unsafe { system::call(libc::SYS_rt_sigaction, arguments) }
}

/// From now on the calls of this thread that do not come from our code are given back.
pub(super) fn close() -> Result<()> {
    find_code().ok_or(ErrorNumber(libc::ENOEXEC))?;
    let action = Action {
        handler: handle as *const () as usize,
        flags: (libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER) as u64 | HAS_RESTORER,
        restorer: return_from_handler as *const () as usize,
        // A call within the handler is given back as well, if it comes from the C library.
        blocked: !SIGNAL_BIT,
    };
    // SAFETY: the handler lives as long as the program.
    unsafe { set_action(SIGNAL, &action, 0)? };
    close_for_child()
}

/// The same in a forked child, which has everything else from its parent.
pub(super) fn close_for_child() -> Result<()> {
    let (start, bytes) = (CODE_START.load(Ordering::Relaxed), CODE_BYTES.load(Ordering::Relaxed));
    // SAFETY: from here on only this library's code makes calls of its own.
    unsafe { system::call(libc::SYS_prctl, [SET_DISPATCH, DISPATCH_ON, start, bytes, 0, 0]) }
        .map(drop)
}

/// Finds this library's code.
fn find_code() -> Option<()> {
    let (start, mut loaded) = libraries::loaded_segments(close as *const c_void)?;
    let code = loaded.find(|part| part.p_flags & PF_X != 0)?;
    CODE_START.store(start + code.p_vaddr as usize, Ordering::Relaxed);
    CODE_BYTES.store(code.p_memsz as usize, Ordering::Relaxed);
    Some(())
}
