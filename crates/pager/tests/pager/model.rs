//! A memory-management unit and a store without a kernel, as literal as can be.

mod store;

use std::io;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard};

use clockhand_pager::store::{Page, PageAddress};
use clockhand_pager::{
    Bits, Counts, InitialPages, Pager, Parts, ProgramMemory, Seen, Settings, Translations,
};
use clockhand_policy::{Op, PageId};

pub use self::store::ModelStore;

const PAGE_BYTES: usize = 4096;

/// The address of a program's memory.
pub const FIRST_ADDRESS: u64 = 0x7000_0000_0000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Translation {
    None,
    ReadOnly,
    Writable,
}

/// What the program and its pager share.
pub struct Mmu {
    contents: Vec<Box<Page>>,
    is_present: Vec<bool>,
    translations: Vec<Translation>,
    /// Sensed bits: whether a translation that comes back forbids writes.
    is_protected: Vec<bool>,
    is_sensed: bool,
    /// True if a write that is forbidden goes on, and lifts the protection.
    shows_writes: bool,
    /// True if translations are dropped as soon as that is ordered.
    drops_at_once: bool,
    /// Translations that are to be dropped and still work.
    unmapping: Vec<PageId>,
}

/// Where the bits of a model's memory come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Mapped,
    /// The first write to a clean page is a fault.
    Sensed,
    /// Writes are seen as well.
    SensedWrites,
}

impl Source {
    pub const ALL: [Source; 3] = [Source::Mapped, Source::Sensed, Source::SensedWrites];

    pub fn bits(self) -> Bits {
        if self == Source::Mapped { Bits::Mapped } else { Bits::Sensed }
    }
}

/// Called with a page that is about to be taken from the program.
type Taking = Box<dyn FnMut(PageId) + Send>;

/// A program's memory; clones are the same memory.
#[derive(Clone)]
pub struct ModelMemory(Arc<Mutex<Mmu>>, Arc<Mutex<Option<Taking>>>);

impl ModelMemory {
    /// Memory of pages without content. With sensed bits an access to a page that has content makes a translation.
    pub fn new(pages: u32, source: Source) -> Self {
        let pages = pages as usize;
        let mmu = Mmu {
            contents: (0..pages).map(|_| Box::new(Page([0xAA; PAGE_BYTES]))).collect(),
            is_present: vec![false; pages],
            translations: vec![Translation::None; pages],
            is_protected: vec![false; pages],
            is_sensed: source != Source::Mapped,
            shows_writes: source == Source::SensedWrites,
            drops_at_once: false,
            unmapping: Vec::new(),
        };
        ModelMemory(Arc::new(Mutex::new(mmu)), Arc::default())
    }

    /// A pager of it over a store of its own; its events are dropped.
    pub fn pager(&self, settings: &Settings) -> Pager {
        settings.build(Parts {
            program: Box::new(self.clone()),
            translations: self.translations(),
            store: Box::new(ModelStore::new(0)),
            events: Box::new(|_| ()),
            initial: InitialPages::new(),
        })
    }

    /// Another thread of the program does this at the last moment before a page is taken.
    pub fn before_a_page_is_taken(&self, acts: impl FnMut(PageId) + Send + 'static) {
        *self.1.lock().expect("no test panics with this lock") = Some(Box::new(acts));
    }

    /// The same memory for what another thread does: it does not keep itself alive.
    pub fn of_thread(&self) -> Self {
        ModelMemory(self.0.clone(), Arc::default())
    }

