//! The specification's golden vectors, step by step: hits, batches in order, the complete state, and the sums.

use std::path::Path;

use clockhand_policy::LogicalPage;
use clockhand_policy::buffer::{Action, Medium, Request};
use serde_json::{Value, json};

use crate::driver::{self, Event};

fn goldens() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut goldens = Vec::new();
    for entry in std::fs::read_dir(&folder).expect("the golden vectors are there") {
        let path = entry.expect("a folder entry").path();
        let name = path.file_name().expect("a file name").to_string_lossy().into_owned();
        if name.starts_with("buffer_") {
            let text = std::fs::read_to_string(&path).expect("a readable file");
            goldens.push((name, serde_json::from_str(&text).expect("a golden vector is JSON")));
        }
    }
    goldens
}

/// The buffer's text and its total in pages: the goldens give DRAM and NVM in pages, a user gives a share.
fn buffer_of(golden: &Value) -> (String, u32) {
    let name = golden["policy"].as_str().unwrap().replace('_', "-");
    let parameters = golden["params"].as_object().unwrap();
    let (mut settings, mut total) = (Vec::new(), 0);
    for (parameter, value) in parameters {
        match parameter.as_str() {
            "capacity" | "nvm" => total += value.as_u64().unwrap(),
            "dram" => {
                let nvm = parameters["nvm"].as_u64().unwrap();
                total += value.as_u64().unwrap();
                settings.push(format!("dram_share={value}/{}", value.as_u64().unwrap() + nvm));
            }
            "ppb" => assert_eq!(value.as_u64(), Some(crate::requests::PAGES_PER_BLOCK)),
            _ => settings.push(format!("{parameter}={value}")),
        }
    }
    let text = if settings.is_empty() { name } else { format!("{name}:{}", settings.join(",")) };
    (text, total as u32)
}

fn request_of(reference: &Value) -> Request {
    let (op, page) = reference.as_str().unwrap().split_at(1);
    let page = LogicalPage(page.parse().unwrap());
    if op == "W" { Request::Write(page) } else { Request::Read(page) }
}

/// The sums that the goldens call their result.
#[derive(Default)]
struct Sums(std::collections::BTreeMap<&'static str, u64>);

impl Sums {
    fn add(&mut self, name: &'static str, count: impl TryInto<u64>) {
        let count = count.try_into().unwrap_or_else(|_| panic!("{name} is a count"));
        *self.0.entry(name).or_default() += count;
    }

    fn count(&mut self, request: Request, event: &Event) {
        let hit = event.served.hit.is_some();
        let is_read = matches!(request, Request::Read(_));
        self.add("requests", 1);
        self.add(if is_read { "reads" } else { "writes" }, 1);
        self.add(if hit { "hits" } else { "misses" }, 1);
        self.add("read_hits", u8::from(hit && is_read));
        self.add("write_hits", u8::from(hit && !is_read));
        self.add("flash_reads", u8::from(is_read && !hit));
        self.add("nvm_writes", event.served.nvm_writes);
        for (action, pages) in &event.steps {
            self.add("nvm_writes", u8::from(*action == Action::Migrate));
            if *action == Action::Flush {
                let dirty = pages.iter().filter(|entry| entry.dirty).count();
                self.add("flushes", 1);
                self.add("flash_writes", pages.len());
                self.add("dirty_flushed", dirty);
                self.add("clean_flushed", pages.len() - dirty);
            }
        }
    }
}

#[test]
fn every_golden_vector_is_met_step_by_step() {
    let goldens = goldens();
    assert_eq!(goldens.len(), 7, "all golden vectors for write buffers");
    for (file, golden) in goldens {
        let (text, total) = buffer_of(&golden);
        let mut driven = driver::build(&text, total, crate::requests::PAGES_PER_BLOCK as u32, 64);
        let mut sums = Sums::default();
        let requests = golden["trace"].as_array().unwrap().iter().map(request_of);
        for (position, (request, step)) in
            requests.zip(golden["steps"].as_array().unwrap()).enumerate()
        {
            let at = format!("{file}, {text}, step {position} ({request:?})");
            let event = driven.request(request);
            assert_eq!(event.served.hit.is_some(), step["hit"].as_bool().unwrap(), "hit: {at}");
            let batches: Vec<Vec<u64>> = event
                .batches()
                .map(|pages| pages.iter().map(|entry| entry.page.0).collect())
                .collect();
            assert_eq!(json!(batches), step["flushed"], "batches: {at}");
            assert_eq!(driven.state(), step["state"], "state: {at}");
            sums.count(request, &event);
        }
        sums.add("dirty_at_end", driven.occupancy().dirty_pages);
        for (name, sum) in sums.0 {
            assert_eq!(json!(sum), golden["result"][name], "{name}: {file}");
        }
        let capacity = driven.capacity();
        assert_eq!(capacity.dram_pages + capacity.nvm_pages, total, "{file}");
    }
}

#[test]
fn what_is_padded_comes_from_dram() {
    let mut driven = driver::build("clock-dnv:dram_share=1/2", 6, 4, 64);
    let write = |page| Request::Write(LogicalPage(page));
    let events: Vec<Event> =
        [13, 14, 1, 6, 12, 15, 20].into_iter().map(|page| driven.request(write(page))).collect();
    let batch = events[6].batches().next().expect("the last write flushes");
    let sources: Vec<String> = batch.iter().map(|entry| format!("{:?}", entry.source)).collect();
    assert_eq!(sources, ["Dram", "Nvm", "Nvm", "Dram"]);
    assert_eq!(driven.place_of(6), Some(Medium::Nvm), "the migrating page follows");
}
