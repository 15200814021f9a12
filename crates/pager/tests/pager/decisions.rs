//! Every bit-driven policy on a model of memory: the pager's events are those of the slow twin under mapped bits, and the
//! program finds what it wrote.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use clockhand_pager::store::Store;
use clockhand_pager::{Event, InitialPages, PagerError, Paging, Parts, Settings};
use clockhand_policy::catalog::{CATALOG, Kind, PolicySpec};
use clockhand_policy::{Op, PageId, Ratio};
use clockhand_twins::Twin;
use proptest::prelude::*;

use crate::model::{ModelMemory, ModelStore};

/// What the program does.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Read(u32),
    Write(u32),
    Discard(u32, u32),
}

const PAGES: u32 = 24;

fn steps(longest: usize) -> impl Strategy<Value = Vec<Step>> {
    // A few pages are wanted more often than the others.
    let page = || prop_oneof![3 => 0..6u32, 2 => 0..PAGES];
    let step = prop_oneof![
        20 => page().prop_map(Step::Read),
        14 => page().prop_map(Step::Write),
        1 => (0..PAGES - 4, 1..4u32).prop_map(|(first, pages)| Step::Discard(first, pages)),
    ];
    prop::collection::vec(step, 1..longest)
}

/// The bit-driven policies with their options.
pub fn policies() -> Vec<String> {
    let names = CATALOG.iter().filter(|entry| entry.kind == Kind::BitDriven);
    let mut policies: Vec<_> = names.map(|entry| entry.description.name.to_owned()).collect();
    let options =
        ["clock:insert_ref=1", "nru:mode=periodic,period=7", "cfclock:clear_passed=false"];
    policies.extend(options.map(str::to_owned));
    policies.extend(["craw:write_back=eager,c=2", "craw-a:ghosts=literal"].map(str::to_owned));
    policies
}

pub fn settings(policy: &str, frames: u32, reserve: u32) -> Settings {
    let spec = PolicySpec::parse(policy).expect("a policy of the catalog");
    let policy = spec.resolve(frames - reserve, Ratio::whole(8)).expect("the options fit");
    Settings { policy, frames, reserve, patience: Duration::from_secs(5) }
}

