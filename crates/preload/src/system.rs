//! System calls, made directly: they set no `errno`, are no cancellation points, and cannot be interposed.

mod sockets;

use core::arch::asm;
use core::ffi::{CStr, c_int, c_long, c_void};

use libc::iovec;

pub use self::sockets::{inode_of_socket, packet_sockets, receive, send};

/// The error number of a failed system call, as in `errno`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorNumber(pub c_int);

/// A system call's result.
pub type Result<T> = core::result::Result<T, ErrorNumber>;

/// Signals of a thread, one bit each.
pub type SignalSet = u64;

/// The kernel's size of [`SignalSet`].
const SIGNAL_SET_BYTES: usize = size_of::<SignalSet>();

/// The current thread, instead of a descriptor of a process.
const PIDFD_SELF_THREAD: c_int = -10_000;

/// Makes a system call.
///
/// # Safety
/// As safe as the call itself with these arguments.
#[inline]
pub unsafe fn call(number: c_long, arguments: [usize; 6]) -> Result<usize> {
    let result: isize;
    // SAFETY: the kernel changes no registers but these; the rest is as the caller promises.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") arguments[0],
            in("rsi") arguments[1],
            in("rdx") arguments[2],
            in("r10") arguments[3],
            in("r8") arguments[4],
            in("r9") arguments[5],
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    if (-4095..0).contains(&result) {
        return Err(ErrorNumber(-result as c_int));
    }
    Ok(result as usize)
}

/// Makes a system call, again when a signal has interrupted it.
///
/// # Safety
/// As safe as the call itself with these arguments.
unsafe fn call_to_the_end(number: c_long, arguments: [usize; 6]) -> Result<usize> {
    loop {
        // SAFETY: as the caller promises.
        match unsafe { call(number, arguments) } {
            Err(ErrorNumber(libc::EINTR)) => {}
            result => return result,
        }
    }
}

/// Sets the program's `errno`.
pub fn set_errno(error: ErrorNumber) {
    // SAFETY: the C library's own location for this thread.
    unsafe { *libc::__errno_location() = error.0 }
}

/// `mmap`.
///
/// # Safety
/// With `MAP_FIXED`, what lies there is lost.
pub unsafe fn mmap(
    address: usize,
    bytes: usize,
    protection: c_int,
    flags: c_int,
    descriptor: c_int,
    offset: i64,
) -> Result<usize> {
    let arguments =
        [address, bytes, protection as usize, flags as usize, descriptor as usize, offset as usize];
    // SAFETY: as the caller promises.
    unsafe { call(libc::SYS_mmap, arguments) }
}

/// `munmap`.
///
/// # Safety
/// Nothing may use these addresses any more.
pub unsafe fn munmap(address: usize, bytes: usize) -> Result<usize> {
    // SAFETY: as the caller promises.
    unsafe { call(libc::SYS_munmap, [address, bytes, 0, 0, 0, 0]) }
}

/// `mprotect`.
///
/// # Safety
/// The code that uses these addresses expects the new protection.
pub unsafe fn mprotect(address: usize, bytes: usize, protection: c_int) -> Result<usize> {
    // SAFETY: as the caller promises.
    unsafe { call(libc::SYS_mprotect, [address, bytes, protection as usize, 0, 0, 0]) }
}

/// `madvise`.
///
/// # Safety
/// The code that uses these addresses expects what the advice does to their contents.
pub unsafe fn madvise(address: usize, bytes: usize, advice: c_int) -> Result<usize> {
    // SAFETY: as the caller promises.
    unsafe { call(libc::SYS_madvise, [address, bytes, advice as usize, 0, 0, 0]) }
}

/// Has the kernel keep pages that come into a mapping, and refuse the advice that they are not needed.
pub fn lock_on_fault(address: usize, bytes: usize) -> Result<()> {
    let arguments = [address, bytes, libc::MLOCK_ONFAULT as usize, 0, 0, 0];
    // SAFETY: the contents stay as they are.
    unsafe { call(libc::SYS_mlock2, arguments) }.map(drop)
}

