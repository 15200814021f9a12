//! # CFDC: clean first, dirty clustered
//!
//! **What it keeps.** An LRU list of the pages in use, `working`. What does not fit there goes, from its LRU end, to the
//! priority region: clean pages to the queue `clean`, dirty ones to *clusters*. A cluster has those of
//! `cluster_pages` pages with numbers next to each other, in the order in which they joined it. It has the priority
//! `distance / (pages² × age)`. The distance is the sum of the differences between the numbers of pages that joined
//! one after the other, 1 for a single page. Time is the number of pages that joined clusters. The age of a
//! cluster is the time since its first page came or a hit last took a page from it, at least 1. Shown: `working`, `clean`
//! and the pages of all clusters, `clustered`, by the clusters' numbers, with their places in them (`places`).
//!
//! **Victim.** The page at the front of `clean`. If there is none, the oldest page of the cluster with the least
//! priority; among equals, of the one that came, or that a hit renewed, first. The priority of that cluster is 0 from
//! then on, so that it leaves page by page. If the priority region is empty, the LRU page of `working` leaves.
//!
//! **On a write.** As on a read: the page goes to the MRU end of `working`, wherever it was. If the hit takes it from a
//! cluster, that cluster's priority is computed again.
//!
//! **Parameters.** `priority_share`: frames of the priority region as a share of all frames, rounded down (default 1/2).
//! `cluster_pages`: how many page numbers a cluster spans (default 64).
//!
//! **Cost per hit and per victim.** One list move; where a page enters or leaves a cluster by a hit, the cluster moves in
//! a heap, logarithmic in the number of clusters. About 60 bytes per frame and 4 per cluster of the footprint.
//!
//! **Deviations from the paper.** This is our reading: its text was not at hand, and the formulas are those of a public
//! implementation. A priority is computed when a page joins a cluster or leaves it, not each time that a victim is looked
//! for; ages would otherwise have to be compared for all clusters. Page numbers count the pages of the trace in the order
//! of their addresses. A page of the priority region that is written back without leaving goes to the end of `clean`, one
//! that becomes dirty joins its cluster. Pinned pages are passed over and keep their places.
//!
//! **Reference.** Y. Ou, T. Härder, P. Jin: CFDC: a flash-aware replacement policy for database buffer management.
//! DaMoN 2009.

use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Ordering;

use super::{AccessDriven, Capabilities, Fault, Inspector, PagePolicy, first_unpinned};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::{Default, Domain, Parameter, Settings};
use crate::parts::{FrameList, Links, SlotHeap};
use crate::{Frame, Frames, Op, PageId};

/// No cluster.
const NONE: u32 = u32::MAX;

/// The list that a page is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Nowhere,
    Working,
    Clean,
    Cluster(u32),
}

/// Dirty pages whose numbers are next to each other.
#[derive(Clone, Copy, Debug)]
struct Cluster {
    /// The number of its first page over the number of pages that it can have.
    number: u32,
    pages: FrameList,
    distance: u64,
    since: u64,
    /// Its pages are leaving one after the other.
    leaves: bool,
}

/// A fraction, and what orders equal ones: the cluster's time, then its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Priority {
    distance: u128,
    weight: u128,
    since: u64,
    number: u32,
}

impl Ord for Priority {
    fn cmp(&self, other: &Self) -> Ordering {
        let (one, another) = (self.distance * other.weight, other.distance * self.weight);
        one.cmp(&another).then((self.since, self.number).cmp(&(other.since, other.number)))
    }
}

