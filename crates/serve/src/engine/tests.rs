//! An engine with failing files.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use super::*;
use crate::buffer::{ServedBuffer, build};
use crate::store::Next;
use crate::store::layout::{Entry, Header, Kind, Layout, content_sum};
use crate::store::recovery::{Damage, Image, header_of, write_empty};

const PAGE_BYTES: usize = 4096;
const PAGES: u64 = 64;

/// A file in memory that fails on command.
#[derive(Clone, Default)]
struct Faulty {
    bytes: Rc<RefCell<Vec<u8>>>,
    reads_fail: Rc<Cell<bool>>,
    writes_fail: Rc<Cell<Option<i32>>>,
    syncs_fail: Rc<Cell<bool>>,
}

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

impl Faulty {
    fn of(bytes: usize) -> Self {
        Faulty { bytes: Rc::new(RefCell::new(vec![0; bytes])), ..Faulty::default() }
    }
}

impl Medium for Faulty {
    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        if self.reads_fail.get() {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        into.copy_from_slice(&self.bytes.borrow()[at as usize..at as usize + into.len()]);
        Ok(())
    }

    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        if let Some(error) = self.writes_fail.get() {
            return Err(io::Error::from_raw_os_error(error));
        }
        self.bytes.borrow_mut()[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn clear(&self, _: u64, _: u64, _: bool) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn sync(&self) -> io::Result<()> {
        match self.syncs_fail.get() {
            true => Err(io::Error::from_raw_os_error(EIO)),
            false => Ok(()),
        }
    }
}

struct Tried {
    engine: Engine<Faulty, Faulty>,
    disk: Faulty,
    nvm: Faulty,
}

fn tried(text: &str) -> Tried {
    let buffer = build(&ServedBuffer::parse(text).unwrap().resolve(PAGES as u32).unwrap());
    let disk = Faulty::of(PAGES as usize * PAGE_BYTES);
    let nvm_pages = buffer.capacity().nvm_pages;
    let header = Header {
        layout: Layout { page_bytes: PAGE_BYTES as u32, slots: nvm_pages + 64 },
        nvm_pages,
        identity: 1,
        counter: 1,
        epoch: 1,
        durable_seq: 0,
        disk_bytes: PAGES * PAGE_BYTES as u64,
        disk_identity: [0, 0],
    };
    let nvm = Faulty::of(header.layout.file_bytes() as usize);
    let file = (nvm_pages > 0).then(|| {
        write_empty(&nvm, header, &[]).unwrap();
        (nvm.clone(), header_of(&nvm).unwrap())
    });
    let store = Store::new(disk.clone(), header.disk_bytes, PAGE_BYTES, file);
    Tried { engine: Engine::new(buffer, store), disk, nvm }
}

impl Tried {
    fn write(&mut self, page: u64, value: u8) -> Result<(), Refused> {
        let payload = [value; PAGE_BYTES];
        self.engine.write(page * PAGE_BYTES as u64, &payload, false).map(drop)
    }

    fn read(&mut self, page: u64) -> Result<u8, Refused> {
        let mut into = Vec::new();
        let at = self.engine.read(page * PAGE_BYTES as u64, 4096, &mut into)?;
        Ok(into[at])
    }

    fn flush(&mut self) -> Result<(), Refused> {
        let goal = self.engine.flush()?;
        self.engine.store_mut().reach(goal).map_err(|_| Refused::Io)
    }

