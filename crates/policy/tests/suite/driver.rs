//! The plainest driver: one run of references after the other, every event noted, every invariant checked.

mod feed;
mod rendering;

use clockhand_policy::catalog::{PolicySpec, Size, Visitor};
use clockhand_policy::memory::fast::{FastMemory, Replaced};
use clockhand_policy::page::{
    AccessDriven, BitDriven, Cause, Fault, Offline, PageKind, PagePolicy,
};
use clockhand_policy::{AllPinned, Frame, Frames, Memory, Op, PageId, Ratio, Step};
use serde_json::{Map, Value};

use feed::{ByAccess, ByBits, Feed, WithFuture};
use rendering::Rendering;

/// What one reference did. Pages are dense ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    pub hit: bool,
    pub evicted: Vec<(u32, bool)>,
    pub written_back: Vec<u32>,
}

/// One reference as kernels see it.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    pub page: u32,
    pub op: Op,
    pub cause: Cause,
    pub kind: PageKind,
    /// True if a miss reads the page.
    pub fetched: bool,
}

/// What a reference did, in order. Pages are dense ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Hit,
    Miss,
    Write(u32),
    Evict(u32, bool),
}

/// Where the read and write bits come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bits {
    Exact,
    Mapped,
    Sensed,
}

/// A page in memory with what the mechanism knows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    pub page: u32,
    pub read_bit: bool,
    pub write_bit: bool,
    pub dirty: bool,
    pub pinned: bool,
}

/// A memory under some policy, whatever its type.
pub trait Driven {
    /// References to one page without another in between, told to the policy as one run between two ends
    /// of its period.
    fn run(&mut self, page: u32, ops: &[Op]) -> Result<Event, AllPinned>;

    /// One reference, where at least one frame is not pinned.
    fn reference(&mut self, page: u32, op: Op) -> Event {
        self.run(page, &[op]).expect("a frame is not pinned")
    }

    /// One reference whose page, if it faults, comes with `ahead`, which are not in memory and not referenced. All
    /// frames are made free before the first of these pages comes.
    fn with_ahead(&mut self, page: u32, op: Op, ahead: &[u32]) -> Event;

