//! A replay that is taken step by step, with everything that it did and holds in the twins' terms.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use clockhand_policy::catalog::{PolicySpec, Size, Visitor};
use clockhand_policy::memory::fast::FastMemory;
use clockhand_policy::page::{AccessDriven, BitDriven, Inspector, Offline, PagePolicy};
use clockhand_policy::{Frame, Frames, Memory, PageId, Ratio};
use clockhand_trace::{Folding, Op, PageView, PageViewBuilder, Record, Request};
use clockhand_twins::{StreamPage, TlbKey, TranslationEvent, TranslationRules, UpperEntry};

use crate::intervals::Cuts;
use crate::next_use::next_use;
use crate::replay::{ByAccess, ByExactBits, Feed};
use crate::translate::paging::{Action, Paging, PagingCounts, PagingRules, Watcher};
use crate::translate::replay::{ByForesight, Entering, Replay};
use crate::translate::space::{Promotion, Space};
use crate::translate::tlb::Tlb;
use crate::translate::translator::{LookUp, TlbLevels, TranslationCounts};
use clockhand_trace::progress::Progress;

pub(super) type Reference = (StreamPage, clockhand_twins::Op);

/// Bytes of a page; they are of no consequence here.
const PAGE_BYTES: u64 = 4096;

/// What a replay holds after a reference.
#[derive(Debug, PartialEq)]
pub(super) struct State {
    pub(super) tlb: Vec<Vec<Option<TlbKey>>>,
    pub(super) tlb2: Option<Vec<Vec<Option<TlbKey>>>>,
    pub(super) walk_cache: Vec<UpperEntry>,
    pub(super) promoted: Vec<(u32, u64)>,
    /// Pages in the policy's first list, with their reference bits.
    pub(super) memory: Vec<(StreamPage, bool)>,
    pub(super) dirty: Vec<StreamPage>,
}

/// A replay in the middle.
pub(super) trait Stepped {
    fn reference(&mut self, record: Record) -> Vec<TranslationEvent>;
    fn state(&self) -> State;
    fn counts(&self) -> (PagingCounts, TranslationCounts);
}

/// The view of single references.
pub(super) fn view_of(trace: &[Reference]) -> PageView {
    let mut builder = PageViewBuilder::new(PAGE_BYTES, Folding::None).expect("a power of two");
    for &((stream, page), op) in trace {
        let op = if op == clockhand_twins::Op::Write { Op::Write } else { Op::Read };
        builder.push(&Request::new(op, page * PAGE_BYTES, 1).in_stream(stream));
    }
    builder.finish().expect("there is a reference")
}

pub(super) fn space_of(view: &PageView, rules: &TranslationRules) -> Space {
    let promotion = rules.huge.map(|(pages, (numerator, denominator))| {
        let share = Ratio::new(numerator.into(), denominator.into()).expect("a share");
        Promotion::new(pages as u32, share)
    });
    let frames = rules.frames as u32;
    Space::new(view, rules.walk_levels, promotion, frames).expect("there are few pages")
}

/// Gives `look` a replay of `view` that has not begun.
pub(super) fn with_replay(
    view: &PageView,
    space: &Space,
    rules: &TranslationRules,
    look: &mut dyn FnMut(&mut dyn Stepped),
) {
    let level = |(entries, ways)| format!("{entries}/{}", usize::max(ways, 1));
    let tlb = [format!("{}:{}", level(rules.tlb), rules.replacement)];
    let tlb2: Vec<String> = rules.tlb2.map(level).into_iter().collect();
    let tlbs = TlbLevels::parse_all(&tlb, &tlb2).expect("a TLB");
    let next = next_use(view.records(), view.footprint_pages());
    let replay = Replay {
        cuts: Cuts::NONE,
        view,
        space,
        next_use: Some(&next),
        frames: rules.frames as u32,
        rules: PagingRules {
            prefetch: rules.prefetch as u32,
            no_swap: rules.no_swap,
            flush_on_switch: rules.flush_on_switch,
        },
        tlbs: &tlbs,
        walk_cache: rules.walk_cache as u32,
        seed: rules.seed,
        progress: &Progress::default(),
    };
    let policy = PolicySpec::parse(rules.policy).expect("a policy of the catalog");
    let policy = policy.resolve(replay.frames, Ratio::whole(1)).expect("the defaults fit");
    let size = Size { frames: replay.frames.min(space.pages()), pages: space.pages() };
    policy.build(size, Opened { replay, look });
}

struct Opened<'a, 'b> {
    replay: Replay<'a>,
    look: &'b mut dyn FnMut(&mut dyn Stepped),
}

impl Opened<'_, '_> {
    fn run<P: PagePolicy, T: Feed<P> + Entering<P>>(self, policy: P, feed: T) {
        let seen = Rc::<RefCell<Vec<Action>>>::default();
        let paging = self.replay.paging(policy, feed, Noted(Rc::clone(&seen)));
        (self.look)(&mut Steps { paging, seen, space: self.replay.space });
    }
}

impl Visitor for Opened<'_, '_> {
    type Output = ();

    fn bit_driven<P: BitDriven + 'static>(self, policy: P) {
        self.run(policy, ByExactBits);
    }

    fn access_driven<P: AccessDriven + 'static>(self, policy: P) {
        self.run(policy, ByAccess);
    }

    fn offline<P: Offline + 'static>(self, policy: P) {
        let feed = ByForesight::new(&self.replay);
        self.run(policy, feed);
    }
}

