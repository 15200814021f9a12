//! # linux-lru: the lists of Linux 5.9 and later, simplified
//!
//! This is an approximation of a kernel, defined by this text: Linux without multi-generational LRU.
//!
//! **What it keeps.** For anonymous pages and for those of files, an `active` and an `inactive` list and a cost. Per
//! page a flag *referenced*, and its accessed bit, which the hardware sets at each memory reference, including the one
//! that faults. The time of each page's last eviction, counted in evictions. Shown: the four lists from the newest
//! page, all pages that are referenced, and both costs.
//!
//! *Touch:* an inactive page that is referenced goes to the head of `active` and is no longer referenced; any other
//! page becomes referenced. A call touches its page, including the call that loads it.
//!
//! An incoming page is not referenced. It goes to the head of `inactive`. There is an exception: the evictions since
//! its own, which counts too, are at most the pages in both `active` lists and the other kind's `inactive` list. Then
//! it goes to the head of `active`, and its kind costs one more.
//!
//! **Victim.** Until `batch` frames are free, or as many as are needed: for either kind, while `|inactive| * ratio <
//! |active|`, the tail of `active` goes to the head of `inactive` and loses its accessed bit; `ratio` is 1 below a GiB of
//! pages of this kind, else `floor(sqrt(10 * floor(GiB)))`. Then the tail of `inactive` of the kind that costs less is
//! examined (of files if both cost the same; of the other kind if the list is empty). If it was accessed, it loses the
//! bit; it goes to the head of `active` if it is referenced, else it becomes referenced and goes to the head of
//! `inactive`. If it was not accessed it leaves; if it is dirty, its kind costs one more. After each such increment both
//! costs are halved, rounded down, if four times their sum exceeds the number of frames.
//!
//! **On a write.** Nothing; writing back makes a kind's pages cost more.
//!
//! **Parameters.** `batch`: frames that one call makes free (default a quarter of the frames, at most 32).
//!
//! **Cost per hit and per victim.** One OR; constant on average. 10 bytes per frame and 8 per page of the footprint.
//!
//! **Deviations from the paper.** This policy comes from no paper; the kernel also has zones, memory groups, a
//! priority and a swappiness. Pages have 4 KiB. A pinned page is passed over and keeps its place; if no inactive page
//! can leave, the oldest active one that can does.
//!
//! **Reference.** J. Weiner: mm: balance LRU lists based on relative thrashing; J. Kim: workingset protection for
//! anonymous pages. Linux 5.8 and 5.9, 2020 (mm/vmscan.c, mm/workingset.c).

use alloc::vec;
use alloc::vec::Vec;

use super::linux24::{BATCH, Call, batch_of, one_page};
use super::{
    BitDriven, Capabilities, Cause, Fault, Inspector, PageKind, PagePolicy, Reclaim, first_unpinned,
};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::Settings;
use crate::parts::{FrameList, Links};
use crate::{Frame, Frames, HitBits, PageId};

const PAGES_PER_GIB: u32 = 1 << 18;
const KINDS: [PageKind; 2] = [PageKind::Anonymous, PageKind::File];

/// The pages of one kind, each list from its tail, the oldest page.
#[derive(Clone, Debug)]
struct Lists {
    active: FrameList,
    inactive: FrameList,
    cost: u64,
}

impl Lists {
    fn inactive_is_low(&self) -> bool {
        let gib = (self.active.len() + self.inactive.len()) / PAGES_PER_GIB;
        let ratio = if gib == 0 { 1 } else { (10 * gib).isqrt() };
        u64::from(self.inactive.len()) * u64::from(ratio) < u64::from(self.active.len())
    }
}

#[derive(Clone, Copy, Debug)]
struct Page {
    kind: PageKind,
    is_active: bool,
    is_referenced: bool,
}

/// Two kinds of pages; all lists share their links.
#[derive(Clone, Debug)]
pub struct LinuxLru {
    frames: u32,
    batch: u32,
    links: Links,
    lists: [Lists; 2],
    pages: Vec<Page>,
    /// The number of each page's last eviction, 0 if there was none.
    evicted_at: Vec<u64>,
    evictions: u64,
    calls: u64,
    scanned: u64,
}

