//! Traces that cannot be read, and lines that are skipped: each message says where and what to do.

use clockhand_trace::{CpuCacheConfig, OpenOptions, Reader, TraceReader};

use crate::reading::{file_of, message_of, read_bytes, read_file};

fn assert_says(message: &str, words: &[&str]) {
    for word in words {
        assert!(message.contains(word), "{word:?} is missing in: {message}");
    }
}

#[test]
fn a_missing_file_is_named() {
    let message = read_file("no/such.trace".as_ref(), None).unwrap_err().to_string();
    assert_says(&message, &["no/such.trace", "there is no such file"]);
}

#[test]
fn a_directory_is_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let message = read_file(folder.path(), None).unwrap_err().to_string();
    assert_says(&message, &[folder.path().to_str().unwrap(), "directory", "name one trace file"]);
}

#[test]
fn an_empty_file_is_an_error() {
    assert_says(&message_of(b"", None), &["the file is empty"]);
    assert_says(&message_of(b"", Some("lackey")), &["the file is empty"]);
}

#[test]
fn a_trace_without_requests_is_an_error() {
    let message = message_of(b"==1== Lackey\n==1== exit\n", Some("lackey"));
    assert_says(&message, &["no request in 2 lackey records"]);
    let message = message_of(b"op,address,size\nR,4096,0\n", None);
    assert_says(&message, &["no request in 2 csv records", "1 had size 0"]);
}

#[test]
fn binary_data_given_as_text_is_refused_at_once() {
    let message = message_of(b"\x7fELF\x02\x01\x01\0\0\0\0", Some("os-course"));
    assert_says(&message, &["os-course is a text format", "a program"]);
    assert_says(&message_of(&[0, 1, 2, 3], None), &["binary data", "--trace-format", "os-course"]);
}

#[test]
fn text_given_as_parquet_is_refused() {
    assert_says(
        &message_of(b"op,address\nR,1\n", Some("parquet")),
        &["byte 0", "no Parquet magic"],
    );
}

#[test]
fn an_unknown_format_name_gets_the_nearest() {
    let message = message_of(b"0 R\n", Some("lacky"));
    assert_says(&message, &["\"lacky\"", "did you mean \"lackey\"?"]);
}

#[test]
fn ten_malformed_lines_are_counted_and_the_first_three_shown() {
    let mut text = "0041f7a0 R\n".repeat(40);
    text.push_str(&"oops\n".repeat(10));
    text.push_str("0041f7a0 W\n");
    let (requests, report) = read_bytes(text.as_bytes(), Some("os-course")).unwrap();
    assert_eq!((requests.len(), report.records, report.skipped_records), (41, 51, 10));
    let lines: Vec<_> = report.first_skipped.iter().map(|skipped| skipped.record).collect();
    assert_eq!(lines, [41, 42, 43]);
    let reason = &report.first_skipped[0].reason;
    assert_eq!(reason, "has no address of 1 to 16 hexadecimal digits: \"oops\"");
}

#[test]
fn eleven_malformed_lines_in_a_short_trace_are_an_error_that_names_the_first() {
    let text = "0041f7a0 R\n".repeat(20) + &"0041f7a0 X\n".repeat(11) + "0041f7a0 W\n";
    let message = message_of(text.as_bytes(), Some("os-course"));
    assert_says(
        &message,
        &["11 of 32", "line 21", "has no R or W", "0041f7a0 X", "--trace-format"],
    );
}

#[test]
fn a_long_trace_may_have_one_malformed_line_in_a_thousand() {
    let good = "0041f7a0 R\n".repeat(19_980);
    let (_, report) = read_bytes((good.clone() + &"?\n".repeat(20)).as_bytes(), None).unwrap();
    assert_eq!((report.records, report.skipped_records), (20_000, 20));
    message_of((good + &"?\n".repeat(21)).as_bytes(), None);
}

#[test]
fn a_trace_of_malformed_lines_alone_is_an_error_however_short() {
    assert_says(&message_of(b"?\n?\n", Some("os-course")), &["2 of 2", "line 1"]);
}

#[test]
fn a_malformed_last_line_without_an_end_means_the_file_was_cut() {
    let message = message_of(b"0041f7a0 R\n0041f7a0 R\n0041", None);
    assert_says(&message, &["was cut in line 3", "0041", "copy or download it again"]);
}

