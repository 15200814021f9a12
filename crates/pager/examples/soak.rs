//! Random programs on real memory for as long as one likes, outside of continuous integration:
//! `cargo run --release -p clockhand-pager --example soak -- MINUTES [SEED]`.
//!
//! Each round runs several regions at once, each with a policy, a store, a reserve and threads of its own, and most with
//! a store that fails now and then. Every word that is read is verified, ranges are given back in between, and at the end
//! of a round the events of each region are compared with those of the policy's twin. A failure prints the seed of its
//! round; `0 SEED` repeats that round alone: its programs, though not the order in which their threads run.

use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use clockhand_pager::store::{
    CompressedRam, DEFAULT_LEVEL, FaultScript, FaultyStore, Store, SwapFile, WriteFault,
};
use clockhand_pager::{Bits, Counts, Event, PagedRegion, PredictorSet, Settings, obstacle};
use clockhand_policy::catalog::{CATALOG, Kind, PolicySpec};
use clockhand_policy::{Op, PageId, Ratio, SplitMix64};

const PAGE_WORDS: usize = 512;

/// Pages that another thread has written while they were taken away are held beyond the frames until the next fault: at
/// most as many as are read together.
const MOST_LATE: u64 = 16;

/// How often a line says how far it is.
const REPORT_EVERY: Duration = Duration::from_secs(30);

/// Pseudo-random numbers.
#[derive(Clone)]
struct Random(SplitMix64);

impl Random {
    fn new(seed: u64) -> Self {
        Random(SplitMix64::new(seed))
    }

