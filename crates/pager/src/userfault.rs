//! The kernel's userfaultfd: faults as messages, and their answers. See userfaultfd(2).

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use clockhand_pager_protocol::CHANGED_MAPPING;
use clockhand_policy::Op;

use crate::store::Page;

const API: u64 = 0xAA;

/// Messages tell of mappings that the program moves or ends by itself, and hold up what it does until they are read.
const FEATURES_OF_PROGRAM: u64 = FEATURE_EVENT_REMAP | FEATURE_EVENT_UNMAP;
const FEATURE_EVENT_REMAP: u64 = 1 << 2;
const FEATURE_EVENT_UNMAP: u64 = 1 << 6;

/// Features without which there is no paging here.
const FEATURES: u64 = FEATURE_PAGEFAULT_FLAG_WP
    | FEATURE_MISSING_SHMEM
    | FEATURE_THREAD_ID
    | FEATURE_MINOR_SHMEM
    | FEATURE_EXACT_ADDRESS
    | FEATURE_WP_HUGETLBFS_SHMEM;
const FEATURE_PAGEFAULT_FLAG_WP: u64 = 1 << 0;
const FEATURE_MISSING_SHMEM: u64 = 1 << 5;
const FEATURE_THREAD_ID: u64 = 1 << 8;
const FEATURE_MINOR_SHMEM: u64 = 1 << 10;
/// Messages have the address of the access, and not only that of its page.
const FEATURE_EXACT_ADDRESS: u64 = 1 << 11;
const FEATURE_WP_HUGETLBFS_SHMEM: u64 = 1 << 12;

/// Writes to write-protected pages go on, and lift the protection: Linux 6.7 and newer.
const FEATURE_WP_ASYNC: u64 = 1 << 15;

const REGISTER_MISSING: u64 = 1 << 0;
const REGISTER_WRITE_PROTECT: u64 = 1 << 1;
const REGISTER_MINOR: u64 = 1 << 2;

const WRITE_PROTECT: u64 = 1 << 0;
const CONTINUE_WRITE_PROTECTED: u64 = 1 << 1;
const COPY_WRITE_PROTECTED: u64 = 1 << 1;

const EVENT_PAGEFAULT: u8 = 0x12;
const EVENT_REMAP: u8 = 0x14;
const EVENT_UNMAP: u8 = 0x16;
const FLAG_WRITE: u64 = 1 << 0;
const FLAG_WRITE_PROTECTED: u64 = 1 << 1;

#[repr(C)]
struct ApiArgument {
    api: u64,
    features: u64,
    ioctls: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Range {
    start: u64,
    length: u64,
}

#[repr(C)]
struct RegisterArgument {
    range: Range,
    mode: u64,
    ioctls: u64,
}

#[repr(C)]
struct WriteProtectArgument {
    range: Range,
    mode: u64,
}

#[repr(C)]
struct CopyArgument {
    destination: u64,
    source: u64,
    length: u64,
    mode: u64,
    copied: i64,
}

#[repr(C)]
struct ContinueArgument {
    range: Range,
    mode: u64,
    mapped: i64,
}

/// The number of an ioctl: direction, size of its argument, and command.
const fn ioctl_number(direction: u32, command: u32, bytes: usize) -> libc::Ioctl {
    (direction << 30 | (bytes as u32) << 16 | 0xAA << 8 | command) as libc::Ioctl
}

const READ: u32 = 2;
const READ_WRITE: u32 = 3;
const IOCTL_NEW: libc::Ioctl = ioctl_number(0, 0, 0);
const IOCTL_API: libc::Ioctl = ioctl_number(READ_WRITE, 0x3F, size_of::<ApiArgument>());
const IOCTL_REGISTER: libc::Ioctl = ioctl_number(READ_WRITE, 0, size_of::<RegisterArgument>());
const IOCTL_UNREGISTER: libc::Ioctl = ioctl_number(READ, 1, size_of::<Range>());
const IOCTL_WAKE: libc::Ioctl = ioctl_number(READ, 2, size_of::<Range>());
const IOCTL_COPY: libc::Ioctl = ioctl_number(READ_WRITE, 3, size_of::<CopyArgument>());
const IOCTL_WRITE_PROTECT: libc::Ioctl =
    ioctl_number(READ_WRITE, 6, size_of::<WriteProtectArgument>());
const IOCTL_CONTINUE: libc::Ioctl = ioctl_number(READ_WRITE, 7, size_of::<ContinueArgument>());

/// A fault as the kernel reports it: `struct uffd_msg`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Message {
    event: u8,
    reserved: [u8; 7],
    flags: u64,
    address: u64,
    thread: u64,
}

impl Message {
    fn fault(&self) -> FaultMessage {
        FaultMessage {
            address: self.address,
            op: match self.flags & (FLAG_WRITE | FLAG_WRITE_PROTECTED) {
                0 => Op::Read,
                _ => Op::Write,
            },
            thread: self.thread as u32 as i32,
        }
    }
}

