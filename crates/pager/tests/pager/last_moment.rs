//! A write that another thread makes while its page is taken away.

use std::sync::mpsc;

use clockhand_pager::{Event, InitialPages, Pager, Parts};
use clockhand_policy::{Op, PageId};

use crate::decisions::{reading_ahead, settings, with_bits};
use crate::model::{ModelMemory, ModelStore, Source};

pub fn read(memory: &ModelMemory, pager: &mut Pager, page: u32) -> u64 {
    while !memory.allows(PageId(page), Op::Read) {
        pager.serve(PageId(page), Op::Read).expect("the store does not fail");
    }
    memory.read(PageId(page))
}

pub fn write(memory: &ModelMemory, pager: &mut Pager, page: u32, value: u64) {
    while !memory.allows(PageId(page), Op::Write) {
        pager.serve(PageId(page), Op::Write).expect("the store does not fail");
    }
    memory.write(PageId(page), value);
}

#[test]
fn a_page_that_was_seen_read_and_is_written_in_its_last_moment_keeps_the_write() {
    const LATE: u32 = 5;
    let source = Source::SensedWrites;
    let settings = reading_ahead(with_bits(settings("clock", 6, 4), source.bits()), 3);
    let memory = ModelMemory::new(12, source);
    let (log, events) = mpsc::channel();
    let mut pager = settings.build(Parts {
        program: Box::new(memory.clone()),
        translations: memory.translations(),
        store: Box::new(ModelStore::new(0)),
        events: Box::new(move |event| log.send(event).expect("the log is read")),
        initial: InitialPages::new(),
    });
    let pager = &mut pager;
    // Page 10 is written with zeros, leaves the two frames, and waits for another to leave with it.
    read(&memory, pager, 0);
    write(&memory, pager, 10, 0);
    read(&memory, pager, 1);
    write(&memory, pager, 2, 2);
    assert!(memory.allows(PageId(3), Op::Read), "page 3 is exposed");
    write(&memory, pager, 3, 3);
    // It is accessed before it has gone, which is discovered when page 2 leaves. Pages 5 to 7 are exposed.
    assert!(memory.allows(PageId(10), Op::Read), "page 10 is still there");
    write(&memory, pager, 4, 4);
    // Page 5 is read unasked, which is seen before the fork.
    assert!(memory.allows(PageId(LATE), Op::Read), "page 5 is exposed");
    // Page 10 is loaded first. It has gone by then, and is zeros, so that page 11 is exposed beside it, in place of page 5.
    let thread = memory.clone();
    let mut is_written = false;
    memory.before_a_page_is_taken(move |page| {
        if page == PageId(LATE) && !is_written {
            assert!(thread.allows(page, Op::Write), "the page is exposed");
            thread.write(page, 55);
            is_written = true;
        }
    });
    pager.copy_for_fork().expect("the store does not fail");
    pager.check_invariants();
    // Others take its frame.
    for page in 0..LATE {
        read(&memory, pager, page);
    }
    assert_eq!(read(&memory, pager, LATE), 55, "the write was lost");
    let first = events
        .try_iter()
        .find(|event| matches!(event, Event::Reference { page, .. } if *page == PageId(LATE)));
    let written = Event::Reference { page: PageId(LATE), op: Op::Write, is_miss: true };
    assert_eq!(first, Some(written), "the page was loaded before it was written");
}
