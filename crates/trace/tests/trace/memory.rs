//! Small files that stand for much: none takes more memory than the limit, and each is refused in one sentence.

use std::io::Write;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use clockhand_trace::{
    Folding, Op, OpenOptions, PageViewBuilder, Reader, Request, TraceError, TraceInfoBuilder,
    TraceReader,
};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

const LIMIT_BYTES: u64 = 16 << 20;

fn read_within(bytes: Vec<u8>, limit_bytes: u64) -> Result<u64, TraceError> {
    let options = OpenOptions {
        format: Some("parquet".to_owned()),
        memory_limit_bytes: Some(limit_bytes),
        ..OpenOptions::default()
    };
    let mut reader = TraceReader::from_bytes("the.trace", bytes, &options)?;
    let mut batch = Vec::new();
    while reader.next_batch(&mut batch)? {}
    Ok(reader.report().requests)
}

fn zstd_of_zeros(begin: &[u8], zeros: u64) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.write_all(begin).unwrap();
    std::io::copy(&mut std::io::Read::take(std::io::repeat(0), zeros), &mut encoder).unwrap();
    encoder.finish().unwrap()
}

fn assert_refused(result: Result<u64, TraceError>, words: &str) {
    let message = result.unwrap_err().to_string();
    assert!(message.contains(words), "{message}");
}

#[test]
fn zeros_that_are_named_parquet_are_refused_before_they_are_kept() {
    let zeros = zstd_of_zeros(b"", 32 << 20);
    assert_refused(read_within(zeros, LIMIT_BYTES), "byte 0: there is no Parquet magic number");
}

#[test]
fn a_compressed_table_is_kept_up_to_the_limit() {
    let bomb = zstd_of_zeros(b"PAR1", 32 << 20);
    assert!(bomb.len() < 10_000);
    assert_refused(
        read_within(bomb, LIMIT_BYTES),
        "takes more than the memory limit of 16MiB; write it to a file that is not compressed once more, or raise \
         --memory-limit",
    );
}

fn table(columns: Vec<(&str, ArrayRef)>, compression: Compression, dictionary: bool) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .set_dictionary_enabled(dictionary)
        .set_data_page_size_limit(1 << 30)
        .set_data_page_row_count_limit(usize::MAX)
        .set_write_batch_size(1 << 30)
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn a_page_that_is_large_when_decompressed_is_refused_before_it_is() {
    let rows = 600_000;
    let ops: ArrayRef = Arc::new(StringArray::from_iter_values((0..rows).map(|_| "R")));
    let addresses: ArrayRef = Arc::new(Int64Array::from_iter_values((0..rows).map(|_| 0)));
    for compression in [
        Compression::ZSTD(Default::default()),
        Compression::GZIP(Default::default()),
        Compression::SNAPPY,
        Compression::LZ4_RAW,
    ] {
        let columns = vec![("op", ops.clone()), ("address", addresses.clone())];
        let bomb = table(columns, compression, false);
        assert!(bomb.len() < 1 << 20, "{compression}: {} bytes", bomb.len());
        assert_refused(
            read_within(bomb.clone(), LIMIT_BYTES),
            "the pages of a few thousand rows of this Parquet file take, with what is kept of them, more than the memory \
             limit of 16MiB",
        );
        assert_eq!(read_within(bomb, 1 << 30).unwrap(), rows as u64);
    }
}

/// A string of a dictionary was once copied for each of its rows.
#[test]
fn a_long_string_in_a_dictionary_is_kept_once() {
    let long = "x".repeat(1 << 20);
    let rows = 4096;
    let ops: ArrayRef = Arc::new(StringArray::from_iter_values((0..rows).map(|_| "R")));
    let addresses: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
    let streams: ArrayRef = {
        let names: arrow_array::DictionaryArray<arrow_array::types::Int32Type> =
            (0..rows).map(|_| long.as_str()).collect();
        Arc::new(names)
    };
    let columns = vec![("op", ops), ("address", addresses), ("stream", streams)];
    let bytes = table(columns, Compression::UNCOMPRESSED, true);
    assert_eq!(read_within(bytes, LIMIT_BYTES).unwrap(), rows as u64);
}

/// A limit must not refuse what streams: many rows in one group.
#[test]
fn a_long_row_group_streams_within_the_least_limit() {
    let rows = 1_000_000;
    let ops: ArrayRef = Arc::new(StringArray::from_iter_values((0..rows).map(|_| "R")));
    let addresses: ArrayRef = Arc::new(Int64Array::from_iter_values((0..rows).map(|_| 4096)));
    let bytes = table(vec![("op", ops), ("address", addresses)], Compression::UNCOMPRESSED, true);
    assert!(bytes.len() < 4096, "{}", bytes.len());
    assert_eq!(read_within(bytes, LIMIT_BYTES).unwrap(), rows as u64);
}

