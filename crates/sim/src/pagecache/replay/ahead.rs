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
                    let others = slots.around(page, group).iter().copied();
                    let others = others.filter(|&other| SwapSlots::is_page(other) && other != page);
                    let memory = &self.memory;
                    self.ahead.extend(
                        others.filter(|&other| memory.frame_of(PageId(other)) == Frame::NONE),
                    );
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
        let keys = self.cell.view.page_keys();
        let places = &mut self.places;
        places.clear();
        let joined = match &self.slots {
            Some(slots) if !self.cell.view.file_pages()[page as usize] => {
                // Slots ascend in the list; the page's own is somewhere between.
                let own = slots.slot_of(page);
                let before = self.ahead.partition_point(|&other| slots.slot_of(other) < own);
                places.extend(self.ahead.iter().map(|&other| slots.slot_of(other)));
                places.insert(before, own);
                &mut self.counts.anon_reads_joined
            }
            _ => {
                places.push(keys[page as usize].1);
                places.extend(self.ahead.iter().map(|&other| keys[other as usize].1));
                &mut self.counts.file_reads_joined
            }
        };
        joined.request(places.iter().copied());
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
        let memory = &self.memory;
        let missing =
            (id + 1..=id + pages).filter(|&id| memory.frame_of(PageId(id)) == Frame::NONE);
        self.ahead.extend(missing);
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
