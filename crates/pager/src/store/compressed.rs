//! Pages compressed in memory, by zstd.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use clockhand_pager_protocol::PAGE_BYTES;
use zstd::bulk::{Compressor, Decompressor};

use super::slots::SlotTable;
use super::{Page, PageAddress, Slot, Store, StoreError, WriteTicket};

/// The default level of compression: zstd's fastest regular one.
pub const DEFAULT_LEVEL: i32 = 1;

/// Compressed pages, shared by the [stores](CompressedRamStore) of any number of paged memories; clones share the same
/// pages.
///
/// A page occupies its compressed size: nothing for a page of zeros, 4096 bytes for a page that zstd cannot make
/// smaller. The table of slots, about 30 bytes for each, is not counted.
#[derive(Clone, Debug)]
pub struct CompressedRam {
    level: i32,
    limit_bytes: u64,
    pages: Arc<Mutex<Pages>>,
}

#[derive(Debug, Default)]
struct Pages {
    slots: SlotTable,
    content: Vec<Content>,
    occupied_bytes: u64,
    /// Bytes set aside for slots that have been given out but not written yet.
    reserved_bytes: u64,
}

/// What is in a slot.
#[derive(Debug, Default)]
enum Content {
    /// Nothing: free, or not written yet.
    #[default]
    Absent,
    Zeros,
    Compressed(Box<[u8]>),
    AsItIs(Box<[u8; PAGE_BYTES]>),
}

impl Content {
    /// Bytes that count against the limit when the slot has an owner.
    fn bytes(&self) -> u64 {
        match self {
            Content::Absent | Content::Zeros => 0,
            Content::Compressed(bytes) => bytes.len() as u64,
            Content::AsItIs(_) => PAGE_BYTES as u64,
        }
    }
}

impl CompressedRam {
    /// Memory for pages, compressed with `level`, that occupy at most `limit_bytes` together.
    ///
    /// # Errors
    ///
    /// If zstd has no such level, or the limit leaves no room for a page.
    pub fn new(level: i32, limit_bytes: Option<u64>) -> Result<CompressedRam, StoreError> {
        let levels = zstd::compression_level_range();
        if !levels.contains(&level) {
            return Err(StoreError::Level { level, least: *levels.start(), most: *levels.end() });
        }
        let limit_bytes = limit_bytes.unwrap_or(u64::MAX);
        let least_bytes = PAGE_BYTES as u64;
        if limit_bytes < least_bytes {
            return Err(StoreError::LimitTooSmall { limit_bytes, least_bytes });
        }
        Ok(CompressedRam { level, limit_bytes, pages: Arc::default() })
    }

    /// A store for one paged memory, with a compressor of its own.
    ///
    /// # Errors
    ///
    /// If there is no memory for the compressor.
    pub fn store(&self) -> Result<CompressedRamStore, StoreError> {
        let failed = |what| move |source| StoreError::SetUp { what, source };
        Ok(CompressedRamStore {
            shared: self.clone(),
            compressor: Compressor::new(self.level).map_err(failed("zstd's compressor"))?,
            decompressor: Decompressor::new().map_err(failed("zstd's decompressor"))?,
            compressed: vec![0; zstd::zstd_safe::compress_bound(PAGE_BYTES)],
            started_writes: 0,
            finished: VecDeque::new(),
        })
    }

    /// Bytes that pages occupy now.
    #[must_use]
    pub fn occupied_bytes(&self) -> u64 {
        self.pages().occupied_bytes
    }

    /// Recounts all slots and checks that none has an owner, and that nothing is occupied or set aside.
    #[cfg(test)]
    pub(super) fn check_all_free(&self) {
        let pages = self.pages();
        pages.slots.check_invariants();
        assert_eq!(pages.slots.free_slots(), pages.slots.slots());
        assert_eq!((pages.occupied_bytes, pages.reserved_bytes), (0, 0));
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().expect("no thread panics with a table of pages that is half changed")
    }

    fn full(&self) -> io::Error {
        let message = format!(
            "the compressed memory is full: it may have {} bytes; allow it more",
            self.limit_bytes
        );
        io::Error::new(io::ErrorKind::StorageFull, message)
    }
}

/// A store in [`CompressedRam`]. A write is complete as soon as it has been started.
///
/// A slot that is given out reserves 4096 bytes of the limit until it is written, so that the first write into it
/// finds room however badly the page compresses. Writing a slot again with a page that compresses worse may fail.
pub struct CompressedRamStore {
    shared: CompressedRam,
    compressor: Compressor<'static>,
    decompressor: Decompressor<'static>,
    /// The buffer that zstd writes to, large enough for a page that grows when compressed.
    compressed: Vec<u8>,
    started_writes: u64,
    finished: VecDeque<(WriteTicket, io::Result<()>)>,
}

