//! The rules of the block formats in text that their excerpts do not show.

use clockhand_trace::{Op, ReadReport, Request};

use crate::reading::{excerpts, message_of, read_bytes, read_file};

/// Reads these lines, in a named format.
fn read(format: &str, lines: &str) -> (Vec<Request>, ReadReport) {
    read_bytes(lines.as_bytes(), Some(format)).unwrap()
}

/// Returns whether a note holds all these words.
fn has_note(report: &ReadReport, words: &[&str]) -> bool {
    report.notes.iter().any(|note| words.iter().all(|word| note.contains(word)))
}

#[test]
fn five_whole_numbers_are_refused_because_three_formats_read_them() {
    let lines = "0 0 8192 4096 1\n1000 0 12288 4096 0\n2000 0 8192 4096 1\n";
    let message = message_of(lines.as_bytes(), None);
    assert!(message.contains("this could be disksim or heimdall-raw or mqsim"), "{message}");
    assert!(message.contains("--trace-format"), "{message}");
}

#[test]
fn five_columns_mean_what_the_named_format_says() {
    let lines = "1000 3 8192 4096 1\n2000 3 8192 4096 0\n";
    for (format, address, bytes, time_ns) in [
        ("disksim", 8192 * 512, 4096 * 512, 1_000_000_000),
        ("heimdall-raw", 8192, 4096, 1_000_000_000),
        ("mqsim", 8192 * 512, 4096 * 512, 1000),
    ] {
        let (requests, _) = read(format, lines);
        let first = Request {
            op: Op::Read,
            address,
            bytes,
            stream: 3,
            time_ns: Some(time_ns),
            class: None,
        };
        assert_eq!((requests[0], requests[1].op), (first, Op::Write), "{format}");
    }
}

#[test]
fn fractions_of_a_nanosecond_are_not_guessed_to_be_mqsim() {
    let message = message_of(b"0.5 0 8192 8 1\n1.5 0 12288 8 0\n", None);
    assert!(message.contains("this could be disksim or heimdall-raw;"), "{message}");
}

#[test]
fn flags_that_only_disksim_has_tell_it() {
    let (_, report) = read_bytes(b"0.5 0 8192 8 a\n1.5 0 12288 8 1B\n", None).unwrap();
    assert_eq!(report.format, "disksim");
}

#[test]
fn a_day_of_milliseconds_read_as_nanoseconds_is_noted() {
    let lines: String =
        (0..5000).map(|index| format!("{} 0 {} 8 1\n", index * 17_280, index * 8)).collect();
    let (_, report) = read("mqsim", &lines);
    assert!(
        has_note(&report, &["check the unit of the times", "read as nanoseconds"]),
        "{report:?}"
    );
    let (_, report) = read("disksim", &lines);
    assert!(!has_note(&report, &["check the unit"]), "{report:?}");
}

#[test]
fn nanoseconds_read_as_milliseconds_are_noted() {
    let lines: String =
        (0..5000_u64).map(|index| format!("{} 0 {} 8 1\n", index * 2_000_000, index * 8)).collect();
    for format in ["disksim", "heimdall-raw"] {
        let (_, report) = read(format, &lines);
        assert!(
            has_note(&report, &["check the unit", "read as milliseconds", "days"]),
            "{report:?}"
        );
    }
}

#[test]
fn replayed_requests_come_in_the_order_in_which_they_were_due() {
    let lines: String = (0..20_000)
        .map(|index| {
            let due_ms = index / 64 * 64 + 63 - index % 64;
            format!("{due_ms}.000,80,0,4096,{},{due_ms}.100,4096\n", due_ms * 4096)
        })
        .collect();
    let (requests, report) = read("heimdall-replay", &lines);
    assert_eq!(requests.len(), 20_000 / 64 * 64 + 20_000 % 64);
    assert!(requests.is_sorted_by_key(|request| request.time_ns));
    assert!(
        requests
            .iter()
            .all(|request| request.address == request.time_ns.unwrap() / 1_000_000 * 4096)
    );
    assert_eq!(report.notes, Vec::<String>::new());
}

