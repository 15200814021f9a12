//! Tables that no format should be seen in, and tables whose columns their user names.

use clockhand_trace::{Op, OpenOptions, TraceReader};

use crate::reading::{drain, message_of, read_bytes};

/// A small generator of numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % limit.max(1)
    }
}

/// How the numbers of a column come about.
fn column(random: &mut Random, rows: u64) -> Vec<String> {
    let limit = 1 << random.below(48);
    let kind = random.below(9);
    let mut last = random.below(limit);
    (0..rows)
        .map(|_| match kind {
            0 => random.below(limit).to_string(),
            1 => random.below(2).to_string(),
            2 => (random.below(limit) * 512).to_string(),
            3 => (random.below(limit) * 4096).to_string(),
            4 => format!("{}.{:06}", random.below(limit), random.below(1_000_000)),
            5 => (random.below(8) + 1).to_string(),
            6 => format!("{:08}", random.below(limit.min(100_000_000))),
            7 => format!("{:010}", random.below(limit)),
            _ => {
                last += random.below(1000);
                last.to_string()
            }
        })
        .collect()
}

#[test]
fn tables_of_numbers_are_never_taken_for_a_trace() {
    let mut random = Random(49);
    let mut seen = Vec::new();
    for _ in 0..6000 {
        let (rows, width) = (8 + random.below(60), 2 + random.below(7));
        let columns: Vec<_> = (0..width).map(|_| column(&mut random, rows)).collect();
        let separator = [",", " ", "\t", ";", ", "][random.below(5) as usize];
        let mut text = String::new();
        for row in 0..rows as usize {
            let fields: Vec<_> = columns.iter().map(|column| column[row].as_str()).collect();
            text += &fields.join(separator);
            text.push('\n');
        }
        let options = OpenOptions { assume_reads: true, ..OpenOptions::default() };
        let reader = TraceReader::from_bytes("table", text.clone().into_bytes(), &options);
        if let Ok(mut reader) = reader {
            let format = drain(&mut reader).map(|(_, report)| report.format);
            seen.push(format!("{format:?}: {}", &text[..text.len().min(200)]));
        }
    }
    assert!(seen.is_empty(), "{} tables: {}", seen.len(), seen[0]);
}

#[test]
fn addresses_in_two_readings_that_both_fit_are_refused() {
    let lines = |addresses: &[&str]| {
        addresses.iter().map(|it| format!("{it} R\n{it} W\n")).collect::<String>()
    };
    for refused in [
        &["00004096", "00008192", "00012288"][..],
        &["00000017", "00000123", "00004567"],
        &["00064000", "00128000"],
        &["0000004096", "0000008192"],
    ] {
        let message = message_of(lines(refused).as_bytes(), None);
        assert!(message.contains("they may be decimal"), "{refused:?}: {message}");
    }
    for taken in
        [&["00001000", "00003000"][..], &["0041f7a0", "31348900"], &["00000000", "00000005"]]
    {
        let (requests, report) = read_bytes(lines(taken).as_bytes(), None).unwrap();
        assert_eq!((requests.len(), report.format), (2 * taken.len(), "os-course"), "{taken:?}");
    }
}

#[test]
fn a_format_without_a_mark_is_named_with_what_speaks_against_it() {
    for (text, words) in [
        ("1 70001 120400\n2 70064 5260\n3 70003 14000\n", "ramulator, but"),
        ("0 83274 8012 1 2\n0 83275 12333 1 2\n1 83274 8012 1 2\n", "may be decimal"),
        ("4096 R\n4100 W\n5000 R\n", "os-course, but no address in field 1 has a letter"),
        (
            "1000,303567,3584,W,12\n1200,303567,3584,R,15\n1400,303574,4096,W,11\n",
            "an ASU of its own",
        ),
        ("0,1,7,R,0.1\n0,9,13,W,0.2\n0,2,9,R,0.3\n", "not multiples of 512"),
        ("1,5,120,0,7\n2,6,130,1,7\n3,7,140,0,7\n", "seconds of the years"),
    ] {
        let message = message_of(text.as_bytes(), None);
        assert!(message.contains(words), "{message}");
        assert!(message.contains("--trace-format 'csv:sep="), "{message}");
    }
}