impl Cataloged for LinuxLru {
    const DESCRIPTION: Description = Description {
        name: "linux-lru",
        summary: "active and inactive lists of Linux since 5.9, simplified",
        paper: "Linux 5.9, 2020",
        parameters: &[BATCH],
        source: include_str!("linux_lru.rs"),
    };

    fn build(settings: &Settings, size: Size) -> Self {
        let none = Page { kind: PageKind::Anonymous, is_active: false, is_referenced: false };
        let lists = Lists { active: FrameList::EMPTY, inactive: FrameList::EMPTY, cost: 0 };
        LinuxLru {
            frames: size.frames,
            batch: batch_of(settings, size.frames),
            links: Links::new(size.frames),
            lists: [lists.clone(), lists],
            pages: vec![none; size.frames as usize],
            evicted_at: vec![0; size.pages as usize],
            evictions: 0,
            calls: 0,
            scanned: 0,
        }
    }
}

impl LinuxLru {
    fn unlink(&mut self, frame: Frame) {
        let Page { kind, is_active, .. } = self.pages[frame.index()];
        let lists = &mut self.lists[kind as usize];
        let list = if is_active { &mut lists.active } else { &mut lists.inactive };
        list.remove(&mut self.links, frame);
    }

    fn link_at_head(&mut self, frame: Frame, is_active: bool) {
        let page = &mut self.pages[frame.index()];
        page.is_active = is_active;
        let lists = &mut self.lists[page.kind as usize];
        let list = if is_active { &mut lists.active } else { &mut lists.inactive };
        list.push_tail(&mut self.links, frame);
    }

    fn move_to_head(&mut self, frame: Frame, is_active: bool) {
        self.unlink(frame);
        self.link_at_head(frame, is_active);
    }

    /// `mark_page_accessed`.
    fn touch(&mut self, frame: Frame) {
        let page = &mut self.pages[frame.index()];
        let activates = !page.is_active && page.is_referenced;
        page.is_referenced = !activates;
        if activates {
            self.move_to_head(frame, true);
        }
    }

    fn pay(&mut self, kind: PageKind) {
        self.lists[kind as usize].cost += 1;
        let [anonymous, file] = &mut self.lists;
        if 4 * (anonymous.cost + file.cost) > self.frames.into() {
            anonymous.cost /= 2;
            file.cost /= 2;
        }
    }

    fn deactivate<F: Frames>(&mut self, kind: PageKind, frames: &mut F) {
        while self.lists[kind as usize].inactive_is_low() {
            let active = &self.lists[kind as usize].active;
            let Some(frame) = first_unpinned(active, &self.links, frames) else { return };
            self.move_to_head(frame, false);
            frames.clear_bits(frame);
        }
    }

    /// The page to look at next.
    fn candidate<F: Frames>(&self, frames: &F) -> Option<Frame> {
        let [anonymous, file] = &self.lists;
        let by_cost = match anonymous.cost < file.cost {
            true => [anonymous, file],
            false => [file, anonymous],
        };
        let oldest = |list: &FrameList| first_unpinned(list, &self.links, frames);
        let inactive = by_cost.iter().find_map(|lists| oldest(&lists.inactive));
        inactive.or_else(|| by_cost.iter().find_map(|lists| oldest(&lists.active)))
    }

    fn shrink<F: Frames>(&mut self, mut call: Call, frames: &mut F) {
        self.calls += 1;
        while !call.is_done() {
            KINDS.into_iter().for_each(|kind| self.deactivate(kind, frames));
            let Some(frame) = self.candidate(frames) else { return };
            self.scanned += 1;
            if frames.is_referenced(frame) {
                frames.clear_bits(frame);
                let was_referenced = self.pages[frame.index()].is_referenced;
                self.pages[frame.index()].is_referenced = true;
                self.move_to_head(frame, was_referenced);
            } else {
                self.evict(frame, frames);
                call.evict(frame);
            }
        }
    }

