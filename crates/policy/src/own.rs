//! Policies that stand in no catalog: what others write, in this language or another, learns of the same events and
//! runs in the same drivers.
//!
//! An [`OwnPolicy`] is chosen at run time, so its methods are called through a table. On a hit a bit-driven one costs no
//! more than those of the catalog, since it is not called. [`Occupancy`] tells which of its choices can be.

mod occupancy;

use alloc::boxed::Box;
use core::error::Error;
use core::fmt;
use core::num::NonZeroU64;

use crate::catalog::{Kind, Size, Visitor};
use crate::page::{AccessDriven, BitDriven, Capabilities, Fault, Inspector, PagePolicy};
use crate::parameters::Settings;
use crate::{Frame, Frames, HitBits, Op, PageId};

pub use occupancy::{Occupancy, Place, REMEDY_OF_VICTIM};

/// Why a policy cannot go on.
pub type Failure = Box<dyn Error + Send + Sync>;

/// A policy of others, with the events of [`PagePolicy`] and [`AccessDriven`]; see there what each means.
///
/// One that fails goes on with harmless choices until a driver asks for the [`failure`](OwnPolicy::failure).
pub trait OwnPolicy {
    /// A fault on `page` is about to make a page leave.
    fn make_room_for(&mut self, page: PageId);
    /// The page to leave next: one that is in memory, not pinned, and was not chosen before.
    fn choose_victim(&mut self, frames: &mut dyn Frames) -> Frame;
    /// The page of `fault` has been loaded into `frame`.
    fn loaded(&mut self, fault: Fault, frame: Frame, frames: &mut dyn Frames);
    /// The page in `frame` is referenced; called for access-driven policies only.
    fn hit(&mut self, op: Op, frame: Frame, frames: &dyn Frames);
    /// The page in `frame` leaves out of turn.
    fn dropped(&mut self, frame: Frame, frames: &dyn Frames);
    /// The page in `frame` has been written back.
    fn written_back(&mut self, frame: Frame, frames: &dyn Frames);
    /// The mapping of the page in `frame` is gone; the page stays.
    fn unmapped(&mut self, frame: Frame, frames: &mut dyn Frames) {
        let _ = (frame, frames);
    }
    /// The page in `frame` is dirty from now on without having been referenced.
    fn made_dirty(&mut self, frame: Frame, frames: &dyn Frames) {
        let _ = (frame, frames);
    }
    /// After how many references the policy wants its [`tick`](OwnPolicy::tick).
    fn period(&self) -> Option<NonZeroU64>;
    /// A period has ended.
    fn tick(&mut self, frames: &mut dyn Frames);
    /// Why the policy cannot go on, reported once. Drivers ask from time to time, also so that others can take what the
    /// policy holds.
    fn failure(&mut self) -> Option<Failure>;
}

/// Makes policies of one kind; stands in their [`Entry`](crate::catalog::Entry).
pub trait Make: fmt::Debug + Send + Sync {
    /// A policy for a memory of this size. An error is the policy's [failure](OwnPolicy::failure).
    fn make(&self, settings: &Settings, size: Size) -> Box<dyn OwnPolicy>;

    /// Returns whether its policies may decide over the memory of running programs: they call nothing that could wait
    /// for such memory.
    fn can_page(&self) -> bool {
        false
    }

    /// Calls `run` once. A policy is made and used inside: acquire what its calls need here.
    fn around(&self, run: &mut dyn FnMut()) {
        run();
    }
}

/// Passes a new policy to `visitor`. `Kind::Offline` is not open to others: it counts as access-driven.
pub(crate) fn build<V: Visitor>(
    make: &dyn Make,
    kind: Kind,
    settings: &Settings,
    size: Size,
    visitor: V,
) -> V::Output {
    let (mut visitor, mut output) = (Some(visitor), None);
    make.around(&mut || {
        let policy = make.make(settings, size);
        let visitor = visitor.take().expect("a run is called once");
        output = Some(match kind {
            Kind::BitDriven => visitor.bit_driven(Own::<false>(policy)),
            Kind::AccessDriven | Kind::Offline => visitor.access_driven(Own::<true>(policy)),
        });
    });
    output.expect("a run is called once")
}

/// A policy of others as drivers take it, with or without hits.
struct Own<const TOLD_OF_HITS: bool>(Box<dyn OwnPolicy>);

impl<const TOLD_OF_HITS: bool> PagePolicy for Own<TOLD_OF_HITS> {
    fn make_room_for(&mut self, page: PageId) {
        self.0.make_room_for(page);
    }

    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        self.0.choose_victim(frames)
    }

    fn loaded<F: Frames>(&mut self, fault: Fault, frame: Frame, frames: &mut F) {
        self.0.loaded(fault, frame, frames);
    }

    fn dropped<F: Frames>(&mut self, frame: Frame, frames: &F) {
        self.0.dropped(frame, frames);
    }

    fn written_back<F: Frames>(&mut self, frame: Frame, frames: &F) {
        self.0.written_back(frame, frames);
    }

    fn inspect(&self, _: &mut dyn Inspector) {}
}

impl<const TOLD_OF_HITS: bool> Capabilities for Own<TOLD_OF_HITS> {
    const PAGE_NUMBERS_MATTER: bool = true;

    fn unmapped<F: Frames>(&mut self, frame: Frame, frames: &mut F) {
        self.0.unmapped(frame, frames);
    }

    fn made_dirty<F: Frames>(&mut self, frame: Frame, frames: &F) {
        self.0.made_dirty(frame, frames);
    }

    fn period(&self) -> Option<NonZeroU64> {
        self.0.period()
    }

    fn tick<F: Frames>(&mut self, frames: &mut F) {
        self.0.tick(frames);
    }

    fn failure(&mut self) -> Option<Failure> {
        self.0.failure()
    }
}

impl BitDriven for Own<false> {
    const HIT_BITS: HitBits = HitBits::Separate;
}

impl AccessDriven for Own<true> {
    // Nothing is known of what it does with a repeated hit.
    const COUNTS_REFERENCES: bool = true;

    fn hit<F: Frames>(&mut self, op: Op, frame: Frame, frames: &F) {
        self.0.hit(op, frame, frames);
    }
}
