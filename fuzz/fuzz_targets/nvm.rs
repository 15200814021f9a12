//! An NVM file with any entries, well made or damaged: it is recovered or refused, and a second recovery finds nothing.

#![no_main]

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;

use clockhand_serve::store::Medium;
use clockhand_serve::store::layout::{Entry, Header, Kind, Layout, content_sum};
use clockhand_serve::store::recovery::{DiskFacts, Image, header_of, write_empty};
use libfuzzer_sys::fuzz_target;

const PAGE_BYTES: u32 = 1024;
const PAGES: u64 = 8;
const SLOTS: u32 = 12;
const ENTRY_BYTES: usize = 20;

struct Memory(RefCell<Vec<u8>>);

impl Medium for Memory {
    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let bytes = self.0.borrow();
        let part = bytes.get(at as usize..at as usize + into.len());
        into.copy_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write(&self, at: u64, from: &[u8]) -> io::Result<()> {
        let mut bytes = self.0.borrow_mut();
        let part = bytes.get_mut(at as usize..at as usize + from.len());
        part.ok_or(io::ErrorKind::WriteZero)?.copy_from_slice(from);
        Ok(())
    }

    fn clear(&self, at: u64, bytes: u64, _: bool) -> io::Result<()> {
        self.write(at, &vec![0; bytes as usize])
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

/// An entry with a right checksum.
fn entry(bytes: &[u8; ENTRY_BYTES]) -> (u32, Entry) {
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    let kind = [Kind::Void, Kind::Page, Kind::Lost][usize::from(bytes[0] % 3)];
    let page = if bytes[1] & 1 == 0 { number(4) % PAGES } else { number(4) };
    // No entry of a later epoch is ever written.
    let (seq, epoch) = (number(12) % 64, 1 - u64::from(bytes[1] >> 7));
    let content_sum = match bytes[1] & 2 {
        0 => content_sum(page, seq, epoch, &[0; PAGE_BYTES as usize]),
        _ => number(12),
    };
    (u32::from(bytes[2]) % SLOTS, Entry { kind, page, seq, epoch, content_sum })
}

fuzz_target!(|data: &[u8]| {
    let Some((&durable_seq, mut rest)) = data.split_first() else { return };
    let header = Header {
        layout: Layout { page_bytes: PAGE_BYTES, slots: SLOTS },
        nvm_pages: SLOTS,
        identity: 7,
        counter: 1,
        epoch: 1,
        durable_seq: durable_seq.into(),
        disk_bytes: PAGES * u64::from(PAGE_BYTES) - 512,
        disk_identity: [0, 0],
    };
    let nvm = Memory(RefCell::new(vec![0; header.layout.file_bytes() as usize]));
    write_empty(&nvm, header, &[]).expect("there is room");
    let mut table = vec![0; header.layout.table_bytes()];
    nvm.read(header.layout.table_sector_at(0), &mut table).expect("it is there");
    while let Some((bytes, tail)) = rest.split_first_chunk::<ENTRY_BYTES>() {
        let (slot, entry) = entry(bytes);
        entry.put(&mut table, slot, header.identity);
        rest = tail;
    }
    nvm.write(header.layout.table_sector_at(0), &table).expect("it has its size");
    // What is left damages a byte each.
    for two in rest.chunks_exact(2) {
        let len = nvm.0.borrow().len();
        nvm.0.borrow_mut()[usize::from(u16::from_le_bytes([two[0], two[1]])) % len] ^= 1;
    }
    let disk = Memory(RefCell::new(vec![0; header.disk_bytes as usize]));
    let facts = DiskFacts { bytes: header.disk_bytes, identity: [0, 0] };
    let Some(found) = header_of(&nvm) else { return };
    let Ok(mut image) = Image::read(&nvm, found) else { return };
    if !image.damage.is_empty() {
        image.give_up_damaged(&nvm).expect("nothing fails");
    }
    let lost_pages =
        |image: &Image| -> BTreeSet<u64> { image.lost.iter().map(|lost| lost.page).collect() };
    let (kept, lost) = (image.pages.clone(), lost_pages(&image));
    assert!(kept.windows(2).all(|pair| pair[0].page < pair[1].page), "ascending, each once");
    let header = image.recover(&disk, &nvm, facts).expect("what was read well is written");
    let again = Image::read(&nvm, header).expect("it is ours");
    assert!(again.pages.is_empty(), "a new epoch has no pages");
    assert!(again.damage.is_empty(), "damage is found once");
    assert_eq!(lost_pages(&again), lost, "what is lost stays lost, and nothing else is");
});
