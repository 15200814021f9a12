//! The table of ranges against a plain array of pages.

#[path = "../../src/ranges.rs"]
#[expect(dead_code, reason = "some of it is for the library only")]
mod table;

use proptest::prelude::*;
use table::{Range, RangeTable, Use};

const PAGES: u32 = 64;

#[derive(Clone, Debug)]
enum Step {
    Allocate { pages: u32, alignment: usize, from_page: u32, used_for: Use },
    AllocateGrowing { pages: u32, used_for: Use },
    AllocateLast { pages: u32, used_for: Use },
    Extend { page: u32, pages: u32 },
    Release { page: u32, skipped: u32, pages: u32 },
    TakeFree { page: u32, pages: u32, used_for: Use },
}

fn uses() -> impl Strategy<Value = Use> {
    prop_oneof![Just(Use::Heap), Just(Use::Block), Just(Use::Mapping), Just(Use::Foreign)]
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        (1..20_u32, prop_oneof![Just(1_usize), Just(4), Just(16)], 0..PAGES, uses()).prop_map(
            |(pages, alignment, from_page, used_for)| Step::Allocate {
                pages,
                alignment,
                from_page,
                used_for
            }
        ),
        (1..20_u32, uses()).prop_map(|(pages, used_for)| Step::AllocateGrowing { pages, used_for }),
        (1..20_u32, uses()).prop_map(|(pages, used_for)| Step::AllocateLast { pages, used_for }),
        (0..PAGES, 1..10_u32).prop_map(|(page, pages)| Step::Extend { page, pages }),
        (0..PAGES, 0..8_u32, 1..10_u32).prop_map(|(page, skipped, pages)| Step::Release {
            page,
            skipped,
            pages
        }),
        (0..PAGES, 1..20_u32, uses()).prop_map(|(page, pages, used_for)| Step::TakeFree {
            page,
            pages,
            used_for
        }),
    ]
}

/// The first gap of the array that fits, by trying each page.
fn first_gap(
    used: &[Option<Use>],
    pages: u32,
    alignment: usize,
    origin: usize,
    from: u32,
) -> Option<u32> {
    (from..PAGES).find(|first| {
        (origin + *first as usize).is_multiple_of(alignment)
            && *first + pages <= PAGES
            && used[*first as usize..(*first + pages) as usize].iter().all(Option::is_none)
    })
}

/// The last pages of the largest gap, the last of equals: eight times as many as asked for, or the whole gap.
fn room_in_largest_gap(used: &[Option<Use>], pages: u32) -> Option<u32> {
    let (mut best_end, mut best) = (0, 0);
    let mut free = 0;
    for page in 0..PAGES {
        free = if used[page as usize].is_none() { free + 1 } else { 0 };
        if free >= best {
            (best_end, best) = (page + 1, free);
        }
    }
    (best >= pages).then(|| best_end - best.min(8 * pages))
}

proptest! {
    #[test]
    fn the_table_agrees_with_an_array_of_pages(
        steps in prop::collection::vec(steps(), 1..200),
        origin in 0..32_usize,
    ) {
        let empty = Range { first_page: 0, pages: 0, used_for: Use::Heap };
        let mut table = RangeTable::new(vec![empty; PAGES as usize].leak(), PAGES, origin);
        let mut used: Vec<Option<Use>> = vec![None; PAGES as usize];
        for step in steps {
            match step {
                Step::Allocate { pages, alignment, from_page, used_for } => {
                    let expected = first_gap(&used, pages, alignment, origin, from_page)
                        .or_else(|| first_gap(&used, pages, alignment, origin, 0));
                    let first = table.allocate(pages, alignment, from_page, used_for);
                    prop_assert_eq!(first, expected);
                    if let Some(first) = first {
                        used[first as usize..(first + pages) as usize].fill(Some(used_for));
                    }
                }
                Step::AllocateGrowing { pages, used_for } => {
                    let first = table.allocate_growing(pages, used_for);
                    prop_assert_eq!(first, room_in_largest_gap(&used, pages));
                    if let Some(first) = first {
                        used[first as usize..(first + pages) as usize].fill(Some(used_for));
                    }
                }
                Step::AllocateLast { pages, used_for } => {
                    let first = table.allocate_last(pages, used_for);
                    let is_free = |first: &u32| {
                        let place = *first as usize..(*first + pages) as usize;
                        used[place].iter().all(Option::is_none)
                    };
                    prop_assert_eq!(first, (0..=PAGES - pages).rev().find(is_free));
                    if let Some(first) = first {
                        used[first as usize..(first + pages) as usize].fill(Some(used_for));
                    }
                }
                Step::Extend { page, pages } => {
                    let Some(range) = table.find(page) else { continue };
                    let end = range.end_page();
                    let fits = end + pages <= PAGES
                        && used[end as usize..(end + pages) as usize].iter().all(Option::is_none);
                    prop_assert_eq!(table.extend(end, pages), fits);
                    if fits {
                        used[end as usize..(end + pages) as usize].fill(Some(range.used_for));
                    }
                }
                Step::Release { page, skipped, pages } => {
                    let Some(range) = table.find(page) else { continue };
                    let first = (range.first_page + skipped).min(range.end_page() - 1);
                    let pages = pages.min(range.end_page() - first);
                    let part = table.first_part(first, first + pages, range.used_for);
                    prop_assert_eq!(part.map(|part| part.first_page), Some(first));
                    table.release(first, pages);
                    used[first as usize..(first + pages) as usize].fill(None);
                }
                Step::TakeFree { page, pages, used_for } => {
                    let end = (page + pages).min(PAGES);
                    table.take_free(page, end, used_for);
                    let taken = &mut used[page as usize..end as usize];
                    taken.iter_mut().for_each(|used| *used = used.or(Some(used_for)));
                }
            }
            let mut listed = vec![None; PAGES as usize];
            for range in table.ranges() {
                prop_assert!(range.pages > 0);
                listed[range.first_page as usize..range.end_page() as usize].fill(Some(range.used_for));
            }
            prop_assert_eq!(&listed, &used);
            for page in 0..PAGES {
                prop_assert_eq!(table.find(page).map(|range| range.used_for), used[page as usize]);
            }
        }
    }
}
