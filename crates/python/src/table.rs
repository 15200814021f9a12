//! Tables as Parquet: rows that are columns already go to a file in groups, and no library of tables is loaded for it.

use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, LargeStringArray, RecordBatch, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use numpy::{PyReadonlyArray1, PyUntypedArrayMethods};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

/// Rows of a group of a file: few enough to be encoded in little memory.
const GROUP_ROWS: usize = 1 << 16;
/// Rows that are handed to the encoder at once.
pub(crate) const BATCH_ROWS: usize = 1 << 13;
const ZSTD_LEVEL: i32 = 3;

/// A file of Python, whose exceptions come back as they were.
pub(crate) struct Output(pub(crate) Py<PyAny>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Python::attach(|py| {
            let written = self.0.call_method1(py, "write", (PyBytes::new(py, bytes),))?;
            written.extract(py)
        })
        .map_err(io::Error::from)
    }

    fn flush(&mut self) -> io::Result<()> {
        Python::attach(|py| self.0.call_method0(py, "flush")).map_err(io::Error::from)?;
        Ok(())
    }
}

fn failed(error: ParquetError) -> PyErr {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(error) => PyErr::from(*error),
            Err(source) => PyOSError::new_err(source.to_string()),
        },
        error => PyOSError::new_err(error.to_string()),
    }
}

/// The values of one column in some rows.
pub(crate) enum Values<'py> {
    Whole(PyReadonlyArray1<'py, u64>),
    /// NaN stands for no value.
    Decimal(PyReadonlyArray1<'py, f64>),
    /// A value or nothing for each row.
    Each(Bound<'py, PyList>),
    /// The same in all rows; as many as a batch has.
    Same(ArrayRef),
}

impl<'py> Values<'py> {
    fn of(values: &Bound<'py, PyAny>, kind: &DataType) -> PyResult<Self> {
        if let Ok(list) = values.cast::<PyList>() {
            return Ok(Values::Each(list.clone()));
        }
        // To ask whether something is an array loads NumPy.
        if values.hasattr("dtype")? {
            return Ok(match kind {
                DataType::UInt64 => Values::Whole(values.extract()?),
                _ => Values::Decimal(values.extract()?),
            });
        }
        let same = vec![values.clone(); BATCH_ROWS];
        Ok(Values::Same(array(kind, same.into_iter())?))
    }

    /// The number of rows; any number if all values are the same.
    pub(crate) fn rows(&self) -> Option<usize> {
        match self {
            Values::Whole(values) => Some(values.len()),
            Values::Decimal(values) => Some(values.len()),
            Values::Each(values) => Some(values.len()),
            Values::Same(_) => None,
        }
    }

    pub(crate) fn part(&self, kind: &DataType, rows: Range<usize>) -> PyResult<ArrayRef> {
        Ok(match self {
            Values::Whole(values) => Arc::new(UInt64Array::from(values.as_slice()?[rows].to_vec())),
            Values::Decimal(values) => {
                let known = |&value: &f64| (!value.is_nan()).then_some(value);
                Arc::new(values.as_slice()?[rows].iter().map(known).collect::<Float64Array>())
            }
            Values::Each(values) => {
                let values: Vec<_> =
                    rows.map(|row| values.get_item(row)).collect::<Result<_, _>>()?;
                array(kind, values.into_iter())?
            }
            Values::Same(values) => values.slice(0, rows.len()),
        })
    }
}

/// Values of Python, or `None` for no value, as an array.
fn array<'py>(
    kind: &DataType,
    values: impl Iterator<Item = Bound<'py, PyAny>>,
) -> PyResult<ArrayRef> {
    Ok(match kind {
        DataType::UInt64 => Arc::new(UInt64Array::from(extracted::<u64>(values)?)),
        DataType::Float64 => Arc::new(Float64Array::from(extracted::<f64>(values)?)),
        DataType::Boolean => Arc::new(BooleanArray::from(extracted::<bool>(values)?)),
        _ => Arc::new(LargeStringArray::from(extracted::<String>(values)?)),
    })
}

fn extracted<'py, T>(values: impl Iterator<Item = Bound<'py, PyAny>>) -> PyResult<Vec<Option<T>>>
where
    T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
{
    values.map(|value| value.extract::<Option<T>>()).collect()
}

pub(crate) fn field((name, kind): (String, String)) -> PyResult<Field> {
    let kind = match kind.as_str() {
        "text" => DataType::LargeUtf8,
        "u64" => DataType::UInt64,
        "f64" => DataType::Float64,
        "bool" => DataType::Boolean,
        _ => return Err(PyValueError::new_err(format!("columns of {kind} are unknown"))),
    };
    Ok(Field::new(name, kind, true))
}

/// Only of texts there are few different ones; whole numbers mostly grow or fall from row to row.
fn properties(schema: &Schema) -> WriterProperties {
    let level = ZstdLevel::try_new(ZSTD_LEVEL).expect("it is a zstd level");
    let mut properties = WriterProperties::builder();
    for field in schema.fields() {
        let column = ColumnPath::from(field.name().as_str());
        let is_text = *field.data_type() == DataType::LargeUtf8;
        properties = properties.set_column_dictionary_enabled(column.clone(), is_text);
        if *field.data_type() == DataType::UInt64 {
            properties = properties.set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
        }
    }
    properties
        .set_compression(Compression::ZSTD(level))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .build()
}

/// The columns of some rows, and how many rows there are.
pub(crate) fn columns_of<'py>(
    part: &Bound<'py, PyDict>,
    fields: &[Arc<Field>],
) -> PyResult<(Vec<Values<'py>>, usize)> {
    let column = |field: &Arc<Field>| {
        let values = part.get_item(field.name())?;
        let values = values.ok_or_else(|| PyValueError::new_err(field.name().clone()))?;
        Values::of(&values, field.data_type())
    };
    let columns: Vec<_> = fields.iter().map(column).collect::<Result<_, _>>()?;
    let rows = columns.iter().find_map(Values::rows).unwrap_or(1);
    if let Some(others) = columns.iter().filter_map(Values::rows).find(|&it| it != rows) {
        let sentence = format!("columns of {rows} and of {others} rows");
        return Err(PyValueError::new_err(sentence));
    }
    Ok((columns, rows))
}

/// Writes a table to a file. `kinds` are the names and kinds of its columns in order; each of `parts` has for every
/// column an array or a list of values, or the value that all its rows have.
#[pyfunction]
pub(crate) fn write_parquet(
    py: Python<'_>,
    file: Py<PyAny>,
    kinds: Vec<(String, String)>,
    parts: Vec<Bound<'_, PyDict>>,
) -> PyResult<()> {
    let fields: Vec<Field> = kinds.into_iter().map(field).collect::<Result<_, _>>()?;
    let schema = Arc::new(Schema::new(fields));
    let output = Output(file);
    let mut writer =
        ArrowWriter::try_new(output, schema.clone(), Some(properties(&schema))).map_err(failed)?;
    for part in parts {
        let (columns, rows) = columns_of(&part, schema.fields())?;
        for first in (0..rows).step_by(BATCH_ROWS) {
            py.check_signals()?;
            let range = first..rows.min(first + BATCH_ROWS);
            let named = columns.iter().zip(schema.fields());
            let arrays = named.map(|(values, field)| values.part(field.data_type(), range.clone()));
            let arrays = arrays.collect::<Result<_, _>>()?;
            let batch = RecordBatch::try_new(schema.clone(), arrays)
                .map_err(|error| PyValueError::new_err(error.to_string()))?;
            writer.write(&batch).map_err(failed)?;
        }
    }
    writer.close().map_err(failed)?;
    Ok(())
}
