//! The specification's golden vectors: every action, state, count and time.

use std::path::Path;

use clockhand_policy::Ratio;
use clockhand_twins::{Op, TranslationEvent, TranslationRules};
use serde_json::{Map, Value, json};

use super::steps::{Reference, State, space_of, view_of, with_replay};
use crate::translate::Storage;
use crate::translate::paging::PagingCounts;
use crate::translate::price::{PricedStorage, TranslationTimes, exact_times};
use crate::translate::study::priced;
use crate::translate::translator::TranslationCounts;

fn goldens(kind: &str) -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut goldens = Vec::new();
    for entry in std::fs::read_dir(&folder).expect("the golden vectors are there") {
        let path = entry.expect("a folder entry").path();
        let name = path.file_name().expect("a file name").to_string_lossy().into_owned();
        if name.starts_with(kind) {
            let text = std::fs::read_to_string(&path).expect("a readable file");
            goldens.push((name, serde_json::from_str(&text).expect("a golden vector is JSON")));
        }
    }
    goldens.sort_by(|left, right| left.0.cmp(&right.0));
    goldens
}

/// `R5` or `W5@2`.
fn reference(text: &str) -> Reference {
    let (op, place) = text.split_at(1);
    let (page, stream) = place.split_once('@').unwrap_or((place, "0"));
    let op = if op == "W" { Op::Write } else { Op::Read };
    ((stream.parse().expect("a stream"), page.parse().expect("a page")), op)
}

fn rules_of(golden: &Value) -> TranslationRules {
    let params = &golden["params"];
    let count = |name: &str| params[name].as_u64().unwrap_or(0);
    let entries = count("tlb") as usize;
    let ways = params["ways"].as_u64().map_or(entries, |ways| ways as usize);
    let share = params["share"].as_str().unwrap_or("1").parse::<Ratio>().expect("a share");
    let replacement = match params["replacement"].as_str().unwrap_or("lru") {
        "lru" => "lru",
        "random" => "random",
        "plru" => "plru",
        other => panic!("{other} is not in the golden vectors"),
    };
    let tlb2 = params["tlb2"].as_u64().map(|entries| (entries as usize, entries as usize));
    let page_bytes = golden["page_bytes"].as_u64().expect("a page size");
    let huge = params["huge"].as_u64();
    assert_eq!(golden["policy"], "clock");
    TranslationRules {
        policy: "clock",
        frames: golden["frames"].as_u64().expect("frames") as usize,
        tlb: (entries, ways),
        tlb2,
        replacement,
        walk_levels: count("walk_levels").max(1) as u32,
        walk_cache: count("walk_cache") as usize,
        huge: huge.map(|bytes| (bytes / page_bytes, (share.numerator(), share.denominator()))),
        prefetch: count("prefetch"),
        no_swap: params["no_swap"].as_bool().unwrap_or(false),
        flush_on_switch: params["flush_on_switch"].as_bool().unwrap_or(false),
        seed: count("seed"),
    }
}

fn action(event: &TranslationEvent) -> Value {
    match event {
        TranslationEvent::TlbHit => json!(["tlb_hit"]),
        TranslationEvent::Tlb2Hit => json!(["tlb2_hit"]),
        TranslationEvent::Walk(reads) => json!(["walk", reads]),
        TranslationEvent::Fault(page) => json!(["fault", page]),
        TranslationEvent::Prefetch(page) => json!(["prefetch", page]),
        TranslationEvent::Fetch(page) => json!(["fetch", page]),
        TranslationEvent::Evict(page, dirty) => json!(["evict", page, dirty]),
        TranslationEvent::Demote(stream, region) => json!(["demote", [stream, region]]),
        TranslationEvent::Promote(stream, region) => json!(["promote", [stream, region]]),
        TranslationEvent::GiveUp(stream, region) => json!(["give_up", [stream, region]]),
        TranslationEvent::Kill(stream) => json!(["kill", stream]),
    }
}

