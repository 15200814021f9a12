//! Reads past the page cache (`O_DIRECT`) that complete behind the program's back: there is no moment at which their
//! bytes could be copied into paged memory. So the kernel's (`io_submit`) and the C library's own (`aio_read`) are
//! refused there, and io_uring answers as in a kernel without it.

use core::ffi::{c_int, c_long};
use core::mem::transmute;
use core::slice;

use libc::{aiocb, iovec, sigevent};

use super::direct_reads::{bytes_or_error, direct_parts, is_direct};
use super::next::Next;
use crate::attach;
use crate::system::{self, ErrorNumber, Result, set_errno};

/// A request of `io_submit`, as far as it is needed (`struct iocb`).
#[repr(C)]
pub(super) struct AsynchronousRequest {
    data: u64,
    key: u32,
    flags: u32,
    operation: u16,
    priority: i16,
    descriptor: c_int,
    /// The buffer, or the parts.
    address: u64,
    /// Bytes of the buffer, or how many parts.
    length: u64,
}

const OPERATION_READ: u16 = 0;
const OPERATION_READ_PARTS: u16 = 7;

impl AsynchronousRequest {
    /// Is it a read of a device into paged memory?
    fn is_direct(&self) -> bool {
        match self.operation {
            OPERATION_READ => {
                is_direct(self.descriptor, self.address as usize, self.length as usize)
            }
            OPERATION_READ_PARTS => {
                let (parts, count) = (self.address as *const iovec, self.length as c_int);
                // SAFETY: as the program promises.
                unsafe { direct_parts(self.descriptor, parts, count) }.is_some()
            }
            _ => false,
        }
    }
}

/// Submits the requests before the first that is refused; with none before it, all are refused.
unsafe fn submit(
    context: usize,
    count: c_long,
    requests: *const *const AsynchronousRequest,
) -> Result<usize> {
    let mut submitted = 0;
    // SAFETY: as the program promises, `count` requests lie there.
    while submitted < count && !unsafe { &**requests.add(submitted as usize) }.is_direct() {
        submitted += 1;
    }
    if submitted == 0 && count > 0 {
        return Err(ErrorNumber(libc::EINVAL));
    }
    let arguments = [context, submitted as usize, requests as usize, 0, 0, 0];
    // SAFETY: as above.
    unsafe { system::call(libc::SYS_io_submit, arguments) }
}

/// `io_submit` of libaio, which returns an error as a negative number.
#[unsafe(no_mangle)]
unsafe extern "C" fn io_submit(
    context: usize,
    count: c_long,
    requests: *const *const AsynchronousRequest,
) -> c_int {
    // SAFETY: as the program promises.
    match unsafe { submit(context, count, requests) } {
        Ok(submitted) => submitted as c_int,
        Err(error) => -error.0,
    }
}

/// The same by the number of the system call.
pub(super) unsafe extern "C" fn submit_or_errno(
    context: usize,
    count: c_long,
    requests: *const *const AsynchronousRequest,
) -> c_long {
    // SAFETY: as the program promises.
    bytes_or_error(unsafe { submit(context, count, requests) }) as c_long
}

/// How the kernel's `struct aio_ring` begins, at the address by which a program names its context.
#[repr(C)]
struct Context {
    id: u32,
    /// How many events, which follow, it holds.
    events: u32,
    head: u32,
    tail: u32,
    magic: u32,
    features: [u32; 2],
    /// Bytes of this structure.
    header_bytes: u32,
}

const CONTEXT_MAGIC: u32 = 0xA10A_10A1;
/// Bytes of a `struct io_event`.
const EVENT_BYTES: usize = 32;

/// Makes a context for `io_submit`, and marks it as one whose requests are seen here: the pager suspects all others. The mark
/// is that it does not go into a core dump, which the pager finds in /proc.
unsafe fn set_up(requests: c_long, context: *mut usize) -> Result<usize> {
    let arguments = [requests as usize, context as usize, 0, 0, 0, 0];
    // SAFETY: as the program promises. The kernel has written an address, and maps the context there.
    unsafe {
        let result = system::call(libc::SYS_io_setup, arguments)?;
        let address = *context;
        let made = &*(address as *const Context);
        if attach::is_paged() && made.magic == CONTEXT_MAGIC {
            let bytes = made.header_bytes as usize + made.events as usize * EVENT_BYTES;
            let _ = system::madvise(address, bytes, libc::MADV_DONTDUMP);
        }
        Ok(result)
    }
}

/// `io_setup` of libaio, which returns an error as a negative number.
#[unsafe(no_mangle)]
unsafe extern "C" fn io_setup(requests: c_int, context: *mut usize) -> c_int {
    // SAFETY: as the program promises.
    match unsafe { set_up(requests.into(), context) } {
        Ok(_) => 0,
        Err(error) => -error.0,
    }
}

/// The same by the number of the system call.
pub(super) unsafe extern "C" fn set_up_or_errno(requests: c_long, context: *mut usize) -> c_long {
    // SAFETY: as the program promises.
    bytes_or_error(unsafe { set_up(requests, context) }) as c_long
}

