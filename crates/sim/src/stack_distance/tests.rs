//! Distances against a list that is searched, and counts that are large.

use super::*;

/// References to `pages` pages with runs, loops and jumps, enough to pack the slots many times.
fn references(pages: u32) -> impl Iterator<Item = u32> {
    let mut number = 1_u64;
    (0..pages * 40).map(move |position| {
        number = number.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let random = (number >> 33) as u32;
        match random % 3 {
            0 => position % pages,
            1 => (random >> 8) % pages,
            _ => (random >> 8) % pages.min(5),
        }
    })
}

#[test]
fn distances_are_places_in_a_list_that_is_searched() {
    for pages in [1, 2, 15, 16, 17, 64, 300] {
        let mut stack = LruStack::new(pages);
        let mut list: Vec<u32> = Vec::new();
        for page in references(pages) {
            let place = list.iter().position(|&other| other == page);
            assert_eq!(stack.depth(page), place.map(|place| place as u32 + 1));
            assert_eq!(stack.reference(page), place.map(|place| place as u32 + 1));
            place.map(|place| list.remove(place));
            list.insert(0, page);
        }
    }
}

#[test]
fn a_forgotten_page_is_as_one_that_was_never_referenced() {
    for pages in [1, 2, 17, 300] {
        let mut stack = LruStack::new(pages);
        let mut list: Vec<u32> = Vec::new();
        for (step, page) in references(pages).enumerate() {
            let place = list.iter().position(|&other| other == page);
            place.map(|place| list.remove(place));
            if step % 5 == 0 {
                stack.forget(page);
            } else {
                assert_eq!(stack.reference(page), place.map(|place| place as u32 + 1));
                list.insert(0, page);
            }
        }
    }
}

#[test]
fn counts_that_exceed_32_bits_are_whole() {
    let mut counts = CountsBeyond::new(3);
    counts.counts = vec![u32::MAX - 1, 7, u32::MAX, 5];
    for distance in [1, 1, 1, 3, 3] {
        counts.add(distance);
    }
    counts.sum_up();
    let beyond = |frames| counts.beyond(frames);
    let full = 1 << 32;
    assert_eq!([0, 1, 2, 3].map(beyond), [2 * full + 14, full + 13, full + 6, 5]);
}

#[test]
fn a_page_that_was_never_referenced_has_no_depth() {
    assert_eq!(LruStack::new(3).depth(2), None);
}
