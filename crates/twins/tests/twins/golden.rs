//! The golden vectors of the specification, step by step.

use std::{fs, path::Path};

use clockhand_twins::{Op, Options, State, build, run};
use serde_json::Value;

struct Golden {
    file: String,
    policy: String,
    frames: usize,
    parameters: Vec<(String, String)>,
    trace: Vec<(u64, Op)>,
    steps: Vec<Value>,
    result: Value,
}

impl Golden {
    fn parameters(&self) -> Vec<(&str, &str)> {
        let parameters = self.parameters.iter();
        parameters.map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }
}

fn goldens() -> Vec<Golden> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policy/tests/golden");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .expect("the golden folder is readable")
        .map(|entry| entry.expect("the golden folder is readable").path())
        .filter(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("page_"))
        })
        .collect();
    paths.sort();
    let goldens: Vec<Golden> = paths.iter().map(|path| read_golden(path)).collect();
    assert_eq!(goldens.len(), 32, "every page golden is there");
    goldens
}

fn read_golden(path: &Path) -> Golden {
    let text = fs::read_to_string(path).expect("a golden is readable");
    let golden: Value = serde_json::from_str(&text).expect("a golden is JSON");
    let parameters = golden["params"].as_object().expect("params is an object");
    let parameters = parameters.iter().map(|(name, value)| {
        // The golden files give a window in pages (see their README).
        let name = if name == "window" { "window_pages" } else { name };
        let value = value.as_str().map_or(value.to_string(), str::to_owned);
        (name.to_owned(), value)
    });
    let trace = golden["trace"].as_array().expect("trace is a list");
    let trace = trace.iter().map(|reference| {
        let (op, page) = reference.as_str().expect("a reference is text").split_at(1);
        let op = if op == "W" { Op::Write } else { Op::Read };
        (page.parse().expect("a page is a number"), op)
    });
    Golden {
        file: path.display().to_string(),
        policy: golden["policy"].as_str().expect("policy is text").replace('_', "-"),
        frames: golden["S"].as_u64().expect("S is a count") as usize,
        parameters: parameters.collect(),
        trace: trace.collect(),
        steps: golden["steps"].as_array().expect("steps is a list").clone(),
        result: golden["result"].clone(),
    }
}

fn json(state: &State) -> Value {
    serde_json::from_str(&state.to_string()).expect("a state is displayed as JSON")
}

#[test]
fn every_step_hits_evicts_and_leaves_the_state_of_its_golden() {
    for golden in goldens() {
        let parameters = golden.parameters();
        let mut twin = build(&golden.policy, golden.frames, &parameters, &golden.trace);
        assert_eq!(golden.steps.len(), golden.trace.len(), "{}", golden.file);
        for (number, (step, &(page, op))) in golden.steps.iter().zip(&golden.trace).enumerate() {
            let place = format!("{}, step {}", golden.file, number + 1);
            let event = twin.reference(page, op);
            assert_eq!(step["hit"], event.hit, "{place}");
            assert_eq!(step["evicted"], serde_json::json!(event.evicted), "{place}");
            assert_eq!(step["state"], json(&twin.state()), "{place}");
        }
    }
}

#[test]
fn every_total_is_that_of_its_golden() {
    for golden in goldens() {
        let parameters = golden.parameters();
        let trace = &golden.trace;
        let options = Options::default();
        let totals = run(&golden.policy, golden.frames, &parameters, trace, options).totals;
        let expected = |name: &str| golden.result[name].as_u64().unwrap_or(0);
        let evictions = totals.clean_evictions + totals.dirty_evictions;
        let io_time_us = 50 * totals.read_ios + 400 * totals.write_ios;
        for (name, total) in [
            ("refs", totals.references),
            ("read_refs", totals.read_references),
            ("write_refs", totals.write_references),
            ("hits", totals.hits),
            ("misses", totals.misses),
            ("read_hits", totals.read_hits),
            ("write_hits", totals.write_hits),
            ("read_misses", totals.read_misses),
            ("write_misses", totals.write_misses),
            ("read_ios", totals.read_ios),
            ("write_ios", totals.write_ios),
            ("evictions", evictions),
            ("dirty_evictions", totals.dirty_evictions),
            ("clean_evictions", totals.clean_evictions),
            ("early_write_backs", totals.early_write_backs),
            ("max_resident", totals.max_resident),
            ("dirty_at_end", totals.dirty_at_end),
            ("resident_at_end", totals.resident_at_end),
            ("flush_ios", totals.flush_ios),
            ("io_time", io_time_us),
        ] {
            assert_eq!(expected(name), total, "{}: {name}", golden.file);
        }
    }
}

#[test]
fn craw_counts_its_reclaims_as_the_goldens_do() {
    let mut compared = 0;
    for golden in goldens() {
        let parameters = golden.parameters();
        let mut twin = build(&golden.policy, golden.frames, &parameters, &[]);
        if twin.statistics().is_empty() {
            continue;
        }
        for &(page, op) in &golden.trace {
            twin.reference(page, op);
        }
        for (name, count) in twin.statistics() {
            assert_eq!(golden.result["craw"][name], count, "{}: {name}", golden.file);
        }
        compared += 1;
    }
    assert_eq!(compared, 12, "every golden of CRAW and CRAW-A was compared");
}

#[test]
fn the_dynamic_window_moves_as_its_golden_logs() {
    let goldens = goldens();
    let golden = goldens
        .iter()
        .find(|golden| golden.policy == "cflru-dynamic")
        .expect("a golden of dynamic CFLRU is there");
    let period = golden.parameters.iter().find(|(name, _)| name == "period");
    let period: usize = period.expect("the golden sets a period").1.parse().expect("a number");
    let mut twin = build(&golden.policy, golden.frames, &golden.parameters(), &[]);
    let mut windows = Vec::new();
    for (index, &(page, op)) in golden.trace.iter().enumerate() {
        twin.reference(page, op);
        if (index + 1) % period == 0 {
            windows.push(json(twin.state().get("window").expect("the state has a window")));
        }
    }
    assert_eq!(golden.result["window_log"], Value::Array(windows));
}
