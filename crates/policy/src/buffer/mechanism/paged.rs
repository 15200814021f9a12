//! The mechanism of the page-level buffers: a page policy in a [`Memory`], driven with original addresses.

use alloc::vec;
use alloc::vec::Vec;
use core::marker::PhantomData;

use super::proposal::{Commands, Proposal, as_proposed};
use crate::buffer::{
    Action, BufferInspector, BufferSize, Capacity, Medium, Occupancy, PageState, PagesPerBlock,
    Request, Served, Source, Step, StepPage, WriteBuffer,
};
use crate::catalog::{self, Size};
use crate::memory::fast::FastMemory;
use crate::page::{AccessDriven, BitDriven, Fault, Inspector, PagePolicy};
use crate::parameters::{Default, Domain, Parameter, Settings};
use crate::parts::{AddressMap, FrameList, Links};
use crate::{Frame, Frames, LogicalPage, Memory, Op, PageId};

/// The parameters of every page-level buffer besides its policy's own.
const OWN_PARAMETERS: [Parameter; 3] = [
    crate::buffer::fab::CACHE_READS,
    Parameter {
        name: "cluster",
        summary: "whether a dirty victim takes the other dirty pages of its block along, which stay clean",
        domain: Domain::Choice(&["page", "block"]),
        default: Default::Value("page"),
        only_with: None,
    },
    Commands::PARAMETER,
];

/// The number of parameters of a page-level buffer besides its policy's.
pub(crate) const OWN_PARAMETERS_LEN: usize = OWN_PARAMETERS.len();

/// The parameters of a policy and those of every page-level buffer. `N` is the number of both.
pub(crate) const fn with_own_parameters<const N: usize>(policy: &[Parameter]) -> [Parameter; N] {
    assert!(policy.len() + OWN_PARAMETERS.len() == N, "N is the number of all parameters");
    let mut parameters = [OWN_PARAMETERS[0]; N];
    let mut index = 0;
    while index < N {
        parameters[index] =
            if index < policy.len() { policy[index] } else { OWN_PARAMETERS[index - policy.len()] };
        index += 1;
    }
    parameters
}

/// How a policy learns of a hit.
pub(crate) trait Hits<P> {
    fn hit(memory: &mut Memory<P>, op: Op, frame: Frame);
}

/// By the bits that the hit sets.
pub(crate) enum ByBits {}

impl<P: BitDriven> Hits<P> for ByBits {
    #[inline]
    fn hit(memory: &mut Memory<P>, op: Op, frame: Frame) {
        memory.hit(op, frame);
    }
}

/// By calls.
pub(crate) enum ByCalls {}

impl<P: AccessDriven> Hits<P> for ByCalls {
    #[inline]
    fn hit(memory: &mut Memory<P>, op: Op, frame: Frame) {
        memory.access(op, frame);
    }
}

/// The purpose of the pending step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// To evict the memory's pending victim, the page in this frame.
    Evict(Frame),
    /// To clean the page in this frame, which stays.
    Clean(Frame),
    /// To write the page of a request through.
    WriteThrough,
}

/// A DRAM buffer of pages under the page policy `P`.
pub(crate) struct PageBuffer<P, H> {
    memory: Memory<P>,
    caches_reads: bool,
    clusters: bool,
    commands: Commands,
    pages_per_block: PagesPerBlock,
    capacity_pages: u32,
    /// Pages are numbered in the order they first need a frame.
    id_of_page: AddressMap,
    /// The page that was the last to need a frame, and its number: a request asks for it in each of its steps.
    latest: Option<(LogicalPage, PageId)>,
    page_of_id: Vec<LogicalPage>,
    page_in_frame: Vec<LogicalPage>,
    pages: u32,
    /// The dirty pages, the one that has been dirty for longest first.
    dirty_links: Links,
    dirty: FrameList,
    purpose: Purpose,
    proposal: Proposal,
    is_written_through: bool,
    hits: PhantomData<H>,
}