    fn on_disk(&self, page: usize) -> u8 {
        self.disk.bytes.borrow()[page * PAGE_BYTES]
    }
}

#[test]
fn a_full_disk_holds_pages_until_there_is_space_again() {
    for buffer in ["fab:total=4", "lru:total=2", "clock-dnv:total=8", "cbm:total=8"] {
        let mut tried = tried(buffer);
        tried.disk.writes_fail.set(Some(ENOSPC));
        for page in 0..20 {
            tried.write(page, page as u8 + 1).unwrap();
        }
        assert!(tried.engine.is_degraded(), "{buffer}");
        assert!((0..20).all(|page| tried.read(page) == Ok(page as u8 + 1)), "{buffer}");
        assert_eq!(tried.flush(), Err(Refused::Space), "{buffer}");
        tried.disk.writes_fail.set(None);
        assert_eq!(tried.flush(), Ok(()), "{buffer}");
        tried.engine.drain(&|| false).unwrap();
        assert!((0..20).all(|page| tried.on_disk(page) == page as u8 + 1), "{buffer}");
        assert!(!tried.engine.is_degraded());
    }
}

#[test]
fn a_page_that_is_held_and_written_again_is_written_once_in_its_newest_version() {
    let mut tried = tried("lru:total=1");
    tried.disk.writes_fail.set(Some(ENOSPC));
    for value in 1..=3 {
        tried.write(0, value).unwrap();
        tried.write(1, value).unwrap();
    }
    tried.disk.writes_fail.set(None);
    assert_eq!(tried.flush(), Ok(()));
    assert_eq!((tried.on_disk(0), tried.on_disk(1)), (3, 3));
}

#[test]
fn a_failed_read_is_an_error_that_does_not_last() {
    let mut tried = tried("fab:total=8");
    tried.disk.reads_fail.set(true);
    assert_eq!(tried.read(3), Err(Refused::Io));
    let part = tried.engine.write(3 * 4096 + 100, &[1; 10], false);
    assert_eq!(part, Err(Refused::Io), "the rest of the page cannot be read");
    tried.disk.reads_fail.set(false);
    assert_eq!(tried.read(3), Ok(0), "the buffer has the page, whose content is read now");
}

#[test]
fn after_a_failed_sync_nothing_is_promised_and_reads_go_on() {
    for buffer in ["fab:total=4", "clock-dnv:total=8"] {
        let mut tried = tried(buffer);
        tried.write(0, 1).unwrap();
        tried.disk.syncs_fail.set(true);
        tried.nvm.syncs_fail.set(true);
        assert_eq!(tried.flush(), Err(Refused::Io), "{buffer}");
        tried.disk.syncs_fail.set(false);
        tried.nvm.syncs_fail.set(false);
        assert_eq!(tried.flush(), Err(Refused::Io), "no sync is repeated: {buffer}");
        assert_eq!(tried.write(1, 1), Err(Refused::Io));
        assert_eq!(tried.engine.trim(0, 4096, false), Err(Refused::Io));
        assert_eq!(tried.read(0), Ok(1), "{buffer}");
        assert!(tried.engine.is_degraded());
    }
}

#[test]
fn a_page_that_is_damaged_in_nvm_is_an_error_and_never_reaches_the_disk() {
    let mut tried = tried("clock-dnv:total=8");
    let goal = tried.engine.write(0, &[7; 4096], true).unwrap().unwrap();
    tried.engine.store_mut().reach(goal).unwrap();
    assert_eq!(tried.engine.store().next(goal).unwrap(), Next::Reached);
    let slot_at = tried.engine.store().header().unwrap().layout.slot_at(0) as usize;
    tried.nvm.bytes.borrow_mut()[slot_at + 9] ^= 1;
    assert_eq!(tried.read(0), Err(Refused::Io));
    tried.engine.drain(&|| false).unwrap();
    assert_eq!((tried.on_disk(0), tried.engine.damaged_pages()), (0, 1));
    assert_eq!(tried.read(0), Err(Refused::Io));
    tried.write(0, 9).unwrap();
    assert_eq!(tried.read(0), Ok(9), "it was written whole");
}

#[test]
fn pages_on_their_way_are_readable_and_reach_the_disk_in_their_order() {
    for buffer in ["fab:total=4", "lru:total=2", "clock-dnv:total=8"] {
        let mut tried = tried(buffer);
        tried.engine.store_mut().write_behind();
        for value in 1..=3 {
            (0..20).for_each(|page| tried.write(page, value).unwrap());
        }
        assert!(tried.engine.store().is_behind(), "{buffer}");
        assert!((0..20).all(|page| tried.read(page) == Ok(3)), "{buffer}");
        if !buffer.starts_with("clock-dnv") {
            assert_eq!(tried.on_disk(0), 0, "{buffer}: nobody has written yet");
        }
        tried.engine.trim(0, 4096, false).unwrap();
        assert_eq!(tried.read(0), Ok(0), "{buffer}");
        assert_eq!(tried.flush(), Ok(()), "{buffer}");
        tried.engine.drain(&|| false).unwrap();
        assert_eq!(tried.on_disk(0), 0, "{buffer}: what was on its way is not newer than a trim");
        assert!((1..20).all(|page| tried.on_disk(page) == 3), "{buffer}");
        let counts = tried.engine.counts();
        let sent = counts.dirty_pages_flushed + counts.clean_pages_flushed;
        assert_eq!(tried.engine.store().counts().disk_pages_written, sent, "{buffer}");
    }
}

#[test]
fn a_flush_whose_pages_are_refused_after_it_entered_is_an_error() {
    let mut tried = tried("fab:total=8");
    tried.engine.store_mut().write_behind();
    tried.write(0, 1).unwrap();
    tried.disk.writes_fail.set(Some(ENOSPC));
    let goal = tried.engine.flush().unwrap();
    assert_eq!(tried.engine.store().next(goal).unwrap(), Next::Write);
    let error = tried.engine.store_mut().reach(goal).unwrap_err();
    assert_eq!(Refused::of(error.kind()), Refused::Space);
    assert_eq!(tried.engine.take_notes().len(), 1);
    assert_eq!((tried.engine.counts().errors, tried.read(0)), (1, Ok(1)));
    tried.disk.writes_fail.set(None);
    assert_eq!(tried.flush(), Ok(()));
    assert_eq!(tried.on_disk(0), 1);
}

/// A file in memory that threads share.
struct Shared(Mutex<Vec<u8>>);

impl Medium for Shared {
    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        into.copy_from_slice(&self.0.lock().unwrap()[at as usize..][..into.len()]);
        Ok(())
    }

    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.lock().unwrap()[at as usize..][..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn clear(&self, _: u64, _: u64, _: bool) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_read_beside_has_the_content_of_its_moment_and_writes_wait_for_it() {
    let bytes = PAGES as usize * PAGE_BYTES;
    let disk = Arc::new(Shared(Mutex::new(vec![1; bytes])));
    let buffer = build(&ServedBuffer::parse("lru:total=1").unwrap().resolve(64).unwrap());
    let nvm: Option<(Arc<Shared>, Header)> = None;
    let store = Store::new(Arc::clone(&disk), bytes as u64, PAGE_BYTES, nvm);
    let mut engine = Engine::new(buffer, store);
    engine.store_mut().write_behind();
    let mut into = vec![0; PAGE_BYTES];
    let read = engine.begin_read(0, 4096, &mut into).unwrap().expect("only the disk has it");
    // It is written, leaves the buffer, and is on its way to the disk.
    engine.write(0, &[2; PAGE_BYTES], false).unwrap();
    engine.write(4096, &[3; PAGE_BYTES], false).unwrap();
    let batches = engine.store_mut().begin_writes();
    assert_eq!(batches.len(), 1);
    std::thread::scope(|scope| {
        let writes = scope.spawn(|| batches.iter().for_each(|batch| batch.write(&disk)));
        std::thread::sleep(std::time::Duration::from_millis(30));
        assert!(!writes.is_finished(), "the page is being read");
        disk.read(read.runs[0].at, &mut into).unwrap();
        let fill = read.end();
        writes.join().unwrap();
        engine.end_read(&fill, Ok(&into));
    });
    assert!(into.iter().all(|&byte| byte == 1), "the content of the moment when it entered");
    batches.iter().for_each(|batch| engine.store_mut().end_write(batch));
    let mut now = Vec::new();
    engine.read(0, 4096, &mut now).unwrap();
    assert_eq!(now[0], 2, "the buffer keeps no old content");
    let read = engine.begin_read(8192, 4096, &mut into).unwrap().unwrap();
    let other = engine.begin_read(8192, 4096, &mut into).unwrap().unwrap();
    assert_eq!(engine.counts().read_hits, 1, "the page is in the buffer while it is read");
    drop(other);
    engine.end_read(&read.end(), Ok(&[1; PAGE_BYTES]));
    assert!(engine.begin_read(8192, 4096, &mut into).unwrap().is_none(), "the buffer has it now");
}

#[test]
fn an_entry_of_a_page_beyond_the_disk_is_damage() {
    let tried = tried("clock-dnv:total=8");
    let header = tried.engine.store().header().unwrap();
    let mut table = vec![0; header.layout.table_bytes()];
    let table_at = header.layout.table_sector_at(0);
    tried.nvm.read(table_at, &mut table).unwrap();
    for (slot, page) in [(0, PAGES - 1), (1, PAGES), (2, u64::MAX)] {
        let (seq, epoch) = (1, header.epoch);
        let content_sum = content_sum(page, seq, epoch, &[0; PAGE_BYTES]);
        let entry = Entry { kind: Kind::Page, page, seq, epoch, content_sum };
        entry.put(&mut table, slot, header.identity);
    }
    tried.nvm.write(table_at, &table).unwrap();
    let image = Image::read(&tried.nvm, header).unwrap();
    assert_eq!(image.pages.iter().map(|found| found.page).collect::<Vec<_>>(), [PAGES - 1]);
    assert_eq!(image.damage, [Damage::Entry(1), Damage::Entry(2)]);
}
