//! The desired sizes of CRAW's three areas, exact.

use crate::Ratio;

/// The desired sizes as exact multiples of a common unit, `1 / (2 · numerator of c)` page.
#[derive(Clone, Debug)]
pub(crate) struct DesiredSizes {
    sizes: [u64; 3],
    one_page: u64,
    all_frames: u64,
}

impl DesiredSizes {
    /// `S_R = S / c`, `S_W1 = S_W2 = (S - S_R) / 2`.
    pub(crate) fn new(frames: u32, c: Ratio) -> Self {
        let frames = u64::from(frames);
        let write_area = frames * (c.numerator() - c.denominator());
        DesiredSizes {
            sizes: [2 * frames * c.denominator(), write_area, write_area],
            one_page: 2 * c.numerator(),
            all_frames: 2 * frames * c.numerator(),
        }
    }

    pub(crate) fn enlarge(&mut self, area: usize) {
        let size = &mut self.sizes[area];
        *size = (*size + self.one_page).min(self.all_frames);
    }

    pub(crate) fn shrink(&mut self, area: usize, amount: u64) {
        let size = &mut self.sizes[area];
        *size = size.saturating_sub(amount);
    }

    /// Tells whether `len / size` of the first area is at least that of the second. An empty area has ratio 0, and one
    /// that has pages but a desired size of 0 an infinite ratio.
    pub(crate) fn ratio_at_least(
        &self,
        (first, len): (usize, u32),
        (second, other_len): (usize, u32),
    ) -> bool {
        if len == 0 || other_len == 0 {
            return other_len == 0;
        }
        let product = |len: u32, size: u64| u128::from(len) * u128::from(size);
        product(len, self.sizes[second]) >= product(other_len, self.sizes[first])
    }

    /// One page, in units.
    pub(crate) fn one_page(&self) -> u64 {
        self.one_page
    }

    /// Half a page, in units.
    pub(crate) fn half_page(&self) -> u64 {
        self.one_page / 2
    }

    /// The sizes in pages, rounded to binary64.
    pub(crate) fn in_pages(&self) -> [f64; 3] {
        self.sizes.map(|size| size as f64 / self.one_page as f64)
    }

    /// Asserts that each size is within 0 and all frames, and that together they are at least all frames.
    pub(crate) fn check_invariants(&self) {
        assert!(self.sizes.iter().all(|&size| size <= self.all_frames), "a size is too large");
        assert!(self.sizes.iter().sum::<u64>() >= self.all_frames, "the sizes are too small");
    }
}
