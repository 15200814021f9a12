//! Counts a trace at a page size, without keeping its references.

use crate::pages::footprint::Footprint;
use crate::pages::page_view::{PageView, page_shift};
use crate::{Op, TraceError};

/// Counts references and different pages in one pass; takes memory for the pages only.
pub struct PageCounter {
    page_bytes: u64,
    footprint: Footprint,
    /// The page of the last reference with its number: runs need no look-up.
    last: Option<((u32, u64), u32)>,
    references: u64,
    write_references: u64,
    has_too_many_pages: bool,
}

/// What a [`PageCounter`] counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageCounts {
    /// References in all.
    pub references: u64,
    /// References that write.
    pub write_references: u64,
    /// Different pages.
    pub footprint_pages: u32,
    /// Different pages that are written at least once.
    pub dirty_footprint_pages: u32,
}

impl PageCounter {
    /// A counter for pages of `page_bytes`.
    ///
    /// # Errors
    /// [`TraceError::PageSize`] unless `page_bytes` is a power of two.
    pub fn new(page_bytes: u64) -> Result<Self, TraceError> {
        page_shift(page_bytes)?;
        Ok(PageCounter {
            page_bytes,
            footprint: Footprint::default(),
            last: None,
            references: 0,
            write_references: 0,
            has_too_many_pages: false,
        })
    }

    /// Counts a reference to a page, by its stream and its number in the stream.
    #[inline]
    pub fn reference(&mut self, key: (u32, u64), op: Op) {
        self.references += 1;
        self.write_references += u64::from(op == Op::Write);
        let number = match self.last {
            Some((last, number)) if last == key => number,
            _ => {
                let Some(number) = self.footprint.number(key, PageView::LIMIT_PAGES) else {
                    self.has_too_many_pages = true;
                    return;
                };
                self.last = Some((key, number));
                number
            }
        };
        self.footprint.note(number, op == Op::Write);
    }

    /// What was counted.
    ///
    /// # Errors
    /// [`TraceError::NoReference`] when there are none, [`TraceError::TooManyPages`] when they touch more than 2^29
    /// pages.
    pub fn finish(self) -> Result<PageCounts, TraceError> {
        if self.has_too_many_pages {
            return Err(TraceError::TooManyPages {
                limit_pages: u64::from(PageView::LIMIT_PAGES),
                page_bytes: self.page_bytes,
            });
        }
        if self.references == 0 {
            return Err(TraceError::NoReference);
        }
        Ok(PageCounts {
            references: self.references,
            write_references: self.write_references,
            footprint_pages: self.footprint.pages(),
            dirty_footprint_pages: self.footprint.dirty_pages(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_and_pages_are_counted_as_a_view_counts_them() {
        let mut counter = PageCounter::new(4096).unwrap();
        for (stream, page, op) in
            [(0, 7, Op::Read), (0, 7, Op::Write), (1, 7, Op::Read), (0, 9, Op::Read)]
        {
            counter.reference((stream, page), op);
        }
        let counts = PageCounts {
            references: 4,
            write_references: 1,
            footprint_pages: 3,
            dirty_footprint_pages: 1,
        };
        assert_eq!(counter.finish().unwrap(), counts);
        assert!(PageCounter::new(3).is_err());
        assert!(matches!(PageCounter::new(1).unwrap().finish(), Err(TraceError::NoReference)));
    }
}
