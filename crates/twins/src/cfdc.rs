//! CFDC: behind a list of pages in use, clean pages leave first, then dirty ones cluster by cluster.

use num_rational::Ratio;

use crate::page_list::{Held, PageList, accessed};
use crate::{Event, Op, State, Twin, parameters::Parameters};

struct Cluster {
    number: u64,
    /// Dirty pages in the order of joining.
    pages: Vec<u64>,
    since: u64,
    priority: Ratio<i128>,
    leaves: bool,
}

pub(crate) struct Cfdc {
    frames: usize,
    working_frames: usize,
    cluster_pages: u64,
    working: PageList,
    clean: Vec<u64>,
    clusters: Vec<Cluster>,
    time: u64,
}

impl Cfdc {
    pub(crate) fn new(frames: usize, parameters: &mut Parameters) -> Cfdc {
        let priority_frames = parameters.share("priority_share", (1, 2), frames);
        Cfdc {
            frames,
            working_frames: (frames - priority_frames).max(1),
            cluster_pages: parameters.integer("cluster_pages").unwrap_or(64) as u64,
            working: PageList::default(),
            clean: Vec::new(),
            clusters: Vec::new(),
            time: 0,
        }
    }

    fn len(&self) -> usize {
        let clustered: usize = self.clusters.iter().map(|cluster| cluster.pages.len()).sum();
        self.working.len() + self.clean.len() + clustered
    }

    fn load(&mut self, held: Held) {
        self.working.push_back(held);
        if self.working.len() > self.working_frames {
            match self.working.pop_front() {
                Some((page, false)) => self.clean.push(page),
                Some((page, true)) => self.join(page),
                None => unreachable!("a page has just come"),
            }
        }
    }

    fn join(&mut self, page: u64) {
        let number = page / self.cluster_pages;
        if !self.clusters.iter().any(|cluster| cluster.number == number) {
            let (since, priority) = (self.time, Ratio::from(0));
            self.clusters.push(Cluster { number, pages: vec![], since, priority, leaves: false });
        }
        self.time += 1;
        let time = self.time;
        let mut clusters = self.clusters.iter_mut();
        let cluster = clusters.find(|cluster| cluster.number == number).expect("it was made");
        cluster.pages.push(page);
        cluster.reckon(time);
    }

    /// Takes the page out of its cluster, if it is in one; a hit renews the cluster.
    fn leave(&mut self, page: u64, hit: bool) -> bool {
        let index = self.clusters.iter().position(|cluster| cluster.pages.contains(&page));
        let Some(index) = index else { return false };
        let cluster = &mut self.clusters[index];
        cluster.pages.retain(|other| *other != page);
        if hit {
            cluster.since = self.time;
        }
        cluster.reckon(self.time);
        self.clusters.retain(|cluster| !cluster.pages.is_empty());
        true
    }

    fn evict(&mut self) -> Held {
        if !self.clean.is_empty() {
            return (self.clean.remove(0), false);
        }
        let clusters = self.clusters.iter_mut();
        match clusters.min_by_key(|cluster| (cluster.priority, cluster.since, cluster.number)) {
            Some(cluster) => {
                cluster.leaves = true;
                let page = cluster.pages[0];
                self.leave(page, false);
                (page, true)
            }
            None => self.working.pop_front().expect("memory is full"),
        }
    }

    /// Takes the page out of wherever it is.
    fn take(&mut self, page: u64, hit: bool) -> Option<Held> {
        if let Some(held) = self.working.take(page) {
            return Some(held);
        }
        if let Some(position) = self.clean.iter().position(|other| *other == page) {
            return Some((self.clean.remove(position), false));
        }
        self.leave(page, hit).then_some((page, true))
    }
}

impl Cluster {
    fn reckon(&mut self, time: u64) {
        let pairs = self.pages.windows(2);
        let distance: u64 = pairs.map(|pair| pair[0].abs_diff(pair[1])).sum();
        let pages = self.pages.len().max(1) as i128;
        let age = (time - self.since).max(1);
        self.priority = Ratio::new(distance.max(1).into(), pages * pages * i128::from(age));
        if self.leaves {
            self.priority = Ratio::from(0);
        }
    }
}

impl Twin for Cfdc {
    fn reference_with(&mut self, page: u64, op: Op, ahead: &[u64]) -> Event {
        if let Some(held) = self.take(page, true) {
            self.load(accessed(held, op));
            return Event::hit();
        }
        let mut event = Event::miss();
        while self.len() + ahead.len() >= self.frames {
            let victim = self.evict();
            event.evicted.push(victim);
        }
        self.load((page, op == Op::Write));
        ahead.iter().for_each(|page| self.load((*page, false)));
        event
    }

    fn drop_page(&mut self, page: u64) -> bool {
        self.take(page, false).expect("the page is in memory").1
    }

    fn set_dirty(&mut self, page: u64, dirty: bool) {
        if self.working.set_dirty(page, dirty) {
            return;
        }
        if dirty == self.clean.contains(&page) {
            self.take(page, false).expect("the page is in memory");
            if dirty {
                self.join(page);
            } else {
                self.clean.push(page);
            }
        }
    }

    fn state(&self) -> State {
        let entries = |pages: &[u64], dirty: bool| {
            State::List(pages.iter().map(|page| State::entry(*page, &[dirty])).collect())
        };
        let mut clusters: Vec<&Cluster> = self.clusters.iter().collect();
        clusters.sort_by_key(|cluster| cluster.number);
        let pages: Vec<u64> =
            clusters.iter().flat_map(|cluster| cluster.pages.iter().copied()).collect();
        let places = clusters.iter().flat_map(|cluster| 0..cluster.pages.len());
        State::Object(vec![
            ("working", self.working.state_with_dirty()),
            ("clean", entries(&self.clean, false)),
            ("clustered", entries(&pages, true)),
            ("places", State::List(places.map(|place| State::Real(place as f64)).collect())),
        ])
    }

    fn resident(&self) -> Vec<u64> {
        let mut pages: Vec<u64> = self.working.pages().chain(self.clean.iter().copied()).collect();
        pages.extend(self.clusters.iter().flat_map(|cluster| &cluster.pages));
        pages.sort_unstable();
        pages
    }
}