#[test]
fn a_whole_last_line_needs_no_end() {
    let (requests, _) = read_bytes(b"0041f7a0 R\n0041f7a0 W", None).unwrap();
    assert_eq!(requests.len(), 2);
}

#[test]
fn a_line_without_end_does_not_fill_the_memory() {
    let mut text = b"0041f7a0 R\n0041f7a0 R\n".to_vec();
    text.extend(vec![b'7'; 3 << 20]);
    assert_says(&message_of(&text, Some("os-course")), &["line 3 is longer than 1048576 bytes"]);
}

#[test]
fn a_request_past_the_end_of_the_address_space_is_malformed() {
    let text = " L ffffffffffffffff,1\n L ffffffffffffffff,2\n L 0,1\n";
    let (requests, report) = read_bytes(text.as_bytes(), Some("lackey")).unwrap();
    assert_eq!((requests.len(), report.skipped_records), (2, 1));
    assert_says(&report.first_skipped[0].reason, &["past the end of the 64-bit address space"]);
}

#[test]
fn the_cpu_cache_stands_behind_the_accesses_of_a_program() {
    let text = "I  00001000,4\n L 00001000,4\n S 00001000,4\n M 00002000,4\n";
    let file = file_of(text.as_bytes());
    let options =
        OpenOptions { cpu_cache: Some(CpuCacheConfig::default()), ..OpenOptions::default() };
    let mut reader = TraceReader::open(file.path(), &options).unwrap();
    let (requests, _) = crate::reading::drain(&mut reader).unwrap();
    let places: Vec<_> = requests.iter().map(|request| (request.address, request.bytes)).collect();
    assert_eq!(places, [(0x1000, 32), (0x1000, 32), (0x2000, 32)]);
}

#[test]
fn the_cpu_cache_is_refused_where_no_processor_issued_the_requests() {
    let file = file_of(b"op,address\nR,1\n");
    let options =
        OpenOptions { cpu_cache: Some(CpuCacheConfig::default()), ..OpenOptions::default() };
    let message = TraceReader::open(file.path(), &options).err().unwrap().to_string();
    assert_says(&message, &["csv", "lackey, memtrace, os-course"]);
}

#[test]
fn progress_ends_at_the_length_of_the_file() {
    let file = file_of("0041f7a0 R\n".repeat(100_000).as_bytes());
    let mut reader = TraceReader::open(file.path(), &OpenOptions::default()).unwrap();
    let progress = reader.progress();
    assert_eq!(progress.total_bytes(), Some(1_100_000));
    let mut batch = Vec::new();
    assert!(reader.next_batch(&mut batch).unwrap());
    assert!((1..1_100_000).contains(&progress.read_bytes()));
    while reader.next_batch(&mut batch).unwrap() {}
    assert_eq!(progress.read_bytes(), 1_100_000);
}

/// Such a file was once read as one request.
#[test]
fn lines_that_end_in_carriage_returns_alone_are_refused() {
    for (text, format) in [
        ("0 100\r1 200\r0 300\r", "dinero"),
        ("op,address,size\rR,0,512\rW,4096,512", "csv"),
        ("0x100 R\r0x200 W\r", "ramulator"),
    ] {
        for named in [Some(format), None] {
            let message = message_of(text.as_bytes(), named);
            assert!(message.contains("carriage returns alone"), "{format}: {message}");
        }
    }
    let (requests, _) = read_bytes(b"0 100\r\n1 200\r\n", Some("dinero")).unwrap();
    assert_eq!(requests.len(), 2, "with line feeds behind them they are line ends");
}

/// A cut inside the last number once gave another number without a word.
#[test]
fn a_last_line_without_its_end_is_read_with_a_note() {
    let is_note = |note: &String| note.starts_with("the last line has no line end");
    let (requests, report) = read_bytes(b"0 100\n1 20", Some("dinero")).unwrap();
    assert_eq!((requests.len(), requests[1].address), (2, 0x20));
    assert_eq!(report.notes.iter().filter(|note| is_note(note)).count(), 1);
    let (_, report) = read_bytes(b"0 100\n1 200\n", Some("dinero")).unwrap();
    assert!(!report.notes.iter().any(is_note));
}