struct Noted(Rc<RefCell<Vec<Action>>>);

impl Watcher for Noted {
    fn saw(&mut self, action: Action) {
        self.0.borrow_mut().push(action);
    }
}

struct Steps<'a, P, T> {
    paging: Paging<'a, P, T, Noted>,
    seen: Rc<RefCell<Vec<Action>>>,
    space: &'a Space,
}

impl<P: PagePolicy, T: Feed<P> + Entering<P>> Stepped for Steps<'_, P, T> {
    fn reference(&mut self, record: Record) -> Vec<TranslationEvent> {
        self.paging.reference(record, 1);
        self.paging.memory.check_invariants();
        self.seen.take().into_iter().map(|action| event(action, self.space)).collect()
    }

    fn state(&self) -> State {
        let [translator] = &self.paging.translators[..] else { panic!("there is one TLB") };
        let keys = |tlb: &Tlb| {
            let key = |translation: Option<u32>| translation.map(|of| key(of, self.space));
            let sets = tlb.keys().into_iter();
            sets.map(|ways| ways.into_iter().map(key).collect()).collect()
        };
        let cached = translator.walk_cache().map_or_else(Vec::new, Tlb::oldest_first);
        let memory = &self.paging.memory;
        let dirty = memory.resident_frames().filter(|&frame| memory.frames().is_dirty(frame));
        let dirty: BTreeSet<StreamPage> = dirty.map(|frame| self.page_in(frame)).collect();
        State {
            tlb: keys(translator.first()),
            tlb2: translator.second().map(keys),
            walk_cache: cached.into_iter().map(|entry| upper_entry(entry, self.space)).collect(),
            promoted: self.promoted(),
            memory: self.in_order(),
            dirty: dirty.into_iter().collect(),
        }
    }

    fn counts(&self) -> (PagingCounts, TranslationCounts) {
        (self.paging.counts_so_far(), self.paging.translators[0].counts)
    }
}

impl<P: PagePolicy, T: Feed<P> + Entering<P>> Steps<'_, P, T> {
    fn page_in(&self, frame: Frame) -> StreamPage {
        let PageId(page) = self.paging.memory.frames().page(frame);
        self.space.key(page)
    }

    fn promoted(&self) -> Vec<(u32, u64)> {
        let Some(promotions) = self.paging.promotions() else { return Vec::new() };
        let of_region = |region: usize| {
            let translation = self.space.region_translation(region as u32);
            self.space.number_of_translation(translation)
        };
        let all = 0..promotions.is_promoted.len();
        all.filter(|&region| promotions.is_promoted[region]).map(of_region).collect()
    }

    fn in_order(&self) -> Vec<(StreamPage, bool)> {
        let memory: &Memory<P> = &self.paging.memory;
        let mut first = FirstList::default();
        memory.policy().inspect(&mut first);
        let of_frame = |&frame: &Frame| (self.page_in(frame), memory.frames().is_referenced(frame));
        first.0.unwrap_or_default().iter().map(of_frame).collect()
    }
}

#[derive(Default)]
struct FirstList(Option<Vec<Frame>>);

impl Inspector for FirstList {
    fn list(&mut self, _: &'static str, frames: &mut dyn Iterator<Item = Frame>) {
        self.0.get_or_insert_with(|| frames.collect());
    }

    fn ghosts(&mut self, _: &'static str, _: &mut dyn Iterator<Item = PageId>) {}

    fn value(&mut self, _: &'static str, _: f64) {}
}

fn key(translation: u32, space: &Space) -> TlbKey {
    let (stream, number) = space.number_of_translation(translation);
    (stream, u32::from(translation >= space.pages()), number)
}

fn upper_entry(entry: u32, space: &Space) -> UpperEntry {
    let tables = &space.tables;
    let above = std::iter::successors(Some(entry), |&entry| {
        Some(tables.parent_of(entry)).filter(|&parent| parent != super::super::space::NONE)
    });
    let level = tables.levels - above.count() as u32;
    let (stream, number) = space.key(tables.first_page(entry));
    (stream, level, number >> (9 * level))
}

fn event(action: Action, space: &Space) -> TranslationEvent {
    let page = |page: u32| space.key(page);
    let region = |region: u32| space.number_of_translation(space.region_translation(region));
    match action {
        Action::LookUp(LookUp::Hit) => TranslationEvent::TlbHit,
        Action::LookUp(LookUp::SecondHit) => TranslationEvent::Tlb2Hit,
        Action::LookUp(LookUp::Walked(reads)) => TranslationEvent::Walk(reads),
        Action::Fault(number) => TranslationEvent::Fault(page(number)),
        Action::Prefetch(number) => TranslationEvent::Prefetch(page(number)),
        Action::Fetch(number) => TranslationEvent::Fetch(page(number)),
        Action::Evict { page: number, dirty } => TranslationEvent::Evict(page(number), dirty),
        Action::Demote(number) => TranslationEvent::Demote(region(number).0, region(number).1),
        Action::Promote(number) => TranslationEvent::Promote(region(number).0, region(number).1),
        Action::GiveUp(number) => TranslationEvent::GiveUp(region(number).0, region(number).1),
        Action::Kill(position) => TranslationEvent::Kill(space.streams()[position as usize].0),
    }
}
