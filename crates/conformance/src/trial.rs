//! One run of a policy over made-up references, with every choice looked at.

use std::collections::VecDeque;

use clockhand_policy::catalog::{Size, Visitor};
use clockhand_policy::memory::fast::FastMemory;
use clockhand_policy::page::{AccessDriven, BitDriven, Fault, Offline, PagePolicy};
use clockhand_policy::{Frame, Frames, Memory, Op, PageId, SplitMix64};

use super::{Beside, BrokenRule, PINNED, Pattern, SAME_AGAIN};

/// The events that are shown with a broken rule.
const EVENTS: usize = 10;

/// The frames that were chosen, in order.
pub(super) type Decisions = Vec<Frame>;

/// References and what happens beside them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trial {
    pub(super) rule: &'static str,
    pub(super) pattern: Pattern,
    pub(super) frames: u32,
    pub(super) pages: u32,
    pub(super) writes: u64,
    pub(super) beside: Beside,
    pub(super) references: u64,
}

impl Trial {
    /// What runs the trial on a policy, and compares its choices with `expected` ones.
    pub(super) fn run<'a>(&'a self, expected: Option<&'a Decisions>) -> Run<'a> {
        Run { trial: self, expected }
    }

    pub(super) fn size(&self) -> Size {
        Size { frames: self.frames, pages: self.pages }
    }

    fn in_words(&self) -> String {
        let pattern = match self.pattern {
            Pattern::Random => "random references",
            Pattern::Loop => "a loop",
            Pattern::Scan => "a scan",
        };
        let Beside { pins, drops, write_backs, batches } = self.beside;
        let beside = [
            (pins, "pins"),
            (drops, "drops"),
            (write_backs, "write-backs"),
            (batches, "several pages leaving at once"),
        ];
        let beside: Vec<&str> =
            beside.into_iter().filter(|(happens, _)| *happens).map(|(_, word)| word).collect();
        let with = if beside.is_empty() { "" } else { " with " };
        let plural = if self.frames == 1 { "" } else { "s" };
        format!("{pattern}{with}{} in {} frame{plural}", beside.join(", "), self.frames)
    }
}

/// A trial that waits for its policy.
pub(super) struct Run<'a> {
    trial: &'a Trial,
    expected: Option<&'a Decisions>,
}

impl Run<'_> {
    fn on<P: PagePolicy>(
        self,
        policy: P,
        hit: fn(&mut Memory<P>, Op, Frame),
    ) -> Result<Decisions, BrokenRule> {
        let Run { trial, expected } = self;
        let mut course = Course {
            memory: Memory::new(trial.frames, trial.pages, policy),
            hit,
            trial,
            expected,
            numbers: SplitMix64::new(u64::from(trial.frames) << 8 | trial.writes),
            reference: 0,
            pinned: Vec::new(),
            decisions: Vec::new(),
            events: VecDeque::new(),
        };
        course.run()?;
        Ok(course.decisions)
    }
}

impl Visitor for Run<'_> {
    type Output = Result<Decisions, BrokenRule>;

    fn bit_driven<P: BitDriven + 'static>(self, policy: P) -> Self::Output {
        self.on(policy, |memory, op, frame| memory.hit(op, frame))
    }

    fn access_driven<P: AccessDriven + 'static>(self, policy: P) -> Self::Output {
        self.on(policy, |memory, op, frame| memory.access(op, frame))
    }

    fn offline<P: Offline + 'static>(self, _: P) -> Self::Output {
        unreachable!("policies that must know the future are refused before")
    }
}

struct Course<'a, P> {
    memory: Memory<P>,
    hit: fn(&mut Memory<P>, Op, Frame),
    trial: &'a Trial,
    expected: Option<&'a Decisions>,
    numbers: SplitMix64,
    /// The number of the reference, from 1.
    reference: u64,
    pinned: Vec<Frame>,
    decisions: Decisions,
    events: VecDeque<String>,
}

