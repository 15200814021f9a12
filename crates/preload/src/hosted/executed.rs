//! Static programs that a paged program starts, also to run a script: the library is executed in their place.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_int};
use core::fmt::{Arguments, Write};
use core::ptr::null;
use core::sync::atomic::{AtomicUsize, Ordering};

use clockhand_pager_protocol::{
    EXECUTED_VARIABLE, HOSTED_VARIABLE, PRELOAD_PREFIX, SOCKET_VARIABLE,
};

use super::image;
use super::script::{MOST_INTERPRETERS, Script};
use crate::attach::value_of;
use crate::system;

/// Programs with longer environments and paths are not paged, nor are scripts with more arguments.
const MOST_VARIABLES: usize = 1024;
const MOST_ARGUMENTS: usize = 4096;
const LONGEST_PATH_BYTES: usize = 4096;

/// What is in the path of this library.
const LIBRARY: &[u8] = b"libclockhand_preload";

type Strings = *const *const c_char;

/// What the kernel is to execute.
pub struct Hosted {
    /// The path of this library.
    library: [u8; LONGEST_PATH_BYTES],
    /// The variable with the program's path.
    variable: [u8; LONGEST_PATH_BYTES],
    /// The variable with the path by which it is executed.
    executed: [u8; LONGEST_PATH_BYTES],
    /// `LD_PRELOAD` under another name.
    preload: [u8; LONGEST_PATH_BYTES],
    environment: [*const c_char; MOST_VARIABLES],
    /// The first lines of a script, and of those that interpret it.
    scripts: [Script; MOST_INTERPRETERS],
    /// A script's arguments with those of its interpreters before them.
    arguments: [*const c_char; MOST_ARGUMENTS],
    /// Those, or the program's.
    passed: Strings,
}

/// As many programs can be about to be executed at a time. Nobody gives a place back: the kernel does not return.
const PLACES: usize = 256;

/// The places, one after the other.
struct Places([UnsafeCell<Hosted>; PLACES]);

// SAFETY: one thread uses a place until as many others have been used, for the time of one call.
unsafe impl Sync for Places {}

static NEXT: AtomicUsize = AtomicUsize::new(0);
static PREPARED: Places = Places(
    [const {
        UnsafeCell::new(Hosted {
            library: [0; LONGEST_PATH_BYTES],
            variable: [0; LONGEST_PATH_BYTES],
            executed: [0; LONGEST_PATH_BYTES],
            preload: [0; LONGEST_PATH_BYTES],
            environment: [null(); MOST_VARIABLES],
            scripts: [const { Script::EMPTY }; MOST_INTERPRETERS],
            arguments: [null(); MOST_ARGUMENTS],
            passed: null(),
        })
    }; PLACES],
);

/// A string in a buffer, which ends with a zero.
struct Text<'a> {
    bytes: &'a mut [u8],
    used: usize,
}

impl Text<'_> {
    fn append(&mut self, text: &[u8]) -> Option<()> {
        let end = self.used + text.len();
        // One byte is left for the zero.
        self.bytes.get_mut(self.used..=end)?[..text.len()].copy_from_slice(text);
        self.bytes[end] = 0;
        self.used = end;
        Some(())
    }
}

impl Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        self.append(text.as_bytes()).ok_or(core::fmt::Error)
    }
}

/// A path of a few words, which ends with a zero.
fn short_path(words: Arguments) -> [u8; 64] {
    let mut path = [0; 64];
    let mut text = Text { bytes: &mut path, used: 0 };
    // It has room.
    let _ = text.write_fmt(words);
    path
}

/// May this be executed?
fn is_executable(path: *const c_char) -> bool {
    let arguments = [libc::AT_FDCWD as usize, path as usize, libc::X_OK as usize, 0, 0, 0];
    // SAFETY: a string.
    unsafe { system::call(libc::SYS_faccessat, arguments) }.is_ok()
}

/// Has the file rights of its own? Then the kernel preloads nothing, and neither do we.
fn has_rights(descriptor: c_int) -> bool {
    let mode = system::mode_of(descriptor);
    mode.is_err() || mode.is_ok_and(|mode| mode & (libc::S_ISUID | libc::S_ISGID) != 0)
}

/// A file that may be executed, which is closed when dropped.
struct File(c_int);

