//! Every bit-driven policy on a model of memory: the pager's events are those of the slow twin under mapped bits, and the
//! program finds what it wrote.

mod disturbances;

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use clockhand_pager::store::{FaultScript, FaultyStore, Store};
use clockhand_pager::{
    Bits, Event, InitialPages, Pager, PagerError, Parts, PredictorSet, Settings,
};
use clockhand_policy::catalog::{CATALOG, Kind, PolicySpec};
use clockhand_policy::{Op, PageId, Ratio};
use clockhand_twins::{Twin, cases};
use proptest::prelude::*;

use self::disturbances::{BusyProgram, Mishap, WritesAtTheLastMoment, befall, mishaps};
use crate::model::{ModelMemory, ModelStore, Source};

/// What the program does.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Read(u32),
    Write(u32),
    /// A page of zeros is not written to the store.
    WriteZeros(u32),
    Discard(u32, u32),
    /// A fork is begun, and its child is not made, or the fork fails: what follows is as if nothing had been.
    Fork,
}

pub const PAGES: u32 = 24;

fn steps(longest: usize) -> impl Strategy<Value = Vec<Step>> {
    // A few pages are wanted more often than the others.
    let page = || prop_oneof![3 => 0..6u32, 2 => 0..PAGES];
    let step = prop_oneof![
        20 => page().prop_map(Step::Read),
        12 => page().prop_map(Step::Write),
        2 => page().prop_map(Step::WriteZeros),
        1 => (0..PAGES - 4, 1..4u32).prop_map(|(first, pages)| Step::Discard(first, pages)),
    ];
    prop::collection::vec(step, 1..longest)
}

/// The same with forks.
fn steps_and_forks(longest: usize) -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(prop_oneof![30 => steps(4), 1 => Just(vec![Step::Fork])], 1..longest / 2)
        .prop_map(|parts| parts.concat())
}

/// The bit-driven policies with their options.
pub fn policies() -> Vec<String> {
    let names = CATALOG.iter().filter(|entry| entry.kind == Kind::BitDriven);
    let mut policies: Vec<_> = names.map(|entry| entry.description.name.to_owned()).collect();
    let options =
        ["clock:insert_ref=1", "nru:mode=periodic,period=7", "cfclock:clear_passed=false"];
    policies.extend(options.map(str::to_owned));
    policies.extend(["craw:write_back=eager,c=2", "craw-a:ghosts=literal"].map(str::to_owned));
    let kernels =
        ["linux24:batch=2", "linux24-cflru:dynamic=true,period=20", "linux-mglru:batch=3"];
    policies.extend(kernels.map(str::to_owned));
    policies
}

pub fn settings(policy: &str, frames: u32, reserve: u32) -> Settings {
    let spec = PolicySpec::parse(policy).expect("a policy of the catalog");
    let policy = spec.resolve(frames - reserve, Ratio::whole(8)).expect("the options fit");
    let (bits, patience) = (Bits::Mapped, Duration::from_secs(5));
    Settings {
        policy,
        frames,
        reserve,
        read_ahead: 0,
        predictors: PredictorSet::ALL,
        bits,
        patience,
    }
}

/// The same, with bits from this source.
pub fn with_bits(settings: Settings, bits: Bits) -> Settings {
    Settings { bits, ..settings }
}

/// Where bits of real memory can come from.
pub const SOURCES: [Bits; 2] = [Bits::Mapped, Bits::Sensed];

fn sources() -> impl Strategy<Value = Source> {
    prop::sample::select(&Source::ALL[..])
}

/// The same, with additional frames for pages that are read ahead.
pub fn reading_ahead(settings: Settings, pages: u32) -> Settings {
    Settings { read_ahead: pages, frames: settings.frames + pages, ..settings }
}

pub fn twin(policy: &str, frames: u32, bits: Bits) -> Box<dyn Twin> {
    let (name, options) = policy.split_once(':').unwrap_or((policy, ""));
    let pairs = options.split(',').filter_map(|option| option.split_once('='));
    let parameters: Vec<_> = pairs.chain([("bits", bits.word())]).collect();
    clockhand_twins::build(name, frames as usize, &parameters, &[])
}

/// The events that the twin sees when it is given the references of a log.
pub fn events_of_twin(twin: &mut dyn Twin, log: &[Event]) -> Vec<Event> {
    let mut events = Vec::new();
    for event in log {
        let Event::Reference { page, op, .. } = *event else { continue };
        let twin_op =
            if op == Op::Write { clockhand_twins::Op::Write } else { clockhand_twins::Op::Read };
        let outcome = twin.reference(page.0.into(), twin_op);
        let number = |page: u64| PageId(page as u32);
        let backs =
            outcome.written_back.iter().map(|&page| Event::WriteBack { page: number(page) });
        events.extend(backs);
        let evicted = outcome.evicted.iter();
        events.extend(
            evicted.map(|&(page, is_dirty)| Event::Eviction { page: number(page), is_dirty }),
        );
        events.push(Event::Reference { page, op, is_miss: !outcome.hit });
    }
    events
}

