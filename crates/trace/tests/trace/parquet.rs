//! Parquet: what is written comes back, foreign types are read, wrong values are named with column
//! and row.

use std::sync::Arc;

use arrow_array::types::Int16Type;
use arrow_array::{
    ArrayRef, DictionaryArray, DurationMillisecondArray, Float64Array, Int8Array, Int64Array,
    LargeStringArray, RecordBatch, StringArray, StringViewArray, TimestampSecondArray, UInt16Array,
    UInt64Array,
};
use clockhand_trace::{Op, OptionalColumns, ParquetWriter, Request};
use parquet::arrow::ArrowWriter;
use proptest::prelude::*;

use crate::reading::{message_of, read_bytes, read_file};

fn table(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

fn ops() -> ArrayRef {
    Arc::new(StringArray::from(vec!["R", "w", "WRITE"]))
}

fn addresses() -> ArrayRef {
    Arc::new(UInt64Array::from(vec![0, 4096, u64::MAX]))
}

#[test]
fn operations_may_be_any_kind_of_string() {
    let dictionary: DictionaryArray<Int16Type> = vec!["R", "w", "WRITE"].into_iter().collect();
    let kinds: [ArrayRef; 4] = [
        ops(),
        Arc::new(LargeStringArray::from(vec!["R", "w", "WRITE"])),
        Arc::new(StringViewArray::from(vec!["R", "w", "WRITE"])),
        Arc::new(dictionary),
    ];
    for kind in kinds {
        let (requests, _) =
            read_bytes(&table(vec![("OP", kind), ("Offset", addresses())]), None).unwrap();
        let ops: Vec<_> = requests.iter().map(|request| request.op).collect();
        assert_eq!(ops, [Op::Read, Op::Write, Op::Write]);
        assert_eq!((requests[2].address, requests[2].bytes), (u64::MAX, 1));
    }
}

#[test]
fn numbers_may_be_integers_of_any_width_and_times_of_any_unit() {
    let narrow: ArrayRef = Arc::new(Int8Array::from(vec![1, 2, 127]));
    let sizes: ArrayRef = Arc::new(UInt16Array::from(vec![512, 65_535, 1]));
    let times: [(&str, ArrayRef, u64); 4] = [
        ("time_us", narrow.clone(), 1_000),
        ("time_s", narrow.clone(), 1_000_000_000),
        ("timestamp", Arc::new(TimestampSecondArray::from(vec![1, 2, 127])), 1_000_000_000),
        ("time_ns", Arc::new(DurationMillisecondArray::from(vec![1, 2, 127])), 1_000_000),
    ];
    for (name, time, unit_ns) in times {
        let columns = vec![
            ("op", ops()),
            ("address", narrow.clone()),
            ("size", sizes.clone()),
            (name, time),
            ("stream", narrow.clone()),
        ];
        let (requests, _) = read_bytes(&table(columns), None).unwrap();
        let last = Request {
            op: Op::Write,
            address: 127,
            bytes: 1,
            stream: 127,
            time_ns: Some(127 * unit_ns),
            class: None,
        };
        assert_eq!((requests[1].bytes, requests[2]), (65_535, last), "{name}");
    }
}

#[test]
fn streams_may_be_names() {
    let streams: ArrayRef = Arc::new(StringArray::from(vec!["sdb", "7", "sdb"]));
    let bytes = table(vec![("op", ops()), ("address", addresses()), ("stream", streams)]);
    let (requests, report) = read_bytes(&bytes, None).unwrap();
    assert_eq!(requests.iter().map(|request| request.stream).collect::<Vec<_>>(), [0, 1, 0]);
    assert_eq!(report.stream_names, ["sdb", "7"]);
}

#[test]
fn other_columns_and_times_without_a_unit_are_ignored_and_named() {
    let bytes = table(vec![
        ("op", ops()),
        ("address", addresses()),
        ("time", addresses()),
        ("note", ops()),
    ]);
    let (requests, report) = read_bytes(&bytes, None).unwrap();
    assert_eq!(report.ignored_columns, ["note", "time"]);
    assert_eq!(requests[0].time_ns, None);
    assert_eq!(report.notes.len(), 2);
}

#[test]
fn wrong_columns_are_refused_by_name() {
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![0.0, 1.0, 2.0]));
    for (columns, words) in [
        (vec![("op", ops())], "there is no column `address`"),
        (vec![("op", ops()), ("lba", addresses())], "the unit of column `lba` is unknown"),
        (
            vec![("op", addresses()), ("address", addresses())],
            "column `op`: it holds UInt64 and must hold strings",
        ),
        (vec![("op", ops()), ("address", floats.clone())], "column `address`: it holds Float64"),
        (
            vec![("op", ops()), ("address", addresses()), ("time_s", floats)],
            "column `time_s`: it holds Float64",
        ),
    ] {
        let message = message_of(&table(columns), None);
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn wrong_values_are_refused_with_column_and_row() {
    let integers = |values: Vec<Option<i64>>| Arc::new(Int64Array::from(values)) as ArrayRef;
    let words = |values: Vec<Option<&str>>| Arc::new(StringArray::from(values)) as ArrayRef;
    let fine = || integers(vec![Some(0), Some(1), Some(2)]);
    let large = i64::from(u32::MAX) + 1;
    for (columns, expected) in [
        (
            vec![("op", ops()), ("address", integers(vec![Some(1), None, Some(2)]))],
            "row 1 (the first is row 0): column `address` is null",
        ),
        (
            vec![("op", ops()), ("address", integers(vec![Some(1), Some(2), Some(-1)]))],
            "row 2 (the first is row 0): column `address` is negative",
        ),
        (
            vec![("op", words(vec![Some("R"), Some("D"), Some("R")])), ("address", fine())],
            "row 1 (the first is row 0): column `op` is \"D\"",
        ),
        (
            vec![("op", words(vec![None, Some("R"), Some("R")])), ("address", fine())],
            "row 0 (the first is row 0): column `op` is null",
        ),
        (
            vec![
                ("op", ops()),
                ("address", fine()),
                ("size", integers(vec![Some(1), Some(large), Some(1)])),
            ],
            "row 1 (the first is row 0): column `size` is above",
        ),
        (
            vec![
                ("op", ops()),
                ("address", fine()),
                ("time_s", integers(vec![Some(1), Some(1), Some(i64::MAX)])),
            ],
            "row 2 (the first is row 0): column `time_s` is more nanoseconds",
        ),
        (
            vec![
                ("op", ops()),
                ("address", addresses()),
                ("size", integers(vec![Some(1), Some(1), Some(2)])),
            ],
            "row 2 (the first is row 0): column `address` runs past the end",
        ),
    ] {
        let message = message_of(&table(columns), None);
        assert!(message.contains(expected), "{expected}: {message}");
    }
}

#[test]
fn the_row_counts_over_batches() {
    let count = 50_000;
    let ops: ArrayRef = Arc::new(StringArray::from_iter_values((0..count).map(|_| "R")));
    let addresses: ArrayRef = Arc::new(Int64Array::from_iter_values(
        (0..count).map(|row| if row == 40_001 { -1 } else { row }),
    ));
    let message = message_of(&table(vec![("op", ops), ("address", addresses)]), None);
    assert!(message.contains("row 40001 "), "{message}");
}

#[test]
fn damaged_bytes_never_panic() {
    let path =
        crate::reading::excerpts().into_iter().find(|(format, _)| format == "parquet").unwrap().1;
    let bytes = std::fs::read(path).unwrap();
    for place in 4..bytes.len() - 4 {
        for flip in [0x01, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[place] ^= flip;
            // Some bytes do not matter and some change a number that nothing guards; only a panic
            // would be wrong.
            drop(read_bytes(&damaged, None));
        }
    }
}

prop_compose! {
    fn a_request(has_times: bool)(
        is_write: bool, address in 0_u64..u64::MAX / 2, bytes in 1_u32.., stream: u32, time_ns: u64,
    ) -> Request {
        let op = if is_write { Op::Write } else { Op::Read };
        Request { op, address, bytes, stream, time_ns: has_times.then_some(time_ns), class: None }
    }
}

fn requests() -> impl Strategy<Value = (bool, Vec<Request>)> {
    any::<bool>().prop_flat_map(|has_times| {
        (Just(has_times), prop::collection::vec(a_request(has_times), 1..100))
    })
}

proptest! {
    #[test]
    fn what_is_written_comes_back((has_times, requests) in requests(), batch_requests in 1_usize..50) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("the.parquet");
        let labels = [("origin".to_owned(), "synthetic".to_owned()), ("seed".to_owned(), "7".to_owned())];
        let mut writer = ParquetWriter::create(&path, &labels, OptionalColumns { times: has_times, ..OptionalColumns::default() }).unwrap();
        for batch in requests.chunks(batch_requests) {
            writer.write(batch).unwrap();
        }
        writer.finish().unwrap();
        let (read, report) = read_file(&path, None).unwrap();
        prop_assert_eq!(read, requests);
        prop_assert_eq!(report.labels, labels);
    }
}

