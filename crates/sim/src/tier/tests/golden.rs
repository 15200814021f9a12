//! The golden vectors: every action, state, count, time and bound.

use std::path::Path;

use clockhand_device::{Device, MemoryTiers};
use clockhand_policy::Ratio;
use clockhand_policy::catalog::PolicySpec;
use clockhand_policy::tier::catalog::TierSpec;
use clockhand_policy::tier::{Placement, TierSizes, Tiers, fixed::Fixed};
use clockhand_trace::{Op, PageView};
use clockhand_twins::{
    self as twins, TierKeeper, TierPromotion, TierSight, TierTwin, TppRule, static_pages,
};
use num_rational::BigRational;
use serde_json::{Value, json};

use super::steps::{Noted, keys_of, reference, view_of};
use super::twin::{action, twin_op, twin_prices, twin_rules};
use crate::intervals::Cuts;
use crate::next_use::next_use;
use crate::tier::bound::bound;
use crate::tier::page_policy::Sight;
use crate::tier::price::TierPrices;
use crate::tier::promotion::PromotionRule;
use crate::tier::replay::{Keeping, PageVisitor, Renewal, TierReplay};
use crate::tier::study::best_pages;
use clockhand_trace::progress::Progress;

fn goldens() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut goldens = Vec::new();
    for entry in std::fs::read_dir(&folder).expect("the golden vectors are there") {
        let path = entry.expect("a folder entry").path();
        let name = path.file_name().expect("a file name").to_string_lossy().into_owned();
        if name.starts_with("tier_") {
            let text = std::fs::read_to_string(&path).expect("a readable file");
            goldens.push((name, serde_json::from_str(&text).expect("a golden vector is JSON")));
        }
    }
    goldens.sort_by(|left, right| left.0.cmp(&right.0));
    goldens
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

/// The options of a golden vector that differ from the defaults.
fn options(golden: &Value, pages: u32) -> (TierSizes, Renewal<'static>, Sight, PromotionRule) {
    let params = &golden["params"];
    let placement = match &params["placement"] {
        Value::Array(parts) => {
            Placement::Interleave { fast: number(&parts[0]) as u32, slow: number(&parts[1]) as u32 }
        }
        Value::String(word) if word == "make-room" => Placement::MakeRoom,
        Value::Null => Placement::Fast,
        other => panic!("{other} is not in the golden vectors"),
    };
    let limit = params["limit"].as_array().map(|limit| (number(&limit[0]), number(&limit[1])));
    let sizes = TierSizes {
        fast_frames: number(&golden["fast_frames"]) as u32,
        slow_frames: golden["slow_frames"].as_u64().map(|frames| frames as u32),
        pages,
        placement,
        keeps_shadows: params["non_exclusive"].as_bool().unwrap_or(false),
        most_promotions: limit.map(|(most, _)| most),
    };
    let sight = match params["see"].as_array().map(|see| (see[0].as_str(), number(&see[1]))) {
        None => Sight::All,
        Some((Some("sample"), every)) => Sight::Sample(every),
        Some((Some("bits"), every)) => Sight::Bits(every),
        Some(other) => panic!("{other:?} is not in the golden vectors"),
    };
    let rule = params["promote"].as_str().unwrap_or("first-touch");
    let renewal = limit.map_or(Renewal::Never, |(_, period)| Renewal::References(period));
    (sizes, renewal, sight, PromotionRule::parse(rule).expect("a rule"))
}

fn replayed(golden: &Value, view: &PageView, prices: &TierPrices) -> Tiers<Noted> {
    let params = &golden["params"];
    let policy = params["policy"].as_str().expect("a policy").replace('_', "-");
    let (sizes, renewal, sight, rule) = options(golden, view.footprint_pages());
    let progress = Progress::default();
    let replay = TierReplay { view, sizes, renewal, cuts: Cuts::NONE, progress: &progress };
    let noted = Noted::new(view, 10_000);
    if policy == "static" {
        let mut accesses = vec![[0; 2]; view.footprint_pages() as usize];
        for record in view.records() {
            let op = usize::from(record.first_is_write());
            accesses[record.page() as usize][op] += 1;
        }
        let lives = best_pages(&accesses, sizes.fast_frames, prices);
        return replay.run_built(Fixed::new(lives), noted).expect("a replay").0;
    }
    let settings = params["params"].as_object().map_or(String::new(), |settings| {
        let setting = |(name, value): (&String, &Value)| {
            format!("{name}={}", value.to_string().trim_matches('"'))
        };
        format!(":{}", settings.iter().map(setting).collect::<Vec<_>>().join(","))
    });
    if let Some(spec) = TierSpec::parse(&format!("{policy}{settings}")) {
        let spec = spec.expect("settings of a golden vector");
        return replay.run_tier_policy(&spec, noted).expect("a replay").0;
    }
    let resolved = PolicySpec::parse(&policy).expect("a policy");
    let resolved = resolved.resolve(sizes.fast_frames, Ratio::whole(5)).expect("the defaults fit");
    let keys = keys_of(view);
    let next = next_use(view.records(), view.footprint_pages());
    let keeping = Keeping { sight, rule, keys: &keys, next_use: Some(&next) };
    PageVisitor { replay, keeping, watching: noted }.run(&resolved).expect("a replay").0
}