#[test]
fn fio_version_2_has_no_times_and_version_3_has() {
    let lines = "fio version 2 iolog\n/dev/sdb add\n/dev/sdb open\n/dev/sdb write 8192 4096\n\
                 /dev/sdc read 0 512\n/dev/sdb wait 100 0\n/dev/sdb sync 0 0\n/dev/sdb close\n";
    let (requests, report) = read_bytes(lines.as_bytes(), None).unwrap();
    assert_eq!(report.format, "fio-iolog");
    let first = Request {
        op: Op::Write,
        address: 8192,
        bytes: 4096,
        stream: 0,
        time_ns: None,
        class: None,
    };
    assert_eq!((requests[0], requests[1].stream), (first, 1));
    assert_eq!(report.stream_names, ["/dev/sdb", "/dev/sdc"]);
    assert_eq!(
        report.passed_over,
        [("header lines", 1), ("file actions", 3), ("waits", 1), ("syncs", 1)]
    );
    let (requests, _) = read("fio-iolog", "fio version 3 iolog\n7 /dev/sdb write 8192 4096\n");
    assert_eq!(requests[0].time_ns, Some(7000));
}

#[test]
fn other_versions_of_fio_logs_are_refused_with_the_way_out() {
    for lines in ["fio version 1 iolog\nread, 0, 4096\n", "fio version 22 iolog\n"] {
        let message = message_of(lines.as_bytes(), None);
        assert!(message.contains("line 1: the first line is"), "{message}");
        assert!(message.contains("newer fio"), "{message}");
    }
    let message = message_of(b"0 /dev/sdb write 8192 4096\n", Some("fio-iolog"));
    assert!(message.contains("must be \"fio version 2 iolog\""), "{message}");
}

const QUEUED_AND_SENT: &str = "\
  8,0    3        1     0.000000352   697  Q   W 223490 + 8 [kjournald]
  8,0    3        2     0.000000400   697  Q   W 223498 + 8 [kjournald]
  8,0    3        3     0.000021000   697  D   W 223490 + 16 [kjournald]
  8,0    3        4     0.000029000     0  C   W 223490 + 16 [0]
";

#[test]
fn blkparse_takes_what_was_queued_and_says_so() {
    let (requests, report) = read_bytes(QUEUED_AND_SENT.as_bytes(), None).unwrap();
    assert_eq!((report.format, requests.len(), requests[0].bytes), ("blkparse", 2, 4096));
    assert!(has_note(&report, &["action Q"]), "{report:?}");
    assert_eq!(report.passed_over, [("lines of other actions", 2)]);
    assert_eq!(report.stream_names, ["8,0"]);
}

#[test]
fn blkparse_takes_what_was_sent_where_nothing_was_queued() {
    let sent: Vec<_> = QUEUED_AND_SENT.lines().filter(|line| !line.contains(" Q ")).collect();
    let (requests, report) = read_bytes((sent.join("\n") + "\n").as_bytes(), None).unwrap();
    assert_eq!((report.format, requests.len(), requests[0].bytes), ("blkparse", 1, 8192));
    assert!(has_note(&report, &["action D"]), "{report:?}");
}

#[test]
fn what_the_formats_define_as_no_request_is_counted_in_a_note() {
    for (format, note) in [
        (
            "blkparse",
            "lines of other actions (9), syncs (2), discards (1), requests without data (2), \
             lines of the summary (7)",
        ),
        ("etw", "header lines (7), other events (4), syncs (1)"),
        ("fio-iolog", "header lines (1), file actions (7), discards (1), syncs (2), waits (1)"),
        ("systor17", "header lines (1), records of empty type (2)"),
    ] {
        let (_, path) = excerpts().into_iter().find(|(name, _)| name == format).unwrap();
        let (_, report) = read_file(&path, Some(format)).unwrap();
        let note = format!("passed over because they hold no request: {note}");
        assert!(report.notes.contains(&note), "{format}: {:?}", report.notes);
    }
}

