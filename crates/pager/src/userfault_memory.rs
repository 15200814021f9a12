//! The memory of a program behind a userfaultfd.

use std::io;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;

use clockhand_pager_protocol::{PAGE_BYTES, Packet, PageRange, UNMAP_RANGES, UNMAPPED, Unmap};
use clockhand_policy::PageId;
use rustix::io::retry_on_intr;
use rustix::mm::{Advice, madvise};
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::given_away::GivenAway;
use crate::memory_file::{MemoryFile, Pipe};
use crate::pace::threads_of;
use crate::program_memory::ProgramMemory;
use crate::settings::Bits;
use crate::store::{Page, PageAddress};
use crate::userfault::Userfault;

/// Drops the program's translations while the contents stay; only its own process can do this.
pub(crate) enum Unmapper {
    /// The memory is mapped in this process.
    Here(NonNull<u8>),
    /// A thread in the program carries out commands.
    InProgram {
        /// The socket that it reads from.
        socket: OwnedFd,
        /// Commands that it has not answered yet.
        unanswered: usize,
    },
}

// SAFETY: the address is used for advice on the mapping only.
unsafe impl Send for Unmapper {}

/// The memory of a program: a file in memory, mapped there and watched by a userfaultfd.
pub(crate) struct UserfaultMemory {
    file: MemoryFile,
    userfault: std::sync::Arc<Userfault>,
    /// Where the program sees the first page.
    base: u64,
    /// The program's process id.
    process: i32,
    unmapper: Unmapper,
    ranges: Vec<PageRange>,
    /// For pages that are taken away, if writes are not faults.
    pipe: Option<Pipe>,
    given_away: GivenAway,
}

impl UserfaultMemory {
    /// The program has mapped `file` at `base`, but for the pages that were `given_away`; its faults there are
    /// watched from now on: with `bits` that are mapped also those of pages whose content is in the file.
    pub(crate) fn new(
        file: MemoryFile,
        userfault: std::sync::Arc<Userfault>,
        base: u64,
        process: i32,
        unmapper: Unmapper,
        bits: Bits,
        given_away: GivenAway,
    ) -> io::Result<Self> {
        given_away.each_other(0..file.pages(), |range| {
            let (start, bytes) = (base + bytes_of(range.start), bytes_of(range.len() as u32));
            userfault.register(start, bytes, bits == Bits::Mapped)
        })?;
        let pipe = userfault.lets_writes_go_on().then(Pipe::new).transpose()?;
        let ranges = Vec::new();
        Ok(UserfaultMemory { file, userfault, base, process, unmapper, ranges, pipe, given_away })
    }

    fn program_address(&self, page: PageId) -> u64 {
        self.base + bytes_of(page.0)
    }
}

impl ProgramMemory for UserfaultMemory {
    fn pages(&self) -> u32 {
        self.file.pages()
    }

    fn first_address(&self) -> u64 {
        self.base
    }

    fn peek(&self, first: u64, words: &mut [u64]) {
        self.file.peek(first, words);
    }

    fn address(&self, page: PageId) -> PageAddress {
        self.file.address(page)
    }

    fn fill_with_zeros(&mut self, page: PageId) -> io::Result<()> {
        self.file.fill_with_zeros(page)
    }

    fn map(&mut self, page: PageId, writable: bool) -> io::Result<()> {
        self.userfault.continue_fault(self.program_address(page), PAGE_BYTES as u64, writable)
    }

    fn allow_writes(&mut self, page: PageId) -> io::Result<()> {
        self.userfault.write_protect(self.program_address(page), PAGE_BYTES as u64, false)
    }

    fn forbid_writes(&mut self, first: PageId, pages: u32) -> io::Result<()> {
        self.given_away.each_other(first.0..first.0 + pages, |range| {
            let start = self.program_address(PageId(range.start));
            self.userfault.write_protect(start, bytes_of(range.len() as u32), true)
        })
    }

    fn forget(&mut self, first: PageId, pages: u32) -> io::Result<()> {
        self.file.forget(first, pages)
    }

    fn give_away(&mut self, first: PageId, pages: u32) -> io::Result<()> {
        self.given_away.each_other(first.0..first.0 + pages, |range| {
            let start = self.program_address(PageId(range.start));
            self.userfault.unregister(start, bytes_of(range.len() as u32))
        })?;
        self.given_away.add(first.0..first.0 + pages);
        Ok(())
    }

