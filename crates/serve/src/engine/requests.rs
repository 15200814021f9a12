//! Requests of bytes that write, and FLUSH: each enters the buffer as a whole.

use clockhand_policy::LogicalPage;
use clockhand_policy::buffer::{Medium as Memory, Request};

use super::{Content, Engine, Recorded, Refused};
use crate::store::{Goal, Medium, Outgoing};

impl<D: Medium, N: Medium> Engine<D, N> {
    pub(super) fn pages_of(&self, at: u64, bytes: u64) -> std::ops::Range<u64> {
        let page_bytes = self.page_bytes() as u64;
        at / page_bytes..(at + bytes).div_ceil(page_bytes)
    }

    /// Writes `payload` at `at`; with `forced`, what must be durable before the answer.
    ///
    /// # Errors
    ///
    /// The rest of a partly written page cannot be read, or room is missing; the pages before are written then.
    pub fn write(
        &mut self,
        at: u64,
        payload: &[u8],
        forced: bool,
    ) -> Result<Option<Goal>, Refused> {
        self.begin();
        self.check_store()?;
        let parts = self.fill(at, payload)?;
        let bytes = payload.len() as u32;
        self.record_event(match forced {
            true => Recorded::ForcedWrite(at, bytes),
            false => Recorded::Write(at, bytes),
        });
        self.counts.write_requests += 1;
        self.counts.forced_writes += u64::from(forced);
        self.counts.written_bytes += u64::from(bytes);
        if forced {
            self.store.begin_forced();
        }
        self.write_parts(at, payload, forced, &parts)?;
        match forced {
            false => Ok(None),
            true => self.goal_of_forced(self.pages_of(at, bytes.into())).map(Some),
        }
    }

    fn goal_of_forced(&mut self, pages: std::ops::Range<u64>) -> Result<Goal, Refused> {
        match self.store.refusal(pages.clone()) {
            Some(refused) => Err(Refused::of(refused)),
            None => self.check_store().map(|()| self.goal_where_it_is(pages)),
        }
    }

    /// If a forced write is in NVM, its sync is enough.
    fn goal_where_it_is(&mut self, pages: std::ops::Range<u64>) -> Goal {
        let is_in_nvm = |page| self.buffer.place_of(LogicalPage(page)) == Some(Memory::Nvm);
        match self.store.header().is_none() || pages.clone().all(is_in_nvm) {
            true => self.store.goal_of_write(pages),
            false => self.store.goal(),
        }
    }

    /// One page that the disk refuses is tried again with each request.
    pub(super) fn begin(&mut self) {
        self.store.try_refused_again(1);
    }

    pub(super) fn check_store(&mut self) -> Result<(), Refused> {
        match self.store.failure() {
            Some(_) => {
                self.counts.errors += 1;
                Err(Refused::Io)
            }
            None => Ok(()),
        }
    }

    /// The first and the last page of a write whole, if it touches them only in part.
    pub(super) fn fill(
        &mut self,
        at: u64,
        payload: &[u8],
    ) -> Result<[Option<Box<[u8]>>; 2], Refused> {
        let page_bytes = self.page_bytes() as u64;
        let end = at + payload.len() as u64;
        let pages = self.pages_of(at, payload.len() as u64);
        let (first, last) = (pages.start, pages.end - 1);
        let ends_inside = !end.is_multiple_of(page_bytes) && end != self.store.disk_bytes();
        let mut parts = [None, None];
        if !at.is_multiple_of(page_bytes) || first == last && ends_inside {
            parts[0] = Some(self.filled(first, at, payload)?);
        }
        if first != last && ends_inside {
            parts[1] = Some(self.filled(last, at, payload)?);
        }
        Ok(parts)
    }

    /// `page` as it will be when `payload` is written at `at`.
    fn filled(&mut self, page: u64, at: u64, payload: &[u8]) -> Result<Box<[u8]>, Refused> {
        let page_bytes = self.page_bytes();
        let mut content = vec![0; page_bytes].into_boxed_slice();
        let is_buffered = self.buffer.place_of(LogicalPage(page)).is_some();
        if !is_buffered {
            self.counts.fill_reads += 1;
        }
        self.read_now(page, &mut content)?;
        let start = page * page_bytes as u64;
        let from = at.max(start);
        let until = (at + payload.len() as u64).min(start + page_bytes as u64);
        content[(from - start) as usize..(until - start) as usize]
            .copy_from_slice(&payload[(from - at) as usize..(until - at) as usize]);
        Ok(content)
    }

