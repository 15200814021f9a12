//! Recoveries of states, and of the states that a power failure leaves during a recovery.

use std::cell::RefCell;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::oracle::{Oracle, value_of};
use super::storage::{DISK, ModelFile, NVM, Snapshot, State, World};
use super::{Setup, Verdict};
use crate::store::recovery::{DiskFacts, Image, header_of};

/// The largest number of states of a snapshot that are all tried.
const LIMIT_STATES: usize = 4096;

const FACTS: DiskFacts = DiskFacts { bytes: super::DISK_BYTES, identity: [0, 0] };

/// The value of each sector of the disk.
type DiskValues = Rc<Vec<u64>>;

/// The result of recoveries of a state, or the defect.
type Ends = Rc<Result<FxHashSet<DiskValues>, String>>;

#[derive(Default)]
pub(super) struct Recoveries {
    known: FxHashMap<State, Ends>,
    pub(super) states: u64,
    random: u64,
}

impl Recoveries {
    pub(super) fn check(&mut self, setup: &Setup, snapshot: &Snapshot, oracle: &Oracle) -> Verdict {
        let mut verdict = Ok(());
        for state in self.states_of(snapshot, LIMIT_STATES) {
            self.states += 1;
            let ends = self.ends_of(setup, state, 2);
            match &*ends {
                Err(what) => return Err(what.clone()),
                Ok(ends) => {
                    for values in ends {
                        verdict = verdict.and(allowed(values, oracle, &snapshot.covered));
                    }
                }
            }
            verdict.clone()?;
        }
        verdict
    }

    pub(super) fn check_damaged(
        &mut self,
        setup: &Setup,
        state: &State,
        oracle: &Oracle,
    ) -> Verdict {
        let world = Rc::new(RefCell::new(World::of_state(state, Rc::default())));
        let (disk, nvm) = (ModelFile::new(&world, DISK), ModelFile::new(&world, NVM));
        let Some(header) = header_of(&nvm) else { return Ok(()) };
        let mut image = Image::read(&nvm, header).map_err(|error| error.to_string())?;
        if !image.damage.is_empty() {
            return check_given_up(image, &disk, &nvm, &world, oracle);
        }
        image.make(setup.mutant);
        image.recover(&disk, &nvm, FACTS).map_err(|error| error.to_string())?;
        allowed(&values_of(&world.borrow().newest_state()), oracle, &oracle.covered())
    }

    /// What all recoveries of a state end in; with a crash after each of their I/Os, `depth` times.
    fn ends_of(&mut self, setup: &Setup, state: State, depth: usize) -> Ends {
        if let Some(ends) = self.known.get(&state) {
            return Rc::clone(ends);
        }
        if self.known.len() > 200_000 {
            self.known.clear();
        }
        let ends = Rc::new(self.recover(setup, &state, depth));
        self.known.insert(state, Rc::clone(&ends));
        ends
    }

    fn recover(
        &mut self,
        setup: &Setup,
        state: &State,
        depth: usize,
    ) -> Result<FxHashSet<DiskValues>, String> {
        let (last, snapshots) = recovered(setup, state)?;
        let mut ends = FxHashSet::default();
        ends.insert(Rc::clone(&values_of(&last)));
        let (again, _) = recovered(setup, &last)?;
        if values_of(&again) != values_of(&last) {
            return Err("a second recovery differs from the first".to_owned());
        }
        if depth > 0 {
            for snapshot in &snapshots {
                for state in self.states_of(snapshot, 256) {
                    match &*self.ends_of(setup, state, depth - 1) {
                        Err(what) => return Err(what.clone()),
                        Ok(others) => ends.extend(others.iter().cloned()),
                    }
                }
            }
        }
        Ok(ends)
    }