/// `process_madvise` on the calling process itself: how many bytes have been advised.
///
/// # Safety
/// As for [`madvise`], for each of the ranges.
pub unsafe fn madvise_ranges(ranges: &[iovec], advice: c_int) -> Result<usize> {
    let arguments =
        [PIDFD_SELF_THREAD as usize, ranges.as_ptr() as usize, ranges.len(), advice as usize, 0, 0];
    // SAFETY: the ranges lie where the slice says; the rest is as the caller promises.
    unsafe { call(libc::SYS_process_madvise, arguments) }
}

/// The kind and the rights of a descriptor's file.
pub fn mode_of(descriptor: c_int) -> Result<u32> {
    status_of(descriptor).map(|status| status.st_mode)
}

/// The inode of a descriptor.
pub fn inode_of(descriptor: c_int) -> Result<u64> {
    status_of(descriptor).map(|status| status.st_ino)
}

fn status_of(descriptor: c_int) -> Result<libc::stat> {
    // SAFETY: a structure of numbers, for which zero is valid.
    let mut status: libc::stat = unsafe { core::mem::zeroed() };
    let pointer = &raw mut status as usize;
    // SAFETY: the kernel writes one structure.
    unsafe { call(libc::SYS_fstat, [descriptor as usize, pointer, 0, 0, 0, 0]) }?;
    Ok(status)
}

/// `dup3`.
pub fn duplicate_to(descriptor: c_int, number: c_int, flags: c_int) -> Result<c_int> {
    // SAFETY: takes no addresses; whose descriptors they are is the caller's matter.
    unsafe { call(libc::SYS_dup3, [descriptor as usize, number as usize, flags as usize, 0, 0, 0]) }
        .map(|descriptor| descriptor as c_int)
}

/// `close`, of a descriptor of ours.
pub fn close(descriptor: c_int) {
    // SAFETY: takes no addresses. The descriptor is gone afterwards, even after an error.
    let _ = unsafe { call(libc::SYS_close, [descriptor as usize, 0, 0, 0, 0, 0]) };
}

/// Closes the descriptors from `first` to `last`, inclusive, or does what the flags say to them.
pub fn close_range(first: u32, last: u32, flags: u32) -> Result<()> {
    // SAFETY: takes no addresses; whose descriptors they are is the caller's matter.
    unsafe {
        call(libc::SYS_close_range, [first as usize, last as usize, flags as usize, 0, 0, 0])
    }?;
    Ok(())
}

/// Writes as much as possible to a descriptor: how many bytes.
pub fn write(descriptor: c_int, bytes: &[u8]) -> Result<usize> {
    let arguments = [descriptor as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0];
    // SAFETY: the bytes lie where the slice says.
    unsafe { call_to_the_end(libc::SYS_write, arguments) }
}

/// Is a descriptor closed when another program is executed?
pub fn closes_on_exec(descriptor: c_int) -> bool {
    let arguments = [descriptor as usize, libc::F_GETFD as usize, 0, 0, 0, 0];
    // SAFETY: asks for a number.
    let flags = unsafe { call(libc::SYS_fcntl, arguments) };
    flags.is_ok_and(|flags| flags & libc::FD_CLOEXEC as usize != 0)
}

/// Opens a file to read it; its descriptor is the caller's to close.
pub fn open_to_read(path: &CStr) -> Result<c_int> {
    let mode = (libc::O_RDONLY | libc::O_CLOEXEC) as usize;
    let arguments = [libc::AT_FDCWD as usize, path.as_ptr() as usize, mode, 0, 0, 0];
    // SAFETY: the path ends with a zero byte.
    unsafe { call(libc::SYS_openat, arguments) }.map(|descriptor| descriptor as c_int)
}