impl<P: PagePolicy + catalog::Cataloged, H: Hits<P>> PageBuffer<P, H> {
    /// The buffer of the policy that `settings` describe beside the buffer's own parameters.
    pub(crate) fn with_policy(settings: &Settings, size: BufferSize) -> Self {
        // No more frames than pages are ever used.
        let frames = size.pages.min(size.distinct_pages).max(1);
        let pages = size.distinct_pages;
        PageBuffer {
            memory: Memory::new(frames, pages, P::build(settings, Size { frames, pages })),
            caches_reads: settings.flag(OWN_PARAMETERS[0].name),
            clusters: settings.choice(OWN_PARAMETERS[1].name) == "block",
            commands: Commands::of(settings),
            pages_per_block: size.pages_per_block,
            capacity_pages: size.pages,
            id_of_page: AddressMap::new(),
            latest: None,
            page_of_id: Vec::new(),
            page_in_frame: vec![LogicalPage(0); frames as usize],
            pages: 0,
            dirty_links: Links::new(frames),
            dirty: FrameList::EMPTY,
            purpose: Purpose::WriteThrough,
            proposal: Proposal::new(size.pages_per_block),
            is_written_through: false,
            hits: PhantomData,
        }
    }
}

impl<P: PagePolicy, H: Hits<P>> PageBuffer<P, H> {
    /// The number of `page`, if it ever needed a frame.
    #[inline]
    fn known_id(&self, page: LogicalPage) -> Option<PageId> {
        match self.latest {
            Some((latest, id)) if latest == page => Some(id),
            _ => self.id_of_page.get(page.0).map(PageId),
        }
    }

    #[inline]
    fn frame_of(&self, id: PageId) -> Option<Frame> {
        Some(self.memory.frame_of(id)).filter(|&frame| frame != Frame::NONE)
    }

    #[inline]
    fn find(&self, page: LogicalPage) -> Option<Frame> {
        self.known_id(page).and_then(|id| self.frame_of(id))
    }

    /// The number of `page`, which needs a frame and has this number if it has one.
    fn id_of(&mut self, page: LogicalPage, known: Option<PageId>) -> PageId {
        let id = known.unwrap_or_else(|| {
            let id = self.page_of_id.len() as u32;
            self.page_of_id.push(page);
            self.id_of_page.insert(page.0, id);
            PageId(id)
        });
        self.latest = Some((page, id));
        id
    }

    fn page_in(&self, frame: Frame) -> LogicalPage {
        self.page_in_frame[frame.index()]
    }

    /// The page that `request` brings and that is not here.
    fn missing_page(&mut self, request: Request) -> Option<PageId> {
        let page = match request {
            Request::Read(page) if self.caches_reads => page,
            Request::Write(page) | Request::ForceUnitAccess(page) => page,
            _ => return None,
        };
        let known = self.known_id(page);
        match known.and_then(|id| self.frame_of(id)) {
            Some(_) => None,
            None => Some(self.id_of(page, known)),
        }
    }

    fn propose(&mut self, request: Request) {
        if self.memory.is_full()
            && let Some(id) = self.missing_page(request)
        {
            let victim = self.memory.propose_victim_for(id).expect("no page is pinned");
            return match self.memory.next_write_back() {
                Some(frame) => self.propose_cleaning(frame),
                None => self.propose_eviction(victim),
            };
        }
        let safe = self.commands == Commands::Safe;
        match (self.memory.next_write_back(), request) {
            (Some(frame), _) => self.propose_cleaning(frame),
            (None, Request::ForceUnitAccess(page)) if safe && !self.is_written_through => {
                self.purpose = Purpose::WriteThrough;
                self.proposal.propose_write_through(page);
            }
            (None, Request::Flush) if safe => self.propose_cleaning(self.dirty.head()),
            (None, Request::Drain) => self.propose_cleaning(self.dirty.head()),
            (None, _) => {}
        }
    }

