//! One level of a TLB of every kind against its twin, way by way.

use clockhand_twins::{TlbKey, TlbTwin, cases};
use proptest::prelude::*;

use crate::translate::geometry::TlbGeometry;
use crate::translate::tlb::Tlb;

/// Operations on a level; keys are pages of stream 0, numbered as they are.
#[derive(Clone, Copy, Debug)]
enum Question {
    /// Look a page up, and insert it if it is not there.
    Use(u32),
    Invalidate(u32),
    InvalidateOdd,
}

const PAGES: u32 = 40;

fn question() -> impl Strategy<Value = Question> {
    prop_oneof![
        30 => (0..PAGES).prop_map(Question::Use),
        5 => (0..PAGES).prop_map(Question::Invalidate),
        1 => Just(Question::InvalidateOdd),
    ]
}

fn key(page: u32) -> TlbKey {
    (0, 0, page.into())
}

fn assert_same(text: &str, questions: &[Question], seed: u64) {
    let geometry = TlbGeometry::parse(text).expect("a TLB");
    let shape = (geometry.entries() as usize, geometry.ways() as usize);
    let mut tlb = Tlb::new(geometry, PAGES as usize, seed);
    let mut twin = TlbTwin::new(shape, geometry.replacement().name(), seed);
    for (position, &question) in questions.iter().enumerate() {
        match question {
            Question::Use(page) => {
                let hits = tlb.uses(page);
                assert_eq!(hits, twin.look_up(key(page)), "{text}, {position}: {question:?}");
                if !hits {
                    tlb.insert(page, page.into());
                    twin.insert(key(page));
                }
            }
            Question::Invalidate(page) => {
                tlb.invalidate(page);
                twin.invalidate(|other| other == key(page));
            }
            Question::InvalidateOdd => {
                tlb.invalidate_where(|page| page % 2 == 1);
                twin.invalidate(|other| other.2 % 2 == 1);
            }
        }
        let keys: Vec<Vec<Option<TlbKey>>> = tlb
            .keys()
            .into_iter()
            .map(|ways| ways.into_iter().map(|page| page.map(key)).collect())
            .collect();
        assert_eq!(keys, twin.keys(), "{text}, {position}: {question:?}");
    }
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn a_level_of_any_kind_does_what_its_twin_does(
        questions in prop::collection::vec(question(), 1..300),
        seed in any::<u64>(),
    ) {
        for shape in ["0", "1", "2/1", "6/2", "8", "8/4", "12/4", "16/2", "32/16", "35/7"] {
            for kind in ["lru", "fifo", "random", "plru"] {
                if kind == "plru" && shape == "35/7" {
                    continue;
                }
                assert_same(&format!("{shape}:{kind}"), &questions, seed);
            }
        }
    }
}

#[test]
fn a_set_of_more_than_64_ways_takes_the_lowest_free_one() {
    let geometry = TlbGeometry::parse("200").expect("a TLB");
    let mut tlb = Tlb::new(geometry, 1000, 0);
    (0..200).for_each(|key| tlb.insert(key, 0));
    [150, 3, 70].into_iter().for_each(|key| tlb.invalidate(key));
    [900, 901, 902].into_iter().for_each(|key| tlb.insert(key, 0));
    let ways = &tlb.keys()[0];
    assert_eq!((ways[3], ways[70], ways[150]), (Some(900), Some(901), Some(902)));
}
