//! Requests after which bytes read as zeros: TRIM and WRITE_ZEROES.

use clockhand_policy::LogicalPage;
use clockhand_policy::buffer::{Medium as Memory, Request};

use super::{Content, Engine, Recorded, Refused};
use crate::store::{Goal, Medium};

impl<D: Medium, N: Medium> Engine<D, N> {
    /// The pages wholly inside a range; the last page of the disk counts as whole where the disk ends.
    fn whole_pages(&self, at: u64, bytes: u64) -> std::ops::Range<u64> {
        let page_bytes = self.page_bytes() as u64;
        let end = at + bytes;
        let end_page = match end == self.store.disk_bytes() {
            true => end.div_ceil(page_bytes),
            false => end / page_bytes,
        };
        let first = at.div_ceil(page_bytes);
        first..end_page.max(first)
    }

    /// The content of a range is not needed any more: its whole pages read as zeros then.
    ///
    /// # Errors
    ///
    /// That of the disk; then the buffer knows nothing of it.
    pub fn trim(&mut self, at: u64, bytes: u64, forced: bool) -> Result<Option<Goal>, Refused> {
        self.begin();
        self.check_store()?;
        self.counts.trims += 1;
        self.trim_pages(self.whole_pages(at, bytes), false)?;
        match forced {
            true => self.flush_inner().map(Some),
            false => Ok(None),
        }
    }

    fn trim_pages(&mut self, pages: std::ops::Range<u64>, allocates: bool) -> Result<(), Refused> {
        if pages.is_empty() {
            return Ok(());
        }
        self.store.clear_disk(pages.clone(), allocates).map_err(|error| {
            self.note(format!("the disk refuses to clear page {}: {error}", pages.start));
            Refused::of(error.kind())
        })?;
        let page_bytes = self.page_bytes() as u64;
        self.record_event(Recorded::Discard(
            pages.start * page_bytes,
            (pages.end - pages.start) * page_bytes,
        ));
        self.counts.trimmed_pages += pages.end - pages.start;
        if !self.damaged.is_empty() {
            self.damaged.retain(|page| !pages.contains(page));
        }
        for page in pages {
            self.trim_page(page);
        }
        Ok(())
    }

    fn trim_page(&mut self, page: u64) {
        let request = Request::Trim(LogicalPage(page));
        self.make_room(request, &[]);
        self.serve(request);
        match self.buffer.place_of(LogicalPage(page)) {
            // It keeps its place, clean.
            Some(Memory::Dram) => {
                let zeros = Content::Known(vec![0; self.page_bytes()].into());
                self.dram.insert(page, zeros);
            }
            Some(Memory::Nvm) => unreachable!("a trimmed page leaves NVM"),
            None => drop(self.dram.remove(&page)),
        }
        self.store.forget_nvm(page);
    }

    /// Makes a range read as zeros.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write) and [`trim`](Self::trim).
    pub fn write_zeroes(
        &mut self,
        at: u64,
        bytes: u64,
        forced: bool,
        allocates: bool,
    ) -> Result<Option<Goal>, Refused> {
        self.begin();
        self.check_store()?;
        let page_bytes = self.page_bytes() as u64;
        let whole = self.whole_pages(at, bytes);
        let end = at + bytes;
        let head = at..at.next_multiple_of(page_bytes).min(end);
        let rest_at = match whole.is_empty() {
            true => head.end,
            false => (whole.end * page_bytes).min(end),
        };
        let tail = rest_at..end;
        let zeros = vec![0; page_bytes as usize];
        let zeros_of = |range: &std::ops::Range<u64>| &zeros[..(range.end - range.start) as usize];
        let head_parts = self.fill_if_any(&head, zeros_of(&head))?;
        let tail_parts = self.fill_if_any(&tail, zeros_of(&tail))?;
        self.counts.zeroes += 1;
        self.write_zeros_part(&head, zeros_of(&head), head_parts)?;
        self.trim_pages(whole, allocates)?;
        self.write_zeros_part(&tail, zeros_of(&tail), tail_parts)?;
        match forced {
            true => self.flush_inner().map(Some),
            false => Ok(None),
        }
    }

    fn fill_if_any(
        &mut self,
        range: &std::ops::Range<u64>,
        zeros: &[u8],
    ) -> Result<[Option<Box<[u8]>>; 2], Refused> {
        match range.is_empty() {
            true => Ok([None, None]),
            false => self.fill(range.start, zeros),
        }
    }

    fn write_zeros_part(
        &mut self,
        range: &std::ops::Range<u64>,
        zeros: &[u8],
        parts: [Option<Box<[u8]>>; 2],
    ) -> Result<(), Refused> {
        if range.is_empty() {
            return Ok(());
        }
        self.record_event(Recorded::Write(range.start, zeros.len() as u32));
        self.write_parts(range.start, zeros, false, &parts)
    }
}