impl<P: PagePolicy> Course<'_, P> {
    fn run(&mut self) -> Result<(), BrokenRule> {
        let period = self.memory.policy().period();
        for reference in 1..=self.trial.references {
            self.reference = reference;
            self.beside()?;
            self.refer()?;
            if period.is_some_and(|period| reference.is_multiple_of(period.get())) {
                self.memory.tick();
                self.note("a tick".to_owned());
                self.check_failure()?;
            }
            self.memory.check_invariants();
        }
        Ok(())
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.numbers.next() % bound
    }

    fn page(&mut self) -> PageId {
        let (pages, turn) = (u64::from(self.trial.pages), self.reference - 1);
        let page = match self.trial.pattern {
            Pattern::Random => {
                let spread = self.below(pages) + 1;
                self.below(spread)
            }
            Pattern::Loop => turn % pages,
            Pattern::Scan if turn.is_multiple_of(3) => self.below(3),
            Pattern::Scan => turn % pages,
        };
        PageId(page as u32)
    }

    fn refer(&mut self) -> Result<(), BrokenRule> {
        let page = self.page();
        let op = if self.below(8) < self.trial.writes { Op::Write } else { Op::Read };
        let word = if op == Op::Write { "write" } else { "read" };
        match self.memory.frame_of(page) {
            Frame::NONE => {
                self.make_room(page)?;
                let frame = self.memory.load(Fault::new(page, op));
                self.note(format!(
                    "{word} of page {}, which is loaded into frame {}",
                    page.0, frame.0
                ));
            }
            frame => {
                (self.hit)(&mut self.memory, op, frame);
                self.note(format!("{word} of page {}, a hit in frame {}", page.0, frame.0));
            }
        }
        self.check_failure()
    }

    /// One page leaves where memory is full; now and then up to two more, as for pages that come together.
    fn make_room(&mut self, incoming: PageId) -> Result<(), BrokenRule> {
        while self.memory.is_full() {
            self.evict(incoming)?;
        }
        let more = if self.trial.beside.batches && self.below(4) == 0 { 2 } else { 0 };
        for _ in 0..more {
            if self.memory.resident_frames().count() > self.pinned.len() {
                self.evict(incoming)?;
            }
        }
        Ok(())
    }

    fn evict(&mut self, incoming: PageId) -> Result<(), BrokenRule> {
        let bits = |memory: &Memory<P>, frame: Frame| {
            (memory.frames().read_bit(frame), memory.frames().write_bit(frame))
        };
        let of_pinned: Vec<_> =
            self.pinned.iter().map(|&frame| (frame, bits(&self.memory, frame))).collect();
        let victim = match self.memory.propose_victim_for(incoming) {
            Ok(victim) => victim,
            Err(error) => unreachable!("a page is not pinned: {error}"),
        };
        self.check_failure()?;
        let changed = of_pinned.iter().find(|(frame, seen)| bits(&self.memory, *frame) != *seen);
        if let Some((Frame(frame), _)) = changed {
            return Err(self
                .broken(PINNED, format!("it changed the bits of frame {frame}, which is pinned")));
        }
        if let Some(expected) = self.expected.and_then(|all| all.get(self.decisions.len()))
            && *expected != victim
        {
            let wrong = format!(
                "a new object chose frame {} for page {} to be loaded, where the first one had chosen frame {}; keep \
                 what it remembers in self, and draw random numbers from the seed",
                victim.0, incoming.0, expected.0
            );
            return Err(self.broken(SAME_AGAIN, wrong));
        }
        self.decisions.push(victim);
        while let Some(frame) = self.memory.next_write_back() {
            self.write_back(frame)?;
        }
        if self.memory.frames().is_dirty(victim) {
            self.write_back(victim)?;
        }
        let page = self.memory.commit_eviction();
        self.note(format!("page {} leaves frame {}", page.0, victim.0));
        Ok(())
    }

    fn write_back(&mut self, frame: Frame) -> Result<(), BrokenRule> {
        self.memory.written_back(frame);
        let page = self.memory.frames().page(frame);
        self.note(format!("page {} in frame {} is written back", page.0, frame.0));
        self.check_failure()
    }

    /// What happens beside references: at every fourth one, on average, something.
    fn beside(&mut self) -> Result<(), BrokenRule> {
        let Beside { pins, drops, write_backs, .. } = self.trial.beside;
        let resident: Vec<Frame> = self.memory.resident_frames().collect();
        if resident.is_empty() || self.below(4) != 0 {
            return Ok(());
        }
        let frame = resident[self.below(resident.len() as u64) as usize];
        let is_pinned = self.memory.frames().is_pinned(frame);
        match self.below(3) {
            0 if pins && is_pinned => {
                self.memory.unpin(frame);
                self.pinned.retain(|other| *other != frame);
                self.note(format!("frame {} is unpinned", frame.0));
            }
            0 if pins
                && self.pinned.len() + 1 < self.trial.frames as usize
                && self.memory.pin(frame).is_ok() =>
            {
                self.pinned.push(frame);
                self.note(format!("frame {} is pinned", frame.0));
            }
            1 if drops && !is_pinned => {
                let page = self.memory.frames().page(frame);
                self.note(format!("page {} in frame {} is dropped", page.0, frame.0));
                self.memory.drop_page(frame);
                return self.check_failure();
            }
            2 if write_backs && self.memory.frames().is_dirty(frame) => {
                return self.write_back(frame);
            }
            _ => {}
        }
        Ok(())
    }

    fn note(&mut self, event: String) {
        if self.events.len() == EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(format!("{}: {event}", self.reference));
    }

    fn check_failure(&mut self) -> Result<(), BrokenRule> {
        match self.memory.policy_mut().failure() {
            None => Ok(()),
            Some(failure) => {
                let broken = self.broken(self.trial.rule, failure.to_string());
                Err(BrokenRule { failure: Some(failure), ..broken })
            }
        }
    }

    fn broken(&self, rule: &'static str, wrong: String) -> BrokenRule {
        BrokenRule {
            rule,
            trial: self.trial.in_words(),
            reference: self.reference,
            wrong,
            failure: None,
            events: self.events.iter().cloned().collect(),
        }
    }
}
