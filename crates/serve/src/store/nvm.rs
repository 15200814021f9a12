//! The NVM file of a server that runs: its slots, and which of them may be written.
//!
//! Contents are written at once, entries with the next sync. A slot is written only if its entry on the medium is
//! durably void, or was never written. An entry is made void when a version of its page that is at least as new is
//! durable elsewhere, the oldest entry of a page first, and the next one only after a sync.

use std::collections::BTreeSet;
use std::io;

use rustc_hash::FxHashMap;

use super::clock::SyncClock;
use super::layout::{Entry, Header, Kind, Layout, content_sum};
use super::medium::Medium;
use super::mutant::{Mutant, Mutants};
use super::recovery::{Found, Image, Lost};
use super::versions::Versions;

/// A slot as the medium has it, or soon has it.
#[derive(Clone, Copy, Debug)]
struct Slot {
    kind: Kind,
    page: u64,
    seq: u64,
    content_sum: u64,
    /// The sync that covers the entry; 0 if none has begun since it changed.
    stamp: u64,
}

const FREE: Slot = Slot { kind: Kind::Void, page: 0, seq: 0, content_sum: 0, stamp: 0 };

/// A sync of the NVM file that has begun.
#[derive(Clone, Copy, Debug)]
pub struct NvmSync {
    stamp: u64,
    /// The highest number that it covers.
    seq: u64,
}

pub(super) struct Nvm<N> {
    pub(super) file: N,
    pub(super) header: Header,
    pub(super) clock: SyncClock,
    pub(super) mutants: Mutants,
    pub(super) bytes_written: u64,
    table: Vec<u8>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Slots whose entries changed since the last sync began.
    unwritten: Vec<u32>,
    /// Slots whose voids are not durable yet.
    voiding: Vec<u32>,
    versions: FxHashMap<u64, Versions>,
    /// Pages with an entry that is, or may soon be, an old one.
    stale: BTreeSet<u64>,
    covered_seq: u64,
    /// Versions up to this one were promised to stay: the request with that promise waits for a sync of them.
    pub(super) promised_seq: u64,
}

impl<N: Medium> Nvm<N> {
    /// A file whose entries are void, but for those of pages that are lost.
    pub(super) fn new(file: N, header: Header, lost: &[Lost]) -> Self {
        let layout = header.layout;
        let mut table = vec![0; layout.table_bytes()];
        let mut slots = vec![FREE; layout.slots as usize];
        let mut versions = FxHashMap::<u64, Versions>::default();
        for slot in 0..layout.slots {
            Entry::VOID.put(&mut table, slot, header.identity);
        }
        for &Lost { page, slot, seq } in lost {
            lost_entry(page, seq, header.epoch).put(&mut table, slot, header.identity);
            slots[slot as usize] = Slot { kind: Kind::Lost, page, seq, content_sum: 0, stamp: 0 };
            versions.entry(page).or_default().slots.push(slot);
        }
        let is_free = |&slot: &u32| slots[slot as usize].kind == Kind::Void;
        let free = (0..layout.slots).rev().filter(is_free).collect();
        // The writes of recovery are durable.
        let mut clock = SyncClock::new();
        let stamp = clock.begin();
        clock.end(stamp);
        for slot in slots.iter_mut().filter(|slot| slot.kind == Kind::Lost) {
            slot.stamp = stamp;
        }
        Nvm {
            file,
            clock,
            mutants: Mutants::default(),
            bytes_written: 0,
            table,
            slots,
            free,
            unwritten: Vec::new(),
            voiding: Vec::new(),
            versions,
            stale: BTreeSet::new(),
            covered_seq: header.durable_seq,
            promised_seq: 0,
            header,
        }
    }

    /// Takes up what a file holds, to be read only.
    pub(super) fn take_image(&mut self, image: &Image) {
        for found in &image.pages {
            let &Found { page, slot, seq, content_sum } = found;
            self.slots[slot as usize] = Slot { kind: Kind::Page, page, seq, content_sum, stamp: 1 };
            self.versions.entry(page).or_default().slots.push(slot);
        }
        self.free.clear();
    }

