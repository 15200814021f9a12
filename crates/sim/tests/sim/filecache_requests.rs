//! What the records of a trace ask a device for: the blocks of one record that miss are one request.

use std::path::PathBuf;

use clockhand_sim::{AdmissionRule, Insert, RequestTable, Writes};
use clockhand_twins::{AdmissionRules, Cost, FileCacheTwin, Op, RequestCosts};
use num_rational::Ratio;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::experiments::{PAGE_BYTES, cases};
use crate::filecache::{FileCache, POLICIES, counts_of, same_f64};

/// A record: operation, first block, blocks.
type Record = (Op, u64, u64);

/// t, and the device's set-up, transfer and erase, in µs.
const HIT: i128 = 10;
const READ: [i128; 3] = [100, 30, 0];
const WRITE: [i128; 3] = [120, 40, 5];

fn costs(terms: [i128; 3]) -> RequestCosts {
    let [setup, transfer, erase] = terms.map(Cost::from);
    RequestCosts { setup, transfer, erase }
}

fn file(name: &str, text: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    // Tests that run beside each other write the same file.
    let whole =
        format!("summary = \"a test\"\nsource = \"a test\"\ncharged = \"per-page\"\n{text}");
    let own = path.with_extension(format!("{:?}", std::thread::current().id()));
    std::fs::write(&own, whole).unwrap();
    std::fs::rename(&own, &path).unwrap();
    path.display().to_string()
}

/// A file cache of these records on a device with a set-up, where the insertion takes a hit.
pub fn cache_of(records: &[Record]) -> FileCache {
    let mut cache = FileCache::new(RequestTable {
        is_write: records.iter().map(|&(op, ..)| op == Op::Write).collect(),
        addresses: records.iter().map(|&(_, block, _)| block % (1 << 48) * PAGE_BYTES).collect(),
        sizes_bytes: Some(
            records.iter().map(|&(.., blocks)| (blocks * PAGE_BYTES) as u32).collect(),
        ),
        streams: Some(records.iter().map(|&(_, block, _)| (block >> 48) as u32).collect()),
        ..RequestTable::default()
    });
    let operation = |name: &str, [setup, transfer, _]: [i128; 3]| {
        format!("[{name}]\nsetup_time_us = {setup}\ntime_us = {transfer}\n")
    };
    let device = format!(
        "erase_charged = true\n{}{}[erase]\ntime_us = {}\n",
        operation("read", READ),
        operation("write", WRITE),
        WRITE[2]
    );
    let hit = format!("[read]\ntime_us = {HIT}\n[write]\ntime_us = {HIT}\n");
    cache.devices = vec![file("requests.toml", &device)];
    cache.experiment.costs.cache_device = file("hit.toml", &hit);
    cache.experiment.costs.inserts = vec![Insert::Copy];
    cache
}

/// The references of records, one by one.
pub fn references_of(records: &[Record]) -> Vec<(u64, Op)> {
    let blocks = |&(op, first, blocks): &Record| (first..first + blocks).map(move |b| (b, op));
    records.iter().flat_map(blocks).collect()
}

/// The effect of a record: on each block, and on what is read and written past the cache.
struct Done {
    what: Vec<&'static str>,
    evicted: Vec<(u64, bool)>,
    written_back: u64,
    read: Vec<u64>,
    written: Vec<u64>,
}

fn serve(twin: &mut FileCacheTwin, &(op, first, blocks): &Record, writes_cost: bool) -> Done {
    let mut done =
        Done { what: vec![], evicted: vec![], written_back: 0, read: vec![], written: vec![] };
    for block in first..first + blocks {
        let event = twin.reference(block, op);
        done.what.push(event.what);
        done.evicted.extend(event.evicted);
        done.written_back += event.written_back.len() as u64;
        match (event.what, op) {
            ("hit", _) => (),
            ("bypass", Op::Write) if writes_cost => done.written.push(block),
            _ => done.read.push(block),
        }
    }
    done
}

/// The time of a record: its requests, software, insertions, hits, and what leaves dirty.
fn time_of(done: &Done, writes_cost: bool) -> Cost {
    let count = |what: &str| done.what.iter().filter(|one| **one == what).count() as i128;
    let dirty = done.evicted.iter().filter(|(_, dirty)| *dirty).count() as i128;
    let leaving = if writes_cost { dirty + i128::from(done.written_back) } else { 0 };
    let stack = Ratio::new(3 * HIT, 10) * done.read.len() as i128;
    let requests = costs(READ).request(&done.read) + costs(WRITE).request(&done.written);
    let alone = costs(WRITE).request(&[0]) * leaving;
    requests + stack + Cost::from(HIT * (count("hit") + count("admit"))) + alone
}

fn time_without(&(op, first, blocks): &Record, writes_cost: bool) -> Cost {
    let places: Vec<u64> = (first..first + blocks).collect();
    match op {
        Op::Write if writes_cost => costs(WRITE).request(&places),
        _ => costs(READ).request(&places) + Ratio::new(3 * HIT, 10) * i128::from(blocks),
    }
}

/// `R5+3` touches blocks 5, 6 and 7.
fn record(text: &Value) -> Record {
    let (op, blocks) = text.as_str().unwrap().split_at(1);
    let (first, count) = blocks.split_once('+').unwrap_or((blocks, "1"));
    let op = if op == "W" { Op::Write } else { Op::Read };
    (op, first.parse().unwrap(), count.parse().unwrap())
}

fn always(admission: &'static str) -> AdmissionRules {
    AdmissionRules { admission, admit_after: 1, history: None, forget_on_admit: false }
}

fn goldens() -> Vec<Value> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    ["requests_filecache.json", "requests_filecache_writes_cost.json"]
        .map(|name| std::fs::read_to_string(folder.join(name)).unwrap())
        .map(|text| serde_json::from_str(&text).unwrap())
        .into()
}