/// Reads from a descriptor: how many bytes, 0 at the end.
pub fn read(descriptor: c_int, bytes: &mut [u8]) -> Result<usize> {
    let arguments = [descriptor as usize, bytes.as_mut_ptr() as usize, bytes.len(), 0, 0, 0];
    // SAFETY: the bytes lie where the slice says.
    unsafe { call_to_the_end(libc::SYS_read, arguments) }
}

/// This process's id.
pub fn process_id() -> i32 {
    // SAFETY: takes nothing.
    unsafe { call(libc::SYS_getpid, [0; 6]) }.map_or(0, |id| id as i32)
}

/// A descriptor of the process with this id.
pub fn open_process(process: i32) -> Result<c_int> {
    // SAFETY: takes no addresses.
    unsafe { call(libc::SYS_pidfd_open, [process as usize, 0, 0, 0, 0, 0]) }
        .map(|descriptor| descriptor as c_int)
}

/// A duplicate of another process's descriptor.
pub fn descriptor_of(process: c_int, descriptor: c_int) -> Result<c_int> {
    // SAFETY: takes no addresses.
    unsafe { call(libc::SYS_pidfd_getfd, [process as usize, descriptor as usize, 0, 0, 0, 0]) }
        .map(|descriptor| descriptor as c_int)
}

/// Ends the process, with all its threads.
pub fn exit(code: c_int) -> ! {
    loop {
        // SAFETY: does not return.
        let _ = unsafe { call(libc::SYS_exit_group, [code as usize, 0, 0, 0, 0, 0]) };
    }
}

/// Where the calling thread's list of robust mutexes begins.
pub fn robust_list() -> Option<usize> {
    let (mut head, mut bytes) = (0_usize, 0_usize);
    let arguments = [0, &raw mut head as usize, &raw mut bytes as usize, 0, 0, 0];
    // SAFETY: the kernel writes an address and a size.
    let result = unsafe { call(libc::SYS_get_robust_list, arguments) };
    result.ok().map(|_| head).filter(|&head| head != 0)
}

/// Ends the calling thread; the process too if it is the last one, and with this code.
pub fn exit_thread(code: c_int) -> ! {
    loop {
        // SAFETY: does not return.
        let _ = unsafe { call(libc::SYS_exit, [code as usize, 0, 0, 0, 0, 0]) };
    }
}

/// The calling thread's name, filled up with zeros.
pub fn thread_name() -> [u8; 16] {
    let mut name = [0; 16];
    let pointer = name.as_mut_ptr() as usize;
    // SAFETY: the kernel writes 16 bytes. Without a name it stays zero.
    let _ = unsafe { call(libc::SYS_prctl, [libc::PR_GET_NAME as usize, pointer, 0, 0, 0, 0]) };
    name
}

/// Names the calling thread, for tools that list threads.
pub fn set_thread_name(name: &[u8; 16]) {
    let pointer = name.as_ptr() as usize;
    // SAFETY: the kernel reads up to the zero byte, 16 bytes at most. A thread without a name works as well.
    let _ = unsafe { call(libc::SYS_prctl, [libc::PR_SET_NAME as usize, pointer, 0, 0, 0, 0]) };
}

/// Blocks all signals of the calling thread, and returns which were blocked before.
pub fn block_signals() -> SignalSet {
    let all = SignalSet::MAX;
    let mut before: SignalSet = 0;
    let arguments = [
        libc::SIG_SETMASK as usize,
        &raw const all as usize,
        &raw mut before as usize,
        SIGNAL_SET_BYTES,
        0,
        0,
    ];
    // SAFETY: both sets are of the size that is said. The call fails for wrong addresses only.
    let _ = unsafe { call(libc::SYS_rt_sigprocmask, arguments) };
    before
}

/// Blocks exactly these signals of the calling thread.
pub fn restore_signals(signals: SignalSet) {
    let pointer = &raw const signals as usize;
    let arguments = [libc::SIG_SETMASK as usize, pointer, 0, SIGNAL_SET_BYTES, 0, 0];
    // SAFETY: the set is of the size that is said. The call fails for wrong addresses only.
    let _ = unsafe { call(libc::SYS_rt_sigprocmask, arguments) };
}

