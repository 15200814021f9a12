//! What other threads of the program do, and what goes wrong in its store.

use std::io;
use std::sync::{Arc, Mutex};

use clockhand_pager::as_below;
use clockhand_pager::store::{FaultScript, PageAddress, Slot, Store, WriteFault, WriteTicket};
use clockhand_policy::{Op, PageId};
use proptest::prelude::*;

use super::{Expected, PAGES};
use crate::model::ModelMemory;

/// A store in which, whenever it is asked to write, another thread of the program has just written to all pages that it
/// can write without a fault.
pub(super) struct BusyProgram<S> {
    pub(super) store: S,
    pub(super) memory: ModelMemory,
    pub(super) expected: Arc<Mutex<Expected>>,
}

impl<S> BusyProgram<S> {
    fn write_where_allowed(&self) {
        let mut expected = self.expected.lock().expect("no test panics with this lock");
        for page in (0..PAGES).filter(|&page| self.memory.allows(PageId(page), Op::Write)) {
            expected.written += 1;
            expected.contents[page as usize] = expected.written;
            self.memory.write(PageId(page), expected.written);
        }
    }
}

impl<S: Store> Store for BusyProgram<S> {
    as_below!(allocate, release, share, is_shared, end_read_of, end_read, occupied_bytes);

    unsafe fn read(&mut self, slot: Slot, into: PageAddress) -> io::Result<()> {
        // SAFETY: as the caller promises.
        unsafe { self.store.read(slot, into) }
    }

    unsafe fn begin_read(&mut self, pages: &[(Slot, PageAddress)]) -> io::Result<()> {
        // SAFETY: as the caller promises.
        let begun = unsafe { self.store.begin_read(pages) };
        self.write_where_allowed();
        begun
    }

    fn has_read(&mut self) -> bool {
        self.write_where_allowed();
        self.store.has_read()
    }

    unsafe fn start_write(&mut self, pages: &[(Slot, PageAddress)]) -> io::Result<WriteTicket> {
        // SAFETY: as the caller promises.
        let ticket = unsafe { self.store.start_write(pages) };
        self.write_where_allowed();
        ticket
    }

    fn finished_write(&mut self, wait: bool) -> Option<(WriteTicket, io::Result<()>)> {
        self.write_where_allowed();
        self.store.finished_write(wait)
    }
}

/// Another thread of the program, which writes to about every third page at the moment at which it is taken away.
pub(super) struct WritesAtTheLastMoment {
    pub(super) memory: ModelMemory,
    pub(super) expected: Arc<Mutex<Expected>>,
    pub(super) state: u64,
}

impl WritesAtTheLastMoment {
    pub(super) fn acts(mut self) -> impl FnMut(PageId) + Send + 'static {
        move |page| {
            self.state = self.state.wrapping_mul(6364136223846793005).wrapping_add(1);
            if (self.state >> 33).is_multiple_of(3) && self.memory.allows(page, Op::Write) {
                let mut expected = self.expected.lock().expect("no test panics with this lock");
                expected.written += 1;
                expected.contents[page.index()] = expected.written;
                self.memory.write(page, expected.written);
            }
        }
    }
}

/// What goes wrong in a store, before a step of a program.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mishap {
    Write(u64, WriteFault),
    Read(u64),
    FullStore(u64),
    HeldWrites,
    ShownWrites,
}

pub(super) fn mishaps() -> impl Strategy<Value = Vec<Option<Mishap>>> {
    let fault = prop_oneof![
        Just(WriteFault::Refused),
        Just(WriteFault::Fails),
        (1..4usize).prop_map(|pages| WriteFault::Short { pages }),
    ];
    let mishap = prop_oneof![
        30 => Just(None),
        4 => (1..4u64, fault).prop_map(|(nth, fault)| Some(Mishap::Write(nth, fault))),
        2 => (1..3u64).prop_map(|nth| Some(Mishap::Read(nth))),
        1 => (1..4u64).prop_map(|times| Some(Mishap::FullStore(times))),
        1 => Just(Some(Mishap::HeldWrites)),
        1 => Just(Some(Mishap::ShownWrites)),
    ];
    prop::collection::vec(mishap, 200)
}

pub(super) fn befall(script: &FaultScript, mishap: Mishap) {
    match mishap {
        Mishap::Write(nth, fault) => script.fail_write(nth, fault),
        Mishap::Read(nth) => script.fail_read(nth),
        Mishap::FullStore(times) => script.refuse_allocations(times),
        Mishap::HeldWrites => script.hold_writes(),
        Mishap::ShownWrites => script.let_writes_finish(),
    }
}
