//! The memory that a part of a dataset needs, before its rows are read: a few kilobytes may stand for any number of
//! rows.

use std::fs::File;
use std::path::PathBuf;

use clockhand_trace::unpacked_bytes;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaDataReader};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Bytes of a value in a table beside its content: a text has its place and length, a list its end.
const VALUE_BYTES: u64 = 16;

/// How many bytes the rows of a Parquet file take at most in memory, as its index and the headers of its pages say.
///
/// `ValueError` if the file is no Parquet file, or its pages cannot be followed.
#[pyfunction]
pub(crate) fn parquet_demand(py: Python<'_>, path: PathBuf) -> PyResult<u64> {
    let file = File::open(&path)?;
    let bytes = std::fs::read(&path)?;
    py.detach(|| demand(&file, &bytes)).map_err(PyValueError::new_err)
}

fn demand(file: &File, bytes: &[u8]) -> Result<u64, String> {
    let index = ParquetMetaDataReader::new().parse_and_finish(file);
    let index = index.map_err(|error| error.to_string())?;
    let mut total = 0_u64;
    for column in index.row_groups().iter().flat_map(|group| group.columns()) {
        let unpacked = chunk(bytes, column).and_then(unpacked_bytes);
        let unpacked = unpacked.ok_or("pages that do not follow each other")?;
        let stated = u64::try_from(column.uncompressed_size()).unwrap_or(u64::MAX);
        let values = u64::try_from(column.num_values()).unwrap_or(u64::MAX);
        let taken = unpacked.max(stated).saturating_add(values.saturating_mul(VALUE_BYTES));
        total = total.saturating_add(taken);
    }
    Ok(total)
}

/// The pages of one column of a row group.
fn chunk<'a>(bytes: &'a [u8], column: &ColumnChunkMetaData) -> Option<&'a [u8]> {
    let first = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
    let start = usize::try_from(first.min(column.data_page_offset())).ok()?;
    let length = usize::try_from(column.compressed_size()).ok()?;
    bytes.get(start..start.checked_add(length)?)
}
