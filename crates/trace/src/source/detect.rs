//! Finding the format of a trace by its content.

use crate::error::TraceError;
use crate::format::{Confidence, Format};
use crate::formats;
use crate::sample::Sample;
use crate::source::Source;

/// The one format that fits the head of the trace best.
///
/// # Errors
/// [`TraceError::Unrecognized`] when none fits; [`TraceError::Ambiguous`] when several fit equally
/// well, because formats that share their columns differ in units, and a guess would silently give
/// wrong addresses.
pub(crate) fn detect(source: &Source) -> Result<&'static Format, TraceError> {
    let sample = Sample::new(source.head(), source.head_is_all());
    match &best(formats::formats(), &sample)[..] {
        [] => Err(TraceError::Unrecognized {
            file: source.file().to_owned(),
            looks_like: sample.looks_like(),
            known: formats::names(formats::formats()),
        }),
        [format] => Ok(format),
        several => Err(TraceError::Ambiguous {
            file: source.file().to_owned(),
            candidates: several.iter().map(|format| format.name).collect::<Vec<_>>().join(" or "),
        }),
    }
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
