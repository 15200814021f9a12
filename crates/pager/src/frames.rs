//! Read and write bits of real memory.

mod sensing;

use std::cell::RefCell;
use std::ops::Range;

use clockhand_policy::{Frame, FrameTable, Frames, HitBits, Op, PageId, PageTable, Scans};

use self::sensing::{Dropping, Sensing};
use crate::translations::{Seen, Translations};

/// The frames of a paged memory, whose bits are set by faults, or by looking.
///
/// The hardware's own accessed and dirty bits cannot be read from user space. But a page without a translation faults
/// at the next access, and a page with a read-only translation at the next write. To clear a bit is to drop the
/// translation. With *mapped* bits, the next access faults, and the message to the pager sets the bit. With *sensed*
/// bits, the kernel makes the translation again by itself, and the pager looks for it when the policy asks. With sensed
/// bits the kernel may also let writes go on that are forbidden, and show them when the pager looks.
#[derive(Debug)]
pub(crate) struct UnmappingFrames {
    /// In a cell, since a policy that asks for a bit may set it.
    table: RefCell<FrameTable>,
    /// Mapped bits: pages whose translations are to be dropped.
    unmapped: Vec<PageId>,
    sensing: Option<Sensing>,
}

impl UnmappingFrames {
    /// Frames with mapped bits or, if there is a way to look at translations, with sensed ones; a hit sets `bits`.
    pub(crate) fn new(
        frames: u32,
        pages: u32,
        bits: HitBits,
        translations: Option<Box<dyn Translations>>,
    ) -> Self {
        let sensing =
            translations.map(|translations| Sensing::new(frames, pages, bits, translations));
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

    /// Mapped bits: whether the translation of a page is to be dropped.
    pub(crate) fn is_to_be_unmapped(&self, page: PageId) -> bool {
        self.unmapped.contains(&page)
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

    /// Takes out the pages that were found to have been accessed, and how.
    pub(crate) fn found(&mut self) -> Vec<(PageId, Op)> {
        self.sensing
            .as_mut()
            .map_or_else(Vec::new, |sensing| std::mem::take(sensing.found.get_mut()))
    }

    /// All pages, of those in these frames, that have been accessed and are not known to have been, in ascending order, and
    /// how.
    pub(crate) fn look_at_all(&mut self, frames: impl Iterator<Item = Frame>) -> Vec<(PageId, Op)> {
        let Some(sensing) = &mut self.sensing else { return Vec::new() };
        let table = self.table.get_mut();
        let is_known = |frame| table.is_mapped(frame) && sensing.knows_writes(table, frame);
        let open = frames.filter(|&frame| !is_known(frame) && sensing.settle(frame));
        let mut places: Vec<_> = open.map(|frame| (table.page(frame), frame)).collect();
        places.sort_unstable();
        let pages: Vec<_> = places.iter().map(|&(page, _)| page).collect();
        let mut seen = Vec::with_capacity(pages.len());
        sensing.translations.borrow_mut().look(&pages, &mut seen);
        let found = places.iter().zip(seen);
        found
            .filter_map(|(&(page, frame), seen)| Some((page, sensing.access(table, frame, seen)?)))
            .collect()
    }

    /// Sensed bits: what is seen of pages, which are in ascending order, apart from what the policy asks.
    pub(crate) fn look_at(&mut self, pages: &[PageId]) -> Vec<Seen> {
        let mut seen = Vec::with_capacity(pages.len());
        if let Some(sensing) = &mut self.sensing {
            sensing.translations.get_mut().look(pages, &mut seen);
        }
        seen
    }

    /// Sensed bits: whether the page in this frame has been looked at in this decision and had no translation, so that one
    /// which is there later tells of an access.
    pub(crate) fn is_untouched(&self, frame: Frame) -> bool {
        self.sensing.as_ref().is_some_and(|sensing| {
            sensing.dropping[frame.index()] == Dropping::No
                && sensing.settled.borrow()[frame.index()] == sensing.decision
                && !self.table.borrow().is_mapped(frame)
        })
    }

    /// Returns whether a write to the page in this frame, which has been seen, is news.
    pub(crate) fn is_news(&self, frame: Frame) -> bool {
        let table = self.table.borrow();
        self.sensing.as_ref().is_some_and(|sensing| !sensing.knows_writes(&table, frame))
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
        for frame in std::mem::take(&mut sensing.ordered) {
            if sensing.dropping[frame.index()] == Dropping::Ordered {
                sensing.dropping[frame.index()] = Dropping::No;
                sensing.forget_translation(self.table.get_mut().page(frame));
            }
        }
    }

    /// Drops the translation of a page, one of whose bits is cleared.
    fn unmap(&mut self, frame: Frame) {
        // Earlier writes must be noted now: the rest of this decision does not look for them.
        self.look_for_writes(frame);
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
        if !self.table.borrow().is_mapped(frame) {
            self.look_now(frame);
        }
    }

    /// The same for a policy that asks about writes.
    fn look_for_writes(&self, frame: Frame) {
        let Some(sensing) = &self.sensing else { return };
        if sensing.sees_writes() && !sensing.knows_writes(&self.table.borrow(), frame) {
            self.look_now(frame);
        }
    }

    fn look_now(&self, frame: Frame) {
        let Some(sensing) = &self.sensing else { return };
        if !sensing.settle(frame) {
            return;
        }
        let mut table = self.table.borrow_mut();
        let page = table.page(frame);
        let seen = match sensing.knows_writes(&table, frame) {
            true if sensing.is_known_translated(page) => {
                Seen { is_translated: true, is_written: false }
            }
            true => Seen { is_translated: sensing.look_around(page), is_written: false },
            // An earlier look may be out of date: the page may have been written since.
            false => sensing.look(page),
        };
        let Some(op) = sensing.access(&table, frame, seen) else { return };
        table.touch_mapped(frame, Op::Read, sensing.bits);
        if op == Op::Write {
            table.touch_mapped(frame, op, sensing.bits);
        }
        sensing.found.borrow_mut().push((page, op));
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
        self.look_for_writes(frame);
        self.table.borrow().write_bit(frame)
    }

    fn is_dirty(&self, frame: Frame) -> bool {
        self.look_for_writes(frame);
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
}

impl Scans for UnmappingFrames {
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
            sensing.forget_translation(page);
        }
        self.table.get_mut().install(frame, page);
    }

    fn set_dirty(&mut self, frame: Frame) {
        self.table.get_mut().set_dirty(frame);
    }

    fn clear_dirty(&mut self, frame: Frame) {
        if let Some(sensing) = &mut self.sensing {
            // Writes from now on do not change the decision.
            sensing.settled.get_mut()[frame.index()] = sensing.decision;
        }
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
