//! # CFLRU: clean-first LRU, static window
//!
//! **What it keeps.** An LRU list; the *clean-first region* is the window of `w` pages nearest its LRU end.
//!
//! **Victim.** The clean page nearest the LRU end inside the clean-first region; if there is none, the LRU
//! page, which is dirty.
//!
//! **On a write.** Moves the page to the MRU end as a read does.
//!
//! **Parameters.** `window_share`: the window as a share of all frames, rounded down (default 1/3);
//! or `window_pages`: the window in pages, at most all frames. A window of 0 or 1 is plain LRU.
//!
//! **Cost per hit and per victim.** A few list steps each, whatever the window: the clean pages of the
//! region have a list of their own. 17 bytes per frame.
//!
//! **Deviations from the paper.** The paper tunes the window per workload; the default is the usual third.
//! Pinned pages are passed over and keep their places.
//!
//! **Reference.** S.-Y. Park, D. Jung, J.-U. Kang, J.-S. Kim, J. Lee: CFLRU: a replacement algorithm for
//! flash memory. CASES 2006.

use alloc::vec;
use alloc::vec::Vec;

use super::ace::LeavingOrder;
use super::{AccessDriven, Capabilities, Fault, Inspector, PagePolicy, first_unpinned};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::{Default, Domain, Parameter, Settings};
use crate::parts::{FrameList, Links};
use crate::{Frame, Frames, Op};

/// The window of CFLRU and CFCLOCK, as a share of the frames or in pages.
pub(super) const WINDOW_PARAMETERS: [Parameter; 2] = [
    Parameter::share("window_share", "the window as a share of all frames, rounded down", "1/3"),
    Parameter {
        name: "window_pages",
        summary: "the window in pages, at most all frames",
        domain: Domain::Count { min: 0, max: u64::MAX },
        default: Default::InsteadOf("window_share"),
        only_with: None,
    },
];

/// The window in pages, from 0 to the number of frames.
pub(super) fn window_pages(settings: &Settings, frames: u32) -> u32 {
    let pages = settings.count("window_pages").unwrap_or_else(|| {
        settings.ratio("window_share").expect("one of the two windows has a value").floor_of(frames)
    });
    pages.min(frames.into()) as u32
}

/// An LRU list with a static clean-first region.
#[derive(Clone, Debug)]
pub struct Cflru(CleanFirstList);

impl Cataloged for Cflru {
    const DESCRIPTION: Description = Description {
        name: "cflru",
        summary: "LRU that evicts a clean page first within a window at its LRU end",
        paper: "Park, Jung, Kang, Kim, Lee 2006",
        parameters: &WINDOW_PARAMETERS,
        source: include_str!("cflru.rs"),
    };

    fn build(settings: &Settings, size: Size) -> Self {
        Cflru(CleanFirstList::new(size.frames, window_pages(settings, size.frames)))
    }
}

impl PagePolicy for Cflru {
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        self.0.take_victim(frames)
    }

    fn loaded<F: Frames>(&mut self, _: Fault, frame: Frame, frames: &mut F) {
        self.0.push(frame, frames);
    }

    fn dropped<F: Frames>(&mut self, frame: Frame, frames: &F) {
        self.0.remove(frame, frames);
    }

    fn written_back<F: Frames>(&mut self, frame: Frame, _: &F) {
        self.0.became_clean(frame);
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        self.0.inspect(inspector);
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("window_pages", self.0.window_pages().into());
    }

    fn check_invariants<F: Frames>(&self, frames: &F) {
        self.0.check_invariants(frames);
    }
}

impl Capabilities for Cflru {
    const LOOKS_AHEAD: bool = true;
    const CAN_PEEK: bool = true;
    const TAKES_MORE_PAGES: bool = true;

    fn peek_victim<F: Frames>(&self, frames: &F) -> Option<Frame> {
        self.0.peek_victim(frames)
    }
}

impl LeavingOrder for Cflru {
    fn in_leaving_order<F: Frames>(&self, _: &F) -> impl Iterator<Item = Frame> {
        self.0.list.iter(&self.0.links)
    }
}

impl AccessDriven for Cflru {
    #[inline]
    fn hit<F: Frames>(&mut self, _: Op, frame: Frame, frames: &F) {
        self.0.touch(frame, frames);
    }
}

/// An LRU list that knows the clean pages of its clean-first region.
///
/// A page that is clean when it enters the region becomes dirty by a reference, which takes it out of
/// the region or makes it the newest page of it, or when a file is truncated. So the list of clean pages, kept in LRU
/// order, is exact but for pages that were dirtied in one of these ways; those are dropped when they are met.
#[derive(Clone, Debug)]
pub(super) struct CleanFirstList {
    links: Links,
    list: FrameList,
    clean_links: Links,
    clean: FrameList,
    places: Vec<Place>,
    region_last: Frame,
    region_pages: u32,
    window_pages: u32,
}

/// The place of a page between the MRU end and the LRU end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    OutsideRegion,
    InRegion,
    InRegionListedClean,
}

impl CleanFirstList {
    pub(super) fn new(frames: u32, window_pages: u32) -> Self {
        CleanFirstList {
            links: Links::new(frames),
            list: FrameList::EMPTY,
            clean_links: Links::new(frames),
            clean: FrameList::EMPTY,
            places: vec![Place::OutsideRegion; frames as usize],
            region_last: Frame::NONE,
            region_pages: 0,
            window_pages,
        }
    }