    pub(super) fn free_slots(&self) -> usize {
        self.free.len()
    }

    fn slot(&self, slot: u32) -> &Slot {
        &self.slots[slot as usize]
    }

    /// The slot of the newest version of `page`.
    fn newest(&self, page: u64) -> Option<u32> {
        let newest = *self.versions.get(&page)?.slots.last()?;
        (self.slot(newest).kind == Kind::Page).then_some(newest)
    }

    /// The number of the newest version of `page` that has a slot.
    pub(super) fn seq_of(&self, page: u64) -> Option<u64> {
        self.newest(page).map(|slot| self.slot(slot).seq)
    }

    /// Tells whether `page` was found damaged and not written whole since.
    pub(super) fn is_lost(&self, page: u64) -> bool {
        let Some(versions) = self.versions.get(&page) else { return false };
        let last = versions.slots.last().map(|&slot| self.slot(slot));
        last.is_some_and(|slot| slot.kind == Kind::Lost && versions.disk.written_seq() < slot.seq)
    }

    /// Whether any page is.
    pub(super) fn has_lost_pages(&self) -> bool {
        self.versions.keys().any(|&page| self.is_lost(page))
    }

    /// A slot that the next version of `page` may overwrite.
    fn own_slot(&self, page: u64) -> Option<u32> {
        let newest = self.newest(page)?;
        let is_uncovered = self.slot(newest).stamp == 0;
        (is_uncovered || self.mutants.has(Mutant::LiveSlotOverwritten)).then_some(newest)
    }

    /// Whether a version of `page` can be written without a sync before.
    pub(super) fn has_place_for(&self, page: u64) -> bool {
        !self.free.is_empty() || self.own_slot(page).is_some()
    }

    /// Writes a version of `page`, for which there is a place.
    pub(super) fn write(&mut self, page: u64, seq: u64, content: &[u8]) -> io::Result<()> {
        let own = self.own_slot(page);
        let slot = own.unwrap_or_else(|| self.free.pop().expect("there is a place"));
        let content_sum = content_sum(page, seq, self.header.epoch, content);
        let is_new = own.is_none();
        let was_written = !is_new && self.slot(slot).stamp != 0;
        self.slots[slot as usize] = Slot { kind: Kind::Page, page, seq, content_sum, stamp: 0 };
        if is_new || was_written {
            self.unwritten.push(slot);
        }
        if is_new {
            let versions = self.versions.entry(page).or_default();
            versions.slots.push(slot);
            if versions.slots.len() > 1 {
                self.stale.insert(page);
            }
        }
        if let Some(versions) = self.versions.get_mut(&page) {
            versions.disk.oldest_is(self.slots[versions.slots[0] as usize].seq);
        }
        self.clock.touch();
        self.bytes_written += content.len() as u64;
        self.file.write(self.header.layout.slot_at(slot), content)
    }

    /// Reads the newest version of `page`, and whether it is what was written.
    pub(super) fn read(&self, page: u64, into: &mut [u8]) -> io::Result<()> {
        let slot = self.newest(page).expect("the page is in NVM");
        self.file.read(self.header.layout.slot_at(slot), into)?;
        let &Slot { seq, content_sum: expected, .. } = self.slot(slot);
        match content_sum(page, seq, self.header.epoch, into) == expected {
            true => Ok(()),
            false => Err(io::Error::other(format!("page {page} in NVM is damaged"))),
        }
    }

