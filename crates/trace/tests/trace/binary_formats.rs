//! What is particular to the binary formats, beyond their excerpts.

use clockhand_trace::{CpuCacheConfig, Op, OpenOptions, Reader, TraceReader};

use crate::reading::{excerpts, file_of, message_of, read_bytes};

fn excerpt(name: &str) -> Vec<u8> {
    let (_, path) = excerpts()
        .into_iter()
        .find(|(_, path)| path.ends_with(name))
        .expect("the excerpt is there");
    std::fs::read(path).unwrap()
}

fn assert_says(message: &str, words: &[&str]) {
    for word in words {
        assert!(message.contains(word), "{word:?} is missing in: {message}");
    }
}

#[test]
fn records_that_are_no_requests_are_counted_in_a_note() {
    for (name, note) in [
        ("hp-srt.bin", "SUSPECTIO records (1)"),
        ("vscsi.v1.bin", "other SCSI commands (1)"),
        ("lcs.v2.bin", "deletes (3)"),
        ("drmemtrace.bin", "thread, marker and encoding entries (6)"),
        ("drmemtrace.bin", "instructions without a fetch (1), prefetches (1), cache flushes (1)"),
    ] {
        let (_, report) = read_bytes(&excerpt(name), None).unwrap();
        assert!(report.notes.iter().any(|known| known.contains(note)), "{:?}", report.notes);
    }
}

#[test]
fn requests_without_bytes_are_counted() {
    for name in ["hp-srt.bin", "vscsi.v1.bin", "vscsi.v2.bin", "lcs.v2.bin", "drmemtrace.bin"] {
        let (_, report) = read_bytes(&excerpt(name), None).unwrap();
        assert_eq!(report.zero_size_requests, 1, "{name}");
    }
}

#[test]
fn a_record_that_is_cut_is_an_error_with_its_place() {
    for name in ["hp-srt.bin", "vscsi.v1.bin", "champsim.96.bin", "lcs.older.bin"] {
        let bytes = excerpt(name);
        let message = message_of(&bytes[..bytes.len() - 1], None);
        let place = format!("ends in the middle, after byte {}", bytes.len() - 1);
        assert_says(&message, &[&place, "copy or download"]);
    }
}

#[test]
fn records_are_whole_across_the_borders_of_buffers() {
    let record = &excerpt("vscsi.v2.bin")[..40];
    let (requests, report) = read_bytes(&record.repeat(20_000), None).unwrap();
    assert_eq!((requests.len(), report.records), (20_000, 20_000));
    assert!(requests.iter().all(|request| *request == requests[0]));
}

#[test]
fn a_binary_format_asked_for_by_name_refuses_other_data() {
    for (format, word) in [
        ("hp-srt", "$$TR_IOREC"),
        ("vscsi", "vscsi record"),
        ("champsim", "64 or 96 bytes"),
        ("lcs", "magic number"),
        ("drmemtrace", "header"),
    ] {
        let message = message_of(b"0041f7a0 R\n31348900 W\n", Some(format));
        assert_says(&message, &["byte 0", word, "name another format"]);
    }
}

#[test]
fn a_damaged_length_of_an_hp_record_is_an_error_and_fills_no_memory() {
    let mut bytes = excerpt("hp-srt.bin");
    let first_record = bytes.iter().position(|&byte| byte == 0x0c).unwrap() + 1;
    bytes[first_record] = 0xff;
    let place = format!("byte {first_record}:");
    assert_says(&message_of(&bytes, None), &[&place, "4278190136 bytes", "copy or download"]);
}

#[test]
fn vscsi_records_of_another_version_are_malformed() {
    let record = excerpt("vscsi.v1.bin")[..32].to_vec();
    let mut bytes = record.repeat(100);
    bytes[70 * 32 + 15] = 2;
    let (requests, report) = read_bytes(&bytes, None).unwrap();
    assert_eq!((requests.len(), report.skipped_records), (99, 1));
    assert_eq!(
        report.first_skipped[0].reason,
        "has version 2 in a trace of version 1 (at byte 2240)"
    );
}

/// A trace of LCS version 1, 3 or more, with one request of each operation.
fn lcs(version: u64, operations: &[u8]) -> Vec<u8> {
    let magic = 0x1234_5678_9abc_def0_u64.to_le_bytes();
    let mut bytes = [&magic[..], &version.to_le_bytes(), &[0; 8168], &magic].concat();
    for &operation in operations {
        bytes.extend(7_u32.to_le_bytes());
        bytes.extend(0x1234_u64.to_le_bytes());
        if version == 1 {
            bytes.extend(100_u32.to_le_bytes());
        } else {
            bytes.extend(100_i64.to_le_bytes());
            bytes.extend([operation, 3, 0, 0]);
            bytes.extend(600_u32.to_le_bytes());
        }
        bytes.extend((-1_i64).to_le_bytes());
        if version > 3 {
            bytes.extend(vec![0xee; 4 << (version - 4)]);
        }
    }
    bytes
}

#[test]
fn lcs_versions_with_features_are_read() {
    for version in 3..=8 {
        let (requests, _) = read_bytes(&lcs(version, &[1, 3, 12, 13]), None).unwrap();
        let ops: Vec<_> = requests.iter().map(|request| request.op).collect();
        assert_eq!(ops, [Op::Read, Op::Write, Op::Read, Op::Write], "version {version}");
        assert!(requests.iter().all(|request| request.address == 0x1234 << 12));
        assert!(requests.iter().all(|request| request.bytes == 100));
    }
    assert_says(&message_of(&lcs(9, &[1]), None), &["LCS version 9 is not known"]);
}

#[test]
fn a_drmemtrace_without_its_footer_was_cut() {
    let bytes = excerpt("drmemtrace.bin");
    let message = message_of(&bytes[..bytes.len() - 12], None);
    assert_says(&message, &["the drmemtrace trace ends in the middle"]);
}

#[test]
fn a_second_process_does_not_share_the_cpu_cache_of_the_first() {
    let file = file_of(&excerpt("drmemtrace.bin"));
    let options =
        OpenOptions { cpu_cache: Some(CpuCacheConfig::default()), ..OpenOptions::default() };
    let mut reader = TraceReader::open(file.path(), &options).unwrap();
    let error = reader.next_batch(&mut Vec::new()).unwrap_err();
    assert_says(&error.to_string(), &["a second process begins here", "split the trace"]);
}
