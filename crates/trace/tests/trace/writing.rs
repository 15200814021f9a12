//! Every format that can be written: what is read again is what was written, but for what the
//! format cannot hold, and that is named.

use std::path::{Path, PathBuf};

use clockhand_trace::{
    Op, OptionalColumns, ReadReport, Request, TraceError, TraceWriter, WriteOptions, find_target,
    formats, targets,
};
use proptest::prelude::*;

use crate::reading::{excerpts, read_file};

const SECOND_NS: u64 = 1_000_000_000;

/// What a target holds, written down from the formats' pages and not from the writers.
struct Holds {
    target: &'static str,
    format: &'static str,
    /// Addresses are multiples of it.
    unit_bytes: u64,
    size: Size,
    time_unit_ns: Option<u64>,
    streams: Streams,
}

#[derive(Clone, Copy, PartialEq)]
enum Size {
    Bytes,
    Units,
    /// Each entry has this size.
    Only(u32),
}

#[derive(Clone, Copy, PartialEq)]
enum Streams {
    None,
    Kept,
    /// The reader numbers them in the order of their appearance.
    Renumbered,
}

const fn holds(
    target: &'static str,
    format: &'static str,
    unit_bytes: u64,
    size: Size,
    time_unit_ns: u64,
    streams: Streams,
) -> Holds {
    let time_unit_ns = if time_unit_ns == 0 { None } else { Some(time_unit_ns) };
    Holds { target, format, unit_bytes, size, time_unit_ns, streams }
}

const TARGETS: [Holds; 28] = {
    use Size::{Bytes, Only, Units};
    use Streams::{Kept, None, Renumbered};
    [
        holds("alibaba", "alibaba", 1, Bytes, 1_000, Kept),
        holds("blkparse", "blkparse", 512, Units, 1, Renumbered),
        holds("csv", "csv", 1, Bytes, 1, Kept),
        holds("dinero", "dinero", 1, Only(1), 0, None),
        holds("disksim", "disksim", 512, Units, 1, Kept),
        holds("dramsim2", "dramsim2", 1, Only(1), 0, None),
        holds("etw", "etw", 1, Bytes, 1_000, Kept),
        holds("events", "events", 1, Bytes, 1, Renumbered),
        holds("fio-iolog-v2", "fio-iolog", 1, Bytes, 0, Renumbered),
        holds("fio-iolog-v3", "fio-iolog", 1, Bytes, 1_000, Renumbered),
        holds("fiu", "fiu", 512, Units, 1, Renumbered),
        holds("heimdall-raw", "heimdall-raw", 1, Bytes, 1, Kept),
        holds("heimdall-replay", "heimdall-replay", 1, Bytes, 1, None),
        holds("lackey", "lackey", 1, Bytes, 0, None),
        holds("lcs", "lcs", 4096, Only(4096), SECOND_NS, Renumbered),
        holds("mqsim", "mqsim", 512, Units, 1, Kept),
        holds("msr", "msr", 1, Bytes, 100, Renumbered),
        holds("msr-req", "msr-req", 1, Only(1), 0, None),
        holds(
            "oracle-general-opns",
            "oracle-general-opns",
            4096,
            Only(4096),
            SECOND_NS,
            Renumbered,
        ),
        holds("os-course", "os-course", 1, Only(1), 0, None),
        holds("parquet", "parquet", 1, Bytes, 1, Kept),
        holds("ramulator", "ramulator", 64, Only(64), 0, None),
        holds("spc", "spc", 512, Bytes, 1, Kept),
        holds("systor17", "systor17", 1, Bytes, 1, Kept),
        holds("tencent", "tencent", 512, Units, SECOND_NS, Kept),
        holds("ucsd", "ucsd", 1, Only(1), 0, None),
        holds("vscsi-v1", "vscsi", 512, Bytes, 1_000, None),
        holds("vscsi-v2", "vscsi", 512, Bytes, 1_000, None),
    ]
};

/// A new place for a file of this name, in a folder of its own.
fn place(name: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    (folder, path)
}

