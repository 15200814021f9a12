//! Random operations of several stores that share their slots, against a plain map of what each slot holds.

use std::collections::BTreeMap;

use clockhand_twins::cases;
use proptest::prelude::*;

use super::{page_of, read, store_in};
use crate::store::{
    CompressedRam, DEFAULT_LEVEL, FaultScript, FaultyStore, Page, Slot, Store, SwapFile,
    WriteFault, WriteTicket,
};

#[derive(Clone, Debug)]
enum Step {
    /// New slots, and a write of them all.
    Write {
        store: usize,
        pages: usize,
        seed: u64,
    },
    /// Another content for a slot.
    Rewrite {
        store: usize,
        slot: usize,
        seed: u64,
    },
    Read {
        store: usize,
        slot: usize,
    },
    Share {
        store: usize,
        slot: usize,
    },
    Release {
        store: usize,
        slot: usize,
    },
    Finish {
        store: usize,
        wait: bool,
    },
}

const STORES: usize = 3;

fn step() -> impl Strategy<Value = Step> {
    let (store, slot) = (0..STORES, any::<usize>());
    prop_oneof![
        3 => (store.clone(), 1_usize..24, any::<u64>())
            .prop_map(|(store, pages, seed)| Step::Write { store, pages, seed }),
        2 => (store.clone(), slot, any::<u64>())
            .prop_map(|(store, slot, seed)| Step::Rewrite { store, slot, seed }),
        3 => (store.clone(), any::<usize>()).prop_map(|(store, slot)| Step::Read { store, slot }),
        1 => (store.clone(), any::<usize>()).prop_map(|(store, slot)| Step::Share { store, slot }),
        5 => (store.clone(), any::<usize>()).prop_map(|(store, slot)| Step::Release { store, slot }),
        2 => (store, any::<bool>()).prop_map(|(store, wait)| Step::Finish { store, wait }),
    ]
}

/// The known content of a slot.
struct Known {
    owners: u32,
    content: Page,
    /// The store and the ticket of the write that is under way.
    write: Option<(usize, WriteTicket)>,
}

/// Pages, kept where they are, and the slots that they are written to.
type Pages = Vec<(Slot, Box<Page>)>;

struct Model {
    stores: Vec<Box<dyn Store>>,
    slots: BTreeMap<u32, Known>,
    /// Writes that have not finished, and the stores that work on them.
    writes: Vec<(usize, WriteTicket, Pages)>,
}

impl Model {
    fn new(stores: Vec<Box<dyn Store>>) -> Model {
        Model { stores, slots: BTreeMap::new(), writes: Vec::new() }
    }

    fn run(&mut self, steps: Vec<Step>) {
        for step in steps {
            self.step(step);
        }
        for store in 0..STORES {
            while self.finish(store, true) {}
        }
        assert!(self.writes.is_empty());
        for (slot, known) in std::mem::take(&mut self.slots) {
            assert_eq!(read(&mut *self.stores[0], Slot(slot)).unwrap(), known.content);
            for _ in 0..known.owners {
                self.stores[1].release(Slot(slot));
            }
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Write { store, pages, seed } => self.write_new(store, pages, seed),
            Step::Rewrite { store, slot, seed } => {
                if let Some(slot) = self.settled(slot)
                    && !self.stores[store].is_shared(slot)
                {
                    self.start(store, vec![(slot, Box::new(page_of(seed)))]);
                }
            }
            Step::Read { store, slot } => {
                if let Some(slot) = self.settled(slot) {
                    let content = read(&mut *self.stores[store], slot).unwrap();
                    assert_eq!(content, self.slots[&slot.0].content);
                }
            }
            Step::Share { store, slot } => {
                if let Some(slot) = self.settled(slot) {
                    self.stores[store].share(slot);
                    self.slots.get_mut(&slot.0).unwrap().owners += 1;
                    assert!(self.stores[store].is_shared(slot));
                }
            }
            Step::Release { store, slot } => self.release(store, slot),
            Step::Finish { store, wait } => {
                self.finish(store, wait);
            }
        }
    }

    fn write_new(&mut self, store: usize, pages: usize, seed: u64) {
        let mut slots = Vec::new();
        if let Err(error) = self.stores[store].allocate(pages, &mut slots) {
            assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
            assert_eq!(slots, [], "nothing is taken from a full store");
            return;
        }
        assert_eq!(slots.len(), pages);
        for slot in &slots {
            assert!(!self.slots.contains_key(&slot.0), "{slot:?} has an owner");
            let known = Known { owners: 1, content: Page::ZEROS, write: None };
            self.slots.insert(slot.0, known);
        }
        let content = |index| Box::new(page_of(seed.wrapping_add(index)));
        self.start(store, slots.into_iter().zip((0..).map(content)).collect());
    }