    fn evict<F: Frames>(&mut self, frame: Frame, frames: &F) {
        self.unlink(frame);
        self.evictions += 1;
        self.evicted_at[frames.page(frame).index()] = self.evictions;
        if frames.is_dirty(frame) {
            self.pay(self.pages[frame.index()].kind);
        }
    }

    /// Returns whether a page comes back so soon that it would have stayed in larger lists of its kind.
    fn is_refault(&self, page: PageId, kind: PageKind) -> bool {
        let [anonymous, file] = &self.lists;
        let other = if kind == PageKind::File { anonymous } else { file };
        let pages = anonymous.active.len() + file.active.len() + other.inactive.len();
        let evicted_at = self.evicted_at[page.index()];
        evicted_at > 0 && self.evictions - evicted_at < pages.into()
    }
}

impl PagePolicy for LinuxLru {
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        one_page(self, frames, Self::shrink)
    }

    fn loaded<F: Frames>(&mut self, fault: Fault, frame: Frame, frames: &mut F) {
        let kind = fault.kind;
        self.pages[frame.index()] = Page { kind, is_active: false, is_referenced: false };
        let is_refault = self.is_refault(fault.page, kind);
        self.link_at_head(frame, is_refault);
        if is_refault {
            self.pay(kind);
        }
        match fault.cause {
            Cause::Memory => frames.set_read_bit(frame),
            Cause::Call => self.touch(frame),
            Cause::Ahead => {}
        }
    }

    fn dropped<F: Frames>(&mut self, frame: Frame, _: &F) {
        self.unlink(frame);
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        let [anonymous, file] = &self.lists;
        let lists = [
            ("active_anon", &anonymous.active),
            ("inactive_anon", &anonymous.inactive),
            ("active_file", &file.active),
            ("inactive_file", &file.inactive),
        ];
        for (name, list) in lists {
            inspector.list(name, &mut list.iter_back(&self.links));
        }
        let all = lists.into_iter().flat_map(|(_, list)| list.iter_back(&self.links));
        let referenced = |frame: &Frame| self.pages[frame.index()].is_referenced;
        inspector.list("referenced", &mut all.filter(referenced));
        inspector.value("anon_cost", anonymous.cost as f64);
        inspector.value("file_cost", file.cost as f64);
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        let [anonymous, file] = &self.lists;
        show("reclaims", self.calls as f64);
        show("scanned_pages", self.scanned as f64);
        show("active_anonymous_pages", anonymous.active.len().into());
        show("inactive_anonymous_pages", anonymous.inactive.len().into());
        show("active_file_pages", file.active.len().into());
        show("inactive_file_pages", file.inactive.len().into());
        show("anonymous_cost", anonymous.cost as f64);
        show("file_cost", file.cost as f64);
    }

    fn check_invariants<F: Frames>(&self, _: &F) {
        for (kind, lists) in KINDS.into_iter().zip(&self.lists) {
            for (list, is_active) in [(&lists.active, true), (&lists.inactive, false)] {
                list.check_invariants(&self.links);
                let belongs = |frame: Frame| {
                    let page = self.pages[frame.index()];
                    page.kind == kind && page.is_active == is_active
                };
                assert!(list.iter(&self.links).all(belongs), "a page is in another list");
            }
        }
    }
}

impl Capabilities for LinuxLru {
    const TAKES_MORE_PAGES: bool = true;
    const RECLAIMS_IN_BATCHES: bool = true;

    fn take_more_pages(&mut self, pages: u32) {
        self.evicted_at.resize(pages as usize, 0);
    }

    fn reclaim<F: Frames>(&mut self, wanted: Reclaim<'_>, frames: &mut F) {
        self.shrink(Call::new(self.batch, wanted), frames);
    }

    fn unmapped<F: Frames>(&mut self, frame: Frame, frames: &mut F) {
        frames.clear_bits(frame);
    }
}

impl BitDriven for LinuxLru {
    const HIT_BITS: HitBits = HitBits::Reference;
    const SEES_CALLS: bool = true;

    fn called<F: Frames>(&mut self, frame: Frame, _: &mut F) {
        self.touch(frame);
    }
}