pub fn twin(policy: &str, frames: u32) -> Box<dyn Twin> {
    let (name, options) = policy.split_once(':').unwrap_or((policy, ""));
    let pairs = options.split(',').filter_map(|option| option.split_once('='));
    let parameters: Vec<_> = pairs.chain([("bits", "mapped")]).collect();
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

/// A program that remembers what it wrote.
struct Program {
    memory: ModelMemory,
    paging: Box<dyn Paging>,
    events: Arc<Mutex<Vec<Event>>>,
    expected: Vec<u64>,
    written: u64,
}

impl Program {
    fn new(settings: &Settings, store: ModelStore, initial: InitialPages) -> Self {
        let memory = ModelMemory::new(PAGES);
        let events = Arc::new(Mutex::new(Vec::new()));
        let log = events.clone();
        let parts = Parts {
            program: Box::new(memory.clone()),
            store: Box::new(store),
            events: Box::new(move |event| {
                log.lock().expect("no test panics with this lock").push(event)
            }),
            initial,
        };
        Program {
            memory,
            paging: settings.build(parts),
            events,
            expected: vec![0; PAGES as usize],
            written: 0,
        }
    }

    fn until_it_works(&mut self, mut what: impl FnMut(&mut dyn Paging) -> Result<(), PagerError>) {
        for _ in 0..100 {
            match what(&mut *self.paging) {
                Ok(()) => return,
                Err(PagerError::Store { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
        panic!("a store that fails now and then was asked a hundred times");
    }

    fn access(&mut self, page: PageId, op: Op) {
        if !self.memory.allows(page, op) {
            self.until_it_works(|paging| paging.serve(page, op));
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
                assert_eq!(self.memory.read(PageId(page)), self.expected[page as usize]);
            }
            Step::Write(page) => {
                while !self.memory.allows(PageId(page), Op::Write) {
                    self.access(PageId(page), Op::Write);
                }
                self.written += 1;
                self.memory.write(PageId(page), self.written);
                self.expected[page as usize] = self.written;
            }
            Step::Discard(first, pages) => {
                self.until_it_works(|paging| paging.discard(PageId(first), pages));
                self.expected[first as usize..][..pages as usize].fill(0);
            }
        }
    }

    fn log(&self) -> Vec<Event> {
        self.events.lock().expect("no test panics with this lock").clone()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_pager_does_what_the_twin_does(
        steps in steps(300), frames in 2u32..12, reserve in 0u32..5, pace in any::<u64>(),
    ) {
        for policy in policies() {
            let settings = settings(&policy, frames + reserve, reserve);
            let mut program = Program::new(&settings, ModelStore::new(0, pace), InitialPages::new());
            for &step in &steps {
                program.step(step);
                program.paging.check_invariants();
                prop_assert!(program.memory.present_pages() <= (frames + reserve) as usize);
            }
            let log = program.log();
            let expected = events_of_twin(&mut *twin(&policy, frames), &log);
            prop_assert_eq!(&log, &expected, "{}", policy);
            let counts = program.paging.counts();
            let served = counts.pages_read + counts.pages_zero_filled + counts.pages_rescued;
            prop_assert_eq!(served, counts.misses, "{}", policy);
            prop_assert_eq!(counts.references, counts.misses + counts.minor_faults + counts.write_protect_faults);
        }
    }

    #[test]
    fn no_page_is_lost_by_a_store_that_fails_now_and_then(
        steps in steps(200), frames in 2u32..8, reserve in 0u32..4, pace in any::<u64>(), fails_every in 2u64..5,
    ) {
        for policy in ["clock", "craw:write_back=eager", "cfclock"] {
            let settings = settings(policy, frames + reserve, reserve);
            let mut program =
                Program::new(&settings, ModelStore::new(fails_every, pace), InitialPages::new());
            for &step in &steps {
                program.step(step);
            }
            if reserve == 0 && !policy.contains("eager") {
                // The same victim is written again: nothing else changes.
                let log = program.log();
                prop_assert_eq!(&log, &events_of_twin(&mut *twin(policy, frames), &log), "{}", policy);
            }
        }
    }

    #[test]
    fn a_forked_child_has_what_its_parent_had_and_neither_sees_what_the_other_writes(
        before in steps(150), parents in steps(80), childs in steps(80), reserve in 0u32..3, pace in any::<u64>(),
    ) {
        let settings = settings("craw", 6 + reserve, reserve);
        let store = ModelStore::new(0, pace);
        let mut parent = Program::new(&settings, store.clone(), InitialPages::new());
        before.iter().for_each(|&step| parent.step(step));
        let copies = parent.paging.copy_for_fork().expect("the store works");
        for page in (0..PAGES).map(PageId) {
            prop_assert!(!parent.memory.allows(page, Op::Write), "a page changes while the child is forked");
        }
        let mut child = Program::new(&settings, store.another(), copies);
        child.expected = parent.expected.clone();
        child.written = 1_000_000;
        for index in 0..parents.len().max(childs.len()) {
            parents.get(index).into_iter().for_each(|&step| parent.step(step));
            childs.get(index).into_iter().for_each(|&step| child.step(step));
        }
        for page in 0..PAGES {
            parent.step(Step::Read(page));
            child.step(Step::Read(page));
        }
        parent.paging.check_invariants();
        child.paging.check_invariants();
        let log = child.log();
        prop_assert_eq!(&log, &events_of_twin(&mut *twin("craw", 6), &log));
        drop((parent, child));
        prop_assert_eq!(store.occupied_bytes(), 0, "a slot was not given back");
    }

    #[test]
    fn every_dirty_page_that_leaves_is_written_once(steps in steps(300), reserve in 0u32..5) {
        let settings = settings("clock", 6 + reserve, reserve);
        let mut program = Program::new(&settings, ModelStore::new(0, u64::MAX), InitialPages::new());
        steps.iter().for_each(|&step| program.step(step));
        // A copy for a fork waits for all writes.
        program.paging.copy_for_fork().expect("the store works");
        let counts = program.paging.counts();
        let left_dirty = counts.dirty_evictions + counts.write_backs;
        prop_assert_eq!(counts.pages_written + counts.pages_not_written, left_dirty);
    }
}
