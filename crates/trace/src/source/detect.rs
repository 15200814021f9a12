//! Finding the format of a trace by its content.

use crate::decode::output::Output;
use crate::error::TraceError;
use crate::format::{Confidence, Format};
use crate::formats::{self, csv};
use crate::request::{Op, Request};
use crate::source::Source;
use crate::source::sample::Sample;

/// The one format that fits the head of the trace best.
///
/// # Errors
///
/// [`TraceError::Unrecognized`] when none fits, and [`TraceError::Ambiguous`] when several fit
/// equally well. Formats that share their columns differ in units: a guess would
/// silently give wrong addresses. [`TraceError::Doubtful`] means that a format without a mark fits,
/// but its columns are not what they should be.
pub(crate) fn detect(source: &Source) -> Result<&'static Format, TraceError> {
    let sample = Sample::new(source.head(), source.head_is_all());
    let file = source.file().to_owned();
    let best = best(formats::formats(), &sample);
    let doubts: Vec<_> = best
        .iter()
        .map(|format| match (format.sniff)(&sample) {
            Confidence::Certain => None,
            _ => (format.doubt)(&sample),
        })
        .collect();
    let fitting: Vec<_> =
        best.iter().zip(&doubts).filter(|(_, doubt)| doubt.is_none()).map(|(it, _)| *it).collect();
    match (&fitting[..], &best[..]) {
        (_, []) => Err(TraceError::Unrecognized {
            file,
            looks_like: sample.looks_like(),
            known: formats::names(formats::formats()),
            offer: csv::offer(&sample),
        }),
        ([format], _) => Ok(format),
        ([], _) => {
            let doubts = best.iter().zip(doubts.iter().flatten());
            let doubts: Vec<_> =
                doubts.map(|(format, doubt)| format!("{}, but {doubt}", format.name)).collect();
            Err(TraceError::Doubtful {
                file,
                doubts: doubts.join(" or "),
                offer: csv::offer(&sample),
            })
        }
        (several, _) => Err(TraceError::Ambiguous {
            file,
            candidates: several.iter().map(|format| format.name).collect::<Vec<_>>().join(" or "),
            readings: readings(several, source),
        }),
    }
}

/// The first request, as each of several formats reads it.
fn readings(formats: &[&Format], source: &Source) -> String {
    let readings: Vec<_> = formats
        .iter()
        .filter_map(|format| {
            let Request { op, address, bytes, .. } = first_request(format, source)?;
            let verb = if op == Op::Read { "reads" } else { "writes" };
            Some(format!("{} {verb} {bytes} bytes at byte {address}", format.name))
        })
        .collect();
    format!("the first request by {}", readings.join(", by "))
}

fn first_request(format: &Format, source: &Source) -> Option<Request> {
    let limit_bytes = source.memory_limit_bytes();
    let mut head = Source::from_bytes(source.file(), source.head().to_vec(), limit_bytes).ok()?;
    let mut output = Output { assume_reads: true, ..Output::default() };
    let mut decoder = (format.open)(&mut head, &mut output).ok()?;
    // The head may end within a record, whose error is none of the first request's.
    while output.requests.is_empty() && decoder.decode(&mut head, &mut output).unwrap_or(false) {}
    output.requests.first().copied()
}

/// The formats of highest confidence.
fn best<'a>(formats: &'a [Format], sample: &Sample) -> Vec<&'a Format> {
    let fits: Vec<_> = formats.iter().map(|format| (format, (format.sniff)(sample))).collect();
    let highest = fits.iter().map(|&(_, confidence)| confidence).max().unwrap_or(Confidence::Unfit);
    fits.into_iter()
        .filter(|&(_, confidence)| confidence == highest && confidence > Confidence::Unfit)
        .map(|(format, _)| format)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source::from_bytes("the.trace", text.as_bytes().to_vec(), 1 << 30).unwrap()
    }

    #[test]
    fn formats_that_fit_equally_well_are_all_named() {
        let os_course = *formats::find_format("os-course").unwrap();
        let twin = Format { name: "twin", ..os_course };
        let lackey = *formats::find_format("lackey").unwrap();
        let sample = Sample::new(b"00001000 R\n00002000 W\n", true);
        let found = [os_course, lackey, twin];
        let names: Vec<_> = best(&found, &sample).iter().map(|format| format.name).collect();
        assert_eq!(names, ["os-course", "twin"]);
    }

    #[test]
    fn what_fits_nothing_is_described() {
        for (text, words) in [
            ("once upon a time\nthere was\n", "text whose first line is \"once upon a time\""),
            ("\0\u{1}\u{2}", "binary data"),
            ("PK\u{3}\u{4}rest", "a zip archive"),
            ("<!DOCTYPE html>\n<html>", "a web page"),
        ] {
            let message = detect(&source(text)).unwrap_err().to_string();
            assert!(message.contains(words), "{message}");
            assert!(message.contains("--trace-format"), "{message}");
        }
    }
}