/// The signals that have come for the calling thread, or for its process, and wait because they are blocked.
pub fn pending_signals() -> SignalSet {
    let mut pending: SignalSet = 0;
    let pointer = &raw mut pending as usize;
    // SAFETY: the set is of the size that is said. The call fails for wrong addresses only.
    let _ = unsafe { call(libc::SYS_rt_sigpending, [pointer, SIGNAL_SET_BYTES, 0, 0, 0, 0]) };
    pending
}

/// Waits while the word has this value; it may also return spuriously. The word stays where it is.
pub fn wait_while(word: *const u32, value: u32) {
    let arguments = [word as usize, libc::FUTEX_WAIT as usize, value as usize, 0, 0, 0];
    // SAFETY: reads the word, or fails for wrong addresses. Errors are among the reasons to return.
    let _ = unsafe { call(libc::SYS_futex, arguments) };
}

/// Wakes up to `threads` threads that wait for a change of the word.
pub fn wake(word: *const u32, threads: i32) {
    let arguments = [word as usize, libc::FUTEX_WAKE as usize, threads as usize, 0, 0, 0];
    // SAFETY: waking fails for wrong addresses only.
    let _ = unsafe { call(libc::SYS_futex, arguments) };
}

/// A new userfaultfd that also reports faults of the kernel on the program's behalf.
pub fn userfaultfd() -> Result<c_int> {
    let flags = (libc::O_CLOEXEC | libc::O_NONBLOCK) as usize;
    // SAFETY: takes no addresses.
    match unsafe { call(libc::SYS_userfaultfd, [flags, 0, 0, 0, 0, 0]) } {
        Err(ErrorNumber(libc::EPERM)) => {
            userfaultfd_of_device(flags).map_err(|_| ErrorNumber(libc::EPERM))
        }
        result => result.map(|descriptor| descriptor as c_int),
    }
}

/// The way for those who may open the device file, but lack the capability.
fn userfaultfd_of_device(flags: usize) -> Result<c_int> {
    /// `_IO(0xAA, 0)`.
    const USERFAULTFD_IOC_NEW: usize = 0xAA00;
    let path = c"/dev/userfaultfd".as_ptr() as usize;
    let mode = (libc::O_RDWR | libc::O_CLOEXEC) as usize;
    // SAFETY: the path ends with a zero byte; the other call takes no addresses.
    unsafe {
        let device = call(libc::SYS_openat, [libc::AT_FDCWD as usize, path, mode, 0, 0, 0])?;
        let descriptor = call(libc::SYS_ioctl, [device, USERFAULTFD_IOC_NEW, flags, 0, 0, 0]);
        close(device as c_int);
        descriptor.map(|descriptor| descriptor as c_int)
    }
}

/// Starts a thread on a stack of its own, which calls `entry`. It shares the process except the table of descriptors,
/// which it gets a copy of. It shares the thread-local storage of the calling thread, and must not touch it.
///
/// # Safety
/// `stack_top` is the aligned end of a stack that nothing else uses, and `entry` keeps to what is said above.
pub unsafe fn start_thread(stack_top: *mut c_void, entry: extern "C" fn() -> !) -> Result<usize> {
    let flags = libc::CLONE_VM
        | libc::CLONE_FS
        | libc::CLONE_SIGHAND
        | libc::CLONE_THREAD
        | libc::CLONE_SYSVSEM;
    let result: isize;
    // SAFETY: the new thread leaves this function by the call only; for the calling thread it is a system call.
    unsafe {
        asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "call r12",
            "ud2",
            "2:",
            inlateout("rax") libc::SYS_clone as isize => result,
            in("rdi") flags as usize,
            in("rsi") stack_top,
            in("rdx") 0,
            in("r10") 0,
            in("r8") 0,
            in("r12") entry,
            lateout("rcx") _,
            lateout("r11") _,
        );
    }
    if result < 0 {
        return Err(ErrorNumber(-result as c_int));
    }
    Ok(result as usize)
}