impl CompressedRamStore {
    fn compress(&mut self, page: &[u8; PAGE_BYTES]) -> io::Result<Content> {
        if *page == Page::ZEROS.0 {
            return Ok(Content::Zeros);
        }
        let bytes = self.compressor.compress_to_buffer(page, &mut self.compressed[..])?;
        if bytes >= PAGE_BYTES {
            return Ok(Content::AsItIs(Box::new(*page)));
        }
        Ok(Content::Compressed(self.compressed[..bytes].into()))
    }

    fn write(&mut self, slot: Slot, page: &[u8; PAGE_BYTES]) -> io::Result<()> {
        let content = self.compress(page)?;
        let mut pages = self.shared.pages();
        let old = &pages.content[slot.0 as usize];
        let is_first = matches!(old, Content::Absent);
        let occupied_bytes = pages.occupied_bytes - old.bytes() + content.bytes();
        if !is_first && occupied_bytes + pages.reserved_bytes > self.shared.limit_bytes {
            return Err(self.shared.full());
        }
        if is_first {
            pages.reserved_bytes -= PAGE_BYTES as u64;
        }
        pages.occupied_bytes = occupied_bytes;
        pages.content[slot.0 as usize] = content;
        Ok(())
    }
}

impl Store for CompressedRamStore {
    fn allocate(&mut self, pages: usize, slots: &mut Vec<Slot>) -> io::Result<()> {
        let mut shared = self.shared.pages();
        let wanted_bytes = pages as u64 * PAGE_BYTES as u64;
        let taken_bytes = shared.occupied_bytes + shared.reserved_bytes;
        if wanted_bytes > self.shared.limit_bytes - taken_bytes {
            return Err(self.shared.full());
        }
        let missing = pages.saturating_sub(shared.slots.free_slots());
        if shared.slots.slots() + missing > u32::MAX as usize {
            return Err(self.shared.full());
        }
        if missing > 0 {
            shared.slots.extend(missing);
            let slots = shared.slots.slots();
            shared.content.resize_with(slots, Content::default);
        }
        shared.slots.take(pages, slots);
        shared.reserved_bytes += wanted_bytes;
        Ok(())
    }

    fn release(&mut self, slot: Slot) {
        let mut pages = self.shared.pages();
        if pages.slots.release(slot) {
            match std::mem::take(&mut pages.content[slot.0 as usize]) {
                Content::Absent => pages.reserved_bytes -= PAGE_BYTES as u64,
                content => pages.occupied_bytes -= content.bytes(),
            }
        }
    }

    fn share(&mut self, slot: Slot) {
        self.shared.pages().slots.share(slot);
    }

    fn is_shared(&self, slot: Slot) -> bool {
        self.shared.pages().slots.owners(slot) > 1
    }

    unsafe fn read(&mut self, slot: Slot, into: PageAddress) -> io::Result<()> {
        // SAFETY: the caller promises a page that is writable, aligned, and not accessed by anything else during the call.
        let page = unsafe { into.0.cast::<[u8; PAGE_BYTES]>().as_mut() };
        let pages = self.shared.pages();
        match &pages.content[slot.0 as usize] {
            Content::Absent => {
                let message = format!("slot {} of the compressed memory is not written", slot.0);
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
            }
            Content::Zeros => page.fill(0),
            Content::AsItIs(bytes) => page.copy_from_slice(&bytes[..]),
            Content::Compressed(bytes) => {
                let bytes = self.decompressor.decompress_to_buffer(bytes, &mut page[..])?;
                assert_eq!(bytes, PAGE_BYTES, "what was compressed was a page");
            }
        }
        Ok(())
    }

    unsafe fn start_write(&mut self, pages: &[(Slot, PageAddress)]) -> io::Result<WriteTicket> {
        assert!(!pages.is_empty(), "a write has pages");
        debug_assert!(pages.iter().all(|&(slot, _)| !self.is_shared(slot)));
        let ticket = WriteTicket(self.started_writes);
        self.started_writes += 1;
        let result = pages.iter().try_for_each(|&(slot, page)| {
            // SAFETY: the caller promises a page that is mapped and readable.
            let page = unsafe { page.0.cast::<[u8; PAGE_BYTES]>().as_ref() };
            self.write(slot, page)
        });
        self.finished.push_back((ticket, result));
        Ok(ticket)
    }

    fn finished_write(&mut self, _wait: bool) -> Option<(WriteTicket, io::Result<()>)> {
        self.finished.pop_front()
    }

    fn occupied_bytes(&self) -> u64 {
        self.shared.occupied_bytes()
    }
}
