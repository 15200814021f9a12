//! `mremap`. The kernel cannot move a part of the paged memory, so that content is copied where the kernel would move it.

use core::ffi::{c_int, c_void};

use clockhand_pager_protocol::PAGE_BYTES;
use libc::size_t;

use super::mappings::{address_or_error, is_in_memory, zero_or_error};
use crate::address_space::{self, Mapped};
use crate::memory::{self, Foreign, copy_pages};
use crate::system::{self, ErrorNumber, Result};

const READ_AND_WRITE: c_int = libc::PROT_READ | libc::PROT_WRITE;

/// `mremap`; the new address counts with `MREMAP_FIXED` only.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn mremap(
    address: *mut c_void,
    bytes: size_t,
    new_bytes: size_t,
    flags: c_int,
    new_address: *mut c_void,
) -> *mut c_void {
    let (address, new_address) = (address as usize, new_address as usize);
    let is_fixed = flags & libc::MREMAP_FIXED != 0;
    let is_onto_memory = is_fixed && memory::overlaps(new_address, new_bytes);
    if !is_onto_memory
        && memory::contains(address)
        && memory::foreign(address, bytes) == Foreign::All
    {
        let arguments = [address, bytes, new_bytes, flags as usize, new_address, 0];
        // SAFETY: as the program promises.
        return address_or_error(unsafe { remap_foreign(arguments) });
    }
    // With 0 bytes a shared mapping is duplicated.
    if !memory::overlaps(address, bytes.max(1)) && !is_onto_memory {
        let arguments = [address, bytes, new_bytes, flags as usize, new_address, 0];
        // SAFETY: as the program promises; the memory's own mapping is not touched.
        return address_or_error(unsafe { system::call(libc::SYS_mremap, arguments) });
    }
    let remap = Remap { address, bytes, new_bytes, flags, new_address };
    // SAFETY: as the program promises.
    address_or_error(remap.checked().and_then(|remap| unsafe { remap.carry_out() }))
}

/// Resizes or moves what is not paged but lies in the memory, where nothing of others comes instead.
///
/// # Safety
///
/// As for `mremap`, which takes these arguments.
unsafe fn remap_foreign(arguments: [usize; 6]) -> Result<usize> {
    let [address, bytes, new_bytes, flags, ..] = arguments;
    let whole = |bytes: usize| bytes.next_multiple_of(PAGE_BYTES);
    // SAFETY: as the caller promises; what is left behind is no longer used.
    unsafe {
        let to = system::call(libc::SYS_mremap, arguments)?;
        let kept = match to == address {
            true => whole(new_bytes),
            false if flags as c_int & libc::MREMAP_DONTUNMAP != 0 => whole(bytes),
            false => 0,
        };
        if kept < whole(bytes) {
            let _ = memory::keep_out(address + kept, whole(bytes) - kept);
        }
        Ok(to)
    }
}

/// `remap_file_pages`, which is for files.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn remap_file_pages(
    address: *mut c_void,
    bytes: size_t,
    protection: c_int,
    page: size_t,
    flags: c_int,
) -> c_int {
    let address = address as usize;
    if memory::overlaps(address, bytes) {
        return zero_or_error::<()>(Err(ErrorNumber(libc::EINVAL)));
    }
    let arguments = [address, bytes, protection as usize, page, flags as usize, 0];
    // SAFETY: as the program promises; the memory's own mapping is not touched.
    zero_or_error(unsafe { system::call(libc::SYS_remap_file_pages, arguments) })
}

/// What is asked of `mremap`, from or to paged memory.
#[derive(Clone, Copy)]
struct Remap {
    address: usize,
    bytes: usize,
    new_bytes: usize,
    flags: c_int,
    new_address: usize,
}

impl Remap {
    fn has(&self, flag: c_int) -> bool {
        self.flags & flag != 0
    }

    /// The same in whole pages, or what is wrong with it, as the kernel finds it.
    fn checked(self) -> Result<Remap> {
        let known = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED | libc::MREMAP_DONTUNMAP;
        let to_page = |bytes: usize| bytes.checked_next_multiple_of(PAGE_BYTES).unwrap_or(0);
        let (bytes, new_bytes) = (to_page(self.bytes), to_page(self.new_bytes));
        let is_free_to_move = self.has(libc::MREMAP_MAYMOVE)
            || !self.has(libc::MREMAP_FIXED | libc::MREMAP_DONTUNMAP);
        let has_same_size = bytes == new_bytes || !self.has(libc::MREMAP_DONTUNMAP);
        let (end, new_end) =
            (self.address.checked_add(bytes), self.new_address.checked_add(new_bytes));
        let is_apart = !self.has(libc::MREMAP_FIXED)
            || self.new_address.is_multiple_of(PAGE_BYTES)
                && new_end.is_some_and(|new_end| new_end <= self.address)
            || self.new_address.is_multiple_of(PAGE_BYTES)
                && new_end.is_some()
                && end.is_some_and(|end| end <= self.new_address);
        let is_right = self.flags & !known == 0
            && self.address.is_multiple_of(PAGE_BYTES)
            && bytes > 0
            && new_bytes > 0
            && end.is_some()
            && is_free_to_move
            && has_same_size
            && is_apart;
        if is_right {
            Ok(Remap { bytes, new_bytes, ..self })
        } else {
            Err(ErrorNumber(libc::EINVAL))
        }
    }

