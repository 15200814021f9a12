//! A device that is not there: a store whose operations take a device's times.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::{PageAddress, Slot, Store, WriteTicket};

/// How much earlier than asked a sleep ends, so that the rest can be waited for precisely.
const SLEEP_ENDS_EARLY: Duration = Duration::from_micros(150);

/// A device that does one operation at a time, as a flash chip does; clones are the same device.
#[derive(Clone, Debug)]
pub struct EmulatedDevice {
    read: Duration,
    write: Duration,
    free_at: Arc<Mutex<Option<Instant>>>,
}

impl EmulatedDevice {
    /// A device that takes `read` and `write` for a page.
    #[must_use]
    pub fn new(read: Duration, write: Duration) -> EmulatedDevice {
        EmulatedDevice { read, write, free_at: Arc::default() }
    }

    /// `store`, as slow as the device. It should be faster itself.
    #[must_use]
    pub fn store(&self, store: Box<dyn Store>) -> EmulatedStore {
        EmulatedStore { store, device: self.clone(), under_way: VecDeque::new() }
    }

    /// Takes the device for so long, from `start` or from when it is free; when that will have passed.
    fn occupy(&self, start: Instant, time: Duration) -> Instant {
        let mut free_at = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
        let end = free_at.map_or(start, |free_at| free_at.max(start)) + time;
        *free_at = Some(end);
        end
    }

    fn times(&self, time: Duration, pages: usize) -> Duration {
        time.saturating_mul(u32::try_from(pages).unwrap_or(u32::MAX))
    }
}

/// A store on an [`EmulatedDevice`].
pub struct EmulatedStore {
    store: Box<dyn Store>,
    device: EmulatedDevice,
    /// Writes in the order they end: when, and whether the store below has ended it, and how.
    under_way: VecDeque<(WriteTicket, Instant, Option<io::Result<()>>)>,
}

impl EmulatedStore {
    /// Asks the store below for writes that have ended, until there is none, or the first is.
    fn ask_below(&mut self, wait: bool) {
        while self.under_way.front().is_some_and(|(.., result)| result.is_none())
            && let Some((ticket, result)) = self.store.finished_write(wait)
        {
            let write = self.under_way.iter_mut().find(|(known, ..)| *known == ticket);
            write.expect("we have started it").2 = Some(result);
        }
    }
}

fn wait_until(end: Instant) {
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        match left.checked_sub(SLEEP_ENDS_EARLY) {
            Some(most) if !most.is_zero() => thread::sleep(most),
            _ => std::hint::spin_loop(),
        }
    }
}

impl Store for EmulatedStore {
    crate::as_below!(allocate, release, share, is_shared, occupied_bytes);

    unsafe fn read(&mut self, slot: Slot, into: PageAddress) -> io::Result<()> {
        let end = self.device.occupy(Instant::now(), self.device.read);
        // SAFETY: as the caller promises.
        let result = unsafe { self.store.read(slot, into) };
        wait_until(end);
        result
    }

    unsafe fn read_together(&mut self, pages: &[(Slot, PageAddress)]) -> io::Result<()> {
        let time = self.device.times(self.device.read, pages.len());
        let end = self.device.occupy(Instant::now(), time);
        // SAFETY: as the caller promises.
        let result = unsafe { self.store.read_together(pages) };
        wait_until(end);
        result
    }

    unsafe fn start_write(&mut self, pages: &[(Slot, PageAddress)]) -> io::Result<WriteTicket> {
        // The time that the store below takes to begin is part of the device's time.
        let start = Instant::now();
        // SAFETY: as the caller promises.
        let ticket = unsafe { self.store.start_write(pages) }?;
        let end = self.device.occupy(start, self.device.times(self.device.write, pages.len()));
        self.under_way.push_back((ticket, end, None));
        Ok(ticket)
    }

    fn finished_write(&mut self, wait: bool) -> Option<(WriteTicket, io::Result<()>)> {
        let &(_, end, _) = self.under_way.front()?;
        if !wait && Instant::now() < end {
            return None;
        }
        self.ask_below(wait);
        if self.under_way.front().is_some_and(|(.., result)| result.is_none()) {
            return None;
        }
        wait_until(end);
        let (ticket, _, result) = self.under_way.pop_front()?;
        result.map(|result| (ticket, result))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{CompressedRam, DEFAULT_LEVEL, Page};

    const READ: Duration = Duration::from_micros(500);
    const WRITE: Duration = Duration::from_micros(2_000);

    fn store(device: &EmulatedDevice) -> EmulatedStore {
        let ram = CompressedRam::new(DEFAULT_LEVEL, None).unwrap();
        device.store(Box::new(ram.store().unwrap()))
    }

    #[test]
    fn no_operation_is_faster_than_the_device() {
        let device = EmulatedDevice::new(READ, WRITE);
        let mut store = store(&device);
        let (mut one, mut other) = (Page([7; _]), Page([8; _]));
        let mut slots = Vec::new();
        store.allocate(2, &mut slots).unwrap();
        let pages = [(slots[0], one.address()), (slots[1], other.address())];
        let start = Instant::now();
        // SAFETY: both pages live on and are not touched meanwhile.
        let ticket = unsafe { store.start_write(&pages) }.unwrap();
        assert!(start.elapsed() >= 2 * WRITE || store.finished_write(false).is_none());
        let (finished, result) = store.finished_write(true).unwrap();
        assert!(finished == ticket && result.is_ok() && start.elapsed() >= 2 * WRITE);
        assert!(store.finished_write(true).is_none());
        let mut back = Page::ZEROS;
        let start = Instant::now();
        // SAFETY: the page lives on and is not touched meanwhile.
        unsafe { store.read(slots[1], back.address()) }.unwrap();
        assert!(back == other && start.elapsed() >= READ);
        let start = Instant::now();
        // SAFETY: both pages live on, and nothing else touches them.
        unsafe { store.read_together(&pages) }.unwrap();
        assert!((one, other) == (Page([7; _]), Page([8; _])) && start.elapsed() >= 2 * READ);
    }

    #[test]
    fn a_read_waits_for_the_writes_before_it_in_any_store_of_the_device() {
        let device = EmulatedDevice::new(READ, WRITE);
        let (mut one, mut other) = (store(&device), store(&device));
        let (mut page, mut kept) = (Page([1; _]), Vec::new());
        one.allocate(1, &mut kept).unwrap();
        let mut slots = Vec::new();
        other.allocate(1, &mut slots).unwrap();
        // SAFETY: the page lives on and is not touched meanwhile.
        unsafe { other.start_write(&[(slots[0], page.address())]) }.unwrap();
        other.finished_write(true).unwrap().1.unwrap();
        let start = Instant::now();
        // SAFETY: the page lives on until the write has finished.
        unsafe { one.start_write(&[(kept[0], page.address())]) }.unwrap();
        let mut back = Page::ZEROS;
        // SAFETY: the page lives on and is not touched meanwhile.
        unsafe { other.read(slots[0], back.address()) }.unwrap();
        assert!(start.elapsed() >= WRITE + READ);
        assert!(one.finished_write(false).is_some(), "its time has passed");
    }
}
