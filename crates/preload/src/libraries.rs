//! Which calls come from the C library and the dynamic loader themselves, and whether the program's come here.
//!
//! Between the system call of `fork` and the first of the child's fork handlers the C library uses its own data:
//! open files (their locks), thread-specific data, the loader's tables. The child has no paged memory yet, so these
//! must be outside of it.

use core::ffi::{CStr, c_int, c_void};
use core::mem::zeroed;
use core::ptr::null;
use core::sync::atomic::{AtomicUsize, Ordering};

use libc::{Dl_info, Elf64_Ehdr, Elf64_Phdr, Elf64_Sym, PT_LOAD};

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __tls_get_addr(index: *const c_void) -> *mut c_void;
    fn dladdr1(
        address: *const c_void,
        information: *mut Dl_info,
        symbol: *mut *const Elf64_Sym,
        flags: c_int,
    ) -> c_int;
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
    /// Returns whether this address, of a function or in one, is in the library that also contains `symbol`.
    fn contains(&self, address: usize, symbol: *const c_void) -> bool {
        if self.end.load(Ordering::Acquire) == 0 {
            self.find(symbol);
        }
        (self.start.load(Ordering::Relaxed)..self.end.load(Ordering::Relaxed)).contains(&address)
    }

    fn find(&self, symbol: *const c_void) {
        let Some((start, loaded)) = loaded_segments(symbol) else { return };
        let bytes = loaded.map(|header| header.p_vaddr + header.p_memsz).max().unwrap_or(0);
        self.start.store(start, Ordering::Relaxed);
        self.end.store(start + bytes as usize, Ordering::Release);
    }
}

/// Where the library that contains this symbol lies, and its parts that are loaded.
pub fn loaded_segments(
    symbol: *const c_void,
) -> Option<(usize, impl Iterator<Item = &'static Elf64_Phdr>)> {
    // SAFETY: pointers, for which zero is valid.
    let mut information: Dl_info = unsafe { zeroed() };
    // SAFETY: the loader looks the address up among those of its libraries.
    if unsafe { libc::dladdr(symbol, &mut information) } == 0 {
        return None;
    }
    let start = information.dli_fbase as usize;
    // SAFETY: a loaded library begins with its header, which says where its segments' descriptions lie.
    let headers: &'static [Elf64_Phdr] = unsafe {
        let header = &*(start as *const Elf64_Ehdr);
        let first = (start + header.e_phoff as usize) as *const Elf64_Phdr;
        core::slice::from_raw_parts(first, usize::from(header.e_phnum))
    };
    Some((start, headers.iter().filter(|header| header.p_type == PT_LOAD)))
}

/// What C++ calls for `new`, as compilers name it.
const OPERATOR_NEW: &CStr = c"_Znwm";

/// Returns whether the program's blocks come from another heap than ours: it has a `malloc` of its own, or is linked
/// with a library that has one, or a library for heaps has the `new` of C++.
pub fn has_other_heap() -> bool {
    static OWN: Image = Image { end: AtomicUsize::new(0), start: AtomicUsize::new(0) };
    let find = |name: &CStr| {
        // SAFETY: the name ends with a zero byte.
        unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
    };
    let (malloc, new) = (find(c"malloc"), find(OPERATOR_NEW));
    !OWN.contains(malloc as usize, has_other_heap as *const c_void) && !is_stub(malloc)
        || !new.is_null() && is_in_library_for_heaps(new)
}

/// Returns whether this address only leads to a function in a library: in programs that lie at a fixed place such an
/// address is the function's for everybody.
fn is_stub(function: *const c_void) -> bool {
    const WITH_SYMBOL: c_int = 1;
    let mut symbol: *const Elf64_Sym = null();
    // SAFETY: pointers, for which zero is valid; the loader looks the address up, and writes where its symbol is.
    unsafe {
        let mut information: Dl_info = zeroed();
        let is_known = dladdr1(function, &mut information, &mut symbol, WITH_SYMBOL) != 0;
        is_known && !symbol.is_null() && (*symbol).st_shndx == 0
    }
}

/// Returns whether such a library, by its name, has this function.
fn is_in_library_for_heaps(function: *const c_void) -> bool {
    const PART_OF_NAME: &[u8] = b"malloc";
    // SAFETY: pointers, for which zero is valid; the loader looks the address up, and keeps the name.
    let path = unsafe {
        let mut information: Dl_info = zeroed();
        if libc::dladdr(function, &mut information) == 0 || information.dli_fname.is_null() {
            return false;
        }
        CStr::from_ptr(information.dli_fname).to_bytes()
    };
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
    name.windows(PART_OF_NAME.len()).any(|part| part == PART_OF_NAME)
}

/// Is this return address in the dynamic loader?
pub fn is_loader(caller: usize) -> bool {
    LOADER.contains(caller, __tls_get_addr as *const c_void)
}

/// Is this return address in the C library or in the dynamic loader?
pub fn is_c_library(caller: usize) -> bool {
    C_LIBRARY.contains(caller, __libc_malloc as *const c_void) || is_loader(caller)
}
