//! The memory of a program as its pager handles it.

use std::io;

use clockhand_policy::PageId;

use crate::store::{Page, PageAddress};

/// What a pager can do with the memory of a program.
///
/// A page has content or not, and the program has a translation for it or not: one for reading, or one for writing
/// too. Only a page with content has a translation. With mapped bits the pager alone makes and changes translations; with
/// sensed ones the program's accesses make those of pages that have content.
///
/// An error means that the program's memory is gone: the program has ended.
pub trait ProgramMemory: Send {
    /// The number of pages.
    fn pages(&self) -> u32;

    /// The address of the program's first page.
    fn first_address(&self) -> u64;

    /// Reads words that the program has in its memory, from the word numbered `first` on. Pages without content are
    /// zeros. Writes of the program during the read may be seen or not.
    fn peek(&self, first: u64, words: &mut [u64]);

    /// The pager's own view of a page, which needs no translation of the program. Content that is written there is
    /// what the program finds.
    fn address(&self, page: PageId) -> PageAddress;

    /// Mapped bits: gives a page without content zeros.
    ///
    /// # Errors
    ///
    /// If there is no memory for it.
    fn fill_with_zeros(&mut self, page: PageId) -> io::Result<()>;

    /// Makes a translation, and wakes the threads that wait for the page.
    ///
    /// # Errors
    ///
    /// If the program has ended.
    fn map(&mut self, page: PageId, writable: bool) -> io::Result<()>;

    /// Makes the translation of a page writable, and wakes the threads that wait for that.
    ///
    /// # Errors
    ///
    /// If the program has ended.
    fn allow_writes(&mut self, page: PageId) -> io::Result<()>;

    /// Makes the translations of `pages` pages from `first` on, if there are any, read-only; with sensed bits also those
    /// that will come back. A write then waits, or goes on and [is seen](crate::Translations::sees_writes).
    ///
    /// # Errors
    ///
    /// If the program has ended.
    fn forbid_writes(&mut self, first: PageId, pages: u32) -> io::Result<()>;

    /// Drops content and translations of `pages` pages from `first` on.
    ///
    /// # Errors
    ///
    /// If the memory cannot be given back.
    fn forget(&mut self, first: PageId, pages: u32) -> io::Result<()>;

    /// The program is about to map something else over pages without content, which are neither watched nor touched from now
    /// on: what is done to them is nothing.
    ///
    /// # Errors
    ///
    /// If the memory cannot do without them.
    fn give_away(&mut self, _first: PageId, _pages: u32) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Begins to drop translations; the contents stay. Empties the list.
    ///
    /// # Errors
    ///
    /// If the program has ended.
    fn begin_unmapping(&mut self, pages: &mut Vec<PageId>) -> io::Result<()>;

    /// Waits until the dropping that was begun is done.
    ///
    /// # Errors
    ///
    /// If the program has ended.
    fn finish_unmapping(&mut self) -> io::Result<()>;

    /// Sensed bits: gives a page without content this one, makes a translation, and wakes the threads that wait.
    ///
    /// # Errors
    ///
    /// If the program has ended, or there is no memory for the page.
    fn fill(&mut self, page: PageId, content: &mut Page, writable: bool) -> io::Result<()>;

    /// Sensed bits that show writes: gives pages in a row, from `first` on, which have no content, these, and makes no
    /// translations. A write to one will be seen.
    ///
    /// # Errors
    ///
    /// If the program has ended, or there is no memory for the pages.
    fn fill_unmapped(&mut self, first: PageId, contents: &[&Page]) -> io::Result<()>;

    /// Sensed bits that show writes: takes pages away, which have content and are in ascending order, with what the program has
    /// written until they were gone. Whether it has can be seen afterwards.
    ///
    /// # Errors
    ///
    /// If the program has ended.
    fn take(&mut self, pages: &[PageId], into: &mut [Box<Page>]) -> io::Result<()>;

    /// Returns whether threads of a program that waits for a fork may go on.
    fn has_other_threads(&self) -> bool;

    /// Sensed bits: copies the content of a page that has some.
    ///
    /// # Errors
    ///
    /// If the content cannot be read.
    fn copy_content(&mut self, page: PageId, into: &mut Page) -> io::Result<()>;

    /// Sensed bits: wakes the threads that wait for a page that has content.
    ///
    /// # Errors
    ///
    /// If the program has ended.
    fn wake(&mut self, page: PageId) -> io::Result<()>;

    /// Restores a translation that should be there if it is missing, and wakes the threads that wait for the page.
    ///
    /// # Errors
    ///
    /// If the program has ended.
    fn map_again(&mut self, page: PageId, writable: bool) -> io::Result<()>;
}
