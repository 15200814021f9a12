//! The memory of a program under the test pager, and its faults.

use std::fs::File;
use std::io;
use std::mem::zeroed;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Duration;

use clockhand_pager_protocol::PAGE_BYTES;

use super::{check, userfaultfd};

/// Holds up faults while the memory is frozen.
#[derive(Default)]
pub(super) struct Freeze {
    frozen: bool,
    /// Addresses of pages that wait to be written.
    waiting: Vec<u64>,
}

/// The memory of one program.
pub(super) struct ProgramMemory {
    pub(super) file: File,
    pub(super) userfaultfd: OwnedFd,
    pub(super) address: u64,
    pub(super) bytes: usize,
    /// Pages over which the program has mapped something else. Held while translations are dropped.
    pub(super) given_away: Mutex<Vec<Range<u64>>>,
    pub(super) freeze: Mutex<Freeze>,
    pub(super) thawed: Condvar,
    /// The number of faults that have been served.
    pub(super) faults: AtomicU64,
    pub(super) ended: AtomicBool,
}

/// A program that faults less often has got back the pages that it uses.
const FAULTS_OF_THE_SETTLED: u64 = 4;

/// For how many milliseconds a program that does not settle, because it fills new pages, is left alone.
const MOST_LEFT_ALONE: usize = 50;

impl ProgramMemory {
    /// Waits until the program seldom faults. If its translations were dropped faster than it can fault for them, it would
    /// do nothing else.
    pub(super) fn let_settle(&self) {
        for _ in 0..MOST_LEFT_ALONE {
            let before = self.faults.load(Ordering::Relaxed);
            thread::sleep(Duration::from_millis(1));
            if self.faults.load(Ordering::Relaxed) - before < FAULTS_OF_THE_SETTLED {
                return;
            }
        }
    }