/// A ring for a program without paged memory; for others the kernel has none.
pub(super) extern "C" fn set_up_ring(entries: usize, parameters: usize) -> c_long {
    if attach::is_paged() {
        return fail(libc::ENOSYS);
    }
    let arguments = [entries, parameters, 0, 0, 0, 0];
    // SAFETY: as the program promises.
    bytes_or_error(unsafe { system::call(libc::SYS_io_uring_setup, arguments) }) as c_long
}

/// What a function of the C library returns with this error.
pub(super) extern "C" fn fail(error: c_int) -> c_long {
    set_errno(ErrorNumber(error));
    -1
}

/// A ring by a function of liburing, which makes its system calls itself and returns an error as a negative number.
unsafe fn ring_of_library(next: &Next, arguments: [usize; 5]) -> c_int {
    let address = next.address();
    if address == 0 || attach::is_paged() {
        return -libc::ENOSYS;
    }
    let [first, second, third, fourth, fifth] = arguments;
    // SAFETY: the library's function takes the first of these, in registers, as the program gave them.
    unsafe {
        let next: unsafe extern "C" fn(usize, usize, usize, usize, usize) -> c_int =
            transmute(address);
        next(first, second, third, fourth, fifth)
    }
}

/// `io_uring_queue_init` of liburing.
#[unsafe(no_mangle)]
unsafe extern "C" fn io_uring_queue_init(entries: usize, ring: usize, flags: usize) -> c_int {
    static NEXT: Next = Next::new(c"io_uring_queue_init");
    // SAFETY: as the program promises.
    unsafe { ring_of_library(&NEXT, [entries, ring, flags, 0, 0]) }
}

/// `io_uring_queue_init_params` of liburing.
#[unsafe(no_mangle)]
unsafe extern "C" fn io_uring_queue_init_params(
    entries: usize,
    ring: usize,
    parameters: usize,
) -> c_int {
    static NEXT: Next = Next::new(c"io_uring_queue_init_params");
    // SAFETY: as the program promises.
    unsafe { ring_of_library(&NEXT, [entries, ring, parameters, 0, 0]) }
}

/// `io_uring_queue_init_mem` of liburing.
#[unsafe(no_mangle)]
unsafe extern "C" fn io_uring_queue_init_mem(
    entries: usize,
    ring: usize,
    parameters: usize,
    memory: usize,
    bytes: usize,
) -> c_int {
    static NEXT: Next = Next::new(c"io_uring_queue_init_mem");
    // SAFETY: as the program promises.
    unsafe { ring_of_library(&NEXT, [entries, ring, parameters, memory, bytes]) }
}

/// `io_uring_setup` of liburing.
#[unsafe(no_mangle)]
unsafe extern "C" fn io_uring_setup(entries: usize, parameters: usize) -> c_int {
    static NEXT: Next = Next::new(c"io_uring_setup");
    // SAFETY: as the program promises.
    unsafe { ring_of_library(&NEXT, [entries, parameters, 0, 0, 0]) }
}

/// Returns whether this is a read of a device into paged memory.
///
/// # Safety
/// As the program promises, a request lies there.
unsafe fn is_direct_read(request: *const aiocb) -> bool {
    // SAFETY: as the caller promises.
    let request = unsafe { &*request };
    is_direct(request.aio_fildes, request.aio_buf as usize, request.aio_nbytes)
}

/// `aio_read`: a thread of the C library reads.
#[unsafe(no_mangle)]
unsafe extern "C" fn aio_read(request: *mut aiocb) -> c_int {
    static NEXT: Next = Next::new(c"aio_read");
    // SAFETY: as the program promises; the C library's function has this type.
    unsafe {
        match NEXT.address() {
            0 => fail(libc::ENOSYS) as c_int,
            _ if is_direct_read(request) => fail(libc::EINVAL) as c_int,
            next => transmute::<usize, unsafe extern "C" fn(*mut aiocb) -> c_int>(next)(request),
        }
    }
}

with_64_bits! { aio_read64 = aio_read(request: *mut aiocb) -> c_int }

type ListFunction = unsafe extern "C" fn(c_int, *const *mut aiocb, c_int, *mut sigevent) -> c_int;

/// `lio_listio`, which is refused as a whole.
#[unsafe(no_mangle)]
unsafe extern "C" fn lio_listio(
    mode: c_int,
    list: *const *mut aiocb,
    count: c_int,
    event: *mut sigevent,
) -> c_int {
    static NEXT: Next = Next::new(c"lio_listio");
    // SAFETY: as the program promises; requests that are null are passed over.
    unsafe {
        let requests = match count {
            1.. => slice::from_raw_parts(list, count as usize),
            _ => &[],
        };
        let is_refused = |&request: &*mut aiocb| {
            !request.is_null()
                && (*request).aio_lio_opcode == libc::LIO_READ
                && is_direct_read(request)
        };
        match NEXT.address() {
            0 => fail(libc::ENOSYS) as c_int,
            _ if requests.iter().any(is_refused) => fail(libc::EINVAL) as c_int,
            next => transmute::<usize, ListFunction>(next)(mode, list, count, event),
        }
    }
}

with_64_bits! {
    lio_listio64 = lio_listio(mode: c_int, list: *const *mut aiocb, count: c_int, event: *mut sigevent) -> c_int
}
