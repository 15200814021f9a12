//! Pointers that a program follows lead to pages that are read ahead.

use clockhand_pager::{Bits, Counts, PagedRegion, Pager};
use clockhand_policy::{Op, PageId};

use crate::decisions::{SOURCES, reading_ahead, settings, with_bits};
use crate::last_moment::write;
use crate::model::{FIRST_ADDRESS, ModelMemory, ModelStore, Source, pages_in_a_read, reads_since};
use crate::real_memory::{is_refused, numbers};

const PAGE_BYTES: u64 = 4096;

/// The number of objects, one in each page.
const OBJECTS: u32 = 1000;

/// Pages behind the objects for an array of words.
const ARRAY_PAGES: u32 = 12;

/// Numbers up to this one in no order.
fn shuffled(count: u32) -> Vec<u32> {
    let (mut next, mut order) = (numbers(1), (0..count).collect::<Vec<_>>());
    (1..order.len()).rev().for_each(|last| order.swap(last, next(last as u64 + 1) as usize));
    order
}

/// The arrangement of the array's words.
#[derive(Clone, Copy)]
struct Array {
    /// The number of words for each object; the first is a pointer.
    words: u32,
    is_downwards: bool,
    /// True if they are pointers, and not only numbers.
    has_pointers: bool,
}

/// A program goes through the array three times and reads each of its objects.
fn counts_of(array: Array, source: Source, objects: u32, frames: u32) -> Counts {
    let settings = reading_ahead(with_bits(settings("clock", frames, 0), source.bits()), 64);
    let memory = ModelMemory::new(objects + ARRAY_PAGES, source);
    let mut pager = memory.pager(&settings);
    let access = |pager: &mut Pager, offset: u64, op| {
        let page = PageId((offset / PAGE_BYTES) as u32);
        while !memory.allows(page, op) {
            pager.serve_at(offset, op).expect("the store does not fail");
        }
        page
    };
    let order = shuffled(objects);
    let place =
        |number: u32| u64::from(order[number as usize]) * PAGE_BYTES + u64::from(number % 50) * 8;
    for page in 0..objects {
        write(&memory, &mut pager, page, u64::from(page));
    }
    let word = |number: u32| {
        let number = if array.is_downwards { objects - number } else { number };
        u64::from(objects) * PAGE_BYTES + u64::from(number * array.words) * 8
    };
    for number in 0..objects {
        let first = if array.has_pointers { FIRST_ADDRESS } else { 0 };
        access(&mut pager, word(number), Op::Write);
        memory.write_word(word(number), first + place(number));
    }
    let before = pager.counts();
    for _ in 0..3 {
        for number in 0..objects {
            access(&mut pager, word(number), Op::Read);
            let page = access(&mut pager, place(number), Op::Read);
            assert_eq!(memory.read(page), u64::from(page.0));
        }
        pager.check_invariants();
    }
    reads_since(&before, &pager)
}

#[test]
fn pages_to_which_an_array_of_pointers_leads_are_read_together() {
    for source in Source::ALL {
        for (words, is_downwards) in [(1, false), (1, true), (4, false), (4, true)] {
            let counts =
                counts_of(Array { words, is_downwards, has_pointers: true }, source, OBJECTS, 128);
            assert!(
                pages_in_a_read(&counts) > 6.0,
                "{words}, {is_downwards}, {source:?}: {counts:?}"
            );
            assert!(counts.pages_read_in_vain < counts.pages_read / 20, "{counts:?}");
        }
    }
}

/// The array is not among the first pages that a search looks at.
#[test]
fn a_search_begins_where_the_last_one_ended() {
    let array = Array { words: 1, is_downwards: false, has_pointers: true };
    let counts = counts_of(array, Source::Mapped, 6000, 5000);
    assert!(pages_in_a_read(&counts) > 1.5, "{counts:?}");
}

#[test]
fn numbers_lead_nowhere() {
    let array = Array { words: 1, is_downwards: false, has_pointers: false };
    let counts = counts_of(array, Source::SensedWrites, OBJECTS, 128);
    assert!(pages_in_a_read(&counts) < 1.5, "{counts:?}");
    assert!(counts.pages_read_in_vain < counts.pages_read / 12, "{counts:?}");
}

/// Reads of a program in real memory that goes through an array, whose words are pointers or only numbers.
fn reads_of_real_memory(bits: Bits, has_pointers: bool) -> u64 {
    let settings = reading_ahead(with_bits(settings("clock", 128, 0), bits), 64);
    let pages = OBJECTS + ARRAY_PAGES;
    let store = Box::new(ModelStore::new(0));
    let region = PagedRegion::new(pages, settings, store, Box::new(|_| ())).expect("it pages");
    let start = region.as_ptr().cast::<u64>();
    // SAFETY: the word lies in the region, which is memory, and one thread uses it.
    let read = |word: usize| unsafe { start.add(word).read_volatile() };
    // SAFETY: as above.
    let write = |word: usize, value| unsafe { start.add(word).write_volatile(value) };
    let order = shuffled(OBJECTS);
    (0..OBJECTS as usize).for_each(|page| write(page * 512, page as u64));
    let first = if has_pointers { start as u64 } else { 0 };
    let array = OBJECTS as usize * 512;
    for (number, &page) in order.iter().enumerate() {
        write(array + number, first + u64::from(page) * PAGE_BYTES);
    }
    for _ in 0..3 {
        for number in 0..order.len() {
            let object = (read(array + number) - first) / PAGE_BYTES;
            assert_eq!(read(object as usize * 512), object);
        }
    }
    region.finish().counts.read_operations
}

#[test]
fn pointers_in_real_memory_lead_to_pages_that_are_read_together() {
    if is_refused() {
        return;
    }
    for bits in SOURCES {
        let (followed, not) = (reads_of_real_memory(bits, true), reads_of_real_memory(bits, false));
        assert!(4 * followed < not, "{bits:?}: {followed} reads, {not} without pointers");
    }
}