/// The parts of a state that the golden step has.
fn same_state(state: &State, golden: &Value, at: &str) {
    let bits = |(page, bit): &(_, bool)| json!([page, u8::from(*bit)]);
    let memory: Vec<Value> = state.memory.iter().map(bits).collect();
    let mut parts = json!({
        "tlb": state.tlb,
        "tlb2": state.tlb2,
        "walk_cache": state.walk_cache,
        "promoted": state.promoted,
        "memory": {"from_hand": memory},
        "dirty": state.dirty,
    });
    let known = golden.as_object().expect("a state is an object");
    let parts = parts.as_object_mut().expect("it was made as an object");
    parts.retain(|name, _| known.contains_key(name));
    assert_eq!(&*parts, known, "state at {at}");
}

fn same_result(golden: &Value, paging: &PagingCounts, translation: TranslationCounts, at: &str) {
    let result = &golden["result"];
    let times = TranslationTimes::default();
    let page_bytes = golden["page_bytes"].as_u64().expect("a page size");
    let storage = PricedStorage::of_ratio(Ratio::whole(10), &times, page_bytes);
    let mut counts = counts_of(golden, paging, translation);
    let priced = times_of(golden, paging, translation, &times, (&storage, false));
    counts.as_object_mut().expect("an object").extend(priced);
    assert_eq!(&counts, result, "result of {at}");
}

/// The counts of a result.
fn counts_of(golden: &Value, paging: &PagingCounts, translation: TranslationCounts) -> Value {
    let references = golden["result"]["references"].as_u64().expect("references");
    json!({
        "references": references,
        "tlb_hits": references - translation.tlb_misses,
        "tlb_misses": translation.tlb_misses,
        "tlb2_hits": translation.tlb2_hits,
        "walks": translation.walks,
        "walk_accesses": translation.walk_accesses,
        "hits": references - paging.page_faults,
        "page_faults": paging.page_faults,
        "evictions": paging.evictions,
        "write_ios": paging.write_ios,
        "promotions": paging.promotions,
        "demotions": paging.demotions,
        "promotion_fetches": paging.promotion_fetches,
        "prefetched": paging.prefetched,
        "prefetched_in_vain": paging.prefetched_in_vain,
        "kills": paging.kills,
        "page_table_bytes": paging.page_table_bytes,
        "frames": golden["frames"],
        "page_bytes": golden["page_bytes"],
    })
}

/// The times of a result.
fn times_of(
    golden: &Value,
    paging: &PagingCounts,
    translation: TranslationCounts,
    times: &TranslationTimes,
    storage: (&PricedStorage, bool),
) -> Map<String, Value> {
    let references = golden["result"]["references"].as_u64().expect("references");
    let has_second = golden["params"]["tlb2"].is_u64();
    let translation = (&translation, has_second);
    let (address, data) = exact_times(references, paging, translation, times, storage);
    let all =
        [("t_addr_ns", address.clone()), ("t_data_ns", data.clone()), ("amat_ns", address + data)];
    all.into_iter().map(|(name, time)| (name.to_owned(), json!(time.to_string()))).collect()
}

fn trace_of(golden: &Value) -> Vec<Reference> {
    let texts = golden["trace"].as_array().expect("a trace").iter();
    texts.map(|text| reference(text.as_str().expect("a text"))).collect()
}

#[test]
fn every_golden_vector_is_met_step_by_step() {
    let goldens = goldens("translation_");
    assert_eq!(goldens.len(), 10, "all golden vectors of translation");
    for (file, golden) in goldens {
        let rules = rules_of(&golden);
        let trace = trace_of(&golden);
        let view = view_of(&trace);
        let space = space_of(&view, &rules);
        with_replay(&view, &space, &rules, &mut |replay| {
            let steps = golden["steps"].as_array().expect("steps");
            for (&record, step) in space.records(&view).iter().zip(steps) {
                let at = format!("{file}, {}", step["reference"]);
                let actions: Vec<Value> = replay.reference(record).iter().map(action).collect();
                assert_eq!(Value::from(actions), step["actions"], "actions at {at}");
                same_state(&replay.state(), &step["state"], &at);
            }
            let (paging, translation) = replay.counts();
            same_result(&golden, &paging, translation, &file);
        });
    }
}

