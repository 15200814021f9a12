//! What a page reads as at a moment, wherever its newest version is.

use std::ops::Range;

use clockhand_policy::LogicalPage;
use clockhand_policy::buffer::Medium as Memory;

use super::{Content, Engine, Refused};
use crate::store::Medium;

impl<D: Medium, N: Medium> Engine<D, N> {
    /// The place of a page's content, if it is not only on the disk; fills `into` if it is in the buffer or held.
    fn read_buffered(&mut self, page: u64, into: &mut [u8]) -> Option<Result<(), Refused>> {
        let content = match self.dram.get(&page) {
            Some(Content::Known(content)) => Some(&**content),
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

    /// Reads those of whole pages that are buffered or held; the others' places in `into` are added to `rest`, as far as
    /// they follow each other together.
    pub(super) fn read_buffered_of(
        &mut self,
        first: u64,
        into: &mut [u8],
        rest: &mut Vec<Range<usize>>,
    ) -> Result<(), Refused> {
        let page_bytes = self.page_bytes();
        let mut result = Ok(());
        for (content, page) in into.chunks_mut(page_bytes).zip(first..) {
            let start = (page - first) as usize * page_bytes;
            match (self.read_buffered(page, content), rest.last_mut()) {
                (Some(done), _) => result = result.and(done),
                (None, Some(last)) if last.end == start => last.end += page_bytes,
                (None, _) => rest.push(start..start + page_bytes),
            }
        }
        result
    }

    /// Reads whole pages as they are now. A page that cannot be read is an error of the whole.
    pub(super) fn read_now(&mut self, first: u64, into: &mut [u8]) -> Result<(), Refused> {
        let mut rest = Vec::new();
        let mut result = self.read_buffered_of(first, into, &mut rest);
        for range in rest {
            let page = first + (range.start / self.page_bytes()) as u64;
            let read = self.store.read_disk(page, &mut into[range]).map_err(|error| {
                self.note(format!("page {page} and what follows cannot be read: {error}"));
                Refused::of(error.kind())
            });
            result = result.and(read);
        }
        result
    }

    /// What a page reads as, without the buffer's learning of it.
    #[cfg(test)]
    pub(crate) fn peek(&mut self, page: u64, into: &mut [u8]) {
        self.read_now(page, into).expect("nothing fails");
    }
}
