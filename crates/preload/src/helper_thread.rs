//! The thread that works for the pager.
//!
//! Only the program itself can drop translations of its memory, so a thread does that when the pager asks. It must go
//! on while every other thread of the program waits for a page. So it touches no paged memory, takes no lock and gets
//! no signal. It uses system calls only, because the C library does not know it and it has no thread-local storage. Its
//! table of descriptors is its own too, so that the program can close whatever it likes; the userfaultfd stays open in
//! it, so that faults wait, and do not read zeros, when the pager has ended.

use core::cell::UnsafeCell;
use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use clockhand_pager_protocol::{
    CHANGED_MAPPING, ENDS_PROGRAM, ENDS_THREAD, PAGE_BYTES, Packet, PageRange, UNMAP_RANGES,
    UNMAPPED, Unmap,
};
use libc::{MADV_DONTNEED_LOCKED, STDERR_FILENO, iovec};

use crate::memory;
use crate::pager::Connection;
use crate::sentence::{LOST_MEMORY_EXIT_CODE, Sentence};
use crate::system::{self, ErrorNumber, Result};

/// Several times what the thread's deepest call needs.
const STACK_BYTES: usize = 64 * 1024;

/// The thread's stack. A forked child's thread has its own copy, for which the parent's contents mean nothing.
#[repr(C, align(4096))]
struct Stack(UnsafeCell<[u8; STACK_BYTES]>);

// SAFETY: only the one helper thread of a process uses it.
unsafe impl Sync for Stack {}

static STACK: Stack = Stack(UnsafeCell::new([0; STACK_BYTES]));

static SOCKET: AtomicI32 = AtomicI32::new(-1);
static USERFAULTFD: AtomicI32 = AtomicI32::new(-1);

/// 1 when the thread has a table of descriptors with nothing of the program's in it.
static READY: AtomicU32 = AtomicU32::new(0);

/// Starts the thread. When this returns the thread has its own copies of both descriptors.
pub fn start(socket: c_int, userfaultfd: c_int) -> Result<()> {
    SOCKET.store(socket, Ordering::Relaxed);
    USERFAULTFD.store(userfaultfd, Ordering::Relaxed);
    READY.store(0, Ordering::Relaxed);
    let signals = system::block_signals();
    // SAFETY: the end of an aligned stack that only this thread uses, and `run` keeps to what the head comment says.
    let started = unsafe {
        let stack_top = STACK.0.get().cast::<u8>().add(STACK_BYTES);
        system::start_thread(stack_top.cast(), run)
    };
    if started.is_ok() {
        while READY.load(Ordering::Acquire) == 0 {
            system::wait_while(READY.as_ptr(), 0);
        }
    }
    system::restore_signals(signals);
    started.map(|_| ())
}

/// The thread's loop, until all other threads of the program, the program, or the pager have ended.
extern "C" fn run() -> ! {
    system::set_thread_name(b"clockhand\0\0\0\0\0\0\0");
    let socket = SOCKET.load(Ordering::Relaxed);
    let kept = keep_only(socket as u32, USERFAULTFD.load(Ordering::Relaxed) as u32);
    READY.store(1, Ordering::Release);
    system::wake(READY.as_ptr(), i32::MAX);
    if kept.is_err() {
        end_program("this kernel has no close_range: the program cannot run under the pager");
    }
    let connection = Connection::of_descriptor(socket);
    loop {
        let mut unmap = Unmap::ZERO;
        match connection.read(unmap.as_bytes_mut()) {
            Ok(bytes) if bytes > 0 => {}
            _ => end_of_pager(),
        }
        match unmap.ends {
            ENDS_THREAD => system::exit_thread(unmap.code.into()),
            ENDS_PROGRAM => end_program(CHANGED_MAPPING),
            _ => {}
        }
        if drop_translations(&unmap).is_err() {
            end_program(
                "the kernel does not drop translations of the program's memory: it cannot be paged",
            );
        }
        if connection.write(&[UNMAPPED]).is_err() {
            end_of_pager();
        }
    }
}

/// Closes all descriptors of this thread's table but these two.
fn keep_only(one: u32, other: u32) -> Result<()> {
    let (low, high) = (one.min(other), one.max(other));
    if low > 0 {
        system::close_range(0, low - 1, 0)?;
    }
    if high - low > 1 {
        system::close_range(low + 1, high - 1, 0)?;
    }
    system::close_range(high + 1, u32::MAX, 0)
}

/// Drops the translations of these pages, with one system call where the kernel can.
fn drop_translations(unmap: &Unmap) -> Result<()> {
    let used = (unmap.ranges_used as usize).min(UNMAP_RANGES);
    let ranges = &unmap.ranges[..used];
    let mut parts = [iovec { iov_base: core::ptr::null_mut(), iov_len: 0 }; UNMAP_RANGES];
    for (part, range) in parts.iter_mut().zip(ranges) {
        let (address, bytes) = addresses_of(*range);
        *part = iovec { iov_base: address as *mut _, iov_len: bytes };
    }
    let total_bytes: usize = parts[..used].iter().map(|part| part.iov_len).sum();
    // SAFETY: dropping translations of a shared mapping loses no contents: they are in the memory file.
    match unsafe { system::madvise_ranges(&parts[..used], MADV_DONTNEED_LOCKED) } {
        Ok(bytes) if bytes == total_bytes => return Ok(()),
        _ => {}
    }
    for range in ranges {
        let (address, bytes) = addresses_of(*range);
        // SAFETY: as above.
        match unsafe { system::madvise(address, bytes, MADV_DONTNEED_LOCKED) } {
            // The program has just unmapped some of it past the library; the kernel is telling the pager.
            Ok(_) | Err(ErrorNumber(libc::ENOMEM)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Where a range lies in the address space, as address and bytes; nothing beyond the memory.
fn addresses_of(range: PageRange) -> (usize, usize) {
    let total_bytes = memory::total_bytes();
    let offset = (range.first_page as usize * PAGE_BYTES).min(total_bytes);
    let bytes = (range.pages as usize * PAGE_BYTES).min(total_bytes - offset);
    (memory::start() + offset, bytes)
}

fn end_of_pager() -> ! {
    end_program("the pager has ended, so the program ends too: its memory cannot be read any more")
}

/// Writes the reason to the program's standard error, which is not in this thread's table, and ends the program.
fn end_program(why: &str) -> ! {
    let standard_error = system::open_process(system::process_id())
        .and_then(|process| system::descriptor_of(process, STDERR_FILENO));
    if let Ok(descriptor) = standard_error {
        Sentence::new(format_args!("{why}")).write_to(descriptor);
    }
    system::exit(LOST_MEMORY_EXIT_CODE)
}
