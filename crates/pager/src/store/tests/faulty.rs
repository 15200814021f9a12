use std::io::ErrorKind;

use super::{page_of, read, write};
use crate::store::{
    CompressedRam, CompressedRamStore, DEFAULT_LEVEL, FaultScript, FaultyStore, Page, Slot, Store,
    WriteFault,
};

fn store() -> (FaultyStore<CompressedRamStore>, FaultScript) {
    let script = FaultScript::default();
    let ram = CompressedRam::new(DEFAULT_LEVEL, None).unwrap();
    (FaultyStore::new(ram.store().unwrap(), &script), script)
}

/// Slots that hold pages 1, 2 and 3, and a write of 4, 5 and 6 over them; how that ended and what they hold then.
fn overwritten(fault: WriteFault) -> (std::io::Result<()>, Vec<Page>) {
    let (mut store, script) = store();
    let slots: Vec<Slot> = (1..4).map(|seed| write(&mut store, &mut page_of(seed)).0).collect();
    script.fail_write(1, fault);
    let mut pages: Vec<_> = (4..7).map(page_of).collect();
    let address = |(slot, page): (&Slot, &mut Page)| (*slot, page.address());
    let batch: Vec<_> = slots.iter().zip(&mut pages).map(address).collect();
    // SAFETY: the pages live longer than the write.
    let result = match unsafe { store.start_write(&batch) } {
        Ok(_) => store.finished_write(true).unwrap().1,
        Err(error) => Err(error),
    };
    (result, slots.iter().map(|slot| read(&mut store, *slot).unwrap()).collect())
}

#[test]
fn writes_fail_as_the_script_says() {
    let pages = |seeds: [u64; 3]| seeds.map(page_of).to_vec();
    for (fault, left) in [
        (WriteFault::Refused, [1, 2, 3]),
        (WriteFault::Fails, [1, 2, 3]),
        (WriteFault::Short { pages: 0 }, [1, 2, 3]),
        (WriteFault::Short { pages: 2 }, [4, 5, 3]),
    ] {
        let (result, content) = overwritten(fault);
        assert!(result.unwrap_err().to_string().contains("as the test wants it"), "{fault:?}");
        assert!(content == pages(left), "{fault:?}");
    }
}

#[test]
fn the_nth_operation_from_now_on_fails_and_no_other() {
    let (mut store, script) = store();
    script.fail_write(2, WriteFault::Fails);
    let results = [1, 2, 3].map(|seed| write(&mut store, &mut page_of(seed)).1.is_ok());
    assert_eq!(results, [true, false, true]);
    script.fail_read(2);
    assert_eq!([1, 2, 3].map(|_| read(&mut store, Slot(0)).is_ok()), [true, false, true]);
}

#[test]
fn the_store_is_full_as_often_as_the_script_says() {
    let (mut store, script) = store();
    script.refuse_allocations(2);
    let mut slots = Vec::new();
    for _ in 0..2 {
        let error = store.allocate(1, &mut slots).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
    }
    store.allocate(1, &mut slots).unwrap();
    assert_eq!(slots.len(), 1);
}

#[test]
fn held_writes_finish_for_who_waits() {
    let (mut store, script) = store();
    script.hold_writes();
    let mut page = page_of(1);
    let mut slots = Vec::new();
    store.allocate(2, &mut slots).unwrap();
    for slot in slots {
        // SAFETY: the page lives longer than the write.
        unsafe { store.start_write(&[(slot, page.address())]) }.unwrap();
    }
    assert!(store.finished_write(false).is_none());
    assert!(store.finished_write(true).is_some());
    assert!(store.finished_write(false).is_none());
    script.let_writes_finish();
    assert!(store.finished_write(false).is_some());
}