    fn mmu(&self) -> MutexGuard<'_, Mmu> {
        self.0.lock().expect("no test panics with this lock")
    }

    /// From now on translations are dropped as soon as that is ordered.
    pub fn drop_at_once(&self) {
        self.mmu().drops_at_once = true;
    }

    /// Shows the pager which pages have translations, with sensed bits.
    pub fn translations(&self) -> Option<Box<dyn Translations>> {
        let memory = self.clone();
        self.mmu().is_sensed.then(|| Box::new(ModelTranslations(memory)) as Box<dyn Translations>)
    }

    /// Returns whether the program can do this without a fault that the pager is to answer.
    pub fn allows(&self, page: PageId, op: Op) -> bool {
        let mut mmu = self.mmu();
        let index = page.index();
        if mmu.is_sensed && mmu.is_present[index] && mmu.translations[index] == Translation::None {
            let protected = mmu.is_protected[index];
            mmu.translations[index] =
                if protected { Translation::ReadOnly } else { Translation::Writable };
        }
        let goes_on = mmu.shows_writes && op == Op::Write;
        if goes_on && mmu.translations[index] == Translation::ReadOnly {
            mmu.translations[index] = Translation::Writable;
            mmu.is_protected[index] = false;
        }
        match mmu.translations[index] {
            Translation::None => false,
            Translation::ReadOnly => op == Op::Read,
            Translation::Writable => true,
        }
    }

    /// What the program reads at the start of the page.
    pub fn read(&self, page: PageId) -> u64 {
        assert!(self.allows(page, Op::Read));
        let bytes = self.mmu().contents[page.index()].0;
        assert!(bytes[8..].iter().all(|&byte| byte == bytes[8]), "the page is torn");
        u64::from_ne_bytes(bytes[..8].try_into().expect("eight bytes"))
    }

    /// The program writes a number, and its lowest byte into the rest of the page.
    pub fn write(&self, page: PageId, value: u64) {
        assert!(self.allows(page, Op::Write));
        let content = &mut self.mmu().contents[page.index()].0;
        content.fill(value as u8);
        content[..8].copy_from_slice(&value.to_ne_bytes());
    }

    /// The program writes a word of its memory.
    pub fn write_word(&self, offset: u64, value: u64) {
        let (page, byte) = (offset as usize / PAGE_BYTES, offset as usize % PAGE_BYTES);
        assert!(self.allows(PageId(page as u32), Op::Write));
        self.mmu().contents[page].0[byte..byte + 8].copy_from_slice(&value.to_ne_bytes());
    }

    pub fn is_present(&self, page: PageId) -> bool {
        self.mmu().is_present[page.index()]
    }

    pub fn present_pages(&self) -> usize {
        self.mmu().is_present.iter().filter(|&&present| present).count()
    }
}

impl ProgramMemory for ModelMemory {
    fn pages(&self) -> u32 {
        self.mmu().is_present.len() as u32
    }

    fn first_address(&self) -> u64 {
        FIRST_ADDRESS
    }

    fn peek(&self, first: u64, words: &mut [u64]) {
        let mmu = self.mmu();
        for (at, word) in (first as usize..).zip(words) {
            let (page, byte) = (at * 8 / PAGE_BYTES, at * 8 % PAGE_BYTES);
            let bytes = &mmu.contents[page].0[byte..byte + 8];
            *word = match mmu.is_present[page] {
                true => u64::from_ne_bytes(bytes.try_into().expect("eight bytes")),
                false => 0,
            };
        }
    }

    fn address(&self, page: PageId) -> PageAddress {
        // A caller that asks for the address is about to use the page.
        let mut mmu = self.mmu();
        mmu.is_present[page.index()] = true;
        PageAddress(NonNull::from(&mut *mmu.contents[page.index()]).cast())
    }

    fn fill_with_zeros(&mut self, page: PageId) -> io::Result<()> {
        let mut mmu = self.mmu();
        assert!(!mmu.is_present[page.index()], "the content would be lost");
        mmu.is_present[page.index()] = true;
        mmu.contents[page.index()].0 = [0; PAGE_BYTES];
        Ok(())
    }

    fn map(&mut self, page: PageId, writable: bool) -> io::Result<()> {
        let mut mmu = self.mmu();
        assert!(mmu.is_present[page.index()]);
        assert!(!mmu.unmapping.contains(&page), "the new translation would be dropped");
        assert!(mmu.translations[page.index()] == Translation::None);
        mmu.translations[page.index()] =
            if writable { Translation::Writable } else { Translation::ReadOnly };
        Ok(())
    }

    fn allow_writes(&mut self, page: PageId) -> io::Result<()> {
        let mut mmu = self.mmu();
        mmu.is_protected[page.index()] = false;
        if mmu.is_sensed && mmu.translations[page.index()] == Translation::None {
            return Ok(());
        }
        assert!(mmu.is_sensed || mmu.translations[page.index()] == Translation::ReadOnly);
        mmu.translations[page.index()] = Translation::Writable;
        Ok(())
    }

    fn forbid_writes(&mut self, first: PageId, pages: u32) -> io::Result<()> {
        let mut mmu = self.mmu();
        for page in first.index()..first.index() + pages as usize {
            mmu.is_protected[page] = true;
            if mmu.is_sensed && mmu.translations[page] == Translation::None {
                continue;
            }
            assert!(mmu.is_sensed || mmu.translations[page] == Translation::Writable);
            mmu.translations[page] = Translation::ReadOnly;
        }
        Ok(())
    }