/// The slow twin of a golden vector's policy, with its options.
fn twin_of(
    golden: &Value,
    sizes: &TierSizes,
    trace: &[(u64, twins::Op)],
    tiers: &MemoryTiers,
) -> TierTwin {
    let params = &golden["params"];
    let own = |name: &str, default: u64| params["params"][name].as_u64().unwrap_or(default);
    let frames = sizes.fast_frames as usize;
    let share = |name: &str, default: &str| {
        let text = params["params"][name].as_str().unwrap_or(default);
        let (numerator, denominator) = text.split_once('/').expect("a fraction");
        frames * numerator.parse::<usize>().unwrap() / denominator.parse::<usize>().unwrap()
    };
    let keeper = match params["policy"].as_str().expect("a policy") {
        "clock_dwf" => TierKeeper::ClockDwf(own("expiration", 1), true),
        "tpp" => {
            let low = share("low_share", "1/50").max(1);
            let high = share("high_share", "1/25").max(low);
            let (period, pages) = (own("scan_period", 1000), own("scan_pages", 64) as usize);
            TierKeeper::Tpp(period, pages, TppRule::Active, (low, high))
        }
        "memtis" => {
            let (sample, adapt) = (own("sample", 7), own("adapt", 500));
            TierKeeper::Memtis(sample, adapt, own("cool", 10_000), own("migrate", 1000))
        }
        "hemem" => {
            let hot = (own("read_hot", 8), own("write_hot", 4));
            let (sample, cool) = (own("sample", 7), own("cool", 18));
            TierKeeper::Hemem(sample, hot.0, hot.1, cool, own("migrate", 1000))
        }
        "static" => TierKeeper::Static(static_pages(trace, frames, &twin_prices(tiers))),
        page => {
            let policy = ["lru", "clock", "fifo"].into_iter().find(|name| *name == page);
            let sight = match params["see"].as_array().map(|see| (see[0].as_str(), number(&see[1])))
            {
                None => TierSight::All,
                Some((Some("sample"), every)) => TierSight::Sample(every),
                Some((_, every)) => TierSight::Bits(every),
            };
            let rule = params["promote"].as_str().unwrap_or("first-touch");
            let rule = match PromotionRule::parse(rule).expect("a rule") {
                PromotionRule::Never => TierPromotion::Never,
                PromotionRule::FirstTouch => TierPromotion::FirstTouch,
                PromotionRule::Write => TierPromotion::Write,
                PromotionRule::KTouch { touches, within } => {
                    TierPromotion::KTouch(touches as usize, within)
                }
                PromotionRule::Threshold { least, halve_every } => {
                    TierPromotion::Threshold(least.into(), halve_every)
                }
                PromotionRule::TinyLfu => TierPromotion::TinyLfu,
            };
            TierKeeper::Page(policy.expect("a twin of a page policy"), vec![], sight, rule)
        }
    };
    let every = params["limit"].as_array().map_or(0, |limit| number(&limit[1]));
    TierTwin::new(twin_rules(sizes, every), keeper, trace)
}

/// The state as the golden step has it: the list of a page policy has bits only where the step's entries are rows.
fn same_state(state: &Value, golden: &Value, at: &str) {
    for (name, expected) in golden.as_object().expect("a state is an object") {
        let rows = |value: &Value| {
            let is_page = expected.as_array().is_some_and(|rows| rows.iter().all(Value::is_u64));
            let entries = value.as_array().cloned().unwrap_or_default();
            let page = |row: Value| if is_page && row.is_array() { row[0].clone() } else { row };
            Value::Array(entries.into_iter().map(page).collect())
        };
        let shown = match &state[name] {
            // The state of rules of promotion shows in what they promote.
            Value::Null if !["lru_to_mru", "from_hand"].contains(&name.as_str()) => continue,
            // Lists of page policies have names of their own.
            Value::Null => {
                state.as_object().and_then(|parts| parts.values().next()).expect("a list")
            }
            shown => shown,
        };
        let shown = if shown.is_array() { rows(shown) } else { shown.clone() };
        assert_eq!(&shown, expected, "{name} at {at}");
    }
}

