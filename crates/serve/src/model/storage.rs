//! A storage of sectors that keeps each version since the last sync.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use crate::store::Medium;

pub(super) const DISK: usize = 0;
pub(super) const NVM: usize = 1;
const SECTOR_BYTES: usize = 512;
pub(super) const SECTORS_PER_PAGE: usize = super::PAGE_BYTES / SECTOR_BYTES;

pub(super) type Sector = Rc<[u8]>;

/// What both files hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub(super) sectors: [Vec<Sector>; 2],
}

/// What both files may hold after a power failure: of each sector any of these versions.
#[derive(Clone)]
pub(super) struct Snapshot {
    pub(super) versions: [Vec<Rc<Vec<Sector>>>; 2],
    /// What was covered by answered requests.
    pub(super) covered: Rc<Vec<usize>>,
}

pub(super) struct World {
    /// Of each sector the versions since it was durable, that one first.
    versions: [Vec<Rc<Vec<Sector>>>; 2],
    pub(super) covered: Rc<Vec<usize>>,
    /// One after each I/O.
    pub(super) snapshots: Vec<Snapshot>,
}

impl World {
    pub(super) fn new(disk_sectors: usize, nvm_sectors: usize) -> Self {
        let zero: Sector = Rc::from(&[0; SECTOR_BYTES][..]);
        let zeros = |sectors| (0..sectors).map(|_| Rc::new(vec![zero.clone()])).collect();
        World {
            versions: [zeros(disk_sectors), zeros(nvm_sectors)],
            covered: Rc::default(),
            snapshots: Vec::new(),
        }
    }

    pub(super) fn of_state(state: &State, covered: Rc<Vec<usize>>) -> Self {
        let durable = |sectors: &Vec<Sector>| -> Vec<_> {
            sectors.iter().map(|sector| Rc::new(vec![sector.clone()])).collect()
        };
        let versions = [durable(&state.sectors[DISK]), durable(&state.sectors[NVM])];
        World { versions, covered, snapshots: Vec::new() }
    }

    /// As if all that was written were kept.
    pub(super) fn newest_state(&self) -> State {
        let newest = |versions: &Vec<Rc<Vec<Sector>>>| -> Vec<Sector> {
            versions.iter().map(|versions| versions.last().expect("one").clone()).collect()
        };
        State { sectors: [newest(&self.versions[DISK]), newest(&self.versions[NVM])] }
    }

    fn write_sector(&mut self, file: usize, sector: usize, content: &[u8]) {
        let versions = &mut self.versions[file][sector];
        if &**versions.last().expect("one") != content {
            Rc::make_mut(versions).push(Rc::from(content));
        }
    }

    fn done(&mut self) {
        let snapshot =
            Snapshot { versions: self.versions.clone(), covered: Rc::clone(&self.covered) };
        self.snapshots.push(snapshot);
    }
}

/// One of the two files.
pub(super) struct ModelFile {
    world: Rc<RefCell<World>>,
    file: usize,
}

impl ModelFile {
    pub(super) fn new(world: &Rc<RefCell<World>>, file: usize) -> Self {
        ModelFile { world: Rc::clone(world), file }
    }
}

impl Medium for ModelFile {
    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let world = self.world.borrow();
        let first = at as usize / SECTOR_BYTES;
        for (part, sector) in into.chunks_mut(SECTOR_BYTES).zip(first..) {
            let versions = &world.versions[self.file][sector];
            part.copy_from_slice(versions.last().expect("one"));
        }
        Ok(())
    }

    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let mut world = self.world.borrow_mut();
        assert_eq!(at as usize % SECTOR_BYTES, 0);
        for (part, sector) in bytes.chunks(SECTOR_BYTES).zip(at as usize / SECTOR_BYTES..) {
            world.write_sector(self.file, sector, part);
        }
        world.done();
        Ok(())
    }

    fn clear(&self, at: u64, bytes: u64, _allocates: bool) -> io::Result<()> {
        self.write(at, &vec![0; bytes as usize])
    }

    fn sync(&self) -> io::Result<()> {
        let mut world = self.world.borrow_mut();
        for versions in &mut world.versions[self.file] {
            if versions.len() > 1 {
                let last = versions.last().expect("one").clone();
                *versions = Rc::new(vec![last]);
            }
        }
        world.done();
        Ok(())
    }
}

/// A state with one sector of the NVM file overwritten.
pub(super) fn damaged(state: &State, sector: usize, how: u8) -> State {
    let mut state = state.clone();
    let content: Vec<u8> = match how {
        0 => vec![0; SECTOR_BYTES],
        mask => state.sectors[NVM][sector].iter().map(|byte| byte ^ mask).collect(),
    };
    state.sectors[NVM][sector] = content.into();
    state
}