/// The log with the write-backs of each reference before its evictions: a twin does not say how a kernel mixes them.
pub fn writes_first(log: &[Event]) -> Vec<Event> {
    let is_write = |event: &&Event| matches!(event, Event::WriteBack { .. });
    let between = log.split_inclusive(|event| matches!(event, Event::Reference { .. }));
    let sorted = between.flat_map(|events| {
        let (writes, others): (Vec<&Event>, Vec<&Event>) = events.iter().partition(is_write);
        writes.into_iter().chain(others)
    });
    sorted.copied().collect()
}

/// The log without what was decided for a last miss that has not ended: a fork that failed began it, and no access followed.
fn ended(mut log: Vec<Event>) -> Vec<Event> {
    let is_reference = |event: &Event| matches!(event, Event::Reference { .. });
    log.truncate(log.iter().rposition(is_reference).map_or(0, |last| last + 1));
    log
}

/// The writes of a program, in all of its threads.
#[derive(Clone)]
struct Expected {
    contents: Vec<u64>,
    written: u64,
}

/// A program that remembers what it wrote.
struct Program {
    memory: ModelMemory,
    pager: Pager,
    events: Arc<Mutex<Vec<Event>>>,
    expected: Arc<Mutex<Expected>>,
    /// The slots of its store, for copies that no child has.
    slots: ModelStore,
}

impl Program {
    fn new(
        settings: &Settings,
        source: Source,
        slots: ModelStore,
        script: &FaultScript,
        initial: InitialPages,
    ) -> Self {
        let store = FaultyStore::new(slots.clone(), script);
        let memory = ModelMemory::new(PAGES, source);
        let contents = vec![0; PAGES as usize];
        let expected = Arc::new(Mutex::new(Expected { contents, written: 0 }));
        let events = Arc::new(Mutex::new(Vec::new()));
        let log = events.clone();
        let store = BusyProgram { store, memory: memory.clone(), expected: expected.clone() };
        let thread = WritesAtTheLastMoment {
            memory: memory.of_thread(),
            expected: expected.clone(),
            state: 1,
        };
        memory.before_a_page_is_taken(thread.acts());
        let parts = Parts {
            program: Box::new(memory.clone()),
            translations: memory.translations(),
            store: Box::new(store),
            events: Box::new(move |event| {
                log.lock().expect("no test panics with this lock").push(event)
            }),
            initial,
        };
        Program { memory, pager: settings.build(parts), events, expected, slots: slots.another() }
    }

