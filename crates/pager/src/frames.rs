//! Read and write bits of real memory.

use std::cell::RefCell;
use std::ops::Range;

use clockhand_policy::{Frame, FrameTable, Frames, HitBits, Op, PageId, PageTable};

use crate::translations::Translations;

/// The frames of a paged memory, whose bits are set by faults, or by looking.
///
/// The hardware's own accessed and dirty bits cannot be read from user space. But a page without a translation
/// faults at the next access, and a page with a read-only translation at the next write. To clear a bit is to drop the
/// translation. Then either the fault of the next access is a message to the pager and sets the bit (*mapped* bits), or the
/// kernel makes the translation again by itself and the pager looks whether it is back when the policy asks (*sensed*
/// bits).
#[derive(Debug)]
pub(crate) struct UnmappingFrames {
    /// In a cell, since a policy that asks for a bit may set it.
    table: RefCell<FrameTable>,
    /// Mapped bits: pages whose translations are to be dropped.
    unmapped: Vec<PageId>,
    sensing: Option<Sensing>,
}

/// Whether the translation of a page is being dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dropping {
    /// It has been, or is not to be.
    No,
    /// It is to be, with others.
    Listed,
    /// The program has been told.
    Ordered,
}

/// What is known of translations that come back by themselves.
struct Sensing {
    /// Which pages have translations.
    translations: RefCell<Box<dyn Translations>>,
    bits: HitBits,
    /// Whether the policy asks to decide; a test that recounts must not look.
    is_deciding: bool,
    /// The number of the decision.
    decision: u32,
    /// For each frame, the decision in which it was looked at or cleared: what is known of it then stays for the decision,
    /// so that the log of references explains the decision.
    settled: RefCell<Vec<u32>>,
    dropping: Vec<Dropping>,
    listed: Vec<Frame>,
    ordered: Vec<Frame>,
    /// Pages that were found to have been accessed, in the order in which they were.
    found: RefCell<Vec<PageId>>,
    /// For looks at one page.
    one: RefCell<Vec<PageId>>,
}

impl std::fmt::Debug for Sensing {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Sensing").field("decision", &self.decision).finish_non_exhaustive()
    }
}

impl Sensing {
    fn new(frames: u32, bits: HitBits, translations: Box<dyn Translations>) -> Self {
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
            one: RefCell::default(),
        }
    }

    /// Whether a look could find something; none is then worth it for the rest of the decision.
    fn settle(&self, frame: Frame) -> bool {
        let settled = &mut self.settled.borrow_mut()[frame.index()];
        let is_open = self.is_deciding
            && *settled != self.decision
            && self.dropping[frame.index()] == Dropping::No;
        if is_open {
            *settled = self.decision;
        }
        is_open
    }

    fn is_translated(&self, page: PageId) -> bool {
        let mut one = self.one.borrow_mut();
        one.clear();
        one.push(page);
        self.translations.borrow_mut().keep_translated(&mut one);
        !one.is_empty()
    }
}

impl UnmappingFrames {
    /// Frames with mapped bits or, if there is a way to look at translations, with sensed ones; a hit sets `bits`.
    pub(crate) fn new(
        frames: u32,
        bits: HitBits,
        translations: Option<Box<dyn Translations>>,
    ) -> Self {
        let sensing = translations.map(|translations| Sensing::new(frames, bits, translations));
        UnmappingFrames {
            table: RefCell::new(FrameTable::new(frames)),
            unmapped: Vec::new(),
            sensing,
        }
    }

    /// Mapped bits: pages whose translations are to be dropped because bits of them were cleared. The caller that drops
    /// them empties the list.
    pub(crate) fn unmapped(&mut self) -> &mut Vec<PageId> {
        &mut self.unmapped
    }

    /// The policy is going to choose: what it asks for is looked at. The translations that were to be dropped are.
    pub(crate) fn begin_decision(&mut self, is_new: bool) {
        if let Some(sensing) = &mut self.sensing {
            sensing.decision += u32::from(is_new);
            sensing.is_deciding = true;
        }
    }

    /// The policy has chosen.
    pub(crate) fn end_decision(&mut self) {
        if let Some(sensing) = &mut self.sensing {
            sensing.is_deciding = false;
        }
    }

    /// Takes out the pages that were found to have been accessed.
    pub(crate) fn found(&mut self) -> Vec<PageId> {
        self.sensing
            .as_mut()
            .map_or_else(Vec::new, |sensing| std::mem::take(sensing.found.get_mut()))
    }

    /// All pages, of those in these frames, that have been accessed and are not known to have been, in ascending order.
    pub(crate) fn look_at_all(&mut self, frames: impl Iterator<Item = Frame>) -> Vec<PageId> {
        let Some(sensing) = &mut self.sensing else { return Vec::new() };
        let table = self.table.get_mut();
        let open = frames.filter(|&frame| !table.is_mapped(frame) && sensing.settle(frame));
        let mut pages: Vec<_> = open.map(|frame| table.page(frame)).collect();
        pages.sort_unstable();
        sensing.translations.get_mut().keep_translated(&mut pages);
        pages
    }

    /// Sensed bits: about how many translations are to be dropped.
    pub(crate) fn drops_listed(&self) -> usize {
        self.sensing.as_ref().map_or(0, |sensing| sensing.listed.len())
    }