    /// One reference to a page of either kind, by memory or by a call; `ahead` as for `with_ahead`. The steps in order.
    fn refer(&mut self, reference: Reference, ahead: &[u32]) -> Vec<Action>;
    /// The mapping of a page in memory is gone.
    fn unmap(&mut self, page: u32);
    /// The values by which the policy adapts.
    fn gauges(&self) -> Vec<(&'static str, f64)>;

    /// Returns whether a page must leave before the next one is loaded.
    fn is_full(&self) -> bool;
    /// A page leaves although frames may be free.
    fn evict(&mut self, incoming: u32) -> Event;
    /// A page leaves at once, out of turn; says whether it was dirty.
    fn drop_page(&mut self, page: u32) -> bool;
    /// A page becomes dirty without a reference.
    fn make_dirty(&mut self, page: u32);
    /// The page that would leave, if the policy can tell.
    fn peek(&self) -> Option<u32>;
    /// The page that leaves for a fault on `incoming`, once memory is full.
    fn victim_for(&mut self, incoming: u32) -> Result<u32, AllPinned>;
    /// Pages that were written during the search for that victim; they are reported with the next reference.
    fn written_early(&self) -> Vec<u32>;
    /// Pins a resident page; says whether that was allowed.
    fn pin(&mut self, page: u32) -> bool;
    fn unpin(&mut self, page: u32);
    /// Writes a dirty page back that stays in memory.
    fn write_back(&mut self, page: u32);
    /// The pages in memory, in the order of their numbers.
    fn resident(&self) -> Vec<Held>;
    /// Lists, ghosts and values by name, pages instead of frames.
    fn state(&self) -> Map<String, Value>;
}

/// Builds `policy` over `pages` pages; `future` is the reference string, which only an offline policy sees.
pub fn build(
    policy: &str,
    frames: u32,
    pages: u32,
    bits: Bits,
    future: &[(u32, Op)],
) -> Box<dyn Driven> {
    let spec = PolicySpec::parse(policy).unwrap_or_else(|error| panic!("{policy}: {error}"));
    let resolved =
        spec.resolve(frames, Ratio::whole(8)).unwrap_or_else(|error| panic!("{policy}: {error}"));
    let size = Size { frames, pages };
    let referenced = future.iter().map(|&(page, _)| page).collect();
    let future = (referenced, next_references(future, pages));
    let name = spec.entry().description.name;
    resolved.build(size, Builder { name, size, bits, future })
}

/// For each reference, the position of the next one to the same page.
fn next_references(references: &[(u32, Op)], pages: u32) -> Vec<Option<u32>> {
    let mut last = vec![None; pages as usize];
    let mut next = vec![None; references.len()];
    for (position, &(page, _)) in references.iter().enumerate().rev() {
        next[position] = last[page as usize].replace(position as u32);
    }
    next
}

struct Builder {
    name: &'static str,
    size: Size,
    bits: Bits,
    /// The pages of all references, and the position of each one's next.
    future: (Vec<u32>, Vec<Option<u32>>),
}

impl Builder {
    fn driven<P: PagePolicy + 'static, T: Feed<P> + 'static>(
        self,
        policy: P,
        feed: T,
    ) -> Box<dyn Driven> {
        let Builder { name, size, bits, .. } = self;
        let memory = Memory::new(size.frames, size.pages, policy);
        Box::new(Machine {
            name,
            memory,
            feed,
            references: 0,
            periods_end_with_misses: bits == Bits::Sensed,
            period_has_ended: false,
            written_early: Vec::new(),
        })
    }
}

impl Visitor for Builder {
    type Output = Box<dyn Driven>;

    fn bit_driven<P: BitDriven + 'static>(self, policy: P) -> Self::Output {
        let feed = ByBits(self.bits);
        self.driven(policy, feed)
    }

    fn access_driven<P: AccessDriven + 'static>(self, policy: P) -> Self::Output {
        self.driven(policy, ByAccess)
    }

    fn offline<P: Offline + 'static>(mut self, policy: P) -> Self::Output {
        let (future, next) = std::mem::take(&mut self.future);
        let feed = WithFuture { future, next };
        self.driven(policy, feed)
    }
}

struct Machine<P, T> {
    name: &'static str,
    memory: Memory<P>,
    feed: T,
    references: u64,
    /// True if the end of a period is reported with the next miss only.
    periods_end_with_misses: bool,
    period_has_ended: bool,
    /// Pages that were written while a victim was asked for, before the reference that needs its frame.
    written_early: Vec<u32>,
}

impl<P: PagePolicy, T: Feed<P>> Machine<P, T> {
    fn make_room(
        &mut self,
        incoming: u32,
        frames: u32,
        event: &mut Event,
    ) -> Result<(), AllPinned> {
        while let Some(step) = self.memory.next_step(PageId(incoming), frames)? {
            match step {
                Step::WriteBack(frame) => {
                    event.written_back.push(self.memory.frames().page(frame).0);
                    self.memory.written_back(frame);
                }
                Step::Evict(frame) => event.evicted.push(self.carry_out(frame)),
            }
        }
        Ok(())
    }

    fn carry_out(&mut self, victim: Frame) -> (u32, bool) {
        let dirty = self.memory.frames().is_dirty(victim);
        if dirty {
            self.memory.written_back(victim);
        }
        (self.memory.commit_eviction().0, dirty)
    }

    /// How many of `references` references end no later than the policy's period.
    fn in_this_period(&self, references: usize) -> usize {
        self.memory.policy().period().map_or(references, |period| {
            if self.periods_end_with_misses {
                return references.min(1);
            }
            let left = period.get() - self.references % period.get();
            references.min(usize::try_from(left).unwrap_or(usize::MAX))
        })
    }