#[test]
fn volumes_and_devices_keep_their_names_and_never_alias() {
    let lines = "128166372003061629,hm,0,Read,0,512,1\n128166372003061629,hm,1,Read,0,512,1\n\
                 128166372003061629,prn,0,Read,0,512,1\n128166372003061629,hm,0,Write,0,512,1\n";
    let (requests, report) = read("msr", lines);
    let streams: Vec<_> = requests.iter().map(|request| request.stream).collect();
    assert_eq!(streams, [0, 1, 2, 0]);
    assert_eq!(report.stream_names, ["hm_0", "hm_1", "prn_0"]);
    let lines = "1 1 a 0 8 R 6 0 x\n1 1 a 0 8 R 60 1 x\n1 1 a 0 8 R 6 01 x\n";
    let (_, report) = read("fiu", lines);
    assert_eq!(report.stream_names, ["6,0", "60,1", "6,01"]);
}

#[test]
fn sizes_of_windows_events_are_hexadecimal_without_a_prefix_too() {
    let lines = "DiskRead, 1, a (1), 1, f0, 1000, 00001000, 1, 3, 0\n";
    let (requests, _) = read_bytes(lines.as_bytes(), None).unwrap();
    assert_eq!((requests[0].address, requests[0].bytes), (4096, 4096));
}

#[test]
fn a_header_of_msr_is_counted_and_no_csv() {
    let lines = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n\
                 128166372003061629,hm,0,Read,0,512,1\n";
    let (requests, report) = read_bytes(lines.as_bytes(), None).unwrap();
    assert_eq!((report.format, requests.len(), report.skipped_records), ("msr", 1, 0));
    assert_eq!(report.passed_over, [("header lines", 1)]);
}

#[test]
fn unaligned_offsets_of_msr_req_are_a_sign_of_blocks() {
    let (_, report) = read("msr-req", "1 0 770051\n9 0 770052\n0 0 4096\n");
    assert!(has_note(&report, &["2 offsets are not multiples of 512"]), "{report:?}");
    let (_, report) = read("msr-req", "1 0 512\n9 0 0\n");
    assert!(!has_note(&report, &["multiples"]), "{report:?}");
    assert!(has_note(&report, &["no sizes"]), "{report:?}");
}

