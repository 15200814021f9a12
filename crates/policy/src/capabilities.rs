//! What drivers ask of a policy beside its decisions: how fast it may be replayed, and the events that few policies need.

use core::num::NonZeroU64;

use crate::own::Failure;
use crate::page::{PagePolicy, Reclaim};
use crate::{Frame, Frames, PageId, Step};

/// What a policy can do beside [choosing pages](PagePolicy). Each item has a default that is right for every policy except
/// where its comment says "must", so that the author of one writes `impl Capabilities for Mine {}`.
///
/// The trait is not sealed: a policy of another crate may have a period, or look ahead, as well as those of the catalog.
#[diagnostic::on_unimplemented(
    note = "a policy has them beside `impl PagePolicy`; all have defaults: `impl Capabilities for {Self} {{}}`"
)]
pub trait Capabilities {
    /// True if [`peek_victim`](Capabilities::peek_victim) answers: the choice of a victim changes nothing except that the
    /// victim leaves.
    const CAN_PEEK: bool = false;

    /// True if a page's number says more than which page it is: choices compare numbers, or hash them. Such a policy must
    /// say so. A driver that numbers pages in another order than by address must then give those by address.
    const PAGE_NUMBERS_MATTER: bool = false;

    /// True if pages may come whose numbers are beyond those that the policy was built for: it keeps nothing by number,
    /// or [enlarges](Capabilities::take_more_pages) what it keeps. A driver can replay such a policy before it knows [how
    /// many pages there are](crate::memory::fast::FastMemory::take_more_pages).
    const TAKES_MORE_PAGES: bool = false;

    /// True if a driver that knows the references to come gains time by [`look_ahead`](Capabilities::look_ahead).
    const LOOKS_AHEAD: bool = false;

    /// True if pages leave in batches: where several frames are wanted, or one, a driver's steps
    /// ([`Memory::next_step`](crate::Memory::next_step)) come from [`reclaim`](Capabilities::reclaim), and
    /// [`choose_victim`](PagePolicy::choose_victim) serves drivers that ask page by page.
    const RECLAIMS_IN_BATCHES: bool = false;

    /// False if [`written_back`](PagePolicy::written_back) does nothing for a page that is leaving, so that it need not be
    /// called for one.
    const MINDS_LAST_WRITE_BACK: bool = true;

    /// The page that [`choose_victim`](PagePolicy::choose_victim) would choose, which changes nothing: a page that
    /// is not pinned, where the policy [can tell](Capabilities::CAN_PEEK), else `None`.
    fn peek_victim<F: Frames>(&self, frames: &F) -> Option<Frame> {
        let _ = frames;
        None
    }

    /// Pages are numbered below `pages` from now on, more than before: what is kept by number grows. Called only of
    /// policies that [take more](Capabilities::TAKES_MORE_PAGES), before such a page comes.
    fn take_more_pages(&mut self, pages: u32) {
        let _ = pages;
    }

    /// Passes the address of what the policy keeps of this page to `fetch`, so that the driver can have the processor
    /// fetch it before the page is referenced.
    #[inline]
    fn look_ahead(&self, page: PageId, fetch: impl Fn(&u32)) {
        let _ = (page, fetch);
    }

    /// One call of a policy that [reclaims in batches](Capabilities::RECLAIMS_IN_BATCHES). The policy forgets at once the
    /// pages that leave. The next call comes when all steps are done.
    fn reclaim<F: Frames>(&mut self, wanted: Reclaim<'_>, frames: &mut F)
    where
        Self: PagePolicy,
    {
        wanted.steps.push_back(Step::Evict(self.choose_victim(frames)));
    }

    /// The mapping of the page in `frame` is gone, since the program unmapped the range; the page stays.
    fn unmapped<F: Frames>(&mut self, frame: Frame, frames: &mut F) {
        let _ = (frame, frames);
    }

    /// The page in `frame`, which a write has just brought, is clean all the same: the write went to where it was before.
    /// A policy that keeps the dirty state must take note.
    fn loaded_clean<F: Frames>(&mut self, frame: Frame, frames: &F) {
        let _ = (frame, frames);
    }

    /// The page in `frame` is dirty from now on without having been referenced. A policy that keeps the dirty state must
    /// take note.
    fn made_dirty<F: Frames>(&mut self, frame: Frame, frames: &F) {
        let _ = (frame, frames);
    }

    /// After how many references, hits included, the policy wants its [`tick`](Capabilities::tick).
    fn period(&self) -> Option<NonZeroU64> {
        None
    }

    /// A period has ended.
    fn tick<F: Frames>(&mut self, frames: &mut F) {
        let _ = frames;
    }

    /// Why the policy cannot go on, reported once; a driver asks from time to time. Only a policy of
    /// [users](crate::own) may fail.
    fn failure(&mut self) -> Option<Failure> {
        None
    }
}
