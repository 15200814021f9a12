//! Pages at distances that recur are read together.

use clockhand_pager::Counts;
use clockhand_policy::PageId;

use crate::decisions::{reading_ahead, settings, with_bits};
use crate::last_moment::{read, write};
use crate::model::{ModelMemory, Source, pages_in_a_read, reads_since};
use crate::real_memory::numbers;

/// Of a table that a program reads by columns.
const PAGES: u32 = 2048;

/// The counts of a program that goes through these pages, all with content, in 128 frames.
fn counts_of(order: &[u32], source: Source) -> Counts {
    let settings = reading_ahead(with_bits(settings("clock", 128, 0), source.bits()), 64);
    let memory = ModelMemory::new(PAGES, source);
    let mut pager = memory.pager(&settings);
    for page in 0..PAGES {
        write(&memory, &mut pager, page, u64::from(page));
    }
    let before = pager.counts();
    for &page in order {
        assert_eq!(read(&memory, &mut pager, page), u64::from(page));
        pager.check_invariants();
    }
    reads_since(&before, &pager)
}

/// All pages, one column after the other: each row is 61 pages from the next one.
fn by_columns() -> Vec<u32> {
    (0..61).flat_map(|first| (first * 23 % 61..PAGES).step_by(61)).collect()
}

fn assert_read_together(order: &[u32]) {
    for source in Source::ALL {
        let counts = counts_of(order, source);
        assert!(pages_in_a_read(&counts) > 3.0, "{source:?}: {counts:?}");
        assert!(counts.pages_read_in_vain < counts.pages_read / 4, "{source:?}: {counts:?}");
    }
}

#[test]
fn columns_of_a_table_are_read_several_rows_together() {
    assert_read_together(&by_columns());
}

#[test]
fn a_list_in_the_order_of_a_multiplicative_hash_is_read_several_together() {
    let mut order: Vec<u32> = (0..PAGES).collect();
    order.sort_by_key(|&page| page.wrapping_mul(2_654_435_761));
    assert_read_together(&order);
}

#[test]
fn pages_at_random_are_read_alone() {
    let mut next = numbers(1);
    let order: Vec<u32> = (0..4 * PAGES).map(|_| next(u64::from(PAGES)) as u32).collect();
    for source in Source::ALL {
        let counts = counts_of(&order, source);
        assert!(pages_in_a_read(&counts) < 1.1, "{source:?}: {counts:?}");
        assert!(counts.pages_read_in_vain < counts.pages_read / 12, "{source:?}: {counts:?}");
    }
}

/// The program goes on with its page while others are still read, and then frees one of them, or forks.
#[test]
fn pages_that_trail_behind_the_wanted_one_are_not_lost() {
    let source = Source::SensedWrites;
    let settings = reading_ahead(with_bits(settings("clock", 128, 0), source.bits()), 64);
    let memory = ModelMemory::new(PAGES, source);
    let mut pager = memory.pager(&settings);
    for page in 0..PAGES {
        write(&memory, &mut pager, page, u64::from(page));
    }
    let order = by_columns();
    let (mut freed, mut trailed) = (vec![false; PAGES as usize], 0);
    for (step, &page) in order.iter().enumerate() {
        let before = pager.counts();
        let expected = if freed[page as usize] { 0 } else { page.into() };
        assert_eq!(read(&memory, &mut pager, page), expected);
        let counts = pager.counts();
        let has_trailed = counts.read_operations > before.read_operations
            && counts.pages_read_ahead == before.pages_read_ahead;
        trailed += u32::from(has_trailed && step > 100);
        match order.get(step + 1 + step % 3) {
            Some(&next) if step % 7 == 0 => {
                pager.discard(PageId(next), 1).expect("memory can be given back");
                freed[next as usize] = true;
            }
            _ if step % 31 == 0 => drop(pager.copy_for_fork().expect("the store does not fail")),
            _ => {}
        }
        pager.check_invariants();
    }
    assert!(trailed > 50, "{trailed} of {:?}", pager.counts());
    pager.end().expect("memory can be looked at");
    pager.check_invariants();
}