    pub(super) fn window_pages(&self) -> u32 {
        self.window_pages
    }

    pub(super) fn set_window_pages<F: Frames>(&mut self, window_pages: u32, frames: &F) {
        self.window_pages = window_pages;
        while self.region_pages > window_pages {
            let last = self.region_last;
            self.region_last = self.links.previous(last);
            self.leave_region(last);
        }
        self.fill_region(frames);
    }

    pub(super) fn push<F: Frames>(&mut self, frame: Frame, frames: &F) {
        self.list.push_tail(&mut self.links, frame);
        self.fill_region(frames);
    }

    #[inline]
    pub(super) fn touch<F: Frames>(&mut self, frame: Frame, frames: &F) {
        if self.list.tail() != frame {
            self.unlink(frame);
            self.push(frame, frames);
        }
    }

    pub(super) fn take_victim<F: Frames>(&mut self, frames: &F) -> Frame {
        let victim = self.first_clean(frames).unwrap_or_else(|| {
            let mut frame = self.list.head();
            while frames.is_pinned(frame) {
                frame = self.links.next(frame);
            }
            frame
        });
        self.remove(victim, frames);
        victim
    }

    pub(super) fn remove<F: Frames>(&mut self, frame: Frame, frames: &F) {
        self.unlink(frame);
        self.fill_region(frames);
    }

    pub(super) fn peek_victim<F: Frames>(&self, frames: &F) -> Option<Frame> {
        let clean = |&frame: &Frame| !frames.is_dirty(frame) && !frames.is_pinned(frame);
        let in_region = self.clean.iter(&self.clean_links).find(clean);
        in_region.or_else(|| first_unpinned(&self.list, &self.links, frames))
    }

    fn first_clean<F: Frames>(&mut self, frames: &F) -> Option<Frame> {
        let mut frame = self.clean.head();
        while frame != Frame::NONE {
            let next = self.clean_links.next(frame);
            if frames.is_dirty(frame) {
                self.clean.remove(&mut self.clean_links, frame);
                self.places[frame.index()] = Place::InRegion;
            } else if !frames.is_pinned(frame) {
                return Some(frame);
            }
            frame = next;
        }
        None
    }

    /// A page was written back. If it stays, and is in the region, it joins the clean ones at its place.
    pub(super) fn became_clean(&mut self, frame: Frame) {
        if self.places[frame.index()] != Place::InRegion {
            return;
        }
        let mut before = self.links.previous(frame);
        while before != Frame::NONE && self.places[before.index()] != Place::InRegionListedClean {
            before = self.links.previous(before);
        }
        self.clean.insert_after(&mut self.clean_links, before, frame);
        self.places[frame.index()] = Place::InRegionListedClean;
    }

    fn unlink(&mut self, frame: Frame) {
        if self.places[frame.index()] != Place::OutsideRegion {
            if self.region_last == frame {
                self.region_last = self.links.previous(frame);
            }
            self.leave_region(frame);
        }
        self.list.remove(&mut self.links, frame);
    }

    fn leave_region(&mut self, frame: Frame) {
        if self.places[frame.index()] == Place::InRegionListedClean {
            self.clean.remove(&mut self.clean_links, frame);
        }
        self.places[frame.index()] = Place::OutsideRegion;
        self.region_pages -= 1;
    }

    #[inline]
    fn fill_region<F: Frames>(&mut self, frames: &F) {
        while self.region_pages < self.window_pages.min(self.list.len()) {
            let frame = match self.region_last {
                Frame::NONE => self.list.head(),
                last => self.links.next(last),
            };
            self.region_last = frame;
            self.region_pages += 1;
            self.places[frame.index()] = Place::InRegion;
            if !frames.is_dirty(frame) {
                self.clean.push_tail(&mut self.clean_links, frame);
                self.places[frame.index()] = Place::InRegionListedClean;
            }
        }
    }

    pub(super) fn inspect(&self, inspector: &mut dyn Inspector) {
        inspector.list("lru_to_mru", &mut self.list.iter(&self.links));
        inspector.value("window", self.window_pages.into());
    }

    pub(super) fn check_invariants<F: Frames>(&self, frames: &F) {
        self.list.check_invariants(&self.links);
        self.clean.check_invariants(&self.clean_links);
        assert_eq!(
            self.region_pages,
            self.window_pages.min(self.list.len()),
            "the region's length"
        );
        for (position, frame) in self.list.iter(&self.links).enumerate() {
            let in_region = (position as u32) < self.region_pages;
            let place = self.places[frame.index()];
            assert_eq!(place != Place::OutsideRegion, in_region, "a page is on the wrong side");
            let clean_unlisted = place == Place::InRegion && !frames.is_dirty(frame);
            assert!(!clean_unlisted, "a clean page of the region is not listed");
        }
        let mut listed = self.clean.iter(&self.clean_links);
        for frame in self.list.iter(&self.links) {
            if self.places[frame.index()] == Place::InRegionListedClean {
                assert_eq!(listed.next(), Some(frame), "the clean pages are out of order");
            }
        }
    }
}
