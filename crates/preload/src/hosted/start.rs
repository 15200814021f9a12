//! What the kernel has put on the stack of a new program.

use core::ffi::{CStr, c_char};

use clockhand_pager_protocol::PRELOAD_PREFIX;

use super::image::Image;

/// Arguments, environment and auxiliary values, each list with a zero at its end.
pub(super) struct Start {
    environment: *mut usize,
    auxiliary: *mut usize,
}

impl Start {
    /// # Safety
    /// It is the stack with which the kernel has started the program.
    pub(super) unsafe fn at(stack: *mut usize) -> Start {
        // SAFETY: a count, as many arguments, and a zero; then the environment and a zero; then pairs of which the last begins
        // with zero.
        unsafe {
            let environment = stack.add(*stack + 2);
            let mut entry = environment;
            while *entry != 0 {
                entry = entry.add(1);
            }
            Start { environment, auxiliary: entry.add(1) }
        }
    }

    /// Takes a variable out of the environment, which the program does not know of.
    pub(super) fn take(&mut self, name: &str) -> Option<&'static CStr> {
        let mut entry = self.environment;
        // SAFETY: as for `at`; strings of the environment stay where they are.
        unsafe {
            loop {
                if *entry == 0 {
                    return None;
                }
                let text = CStr::from_ptr(*entry as *const c_char);
                let value = text.to_bytes().strip_prefix(name.as_bytes());
                if let Some([b'=', ..]) = value {
                    self.close_gap(entry);
                    let value = text.as_ptr().add(name.len() + 1);
                    return Some(CStr::from_ptr(value));
                }
                entry = entry.add(1);
            }
        }
    }

    /// Gives `LD_PRELOAD` its name.
    pub(super) fn rename_preload(&mut self) {
        let mut entry = self.environment;
        // SAFETY: as for `at`.
        unsafe {
            while *entry != 0 {
                let text = CStr::from_ptr(*entry as *const c_char).to_bytes();
                if let Some([b'L', b'D', b'_', b'P', ..]) =
                    text.strip_prefix(PRELOAD_PREFIX.as_bytes())
                {
                    *entry += PRELOAD_PREFIX.len();
                }
                entry = entry.add(1);
            }
        }
    }

    /// Moves all that follows an entry of the environment one place down: programs find each list behind the one before.
    ///
    /// # Safety
    /// It is an entry of the environment.
    unsafe fn close_gap(&mut self, entry: *mut usize) {
        // SAFETY: as the caller promises; the auxiliary values end with a pair of which the first is zero.
        unsafe {
            let mut last = self.auxiliary;
            while *last != 0 {
                last = last.add(2);
            }
            let words = last.add(2).offset_from(entry) as usize - 1;
            core::ptr::copy(entry.add(1), entry, words);
            self.auxiliary = self.auxiliary.sub(1);
        }
    }

    /// Tells the program what the kernel would have told it of its file.
    pub(super) fn describe(&mut self, image: &Image, executed: &CStr) {
        let mut pair = self.auxiliary;
        // SAFETY: as for `at`.
        unsafe {
            while *pair != 0 {
                let value = match *pair as u64 {
                    libc::AT_PHDR => Some(image.headers),
                    libc::AT_PHENT => Some(size_of::<libc::Elf64_Phdr>()),
                    libc::AT_PHNUM => Some(image.header_count),
                    libc::AT_BASE => Some(0),
                    libc::AT_ENTRY => Some(image.entry),
                    libc::AT_EXECFN => Some(executed.as_ptr() as usize),
                    _ => None,
                };
                if let Some(value) = value {
                    *pair.add(1) = value;
                }
                pair = pair.add(2);
            }
        }
    }
}
