//! Tables as JSON and CSV, row by row: however many rows there are, little of them is in memory as text.
//!
//! JSON is laid out as Python's library does it with an indent of 1, and CSV as Polars does it, so that who writes rows
//! shows in no byte.

use std::fmt::Write as _;
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::table::{BATCH_ROWS, Output, Values, columns_of, field};

/// Bytes that are handed to Python at once.
const BUFFER_BYTES: usize = 1 << 18;

/// The layout of a table as text.
trait Layout {
    /// The smallest number that is written without an exponent.
    const LEAST_PLAIN: f64;
    const NULL: &'static str;
    const INFINITY: &'static str;
    /// Digits that an exponent has at least.
    const EXPONENT_DIGITS: usize;

    /// What stands before all rows.
    fn head(fields: &[Arc<Field>]) -> String;
    /// What stands before each value of a row.
    fn before(fields: &[Arc<Field>]) -> Vec<String>;
    /// What stands before a row.
    fn before_row(is_first: bool) -> &'static str;
    const AFTER_ROW: &'static str;
    /// What stands behind all rows.
    fn tail(has_rows: bool) -> &'static str;
    fn push_text(into: &mut String, text: &str);

    fn push_number(into: &mut String, number: f64) {
        let size = number.abs();
        if size.is_nan() {
            into.push_str("NaN");
        } else if size.is_infinite() {
            into.push_str(if number < 0.0 { "-" } else { "" });
            into.push_str(Self::INFINITY);
        } else if size == 0.0 || (1e-4..1e16).contains(&size) {
            into.push_str(zmij::Buffer::new().format_finite(number));
        } else if (Self::LEAST_PLAIN..1e-4).contains(&size) {
            let _ = write!(into, "{number}");
        } else {
            let text = format!("{number:e}");
            let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let below = exponent.strip_prefix('-');
            let sign = if below.is_some() { '-' } else { '+' };
            let (exponent, width) = (below.unwrap_or(exponent), Self::EXPONENT_DIGITS);
            let _ = write!(into, "{digits}e{sign}{exponent:0>width$}");
        }
    }
}

struct Json;

impl Layout for Json {
    const LEAST_PLAIN: f64 = 1e-4;
    const NULL: &'static str = "null";
    const INFINITY: &'static str = "Infinity";
    const EXPONENT_DIGITS: usize = 2;
    const AFTER_ROW: &'static str = "\n }";

    fn head(_: &[Arc<Field>]) -> String {
        "[".to_owned()
    }

    fn before(fields: &[Arc<Field>]) -> Vec<String> {
        let named = |(place, field): (usize, &Arc<Field>)| {
            let mut before = if place == 0 { "\n  " } else { ",\n  " }.to_owned();
            Self::push_text(&mut before, field.name());
            before + ": "
        };
        fields.iter().enumerate().map(named).collect()
    }

    fn before_row(is_first: bool) -> &'static str {
        if is_first { "\n {" } else { ",\n {" }
    }

    fn tail(has_rows: bool) -> &'static str {
        if has_rows { "\n]\n" } else { "]\n" }
    }

    fn push_text(into: &mut String, text: &str) {
        into.push('"');
        for character in text.chars() {
            match character {
                '"' => into.push_str("\\\""),
                '\\' => into.push_str("\\\\"),
                '\n' => into.push_str("\\n"),
                '\r' => into.push_str("\\r"),
                '\t' => into.push_str("\\t"),
                '\u{8}' => into.push_str("\\b"),
                '\u{c}' => into.push_str("\\f"),
                control if control < ' ' => {
                    let _ = write!(into, "\\u{:04x}", u32::from(control));
                }
                other => into.push(other),
            }
        }
        into.push('"');
    }
}

struct Csv;

impl Layout for Csv {
    const LEAST_PLAIN: f64 = 1e-5;
    const NULL: &'static str = "";
    const INFINITY: &'static str = "inf";
    const EXPONENT_DIGITS: usize = 1;
    const AFTER_ROW: &'static str = "\n";

    fn head(fields: &[Arc<Field>]) -> String {
        let mut head = String::new();
        for (place, field) in fields.iter().enumerate() {
            head.push_str(if place == 0 { "" } else { "," });
            Self::push_text(&mut head, field.name());
        }
        head + "\n"
    }

    fn before(fields: &[Arc<Field>]) -> Vec<String> {
        (0..fields.len()).map(|place| if place == 0 { "" } else { "," }.to_owned()).collect()
    }

    fn before_row(_: bool) -> &'static str {
        ""
    }

    fn tail(_: bool) -> &'static str {
        ""
    }

    fn push_text(into: &mut String, text: &str) {
        if !text.is_empty() && !text.contains(['"', ',', '\n', '\r']) {
            return into.push_str(text);
        }
        into.push('"');
        into.push_str(&text.replace('"', "\"\""));
        into.push('"');
    }
}

