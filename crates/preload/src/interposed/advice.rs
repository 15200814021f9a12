//! `madvise` on paged memory. Pages can be forgotten, and a promise that is kept anyway can be given; what would have to be
//! done to the mapping itself, or is not known here, is refused (`EINVAL`), as an older kernel does.

use core::ffi::{c_int, c_void};
use core::slice;

use libc::{iovec, size_t, ssize_t};

use super::direct_reads::bytes_or_error;
use super::mappings::{is_in_memory, zero_or_error};
use crate::memory::{self, Foreign};
use crate::system::{self, ErrorNumber, Result};

/// The most parts that the kernel takes.
const MOST_PARTS: usize = 1024;

/// Returns whether this advice says that the contents of private anonymous memory are no longer needed.
fn forgets(advice: c_int) -> bool {
    matches!(advice, libc::MADV_DONTNEED | libc::MADV_DONTNEED_LOCKED | libc::MADV_FREE)
}

/// Returns whether nothing has to be done for this advice: how memory will be used, how its pages are best kept, and
/// what is true of paged memory already. Every fork copies it, and no core dump contains it.
fn is_kept_anyway(advice: c_int) -> bool {
    matches!(
        advice,
        libc::MADV_NORMAL
            | libc::MADV_RANDOM
            | libc::MADV_SEQUENTIAL
            | libc::MADV_WILLNEED
            | libc::MADV_COLD
            | libc::MADV_PAGEOUT
            | libc::MADV_POPULATE_READ
            | libc::MADV_POPULATE_WRITE
            | libc::MADV_MERGEABLE
            | libc::MADV_UNMERGEABLE
            | libc::MADV_HUGEPAGE
            | libc::MADV_NOHUGEPAGE
            | libc::MADV_DONTDUMP
            | libc::MADV_DODUMP
            | libc::MADV_DOFORK
            | libc::MADV_KEEPONFORK
    )
}

/// `madvise`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn madvise(
    address: *mut c_void,
    bytes: size_t,
    advice: c_int,
) -> c_int {
    // SAFETY: as the program promises.
    zero_or_error(unsafe { advise(address as usize, bytes, advice) })
}

/// # Safety
/// As for `madvise`.
unsafe fn advise(address: usize, bytes: usize, advice: c_int) -> Result<()> {
    if !memory::overlaps(address, bytes) || memory::foreign(address, bytes) == Foreign::All {
        // SAFETY: as the program promises; the memory's own mapping is not touched.
        return unsafe { system::madvise(address, bytes, advice) }.map(drop);
    }
    if !forgets(advice) && !is_kept_anyway(advice) {
        return Err(ErrorNumber(libc::EINVAL));
    }
    if bytes > 0 && is_in_memory(address, bytes)? && forgets(advice) {
        // SAFETY: as the program promises.
        memory::with(|memory| unsafe { memory.make_zero(address, bytes) });
    }
    Ok(())
}

/// `process_madvise`, also of the program itself.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn process_madvise(
    process: c_int,
    parts: *const iovec,
    count: size_t,
    advice: c_int,
    flags: u32,
) -> ssize_t {
    // SAFETY: as the program promises.
    bytes_or_error(unsafe { advise_parts(process, parts, count, advice, flags) })
}

/// # Safety
/// As for `process_madvise`.
unsafe fn advise_parts(
    process: c_int,
    parts: *const iovec,
    count: usize,
    advice: c_int,
    flags: u32,
) -> Result<usize> {
    let call = |count: usize, advice: c_int| {
        let arguments =
            [process as usize, parts as usize, count, advice as usize, flags as usize, 0];
        // SAFETY: as the caller promises.
        unsafe { system::call(libc::SYS_process_madvise, arguments) }
    };
    // The kernel forgets contents for the process itself only, so it says here whether this is the one that is meant. If not,
    // the kernel lets nothing be done but what changes no contents.
    let is_own = || call(0, libc::MADV_DONTNEED).is_ok();
    if parts.is_null() || !(1..=MOST_PARTS).contains(&count) || !is_own() {
        return call(count, advice);
    }
    // SAFETY: as the caller promises.
    let parts = unsafe { slice::from_raw_parts(parts, count) };
    let mut done = 0;
    for part in parts {
        // SAFETY: as the caller promises.
        match unsafe { advise(part.iov_base as usize, part.iov_len, advice) } {
            Ok(()) => done += part.iov_len,
            Err(error) if done == 0 => return Err(error),
            Err(_) => break,
        }
    }
    Ok(done)
}
