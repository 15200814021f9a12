//! Known counts of real traces, where they are at hand; each was also counted with awk.

use std::path::{Path, PathBuf};

use clockhand_trace::{OpenOptions, TraceInfo, TraceReader};

/// The path of a shared trace; `None`, with a message, if there are none.
fn shared_trace(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("CLOCKHAND_SHARED_TRACES").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces"),
        PathBuf::from,
    );
    let path = folder.join(name);
    if !path.exists() {
        eprintln!("skipped: there is no {}", path.display());
        return None;
    }
    Some(path)
}

fn info_of(name: &str) -> Option<TraceInfo> {
    info_as(name, None)
}

fn info_as(name: &str, format: Option<&str>) -> Option<TraceInfo> {
    let format = format.map(str::to_owned);
    let options = OpenOptions { format, ..OpenOptions::default() };
    let mut reader = TraceReader::open(shared_trace(name)?, &options).unwrap();
    Some(TraceInfo::read(&mut reader, 4096).unwrap())
}

#[test]
fn os_gcc_has_its_known_counts() {
    let Some(info) = info_of("os_gcc.trace.xz") else { return };
    assert_eq!((info.report.format, info.report.compression), ("os-course", Some("xz")));
    assert_eq!((info.requests(), info.write_requests), (1_000_000, 107_184));
    assert_eq!((info.footprint_pages, info.dirty_footprint_pages), (2_852, 1_145));
}

#[test]
fn os_swim_has_its_known_counts() {
    let Some(info) = info_of("os_swim.trace.xz") else { return };
    assert_eq!((info.requests(), info.write_requests), (1_000_000, 67_170));
    assert_eq!((info.footprint_pages, info.dirty_footprint_pages), (2_543, 1_169));
}

#[test]
fn msr_cut_has_its_known_counts() {
    let name = "msr_cut_rw_20_80.105.trace.xz";
    let Some(info) = info_as(name, Some("heimdall-raw")) else { return };
    assert_eq!((info.requests(), info.write_requests), (10_000, 7_980));
    assert_eq!((info.footprint_pages, info.streams), (7_385, 1));
    assert_eq!((info.total_bytes(), info.span_ns), (54_810_112, Some(242_904_693_000)));
    assert_eq!(info.report.notes, Vec::<String>::new());
}

#[test]
fn msr_cut_is_not_guessed() {
    let Some(path) = shared_trace("msr_cut_rw_20_80.105.trace.xz") else { return };
    let refusal = TraceReader::open(path, &OpenOptions::default()).err().unwrap().to_string();
    assert!(refusal.contains("this could be disksim or heimdall-raw"), "{refusal}");
    let readings = "the first request by disksim writes 2097152 bytes at byte 102720602112, by \
                    heimdall-raw writes 4096 bytes at byte 200626176";
    assert!(refusal.contains(readings), "{refusal}");
    assert!(refusal.contains("--trace-format"), "{refusal}");
}

#[test]
fn alibaba_replay_has_its_known_counts_and_its_order() {
    let Some(info) = info_of("alibaba_replay_52k.log.xz") else { return };
    assert_eq!(info.report.format, "heimdall-replay");
    assert_eq!((info.requests(), info.write_requests), (52_274, 46_824));
    assert_eq!((info.footprint_pages, info.streams), (42_950, 1));
    assert_eq!((info.sorted_by_time, info.span_ns), (Some(true), Some(3_597_295_250_000)));
    assert_eq!(info.report.notes, Vec::<String>::new());
}

#[test]
fn hplajw_has_its_known_counts() {
    let Some(info) = info_of("hplajw_1week.srt.xz") else { return };
    assert_eq!(info.report.format, "hp-srt");
    assert_eq!((info.requests(), info.write_requests), (44_519, 31_479));
    assert_eq!((info.footprint_pages, info.streams), (7_344, 2));
    assert_eq!(info.read_references + info.write_references, 73_671);
    assert_eq!((info.sorted_by_time, info.span_ns), (Some(true), Some(603_064_588_892_000)));
    assert_eq!(info.report.notes, Vec::<String>::new());
}

#[test]
fn cloud_physics_has_its_known_counts() {
    let Some(info) = info_of("cloudPhysicsIO.vscsi.xz") else { return };
    assert_eq!(info.report.format, "vscsi");
    assert_eq!((info.requests(), info.write_requests), (113_872, 66_898));
    assert_eq!((info.footprint_pages, info.streams), (269_210, 1));
    assert_eq!((info.read_references, info.write_references), (485_700, 656_169));
    assert_eq!((info.sorted_by_time, info.span_ns), (Some(true), Some(7_200_089_885_000)));
    assert_eq!(info.report.notes, Vec::<String>::new());
}
