//! The plainest driver: one reference after the other, every event noted, every invariant checked.

use clockhand_policy::catalog::{PolicySpec, Size, Visitor};
use clockhand_policy::page::{AccessDriven, BitDriven, Fault, Inspector, Offline, PagePolicy};
use clockhand_policy::{Frame, Frames, Memory, Op, PageId, Ratio};
use serde_json::{Map, Value, json};

/// What one reference did. Pages are dense ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    pub hit: bool,
    pub evicted: Vec<(u32, bool)>,
    pub written_back: Vec<u32>,
}

/// Where the read and write bits come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bits {
    Exact,
    Mapped,
}

/// A memory under some policy, whatever its type.
pub trait Driven {
    fn reference(&mut self, page: u32, op: Op) -> Event;
    /// Lists, ghosts and values by name, pages instead of frames.
    fn state(&self) -> Map<String, Value>;
    /// Pins a resident page; says whether that was possible.
    fn pin(&mut self, page: u32) -> bool;
    fn unpin(&mut self, page: u32);
    /// How many write-backs and commits to refuse before each eviction.
    fn refuse(&mut self, times: u32);
    fn resident(&self) -> Vec<u32>;
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
    let next = next_references(future, pages);
    let name = spec.entry().description.name;
    resolved.build(size, Builder { name, size, bits, next })
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
    next: Vec<Option<u32>>,
}

/// How a kind of policy is told of references.
trait Told<P> {
    fn before(&mut self, memory: &mut Memory<P>);
    fn hit(&mut self, memory: &mut Memory<P>, op: Op, frame: Frame);
    fn faulted(&mut self, memory: &mut Memory<P>, op: Op, frame: Frame);
}

struct ByBits(Bits);
struct ByAccess;
struct WithFuture {
    next: Vec<Option<u32>>,
    position: usize,
}

impl<P: BitDriven> Told<P> for ByBits {
    fn before(&mut self, _: &mut Memory<P>) {}

    fn hit(&mut self, memory: &mut Memory<P>, op: Op, frame: Frame) {
        match self.0 {
            Bits::Exact => memory.hit(usize::from(op == Op::Write), frame),
            Bits::Mapped => memory.hit_mapped(op, frame),
        }
    }

    fn faulted(&mut self, memory: &mut Memory<P>, op: Op, frame: Frame) {
        if self.0 == Bits::Mapped {
            memory.hit_mapped(op, frame);
        }
    }
}

impl<P: AccessDriven> Told<P> for ByAccess {
    fn before(&mut self, _: &mut Memory<P>) {}

    fn hit(&mut self, memory: &mut Memory<P>, op: Op, frame: Frame) {
        memory.access(op, frame);
    }

    fn faulted(&mut self, _: &mut Memory<P>, _: Op, _: Frame) {}
}

impl<P: Offline> Told<P> for WithFuture {
    fn before(&mut self, memory: &mut Memory<P>) {
        memory.policy_mut().foresee(self.next[self.position]);
        self.position += 1;
    }

    fn hit(&mut self, memory: &mut Memory<P>, op: Op, frame: Frame) {
        memory.access(op, frame);
    }

    fn faulted(&mut self, _: &mut Memory<P>, _: Op, _: Frame) {}
}

impl Builder {
    fn driven<P: PagePolicy + 'static, T: Told<P> + 'static>(
        self,
        policy: P,
        told: T,
    ) -> Box<dyn Driven> {
        let Builder { name, size, .. } = self;
        let memory = Memory::new(size.frames, size.pages, policy);
        Box::new(Machine { name, size, memory, told, references: 0, refusals: 0 })
    }
}

impl Visitor for Builder {
    type Output = Box<dyn Driven>;

    fn bit_driven<P: BitDriven + 'static>(self, policy: P) -> Self::Output {
        let told = ByBits(self.bits);
        self.driven(policy, told)
    }

    fn access_driven<P: AccessDriven + 'static>(self, policy: P) -> Self::Output {
        self.driven(policy, ByAccess)
    }

    fn offline<P: Offline + 'static>(mut self, policy: P) -> Self::Output {
        let told = WithFuture { next: std::mem::take(&mut self.next), position: 0 };
        self.driven(policy, told)
    }
}

struct Machine<P, T> {
    name: &'static str,
    size: Size,
    memory: Memory<P>,
    told: T,
    references: u64,
    refusals: u32,
}

impl<P: PagePolicy, T: Told<P>> Machine<P, T> {
    fn make_room(&mut self, event: &mut Event) {
        while self.memory.is_full() {
            let victim = self.memory.propose_victim().expect("a frame is not pinned");
            for _ in 0..self.refusals {
                assert_eq!(
                    self.memory.propose_victim(),
                    Ok(victim),
                    "a refused victim stays the victim"
                );
                assert!(self.memory.pin(victim).is_err(), "the pending victim cannot be pinned");
            }
            while let Some(frame) = self.memory.next_write_back() {
                event.written_back.push(self.memory.frames().page(frame).0);
                self.memory.written_back(frame);
            }
            let dirty = self.memory.frames().is_dirty(victim);
            assert!(!self.memory.frames().is_pinned(victim), "the victim is pinned");
            if dirty {
                self.memory.written_back(victim);
            }
            let page = self.memory.commit_eviction();
            event.evicted.push((page.0, dirty));
        }
    }
}

