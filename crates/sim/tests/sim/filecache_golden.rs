//! The specification's golden vectors of file caches, step by step.
//!
//! The twin is held to every event and state. The simulator, which keeps counts, is run on every beginning of the trace:
//! the counts differ from one to the next by what the step did.

use std::path::Path;

use clockhand_sim::FileCacheRow;
use clockhand_twins::{AdmissionRules, Cost, FileCacheCosts, FileCacheEvent, FileCacheTwin, Op};
use num_rational::Ratio;
use serde_json::Value;

use crate::filecache::{FileCache, counts_of, same_f64, table_of};

/// t of a block of 4 KiB, in µs.
fn hit_us() -> Cost {
    Ratio::new(32, 10)
}

struct Golden {
    file: String,
    value: Value,
}

impl Golden {
    fn text(&self, key: &str) -> &str {
        self.value[key].as_str().unwrap_or_else(|| panic!("{}: {key}", self.file))
    }

    fn capacity(&self) -> u64 {
        self.value["capacity"].as_u64().unwrap()
    }

    fn rules(&self) -> AdmissionRules {
        let params = &self.value["params"];
        AdmissionRules {
            admission: match params["admission"].as_str() {
                None => "always",
                Some("second-touch") => "second-touch",
                Some("tinylfu") => "tinylfu",
                Some("write-around") => "write-around",
                Some(other) => panic!("{}: {other}", self.file),
            },
            admit_after: params["admit_after"].as_u64().unwrap_or(1),
            history: params["history"].as_u64().map(|records| records as usize),
            forget_on_admit: params["forget_on_admit"].as_bool().unwrap_or(false),
        }
    }

    fn window(&self) -> Option<String> {
        self.value["params"]["params"]["window"].as_u64().map(|window| window.to_string())
    }

    fn policy(&self) -> String {
        let policy = self.text("policy").replace('_', "-");
        self.window().map_or(policy.clone(), |window| format!("{policy}:window_pages={window}"))
    }

    fn write(&self) -> Option<Cost> {
        self.value["params"]["write"].as_i64().map(|write| Cost::from(i128::from(write)))
    }

    fn trace(&self) -> Vec<(u64, Op)> {
        let reference = |value: &Value| {
            let (op, block) = value.as_str().unwrap().split_at(1);
            (block.parse().unwrap(), if op == "W" { Op::Write } else { Op::Read })
        };
        self.value["trace"].as_array().unwrap().iter().map(reference).collect()
    }

    /// In units of t.
    fn costs(&self) -> FileCacheCosts {
        FileCacheCosts {
            hit: Cost::from(1),
            bypass: Ratio::new(13, 10),
            admit: Ratio::new(9, 5),
            write: self.write(),
        }
    }

    /// The simulator's row for the first references.
    fn row(&self, references: usize) -> FileCacheRow {
        let rules = self.rules();
        let mut cache = FileCache::new(table_of(&self.trace()[..references]));
        let experiment = &mut cache.experiment;
        cache.policy = self.policy();
        cache.capacity = self.capacity().to_string();
        cache.admission = rules.admission.to_owned();
        experiment.second_touch.admit_after = rules.admit_after as u32;
        experiment.second_touch.history = rules.history.map(|records| records as u32);
        experiment.second_touch.forget_on_admit = rules.forget_on_admit;
        if let Some(write) = self.write() {
            cache.writes_cost(write * Ratio::new(5, 100));
        }
        cache.row()
    }
}

fn goldens() -> Vec<Golden> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut goldens = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the golden vectors are there") {
        let path = entry.expect("a folder entry").path();
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        if file.starts_with("filecache_") {
            let text = std::fs::read_to_string(&path).expect("a readable file");
            goldens.push(Golden { file, value: serde_json::from_str(&text).expect("JSON") });
        }
    }
    assert_eq!(goldens.len(), 5, "all golden vectors of file caches");
    goldens
}

fn exact(value: &Value) -> Cost {
    let text = value.as_str().expect("an exact fraction");
    let (numerator, denominator) = text.split_once('/').unwrap_or((text, "1"));
    Ratio::new(numerator.parse().unwrap(), denominator.parse().unwrap())
}

#[test]
fn the_twin_meets_every_golden_vector_step_by_step() {
    for golden in goldens() {
        let (trace, costs) = (golden.trace(), golden.costs());
        let window = golden.window();
        let parameters: Vec<(&str, &str)> =
            window.iter().map(|window| ("window_pages", window.as_str())).collect();
        let policy = golden.text("policy").replace('_', "-");
        let capacity = golden.capacity() as usize;
        let mut twin = FileCacheTwin::new(capacity, golden.rules(), &policy, &parameters, &trace);
        let (mut time, mut without) = (Cost::from(0), Cost::from(0));
        let steps = golden.value["steps"].as_array().unwrap();
        for (position, (&(block, op), step)) in trace.iter().zip(steps).enumerate() {
            let event = twin.reference(block, op);
            let expected = FileCacheEvent {
                what: event.what,
                evicted: serde_json::from_value(step["evicted"].clone()).unwrap(),
                written_back: Vec::new(),
                estimate: step["estimate"].as_u64(),
            };
            assert_eq!(event, expected, "{}, step {position}", golden.file);
            assert_eq!(event.what, step["what"], "{}, step {position}", golden.file);
            let state: Value = serde_json::from_str(&twin.state().to_string()).unwrap();
            assert_eq!(state, step["state"], "{}, step {position}", golden.file);
            time += costs.with_cache(op, &event);
            without += costs.without_cache(op);
        }
        let result = &golden.value["result"];
        assert_eq!(time, exact(&result["time"]), "{}", golden.file);
        assert_eq!(without, exact(&result["time_without_cache"]), "{}", golden.file);
        assert_eq!(costs.required_hits(), result["required_hits"].as_u64(), "{}", golden.file);
    }
}

#[test]
fn the_simulator_meets_every_golden_vector_step_by_step() {
    for golden in goldens() {
        let steps = golden.value["steps"].as_array().unwrap();
        let mut before = [0; 5];
        for (position, step) in steps.iter().enumerate() {
            let row = golden.row(position + 1);
            let evicted: Vec<(u64, bool)> =
                serde_json::from_value(step["evicted"].clone()).unwrap();
            let did = |what: &str| u64::from(step["what"] == what);
            let dirty = evicted.iter().filter(|(_, dirty)| *dirty).count() as u64;
            let step = [did("hit"), did("admit"), did("bypass"), evicted.len() as u64, dirty];
            let [hits, _, admitted, bypassed, evictions, dirty, ..] = counts_of(&row);
            let after = [hits, admitted, bypassed, evictions, dirty];
            for ((before, step), after) in before.iter_mut().zip(step).zip(after) {
                *before += step;
                assert_eq!(*before, after, "{}, step {position}: {row:?}", golden.file);
            }
        }
        let (row, result) = (golden.row(steps.len()), &golden.value["result"]);
        for (column, value) in [("references", row.references), ("misses", row.misses)] {
            assert_eq!(Some(value), result[column].as_u64(), "{}: {column}", golden.file);
        }
        same_f64(row.time_us, exact(&result["time"]) * hit_us());
        same_f64(row.time_without_cache_us, exact(&result["time_without_cache"]) * hit_us());
        assert_eq!(row.required_hits, result["required_hits"].as_u64(), "{}", golden.file);
        assert_eq!(row.block_bytes, result["block_bytes"].as_u64().unwrap());
        assert_eq!(row.admission.as_deref(), result["admission"].as_str());
    }
}
