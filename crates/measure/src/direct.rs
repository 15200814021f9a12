//! Requests past the page cache: one at a time, through the kernel's ring.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

use io_uring::{IoUring, opcode, squeue, types};

use crate::MeasureError;
use crate::region::Region;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    Write,
}

/// A ring of one request.
pub(crate) struct Ring(IoUring);

impl Ring {
    pub(crate) fn new() -> Result<Self, MeasureError> {
        let ring = IoUring::new(2).map_err(|error| {
            MeasureError::Failed(format!(
                "io_uring cannot be used: {error}; allow it (sysctl kernel.io_uring_disabled=0, the container's \
                 seccomp profile) and measure again"
            ))
        })?;
        Ok(Ring(ring))
    }

    /// One request of `bytes` at `offset`, from or to the start of `buffer`; returns when it is done.
    pub(crate) fn request(
        &mut self,
        file: &File,
        path: &Path,
        direction: Direction,
        offset: u64,
        buffer: &mut Region,
        bytes: usize,
    ) -> Result<(), MeasureError> {
        assert!(bytes <= buffer.bytes(), "the buffer is as large as a request");
        let descriptor = types::Fd(file.as_raw_fd());
        let entry: squeue::Entry = match direction {
            Direction::Read => {
                opcode::Read::new(descriptor, buffer.start(), bytes as u32).offset(offset).build()
            }
            Direction::Write => {
                opcode::Write::new(descriptor, buffer.start(), bytes as u32).offset(offset).build()
            }
        };
        // SAFETY: buffer and file are borrowed until the request is done, which is awaited below on every path that
        // submitted it.
        unsafe { self.0.submission().push(&entry) }.expect("the ring has room for one request");
        let what = match direction {
            Direction::Read => "cannot be read",
            Direction::Write => "cannot be written",
        };
        let done = loop {
            match self.0.submit_and_wait(1) {
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(MeasureError::file(path, what, error)),
            }
            if let Some(completion) = self.0.completion().next() {
                break completion.result();
            }
        };
        match usize::try_from(done) {
            Ok(done) if done == bytes => Ok(()),
            Ok(done) => Err(MeasureError::Failed(format!(
                "{}: {what} at byte {offset}: {done} of {bytes} bytes; has another program changed the file?",
                path.display()
            ))),
            Err(_) => Err(MeasureError::file(path, what, std::io::Error::from_raw_os_error(-done))),
        }
    }
}
