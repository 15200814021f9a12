//! What a page reads as at a moment, wherever its newest version is.

use clockhand_policy::LogicalPage;
use clockhand_policy::buffer::Medium as Memory;

use super::{Engine, Refused};
use crate::store::Medium;

impl<D: Medium, N: Medium> Engine<D, N> {
    /// The place of a page's content, if it is not only on the disk; fills `into` if it is in the buffer or held.
    fn read_buffered(&mut self, page: u64, into: &mut [u8]) -> Option<Result<(), Refused>> {
        let content = match self.dram.get(&page) {
            Some(Some(content)) => Some(&**content),
            _ => self.store.held(page),
        };
        if let Some(content) = content {
            into.copy_from_slice(content);
            return Some(Ok(()));
        }
        if self.damaged.contains(&page) {
            return Some(Err(Refused::Io));
        }
        let is_in_nvm = match &self.overlay {
            Some(overlay) => overlay.contains(&page),
            None => self.buffer.place_of(LogicalPage(page)) == Some(Memory::Nvm),
        };
        is_in_nvm.then(|| {
            self.store.read_nvm(page, into).map_err(|error| {
                self.note(error.to_string());
                Refused::Io
            })
        })
    }

    /// Reads whole pages as they are now. Those that follow each other on the disk are read together. A page that cannot
    /// be read is an error of the whole; `filled` says of each page whether it was read.
    pub(super) fn read_now(&mut self, first: u64, into: &mut [u8]) -> Result<(), Refused> {
        let page_bytes = self.page_bytes();
        let mut result = Ok(());
        let mut disk_from = None;
        let pages = into.len() / page_bytes;
        for index in 0..pages {
            let at = index * page_bytes;
            let page = first + index as u64;
            match self.read_buffered(page, &mut into[at..at + page_bytes]) {
                None => {
                    disk_from.get_or_insert(index);
                    continue;
                }
                Some(done) => result = result.and(done),
            }
            if let Some(from) = disk_from.take() {
                result = result.and(self.read_run(first, from..index, into));
            }
        }
        match disk_from {
            Some(from) => result.and(self.read_run(first, from..pages, into)),
            None => result,
        }
    }

    /// What a page reads as, without the buffer's learning of it.
    #[cfg(test)]
    pub(crate) fn peek(&mut self, page: u64, into: &mut [u8]) {
        self.read_now(page, into).expect("nothing fails");
    }

    fn read_run(
        &mut self,
        first: u64,
        run: std::ops::Range<usize>,
        into: &mut [u8],
    ) -> Result<(), Refused> {
        let page_bytes = self.page_bytes();
        let bytes = &mut into[run.start * page_bytes..run.end * page_bytes];
        let from = first + run.start as u64;
        self.store.read_disk(from, bytes).map_err(|error| {
            self.note(format!("page {from} and what follows cannot be read: {error}"));
            Refused::of(error.kind())
        })
    }
}
