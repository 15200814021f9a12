//! The driver of all binary formats that are a sequence of records: finds them in big buffers, hands
//! each to the format, and counts what came of it.

use crate::decode::output::{Fault, Output};
use crate::error::TraceError;
use crate::format::Decoder;
use crate::source::Source;
use clockhand_quantity::Text;

/// A binary format: how one record becomes requests. The driver counts malformed records, finds cut
/// files and reads ahead.
pub(crate) trait RecordFormat: Send {
    /// How many bytes the record that begins here has, at least 1 and less than a buffer; `None`
    /// when there are too few bytes to tell.
    fn record_bytes(&self, start: &[u8]) -> Result<Option<usize>, Fault>;

    /// Puts the requests of one whole record into `output`.
    fn record(&mut self, record: &[u8], output: &mut Output) -> Result<(), Fault>;

    /// Returns whether the trace may end after the last record; false where the format has an end mark that did not
    /// come.
    fn may_end(&self) -> bool {
        true
    }

    /// Tells in the report what only the whole trace shows.
    fn note(&self, _output: &mut Output) {}
}

/// Twice what the source buffers, so that it reads into this buffer and not into its own first.
const BUFFER_BYTES: usize = 512 * 1024;
/// No record of any format is as long; a damaged length must not fill the memory.
pub(crate) const LONGEST_RECORD_BYTES: usize = 64 * 1024;

/// Reads a trace record by record.
struct Records<F> {
    format: F,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Where in the trace the buffer starts.
    buffer_at_byte: u64,
}

/// A decoder of the records that follow the first `header_bytes` bytes of the trace.
pub(crate) fn decoder(
    format: impl RecordFormat + 'static,
    header_bytes: usize,
    source: &mut Source,
) -> Result<Box<dyn Decoder>, TraceError> {
    let mut records =
        Records { format, buffer: vec![0; BUFFER_BYTES], start: 0, end: 0, buffer_at_byte: 0 };
    while records.end < header_bytes && records.refill(source)? {}
    records.start = header_bytes.min(records.end);
    Ok(Box::new(records))
}

impl<F: RecordFormat> Decoder for Records<F> {
    fn is_quick(&self) -> bool {
        true
    }

    fn decode(&mut self, source: &mut Source, output: &mut Output) -> Result<bool, TraceError> {
        loop {
            while let Some(length) = self.next_length(source)? {
                let record = &self.buffer[self.start..self.start + length];
                output.report.records += 1;
                let result = self.format.record(record, output);
                self.start += length;
                if let Err(fault) = result {
                    self.skip(fault, length, source, output)?;
                }
                if output.is_full() {
                    return Ok(true);
                }
            }
            if !self.refill(source)? {
                return self.finish(source, output).map(|()| false);
            }
        }
    }
}

impl<F: RecordFormat> Records<F> {
    /// The length of the next record when all of it is in the buffer.
    #[inline]
    fn next_length(&self, source: &Source) -> Result<Option<usize>, TraceError> {
        let unread = &self.buffer[self.start..self.end];
        match self.format.record_bytes(unread) {
            Ok(length) => Ok(length.filter(|&length| length <= unread.len())),
            Err(Fault::Record(reason)) => {
                let reason = format!("the record {reason}; copy or download the file again");
                Err(self.content(0, reason.into(), source))
            }
            Err(Fault::Trace(reason)) => Err(self.content(0, reason, source)),
        }
    }

    /// Moves the unfinished record to the front and reads on; false at the end of the trace.
    fn refill(&mut self, source: &mut Source) -> Result<bool, TraceError> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.buffer_at_byte += self.start as u64;
        self.end -= self.start;
        self.start = 0;
        let count = source.read(&mut self.buffer[self.end..])?;
        self.end += count;
        Ok(count > 0)
    }

    fn finish(&self, source: &Source, output: &mut Output) -> Result<(), TraceError> {
        if self.start < self.end || !self.format.may_end() {
            return Err(TraceError::CutRecord {
                file: source.file().to_owned(),
                format: output.report.format,
                byte: self.buffer_at_byte + self.end as u64,
            });
        }
        self.format.note(output);
        Ok(())
    }

    /// Counts a malformed record; a fault of the whole trace is an error at once.
    #[cold]
    fn skip(
        &self,
        fault: Fault,
        length: usize,
        source: &Source,
        output: &mut Output,
    ) -> Result<(), TraceError> {
        match fault {
            Fault::Record(reason) => {
                let byte = self.buffer_at_byte + (self.start - length) as u64;
                output.report.skip(|| format!("{reason} (at byte {byte})"));
                Ok(())
            }
            Fault::Trace(reason) => Err(self.content(length, reason, source)),
        }
    }

    /// An error about the record that begins `length` bytes before the read position.
    #[cold]
    fn content(&self, length: usize, reason: Text, source: &Source) -> TraceError {
        let byte = self.buffer_at_byte + (self.start - length) as u64;
        TraceError::Content {
            file: source.file().to_owned(),
            place: format!("byte {byte}"),
            reason,
        }
    }
}

/// The bytes of one field; the caller knows that the record is long enough.
#[inline]
pub(crate) fn field<const LENGTH: usize>(record: &[u8], at_byte: usize) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    bytes.copy_from_slice(&record[at_byte..at_byte + LENGTH]);
    bytes
}