    fn begin_unmapping(&mut self, pages: &mut Vec<PageId>) -> io::Result<()> {
        pages.retain(|&page| !self.given_away.has(page));
        in_ranges(pages, &mut self.ranges);
        pages.clear();
        match &mut self.unmapper {
            Unmapper::Here(base) => {
                for range in &self.ranges {
                    let bytes = range.pages as usize * PAGE_BYTES;
                    // SAFETY: the range lies in the mapping of the region, whose contents are in its file.
                    unsafe {
                        let first = base.add(range.first_page as usize * PAGE_BYTES);
                        madvise(first.as_ptr().cast(), bytes, Advice::LinuxDontNeed)?;
                    }
                }
            }
            Unmapper::InProgram { socket, unanswered } => {
                for ranges in self.ranges.chunks(UNMAP_RANGES) {
                    let mut order = Unmap { ranges_used: ranges.len() as u32, ..Unmap::ZERO };
                    order.ranges[..ranges.len()].copy_from_slice(ranges);
                    retry_on_intr(|| send(&*socket, order.used_bytes(), SendFlags::NOSIGNAL))?;
                    *unanswered += 1;
                }
            }
        }
        Ok(())
    }

    fn finish_unmapping(&mut self) -> io::Result<()> {
        if let Unmapper::InProgram { socket, unanswered } = &mut self.unmapper {
            while *unanswered > 0 {
                let mut answer = [0];
                let (received, _) =
                    retry_on_intr(|| recv(&*socket, &mut answer, RecvFlags::empty()))?;
                if received != 1 || answer != [UNMAPPED] {
                    return Err(io::Error::new(
                        io::ErrorKind::UnexpectedEof,
                        "the program has ended",
                    ));
                }
                *unanswered -= 1;
            }
        }
        Ok(())
    }

    fn fill(&mut self, page: PageId, content: &mut Page, writable: bool) -> io::Result<()> {
        self.userfault.copy(self.program_address(page), content, writable)
    }

    fn fill_unmapped(&mut self, first: PageId, contents: &[&Page]) -> io::Result<()> {
        self.forbid_writes(first, contents.len() as u32)?;
        self.file.write(first, contents)
    }

    fn take(&mut self, pages: &[PageId], into: &mut [Box<Page>]) -> io::Result<()> {
        let pipe = self.pipe.as_ref().expect("writes are not faults");
        self.file.take(pages, pipe, into)
    }

    fn has_other_threads(&self) -> bool {
        // Beside the thread that forks there is the one that drops translations.
        threads_of(self.process).nth(2).is_some()
    }

    fn copy_content(&mut self, page: PageId, into: &mut Page) -> io::Result<()> {
        self.file.read(page, into)
    }

    fn wake(&mut self, page: PageId) -> io::Result<()> {
        self.userfault.wake(self.program_address(page), PAGE_BYTES as u64)
    }

    fn map_again(&mut self, page: PageId, writable: bool) -> io::Result<()> {
        self.map(page, writable)?;
        // A translation that is there already may still forbid what the page's state allows.
        if writable { self.allow_writes(page) } else { Ok(()) }
    }
}

fn bytes_of(pages: u32) -> u64 {
    u64::from(pages) * PAGE_BYTES as u64
}

/// The same pages as ascending ranges.
fn in_ranges(pages: &mut [PageId], ranges: &mut Vec<PageRange>) {
    pages.sort_unstable();
    ranges.clear();
    for page in pages.iter() {
        match ranges.last_mut() {
            Some(range) if range.first_page + range.pages > page.0 => {}
            Some(range) if range.first_page + range.pages == page.0 => range.pages += 1,
            _ => ranges.push(PageRange { first_page: page.0, pages: 1 }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_become_one_range_and_repetitions_count_once() {
        let mut pages: Vec<_> = [7, 3, 4, 4, 9, 5, 10].map(PageId).into();
        let mut ranges = Vec::new();
        in_ranges(&mut pages, &mut ranges);
        let found: Vec<_> = ranges.iter().map(|range| (range.first_page, range.pages)).collect();
        assert_eq!(found, [(3, 3), (7, 1), (9, 2)]);
    }
}
