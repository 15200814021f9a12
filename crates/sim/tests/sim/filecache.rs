//! File caches: admission against a slow twin, prices, and what `always` shares with a plain simulation.

use std::path::PathBuf;

use clockhand_sim::{
    AdmissionRule, Capacity, FileCacheCosts, FileCacheExperiment, FileCacheRow, Insert, Progress,
    RequestTable, SecondTouch, SimError, Writes, parse_stack_share, run_filecache,
};
use clockhand_twins::{AdmissionRules, Cost, FileCacheTwin, Op};
use num_rational::Ratio;
use num_traits::ToPrimitive;
use proptest::prelude::*;

use crate::experiments::{PAGE_BYTES, cases, contestants, experiment, input, rows};

/// A file cache of one cell, as the command would write its parts.
pub struct FileCache {
    pub experiment: FileCacheExperiment,
    pub policy: String,
    pub capacity: String,
    pub admission: String,
    pub devices: Vec<String>,
}

impl FileCache {
    pub fn new(table: RequestTable) -> Self {
        FileCache {
            experiment: FileCacheExperiment {
                intervals: clockhand_sim::Intervals::default(),
                traces: vec![input("t", table)],
                policies: Vec::new(),
                seed: 0,
                capacities: Vec::new(),
                admissions: Vec::new(),
                reuse: None,
                second_touch: SecondTouch::default(),
                block_sizes_bytes: vec![PAGE_BYTES],
                devices: Vec::new(),
                costs: FileCacheCosts {
                    cache_device: FileCacheCosts::CACHE_DEVICE.to_owned(),
                    stack_share: parse_stack_share("0.3").unwrap(),
                    inserts: vec![Insert::Half],
                    writes: Writes::Free,
                },
                flush_at_end: false,
                jobs: Some(1),
            },
            policy: "lru".to_owned(),
            capacity: "2".to_owned(),
            admission: "always".to_owned(),
            devices: vec!["scm:ratio=1".to_owned()],
        }
    }

    /// A device that reads as fast as DRAM and takes `write_us` to write 64 bytes.
    pub fn writes_cost(&mut self, write_us: Cost) {
        let decimal = write_us.to_f64().unwrap();
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let path = folder.join(format!("write-{decimal}.toml"));
        let text = format!(
            "summary = \"a test\"\nsource = \"a test\"\ncharged = \"per-byte\"\nunit_bytes = 64\n\
             [read]\ntime_us = 0.05\n[write]\ntime_us = {decimal}\n"
        );
        std::fs::write(&path, text).unwrap();
        self.devices = vec![path.display().to_string()];
        self.experiment.costs.writes = Writes::Cost;
    }

    pub fn rows(&self) -> Vec<FileCacheRow> {
        self.try_rows().unwrap_or_else(|error| panic!("{error}"))
    }

    pub fn row(&self) -> FileCacheRow {
        self.rows().remove(0)
    }

    fn try_rows(&self) -> Result<Vec<FileCacheRow>, SimError> {
        let experiment = FileCacheExperiment {
            policies: contestants(self.policy.split(' ')),
            capacities: Capacity::parse(&self.capacity)?,
            admissions: (self.admission.split(','))
                .map(AdmissionRule::parse)
                .collect::<Result<_, _>>()?,
            devices: self.devices.clone(),
            ..self.experiment.clone()
        };
        Ok(run_filecache(&experiment, &Progress::default())?.rows)
    }

    pub fn refusal(&self) -> String {
        self.try_rows().expect_err("the file cache is refused").to_string()
    }
}

/// One request of one byte for each reference; blocks beyond 2^48 are those of other streams.
pub fn table_of(references: &[(u64, Op)]) -> RequestTable {
    RequestTable {
        is_write: references.iter().map(|&(_, op)| op == Op::Write).collect(),
        addresses: references.iter().map(|&(block, _)| (block % (1 << 48)) * PAGE_BYTES).collect(),
        streams: Some(references.iter().map(|&(block, _)| (block >> 48) as u32).collect()),
        ..RequestTable::default()
    }
}

