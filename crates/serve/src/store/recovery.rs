//! What an NVM file holds when a server starts, and how it comes to the disk: the only way to start.

use std::io;

use rustc_hash::FxHashMap;

use super::layout::{Entry, Header, Kind, Layout, SECTOR_BYTES, content_sum};
use super::medium::Medium;
use super::mutant::{Mutant, Mutants};
use super::nvm::lost_entry;

/// A page whose content was damaged, and the slot that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Which page.
    pub page: u64,
    /// The slot.
    pub slot: u32,
    /// The number of the lost version.
    pub seq: u64,
}

/// A disk that takes the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskFacts {
    /// Its bytes.
    pub bytes: u64,
    /// Its device and inode.
    pub identity: [u64; 2],
}

/// A page that the file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Which page.
    pub page: u64,
    /// Where.
    pub slot: u32,
    /// The number of its version.
    pub seq: u64,
    pub(super) content_sum: u64,
}

/// Damage of a file that no crash can have done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// The entry of this slot cannot be read: whose content is there is not known.
    Entry(u32),
    /// The content of an entry that was durable is not what was written.
    Content(Lost),
}

/// What an NVM file holds.
#[derive(Clone, Debug)]
pub struct Image {
    /// The valid header with the higher counter.
    pub header: Header,
    /// The newest version of each page, by page.
    pub pages: Vec<Found>,
    /// Pages that were damaged before, and that nothing replaced since.
    pub lost: Vec<Lost>,
    /// Entries of lost pages that were replaced since.
    replaced: Vec<u32>,
    /// Versions that a crash cut off.
    pub torn: u64,
    /// What is damaged now.
    pub damage: Vec<Damage>,
    highest_seq: u64,
    table: Vec<u8>,
    mutants: Mutants,
}

/// The valid header of a file with the higher counter, if one is valid.
pub fn header_of(nvm: &impl Medium) -> Option<Header> {
    let headers = (0..2).filter_map(|copy| {
        let mut bytes = [0; SECTOR_BYTES as usize];
        nvm.read(Layout::header_at(copy), &mut bytes).ok()?;
        Header::of_bytes(&bytes)
    });
    headers.max_by_key(|header| header.counter)
}

impl Image {
    /// Reads a file whose header is `header`, and changes nothing.
    ///
    /// # Errors
    ///
    /// The table cannot be read.
    pub fn read(nvm: &impl Medium, header: Header) -> io::Result<Image> {
        let mut table = vec![0; header.layout.table_bytes()];
        let sector_bytes = Layout::TABLE_SECTOR_BYTES;
        for (sector, bytes) in table.chunks_mut(sector_bytes * 128).enumerate() {
            let at = header.layout.table_sector_at(sector as u32 * 128);
            if nvm.read(at, bytes).is_err() {
                // One sector that cannot be read damages its own entries only.
                for (index, bytes) in bytes.chunks_mut(sector_bytes).enumerate() {
                    let _ = nvm.read(at + (index * sector_bytes) as u64, bytes);
                }
            }
        }
        let mut image = Image {
            header,
            pages: Vec::new(),
            lost: Vec::new(),
            replaced: Vec::new(),
            torn: 0,
            damage: Vec::new(),
            highest_seq: header.durable_seq,
            table,
            mutants: Mutants::default(),
        };
        image.take_entries(nvm);
        Ok(image)
    }

    #[cfg(test)]
    pub(crate) fn make(&mut self, mutant: Option<Mutant>) {
        self.mutants.made = mutant;
    }

    fn take_entries(&mut self, nvm: &impl Medium) {
        let header = self.header;
        let disk_pages = header.disk_bytes.div_ceil(u64::from(header.layout.page_bytes));
        let mut content = vec![0; header.layout.page_bytes as usize];
        let mut newest = FxHashMap::<u64, Found>::default();
        let mut lost = FxHashMap::<u64, Lost>::default();
        for slot in 0..header.layout.slots {
            let entry = Entry::of_table(&self.table, slot, header.identity);
            let is_inside = |entry: &Entry| entry.kind == Kind::Void || entry.page < disk_pages;
            let Some(entry) = entry.filter(is_inside) else {
                self.damage.push(Damage::Entry(slot));
                continue;
            };
            let Entry { kind, page, seq, epoch, content_sum: expected } = entry;
            match kind {
                Kind::Lost => {
                    let older = lost.insert(page, Lost { page, slot, seq });
                    self.replaced.extend(older.map(|older| older.slot));
                }
                Kind::Page if epoch == header.epoch => {
                    self.highest_seq = self.highest_seq.max(seq);
                    let is_read = nvm.read(header.layout.slot_at(slot), &mut content).is_ok();
                    if is_read && content_sum(page, seq, epoch, &content) == expected {
                        let found = Found { page, slot, seq, content_sum: expected };
                        let known = newest.entry(page).or_insert(found);
                        if known.seq < seq {
                            *known = found;
                        }
                    } else if seq <= header.durable_seq {
                        self.damage.push(Damage::Content(Lost { page, slot, seq }));
                    } else {
                        self.torn += 1;
                    }
                }
                Kind::Page | Kind::Void => {}
            }
        }
        let is_replaced =
            |lost: &Lost| newest.get(&lost.page).is_some_and(|found| found.seq > lost.seq);
        for lost in lost.into_values() {
            match is_replaced(&lost) {
                true => self.replaced.push(lost.slot),
                false => self.lost.push(lost),
            }
        }
        self.lost.sort_by_key(|lost| lost.page);
        let is_lost = |page: &u64| self.lost.binary_search_by_key(page, |lost| lost.page).is_ok();
        newest.retain(|page, _| !is_lost(page));
        self.pages = newest.into_values().collect();
        self.pages.sort_by_key(|found| found.page);
    }

