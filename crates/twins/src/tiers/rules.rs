//! Sizes and options of two tiers, who decides, and what happens.

use std::collections::BTreeSet;

use super::{TierPromotion, TierSight, TppRule};
use crate::Op;

/// The tier for pages that are in neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TierPlacement {
    /// The fast tier.
    Fast,
    /// The slow tier.
    Slow,
    /// W for the fast one, then V for the slow one.
    Interleave(u64, u64),
    /// The fast tier, room or not.
    MakeRoom,
}

/// Sizes and options of the tiers.
#[derive(Clone, Debug)]
pub struct TierRules {
    /// F.
    pub fast_frames: usize,
    /// S; no limit if `None`.
    pub slow_frames: Option<usize>,
    ///
    pub placement: TierPlacement,
    /// A promoted page keeps its slow frame.
    pub non_exclusive: bool,
    /// The most promotions, and the references that this limit holds for; 0 references: per second of the references'
    /// times.
    pub limit: Option<(u64, u64)>,
    /// W of ping-pong.
    pub ping_pong: u64,
}

/// Who decides.
#[derive(Clone, Debug)]
pub enum TierKeeper {
    /// A page policy with its parameters, what it sees, and its rule of promotion.
    Page(&'static str, Vec<(&'static str, &'static str)>, TierSight, TierPromotion),
    /// `expiration`, and whether frequencies are kept.
    ClockDwf(u64, bool),
    /// `rounds`.
    MClock(u64),
    /// `scan_period`, `scan_pages`, the rule, and the frames below which and until which pages are demoted.
    Tpp(u64, usize, TppRule, (usize, usize)),
    /// `sample`, `adapt`, `cool`, `migrate`.
    Memtis(u64, u64, u64, u64),
    /// `sample`, `read_hot`, `write_hot`, `cool`, `migrate`.
    Hemem(u64, u64, u64, u64, u64),
    /// The pages that live in the fast tier.
    Static(BTreeSet<u64>),
}

/// One thing that a reference did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TierEvent {
    /// A page came for the first time; whether into the fast tier.
    Place(u64, bool),
    /// A page came back from storage.
    Fault(u64, bool),
    /// A page left the slow tier for the fast one.
    Promote(u64),
    /// A promotion was refused.
    Refuse(u64),
    /// A page left the fast tier for the slow one; whether its shadow became it.
    Demote(u64, bool),
    /// A page left for storage, written or not.
    Evict(u64, bool),
    /// A shadow gave up its frame for another page.
    Unshadow(u64),
    /// A hint fault.
    Hint(u64),
    /// A sample.
    Sample,
    /// Pages that were scanned.
    Scan(usize),
    /// A reference was served by the fast tier or not.
    Serve(u64, Op, bool),
}