    fn forget(&mut self, first: PageId, pages: u32) -> io::Result<()> {
        let mut mmu = self.mmu();
        for page in first.index()..first.index() + pages as usize {
            mmu.is_present[page] = false;
            mmu.translations[page] = Translation::None;
            mmu.contents[page].0 = [0xAA; PAGE_BYTES];
        }
        Ok(())
    }

    fn begin_unmapping(&mut self, pages: &mut Vec<PageId>) -> io::Result<()> {
        self.mmu().unmapping.append(pages);
        if self.mmu().drops_at_once { self.finish_unmapping() } else { Ok(()) }
    }

    fn finish_unmapping(&mut self) -> io::Result<()> {
        let mut mmu = self.mmu();
        for page in std::mem::take(&mut mmu.unmapping) {
            mmu.translations[page.index()] = Translation::None;
        }
        Ok(())
    }

    fn fill(&mut self, page: PageId, content: &mut Page, writable: bool) -> io::Result<()> {
        let mut mmu = self.mmu();
        let index = page.index();
        assert!(mmu.is_sensed && !mmu.is_present[index], "the content would be lost");
        assert_eq!(mmu.translations[index], Translation::None);
        mmu.is_present[index] = true;
        mmu.contents[index].0 = content.0;
        mmu.is_protected[index] = !writable;
        mmu.translations[index] =
            if writable { Translation::Writable } else { Translation::ReadOnly };
        Ok(())
    }

    fn fill_unmapped(&mut self, first: PageId, contents: &[&Page]) -> io::Result<()> {
        self.forbid_writes(first, contents.len() as u32)?;
        let mut mmu = self.mmu();
        assert!(mmu.shows_writes, "the access would not be seen");
        for (page, content) in (first.index()..).zip(contents) {
            assert!(!mmu.is_present[page], "the content would be lost");
            mmu.is_present[page] = true;
            mmu.contents[page].0 = content.0;
        }
        Ok(())
    }

    fn take(&mut self, pages: &[PageId], into: &mut [Box<Page>]) -> io::Result<()> {
        assert!(pages.is_sorted() && pages.len() == into.len());
        for (&page, into) in pages.iter().zip(into) {
            if let Some(acts) = &mut *self.1.lock().expect("no test panics with this lock") {
                acts(page);
            }
            assert!(self.mmu().is_present[page.index()], "there is nothing to take");
            into.0 = self.mmu().contents[page.index()].0;
            self.forget(page, 1)?;
        }
        Ok(())
    }

    fn has_other_threads(&self) -> bool {
        true
    }

    fn copy_content(&mut self, page: PageId, into: &mut Page) -> io::Result<()> {
        let mmu = self.mmu();
        assert!(mmu.is_present[page.index()], "there is nothing to copy");
        let is_writable = mmu.translations[page.index()] == Translation::Writable;
        assert!(!is_writable, "the copy may be torn");
        into.0 = mmu.contents[page.index()].0;
        Ok(())
    }

    fn wake(&mut self, page: PageId) -> io::Result<()> {
        assert!(self.mmu().is_present[page.index()], "the thread would wait again");
        Ok(())
    }

    fn map_again(&mut self, _: PageId, _: bool) -> io::Result<()> {
        Ok(())
    }
}

struct ModelTranslations(ModelMemory);

impl Translations for ModelTranslations {
    fn sees_writes(&self) -> bool {
        self.0.mmu().shows_writes
    }

    fn look(&mut self, pages: &[PageId], seen: &mut Vec<Seen>) {
        assert!(pages.is_sorted());
        let mmu = self.0.mmu();
        seen.extend(pages.iter().map(|page| Seen {
            is_translated: mmu.translations[page.index()] != Translation::None,
            is_written: mmu.shows_writes && !mmu.is_protected[page.index()],
        }));
    }
}

/// What has been counted, with pages and operations read since then.
pub fn reads_since(before: &Counts, pager: &Pager) -> Counts {
    let counts = pager.counts();
    Counts {
        pages_read: counts.pages_read - before.pages_read,
        read_operations: counts.read_operations - before.read_operations,
        pages_read_in_vain: counts.pages_read_in_vain - before.pages_read_in_vain,
        ..counts
    }
}

pub fn pages_in_a_read(counts: &Counts) -> f64 {
    counts.pages_read as f64 / counts.read_operations as f64
}
