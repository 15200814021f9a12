//! The cells of one column of a table, as numbers, times and words.

use std::borrow::Cow;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType,
    DurationSecondType, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, SchemaRef, TimeUnit};

use crate::decode::columns::Streams;
use crate::decode::output::Fault;
use crate::decode::scan;
use crate::processor::view::RecordClass;
use crate::report::ReadReport;
use crate::request::Op;
use crate::source::sample::quoted;

/// A column of a batch, by its place in the schema.
pub(super) fn column<'a>(
    schema: &'a SchemaRef,
    batch: &'a RecordBatch,
    index: usize,
) -> Column<'a> {
    let name = schema.field(index).name();
    let values = batch.column_by_name(name).expect("the projection holds every column in use");
    Column { name, values: values.as_ref() }
}

pub(super) fn fault_text(fault: Fault) -> Cow<'static, str> {
    match fault {
        Fault::Record(reason) => reason,
        Fault::Trace(reason) => Cow::Owned(reason.to_string()),
    }
}

/// A value that no request can have; the reason is the end of a sentence that begins with the
/// column.
pub(super) struct BadCell {
    pub(super) column: String,
    /// Within the batch.
    pub(super) row: usize,
    pub(super) reason: Cow<'static, str>,
}

/// One column of a batch.
pub(super) struct Column<'a> {
    name: &'a str,
    values: &'a dyn Array,
}

impl<'a> Column<'a> {
    pub(super) fn bad(&self, row: usize, reason: impl Into<Cow<'static, str>>) -> BadCell {
        BadCell { column: self.name.to_owned(), row, reason: reason.into() }
    }

    fn require_no_null(&self) -> Result<(), BadCell> {
        if !self.values.is_nullable() {
            return Ok(());
        }
        let nulls = self.values.logical_nulls();
        match nulls.and_then(|nulls| (0..nulls.len()).find(|&row| nulls.is_null(row))) {
            Some(row) => Err(self.bad(row, "is null")),
            None => Ok(()),
        }
    }

