//! Page-replacement policies: one file each, and the traits that they implement.
//!
//! There are two kinds, and the difference is central to the field. A *bit-driven* policy sees only faults: on a hit
//! the hardware, simulated or real, sets a bit, and the policy reads and clears the bits while its hand moves. An
//! *access-driven* policy must see every hit, which real memory does not report.

use alloc::collections::VecDeque;

use crate::parameters::Settings;
use crate::parts::{FrameList, Links};
use crate::{Frame, Frames, HitBits, Op, PageId, Step};

pub mod ace;
pub mod ace_clock;
pub mod ad_lru;
pub mod arc;
pub mod car;
pub mod casa;
pub mod ccf_lru;
pub mod cfclock;
pub mod cfdc;
pub mod cflru;
pub mod cflru_dynamic;
pub mod clock;
pub mod clock_pro;
pub mod craw;
pub mod craw_a;
pub mod credit_clock;
pub mod fifo;
#[path = "page/for.rs"]
pub mod for_;
pub mod lfu;
pub mod linux24;
pub mod linux24_cflru;
pub mod linux_lru;
pub mod linux_mglru;
pub mod lirs;
pub mod lirs_wsr;
pub mod lru;
pub mod lru_wsr;
pub mod min;
pub mod nru;
pub mod random;
pub mod s3_fifo;
pub mod sieve;
#[path = "page/2q.rs"]
pub mod two_q;
pub mod w_tinylfu;
pub mod wa_landlord;
pub mod weighted_clock;

pub use crate::capabilities::Capabilities;

/// A reference to a page that was not in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The page.
    pub page: PageId,
    /// What the reference does.
    pub op: Op,
    /// True if the page was read from the backing store: by default always.
    pub fetched: bool,
    /// What brings the page.
    pub cause: Cause,
    /// The kind of memory that the page belongs to.
    pub kind: PageKind,
}

/// What brings a page into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A reference of the program to its memory.
    Memory,
    /// A call such as read or write, which reaches a file's page without mapping it.
    Call,
    /// The page has not been referenced yet: it is read ahead, with another one, and stays unreferenced.
    Ahead,
}

/// The kind of memory that a page belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageKind {
    /// The memory of a process.
    Anonymous,
    /// A file, whether it is reached by calls or mapped.
    File,
}

impl Fault {
    /// A reference to the memory of a process, for which the page is read.
    pub fn new(page: PageId, op: Op) -> Self {
        Fault { page, op, fetched: true, cause: Cause::Memory, kind: PageKind::Anonymous }
    }

    /// `page` is read ahead. A policy takes it as a read fault whose page was not referenced.
    pub fn ahead(page: PageId) -> Self {
        Fault { cause: Cause::Ahead, ..Fault::new(page, Op::Read) }
    }

    /// Returns whether the page comes without having been referenced.
    pub fn is_ahead(&self) -> bool {
        self.cause == Cause::Ahead
    }
}

/// What a call of a policy that reclaims in batches is for.
#[derive(Debug)]
pub struct Reclaim<'a> {
    /// Frames that are free.
    pub free: u32,
    /// Frames that are needed.
    pub wanted: u32,
    /// Gets, in their order, the pages to be written that stay, which count as clean from then on, and the pages that
    /// leave, at least one.
    pub steps: &'a mut VecDeque<Step>,
}

/// Common to both kinds: which page leaves, and what a fault changes. What drivers ask of few policies has defaults in
/// [`Capabilities`].
///
/// A policy decides on a fault before the reference sets the page's dirty state.
pub trait PagePolicy: Capabilities {
    /// A fault on `page` is about to make a page leave: called once before
    /// [`choose_victim`](PagePolicy::choose_victim), for policies whose choice depends on the incoming page.
    fn make_room_for(&mut self, page: PageId) {
        let _ = page;
    }

    /// The page to leave next. Asked only when at least one page is not pinned; frames may be free. The policy
    /// forgets the page at once, since its hand has moved: the answer is never asked for twice
    /// (the mechanism holds it until the eviction is committed).
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame;

    /// The page of `fault` has been loaded into `frame`, with both its bits 0.
    fn loaded<F: Frames>(&mut self, fault: Fault, frame: Frame, frames: &mut F);