    fn control<T>(&self, number: libc::c_ulong, argument: &mut T) -> io::Result<()> {
        loop {
            // SAFETY: each number goes with its structure, below.
            let result =
                unsafe { libc::ioctl(self.userfaultfd.as_raw_fd(), number, &raw mut *argument) };
            match check(result) {
                Ok(_) => return Ok(()),
                // A page table has just gone, because all of its translations have been dropped.
                Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => thread::yield_now(),
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn register(&self) -> io::Result<()> {
        let features = userfaultfd::FEATURE_PAGEFAULT_FLAG_WP
            | userfaultfd::FEATURE_MISSING_SHMEM
            | userfaultfd::FEATURE_MINOR_SHMEM
            | userfaultfd::FEATURE_WP_HUGETLBFS_SHMEM;
        self.control(userfaultfd::UFFDIO_API, &mut [userfaultfd::API, features, 0])?;
        let modes =
            userfaultfd::REGISTER_MISSING | userfaultfd::REGISTER_MINOR | userfaultfd::REGISTER_WP;
        for pages in self.watched() {
            let [address, bytes] = self.addresses_of(&pages);
            self.control(userfaultfd::UFFDIO_REGISTER, &mut [address, bytes, modes, 0])?;
        }
        Ok(())
    }

    /// The pages that were not given away, as ranges.
    fn watched(&self) -> Vec<Range<u64>> {
        let given_away = self.given_away.lock().unwrap();
        let is_given = |page: &u64| given_away.iter().any(|range| range.contains(page));
        let watched: Vec<_> =
            (0..(self.bytes / PAGE_BYTES) as u64).filter(|page| !is_given(page)).collect();
        let rows = watched.chunk_by(|page, next| page + 1 == *next);
        rows.map(|row| row[0]..row[row.len() - 1] + 1).collect()
    }

    fn addresses_of(&self, pages: &Range<u64>) -> [u64; 2] {
        let page_bytes = PAGE_BYTES as u64;
        [self.address + pages.start * page_bytes, (pages.end - pages.start) * page_bytes]
    }

    /// Forgets pages and watches them no longer.
    pub(super) fn give_away(&self, first_page: u64, pages: u64) {
        self.discard(first_page, pages);
        let mut given_away = self.given_away.lock().unwrap();
        let mut range = self.addresses_of(&(first_page..first_page + pages));
        self.control(userfaultfd::UFFDIO_UNREGISTER, &mut range).expect("they are watched");
        given_away.push(first_page..first_page + pages);
    }

    /// Maps the page, which is in the file; that it is there already is not an error.
    fn map(&self, page_address: u64, read_only: bool) {
        let mode = if read_only { userfaultfd::CONTINUE_MODE_WP } else { 0 };
        let mut argument = [page_address, PAGE_BYTES as u64, mode, 0];
        match self.control(userfaultfd::UFFDIO_CONTINUE, &mut argument) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(libc::EEXIST) => {
                let mut range = [page_address, PAGE_BYTES as u64];
                let _ = self.control(userfaultfd::UFFDIO_WAKE, &mut range);
            }
            // The program has ended.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
            Err(error) => panic!("test pager: UFFDIO_CONTINUE at {page_address:#x}: {error}"),
        }
    }

    fn protect(&self, address: u64, bytes: usize, read_only: bool) {
        let mode = if read_only { userfaultfd::WRITEPROTECT_MODE_WP } else { 0 };
        let mut argument = [address, bytes as u64, mode];
        match self.control(userfaultfd::UFFDIO_WRITEPROTECT, &mut argument) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
            // The page's translation has just been dropped: the program's next try says so.
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {}
            Err(error) => panic!("test pager: UFFDIO_WRITEPROTECT: {error}"),
        }
    }

    fn make_writable(&self, page_address: u64) {
        self.map(page_address, false);
        self.protect(page_address, PAGE_BYTES, false);
    }

    /// Brings the page into the file, of zeros if it has never been there.
    fn bring(&self, page_address: u64) {
        let offset = (page_address - self.address) as libc::off_t;
        // SAFETY: takes no addresses.
        let allocated =
            unsafe { libc::fallocate(self.file.as_raw_fd(), 0, offset, PAGE_BYTES as libc::off_t) };
        check(allocated).expect("the test pager has no memory");
    }

    /// Serves faults until the program has ended.
    pub(super) fn serve(&self) {
        while !self.ended.load(Ordering::Relaxed) {
            let mut poll =
                libc::pollfd { fd: self.userfaultfd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one structure, which lives here.
            unsafe { libc::poll(&mut poll, 1, 20) };
            // SAFETY: zero is valid for a message.
            let mut message: userfaultfd::Message = unsafe { zeroed() };
            let size = size_of::<userfaultfd::Message>();
            // SAFETY: the kernel writes one whole message, or nothing.
            let read = unsafe {
                libc::read(self.userfaultfd.as_raw_fd(), (&raw mut message).cast(), size)
            };
            if read == size as isize && message.event == userfaultfd::EVENT_PAGEFAULT {
                self.fault(message.address & !(PAGE_BYTES as u64 - 1), message.flags);
                self.faults.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn fault(&self, page_address: u64, flags: u64) {
        let mut freeze = self.freeze.lock().unwrap();
        self.bring(page_address);
        if flags & (userfaultfd::FLAG_WRITE | userfaultfd::FLAG_WP) == 0 {
            self.map(page_address, true);
        } else if freeze.frozen {
            freeze.waiting.push(page_address);
        } else {
            self.make_writable(page_address);
        }
    }

    /// No page changes until [`ProgramMemory::thaw`]; a copy of all of them.
    pub(super) fn freeze(&self) -> File {
        let mut freeze = self.freeze.lock().unwrap();
        while freeze.frozen {
            freeze = self.thawed.wait(freeze).unwrap();
        }
        freeze.frozen = true;
        for pages in self.watched() {
            let [address, bytes] = self.addresses_of(&pages);
            self.protect(address, bytes as usize, true);
        }
        let copy = memory_file(self.bytes);
        copy_data(&self.file, &copy);
        copy
    }

    pub(super) fn thaw(&self) {
        let mut freeze = self.freeze.lock().unwrap();
        freeze.frozen = false;
        for page_address in std::mem::take(&mut freeze.waiting) {
            self.make_writable(page_address);
        }
        self.thawed.notify_all();
    }

    /// Makes holes in the file: the next access of the program finds no page.
    pub(super) fn discard(&self, first_page: u64, pages: u64) {
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        let page_bytes = PAGE_BYTES as u64;
        let (offset, bytes) = (first_page * page_bytes, pages * page_bytes);
        let _freeze = self.freeze.lock().unwrap();
        // SAFETY: takes no addresses.
        let punched =
            unsafe { libc::fallocate(self.file.as_raw_fd(), mode, offset as i64, bytes as i64) };
        check(punched).expect("a memory file can have holes");
    }
}

/// An empty memory file.
pub(super) fn memory_file(bytes: usize) -> File {
    // SAFETY: the name ends with a zero byte; the descriptor is new.
    let file = unsafe {
        let descriptor = libc::memfd_create(c"test pager".as_ptr(), libc::MFD_CLOEXEC);
        File::from_raw_fd(check(descriptor).expect("a memory file"))
    };
    file.set_len(bytes as u64).expect("a memory file of that size");
    file
}

/// The parts of a file that are not holes.
fn copy_data(from: &File, to: &File) {
    use std::os::unix::fs::FileExt;
    let seek = |offset: i64, whence| {
        // SAFETY: takes no addresses.
        unsafe { libc::lseek(from.as_raw_fd(), offset, whence) }
    };
    let mut end = 0;
    loop {
        let start = seek(end, libc::SEEK_DATA);
        if start < 0 {
            return;
        }
        end = seek(start, libc::SEEK_HOLE);
        let mut data = vec![0; (end - start) as usize];
        from.read_exact_at(&mut data, start as u64).expect("data of a memory file");
        to.write_all_at(&data, start as u64).expect("room in a memory file");
    }
}