    /// Reads a page that the file holds.
    ///
    /// # Errors
    ///
    /// The file's error, or a changed content.
    pub fn read_page(&self, nvm: &impl Medium, found: &Found, into: &mut [u8]) -> io::Result<()> {
        nvm.read(self.header.layout.slot_at(found.slot), into)?;
        let sum = content_sum(found.page, found.seq, self.header.epoch, into);
        match sum == found.content_sum {
            true => Ok(()),
            false => Err(io::Error::other(format!("page {} in NVM is damaged", found.page))),
        }
    }

    /// Gives up what is damaged: pages that are known to be damaged are lost until they are written whole. Returns how
    /// many pages and entries that is.
    ///
    /// # Errors
    ///
    /// That of the file.
    pub fn give_up_damaged(&mut self, nvm: &impl Medium) -> io::Result<u64> {
        let damage = std::mem::take(&mut self.damage);
        let mut given_up = 0;
        for damage in &damage {
            let (slot, entry) = match *damage {
                Damage::Entry(slot) => (slot, Entry::VOID),
                Damage::Content(lost) => {
                    let newer = self.pages.iter().find(|found| found.page == lost.page);
                    let is_replaced = newer.is_some_and(|found| found.seq > lost.seq);
                    let entry = lost_entry(lost.page, lost.seq, self.header.epoch);
                    if !is_replaced {
                        self.pages.retain(|found| found.page != lost.page);
                        self.lost.push(lost);
                    }
                    (lost.slot, if is_replaced { Entry::VOID } else { entry })
                }
            };
            given_up += u64::from(matches!(damage, Damage::Entry(_)) || entry.kind == Kind::Lost);
            self.put(nvm, slot, entry)?;
        }
        if !damage.is_empty() {
            nvm.sync()?;
        }
        Ok(given_up)
    }

    fn put(&mut self, nvm: &impl Medium, slot: u32, entry: Entry) -> io::Result<()> {
        entry.put(&mut self.table, slot, self.header.identity);
        let sector = slot / Layout::ENTRIES_PER_SECTOR;
        let at = sector as usize * Layout::TABLE_SECTOR_BYTES;
        let bytes = &self.table[at..at + Layout::TABLE_SECTOR_BYTES];
        nvm.write(self.header.layout.table_sector_at(sector), bytes)
    }

    /// Writes the pages to the disk and begins a new epoch: then the disk has every page. It may be cut off anywhere and
    /// begins again. The header of the new epoch.
    ///
    /// # Errors
    ///
    /// A file's error; a page that was well a moment ago is damaged.
    pub fn recover(
        &mut self,
        disk: &impl Medium,
        nvm: &impl Medium,
        facts: DiskFacts,
    ) -> io::Result<Header> {
        assert!(self.damage.is_empty(), "what is damaged is refused or given up first");
        let page_bytes = u64::from(self.header.layout.page_bytes);
        let mut content = vec![0; page_bytes as usize];
        for found in &self.pages {
            self.read_page(nvm, found, &mut content)?;
            let at = found.page * page_bytes;
            let inside = self.header.disk_bytes.saturating_sub(at).min(page_bytes) as usize;
            disk.write(at, &content[..inside])?;
        }
        if !self.mutants.has(Mutant::RecoveryWithoutSync) {
            disk.sync()?;
        }
        let replaced = std::mem::take(&mut self.replaced);
        for &slot in &replaced {
            self.put(nvm, slot, Entry::VOID)?;
        }
        if !replaced.is_empty() {
            nvm.sync()?;
        }
        let header = Header {
            durable_seq: self.highest_seq,
            disk_bytes: facts.bytes,
            disk_identity: facts.identity,
            ..self.header
        };
        self.header = begin_epoch(nvm, header)?;
        Ok(self.header)
    }
}

/// Writes a header of the next epoch, one copy after the other.
pub(super) fn begin_epoch(nvm: &impl Medium, header: Header) -> io::Result<Header> {
    let mut header = Header { epoch: header.epoch + 1, ..header };
    for _ in 0..2 {
        header.counter += 1;
        nvm.write(Layout::header_at(header.counter as usize), &header.to_bytes())?;
        nvm.sync()?;
    }
    Ok(header)
}

/// Writes an NVM file without pages, but for those that are lost, which get the first slots.
///
/// # Errors
///
/// That of the file.
pub fn write_empty(nvm: &impl Medium, header: Header, lost: &[Lost]) -> io::Result<Vec<Lost>> {
    let layout = header.layout;
    let mut table = vec![0; layout.table_bytes()];
    for slot in 0..layout.slots {
        Entry::VOID.put(&mut table, slot, header.identity);
    }
    let mut moved = Vec::new();
    for (slot, &Lost { page, seq, .. }) in (0..layout.slots).zip(lost) {
        lost_entry(page, seq, header.epoch).put(&mut table, slot, header.identity);
        moved.push(Lost { page, slot, seq });
    }
    for (index, sectors) in table.chunks(Layout::TABLE_SECTOR_BYTES * 128).enumerate() {
        nvm.write(layout.table_sector_at(index as u32 * 128), sectors)?;
    }
    for copy in [0, 1] {
        let counter = header.counter + copy;
        let at = Layout::header_at(counter as usize);
        nvm.write(at, &Header { counter, ..header }.to_bytes())?;
    }
    nvm.sync()?;
    Ok(moved)
}