    /// The page in `frame` leaves at once and out of turn, since its file was deleted or its memory freed. It
    /// leaves every list and does not become a ghost; existing ghosts stay. `frames` still show the page.
    fn dropped<F: Frames>(&mut self, frame: Frame, frames: &F);

    /// The page in `frame` has been written back, before its eviction or without one, and is clean now.
    fn written_back<F: Frames>(&mut self, frame: Frame, frames: &F) {
        let _ = (frame, frames);
    }

    /// Shows lists and sizes by the names that the papers use.
    fn inspect(&self, inspector: &mut dyn Inspector);

    /// Shows the values by which the policy adapts, in constant time: target sizes, sizes, windows. Names end in
    /// the unit where there is one.
    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        let _ = show;
    }

    /// Recounts everything that is counted along the way, for tests.
    ///
    /// # Panics
    ///
    /// If a count, a link or a membership is wrong.
    fn check_invariants<F: Frames>(&self, frames: &F) {
        let _ = frames;
    }
}

/// A policy that learns of hits only from the bits that they set, and so can drive real memory.
pub trait BitDriven: PagePolicy {
    /// Which bits a hit sets.
    const HIT_BITS: HitBits;

    /// True if the policy learns when a page that has no bit set is accessed: on real memory that is a fault.
    const SEES_FIRST_ACCESSES: bool = false;

    /// The page in `frame`, which has no bit set, is accessed by a program; the access has not set its bit yet. The page
    /// may be one that is leaving.
    fn first_access<F: Frames>(&mut self, frame: Frame, frames: &mut F) {
        let _ = (frame, frames);
    }

    /// True if the policy learns of references by calls, which then set no bit; else they set the bits of a hit.
    const SEES_CALLS: bool = false;

    /// A call refers to the page in `frame`.
    fn called<F: Frames>(&mut self, frame: Frame, frames: &mut F) {
        let _ = (frame, frames);
    }
}

/// A policy that must see every hit.
pub trait AccessDriven: PagePolicy {
    /// True if repeating a hit at once changes something: such a policy learns of every reference of a run to the same
    /// page, and must treat reads and writes alike, since a run does not keep their order.
    const COUNTS_REFERENCES: bool = false;

    /// The page in `frame` is referenced. Repeating the last call at once changes nothing, unless the policy
    /// [counts references](AccessDriven::COUNTS_REFERENCES).
    fn hit<F: Frames>(&mut self, op: Op, frame: Frame, frames: &F);
}

/// An access-driven policy that must know the future.
pub trait Offline: AccessDriven {
    /// Called before each reference with the position of the next reference to the same page, `None` after
    /// the last one. Positions count from 0 and only their order matters.
    fn foresee(&mut self, next_reference: Option<u32>);
}

/// Receives the inner state of a policy, list by list.
pub trait Inspector {
    /// A list of frames in its natural order, from the page under the hand or the least recently used one.
    fn list(&mut self, name: &'static str, frames: &mut dyn Iterator<Item = Frame>);
    /// A list that a hand goes around, from the page under the hand.
    fn ring(&mut self, name: &'static str, frames: &mut dyn Iterator<Item = Frame>) {
        self.list(name, frames);
    }
    /// A ghost list from the oldest to the newest.
    fn ghosts(&mut self, name: &'static str, pages: &mut dyn Iterator<Item = PageId>);
    /// A size, a counter or a position.
    fn value(&mut self, name: &'static str, value: f64);
    /// A number for each page of the list shown before, in its order.
    fn values(&mut self, name: &'static str, values: &mut dyn Iterator<Item = f64>) {
        let _ = (name, values);
    }
}

/// A share of the frames that is a parameter, in pages, rounded down but never 0.
fn pages_of_share(settings: &Settings, name: &str, frames: u32) -> u32 {
    let share = settings.ratio(name).expect("a share has a default");
    share.floor_of(frames).clamp(1, frames.into()) as u32
}

/// The page nearest the head of `list` that can leave.
fn first_unpinned<F: Frames>(list: &FrameList, links: &Links, frames: &F) -> Option<Frame> {
    list.iter(links).find(|&frame| !frames.is_pinned(frame))
}
