//! `malloc` and its family. The C library's own small blocks stay outside of the paged memory (see `libraries`); the
//! address of a block says which heap it came from and must be freed by.

use core::arch::naked_asm;
use core::ffi::{c_int, c_void};
use core::mem::transmute;
use core::ptr::null_mut;

use clockhand_pager_protocol::PAGE_BYTES;

use crate::memory::{self, ALIGNMENT_BYTES};
use crate::system::{ErrorNumber, set_errno};
use crate::{attach, libraries};

/// Blocks of the C library itself that are larger than this hold the program's data (lines, strings, what is sorted).
const LARGEST_OWN_BLOCK_BYTES: usize = 16 * 1024;

unsafe extern "C" {
    fn __libc_malloc(bytes: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, bytes: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, bytes: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
    fn __libc_memalign(alignment: usize, bytes: usize) -> *mut c_void;
}

/// Does a new block for this caller come from the paged memory?
#[inline]
fn is_paged(bytes: usize, caller: usize) -> bool {
    attach::is_paged_for(caller)
        && (bytes > LARGEST_OWN_BLOCK_BYTES || !libraries::is_c_library(caller))
}

/// A block of this size, or `ENOMEM`.
fn or_no_memory(block: *mut u8, bytes: usize) -> *mut c_void {
    if block.is_null() {
        memory::say_full(bytes, false);
        set_errno(ErrorNumber(libc::ENOMEM));
    }
    block.cast()
}

/// An aligned block for the program.
///
/// # Safety
/// The alignment is a power of two.
unsafe fn aligned_block(alignment_bytes: usize, bytes: usize) -> *mut c_void {
    if attach::is_paged() {
        let alignment_bytes = alignment_bytes.max(ALIGNMENT_BYTES);
        return or_no_memory(memory::with(|memory| memory.allocate(bytes, alignment_bytes)), bytes);
    }
    // SAFETY: the C library's own.
    unsafe { __libc_memalign(alignment_bytes, bytes) }
}

/// `malloc`, which also looks at who calls.
#[unsafe(naked)]
#[unsafe(no_mangle)]
extern "C" fn malloc(bytes: usize) -> *mut c_void {
    naked_asm!("mov rsi, [rsp]", "jmp {}", sym malloc_for)
}

extern "C" fn malloc_for(bytes: usize, caller: usize) -> *mut c_void {
    if is_paged(bytes, caller) {
        return or_no_memory(memory::with(|memory| memory.allocate(bytes, ALIGNMENT_BYTES)), bytes);
    }
    // SAFETY: the C library's own.
    unsafe { __libc_malloc(bytes) }
}

/// `calloc`, which also looks at who calls.
#[unsafe(naked)]
#[unsafe(no_mangle)]
extern "C" fn calloc(count: usize, bytes: usize) -> *mut c_void {
    naked_asm!("mov rdx, [rsp]", "jmp {}", sym calloc_for)
}

extern "C" fn calloc_for(count: usize, bytes: usize, caller: usize) -> *mut c_void {
    let Some(total_bytes) = count.checked_mul(bytes) else {
        return or_no_memory(null_mut(), usize::MAX);
    };
    if is_paged(total_bytes, caller) {
        return or_no_memory(
            memory::with(|memory| memory.allocate_zeros(total_bytes)),
            total_bytes,
        );
    }
    // SAFETY: the C library's own.
    unsafe { __libc_calloc(count, bytes) }
}

/// `realloc`, which also looks at who calls.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(block: *mut c_void, bytes: usize) -> *mut c_void {
    naked_asm!("mov rdx, [rsp]", "jmp {}", sym realloc_for)
}

unsafe extern "C" fn realloc_for(block: *mut c_void, bytes: usize, caller: usize) -> *mut c_void {
    if block.is_null() {
        return malloc_for(bytes, caller);
    }
    if !memory::contains(block as usize) {
        // SAFETY: a block of the C library.
        return unsafe { __libc_realloc(block, bytes) };
    }
    if bytes == 0 {
        // SAFETY: as the program promises.
        unsafe { free(block) };
        return null_mut();
    }
    // SAFETY: as the program promises.
    or_no_memory(memory::with(|memory| unsafe { memory.reallocate(block.cast(), bytes) }), bytes)
}

