//! A cell, and the ways in which it can be replayed.

use std::num::NonZeroU64;

use clockhand_policy::Memory;
use clockhand_policy::catalog::{Kind, ResolvedPolicy, Size, Visitor};
use clockhand_policy::page::{AccessDriven, BitDriven, Offline, PagePolicy};
use clockhand_trace::PageView;
use clockhand_trace::progress::Progress;

use super::admission::{Admission, Everything};
use super::chunks::{CellChunks, Runs};
use super::counts::{Bits, Counts, ReplayOptions};
use super::feed::{ByAccess, ByBits, ByExactBits, ByFuture, ByReference, Feed};
use super::observer::{Observed, Observer, PageLog, Unobserved};
use super::recording::Recording;
use super::{Counted, Replay};
use crate::error::SimError;
use crate::intervals::{Cuts, Noted, Notes};
use crate::next_use::NextUse;

/// One cell of a simulation: the runs of a trace, the future for offline policies, and how to replay.
pub(crate) struct Cell<'a> {
    pub runs: Runs<'a>,
    pub next_use: Option<&'a NextUse>,
    /// The frames of the policy.
    pub frames: u32,
    pub options: ReplayOptions,
    pub progress: &'a Progress,
}

/// What is noted of a replay: its counts, and those of an observer and an admission.
pub(super) type Seen<O, A> = (Counts, <O as Observer>::Seen, <A as Admission>::Seen);

/// A replay that is done.
type Replayed<O, A> = Result<(Noted<Seen<O, A>>, O), SimError>;

impl<'a> Cell<'a> {
    /// The records as policy `P` wants them.
    pub(super) fn chunks<P: PagePolicy>(self, ahead: usize) -> CellChunks<'a> {
        CellChunks::new(self.runs, self.next_use, ahead, P::PAGE_NUMBERS_MATTER)
    }
}

impl Cell<'_> {
    /// Replays the view under `policy`.
    ///
    /// More frames than pages change nothing, so that a cell costs no more memory than its footprint.
    pub(crate) fn replay(self, policy: &ResolvedPolicy) -> Result<Counts, SimError> {
        self.replay_noting(policy, Cuts::NONE).map(Noted::into_whole)
    }

    /// As [`Cell::replay`], with the counts at cuts of the trace; if there are any, the view is not folded.
    pub(crate) fn replay_noting(
        self,
        policy: &ResolvedPolicy,
        cuts: &Cuts,
    ) -> Result<Noted<Counts>, SimError> {
        let (noted, Unobserved) = self.replay_by(policy, Unobserved, Everything, cuts)?;
        Ok(noted.map(|(counts, (), ())| counts))
    }

    /// As [`Cell::replay_noting`], with a rule that hears of every miss and may refuse pages; with what it counts. If it refuses
    /// any, the view is not folded, since a run of references may be refused at first.
    pub(crate) fn replay_admitting<A: Admission>(
        self,
        policy: &ResolvedPolicy,
        admission: A,
        cuts: &Cuts,
    ) -> Result<Noted<(Counts, A::Seen)>, SimError> {
        let sees_all = !admission.refuses() || self.runs.are_single_references();
        assert!(sees_all, "an admission that refuses sees every reference");
        assert_eq!(self.options.bits, Bits::Exact, "an admission comes with exact bits");
        let (noted, Unobserved) = self.replay_by(policy, Unobserved, admission, cuts)?;
        Ok(noted.map(|(counts, (), seen)| (counts, seen)))
    }

    /// As [`Cell::replay_noting`], slower: counts hand movements, and samples the gauges at the first fault and then
    /// after every `gauge_every` faults. With a log of what is read and written, the view is not folded.
    pub(crate) fn replay_observed<'l>(
        self,
        policy: &ResolvedPolicy,
        gauge_every: Option<NonZeroU64>,
        log: Option<PageLog<'l>>,
        cuts: &Cuts,
    ) -> Result<(Noted<(Counts, u64)>, Observed<'l>), SimError> {
        let sees_all = log.is_none() || self.runs.are_single_references();
        assert!(sees_all, "a log has the times of references");
        let observer = Observed { gauge_every, log, ..Observed::default() };
        let (noted, observed) = self.replay_by(policy, observer, Everything, cuts)?;
        Ok((noted.map(|(counts, hand_movements, ())| (counts, hand_movements)), observed))
    }

    /// As [`Cell::replay_observed`], with a recording of every step. The view is not folded, so that each reference
    /// is a step.
    pub(crate) fn replay_recorded(
        self,
        policy: &ResolvedPolicy,
    ) -> Result<(Counts, Observed<'static>), SimError> {
        assert!(self.runs.are_single_references(), "every reference is a step");
        let recording = Some(Recording::default());
        let observer = Observed { recording, ..Observed::default() };
        let whole = Cuts::NONE;
        let (noted, observed) = self.replay_by(policy, observer, Everything, whole)?;
        Ok((noted.into_whole().0, observed))
    }

    fn replay_by<O: Observer, A: Admission>(
        self,
        policy: &ResolvedPolicy,
        observer: O,
        admission: A,
        cuts: &Cuts,
    ) -> Replayed<O, A> {
        let is_cut_anywhere = cuts.is_empty() || self.runs.are_single_references();
        assert!(is_cut_anywhere, "counts are noted between single references");
        let pages = self.runs.pages();
        let size = Size { frames: self.frames.min(pages), pages };
        policy.build(size, CellVisitor { cell: self, size, observer, admission, cuts })
    }
}