    fn propose_eviction(&mut self, victim: Frame) {
        self.purpose = Purpose::Evict(victim);
        let page = self.page_in(victim);
        if self.memory.frames().is_dirty(victim) {
            self.propose_batch(page, false);
        } else {
            let entry = StepPage { page, dirty: false, source: Source::Dram, stays: false };
            self.proposal.propose_page(Action::Drop, entry);
        }
    }

    /// The page in `frame` is to be written and stays, if there is one.
    fn propose_cleaning(&mut self, frame: Frame) {
        if frame != Frame::NONE {
            self.purpose = Purpose::Clean(frame);
            self.propose_batch(self.page_in(frame), true);
        }
    }

    /// `page` is written and, if pages are clustered, the other dirty pages of its block with it.
    fn propose_batch(&mut self, page: LogicalPage, stays: bool) {
        let source = Source::Dram;
        if !self.clusters {
            let entry = StepPage { page, dirty: true, source, stays };
            return self.proposal.propose_page(Action::Flush, entry);
        }
        let (block, whole) = (self.pages_per_block.block_of(page), self.pages_per_block.whole());
        let mut mask = 0;
        for other in self.pages_per_block.pages(block, whole) {
            if self.is_dirty(other) {
                mask |= self.pages_per_block.bit(other);
            }
        }
        let pages_per_block = self.pages_per_block;
        self.proposal.propose(Action::Flush, |pages| {
            pages.extend(pages_per_block.pages(block, mask).map(|other| StepPage {
                page: other,
                dirty: true,
                source,
                stays: stays || other != page,
            }));
        });
    }

    fn set_dirty(&mut self, frame: Frame, was_dirty: bool) {
        if !was_dirty {
            self.dirty.push_tail(&mut self.dirty_links, frame);
        }
    }

    fn set_clean(&mut self, frame: Frame) {
        if self.memory.frames().is_dirty(frame) {
            self.dirty.remove(&mut self.dirty_links, frame);
            self.memory.written_back(frame);
        }
    }

    fn access(&mut self, op: Op, page: LogicalPage) -> Served {
        let known = self.known_id(page);
        let found = known.and_then(|id| self.frame_of(id));
        let was_dirty = found.is_some_and(|frame| self.memory.frames().is_dirty(frame));
        let frame = match found {
            Some(frame) => {
                H::hit(&mut self.memory, op, frame);
                Some(frame)
            }
            None if op == Op::Write || self.caches_reads => {
                let id = self.id_of(page, known);
                let fault = Fault { fetched: op == Op::Read, ..Fault::new(id, op) };
                let frame = self.memory.load(fault);
                self.page_in_frame[frame.index()] = page;
                self.pages += 1;
                Some(frame)
            }
            None => None,
        };
        if let Some(frame) = frame.filter(|_| op == Op::Write) {
            self.set_dirty(frame, was_dirty);
        }
        Served { hit: found.map(|_| Medium::Dram), nvm_writes: 0 }
    }

    fn write_through(&mut self, page: LogicalPage) -> Served {
        let served = self.access(Op::Write, page);
        if core::mem::take(&mut self.is_written_through) {
            self.set_clean(self.find(page).expect("the page was just written"));
        }
        served
    }

    /// The page stays in its frame, since a ring cannot give one back out of turn; nothing of it is written.
    fn trim(&mut self, page: LogicalPage) -> Served {
        let found = self.find(page);
        if let Some(frame) = found {
            self.set_clean(frame);
        }
        Served { hit: found.map(|_| Medium::Dram), nvm_writes: 0 }
    }

