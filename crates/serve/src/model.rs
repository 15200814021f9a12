//! A model checker of the store: small scripts on a storage that loses power after each I/O, in every way in which
//! unsynced sectors can be kept or lost. The commit and the recovery that it runs are the real ones.

mod oracle;
mod recoveries;
mod script;
mod storage;
mod tests;

use std::cell::RefCell;
use std::rc::Rc;

use clockhand_policy::Ratio;
use clockhand_policy::buffer::catalog::{BufferSpec, Visitor};
use clockhand_policy::buffer::{BufferSize, PagesPerBlock, WriteBuffer};

use crate::Engine;
use crate::store::layout::{Header, Layout};
use crate::store::mutant::Mutant;
use crate::store::{Goal, Next, Store, recovery};
use oracle::{Covers, Oracle};
use recoveries::Recoveries;
use script::{Op, PAGES};
use storage::{DISK, ModelFile, NVM, SECTORS_PER_PAGE, World};

const PAGE_BYTES: usize = 1024;
const DISK_BYTES: u64 = PAGES * PAGE_BYTES as u64;

/// What is checked.
#[derive(Clone, Debug)]
struct Setup {
    buffer: &'static str,
    total: u32,
    spare_slots: u32,
    /// Whether batches go to the disk as late as they may, or, of the even requests, one then; and whether answers come
    /// after the next request has entered.
    is_behind: bool,
    mutant: Option<Mutant>,
}

struct Boxed;

impl Visitor for Boxed {
    type Output = Box<dyn WriteBuffer + Send>;
    fn visit<B: WriteBuffer + Send + 'static>(self, buffer: B) -> Self::Output {
        Box::new(buffer)
    }
}

impl Setup {
    fn buffer(&self) -> Box<dyn WriteBuffer + Send> {
        let size = BufferSize {
            pages: self.total,
            pages_per_block: PagesPerBlock::new(2).unwrap(),
            distinct_pages: PAGES as u32,
            drive_pages: PAGES,
        };
        let spec = BufferSpec::parse(self.buffer).unwrap();
        spec.resolve(size, Ratio::whole(8)).unwrap().build(Boxed)
    }

    fn header(&self, buffer: &dyn WriteBuffer) -> Header {
        let capacity = buffer.capacity();
        let slots = capacity.nvm_pages + capacity.dram_pages + self.spare_slots;
        Header {
            layout: Layout { page_bytes: PAGE_BYTES as u32, slots },
            nvm_pages: capacity.nvm_pages,
            identity: 7,
            counter: 1,
            epoch: 1,
            durable_seq: 0,
            disk_bytes: DISK_BYTES,
            disk_identity: [0, 0],
        }
    }
}

/// What a check found.
type Verdict = Result<(), String>;

/// A server under check, from an empty start.
struct Session<'a> {
    setup: &'a Setup,
    world: Rc<RefCell<World>>,
    engine: Engine<ModelFile, ModelFile>,
    oracle: Oracle,
    /// What is still to be answered.
    waiting: Option<(Goal, Covers)>,
}

impl<'a> Session<'a> {
    fn new(setup: &'a Setup) -> Self {
        let buffer = setup.buffer();
        let has_nvm = buffer.capacity().nvm_pages > 0;
        let header = setup.header(&*buffer);
        let nvm_sectors = (header.layout.file_bytes() / 512) as usize;
        let world = Rc::new(RefCell::new(World::new(
            PAGES as usize * SECTORS_PER_PAGE,
            if has_nvm { nvm_sectors } else { 0 },
        )));
        let (disk, nvm) = (ModelFile::new(&world, DISK), ModelFile::new(&world, NVM));
        let nvm = has_nvm.then(|| {
            recovery::write_empty(&nvm, header, &[]).unwrap();
            (nvm, recovery::header_of(&ModelFile::new(&world, NVM)).unwrap())
        });
        let mut store = Store::new(disk, DISK_BYTES, PAGE_BYTES, nvm);
        store.make(setup.mutant);
        if setup.is_behind {
            store.write_behind();
        }
        world.borrow_mut().snapshots.clear();
        let engine = Engine::new(buffer, store);
        Session { setup, world, engine, oracle: Oracle::new(), waiting: None }
    }

