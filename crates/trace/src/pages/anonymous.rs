//! Which pages of a captured program would go to swap: anonymous memory that was written.

use std::ops::RangeInclusive;

/// Bytes of the pages that are counted, whatever the page size of a simulation: those of the captured system.
pub const SYSTEM_PAGE_BYTES: u64 = 4096;

/// The pages of each stream that the program wrote and that are not backed by a file: heap, stack,
/// anonymous mappings, and private copies of file pages.
///
/// As text, in the Parquet metadata, ranges of hexadecimal page numbers with both ends, by stream:
/// `0:4a1e-4a2d,1ffeffe-1ffefff;1:84-85`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AnonymousPages {
    /// Ascending and disjoint.
    ranges: Vec<(u32, RangeInclusive<u64>)>,
}

impl AnonymousPages {
    /// Of pages in ascending order.
    pub fn of_pages(pages: impl IntoIterator<Item = (u32, u64)>) -> Self {
        let mut ranges: Vec<(u32, RangeInclusive<u64>)> = Vec::new();
        for (stream, page) in pages {
            match ranges.last_mut() {
                Some((last, range)) if *last == stream && *range.end() + 1 == page => {
                    *range = *range.start()..=page;
                }
                _ => ranges.push((stream, page..=page)),
            }
        }
        Self { ranges }
    }

    /// Reads the text; `None` when it is malformed.
    pub fn parse(text: &str) -> Option<Self> {
        let mut ranges = Vec::new();
        for part in text.split(';').filter(|part| !part.is_empty()) {
            let (stream, pages) = part.split_once(':')?;
            let stream = stream.parse().ok()?;
            for range in pages.split(',') {
                let (first, last) = range.split_once('-')?;
                let page = |digits| u64::from_str_radix(digits, 16).ok();
                ranges.push((stream, page(first)?..=page(last)?));
            }
        }
        let ascends = ranges.is_sorted_by(|(stream, range), (next_stream, next)| {
            stream < next_stream || (stream == next_stream && range.end() < next.start())
        });
        let none_is_empty = ranges.iter().all(|(_, range)| !range.is_empty());
        (ascends && none_is_empty).then_some(Self { ranges })
    }

    /// Returns whether an address is in one of the pages.
    pub fn contains(&self, stream: u32, address: u64) -> bool {
        let page = address / SYSTEM_PAGE_BYTES;
        let after = self
            .ranges
            .partition_point(|(other, range)| (*other, *range.start()) <= (stream, page));
        after.checked_sub(1).is_some_and(|index| {
            let (other, range) = &self.ranges[index];
            *other == stream && range.contains(&page)
        })
    }

    /// The number of pages.
    pub fn pages(&self) -> u64 {
        self.ranges.iter().map(|(_, range)| range.end() - range.start() + 1).sum()
    }

    /// The same pages with other stream numbers; those of streams without a new number are dropped.
    pub fn renumbered(&self, new_stream: impl Fn(u32) -> Option<u32>) -> Self {
        let renumber =
            |(stream, range): &(u32, _)| new_stream(*stream).map(|new| (new, Clone::clone(range)));
        let mut ranges: Vec<_> = self.ranges.iter().filter_map(renumber).collect();
        ranges
            .sort_by_key(|(stream, range): &(u32, RangeInclusive<u64>)| (*stream, *range.start()));
        Self { ranges }
    }

    /// The pages of both, which share no stream.
    pub fn joined(mut self, other: Self) -> Self {
        self.ranges.extend(other.ranges);
        self.ranges.sort_by_key(|(stream, range)| (*stream, *range.start()));
        self
    }
}

impl std::fmt::Display for AnonymousPages {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut last_stream = None;
        for (stream, range) in &self.ranges {
            if last_stream == Some(*stream) {
                write!(formatter, ",")?;
            } else {
                let separator = if last_stream.is_none() { "" } else { ";" };
                write!(formatter, "{separator}{stream}:")?;
            }
            write!(formatter, "{:x}-{:x}", range.start(), range.end())?;
            last_stream = Some(*stream);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_become_ranges_and_text_and_ranges_again() {
        let pages = AnonymousPages::of_pages([(0, 16), (0, 17), (0, 20), (2, 21), (2, 22)]);
        assert_eq!(pages.to_string(), "0:10-11,14-14;2:15-16");
        assert_eq!(pages.pages(), 5);
        assert_eq!(AnonymousPages::parse(&pages.to_string()), Some(pages.clone()));
        let inside = [(0, 16 << 12), (0, (18 << 12) - 1), (2, 22 << 12)];
        let outside = [(0, (16 << 12) - 1), (0, 18 << 12), (1, 16 << 12), (2, 16 << 12), (3, 0)];
        assert!(inside.into_iter().all(|(stream, address)| pages.contains(stream, address)));
        assert!(!outside.into_iter().any(|(stream, address)| pages.contains(stream, address)));
    }

    #[test]
    fn no_page_is_empty_text() {
        assert_eq!(AnonymousPages::default().to_string(), "");
        assert_eq!(AnonymousPages::parse(""), Some(AnonymousPages::default()));
    }

    #[test]
    fn malformed_text_is_refused() {
        for text in ["0", "0:", "0:1", "x:1-2", "0:2-1", "0:1-2,2-3", "1:1-1;0:1-1", "0:g-h"] {
            assert_eq!(AnonymousPages::parse(text), None, "{text}");
        }
    }

    #[test]
    fn streams_are_renumbered_with_the_file_they_go_to() {
        let pages = AnonymousPages::parse("0:1-2;1:3-4").unwrap();
        let renumbered = pages.renumbered(|stream| (stream == 1).then_some(0));
        assert_eq!(renumbered.to_string(), "0:3-4");
        let other = pages.renumbered(|stream| Some(stream + 1));
        assert_eq!(renumbered.joined(other).to_string(), "0:3-4;1:1-2;2:3-4");
    }
}