fn options(target: &str) -> WriteOptions {
    WriteOptions { target: find_target(target).unwrap(), widen: false, labels: Vec::new() }
}

fn write(
    path: &Path,
    options: &WriteOptions,
    requests: &[Request],
    names: &[String],
) -> Result<Vec<String>, TraceError> {
    let mut writer = TraceWriter::create(path, options, OptionalColumns::of(requests))?;
    for batch in requests.chunks(7) {
        writer.write(batch, names)?;
    }
    writer.finish()
}

/// Writes requests, reads them again, and gives them with the reader's report and the losses.
fn through(
    options: &WriteOptions,
    format: &str,
    ending: &str,
    requests: &[Request],
) -> (Vec<Request>, ReadReport, Vec<String>) {
    let (_folder, path) = place(&format!("trace{ending}"));
    let losses = write(&path, options, requests, &[]).unwrap();
    let (read, report) = read_file(&path, Some(format)).unwrap();
    assert_eq!(report.skipped_records, 0, "{:?}", report.first_skipped);
    (read, report, losses)
}

fn renumbered(requests: &mut [Request]) {
    let mut seen: Vec<u32> = Vec::new();
    for request in requests {
        let number = seen.iter().position(|&stream| stream == request.stream);
        request.stream = number.unwrap_or_else(|| {
            seen.push(request.stream);
            seen.len() - 1
        }) as u32;
    }
}

/// Numbers that make a request that any target can hold.
type Draw = (bool, u64, u32, u32, u64);

fn fitting(holds: &Holds, draws: &[Draw], has_times: bool) -> Vec<Request> {
    let mut time_ns = 1_577_808_000 * SECOND_NS;
    let mut requests = Vec::new();
    for &(is_write, place, size, stream, gap_ns) in draws {
        time_ns += gap_ns;
        let request = Request {
            op: if is_write { Op::Write } else { Op::Read },
            address: place - place % holds.unit_bytes,
            bytes: match holds.size {
                Size::Bytes => size,
                Size::Units => size.div_ceil(512) * 512,
                Size::Only(bytes) => bytes,
            },
            stream: if holds.streams == Streams::None { 0 } else { stream },
            time_ns: has_times.then_some(time_ns),
            class: None,
        };
        // A write-back needs the read that causes it.
        if holds.target == "ramulator" && is_write {
            requests.push(Request { op: Op::Read, address: request.address ^ 4096, ..request });
        }
        requests.push(request);
    }
    requests
}

/// Targets whose times count from the start of a trace, so that dates become times from the first request on.
const FROM_START: [&str; 8] = [
    "blkparse",
    "disksim",
    "etw",
    "fio-iolog-v3",
    "heimdall-raw",
    "heimdall-replay",
    "mqsim",
    "spc",
];

fn expected(holds: &Holds, mut requests: Vec<Request>) -> Vec<Request> {
    /// Ten years: no clock that counts from a start is as late.
    const DATE_NS: u64 = 10 * 365 * 86_400 * SECOND_NS;
    let first_ns = requests.first().and_then(|request| request.time_ns).unwrap_or(0);
    for request in &mut requests {
        if FROM_START.contains(&holds.target) && first_ns >= DATE_NS {
            request.time_ns = request.time_ns.map(|time_ns| time_ns - first_ns);
        }
        request.time_ns = match (holds.time_unit_ns, request.time_ns) {
            (Some(unit_ns), Some(time_ns)) => Some(time_ns - time_ns % unit_ns),
            _ => None,
        };
    }
    if holds.streams == Streams::Renumbered {
        renumbered(&mut requests);
    }
    requests
}

