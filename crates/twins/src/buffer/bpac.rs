//! BPAC: pages that were written again in an LRU list, the others by block.

use std::collections::BTreeMap;

use num_rational::Ratio;

use super::{
    BufferEvent, BufferPages, BufferRequest, BufferStep, BufferTwin, Flushed, Place, is_safe,
};
use crate::{State, parameters::Parameters};

struct Cluster {
    block: u64,
    /// With their dirty flags.
    pages: BTreeMap<u64, bool>,
    last_growth: i128,
}

pub(super) struct Bpac {
    capacity: usize,
    per_block: u64,
    safe: bool,
    growth: Ratio<i128>,
    target: usize,
    writes: i128,
    /// The times between two growths of one cluster, of all clusters.
    times: Vec<i128>,
    /// From the LRU end, with their dirty flags.
    page_list: Vec<(u64, bool)>,
    /// Pages of clusters that were in the page list.
    demoted: Vec<u64>,
    finished: Vec<Cluster>,
    growing: Vec<Cluster>,
    /// The blocks with dirty pages in the order they came to have some.
    became_dirty: Vec<u64>,
}

impl Bpac {
    pub(super) fn new(pages: BufferPages, parameters: &mut Parameters) -> Bpac {
        Bpac {
            capacity: pages.total,
            per_block: pages.per_block,
            safe: is_safe(parameters),
            growth: parameters.rational("growth").unwrap_or(1.into()),
            target: pages.total / 2,
            writes: 0,
            times: Vec::new(),
            page_list: Vec::new(),
            demoted: Vec::new(),
            finished: Vec::new(),
            growing: Vec::new(),
            became_dirty: Vec::new(),
        }
    }

    fn clusters(&self) -> impl Iterator<Item = &Cluster> {
        self.finished.iter().chain(&self.growing)
    }

    /// All pages of the buffer with their dirty flags.
    fn pages(&self) -> BTreeMap<u64, bool> {
        let in_clusters = self.clusters().flat_map(|cluster| &cluster.pages);
        let in_clusters = in_clusters.map(|(page, dirty)| (*page, *dirty));
        in_clusters.chain(self.page_list.iter().copied()).collect()
    }

    fn holds(&self, page: u64) -> bool {
        self.pages().contains_key(&page)
    }

    fn set_dirty(&mut self, page: u64, dirty: bool) {
        for cluster in self.finished.iter_mut().chain(&mut self.growing) {
            cluster.pages.entry(page).and_modify(|held| *held = dirty);
        }
        self.page_list.iter_mut().filter(|held| held.0 == page).for_each(|held| held.1 = dirty);
        self.note_dirty();
    }

    fn note_dirty(&mut self) {
        let dirty = self.pages().into_iter().filter(|(_, dirty)| *dirty);
        let dirty: Vec<u64> = dirty.map(|(page, _)| page / self.per_block).collect();
        self.became_dirty.retain(|block| dirty.contains(block));
        for block in dirty {
            if !self.became_dirty.contains(&block) {
                self.became_dirty.push(block);
            }
        }
    }

    /// Takes a page out of its cluster. What is left of a finished one comes to its size last.
    fn take_from_cluster(&mut self, page: u64) -> Option<bool> {
        if let Some(at) = self.finished.iter().position(|it| it.pages.contains_key(&page)) {
            let mut cluster = self.finished.remove(at);
            let dirty = cluster.pages.remove(&page);
            if !cluster.pages.is_empty() {
                self.finished.push(cluster);
            }
            return dirty;
        }
        let at = self.growing.iter().position(|it| it.pages.contains_key(&page))?;
        let dirty = self.growing[at].pages.remove(&page);
        self.growing.retain(|cluster| !cluster.pages.is_empty());
        dirty
    }

    /// The cluster of a block, which nothing has any more; a new one if there was none.
    fn take_cluster(&mut self, block: u64) -> (Cluster, bool, bool) {
        if let Some(at) = self.finished.iter().position(|cluster| cluster.block == block) {
            return (self.finished.remove(at), false, true);
        }
        if let Some(at) = self.growing.iter().position(|cluster| cluster.block == block) {
            return (self.growing.remove(at), false, false);
        }
        let cluster = Cluster { block, pages: BTreeMap::new(), last_growth: self.writes };
        (cluster, true, false)
    }

    /// The LRU page of the page list joins its cluster, without making it grow.
    fn demote(&mut self) {
        let (page, dirty) = self.page_list.remove(0);
        self.demoted.push(page);
        let block = page / self.per_block;
        if let Some(cluster) = self.growing.iter_mut().find(|cluster| cluster.block == block) {
            cluster.pages.insert(page, dirty);
            return;
        }
        let (mut cluster, is_new, _) = self.take_cluster(block);
        cluster.pages.insert(page, dirty);
        if is_new { &mut self.growing } else { &mut self.finished }.push(cluster);
    }

    fn shorten(&mut self) {
        while self.page_list.len() > self.target {
            self.demote();
        }
    }