/// Counts of a view under a policy, by the loop of most runs or by the one that observes.
///
/// # Errors
///
/// A policy of the user's own failed, or the trace is on disk and cannot be read.
pub fn counts_of_view(
    view: &PageView,
    policy: &ResolvedPolicy,
    frames: u32,
    is_observed: bool,
) -> Result<Counts, SimError> {
    let (options, progress) = (ReplayOptions::default(), Progress::default());
    let future = NextUse::of(view, &progress)?;
    let next_use = (policy.entry().kind == Kind::Offline).then_some(&future);
    let cell = Cell { runs: view.into(), next_use, frames, options, progress: &progress };
    if !is_observed {
        return cell.replay(policy);
    }
    let (noted, _) = cell.replay_observed(policy, None, None, Cuts::NONE)?;
    Ok(noted.into_whole().0)
}

struct CellVisitor<'a, O, A> {
    cell: Cell<'a>,
    size: Size,
    observer: O,
    admission: A,
    cuts: &'a Cuts,
}

impl<O: Observer, A: Admission> CellVisitor<'_, O, A> {
    fn run<P: PagePolicy, T: Feed<P>>(self, policy: P, feed: T) -> Replayed<O, A> {
        let CellVisitor { cell, size, observer, admission, cuts } = self;
        let memory = Memory::new(size.frames, size.pages, policy);
        let counted = Counted::default();
        let options = cell.options;
        let in_groups = false;
        let mut replay = Replay { memory, feed, observer, admission, options, counted, in_groups };
        let mut notes = Notes::at(cuts);
        replay.run(cell, &mut notes)?;
        replay.show_flush();
        Ok((notes.finish(replay.seen_at_end()), replay.observer))
    }
}

impl<O: Observer, A: Admission> Visitor for CellVisitor<'_, O, A> {
    type Output = Replayed<O, A>;

    fn bit_driven<P: BitDriven + 'static>(self, policy: P) -> Self::Output {
        if A::HEARS_MISSES {
            // Other bits, which it does not come with, need not be compiled for an admission.
            return self.run(policy, ByExactBits);
        }
        match self.cell.options.bits {
            Bits::Exact if !O::OBSERVES => self.run(policy, ByExactBits),
            bits => self.run(policy, ByBits::new(bits)),
        }
    }

    fn access_driven<P: AccessDriven + 'static>(self, policy: P) -> Self::Output {
        if P::COUNTS_REFERENCES {
            return self.run(policy, ByReference::default());
        }
        self.run(policy, ByAccess)
    }

    fn offline<P: Offline + 'static>(self, policy: P) -> Self::Output {
        assert!(self.cell.next_use.is_some(), "the future is computed for offline policies");
        self.run(policy, ByFuture::default())
    }
}
