//! The driver: one memory under one policy, and the TLBs, which observe every page that is loaded or leaves.
//!
//! Memory does not depend on TLBs, so all TLBs of a grid share one replay. A reference goes through look-ups
//! and walk, reference bit or fault, TLB insertion and promotion, in this order.

mod counts;
mod promotions;

use clockhand_policy::memory::fast::FastMemory;
use clockhand_policy::page::{Fault, PagePolicy};
use clockhand_policy::{Frame, Frames, Memory, PageId, Step};
use clockhand_trace::Record;

use super::page_table::PageTable;
use super::replay::Entering;
use super::space::{NONE, Regions, Space};
use super::translator::Translator;
use crate::replay::{Feed, first_op};
pub(crate) use counts::{Action, PagingCounts, PagingRules, Unwatched, Watcher};
pub(crate) use promotions::Promotions;

/// One memory and the TLBs before it.
pub(crate) struct Paging<'a, P, T, W> {
    pub(crate) memory: Memory<P>,
    pub(crate) feed: T,
    pub(crate) watcher: W,
    pub(crate) translators: Vec<Translator>,
    counts: PagingCounts,
    space: &'a Space,
    rules: PagingRules,
    /// All frames of the cell, even those beyond the number of pages.
    frames: u32,
    promotions: Option<Promotions<'a>>,
    /// By page: prefetched, and not referenced since. Empty without prefetch.
    untouched: Vec<bool>,
    streams: Option<Streams>,
    table: PageTable,
    /// The pages that come with a fault.
    list: Vec<u32>,
    /// The numbers of all pages that the reference reads.
    request: Vec<u64>,
}

/// Which stream was referenced when, and how many pages it has in memory.
struct Streams {
    of_page: Vec<u32>,
    resident: Vec<u32>,
    /// By stream: the number of its last reference.
    last_reference: Vec<u64>,
    references: u64,
    last: u32,
}

impl<'a, P: PagePolicy, T: Feed<P> + Entering<P>, W: Watcher> Paging<'a, P, T, W> {
    pub(crate) fn new(
        (memory, feed, watcher): (Memory<P>, T, W),
        translators: Vec<Translator>,
        space: &'a Space,
        rules: PagingRules,
        frames: u32,
    ) -> Self {
        let possible = |regions: &&Regions| regions.promotion.pages <= frames;
        let promotions = space.regions.as_ref().filter(possible).map(|regions| Promotions {
            regions,
            is_promoted: vec![false; regions.len()],
            resident: vec![0; regions.len()],
        });
        let prefetching = if rules.prefetch > 0 { space.pages() } else { 0 };
        let with_streams = rules.no_swap || rules.flush_on_switch;
        Paging {
            memory,
            feed,
            watcher,
            translators,
            counts: PagingCounts::default(),
            rules,
            frames,
            promotions,
            untouched: vec![false; prefetching as usize],
            streams: with_streams.then(|| Streams::new(space)),
            table: PageTable::new(&space.tables),
            list: Vec::new(),
            request: Vec::new(),
            space,
        }
    }

    /// Replays one record, which stands for `references` references.
    #[inline]
    pub(crate) fn reference(&mut self, record: Record, references: u32) {
        self.feed.before(&mut self.memory);
        if self.streams.is_some() {
            self.note_stream(record.page(), references);
        }
        let frame = self.memory.frame_of(PageId(record.page()));
        if frame == Frame::NONE {
            self.fault(record);
        } else {
            self.hit(record, frame);
        }
        let rest = u64::from(references - 1);
        for translator in &mut self.translators {
            translator.repeat(rest, record.page(), self.space);
        }
    }

    #[inline]
    fn hit(&mut self, record: Record, frame: Frame) {
        let page = record.page();
        if let Some(untouched) = self.untouched.get_mut(page as usize) {
            *untouched = false;
        }
        let (translation, leaf_level) = self.leaf_of(page);
        for translator in &mut self.translators {
            let look_up = translator.reference(translation, page, leaf_level, self.space);
            self.watcher.saw(Action::LookUp(look_up));
        }
        self.feed.hit(&mut self.memory, record, frame);
    }

    /// The translation that maps a page, and the level of the page table where it stands.
    #[inline]
    fn leaf_of(&self, page: u32) -> (u32, u32) {
        match &self.promotions {
            Some(promotions) if promotions.promoted_region(page) != NONE => (
                self.space.region_translation(promotions.regions.of(page)),
                promotions.regions.leaf_level,
            ),
            _ => (page, 0),
        }
    }

    #[inline(never)]
    fn fault(&mut self, record: Record) {
        let page = record.page();
        self.counts.page_faults += 1;
        for translator in &mut self.translators {
            let look_up = translator.walk_to_fault(page, self.space);
            self.watcher.saw(Action::LookUp(look_up));
        }
        let mut list = std::mem::take(&mut self.list);
        self.make_room(page, &mut list);
        let frame = self.memory.load(Fault::new(PageId(page), first_op(record)));
        self.entered(page, Action::Fault(page));
        for &ahead in &list {
            self.bring(ahead, Action::Prefetch(ahead));
            self.untouched[ahead as usize] = true;
        }
        self.counts.prefetched += list.len() as u64;
        self.request.clear();
        self.request.extend(list.iter().map(|&ahead| self.space.key(ahead).1));
        list.clear();
        self.list = list;
        for translator in &mut self.translators {
            translator.fill(page, self.space);
        }
        self.promote(page);
        if !self.request.is_empty() {
            self.ask(page);
        }
        self.table.note();
        // With promotion, which could have taken the page's frame, runs are not folded and have no
        // rest.
        self.feed.rest(&mut self.memory, record, frame);
    }