#[test]
fn candidates_are_named_with_what_each_would_read() {
    let message = message_of(b"1000 0 12288 4096 0\n2000 0 8192 4096 1\n", None);
    for words in [
        "this could be disksim or heimdall-raw or mqsim",
        "disksim writes 2097152 bytes at byte 6291456",
        "heimdall-raw writes 4096 bytes at byte 12288",
    ] {
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn an_unknown_table_is_answered_with_the_columns_filled_in() {
    for (text, offer) in [
        (
            "when_ms;cmd;lba;nsect;vm\n1;RD;8;8;a\n2;WS;16;8;b\n",
            "csv:sep=;,header=yes,op=cmd,read=WORDS,write=WORDS,address=lba*512,size=nsect*512,time=when_ms:ms,stream=vm",
        ),
        (
            "time\tofs\tkind\n1\t2\tx\n",
            "csv:sep=tab,header=yes,op=COLUMN,address=COLUMN,time=time:UNIT",
        ),
        ("5|4096|R\n6|8192|W\n", "csv:sep=|,header=no,op=3,address=COLUMN,size=COLUMN"),
    ] {
        let message = message_of(text.as_bytes(), None);
        assert!(message.contains(&format!("'{offer}'")), "{message}");
    }
    let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
    assert!(!message_of(pointer, None).contains("csv:"));
    assert!(!message_of(b"once upon a time\nthere was\n", None).contains("csv:"));
}

#[test]
fn a_table_is_read_by_the_columns_that_are_named() {
    let text =
        "when_ms;cmd;lba;nsect;vm\n1.5;RD;8;8;a\n2;WS;16;16;b\n\n3;T;0;8;a\n4;RD;0;8;\"a;b\"\n";
    let format = "csv:sep=;,header=yes,op=cmd,address=lba*512,size=nsect*512,time=when_ms:ms,stream=vm,\
                  read=R|RD|0,write=W|WS|1,discard=T";
    let (requests, report) = read_bytes(text.as_bytes(), Some(format)).unwrap();
    let found: Vec<_> = requests
        .iter()
        .map(|it| (it.op, it.address, it.bytes, it.time_ns.unwrap(), it.stream))
        .collect();
    assert_eq!(
        found,
        [
            (Op::Read, 4096, 4096, 1_500_000, 0),
            (Op::Write, 8192, 8192, 2_000_000, 1),
            (Op::Read, 0, 4096, 4_000_000, 2)
        ]
    );
    assert_eq!(report.stream_names, ["a", "b", "a;b"]);
    assert_eq!((report.format, report.skipped_records), ("csv", 0));
    assert_eq!(report.passed_over, [("discards", 1)]);
}

#[test]
fn columns_have_numbers_where_there_is_no_header() {
    let text = "   1 ff00 R\n 2   0xAB  W 9\n";
    let (requests, _) =
        read_bytes(text.as_bytes(), Some("csv:sep=blank,op=3,address=2:hex*16,size==4KiB"))
            .unwrap();
    let found: Vec<_> = requests.iter().map(|it| (it.op, it.address, it.bytes)).collect();
    assert_eq!(found, [(Op::Read, 0xff000, 4096), (Op::Write, 0xab0, 4096)]);
}

#[test]
fn a_table_without_operations_needs_to_be_told_what_they_are() {
    let text = "1,70001,120400\n2,70064,5260\n";
    let options = |assume_reads, format: &str| OpenOptions {
        format: Some(format.to_owned()),
        assume_reads,
        ..OpenOptions::default()
    };
    let open = |options| TraceReader::from_bytes("t", text.as_bytes().to_vec(), &options);
    let message = open(options(false, "csv:address=2,size=3")).err().unwrap().to_string();
    assert!(message.contains("--assume-reads"), "{message}");
    let (_, report) = drain(&mut open(options(true, "csv:address=2,size=3")).unwrap()).unwrap();
    assert_eq!((report.requests, report.assumed_reads), (2, 2));
    let (requests, _) =
        drain(&mut open(options(false, "csv:address=2,size=3,op==write")).unwrap()).unwrap();
    assert!(requests.iter().all(|request| request.op == Op::Write));
}

#[test]
fn quotes_and_blanks_of_a_named_table_change_nothing() {
    let format = "csv:header=no,op=1,address=2,size=3,time=4:us,stream=5+6";
    let plain = "R,4096,512,1,a,x\nW,8192,512,2,b,x\nRA,4096.0,512,2e3,a,x\n";
    let (expected, report) = read_bytes(plain.as_bytes(), Some(format)).unwrap();
    assert_eq!(report.stream_names, ["a/x", "b/x"]);
    assert_eq!(expected[2].time_ns, Some(2_000_000));
    let quoted: String = plain
        .lines()
        .map(|line| {
            let fields: Vec<_> = line.split(',').map(|field| format!("\"{field}\"")).collect();
            fields.join(", ") + "\n"
        })
        .collect();
    // RFC 4180 knows no blank in front of a quote.
    let quoted = quoted.replace(", ", ",");
    assert_eq!(read_bytes(quoted.as_bytes(), Some(format)).unwrap().0, expected);
    assert_eq!(read_bytes(plain.replace(',', " , ").as_bytes(), Some(format)).unwrap().0, expected);
}

#[test]
fn a_field_that_no_study_needs_loses_no_request() {
    let text = "0,0,4096,W,0.0\n0,8,4096,W,9.1e-05\n0,16,4096,R,-1\n0,24,4096,R,1\n";
    let (requests, report) = read_bytes(text.as_bytes(), None).unwrap();
    let times: Vec<_> = requests.iter().map(|request| request.time_ns.unwrap()).collect();
    assert_eq!(times, [0, 91_000, 91_000, 1_000_000_000]);
    assert_eq!(report.unreadable_times, 1);
    assert!(report.notes.iter().any(|note| note.contains("below zero")), "{:?}", report.notes);
    let text = "op,address,size\nR,0,4096\nW,8192,5368709120\n";
    let (requests, report) = read_bytes(text.as_bytes(), None).unwrap();
    let bytes: u64 = requests.iter().map(|request| u64::from(request.bytes)).sum();
    assert_eq!((bytes, requests.len(), report.long_requests), (4096 + 5_368_709_120, 3, 1));
}

#[test]
fn operations_as_the_kernel_names_them_are_understood() {
    let text =
        "op,address,size\nREAD,0,4096\nWriteSync,8192,4096\nRA,0,4096\nWS,4096,4096\nD,0,4096\n";
    let (requests, report) = read_bytes(text.as_bytes(), None).unwrap();
    let ops: Vec<_> = requests.iter().map(|request| request.op).collect();
    assert_eq!(ops, [Op::Read, Op::Write, Op::Read, Op::Write]);
    assert_eq!(report.passed_over, [("discards", 1)]);
}

#[test]
fn most_of_a_table_lost_is_an_error() {
    let text = "op,address,size\nR,0,4096\nW,0,4096\nX,0,4096\nY,0,4096\nZ,0,4096\n";
    assert!(message_of(text.as_bytes(), None).contains("3 of 6"));
}
