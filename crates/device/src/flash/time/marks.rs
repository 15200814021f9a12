//! Which of some parts are to be looked at.

/// A bit for each part.
#[derive(Debug)]
pub(super) struct Marks {
    words: Vec<u64>,
}

impl Marks {
    pub(super) fn new(parts: usize) -> Marks {
        Marks { words: vec![0; parts.div_ceil(64)] }
    }

    #[inline]
    pub(super) fn mark(&mut self, part: u32) {
        self.words[part as usize / 64] |= 1 << (part % 64);
    }

    /// The first part from this one on that is marked.
    pub(super) fn next_from(&self, part: u32) -> Option<u32> {
        let first = part as usize / 64;
        let before = (1 << (part % 64)) - 1;
        let words = (first..).zip(self.words.get(first..)?);
        let marked =
            words.map(|(word, bits)| (word, if word == first { bits & !before } else { *bits }));
        let (word, bits) = { marked }.find(|(_, bits)| *bits != 0)?;
        Some(word as u32 * 64 + bits.trailing_zeros())
    }

    /// The first part that is marked, no longer marked.
    #[inline]
    pub(super) fn take_first(&mut self) -> Option<u32> {
        let (word, bits) = (0..).zip(&mut self.words).find(|(_, bits)| **bits != 0)?;
        let part = word * 64 + bits.trailing_zeros();
        *bits &= *bits - 1;
        Some(part)
    }
}

#[cfg(test)]
mod tests {
    use super::Marks;

    #[test]
    fn marked_parts_come_in_order_once() {
        let mut marks = Marks::new(200);
        for part in [199, 3, 64, 3, 63] {
            marks.mark(part);
        }
        let next: Vec<_> = [0, 3, 4, 64, 65, 199].map(|part| marks.next_from(part)).into();
        assert_eq!(next, [Some(3), Some(3), Some(63), Some(64), Some(199), Some(199)]);
        let taken: Vec<u32> = std::iter::from_fn(|| marks.take_first()).collect();
        assert_eq!(taken, [3, 63, 64, 199]);
    }
}
