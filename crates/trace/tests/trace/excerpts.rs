//! Every format against its excerpts: what comes out, detection, and truncation at every byte.

use clockhand_trace::{Request, formats};

use crate::reading::{excerpts, read_bytes, read_file};

#[test]
fn every_format_has_an_excerpt_and_every_excerpt_a_format() {
    let mut with_excerpt: Vec<_> = excerpts().into_iter().map(|(format, _)| format).collect();
    with_excerpt.dedup();
    let names: Vec<_> = formats().iter().map(|format| format.name()).collect();
    assert_eq!(with_excerpt, names);
}

#[test]
fn excerpts_give_the_requests_that_are_expected() {
    for (format, path) in excerpts() {
        let expected = path.with_extension("expected.csv");
        let (expected, _) = read_file(&expected, Some("csv")).unwrap();
        let (requests, report) = read_file(&path, Some(&format)).unwrap();
        assert_eq!(requests, expected, "{format}");
        assert_eq!(report.skipped_records, 0, "{format}: {:?}", report.first_skipped);
    }
}

#[test]
fn excerpts_are_recognized_by_content() {
    for (format, path) in excerpts() {
        let (_, report) = read_file(&path, None).unwrap();
        assert_eq!(report.format, format);
    }
}

#[test]
fn lines_may_end_as_on_windows_and_begin_with_a_byte_order_mark() {
    for (format, path) in excerpts() {
        let Ok(text) = String::from_utf8(std::fs::read(&path).unwrap()) else { continue };
        let windows = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        let (expected, _) = read_bytes(text.as_bytes(), None).unwrap();
        let (requests, report) = read_bytes(windows.as_bytes(), None).unwrap();
        assert_eq!((requests, report.format), (expected, format.as_str()));
    }
}

#[test]
fn a_trace_cut_at_any_byte_is_an_error_or_a_shorter_trace() {
    for (format, path) in excerpts() {
        let bytes = std::fs::read(&path).unwrap();
        let (whole, _) = read_bytes(&bytes, Some(&format)).unwrap();
        for cut in 0..bytes.len() {
            for name in [None, Some(format.as_str())] {
                match read_bytes(&bytes[..cut], name) {
                    Ok((requests, _)) => assert_shorter(&requests, &whole, &format, cut),
                    Err(error) => assert_one_sentence(&error.to_string()),
                }
            }
        }
    }
}

/// A last line cut inside a number may give another number, which no reader can see; all before
/// must be as they were.
fn assert_shorter(requests: &[Request], whole: &[Request], format: &str, cut: usize) {
    assert!(requests.len() <= whole.len(), "{format} cut at {cut}");
    let surely_whole = requests.len().saturating_sub(2);
    assert_eq!(requests[..surely_whole], whole[..surely_whole], "{format} cut at {cut}");
}

fn assert_one_sentence(message: &str) {
    assert!(!message.contains('\n') && !message.contains(". "), "{message}");
    assert!(message.contains("; "), "says what to do: {message}");
}
