use std::io::ErrorKind;

use super::{page_of, read, write};
use crate::store::{CompressedRam, DEFAULT_LEVEL, Page, Store, StoreError};

fn ram(limit_bytes: Option<u64>) -> CompressedRam {
    CompressedRam::new(DEFAULT_LEVEL, limit_bytes).unwrap()
}

#[test]
fn a_page_occupies_what_is_left_of_it() {
    let ram = ram(None);
    let mut store = ram.store().unwrap();
    write(&mut store, &mut Page::ZEROS.clone()).1.unwrap();
    assert_eq!(ram.occupied_bytes(), 0, "zeros cost nothing");
    let (text, _) = write(&mut store, &mut page_of(1));
    assert!((1..200).contains(&ram.occupied_bytes()), "{}", ram.occupied_bytes());
    store.release(text);
    let (noise, _) = write(&mut store, &mut page_of(6));
    assert_eq!(ram.occupied_bytes(), 4096, "noise is kept as it is");
    assert_eq!(read(&mut store, noise).unwrap(), page_of(6));
}

#[test]
fn full_memory_takes_nothing() {
    let ram = ram(Some(2 * 4096));
    let mut store = ram.store().unwrap();
    write(&mut store, &mut page_of(6)).1.unwrap();
    let mut slots = Vec::new();
    let error = store.allocate(2, &mut slots).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    assert!(error.to_string().contains("it may have 8192 bytes"), "{error}");
    store.allocate(1, &mut slots).unwrap();
    assert!(store.allocate(1, &mut slots).is_err(), "4096 bytes are set aside");
    store.release(slots[0]);
    store.allocate(1, &mut slots).unwrap();
}

#[test]
fn a_page_that_compresses_worse_than_before_may_find_no_room_and_the_old_one_stays() {
    let ram = ram(Some(2 * 4096));
    let mut store = ram.store().unwrap();
    let (text, _) = write(&mut store, &mut page_of(1));
    write(&mut store, &mut page_of(2)).1.unwrap();
    write(&mut store, &mut page_of(6)).1.unwrap();
    let mut noise = page_of(5);
    // SAFETY: the page lives longer than the write.
    unsafe { store.start_write(&[(text, noise.address())]) }.unwrap();
    let error = store.finished_write(true).unwrap().1.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    assert_eq!(read(&mut store, text).unwrap(), page_of(1));
}

#[test]
fn a_slot_that_was_never_written_cannot_be_read() {
    let mut store = ram(None).store().unwrap();
    let mut slots = Vec::new();
    store.allocate(1, &mut slots).unwrap();
    assert_eq!(read(&mut store, slots[0]).unwrap_err().kind(), ErrorKind::UnexpectedEof);
}

#[test]
fn a_level_that_zstd_does_not_have_is_refused() {
    let message = CompressedRam::new(1000, None).unwrap_err().to_string();
    assert!(message.starts_with("zstd has no level 1000: give one from "), "{message}");
    assert!(matches!(
        CompressedRam::new(DEFAULT_LEVEL, Some(4095)),
        Err(StoreError::LimitTooSmall { least_bytes: 4096, .. })
    ));
}