    fn next(&mut self) -> u64 {
        self.0.next()
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// A region and the work of its program.
#[derive(Clone, Debug)]
struct Plan {
    policy: String,
    policy_frames: u32,
    reserve: u32,
    read_ahead: u32,
    pages: u32,
    threads: usize,
    bits: Bits,
    is_in_file: bool,
    is_faulty: bool,
    phases: u64,
    steps: u64,
    write_percent: u64,
}

fn policies() -> Vec<String> {
    let names = CATALOG.iter().filter(|entry| entry.kind == Kind::BitDriven);
    let names = names.map(|entry| entry.description.name);
    let options = [
        "clock:insert_ref=1",
        "nru:mode=periodic,period=50",
        "cfclock:clear_passed=false",
        "craw:write_back=eager,c=2",
        "craw-a:write_back=eager",
        "craw-a:ghosts=literal",
    ];
    names.chain(options).map(str::to_owned).collect()
}

impl Plan {
    fn new(random: &mut Random) -> Self {
        let policies = policies();
        let policy_frames = 16 + random.below(100) as u32;
        Plan {
            policy: policies[random.below(policies.len() as u64) as usize].clone(),
            policy_frames,
            reserve: [0, 0, 1, 4, 16, 64][random.below(6) as usize],
            read_ahead: [0, 0, 1, 7, 32][random.below(5) as usize],
            pages: policy_frames / 2 + random.below(8 * u64::from(policy_frames)) as u32 + 1,
            threads: 1 + random.below(4) as usize,
            bits: [Bits::Mapped, Bits::Sensed][random.below(2) as usize],
            is_in_file: random.below(2) == 0,
            is_faulty: random.below(3) > 0,
            phases: 1 + random.below(4),
            steps: 200 + random.below(4000),
            write_percent: random.below(101),
        }
    }

    fn settings(&self) -> Settings {
        let spec = PolicySpec::parse(&self.policy).expect("a policy of the catalog");
        let policy = spec.resolve(self.policy_frames, Ratio::whole(8)).expect("the options fit");
        let Plan { reserve, read_ahead, .. } = *self;
        let frames = self.policy_frames + reserve + read_ahead;
        Settings {
            policy,
            frames,
            reserve,
            read_ahead,
            predictors: PredictorSet::ALL,
            bits: self.bits,
            patience: Duration::from_secs(10),
        }
    }

    fn twins_events(&self, log: &[Event]) -> Vec<Event> {
        let (name, options) = self.policy.split_once(':').unwrap_or((&self.policy, ""));
        let pairs = options.split(',').filter_map(|option| option.split_once('='));
        let parameters: Vec<_> = pairs.chain([("bits", self.bits.word())]).collect();
        let mut twin = clockhand_twins::build(name, self.policy_frames as usize, &parameters, &[]);
        let number = |page: u64| PageId(page as u32);
        let mut events = Vec::with_capacity(log.len());
        for event in log {
            let Event::Reference { page, op, .. } = *event else { continue };
            let twins_op = match op {
                Op::Read => clockhand_twins::Op::Read,
                Op::Write => clockhand_twins::Op::Write,
            };
            let outcome = twin.reference(page.0.into(), twins_op);
            let backs = outcome.written_back.iter();
            events.extend(backs.map(|&page| Event::WriteBack { page: number(page) }));
            let evicted = outcome.evicted.iter();
            events.extend(
                evicted.map(|&(page, is_dirty)| Event::Eviction { page: number(page), is_dirty }),
            );
            events.push(Event::Reference { page, op, is_miss: !outcome.hit });
        }
        events
    }
}

/// The log with the write-backs of each reference before its evictions: a twin does not say how a kernel mixes them.
fn writes_first(log: &[Event]) -> Vec<Event> {
    let is_write = |event: &&Event| matches!(event, Event::WriteBack { .. });
    let between = log.split_inclusive(|event| matches!(event, Event::Reference { .. }));
    let sorted = between.flat_map(|events| {
        let (writes, others): (Vec<&Event>, Vec<&Event>) = events.iter().partition(is_write);
        writes.into_iter().chain(others)
    });
    sorted.copied().collect()
}

/// What goes wrong now and then.
fn befall(script: &FaultScript, random: &mut Random) {
    let nth = 1 + random.below(3);
    match random.below(8) {
        0 => script.fail_write(nth, WriteFault::Refused),
        1 => script.fail_write(nth, WriteFault::Fails),
        2 => script.fail_write(nth, WriteFault::Short { pages: nth as usize }),
        3 => script.refuse_allocations(nth),
        4 => script.fail_read(nth),
        5 => script.hold_writes(),
        _ => script.let_writes_finish(),
    }
}

/// A region and what its program has written.
struct Soaked {
    plan: Plan,
    region: PagedRegion,
    events: Arc<Mutex<Vec<Event>>>,
    script: FaultScript,
}

impl Soaked {
    fn new(plan: Plan, store: Box<dyn Store>, script: FaultScript) -> Self {
        let events = Arc::new(Mutex::new(Vec::new()));
        let log = events.clone();
        let sink = move |event| log.lock().expect("the lock is never poisoned").push(event);
        let region = PagedRegion::new(plan.pages, plan.settings(), store, Box::new(sink));
        Soaked { plan, region: region.expect("this kernel pages"), events, script }
    }

    /// A word of a thread in a page: at the beginning, in the middle or at the end.
    fn word(&self, page: u32, thread: usize, place: usize) -> *mut u64 {
        assert!(page < self.plan.pages && thread < 8);
        let index = [thread, PAGE_WORDS / 2 + thread, PAGE_WORDS - 1 - thread][place];
        // SAFETY: the word lies in the region.
        unsafe { self.region.as_ptr().cast::<u64>().add(page as usize * PAGE_WORDS + index) }
    }

    /// The work of one thread in one phase; returns the words that it verified.
    fn work(&self, thread: usize, expected: &mut [[u64; 3]], mut random: Random) -> u64 {
        let plan = &self.plan;
        let (pages, hot_pages) = (u64::from(plan.pages), u64::from(plan.pages / 4 + 1));
        for step in 0..plan.steps {
            if plan.is_faulty && random.below(50) == 0 {
                befall(&self.script, &mut random);
            }
            let page = match random.below(10) {
                0 => step % pages,
                1..7 => (step / 100 + random.below(hot_pages)) % pages,
                _ => random.below(pages),
            } as u32;
            let place = random.below(3) as usize;
            let word = self.word(page, thread, place);
            // SAFETY: the region is memory, and each word is used by one thread.
            let found = unsafe { word.read_volatile() };
            let wanted = &mut expected[page as usize][place];
            assert_eq!(found, *wanted, "page {page}, thread {thread}, place {place}, step {step}");
            if random.below(100) < plan.write_percent {
                *wanted = random.next();
                // SAFETY: as above.
                unsafe { word.write_volatile(*wanted) };
            }
        }
        plan.steps
    }

    /// Runs the program, and verifies everything; counts, and words that were verified.
    fn run(self, mut random: Random) -> (Counts, u64) {
        let plan = self.plan.clone();
        let mut expected = vec![vec![[0u64; 3]; plan.pages as usize]; plan.threads];
        let mut verified = 0;
        for _ in 0..plan.phases {
            verified += thread::scope(|scope| {
                let threads: Vec<_> = expected
                    .iter_mut()
                    .enumerate()
                    .map(|(number, expected)| {
                        let (soaked, random) = (&self, Random::new(random.next()));
                        scope.spawn(move || soaked.work(number, expected, random))
                    })
                    .collect();
                threads.into_iter().map(|thread| thread.join().expect("it verifies")).sum::<u64>()
            });
            let first = random.below(plan.pages.into()) as u32;
            let pages = random.below(u64::from(plan.pages - first) + 1) as u32;
            self.region.discard(first, pages).expect("a store that fails is no reason");
            for expected in &mut expected {
                expected[first as usize..][..pages as usize].fill([0; 3]);
            }
        }
        for (thread, expected) in expected.iter().enumerate() {
            for (page, expected) in expected.iter().enumerate() {
                for (place, &expected) in expected.iter().enumerate() {
                    // SAFETY: the region is valid memory, and nothing else uses it now.
                    let found = unsafe { self.word(page as u32, thread, place).read_volatile() };
                    assert_eq!(found, expected, "page {page}, thread {thread} at the end");
                    verified += 1;
                }
            }
        }
        let counts = self.region.finish().counts;
        let log = self.events.lock().expect("the lock is never poisoned");
        assert!(writes_first(&log) == plan.twins_events(&log), "the twin decides otherwise");
        let served = counts.pages_read + counts.pages_zero_filled + counts.pages_rescued;
        assert_eq!(served, counts.misses, "{counts:?}");
        let left_dirty = counts.dirty_evictions + counts.write_backs;
        assert_eq!(counts.pages_written + counts.pages_not_written, left_dirty, "{counts:?}");
        let frames = u64::from(plan.policy_frames + plan.reserve + plan.read_ahead);
        let late = if plan.bits == Bits::Sensed { MOST_LATE } else { 0 };
        assert!(counts.peak_resident_pages <= frames + late, "{counts:?}");
        (counts, verified)
    }
}

/// What has been done.
#[derive(Default)]
struct Totals {
    rounds: u64,
    regions: u64,
    verified: u64,
    counts: Counts,
}

impl Totals {
    fn add(&mut self, counts: &Counts, verified: u64) {
        self.regions += 1;
        self.verified += verified;
        let all = &mut self.counts;
        all.references += counts.references;
        all.misses += counts.misses;
        all.pages_read += counts.pages_read;
        all.pages_rescued += counts.pages_rescued;
        all.pages_written += counts.pages_written;
        all.pages_not_written += counts.pages_not_written;
        all.write_backs += counts.write_backs;
        all.discarded_pages += counts.discarded_pages;
        all.write_errors += counts.write_errors;
    }

    fn print(&self, started: Instant) {
        let Totals { rounds, regions, verified, counts } = self;
        println!(
            "{:>5.0} s: {rounds} rounds, {regions} regions, {verified} words verified; {} references, {} misses, {} \
             pages read, {} rescued, {} written, {} not written, {} write-backs, {} discarded, {} write errors",
            started.elapsed().as_secs_f64(),
            counts.references,
            counts.misses,
            counts.pages_read,
            counts.pages_rescued,
            counts.pages_written,
            counts.pages_not_written,
            counts.write_backs,
            counts.discarded_pages,
            counts.write_errors,
        );
    }
}

/// One round: several regions at once, which share a swap file and a compressed memory.
fn round(seed: u64, folder: &Path, totals: &mut Totals) {
    let mut random = Random::new(seed);
    let file = SwapFile::open(&folder.join("soak.swap"), None).expect("a swap file can be made");
    let ram = CompressedRam::new(DEFAULT_LEVEL, None).expect("zstd has this level");
    let plans: Vec<_> = (0..1 + random.below(4)).map(|_| Plan::new(&mut random)).collect();
    let regions = plans.into_iter().map(|plan| {
        let script = FaultScript::default();
        let store: Box<dyn Store> = match plan.is_in_file {
            true => Box::new(FaultyStore::new(file.store().expect("a ring"), &script)),
            false => Box::new(FaultyStore::new(ram.store().expect("a compressor"), &script)),
        };
        (Soaked::new(plan, store, script), Random::new(random.next()))
    });
    let regions: Vec<_> = regions.collect();
    let plans: Vec<_> = regions.iter().map(|(soaked, _)| format!("{:?}", soaked.plan)).collect();
    let results: Vec<_> = thread::scope(|scope| {
        let running: Vec<_> = regions
            .into_iter()
            .map(|(soaked, random)| scope.spawn(move || soaked.run(random)))
            .collect();
        running.into_iter().map(|region| region.join()).collect()
    });
    for (result, plan) in results.into_iter().zip(plans) {
        match result {
            Ok((counts, verified)) => totals.add(&counts, verified),
            Err(_) => panic!("the round with seed {seed} failed, in {plan}"),
        }
    }
    assert_eq!(ram.occupied_bytes(), 0, "the round with seed {seed}: pages were not given back");
    totals.rounds += 1;
}

/// Minutes and seed.
fn arguments() -> Option<(f64, u64)> {
    let mut arguments = std::env::args().skip(1);
    let minutes = arguments.next()?.parse().ok()?;
    let now = || SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs());
    let seed = arguments.next().map_or(Some(now()), |seed| seed.parse().ok())?;
    Some((minutes, seed))
}

fn main() -> ExitCode {
    let Some((minutes, mut seed)) = arguments() else {
        eprintln!("usage: soak MINUTES [SEED]; 0 minutes run one round");
        return ExitCode::from(2);
    };
    if let Some(obstacle) = obstacle() {
        eprintln!("{obstacle}");
        return ExitCode::FAILURE;
    }
    println!("seed {seed}");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (started, mut totals) = (Instant::now(), Totals::default());
    let mut reported = started;
    loop {
        round(seed, folder.path(), &mut totals);
        if started.elapsed().as_secs_f64() >= 60.0 * minutes {
            break;
        }
        if reported.elapsed() >= REPORT_EVERY {
            totals.print(started);
            reported = Instant::now();
        }
        seed += 1;
    }
    totals.print(started);
    println!("every word was as written, and every decision as the twin's");
    ExitCode::SUCCESS
}
