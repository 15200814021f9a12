//! Static programs that a paged program starts: the library is executed in their place.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_int};
use core::fmt::{Arguments, Write};
use core::ptr::null;
use core::sync::atomic::{AtomicUsize, Ordering};

use clockhand_pager_protocol::{HOSTED_VARIABLE, PRELOAD_PREFIX, SOCKET_VARIABLE};

use super::image;
use crate::attach::value_of;
use crate::system;

/// Programs with longer environments and paths are not paged.
const MOST_VARIABLES: usize = 1024;
const LONGEST_PATH_BYTES: usize = 4096;

/// What is in the path of this library.
const LIBRARY: &[u8] = b"libclockhand_preload";

/// What the kernel is to execute.
pub struct Hosted {
    /// The path of this library.
    library: [u8; LONGEST_PATH_BYTES],
    /// The variable with the program's path.
    variable: [u8; LONGEST_PATH_BYTES],
    /// `LD_PRELOAD` under another name.
    preload: [u8; LONGEST_PATH_BYTES],
    environment: [*const c_char; MOST_VARIABLES],
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
            preload: [0; LONGEST_PATH_BYTES],
            environment: [null(); MOST_VARIABLES],
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

impl Hosted {
    /// What to execute instead of this program, which would be paged if it were not linked statically; `None` if it is to be
    /// executed as it is.
    ///
    /// # Safety
    /// As for `execve`.
    pub unsafe fn prepare(
        path: *const c_char,
        environment: *const *const c_char,
    ) -> Option<&'static Hosted> {
        if path.is_null() || environment.is_null() || !is_executable(path) {
            return None;
        }
        // SAFETY: as the caller promises.
        let file = system::open_to_read(unsafe { CStr::from_ptr(path) }).ok()?;
        let is_hosted = image::is_static_program(file) && !has_rights(file);
        let prepared = is_hosted.then(|| {
            let index = NEXT.fetch_add(1, Ordering::Relaxed) % PLACES;
            // SAFETY: the place is this thread's now.
            let hosted = unsafe { &mut *PREPARED.0[index].get() };
            // SAFETY: as the caller promises.
            unsafe { hosted.describe(file, environment)? };
            Some(&*hosted)
        });
        system::close(file);
        prepared.flatten().filter(|hosted| is_executable(hosted.library.as_ptr().cast()))
    }

    /// # Safety
    /// As for `execve`.
    unsafe fn describe(&mut self, file: c_int, environment: *const *const c_char) -> Option<()> {
        let mut text = Text { bytes: &mut self.variable, used: 0 };
        text.append(HOSTED_VARIABLE.as_bytes())?;
        text.append(b"=")?;
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
        *self.environment.get_mut(used)? = self.variable.as_ptr().cast();
        *self.environment.get_mut(used + 1)? = null();
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

    /// Its environment.
    pub fn environment(&self) -> *const *const c_char {
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
