//! One replay: a policy of the catalog at one memory size, with all TLBs of the grid.

use std::num::NonZeroU64;

use clockhand_policy::catalog::{ResolvedPolicy, Size, Visitor};
use clockhand_policy::memory::fast::FastMemory;
use clockhand_policy::page::{AccessDriven, BitDriven, Offline, PagePolicy};
use clockhand_policy::{Frame, Memory};
use clockhand_trace::{PageView, Record, RunLengths};

use super::paging::{Paging, PagingCounts, PagingRules, Unwatched, Watcher};
use super::space::Space;
use super::translator::{TlbLevels, TranslationCounts, Translator};
use crate::chunk::{CHUNK_RECORDS, chunk_done};
use crate::error::SimError;
use crate::intervals::{Cuts, Noted, Notes};
use crate::next_use::NEVER;
use crate::replay::{ByAccess, ByExactBits, ByReference, Feed};
use clockhand_trace::progress::Progress;

/// A page view with its space, and how references are translated and paged.
#[derive(Clone, Copy)]
pub(crate) struct Replay<'a> {
    pub(crate) view: &'a PageView,
    pub(crate) space: &'a Space,
    /// The future, for offline policies.
    pub(crate) next_use: Option<&'a [u32]>,
    pub(crate) frames: u32,
    pub(crate) rules: PagingRules,
    pub(crate) tlbs: &'a [TlbLevels],
    pub(crate) walk_cache: u32,
    pub(crate) seed: u64,
    /// The places where counters are read; with any, the view is not folded.
    pub(crate) cuts: &'a Cuts,
    pub(crate) progress: &'a Progress,
}

/// The counts of memory, and of each TLB before it.
pub(crate) type CellCounts = (PagingCounts, Vec<TranslationCounts>);

impl<'a> Replay<'a> {
    /// Replays the view under `policy`.
    ///
    /// More frames than pages change nothing, so that a cell costs no more memory than its footprint.
    pub(crate) fn run_under(self, policy: &ResolvedPolicy) -> Result<Noted<CellCounts>, SimError> {
        let pages = self.space.pages();
        policy.build(Size { frames: self.frames.min(pages), pages }, ReplayVisitor(self))
    }

    /// An empty memory under `policy`, with empty TLBs.
    pub(crate) fn paging<P, T, W>(self, policy: P, feed: T, watcher: W) -> Paging<'a, P, T, W>
    where
        P: PagePolicy,
        T: Feed<P> + Entering<P>,
        W: Watcher,
    {
        let pages = self.space.pages();
        let memory = Memory::new(self.frames.min(pages), pages, policy);
        let of_levels =
            |&levels: &TlbLevels| Translator::new(levels, self.walk_cache, self.seed, self.space);
        let translators = self.tlbs.iter().map(of_levels).collect();
        Paging::new((memory, feed, watcher), translators, self.space, self.rules, self.frames)
    }

    fn run<P: PagePolicy, T>(self, policy: P, feed: T) -> Result<Noted<CellCounts>, SimError>
    where
        T: Feed<P> + Entering<P>,
    {
        let period = policy.period();
        let mut paging = self.paging(policy, feed, Unwatched);
        let notes = self.replay_in_periods(&mut paging, period)?;
        Ok(notes.finish(counts_of(&paging)))
    }

    fn replay_in_periods<P: PagePolicy, T, W: Watcher>(
        self,
        paging: &mut Paging<'a, P, T, W>,
        period: Option<NonZeroU64>,
    ) -> Result<Notes<'a, CellCounts>, SimError>
    where
        T: Feed<P> + Entering<P>,
    {
        let period = period.map_or(u64::MAX, NonZeroU64::get);
        let mut left_in_period = period;
        let mut of_view = self.view.chunks(CHUNK_RECORDS, 0);
        let mut notes = Notes::at(self.cuts);
        let mut records = self.space.records(self.view);
        while !records.is_empty() {
            let most = notes.until_next(CHUNK_RECORDS.min(records.len()));
            let (chunk, later) = records.split_at(most);
            records = later;
            let run_lengths = of_view.next_of(most)?.and_then(|of_view| of_view.run_lengths);
            paging.feed.enter(run_lengths, None);
            let mut lengths = run_lengths.into_iter().flat_map(RunLengths::iter);
            for &record in chunk {
                let references = lengths.next().unwrap_or(1);
                paging.reference(record, references);
                left_in_period -= u64::from(references);
                if left_in_period == 0 {
                    paging.memory.tick();
                    left_in_period = period;
                }
            }
            chunk_done(&mut paging.memory, self.progress, chunk.len())?;
            if notes.passed(chunk) {
                notes.note(counts_of(paging));
            }
        }
        Ok(notes)
    }
}

