//! The mechanism of two tiers: where each page is, the slow tier's clock, shadows, and the limit of promotions.

use alloc::vec;
use alloc::vec::Vec;

use super::{Entry, Movements, Placement, Tier, TierInspector, TierPolicy, Wanted, show_pages};
use crate::parts::{Links, PageList};
use crate::{Op, PageId};

const IN_FAST: u8 = 1;
const IN_SLOW: u8 = 2;
const IN_MEMORY: u8 = IN_FAST | IN_SLOW;
/// The slow tier's reference bit.
const REFERENCED: u8 = 4;
/// Written since it last came from storage or went there.
const WRITTEN: u8 = 8;
/// It was in memory before.
const KNOWN: u8 = 16;
/// A page in the fast tier whose former frame in the slow one still holds its content.
const SHADOWED: u8 = 32;

/// How large the tiers are, and how pages come into them.
#[derive(Clone, Copy, Debug)]
pub struct TierSizes {
    /// Frames of the fast tier, from 0.
    pub fast_frames: u32,
    /// Frames of the slow tier, from 0; no limit if `None`.
    pub slow_frames: Option<u32>,
    /// Pages are numbered below this, in the order of their first references.
    pub pages: u32,
    /// The placement of pages that are in neither tier.
    pub placement: Placement,
    /// True if a promoted page keeps its slow frame as a shadow.
    pub keeps_shadows: bool,
    /// The most promotions until [`Tiers::renew_limit`]; no limit if `None`.
    pub most_promotions: Option<u64>,
}

/// An access that was served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// The page.
    pub page: PageId,
    /// What the access did.
    pub op: Op,
    /// The page's tier when the reference came; `None` if it was in neither.
    pub found: Option<Tier>,
    /// The tier that served the access.
    pub by: Tier,
}

/// Two tiers of memory.
#[derive(Clone, Debug)]
pub struct Tiers<M> {
    states: Vec<u8>,
    /// A page is in the slow tier or has a shadow there, never both.
    links: Links<PageId>,
    /// The pages of the slow tier, from the one under the hand.
    clock: PageList,
    /// The pages that have shadows, from the oldest shadow.
    shadows: PageList,
    sizes: TierSizes,
    fast_pages: u32,
    /// The most frames of the slow tier that were in use.
    slow_pages_peak: u32,
    placements: u64,
    promotions_left: u64,
    now: u64,
    movements: M,
}

impl<M: Movements> Tiers<M> {
    /// Empty tiers.
    ///
    /// # Panics
    ///
    /// If there is no frame at all.
    pub fn new(sizes: TierSizes, movements: M) -> Self {
        let has_frame = sizes.fast_frames > 0 || sizes.slow_frames != Some(0);
        assert!(has_frame, "the tiers have a frame");
        Tiers {
            states: vec![0; sizes.pages as usize],
            links: Links::new(sizes.pages),
            clock: PageList::EMPTY,
            shadows: PageList::EMPTY,
            sizes,
            fast_pages: 0,
            slow_pages_peak: 0,
            placements: 0,
            promotions_left: sizes.most_promotions.unwrap_or(u64::MAX),
            now: 0,
            movements,
        }
    }

    /// A reference of the program.
    #[inline]
    pub fn reference<P: TierPolicy>(&mut self, policy: &mut P, page: PageId, op: Op) -> Served {
        self.now += 1;
        policy.begins();
        let found = self.tier_of(page);
        match found {
            Some(Tier::Fast) => policy.found_fast(page, op),
            Some(Tier::Slow) => policy.found_slow(page, op, self),
            None => self.place(policy, page, op),
        }
        let by = self.serve(page, op, found.is_none());
        let served = Served { page, op, found, by };
        policy.served(served, self);
        policy.ends(self);
        served
    }

    /// The access itself, where the page now is.
    #[inline]
    fn serve(&mut self, page: PageId, op: Op, was_placed: bool) -> Tier {
        let state = &mut self.states[page.index()];
        let is_write = op == Op::Write;
        *state |= WRITTEN * u8::from(is_write);
        if *state & IN_FAST != 0 {
            if is_write && *state & SHADOWED != 0 {
                self.drop_shadow(page);
            }
            return Tier::Fast;
        }
        *state |= REFERENCED * u8::from(!was_placed);
        Tier::Slow
    }

    /// The tier of a page, if it is in memory.
    #[inline]
    pub fn tier_of(&self, page: PageId) -> Option<Tier> {
        match self.states[page.index()] & IN_MEMORY {
            0 => None,
            IN_FAST => Some(Tier::Fast),
            _ => Some(Tier::Slow),
        }
    }