    /// The states that a power failure can leave: all if they are few, else none, all, each alone, all but each, and
    /// many drawn.
    fn states_of(&mut self, snapshot: &Snapshot, limit: usize) -> Vec<State> {
        let choices: Vec<(usize, usize, usize)> = (0..2)
            .flat_map(|file| {
                let versions = snapshot.versions[file].iter().map(|versions| versions.len());
                versions.enumerate().map(move |(sector, count)| (file, sector, count))
            })
            .filter(|&(_, _, count)| count > 1)
            .collect();
        let base = State {
            sectors: [DISK, NVM].map(|file| {
                snapshot.versions[file].iter().map(|versions| versions[0].clone()).collect()
            }),
        };
        let state_of = |chosen: &dyn Fn(usize) -> usize| {
            let mut state = base.clone();
            for (index, &(file, sector, _)) in choices.iter().enumerate() {
                state.sectors[file][sector] =
                    snapshot.versions[file][sector][chosen(index)].clone();
            }
            state
        };
        let product = choices.iter().try_fold(1_usize, |product, &(_, _, count)| {
            product.checked_mul(count).filter(|&product| product <= limit)
        });
        if let Some(product) = product {
            return (0..product)
                .map(|mut number| {
                    let digits: Vec<usize> = choices
                        .iter()
                        .map(|&(_, _, count)| {
                            let digit = number % count;
                            number /= count;
                            digit
                        })
                        .collect();
                    state_of(&|index| digits[index])
                })
                .collect();
        }
        let last = |index: usize| choices[index].2 - 1;
        let mut states = vec![state_of(&|_| 0), state_of(&last)];
        for alone in 0..choices.len() {
            states.push(state_of(&|index| if index == alone { last(index) } else { 0 }));
            states.push(state_of(&|index| if index == alone { 0 } else { last(index) }));
        }
        for _ in 0..limit {
            let drawn: Vec<usize> = choices.iter().map(|&(_, _, count)| self.draw(count)).collect();
            states.push(state_of(&|index| drawn[index]));
        }
        states
    }

    pub(super) fn draw(&mut self, below: usize) -> usize {
        // SplitMix64.
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.random;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((word ^ (word >> 31)) % below as u64) as usize
    }

    pub(super) fn seeded(seed: u64) -> Self {
        Recoveries { random: seed, ..Recoveries::default() }
    }
}

/// Lost content must be an error of its page, not other content.
fn check_given_up(
    mut image: Image,
    disk: &ModelFile,
    nvm: &ModelFile,
    world: &Rc<RefCell<World>>,
    oracle: &Oracle,
) -> Verdict {
    let knows_all = image
        .damage
        .iter()
        .all(|damage| matches!(damage, crate::store::recovery::Damage::Content(_)));
    image.give_up_damaged(nvm).map_err(|error| error.to_string())?;
    let header = image.recover(disk, nvm, FACTS).map_err(|error| error.to_string())?;
    let again = Image::read(nvm, header).map_err(|error| error.to_string())?;
    if !again.damage.is_empty() || again.lost != image.lost {
        return Err("what is given up is not remembered".to_owned());
    }
    if !knows_all {
        // The page of an entry that cannot be read is not known.
        return Ok(());
    }
    let values = values_of(&world.borrow().newest_state());
    let is_lost = |sector: usize| {
        let page = (sector / super::SECTORS_PER_PAGE) as u64;
        image.lost.iter().any(|lost| lost.page == page)
    };
    let covered = oracle.covered();
    let wrong = (0..values.len())
        .find(|&sector| !is_lost(sector) && !oracle.allows(sector, values[sector], &covered));
    wrong.map_or(Ok(()), |sector| Err(format!("sector {sector} is wrong after giving up")))
}

fn recovered(setup: &Setup, state: &State) -> Result<(State, Vec<Snapshot>), String> {
    let world = Rc::new(RefCell::new(World::of_state(state, Rc::default())));
    if state.sectors[NVM].is_empty() {
        return Ok((state.clone(), Vec::new()));
    }
    let (disk, nvm) = (ModelFile::new(&world, DISK), ModelFile::new(&world, NVM));
    let header = header_of(&nvm).ok_or("a crash left no valid header")?;
    let mut image = Image::read(&nvm, header).map_err(|error| error.to_string())?;
    if !image.damage.is_empty() {
        return Err(format!("a crash looks like damage: {:?}", image.damage));
    }
    image.make(setup.mutant);
    image.recover(&disk, &nvm, FACTS).map_err(|error| error.to_string())?;
    let snapshots = std::mem::take(&mut world.borrow_mut().snapshots);
    let last = world.borrow().newest_state();
    Ok((last, snapshots))
}

fn values_of(state: &State) -> DiskValues {
    Rc::new(state.sectors[DISK].iter().map(|sector| value_of(sector)).collect())
}

fn allowed(values: &DiskValues, oracle: &Oracle, covered: &[usize]) -> Verdict {
    let wrong = (0..values.len()).find(|&sector| !oracle.allows(sector, values[sector], covered));
    match wrong {
        None => Ok(()),
        Some(sector) => {
            let value = values[sector];
            Err(format!("sector {sector} reads as request {value} after a crash"))
        }
    }
}