    /// Reads what comes with a page by the page's own request.
    fn ask(&mut self, page: u32) {
        self.request.push(self.space.key(page).1);
        self.request.sort_unstable();
        self.counts.joined.request(self.request.iter().copied());
    }

    /// Fixes what a fault brings, and frees frames for it.
    fn make_room(&mut self, page: u32, list: &mut Vec<u32>) {
        if self.rules.prefetch > 0 {
            let absent = |&next: &u32| self.memory.frame_of(PageId(next)) == Frame::NONE;
            let most = self.frames as usize - 1;
            let following = self.space.following(page, self.rules.prefetch);
            list.extend(following.filter(absent).take(most));
        }
        if self.rules.no_swap {
            if self.memory.is_full() {
                self.kill();
            }
            list.truncate(self.memory.free_frames() as usize - 1);
            return;
        }
        let wanted = 1 + list.len() as u32;
        while self.evict_for(page, wanted).is_some() {}
    }

    /// Takes one step towards `wanted` free frames; the page that left, or `None` if there are as many.
    fn evict_for(&mut self, page: u32, wanted: u32) -> Option<u32> {
        loop {
            let step = self.memory.next_step(PageId(page), wanted);
            match step.expect("the driver pins nothing")? {
                Step::WriteBack(frame) => {
                    self.counts.write_ios += 1;
                    self.memory.written_back(frame);
                }
                Step::Evict(frame) => return Some(self.evict(frame)),
            }
        }
    }

    fn evict(&mut self, frame: Frame) -> u32 {
        let dirty = self.memory.frames().is_dirty(frame);
        if dirty {
            self.counts.write_ios += 1;
            self.memory.written_back(frame);
        }
        let PageId(page) = self.memory.commit_eviction();
        self.counts.evictions += 1;
        self.watcher.saw(Action::Evict { page, dirty });
        match self.promoted_region(page) {
            NONE => self.invalidate(page),
            region => {
                self.counts.demotions += 1;
                self.watcher.saw(Action::Demote(region));
                self.demote(region);
            }
        }
        self.left(page);
        page
    }

    /// Loads a page that has not been referenced yet.
    fn bring(&mut self, page: u32, action: Action) {
        self.feed.enters(&mut self.memory, page);
        self.memory.load(Fault::ahead(PageId(page)));
        self.entered(page, action);
    }

    fn entered(&mut self, page: u32, action: Action) {
        self.watcher.saw(action);
        self.table.add_leaf(&self.space.tables, self.space.tables.above(page, 0));
        if let Some(promotions) = &mut self.promotions {
            promotions.count(page, 1);
        }
        if let Some(streams) = &mut self.streams {
            streams.resident[streams.of_page[page as usize] as usize] += 1;
        }
    }

    /// A page, which has a leaf of its own, has left.
    fn left(&mut self, page: u32) {
        if let Some(untouched) = self.untouched.get_mut(page as usize) {
            self.counts.prefetched_in_vain += u64::from(std::mem::take(untouched));
        }
        self.table.remove_leaf(&self.space.tables, self.space.tables.above(page, 0));
        if let Some(promotions) = &mut self.promotions {
            promotions.count(page, -1);
        }
        if let Some(streams) = &mut self.streams {
            streams.resident[streams.of_page[page as usize] as usize] -= 1;
        }
    }

    fn invalidate(&mut self, translation: u32) {
        for translator in &mut self.translators {
            translator.invalidate(translation);
        }
    }

    #[inline(never)]
    fn note_stream(&mut self, page: u32, references: u32) {
        let Some(streams) = &mut self.streams else { return };
        let stream = streams.of_page[page as usize];
        let last = std::mem::replace(&mut streams.last, stream);
        streams.references += u64::from(references);
        streams.last_reference[stream as usize] = streams.references;
        if self.rules.flush_on_switch && last != stream && last != NONE {
            for translator in &mut self.translators {
                translator.invalidate_streams(self.space, |_| true);
            }
        }
    }

    /// Ends the stream that was not referenced for longest, or the one that needs the frame.
    fn kill(&mut self) {
        let Some(streams) = &self.streams else { return };
        let others = (0..streams.resident.len() as u32)
            .filter(|&stream| stream != streams.last && streams.resident[stream as usize] > 0);
        let oldest = others.min_by_key(|&stream| streams.last_reference[stream as usize]);
        let stream = oldest.unwrap_or(streams.last);
        self.counts.kills += 1;
        self.watcher.saw(Action::Kill(stream));
        let (number, pages) = &self.space.streams()[stream as usize];
        for page in pages.clone() {
            let frame = self.memory.frame_of(PageId(page));
            if frame == Frame::NONE {
                continue;
            }
            let region = self.promoted_region(page);
            if region != NONE {
                self.demote(region);
            }
            self.memory.drop_page(frame);
            self.left(page);
        }
        for translator in &mut self.translators {
            translator.invalidate_streams(self.space, |gone| gone == *number);
        }
    }

    /// The counts of memory, until now.
    pub(crate) fn counts_so_far(&self) -> PagingCounts {
        PagingCounts { page_table_bytes: self.table.most_bytes(), ..self.counts.clone() }
    }

    #[cfg(test)]
    pub(crate) fn promotions(&self) -> Option<&Promotions<'a>> {
        self.promotions.as_ref()
    }
}

impl Streams {
    fn new(space: &Space) -> Self {
        let streams = space.streams().len();
        Streams {
            of_page: space.stream_positions(),
            resident: vec![0; streams],
            last_reference: vec![0; streams],
            references: 0,
            last: NONE,
        }
    }
}
