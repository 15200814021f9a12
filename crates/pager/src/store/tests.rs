//! Every store against a plain map, and what is particular to each.

mod compressed;
mod faulty;
mod full;
mod model;
mod swap_file;

use super::{Page, Slot, Store, StoreError, SwapFile, SwapFileStore};

/// A page with content that is told apart by `seed`: zeros for every seventh, else text that compresses, or noise.
fn page_of(seed: u64) -> Page {
    let mut page = Page::ZEROS;
    match seed % 7 {
        0 => {}
        1..=3 => {
            let text = format!("content {seed} ");
            page.0.iter_mut().zip(text.bytes().cycle()).for_each(|(byte, from)| *byte = from);
        }
        _ => {
            let mut state = seed | 1;
            for byte in &mut page.0 {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                *byte = state as u8;
            }
        }
    }
    page
}

/// A store in the file, unless the kernel refuses io_uring.
pub(super) fn store_in(file: &SwapFile) -> Option<SwapFileStore> {
    match file.store() {
        Ok(store) => Some(store),
        Err(error @ StoreError::IoUringRefused(_)) => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Writes a page into a new slot, and waits for it.
fn write(store: &mut dyn Store, page: &mut Page) -> (Slot, std::io::Result<()>) {
    let mut slots = Vec::new();
    store.allocate(1, &mut slots).unwrap();
    // SAFETY: the page lives until the write has finished.
    let ticket = unsafe { store.start_write(&[(slots[0], page.address())]) }.unwrap();
    let (finished, result) = store.finished_write(true).expect("a write is under way");
    assert_eq!(finished, ticket);
    (slots[0], result)
}

fn read(store: &mut dyn Store, slot: Slot) -> std::io::Result<Page> {
    let mut page = page_of(5);
    // SAFETY: nothing else refers to the page.
    unsafe { store.read(slot, page.address()) }?;
    Ok(page)
}