const ENDINGS: [&str; 5] = ["", ".gz", ".zst", ".xz", ".bz2"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read_but_for_what_the_format_lacks(
        draws in prop::collection::vec(
            (any::<bool>(), 0_u64..1 << 41, 1_u32..200_000, 0_u32..4, 0_u64..5 * SECOND_NS),
            1..60,
        ),
        ending in 0_usize..5,
    ) {
        for holds in &TARGETS {
            let ending = if holds.target == "parquet" { "" } else { ENDINGS[ending] };
            let requests = fitting(holds, &draws, true);
            let (read, _, losses) =
                through(&options(holds.target), holds.format, ending, &requests);
            let expected = expected(holds, requests.clone());
            let is_of_times = |loss: &String| loss.contains("times are") || loss.contains("times count");
            let names_lost_times = losses.iter().any(is_of_times);
            prop_assert_eq!(&read, &expected, "{}", holds.target);
            let times_differ = expected.iter().zip(&requests).any(|(a, b)| a.time_ns != b.time_ns);
            prop_assert_eq!(names_lost_times, times_differ, "{}: {:?}", holds.target, losses);
        }
    }

    #[test]
    fn traces_without_times_keep_everything_else(
        draws in prop::collection::vec(
            (any::<bool>(), 0_u64..1 << 41, 1_u32..200_000, 0_u32..4, Just(0)), 1..40,
        ),
    ) {
        for holds in &TARGETS {
            let requests = fitting(holds, &draws, false);
            let (mut read, _, losses) = through(&options(holds.target), holds.format, "", &requests);
            let makes_times = holds.time_unit_ns.is_some()
                && !["csv", "events", "parquet"].contains(&holds.target);
            let names_it = losses.iter().any(|loss| loss.contains("the trace has no times"));
            prop_assert_eq!(names_it, makes_times, "{}: {:?}", holds.target, losses);
            read.iter_mut().for_each(|request| request.time_ns = None);
            prop_assert_eq!(&read, &expected(holds, requests), "{}", holds.target);
        }
    }

    #[test]
    fn widened_requests_cover_what_they_were(
        draws in prop::collection::vec(
            (any::<bool>(), 0_u64..1 << 41, 1_u32..20_000, Just(0), Just(1)), 1..20,
        ),
    ) {
        let bytes_of = |holds: &Holds| Holds { unit_bytes: 1, size: Size::Bytes, ..*holds };
        for holds in TARGETS.iter().filter(|holds| holds.unit_bytes > 1) {
            if holds.target == "ramulator" {
                continue;
            }
            let requests = fitting(&bytes_of(holds), &draws, true);
            let widening = WriteOptions { widen: true, ..options(holds.target) };
            let (read, _, _) = through(&widening, holds.format, "", &requests);
            let sectors = |requests: &[Request]| {
                let unit_shift = holds.unit_bytes.trailing_zeros();
                let pages = requests.iter().map(|request| (request.op, request.pages(unit_shift)));
                pages.flat_map(|(op, pages)| pages.map(move |page| (op, page))).collect::<Vec<_>>()
            };
            prop_assert_eq!(sectors(&read), sectors(&requests), "{}", holds.target);
        }
    }
}

#[test]
fn every_target_is_tested_and_is_one_of_its_format() {
    let tested: Vec<_> = TARGETS.iter().map(|holds| holds.target).collect();
    let mut all: Vec<_> = targets().map(|target| target.name()).collect();
    all.sort_unstable();
    assert_eq!(tested, all);
    for holds in &TARGETS {
        let format = formats().iter().find(|format| format.name() == holds.format).unwrap();
        assert!(format.targets().iter().any(|target| target.name() == holds.target));
    }
}

#[test]
fn excerpts_written_in_their_own_format_stay_what_they_are() {
    for (format, path) in excerpts() {
        let (requests, report) = read_file(&path, Some(&format)).unwrap();
        let format = formats().iter().find(|known| known.name() == format).unwrap();
        for target in format.targets() {
            // Objects of odd sizes are whole blocks in the formats of libCacheSim.
            let holds = TARGETS.iter().find(|holds| holds.target == target.name()).unwrap();
            let has_objects = holds.size == Size::Only(4096);
            let options = WriteOptions { widen: has_objects, ..options(target.name()) };
            let (_folder, copy) = place("copy");
            write(&copy, &options, &requests, &report.stream_names).unwrap();
            let (mut copied, copied_report) = read_file(&copy, Some(format.name())).unwrap();
            let mut expected = expected(holds, requests.clone());
            if has_objects {
                expected.iter_mut().for_each(|request| request.bytes = 4096);
                renumbered(&mut copied);
            }
            assert_eq!(copied, expected, "{}", target.name());
            if format.name() != "parquet" {
                assert_eq!(copied_report.stream_names, report.stream_names, "{}", target.name());
            }
        }
    }
}