/// The twin is held to every request, the simulator, which keeps counts, to the time of every beginning of the trace.
#[test]
fn every_request_of_the_golden_vectors_costs_what_it_says() {
    for golden in goldens() {
        let admission = match golden["params"]["admission"].as_str().unwrap() {
            "always" => "always",
            "write-around" => "write-around",
            other => panic!("{other}"),
        };
        let writes_cost = golden["params"]["write"].is_u64();
        let trace: Vec<Record> = golden["trace"].as_array().unwrap().iter().map(record).collect();
        let capacity = golden["capacity"].as_u64().unwrap() as usize;
        let mut twin =
            FileCacheTwin::new(capacity, always(admission), "lru", &[], &references_of(&trace));
        let (mut time, mut without) = (Cost::from(0), Cost::from(0));
        let mut row = None;
        for (place, step) in golden["steps"].as_array().unwrap().iter().enumerate() {
            let done = serve(&mut twin, &trace[place], writes_cost);
            let shown = json!({
                "request": golden["trace"][place],
                "what": done.what,
                "evicted": done.evicted,
                "read": done.read,
                "read_cost": costs(READ).request(&done.read).to_string(),
                "written": done.written,
                "write_cost": costs(WRITE).request(&done.written).to_string(),
            });
            assert_eq!(shown, *step);
            time += time_of(&done, writes_cost);
            without += time_without(&trace[place], writes_cost);
            let mut cache = cache_of(&trace[..=place]);
            cache.capacity = capacity.to_string();
            cache.admission = admission.to_owned();
            if writes_cost {
                cache.experiment.costs.writes = Writes::Cost;
            }
            let so_far = cache.row();
            same_f64(so_far.time_us, time);
            same_f64(so_far.time_without_cache_us, without);
            row = Some(so_far);
        }
        let (row, result) = (row.unwrap(), &golden["result"]);
        let [hits, misses, admitted, bypassed, evictions, dirty, ..] = counts_of(&row);
        let shown = json!({
            "references": row.references, "hits": hits, "misses": misses, "admitted": admitted,
            "bypassed": bypassed, "evictions": evictions, "dirty_evictions": dirty,
            "admission": row.admission, "policy": row.policy, "capacity": row.capacity,
            "block_bytes": row.block_bytes, "time": time.to_string(),
            "time_without_cache": without.to_string(), "required_hits": row.required_hits,
        });
        assert_eq!(shown, *result);
        let alone = [row.hit_time_us, row.bypass_time_us, row.admit_time_us, row.write_time_us];
        let known = ["t", "T", "T_m", "W"].map(|name| golden[name].as_f64().unwrap());
        assert_eq!(alone, known);
    }
}

/// Records of two streams, some of several blocks.
fn records() -> impl Strategy<Value = Vec<Record>> {
    let block = prop_oneof![0..4_u64, 0..16_u64, (1 << 48)..(1 << 48) + 5_u64];
    let blocks = prop_oneof![2 => Just(1_u64), 3 => 1..9_u64];
    let op = prop_oneof![3 => Just(Op::Read), 1 => Just(Op::Write)];
    prop::collection::vec((op, block, blocks), 1..70).prop_map(|mut records| {
        records[0].1 %= 1 << 48;
        records
    })
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn requests_under_every_admission_and_policy_take_what_the_twin_s_do(
        records in records(),
        capacity in 0..12_usize,
        rule in 0..4_usize,
        writes_cost in any::<bool>(),
    ) {
        let rule = AdmissionRule::ALL[rule];
        let peekable = if rule == AdmissionRule::TinyLfu { 4 } else { POLICIES.len() };
        let mut cache = cache_of(&records);
        cache.policy = POLICIES[..peekable].join(" ");
        cache.capacity = capacity.to_string();
        cache.admission = rule.name().to_owned();
        if writes_cost {
            cache.experiment.costs.writes = Writes::Cost;
        }
        let references = references_of(&records);
        for row in cache.rows() {
            let (name, settings) = row.policy.split_once(':').unwrap_or((&row.policy, ""));
            let parameters: Vec<(&str, &str)> =
                settings.split(',').filter_map(|pair| pair.split_once('=')).collect();
            let mut twin =
                FileCacheTwin::new(capacity, always(rule.name()), name, &parameters, &references);
            let time = |record: &Record| time_of(&serve(&mut twin, record, writes_cost), writes_cost);
            same_f64(row.time_us, records.iter().map(time).sum());
            let without = records.iter().map(|record| time_without(record, writes_cost));
            same_f64(row.time_without_cache_us, without.sum());
        }
    }

    #[test]
    fn the_pass_of_lru_asks_for_what_its_replays_do(records in records()) {
        let mut cache = cache_of(&records);
        cache.capacity = (1..40).map(|blocks| blocks.to_string()).collect::<Vec<_>>().join(",");
        let at_once = cache.rows();
        for row in at_once {
            cache.capacity = row.capacity.to_string();
            prop_assert_eq!(cache.row(), row);
        }
    }
}

#[test]
fn without_a_set_up_records_of_several_blocks_take_the_same_as_records_of_one() {
    let records: Vec<Record> =
        (0..40).map(|step| (Op::Read, step * step % 23, 1 + step % 5)).collect();
    let apart: Vec<Record> =
        references_of(&records).into_iter().map(|(block, op)| (op, block, 1)).collect();
    let rows = |records: &[Record]| {
        let mut cache = cache_of(records);
        cache.devices = ["scm:ratio=1", "slc-nand"].map(str::to_owned).to_vec();
        cache.capacity = "0,3,9".to_owned();
        cache.rows()
    };
    assert_eq!(rows(&records), rows(&apart));
}