    /// `page` has left NVM. A version whose entry was never written needs its slot no more, unless it was promised to
    /// stay: the disk has it now, and may be synced later than this file.
    pub(super) fn forget(&mut self, page: u64) {
        let is_free = |&slot: &u32| {
            let slot = self.slot(slot);
            let forgets = self.mutants.has(Mutant::PromisedVersionForgotten);
            slot.stamp == 0 && (slot.seq > self.promised_seq || forgets)
        };
        let Some(newest) = self.newest(page).filter(is_free) else { return };
        self.slots[newest as usize] = FREE;
        self.unwritten.retain(|&slot| slot != newest);
        self.free.push(newest);
        self.remove_slot(page, newest);
    }

    /// The disk was given a version of `page`.
    pub(super) fn note_on_disk(&mut self, page: u64, seq: u64, stamp: u64, disk: &SyncClock) {
        let Some(versions) = self.versions.get_mut(&page) else { return };
        let oldest_seq = self.slots[versions.slots[0] as usize].seq;
        versions.disk.write(seq, stamp, oldest_seq, disk);
        self.stale.insert(page);
    }

    /// The pages of this range that have entries.
    pub(super) fn pages_in(&self, range: std::ops::Range<u64>) -> Vec<u64> {
        match range.end - range.start < self.versions.len() as u64 {
            true => range.filter(|page| self.versions.contains_key(page)).collect(),
            false => self.versions.keys().copied().filter(|page| range.contains(page)).collect(),
        }
    }

    /// The work left so that no entry is older than a version up to `seq` that the disk has: `None` if nothing,
    /// otherwise whether the disk has to be synced first.
    pub(super) fn left_to_void(&self, seq: u64, disk: &SyncClock) -> Option<bool> {
        let mut left = self.stale.iter().filter_map(|page| self.versions.get(page));
        let found = left.find(|versions| versions.disk.superseded_by(seq))?;
        let oldest = self.slots[found.slots[0] as usize].seq;
        Some(found.disk.durable_seq() < oldest && found.disk.waits_for_sync(disk))
    }

    /// Tells whether some disk version has to become durable before slots can be freed.
    pub(super) fn waits_for_disk(&self, disk: &SyncClock) -> bool {
        let mut stale = self.stale.iter().filter_map(|page| self.versions.get(page));
        stale.any(|versions| versions.disk.waits_for_sync(disk))
    }

    /// Whether an entry is, or may soon be, an old one.
    pub(super) fn has_stale(&self) -> bool {
        !self.stale.is_empty()
    }

    /// Whether a sync would make `durable_seq` newer on the medium.
    pub(super) fn has_news(&self) -> bool {
        self.covered_seq > self.header.durable_seq
    }

    /// Writes the header if it has news, voids, and entries. A sync has to follow. `last_seq` is the last number taken.
    pub(super) fn begin_sync(&mut self, last_seq: u64, disk: &SyncClock) -> io::Result<NvmSync> {
        if self.has_news() {
            self.header.counter += 1;
            self.header.durable_seq = self.covered_seq;
            let at = Layout::header_at(self.header.counter as usize);
            self.file.write(at, &self.header.to_bytes())?;
            self.bytes_written += self.header.to_bytes().len() as u64;
            self.clock.touch();
        }
        self.choose_voids(disk);
        self.write_entries()?;
        Ok(NvmSync { stamp: self.clock.begin(), seq: last_seq })
    }

    fn choose_voids(&mut self, disk: &SyncClock) {
        let clock = &self.clock;
        for page in &self.stale {
            let Some(versions) = self.versions.get_mut(page) else { continue };
            versions.disk.settle(disk);
            let slots = &versions.slots;
            let newer_is_durable = |position: usize| {
                let newer = slots[position + 1..].iter().map(|&slot| &self.slots[slot as usize]);
                newer.into_iter().any(|slot| {
                    slot.kind == Kind::Page && slot.stamp != 0 && clock.is_durable(slot.stamp)
                })
            };
            let mut on_disk = versions.disk.durable_seq();
            if self.mutants.has(Mutant::VoidsBeforeTheSync) {
                on_disk = on_disk.max(versions.disk.written_seq());
            }
            let mut candidates = 0..1;
            if self.mutants.has(Mutant::NewestVoidFirst) {
                candidates = 0..slots.len();
            }
            let chosen = candidates.rev().find(|&position| {
                let slot = &self.slots[slots[position] as usize];
                let is_live = slot.kind != Kind::Void && slot.stamp != 0;
                is_live && (on_disk >= slot.seq || newer_is_durable(position))
            });
            if let Some(position) = chosen {
                let slot = slots[position];
                let entry = &mut self.slots[slot as usize];
                (entry.kind, entry.stamp) = (Kind::Void, 0);
                self.unwritten.push(slot);
                self.voiding.push(slot);
            }
        }
    }