/// The values of a column in some rows that differ, as far as is known.
enum Texts<'a> {
    Whole(&'a [u64]),
    Decimal(&'a [f64]),
    Each(ArrayRef),
}

impl Texts<'_> {
    #[inline]
    fn push<L: Layout>(&self, into: &mut String, row: usize) {
        match self {
            Texts::Whole(values) => push_whole(into, values[row]),
            // NaN in an array stands for no value.
            Texts::Decimal(values) if values[row].is_nan() => into.push_str(L::NULL),
            Texts::Decimal(values) => L::push_number(into, values[row]),
            Texts::Each(values) => push::<L>(into, values, row),
        }
    }
}

/// Some rows: what stands before the values of each column that differ, and behind the last one. It holds the values that
/// are the same in all rows, with their names.
struct Pieces<'a> {
    columns: Vec<(String, Texts<'a>)>,
    last: String,
}

impl<'a> Pieces<'a> {
    fn of<L: Layout>(
        columns: &'a [Values<'_>],
        fields: &[Arc<Field>],
        rows: &Range<usize>,
    ) -> PyResult<Self> {
        let (mut pieces, mut text) = (Vec::new(), String::new());
        for ((values, field), before) in columns.iter().zip(fields).zip(L::before(fields)) {
            text.push_str(&before);
            let texts = match values {
                Values::Whole(values) => Texts::Whole(&values.as_slice()?[rows.clone()]),
                Values::Decimal(values) => Texts::Decimal(&values.as_slice()?[rows.clone()]),
                Values::Each(_) => Texts::Each(values.part(field.data_type(), rows.clone())?),
                Values::Same(values) => {
                    push::<L>(&mut text, values, 0);
                    continue;
                }
            };
            pieces.push((std::mem::take(&mut text), texts));
        }
        Ok(Pieces { columns: pieces, last: text + L::AFTER_ROW })
    }

    fn push_row<L: Layout>(&self, into: &mut String, row: usize) {
        for (before, texts) in &self.columns {
            into.push_str(before);
            texts.push::<L>(into, row);
        }
        into.push_str(&self.last);
    }
}

#[inline]
fn push_whole(into: &mut String, number: u64) {
    into.push_str(itoa::Buffer::new().format(number));
}

fn push<L: Layout>(into: &mut String, values: &ArrayRef, row: usize) {
    if values.is_null(row) {
        return into.push_str(L::NULL);
    }
    match values.data_type() {
        DataType::UInt64 => push_whole(into, values.as_primitive::<UInt64Type>().value(row)),
        DataType::Float64 => {
            L::push_number(into, values.as_primitive::<Float64Type>().value(row));
        }
        DataType::Boolean => {
            into.push_str(if values.as_boolean().value(row) { "true" } else { "false" });
        }
        _ => L::push_text(into, values.as_string::<i64>().value(row)),
    }
}

fn write_text<L: Layout>(
    py: Python<'_>,
    file: Py<PyAny>,
    kinds: Vec<(String, String)>,
    parts: Vec<Bound<'_, PyDict>>,
) -> PyResult<()> {
    let fields: Vec<Arc<Field>> =
        kinds.into_iter().map(|kind| field(kind).map(Arc::new)).collect::<Result<_, _>>()?;
    let (mut output, mut text) = (Output(file), L::head(&fields));
    let mut has_rows = false;
    for part in parts {
        let (columns, rows) = columns_of(&part, &fields)?;
        for first in (0..rows).step_by(BATCH_ROWS) {
            py.check_signals()?;
            let range = first..rows.min(first + BATCH_ROWS);
            let pieces = Pieces::of::<L>(&columns, &fields, &range)?;
            for row in 0..range.len() {
                text.push_str(L::before_row(!has_rows));
                has_rows = true;
                pieces.push_row::<L>(&mut text, row);
                if text.len() >= BUFFER_BYTES {
                    output.write_all(text.as_bytes())?;
                    text.clear();
                }
            }
        }
    }
    text.push_str(L::tail(has_rows));
    output.write_all(text.as_bytes())?;
    output.flush()?;
    Ok(())
}

/// Writes a table to a file as JSON, an array of objects; the arguments are those of `write_parquet`.
#[pyfunction]
pub(crate) fn write_json(
    py: Python<'_>,
    file: Py<PyAny>,
    kinds: Vec<(String, String)>,
    parts: Vec<Bound<'_, PyDict>>,
) -> PyResult<()> {
    write_text::<Json>(py, file, kinds, parts)
}

/// Writes a table to a file as CSV with a line of names; the arguments are those of `write_parquet`.
#[pyfunction]
pub(crate) fn write_csv(
    py: Python<'_>,
    file: Py<PyAny>,
    kinds: Vec<(String, String)>,
    parts: Vec<Bound<'_, PyDict>>,
) -> PyResult<()> {
    write_text::<Csv>(py, file, kinds, parts)
}