impl PartialOrd for Priority {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The working region and the priority region.
#[derive(Clone, Debug)]
pub struct Cfdc {
    links: Links,
    working: FrameList,
    clean: FrameList,
    /// By frame.
    places: Vec<Place>,
    clusters: Vec<Cluster>,
    unused: Vec<u32>,
    /// By the clusters' numbers.
    cluster_of: Vec<u32>,
    order: SlotHeap<Priority>,
    time: u64,
    working_frames: u32,
    cluster_pages: u32,
}

impl Cataloged for Cfdc {
    const DESCRIPTION: Description = Description {
        name: "cfdc",
        summary: "clean pages leave first, then dirty ones cluster by cluster, behind an LRU list",
        paper: "Ou, Härder, Jin 2009",
        parameters: &[
            Parameter::share(
                "priority_share",
                "frames of the priority region as a share of all frames",
                "1/2",
            ),
            Parameter {
                name: "cluster_pages",
                summary: "how many page numbers a cluster spans",
                domain: Domain::Count { min: 1, max: 65_536 },
                default: Default::Value("64"),
                only_with: None,
            },
        ],
        source: include_str!("cfdc.rs"),
    };

    fn build(settings: &Settings, size: Size) -> Self {
        let frames = size.frames;
        let share = settings.ratio("priority_share").expect("a share has a default");
        let cluster_pages = settings.count("cluster_pages").expect("it has a default") as u32;
        let cluster =
            Cluster { number: NONE, pages: FrameList::EMPTY, distance: 0, since: 0, leaves: false };
        Cfdc {
            links: Links::new(frames),
            working: FrameList::EMPTY,
            clean: FrameList::EMPTY,
            places: vec![Place::Nowhere; frames as usize],
            clusters: vec![cluster; frames as usize],
            unused: (0..frames).rev().collect(),
            cluster_of: vec![NONE; (size.pages / cluster_pages + 1) as usize],
            order: SlotHeap::new(frames),
            time: 0,
            working_frames: (frames - share.floor_of(frames) as u32).max(1),
            cluster_pages,
        }
    }
}

impl Cfdc {
    /// Puts the page in `frame`, which is in no list, at the MRU end of the working region.
    fn push_working<F: Frames>(&mut self, frame: Frame, frames: &F) {
        self.working.push_tail(&mut self.links, frame);
        self.places[frame.index()] = Place::Working;
        if self.working.len() > self.working_frames {
            let last = self.working.head();
            self.working.remove(&mut self.links, last);
            if frames.is_dirty(last) {
                self.join_cluster(last, frames);
            } else {
                self.push_clean(last);
            }
        }
    }

    fn push_clean(&mut self, frame: Frame) {
        self.clean.push_tail(&mut self.links, frame);
        self.places[frame.index()] = Place::Clean;
    }

    /// The page in `frame`, which is in no list, joins the cluster of its number.
    fn join_cluster<F: Frames>(&mut self, frame: Frame, frames: &F) {
        let number = frames.page(frame).0 / self.cluster_pages;
        let mut slot = self.cluster_of[number as usize];
        if slot == NONE {
            slot = self.unused.pop().expect("a cluster has a page, and this page has none");
            self.cluster_of[number as usize] = slot;
            let cluster = &mut self.clusters[slot as usize];
            *cluster = Cluster { number, distance: 0, since: self.time, leaves: false, ..*cluster };
        }
        let cluster = &mut self.clusters[slot as usize];
        cluster.distance += between(cluster.pages.tail(), frame, frames);
        cluster.pages.push_tail(&mut self.links, frame);
        self.places[frame.index()] = Place::Cluster(slot);
        self.time += 1;
        self.set_priority(slot);
    }

    /// The page in `frame` leaves its cluster.
    fn leave_cluster<F: Frames>(&mut self, slot: u32, frame: Frame, frames: &F) {
        let (before, behind) = (self.links.previous(frame), self.links.next(frame));
        let cluster = &mut self.clusters[slot as usize];
        cluster.distance += between(before, behind, frames);
        cluster.distance -= between(before, frame, frames) + between(frame, behind, frames);
        cluster.pages.remove(&mut self.links, frame);
        if cluster.pages.len() > 0 {
            return self.set_priority(slot);
        }
        self.cluster_of[cluster.number as usize] = NONE;
        self.unused.push(slot);
        self.order.remove(slot);
    }