    /// # Safety
    /// As for `mremap`.
    unsafe fn carry_out(self) -> Result<usize> {
        let is_from_memory = is_in_memory(self.address, self.bytes)?;
        let mapped = address_space::mapped(self.address, self.bytes)?;
        // The default: the protection of mappings from the paged memory.
        let mapped = mapped.unwrap_or(Mapped {
            protection: READ_AND_WRITE,
            is_private_and_anonymous: is_from_memory,
            is_memory_file: false,
        });
        if !is_from_memory && !mapped.is_private_and_anonymous {
            return Err(ErrorNumber(libc::EINVAL));
        }
        // SAFETY: as the caller promises.
        unsafe {
            if is_from_memory && !self.has(libc::MREMAP_FIXED | libc::MREMAP_DONTUNMAP) {
                let resized = memory::with(|memory| {
                    memory.resize_in_place(self.address, self.bytes, self.new_bytes)
                });
                if resized {
                    let kept = self.bytes.min(self.new_bytes);
                    protect(self.address + kept, self.new_bytes - kept, mapped.protection)?;
                    return Ok(self.address);
                }
                if !self.has(libc::MREMAP_MAYMOVE) {
                    return Err(ErrorNumber(libc::ENOMEM));
                }
            }
            let new_address = self.place()?;
            if mapped.protection & libc::PROT_READ == 0 {
                system::mprotect(self.address, self.bytes, libc::PROT_READ)?;
            }
            copy_pages(self.address, new_address, self.bytes.min(self.new_bytes));
            self.leave(is_from_memory, mapped.protection)?;
            protect(new_address, self.new_bytes, mapped.protection)?;
            Ok(new_address)
        }
    }

    /// Makes the new mapping, of zeros.
    ///
    /// # Safety
    /// With `MREMAP_FIXED`, what lies there is lost.
    unsafe fn place(&self) -> Result<usize> {
        let no_room = ErrorNumber(libc::ENOMEM);
        if !self.has(libc::MREMAP_FIXED) {
            return memory::with(|memory| memory.map_to_grow(self.new_bytes)).ok_or(no_room);
        }
        // SAFETY: as the caller promises; the memory's own mapping is not touched.
        unsafe {
            if is_in_memory(self.new_address, self.new_bytes)? {
                system::mprotect(self.new_address, self.new_bytes, READ_AND_WRITE)?;
                memory::with(|memory| memory.map_over(self.new_address, self.new_bytes));
                return Ok(self.new_address);
            }
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
            system::mmap(self.new_address, self.new_bytes, READ_AND_WRITE, flags, -1, 0)
        }
    }

    /// Ends the old mapping, or makes it one of zeros with the protection that it had.
    ///
    /// # Safety
    /// The program expects this.
    unsafe fn leave(&self, is_in_memory: bool, protection: c_int) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe {
            match (self.has(libc::MREMAP_DONTUNMAP), is_in_memory) {
                (false, true) => memory::with(|memory| memory.unmap(self.address, self.bytes)),
                (false, false) => drop(system::munmap(self.address, self.bytes)?),
                (true, true) => {
                    system::mprotect(self.address, self.bytes, READ_AND_WRITE)?;
                    memory::with(|memory| memory.make_zero(self.address, self.bytes));
                    protect(self.address, self.bytes, protection)?;
                }
                (true, false) => {
                    system::madvise(self.address, self.bytes, libc::MADV_DONTNEED)?;
                    system::mprotect(self.address, self.bytes, protection)?;
                }
            }
        }
        Ok(())
    }
}

/// Gives a mapping that can be read and written the protection that it is to have.
///
/// # Safety
/// As for `mprotect`.
unsafe fn protect(address: usize, bytes: usize, protection: c_int) -> Result<()> {
    if bytes == 0 || protection == READ_AND_WRITE {
        return Ok(());
    }
    // SAFETY: as the caller promises.
    unsafe { system::mprotect(address, bytes, protection) }.map(drop)
}