    fn run(&mut self, op: Op) {
        let entered = self.oracle.enter(op);
        let goal = match op {
            Op::Write(..) | Op::Force(..) => {
                let (at, bytes) = op.bytes();
                let payload = oracle::payload(entered, bytes);
                let is_forced = matches!(op, Op::Force(..));
                self.engine.write(at, &payload, is_forced).expect("nothing fails")
            }
            Op::Trim(page) => {
                let at = page * PAGE_BYTES as u64;
                self.engine.trim(at, PAGE_BYTES as u64, false).expect("nothing fails")
            }
            Op::Flush => Some(self.engine.flush().expect("nothing fails")),
            Op::Idle => {
                self.idle();
                None
            }
        };
        let waited = self.waiting.take();
        self.waiting = goal.map(|goal| (goal, self.oracle.covers(op)));
        self.answer(waited);
        if !self.setup.is_behind {
            self.answer_all();
        }
        if entered.is_multiple_of(2) {
            self.engine.store_mut().write_one();
        }
        self.engine.store().check_invariants();
        self.engine.buffer().check_invariants();
        self.check_contents();
    }

    fn answer_all(&mut self) {
        let waited = self.waiting.take();
        self.answer(waited);
    }

    fn answer(&mut self, waited: Option<(Goal, Covers)>) {
        if let Some((goal, covers)) = waited {
            self.engine.store_mut().reach(goal).expect("nothing fails");
            self.oracle.answered(covers);
            self.world.borrow_mut().covered = Rc::new(self.oracle.covered());
        }
    }

    fn idle(&mut self) {
        self.answer_all();
        let wanted = self.setup.spare_slots as usize;
        for _ in 0..16 {
            let store = self.engine.store_mut();
            store.write_all();
            match store.next_when_idle(wanted) {
                Next::Reached | Next::Write => return,
                Next::SyncDisk => store.sync_disk().unwrap(),
                Next::SyncNvm => store.sync_nvm().unwrap(),
            }
        }
        panic!("an idle store comes to rest");
    }

    /// Every sector reads as the last write to it.
    fn check_contents(&mut self) {
        let mut into = Vec::new();
        for page in 0..PAGES {
            // Looks past the buffer, which must not learn of it.
            into.resize(PAGE_BYTES, 0);
            self.engine.peek(page, &mut into);
            for (part, sector) in into.chunks(512).zip(page as usize * SECTORS_PER_PAGE..) {
                assert_eq!(oracle::value_of(part), self.oracle.newest(sector), "page {page}");
            }
        }
    }
}

/// Runs a script, and checks every state that a power failure can leave after each of its I/Os.
fn check_script(setup: &Setup, script: &[Op], recoveries: &mut Recoveries) -> Verdict {
    check_from(0, setup, script, recoveries)
}

/// The same for the I/Os of the last request: those before are the I/Os of a shorter script.
fn check_last(setup: &Setup, script: &[Op], recoveries: &mut Recoveries) -> Verdict {
    check_from(script.len() - 1, setup, script, recoveries)
}

fn check_from(first: usize, setup: &Setup, script: &[Op], recoveries: &mut Recoveries) -> Verdict {
    let mut session = Session::new(setup);
    for (index, &op) in script.iter().enumerate() {
        if index == first {
            session.world.borrow_mut().snapshots.clear();
        }
        session.run(op);
    }
    let described = |what: String| format!("{setup:?} {script:?}: {what}");
    let snapshots = std::mem::take(&mut session.world.borrow_mut().snapshots);
    for snapshot in &snapshots {
        recoveries.check(setup, snapshot, &session.oracle).map_err(described)?;
    }
    Ok(())
}

/// Runs a script and an idle second, and damages each sector of the NVM file: it is refused, an error, or harmless.
fn check_damage(setup: &Setup, script: &[Op], recoveries: &mut Recoveries) -> Verdict {
    let mut session = Session::new(setup);
    for &op in script {
        session.run(op);
    }
    session.run(Op::Idle);
    let state = session.world.borrow().newest_state();
    for sector in 0..state.sectors[NVM].len() {
        for how in [0_u8, 0xA5] {
            let damaged = storage::damaged(&state, sector, how);
            let verdict = recoveries.check_damaged(setup, &damaged, &session.oracle);
            verdict.map_err(|what| format!("{setup:?} {script:?} sector {sector}: {what}"))?;
        }
    }
    Ok(())
}
