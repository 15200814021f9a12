//! The table of trace formats. A new one is its file, its `mod` line and its line in [`FORMATS`].

mod alibaba;
mod biosnoop;
mod blkparse;
mod blktrace;
mod block_events;
mod champsim;
pub(crate) mod csv;
mod dinero;
mod disksim;
mod dramsim2;
mod drmemtrace;
mod drmemtrace_view;
mod etw;
mod events;
mod fio_iolog;
mod fiu;
mod heimdall_raw;
mod heimdall_replay;
mod hp_srt;
mod k5cloud;
mod lackey;
mod lcs;
mod memtrace;
mod mqsim;
mod msr;
mod msr_req;
mod oracle_general;
mod oracle_general_opns;
mod os_course;
pub(crate) mod parquet;
mod ramulator;
mod spc;
pub(crate) mod strace;
mod systor17;
mod tencent;
mod ucsd;
mod vscsi;

use crate::error::TraceError;
use crate::format::Format;

/// All formats that can be read, by name.
static FORMATS: &[Format] = &[
    alibaba::FORMAT,
    biosnoop::FORMAT,
    blkparse::FORMAT,
    blktrace::FORMAT,
    block_events::FORMAT,
    champsim::FORMAT,
    csv::FORMAT,
    dinero::FORMAT,
    disksim::FORMAT,
    dramsim2::FORMAT,
    drmemtrace::FORMAT,
    drmemtrace_view::FORMAT,
    etw::FORMAT,
    events::FORMAT,
    fio_iolog::FORMAT,
    fiu::FORMAT,
    heimdall_raw::FORMAT,
    heimdall_replay::FORMAT,
    hp_srt::FORMAT,
    k5cloud::FORMAT,
    lackey::FORMAT,
    lcs::FORMAT,
    memtrace::FORMAT,
    mqsim::FORMAT,
    msr::FORMAT,
    msr_req::FORMAT,
    oracle_general::FORMAT,
    oracle_general_opns::FORMAT,
    os_course::FORMAT,
    parquet::FORMAT,
    ramulator::FORMAT,
    spc::FORMAT,
    strace::FORMAT,
    systor17::FORMAT,
    tencent::FORMAT,
    ucsd::FORMAT,
    vscsi::FORMAT,
];

/// All trace formats that can be read, in the order of their names.
pub fn formats() -> &'static [Format] {
    FORMATS
}

/// The format of this name.
///
/// # Errors
/// [`TraceError::UnknownFormat`], which suggests the nearest name.
pub fn find_format(name: &str) -> Result<&'static Format, TraceError> {
    FORMATS.iter().find(|format| format.name == name).ok_or_else(|| TraceError::UnknownFormat {
        name: name.to_owned(),
        nearest: nearest_name(name),
        known: names(FORMATS),
    })
}

/// The names of formats, as a message lists them.
pub(crate) fn names<'a>(formats: impl IntoIterator<Item = &'a Format>) -> String {
    formats.into_iter().map(|format| format.name).collect::<Vec<_>>().join(", ")
}

fn nearest_name(name: &str) -> Option<&'static str> {
    /// Below this similarity (0 to 1) a suggestion confuses more than it helps.
    const NEAR: f64 = 0.7;
    let name = name.to_ascii_lowercase();
    let similarity = |format: &Format| strsim::jaro_winkler(&name, format.name);
    let nearest = FORMATS.iter().max_by(|a, b| similarity(a).total_cmp(&similarity(b)))?;
    (similarity(nearest) >= NEAR).then_some(nearest.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_in_order() {
        assert!(FORMATS.is_sorted_by(|a, b| a.name < b.name));
    }

    #[test]
    fn every_format_has_a_page_with_a_title_and_a_summary_of_one_line() {
        for format in FORMATS {
            let page = format.page();
            assert!(page.lines().count() >= 5, "{}: {page}", format.name);
            assert!(
                format.summary.len() <= 100 && !format.summary.contains('\n'),
                "{}",
                format.name
            );
        }
    }

    #[test]
    fn a_misspelt_name_is_answered_with_the_nearest_and_with_all() {
        let message = find_format("OS_course").unwrap_err().to_string();
        assert!(message.contains("did you mean \"os-course\"?"), "{message}");
        assert!(FORMATS.iter().all(|format| message.contains(format.name)), "{message}");
        let message = find_format("zzz").unwrap_err().to_string();
        assert!(!message.contains("did you mean"), "{message}");
    }
}
