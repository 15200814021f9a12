//! Fewer points of a miss curve: those between which straight lines stay closest to all that are left out.

use super::miss_curve::{MissCurve, StandardErrors};

/// What thinning a curve did to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thinning {
    /// Points of the whole curve.
    pub whole_points: u64,
    /// Points that are left.
    pub points: u64,
    /// The most references by which a straight line between two neighbouring points differs from the curve, in any of its
    /// columns and in the sum of misses.
    pub most_moved_references: f64,
}

/// Bisections of the distance; the last one is below one reference in any trace of a billion.
const BISECTIONS: u32 = 30;

impl MissCurve {
    /// The curve at no more than `points` of its sizes, at least two; the first and the last are kept.
    ///
    /// The points that are left are exact, and lines between them are as close to the others as a greedy choice finds.
    pub fn thinned(self, points: u64) -> (Self, Thinning) {
        let whole_points = self.frames.len() as u64;
        let columns = self.columns();
        let sizes: Vec<f64> = self.frames.iter().map(|&frames| frames as f64).collect();
        let limit = usize::try_from(points.max(2)).unwrap_or(usize::MAX);
        let mut kept = kept_within(&sizes, &columns, 0.0);
        if kept.len() > limit {
            let highest = columns.iter().flatten().copied().fold(0.0, f64::max);
            let (mut below, mut above) = (0.0, highest.max(1.0));
            for _ in 0..BISECTIONS {
                let middle = f64::midpoint(below, above);
                if kept_within(&sizes, &columns, middle).len() > limit {
                    below = middle;
                } else {
                    above = middle;
                }
            }
            kept = kept_within(&sizes, &columns, above);
        } else if sizes.len() <= limit {
            kept = (0..sizes.len()).collect();
        }
        let most_moved_references = farthest(&sizes, &columns, &kept);
        let thinning = Thinning { whole_points, points: kept.len() as u64, most_moved_references };
        (self.at(&kept), thinning)
    }

    /// What is not to be moved: misses of both kinds, all misses, and write-backs.
    fn columns(&self) -> [Vec<f64>; 4] {
        let as_numbers = |column: &[u64]| column.iter().map(|&count| count as f64).collect();
        let (reads, writes): (Vec<f64>, Vec<f64>) =
            (as_numbers(&self.read_misses), as_numbers(&self.write_misses));
        let misses = reads.iter().zip(&writes).map(|(reads, writes)| reads + writes).collect();
        [reads, writes, misses, as_numbers(&self.write_backs)]
    }

    fn at(&self, kept: &[usize]) -> Self {
        let counts = |column: &[u64]| kept.iter().map(|&place| column[place]).collect();
        let numbers = |column: &[f64]| kept.iter().map(|&place| column[place]).collect();
        MissCurve {
            frames: counts(&self.frames),
            read_misses: counts(&self.read_misses),
            write_misses: counts(&self.write_misses),
            write_backs: counts(&self.write_backs),
            errors: self.errors.as_ref().map(|errors| StandardErrors {
                misses: numbers(&errors.misses),
                write_backs: numbers(&errors.write_backs),
            }),
        }
    }
}

/// The places of points between which lines are nowhere farther than `distance` from a column, each as far behind the one
/// before as can be told while it is looked for.
fn kept_within(sizes: &[f64], columns: &[Vec<f64>; 4], distance: f64) -> Vec<usize> {
    let last = sizes.len().saturating_sub(1);
    let mut kept: Vec<usize> = (!sizes.is_empty()).then_some(0).into_iter().collect();
    while let Some(&from) = kept.last().filter(|&&from| from < last) {
        kept.push(farthest_from(from, sizes, columns, distance));
    }
    kept
}