/// The time is the exact one, rounded once.
pub fn same_f64(time: impl Into<Option<f64>>, exact: Cost) {
    assert_eq!(time.into(), exact.to_f64());
}

/// Blocks of two streams, the first one of stream 0.
pub fn references() -> impl Strategy<Value = Vec<(u64, Op)>> {
    let block = prop_oneof![0..4_u64, 0..16_u64, (1 << 48)..(1 << 48) + 5_u64];
    let op = prop_oneof![3 => Just(Op::Read), 1 => Just(Op::Write)];
    prop::collection::vec((block, op), 1..160).prop_map(|mut references| {
        references[0].0 %= 1 << 48;
        references
    })
}

pub fn second_touch() -> impl Strategy<Value = SecondTouch> {
    (0..4_u32, prop_oneof![Just(None), (1..9_u32).prop_map(Some)], any::<bool>()).prop_map(
        |(admit_after, history, forget_on_admit)| SecondTouch {
            admit_after,
            history,
            forget_on_admit,
        },
    )
}

pub const POLICIES: [&str; 9] = [
    "lru",
    "fifo",
    "cflru:window_pages=2",
    "min",
    "clock",
    "nru:mode=periodic,period=7",
    "cflru-dynamic:period=5",
    "craw:c=8,write_back=eager",
    "lfu",
];
/// Of those, the ones that tinylfu can stand before.
pub const PEEKABLE: usize = 4;

/// A rule of admission as the twin takes it.
pub fn rules_of(rule: AdmissionRule, second_touch: SecondTouch) -> AdmissionRules {
    AdmissionRules {
        admission: rule.name(),
        admit_after: second_touch.admit_after.into(),
        history: second_touch.history.map(|records| records as usize),
        forget_on_admit: second_touch.forget_on_admit,
    }
}

/// What the twin counts, in the order of the columns that [`counts_of`] picks.
fn twin_counts(
    references: &[(u64, Op)],
    policy: &str,
    capacity: usize,
    rules: AdmissionRules,
) -> [u64; 9] {
    let (name, settings) = policy.split_once(':').unwrap_or((policy, ""));
    let parameters: Vec<(&str, &str)> =
        settings.split(',').filter_map(|pair| pair.split_once('=')).collect();
    let mut twin = FileCacheTwin::new(capacity, rules, name, &parameters, references);
    let mut counts = [0; 9];
    let mut dirty = std::collections::BTreeSet::new();
    for &(block, op) in references {
        let event = twin.reference(block, op);
        counts[0] += u64::from(event.what == "hit");
        counts[1] += u64::from(event.what != "hit");
        counts[2] += u64::from(event.what == "admit");
        counts[3] += u64::from(event.what == "bypass");
        counts[4] += event.evicted.len() as u64;
        counts[5] += event.evicted.iter().filter(|(_, dirty)| *dirty).count() as u64;
        counts[6] += u64::from(event.what == "bypass" && op == Op::Write);
        counts[7] += event.written_back.len() as u64;
        for block in event.evicted.iter().map(|(block, _)| block).chain(&event.written_back) {
            dirty.remove(block);
        }
        if op == Op::Write && event.what != "bypass" {
            dirty.insert(block);
        }
    }
    counts[8] = dirty.len() as u64;
    counts
}

