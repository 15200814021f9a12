//! What is below a write buffer, and the buffer with what it counts.

use clockhand_policy::LogicalPage;
use clockhand_policy::buffer::{Action, Medium, Request, Served, Source, Step, WriteBuffer};

/// What a cell counts. Unit: pages, except for batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BufferCounts {
    pub(super) read_hits: u64,
    pub(super) write_hits: u64,
    pub(super) read_misses: u64,
    pub(super) write_misses: u64,
    pub(super) nvm_hits: u64,
    pub(super) dirty_pages_flushed: u64,
    pub(super) clean_pages_flushed: u64,
    pub(super) batches: u64,
    pub(super) padding_reads: u64,
    pub(super) migrations: u64,
    pub(super) nvm_writes: u64,
    pub(super) residual_dirty: u64,
    pub(super) dram_pages: u32,
    pub(super) nvm_pages: u32,
}

impl BufferCounts {
    /// Pages sent to flash.
    #[inline]
    pub(super) fn flushed(&self) -> u64 {
        self.dirty_pages_flushed + self.clean_pages_flushed
    }

    #[inline]
    fn count_step(&mut self, step: &Step<'_>) {
        match step.action {
            Action::Drop => {}
            Action::Migrate => {
                self.migrations += step.pages.len() as u64;
                self.nvm_writes += step.pages.len() as u64;
            }
            Action::Flush => {
                self.batches += 1;
                for entry in step.pages {
                    self.padding_reads += u64::from(entry.source == Source::Flash);
                    match entry.dirty {
                        true => self.dirty_pages_flushed += 1,
                        false => self.clean_pages_flushed += 1,
                    }
                }
            }
        }
    }

    #[inline]
    fn count_reference(&mut self, served: Served, is_write: bool) {
        self.nvm_hits += u64::from(served.hit == Some(Medium::Nvm));
        match (served.hit.is_some(), is_write) {
            (true, false) => self.read_hits += 1,
            (true, true) => self.write_hits += 1,
            (false, true) => self.write_misses += 1,
            (false, false) => self.read_misses += 1,
        }
    }
}

/// Carries out the steps of a write buffer and serves what the buffer does not.
pub(super) trait Below {
    /// A step is to be carried out.
    fn carry_out(&mut self, step: &Step<'_>);

    /// The buffer has served a request; the rest, such as a read that misses, is done now.
    fn served<B: WriteBuffer>(&mut self, request: Request, served: Served, buffer: &B);
}

/// A write buffer and its counts.
pub(super) struct Buffered<B> {
    pub(super) buffer: B,
    pub(super) counts: BufferCounts,
}

impl<B: WriteBuffer> Buffered<B> {
    pub(super) fn new(buffer: B) -> Self {
        Buffered { buffer, counts: BufferCounts::default() }
    }

    /// A request that is not a reference.
    pub(super) fn serve<D: Below>(&mut self, request: Request, below: &mut D) {
        self.make_room(request, below);
        let served = self.buffer.serve(request);
        self.counts.nvm_writes += u64::from(served.nvm_writes);
        below.served(request, served, &self.buffer);
    }

    #[inline]
    pub(super) fn reference<D: Below>(
        &mut self,
        page: LogicalPage,
        (is_write, is_forced): (bool, bool),
        below: &mut D,
    ) {
        let request = match (is_write, is_forced) {
            (false, _) => Request::Read(page),
            (true, false) => Request::Write(page),
            (true, true) => Request::ForceUnitAccess(page),
        };
        self.make_room(request, below);
        let served = self.buffer.serve(request);
        self.counts.nvm_writes += u64::from(served.nvm_writes);
        self.counts.count_reference(served, is_write);
        below.served(request, served, &self.buffer);
    }

    #[inline]
    fn make_room<D: Below>(&mut self, request: Request, below: &mut D) {
        while let Some(step) = self.buffer.next_step(request) {
            self.counts.count_step(&step);
            below.carry_out(&step);
            self.buffer.commit();
        }
    }
}