#[test]
fn a_dropped_writer_leaves_nothing_and_keeps_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("the.parquet");
    std::fs::write(&path, "before").unwrap();
    let mut writer = ParquetWriter::create(&path, &[], OptionalColumns::default()).unwrap();
    writer.write(&[Request::new(Op::Read, 0, 1)]).unwrap();
    drop(writer);
    assert_eq!(std::fs::read(&path).unwrap(), b"before");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn requests_with_and_without_times_do_not_mix() {
    let folder = tempfile::tempdir().unwrap();
    let timed = Request { time_ns: Some(1), ..Request::new(Op::Read, 0, 1) };
    let untimed = Request::new(Op::Read, 0, 1);
    for (has_times, odd_one, words) in
        [(true, untimed, "has no time"), (false, timed, "has a time")]
    {
        let fitting = if has_times { timed } else { untimed };
        let mut writer = ParquetWriter::create(
            folder.path().join("x"),
            &[],
            OptionalColumns { times: has_times, ..OptionalColumns::default() },
        )
        .unwrap();
        writer.write(&[fitting; 5]).unwrap();
        let message = writer.write(&[fitting, odd_one]).unwrap_err().to_string();
        assert!(message.contains("request 6") && message.contains(words), "{message}");
    }
}

#[test]
fn a_folder_that_is_missing_is_an_error_of_one_sentence() {
    let message =
        ParquetWriter::create("no/such/folder/x.parquet", &[], OptionalColumns::default())
            .err()
            .unwrap()
            .to_string();
    assert!(message.starts_with("no/such/folder/x.parquet: creating failed"), "{message}");
}

