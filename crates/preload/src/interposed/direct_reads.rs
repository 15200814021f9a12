//! Reads past the page cache (`O_DIRECT`). There a device writes into the memory itself, later, without checking that
//! the page is still there. Bytes for a page that the pager has evicted would be lost. So such a read goes to unpaged
//! memory, and its bytes are copied.
//!
//! Asynchronous reads cannot be copied: see `asynchronous_reads`. Direct writes change no memory and are as always.

use core::ffi::{c_int, c_long, c_void};
use core::mem::transmute;
use core::ptr::copy_nonoverlapping;
use core::slice;

use clockhand_pager_protocol::PAGE_BYTES;
use libc::{iovec, off_t, size_t, ssize_t};

use super::next::Next;
use crate::memory;
use crate::system::{self, Result, set_errno};

/// The most bytes that are read into other memory at a time; whatever a device's block is, it is a multiple of it.
const BOUNCED_BYTES: usize = 1 << 20;

unsafe extern "C" {
    fn __read(descriptor: c_int, buffer: *mut c_void, bytes: size_t) -> ssize_t;
    fn __pread64(descriptor: c_int, buffer: *mut c_void, bytes: size_t, offset: off_t) -> ssize_t;
    fn __chk_fail() -> !;
}

/// Is this a read of a device into paged memory?
pub fn is_direct(descriptor: c_int, address: usize, bytes: usize) -> bool {
    if bytes == 0 || !memory::overlaps(address, bytes) {
        return false;
    }
    let arguments = [descriptor as usize, libc::F_GETFL as usize, 0, 0, 0, 0];
    // SAFETY: takes no addresses.
    let flags = unsafe { system::call(libc::SYS_fcntl, arguments) };
    flags.is_ok_and(|flags| flags as c_int & libc::O_DIRECT != 0)
}

/// From where a read reads, and how.
#[derive(Clone, Copy)]
struct Source {
    descriptor: c_int,
    /// `None` for where the file stands.
    offset: Option<off_t>,
    /// Of `preadv2`.
    flags: c_int,
}

impl Source {
    fn of_file(descriptor: c_int) -> Source {
        Source { descriptor, offset: None, flags: 0 }
    }

    /// The same, `bytes` bytes later.
    fn after(self, bytes: usize) -> Source {
        Source { offset: self.offset.map(|offset| offset + bytes as off_t), ..self }
    }

    /// One system call.
    ///
    /// # Safety
    /// The bytes are writable, or the kernel says that they are not.
    unsafe fn read(self, address: usize, bytes: usize) -> Result<usize> {
        let part = iovec { iov_base: address as *mut c_void, iov_len: bytes };
        let (descriptor, vectors) = (self.descriptor as usize, &raw const part as usize);
        let arguments = match self.offset {
            None if self.flags == 0 => [descriptor, address, bytes, 0, 0, 0],
            offset => {
                [descriptor, vectors, 1, offset.unwrap_or(-1) as usize, 0, self.flags as usize]
            }
        };
        let number = match self.offset {
            None if self.flags == 0 => libc::SYS_read,
            _ => libc::SYS_preadv2,
        };
        // SAFETY: as the caller promises; the vector lives here.
        unsafe { system::call(number, arguments) }
    }

    /// Reads into other memory and copies. As any read, it may read less than it could.
    ///
    /// # Safety
    /// The bytes are the program's to write.
    unsafe fn read_by_copying(self, address: usize, bytes: usize) -> Result<usize> {
        // At the same place in its page, so that the kernel finds right and wrong what it would have found there.
        let in_page = address % PAGE_BYTES;
        let most = bytes.min(BOUNCED_BYTES);
        let room = (in_page + most).next_multiple_of(PAGE_BYTES);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping, which ends below; the copy stays within it and what was asked for.
        unsafe {
            let other = system::mmap(0, room, protection, flags, -1, 0)?;
            let mut done = 0;
            let result = loop {
                let wanted = most.min(bytes - done);
                match self.after(done).read(other + in_page, wanted) {
                    Ok(read) => {
                        let (from, to) =
                            ((other + in_page) as *const u8, (address + done) as *mut u8);
                        copy_nonoverlapping(from, to, read);
                        done += read;
                        if read < wanted || done == bytes {
                            break Ok(done);
                        }
                    }
                    Err(_) if done > 0 => break Ok(done),
                    Err(error) => break Err(error),
                }
            };
            let _ = system::munmap(other, room);
            result
        }
    }