impl<P: PagePolicy, T: Told<P>> Driven for Machine<P, T> {
    fn reference(&mut self, page: u32, op: Op) -> Event {
        let mut event = Event::default();
        self.told.before(&mut self.memory);
        let frame = self.memory.frame_of(PageId(page));
        if frame == Frame::NONE {
            self.make_room(&mut event);
            let frame = self.memory.load(Fault { page: PageId(page), op, fetched: true });
            self.told.faulted(&mut self.memory, op, frame);
        } else {
            event.hit = true;
            self.told.hit(&mut self.memory, op, frame);
        }
        self.references += 1;
        if self
            .memory
            .policy()
            .period()
            .is_some_and(|period| self.references.is_multiple_of(period.get()))
        {
            self.memory.tick();
        }
        assert!(self.resident().len() <= self.size.frames as usize, "more pages than frames");
        self.memory.check_invariants();
        event
    }

    fn state(&self) -> Map<String, Value> {
        let mut rendering = Rendering { name: self.name, memory: &self.memory, state: Map::new() };
        self.memory.policy().inspect(&mut rendering);
        if self.name.starts_with("craw") {
            let frames = self.memory.frames();
            let is_dirty = |&page: &u32| frames.is_dirty(self.memory.frame_of(PageId(page)));
            let dirty: Vec<u32> = self.resident().into_iter().filter(is_dirty).collect();
            rendering.state.insert("dirty".to_owned(), json!(dirty));
        }
        rendering.state
    }

    fn pin(&mut self, page: u32) -> bool {
        let frame = self.memory.frame_of(PageId(page));
        frame != Frame::NONE && self.memory.pin(frame).is_ok()
    }

    fn unpin(&mut self, page: u32) {
        let frame = self.memory.frame_of(PageId(page));
        assert_ne!(frame, Frame::NONE, "a pinned page has left memory");
        self.memory.unpin(frame);
    }

    fn refuse(&mut self, times: u32) {
        self.refusals = times;
    }

    fn resident(&self) -> Vec<u32> {
        let mut pages: Vec<u32> =
            self.memory.resident_frames().map(|frame| self.memory.frames().page(frame).0).collect();
        pages.sort_unstable();
        pages
    }
}

/// Renders a policy's lists as the golden files do: each page with the bits that this policy uses.
struct Rendering<'a, P> {
    name: &'static str,
    memory: &'a Memory<P>,
    state: Map<String, Value>,
}

impl<P: PagePolicy> Rendering<'_, P> {
    fn entry(&self, frame: Frame) -> Value {
        let frames = self.memory.frames();
        let page = frames.page(frame).0;
        let referenced = u8::from(frames.is_referenced(frame));
        let dirty = u8::from(frames.is_dirty(frame));
        match self.name {
            "fifo" | "lru" | "min" => json!(page),
            "clock" | "car" => json!([page, referenced]),
            "nru" | "cfclock" => json!([page, referenced, dirty]),
            "cflru" | "cflru-dynamic" | "lru-wsr" => json!([page, dirty]),
            "craw" | "craw-a" => {
                json!([page, u8::from(frames.read_bit(frame)), u8::from(frames.write_bit(frame))])
            }
            other => panic!("say here how {other} shows a page"),
        }
    }
}

impl<P: PagePolicy> Inspector for Rendering<'_, P> {
    fn list(&mut self, name: &'static str, frames: &mut dyn Iterator<Item = Frame>) {
        if name == "cold" {
            let cold: Vec<Value> =
                frames.map(|frame| json!(self.memory.frames().page(frame).0)).collect();
            for entry in self.state["lru_to_mru"].as_array_mut().expect("a list").iter_mut() {
                let is_cold = u8::from(cold.contains(&entry[0]));
                entry.as_array_mut().expect("an entry").push(json!(is_cold));
            }
            return;
        }
        let mut entries: Vec<Value> = frames.map(|frame| self.entry(frame)).collect();
        if self.name == "min" {
            entries.sort_by_key(Value::as_u64);
        }
        self.state.insert(name.to_owned(), Value::Array(entries));
    }

    fn ghosts(&mut self, name: &'static str, pages: &mut dyn Iterator<Item = PageId>) {
        self.state.insert(name.to_owned(), pages.map(|page| page.0).collect());
    }

    fn value(&mut self, name: &'static str, value: f64) {
        self.state.insert(name.to_owned(), json!(value));
    }
}

/// Whether two states are the same, numbers to twelve digits: both round the same exact rational.
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