    fn start(&mut self, store: usize, mut pages: Pages) {
        let addresses: Vec<_> =
            pages.iter_mut().map(|(slot, page)| (*slot, page.address())).collect();
        let ticket = loop {
            // SAFETY: the boxes stay in `writes` until the ticket has been returned.
            match unsafe { self.stores[store].start_write(&addresses) } {
                Ok(ticket) => break ticket,
                Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::Other),
            }
        };
        for (slot, page) in &pages {
            if let Some(known) = self.slots.get_mut(&slot.0) {
                known.content = (**page).clone();
                known.write = Some((store, ticket));
            }
        }
        self.writes.push((store, ticket, pages));
    }

    /// A slot that is not being written: reads, shares and other writes wait for that.
    fn settled(&self, pick: usize) -> Option<Slot> {
        let settled: Vec<u32> = self
            .slots
            .iter()
            .filter(|(_, known)| known.write.is_none())
            .map(|(&slot, _)| slot)
            .collect();
        (!settled.is_empty()).then(|| Slot(settled[pick % settled.len()]))
    }

    /// Any slot may be released, but one that is being written only through the store that writes it.
    fn release(&mut self, store: usize, pick: usize) {
        if self.slots.is_empty() {
            return;
        }
        let index = pick % self.slots.len();
        let (&slot, known) = self.slots.iter_mut().nth(index).unwrap();
        let store = known.write.map_or(store, |(store, _)| store);
        self.stores[store].release(Slot(slot));
        known.owners -= 1;
        if known.owners == 0 {
            self.slots.remove(&slot);
        }
    }

    /// Takes note of a finished write; starts it again if it failed, without what has been released meanwhile.
    fn finish(&mut self, store: usize, wait: bool) -> bool {
        let Some((ticket, result)) = self.stores[store].finished_write(wait) else {
            let is_waiting = self.writes.iter().any(|write| write.0 == store);
            assert!(!(wait && is_waiting), "waiting ends with a write that has finished");
            return false;
        };
        let position =
            self.writes.iter().position(|write| (write.0, write.1) == (store, ticket)).unwrap();
        let (_, _, mut pages) = self.writes.remove(position);
        let is_written_by = |known: &Known| known.write == Some((store, ticket));
        pages.retain(|(slot, _)| self.slots.get(&slot.0).is_some_and(is_written_by));
        for (slot, _) in &pages {
            self.slots.get_mut(&slot.0).unwrap().write = None;
        }
        if result.is_err() && !pages.is_empty() {
            self.start(store, pages);
        }
        true
    }
}

fn fault() -> impl Strategy<Value = WriteFault> {
    prop_oneof![
        Just(WriteFault::Refused),
        Just(WriteFault::Fails),
        (1_usize..8).prop_map(|pages| WriteFault::Short { pages }),
    ]
}

fn faulty(store: impl Store + 'static, script: &FaultScript) -> Box<dyn Store> {
    Box::new(FaultyStore::new(store, script))
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn a_swap_file_gives_back_what_was_written(steps in prop::collection::vec(step(), 1..200)) {
        let folder = tempfile::tempdir().unwrap();
        let limit_bytes = Some(4096 * 300);
        let file = SwapFile::open(&folder.path().join("swap"), limit_bytes).unwrap();
        let stores: Option<Vec<_>> = (0..STORES).map(|_| Some(Box::new(store_in(&file)?) as _)).collect();
        if let Some(stores) = stores {
            Model::new(stores).run(steps);
            file.check_all_free();
        }
    }

    #[test]
    fn compressed_memory_gives_back_what_was_written(steps in prop::collection::vec(step(), 1..200)) {
        let ram = CompressedRam::new(DEFAULT_LEVEL, None).unwrap();
        let stores = (0..STORES).map(|_| Box::new(ram.store().unwrap()) as Box<dyn Store>);
        Model::new(stores.collect()).run(steps);
        ram.check_all_free();
    }

    #[test]
    fn failed_writes_lose_nothing(
        steps in prop::collection::vec(step(), 1..200),
        faults in prop::collection::btree_map(1_u64..60, fault(), 0..20),
        are_held in any::<bool>(),
        is_file in any::<bool>(),
    ) {
        let script = FaultScript::default();
        for (nth, fault) in faults {
            script.fail_write(nth, fault);
        }
        if are_held {
            script.hold_writes();
        }
        let folder = tempfile::tempdir().unwrap();
        let file = SwapFile::open(&folder.path().join("swap"), None).unwrap();
        let ram = CompressedRam::new(DEFAULT_LEVEL, None).unwrap();
        let stores: Option<Vec<_>> = (0..STORES)
            .map(|_| match is_file {
                true => Some(faulty(store_in(&file)?, &script)),
                false => Some(faulty(ram.store().unwrap(), &script)),
            })
            .collect();
        if let Some(stores) = stores {
            Model::new(stores).run(steps);
            file.check_all_free();
            ram.check_all_free();
        }
    }
}
