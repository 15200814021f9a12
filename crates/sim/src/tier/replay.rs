//! One replay of a trace under two tiers.

use clockhand_policy::catalog::{ResolvedPolicy, Size, Visitor};
use clockhand_policy::page::{AccessDriven, BitDriven, Offline, PagePolicy};
use clockhand_policy::tier::catalog::{self, TierSize, TierSpec};
use clockhand_policy::tier::{Countdown, Movements, Served, TierPolicy, TierSizes, Tiers};
use clockhand_policy::{Memory, PageId};
use clockhand_trace::PageView;

use super::counts::{Counter, TierCounts};
use super::course::Windows;
use super::page_policy::{AccessBits, Numbers, PageTier, Sight};
use super::promotion::{self, PromotionRule};
use crate::chunk::{CHUNK_RECORDS, chunk_done};
use crate::error::SimError;
use crate::intervals::{Cuts, Grows, Noted, Notes};
use crate::replay::{ByAccess, ByExactBits, ByFuture, Feed, first_op};
use clockhand_trace::progress::Progress;

/// Period of the limit of promotions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Renewal<'a> {
    /// In references.
    References(u64),
    /// Before the references with these numbers, counted from 0 and rising.
    Before(&'a [u64]),
    Never,
}

impl Renewal<'_> {
    /// The next reference, from this one on, that a new period begins before; the very first one does not count.
    fn next(self, from: u64) -> u64 {
        match self {
            Renewal::References(every) => from.max(1).next_multiple_of(every),
            Renewal::Before(numbers) => {
                let place = numbers.partition_point(|&number| number < from.max(1));
                numbers.get(place).copied().unwrap_or(u64::MAX)
            }
            Renewal::Never => u64::MAX,
        }
    }
}

/// A trace, and the tiers that it runs on.
#[derive(Clone, Copy)]
pub(crate) struct TierReplay<'a> {
    /// Not folded, pages numbered by their first references.
    pub(crate) view: &'a PageView,
    pub(crate) sizes: TierSizes,
    pub(crate) renewal: Renewal<'a>,
    /// The places where counters are read.
    pub(crate) cuts: &'a Cuts,
    pub(crate) progress: &'a Progress,
}

/// A replay's input, and its result.
pub(crate) trait Watching: Movements + Sized {
    /// What is noted of it.
    type Counts: Grows;

    /// What it has counted.
    fn counts(tiers: &mut Tiers<Self>) -> Self::Counts;
    /// A reference is over.
    fn served<P: TierPolicy>(tiers: &mut Tiers<Self>, served: Served, policy: &P);

    /// References until the end of the present window, when counts are taken.
    fn next_end(&self) -> u64 {
        u64::MAX
    }

    /// A window ends.
    fn window_ends(tiers: &mut Tiers<Self>) {
        let _ = tiers;
    }
}

impl Watching for Counter {
    type Counts = TierCounts;

    fn counts(tiers: &mut Tiers<Self>) -> TierCounts {
        let slow_pages_peak = tiers.slow_pages_peak();
        TierCounts { slow_pages_peak, ..tiers.movements().counts.clone() }
    }

    #[inline]
    fn served<P: TierPolicy>(tiers: &mut Tiers<Self>, served: Served, _: &P) {
        tiers.movements().served(served);
    }

    fn next_end(&self) -> u64 {
        self.windows.as_ref().map_or(u64::MAX, Windows::next_end)
    }

    fn window_ends(tiers: &mut Tiers<Self>) {
        if let Some(mut windows) = tiers.movements().windows.take() {
            windows.end(tiers);
            tiers.movements().windows = Some(windows);
        }
    }
}

/// The tiers at the end, and what was noted on the way.
type Replayed<W> = Result<(Tiers<W>, Noted<<W as Watching>::Counts>), SimError>;

/// Work after each chunk of records: progress is reported, and a policy asked whether it can go on.
type ChunkDone<P> = fn(&mut P, &Progress, usize) -> Result<(), SimError>;

/// A policy that is made for tiers always can go on.
fn chunk_done_always<P>(_: &mut P, progress: &Progress, records: usize) -> Result<(), SimError> {
    progress.add_done(records as u64);
    if progress.is_cancelled() { Err(SimError::Interrupted) } else { Ok(()) }
}