/// An access that waits for its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FaultMessage {
    pub(crate) address: u64,
    pub(crate) op: Op,
    /// The thread that waits.
    pub(crate) thread: i32,
}

/// The number of faults that are read at once.
const MESSAGES: usize = 16;

/// A userfaultfd. It watches the memory of the process that made it.
#[derive(Debug)]
pub(crate) struct Userfault {
    descriptor: OwnedFd,
    lets_writes_go_on: bool,
    /// Read while something else was done, and not handed over yet.
    kept: Mutex<Vec<FaultMessage>>,
    is_mapping_changed: AtomicBool,
}

impl AsFd for Userfault {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl Userfault {
    /// A userfaultfd of this process that also reports the kernel's own accesses, as in read(2); see
    /// [`Userfault::from_descriptor`].
    pub(crate) fn new(wants_writes_to_go_on: bool) -> io::Result<Self> {
        // SAFETY: the call takes flags and returns a descriptor or an error.
        let number =
            unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC | libc::O_NONBLOCK) };
        let descriptor = if number >= 0 {
            // SAFETY: the kernel has just returned this descriptor, and nothing else owns it.
            unsafe { OwnedFd::from_raw_fd(number as i32) }
        } else {
            let refusal = io::Error::last_os_error();
            Self::from_device().map_err(|_| refusal)?
        };
        Userfault::begin(descriptor, wants_writes_to_go_on, FEATURES)
    }

    /// Through `/dev/userfaultfd`, whose permissions decide who may.
    fn from_device() -> io::Result<OwnedFd> {
        let device = std::fs::File::open("/dev/userfaultfd")?;
        // SAFETY: the ioctl takes flags and returns a descriptor or an error.
        let number = unsafe {
            libc::ioctl(device.as_raw_fd(), IOCTL_NEW, libc::O_CLOEXEC | libc::O_NONBLOCK)
        };
        if number < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just returned this descriptor, and nothing else owns it.
        Ok(unsafe { OwnedFd::from_raw_fd(number) })
    }

    /// A userfaultfd that another process made and that has not been initialised yet. If writes to write-protected pages
    /// are to go on, they do where the kernel can let them.
    pub(crate) fn from_descriptor(
        descriptor: OwnedFd,
        wants_writes_to_go_on: bool,
    ) -> io::Result<Self> {
        Userfault::begin(descriptor, wants_writes_to_go_on, FEATURES | FEATURES_OF_PROGRAM)
    }

    fn begin(descriptor: OwnedFd, wants_writes_to_go_on: bool, wanted: u64) -> io::Result<Self> {
        let mut userfault = Userfault {
            descriptor,
            lets_writes_go_on: wants_writes_to_go_on,
            kept: Mutex::default(),
            is_mapping_changed: AtomicBool::new(false),
        };
        let begin = |features| {
            userfault.ioctl(IOCTL_API, &mut ApiArgument { api: API, features, ioctls: 0 })
        };
        if wants_writes_to_go_on && begin(wanted | FEATURE_WP_ASYNC).is_ok() {
            return Ok(userfault);
        }
        begin(wanted)?;
        userfault.lets_writes_go_on = false;
        Ok(userfault)
    }

    /// Returns whether writes to write-protected pages go on, and lift the protection; else they are faults.
    pub(crate) fn lets_writes_go_on(&self) -> bool {
        self.lets_writes_go_on
    }

    /// Watches `bytes` bytes from `address` on for missing pages, write-protected writes and, if `minor` is set, missing
    /// translations of pages that have content.
    pub(crate) fn register(&self, address: u64, bytes: u64, minor: bool) -> io::Result<()> {
        let range = Range { start: address, length: bytes };
        let minor = if minor { REGISTER_MINOR } else { 0 };
        let mode = REGISTER_MISSING | REGISTER_WRITE_PROTECT | minor;
        self.ioctl(IOCTL_REGISTER, &mut RegisterArgument { range, mode, ioctls: 0 })
    }

    /// Watches `bytes` bytes from `address` on no longer.
    pub(crate) fn unregister(&self, address: u64, bytes: u64) -> io::Result<()> {
        self.ioctl(IOCTL_UNREGISTER, &mut Range { start: address, length: bytes })
    }

    /// Makes a translation for a page whose content is in the memory file.
    pub(crate) fn continue_fault(
        &self,
        address: u64,
        bytes: u64,
        writable: bool,
    ) -> io::Result<()> {
        let range = Range { start: address, length: bytes };
        let mode = if writable { 0 } else { CONTINUE_WRITE_PROTECTED };
        match self.ioctl(IOCTL_CONTINUE, &mut ContinueArgument { range, mode, mapped: 0 }) {
            // There is a translation already: the waiting threads only need to be woken.
            Err(error) if error.raw_os_error() == Some(libc::EEXIST) => self.wake(address, bytes),
            result => result,
        }
    }

    /// Gives a page that has no content this one, makes a translation, and wakes the threads that wait.
    pub(crate) fn copy(&self, address: u64, content: &mut Page, writable: bool) -> io::Result<()> {
        let mode = if writable { 0 } else { COPY_WRITE_PROTECTED };
        let (source, length) = (content.0.as_ptr() as u64, content.0.len() as u64);
        self.ioctl(
            IOCTL_COPY,
            &mut CopyArgument { destination: address, source, length, mode, copied: 0 },
        )
    }

    /// Makes translations read-only, or writable again.
    pub(crate) fn write_protect(&self, address: u64, bytes: u64, protect: bool) -> io::Result<()> {
        let range = Range { start: address, length: bytes };
        let mode = if protect { WRITE_PROTECT } else { 0 };
        self.ioctl(IOCTL_WRITE_PROTECT, &mut WriteProtectArgument { range, mode })
    }

    /// Wakes the threads that wait for these bytes, which then retry their accesses.
    pub(crate) fn wake(&self, address: u64, bytes: u64) -> io::Result<()> {
        self.ioctl(IOCTL_WAKE, &mut Range { start: address, length: bytes })
    }

    /// Returns whether the program has moved or ended a part of the mapping by itself. From then on nothing here can be
    /// relied on, and an error says so.
    pub(crate) fn is_mapping_changed(&self) -> bool {
        self.is_mapping_changed.load(Ordering::Relaxed)
    }

    /// Returns whether there are faults that no poll tells of.
    pub(crate) fn has_kept_faults(&self) -> bool {
        !self.kept().is_empty()
    }

    fn kept(&self) -> MutexGuard<'_, Vec<FaultMessage>> {
        self.kept.lock().expect("the lock is never poisoned")
    }

    /// Hands over the faults that have arrived, in their order and without waiting.
    pub(crate) fn read(&self, mut take: impl FnMut(FaultMessage)) -> io::Result<()> {
        self.kept().drain(..).for_each(&mut take);
        self.receive(take)
    }

    /// The same for those that have not been read.
    fn receive(&self, mut take: impl FnMut(FaultMessage)) -> io::Result<()> {
        let empty = Message { event: 0, reserved: [0; 7], flags: 0, address: 0, thread: 0 };
        let mut messages = [empty; MESSAGES];
        let bytes = size_of_val(&messages);
        // SAFETY: the buffer is writable for this many bytes, and every bit pattern is a valid message.
        let read =
            unsafe { libc::read(self.descriptor.as_raw_fd(), messages.as_mut_ptr().cast(), bytes) };
        if read < 0 {
            let error = io::Error::last_os_error();
            let nothing =
                matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted);
            return if nothing { Ok(()) } else { Err(error) };
        }
        let messages = &messages[..read as usize / size_of::<Message>()];
        for message in messages {
            match message.event {
                EVENT_PAGEFAULT => take(message.fault()),
                EVENT_REMAP | EVENT_UNMAP => {
                    self.is_mapping_changed.store(true, Ordering::Relaxed);
                    return Err(io::Error::other(CHANGED_MAPPING));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn ioctl<T>(&self, number: libc::Ioctl, argument: &mut T) -> io::Result<()> {
        loop {
            // SAFETY: each number is passed with the structure whose size it names, which the kernel reads and writes.
            let result =
                unsafe { libc::ioctl(self.descriptor.as_raw_fd(), number, &raw mut *argument) };
            if result >= 0 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            if !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) {
                return Err(error);
            }
            // The program is changing the same page table, as when it drops translations: let it finish. If it changes the
            // mapping, it waits until that has been read.
            self.receive(|fault| self.kept().push(fault))?;
            std::thread::yield_now();
        }
    }
}

/// Why this machine cannot page programs, in a sentence that says what to do; `None` if it can.
pub fn obstacle() -> Option<String> {
    Userfault::new(false).err().map(|error| explained(&error))
}

/// Why there is no userfaultfd, in a sentence that says what to do.
pub(crate) fn explained(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => "the kernel lets only privileged users page programs; run as root or with \
             CAP_SYS_PTRACE, or let an administrator allow it with `chmod a+rw /dev/userfaultfd` or `sysctl \
             vm.unprivileged_userfaultfd=1`"
            .to_owned(),
        Some(libc::ENOSYS) => {
            "this kernel has no userfaultfd; use a Linux kernel with CONFIG_USERFAULTFD, 6.4 or newer".to_owned()
        }
        Some(libc::EINVAL) => "this kernel's userfaultfd is too old; use Linux 6.4 or newer".to_owned(),
        _ => format!("userfaultfd cannot be used ({error}); use a Linux kernel 6.4 or newer"),
    }
}