/// The counts of memory and the TLBs.
fn counts_of<P: PagePolicy, T, W: Watcher>(paging: &Paging<'_, P, T, W>) -> CellCounts
where
    T: Feed<P> + Entering<P>,
{
    let of_tlbs = paging.translators.iter().map(|translator| translator.counts).collect();
    (paging.counts_so_far(), of_tlbs)
}

struct ReplayVisitor<'a>(Replay<'a>);

impl Visitor for ReplayVisitor<'_> {
    type Output = Result<Noted<CellCounts>, SimError>;

    fn bit_driven<P: BitDriven + 'static>(self, policy: P) -> Self::Output {
        self.0.run(policy, ByExactBits)
    }

    fn access_driven<P: AccessDriven + 'static>(self, policy: P) -> Self::Output {
        if P::COUNTS_REFERENCES {
            return self.0.run(policy, ByReference::default());
        }
        self.0.run(policy, ByAccess)
    }

    fn offline<P: Offline + 'static>(self, policy: P) -> Self::Output {
        self.0.run(policy, ByForesight::new(&self.0))
    }
}

/// Tells a kind of policy that a page is loaded without being referenced.
pub(crate) trait Entering<P> {
    /// The page is loaded next.
    #[inline]
    fn enters(&mut self, memory: &mut Memory<P>, page: u32) {
        let _ = (memory, page);
    }
}

impl<P> Entering<P> for ByExactBits {}
impl<P> Entering<P> for ByAccess {}
impl<P> Entering<P> for ByReference {}

/// Tells an offline policy the next reference of every page that is referenced or comes early.
pub(crate) struct ByForesight<'a> {
    next_use: std::slice::Iter<'a, u32>,
    /// The next record of the page that is referenced now, or [`NEVER`].
    next: u32,
    records: std::slice::Iter<'a, Record>,
    /// By page: its next record from the present one on, or [`NEVER`].
    upcoming: Vec<u32>,
}

impl<'a> ByForesight<'a> {
    pub(crate) fn new(replay: &Replay<'a>) -> Self {
        let next_use = replay.next_use.expect("the future is computed for offline policies");
        let records = replay.space.records(replay.view);
        let mut upcoming = vec![NEVER; replay.space.pages() as usize];
        for (position, record) in records.iter().enumerate().rev() {
            upcoming[record.page() as usize] = position as u32;
        }
        ByForesight { next_use: next_use.iter(), next: NEVER, records: records.iter(), upcoming }
    }

    fn tell<P: Offline>(&self, memory: &mut Memory<P>, next: u32) {
        memory.policy_mut().foresee((next != NEVER).then_some(next));
    }
}

impl<P: Offline> Feed<P> for ByForesight<'_> {
    #[inline]
    fn before(&mut self, memory: &mut Memory<P>) {
        let (Some(&next), Some(record)) = (self.next_use.next(), self.records.next()) else {
            unreachable!("there is one entry per record");
        };
        self.next = next;
        self.upcoming[record.page() as usize] = next;
        self.tell(memory, next);
    }

    #[inline]
    fn hit(&mut self, memory: &mut Memory<P>, record: Record, frame: Frame) {
        ByAccess.hit(memory, record, frame);
    }

    #[inline]
    fn rest(&mut self, memory: &mut Memory<P>, record: Record, frame: Frame) {
        // Pages that came with it have been foreseen in between.
        self.tell(memory, self.next);
        ByAccess.rest(memory, record, frame);
    }
}

impl<P: Offline> Entering<P> for ByForesight<'_> {
    fn enters(&mut self, memory: &mut Memory<P>, page: u32) {
        self.tell(memory, self.upcoming[page as usize]);
    }
}
