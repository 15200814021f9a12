//! Functions by which a program becomes another one, or starts one. If that is linked statically, this library is executed in
//! its place: see `hosted`.

use core::arch::naked_asm;
use core::ffi::{c_char, c_int, c_long};
use core::mem::transmute;

use libc::pid_t;

use super::mappings::zero_or_error;
use super::next::Next;
use crate::hosted::{Hosted, in_search_path};
use crate::system::{self, set_errno};
use crate::{attach, system::ErrorNumber};

type Strings = *const *const c_char;

unsafe extern "C" {
    static environ: Strings;
}

/// Where programs are looked for without `PATH`.
const USUAL_PATH: &[u8] = b"/bin:/usr/bin";

/// What to execute instead of the program at this path, if that is linked statically and would be paged otherwise.
///
/// # Safety
/// As for `execve`.
unsafe fn hosted(
    path: *const c_char,
    arguments: Strings,
    environment: Strings,
) -> Option<&'static Hosted> {
    // SAFETY: as the caller promises.
    attach::is_paged().then(|| unsafe { Hosted::prepare(path, arguments, environment) }).flatten()
}

/// The same for the program of a name.
///
/// # Safety
/// As for `execvpe`.
unsafe fn hosted_by_name(
    name: *const c_char,
    arguments: Strings,
    environment: Strings,
) -> Option<&'static Hosted> {
    if name.is_null() || !attach::is_paged() {
        return None;
    }
    let path = attach::environment_variable(b"PATH").unwrap_or(USUAL_PATH);
    // SAFETY: as the caller promises.
    unsafe { in_search_path(name, path, |path| Hosted::prepare(path, arguments, environment)) }
        .flatten()
}

/// Has the kernel execute the library in a program's place.
fn execute(hosted: &Hosted) -> c_int {
    let words = [hosted.library() as usize, hosted.arguments() as usize];
    let words = [words[0], words[1], hosted.environment() as usize, 0, 0, 0];
    // SAFETY: strings, and lists of them.
    zero_or_error(unsafe { system::call(libc::SYS_execve, words) })
}

/// `execve`.
#[unsafe(no_mangle)]
unsafe extern "C" fn execve(
    path: *const c_char,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    // SAFETY: as the program promises.
    unsafe {
        if let Some(hosted) = hosted(path, arguments, environment) {
            return execute(hosted);
        }
        let words = [path as usize, arguments as usize, environment as usize, 0, 0, 0];
        zero_or_error(system::call(libc::SYS_execve, words))
    }
}

/// `execveat`.
#[unsafe(no_mangle)]
unsafe extern "C" fn execveat(
    descriptor: c_int,
    path: *const c_char,
    arguments: Strings,
    environment: Strings,
    flags: c_int,
) -> c_int {
    // SAFETY: as the program promises.
    unsafe {
        let prepare = || Hosted::prepare_at(descriptor, path, arguments, environment, flags);
        if let Some(hosted) = attach::is_paged().then(prepare).flatten() {
            return execute(hosted);
        }
        let [path, arguments, environment] =
            [path as usize, arguments as usize, environment as usize];
        let words = [descriptor as usize, path, arguments, environment, flags as usize, 0];
        zero_or_error(system::call(libc::SYS_execveat, words))
    }
}

/// `fexecve`.
#[unsafe(no_mangle)]
unsafe extern "C" fn fexecve(descriptor: c_int, arguments: Strings, environment: Strings) -> c_int {
    if descriptor < 0 || arguments.is_null() || environment.is_null() {
        set_errno(ErrorNumber(libc::EINVAL));
        return -1;
    }
    // SAFETY: as the program promises.
    unsafe { execveat(descriptor, c"".as_ptr(), arguments, environment, libc::AT_EMPTY_PATH) }
}

/// `execve` or `execveat`, which a program asks for by its number.
///
/// # Safety
/// As for the call.
pub(super) unsafe fn by_number(number: c_long, arguments: [usize; 6]) -> c_long {
    let [first, second, third, fourth, fifth, _] = arguments;
    // SAFETY: as the caller promises.
    let result = unsafe {
        match number {
            libc::SYS_execve => execve(first as *const _, second as Strings, third as Strings),
            _ => execveat(
                first as c_int,
                second as *const _,
                third as Strings,
                fourth as Strings,
                fifth as c_int,
            ),
        }
    };
    result.into()
}

