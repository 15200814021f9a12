//! Frames that are kept for writes and for reading ahead, and are not in use, hold the pages that left last.

use clockhand_pager::Pager;
use clockhand_policy::PageId;

use crate::decisions::{reading_ahead, settings, with_bits};
use crate::last_moment::{read, write};
use crate::model::{ModelMemory, Source};

const PAGES: u32 = 12;

/// So many pages lie between two of them, so that none is near another.
const APART: u32 = 50;

/// Two frames for the policy and three to read ahead; each page has been written.
fn begun() -> (ModelMemory, Pager) {
    let source = Source::SensedWrites;
    let settings = reading_ahead(with_bits(settings("clock", 2, 0), source.bits()), 3);
    let memory = ModelMemory::new(PAGES * APART, source);
    let mut pager = memory.pager(&settings);
    for page in 0..PAGES {
        write(&memory, &mut pager, page * APART, 100 + u64::from(page));
    }
    (memory, pager)
}

/// Reads pages no two of which are neighbours in the store or in memory, so that none is read ahead; returns how many
/// were read from the store and how many were still in memory.
fn reads(memory: &ModelMemory, pager: &mut Pager, pages: &[u32]) -> (u64, u64) {
    let before = pager.counts();
    for &page in pages {
        assert_eq!(read(memory, pager, page * APART), 100 + u64::from(page));
        pager.check_invariants();
    }
    let counts = pager.counts();
    (counts.pages_read - before.pages_read, counts.pages_rescued - before.pages_rescued)
}

#[test]
fn a_page_that_left_last_is_not_read() {
    let (memory, mut pager) = begun();
    assert_eq!(reads(&memory, &mut pager, &[0, 4, 8]), (3, 0));
    assert_eq!(reads(&memory, &mut pager, &[0]), (0, 1));
    // Pages 8, 0 and 2 have left after it.
    assert_eq!(reads(&memory, &mut pager, &[2, 6, 10, 4]), (4, 0));
    assert!(memory.present_pages() <= 5);
}

#[test]
fn a_page_that_left_last_and_is_freed_is_zeros() {
    let (memory, mut pager) = begun();
    assert_eq!(reads(&memory, &mut pager, &[0, 4, 8]), (3, 0));
    pager.discard(PageId(0), 1).expect("the store does not fail");
    pager.check_invariants();
    assert_eq!(read(&memory, &mut pager, 0), 0);
}

#[test]
fn a_child_has_the_pages_that_left_last() {
    let (memory, mut pager) = begun();
    assert_eq!(reads(&memory, &mut pager, &[0, 4, 8]), (3, 0));
    let copies = pager.copy_for_fork().expect("the store does not fail");
    pager.check_invariants();
    assert!(copies.iter().any(|&(page, _)| page == PageId(0)));
    assert_eq!(reads(&memory, &mut pager, &[0]), (0, 1), "it is still the parent's");
}

/// Writes pages at random; returns how many misses that were, and how many pages were written to the store.
fn write_at_random(memory: &ModelMemory, pager: &mut Pager, pages: u32) -> (u64, u64) {
    let before = pager.counts();
    let mut random = 1_u32;
    for turn in 0..4000 {
        random = random.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        write(memory, pager, (random >> 8) % pages * APART, turn);
    }
    pager.check_invariants();
    let counts = pager.counts();
    (counts.misses - before.misses, counts.pages_written - before.pages_written)
}

/// The policy has room for 40 of 52 pages. The others are held where the program reaches them, and are not written.
#[test]
fn pages_that_come_back_have_the_kept_frames() {
    let source = Source::SensedWrites;
    let settings = reading_ahead(with_bits(settings("clock", 48, 8), source.bits()), 8);
    let memory = ModelMemory::new(400 * APART, source);
    let mut pager = memory.pager(&settings);
    write_at_random(&memory, &mut pager, 52);
    assert_eq!(write_at_random(&memory, &mut pager, 52), (0, 0));
    assert!(memory.present_pages() <= 56);
}
