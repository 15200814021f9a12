//! Programs that are linked statically: no loader loads a library into one. So this library is executed in the program's
//! place (it names the loader in `.interp`, and begins at [`clockhand_entry`]). It attaches the process to the pager, maps
//! the program as the kernel would, and jumps to it. `LD_PRELOAD` has another name meanwhile, or there would be two of it.
//!
//! From then on the kernel gives each system call that does not come from this library's code back as a signal ("syscall
//! user dispatch", Linux 5.11). The modules:
//!
//! * `image`: The program's file, mapped.
//! * `start`: Arguments, environment and auxiliary values, as the kernel has put them on the stack.
//! * `gate`: The code on the way: the handler of the signal, and places where calls are made on the program's behalf.
//! * `calls`: What becomes of a call. Most are made as they are, after the handler has returned, in the program's own
//!   state: signals, stacks and restarts are as always. Those that concern memory do what the interposed functions do.
//! * `stacks`: Where these run: on a stack, and with thread-local storage, that are not the program's.
//! * `signals`, `children`, `program_break`: Calls that are imitated.
//! * `executed`, `script`: Static programs that a paged program starts, also to run a script.

mod calls;
mod children;
mod executed;
mod gate;
mod image;
mod program_break;
mod script;
mod signals;
mod stacks;
mod start;

use core::arch::naked_asm;
use core::ffi::{CStr, c_int};
use core::sync::atomic::{AtomicPtr, Ordering};

use clockhand_pager_protocol::{EXECUTED_VARIABLE, HOSTED_VARIABLE};

pub use self::executed::{Hosted, in_search_path};
use self::start::Start;
use crate::attach;
use crate::sentence::{LOST_MEMORY_EXIT_CODE, Sentence};
use crate::system::{self, ErrorNumber};

/// The loader that the kernel starts when the library is executed.
#[unsafe(link_section = ".interp")]
#[used]
static LOADER: [u8; 28] = *b"/lib64/ld-linux-x86-64.so.2\0";

/// Exit code of a program that cannot be executed, as shells have it.
const NOT_EXECUTED_EXIT_CODE: i32 = 126;

/// The path of the program's file; null if the process is not such a program.
static PATH: AtomicPtr<i8> = AtomicPtr::new(core::ptr::null_mut());

/// The path of the program's file.
fn path() -> Option<&'static CStr> {
    let path = PATH.load(Ordering::Relaxed);
    // SAFETY: a string of the environment, which stays where the kernel has put it.
    (!path.is_null()).then(|| unsafe { CStr::from_ptr(path) })
}

/// Where the library begins when it is executed: it maps the program, and goes on there with the stack that the kernel has
/// made.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn clockhand_entry() -> ! {
    naked_asm!(
        "mov rbx, rsp",
        "mov rdi, rsp",
        "xor ebp, ebp",
        "and rsp, -16",
        "call {host}",
        "mov rsp, rbx",
        "xor edx, edx",
        "jmp rax",
        host = sym host,
    )
}

/// Returns where the program begins.
///
/// # Safety
/// Called once, by the only thread, with the stack that the kernel has made.
unsafe extern "C" fn host(stack: *mut usize) -> usize {
    // SAFETY: as the caller promises.
    let mut start = unsafe { Start::at(stack) };
    start.rename_preload();
    let Some(path) = start.take(HOSTED_VARIABLE) else {
        Sentence::new(format_args!(
            "this library is preloaded, or executed by `clockhand run` for a program that is linked statically"
        ))
        .end_program(NOT_EXECUTED_EXIT_CODE);
    };
    PATH.store(path.as_ptr().cast_mut(), Ordering::Relaxed);
    let executed = start.take(EXECUTED_VARIABLE).unwrap_or(path);
    system::set_thread_name(&name_of(executed, path));
    let is_paged = attach::is_paged();
    let loaded = system::open_to_read(path).and_then(|file| {
        let loaded = image::load(file);
        system::close(file);
        loaded
    });
    let image = loaded.unwrap_or_else(|error| not_executed(path, error));
    start.describe(&image, executed);
    if is_paged {
        stacks::prepare();
        if let Err(error) = gate::close() {
            Sentence::new(format_args!(
                "the kernel does not give system calls back (error {}), which paging a program that is linked statically takes: \
                 it needs Linux 5.11 or later",
                error.0
            ))
            .end_program(LOST_MEMORY_EXIT_CODE);
        }
    }
    image.entry
}

/// The name that the kernel would give to the thread of a program that is executed by a path, which may only tell a
/// descriptor.
fn name_of(executed: &'static CStr, path: &'static CStr) -> [u8; 16] {
    let last = |path: &'static [u8]| path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    let descriptor = executed.to_bytes().strip_prefix(b"/dev/fd/");
    let is_descriptor = descriptor.is_some_and(|number| !number.contains(&b'/'));
    let last = last(if is_descriptor { path.to_bytes() } else { executed.to_bytes() });
    let mut name = [0; 16];
    let used = last.len().min(name.len() - 1);
    name[..used].copy_from_slice(&last[..used]);
    name
}

fn not_executed(path: &CStr, error: ErrorNumber) -> ! {
    let path = path.to_str().unwrap_or("the program");
    Sentence::new(format_args!("{path}: its file cannot be mapped (error {})", error.0))
        .end_program(NOT_EXECUTED_EXIT_CODE)
}

/// The result of an interposed function, or the error that it has left.
fn result_of(returned: isize) -> isize {
    if returned != -1 {
        return returned;
    }
    // SAFETY: the C library's own location for this thread, or for the place that it is in.
    -isize::try_from(unsafe { *libc::__errno_location() }).unwrap_or(0)
}

/// A result as the kernel returns it.
fn returned(result: system::Result<usize>) -> isize {
    match result {
        Ok(value) => value as isize,
        Err(ErrorNumber(error)) => -(error as isize),
    }
}

/// The signal by which the kernel gives a call back.
const SIGNAL: c_int = libc::SIGSYS;