    /// Returns whether a page is in the fast tier.
    #[inline]
    pub fn is_fast(&self, page: PageId) -> bool {
        self.states[page.index()] & IN_FAST != 0
    }

    /// The number of the present reference, counted from 1.
    #[inline]
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Frames of the fast tier.
    #[inline]
    pub fn fast_frames(&self) -> u32 {
        self.sizes.fast_frames
    }

    /// Frames of the fast tier that hold no page.
    #[inline]
    pub fn free_fast_frames(&self) -> u32 {
        self.sizes.fast_frames - self.fast_pages
    }

    /// Pages in both tiers.
    #[inline]
    pub fn resident_pages(&self) -> u32 {
        self.fast_pages + self.clock.len()
    }

    /// Pages in the slow tier.
    #[inline]
    pub fn slow_pages(&self) -> u32 {
        self.clock.len()
    }

    /// The most frames of the slow tier that were in use at once, by pages and shadows.
    pub fn slow_pages_peak(&self) -> u32 {
        self.slow_pages_peak
    }

    /// What learns of moves.
    pub fn movements(&mut self) -> &mut M {
        &mut self.movements
    }

    /// As many promotions as the limit allows may follow.
    pub fn renew_limit(&mut self) {
        self.promotions_left = self.sizes.most_promotions.unwrap_or(u64::MAX);
    }

    /// Moves a page from the slow tier to the fast one, whose victim is demoted if it is full. Returns whether it did:
    /// not without a fast tier, nor beyond the limit, which is reported as a refusal.
    ///
    /// # Panics
    ///
    /// If the page is not in the slow tier.
    pub fn promote<P: TierPolicy>(&mut self, policy: &mut P, page: PageId, op: Op) -> bool {
        assert_eq!(self.tier_of(page), Some(Tier::Slow), "what is promoted is in the slow tier");
        if self.sizes.fast_frames == 0 {
            return false;
        }
        if self.promotions_left == 0 {
            self.movements.refused(page);
            return false;
        }
        self.promotions_left -= 1;
        self.movements.promoted(page, self.now);
        self.leave_slow(policy, page);
        if self.sizes.keeps_shadows {
            self.states[page.index()] |= SHADOWED;
            self.shadows.push_tail(&mut self.links, page);
        }
        self.enter_fast(policy, page, op, Entry::Promoted);
        true
    }

    /// A promotion is refused since no frame is free.
    pub fn refuse(&mut self, page: PageId) {
        if self.sizes.fast_frames > 0 {
            self.movements.refused(page);
        }
    }

    /// Moves a page, which its policy has forgotten, from the fast tier to the slow one, or to storage if there is none.
    pub fn demote<P: TierPolicy>(&mut self, policy: &mut P, page: PageId) {
        let state = &mut self.states[page.index()];
        assert!(*state & IN_FAST != 0, "what is demoted is in the fast tier");
        *state &= !IN_FAST;
        self.fast_pages -= 1;
        let is_free = *state & SHADOWED != 0;
        if is_free {
            self.drop_shadow(page);
        } else if self.sizes.slow_frames == Some(0) {
            return self.evict(policy, page);
        } else {
            self.make_room_in_slow(policy);
        }
        self.movements.demoted(page, is_free, self.now);
        self.enter_slow(policy, page);
    }

    #[inline(never)]
    fn place<P: TierPolicy>(&mut self, policy: &mut P, page: PageId, op: Op) {
        let wanted = policy.placement(page, op);
        let wanted = wanted.unwrap_or_else(|| self.sizes.placement.wants(self.placements));
        self.placements += 1;
        let tier = self.given(wanted);
        let is_back = self.states[page.index()] & KNOWN != 0;
        self.states[page.index()] |= KNOWN;
        self.movements.placed(page, tier, is_back);
        match tier {
            Tier::Fast => self.enter_fast(policy, page, op, Entry::Placed),
            Tier::Slow => {
                self.make_room_in_slow(policy);
                self.enter_slow(policy, page);
            }
        }
    }

    /// The tier for a page with this wish.
    fn given(&self, wanted: Wanted) -> Tier {
        if self.sizes.fast_frames == 0 {
            return Tier::Slow;
        }
        if self.sizes.slow_frames == Some(0) {
            return Tier::Fast;
        }
        if wanted.makes_room {
            return wanted.tier;
        }
        let fast_has_room = self.free_fast_frames() > 0;
        let slow_has_room = !self.is_slow_full() || self.shadows.len() > 0;
        match wanted.tier {
            Tier::Fast if fast_has_room => Tier::Fast,
            Tier::Slow if !slow_has_room && fast_has_room => Tier::Fast,
            Tier::Fast | Tier::Slow => Tier::Slow,
        }
    }

