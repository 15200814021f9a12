//! What every write buffer owes, checked by a drive that keeps the content of every page.

use std::collections::BTreeMap;

use clockhand_policy::LogicalPage;
use clockhand_policy::buffer::{Action, Medium, Request, Source, StepPage};
use proptest::prelude::*;

use crate::driver::{self, Done, Driven, Event};
use crate::requests::{PAGES_PER_BLOCK, cases, requests};
use crate::variants;

/// A version of a page's content; 0 is what an unwritten page holds.
type Version = u64;

/// A drive that carries a buffer's steps out with the content of pages.
struct Drive {
    name: String,
    driven: Box<dyn Driven>,
    dram: BTreeMap<u64, Version>,
    nvm: BTreeMap<u64, Version>,
    flash: BTreeMap<u64, Version>,
    /// The host's last writes; a trimmed page has no content that it may rely on.
    host: BTreeMap<u64, Version>,
    version: Version,
    hits: u64,
}

/// The page of a request.
fn page_of(request: Request) -> Option<u64> {
    match request {
        Request::Read(page)
        | Request::Write(page)
        | Request::ForceUnitAccess(page)
        | Request::Trim(page) => Some(page.0),
        Request::Flush | Request::Drain => None,
    }
}

impl Drive {
    fn new(variant: &str, total: u32) -> Self {
        Drive {
            name: format!("{variant}, {total} pages"),
            driven: driver::build(variant, total, PAGES_PER_BLOCK as u32, 1000),
            dram: BTreeMap::new(),
            nvm: BTreeMap::new(),
            flash: BTreeMap::new(),
            host: BTreeMap::new(),
            version: 0,
            hits: 0,
        }
    }

    fn content(&self, source: Source, page: u64) -> Version {
        match source {
            Source::Dram => self.dram[&page],
            Source::Nvm => self.nvm[&page],
            Source::Flash => self.flash.get(&page).copied().unwrap_or_default(),
            Source::Request => self.version,
        }
    }

    fn check_batch(&self, pages: &[StepPage]) {
        let blocks: Vec<u64> = pages.iter().map(|entry| entry.page.0 / PAGES_PER_BLOCK).collect();
        assert!(blocks.windows(2).all(|pair| pair[0] == pair[1]), "a batch is of one block");
        assert!(pages.windows(2).all(|pair| pair[0].page < pair[1].page), "in ascending order");
        assert!(pages.iter().any(|entry| entry.dirty), "a batch has a dirty page");
        for entry in pages.iter().filter(|entry| entry.source != Source::Request) {
            assert_eq!(entry.dirty, self.driven.is_dirty(entry.page.0), "dirty: {entry:?}");
            let buffered = self.driven.place_of(entry.page.0).is_some();
            assert_eq!(buffered, entry.source != Source::Flash, "readable until commit: {entry:?}");
        }
    }

    fn carry_out(&mut self, (action, pages): Done) {
        if action == Action::Flush {
            self.check_batch(&pages);
        }
        for entry in &pages {
            let (page, content) = (entry.page.0, self.content(entry.source, entry.page.0));
            match action {
                Action::Flush => {
                    self.flash.insert(page, content);
                }
                Action::Migrate => {
                    assert!(entry.dirty && entry.source == Source::Dram, "a dirty page of DRAM");
                    self.nvm.insert(page, content);
                }
                Action::Drop => {
                    assert!(!entry.dirty, "what is dropped is clean");
                    let on_flash = self.flash.get(&page).copied().unwrap_or_default();
                    assert!(!self.host.contains_key(&page) || on_flash == content, "and on flash");
                }
            }
        }
        self.driven.commit();
        for entry in pages.iter().filter(|entry| entry.source != Source::Request) {
            let stays = self.driven.place_of(entry.page.0).is_some();
            assert_eq!(stays, entry.stays, "a page that stays, stays: {entry:?}");
        }
        self.forget_what_left(pages.iter().map(|entry| entry.page.0));
    }

    /// Frees the memory of pages that are no longer where they were.
    fn forget_what_left(&mut self, pages: impl Iterator<Item = u64>) {
        for page in pages {
            match self.driven.place_of(page) {
                Some(Medium::Dram) => {}
                Some(Medium::Nvm) => drop(self.dram.remove(&page)),
                None => {
                    self.dram.remove(&page);
                    self.nvm.remove(&page);
                }
            }
        }
    }

    fn request(&mut self, request: Request) {
        self.version += 1;
        while let Some(step) = self.driven.next_step(request) {
            let again = self.driven.next_step(request).expect("the step is pending");
            assert_eq!(again, step, "a step that was not committed is proposed again");
            self.carry_out(step);
        }
        let read = page_of(request).map(|page| self.newest(page));
        let served = self.driven.serve(request);
        self.hits += u64::from(served.hit.is_some());
        let page = page_of(request);
        match (request, page) {
            (Request::Read(_), Some(page)) => {
                let expected = self.host.get(&page).copied();
                assert!(expected.is_none() || expected == read, "a read is of the last version");
                if served.hit.is_none() && self.driven.place_of(page).is_some() {
                    self.dram.insert(page, read.unwrap_or_default());
                }
            }
            (Request::Write(_) | Request::ForceUnitAccess(_), Some(page)) => self.store(page),
            (Request::Trim(_), Some(page)) => {
                self.host.remove(&page);
                assert!(!self.driven.is_dirty(page), "a trimmed page is not to be written");
            }
            _ => {}
        }
        self.forget_what_left(page.into_iter());
        self.check();
    }

