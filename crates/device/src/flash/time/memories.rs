//! The memories of a write buffer: places for pages, and what is written to them.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::listener::Reading;
use super::slab::{NONE, Slab};

/// A memory of a write buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Medium {
    /// Volatile memory.
    Dram,
    /// Non-volatile memory.
    Nvm,
}

/// Where the content of a page is, or will come from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Content {
    /// In the controller.
    There,
    /// From this action of a memory; its number tells whether it is still that one.
    Action(u32, u32),
    /// From flash.
    Reading(Reading),
}

/// What an action still needs, one bit each.
pub(super) const NEED_SLOT: u8 = 1;
pub(super) const NEED_EARLIER: u8 = 2;
pub(super) const NEED_CONTENT: u8 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ActionKind {
    Write(Medium),
    Migrate,
    /// A page that is read from flash on its way into the buffer.
    Fill,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Action {
    pub(super) kind: ActionKind,
    pub(super) number: u32,
    pub(super) page: u32,
    pub(super) request: u32,
    pub(super) needs: u8,
    pub(super) decided_ns: u64,
    pub(super) begun_ns: u64,
    /// Given back when it is over.
    pub(super) releases: u32,
    /// Of which period between two FLUSHes it is, if a FLUSH waits for it.
    pub(super) period: u32,
    /// The next action on the page, which waits for this one.
    pub(super) next: u32,
    pub(super) content_waiters: u32,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    pub(super) medium: Medium,
    pub(super) asked_ns: u64,
    /// Whether a written page asked for it.
    pub(super) is_for_write: bool,
    pub(super) is_granted: bool,
    /// True if it is given back as soon as it is granted.
    pub(super) is_released: bool,
    pub(super) action: u32,
}

/// The state of a page that is in a memory or on its way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Page {
    pub(super) slots: [u32; 2],
    pub(super) content: [Content; 2],
    /// The last write or migration, if it is not over.
    pub(super) last: (u32, u32),
}

impl Page {
    const ABSENT: Page = Page { slots: [NONE; 2], content: [Content::There; 2], last: (NONE, 0) };
}

/// Places of a memory.
pub(super) struct Memory {
    pub(super) free: u32,
    /// Those that were asked for and not granted, in the order of asking.
    pub(super) asking: VecDeque<u32>,
}

/// Both memories.
pub(super) struct Memories {
    pub(super) memories: [Memory; 2],
    pub(super) slots: Slab<Slot>,
    pub(super) actions: Slab<Action>,
    pub(super) pages: FxHashMap<u32, Page>,
    pub(super) numbers: u32,
    /// Pages that decisions have placed in each.
    pub(super) placed: [u32; 2],
    pub(super) stalled_pages: u64,
    pub(super) stall_ns: u64,
}

impl Memories {
    pub(super) fn new(slots: [u32; 2]) -> Self {
        Memories {
            memories: slots.map(|free| Memory { free, asking: VecDeque::new() }),
            slots: Slab::new(),
            actions: Slab::new(),
            pages: FxHashMap::default(),
            numbers: 0,
            placed: [0; 2],
            stalled_pages: 0,
            stall_ns: 0,
        }
    }

    pub(super) fn page(&mut self, page: u32) -> &mut Page {
        self.pages.entry(page).or_insert(Page::ABSENT)
    }

    pub(super) fn is_over(&self, (action, number): (u32, u32)) -> bool {
        action == NONE || self.actions[action].number != number
    }

    /// Forgets a page that is in neither memory.
    pub(super) fn forget_if_absent(&mut self, page: u32) {
        if let Some(entry) = self.pages.get(&page)
            && entry.slots == [NONE; 2]
            && self.is_over(entry.last)
        {
            self.pages.remove(&page);
        }
    }

    /// Pages that decisions have placed in a memory.
    pub(super) fn placed(&self, medium: Medium) -> u32 {
        self.placed[medium as usize]
    }

    /// True if decisions have placed a page in a memory.
    pub(super) fn has(&self, page: u32, medium: Medium) -> bool {
        self.pages.get(&page).is_some_and(|entry| entry.slots[medium as usize] != NONE)
    }

    /// A page leaves a memory. Its slot, which is to be given back.
    pub(super) fn take_slot(&mut self, page: u32, medium: Medium) -> u32 {
        let Some(entry) = self.pages.get_mut(&page) else { return NONE };
        let slot = std::mem::replace(&mut entry.slots[medium as usize], NONE);
        self.placed[medium as usize] -= u32::from(slot != NONE);
        slot
    }
}
