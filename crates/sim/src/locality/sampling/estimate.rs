//! Counts of distances by groups of pages, and the sums and standard errors that follow from them.

/// Independent parts of a sample.
pub(super) const GROUPS: usize = 32;
/// A distance beyond every memory size.
pub(super) const INFINITE: u32 = u32::MAX;

/// The group of a page: the last bits of its hash, which the threshold does not look at.
pub(super) fn group_of(hash: u64) -> usize {
    hash as usize % GROUPS
}

/// Memory sizes of a sampled curve: all up to 32, then 16 in each doubling.
pub(super) struct Grid(Vec<u32>);

impl Grid {
    pub(super) fn new() -> Self {
        let (mut sizes, mut size, mut step) = (Vec::new(), 1_u64, 1);
        while size < u64::from(INFINITE) {
            sizes.push(size as u32);
            size += step;
            if size == 32 * step {
                step *= 2;
            }
        }
        Grid(sizes)
    }

    /// The number of sizes up to the first that holds `pages`; all of them if none does.
    pub(super) fn sizes_up_to(&self, pages: u32) -> usize {
        (self.first_at_least(pages) + 1).min(self.0.len())
    }

    /// The first `sizes` sizes in page frames, ascending.
    pub(super) fn frames(&self, sizes: usize) -> Vec<u64> {
        self.0[..sizes].iter().map(|&frames| frames.into()).collect()
    }

    /// The first size with which a reference of this distance hits; the number of sizes if there is none.
    pub(super) fn first_at_least(&self, distance: u32) -> usize {
        self.0.partition_point(|&frames| frames < distance)
    }

    /// The last size that is not larger than `frames`, at least 1.
    fn last_at_most(&self, frames: u32) -> usize {
        self.0.partition_point(|&size| size <= frames) - 1
    }
}

/// Weighted counts of distances for each group, by the first size that is at least as large; infinite ones come last.
#[derive(Clone)]
pub(super) struct Groups(Vec<[f64; GROUPS]>);

impl Groups {
    pub(super) fn new(grid: &Grid) -> Self {
        Groups(vec![[0.0; GROUPS]; grid.0.len() + 1])
    }

    /// Counts a distance that hits from the grid's entry `size` on.
    pub(super) fn add(&mut self, group: usize, size: usize, weight: f64) {
        self.0[size][group] += weight;
    }

    pub(super) fn add_all(&mut self, other: &Groups) {
        for (sums, others) in self.0.iter_mut().zip(&other.0) {
            sums.iter_mut().zip(others).for_each(|(sum, other)| *sum += other);
        }
    }
}

/// The number of distances that are larger than each size of the grid, and how much that depends on the choice of
/// pages.
pub(super) struct Estimate {
    totals: Vec<f64>,
    choice_errors: Vec<f64>,
}

impl Estimate {
    pub(super) fn of(groups: &Groups, rate: f64) -> Self {
        let (mut totals, mut choice_errors) = (Vec::new(), Vec::new());
        let mut beyond = [0.0; GROUPS];
        for counts in groups.0.iter().skip(1).rev() {
            beyond.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            let total: f64 = beyond.iter().sum();
            let mean = total / GROUPS as f64;
            let squares: f64 = beyond.iter().map(|sum| (sum - mean).powi(2)).sum();
            let variance = squares * GROUPS as f64 / (GROUPS - 1) as f64;
            totals.push(total);
            choice_errors.push((variance * (1.0 - rate)).sqrt());
        }
        totals.reverse();
        choice_errors.reverse();
        Estimate { totals, choice_errors }
    }

    /// The totals at the first `sizes` sizes in whole numbers, none of which can exceed `most`.
    pub(super) fn counts(&self, sizes: usize, most: u64) -> Vec<u64> {
        self.totals[..sizes].iter().map(|total| (total.round() as u64).min(most)).collect()
    }

    /// The standard error of the total at the grid's entry `size`.
    pub(super) fn standard_error(&self, size: usize, grid: &Grid, rate: f64) -> f64 {
        let frames = f64::from(grid.0[size]);
        let frames_error = ((frames - 1.0) * (1.0 - rate) / rate).sqrt();
        let fewer = grid.last_at_most((frames - frames_error).max(1.0) as u32);
        let more = grid.first_at_least((frames + frames_error).ceil() as u32);
        let more = more.min(self.totals.len() - 1);
        let distance_error = (self.totals[fewer] - self.totals[more]) / 2.0;
        self.choice_errors[size].hypot(distance_error)
    }
}