pub fn counts_of(row: &FileCacheRow) -> [u64; 9] {
    let counts = [
        row.admitted,
        row.bypassed,
        row.evictions,
        row.dirty_evictions,
        row.bypassed_writes,
        row.write_backs,
        row.flush_writes,
    ];
    let [admitted, bypassed, evictions, dirty, writes, backs, flush] = counts.map(Option::unwrap);
    [row.hits, row.misses, admitted, bypassed, evictions, dirty, writes, backs, flush]
}

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn every_admission_before_every_policy_counts_what_the_twin_does(
        references in references(),
        capacity in 0..9_usize,
        second_touch in second_touch(),
        rule in 0..4_usize,
    ) {
        let rule = AdmissionRule::ALL[rule];
        let peekable = if rule == AdmissionRule::TinyLfu { PEEKABLE } else { POLICIES.len() };
        let mut cache = FileCache::new(table_of(&references));
        cache.policy = POLICIES[..peekable].join(" ");
        cache.capacity = capacity.to_string();
        cache.admission = rule.name().to_owned();
        cache.experiment.second_touch = second_touch;
        cache.experiment.flush_at_end = true;
        let rules = rules_of(rule, second_touch);
        for row in cache.rows() {
            let twin = twin_counts(&references, &row.policy, capacity, rules.clone());
            prop_assert_eq!(counts_of(&row), twin, "{} {}", row.policy, rule.name());
        }
    }

    #[test]
    fn always_counts_what_a_simulation_of_the_policy_does(
        references in references(),
        device in prop_oneof![Just("scm:ratio=1"), Just("slc-nand"), Just("hdd")],
    ) {
        let table = table_of(&references);
        let capacities = [1, 2, 3, 5, 8, 30];
        let mut cache = FileCache::new(table.clone());
        cache.policy = POLICIES.join(" ");
        cache.capacity = capacities.map(|capacity| capacity.to_string()).join(",");
        cache.devices = vec![device.to_owned()];
        let mut simulation = experiment(vec![input("t", table)], &POLICIES, &capacities);
        simulation.device = device.to_owned();
        for (cached, simulated) in cache.rows().iter().zip(rows(&simulation)) {
            prop_assert_eq!(&cached.policy_resolved, &simulated.policy_resolved);
            prop_assert_eq!(Some(cached.hits), simulated.hits);
            prop_assert_eq!(Some(cached.misses), simulated.misses);
            prop_assert_eq!(cached.dirty_evictions, simulated.dirty_evictions);
            let all = (Some(cached.misses), Some(0));
            prop_assert_eq!((cached.admitted, cached.bypassed), all);
        }
    }
}

fn reads(blocks: &[u64]) -> RequestTable {
    table_of(&blocks.iter().map(|&block| (block, Op::Read)).collect::<Vec<_>>())
}

#[test]
fn devices_and_doubles_keep_their_order_and_share_one_replay_s_counts() {
    let mut cache = FileCache::new(reads(&[1, 2, 1, 3, 1, 2]));
    cache.capacity = "2,0,2".to_owned();
    cache.policy = "fifo lru".to_owned();
    cache.admission = "second-touch,always".to_owned();
    cache.devices = ["hdd", "slc-nand", "hdd"].map(str::to_owned).to_vec();
    let rows = cache.rows();
    assert_eq!(rows.len(), 3 * 2 * 2 * 3);
    let mut position = 0;
    for capacity in [2, 0, 2] {
        for policy in ["fifo", "lru"] {
            for admission in ["second-touch", "always"] {
                for device in ["hdd", "slc-nand", "hdd"] {
                    let row = &rows[position];
                    assert_eq!(row.capacity, capacity);
                    let named = [&row.policy, row.admission.as_ref().unwrap(), &row.device];
                    assert_eq!(named, [policy, admission, device]);
                    assert_eq!(row.hits, rows[position / 3 * 3].hits);
                    position += 1;
                }
            }
        }
    }
}

#[test]
fn a_policy_that_depends_on_the_device_is_replayed_for_each() {
    let mut cache = FileCache::new(reads(&[1, 2, 1, 3, 1, 2]));
    cache.policy = "craw".to_owned();
    cache.devices = ["slc-nand", "scm"].map(str::to_owned).to_vec();
    let resolved: Vec<String> = cache.rows().into_iter().map(|row| row.policy_resolved).collect();
    assert!(resolved[0].contains("c=8") && resolved[1].contains("c=1,"), "{resolved:?}");
}

