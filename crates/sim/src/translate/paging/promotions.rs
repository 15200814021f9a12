//! Regions of pages that become huge pages, and pages again.

use clockhand_policy::memory::fast::FastMemory;
use clockhand_policy::page::PagePolicy;
use clockhand_policy::{Frame, PageId};

use super::{Action, Paging, Watcher};
use crate::replay::Feed;
use crate::translate::replay::Entering;
use crate::translate::space::{NONE, Regions};

/// Which regions are promoted.
pub(crate) struct Promotions<'a> {
    pub(crate) regions: &'a Regions,
    /// By region.
    pub(crate) is_promoted: Vec<bool>,
    pub(super) resident: Vec<u32>,
}

impl<P: PagePolicy, T: Feed<P> + Entering<P>, W: Watcher> Paging<'_, P, T, W> {
    pub(super) fn promoted_region(&self, page: u32) -> u32 {
        self.promotions.as_ref().map_or(NONE, |promotions| promotions.promoted_region(page))
    }

    /// Promotes the region of a page that faulted, if enough of it is in memory.
    pub(super) fn promote(&mut self, page: u32) {
        let Some(promotions) = &self.promotions else { return };
        let regions = promotions.regions;
        let region = regions.of(page);
        if region == NONE {
            return;
        }
        let resident = promotions.resident[region as usize];
        let missing = regions.promotion.pages - resident;
        let is_late = self.rules.no_swap && missing > self.memory.free_frames();
        if resident < regions.promotion.least_resident || is_late {
            return;
        }
        while let Some(victim) = self.evict_for(page, missing) {
            if regions.of(victim) == region {
                self.watcher.saw(Action::GiveUp(region));
                return;
            }
        }
        for page in regions.pages(region) {
            if self.memory.frame_of(PageId(page)) == Frame::NONE {
                self.bring(page, Action::Fetch(page));
                self.counts.promotion_fetches += 1;
                self.request.push(self.space.key(page).1);
            }
        }
        self.counts.promotions += 1;
        self.watcher.saw(Action::Promote(region));
        self.join_leaves(region);
    }

    /// The leaves of a region's pages become one.
    fn join_leaves(&mut self, region: u32) {
        let Some(promotions) = &mut self.promotions else { return };
        promotions.is_promoted[region as usize] = true;
        let (regions, tables) = (promotions.regions, &self.space.tables);
        let pages = regions.pages(region);
        let above = tables.above(pages.start, regions.leaf_level);
        self.table.add_leaf(tables, above);
        for page in pages {
            self.table.remove_leaf(tables, tables.above(page, 0));
            self.invalidate(page);
        }
    }

    /// The leaf of a region becomes those of its pages.
    pub(super) fn demote(&mut self, region: u32) {
        let Some(promotions) = &mut self.promotions else { return };
        promotions.is_promoted[region as usize] = false;
        let (regions, tables) = (promotions.regions, &self.space.tables);
        let pages = regions.pages(region);
        let above = tables.above(pages.start, regions.leaf_level);
        for page in pages {
            self.table.add_leaf(tables, tables.above(page, 0));
        }
        self.table.remove_leaf(tables, above);
        self.invalidate(self.space.region_translation(region));
    }
}

impl Promotions<'_> {
    /// The region of a page if it is promoted, else [`NONE`].
    #[inline]
    pub(super) fn promoted_region(&self, page: u32) -> u32 {
        let region = self.regions.of(page);
        if region != NONE && self.is_promoted[region as usize] { region } else { NONE }
    }

    pub(super) fn count(&mut self, page: u32, change: i32) {
        let region = self.regions.of(page);
        if region != NONE {
            let resident = &mut self.resident[region as usize];
            *resident = resident.wrapping_add_signed(change);
        }
    }
}
