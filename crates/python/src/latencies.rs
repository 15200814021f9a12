//! A file with a row per request: when it was where, and what it waited for. It is written whole or not at all.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use clockhand_sim::{LatencyRow, SsdCell};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

/// The columns, in their order; those without `true` hold text.
const COLUMNS: [(&str, bool); 18] = [
    ("trace", false),
    ("buffer", false),
    ("ssd", false),
    ("index", true),
    ("op", false),
    ("first_page", true),
    ("pages", true),
    ("arrival_ns", true),
    ("accepted_ns", true),
    ("decided_ns", true),
    ("end_ns", true),
    ("host_wait_ns", true),
    ("front_wait_ns", true),
    ("buffer_wait_ns", true),
    ("collection_wait_ns", true),
    ("flash_wait_ns", true),
    ("service_ns", true),
    ("cause", false),
];
/// Rows that are encoded at once.
const BATCH_ROWS: usize = 1 << 14;
const ZSTD_LEVEL: i32 = 3;

/// The numbers of a row, in the order of the columns.
fn numbers(row: &LatencyRow) -> [u64; 13] {
    let times = &row.times;
    [
        times.index,
        row.first_page.into(),
        row.pages.into(),
        times.arrival_ns,
        times.accepted_ns,
        times.decided_ns,
        times.end_ns,
        times.host_wait_ns(),
        times.front_wait_ns(),
        times.buffer_wait_ns,
        times.collection_wait_ns,
        times.flash_wait_ns,
        times.service_ns(),
    ]
}

/// Writes the latencies of all cells to a file that ends in `.csv` or `.parquet`.
///
/// # Errors
///
/// The file cannot be written; what was there before is left as it was.
pub(crate) fn write_latencies(path: &str, cells: &[SsdCell]) -> io::Result<()> {
    let path = Path::new(path);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let unfinished = path.with_file_name(format!(".{name}.{}.unfinished", std::process::id()));
    let written = write_unfinished(&unfinished, path, cells);
    let done = written.and_then(|()| std::fs::rename(&unfinished, path));
    if done.is_err() {
        // The first fault is reported.
        _ = std::fs::remove_file(&unfinished);
    }
    done
}

fn write_unfinished(unfinished: &PathBuf, path: &Path, cells: &[SsdCell]) -> io::Result<()> {
    let file = BufWriter::new(File::create(unfinished)?);
    let file = match path.extension().is_some_and(|extension| extension == "csv") {
        true => write_csv(file, cells)?,
        false => write_parquet(file, cells)?,
    };
    file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}

/// A field of a CSV file, in quotes where it needs them.
fn field(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

fn write_csv(mut file: BufWriter<File>, cells: &[SsdCell]) -> io::Result<BufWriter<File>> {
    writeln!(file, "{}", COLUMNS.map(|(name, _)| name).join(","))?;
    for cell in cells {
        let named = [&cell.row.trace, &cell.row.buffer, &cell.row.ssd].map(|name| field(name));
        let named = named.join(",");
        for row in cell.latencies.rows() {
            let [index, rest @ ..] = numbers(row);
            write!(file, "{named},{index},{}", row.op())?;
            for number in rest {
                write!(file, ",{number}")?;
            }
            writeln!(file, ",{}", row.times.cause().name())?;
        }
    }
    Ok(file)
}

fn write_parquet(file: BufWriter<File>, cells: &[SsdCell]) -> io::Result<BufWriter<File>> {
    let fields = COLUMNS.map(|(name, is_number)| {
        let kind = if is_number { DataType::UInt64 } else { DataType::Utf8 };
        Field::new(name, kind, false)
    });
    let schema = Arc::new(Schema::new(fields.to_vec()));
    let level = ZstdLevel::try_new(ZSTD_LEVEL).map_err(io::Error::other)?;
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(level)).build();
    let mut writer = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties))
        .map_err(io::Error::other)?;
    for cell in cells {
        for rows in cell.latencies.rows().chunks(BATCH_ROWS) {
            let batch = RecordBatch::try_new(Arc::clone(&schema), arrays(cell, rows));
            writer.write(&batch.map_err(io::Error::other)?).map_err(io::Error::other)?;
        }
    }
    writer.into_inner().map_err(io::Error::other)
}

fn arrays(cell: &SsdCell, rows: &[LatencyRow]) -> Vec<ArrayRef> {
    let texts = |text: &dyn Fn(&LatencyRow) -> &'static str| -> ArrayRef {
        Arc::new(rows.iter().map(|row| Some(text(row))).collect::<StringArray>())
    };
    let same = |text: &String| -> ArrayRef {
        Arc::new(rows.iter().map(|_| Some(text.as_str())).collect::<StringArray>())
    };
    let row = &cell.row;
    let mut arrays = vec![same(&row.trace), same(&row.buffer), same(&row.ssd)];
    let numbers: Vec<[u64; 13]> = rows.iter().map(numbers).collect();
    for column in 0..13 {
        let values = numbers.iter().map(|numbers| numbers[column]);
        arrays.push(Arc::new(values.collect::<UInt64Array>()));
        if column == 0 {
            arrays.push(texts(&|row| row.op()));
        }
    }
    arrays.push(texts(&|row| row.times.cause().name()));
    arrays
}