    /// Reads into one part after the other, those in paged memory by copying.
    ///
    /// # Safety
    /// The parts are the program's to write.
    unsafe fn read_parts(self, parts: &[iovec]) -> Result<usize> {
        let mut done = 0;
        for part in parts {
            let (address, bytes) = (part.iov_base as usize, part.iov_len);
            let source = self.after(done);
            // SAFETY: as the caller promises.
            let result = unsafe {
                match memory::overlaps(address, bytes) {
                    true => source.read_by_copying(address, bytes),
                    false => source.read(address, bytes),
                }
            };
            match result {
                Ok(read) => done += read,
                Err(error) if done == 0 => return Err(error),
                Err(_) => return Ok(done),
            }
            if result != Ok(bytes) {
                break;
            }
        }
        Ok(done)
    }
}

/// The number of bytes, or -1 and `errno`.
pub(super) fn bytes_or_error(result: Result<usize>) -> ssize_t {
    match result {
        Ok(bytes) => bytes as ssize_t,
        Err(error) => {
            set_errno(error);
            -1
        }
    }
}

/// `read`.
#[unsafe(no_mangle)]
unsafe extern "C" fn read(descriptor: c_int, buffer: *mut c_void, bytes: size_t) -> ssize_t {
    // SAFETY: as the program promises.
    unsafe {
        match is_direct(descriptor, buffer as usize, bytes) {
            true => {
                bytes_or_error(Source::of_file(descriptor).read_by_copying(buffer as usize, bytes))
            }
            false => __read(descriptor, buffer, bytes),
        }
    }
}

/// `pread`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pread(
    descriptor: c_int,
    buffer: *mut c_void,
    bytes: size_t,
    offset: off_t,
) -> ssize_t {
    // SAFETY: as the program promises. The kernel refuses offsets below 0, which `preadv2` understands otherwise.
    unsafe {
        if offset < 0 || !is_direct(descriptor, buffer as usize, bytes) {
            return __pread64(descriptor, buffer, bytes, offset);
        }
        let source = Source { offset: Some(offset), ..Source::of_file(descriptor) };
        bytes_or_error(source.read_by_copying(buffer as usize, bytes))
    }
}

with_64_bits! {
    pread64 = pread(descriptor: c_int, buffer: *mut c_void, bytes: size_t, offset: off_t) -> ssize_t
}

/// `read` in a program that was compiled to check the sizes of its buffers (`_FORTIFY_SOURCE`).
#[unsafe(no_mangle)]
unsafe extern "C" fn __read_chk(
    descriptor: c_int,
    buffer: *mut c_void,
    bytes: size_t,
    room: size_t,
) -> ssize_t {
    // SAFETY: as the program promises.
    unsafe {
        if bytes > room {
            __chk_fail();
        }
        read(descriptor, buffer, bytes)
    }
}

/// `pread`, in the same way.
#[unsafe(no_mangle)]
unsafe extern "C" fn __pread_chk(
    descriptor: c_int,
    buffer: *mut c_void,
    bytes: size_t,
    offset: off_t,
    room: size_t,
) -> ssize_t {
    // SAFETY: as the program promises.
    unsafe {
        if bytes > room {
            __chk_fail();
        }
        pread(descriptor, buffer, bytes, offset)
    }
}

with_64_bits! {
    __pread64_chk = __pread_chk(descriptor: c_int, buffer: *mut c_void, bytes: size_t, offset: off_t, room: size_t) -> ssize_t
}

/// The parts, if one of them is a read of a device into paged memory.
///
/// # Safety
/// As the program promises, `count` parts lie there.
pub unsafe fn direct_parts<'a>(
    descriptor: c_int,
    parts: *const iovec,
    count: c_int,
) -> Option<&'a [iovec]> {
    if parts.is_null() || !(1..=1024).contains(&count) {
        return None;
    }
    // SAFETY: as the caller promises.
    let parts = unsafe { slice::from_raw_parts(parts, count as usize) };
    let is_direct = |part: &iovec| is_direct(descriptor, part.iov_base as usize, part.iov_len);
    parts.iter().any(is_direct).then_some(parts)
}