fn refusal(target: &str, requests: &[Request]) -> String {
    let (folder, path) = place("refused");
    let message = write(&path, &options(target), requests, &[]).unwrap_err().to_string();
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "{target} left {left:?}");
    assert!(!message.contains('\n') && message.contains("; "), "{message}");
    message
}

#[test]
fn a_request_that_a_format_cannot_hold_is_an_error_that_names_it() {
    let whole = Request::new(Op::Read, 4096, 4096);
    for holds in TARGETS.iter().filter(|holds| holds.unit_bytes > 1) {
        let odd = Request { address: 4096 + 7, ..whole };
        let message = refusal(holds.target, &[whole, odd]);
        assert!(message.contains("request 1 begins at byte 4103"), "{message}");
        assert!(message.contains("--widen"), "{message}");
    }
    for holds in TARGETS.iter().filter(|holds| holds.streams == Streams::None) {
        let other = Request { stream: 3, ..whole };
        let message = refusal(holds.target, &[whole, whole, other]);
        assert!(message.contains("request 2 is of stream 3"), "{message}");
        assert!(message.contains("--streams"), "{message}");
    }
    let write = Request { op: Op::Write, ..whole };
    let message = refusal("ramulator", &[whole, write]);
    assert!(message.contains("request 1 writes without a read before it"), "{message}");
    let late = |time_s: u64| Request { time_ns: Some(time_s * SECOND_NS), ..whole };
    let message = refusal("lcs", &[late(1), late(1 << 32)]);
    assert!(message.contains("request 1 is 4294967296 seconds after"), "{message}");
    let crowd = Request { stream: 70_000, ..whole };
    let message = refusal("oracle-general-opns", &[crowd]);
    assert!(message.contains("streams up to 65535"), "{message}");
    let mixed = [whole, Request { time_ns: Some(1), ..whole }];
    for target in ["spc", "parquet"] {
        assert!(refusal(target, &mixed).contains("request 1 has a time although"), "{target}");
    }
}

#[test]
fn a_format_without_sizes_gets_an_entry_per_page() {
    let requests = [Request::new(Op::Write, 4000, 8192), Request::new(Op::Read, 1, 1)];
    let (read, _, losses) = through(&options("os-course"), "os-course", "", &requests);
    let addresses: Vec<_> = read.iter().map(|request| request.address).collect();
    assert_eq!(addresses, [4000, 4096, 8192, 1]);
    assert_eq!(
        losses,
        [
            "sizes are lost: os-course has none, so each request becomes an entry per 4096 bytes that it \
         touches (2 requests, 4 entries)"
        ]
    );
    let last_page = [Request::new(Op::Read, u64::MAX - 5000, 5001)];
    let (read, _, _) = through(&options("os-course"), "os-course", "", &last_page);
    assert_eq!(read.len(), 2);
}

#[test]
fn times_before_1970_or_from_another_century_fit_into_32_bits_from_the_first_on() {
    let times_ns = [13_000_000_000 * SECOND_NS, 13_000_000_007 * SECOND_NS];
    let requests = times_ns
        .map(|time_ns| Request { time_ns: Some(time_ns), ..Request::new(Op::Read, 0, 4096) });
    let (read, _, losses) = through(&options("lcs"), "lcs", "", &requests);
    let times_s: Vec<_> = read.iter().map(|request| request.time_ns.unwrap() / SECOND_NS).collect();
    assert_eq!(times_s, [0, 7]);
    assert!(losses.contains(&"times count from the first request on".to_owned()), "{losses:?}");
}