/// Format, line, and how the reason begins.
const MALFORMED: [(&str, &str, &str); 40] = [
    ("spc", "303567,3584,w,0.000000", "has no decimal size in field 3"),
    ("spc", "0,303567,3584,w", "has no time in seconds in field 5"),
    ("spc", "0,303567,3584,x,0.1", "has no R or W in field 4"),
    ("spc", "0,36028797018963968,512,r,0.1", "begins past the end"),
    ("spc", "4294967296,0,512,r,0.1", "has a device number above"),
    ("spc", "0,0,1099511627777,r,0.1", "has a size above"),
    ("spc", "0,0,512,r,noon", "has no time"),
    ("msr", "128166372003061629,hm,0,Read,383496192,32768", "does not end after a response"),
    ("msr", "128166372003061629,,0,Read,0,512,1", "has no host name"),
    ("msr", "128166372003061629,hm,x,Read,0,512,1", "has no decimal disk number"),
    ("msr", "128166372003061629,hm,0,Flush,0,512,1", "has no Read or Write"),
    ("msr", "1281663720030616290,hm,0,Read,0,512,1", "has a file time after the year 2185"),
    ("msr-req", "2 0 4096", "has no action 0, 1 or 9"),
    ("msr-req", "1 0 4096 8", "does not end after the offset"),
    ("disksim", "1.0 0 8 8 g", "has no hexadecimal flags"),
    ("disksim", "1.0 0 8 8 1 1", "does not end after the flags"),
    ("mqsim", "1.0 0 8 8 1", "has no whole nanoseconds"),
    ("mqsim", "1 0 8 8 2", "has no type 0 or 1"),
    ("heimdall-raw", "1 0 8 8 2", "has no type 0 or 1"),
    ("heimdall-raw", "1 0 -8 8 1", "has no decimal offset"),
    ("heimdall-replay", "1.5,80,2,8,8,1.5,8", "has no type 0 or 1"),
    ("heimdall-replay", "1.5,80,1,8,8,1.5", "has no decimal result"),
    ("alibaba", "1,X,0,512,1", "has no R or W"),
    ("alibaba", "1,R,0,512,noon", "has no microseconds"),
    ("alibaba", "1,R,0,512,1,1", "does not end after the time"),
    ("tencent", "1,0,8,2,7", "has no type 0 or 1"),
    ("tencent", "1,0,4294967296,0,7", "has a size above"),
    ("systor17", "1.5,,T,0,0,512", "has a type other than R and W"),
    ("systor17", "1.5,,R,0,0", "has no decimal size"),
    ("fiu", "1 1 a 0 8 X 6 0 x", "has no R or W before the major number"),
    ("fiu", "1 1 0 8 R 6 0", "has no decimal major number"),
    ("blkparse", "oops", "has no device such as 8,0"),
    ("blkparse", "8,0 3 1 0.1 697 Q W 2234", "has no + after the sector"),
    ("blkparse", "8,0 3 1 0.1 697 Q W 2234 + x", "has no decimal number of sectors"),
    ("etw", "DiskRead, 1, a (1), 1, 0x1, 0x200, x, 1, 0, 0", "has no hexadecimal size"),
    ("etw", "42, 1", "has no event in field 1"),
    ("etw", "Thread, x", "has no whole microseconds"),
    ("fio-iolog", "1 /dev/sdb read 0", "has no decimal length"),
    ("fio-iolog", "1 /dev/sdb dance 0 0", "has the action \"dance\""),
    ("fio-iolog", "x /dev/sdb read 0 512", "has no whole microseconds"),
];

#[test]
fn malformed_lines_are_counted_with_their_reasons() {
    for (format, line, reason) in MALFORMED {
        let (_, path) = excerpts().into_iter().find(|(name, _)| name == format).unwrap();
        let good = std::fs::read_to_string(path).unwrap();
        // In front of a summary that would swallow it, but behind a header.
        let header_end = good.find('\n').unwrap() + 1;
        let header_end = if format == "etw" { good.len() } else { header_end };
        let lines = format!("{}{line}\n{}", &good[..header_end], &good[header_end..]);
        let (_, report) = read(format, &lines);
        assert_eq!(report.skipped_records, 1, "{format}: {line}");
        let found = &report.first_skipped[0].reason;
        assert!(found.starts_with(reason), "{format}: {line}: {found}");
    }
}

/// Lines of msr without blanks are read in a shorter way; what they say must not depend on it.
#[test]
fn blanks_around_the_fields_of_msr_change_nothing() {
    let lines = [
        "128166372003061629,hm,0,Read,383496192,32768,1331",
        "128166372003061630,hm,1,Write,0,512,0",
        "128166372003061631,hm,0,Read,18446744073709551104,512,7",
        "128166372003061632,src1,0,Write,512,0,7",
        "128166372003061633,hm,0,Read,18446744073709551615,512,7",
        "128166372003061634,hm,0,Trim,512,512,7",
        "128166372003061635,hm,0,Read,512,512",
        "128166372003061636,hm,0,Read,512,512,7,8",
    ];
    let lines: Vec<_> = std::iter::repeat_n(lines[0], 8).chain(lines).collect();
    let plain = read("msr", &(lines.join("\n") + "\n"));
    assert_eq!((plain.0.len(), plain.1.skipped_records), (11, 4));
    assert_eq!(plain.1.stream_names, ["hm_0", "hm_1", "src1_0"]);
    let spaced = lines.join("\n").replace(',', " , ") + "\n";
    let spaced = read("msr", &spaced);
    assert_eq!((&plain.0, &plain.1.stream_names), (&spaced.0, &spaced.1.stream_names));
    assert_eq!(plain.1.skipped_records, spaced.1.skipped_records);
}