/// What the project writes itself.
fn our_file(requests: &[Request]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("the.parquet");
    let labels = [("origin".to_owned(), "a test".to_owned())];
    let columns = OptionalColumns::of(requests);
    let mut writer = ParquetWriter::create(&path, &labels, columns).unwrap();
    writer.write(requests).unwrap();
    writer.finish().unwrap();
    std::fs::read(&path).unwrap()
}

fn timed_requests(count: u64) -> Vec<Request> {
    let request = |index: u64| Request {
        op: if index.is_multiple_of(3) { Op::Write } else { Op::Read },
        address: index.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24 << 9,
        bytes: 512 << (index % 4),
        stream: (index % 2) as u32,
        time_ns: Some(index * 1_000),
        class: None,
    };
    (0..count).map(request).collect()
}

/// Flipped bits once changed spans, bytes and footprints without a word.
#[test]
fn every_flipped_bit_of_our_files_is_found_or_does_not_matter() {
    let requests = timed_requests(60);
    let bytes = our_file(&requests);
    let mut unnoticed = Vec::new();
    for place in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1 << bit;
            if let Ok((read, _)) = read_bytes(&damaged, Some("parquet"))
                && read != requests
            {
                unnoticed.push((place, bit));
            }
        }
    }
    assert_eq!(unnoticed, [], "of {} bytes", bytes.len());
}

#[test]
fn every_page_of_our_files_has_a_checksum() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    // More rows than a row group has, so that there are several of everything.
    let requests = timed_requests((1 << 20) + 70_000);
    let bytes = our_file(&requests);
    let (read, _) = read_bytes(&bytes, None).unwrap();
    assert!(read == requests, "what was written comes back");
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes.clone())).unwrap();
    assert_eq!(reader.num_row_groups(), 2);
    let row_group = reader.metadata().row_group(0);
    for column in row_group.columns() {
        let (start, length) = column.byte_range();
        let mut damaged = bytes.clone();
        damaged[(start + length) as usize - 1] ^= 1;
        let message = message_of(&damaged, None);
        assert!(message.contains("checksum of a page does not fit"), "{message}");
    }
}

#[test]
fn refusals_are_in_our_own_words() {
    let mut encrypted = table(vec![("op", ops()), ("address", addresses())]);
    let end = encrypted.len() - 1;
    encrypted[end] = b'E';
    assert!(message_of(&encrypted, None).contains("index: it is encrypted; write the table"));
    // The codec stands in the metadata of each column, as a number after its field's header.
    let plain = table(vec![("op", ops()), ("address", addresses())]);
    let mut names = std::collections::BTreeSet::new();
    for place in 4..plain.len() - 8 {
        if plain[place] != 0 {
            continue;
        }
        for codec in [6, 8] {
            let mut other = plain.clone();
            other[place] = codec;
            if let Err(error) = read_bytes(&other, None) {
                let message = error.to_string();
                assert!(
                    !message.contains("Parquet error") && !message.contains("NYI"),
                    "{message}"
                );
                let name = message.split("unsupported compression: ").nth(1);
                names.extend(name.map(|rest| rest.split(';').next().unwrap().to_owned()));
            }
        }
    }
    assert_eq!(Vec::from_iter(names), ["brotli", "lzo"]);
}