    pub(super) fn integers(&self) -> Result<Cow<'a, [u64]>, BadCell> {
        match self.values.data_type() {
            DataType::UInt8 => self.widened::<UInt8Type>(),
            DataType::UInt16 => self.widened::<UInt16Type>(),
            DataType::UInt32 => self.widened::<UInt32Type>(),
            DataType::UInt64 => {
                self.require_no_null()?;
                Ok(Cow::Borrowed(self.values.as_primitive::<UInt64Type>().values()))
            }
            DataType::Int8 => self.widened::<Int8Type>(),
            DataType::Int16 => self.widened::<Int16Type>(),
            DataType::Int32 => self.widened::<Int32Type>(),
            DataType::Int64 => self.widened::<Int64Type>(),
            DataType::Timestamp(TimeUnit::Second, _) => self.widened::<TimestampSecondType>(),
            DataType::Timestamp(TimeUnit::Millisecond, _) => {
                self.widened::<TimestampMillisecondType>()
            }
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                self.widened::<TimestampMicrosecondType>()
            }
            DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                self.widened::<TimestampNanosecondType>()
            }
            DataType::Duration(TimeUnit::Second) => self.widened::<DurationSecondType>(),
            DataType::Duration(TimeUnit::Millisecond) => self.widened::<DurationMillisecondType>(),
            DataType::Duration(TimeUnit::Microsecond) => self.widened::<DurationMicrosecondType>(),
            DataType::Duration(TimeUnit::Nanosecond) => self.widened::<DurationNanosecondType>(),
            other => Err(self.bad(0, format!("holds {other}, which is no integer"))),
        }
    }

    fn widened<T: ArrowPrimitiveType<Native: TryInto<u64>>>(
        &self,
    ) -> Result<Cow<'a, [u64]>, BadCell> {
        self.require_no_null()?;
        let values = self.values.as_primitive::<T>().values();
        Ok(Cow::Owned(self.converted(values, "is negative")?))
    }

    pub(super) fn narrow_integers(&self) -> Result<Cow<'a, [u32]>, BadCell> {
        if let Some(values) = self.values.as_primitive_opt::<UInt32Type>() {
            self.require_no_null()?;
            return Ok(Cow::Borrowed(values.values()));
        }
        Ok(Cow::Owned(self.converted(&self.integers()?, "is above 4294967295")?))
    }

    /// The values as another type; `reason` is why one may not fit.
    fn converted<T: Copy + TryInto<U>, U: Default>(
        &self,
        values: &[T],
        reason: &'static str,
    ) -> Result<Vec<U>, BadCell> {
        let mut bad = None;
        let convert = |(row, &value): (usize, &T)| {
            value.try_into().unwrap_or_else(|_| {
                bad = bad.or(Some(row));
                U::default()
            })
        };
        let converted = values.iter().enumerate().map(convert).collect();
        match bad {
            None => Ok(converted),
            Some(row) => Err(self.bad(row, reason)),
        }
    }

    /// The type tells the unit of timestamps and durations, the name that of integers.
    pub(super) fn times_ns(&self, unit_ns: Option<u64>) -> Result<Cow<'a, [u64]>, BadCell> {
        let unit_ns = match self.values.data_type() {
            DataType::Timestamp(unit, _) | DataType::Duration(unit) => match unit {
                TimeUnit::Second => 1_000_000_000,
                TimeUnit::Millisecond => 1_000_000,
                TimeUnit::Microsecond => 1_000,
                TimeUnit::Nanosecond => 1,
            },
            _ => {
                unit_ns.expect("integer times without a unit are ignored when the table is opened")
            }
        };
        let values = self.integers()?;
        if unit_ns == 1 {
            return Ok(values);
        }
        let scaled = |(row, value): (usize, &u64)| {
            value
                .checked_mul(unit_ns)
                .ok_or_else(|| self.bad(row, "is more nanoseconds than 64 bits hold"))
        };
        values.iter().enumerate().map(scaled).collect()
    }

    /// As [`Column::times_ns`]; a null is not a time.
    pub(super) fn optional_times_ns(
        &self,
        unit_ns: Option<u64>,
    ) -> Result<Vec<Option<u64>>, BadCell> {
        let Some(nulls) = self.values.logical_nulls() else {
            return Ok(self.times_ns(unit_ns)?.iter().copied().map(Some).collect());
        };
        let valid: Vec<bool> = nulls.iter().collect();
        let filled = arrow_array::UInt64Array::from_iter_values(
            self.values
                .as_primitive_opt::<UInt64Type>()
                .ok_or_else(|| self.bad(0, "has nulls, which only 64-bit unsigned integers may"))?
                .values()
                .iter()
                .zip(&valid)
                .map(|(&time, &is_valid)| if is_valid { time } else { 0 }),
        );
        let times = Column { name: self.name, values: &filled }.times_ns(unit_ns)?;
        let times = times.iter().zip(valid);
        Ok(times.map(|(&time, is_valid)| is_valid.then_some(time)).collect())
    }

    pub(super) fn texts(&self) -> Result<Vec<&'a str>, BadCell> {
        self.require_no_null()?;
        Ok(texts(self.values))
    }

    pub(super) fn ops(&self) -> Result<Vec<Op>, BadCell> {
        self.words(|text| {
            scan::op(text.as_bytes()).ok_or_else(|| {
                format!("is {}, none of R, W, read, write", quoted(text.as_bytes())).into()
            })
        })
    }

    pub(super) fn classes(&self) -> Result<Vec<RecordClass>, BadCell> {
        self.words(|text| {
            RecordClass::of_letter(text)
                .ok_or_else(|| format!("is {}, none of I, R, A, W", quoted(text.as_bytes())).into())
        })
    }

    pub(super) fn streams(
        &self,
        streams: &mut Streams,
        report: &mut ReadReport,
    ) -> Result<Cow<'a, [u32]>, BadCell> {
        if self.values.data_type().is_integer() {
            return self.narrow_integers();
        }
        let number = |text: &str| streams.number(text.as_bytes(), report).map_err(fault_text);
        Ok(Cow::Owned(self.words(number)?))
    }

    /// The meaning of each cell. A word of a dictionary is parsed once, where it first stands in a cell; the reason why one has no
    /// meaning is as in [`BadCell`].
    fn words<T: Copy>(
        &self,
        mut parse: impl FnMut(&str) -> Result<T, Cow<'static, str>>,
    ) -> Result<Vec<T>, BadCell> {
        self.require_no_null()?;
        let mut parsed = Vec::with_capacity(self.values.len());
        let Some(dictionary) = self.values.as_any_dictionary_opt() else {
            for (row, text) in texts(self.values).into_iter().enumerate() {
                parsed.push(parse(text).map_err(|reason| self.bad(row, reason))?);
            }
            return Ok(parsed);
        };
        let words = texts(dictionary.values());
        let mut known = vec![None; words.len()];
        for (row, key) in dictionary.normalized_keys().into_iter().enumerate() {
            let value = match known[key] {
                Some(value) => value,
                None => parse(words[key]).map_err(|reason| self.bad(row, reason))?,
            };
            known[key] = Some(value);
            parsed.push(value);
        }
        Ok(parsed)
    }
}

/// The strings of a column, plain or through a dictionary; empty where a dictionary holds an unused
/// null.
fn texts(values: &dyn Array) -> Vec<&str> {
    match values.data_type() {
        DataType::Utf8 => values.as_string::<i32>().iter().map(Option::unwrap_or_default).collect(),
        DataType::LargeUtf8 => {
            values.as_string::<i64>().iter().map(Option::unwrap_or_default).collect()
        }
        DataType::Utf8View => {
            values.as_string_view().iter().map(Option::unwrap_or_default).collect()
        }
        _ => {
            let dictionary = values.as_any_dictionary();
            let words = texts(dictionary.values());
            dictionary.normalized_keys().into_iter().map(|key| words[key]).collect()
        }
    }
}