    fn expected(&self) -> MutexGuard<'_, Expected> {
        self.expected.lock().expect("no test panics with this lock")
    }

    fn until_it_works<T>(
        &mut self,
        mut what: impl FnMut(&mut Pager) -> Result<T, PagerError>,
    ) -> T {
        for _ in 0..100 {
            match what(&mut self.pager) {
                Ok(result) => return result,
                Err(PagerError::Store { .. }) => self.pager.check_invariants(),
                Err(error) => panic!("{error}"),
            }
        }
        panic!("a store that fails now and then was asked a hundred times");
    }

    fn access(&mut self, page: PageId, op: Op) {
        if !self.memory.allows(page, op) {
            self.until_it_works(|pager| pager.serve(page, op));
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Read(page) => {
                self.access(PageId(page), Op::Read);
                // A period that ends takes the translation away before the program gets to use it.
                while !self.memory.allows(PageId(page), Op::Read) {
                    self.access(PageId(page), Op::Read);
                }
                let expected = self.expected().contents[page as usize];
                assert_eq!(self.memory.read(PageId(page)), expected, "page {page}");
            }
            Step::Write(page) | Step::WriteZeros(page) => {
                while !self.memory.allows(PageId(page), Op::Write) {
                    self.access(PageId(page), Op::Write);
                }
                let mut expected = self.expected();
                expected.written += 1;
                let value = if let Step::Write(_) = step { expected.written } else { 0 };
                expected.contents[page as usize] = value;
                self.memory.write(PageId(page), value);
            }
            Step::Discard(first, pages) => {
                let discarded = self.pager.discard(PageId(first), pages);
                discarded.expect("a store that fails is no reason");
                self.expected().contents[first as usize..][..pages as usize].fill(0);
            }
            Step::Fork => {
                // A program whose fork fails goes on.
                match self.pager.copy_for_fork() {
                    Ok(copies) => copies.into_iter().for_each(|(_, slot)| self.slots.release(slot)),
                    Err(PagerError::Store { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }

    fn log(&self) -> Vec<Event> {
        self.events.lock().expect("no test panics with this lock").clone()
    }
}

/// A program over a store that fails where the mishaps say so, one for each step at most.
fn run_with_mishaps(
    settings: &Settings,
    source: Source,
    pace: u64,
    steps: &[Step],
    mishaps: &[Option<Mishap>],
) -> Program {
    let script = FaultScript::default();
    let store = ModelStore::new(pace);
    let mut program = Program::new(settings, source, store, &script, InitialPages::new());
    for (&step, &mishap) in steps.iter().zip(mishaps) {
        mishap.into_iter().for_each(|mishap| befall(&script, mishap));
        program.step(step);
        program.pager.check_invariants();
    }
    program
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn the_pager_does_what_the_twin_does(
        steps in steps_and_forks(300), frames in 1u32..12, reserve in 0u32..10, ahead in 0u32..10, pace in any::<u64>(),
        source in sources(),
    ) {
        for policy in policies() {
            let settings = with_bits(settings(&policy, frames + reserve, reserve), source.bits());
            let settings = reading_ahead(settings, ahead);
            let (store, script) = (ModelStore::new(pace), FaultScript::default());
            let mut program = Program::new(&settings, source, store, &script, InitialPages::new());
            for &step in &steps {
                program.step(step);
                program.pager.check_invariants();
                prop_assert!(program.memory.present_pages() <= settings.frames as usize);
            }
            let log = program.log();
            let expected = events_of_twin(&mut *twin(&policy, frames, source.bits()), &log);
            prop_assert_eq!(writes_first(&log), expected, "{}", policy);
            let counts = program.pager.counts();
            let served = counts.pages_read + counts.pages_zero_filled + counts.pages_rescued;
            prop_assert_eq!(served, counts.misses, "{}", policy);
            let hits = counts.minor_faults + counts.write_protect_faults + counts.sensed_references;
            prop_assert_eq!(counts.references, counts.misses + hits);
            prop_assert!(source != Source::Mapped || counts.sensed_references == 0);
        }
    }

    #[test]
    fn a_store_that_fails_now_and_then_loses_no_page_and_changes_no_decision(
        steps in steps_and_forks(200), mishaps in mishaps(), frames in 2u32..8, reserve in 0u32..10, ahead in 0u32..6,
        pace in any::<u64>(), source in sources(),
    ) {
        for policy in policies() {
            let settings = with_bits(settings(&policy, frames + reserve, reserve), source.bits());
            let settings = reading_ahead(settings, ahead);
            let program = run_with_mishaps(&settings, source, pace, &steps, &mishaps);
            let log = ended(program.log());
            let expected = events_of_twin(&mut *twin(&policy, frames, source.bits()), &log);
            prop_assert_eq!(writes_first(&log), expected, "{}", policy);
        }
    }

    #[test]
    fn a_forked_child_has_what_its_parent_had_and_neither_sees_what_the_other_writes(
        before in steps(150), parents in steps(80), childs in steps(80), reserve in 0u32..3, ahead in 0u32..6,
        pace in any::<u64>(), source in sources(),
        mishaps in mishaps(),
    ) {
        let settings = reading_ahead(with_bits(settings("craw", 6 + reserve, reserve), source.bits()), ahead);
        let store = ModelStore::new(pace);
        let script = FaultScript::default();
        let mut parent = Program::new(&settings, source, store.clone(), &script, InitialPages::new());
        before.iter().for_each(|&step| parent.step(step));
        mishaps[..8].iter().flatten().for_each(|&mishap| befall(&script, mishap));
        let copies = parent.until_it_works(|pager| pager.copy_for_fork());
        for page in (0..PAGES).map(PageId) {
            prop_assert!(!parent.memory.allows(page, Op::Write), "a page changes while the child is forked");
        }
        let mut child = Program::new(&settings, source, store.another(), &FaultScript::default(), copies);
        *child.expected() = Expected { written: 1_000_000, ..parent.expected().clone() };
        for index in 0..parents.len().max(childs.len()) {
            parents.get(index).into_iter().for_each(|&step| parent.step(step));
            childs.get(index).into_iter().for_each(|&step| child.step(step));
        }
        for page in 0..PAGES {
            parent.step(Step::Read(page));
            child.step(Step::Read(page));
        }
        parent.pager.check_invariants();
        child.pager.check_invariants();
        for log in [parent.log(), child.log()] {
            prop_assert_eq!(&log, &events_of_twin(&mut *twin("craw", 6, source.bits()), &log));
        }
        drop((parent, child));
        prop_assert_eq!(store.occupied_bytes(), 0, "a slot was not given back");
    }

    #[test]
    fn every_dirty_page_that_leaves_is_counted_once_however_often_the_store_fails(
        steps in steps(200), mishaps in mishaps(), reserve in 0u32..10, ahead in 0u32..6, pace in any::<u64>(),
        is_forked in any::<bool>(), source in sources(),
    ) {
        for policy in ["clock", "cfclock", "craw:write_back=eager,c=2"] {
            let settings = reading_ahead(with_bits(settings(policy, 6 + reserve, reserve), source.bits()), ahead);
            let mut program = run_with_mishaps(&settings, source, pace, &steps, &mishaps);
            if is_forked {
                // A copy for a fork waits for all writes.
                program.until_it_works(|pager| pager.copy_for_fork());
            }
            program.pager.end().expect("a store that fails is no reason");
            let counts = program.pager.counts();
            let left_dirty = counts.dirty_evictions + counts.write_backs;
            prop_assert_eq!(counts.pages_written + counts.pages_not_written, left_dirty, "{}", policy);
        }
    }
}