/// The device of a golden vector, in ns: set-up, transfer and erase of a page, for reads and for writes.
fn storage_of(golden: &Value, times: &TranslationTimes) -> PricedStorage {
    let term = |op: &str, place: usize| golden["device_ns"][op][place].as_f64().unwrap() / 1000.0;
    let text = format!(
        "summary = \"a test\"\nsource = \"a test\"\ncharged = \"per-page\"\nerase_charged = true\n\
         [read]\nsetup_time_us = {}\ntime_us = {}\n[write]\nsetup_time_us = {}\ntime_us = {}\n\
         [erase]\ntime_us = {}\n",
        term("read", 0),
        term("read", 1),
        term("write", 0),
        term("write", 1),
        term("write", 2),
    );
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("device.toml");
    std::fs::write(&path, text).expect("a file");
    priced(&Storage::Device(path.display().to_string()), times, 4096).expect("a device")
}

#[test]
fn every_request_of_the_golden_vector_costs_what_it_says() {
    let (file, golden) = goldens("requests_translation").remove(0);
    let rules = rules_of(&golden);
    let trace = trace_of(&golden);
    let (view, mut times) = (view_of(&trace), TranslationTimes::default());
    let device = storage_of(&golden, &times);
    times.fixed_ns = golden["fixed_ns"].to_string().parse().unwrap();
    let space = space_of(&view, &rules);
    with_replay(&view, &space, &rules, &mut |replay| {
        let mut before = device.moving_ns(&PagingCounts::default(), false);
        for (&record, step) in space.records(&view).iter().zip(golden["steps"].as_array().unwrap())
        {
            let at = format!("{file}, {}", step["reference"]);
            let events = replay.reference(record);
            let actions: Vec<Value> = events.iter().map(action).collect();
            assert_eq!(Value::from(actions), step["actions"], "actions at {at}");
            let request = read_by(&events);
            let known = step["request"].as_array().cloned().unwrap_or_default();
            assert_eq!(request, known, "request at {at}");
            let after = device.moving_ns(&replay.counts().0, false);
            let cost = (&after - before).to_string();
            assert_eq!(cost, step["cost"].as_str().unwrap_or("0"), "cost at {at}");
            before = after;
        }
        let (paging, translation) = replay.counts();
        let storage = storage_of(&golden, &times);
        let ratio = PricedStorage::of_ratio(Ratio::whole(10), &times, 4096);
        let mut result = counts_of(&golden, &paging, translation);
        let priced = |storage| times_of(&golden, &paging, translation, &times, (storage, true));
        let pages = paging.page_faults + paging.prefetched + paging.promotion_fetches;
        let gaps = paging.joined.gaps().map(|(gap, times)| (gap.to_string(), json!(times)));
        let reads = json!({
            "requests": pages - paging.joined.pages(),
            "pages": pages,
            "gaps": gaps.collect::<Map<String, Value>>(),
        });
        let object = result.as_object_mut().unwrap();
        object.extend(priced(&storage));
        object.extend([("reads".to_owned(), reads)]);
        object.extend([("with_ratio_10".to_owned(), Value::Object(priced(&ratio)))]);
        assert_eq!(result, golden["result"], "result of {file}");
    });
}

/// The pages that a reference read, ascending.
pub(super) fn read_by(events: &[TranslationEvent]) -> Vec<u64> {
    let number = |event: &TranslationEvent| match event {
        TranslationEvent::Fault((_, number))
        | TranslationEvent::Prefetch((_, number))
        | TranslationEvent::Fetch((_, number)) => Some(*number),
        _ => None,
    };
    let mut pages: Vec<u64> = events.iter().filter_map(number).collect();
    pages.sort_unstable();
    pages
}