    fn set_priority(&mut self, slot: u32) {
        let Cluster { number, pages, distance, since, leaves } = self.clusters[slot as usize];
        let pages = u128::from(pages.len());
        let age = u128::from((self.time - since).max(1));
        let distance = if leaves { 0 } else { u128::from(distance.max(1)) };
        self.order.set(slot, Priority { distance, weight: pages * pages * age, since, number });
    }

    /// Takes the page in `frame` out of its list, if it is in one, and returns which.
    fn take<F: Frames>(&mut self, frame: Frame, frames: &F) -> Place {
        let place = core::mem::replace(&mut self.places[frame.index()], Place::Nowhere);
        match place {
            Place::Nowhere => (),
            Place::Working => self.working.remove(&mut self.links, frame),
            Place::Clean => self.clean.remove(&mut self.links, frame),
            Place::Cluster(slot) => self.leave_cluster(slot, frame, frames),
        }
        place
    }

    /// The oldest page of the cluster whose turn it is, which is marked.
    fn clustered_victim<F: Frames>(&mut self, frames: &F) -> Option<Frame> {
        let oldest =
            |slot: u32| first_unpinned(&self.clusters[slot as usize].pages, &self.links, frames);
        let first = self.order.first()?;
        let slot = match oldest(first) {
            Some(_) => first,
            // Only where pages are pinned are the other clusters looked at.
            None => {
                let others = self.order.iter().filter(|&slot| oldest(slot).is_some());
                others.min_by_key(|&slot| self.order.key(slot))?
            }
        };
        let victim = oldest(slot);
        self.clusters[slot as usize].leaves = true;
        self.set_priority(slot);
        victim
    }
}

/// The difference of the numbers of two pages; 0 if one of them is missing.
fn between<F: Frames>(one: Frame, other: Frame, frames: &F) -> u64 {
    if one == Frame::NONE || other == Frame::NONE {
        return 0;
    }
    let (PageId(one), PageId(other)) = (frames.page(one), frames.page(other));
    one.abs_diff(other).into()
}

impl PagePolicy for Cfdc {
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        let victim = first_unpinned(&self.clean, &self.links, frames)
            .or_else(|| self.clustered_victim(frames))
            .or_else(|| first_unpinned(&self.working, &self.links, frames))
            .expect("a page is not pinned");
        self.take(victim, frames);
        victim
    }

    fn loaded<F: Frames>(&mut self, _: Fault, frame: Frame, frames: &mut F) {
        self.push_working(frame, frames);
    }

    fn written_back<F: Frames>(&mut self, frame: Frame, frames: &F) {
        if matches!(self.places[frame.index()], Place::Cluster(_)) {
            self.take(frame, frames);
            self.push_clean(frame);
        }
    }

    fn dropped<F: Frames>(&mut self, frame: Frame, frames: &F) {
        self.take(frame, frames);
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        inspector.list("working", &mut self.working.iter(&self.links));
        inspector.list("clean", &mut self.clean.iter(&self.links));
        let clusters = || {
            let slots = self.cluster_of.iter().filter(|&&slot| slot != NONE);
            slots.map(|&slot| self.clusters[slot as usize].pages)
        };
        inspector.list("clustered", &mut clusters().flat_map(|it| it.iter(&self.links)));
        let places = |it: FrameList| (0..it.len()).map(f64::from);
        inspector.values("places", &mut clusters().flat_map(places));
    }

    fn check_invariants<F: Frames>(&self, frames: &F) {
        self.order.check_invariants();
        for (list, place) in [(&self.working, Place::Working), (&self.clean, Place::Clean)] {
            list.check_invariants(&self.links);
            assert!(list.iter(&self.links).all(|frame| self.places[frame.index()] == place));
        }
        assert!(self.working.len() <= self.working_frames, "the working region is too long");
        for slot in self.order.iter() {
            let cluster = &self.clusters[slot as usize];
            assert_eq!(self.cluster_of[cluster.number as usize], slot, "a cluster's number");
            cluster.pages.check_invariants(&self.links);
            let pages = || cluster.pages.iter(&self.links);
            for frame in pages() {
                assert_eq!(self.places[frame.index()], Place::Cluster(slot), "a page's place");
                assert_eq!(frames.page(frame).0 / self.cluster_pages, cluster.number);
            }
            let distances = pages().zip(pages().skip(1));
            let distance: u64 = distances.map(|(one, other)| between(one, other, frames)).sum();
            assert_eq!(distance, cluster.distance, "a cluster's distance");
        }
        let clusters = self.cluster_of.iter().filter(|&&slot| slot != NONE).count();
        assert_eq!(clusters, self.order.iter().count(), "a cluster without a priority");
        assert_eq!(clusters + self.unused.len(), self.clusters.len(), "clusters are lost");
    }
}

