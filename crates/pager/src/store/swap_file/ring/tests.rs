//! Operations that are cut short, and reads of several pages.

use std::os::unix::fs::FileExt;

use super::super::Shared;
use super::*;
use crate::store::Page;

fn write_of_four(page: &mut Page) -> Operation {
    let pages: Vec<_> = (7..11).map(|slot| (Slot(slot), page.address())).collect();
    Operation::new(Some(WriteTicket(0)), &pages)
}

#[test]
fn the_rest_of_a_short_write_begins_with_the_page_that_is_not_whole() {
    let mut page = Page::ZEROS;
    let mut operation = write_of_four(&mut page);
    assert_eq!(operation.offset(), 8 * 4096);
    assert!(matches!(operation.advance(2 * 4096 + 512), Progress::Partial));
    assert_eq!(operation.offset(), 10 * 4096);
    assert!(matches!(operation.advance(4096), Progress::Partial));
    assert!(matches!(operation.advance(4096), Progress::Complete));
}

#[test]
fn an_interrupted_operation_is_asked_for_again() {
    let mut page = Page::ZEROS;
    let mut operation = write_of_four(&mut page);
    for error in [libc::EINTR, libc::EAGAIN] {
        assert!(matches!(operation.advance(-error), Progress::Partial));
        assert_eq!(operation.done, 0);
    }
}

#[test]
fn an_operation_without_progress_fails() {
    let mut page = Page::ZEROS;
    let mut read = Operation::new(None, &[(Slot(0), page.address())]);
    let mut write = write_of_four(&mut page);
    for (is_read, result, expected) in [
        (false, 0, io::ErrorKind::WriteZero),
        (false, 100, io::ErrorKind::WriteZero),
        (false, -libc::ENOSPC, io::ErrorKind::StorageFull),
        (true, 0, io::ErrorKind::UnexpectedEof),
    ] {
        let operation = if is_read { &mut read } else { &mut write };
        match operation.advance(result) {
            Progress::Failed(error) => assert_eq!(error.kind(), expected),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_slot_that_is_released_while_it_is_written_is_free_when_the_write_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let file = SwapFile::open(&folder.path().join("swap"), None).unwrap();
    let Some(mut store) = crate::store::tests::store_in(&file) else { return };
    let mut pages = vec![Page::ZEROS; 64];
    let mut slots = Vec::new();
    store.allocate(pages.len(), &mut slots).unwrap();
    let address = |(slot, page): (&Slot, &mut Page)| (*slot, page.address());
    let batch: Vec<_> = slots.iter().zip(&mut pages).map(address).collect();
    // SAFETY: the pages live until the write has finished.
    unsafe { store.start_write(&batch) }.unwrap();
    store.release(slots[3]);
    assert_eq!(file.slots().owners(slots[3]), u32::from(!store.writes.is_empty()));
    store.finished_write(true).expect("a write is under way").1.unwrap();
    assert_eq!(file.slots().owners(slots[3]), 0);
    assert_eq!(file.slots().owners(slots[4]), 1);
}

/// Writes pages into new slots, and waits for it.
fn write(store: &mut SwapFileStore, pages: &mut [Page]) -> Vec<Slot> {
    let mut slots = Vec::new();
    store.allocate(pages.len(), &mut slots).unwrap();
    let address = |(slot, page): (&Slot, &mut Page)| (*slot, page.address());
    let batch: Vec<_> = slots.iter().zip(pages).map(address).collect();
    // SAFETY: the pages live until the write has finished.
    unsafe { store.start_write(&batch) }.unwrap();
    store.finished_write(true).expect("a write is under way").1.unwrap();
    slots
}

#[test]
fn one_page_of_a_read_may_be_waited_for_before_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let file = SwapFile::open(&folder.path().join("swap"), None).unwrap();
    let Some(mut store) = crate::store::tests::store_in(&file) else { return };
    let mut pages: Vec<Page> = (0..16).map(|number| Page([number; PAGE_BYTES])).collect();
    let slots = write(&mut store, &mut pages);
    pages.fill(Page::ZEROS);
    // Every other one, and two neighbours.
    let read: Vec<_> = [0, 2, 3, 5, 9, 15].map(|at| (slots[at], pages[at].address())).to_vec();
    for wanted in [0, 2, 3, 15] {
        // SAFETY: the pages live until the read has ended.
        unsafe { store.begin_read(&read) }.unwrap();
        assert!(store.end_read_of(slots[wanted]));
        assert_eq!(pages[wanted].0[4095], wanted as u8);
        // It no longer belongs to the read.
        pages[wanted].0.fill(77);
        assert!(!store.end_read_of(slots[wanted]));
        store.end_read().unwrap();
        assert_eq!(pages[wanted].0[4095], 77);
        let others = [0, 2, 3, 5, 9, 15].into_iter().filter(|&other| other != wanted);
        others.for_each(|other| assert_eq!(pages[other].0[0], other as u8));
    }
}

#[test]
fn a_page_that_is_not_as_it_was_written_fails_with_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("swap");
    let file = SwapFile::open(&path, None).unwrap();
    let Some(mut store) = crate::store::tests::store_in(&file) else { return };
    let mut pages = vec![Page([1; PAGE_BYTES]); 3];
    let slots = write(&mut store, &mut pages);
    let other = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    other.write_all_at(&[2; 4096], offset_of(slots[0].0 as usize)).unwrap();
    // SAFETY: the pages live until the read has ended.
    unsafe { store.begin_read(&[0, 2].map(|at| (slots[at], pages[at].address()))) }.unwrap();
    assert!(!store.end_read_of(slots[0]));
    assert!(store.end_read().unwrap_err().to_string().contains("is not as it was written"));
}

#[test]
fn a_write_that_the_kernel_refuses_ends_with_the_error_and_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("swap");
    let file = SwapFile::open(&path, None).unwrap();
    let Some(mut store) = crate::store::tests::store_in(&file) else { return };
    let mut page = Page::ZEROS;
    let mut slots = Vec::new();
    store.allocate(3, &mut slots).unwrap();
    let slot_table = std::mem::take(&mut *store.file.slots());
    store.file = SwapFile(std::sync::Arc::new(Shared {
        file: std::fs::File::open(&path).unwrap(),
        path,
        limit_slots: 0,
        is_direct: false,
        is_created: false,
        has_grown: false.into(),
        slots: slot_table.into(),
        checksums: std::sync::Mutex::default(),
    }));
    let scattered = [(slots[0], page.address()), (slots[2], page.address())];
    // SAFETY: the page lives until the write has finished.
    let ticket = unsafe { store.start_write(&scattered) }.unwrap();
    let (finished, result) = store.finished_write(true).unwrap();
    assert_eq!(finished, ticket);
    let message = result.unwrap_err().to_string();
    assert!(message.starts_with("cannot write 4096 bytes at byte "), "{message}");
    assert!(message.ends_with("swap: Bad file descriptor (os error 9)"), "{message}");
    assert!(store.finished_write(true).is_none(), "the parts of a write finish together");
}
