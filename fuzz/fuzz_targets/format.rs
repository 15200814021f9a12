//! Reads any bytes as a trace of the format that `CLOCKHAND_FORMAT` names, or, without it, of the
//! format that is found by content. Errors are fine; panics, requests that no format can hold, and
//! unbounded memory are not.

#![no_main]

use std::sync::LazyLock;

use clockhand_trace::{OpenOptions, Reader, TraceReader};
use libfuzzer_sys::fuzz_target;

static FORMAT: LazyLock<Option<String>> = LazyLock::new(|| {
    let name = std::env::var("CLOCKHAND_FORMAT").ok()?;
    clockhand_trace::find_format(&name).expect("CLOCKHAND_FORMAT names a format");
    Some(name)
});

fuzz_target!(|bytes: &[u8]| {
    let options =
        OpenOptions { format: FORMAT.clone(), assume_reads: true, ..OpenOptions::default() };
    let Ok(mut reader) = TraceReader::from_bytes("fuzz", bytes.to_vec(), &options) else { return };
    let mut batch = Vec::new();
    while let Ok(true) = reader.next_batch(&mut batch) {
        for request in &batch {
            assert!(request.bytes > 0);
            assert!(request.address.checked_add(u64::from(request.bytes) - 1).is_some());
        }
    }
});
