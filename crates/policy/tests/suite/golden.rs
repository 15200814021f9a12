//! The specification's golden vectors, step by step: hits, evictions in order and the complete state.

use std::collections::BTreeSet;
use std::path::Path;

use clockhand_policy::Op;
use serde_json::Value;

use crate::driver::{self, Bits, same_state};

/// The golden vectors whose names begin so, by name.
pub fn goldens(prefix: &str) -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut goldens = Vec::new();
    for entry in std::fs::read_dir(&folder).expect("the golden vectors are there") {
        let path = entry.expect("a folder entry").path();
        let name = path.file_name().expect("a file name").to_string_lossy().into_owned();
        if name.starts_with(prefix) {
            let text = std::fs::read_to_string(&path).expect("a readable file");
            let golden = serde_json::from_str(&text).expect("a golden vector is JSON");
            goldens.push((name, golden));
        }
    }
    goldens
}

/// `craw:c=2` from the golden file's policy and parameters.
pub fn policy_of(golden: &Value) -> String {
    let name = golden["policy"].as_str().unwrap().replace('_', "-");
    let settings: Vec<String> = golden["params"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(parameter, value)| {
            let parameter = if parameter == "window" { "window_pages" } else { parameter };
            format!("{parameter}={}", value.as_str().map_or(value.to_string(), str::to_owned))
        })
        .collect();
    if settings.is_empty() { name } else { format!("{name}:{}", settings.join(",")) }
}

fn trace_of(golden: &Value) -> Vec<(u32, Op)> {
    let reference = |value: &Value| {
        let (op, page) = value.as_str().unwrap().split_at(1);
        (page.parse().unwrap(), if op == "W" { Op::Write } else { Op::Read })
    };
    golden["trace"].as_array().unwrap().iter().map(reference).collect()
}

#[test]
fn every_golden_vector_is_met_step_by_step() {
    let goldens = goldens("page_");
    assert_eq!(goldens.len(), 32, "all golden vectors for page policies");
    let mut policies = BTreeSet::new();
    for (file, golden) in goldens {
        let (policy, trace) = (policy_of(&golden), trace_of(&golden));
        policies.insert(golden["policy"].as_str().unwrap().to_owned());
        let frames = golden["S"].as_u64().unwrap() as u32;
        let pages = trace.iter().map(|&(page, _)| page).max().unwrap() + 1;
        let mut driven = driver::build(&policy, frames, pages, Bits::Exact, &trace);
        for (position, (&(page, op), step)) in
            trace.iter().zip(golden["steps"].as_array().unwrap()).enumerate()
        {
            let at = format!("{file}, {policy}, step {position} ({op:?} {page})");
            let event = driven.reference(page, op);
            assert_eq!(event.hit, step["hit"].as_bool().unwrap(), "hit at {at}");
            let evicted: Vec<(u32, bool)> =
                serde_json::from_value(step["evicted"].clone()).unwrap();
            assert_eq!(event.evicted, evicted, "evictions at {at}");
            let state = Value::Object(driven.state());
            assert!(
                same_state(&state, &step["state"]),
                "state at {at}: {state}, not {}",
                step["state"]
            );
        }
    }
    assert_eq!(
        policies.len(),
        15,
        "the specification's policies and those of our own have golden vectors"
    );
}