impl TierReplay<'_> {
    fn run<P: TierPolicy, W: Watching>(
        self,
        mut policy: P,
        watching: W,
        chunk_done: ChunkDone<P>,
    ) -> Replayed<W> {
        let mut tiers = Tiers::new(self.sizes, watching);
        let mut position = 0;
        let mut next_end = tiers.movements().next_end();
        let mut next_renewal = self.renewal.next(0);
        let mut notes = Notes::at(self.cuts);
        let mut chunks = self.view.chunks(CHUNK_RECORDS, 0);
        while let Some(chunk) = chunks.next_of(notes.until_next(CHUNK_RECORDS))? {
            let mut left = chunk.records;
            while !left.is_empty() {
                if position == next_renewal {
                    tiers.renew_limit();
                    next_renewal = self.renewal.next(position + 1);
                }
                let due = (next_end.min(next_renewal) - position).min(left.len() as u64);
                let (records, after) = left.split_at(due as usize);
                for &record in records {
                    let page = PageId(record.page());
                    let served = tiers.reference(&mut policy, page, first_op(record));
                    W::served(&mut tiers, served, &policy);
                }
                (left, position) = (after, position + due);
                if position == next_end {
                    W::window_ends(&mut tiers);
                    next_end = tiers.movements().next_end();
                }
            }
            chunk_done(&mut policy, self.progress, chunk.records.len())?;
            if notes.passed(chunk.records) {
                notes.note(W::counts(&mut tiers));
            }
        }
        let noted = notes.finish(W::counts(&mut tiers));
        Ok((tiers, noted))
    }

    /// Runs under a policy that is made for tiers.
    pub(super) fn run_tier_policy<W: Watching>(
        self,
        policy: &TierSpec,
        watching: W,
    ) -> Replayed<W> {
        let TierSizes { fast_frames, pages, .. } = self.sizes;
        policy.build(TierSize { fast_frames, pages }, TierVisitor { replay: self, watching })
    }

    /// Runs under a policy of the driver's own.
    pub(super) fn run_built<P: TierPolicy, W: Watching>(
        self,
        policy: P,
        watching: W,
    ) -> Replayed<W> {
        self.run(policy, watching, chunk_done_always)
    }
}

struct TierVisitor<'a, W> {
    replay: TierReplay<'a>,
    watching: W,
}

impl<W: Watching> catalog::Visitor for TierVisitor<'_, W> {
    type Output = Replayed<W>;

    fn visit<P: TierPolicy + 'static>(self, policy: P) -> Self::Output {
        self.replay.run(policy, self.watching, chunk_done_always)
    }
}

/// How a page policy keeps the fast tier.
#[derive(Clone, Copy)]
pub(crate) struct Keeping<'a> {
    pub(crate) sight: Sight,
    pub(crate) rule: PromotionRule,
    /// The numbers by which a sketch knows pages.
    pub(crate) keys: &'a [u64],
    /// The future, for offline policies.
    pub(crate) next_use: Option<&'a [u32]>,
}

/// Builds a page policy and runs it.
pub(super) struct PageVisitor<'a, W> {
    pub(super) replay: TierReplay<'a>,
    pub(super) keeping: Keeping<'a>,
    pub(super) watching: W,
}

impl<'a, W: Watching> PageVisitor<'a, W> {
    pub(super) fn run(self, policy: &ResolvedPolicy) -> Replayed<W> {
        let TierSizes { fast_frames, pages, .. } = self.replay.sizes;
        let frames = fast_frames.min(pages).max(1);
        policy.build(Size { frames, pages }, self)
    }

    fn with<P: PagePolicy, T: Feed<P>>(self, policy: P, feed: T) -> Replayed<W> {
        let PageVisitor { replay, keeping, watching } = self;
        let TierSizes { fast_frames, pages, .. } = replay.sizes;
        let by_address = replay.view.places_by_address().filter(|_| P::PAGE_NUMBERS_MATTER);
        let by_address = by_address.unwrap_or_default();
        let mut back = vec![0; by_address.len()];
        for (page, &number) in by_address.iter().enumerate() {
            back[number as usize] = page as u32;
        }
        let keeps_bits = matches!(keeping.sight, Sight::Bits(_));
        let tier = PageTier {
            periods: policy.period().map(|period| Countdown::new(period.get())),
            looks: match keeping.sight {
                Sight::All => None,
                Sight::Sample(every) | Sight::Bits(every) => Some(Countdown::new(every)),
            },
            memory: Memory::new(fast_frames.min(pages).max(1), pages, policy),
            feed,
            sight: keeping.sight,
            rule: promotion::Memory::new(keeping.rule, fast_frames, pages, keeping.keys),
            numbers: Numbers { by_address, back: &back },
            bits: AccessBits::new(if keeps_bits { pages } else { 0 }),
        };
        replay.run(tier, watching, |tier, progress, records| {
            chunk_done(&mut tier.memory, progress, records)
        })
    }
}

impl<W: Watching> Visitor for PageVisitor<'_, W> {
    type Output = Replayed<W>;

    fn bit_driven<P: BitDriven + 'static>(self, policy: P) -> Self::Output {
        self.with(policy, ByExactBits)
    }

    fn access_driven<P: AccessDriven + 'static>(self, policy: P) -> Self::Output {
        self.with(policy, ByAccess)
    }

    fn offline<P: Offline + 'static>(self, policy: P) -> Self::Output {
        let mut feed = ByFuture::default();
        Feed::<P>::enter(&mut feed, None, self.keeping.next_use);
        self.with(policy, feed)
    }
}