    fn count(&mut self, references: usize, hit: bool) {
        self.references += references as u64;
        let period = self.memory.policy().period();
        self.period_has_ended |=
            period.is_some_and(|period| self.references.is_multiple_of(period.get()));
        if self.period_has_ended && !(self.periods_end_with_misses && hit) {
            self.memory.tick();
            self.period_has_ended = false;
        }
    }
}

impl<P: PagePolicy, T: Feed<P>> Driven for Machine<P, T> {
    fn run(&mut self, page: u32, ops: &[Op]) -> Result<Event, AllPinned> {
        let (ops, later) = ops.split_at(self.in_this_period(ops.len()));
        let frame = self.memory.frame_of(PageId(page));
        let written_back = std::mem::take(&mut self.written_early);
        let mut event = Event { hit: frame != Frame::NONE, written_back, ..Event::default() };
        self.feed.before(&mut self.memory, self.references as usize + ops.len() - 1);
        if event.hit {
            self.feed.hit(&mut self.memory, ops, frame);
        } else {
            let fault = Fault::new(PageId(page), ops[0]);
            // Faults on pages with even numbers are served at once where that is possible.
            let replaced = if page.is_multiple_of(2) { self.memory.replace(fault) } else { None };
            let frame = if let Some(Replaced { frame, page, was_dirty }) = replaced {
                event.evicted.extend(page.map(|page| (page.0, was_dirty)));
                frame
            } else {
                self.make_room(page, 1, &mut event)?;
                self.memory.load(fault)
            };
            self.feed.faulted(&mut self.memory, ops, frame);
        }
        self.count(ops.len(), event.hit);
        self.memory.check_invariants();
        if !later.is_empty() {
            let rest = self.run(page, later)?;
            assert_eq!(rest, Event { hit: true, ..Event::default() }, "a page in memory is hit");
        }
        Ok(event)
    }

    fn with_ahead(&mut self, page: u32, op: Op, ahead: &[u32]) -> Event {
        let position = self.references as usize;
        self.feed.before(&mut self.memory, position);
        let frame = self.memory.frame_of(PageId(page));
        let mut event = Event { hit: frame != Frame::NONE, ..Event::default() };
        if event.hit {
            self.feed.hit(&mut self.memory, &[op], frame);
        } else {
            let wanted = 1 + ahead.len() as u32;
            self.make_room(page, wanted, &mut event).expect("nothing is pinned");
            let frame = self.memory.load(Fault::new(PageId(page), op));
            self.feed.faulted(&mut self.memory, &[op], frame);
            for &page in ahead {
                self.feed.before_ahead(&mut self.memory, position, page);
                self.memory.load(Fault::ahead(PageId(page)));
            }
        }
        self.count(1, event.hit);
        self.memory.check_invariants();
        event
    }

    fn refer(&mut self, reference: Reference, ahead: &[u32]) -> Vec<Action> {
        let Reference { page, op, cause, kind, fetched } = reference;
        let frame = self.memory.frame_of(PageId(page));
        let mut actions = Vec::new();
        if frame != Frame::NONE {
            actions.push(Action::Hit);
            match cause {
                Cause::Call => self.feed.call(&mut self.memory, op, frame),
                _ => self.feed.hit(&mut self.memory, &[op], frame),
            }
        } else {
            let wanted = 1 + ahead.len() as u32;
            while let Some(step) = self.memory.next_step(PageId(page), wanted).expect("no pins") {
                match step {
                    Step::WriteBack(frame) => {
                        actions.push(Action::Write(self.memory.frames().page(frame).0));
                        self.memory.written_back(frame);
                    }
                    Step::Evict(frame) => {
                        let (page, dirty) = self.carry_out(frame);
                        actions.push(Action::Evict(page, dirty));
                    }
                }
            }
            actions.push(Action::Miss);
            let fault = Fault { page: PageId(page), op, fetched, cause, kind };
            let frame = self.memory.load(fault);
            if cause == Cause::Memory {
                self.feed.faulted(&mut self.memory, &[op], frame);
            }
            for &page in ahead {
                self.memory.load(Fault { kind, ..Fault::ahead(PageId(page)) });
            }
        }
        self.count(1, frame != Frame::NONE);
        self.memory.check_invariants();
        actions
    }

