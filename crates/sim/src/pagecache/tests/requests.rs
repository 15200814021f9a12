//! What requests cost: the golden vectors event by event, and the slow twin's requests.

use clockhand_device::{Exact, Joined, RequestCost};
use clockhand_twins::{Cost, PageCacheRequest, PageCacheRules, PageCacheTwin, RequestCosts};
use serde_json::{Map, Value, json};

use super::golden::{assert_counts, goldens, options};
use super::recorder::{Served, Trace};
use crate::pagecache::{PageCacheCounts, PageCacheOptions};

/// Reads and writes of a golden vector's device.
struct Costs {
    read: [u32; 3],
    write: [u32; 3],
}

impl Costs {
    fn of(golden: &Value) -> Costs {
        let terms = |op: &str| {
            let terms = golden["device"][op].as_array().unwrap().iter();
            let terms: Vec<u32> = terms.map(|term| term.as_u64().unwrap() as u32).collect();
            terms.try_into().unwrap()
        };
        Costs { read: terms("read"), write: terms("write") }
    }

    fn of_twin(&self, request: &PageCacheRequest) -> Cost {
        let terms = if request.0.ends_with("read") { self.read } else { self.write };
        let [setup, transfer, erase] = terms.map(|term| Cost::from(i128::from(term)));
        RequestCosts { setup, transfer, erase }.request(&request.1)
    }

    fn of_counts(&self, counts: &PageCacheCounts) -> String {
        let time = classes(counts).map(|(name, pages, joined)| {
            let terms = if name.ends_with("read") { self.read } else { self.write };
            let [setup_us, transfer_us, erase_us] =
                terms.map(|term| Exact::from_integer(term.into()));
            RequestCost { setup_us, transfer_us, erase_us }.time_us(pages, &joined)
        });
        time.into_iter().reduce(|sum, time| sum + time).unwrap().to_string()
    }
}

fn classes(counts: &PageCacheCounts) -> [(&'static str, u64, Joined); 4] {
    let counts = counts.clone();
    [
        ("anon_read", counts.anon_read_ios, counts.anon_reads_joined),
        ("anon_write", counts.anon_write_ios, Joined::default()),
        ("file_read", counts.file_read_ios, counts.file_reads_joined),
        ("file_write", counts.file_write_ios, counts.file_writes_joined),
    ]
}

/// The requests of each class as the golden vectors write them.
fn requests_of(counts: &PageCacheCounts) -> Value {
    let class = |(name, pages, joined): (&str, u64, Joined)| {
        let gaps = joined.gaps().map(|(gap, times)| (gap.to_string(), json!(times)));
        let gaps: Map<String, Value> = gaps.collect();
        let requests = pages - joined.pages();
        (name.to_owned(), json!({"requests": requests, "pages": pages, "gaps": gaps}))
    };
    Value::Object(classes(counts).map(class).into_iter().collect())
}

fn rules_of(golden: &Value) -> PageCacheRules {
    let references = |name: &str| {
        let text = golden["params"][name].as_str()?;
        Some(text.strip_suffix('r').unwrap().parse::<u64>().unwrap())
    };
    let window = |golden: &Value| {
        let window = golden["params"]["read_ahead_file"].as_array()?;
        Some((window[0].as_u64()?, window[1].as_u64()?))
    };
    let group = golden["params"]["read_ahead_swap"].as_u64();
    PageCacheRules {
        frames: golden["S"].as_u64().unwrap() as usize,
        flush_every: references("flush_every"),
        flush_age: references("flush_age").unwrap_or(0),
        flush_references: true,
        dirty_limit: golden["params"]["dirty_limit"].as_str().map(|limit| {
            let (numerator, denominator) = limit.split_once('/').unwrap();
            (numerator.parse().unwrap(), denominator.parse().unwrap())
        }),
        file_window: window(golden),
        swap_group: group.map(|slots| slots as usize),
        ..PageCacheRules::default()
    }
}

/// The twin is held to every request, the driver, which keeps counts, to the time of every beginning of the trace.
#[test]
fn every_request_of_the_golden_vectors_costs_what_it_says() {
    let goldens = goldens("sim/tests/golden", "requests_pagecache");
    assert_eq!(goldens.len(), 2, "all golden vectors of requests");
    for (file, golden) in goldens {
        let lines: Vec<&str> =
            golden["trace"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
        let (costs, options) = (Costs::of(&golden), options(&golden));
        let frames = golden["S"].as_u64().unwrap() as u32;
        let ahead_pages = options.read_ahead.file.map_or(0, |file| file.most_pages);
        let replay = |lines: &[&str], flush_at_end: bool| {
            let trace = Trace::of(&(lines.join("\n") + "\n"), ahead_pages);
            let options = PageCacheOptions { flush_at_end, ..options };
            let (served, counts) = trace.replay("lru", frames, options);
            (trace, served, counts)
        };
        let (_, twin) = PageCacheTwin::run(&lines.join("\n"), rules_of(&golden));
        let mut time = Cost::from(0);
        for (place, step) in golden["steps"].as_array().unwrap().iter().enumerate() {
            let at = format!("{file} at {}", step["event"]);
            let shown = |request: &PageCacheRequest| {
                json!([request.0, request.1, costs.of_twin(request).to_string()])
            };
            let requests: Vec<Value> = twin.requests[place].iter().map(shown).collect();
            assert_eq!(Value::Array(requests), step["requests"], "{at}");
            time += twin.requests[place].iter().map(|one| costs.of_twin(one)).sum::<Cost>();
            // Lengths alone do not make a trace.
            if twin.requests[..=place].iter().all(Vec::is_empty) {
                continue;
            }
            let (_, served, counts) = replay(&lines[..=place], false);
            assert_eq!(Value::Array(served[place].actions.clone()), step["actions"], "{at}");
            assert_eq!(costs.of_counts(&counts), time.to_string(), "{at}");
        }
        let flush_at_end = golden["params"]["flush_at_end"] == true;
        let (trace, _, counts) = replay(&lines, flush_at_end);
        assert_eq!(requests_of(&counts), golden["result"]["requests"], "{file}");
        assert_eq!(costs.of_counts(&counts), golden["result"]["io_time"], "{file}");
        assert_counts(&counts, &golden["result"], &options, &trace, &file);
    }
}

/// The same requests as the twin, priced alike: a gap of two places passes, one of four is worth a new set-up. Dirty
/// pages of the last state, if it is given, are written page by page.
pub fn assert_requests(counts: &PageCacheCounts, twin: &PageCacheTwin, flushed: Option<&Served>) {
    let costs = Costs { read: [7, 2, 0], write: [9, 3, 1] };
    let requests = twin.requests.iter().flatten();
    let time: Cost = requests.map(|request| costs.of_twin(request)).sum();
    let dirty = flushed.map_or(0, |last| last.state["dirty"].as_array().unwrap().len());
    let flush = costs.of_twin(&("file_write", vec![0])) * dirty as i128;
    assert_eq!(costs.of_counts(counts), (time + flush).to_string());
}