    pub(super) fn write_parts(
        &mut self,
        at: u64,
        payload: &[u8],
        forced: bool,
        parts: &[Option<Box<[u8]>>; 2],
    ) -> Result<(), Refused> {
        let page_bytes = self.page_bytes();
        let pages = self.pages_of(at, payload.len() as u64);
        let last = pages.end - 1;
        for page in pages.clone() {
            self.check_room()?;
            let part = match page {
                _ if page == pages.start && parts[0].is_some() => &parts[0],
                _ if page == last => &parts[1],
                _ => &None,
            };
            if let Some(content) = part {
                self.write_page(page, content, forced);
                continue;
            }
            let from = (page * page_bytes as u64 - at) as usize;
            let bytes = &payload[from..payload.len().min(from + page_bytes)];
            if bytes.len() == page_bytes {
                self.write_page(page, bytes, forced);
            } else {
                // The disk ends within its last page.
                let mut content = bytes.to_vec();
                content.resize(page_bytes, 0);
                self.write_page(page, &content, forced);
            }
        }
        Ok(())
    }

    fn write_page(&mut self, page: u64, content: &[u8], forced: bool) {
        let number = LogicalPage(page);
        let request =
            if forced { Request::ForceUnitAccess(number) } else { Request::Write(number) };
        self.make_room(request, content);
        self.serve(request);
        self.damaged.remove(&page);
        match self.buffer.place_of(number) {
            Some(Memory::Dram) => match self.dram.get_mut(&page) {
                Some(Content::Known(place)) => place.copy_from_slice(content),
                _ => drop(self.dram.insert(page, Content::Known(content.into()))),
            },
            Some(Memory::Nvm) => {
                self.dram.remove(&page);
                self.write_nvm(page, content);
            }
            // A page that the buffer did not take, unless a step has written it, goes to the disk.
            None => self.store.send(&[Outgoing { page, seq: None }], content.to_vec()),
        }
    }

    /// Carries out what a FLUSH asks; what must be durable before the answer.
    ///
    /// # Errors
    ///
    /// The disk refuses pages.
    pub fn flush(&mut self) -> Result<Goal, Refused> {
        self.counts.flushes += 1;
        self.flush_inner()
    }

    pub(super) fn flush_inner(&mut self) -> Result<Goal, Refused> {
        self.check_store()?;
        self.store.try_refused_again(usize::MAX);
        self.record_event(Recorded::Sync);
        loop {
            self.check_room()?;
            if !self.carry_out_next(Request::Flush, &[]) {
                break;
            }
        }
        self.serve(Request::Flush);
        match self.store.refused_count() {
            0 => self.check_store().map(|()| self.store.goal()),
            _ => {
                self.counts.errors += 1;
                Err(self.refusal())
            }
        }
    }

    /// Writes every dirty page to the disk, until `is_cut_off` says that time is over.
    ///
    /// # Errors
    ///
    /// The disk refuses pages, or the time was too short.
    pub fn drain(&mut self, is_cut_off: &dyn Fn() -> bool) -> Result<(), Refused> {
        self.store.try_refused_again(usize::MAX);
        loop {
            self.check_room()?;
            if is_cut_off() {
                return Err(Refused::Shutdown);
            }
            if !self.carry_out_next(Request::Drain, &[]) {
                break;
            }
        }
        self.serve(Request::Drain);
        self.store.write_all();
        match self.store.refused_count() {
            0 => self.check_store(),
            _ => Err(self.refusal()),
        }
    }

    /// Records and carries out a FLUSH that no client asked for: the end of a server that keeps its pages in NVM.
    ///
    /// # Errors
    ///
    /// As [`flush`](Self::flush).
    pub fn flush_at_the_end(&mut self) -> Result<Goal, Refused> {
        self.flush_inner()
    }

    /// Serves only reads, of the pages that the NVM file holds and of the disk.
    pub fn serve_reads_only(&mut self, in_nvm: impl IntoIterator<Item = u64>) {
        self.least_free_slots = 0;
        self.overlay = Some(in_nvm.into_iter().collect());
    }
}
