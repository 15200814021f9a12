//! A store without a drive.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use clockhand_pager::store::{PageAddress, Slot, Store, WriteTicket};

use super::PAGE_BYTES;

/// What stores share: the contents of slots, and how many own each.
#[derive(Default)]
struct Slots {
    contents: HashMap<u32, [u8; PAGE_BYTES]>,
    owners: HashMap<u32, u32>,
    next_slot: u32,
}

/// A store whose writes take effect as late as they may, of what the pages hold then or held when the write was started.
/// It asserts what every store demands. Reads are done when they end. Clones are the same store.
#[derive(Clone)]
pub struct ModelStore {
    slots: Arc<Mutex<Slots>>,
    under_way: Arc<Mutex<VecDeque<UnderWay>>>,
    next_ticket: u64,
    /// The read that has been begun.
    read: Vec<(Slot, PageAddress)>,
    /// Bits that say, for each look without waiting, whether a write has finished.
    pace: u64,
}

/// The slots that are written, from where, and what was there when the write was started.
type UnderWay = (WriteTicket, Vec<(Slot, PageAddress, Box<[u8; PAGE_BYTES]>)>);

impl ModelStore {
    pub fn new(pace: u64) -> Self {
        let (slots, under_way) = (Arc::default(), Arc::default());
        ModelStore { slots, under_way, next_ticket: 0, read: Vec::new(), pace }
    }

    /// Another store with the same slots, for another memory.
    pub fn another(&self) -> Self {
        ModelStore { under_way: Arc::default(), ..self.clone() }
    }

    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().expect("no test panics with this lock")
    }

    fn is_being_written(&self, slot: Slot) -> bool {
        self.under_way().iter().flat_map(|(_, pages)| pages).any(|(written, ..)| *written == slot)
    }

    fn under_way(&self) -> MutexGuard<'_, VecDeque<UnderWay>> {
        self.under_way.lock().expect("no test panics with this lock")
    }
}

impl Store for ModelStore {
    fn allocate(&mut self, pages: usize, slots: &mut Vec<Slot>) -> io::Result<()> {
        let mut shared = self.slots();
        for _ in 0..pages {
            let slot = shared.next_slot;
            slots.push(Slot(slot));
            shared.owners.insert(slot, 1);
            shared.next_slot += 1;
        }
        Ok(())
    }

    fn release(&mut self, slot: Slot) {
        let mut shared = self.slots();
        let owners = shared.owners.get_mut(&slot.0).expect("the slot has an owner");
        *owners -= 1;
        if *owners == 0 {
            shared.owners.remove(&slot.0);
            shared.contents.remove(&slot.0);
        }
    }

    fn share(&mut self, slot: Slot) {
        assert!(!self.is_being_written(slot), "{slot:?} is shared while it is written");
        *self.slots().owners.get_mut(&slot.0).expect("the slot has an owner") += 1;
    }

    fn is_shared(&self, slot: Slot) -> bool {
        self.slots().owners[&slot.0] > 1
    }

    unsafe fn read(&mut self, slot: Slot, into: PageAddress) -> io::Result<()> {
        assert!(!self.is_being_written(slot), "{slot:?} is read while it is written");
        let content = self.slots().contents[&slot.0];
        // SAFETY: the caller guarantees that the page is valid.
        unsafe { into.0.cast::<[u8; PAGE_BYTES]>().write(content) };
        Ok(())
    }

    unsafe fn begin_read(&mut self, pages: &[(Slot, PageAddress)]) -> io::Result<()> {
        assert!(self.read.is_empty(), "the last read has ended");
        self.read.extend_from_slice(pages);
        for &(slot, into) in pages {
            // The bytes mean nothing before the read has ended. SAFETY: the caller guarantees that the page is valid.
            unsafe { into.0.cast::<[u8; PAGE_BYTES]>().write([0xBB; PAGE_BYTES]) };
            assert!(!self.is_being_written(slot), "{slot:?} is read while it is written");
        }
        Ok(())
    }

    fn has_read(&mut self) -> bool {
        self.pace = self.pace.rotate_left(1);
        self.read.is_empty() || self.pace & 1 == 0
    }

    fn end_read_of(&mut self, slot: Slot) -> bool {
        let at = self.read.iter().position(|&(read, _)| read == slot).expect("it is being read");
        let (slot, into) = self.read.swap_remove(at);
        // SAFETY: the caller that began the read has kept the pages valid until now.
        unsafe { self.read(slot, into) }.is_ok()
    }

    fn end_read(&mut self) -> io::Result<()> {
        let read = std::mem::take(&mut self.read);
        // SAFETY: the caller that began the read has kept the pages valid until now.
        read.into_iter().try_for_each(|(slot, into)| unsafe { self.read(slot, into) })
    }

    unsafe fn start_write(&mut self, pages: &[(Slot, PageAddress)]) -> io::Result<WriteTicket> {
        self.next_ticket += 1;
        let ticket = WriteTicket(self.next_ticket);
        assert!(!pages.is_empty(), "a write has pages");
        for &(slot, _) in pages {
            assert!(!self.is_being_written(slot), "{slot:?} is written twice at once");
            assert!(!self.is_shared(slot), "{slot:?} is written and belongs to another memory too");
        }
        let held = |&(slot, address): &(Slot, PageAddress)| {
            // SAFETY: the caller that starts the write guarantees that the page is valid.
            (slot, address, Box::new(unsafe { address.0.cast::<[u8; PAGE_BYTES]>().read() }))
        };
        self.under_way().push_back((ticket, pages.iter().map(held).collect()));
        Ok(ticket)
    }

    fn finished_write(&mut self, wait: bool) -> Option<(WriteTicket, io::Result<()>)> {
        self.pace = self.pace.rotate_left(1);
        if !wait && self.pace & 1 == 0 {
            return None;
        }
        let (ticket, pages) = self.under_way().pop_front()?;
        for (slot, address, held) in pages {
            // SAFETY: the caller that started the write has kept the page valid until now.
            let holds = unsafe { address.0.cast::<[u8; PAGE_BYTES]>().read() };
            // A slot that was released meanwhile is free now.
            if self.slots().owners.contains_key(&slot.0) {
                let content = if self.pace & 2 == 0 { *held } else { holds };
                self.slots().contents.insert(slot.0, content);
            }
        }
        Some((ticket, Ok(())))
    }

    fn occupied_bytes(&self) -> u64 {
        (self.slots().owners.len() * PAGE_BYTES) as u64
    }
}
