//! The average working set: how many different pages the last T references went to.

use clockhand_trace::PageView;

use super::{Kind, for_each_reference};
use crate::error::SimError;
use clockhand_trace::progress::Progress;

/// Windows within each doubling.
const WINDOWS_PER_OCTAVE: u64 = 8;

/// The average number of pages in a window, for several window lengths.
///
/// The working set W(t, T) of a kind holds the pages of the references of that kind among t - T + 1 to t (Denning
/// 1968). A reference keeps its page in the window for T references, or until the next one of the same kind to that
/// page, or until the end of the trace. The sum over all t is the sum of these times, so the average is exact.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkingSet {
    /// Window lengths in references of the trace (of every kind), ascending, the last one the whole trace.
    pub windows: Vec<u64>,
    /// The average number of pages for each.
    pub pages: Vec<f64>,
}

/// The working sets of [`Kind::EVERY`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkingSets(pub [WorkingSet; 3]);

impl WorkingSets {
    pub(super) fn of(view: &PageView, progress: &Progress) -> Result<Self, SimError> {
        let references = view.references();
        let windows = windows(references);
        let mut stays = Kind::EVERY.map(|kind| Stays::new(kind, view.footprint_pages(), &windows));
        let mut state = (0, &mut stays);
        for_each_reference(
            view,
            progress,
            &mut state,
            |(_, stays), page| stays.iter().for_each(|stays| stays.look_ahead(page)),
            |(now, stays), page, is_write| {
                *now += 1;
                for stays in stays.iter_mut().filter(|stays| stays.kind.includes(is_write)) {
                    stays.reference(page, *now);
                }
            },
        )?;
        Ok(WorkingSets(stays.map(|stays| stays.finish(references))))
    }
}

/// Every length up to twice [`WINDOWS_PER_OCTAVE`], then as many in each doubling, and the whole trace.
fn windows(references: u64) -> Vec<u64> {
    let mut windows = Vec::new();
    let (mut window, mut step) = (1, 1);
    while window < references {
        windows.push(window);
        window += step;
        if window == 2 * WINDOWS_PER_OCTAVE * step {
            step *= 2;
        }
    }
    windows.push(references);
    windows
}

/// How long references of one kind keep their pages in an endless window.
struct Stays<'a> {
    kind: Kind,
    windows: &'a [u64],
    /// For each page, the reference (from 1) that went to it last, or 0.
    last: Vec<u64>,
    /// For each window, the stays that are at most as long as it and longer than the one before it.
    count: Vec<u64>,
    sum: Vec<u64>,
}

impl<'a> Stays<'a> {
    fn new(kind: Kind, pages: u32, windows: &'a [u64]) -> Self {
        let nothing = vec![0; windows.len()];
        Stays { kind, windows, last: vec![0; pages as usize], count: nothing.clone(), sum: nothing }
    }

    #[inline]
    fn look_ahead(&self, page: u32) {
        std::hint::black_box(self.last[page as usize]);
    }

    #[inline]
    fn reference(&mut self, page: u32, now: u64) {
        let last = std::mem::replace(&mut self.last[page as usize], now);
        if last > 0 {
            self.add(now - last);
        }
    }

    #[inline]
    fn add(&mut self, stay: u64) {
        // The whole trace is the last window, and no stay is longer.
        let window = first_at_least(self.windows, stay);
        self.count[window] += 1;
        self.sum[window] += stay;
    }

    fn finish(mut self, references: u64) -> WorkingSet {
        for last in std::mem::take(&mut self.last) {
            if last > 0 {
                self.add(references + 1 - last);
            }
        }
        let mut longer: u64 = self.count.iter().sum();
        let mut sum_of_shorter = 0;
        let mut pages = Vec::new();
        for (index, &window) in self.windows.iter().enumerate() {
            longer -= self.count[index];
            sum_of_shorter += u128::from(self.sum[index]);
            let total = sum_of_shorter + u128::from(window) * u128::from(longer);
            pages.push(total as f64 / references as f64);
        }
        WorkingSet { windows: self.windows.to_vec(), pages }
    }
}

/// The first window that is at least as long as `stay`: computed, since most stays are short and a search would cost
/// more than all the rest.
#[inline]
fn first_at_least(windows: &[u64], stay: u64) -> usize {
    let octave = (stay / WINDOWS_PER_OCTAVE).checked_ilog2().unwrap_or(0);
    let window = u64::from(octave) * WINDOWS_PER_OCTAVE + stay.div_ceil(1 << octave);
    (window as usize - 1).min(windows.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_double_every_eighth_and_end_with_the_trace() {
        let windows = windows(100);
        assert_eq!(windows[..16], Vec::from_iter(1..=16)[..]);
        assert_eq!(windows[16..24], [18, 20, 22, 24, 26, 28, 30, 32]);
        assert_eq!(windows[windows.len() - 3..], [88, 96, 100]);
    }

    #[test]
    fn the_window_of_a_stay_is_found_without_a_search() {
        for references in [1, 2, 15, 16, 17, 100, 5000] {
            let windows = windows(references);
            for stay in 1..=references {
                let searched = windows.partition_point(|&window| window < stay);
                assert_eq!(first_at_least(&windows, stay), searched, "{stay} of {references}");
            }
        }
    }
}