    fn enter_fast<P: TierPolicy>(&mut self, policy: &mut P, page: PageId, op: Op, entry: Entry) {
        if self.fast_pages == self.sizes.fast_frames {
            let victim = policy.choose_victim(page);
            self.demote(policy, victim);
        }
        self.states[page.index()] |= IN_FAST;
        self.fast_pages += 1;
        policy.entered_fast(page, op, entry);
    }

    fn enter_slow<P: TierPolicy>(&mut self, policy: &mut P, page: PageId) {
        let state = &mut self.states[page.index()];
        *state = *state & !REFERENCED | IN_SLOW;
        self.clock.push_tail(&mut self.links, page);
        self.slow_pages_peak = self.slow_pages_peak.max(self.slow_frames_in_use());
        policy.entered_slow(page);
    }

    fn leave_slow<P: TierPolicy>(&mut self, policy: &mut P, page: PageId) {
        self.clock.remove(&mut self.links, page);
        self.states[page.index()] &= !(IN_SLOW | REFERENCED);
        policy.left_slow(page);
    }

    fn slow_frames_in_use(&self) -> u32 {
        self.clock.len() + self.shadows.len()
    }

    fn is_slow_full(&self) -> bool {
        self.sizes.slow_frames.is_some_and(|frames| self.slow_frames_in_use() >= frames)
    }

    /// A full slow tier gives up its oldest shadow, or the page that its clock chooses.
    fn make_room_in_slow<P: TierPolicy>(&mut self, policy: &mut P) {
        if !self.is_slow_full() {
            return;
        }
        if self.shadows.len() > 0 {
            let oldest = self.shadows.head();
            self.drop_shadow(oldest);
            return self.movements.unshadowed(oldest);
        }
        let victim = loop {
            let page = self.clock.head();
            let state = &mut self.states[page.index()];
            if *state & REFERENCED == 0 {
                break page;
            }
            *state &= !REFERENCED;
            self.clock.move_to_tail(&mut self.links, page);
        };
        self.leave_slow(policy, victim);
        self.evict(policy, victim);
    }

    /// A page that has left its tier goes to storage.
    fn evict<P: TierPolicy>(&mut self, policy: &mut P, page: PageId) {
        let state = &mut self.states[page.index()];
        let is_written = *state & WRITTEN != 0;
        *state &= !WRITTEN;
        self.movements.evicted(page, is_written);
        policy.evicted(page);
    }

    fn drop_shadow(&mut self, page: PageId) {
        self.shadows.remove(&mut self.links, page);
        self.states[page.index()] &= !SHADOWED;
    }

    /// Shows the slow tier and the shadows, by the names of the golden vectors.
    pub fn inspect(&self, inspector: &mut dyn TierInspector) {
        let is_referenced = |page: PageId| self.states[page.index()] & REFERENCED != 0;
        let row = |page: PageId| [u64::from(page.0), is_referenced(page).into(), 0, 0];
        inspector.list("slow_from_hand", &mut self.clock.iter(&self.links).map(row), 2);
        show_pages(inspector, "shadows", self.shadows.iter(&self.links));
    }

    /// Recounts what is counted along the way, for tests.
    ///
    /// # Panics
    ///
    /// If a count or a list is wrong.
    pub fn check_invariants(&self) {
        self.clock.check_invariants(&self.links);
        self.shadows.check_invariants(&self.links);
        let count = |mask| self.states.iter().filter(|&&state| state & mask != 0).count() as u32;
        assert_eq!(count(IN_FAST), self.fast_pages, "pages in the fast tier");
        assert_eq!(count(IN_SLOW), self.clock.len(), "pages in the slow tier");
        assert_eq!(count(SHADOWED), self.shadows.len(), "shadows");
        assert!(self.fast_pages <= self.sizes.fast_frames, "the fast tier is too full");
        let in_use = self.slow_frames_in_use();
        assert!(
            self.sizes.slow_frames.is_none_or(|frames| in_use <= frames),
            "the slow tier is too full"
        );
        assert!(
            self.states.iter().all(|state| state & IN_MEMORY != IN_MEMORY),
            "a page is in both"
        );
    }
}
