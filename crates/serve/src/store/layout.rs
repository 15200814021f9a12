//! What stands in an NVM file, byte by byte: two copies of a header, an entry for each slot, and the slots.
//!
//! ```text
//! 0, 4096     header, 512 bytes each
//! 8192        64 bytes a slot; padded to 4096
//! then        the slots, a page each
//! ```

use xxhash_rust::xxh3::{Xxh3, xxh3_64, xxh3_64_with_seed};

/// Bytes that a power failure keeps or loses together.
pub const SECTOR_BYTES: u64 = 512;
const MAGIC: [u8; 8] = *b"CLKHNVM1";
const VERSION: u32 = 1;
const ENTRY_BYTES: usize = 64;
const TABLE_AT: u64 = 8192;
/// Where the copies of the header are.
const HEADERS_AT: [u64; 2] = [0, 4096];

/// The layout of an NVM file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Bytes of a page, and so of a slot.
    pub page_bytes: u32,
    /// Slots.
    pub slots: u32,
}

impl Layout {
    /// Bytes of a sector of the table.
    pub const TABLE_SECTOR_BYTES: usize = SECTOR_BYTES as usize;
    /// Entries in a sector of the table.
    pub const ENTRIES_PER_SECTOR: u32 = (SECTOR_BYTES as usize / ENTRY_BYTES) as u32;

    /// Where a copy of the header is.
    pub fn header_at(copy: usize) -> u64 {
        HEADERS_AT[copy % 2]
    }

    /// Bytes of the table in whole sectors.
    pub fn table_bytes(self) -> usize {
        self.slots.div_ceil(Self::ENTRIES_PER_SECTOR) as usize * Self::TABLE_SECTOR_BYTES
    }

    /// Where a sector of the table is.
    pub fn table_sector_at(self, sector: u32) -> u64 {
        TABLE_AT + u64::from(sector) * SECTOR_BYTES
    }

    /// Where a slot is.
    pub fn slot_at(self, slot: u32) -> u64 {
        let table_bytes = (self.table_bytes() as u64).next_multiple_of(4096);
        TABLE_AT + table_bytes + u64::from(slot) * u64::from(self.page_bytes)
    }

    /// Bytes of the file.
    pub fn file_bytes(self) -> u64 {
        self.slot_at(self.slots)
    }
}

/// The header of an NVM file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Where things are.
    pub layout: Layout,
    /// Pages of the buffer's NVM; the other slots are spare.
    pub nvm_pages: u32,
    /// The number that this file and its disk are a pair by.
    pub identity: u128,
    /// Of two valid copies, the one with the higher counter counts.
    pub counter: u64,
    /// Entries of other epochs are void.
    pub epoch: u64,
    /// Every content up to this sequence number was durable when this was written.
    pub durable_seq: u64,
    /// Bytes of the disk.
    pub disk_bytes: u64,
    /// Device and inode of the disk.
    pub disk_identity: [u64; 2],
}