/// `readv`.
#[unsafe(no_mangle)]
unsafe extern "C" fn readv(descriptor: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    static NEXT: Next = Next::new(c"readv");
    // SAFETY: as the program promises; the C library's function has this type.
    unsafe {
        if let Some(parts) = direct_parts(descriptor, parts, count) {
            return bytes_or_error(Source::of_file(descriptor).read_parts(parts));
        }
        let next: unsafe extern "C" fn(c_int, *const iovec, c_int) -> ssize_t =
            transmute(NEXT.address());
        next(descriptor, parts, count)
    }
}

/// `preadv`.
#[unsafe(no_mangle)]
unsafe extern "C" fn preadv(
    descriptor: c_int,
    parts: *const iovec,
    count: c_int,
    offset: off_t,
) -> ssize_t {
    static NEXT: Next = Next::new(c"preadv");
    // SAFETY: as the program promises; the C library's function has this type.
    unsafe {
        if let Some(parts) = direct_parts(descriptor, parts, count).filter(|_| offset >= 0) {
            let source = Source { offset: Some(offset), ..Source::of_file(descriptor) };
            return bytes_or_error(source.read_parts(parts));
        }
        let next: unsafe extern "C" fn(c_int, *const iovec, c_int, off_t) -> ssize_t =
            transmute(NEXT.address());
        next(descriptor, parts, count, offset)
    }
}

with_64_bits! {
    preadv64 = preadv(descriptor: c_int, parts: *const iovec, count: c_int, offset: off_t) -> ssize_t
}

/// `preadv2`: as `preadv`, and at -1 from where the file stands.
#[unsafe(no_mangle)]
unsafe extern "C" fn preadv2(
    descriptor: c_int,
    parts: *const iovec,
    count: c_int,
    offset: off_t,
    flags: c_int,
) -> ssize_t {
    static NEXT: Next = Next::new(c"preadv2");
    // SAFETY: as the program promises; the C library's function has this type.
    unsafe {
        if let Some(parts) = direct_parts(descriptor, parts, count).filter(|_| offset >= -1) {
            let offset = (offset >= 0).then_some(offset);
            return bytes_or_error(Source { descriptor, offset, flags }.read_parts(parts));
        }
        let next: unsafe extern "C" fn(c_int, *const iovec, c_int, off_t, c_int) -> ssize_t =
            transmute(NEXT.address());
        next(descriptor, parts, count, offset, flags)
    }
}

with_64_bits! {
    preadv64v2 = preadv2(descriptor: c_int, parts: *const iovec, count: c_int, offset: off_t, flags: c_int) -> ssize_t
}

/// A read that a program asks for by the number of the system call.
///
/// # Safety
/// As for the call.
pub(super) unsafe fn read_by_number(number: c_long, arguments: [usize; 6]) -> ssize_t {
    let [descriptor, address, count, offset, _, flags] = arguments;
    let (descriptor, offset) = (descriptor as c_int, offset as off_t);
    let stands = matches!(number, libc::SYS_read | libc::SYS_readv)
        || number == libc::SYS_preadv2 && offset == -1;
    let flags = if number == libc::SYS_preadv2 { flags as c_int } else { 0 };
    let source = Source { descriptor, offset: (!stands).then_some(offset), flags };
    let whole = [iovec { iov_base: address as *mut c_void, iov_len: count }];
    // SAFETY: as the caller promises. The kernel refuses offsets below 0.
    let parts = unsafe {
        match number {
            libc::SYS_read | libc::SYS_pread64 => {
                is_direct(descriptor, address, count).then_some(&whole[..])
            }
            _ => direct_parts(descriptor, address as *const iovec, count as c_int),
        }
    };
    // SAFETY: as the caller promises.
    bytes_or_error(unsafe {
        match parts {
            Some(parts) if stands || offset >= 0 => source.read_parts(parts),
            _ => system::call(number, arguments),
        }
    })
}
