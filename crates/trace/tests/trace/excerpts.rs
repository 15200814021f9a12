//! Every format against its excerpts: what comes out, detection, and truncation at every byte.

use clockhand_trace::progress::Progress;
use clockhand_trace::{JoinOrder, OpenOptions, ReadReport, Request, TraceInput, formats};

use crate::reading::{excerpts, message_of, needed_name, read_bytes, read_file};

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
        if needed_name(&format).is_some() {
            let message = message_of(&std::fs::read(&path).unwrap(), None);
            assert!(message.contains("this could be"), "{message}");
            assert!(message.contains(&format), "{message}");
            assert!(message.contains("--trace-format"), "{message}");
        } else {
            let (_, report) = read_file(&path, None).unwrap();
            assert_eq!(report.format, format);
        }
    }
}

#[test]
fn lines_may_end_as_on_windows_and_begin_with_a_byte_order_mark() {
    for (format, path) in excerpts() {
        let Ok(text) = String::from_utf8(std::fs::read(&path).unwrap()) else { continue };
        let windows = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        let name = needed_name(&format);
        let (expected, _) = read_bytes(text.as_bytes(), name).unwrap();
        let (requests, report) = read_bytes(windows.as_bytes(), name).unwrap();
        assert_eq!((requests, report.format), (expected, format.as_str()));
    }
}

#[test]
fn a_trace_cut_anywhere_is_an_error_or_a_shorter_trace() {
    for (format, path) in excerpts() {
        let bytes = std::fs::read(&path).unwrap();
        let (whole, _) = read_bytes(&bytes, Some(&format)).unwrap();
        // At every byte of the last records, and at every seventh of what comes before.
        let cuts = (0..bytes.len()).filter(|cut| cut % 7 == 0 || bytes.len() - cut < LAST_BYTES);
        for cut in cuts {
            for name in [None, Some(format.as_str())] {
                match read_bytes(&bytes[..cut], name) {
                    Ok((requests, _)) => assert_shorter(&requests, &whole, &format, cut),
                    Err(error) => assert_one_sentence(&error.to_string()),
                }
            }
        }
    }
}

/// Some records of any format, or its footer.
const LAST_BYTES: usize = 400;

/// A last line cut inside a number may give another number, which no reader can see; all before
/// must be as they were.
fn assert_shorter(requests: &[Request], whole: &[Request], format: &str, cut: usize) {
    assert!(requests.len() <= whole.len(), "{format} cut at {cut}");
    let surely_whole = requests.len().saturating_sub(2);
    assert_eq!(requests[..surely_whole], whole[..surely_whole], "{format} cut at {cut}");
}

fn assert_one_sentence(message: &str) {
    // Quotations from logs of strace and ftrace may have dots.
    let message = &message.replace("<... ", "<").replace("d..1. ", "d..1 ");
    assert!(!message.contains('\n') && !message.contains(". "), "{message}");
    assert!(message.contains("; "), "says what to do: {message}");
}

#[test]
fn an_input_gives_the_same_without_a_digest_and_beside_other_work() {
    for (format, path) in excerpts() {
        let options = OpenOptions { assume_reads: true, ..OpenOptions::default() };
        let options = OpenOptions { format: Some(format.clone()), ..options };
        let file = TraceInput::opened(path, options);
        let (name, order) = ("twice".to_owned(), JoinOrder::Files);
        let twice = TraceInput::joined(name, vec![file.clone(), file.clone()], order);
        for input in [file, twice] {
            let (mut requests, mut again) = (Vec::new(), Vec::new());
            let read = input.for_each_batch(&Progress::default(), &mut |batch| {
                requests.extend_from_slice(batch);
                Ok(())
            });
            let read_again =
                input.digested(false).for_each_batch_beside(&Progress::default(), &mut |batch| {
                    again.extend_from_slice(batch);
                    Ok(())
                });
            let (read, read_again) = (read.unwrap(), read_again.unwrap());
            assert_eq!(requests, again, "{format}");
            assert!(read.sha256.is_some() && read_again.sha256.is_none(), "{format}");
            assert_eq!(read_again, ReadReport { sha256: None, ..read }, "{format}");
        }
    }
}