impl Header {
    /// The header's bytes.
    pub fn to_bytes(self) -> [u8; SECTOR_BYTES as usize] {
        let mut bytes = [0; SECTOR_BYTES as usize];
        let mut writer = Fields(&mut bytes, 0);
        writer.put(&MAGIC);
        writer.put(&VERSION.to_le_bytes());
        writer.put(&self.layout.page_bytes.to_le_bytes());
        writer.put(&self.layout.slots.to_le_bytes());
        writer.put(&self.nvm_pages.to_le_bytes());
        writer.put(&self.identity.to_le_bytes());
        for number in [self.counter, self.epoch, self.durable_seq, self.disk_bytes] {
            writer.put(&number.to_le_bytes());
        }
        for number in self.disk_identity {
            writer.put(&number.to_le_bytes());
        }
        let end = bytes.len() - 8;
        let sum = xxh3_64(&bytes[..end]);
        bytes[end..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// The header in these bytes, if they are one.
    pub fn of_bytes(bytes: &[u8; SECTOR_BYTES as usize]) -> Option<Header> {
        let end = bytes.len() - 8;
        let is_whole = bytes[..8] == MAGIC
            && u32_at(bytes, 8) == VERSION
            && u64_at(bytes, end) == xxh3_64(&bytes[..end]);
        is_whole.then(|| Header {
            layout: Layout { page_bytes: u32_at(bytes, 12), slots: u32_at(bytes, 16) },
            nvm_pages: u32_at(bytes, 20),
            identity: u128::from(u64_at(bytes, 24)) | u128::from(u64_at(bytes, 32)) << 64,
            counter: u64_at(bytes, 40),
            epoch: u64_at(bytes, 48),
            durable_seq: u64_at(bytes, 56),
            disk_bytes: u64_at(bytes, 64),
            disk_identity: [u64_at(bytes, 72), u64_at(bytes, 80)],
        })
    }

    /// Returns whether the bytes begin as those of a header do, whatever follows.
    pub fn begins_like_one(bytes: &[u8]) -> bool {
        bytes.starts_with(&MAGIC)
    }
}

/// What an entry says of its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing is there.
    Void,
    /// A page.
    Page,
    /// A page that was found damaged: its content is lost until it is written whole. It counts in every epoch.
    Lost,
}

/// The entry of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What the slot holds.
    pub kind: Kind,
    /// Which page.
    pub page: u64,
    /// The number of its version.
    pub seq: u64,
    /// The epoch of its write.
    pub epoch: u64,
    /// [`content_sum`] of the content.
    pub content_sum: u64,
}

impl Entry {
    /// An entry of a slot that was never used.
    pub const VOID: Entry = Entry { kind: Kind::Void, page: 0, seq: 0, epoch: 0, content_sum: 0 };

    /// Puts the entry of `slot` into the table.
    pub fn put(self, table: &mut [u8], slot: u32, identity: u128) {
        let at = slot as usize * ENTRY_BYTES;
        let bytes = &mut table[at..at + ENTRY_BYTES];
        bytes.fill(0);
        let mut writer = Fields(bytes, 0);
        for number in [self.page, self.seq, self.epoch, self.content_sum] {
            writer.put(&number.to_le_bytes());
        }
        writer.put(&[match self.kind {
            Kind::Void => 0,
            Kind::Page => 1,
            Kind::Lost => 2,
        }]);
        let sum = entry_sum(&bytes[..ENTRY_BYTES - 8], slot, identity);
        bytes[ENTRY_BYTES - 8..].copy_from_slice(&sum.to_le_bytes());
    }

    /// The entry of `slot`, if what stands there is one.
    pub fn of_table(table: &[u8], slot: u32, identity: u128) -> Option<Entry> {
        let at = slot as usize * ENTRY_BYTES;
        let bytes = &table[at..at + ENTRY_BYTES];
        let sum = entry_sum(&bytes[..ENTRY_BYTES - 8], slot, identity);
        let kind = match bytes[32] {
            0 => Kind::Void,
            1 => Kind::Page,
            2 => Kind::Lost,
            _ => return None,
        };
        (sum == u64_at(bytes, ENTRY_BYTES - 8)).then(|| Entry {
            kind,
            page: u64_at(bytes, 0),
            seq: u64_at(bytes, 8),
            epoch: u64_at(bytes, 16),
            content_sum: u64_at(bytes, 24),
        })
    }
}

/// Depends on the slot, so that an entry at a wrong place is none, and on the file, so that zeros are none.
fn entry_sum(bytes: &[u8], slot: u32, identity: u128) -> u64 {
    xxh3_64_with_seed(bytes, identity as u64 ^ u64::from(slot))
}

/// The checksum of a page's content, its number, its version and its epoch.
pub fn content_sum(page: u64, seq: u64, epoch: u64, content: &[u8]) -> u64 {
    let mut hasher = Xxh3::new();
    for number in [page, seq, epoch] {
        hasher.update(&number.to_le_bytes());
    }
    hasher.update(content);
    hasher.digest()
}

struct Fields<'a>(&'a mut [u8], usize);

impl Fields<'_> {
    fn put(&mut self, field: &[u8]) {
        self.0[self.1..self.1 + field.len()].copy_from_slice(field);
        self.1 += field.len();
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
