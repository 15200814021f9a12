//! What is read with a page that misses.

use clockhand_policy::page::{Fault, PageKind, PagePolicy};
use clockhand_policy::{Frame, PageId};
use clockhand_trace::Reference;

use super::Replay;
use super::feed::Feed;
use super::watch::{Happened, Watch};
use crate::pagecache::swap_slots::SwapSlots;

impl<P: PagePolicy, T: Feed<P>, W: Watch> Replay<'_, P, T, W> {
    /// Fixes what is read ahead of this miss, before anything leaves.
    pub(super) fn choose_ahead(&mut self, reference: Reference) {
        let page = reference.page();
        self.ahead.clear();
        match self.kind(page) {
            PageKind::File if reference.is_call() && !reference.is_write() => {
                self.choose_of_file(reference);
            }
            PageKind::Anonymous => {
                if let (Some(slots), Some(group)) =
                    (&self.slots, self.cell.options.read_ahead.swap_slots)
                {
                    for &other in slots.around(page, group) {
                        let is_other = SwapSlots::is_page(other) && other != page;
                        if is_other && self.memory.frame_of(PageId(other)) == Frame::NONE {
                            self.ahead.push(other);
                        }
                    }
                }
            }
            PageKind::File => {}
        }
        self.ahead.truncate(self.cell.frames as usize - 1);
        if !self.ahead.is_empty() {
            self.ask(page);
        }
    }

    /// One request reads a page and what is read ahead of it: of a file, or slots of the swap.
    pub(super) fn ask(&mut self, page: u32) {
        let joined = match &self.slots {
            Some(slots) if !self.cell.view.file_pages()[page as usize] => {
                places_of_slots(&mut self.places, slots, page, &self.ahead);
                &mut self.counts.anon_reads_joined
            }
            _ => {
                let keys = self.cell.view.page_keys();
                places_of_file(&mut self.places, keys, page, &self.ahead);
                &mut self.counts.file_reads_joined
            }
        };
        joined.request(self.places.iter().copied());
    }

    fn choose_of_file(&mut self, reference: Reference) {
        let (caller, page) = self.caller_and_page(reference);
        let Some(windows) = &mut self.windows else { return };
        let pages = windows.miss(caller, page);
        let view = self.cell.view;
        let id = reference.page();
        let object = view.page_keys()[id as usize].0;
        let end = self.lengths[object as usize]
            .map_or(u64::MAX, |bytes| bytes.div_ceil(view.page_bytes()));
        let pages = pages.min(end.saturating_sub(page + 1)) as u32;
        for other in id + 1..=id + pages {
            if self.memory.frame_of(PageId(other)) == Frame::NONE {
                self.ahead.push(other);
            }
        }
    }

    pub(super) fn load_ahead(&mut self, index: usize) {
        for place in 0..self.ahead.len() {
            let page = self.ahead[place];
            self.feed.before(&mut self.memory, |future| future.next_after(page, index));
            let fault = Fault { kind: self.kind(page), ..Fault::ahead(PageId(page)) };
            self.memory.load(fault);
            self.counts.readahead_ios += 1;
            self.count_read(page);
            self.unreferenced[page as usize] = true;
            self.watch.happened(Happened::Ahead(page));
        }
        self.ahead.clear();
    }
}

// Functions of their own, of which each policy would have a copy otherwise.

fn places_of_slots(places: &mut Vec<u64>, slots: &SwapSlots, page: u32, ahead: &[u32]) {
    // Slots ascend in the list; the page's own is somewhere between.
    let own = slots.slot_of(page);
    let before = ahead.partition_point(|&other| slots.slot_of(other) < own);
    places.clear();
    places.extend(ahead.iter().map(|&other| slots.slot_of(other)));
    places.insert(before, own);
}

fn places_of_file(places: &mut Vec<u64>, keys: &[(u32, u64)], page: u32, ahead: &[u32]) {
    places.clear();
    places.push(keys[page as usize].1);
    places.extend(ahead.iter().map(|&other| keys[other as usize].1));
}
