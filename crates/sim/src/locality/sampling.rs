//! The miss curve from a random share of the pages (SHARDS: Waldspurger, Park, Garthwaite and Ahmad, FAST 2015).
//!
//! A page belongs to the sample if the hash of its stream and number is below a threshold, that is with
//! probability R. All its references are followed. Between two of them there are R times as many sampled pages as
//! pages, so a distance d on the sample's list stands for 1 + (d - 1) / R, and each counted reference for 1 / R. With a fixed
//! number of pages, R starts at 1; whenever there is one page too many, the page with the largest hash leaves, and its
//! hash becomes the threshold. The references of the whole trace are counted; that is the adjustment of SHARDS-adj: what
//! the sample has too many or too few counts as hits.
//!
//! The standard error has two parts. *Which pages*: they fall at random into [`GROUPS`](estimate::GROUPS) groups, and the spread of the
//! groups' totals tells how much the sum depends on the choice. *How many pages lie between*: a distance of S has the
//! standard error √((S - 1)(1 - R) / R), and all distances might err to the same side; half the difference of the
//! curve at S less and S plus that error is added.

mod estimate;
mod follower;

use std::fmt;

use clockhand_trace::{Op, TraceError};

use super::{LocalityStudy, MissCurve};
use crate::{Progress, ReadTrace, SimError};
use estimate::GROUPS;
use follower::Follower;

/// Which pages are followed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sample {
    /// Each page with this probability, above 0 and at most 1: SHARDS with a fixed rate.
    Rate(f64),
    /// At most this many pages: SHARDS with a fixed size.
    Pages(u32),
}

impl Sample {
    /// Reads `--sample`: a rate (`0.01`, `1%`) or a number of pages (`8192`).
    ///
    /// # Errors
    ///
    /// A sentence that names the text and what is allowed.
    pub fn parse(text: &str) -> Result<Self, SimError> {
        let rate = |digits: &str, whole: f64| {
            let is_number = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
            let value = digits.parse::<f64>().ok().filter(|_| is_number)? / whole;
            (value > 0.0 && value <= 1.0).then_some(Sample::Rate(value))
        };
        let pages = || text.parse().ok().filter(|&pages| pages >= FEWEST_PAGES).map(Sample::Pages);
        let sample = match text.strip_suffix('%') {
            Some(percentage) => rate(percentage, 100.0),
            None if text.contains('.') => rate(text, 1.0),
            None => pages(),
        };
        sample.ok_or_else(|| {
            SimError::Usage(format!(
                "--sample {text:?} is neither a rate nor a number of pages; give a rate such as 0.01 or 1%, above 0 and \
                 up to 1, or a whole number of pages from {FEWEST_PAGES}"
            ))
        })
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sample::Rate(rate) => write!(formatter, "{}%", rate * 100.0),
            Sample::Pages(pages) => write!(formatter, "{pages}"),
        }
    }
}

/// Fewer pages than groups have no spread.
const FEWEST_PAGES: u32 = GROUPS as u32;

/// What was followed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// The rate; with a fixed number of pages the one in the end.
    pub rate: f64,
    /// Pages that were followed to the end.
    pub pages: u64,
    /// References to pages that belonged to the sample at that time.
    pub references: u64,
    /// Standard error of the footprint, in pages.
    pub footprint_standard_error: f64,
}

/// Reads the trace once, and keeps no more of it than the sample.
pub(super) fn sample_curve(
    study: &LocalityStudy,
    sample: Sample,
    progress: &Progress,
) -> Result<(ReadTrace, MissCurve, Sampling), SimError> {
    let page_bytes = study.page_bytes;
    if !page_bytes.is_power_of_two() {
        return Err(TraceError::PageSize { page_bytes }.into());
    }
    let page_shift = page_bytes.trailing_zeros();
    let (mut references, mut write_references) = (0, 0);
    let mut follower = Follower::new(sample);
    let report = study.trace.for_each_batch(progress, &mut |batch| {
        for request in batch {
            for page in request.pages(page_shift) {
                references += 1;
                write_references += u64::from(request.op == Op::Write);
                let hash = hash(study.seed, request.stream, page);
                follower.reference(hash, request.op);
            }
        }
        Ok(())
    })?;
    if references == 0 {
        return Err(TraceError::NoReference.into());
    }
    if follower.is_empty() {
        return Err(SimError::Usage(format!(
            "--sample {sample} follows none of the trace's pages; give a larger sample"
        )));
    }
    let sampling = follower.sampling();
    let trace = ReadTrace {
        name: study.trace.name(),
        report,
        references,
        read_references: references - write_references,
        write_references,
        footprint_pages: follower.estimated_pages(),
        dirty_footprint_pages: follower.estimated_dirty_pages(),
    };
    let curve = follower.finish(&trace);
    Ok((trace, curve, sampling))
}

/// Of the stream and number of a page, by the steps of SplitMix64 (Steele, Lea and Flood 2014). Two pages with one hash
/// would be taken for one; among a million pages the chance of that is below 1 in 10^7.
fn hash(seed: u64, stream: u32, page: u64) -> u64 {
    let mix = |value: u64| {
        let value = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        value ^ (value >> 31)
    };
    mix(page ^ mix(u64::from(stream) ^ mix(seed)))
}
