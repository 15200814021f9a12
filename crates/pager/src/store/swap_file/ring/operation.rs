//! One operation of the kernel on pages in consecutive slots.

use std::io;

use clockhand_pager_protocol::PAGE_BYTES;
use io_uring::{opcode, squeue, types};

use crate::store::swap_file::offset_of;
use crate::store::{PageAddress, Slot, WriteTicket};

/// Pages in consecutive slots that are read or written in one operation of the kernel.
pub(super) struct Operation {
    /// None for a read.
    pub(super) ticket: Option<WriteTicket>,
    pub(super) first: Slot,
    /// One for each page. The kernel may look at them until the operation has completed.
    pub(super) vectors: Vec<libc::iovec>,
    /// Pages that have been transferred.
    pub(super) done: usize,
}

// SAFETY: the addresses in `vectors` are only handed to the kernel; that the pages live is promised by the caller of
// `read` and `start_write`, whichever thread that is.
unsafe impl Send for Operation {}

/// What a completion means for an operation.
#[derive(Debug)]
pub(super) enum Progress {
    Complete,
    /// The rest is to be asked for again.
    Partial,
    Failed(io::Error),
}

impl Operation {
    pub(super) fn new(ticket: Option<WriteTicket>, pages: &[(Slot, PageAddress)]) -> Operation {
        let vector = |&(_, page): &(Slot, PageAddress)| libc::iovec {
            iov_base: page.0.as_ptr().cast(),
            iov_len: PAGE_BYTES,
        };
        Operation {
            ticket,
            first: pages[0].0,
            vectors: pages.iter().map(vector).collect(),
            done: 0,
        }
    }

    /// Where the rest begins in the file, in bytes.
    pub(super) fn offset(&self) -> u64 {
        offset_of(self.first.0 as usize + self.done)
    }

    pub(super) fn entry(&self, file: types::Fd) -> squeue::Entry {
        let rest = &self.vectors[self.done..];
        let vectors = u32::try_from(rest.len()).expect("an operation has few pages");
        match self.ticket {
            None => opcode::Readv::new(file, rest.as_ptr(), vectors).offset(self.offset()).build(),
            Some(_) => {
                opcode::Writev::new(file, rest.as_ptr(), vectors).offset(self.offset()).build()
            }
        }
    }

    /// Takes note of what the kernel returned: bytes, or an error number as a negative one. Of a page that has been
    /// transferred in part everything is asked for again, since direct operations want whole blocks.
    pub(super) fn advance(&mut self, result: i32) -> Progress {
        let rest_bytes = (self.vectors.len() - self.done) * PAGE_BYTES;
        let Ok(bytes) = usize::try_from(result) else {
            return match -result {
                libc::EINTR | libc::EAGAIN => Progress::Partial,
                error => Progress::Failed(io::Error::from_raw_os_error(error)),
            };
        };
        if bytes < PAGE_BYTES {
            let kind = match self.ticket {
                None => io::ErrorKind::UnexpectedEof,
                Some(_) => io::ErrorKind::WriteZero,
            };
            return Progress::Failed(io::Error::new(
                kind,
                format!("only {bytes} of {rest_bytes} bytes transferred"),
            ));
        }
        self.done += bytes / PAGE_BYTES;
        if self.done == self.vectors.len() { Progress::Complete } else { Progress::Partial }
    }

    pub(super) fn writes_to(&self, slot: Slot) -> bool {
        self.ticket.is_some() && self.transfers(slot)
    }

    pub(super) fn reads(&self, slot: Slot) -> bool {
        self.ticket.is_none() && self.transfers(slot)
    }

    fn transfers(&self, slot: Slot) -> bool {
        let slots = self.first.0 as usize..self.first.0 as usize + self.vectors.len();
        slots.contains(&(slot.0 as usize))
    }
}