#[test]
fn labels_are_kept_where_there_are_comments_and_missed_where_there_are_none() {
    let requests = [Request::new(Op::Read, 0, 4096)];
    let labels = vec![("synthetic".to_owned(), "zipf: 1.0".to_owned())];
    for holds in &TARGETS {
        let options = WriteOptions { labels: labels.clone(), ..options(holds.target) };
        let (_, report, losses) = through(&options, holds.format, "", &requests);
        if ["csv", "events", "lackey", "parquet"].contains(&holds.target) {
            assert_eq!(report.labels, labels, "{}", holds.target);
        } else {
            let named = losses.iter().any(|loss| loss == "labels are lost: synthetic");
            assert!(named, "{}: {losses:?}", holds.target);
        }
    }
}

#[test]
fn names_of_streams_are_kept_where_they_fit() {
    let request = |stream| Request { stream, ..Request::new(Op::Read, 0, 4096) };
    let requests = [request(0), request(1), request(0)];
    let names = |names: [&str; 2]| names.map(str::to_owned).to_vec();
    for (target, given, read_names) in [
        ("msr", ["hm_0", "a,b"], ["hm_0", "stream_1"]),
        ("fiu", ["6,0", "sda"], ["6,0", "0,1"]),
        ("blkparse", ["8,16", "x"], ["8,16", "0,1"]),
        ("fio-iolog", ["/dev/sdb", "a b"], ["/dev/sdb", "stream-1"]),
        ("csv", ["a \"b\",c", "7"], ["a \"b\",c", "stream 1"]),
    ] {
        let (_folder, path) = place("named");
        let losses = write(&path, &options(target), &requests, &names(given)).unwrap();
        let (read, report) = read_file(&path, None).unwrap();
        assert_eq!(report.stream_names, names(read_names), "{target}");
        assert_eq!(read.iter().map(|request| request.stream).collect::<Vec<_>>(), [0, 1, 0]);
        assert!(losses.iter().any(|loss| loss.contains("are replaced")), "{target}: {losses:?}");
    }
    let (_folder, path) = place("clash");
    let message = write(&path, &options("msr"), &requests, &names(["stream_1", "?"]))
        .unwrap_err()
        .to_string();
    assert!(message.contains("request 1 is of stream 1, which would be written"), "{message}");
}

#[test]
fn compressed_parquet_is_refused() {
    let (_folder, path) = place("a.parquet.gz");
    let requests = [Request::new(Op::Read, 0, 1)];
    let message = write(&path, &options("parquet"), &requests, &[]).unwrap_err().to_string();
    assert!(message.contains("compressed inside"), "{message}");
}

/// Links were once replaced by files, and devices and pipes too.
#[cfg(unix)]
#[test]
fn links_are_followed_and_pipes_are_written_to() {
    use std::os::unix::fs::{FileTypeExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("elsewhere")).unwrap();
    std::fs::write(at("elsewhere/old.csv"), "old").unwrap();
    symlink("elsewhere/old.csv", at("link.csv")).unwrap();
    symlink("elsewhere/new.csv", at("dangling.csv")).unwrap();
    let options =
        WriteOptions { target: find_target("csv").unwrap(), widen: false, labels: vec![] };
    let write = |name: &str| {
        let mut writer =
            TraceWriter::create(at(name), &options, OptionalColumns::default()).unwrap();
        writer.write(&[Request::new(Op::Read, 0, 512)], &[]).unwrap();
        writer.finish().unwrap();
    };
    for (link, target) in [("link.csv", "old.csv"), ("dangling.csv", "new.csv")] {
        write(link);
        assert!(std::fs::symlink_metadata(at(link)).unwrap().is_symlink());
        let text = std::fs::read_to_string(at("elsewhere").join(target)).unwrap();
        assert!(text.starts_with("op,address,size"), "{text}");
    }
    assert_eq!(
        std::fs::read_dir(at("elsewhere")).unwrap().count(),
        2,
        "nothing unfinished is left"
    );
    let made = std::process::Command::new("mkfifo").arg(at("pipe.csv")).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("skipped: there is no program mkfifo");
        return;
    }
    let pipe = at("pipe.csv");
    let reader = std::thread::spawn(move || std::fs::read_to_string(pipe).unwrap());
    write("pipe.csv");
    assert!(reader.join().unwrap().starts_with("op,address,size"));
    assert!(std::fs::metadata(at("pipe.csv")).unwrap().file_type().is_fifo());
}