fn result(golden: &Value, mut tiers: Tiers<Noted>, prices: &TierPrices) -> Value {
    let peak = tiers.slow_pages_peak();
    let counter = &mut tiers.movements().counter;
    counter.counts.slow_pages_peak = peak;
    let counts = &counter.counts;
    let times = prices.times(counts, false);
    let slow_frames = golden["slow_frames"].as_u64().map(|frames| frames as u32);
    let life = prices.life(counts, &counter.wear, slow_frames, None);
    let references = counts.references();
    let per_reference =
        |time: &BigRational| (time / BigRational::from_integer(references.into())).to_string();
    let life_of = |life: &Option<BigRational>| life.as_ref().map(BigRational::to_string);
    let total = times.total();
    let hits = BigRational::from_integer(counts.fast_hits.into());
    json!({
        "references": references,
        "read_references": counts.fast[0] + counts.slow[0],
        "write_references": counts.fast[1] + counts.slow[1],
        "fast_hits": counts.fast_hits,
        "fast_reads": counts.fast[0],
        "fast_writes": counts.fast[1],
        "slow_reads": counts.slow[0],
        "slow_writes": counts.slow[1],
        "first_touches": counts.first_touches,
        "storage_faults": counts.storage_faults,
        "storage_writes": counts.storage_writes,
        "promotions": counts.promotions,
        "promotions_refused": counts.promotions_refused,
        "demotions": counts.demotions,
        "free_demotions": counts.free_demotions,
        "evictions": counts.evictions,
        "ping_pongs": counts.ping_pongs,
        "hint_faults": counts.hint_faults,
        "samples": counts.samples,
        "scanned_pages": counts.scanned_pages,
        "slow_entries": counts.slow_entries,
        "slow_pages_peak": counts.slow_pages_peak,
        "access_ns": times.access.to_string(),
        "migration_ns": times.migration.to_string(),
        "overhead_ns": times.overhead.to_string(),
        "storage_ns": times.storage.to_string(),
        "time_ns": total.to_string(),
        "mean_ns": per_reference(&total),
        "mean_access_ns": per_reference(&times.access),
        "fast_share": per_reference(&hits),
        "slow_bytes_written": life.slow_bytes_written.to_string(),
        "life_traces": life_of(&life.traces),
        "life_traces_unleveled": life_of(&life.traces_unleveled),
        "life_years": life_of(&life.years),
    })
}

#[test]
fn every_golden_vector_is_met_step_by_step() {
    let goldens = goldens();
    assert_eq!(goldens.len(), 16, "all golden vectors of tiers");
    let storage = Device::named_or_file("slc-nand").unwrap().page_cost(4096).unwrap();
    for (file, golden) in goldens {
        let texts = golden["trace"].as_array().expect("a trace").iter();
        let trace: Vec<(u64, Op)> =
            texts.map(|text| reference(text.as_str().expect("a text"))).collect();
        let view = view_of(&trace);
        let tiers = MemoryTiers::named_or_file(golden["tiers"].as_str().unwrap()).unwrap();
        let prices = TierPrices::new(&tiers, &storage, number(&golden["page_bytes"]));
        let mut replayed = replayed(&golden, &view, &prices);
        let twin_trace: Vec<_> = trace.iter().map(|&(page, op)| (page, twin_op(op))).collect();
        let (sizes, ..) = options(&golden, view.footprint_pages());
        let mut twin = twin_of(&golden, &sizes, &twin_trace, &tiers);
        let steps = golden["steps"].as_array().expect("steps");
        assert_eq!(replayed.movements().steps.len(), steps.len(), "{file}");
        for (position, step) in steps.iter().enumerate() {
            let at = format!("{file}, step {position}, {}", step["op"]);
            let ours = replayed.movements().steps[position].clone();
            assert_eq!(Value::from(ours.actions), step["actions"], "actions at {at}");
            assert_eq!(ours.served, step["served"], "served at {at}");
            let (page, op) = twin_trace[position];
            let actions: Vec<Value> =
                twin.reference(page, op, 0).iter().filter_map(action).collect();
            assert_eq!(Value::from(actions), step["actions"], "the twin's actions at {at}");
            let slow: Vec<_> =
                twin.slow().iter().map(|&(page, bit)| (page, u8::from(bit))).collect();
            assert_eq!(json!(slow), step["state"]["slow_from_hand"], "the twin's at {at}");
            assert_eq!(json!(twin.shadows()), step["state"]["shadows"], "the twin's at {at}");
            same_state(&ours.state, &step["state"], &at);
        }
        let mut expected = golden["result"].clone();
        let offline = expected.as_object_mut().expect("an object").remove("offline_ns");
        assert_eq!(result(&golden, replayed, &prices), expected, "result of {file}");
        if let Some(offline) = offline {
            let next = next_use(view.records(), view.footprint_pages());
            let progress = Progress::default();
            let (frames, shadows) = (sizes.fast_frames, sizes.keeps_shadows);
            let bound = bound(view.records(), &next, frames, &prices, shadows, &progress).unwrap();
            assert_eq!(bound.to_string(), offline.as_str().unwrap(), "bound of {file}");
        }
    }
}