#[test]
fn requests_of_four_gibibytes_end_at_the_limit() {
    let requests: Vec<_> = (0..1000)
        .map(|stream| Request { stream, ..Request::new(Op::Write, 0, u32::MAX) })
        .collect();
    let mut view = PageViewBuilder::new(4096, Folding::Runs).unwrap().within(LIMIT_BYTES);
    view.extend(&requests);
    let message = view.finish().unwrap_err().to_string();
    assert!(
        message.starts_with("the trace: its references to pages of 4096 bytes take more than"),
        "{message}"
    );
    let mut info = TraceInfoBuilder::new(4096).unwrap().within(LIMIT_BYTES);
    info.extend(&requests);
    let message = info.finish(Default::default()).unwrap_err().to_string();
    assert!(message.contains("to count its pages of 4096 bytes takes more than"), "{message}");
}

#[test]
fn a_window_beyond_the_limit_is_refused() {
    let mut xz = liblzma::stream::LzmaOptions::new_preset(0).unwrap();
    xz.dict_size(1 << 28);
    let mut filters = liblzma::stream::Filters::new();
    filters.lzma2(&xz);
    let stream =
        liblzma::stream::Stream::new_stream_encoder(&filters, liblzma::stream::Check::Crc32)
            .unwrap();
    let mut encoder = liblzma::write::XzEncoder::new_stream(Vec::new(), stream);
    encoder.write_all(b"R 0 1\n").unwrap();
    assert_refused(
        read_within(encoder.finish().unwrap(), LIMIT_BYTES),
        "to decompress this xz data takes more than the memory limit of 16MiB; compress it with a smaller window",
    );
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(28).unwrap();
    encoder.write_all(&[b'x'; 4096]).unwrap();
    assert_refused(
        read_within(encoder.finish().unwrap(), LIMIT_BYTES),
        "to decompress this zstd data takes more than the memory limit",
    );
}

fn read_text(text: Vec<u8>, format: &str) -> Result<u64, TraceError> {
    let options = OpenOptions {
        format: Some(format.to_owned()),
        memory_limit_bytes: Some(LIMIT_BYTES),
        ..OpenOptions::default()
    };
    let mut reader = TraceReader::from_bytes("the.trace", text, &options)?;
    let mut batch = Vec::new();
    while reader.next_batch(&mut batch)? {}
    Ok(reader.report().requests)
}

/// `lines` lines that `line` gives, each by its number, as zstd.
fn zstd_of_lines(first: &str, lines: u32, line: impl Fn(u32) -> String) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.write_all(first.as_bytes()).unwrap();
    for number in 0..lines {
        encoder.write_all(line(number).as_bytes()).unwrap();
    }
    encoder.finish().unwrap()
}

/// Two million of them took 1.2 GB where 200 MiB were allowed.
#[test]
fn names_and_labels_count_against_the_limit() {
    let long = "n".repeat(200);
    let refused = "its names of files or streams, and its labels, take, with what is made of them, more than the memory \
                   limit of 16MiB";
    let cases = [
        (
            "events",
            "",
            Box::new(|number| format!("# object f{number}: {long}\ncr f{number} 0 1\n"))
                as Box<dyn Fn(_) -> _>,
        ),
        ("events", "cr f0 0 1\n", Box::new(|number| format!("# object f{}: {long}\n", number + 1))),
        ("events", "cr f0 0 1\n", Box::new(|number| format!("# key {number}: {long}\n"))),
        ("csv", "op,address,size,stream\n", Box::new(|number| format!("R,0,1,{long}{number}\n"))),
    ];
    for (format, first, line) in cases {
        assert_refused(read_text(zstd_of_lines(first, 60_000, &line), format), refused);
        assert!(read_text(zstd_of_lines(first, 1000, &line), format).is_ok(), "{format}");
    }
}

/// A frame of zstd that says what it unpacks to is refused before it is unpacked: here all but its begin is missing.
#[test]
fn a_compressed_table_that_announces_too_much_is_not_unpacked() {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_contentsize(true).unwrap();
    encoder.set_pledged_src_size(Some(3 << 30)).unwrap();
    encoder.write_all(b"PAR1").unwrap();
    std::io::copy(&mut std::io::Read::take(std::io::repeat(0), 1 << 20), &mut encoder).unwrap();
    let begin = encoder.get_ref().clone();
    assert!(begin.len() < 10_000, "{}", begin.len());
    assert_refused(read_within(begin, LIMIT_BYTES), "takes more than the memory limit of 16MiB");
}
