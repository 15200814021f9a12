//! Rows of both ends of the bracket of the optimum, from one search.

use clockhand_trace::Folding;

use super::bound::bound;
use super::bracket::{Bracket, Problem, bracket};
use super::{Bound, CellsOf, FinishedCell, PagesCell, Row};
use crate::contestant::{BOUND_KIND, Contestant, EndOfBracket};
use crate::error::SimError;
use clockhand_trace::progress::Progress;

impl CellsOf<'_> {
    /// Cells that are ends of the bracket with the same frames and the same effort.
    pub(super) fn ends(
        &self,
        cells: &[&PagesCell<'_>],
        progress: &Progress,
    ) -> Result<Vec<FinishedCell>, SimError> {
        let frames = cells[0].frames;
        let view = self.views.folded(Folding::Runs);
        let (pages, next_use) = (view.pages(), view.next_use_in_memory(progress)?);
        let (policy_frames, options) = (self.policy_frames(frames), self.experiment.options);
        let ios = bound(pages, next_use, policy_frames, options, progress)?;
        let problem = Problem {
            records: pages.records(),
            next_use,
            pages: pages.footprint_pages(),
            frames: policy_frames.min(pages.footprint_pages()),
            ratio: self.pricing.page_cost.write_read_ratio(),
            options,
        };
        let known = problem.cost_shares(ios.read_ios, ios.write_ios);
        let effort = cells[0].effort(self.experiment.bound_effort).unwrap_or_default();
        let bracket = bracket(problem, known, effort, progress)?;
        progress.add_done(pages.records().len() as u64);
        let row_of = |cell: &&PagesCell<'_>| match cell.contestant {
            Contestant::Feasible(end) => self.feasible_row(frames, end, bracket).into(),
            Contestant::Bound(end) => self.bound_row(frames, end, ios, bracket).into(),
            Contestant::Policy(policy) => unreachable!("{} is no end", policy.written()),
        };
        Ok(cells.iter().map(row_of).collect())
    }

    fn bound_row(&self, frames: u32, end: &EndOfBracket, ios: Bound, bracket: Bracket) -> Row {
        let resolved = end.resolved(self.experiment.bound_effort);
        let io_time_us = self.pricing.page_cost.time_us_of_shares(bracket.lower_shares);
        let Bound { read_ios, write_ios } = ios;
        Row {
            io_time_us,
            ..self.rows_of(self.whole()).row_of_ios(
                frames,
                end.written(),
                resolved,
                BOUND_KIND,
                (read_ios, write_ios),
            )
        }
    }

    fn feasible_row(&self, frames: u32, end: &EndOfBracket, bracket: Bracket) -> Row {
        let resolved = end.resolved(self.experiment.bound_effort);
        self.rows_of(self.whole()).row(
            frames,
            end.written(),
            resolved,
            BOUND_KIND,
            bracket.feasible,
        )
    }
}
