//! The future of a trace of events, for policies that need it: the next reference of each page.

use clockhand_trace::EventView;

/// No other reference of this page follows.
const NEVER: u32 = u32::MAX;

/// The next reference of each page. Only references count: syncs and truncations do not.
#[derive(Debug)]
pub(super) struct Future {
    next: Vec<u32>,
    /// All references, page by page, each page's ascending; empty unless pages are read ahead.
    positions: Vec<u32>,
    /// Where those of each page begin.
    starts: Vec<usize>,
}

impl Future {
    /// A view of more references has no future here.
    pub(super) const LIMIT_REFERENCES: usize = u32::MAX as usize;

    /// The future of all references, of at most [`Future::LIMIT_REFERENCES`].
    pub(super) fn of(view: &EventView, reads_ahead: bool) -> Self {
        let (references, pages) = (view.references(), view.page_keys().len());
        let mut seen = vec![NEVER; pages];
        let mut next = vec![NEVER; references.len()];
        for (position, reference) in references.iter().enumerate().rev() {
            let last = &mut seen[reference.page() as usize];
            next[position] = std::mem::replace(last, position as u32);
        }
        let (mut positions, mut starts) = (Vec::new(), Vec::new());
        if reads_ahead {
            starts = vec![0; pages + 1];
            references.iter().for_each(|reference| starts[reference.page() as usize + 1] += 1);
            (0..pages).for_each(|page| starts[page + 1] += starts[page]);
            let mut ends = starts.clone();
            positions = vec![0; references.len()];
            for (position, reference) in references.iter().enumerate() {
                let end = &mut ends[reference.page() as usize];
                positions[*end] = position as u32;
                *end += 1;
            }
        }
        Future { next, positions, starts }
    }

    /// The next reference to the page of the reference at `position`.
    #[inline]
    pub(super) fn next_of(&self, position: usize) -> Option<u32> {
        let next = self.next[position];
        (next != NEVER).then_some(next)
    }

    /// The first reference to a page after `position`.
    pub(super) fn next_after(&self, page: u32, position: usize) -> Option<u32> {
        let range = self.starts[page as usize]..self.starts[page as usize + 1];
        let of_page = &self.positions[range];
        let later = of_page.partition_point(|&at| at as usize <= position);
        of_page.get(later).copied()
    }
}
