//! The miss curve from a random share of the pages (SHARDS: Waldspurger, Park, Garthwaite and Ahmad, FAST 2015).
//!
//! A page belongs to the sample if the hash of its stream and number is below a threshold, that is with
//! probability R. All its references are followed. Between two of them there are R times as many sampled pages as
//! pages, so a distance d on the sample's list stands for 1 + (d - 1) / R, and each counted reference for 1 / R. With a fixed
//! number of pages, R starts at 1; whenever there is one page too many, the page with the largest hash leaves, and its
//! hash becomes the threshold. The references of the whole trace are counted; that is the adjustment of SHARDS-adj: what
//! the sample has too many or too few counts as hits.
//!
//! The standard error has two parts. *Which pages*: they fall at random into [`GROUPS`](estimate::GROUPS) groups, and
//! the spread of the groups' totals tells how much the sum depends on the choice. *How many pages lie between*: a
//! distance of S has the standard error e = √((S - 1)(1 - R) / R), and all distances might err to the same side. So
//! half the difference of the curve at S - e and S + e is added.

mod estimate;
mod follower;

use clockhand_quantity::option;
use clockhand_trace::{Op, TraceError};

use super::{LocalityStudy, MissCurve};
use crate::error::SimError;
use crate::read_trace::ReadTrace;
use crate::sample::{Sample, page_hash};
use clockhand_trace::progress::Progress;
use follower::Follower;

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
                let hash = page_hash(study.seed, request.stream, page);
                follower.reference(hash, request.op);
            }
        }
        Ok(())
    })?;
    if references == 0 {
        return Err(TraceError::NoReference.into());
    }
    if follower.is_empty() {
        return Err(SimError::usage(
            option("sample") + format!(" {sample} follows none of the trace's pages"),
            "give a larger sample",
        ));
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
