//! `mmap` and its family; `mremap` is in `moves`, and `madvise` in `advice`. Large private anonymous mappings that can be read
//! and written come from the paged memory; everything else is the kernel's. No call of the program reaches the mapping of the
//! memory itself, but `mprotect`, which the kernel does for paged memory as for any other.

use core::ffi::{c_int, c_void};

use clockhand_pager_protocol::PAGE_BYTES;
use libc::{MAP_FAILED, off_t, size_t};

use crate::attach;
use crate::memory::{self, Foreign};
use crate::system::{self, ErrorNumber, Result, set_errno};

/// Smaller mappings are left to the kernel.
const SMALLEST_BYTES: usize = 128 * 1024;

/// A mapping with any of these is not typical of a program's heap, or cannot be paged.
const NOT_PAGED: c_int = libc::MAP_FIXED
    | libc::MAP_FIXED_NOREPLACE
    | libc::MAP_STACK
    | libc::MAP_GROWSDOWN
    | libc::MAP_HUGETLB
    | libc::MAP_LOCKED
    | libc::MAP_32BIT
    | libc::MAP_SHARED;

/// Does such a mapping come from the paged memory, if it can be read and written, or is reserved without any rights?
fn is_pageable(bytes: usize, flags: c_int) -> bool {
    bytes >= SMALLEST_BYTES
        && flags & libc::MAP_PRIVATE != 0
        && flags & libc::MAP_ANONYMOUS != 0
        && flags & NOT_PAGED == 0
}

const READ_AND_WRITE: c_int = libc::PROT_READ | libc::PROT_WRITE;

/// An address as the C library returns it, or `MAP_FAILED` and `errno`.
pub(super) fn address_or_error(result: Result<usize>) -> *mut c_void {
    match result {
        Ok(address) => address as *mut c_void,
        Err(error) => {
            set_errno(error);
            MAP_FAILED
        }
    }
}

/// 0, or -1 and `errno`.
pub(super) fn zero_or_error<T>(result: Result<T>) -> c_int {
    match result {
        Ok(_) => 0,
        Err(error) => {
            set_errno(error);
            -1
        }
    }
}

/// What is wrong with a range of addresses that the kernel would refuse too.
fn check_range(address: usize, bytes: usize) -> Result<()> {
    let end = address.checked_add(bytes);
    if address.is_multiple_of(PAGE_BYTES) && bytes > 0 && end.is_some() {
        return Ok(());
    }
    Err(ErrorNumber(libc::EINVAL))
}

/// Are all of these addresses in the paged memory? An error if only some are: no program can know what lies beside its
/// own mappings.
pub(super) fn is_in_memory(address: usize, bytes: usize) -> Result<bool> {
    if !memory::overlaps(address, bytes) {
        return Ok(false);
    }
    check_range(address, bytes)?;
    if memory::contains(address) && memory::contains(address + bytes - 1) {
        return Ok(true);
    }
    Err(ErrorNumber(libc::EINVAL))
}

/// `mmap`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn mmap(
    address: *mut c_void,
    bytes: size_t,
    protection: c_int,
    flags: c_int,
    descriptor: c_int,
    offset: off_t,
) -> *mut c_void {
    let address = address as usize;
    if protection == libc::PROT_NONE && is_pageable(bytes, flags) && attach::is_paged() {
        // Mappings that find no room are the kernel's, and so are the parts that the program
        // commits.
        if let Some(address) = memory::with(|memory| memory.reserve(bytes)) {
            return address as *mut c_void;
        }
    }
    if protection == READ_AND_WRITE && is_pageable(bytes, flags) && attach::is_paged() {
        let mapped = memory::with(|memory| memory.map(bytes));
        if let Some(address) = mapped {
            return address as *mut c_void;
        }
        // Programs hardly use memory that they do not reserve: sparse tables, and shadows of the whole address space.
        let is_sparse = flags & libc::MAP_NORESERVE != 0 && bytes > memory::total_bytes();
        memory::say_full(bytes, is_sparse);
        if !is_sparse {
            return address_or_error(Err(ErrorNumber(libc::ENOMEM)));
        }
    }
    let fixed = flags & (libc::MAP_FIXED | libc::MAP_FIXED_NOREPLACE) != 0;
    if fixed && memory::overlaps(address, bytes) {
        let over = Over { address, bytes, protection, flags, descriptor, offset };
        // SAFETY: as the program promises.
        return address_or_error(unsafe { over.carry_out() });
    }
    // SAFETY: as the program promises; the memory's own mapping is not touched.
    address_or_error(unsafe { system::mmap(address, bytes, protection, flags, descriptor, offset) })
}

with_64_bits! {
    mmap64 = mmap(address: *mut c_void, bytes: size_t, protection: c_int, flags: c_int, descriptor: c_int, offset: off_t) -> *mut c_void
}

/// A mapping that replaces a part of the paged memory.
struct Over {
    address: usize,
    bytes: usize,
    protection: c_int,
    flags: c_int,
    descriptor: c_int,
    offset: off_t,
}