/// The last point that a line from `from` may go to, as far as slopes are left that pass all points between.
fn farthest_from(from: usize, sizes: &[f64], columns: &[Vec<f64>; 4], distance: f64) -> usize {
    let mut slopes = [(f64::NEG_INFINITY, f64::INFINITY); 4];
    let mut to = from + 1;
    for place in from + 1..sizes.len() {
        let width = sizes[place] - sizes[from];
        let rise = |column: usize| columns[column][place] - columns[column][from];
        if (0..4).all(|it| (slopes[it].0..=slopes[it].1).contains(&(rise(it) / width))) {
            to = place;
        }
        for (column, (least, most)) in slopes.iter_mut().enumerate() {
            *least = least.max((rise(column) - distance) / width);
            *most = most.min((rise(column) + distance) / width);
        }
        if slopes.iter().any(|(least, most)| least > most) {
            break;
        }
    }
    to
}

/// The largest distance of a dropped point from the lines between the kept ones.
fn farthest(sizes: &[f64], columns: &[Vec<f64>; 4], kept: &[usize]) -> f64 {
    let mut most = 0.0_f64;
    for pair in kept.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        for place in from + 1..to {
            let share = (sizes[place] - sizes[from]) / (sizes[to] - sizes[from]);
            for column in columns {
                let line = column[from] + share * (column[to] - column[from]);
                most = most.max((line - column[place]).abs());
            }
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: u64) -> MissCurve {
        let counts = |scale: u64| (1..=points).map(|size| scale / size + size % 3).collect();
        MissCurve {
            frames: (1..=points).collect(),
            read_misses: counts(1_000_000),
            write_misses: counts(300_000),
            write_backs: counts(100_000),
            errors: None,
        }
    }

    #[test]
    fn a_thinned_curve_has_exact_points_and_is_moved_by_no_more_than_it_says() {
        let whole = curve(5000);
        let mut before = f64::INFINITY;
        for points in [2, 3, 10, 50, 400, 3000, 5000, 9000] {
            let (thin, accuracy) = whole.clone().thinned(points);
            assert!(
                thin.frames.len() as u64 <= points && accuracy.points == thin.frames.len() as u64
            );
            assert_eq!((thin.frames[0], *thin.frames.last().unwrap()), (1, 5000));
            for (place, &frames) in thin.frames.iter().enumerate() {
                let at = frames as usize - 1;
                assert_eq!(thin.read_misses[place], whole.read_misses[at]);
                assert_eq!(thin.write_backs[place], whole.write_backs[at]);
            }
            for (column, thinned) in whole.columns().iter().zip(thin.columns()) {
                for (at, value) in column.iter().enumerate() {
                    let size = at as u64 + 1;
                    let to = thin.frames.partition_point(|&frames| frames < size);
                    let line = if thin.frames[to] == size {
                        thinned[to]
                    } else {
                        let (left, right) = (thin.frames[to - 1] as f64, thin.frames[to] as f64);
                        let share = (size as f64 - left) / (right - left);
                        thinned[to - 1] + share * (thinned[to] - thinned[to - 1])
                    };
                    assert!((line - value).abs() <= accuracy.most_moved_references + 1e-6);
                }
            }
            before = accuracy.most_moved_references;
        }
        assert_eq!(before, 0.0);
        assert!(whole.thinned(400).1.most_moved_references < 5.0);
    }

    #[test]
    fn short_curves_and_straight_ones_need_no_more_points() {
        for points in [0, 1, 2] {
            let (thin, accuracy) = curve(points).thinned(2);
            assert_eq!((thin.frames.len() as u64, accuracy.most_moved_references), (points, 0.0));
        }
        let straight = MissCurve {
            frames: (1..=100).collect(),
            read_misses: (1..=100).rev().collect(),
            write_misses: vec![7; 100],
            write_backs: vec![0; 100],
            errors: None,
        };
        let (thin, accuracy) = straight.thinned(2);
        assert_eq!(thin.frames, [1, 100]);
        assert!(accuracy.most_moved_references < 1e-9, "{accuracy:?}");
    }
}
