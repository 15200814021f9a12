//! Which columns of a table are read, and what they may hold.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_schema::{DataType, FieldRef, Fields, Schema, SchemaRef};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::errors::ParquetError;

use crate::decode::columns::{Columns, TimeColumn};
use crate::error::TraceError;
use crate::report::ReadReport;
use crate::source::Source;

/// The columns that only a table of events has, by index.
#[derive(Clone, Copy)]
pub(super) struct EventColumns {
    pub(super) by: usize,
    pub(super) process: Option<usize>,
}

impl EventColumns {
    /// Finds them, which so far count as ignored.
    pub(super) fn find(schema: &SchemaRef, report: &mut ReadReport) -> Option<Self> {
        let index = |name: &str| {
            schema.fields().iter().position(|field| field.name().eq_ignore_ascii_case(name))
        };
        let columns = Self { by: index("by")?, process: index("process") };
        let is_other = |name: &String| !["by", "process"].contains(&&*name.to_ascii_lowercase());
        report.ignored_columns.retain(is_other);
        Some(columns)
    }
}

type TypeTest = fn(&DataType) -> bool;

/// Finds the columns and refuses types that are not read, before any row is.
pub(super) fn find_columns(
    schema: &SchemaRef,
    source: &Source,
    report: &mut ReadReport,
) -> Result<Columns, TraceError> {
    let refused = |place: String, reason: String| TraceError::Content {
        file: source.file().to_owned(),
        place,
        reason: reason.into(),
    };
    let names = schema.fields().iter().map(|field| Cow::Borrowed(field.name().as_str()));
    let mut columns =
        Columns::find(names, report).map_err(|reason| refused("schema".to_owned(), reason))?;
    if let Some(TimeColumn { index, unit_ns: None }) = columns.time
        && schema.field(index).data_type().is_integer()
    {
        columns.ignore_time(schema.field(index).name(), report);
    }
    let checks: [(_, TypeTest, _); 6] = [
        (Some(columns.op), is_text, "strings R and W"),
        (Some(columns.address), DataType::is_integer, "integers"),
        (columns.size, DataType::is_integer, "integers"),
        (columns.time.map(|time| time.index), is_time, "integers, timestamps or durations"),
        (columns.stream, is_stream, "integers or strings"),
        (columns.class, is_text, "strings I, R, A and W"),
    ];
    for (index, fits, wanted) in checks {
        let Some(field) = index.map(|index| schema.field(index)) else { continue };
        if !fits(field.data_type()) {
            let reason =
                format!("it holds {} and must hold {wanted}; convert it", field.data_type());
            return Err(refused(format!("column `{}`", field.name()), reason));
        }
    }
    Ok(columns)
}

fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_text(values),
        _ => matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View),
    }
}

fn is_stream(data_type: &DataType) -> bool {
    data_type.is_integer() || is_text(data_type)
}

fn is_time(data_type: &DataType) -> bool {
    data_type.is_integer() || matches!(data_type, DataType::Timestamp(..) | DataType::Duration(_))
}

/// The same index with plain strings as views into their pages, so that a long string of a dictionary is in memory once
/// and not once per row.
pub(super) fn with_views(index: ArrowReaderMetadata) -> Result<ArrowReaderMetadata, ParquetError> {
    let is_string =
        |field: &FieldRef| matches!(field.data_type(), DataType::Utf8 | DataType::LargeUtf8);
    let schema = index.schema();
    if !schema.fields().iter().any(is_string) {
        return Ok(index);
    }
    let view = |field: &FieldRef| {
        if !is_string(field) {
            return field.clone();
        }
        Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8View))
    };
    let fields: Fields = schema.fields().iter().map(view).collect();
    let schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
    let options = ArrowReaderOptions::new().with_schema(schema);
    ArrowReaderMetadata::try_new(index.metadata().clone(), options)
}
