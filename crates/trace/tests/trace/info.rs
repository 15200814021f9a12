//! What `trace info` counts.

use clockhand_trace::{OpenOptions, TraceError, TraceInfo, TraceReader};

use crate::reading::file_of;

fn info_of(text: &str, page_bytes: u64) -> Result<TraceInfo, TraceError> {
    let file = file_of(text.as_bytes());
    TraceInfo::read(&mut TraceReader::open(file.path(), &OpenOptions::default())?, page_bytes)
}

#[test]
fn requests_pages_streams_and_times_are_counted() {
    let text = "op,address,size,time_us,stream\n\
                R,0,100,5,0\n\
                W,4000,200,7,0\n\
                W,0,8192,6,1\n\
                R,0,0,9,2\n\
                W,4000,1,8,0\n";
    let info = info_of(text, 4096).unwrap();
    assert_eq!((info.requests(), info.read_requests, info.write_requests), (4, 1, 3));
    assert_eq!((info.read_bytes, info.written_bytes), (100, 8393));
    assert_eq!((info.min_request_bytes, info.max_request_bytes), (1, 8192));
    assert_eq!(info.mean_request_bytes(), 8493.0 / 4.0);
    assert_eq!((info.read_references, info.write_references), (1, 5));
    assert_eq!((info.footprint_pages, info.dirty_footprint_pages), (4, 4));
    assert_eq!((info.streams, info.report.zero_size_requests), (2, 1));
    assert_eq!((info.span_ns, info.sorted_by_time), (Some(3000), Some(false)));
}

#[test]
fn a_trace_without_times_has_no_span() {
    let info = info_of("0041f7a0 R\n0041f7a0 W\n00500000 R\n", 4096).unwrap();
    assert_eq!((info.span_ns, info.sorted_by_time), (None, None));
    assert_eq!((info.footprint_pages, info.dirty_footprint_pages), (2, 1));
}

#[test]
fn a_page_size_that_is_no_power_of_two_is_refused() {
    for page_bytes in [0, 3, 4095] {
        let message = info_of("00000000 R\n", page_bytes).unwrap_err().to_string();
        assert!(message.contains("must be a power of two"), "{message}");
    }
}