#[test]
fn many_capacities_of_lru_come_from_one_pass_with_the_rows_of_a_replay() {
    let blocks: Vec<u64> = (0..400).map(|step| step * step % 23).collect();
    let mut cache = FileCache::new(reads(&blocks));
    cache.capacity = (1..=24).map(|capacity| capacity.to_string()).collect::<Vec<_>>().join(",");
    let at_once = cache.rows();
    for (capacity, row) in (1..=24).zip(&at_once) {
        cache.capacity = capacity.to_string();
        assert_eq!(cache.row(), *row);
    }
}

#[test]
fn writes_cost_what_the_device_takes_and_the_flush_adds_what_is_left_dirty() {
    let references = [(1, Op::Write), (2, Op::Write), (1, Op::Read), (3, Op::Read)];
    let mut cache = FileCache::new(table_of(&references));
    // W = 8 t, with t = 3.2 µs.
    cache.writes_cost(Ratio::new(4, 10));
    // Three admitted, one hit, and 2* leaves.
    same_f64(cache.row().time_us, (Ratio::new(9, 5) * 3 + 1 + 8) * Ratio::new(32, 10));
    cache.experiment.flush_at_end = true;
    same_f64(cache.row().time_us, (Ratio::new(9, 5) * 3 + 1 + 8 + 8) * Ratio::new(32, 10));
    same_f64(cache.row().time_without_cache_us, (Ratio::new(13, 5) + 16) * Ratio::new(32, 10));
    cache.experiment.costs.writes = Writes::Free;
    same_f64(cache.row().time_us, (Ratio::new(9, 5) * 3 + 1) * Ratio::new(32, 10));
    same_f64(cache.row().time_without_cache_us, Ratio::new(26, 5) * Ratio::new(32, 10));
}

#[test]
fn a_capacity_of_nothing_admits_nothing_and_costs_what_no_cache_costs() {
    let mut cache = FileCache::new(reads(&[1, 1, 2, 1]));
    cache.capacity = "0".to_owned();
    let row = cache.row();
    assert_eq!(counts_of(&row)[..4], [0, 4, 0, 4]);
    assert_eq!(row.time_us, Some(row.time_without_cache_us));
}

#[test]
fn what_cannot_be_run_is_refused_with_one_sentence() {
    let cache = || FileCache::new(reads(&[1]));
    let refused = |change: &dyn Fn(&mut FileCache)| {
        let mut cache = cache();
        change(&mut cache);
        cache.refusal()
    };
    let error = refused(&|cache| {
        cache.policy = "lru clock".to_owned();
        cache.admission = "always,tinylfu".to_owned();
    });
    assert!(
        error.contains("the choice of clock changes it; use fifo, lru, cflru or min"),
        "{error}"
    );
    let error = refused(&|cache| cache.admission = "second-tuch".to_owned());
    assert!(error.contains(r#"did you mean "second-touch"?"#), "{error}");
    let error = refused(&|cache| cache.policy = "bound:effort=3".to_owned());
    assert!(error.starts_with("--policy bound takes no effort"), "{error}");
    let error = refused(&|cache| cache.policy = "opt-feasible".to_owned());
    assert!(error.starts_with("--policy opt-feasible"), "{error}");
    let error = refused(&|cache| {
        cache.policy = "min bound lru".to_owned();
        cache.admission = "belady".to_owned();
    });
    assert!(error.contains("lru has no say; use --policy min"), "{error}");
    let error = refused(&|cache| cache.experiment.second_touch.history = Some(0));
    assert!(error.starts_with("--history 0"), "{error}");
    let error = refused(&|cache| cache.devices = vec!["hhd".to_owned()]);
    assert!(error.contains("hdd"), "{error}");
    let error = refused(&|cache| cache.devices.clear());
    assert!(error.contains("no device is given"), "{error}");
}