/// `execv`.
#[unsafe(no_mangle)]
unsafe extern "C" fn execv(path: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: as the program promises.
    unsafe { execve(path, arguments, environ) }
}

/// `execvp`.
#[unsafe(no_mangle)]
unsafe extern "C" fn execvp(name: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: as the program promises.
    unsafe { execvpe(name, arguments, environ) }
}

/// `execvpe`.
#[unsafe(no_mangle)]
unsafe extern "C" fn execvpe(
    name: *const c_char,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    static NEXT: Next = Next::new(c"execvpe");
    let next = NEXT.address();
    // SAFETY: as the program promises; the C library's function has this type.
    unsafe {
        if let Some(hosted) = hosted_by_name(name, arguments, environment) {
            return execute(hosted);
        }
        if next == 0 {
            set_errno(ErrorNumber(libc::ENOSYS));
            return -1;
        }
        let next: unsafe extern "C" fn(*const c_char, Strings, Strings) -> c_int = transmute(next);
        next(name, arguments, environment)
    }
}

type Spawn =
    unsafe extern "C" fn(*mut pid_t, *const c_char, usize, usize, Strings, Strings) -> c_int;

/// Calls a function of the C library with what is to be executed.
///
/// # Safety
/// It has this type, and the rest is as the program promises.
unsafe fn spawn(
    next: &Next,
    hosted: Option<&Hosted>,
    child: *mut pid_t,
    path: *const c_char,
    [actions, attributes]: [usize; 2],
    [arguments, environment]: [Strings; 2],
) -> c_int {
    let (path, arguments, environment) = match hosted {
        Some(hosted) => (hosted.library(), hosted.arguments(), hosted.environment()),
        None => (path, arguments, environment),
    };
    match next.address() {
        0 => libc::ENOSYS,
        // SAFETY: as the caller promises.
        next => unsafe {
            transmute::<usize, Spawn>(next)(
                child,
                path,
                actions,
                attributes,
                arguments,
                environment,
            )
        },
    }
}

/// `posix_spawn`.
#[unsafe(no_mangle)]
unsafe extern "C" fn posix_spawn(
    child: *mut pid_t,
    path: *const c_char,
    actions: usize,
    attributes: usize,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    static NEXT: Next = Next::new(c"posix_spawn");
    // SAFETY: as the program promises.
    unsafe {
        let hosted = hosted(path, arguments, environment);
        spawn(&NEXT, hosted, child, path, [actions, attributes], [arguments, environment])
    }
}

/// `posix_spawnp`.
#[unsafe(no_mangle)]
unsafe extern "C" fn posix_spawnp(
    child: *mut pid_t,
    name: *const c_char,
    actions: usize,
    attributes: usize,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    static NEXT: Next = Next::new(c"posix_spawnp");
    // SAFETY: as the program promises.
    unsafe {
        let hosted = hosted_by_name(name, arguments, environment);
        spawn(&NEXT, hosted, child, name, [actions, attributes], [arguments, environment])
    }
}

/// Defines a function with its arguments one after the other, as one that takes a list of them. Those in registers are put
/// before those on the stack, where the list is then.
macro_rules! execute_listed {
    ($($comment:literal, $name:ident, $listed:path;)+) => {$(
        #[doc = $comment]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(path: *const c_char, first: *const c_char) -> c_int {
            naked_asm!(
                "pop r10",
                "push r9",
                "push r8",
                "push rcx",
                "push rdx",
                "push rsi",
                "mov rsi, rsp",
                "push r10",
                "call {listed}",
                "pop r10",
                "add rsp, 40",
                "jmp r10",
                listed = sym $listed,
            )
        }
    )+};
}

execute_listed! {
    "`execl`: its arguments end with a null pointer.", execl, execv;
    "`execlp`: as [`execl`].", execlp, execvp;
    "`execle`: as [`execl`], and the environment follows.", execle, execute_before_environment;
}

/// Executes with the environment that stands behind the arguments.
///
/// # Safety
/// As for `execle`.
unsafe extern "C" fn execute_before_environment(path: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: as the program promises: a null pointer ends the arguments, and the environment follows.
    unsafe {
        let mut end = arguments;
        while !(*end).is_null() {
            end = end.add(1);
        }
        execve(path, arguments, *end.add(1).cast::<Strings>())
    }
}