    fn store(&mut self, page: u64) {
        self.host.insert(page, self.version);
        match self.driven.place_of(page).expect("what was just written is buffered") {
            Medium::Dram => self.dram.insert(page, self.version),
            Medium::Nvm => self.nvm.insert(page, self.version),
        };
    }

    fn newest(&self, page: u64) -> Version {
        self.content(
            match self.driven.place_of(page) {
                Some(Medium::Dram) => Source::Dram,
                Some(Medium::Nvm) => Source::Nvm,
                None => Source::Flash,
            },
            page,
        )
    }

    fn check(&self) {
        let (occupancy, capacity) = (self.driven.occupancy(), self.driven.capacity());
        assert!(occupancy.dram_pages <= capacity.dram_pages, "{occupancy:?} of {capacity:?}");
        assert!(occupancy.nvm_pages <= capacity.nvm_pages, "{occupancy:?} of {capacity:?}");
        for (&page, &version) in &self.host {
            assert_eq!(self.newest(page), version, "the last version of page {page} is kept");
            let is_dirty = self.driven.is_dirty(page);
            assert!(is_dirty || self.flash[&page] == version, "page {page} is on flash");
            let is_in_nvm = self.driven.place_of(page) == Some(Medium::Nvm);
            assert!(!is_in_nvm || is_dirty, "NVM holds dirty pages only");
        }
    }

    /// The pages whose last version would be lost with the power.
    fn volatile(&self) -> Vec<u64> {
        let kept = |page: &u64, version: &Version| {
            self.flash.get(page) == Some(version) || self.nvm.get(page) == Some(version)
        };
        self.host.iter().filter(|&(page, version)| !kept(page, version)).map(|(&p, _)| p).collect()
    }
}

/// A failure says under which buffer.
impl Drop for Drive {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed: {}", self.name);
        }
    }
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn the_last_version_of_every_page_is_kept(requests in requests(40, 60, 25), total in 5..14u32) {
        for variant in variants::all() {
            let mut drive = Drive::new(&variant, total);
            for &request in &requests {
                drive.request(request);
                if request == Request::Drain {
                    assert_eq!(drive.driven.occupancy().dirty_pages, 0, "a drain leaves none");
                }
            }
        }
    }

    #[test]
    fn what_is_acknowledged_is_persistent_with_safe_commands(
        requests in requests(40, 60, 60), total in 5..14u32,
    ) {
        for variant in variants::all().iter().filter(|variant| variant.contains("commands=safe")) {
            let mut drive = Drive::new(variant, total);
            for &request in &requests {
                drive.request(request);
                let volatile = drive.volatile();
                match request {
                    Request::Flush => assert_eq!(volatile, [0u64; 0], "all of it"),
                    Request::ForceUnitAccess(page) => assert!(!volatile.contains(&page.0)),
                    _ => {}
                }
            }
        }
    }

    #[test]
    fn flush_and_fua_change_nothing_with_the_papers_commands(requests in requests(40, 60, 60)) {
        let plain: Vec<Request> = requests
            .iter()
            .filter(|&&request| request != Request::Flush)
            .map(|&request| match request {
                Request::ForceUnitAccess(page) => Request::Write(page),
                other => other,
            })
            .collect();
        for variant in variants::all().iter().filter(|variant| !variant.contains("commands=safe")) {
            let events = |requests: &[Request]| -> Vec<Event> {
                let mut driven = driver::build(variant, 9, PAGES_PER_BLOCK as u32, 40);
                let events = requests.iter().map(|&request| driven.request(request));
                events.filter(|event| *event != Event::default()).collect()
            };
            assert_eq!(events(&requests), events(&plain), "{variant}");
        }
    }
}

#[test]
fn every_rereference_hits_when_all_fits() {
    let pages: Vec<u64> = (0..400u64).map(|position| position * position % 97).collect();
    let distinct = pages.iter().collect::<std::collections::BTreeSet<_>>().len();
    for variant in variants::all() {
        let mut drive = Drive::new(&variant, 1000);
        for &page in &pages {
            drive.request(Request::Write(LogicalPage(page)));
        }
        assert_eq!(drive.hits as usize, pages.len() - distinct, "{variant}");
        assert!(drive.flash.is_empty(), "{variant}: nothing is flushed");
    }
}

#[test]
fn steps_are_proposed_only_when_there_is_no_room() {
    for variant in variants::all() {
        let mut driven = driver::build(&variant, 8, PAGES_PER_BLOCK as u32, 100);
        let capacity = driven.capacity();
        for page in 0..capacity.dram_pages.into() {
            if driven.capacity().nvm_pages == 0 || variant.starts_with("clock-dnv") {
                let event = driven.request(Request::Write(LogicalPage(page * 5)));
                assert!(event.steps.is_empty(), "{variant}: {event:?}");
            }
        }
        let event = driven.request(Request::Read(LogicalPage(0)));
        assert!(event.steps.is_empty(), "{variant}: a hit needs no room");
    }
}
