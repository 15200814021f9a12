//! Known counts of real traces, where they are at hand; each was also counted with awk.

use std::path::{Path, PathBuf};

use clockhand_trace::{OpenOptions, TraceInfo, TraceReader};

/// The path of a shared trace, or `None`, said aloud, where there are none.
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
    let mut reader = TraceReader::open(shared_trace(name)?, &OpenOptions::default()).unwrap();
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