    fn write_page(&mut self, page: u64) {
        self.writes += 1;
        if let Some(at) = self.page_list.iter().position(|held| held.0 == page) {
            self.page_list.remove(at);
            self.page_list.push((page, true));
        } else if self.take_from_cluster(page).is_some() {
            if self.demoted.contains(&page) {
                self.demoted.retain(|other| *other != page);
                self.target = (self.target + 1).min(self.capacity);
            }
            self.page_list.push((page, true));
            self.shorten();
        } else {
            let (mut cluster, is_new, _) = self.take_cluster(page / self.per_block);
            if !is_new {
                self.times.push(self.writes - cluster.last_growth);
            }
            cluster.last_growth = self.writes;
            cluster.pages.insert(page, true);
            self.growing.push(cluster);
        }
        self.note_dirty();
    }

    fn take_victim(&mut self) -> Cluster {
        if !self.times.is_empty() {
            let mean = Ratio::new(self.times.iter().sum::<i128>(), self.times.len() as i128);
            let (growth, writes) = (self.growth, self.writes);
            let is_idle =
                |cluster: &Cluster| Ratio::from(writes - cluster.last_growth) > growth * mean;
            while self.growing.first().is_some_and(is_idle) {
                self.finished.push(self.growing.remove(0));
            }
        }
        let most = self.finished.iter().map(|cluster| cluster.pages.len()).max();
        if let Some(at) = self.finished.iter().position(|it| Some(it.pages.len()) == most) {
            return self.finished.remove(at);
        }
        self.target = self.target.saturating_sub(1);
        self.shorten();
        if self.growing.is_empty() {
            self.demote();
        }
        self.growing.remove(0)
    }

    fn make_room(&mut self, steps: &mut Vec<BufferStep>) {
        if self.pages().len() < self.capacity {
            return;
        }
        let victim = self.take_victim();
        self.demoted.retain(|page| !victim.pages.contains_key(page));
        let dirty = victim.pages.iter().filter(|(_, dirty)| **dirty);
        let batch: Vec<Flushed> = dirty
            .map(|(&page, _)| Flushed { page, dirty: true, from: Place::Dram, stays: false })
            .collect();
        let clean = victim.pages.iter().filter(|(_, dirty)| !**dirty);
        let dropped: Vec<u64> = clean.map(|(page, _)| *page).collect();
        if !batch.is_empty() {
            steps.push(BufferStep::Flush(batch));
        }
        if !dropped.is_empty() {
            steps.push(BufferStep::Drop(dropped));
        }
        self.note_dirty();
    }

    fn write(&mut self, page: u64, through: bool, event: &mut BufferEvent) {
        event.hit = self.holds(page).then_some(Place::Dram);
        if event.hit.is_none() {
            self.make_room(&mut event.steps);
        }
        if through {
            let flushed = Flushed { page, dirty: true, from: Place::Request, stays: true };
            event.steps.push(BufferStep::Flush(vec![flushed]));
        }
        self.write_page(page);
        if through {
            self.set_dirty(page, false);
        }
    }

    fn trim(&mut self, page: u64) {
        self.take_from_cluster(page);
        self.page_list.retain(|held| held.0 != page);
        self.demoted.retain(|other| *other != page);
        self.note_dirty();
    }

    /// The dirty pages of each block are flushed and stay, clean.
    fn clean(&mut self, steps: &mut Vec<BufferStep>) {
        for block in self.became_dirty.clone() {
            let dirty = self.pages().into_iter().filter(|(_, dirty)| *dirty);
            let of_block = dirty.filter(|(page, _)| page / self.per_block == block);
            let pages: Vec<u64> = of_block.map(|(page, _)| page).collect();
            let flushed =
                |&page: &u64| Flushed { page, dirty: true, from: Place::Dram, stays: true };
            steps.push(BufferStep::Flush(pages.iter().map(flushed).collect()));
            pages.into_iter().for_each(|page| self.set_dirty(page, false));
        }
    }
}

impl BufferTwin for Bpac {
    fn request(&mut self, request: BufferRequest) -> BufferEvent {
        let mut event = BufferEvent::default();
        match request {
            BufferRequest::Read(page) => event.hit = self.holds(page).then_some(Place::Dram),
            BufferRequest::ForceUnitAccess(page) => self.write(page, self.safe, &mut event),
            BufferRequest::Write(page) => self.write(page, false, &mut event),
            BufferRequest::Trim(page) => {
                event.hit = self.holds(page).then_some(Place::Dram);
                self.trim(page);
            }
            BufferRequest::Flush if self.safe => self.clean(&mut event.steps),
            BufferRequest::Drain => self.clean(&mut event.steps),
            BufferRequest::Flush => {}
        }
        event
    }

    fn state(&self) -> State {
        let show = |cluster: &Cluster| {
            let pages = cluster.pages.iter().map(|(page, dirty)| State::entry(*page, &[*dirty]));
            State::List(vec![State::Integer(cluster.block), State::List(pages.collect())])
        };
        let list = |clusters: &[Cluster]| State::List(clusters.iter().map(show).collect());
        let pages: Vec<u64> = self.page_list.iter().map(|held| held.0).collect();
        State::Object(vec![
            ("page_list", State::pages(&pages)),
            ("finished", list(&self.finished)),
            ("growing", list(&self.growing)),
            ("target", State::Real(self.target as f64)),
        ])
    }

    fn dirty(&self) -> Vec<u64> {
        self.pages().into_iter().filter(|(_, dirty)| *dirty).map(|(page, _)| page).collect()
    }
}
