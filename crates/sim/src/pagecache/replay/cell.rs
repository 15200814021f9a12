//! A cell, and how a policy makes a replay of it.

use clockhand_policy::Memory;
use clockhand_policy::catalog::{ResolvedPolicy, Size, Visitor};
use clockhand_policy::page::{AccessDriven, BitDriven, Offline, PagePolicy};
use clockhand_trace::EventView;
use clockhand_trace::progress::Progress;

use super::Replay;
use super::clock::Clock;
use super::feed::{ByAccess, ByBits, ByFuture, Feed};
use super::watch::Watch;
use crate::error::SimError;
use crate::intervals::{Cuts, Noted};
use crate::pagecache::counts::PageCacheCounts;
use crate::pagecache::dirty_files::DirtyFiles;
use crate::pagecache::future::Future;
use crate::pagecache::options::PageCacheOptions;
use crate::pagecache::read_ahead::FileWindows;
use crate::pagecache::swap_slots::SwapSlots;

/// One cell: a trace, the future for offline policies, and how to replay.
#[derive(Clone, Copy)]
pub(in crate::pagecache) struct EventCell<'a> {
    pub view: &'a EventView,
    pub future: Option<&'a Future>,
    pub frames: u32,
    pub options: PageCacheOptions,
    /// The places where counters are read.
    pub cuts: &'a Cuts,
    pub progress: &'a Progress,
}

impl EventCell<'_> {
    /// Replays the trace under `policy`, and shows every step. More frames than pages change nothing, so that a cell costs no
    /// more memory than its pages.
    pub(in crate::pagecache) fn watched<W: Watch>(
        self,
        policy: &ResolvedPolicy,
        watch: W,
    ) -> Result<(Noted<PageCacheCounts>, W), SimError> {
        let pages = self.view.page_keys().len() as u32;
        let size = Size { frames: self.frames.min(pages), pages };
        policy.build(size, CellVisitor { cell: self, size, watch })
    }
}

struct CellVisitor<'a, W> {
    cell: EventCell<'a>,
    size: Size,
    watch: W,
}

impl<W: Watch> CellVisitor<'_, W> {
    fn run<P: PagePolicy, T: Feed<P>>(
        self,
        policy: P,
        feed: T,
    ) -> Result<(Noted<PageCacheCounts>, W), SimError> {
        let CellVisitor { cell, size, watch } = self;
        let view = cell.view;
        let pages = view.page_keys().len();
        let (file, swap) = (cell.options.read_ahead.file, cell.options.read_ahead.swap_slots);
        let callers = view.callers().iter().filter(|&&caller| caller != EventView::NO_CALLER);
        let callers = callers.max().map_or(0, |&caller| caller as usize + 1);
        let reads_ahead = file.is_some() || swap.is_some();
        let mut replay = Replay {
            memory: Memory::new(size.frames, size.pages, policy),
            feed,
            watch,
            cell,
            counts: PageCacheCounts::default(),
            dirty_files: view.has_files().then(|| DirtyFiles::new(pages, view.objects())),
            slots: swap.map(|_| SwapSlots::new(pages)),
            windows: file.map(|limits| FileWindows::new(limits, callers)),
            lengths: vec![None; if file.is_some() { view.objects() as usize } else { 0 }],
            unreferenced: vec![false; if reads_ahead { pages } else { 0 }],
            reads_ahead,
            ahead: Vec::new(),
            places: Vec::new(),
            clock: Clock::new(&cell),
            period: None,
            until_tick: 0,
        };
        replay.period = replay.memory.policy().period().map(std::num::NonZeroU64::get);
        replay.until_tick = replay.period.unwrap_or(u64::MAX);
        let notes = replay.run()?;
        let (counts, watch) = replay.finish();
        Ok((notes.finish(counts), watch))
    }
}

impl<W: Watch> Visitor for CellVisitor<'_, W> {
    type Output = Result<(Noted<PageCacheCounts>, W), SimError>;

    fn bit_driven<P: BitDriven + 'static>(self, policy: P) -> Self::Output {
        self.run(policy, ByBits)
    }

    fn access_driven<P: AccessDriven + 'static>(self, policy: P) -> Self::Output {
        self.run(policy, ByAccess)
    }

    fn offline<P: Offline + 'static>(self, policy: P) -> Self::Output {
        let future = self.cell.future.expect("the future is computed for offline policies");
        self.run(policy, ByFuture(future))
    }
}
