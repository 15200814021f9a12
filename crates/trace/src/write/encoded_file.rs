//! An encoded trace on its way into its file.

use std::path::Path;

use crate::error::TraceError;
use crate::write::sink::{Compression, Sink};
use crate::write::unfinished::Unfinished;

/// The number of bytes that are encoded before they are written.
const BUFFER_BYTES: usize = 256 * 1024;

/// A file that is written in large pieces, and stands at its place once it is complete.
pub(crate) struct EncodedFile {
    unfinished: Unfinished,
    sink: Sink,
    /// What is encoded and not yet written.
    pub(crate) buffer: Vec<u8>,
    written_bytes: u64,
}

impl EncodedFile {
    pub(crate) fn create(path: &Path) -> Result<Self, TraceError> {
        let (file, unfinished) = Unfinished::create(path)?;
        let sink = Sink::new(file, Compression::of(path).0)
            .map_err(|source| unfinished.failed(0, source))?;
        let buffer = Vec::with_capacity(BUFFER_BYTES);
        Ok(Self { unfinished, sink, buffer, written_bytes: 0 })
    }

    /// As the user named it.
    pub(crate) fn name(&self) -> String {
        self.unfinished.path().display().to_string()
    }

    /// Writes what is encoded, if it is enough for that.
    #[inline]
    pub(crate) fn write_if_full(&mut self) -> Result<(), TraceError> {
        if self.buffer.len() >= BUFFER_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        let written = self.sink.write_all(&self.buffer);
        written.map_err(|source| self.unfinished.failed(self.written_bytes, source))?;
        self.written_bytes += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Writes the rest, and puts the file at its place.
    pub(crate) fn finish(mut self) -> Result<(), TraceError> {
        self.flush()?;
        let Self { sink, unfinished, written_bytes, .. } = self;
        let file = sink.finish().map_err(|source| unfinished.failed(written_bytes, source))?;
        unfinished.finish(&file, written_bytes)
    }
}