    fn write_entries(&mut self) -> io::Result<()> {
        let stamp = match self.unwritten.is_empty() {
            true => return Ok(()),
            false => self.clock.touch(),
        };
        let mut sectors = BTreeSet::new();
        for slot in self.unwritten.drain(..) {
            let entry = &mut self.slots[slot as usize];
            entry.stamp = stamp;
            let Slot { kind, page, seq, content_sum, .. } = *entry;
            let entry = Entry { kind, page, seq, epoch: self.header.epoch, content_sum };
            entry.put(&mut self.table, slot, self.header.identity);
            sectors.insert(slot / Layout::ENTRIES_PER_SECTOR);
        }
        for (first, count) in runs(&sectors) {
            let at = first as usize * Layout::TABLE_SECTOR_BYTES;
            let bytes = &self.table[at..at + count as usize * Layout::TABLE_SECTOR_BYTES];
            self.file.write(self.header.layout.table_sector_at(first), bytes)?;
            self.bytes_written += bytes.len() as u64;
        }
        Ok(())
    }

    /// A sync has ended well: voids that it covers free their slots.
    pub(super) fn end_sync(&mut self, NvmSync { stamp, seq }: NvmSync) {
        self.clock.end(stamp);
        self.covered_seq = self.covered_seq.max(seq);
        let voiding = std::mem::take(&mut self.voiding);
        for slot in voiding {
            let Slot { page, stamp, .. } = *self.slot(slot);
            if stamp == 0 || !self.clock.is_durable(stamp) {
                self.voiding.push(slot);
                continue;
            }
            self.slots[slot as usize] = FREE;
            self.free.push(slot);
            self.remove_slot(page, slot);
        }
    }

    fn remove_slot(&mut self, page: u64, slot: u32) {
        let versions = self.versions.get_mut(&page).expect("a slot belongs to a page");
        versions.slots.retain(|&other| other != slot);
        let Some(&oldest) = versions.slots.first() else {
            self.versions.remove(&page);
            self.stale.remove(&page);
            return;
        };
        let oldest_seq = self.slots[oldest as usize].seq;
        versions.disk.oldest_is(oldest_seq);
        if versions.slots.len() == 1 && versions.disk.written_seq() < oldest_seq {
            self.stale.remove(&page);
        }
    }

    /// Recounts what is counted along the way.
    #[cfg(test)]
    pub(super) fn check_invariants(&self) {
        let live: usize = self.versions.values().map(|versions| versions.slots.len()).sum();
        assert_eq!(live + self.free.len(), self.slots.len(), "every slot is free or of a page");
        for (page, versions) in &self.versions {
            let of = |&slot: &u32| self.slot(slot);
            assert!(versions.slots.iter().all(|slot| of(slot).page == *page));
            assert!(versions.slots.is_sorted_by_key(|slot| of(slot).seq), "oldest first");
        }
    }
}

pub(super) fn lost_entry(page: u64, seq: u64, epoch: u64) -> Entry {
    Entry { kind: Kind::Lost, page, seq, epoch, content_sum: 0 }
}

/// Consecutive numbers as (first, count).
fn runs(numbers: &BTreeSet<u32>) -> Vec<(u32, u32)> {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some((first, count)) if *first + *count == number => *count += 1,
            _ => runs.push((number, 1)),
        }
    }
    runs
}