    fn unmap(&mut self, page: u32) {
        self.memory.unmap(self.memory.frame_of(PageId(page)));
        self.memory.check_invariants();
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        let mut gauges = Vec::new();
        self.memory.policy().gauges(&mut |name, value| gauges.push((name, value)));
        gauges
    }

    fn is_full(&self) -> bool {
        self.memory.is_full()
    }

    fn evict(&mut self, incoming: u32) -> Event {
        let mut event = Event::default();
        let free = self.memory.free_frames();
        self.make_room(incoming, free + 1, &mut event).expect("a page is not pinned");
        self.memory.check_invariants();
        event
    }

    fn drop_page(&mut self, page: u32) -> bool {
        let dirty = self.memory.drop_page(self.memory.frame_of(PageId(page)));
        self.memory.check_invariants();
        dirty
    }

    fn make_dirty(&mut self, page: u32) {
        self.memory.make_dirty(self.memory.frame_of(PageId(page)));
        self.memory.check_invariants();
    }

    fn peek(&self) -> Option<u32> {
        self.memory.peek_victim().map(|frame| self.memory.frames().page(frame).0)
    }

    fn victim_for(&mut self, incoming: u32) -> Result<u32, AllPinned> {
        loop {
            let step = self.memory.next_step(PageId(incoming), 1)?;
            self.memory.check_invariants();
            match step.expect("memory is full") {
                Step::Evict(frame) => return Ok(self.memory.frames().page(frame).0),
                Step::WriteBack(frame) => {
                    self.written_early.push(self.memory.frames().page(frame).0);
                    self.memory.written_back(frame);
                }
            }
        }
    }

    fn written_early(&self) -> Vec<u32> {
        self.written_early.clone()
    }

    fn pin(&mut self, page: u32) -> bool {
        self.memory.pin(self.memory.frame_of(PageId(page))).is_ok()
    }

    fn unpin(&mut self, page: u32) {
        self.memory.unpin(self.memory.frame_of(PageId(page)));
    }

    fn write_back(&mut self, page: u32) {
        self.memory.written_back(self.memory.frame_of(PageId(page)));
        self.memory.check_invariants();
    }

    fn resident(&self) -> Vec<Held> {
        let frames = self.memory.frames();
        let held = |frame| Held {
            page: frames.page(frame).0,
            read_bit: frames.read_bit(frame),
            write_bit: frames.write_bit(frame),
            dirty: frames.is_dirty(frame),
            pinned: frames.is_pinned(frame),
        };
        let mut pages: Vec<Held> = self.memory.resident_frames().map(held).collect();
        pages.sort_unstable_by_key(|held| held.page);
        pages
    }

    fn state(&self) -> Map<String, Value> {
        let mut rendering = Rendering { name: self.name, memory: &self.memory, state: Map::new() };
        self.memory.policy().inspect(&mut rendering);
        if self.name.starts_with("craw") {
            let dirty = self.resident().into_iter().filter(|held| held.dirty);
            rendering.state.insert("dirty".to_owned(), dirty.map(|held| held.page).collect());
        }
        rendering.state
    }
}

/// Returns whether two states are the same, numbers to twelve digits: both round the same exact rational.
pub fn same_state(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            let (left, right) = (left.as_f64().unwrap(), right.as_f64().unwrap());
            (left - right).abs() <= 1e-12 * left.abs().max(right.abs())
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| same_state(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            let same = |(name, part): (&String, &Value)| {
                right.get(name).is_some_and(|other| same_state(part, other))
            };
            left.len() == right.len() && left.iter().all(same)
        }
        _ => left == right,
    }
}
