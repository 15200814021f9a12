//! Paged memory of this process.

use std::io;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};

use clockhand_pager_protocol::PAGE_BYTES;
use clockhand_policy::PageId;
use rustix::mm::munmap;

use crate::control::{Command, Control, Progress, channel_of_control};
use crate::driver::Driver;
use crate::given_away::GivenAway;
use crate::memory_file::{MemoryFile, are_pages_single};
use crate::parts::{EventSink, InitialPages, Parts};
use crate::settings::{Bits, Settings};
use crate::store::Store;
use crate::translations::PageMap;
use crate::userfault::{Userfault, obstacle};
use crate::userfault_memory::{Unmapper, UserfaultMemory};

/// Why there is no paged region.
#[derive(Debug, thiserror::Error)]
pub enum RegionError {
    /// The settings, or the machine, do not allow it: a sentence that says what to do.
    #[error("{0}")]
    Refused(String),
    /// The kernel failed.
    #[error("a paged region cannot be made: {0}")]
    Kernel(#[from] io::Error),
}

/// Keeps the memory watched until the process has ended or nothing uses it: in unwatched memory, a missing page reads
/// as zeros.
struct Watch {
    _userfault: Arc<Userfault>,
}

impl Watch {
    fn end_process(&self, failure: &str) -> ! {
        let message = format!(
            "clockhand: {failure}; the process ends, since a paged region cannot be served any more\n"
        );
        // Not through the lock of standard error, whose holder may be waiting for a page.
        // SAFETY: the bytes are readable; a write that fails changes nothing.
        unsafe { libc::write(libc::STDERR_FILENO, message.as_ptr().cast(), message.len()) };
        std::process::abort();
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if thread::panicking() {
            self.end_process("the pager has a bug");
        }
    }
}

/// Memory with at most as many resident pages as there are frames.
///
/// Any code may read and write it, from any thread and in system calls: it is ordinary memory that starts as zeros. A
/// thread of this process serves its faults under the policy. What that thread needs, the heap and the stacks of this
/// process, must not lie in it.
///
/// A forked child does not have the region: an access there is a segmentation fault, and never shared memory.
///
/// When the store fails for longer than [`Settings::patience`], the process is aborted with a message, since a thread that
/// waits for a page can neither go on nor be told.
pub struct PagedRegion {
    base: NonNull<u8>,
    pages: u32,
    control: Control,
    thread: Option<JoinHandle<()>>,
}

// SAFETY: the region is memory like any other; using its pointer soundly is the caller's responsibility.
unsafe impl Send for PagedRegion {}
// SAFETY: as above; the methods take `&self` and only send commands.
unsafe impl Sync for PagedRegion {}

impl PagedRegion {
    /// A region of `pages` pages of zeros. `events` receives the events on the pager's thread, and must not touch the
    /// region.
    ///
    /// # Errors
    ///
    /// If the policy cannot page, the frames are too few, or the kernel refuses; the sentence says what to do.
    pub fn new(
        pages: u32,
        settings: Settings,
        store: Box<dyn Store>,
        events: Box<dyn EventSink>,
    ) -> Result<Self, RegionError> {
        settings.check().map_err(RegionError::Refused)?;
        if let Some(obstacle) = obstacle() {
            return Err(RegionError::Refused(obstacle));
        }
        let process = std::process::id() as i32;
        let map = PageMap::of_process(settings.bits, process);
        let bits = if map.is_some() { Bits::Sensed } else { Bits::Mapped };
        let userfault = Arc::new(Userfault::new(bits == Bits::Sensed && are_pages_single())?);
        let file = MemoryFile::new(pages)?;
        let base = file.map_again()?;
        let address = base.as_ptr() as u64;
        let translations =
            map.map(|map| map.at(address, userfault.lets_writes_go_on(), GivenAway::default()));
        let unmapper = Unmapper::Here(base);
        let program = UserfaultMemory::new(
            file,
            userfault.clone(),
            address,
            process,
            unmapper,
            bits,
            GivenAway::default(),
        )?;
        let (control, channel) = channel_of_control()?;
        let (program, initial) = (Box::new(program), InitialPages::new());
        let parts = Parts { program, translations, store, events, initial };
        let watch = Watch { _userfault: userfault.clone() };
        let thread =
            thread::Builder::new().name("clockhand pager".to_owned()).spawn(move || {
                let watch = watch;
                let patience = settings.patience;
                let pager = settings.build(parts);
                let driver = Driver {
                    userfault,
                    base: address,
                    pager,
                    channel,
                    program: None,
                    patience,
                    process,
                    interrupts: None,
                    seems_deserted: false,
                    given_away: GivenAway::default(),
                };
                if let Some(failure) = driver.run().failure {
                    watch.end_process(&failure);
                }
            })?;
        Ok(PagedRegion { base, pages, control, thread: Some(thread) })
    }

    /// The first byte.
    pub fn as_ptr(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// Bytes of the region.
    pub fn bytes(&self) -> usize {
        self.pages as usize * PAGE_BYTES
    }

    /// Forgets the contents of `pages` pages from page `first` on: they read as zeros.
    ///
    /// # Errors
    ///
    /// If the memory cannot be given back to the system.
    ///
    /// # Panics
    ///
    /// If the pages are not all of the region.
    pub fn discard(&self, first: u32, pages: u32) -> io::Result<()> {
        assert!(
            first.checked_add(pages).is_some_and(|end| end <= self.pages),
            "the pages are in the region"
        );
        let (done, is_done) = channel();
        let is_given_away = false;
        self.control.command(Command::Discard {
            first: PageId(first),
            pages,
            is_given_away,
            done,
        })?;
        is_done.recv().map_err(io::Error::other)?.map_err(io::Error::other)
    }

    /// The pager's counts, as of a tenth of a second ago.
    pub fn progress(&self) -> Progress {
        self.control.progress()
    }

    /// Ends the region and returns the final counts. Its memory must not be used any more.
    pub fn finish(mut self) -> Progress {
        self.stop();
        self.control.progress()
    }

    fn stop(&mut self) {
        if let Some(thread) = self.thread.take() {
            // If the thread has ended already, the process is about to abort.
            let _ = self.control.command(Command::Stop);
            let _ = thread.join();
        }
    }
}

impl Drop for PagedRegion {
    fn drop(&mut self) {
        self.stop();
        // SAFETY: this value owns the mapping, and the code that drops it guarantees that it is no longer in use.
        let unmapped = unsafe { munmap(self.base.as_ptr().cast(), self.bytes()) };
        debug_assert!(unmapped.is_ok());
    }
}