impl File {
    /// # Safety
    /// The path is a string.
    unsafe fn open(path: *const c_char) -> Option<File> {
        if !is_executable(path) {
            return None;
        }
        // SAFETY: as the caller promises.
        system::open_to_read(unsafe { CStr::from_ptr(path) }).ok().map(File)
    }

    fn is_hosted(&self) -> bool {
        image::is_static_program(self.0) && !has_rights(self.0)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        system::close(self.0);
    }
}

impl Hosted {
    /// What to execute instead of this program, or script, which would be paged if what runs were not linked statically;
    /// `None` if it is to be executed as it is.
    ///
    /// # Safety
    /// As for `execve`.
    pub unsafe fn prepare(
        path: *const c_char,
        arguments: Strings,
        environment: Strings,
    ) -> Option<&'static Hosted> {
        if path.is_null() || environment.is_null() {
            return None;
        }
        // SAFETY: as the caller promises.
        let file = unsafe { File::open(path)? };
        if !file.is_hosted() && !Script::begins(file.0) {
            return None;
        }
        let index = NEXT.fetch_add(1, Ordering::Relaxed) % PLACES;
        // SAFETY: the place is this thread's now; the rest is as the caller promises.
        unsafe {
            let hosted = &mut *PREPARED.0[index].get();
            let mut executed = Text { bytes: &mut hosted.executed, used: 0 };
            executed.append(EXECUTED_VARIABLE.as_bytes())?;
            executed.append(b"=")?;
            executed.append(CStr::from_ptr(path).to_bytes())?;
            let program = hosted.interpreter(file, arguments)?;
            hosted.describe(program.0, environment)?;
            let hosted = &*hosted;
            is_executable(hosted.library()).then_some(hosted)
        }
    }

    /// As [`Hosted::prepare`], for what `execveat` and `fexecve` execute: a path from a directory on, or a descriptor's file.
    ///
    /// # Safety
    /// As for `execveat`.
    pub unsafe fn prepare_at(
        descriptor: c_int,
        path: *const c_char,
        arguments: Strings,
        environment: Strings,
        flags: c_int,
    ) -> Option<&'static Hosted> {
        if path.is_null() || flags & !libc::AT_EMPTY_PATH != 0 {
            return None;
        }
        // SAFETY: as the caller promises.
        unsafe {
            let below = CStr::from_ptr(path).to_bytes();
            if below.first() == Some(&b'/') || descriptor == libc::AT_FDCWD && !below.is_empty() {
                return Hosted::prepare(path, arguments, environment);
            }
            if below.is_empty() && flags & libc::AT_EMPTY_PATH == 0 {
                return None;
            }
            // As the kernel calls it.
            let mut place = [0; LONGEST_PATH_BYTES];
            let mut text = Text { bytes: &mut place, used: 0 };
            text.write_fmt(format_args!("/dev/fd/{descriptor}")).ok()?;
            if !below.is_empty() {
                text.append(b"/")?;
                text.append(below)?;
            }
            let path = place.as_ptr().cast();
            // An interpreter would not find a script that closes with the descriptor: the kernel refuses it.
            let is_lost = system::closes_on_exec(descriptor);
            if is_lost && File::open(path).is_none_or(|file| Script::begins(file.0)) {
                return None;
            }
            Hosted::prepare(path, arguments, environment)
        }
    }

    /// The path by which the program, or script, is executed.
    fn executed(&self) -> *const c_char {
        self.executed[EXECUTED_VARIABLE.len() + 1..].as_ptr().cast()
    }

    /// Follows the first lines of scripts to the program that runs, if that is linked statically, and puts together what it
    /// is to be passed.
    ///
    /// # Safety
    /// As for `execve`.
    unsafe fn interpreter(&mut self, mut file: File, arguments: Strings) -> Option<File> {
        self.passed = arguments;
        let mut scripts = 0;
        while !file.is_hosted() {
            let script = self.scripts.get_mut(scripts)?;
            script.read(file.0)?;
            // SAFETY: a string.
            file = unsafe { File::open(script.interpreter())? };
            scripts += 1;
        }
        if scripts > 0 {
            let executed = self.executed();
            let mut used = 0;
            let mut add = |word| {
                *self.arguments.get_mut(used)? = word;
                used += 1;
                Some(())
            };
            for script in self.scripts[..scripts].iter().rev() {
                add(script.interpreter())?;
                script.argument().map_or(Some(()), &mut add)?;
            }
            add(executed)?;
            // SAFETY: as the caller promises: addresses of strings, and a null pointer, or none at all.
            unsafe {
                let mut own = arguments;
                while !own.is_null() && !(*own).is_null() {
                    own = own.add(1);
                    add(*own)?;
                }
                if own.is_null() || own == arguments {
                    add(null())?;
                }
            }
            self.passed = self.arguments.as_ptr();
        }
        Some(file)
    }

    /// # Safety
    /// As for `execve`.
    unsafe fn describe(&mut self, file: c_int, environment: Strings) -> Option<()> {
        let mut text = Text { bytes: &mut self.variable, used: 0 };
        text.append(HOSTED_VARIABLE.as_bytes())?;
        text.append(b"=")?;
        let path_at = text.used;
        let link = short_path(format_args!("/proc/self/fd/{file}"));
        let room = &mut text.bytes[text.used..];
        let arguments = [
            libc::AT_FDCWD as usize,
            link.as_ptr() as usize,
            room.as_mut_ptr() as usize,
            room.len(),
            0,
            0,
        ];
        // SAFETY: the kernel writes where the slice says.
        let bytes = unsafe { system::call(libc::SYS_readlinkat, arguments) }.ok()?;
        *room.get_mut(bytes)? = 0;
        // A file that has no name any more is not found again.
        if !is_executable(self.variable[path_at..].as_ptr().cast()) {
            return None;
        }
        let (mut has_pager, mut has_library, mut used) = (false, false, 0);
        // SAFETY: as the caller promises: addresses of strings, and a null pointer. The strings stay during the call.
        unsafe {
            while !(*environment.add(used)).is_null() {
                let mut entry = *environment.add(used);
                has_pager |= value_of(entry, SOCKET_VARIABLE.as_bytes()).is_some();
                if let Some(libraries) = value_of(entry, b"LD_PRELOAD") {
                    has_library |= self.name_library(libraries).is_some();
                    let mut renamed = Text { bytes: &mut self.preload, used: 0 };
                    renamed.append(PRELOAD_PREFIX.as_bytes())?;
                    renamed.append(CStr::from_ptr(entry).to_bytes())?;
                    entry = self.preload.as_ptr().cast();
                }
                *self.environment.get_mut(used)? = entry;
                used += 1;
            }
        }
        let added = [self.variable.as_ptr().cast(), self.executed.as_ptr().cast(), null()];
        self.environment.get_mut(used..used + added.len())?.copy_from_slice(&added);
        (has_pager && has_library).then_some(())
    }

    /// Keeps the path of this library, if it is among those that are preloaded.
    fn name_library(&mut self, libraries: &[u8]) -> Option<()> {
        let mut names = libraries.split(|byte| b": ".contains(byte));
        let is_own = |name: &&[u8]| name.windows(LIBRARY.len()).any(|part| part == LIBRARY);
        Text { bytes: &mut self.library, used: 0 }.append(names.find(is_own)?)
    }

    /// The path of what is executed.
    pub fn library(&self) -> *const c_char {
        self.library.as_ptr().cast()
    }

    /// Its arguments.
    pub fn arguments(&self) -> Strings {
        self.passed
    }

    /// Its environment.
    pub fn environment(&self) -> Strings {
        self.environment.as_ptr()
    }
}

/// Calls `take` with what a program of this name is where `PATH` looks for it, as `execvp` does.
///
/// # Safety
/// The name is a string.
pub unsafe fn in_search_path<T>(
    name: *const c_char,
    path: &[u8],
    take: impl Fn(*const c_char) -> T,
) -> Option<T> {
    // SAFETY: as the caller promises.
    let bytes = unsafe { CStr::from_ptr(name) }.to_bytes();
    if bytes.contains(&b'/') {
        return Some(take(name));
    }
    let mut place = [0; LONGEST_PATH_BYTES];
    for folder in path.split(|&byte| byte == b':') {
        let mut text = Text { bytes: &mut place, used: 0 };
        text.append(if folder.is_empty() { b"." } else { folder })?;
        text.append(b"/")?;
        text.append(bytes)?;
        if is_executable(place.as_ptr().cast()) {
            return Some(take(place.as_ptr().cast()));
        }
    }
    None
}
