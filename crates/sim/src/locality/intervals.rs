//! What a trace refers to in each interval: how many pages, and how many that it never referred to before.

use clockhand_trace::PageView;

use crate::intervals::{Cut, Cuts};

/// An interval of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LocalityInterval {
    /// Its number, from 0.
    pub interval: u64,
    /// References before it.
    pub from_reference: u64,
    /// When it begins, in microseconds from the trace's first request.
    pub from_us: Option<f64>,
    /// References that read.
    pub read_references: u64,
    /// References that write.
    pub write_references: u64,
    /// Distinct pages that it refers to.
    pub pages: u64,
    /// Distinct pages that it writes.
    pub written_pages: u64,
    /// Pages that no reference went to before.
    pub new_pages: u64,
}

impl LocalityInterval {
    fn at(cut: Cut) -> Self {
        let (interval, from_reference, from_us) = cut.columns();
        LocalityInterval {
            interval: interval.unwrap_or_default(),
            from_reference: from_reference.unwrap_or_default(),
            from_us,
            ..LocalityInterval::default()
        }
    }
}

/// The intervals of a trace whose view has a record per reference.
pub(super) fn intervals_of(view: &PageView, cuts: &Cuts) -> Vec<LocalityInterval> {
    let mut intervals: Vec<LocalityInterval> = Vec::new();
    // By page: the number of the interval, from 1, with its last reference and its last write; 0 is the warm-up.
    let mut last = vec![[None; 2]; view.footprint_pages() as usize];
    let mut cuts = cuts.iter().peekable();
    for (position, record) in (0..).zip(view.records()) {
        intervals.extend(cuts.next_if(|cut| cut.is_at(position)).map(LocalityInterval::at));
        let (number, is_write) = (intervals.len(), record.first_is_write());
        let [referenced, written] = &mut last[record.page() as usize];
        let is_known = referenced.replace(number);
        let was_written = if is_write { written.replace(number) } else { Some(number) };
        let Some(interval) = intervals.last_mut() else { continue };
        interval.read_references += u64::from(!is_write);
        interval.write_references += u64::from(is_write);
        interval.pages += u64::from(is_known != Some(number));
        interval.written_pages += u64::from(was_written != Some(number));
        interval.new_pages += u64::from(is_known.is_none());
    }
    intervals
}