#[test]
fn letters_of_blkparse_are_read_by_their_places() {
    let lines = "259,0 3 1 0.001 7 Q ZR 524288 + 524288 [w]\n259,0 3 2 0.002 7 Q ZA 524288 + 8 [w]\n\
                 259,0 3 3 0.003 7 Q ZAS 524288 + 8 [w]\n259,0 3 4 0.004 7 Q R 524288 + 8 [w]\n\
                 259,0 3 5 0.005 7 Q ZF 524288 + 524288 [w]\n259,0 3 6 0.006 7 Q W 0 + 8 [w]\n";
    let (requests, report) = read_bytes(lines.as_bytes(), None).unwrap();
    let found: Vec<_> = requests.iter().map(|it| (it.op, it.address / 512, it.bytes)).collect();
    assert_eq!(
        found,
        [
            (Op::Write, 524_288, 4096),
            (Op::Write, 524_296, 4096),
            (Op::Read, 524_288, 4096),
            (Op::Write, 0, 4096)
        ]
    );
    assert_eq!(report.skipped_records, 0);
}

#[test]
fn a_request_through_stacked_devices_is_counted_once() {
    let lines = "253,0 3 1 0.001 7 Q W 1000 + 8 [w]\n8,0 3 2 0.002 7 A W 3048 + 8 <- (253,0) 1000\n\
                 8,0 3 3 0.003 7 Q W 3048 + 8 [w]\n8,0 3 4 0.004 7 Q W 4096 + 8 [w]\n\
                 8,0 3 5 0.005 7 A W 64 + 8 <- (8,1) 0\n8,0 3 6 0.005 7 Q W 64 + 8 [w]\n";
    let (requests, report) = read_bytes(lines.as_bytes(), None).unwrap();
    let sectors: Vec<_> = requests.iter().map(|it| it.address / 512).collect();
    assert_eq!(sectors, [1000, 4096, 64]);
    assert!(has_note(&report, &["1 requests went through devices", "counted once"]), "{report:?}");
}

#[test]
fn completions_alone_and_several_outputs_are_read() {
    let lines = "8,16 3 1 0.001 7 C W 8 + 8 [0]\n8,16 3 2 0.002 7 C RA 16 + 8 [0]\n";
    let (requests, report) = read_bytes(lines.as_bytes(), None).unwrap();
    assert_eq!((requests.len(), report.format), (2, "blkparse"));
    assert!(has_note(&report, &["action C"]), "{report:?}");
    let output = "8,16 3 1 0.001 7 Q W 8 + 8 [w]\n\nCPU3 (8,16):\n Reads Queued: 0, 0KiB\n\nTotal (8,16):\n x\n";
    let two = output.to_owned() + &output.replace("8,16", "8,32");
    let (requests, report) = read_bytes(two.as_bytes(), None).unwrap();
    assert_eq!((requests.len(), requests[1].stream), (2, 1));
    assert!(has_note(&report, &["2 outputs of blkparse"]), "{report:?}");
}

#[test]
fn superblocks_of_lackey_hold_no_access() {
    let (requests, report) =
        read_bytes(b"SB 04016b80\nI  04016b80,3\n S 1ffefffe78,8\nSB 04017750\n", None).unwrap();
    assert_eq!((requests.len(), report.format), (2, "lackey"));
    assert_eq!(report.passed_over, [("superblocks", 2)]);
}

#[test]
fn a_biosnoop_without_sectors_is_refused_with_a_remedy() {
    let lines = "TIME(ms)     DISK    COMM             PID    LAT(ms)\n1   sda   dd   7   0.2\n";
    let message = message_of(lines.as_bytes(), None);
    assert!(message.contains("no column T; record with the biosnoop of bcc"), "{message}");
}
