//! Caches that know the future, and what no cache can do better.

use std::path::PathBuf;

use clockhand_sim::{FileCacheRow, Insert, Writes};
use clockhand_twins::{Cost, Op, belady, evictions, file_cache_bound};
use num_rational::Ratio;
use num_traits::ToPrimitive;
use proptest::prelude::*;
use serde_json::Value;

use crate::experiments::cases;
use crate::filecache::{FileCache, counts_of, references, same_f64, table_of};
use crate::filecache_requests::{cache_of, references_of};

/// t of a block of 4 KiB, in µs.
fn hit_us() -> Cost {
    Ratio::new(32, 10)
}

fn golden() -> Value {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let text = std::fs::read_to_string(folder.join("future_filecache.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn exact(value: &Value) -> Cost {
    let text = value.as_str().unwrap();
    let (numerator, denominator) = text.split_once('/').unwrap_or((text, "1"));
    Ratio::new(numerator.parse().unwrap(), denominator.parse().unwrap())
}

fn future_of(trace: &[(u64, Op)], capacity: usize, reuse: Option<u64>) -> FileCache {
    let mut cache = FileCache::new(table_of(trace));
    cache.capacity = capacity.to_string();
    cache.policy = "min".to_owned();
    cache.admission = "belady".to_owned();
    cache.experiment.reuse = reuse;
    cache
}

/// Of a row: hits, admitted and bypassed references, evictions, and dirty ones.
fn shown(row: &FileCacheRow) -> [u64; 5] {
    let [hits, _, admitted, bypassed, evictions, dirty, ..] = counts_of(row);
    [hits, admitted, bypassed, evictions, dirty]
}

/// The same of what a twin did.
fn counted(trace: &[(u64, Op)], what: &[&str]) -> [u64; 5] {
    let count = |word: &str| what.iter().filter(|one| **one == word).count() as u64;
    let (evictions, dirty) = evictions(trace, what);
    [count("hit"), count("admit"), count("bypass"), evictions, dirty]
}

#[test]
fn every_case_of_the_golden_vector_is_met() {
    let golden = golden();
    let reference = |value: &Value| {
        let (op, block) = value.as_str().unwrap().split_at(1);
        (block.parse().unwrap(), if op == "W" { Op::Write } else { Op::Read })
    };
    let trace: Vec<(u64, Op)> = golden["trace"].as_array().unwrap().iter().map(reference).collect();
    let required = [("half", 2), ("copy", 4), ("storage", 5)];
    for step in golden["steps"].as_array().unwrap() {
        let (capacity, reuse) = (step["capacity"].as_u64().unwrap() as usize, &step["reuse"]);
        let insert = step["insert"].as_str().unwrap();
        let what = belady(&trace, capacity, reuse.as_u64());
        assert_eq!(what.join(" "), step["what"], "{step}");
        let is_default = required.contains(&(insert, reuse.as_i64().unwrap()));
        let mut cache = future_of(&trace, capacity, reuse.as_u64().filter(|_| !is_default));
        cache.policy = "min bound".to_owned();
        cache.experiment.costs.inserts = vec![Insert::parse(insert)];
        let [row, bound] = &cache.rows()[..] else { panic!("one row each") };
        assert_eq!(row.admission_resolved, Some(format!("belady:reuse={reuse}")));
        assert_eq!(shown(row), counted(&trace, &what), "{step}");
        let known = ["hits", "admitted", "evictions", "dirty_evictions"];
        let known = known.map(|name| step[name].as_u64().unwrap());
        let [hits, admitted, _, evictions, dirty] = shown(row);
        assert_eq!([hits, admitted, evictions, dirty], known, "{step}");
        same_f64(row.time_us, exact(&step["time"]) * hit_us());
        assert_eq!((&*bound.policy, &*bound.policy_resolved), ("bound", "bound"));
        assert_eq!((&bound.admission, bound.admitted), (&None, None));
        if is_default {
            assert_eq!(Some(bound.hits), step["bound_hits"].as_u64(), "{step}");
            same_f64(bound.time_us, exact(&step["bound_time"]) * hit_us());
        }
    }
}

#[test]
fn without_a_number_of_hits_that_pays_nothing_enters() {
    let mut cache = future_of(&[(1, Op::Read), (1, Op::Read), (1, Op::Read)], 2, None);
    cache.experiment.costs.stack_share = clockhand_sim::parse_stack_share("0").unwrap();
    let row = cache.row();
    assert_eq!((row.required_hits, shown(&row)), (None, [0, 0, 3, 0, 0]));
    assert_eq!(row.admission_resolved.as_deref(), Some("belady:reuse=never"));
    cache.experiment.reuse = Some(1);
    assert_eq!(shown(&cache.row()), [2, 1, 0, 1, 0]);
}

#[test]
fn the_bound_has_a_row_for_all_admissions_and_no_time_where_writes_cost() {
    let mut cache = future_of(&[(1, Op::Write), (2, Op::Read), (1, Op::Read)], 1, None);
    cache.policy = "bound min".to_owned();
    cache.admission = "always,belady".to_owned();
    cache.experiment.costs.inserts = vec![Insert::Half, Insert::Ns(700)];
    let rows = cache.rows();
    let named: Vec<_> = rows
        .iter()
        .map(|row| (&*row.policy, row.admission.as_deref().unwrap_or("none"), &*row.insert))
        .collect();
    let admissions = [("bound", "none"), ("min", "always"), ("min", "belady")];
    let expected: Vec<_> = admissions
        .into_iter()
        .flat_map(|(policy, rule)| ["half", "700ns"].map(|insert| (policy, rule, insert)))
        .collect();
    assert_eq!(named, expected);
    assert!(rows[0].time_us.is_some());
    cache.experiment.costs.writes = Writes::Cost;
    assert_eq!(cache.rows()[0].time_us, None);
}

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn belady_keeps_the_stays_of_its_twin_and_the_bound_holds(
        references in references(),
        capacity in 0..9_usize,
        reuse in prop::option::of(1..5_u64),
        insert in 0..3_usize,
    ) {
        let mut cache = future_of(&references, capacity, reuse);
        cache.policy = "min bound".to_owned();
        cache.devices = ["scm:ratio=1", "scm:ratio=3/2", "hdd"].map(str::to_owned).to_vec();
        cache.experiment.costs.inserts = vec![Insert::parse(Insert::READINGS[insert])];
        let rows = cache.rows();
        let (rows, bounds) = rows.split_at(3);
        for (row, bound) in rows.iter().zip(bounds) {
            let what = belady(&references, capacity, reuse.or(row.required_hits));
            prop_assert_eq!(shown(row), counted(&references, &what));
            prop_assert!(bound.hits >= row.hits && bound.time_us <= row.time_us);
            if reuse == Some(1) {
                prop_assert_eq!(bound.hits, row.hits);
            }
        }
        let share = [Ratio::new(1, 2), Cost::from(1), Ratio::new(13, 10)][insert];
        let costs = (hit_us() * Ratio::new(13, 10), hit_us(), hit_us() * share);
        let (hits, time) = file_cache_bound(&references, capacity, costs);
        prop_assert_eq!((bounds[0].hits, bounds[0].time_us), (hits, time.to_f64()));
    }

    #[test]
    fn no_admission_before_any_policy_beats_the_bound_on_a_device_with_a_set_up(
        records in prop::collection::vec(
            (prop_oneof![Just(Op::Read), Just(Op::Write)], 0..14_u64, 1..6_u64), 1..60),
        capacity in 0..9_usize,
    ) {
        let mut cache = cache_of(&records);
        cache.capacity = capacity.to_string();
        cache.policy = "bound min".to_owned();
        cache.admission = "belady,always,second-touch,tinylfu,write-around".to_owned();
        let rows = cache.rows();
        let (bound, rows) = rows.split_first().unwrap();
        for row in rows {
            prop_assert!(bound.time_us <= row.time_us, "{:?}", row);
        }
        let most = records.iter().map(|&(.., blocks)| i128::from(blocks)).max().unwrap();
        let miss = Cost::from(33) + Ratio::new(100, most);
        let costs = (miss, Cost::from(10), Cost::from(10));
        let (hits, time) = file_cache_bound(&references_of(&records), capacity, costs);
        prop_assert_eq!((bound.hits, bound.time_us), (hits, time.to_f64()));
    }
}
