//! What the key and value pairs of a file say: labels, the address space of a capture, and what the streams are.

use parquet::file::metadata::KeyValue;

use crate::error::TraceError;
use crate::event::ObjectKind;
use crate::pages::anonymous::AnonymousPages;
use crate::report::ReadReport;
use crate::source::Source;
use crate::write::parquet_writer::{ANONYMOUS_PAGES_KEY, OBJECTS_KEY, SEGMENTS_KEY};

/// Key and value pairs that libraries store for themselves.
const KEYS_OF_LIBRARIES: [&str; 2] = ["ARROW:schema", "pandas"];

pub(super) fn labels(pairs: Option<&Vec<KeyValue>>) -> Vec<(String, String)> {
    let ours =
        pairs.into_iter().flatten().filter(|pair| !KEYS_OF_LIBRARIES.contains(&pair.key.as_str()));
    ours.map(|pair| (pair.key.clone(), pair.value.clone().unwrap_or_default())).collect()
}

/// Takes what a capture says about the address space out of the labels, which people read.
pub(super) fn take_address_space(
    source: &Source,
    report: &mut ReadReport,
) -> Result<(), TraceError> {
    let mut take = |key| {
        let position = report.labels.iter().position(|(label, _)| label == key)?;
        Some(report.labels.remove(position).1)
    };
    let (segments, pages) = (take(SEGMENTS_KEY), take(ANONYMOUS_PAGES_KEY));
    report.segments = segments.unwrap_or_default().lines().map(str::to_owned).collect();
    report.anonymous_pages = match pages {
        Some(text) => Some(AnonymousPages::parse(&text).ok_or_else(|| TraceError::Content {
            file: source.file().to_owned(),
            place: format!("metadata {ANONYMOUS_PAGES_KEY:?}"),
            reason: "it holds no ascending ranges of pages; capture the trace again".into(),
        })?),
        None => None,
    };
    Ok(())
}

/// Takes what the streams are out of the labels, which people read.
pub(super) fn take_objects(source: &Source, report: &mut ReadReport) -> Result<(), TraceError> {
    let Some(position) = report.labels.iter().position(|(label, _)| label == OBJECTS_KEY) else {
        return Ok(());
    };
    let (_, text) = report.labels.remove(position);
    let mut kinds = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let mut parts = line.splitn(3, ' ');
        let (place, kind, name) = (parts.next(), parts.next(), parts.next());
        if place != Some(&number.to_string()) {
            return Err(TraceError::Content {
                file: source.file().to_owned(),
                place: format!("metadata {OBJECTS_KEY:?}"),
                reason: "it does not number the streams from 0 on; convert the trace again".into(),
            });
        }
        kinds.push(kind.and_then(ObjectKind::of_name));
        report.stream_names.push(name.unwrap_or_default().to_owned());
    }
    report.object_kinds = kinds.into_iter().collect::<Option<_>>().unwrap_or_default();
    if report.stream_names.iter().all(String::is_empty) {
        report.stream_names.clear();
    }
    Ok(())
}
