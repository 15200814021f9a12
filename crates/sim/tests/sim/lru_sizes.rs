//! LRU at many memory sizes comes from one pass of stack distances; at few sizes each cell is replayed. Both must give
//! the same rows.

use clockhand_sim::{ReplayOptions, RequestTable, Row};
use proptest::prelude::*;

use crate::experiments::{cases, experiment, input, replay_options, rows, table};

/// Rows of one cell at a time, which is always replayed.
fn replayed(table: &RequestTable, frames: &[u32], options: ReplayOptions) -> Vec<Row> {
    let one = |&frames: &u32| {
        let mut cell = experiment(vec![input("t", table.clone())], &["lru"], &[frames]);
        cell.options = options;
        rows(&cell).pop().expect("one cell")
    };
    frames.iter().map(one).collect()
}

fn at_once(table: &RequestTable, frames: &[u32], options: ReplayOptions) -> Vec<Row> {
    let mut cells = experiment(vec![input("t", table.clone())], &["lru"], frames);
    cells.options = options;
    rows(&cells)
}

fn tables() -> impl Strategy<Value = RequestTable> {
    let reference = (any::<bool>(), prop_oneof![0..4_u64, 0..40_u64]);
    prop::collection::vec(reference, 1..400).prop_map(|references| RequestTable {
        is_write: references.iter().map(|&(is_write, _)| is_write).collect(),
        addresses: references.iter().map(|&(_, page)| page * 4096).collect(),
        ..RequestTable::default()
    })
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn one_pass_gives_the_rows_of_a_replay_at_every_size(
        table in tables(),
        options in replay_options(),
    ) {
        let frames: Vec<u32> = (1..=42).collect();
        prop_assert_eq!(at_once(&table, &frames, options), replayed(&table, &frames, options));
    }
}

#[test]
fn rows_keep_their_order_and_their_doubles_among_other_policies() {
    let table = table("r0 w1 r2 w0 r3 w1 r4 r0 w2 r1 r5 w3");
    let frames = [3, 1, 3, 9, 2, 5];
    let policies = ["clock", "lru", "bound", "lru", "min"];
    let all = rows(&experiment(vec![input("t", table.clone())], &policies, &frames));
    let order: Vec<(u64, &str)> = all.iter().map(|row| (row.frames, row.policy.as_str())).collect();
    let expected = frames.iter().flat_map(|&frames| policies.map(|policy| (frames.into(), policy)));
    assert_eq!(order, expected.collect::<Vec<_>>());
    for (rows, &frames) in all.chunks(policies.len()).zip(&frames) {
        let alone = replayed(&table, &[frames], ReplayOptions::default());
        assert_eq!((&rows[1], &rows[3]), (&alone[0], &alone[0]));
    }
}
