//! What LRU misses and writes back at every memory size, without simulating any.

use crate::replay::ReplayOptions;
use crate::stack_distance::LruCounts;

/// LRU at several memory sizes; entry `i` of each column belongs to the same size.
///
/// A write fault reads its page, and dirty pages that are still in memory at the end are not written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MissCurve {
    /// Memory sizes in page frames, ascending.
    pub frames: Vec<u64>,
    /// Read references that miss.
    pub read_misses: Vec<u64>,
    /// Write references that miss.
    pub write_misses: Vec<u64>,
    /// Pages that are written back.
    pub write_backs: Vec<u64>,
    /// The standard errors of the counts; `None` where they are exact.
    pub errors: Option<StandardErrors>,
}

/// Standard errors of a sampled [`MissCurve`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StandardErrors {
    /// Of all misses.
    pub misses: Vec<f64>,
    /// Of the write-backs.
    pub write_backs: Vec<f64>,
}

impl MissCurve {
    /// Every size from one frame to the footprint.
    pub(super) fn exact(counts: &LruCounts, footprint_pages: u32) -> Self {
        let column = || Vec::with_capacity(footprint_pages as usize);
        let mut curve = MissCurve {
            frames: column(),
            read_misses: column(),
            write_misses: column(),
            write_backs: column(),
            errors: None,
        };
        for frames in 1..=footprint_pages {
            let at = counts.at(frames, ReplayOptions::default());
            curve.frames.push(frames.into());
            curve.read_misses.push(at.read_misses);
            curve.write_misses.push(at.write_misses);
            curve.write_backs.push(at.dirty_evictions);
        }
        curve
    }
}

/// Inter-reference recency: how many other pages were referenced between two consecutive references to a page
/// (Jiang and Zhang 2002), by what the later one does. It is the stack distance on the list of all references, less 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InterReference {
    /// Entry `i` counts the reads with `i` other pages in between.
    pub reads: Vec<u64>,
    /// Entry `i` counts the writes with `i` other pages in between.
    pub writes: Vec<u64>,
}

impl InterReference {
    pub(super) fn of(counts: &LruCounts, footprint_pages: u32) -> Self {
        let (reads, writes) = (1..=footprint_pages).map(|place| counts.at_distance(place)).unzip();
        InterReference { reads, writes }
    }
}
