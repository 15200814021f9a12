//! What is known of translations that come back by themselves.

use std::cell::RefCell;

use clockhand_policy::{Frame, FrameTable, Frames, HitBits, Op, PageId};

use crate::translations::{Seen, Translations};

/// Tells whether the translation of a page is being dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dropping {
    /// It has been, or is not to be.
    No,
    /// It is to be, with others.
    Listed,
    /// The program has been told.
    Ordered,
}

/// What is known of translations that come back by themselves.
pub(super) struct Sensing {
    /// Which pages have translations.
    pub(super) translations: RefCell<Box<dyn Translations>>,
    pub(super) bits: HitBits,
    /// True if the policy asks to decide; a test that recounts must not look.
    pub(super) is_deciding: bool,
    /// The number of the decision.
    pub(super) decision: u32,
    /// For each frame, the number of the decision that looked at it or cleared it. Its bits then stay fixed for this
    /// decision, so that the log of references explains the decision.
    pub(super) settled: RefCell<Vec<u32>>,
    pub(super) dropping: Vec<Dropping>,
    pub(super) listed: Vec<Frame>,
    pub(super) ordered: Vec<Frame>,
    /// Pages that were found to have been accessed, and how, in the order they were found.
    pub(super) found: RefCell<Vec<(PageId, Op)>>,
    /// What the last look showed.
    pub(super) seen: RefCell<Vec<Seen>>,
    /// A bit for each page that has been seen with a translation since it was last dropped.
    pub(super) translated: RefCell<Vec<u64>>,
    pub(super) pages: u32,
}

/// Pages that are looked at together: the kernel reads 64 entries of a page map hardly slower than one.
const TOGETHER: u32 = 64;

impl std::fmt::Debug for Sensing {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Sensing").field("decision", &self.decision).finish_non_exhaustive()
    }
}

impl Sensing {
    pub(super) fn new(
        frames: u32,
        pages: u32,
        bits: HitBits,
        translations: Box<dyn Translations>,
    ) -> Self {
        Sensing {
            translations: RefCell::new(translations),
            bits,
            is_deciding: false,
            decision: 0,
            settled: RefCell::new(vec![0; frames as usize]),
            dropping: vec![Dropping::No; frames as usize],
            listed: Vec::new(),
            ordered: Vec::new(),
            found: RefCell::default(),
            seen: RefCell::default(),
            translated: RefCell::new(vec![0; pages.div_ceil(TOGETHER) as usize]),
            pages,
        }
    }

    /// Returns whether a look could find something; none is then worth it for the rest of the decision.
    pub(super) fn settle(&self, frame: Frame) -> bool {
        let settled = &mut self.settled.borrow_mut()[frame.index()];
        let is_open = self.is_deciding
            && *settled != self.decision
            && self.dropping[frame.index()] == Dropping::No;
        if is_open {
            *settled = self.decision;
        }
        is_open
    }

    /// What is seen of one page.
    pub(super) fn look(&self, page: PageId) -> Seen {
        let mut seen = self.seen.borrow_mut();
        seen.clear();
        self.translations.borrow_mut().look(&[page], &mut seen);
        seen[0]
    }

    /// Returns whether a page has a translation; looks at its neighbours, too: that a page has been accessed stays
    /// true.
    pub(super) fn look_around(&self, page: PageId) -> bool {
        let word = page.0 / TOGETHER;
        let pages = TOGETHER.min(self.pages - word * TOGETHER);
        let bits = self.translations.borrow_mut().translated(PageId(word * TOGETHER), pages);
        let known = &mut self.translated.borrow_mut()[word as usize];
        *known |= bits;
        *known >> (page.0 % TOGETHER) & 1 != 0
    }

    /// Returns whether the page has been seen with a translation that has not been dropped since.
    pub(super) fn is_known_translated(&self, page: PageId) -> bool {
        self.translated.borrow()[(page.0 / TOGETHER) as usize] >> (page.0 % TOGETHER) & 1 != 0
    }

    pub(super) fn forget_translation(&mut self, page: PageId) {
        self.translated.get_mut()[(page.0 / TOGETHER) as usize] &= !(1 << (page.0 % TOGETHER));
    }

    pub(super) fn sees_writes(&self) -> bool {
        self.translations.borrow().sees_writes()
    }

    /// Returns whether another write to the page in a frame would change nothing.
    pub(super) fn knows_writes(&self, table: &FrameTable, frame: Frame) -> bool {
        !self.sees_writes()
            || table.is_dirty(frame) && (self.bits == HitBits::Reference || table.write_bit(frame))
    }

    /// The access that something seen of the page in a frame tells of, if it tells of one.
    pub(super) fn access(&self, table: &FrameTable, frame: Frame, seen: Seen) -> Option<Op> {
        if seen.is_written && !self.knows_writes(table, frame) {
            return Some(Op::Write);
        }
        (seen.is_translated && !table.is_mapped(frame)).then_some(Op::Read)
    }
}
