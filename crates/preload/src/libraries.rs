//! Which calls come from the C library and the dynamic loader themselves.
//!
//! Between the system call of `fork` and the first of the child's fork handlers the C library uses its own data:
//! open files (their locks), thread-specific data, the loader's tables. The child has no paged memory yet, so these
//! must be outside of it.

use core::ffi::c_void;
use core::mem::zeroed;
use core::sync::atomic::{AtomicUsize, Ordering};

use libc::{Dl_info, Elf64_Ehdr, Elf64_Phdr, PT_LOAD};

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __tls_get_addr(index: *const c_void) -> *mut c_void;
}

/// Where a loaded library lies.
struct Image {
    /// 0 until it has been looked for.
    end: AtomicUsize,
    start: AtomicUsize,
}

static C_LIBRARY: Image = Image { end: AtomicUsize::new(0), start: AtomicUsize::new(0) };
static LOADER: Image = Image { end: AtomicUsize::new(0), start: AtomicUsize::new(0) };

impl Image {
    /// Whether this address, of a function or in one, is in the library that also contains `symbol`.
    fn contains(&self, address: usize, symbol: *const c_void) -> bool {
        if self.end.load(Ordering::Acquire) == 0 {
            self.find(symbol);
        }
        (self.start.load(Ordering::Relaxed)..self.end.load(Ordering::Relaxed)).contains(&address)
    }

    fn find(&self, symbol: *const c_void) {
        // SAFETY: pointers, for which zero is valid.
        let mut information: Dl_info = unsafe { zeroed() };
        // SAFETY: the loader looks the address up among those of its libraries.
        if unsafe { libc::dladdr(symbol, &mut information) } == 0 {
            return;
        }
        let start = information.dli_fbase as usize;
        // SAFETY: a loaded library begins with its header, which says where its segments' descriptions lie.
        let headers = unsafe {
            let header = &*(start as *const Elf64_Ehdr);
            let first = (start + header.e_phoff as usize) as *const Elf64_Phdr;
            core::slice::from_raw_parts(first, usize::from(header.e_phnum))
        };
        let loaded = headers.iter().filter(|header| header.p_type == PT_LOAD);
        let bytes = loaded.map(|header| header.p_vaddr + header.p_memsz).max().unwrap_or(0);
        self.start.store(start, Ordering::Relaxed);
        self.end.store(start + bytes as usize, Ordering::Release);
    }
}

/// Is this return address in the dynamic loader?
pub fn is_loader(caller: usize) -> bool {
    LOADER.contains(caller, __tls_get_addr as *const c_void)
}

/// Is this return address in the C library or in the dynamic loader?
pub fn is_c_library(caller: usize) -> bool {
    C_LIBRARY.contains(caller, __libc_malloc as *const c_void) || is_loader(caller)
}
