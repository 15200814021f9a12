//! The functions behind ours.

use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering};

/// A function of the C library that has no other name.
pub(super) struct Next {
    name: &'static CStr,
    /// 0 until it has been looked for.
    address: AtomicUsize,
}

impl Next {
    pub(super) const fn new(name: &'static CStr) -> Next {
        Next { name, address: AtomicUsize::new(0) }
    }

    /// 0 if no library has it.
    pub(super) fn address(&self) -> usize {
        let mut address = self.address.load(Ordering::Relaxed);
        if address == 0 {
            // SAFETY: the name ends with a zero byte.
            address = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) } as usize;
            self.address.store(address, Ordering::Relaxed);
        }
        address
    }
}