impl Capabilities for Cfdc {
    const PAGE_NUMBERS_MATTER: bool = true;

    fn made_dirty<F: Frames>(&mut self, frame: Frame, frames: &F) {
        if self.places[frame.index()] == Place::Clean {
            self.take(frame, frames);
            self.join_cluster(frame, frames);
        }
    }
}

impl AccessDriven for Cfdc {
    fn hit<F: Frames>(&mut self, _: Op, frame: Frame, frames: &F) {
        if self.places[frame.index()] == Place::Working {
            return self.working.move_to_tail(&mut self.links, frame);
        }
        if let Place::Cluster(slot) = self.places[frame.index()] {
            self.clusters[slot as usize].since = self.time;
        }
        self.take(frame, frames);
        self.push_working(frame, frames);
    }
}

#[cfg(test)]
mod tests {
    use crate::worked_examples::run;

    #[test]
    fn clean_pages_of_the_priority_region_leave_first() {
        // Two frames each: 1 is in a cluster and 2 in the queue when 3 and 4 are in use.
        let after = run("cfdc", 4, "W1 R2 R3 R4 R5");
        assert_eq!(after.evicted, "2");
        assert_eq!(after.state, "working=[4 5] clean=[3] clustered=[1] places=[0]");
    }

    #[test]
    fn a_cluster_leaves_page_by_page() {
        // 1 and 2 have 1 / (4 x 2) when 6 comes. Then 9 has 1 / 1, but 2 goes next.
        let after = run("cfdc:cluster_pages=4", 4, "W1 W2 W9 R5 W6");
        assert_eq!(after.evicted, "1*");
        assert_eq!(after.state, "working=[5 6] clean=[] clustered=[2 9] places=[0 0]");
        let after = run("cfdc:cluster_pages=4", 4, "W1 W2 W9 W5 W6 W7");
        assert_eq!(after.evicted, "1* 2*");
    }

    #[test]
    fn more_pages_nearer_to_each_other_and_older_ones_leave_first() {
        // 9 came first, but has 1 / 1 where 1 and 2 have 1 / (4 x 2), and 1 and 4 have 3 / (4 x 2).
        let after = run("cfdc:cluster_pages=5", 6, "W9 W1 W2 W20 W21 W22 W23");
        assert_eq!(after.evicted, "1*");
        let after = run("cfdc:cluster_pages=5", 6, "W9 W1 W4 W20 W21 W22 W23");
        assert_eq!(after.evicted, "1*");
    }

    #[test]
    fn among_single_pages_the_one_that_came_first_leaves_first() {
        assert_eq!(run("cfdc:cluster_pages=1", 4, "W9 W1 W5 W6 W7").evicted, "9*");
    }

    #[test]
    fn a_hit_renews_the_cluster_that_it_takes_a_page_from() {
        // 6 and 7 have 1 / (4 x 2), and 1, 2 and 3 have 2 / (9 x 3); without 3, and renewed, 1 and 2 have 1 / (4 x 1).
        let references = "W6 W7 W1 W2 W3 W20 W21 W22 W23 W24";
        let after = |more: &str| run("cfdc:cluster_pages=5", 10, &[references, more].join(" "));
        assert_eq!(after("W25").evicted, "1*");
        assert_eq!(after("R3 W25").evicted, "6*");
    }
}
