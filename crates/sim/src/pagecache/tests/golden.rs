//! The specification's golden vectors, step by step.

use std::path::Path;

use serde_json::Value;

use super::recorder::Trace;
use crate::pagecache::{
    FirstTouch, FlushUnit, Flusher, PageCacheCounts, PageCacheOptions, ReadAhead, ZeroClean,
};

/// The vectors of a folder below `crates`.
pub fn goldens(folder: &str, prefix: &str) -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
    let entries = std::fs::read_dir(&folder).expect("the golden vectors are there");
    let paths = entries.map(|entry| entry.expect("a folder entry").path());
    let mut goldens = Vec::new();
    for path in paths {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with(prefix) {
            let text = std::fs::read_to_string(&path).expect("a readable file");
            goldens.push((name, serde_json::from_str(&text).expect("JSON")));
        }
    }
    goldens
}

pub fn options(golden: &Value) -> PageCacheOptions {
    let text = |name: &str| golden["params"][name].as_str();
    let flusher = Flusher::parse(text("flush_every"), text("flush_age"), text("dirty_limit"));
    let mut read_ahead = Vec::new();
    if let Some(window) = golden["params"]["read_ahead_file"].as_array() {
        read_ahead.push(format!("file:{}-{}", window[0], window[1]));
    }
    if let Some(slots) = golden["params"]["read_ahead_swap"].as_u64() {
        read_ahead.push(format!("swap:{slots}"));
    }
    let read_ahead = if read_ahead.is_empty() { "none".to_owned() } else { read_ahead.join(",") };
    PageCacheOptions {
        first_touch: FirstTouch::Zero,
        zero_clean: ZeroClean::parse(text("zero_clean").unwrap_or("drop")).unwrap(),
        flusher: flusher.unwrap(),
        read_ahead: ReadAhead::parse(&read_ahead).unwrap(),
        flush_at_end: false,
    }
}

#[test]
fn every_golden_vector_is_met_step_by_step() {
    let goldens = goldens("sim/tests/golden", "pagecache_");
    assert_eq!(goldens.len(), 11, "all golden vectors of page caches");
    for (file, golden) in goldens {
        let lines = golden["trace"].as_array().unwrap().iter().map(|line| line.as_str().unwrap());
        let text = lines.collect::<Vec<_>>().join("\n") + "\n";
        let options = options(&golden);
        let frames = golden["S"].as_u64().unwrap() as u32;
        let ahead_pages = options.read_ahead.file.map_or(0, |file| file.most_pages);
        let trace = Trace::of(&text, ahead_pages);
        let (served, counts) = trace.replay(golden["policy"].as_str().unwrap(), frames, options);
        let steps = golden["steps"].as_array().unwrap();
        assert_eq!(served.len(), steps.len(), "{file}");
        for (served, step) in served.iter().zip(steps) {
            let at = format!("{file} at {}", step["event"]);
            assert_eq!(Value::Array(served.actions.clone()), step["actions"], "{at}");
            for (name, value) in step["state"].as_object().unwrap() {
                // Without read-ahead it does not matter where a page is in the swap.
                if name != "swap" || options.read_ahead.swap_slots.is_some() {
                    assert_eq!(&served.state[name], value, "{name} in {at}");
                }
            }
        }
        assert_counts(&counts, &golden["result"], &options, &trace, &file);
    }
}

/// The counts are those of the vector.
pub fn assert_counts(
    counts: &PageCacheCounts,
    result: &Value,
    options: &PageCacheOptions,
    trace: &Trace,
    file: &str,
) {
    for (name, value) in [
        ("refs", trace.view.references().len() as u64),
        ("read_misses", counts.read_misses),
        ("write_misses", counts.write_misses),
        ("read_ios", counts.read_ios()),
        ("write_ios", counts.write_ios()),
        ("dirty_evictions", counts.dirty_evictions),
        ("clean_evictions", counts.clean_evictions),
        ("zero_fills", counts.zero_fills),
        ("blind_fills", counts.blind_fills),
        ("sync_writes", counts.sync_writes),
        ("flusher_writes", counts.flusher_writes),
        ("readahead_ios", counts.readahead_ios),
        ("readahead_unused", counts.readahead_unused),
        ("dropped_dirty", counts.dropped_dirty),
        ("dropped_clean", counts.dropped_clean),
        ("early_write_backs", counts.early_write_backs),
        ("direct_read_ios", counts.direct_read_ios),
        ("direct_write_ios", counts.direct_write_ios),
        ("anon_read_ios", counts.anon_read_ios),
        ("anon_write_ios", counts.anon_write_ios),
        ("file_read_ios", counts.file_read_ios),
        ("file_write_ios", counts.file_write_ios),
        ("dirty_pages_peak", counts.dirty_pages_peak),
        ("dirty_pages_sum", counts.dirty_pages_sum),
    ] {
        assert_eq!(Some(value), result[name].as_u64(), "{name} in {file}");
    }
    let in_references = trace.view.times_ns().is_none()
        || options.flusher.is_some_and(|flusher| flusher.unit == FlushUnit::References);
    let unit = if in_references { 1.0 } else { 1e9 };
    assert_eq!(
        Some(counts.dirty_age_max as f64 / unit),
        result["dirty_age_max"].as_f64(),
        "{file}"
    );
}
