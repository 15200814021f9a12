//! The rules of the csv format that its excerpt does not show.

use clockhand_trace::Op;

use crate::reading::{message_of, read_bytes};

#[test]
fn without_a_size_column_each_request_touches_one_byte_and_the_report_says_so() {
    let (requests, report) = read_bytes(b"addr,rw\n0x10,w\n", None).unwrap();
    assert_eq!((requests[0].op, requests[0].address, requests[0].bytes), (Op::Write, 16, 1));
    assert_eq!(report.notes, ["there is no size column: each request touches 1 byte"]);
}

#[test]
fn ignored_columns_are_named() {
    let text = b"op,address,size,latency,time\nR,0,1,9,5\nR,0,1,9,5\n";
    let (requests, report) = read_bytes(text, None).unwrap();
    assert_eq!(report.ignored_columns, ["latency", "time"]);
    assert_eq!(requests[0].time_ns, None);
    assert!(report.notes[0].contains("the unit of column `time` is unknown"));
}

#[test]
fn a_column_whose_unit_is_unknown_is_refused_with_the_way_out() {
    for name in ["lba", "LBA", "sector", "block"] {
        let message = message_of(format!("op,{name},size\nR,1,512\n").as_bytes(), None);
        assert!(message.contains("line 1: the unit of column"), "{message}");
        assert!(message.contains("byte address"), "{message}");
    }
}

#[test]
fn two_columns_for_one_thing_are_refused() {
    let message = message_of(b"op,address,offset\nR,1,2\n", None);
    assert!(message.contains("two columns are an address; rename all but one"), "{message}");
}

#[test]
fn a_table_without_an_operation_is_refused() {
    let message = message_of(b"address,size\n1,2\n", Some("csv"));
    assert!(message.contains("there is no column `op`"), "{message}");
}

#[test]
fn operations_that_formats_use_both_ways_are_refused() {
    let message = message_of(b"op,address\n0,1\n1,2\n", None);
    assert!(message.contains("the operation 0 or 1"), "{message}");
    assert!(message.contains("write R or W"), "{message}");
}

#[test]
fn stream_numbers_are_kept_and_stream_names_numbered() {
    let (requests, _) = read_bytes(b"op,address,stream\nR,1,7\nR,1,3\n", None).unwrap();
    assert_eq!([requests[0].stream, requests[1].stream], [7, 3]);
    let (requests, report) =
        read_bytes(b"op,address,stream\nR,1,sda\nR,1,7\nR,1,sda\n", None).unwrap();
    assert_eq!([0, 1, 0], [requests[0].stream, requests[1].stream, requests[2].stream]);
    assert_eq!(report.stream_names, ["sda", "7"]);
}

#[test]
fn a_name_among_stream_numbers_is_malformed_lest_it_alias_one() {
    let (_, report) = read_bytes(b"op,address,stream\nR,1,7\nR,1,sda\n", None).unwrap();
    assert_eq!(report.skipped_records, 1);
}

#[test]
fn malformed_rows_are_skipped_with_reasons() {
    let header = "op,address,size,time_s\n";
    for (row, reason) in [
        ("R,1,1", "has 3 fields where the header has 4"),
        ("R,-1,1,0", "has no address"),
        ("R,1.5,1,0", "has no address"),
        ("R,99999999999999999999,1,0", "has no address"),
        ("R,1,,0", "has no size"),
        ("R,1,1099511627777,0", "has a size above 1 TiB"),
        ("R,1,1,noon", "has no time"),
        ("T,1,1,0", "has the operation \"T\""),
    ] {
        let text = format!("{header}{row}\nW,1,1,0.5\n");
        let (requests, report) = read_bytes(text.as_bytes(), None).unwrap();
        assert_eq!((requests.len(), requests[0].time_ns), (1, Some(500_000_000)));
        assert!(report.first_skipped[0].reason.starts_with(reason), "{:?}", report.first_skipped);
    }
}

#[test]
fn long_and_many_fields_are_read() {
    let header: Vec<_> = (0..100).map(|index| format!("c{index}")).collect();
    let row = vec!["x".repeat(50); 100];
    let text = format!("op,address,{}\nR,1,{}\n", header.join(","), row.join(","));
    let (requests, report) = read_bytes(text.as_bytes(), None).unwrap();
    assert_eq!((requests.len(), report.ignored_columns.len()), (1, 100));
}

/// Lines without quotes and blanks are read in a shorter way; what they say must not depend on it.
#[test]
fn quotes_and_blanks_around_fields_change_nothing() {
    let rows = [
        ["R", "4096", "512", "0", "sda", "x"],
        ["W", "18446744073709551615", "1", "7", "", "y z"],
        ["R", "0", "0", "18446744073", "sdb", ""],
        ["W", "0012", "4294967295", "3", "sda", "1"],
        ["R", "1", "4294967296", "3", "sda", "in two pieces"],
        ["R", "18446744073709551615", "2", "3", "sda", "past the end"],
        ["X", "1", "1", "3", "sda", "no operation"],
        ["R", "1", "1", "-3", "sda", "a time below zero"],
    ];
    let written = |pad: &str, quote: &str| {
        let mut text = "op,address,size,time_us,stream,note\n".to_owned();
        for row in rows {
            let fields = row.map(|field| format!("{pad}{quote}{field}{quote}{pad}"));
            text += &fields.join(",");
            text.push('\n');
        }
        text
    };
    let (plain, report) = read_bytes(written("", "").as_bytes(), Some("csv")).unwrap();
    assert_eq!((plain.len(), report.skipped_records, report.zero_size_requests), (6, 2, 1));
    for text in [written(" ", ""), written("", "\""), written("\t", "")] {
        let (requests, other) = read_bytes(text.as_bytes(), Some("csv")).unwrap();
        assert_eq!(requests, plain);
        assert_eq!(other.stream_names, report.stream_names);
        assert_eq!(other.skipped_records, report.skipped_records);
    }
}
