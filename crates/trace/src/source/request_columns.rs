//! Requests that are in memory already, column by column, such as arrays of a notebook.

use crate::decode::output::BATCH_REQUESTS;
use crate::error::TraceError;
use crate::reader::Reader;
use crate::report::ReadReport;
use crate::request::{Op, Request};
use crate::request_digest::RequestDigest;

/// The columns of a trace in memory; row `i` of each belongs to request `i`.
#[derive(Clone, Copy, Debug)]
pub struct RequestColumns<'a> {
    /// Whether each request writes.
    pub is_write: &'a [bool],
    /// First byte of each request.
    pub addresses: &'a [u64],
    /// Bytes of each request; 1 without the column.
    pub sizes_bytes: Option<&'a [u32]>,
    /// Stream of each request; 0 without the column.
    pub streams: Option<&'a [u32]>,
    /// Time of each request in nanoseconds; no times without the column.
    pub times_ns: Option<&'a [u64]>,
}

/// A [`Reader`] of columns in memory.
///
/// The digest in its report is the SHA-256 of this encoding, so that equal columns have equal digests
/// everywhere. First come the bytes `clockhand requests 1
/// ` and one byte, 1 with times and 0 without. Then follow for each request `R` or `W`, the address
/// (8 bytes), the size (4 bytes), the stream (4 bytes) and the time, if it has one (8 bytes). Numbers
/// are little-endian; rows whose size is 0 are part of it. A
/// [`SyntheticReader`](crate::SyntheticReader) has the same digest.
pub struct ColumnReader<'a> {
    columns: RequestColumns<'a>,
    next_row: usize,
    digest: RequestDigest,
    report: ReadReport,
}

impl<'a> ColumnReader<'a> {
    /// A reader from the first row on.
    ///
    /// # Errors
    /// [`TraceError::ColumnLength`] when the columns are not of one length.
    pub fn new(columns: RequestColumns<'a>) -> Result<Self, TraceError> {
        let expected_rows = columns.addresses.len();
        for (column, rows) in [
            ("is_write", Some(columns.is_write.len())),
            ("sizes_bytes", columns.sizes_bytes.map(<[u32]>::len)),
            ("streams", columns.streams.map(<[u32]>::len)),
            ("times_ns", columns.times_ns.map(<[u64]>::len)),
        ] {
            if let Some(rows) = rows.filter(|&rows| rows != expected_rows) {
                return Err(TraceError::ColumnLength { column, rows, expected_rows });
            }
        }
        let digest = RequestDigest::new(columns.times_ns.is_some());
        let report = ReadReport { format: Self::FORMAT, ..ReadReport::default() };
        Ok(Self { columns, next_row: 0, digest, report })
    }

    /// What the report calls the format.
    const FORMAT: &'static str = "columns";

    fn request(&self, row: usize) -> Request {
        Request {
            op: if self.columns.is_write[row] { Op::Write } else { Op::Read },
            address: self.columns.addresses[row],
            bytes: self.columns.sizes_bytes.map_or(1, |sizes| sizes[row]),
            stream: self.columns.streams.map_or(0, |streams| streams[row]),
            time_ns: self.columns.times_ns.map(|times| times[row]),
            class: None,
        }
    }

    fn take_row(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        let request = self.request(self.next_row);
        self.digest.push(&request);
        match request.bytes.checked_sub(1) {
            None => self.report.zero_size_requests += 1,
            Some(to_last_byte)
                if request.address.checked_add(u64::from(to_last_byte)).is_none() =>
            {
                return Err(TraceError::Content {
                    file: Self::FORMAT.to_owned(),
                    place: format!("row {} (the first is row 0)", self.next_row),
                    reason: "the request runs past the end of the 64-bit address space; correct its address or size".into(),
                });
            }
            Some(_) => batch.push(request),
        }
        self.next_row += 1;
        self.report.records += 1;
        Ok(())
    }

    fn end(&mut self) -> Result<(), TraceError> {
        self.report.sha256 = Some(self.digest.clone().finish());
        if self.report.requests > 0 {
            return Ok(());
        }
        Err(TraceError::NoRequest {
            file: Self::FORMAT.to_owned(),
            format: Self::FORMAT,
            records: self.report.records,
            zero_size: self.report.zero_size_requests,
            left_out: String::new(),
        })
    }
}

impl Reader for ColumnReader<'_> {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<bool, TraceError> {
        batch.clear();
        while batch.len() < BATCH_REQUESTS && self.next_row < self.columns.addresses.len() {
            self.take_row(batch)?;
        }
        self.report.requests += batch.len() as u64;
        if self.next_row == self.columns.addresses.len() && self.report.sha256.is_none() {
            self.end()?;
        }
        Ok(!batch.is_empty())
    }

    fn report(&self) -> &ReadReport {
        &self.report
    }
}
