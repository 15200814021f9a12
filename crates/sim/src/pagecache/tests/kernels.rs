//! The kernels' golden vectors through the driver, step by step, with the defaults of A-82.

use serde_json::{Map, Value, json};

use super::golden::{assert_counts, goldens};
use super::recorder::{Served, Trace};
use crate::pagecache::{FirstTouch, PageCacheOptions};

/// The policy as a user writes it.
fn policy_of(golden: &Value) -> String {
    let name = golden["policy"].as_str().unwrap().replace('_', "-");
    let parameters = golden["params"].as_object().unwrap().iter();
    let parameters = parameters.map(|(name, value)| match value.as_str() {
        Some(text) => format!("{name}={text}"),
        None => format!("{name}={value}"),
    });
    let parameters: Vec<String> = parameters.collect();
    if parameters.is_empty() { name } else { format!("{name}:{}", parameters.join(",")) }
}

/// 1 if the page of the entry stands in the list.
fn stands_in(state: &Map<String, Value>, list: &str, entry: &Value) -> Value {
    let pages = state[list].as_array().unwrap();
    json!(u8::from(pages.iter().any(|page| *page == entry[0])))
}

/// The list with the flags that the vector shows behind each page.
fn with_flags(state: &Map<String, Value>, list: &Value, flags: &[&str]) -> Value {
    let entry = |entry: &Value| {
        let mut shown = vec![entry[0].clone()];
        shown.extend(flags.iter().map(|flag| stands_in(state, flag, entry)));
        shown.extend([entry[1].clone(), entry[2].clone()]);
        Value::Array(shown)
    };
    list.as_array().unwrap().iter().map(entry).collect()
}

fn generation(state: &Map<String, Value>, list: &Value) -> Value {
    let hits = |entry: &Value| match stands_in(state, "more_calls", entry) == 1 {
        true => json!(2),
        false => stands_in(state, "one_call", entry),
    };
    let entry = |entry: &Value| json!([entry[0], entry[1], hits(entry), entry[2]]);
    list.as_array().unwrap().iter().map(entry).collect()
}

/// The state in the words of the vectors.
fn shown(state: &Map<String, Value>) -> Map<String, Value> {
    let mut shown = Map::new();
    let mut generations = Vec::new();
    for (name, value) in state {
        let part = match name.as_str() {
            "referenced" | "mapped" | "one_call" | "more_calls" => continue,
            "active" | "inactive" => with_flags(state, value, &["referenced", "mapped"]),
            "last_looked_at" => value.get(0).cloned().unwrap_or(Value::Null),
            name if name.starts_with("generation_") => {
                generations.push(generation(state, value));
                continue;
            }
            name if name.starts_with("active_") || name.starts_with("inactive_") => {
                with_flags(state, value, &["referenced"])
            }
            _ => value.clone(),
        };
        shown.insert(name.clone(), part);
    }
    if !generations.is_empty() {
        shown.insert("generations".to_owned(), Value::Array(generations));
    }
    shown
}

fn number(value: &Value) -> Option<f64> {
    let share = || {
        let (numerator, denominator) = value.as_str()?.split_once('/')?;
        Some(numerator.parse::<f64>().ok()? / denominator.parse::<f64>().ok()?)
    };
    value.as_f64().or_else(share)
}

fn is_same(one: &Value, other: &Value) -> bool {
    match (number(one), number(other)) {
        (Some(one), Some(other)) => (one - other).abs() < 1e-12,
        _ => one == other,
    }
}

fn assert_step(served: &Served, step: &Value, at: &str) {
    assert_eq!(Value::Array(served.actions.clone()), step["actions"], "actions, {at}");
    let state = shown(&served.state);
    let expected = step["state"].as_object().unwrap();
    // Without read-ahead it does not matter where a page is in the swap.
    let names = expected.keys().filter(|name| *name != "swap");
    assert!(names.clone().eq(state.keys()), "{at}: {state:?}");
    for name in names {
        let (value, expected) = (&state[name], &expected[name]);
        assert!(is_same(value, expected), "{name}, {at}: {value}, not {expected}");
    }
}

#[test]
fn every_golden_vector_of_a_kernel_is_met_step_by_step() {
    let goldens = goldens("policy/tests/golden", "kernel_");
    assert_eq!(goldens.len(), 11, "all golden vectors of kernels");
    for (file, golden) in goldens {
        let lines = golden["trace"].as_array().unwrap().iter().map(|line| line.as_str().unwrap());
        let trace = Trace::of(&(lines.collect::<Vec<_>>().join("\n") + "\n"), 0);
        let options = PageCacheOptions { first_touch: FirstTouch::Zero, ..Default::default() };
        let frames = golden["S"].as_u64().unwrap() as u32;
        let (served, counts) = trace.replay(&policy_of(&golden), frames, options);
        let steps = golden["steps"].as_array().unwrap();
        assert_eq!(served.len(), steps.len(), "{file}");
        for (served, step) in served.iter().zip(steps) {
            assert_step(served, step, &format!("{file} at {}", step["event"]));
        }
        assert_counts(&counts, &golden["result"], &options, &trace, &file);
        let gauges = &served.last().unwrap().gauges;
        let kernel = &golden["result"]["kernel"];
        for (gauge, count) in [("reclaims", "reclaims"), ("scanned_pages", "scanned")] {
            assert!(is_same(&gauges[gauge], &kernel[count]), "{gauge} in {file}: {gauges:?}");
        }
    }
}