    /// The pages of the committed step, one of them in `frame`, are on flash.
    fn clean_committed(&mut self, frame: Frame) {
        if !self.clusters {
            self.proposal.take();
            return self.set_clean(frame);
        }
        let mut proposal = core::mem::replace(&mut self.proposal, Proposal::EMPTY);
        let (_, pages) = proposal.take();
        for entry in pages {
            let frame = self.find(entry.page).expect("a page of the step is buffered");
            self.set_clean(frame);
        }
        self.proposal = proposal;
    }
}

impl<P: PagePolicy, H: Hits<P>> WriteBuffer for PageBuffer<P, H> {
    fn capacity(&self) -> Capacity {
        Capacity { dram_pages: self.capacity_pages, nvm_pages: 0 }
    }

    fn occupancy(&self) -> Occupancy {
        Occupancy { dram_pages: self.pages, nvm_pages: 0, dirty_pages: self.dirty.len() }
    }

    fn place_of(&self, page: LogicalPage) -> Option<Medium> {
        self.find(page).map(|_| Medium::Dram)
    }

    fn is_dirty(&self, page: LogicalPage) -> bool {
        self.find(page).is_some_and(|frame| self.memory.frames().is_dirty(frame))
    }

    #[inline]
    fn look_ahead(&self, page: LogicalPage) {
        if let Some(id) = self.id_of_page.get(page.0) {
            let read = |word: &u32| _ = core::hint::black_box(*word);
            self.memory.fetch_ahead(PageId(id), read);
        }
    }

    as_proposed!(next_step);

    fn commit(&mut self) {
        match self.purpose {
            Purpose::Evict(frame) => {
                self.clean_committed(frame);
                self.memory.commit_eviction();
                self.pages -= 1;
            }
            Purpose::Clean(frame) => self.clean_committed(frame),
            Purpose::WriteThrough => {
                self.proposal.take();
                self.is_written_through = true;
            }
        }
    }

    as_proposed!(serve);

    fn inspect(&self, inspector: &mut dyn BufferInspector) {
        let frames = self.memory.frames();
        let page_in = |frame| PageState {
            page: self.page_in(frame),
            dirty: frames.is_dirty(frame),
            referenced: frames.is_referenced(frame),
        };
        let page_of = |id: PageId| self.page_of_id[id.index()];
        self.memory.policy().inspect(&mut WithAddresses { inspector, page_in, page_of });
    }

    fn check_invariants(&self) {
        self.memory.check_invariants();
        self.dirty.check_invariants(&self.dirty_links);
        let resident = self.memory.resident_frames();
        let dirty = resident.filter(|&frame| self.memory.frames().is_dirty(frame)).count();
        assert_eq!(dirty, self.dirty.len() as usize, "the dirty pages are recounted");
        let resident = self.memory.resident_frames().count();
        assert_eq!(resident, self.pages as usize, "the pages are recounted");
    }
}

/// Shows a policy's lists with the addresses of their pages.
struct WithAddresses<'a, F, G> {
    inspector: &'a mut dyn BufferInspector,
    page_in: F,
    page_of: G,
}

impl<F: Fn(Frame) -> PageState, G: Fn(PageId) -> LogicalPage> Inspector
    for WithAddresses<'_, F, G>
{
    fn list(&mut self, name: &'static str, frames: &mut dyn Iterator<Item = Frame>) {
        self.inspector.pages(name, &mut frames.map(&self.page_in));
    }

    fn ring(&mut self, name: &'static str, frames: &mut dyn Iterator<Item = Frame>) {
        self.inspector.ring_of_pages(name, &mut frames.map(&self.page_in));
    }

    fn ghosts(&mut self, name: &'static str, pages: &mut dyn Iterator<Item = PageId>) {
        self.inspector.ghosts(name, &mut pages.map(&self.page_of));
    }

    fn values(&mut self, name: &'static str, values: &mut dyn Iterator<Item = f64>) {
        self.inspector.values(name, values);
    }

    fn value(&mut self, name: &'static str, value: f64) {
        self.inspector.value(name, value);
    }
}