    /// Sensed bits: takes out the pages whose translations are to be dropped.
    pub(crate) fn order_drops(&mut self) -> Vec<PageId> {
        let Some(sensing) = &mut self.sensing else { return Vec::new() };
        let table = self.table.get_mut();
        let mut pages = Vec::with_capacity(sensing.listed.len());
        for frame in sensing.listed.drain(..) {
            if sensing.dropping[frame.index()] == Dropping::Listed {
                sensing.dropping[frame.index()] = Dropping::Ordered;
                sensing.ordered.push(frame);
                pages.push(table.page(frame));
            }
        }
        pages
    }

    /// Sensed bits: the translations that were ordered to be dropped have been.
    pub(crate) fn dropped(&mut self) {
        let Some(sensing) = &mut self.sensing else { return };
        for frame in sensing.ordered.drain(..) {
            let dropping = &mut sensing.dropping[frame.index()];
            if *dropping == Dropping::Ordered {
                *dropping = Dropping::No;
            }
        }
    }

    /// Drops the translation of a page of which a bit is cleared.
    fn unmap(&mut self, frame: Frame) {
        let table = self.table.get_mut();
        match &mut self.sensing {
            None if table.is_mapped(frame) => self.unmapped.push(table.page(frame)),
            None => {}
            Some(sensing) => {
                sensing.settled.get_mut()[frame.index()] = sensing.decision;
                if sensing.dropping[frame.index()] == Dropping::No {
                    sensing.dropping[frame.index()] = Dropping::Listed;
                    sensing.listed.push(frame);
                }
            }
        }
    }

    /// Sets the bits of a page whose translation is back, if it is worth a look.
    fn look(&self, frame: Frame) {
        let Some(sensing) = &self.sensing else { return };
        if self.table.borrow().is_mapped(frame) || !sensing.settle(frame) {
            return;
        }
        let mut table = self.table.borrow_mut();
        let page = table.page(frame);
        if sensing.is_translated(page) {
            table.touch_mapped(frame, Op::Read, sensing.bits);
            sensing.found.borrow_mut().push(page);
        }
    }

    /// The page in a frame has been accessed, or another is in it: its translation need not be dropped any more.
    fn forget_drop(&mut self, frame: Frame) {
        if let Some(sensing) = &mut self.sensing
            && sensing.dropping[frame.index()] == Dropping::Listed
        {
            sensing.dropping[frame.index()] = Dropping::No;
        }
    }
}

impl Frames for UnmappingFrames {
    fn page(&self, frame: Frame) -> PageId {
        self.table.borrow().page(frame)
    }

    fn read_bit(&self, frame: Frame) -> bool {
        self.look(frame);
        self.table.borrow().read_bit(frame)
    }

    fn write_bit(&self, frame: Frame) -> bool {
        self.table.borrow().write_bit(frame)
    }

    fn is_dirty(&self, frame: Frame) -> bool {
        self.table.borrow().is_dirty(frame)
    }

    fn is_pinned(&self, frame: Frame) -> bool {
        self.table.borrow().is_pinned(frame)
    }

    fn clear_read_bit(&mut self, frame: Frame) {
        self.unmap(frame);
        self.table.get_mut().clear_read_bit(frame);
    }

    fn clear_write_bit(&mut self, frame: Frame) {
        self.unmap(frame);
        self.table.get_mut().clear_write_bit(frame);
    }

    fn clear_bits(&mut self, frame: Frame) {
        self.unmap(frame);
        self.table.get_mut().clear_bits(frame);
    }

    fn set_read_bit(&mut self, frame: Frame) {
        self.table.get_mut().set_read_bit(frame);
    }

    fn request_write_back(&mut self, frame: Frame) {
        self.table.get_mut().request_write_back(frame);
    }

    fn is_referenced(&self, frame: Frame) -> bool {
        self.look(frame);
        self.table.borrow().is_referenced(frame)
    }

    fn first_clean_unreferenced(&self, frames: Range<u32>) -> Option<Frame> {
        if self.sensing.is_none() {
            return self.table.borrow().first_clean_unreferenced(frames);
        }
        // A page that is dirty need not be looked at.
        frames.map(Frame).find(|&frame| !self.is_dirty(frame) && !self.is_referenced(frame))
    }
}

impl PageTable for UnmappingFrames {
    fn frames(&self) -> u32 {
        self.table.borrow().frames()
    }

    fn install(&mut self, frame: Frame, page: PageId) {
        if let Some(sensing) = &mut self.sensing {
            // An order that is under way concerns the page that was here.
            sensing.dropping[frame.index()] = Dropping::No;
        }
        self.table.get_mut().install(frame, page);
    }

    fn set_dirty(&mut self, frame: Frame) {
        self.table.get_mut().set_dirty(frame);
    }

    fn clear_dirty(&mut self, frame: Frame) {
        self.table.get_mut().clear_dirty(frame);
    }

    fn set_pinned(&mut self, frame: Frame, pinned: bool) {
        self.table.get_mut().set_pinned(frame, pinned);
    }

    fn touch_mapped(&mut self, frame: Frame, op: Op, bits: HitBits) -> bool {
        self.forget_drop(frame);
        self.table.get_mut().touch_mapped(frame, op, bits)
    }

    fn take_write_back_request(&mut self) -> Option<Frame> {
        self.table.get_mut().take_write_back_request()
    }

    fn has_no_write_back_request(&self) -> bool {
        self.table.borrow().has_no_write_back_request()
    }
}