impl Over {
    /// # Safety
    /// The program replaces what it had there.
    unsafe fn carry_out(self) -> Result<usize> {
        if self.flags & libc::MAP_FIXED_NOREPLACE == libc::MAP_FIXED_NOREPLACE {
            return Err(ErrorNumber(libc::EEXIST));
        }
        if !is_in_memory(self.address, self.bytes)? {
            return Err(ErrorNumber(libc::ENOMEM));
        }
        let whole_bytes = self.bytes.next_multiple_of(PAGE_BYTES);
        let can_be_paged = self.flags & libc::MAP_ANONYMOUS != 0
            && self.flags & libc::MAP_PRIVATE != 0
            && self.flags & (NOT_PAGED & !libc::MAP_FIXED) == 0;
        // SAFETY: as the caller promises.
        unsafe {
            if !can_be_paged || memory::foreign(self.address, whole_bytes) != Foreign::None {
                return self.put_in_place(whole_bytes);
            }
            system::mprotect(self.address, whole_bytes, READ_AND_WRITE)?;
            memory::with(|memory| memory.map_over(self.address, whole_bytes));
            system::mprotect(self.address, whole_bytes, self.protection)?;
        }
        Ok(self.address)
    }

    /// Maps what cannot be paged elsewhere first, so that nothing is lost if the kernel refuses it.
    ///
    /// # Safety
    /// As for [`Over::carry_out`].
    unsafe fn put_in_place(&self, whole_bytes: usize) -> Result<usize> {
        let flags = self.flags & !libc::MAP_FIXED;
        // SAFETY: a new mapping, and then as the caller promises.
        unsafe {
            let made =
                system::mmap(0, self.bytes, self.protection, flags, self.descriptor, self.offset)?;
            let moved = memory::with(|memory| {
                if !memory.give_away(self.address, whole_bytes) {
                    return Err(ErrorNumber(libc::ENOMEM));
                }
                let how = (libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED) as usize;
                let arguments = [made, whole_bytes, whole_bytes, how, self.address, 0];
                system::call(libc::SYS_mremap, arguments).inspect_err(|_| {
                    // Nothing of ours can be there any more.
                    let _ = memory::keep_out(self.address, whole_bytes);
                })
            });
            moved.inspect_err(|_| {
                let _ = system::munmap(made, whole_bytes);
            })
        }
    }
}

/// `munmap`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn munmap(address: *mut c_void, bytes: size_t) -> c_int {
    let address = address as usize;
    // SAFETY: as the program promises; the memory's own mapping is not touched.
    zero_or_error(is_in_memory(address, bytes).and_then(|in_memory| unsafe {
        match in_memory {
            true => {
                memory::with(|memory| memory.unmap(address, bytes));
                Ok(0)
            }
            false => system::munmap(address, bytes),
        }
    }))
}

/// `shmat`: shared memory cannot be attached over paged memory.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn shmat(
    identifier: c_int,
    address: *const c_void,
    flags: c_int,
) -> *mut c_void {
    if flags & libc::SHM_REMAP != 0 && memory::contains(address as usize) {
        return address_or_error(Err(ErrorNumber(libc::ENOMEM)));
    }
    let arguments = [identifier as usize, address as usize, flags as usize, 0, 0, 0];
    // SAFETY: as the program promises; the memory's own mapping is not touched.
    address_or_error(unsafe { system::call(libc::SYS_shmat, arguments) })
}

/// `mlock`: paged memory cannot be locked, as if there were too much of it.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn mlock(address: *const c_void, bytes: size_t) -> c_int {
    // SAFETY: as the program promises.
    unsafe { mlock2(address, bytes, 0) }
}

/// `mlock2`: as [`mlock`].
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn mlock2(address: *const c_void, bytes: size_t, flags: u32) -> c_int {
    let address = address as usize;
    if memory::overlaps(address, bytes) && memory::foreign(address, bytes) != Foreign::All {
        return zero_or_error::<()>(Err(ErrorNumber(libc::ENOMEM)));
    }
    let (number, arguments) = match flags {
        0 => (libc::SYS_mlock, [address, bytes, 0, 0, 0, 0]),
        _ => (libc::SYS_mlock2, [address, bytes, flags as usize, 0, 0, 0]),
    };
    // SAFETY: as the program promises.
    zero_or_error(unsafe { system::call(number, arguments) })
}

/// `munlock` of memory that is not paged. The pager's own locks stay.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn munlock(address: *const c_void, bytes: size_t) -> c_int {
    let address = address as usize;
    if memory::overlaps(address, bytes) && memory::foreign(address, bytes) != Foreign::All {
        return 0;
    }
    // SAFETY: as the program promises.
    zero_or_error(unsafe { system::call(libc::SYS_munlock, [address, bytes, 0, 0, 0, 0]) })
}

/// `munlockall`: as [`munlock`].
#[unsafe(no_mangle)]
pub(super) extern "C" fn munlockall() -> c_int {
    // SAFETY: takes nothing.
    let result = zero_or_error(unsafe { system::call(libc::SYS_munlockall, [0; 6]) });
    if attach::is_paged() {
        // SAFETY: the lock is held, and the contents stay as they are. As when the memory is mapped, it may be refused.
        let _ = memory::with(|_| unsafe { memory::for_each_pageable(system::lock_on_fault) });
    }
    result
}

/// `mlockall`: as [`mlock`], for a program that has paged memory.
#[unsafe(no_mangle)]
pub(super) extern "C" fn mlockall(flags: c_int) -> c_int {
    if attach::is_paged() {
        return zero_or_error::<()>(Err(ErrorNumber(libc::ENOMEM)));
    }
    // SAFETY: takes no addresses.
    zero_or_error(unsafe { system::call(libc::SYS_mlockall, [flags as usize, 0, 0, 0, 0, 0]) })
}