/// `reallocarray`: [`realloc`] with a product that may overflow.
#[unsafe(no_mangle)]
unsafe extern "C" fn reallocarray(block: *mut c_void, count: usize, bytes: usize) -> *mut c_void {
    match count.checked_mul(bytes) {
        // SAFETY: as the program promises.
        Some(total_bytes) => unsafe { realloc(block, total_bytes) },
        None => or_no_memory(null_mut(), usize::MAX),
    }
}

/// `free`, of a block of ours or of the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn free(block: *mut c_void) {
    // SAFETY: as the program promises; the C library's blocks are its own.
    unsafe {
        if memory::contains(block as usize) {
            memory::with(|memory| memory.free(block.cast()));
        } else {
            __libc_free(block);
        }
    }
}

/// `memalign`.
#[unsafe(no_mangle)]
extern "C" fn memalign(alignment_bytes: usize, bytes: usize) -> *mut c_void {
    // As the C library does: an alignment that is not a power of two is rounded up to one.
    match alignment_bytes.checked_next_power_of_two() {
        // SAFETY: it is a power of two.
        Some(alignment_bytes) => unsafe { aligned_block(alignment_bytes, bytes) },
        None => {
            set_errno(ErrorNumber(libc::EINVAL));
            null_mut()
        }
    }
}

/// `aligned_alloc`.
#[unsafe(no_mangle)]
extern "C" fn aligned_alloc(alignment_bytes: usize, bytes: usize) -> *mut c_void {
    memalign(alignment_bytes, bytes)
}

/// `posix_memalign`: says an error with its result, and leaves `errno` alone.
#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(
    result: *mut *mut c_void,
    alignment_bytes: usize,
    bytes: usize,
) -> c_int {
    if !alignment_bytes.is_power_of_two() || !alignment_bytes.is_multiple_of(size_of::<usize>()) {
        return libc::EINVAL;
    }
    // SAFETY: the alignment has been checked; `result` and `errno` are there to write.
    unsafe {
        let before = *libc::__errno_location();
        let block = aligned_block(alignment_bytes, bytes);
        *libc::__errno_location() = before;
        if block.is_null() {
            return libc::ENOMEM;
        }
        *result = block;
    }
    0
}

/// `valloc`: aligned to a page.
#[unsafe(no_mangle)]
extern "C" fn valloc(bytes: usize) -> *mut c_void {
    memalign(PAGE_BYTES, bytes)
}

/// `pvalloc`: aligned to a page, and whole pages.
#[unsafe(no_mangle)]
extern "C" fn pvalloc(bytes: usize) -> *mut c_void {
    match bytes.checked_next_multiple_of(PAGE_BYTES) {
        Some(bytes) => memalign(PAGE_BYTES, bytes),
        None => or_no_memory(null_mut(), usize::MAX),
    }
}

/// `malloc_usable_size`.
#[unsafe(no_mangle)]
unsafe extern "C" fn malloc_usable_size(block: *mut c_void) -> usize {
    if memory::contains(block as usize) {
        // SAFETY: as the program promises.
        return memory::with(|memory| unsafe { memory.usable_bytes(block.cast()) });
    }
    // SAFETY: the C library's function of this name has this type; the rest is the program's promise.
    unsafe {
        let next: Option<unsafe extern "C" fn(*mut c_void) -> usize> =
            transmute(libc::dlsym(libc::RTLD_NEXT, c"malloc_usable_size".as_ptr()));
        next.map_or(0, |next| next(block))
    }
}

/// `malloc_trim`: 1 if memory has been given back.
#[unsafe(no_mangle)]
extern "C" fn malloc_trim(pad_bytes: usize) -> c_int {
    if attach::is_paged() {
        return c_int::from(memory::with(|memory| memory.trim(pad_bytes)));
    }
    // SAFETY: the C library's function of this name has this type.
    unsafe {
        let next: Option<unsafe extern "C" fn(usize) -> c_int> =
            transmute(libc::dlsym(libc::RTLD_NEXT, c"malloc_trim".as_ptr()));
        next.map_or(0, |next| next(pad_bytes))
    }
}
