//! Reading whole traces from bytes, for the other tests.

use std::io::Write;
use std::path::{Path, PathBuf};

use clockhand_trace::{OpenOptions, ReadReport, Reader, Request, TraceError, TraceReader};
use tempfile::NamedTempFile;

/// A file of these bytes, removed when dropped.
pub fn file_of(bytes: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    file.flush().unwrap();
    file
}

/// All requests of a reader, batch by batch, and its report.
pub fn drain(reader: &mut dyn Reader) -> Result<(Vec<Request>, ReadReport), TraceError> {
    let (mut requests, mut batch) = (Vec::new(), Vec::new());
    while reader.next_batch(&mut batch)? {
        assert!(!batch.is_empty());
        requests.extend_from_slice(&batch);
    }
    assert!(batch.is_empty() && !reader.next_batch(&mut batch)?, "the end stays the end");
    assert_eq!(reader.report().requests, requests.len() as u64);
    Ok((requests, reader.report().clone()))
}

/// Reads a file, in a named format or in the one that is detected; requests of unknown operation are
/// taken as reads.
pub fn read_file(
    path: &Path,
    format: Option<&str>,
) -> Result<(Vec<Request>, ReadReport), TraceError> {
    let format = format.map(str::to_owned);
    let options = OpenOptions { format, assume_reads: true, ..OpenOptions::default() };
    drain(&mut TraceReader::open(path, &options)?)
}

/// Reads bytes through a file.
pub fn read_bytes(
    bytes: &[u8],
    format: Option<&str>,
) -> Result<(Vec<Request>, ReadReport), TraceError> {
    read_file(file_of(bytes).path(), format)
}

/// The message of the error that reading these bytes ends with.
pub fn message_of(bytes: &[u8], format: Option<&str>) -> String {
    match read_bytes(bytes, format) {
        Ok((requests, _)) => panic!("{} requests instead of an error", requests.len()),
        Err(error) => error.to_string(),
    }
}

/// The trace excerpts that stand beside these tests: format name and path.
pub fn excerpts() -> Vec<(String, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/excerpts");
    let mut found: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            !path.ends_with("README.md") && !path.to_str().unwrap().ends_with(".expected.csv")
        })
        .map(|path| {
            (
                path.file_name().unwrap().to_str().unwrap().split('.').next().unwrap().to_owned(),
                path,
            )
        })
        .collect();
    found.sort();
    found
}

/// Formats whose columns are those of another too, with another meaning: content alone cannot tell
/// them.
const SHARED_COLUMNS: [&str; 2] = ["heimdall-raw", "mqsim"];

/// The name that an excerpt of this format must be read by; none where the content tells it.
pub fn needed_name(format: &str) -> Option<&str> {
    SHARED_COLUMNS.contains(&format).then_some(format)
}
