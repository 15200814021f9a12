//! The kernels' golden vectors, step by step: what is hit, written and evicted in order, and the complete state.
//!
//! The policy does not decide how a miss is filled; the vector says it.

use clockhand_policy::Op;
use clockhand_policy::page::{Cause, PageKind};
use clockhand_twins::{Access, KernelTwin, build_kernel};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::driver::{self, Action, Bits, Driven, Reference, same_state};
use crate::drops::{ahead_of, pick};
use crate::golden::{goldens, policy_of};
use crate::traces::cases;
use crate::twins::{split, twin_op};

/// A page by the vector's name, such as `f1:2`, in the order of (object, page).
struct Pages(Vec<(String, u64)>);

const PAGE_BYTES: u64 = 4096;

fn number(text: &str) -> u64 {
    match text.strip_suffix('p') {
        Some(pages) => pages.parse::<u64>().expect("pages") * PAGE_BYTES,
        None => text.parse().expect("a number"),
    }
}

impl Pages {
    fn of(golden: &Value) -> Pages {
        let mut objects: Vec<String> = Vec::new();
        let mut pages = Vec::new();
        for event in golden["trace"].as_array().expect("events") {
            let words: Vec<&str> = event.as_str().expect("an event").split(' ').collect();
            if !objects.iter().any(|object| object == words[1]) {
                objects.push(words[1].to_owned());
            }
            if words.len() > 2 {
                pages.push((words[1].to_owned(), number(words[2]) / PAGE_BYTES));
            }
        }
        let place = |object: &String| objects.iter().position(|other| other == object);
        pages.sort_by_key(|(object, page)| (place(object), *page));
        pages.dedup();
        Pages(pages)
    }

    fn id(&self, name: &str) -> u32 {
        let position = self.0.iter().position(|(object, page)| format!("{object}:{page}") == name);
        position.expect("a page of the trace") as u32
    }

    fn name(&self, id: &Value) -> String {
        let (object, page) = &self.0[id.as_u64().expect("a page") as usize];
        format!("{object}:{page}")
    }

    fn names(&self, pages: &Value) -> Value {
        let pages = pages.as_array().expect("a list of pages").iter();
        pages.map(|entry| json!(self.name(entry.get(0).unwrap_or(entry)))).collect()
    }
}

/// Kernel, with the vector's own names.
struct Replay {
    pages: Pages,
    kernel: Box<dyn Driven>,
}

impl Replay {
    fn of(golden: &Value, bits: Bits) -> Replay {
        let pages = Pages::of(golden);
        let frames = golden["S"].as_u64().expect("frames") as u32;
        let kernel = driver::build(&policy_of(golden), frames, pages.0.len() as u32, bits, &[]);
        Replay { pages, kernel }
    }

    fn happen(&mut self, event: &str, actions: &Value) -> Vec<Value> {
        let words: Vec<&str> = event.split(' ').collect();
        let [word, object] = [words[0], words[1]];
        if word == "release" {
            assert!(object.starts_with('f') && words.len() == 2, "all of a file");
            for held in self.kernel.resident() {
                if self.pages.0[held.page as usize].0 == object {
                    self.kernel.unmap(held.page);
                }
            }
            return Vec::new();
        }
        if word == "delete" {
            return self.delete(object);
        }
        let name = format!("{object}:{}", number(words[2]) / PAGE_BYTES);
        let reference = Reference {
            page: self.pages.id(&name),
            op: if word.ends_with('w') { Op::Write } else { Op::Read },
            cause: if word.starts_with('c') { Cause::Call } else { Cause::Memory },
            kind: if object.starts_with('f') { PageKind::File } else { PageKind::Anonymous },
            fetched: actions.as_array().expect("actions").iter().any(|action| action[0] == "read"),
        };
        let actions = self.kernel.refer(reference, &[]);
        actions.into_iter().map(|action| self.show(action, &name)).collect()
    }

    fn delete(&mut self, object: &str) -> Vec<Value> {
        let mut pages: Vec<u32> = self.kernel.resident().iter().map(|held| held.page).collect();
        pages.sort_unstable();
        pages.retain(|&page| self.pages.0[page as usize].0 == object);
        let drop = |page: u32| {
            let was_dirty = self.kernel.drop_page(page);
            json!(["drop", self.pages.name(&json!(page)), was_dirty])
        };
        pages.into_iter().map(drop).collect()
    }

    fn show(&self, action: Action, referenced: &str) -> Value {
        match action {
            Action::Hit => json!(["hit", referenced]),
            Action::Miss => json!(["miss", referenced]),
            Action::Write(page) => json!(["write", self.pages.name(&json!(page))]),
            Action::Evict(page, dirty) => json!(["evict", self.pages.name(&json!(page)), dirty]),
        }
    }

    /// The policy's state in the vector's words.
    fn state(&self) -> Map<String, Value> {
        let state = self.kernel.state();
        let dirty = self.kernel.resident().into_iter().filter(|held| held.dirty);
        let dirty: Vec<Value> = dirty.map(|held| json!([held.page])).collect();
        let mut shown = Map::from_iter([("dirty".to_owned(), self.pages.names(&json!(dirty)))]);
        let mut generations = Vec::new();
        for (name, value) in &state {
            let flags = match name.as_str() {
                "active" | "inactive" => vec!["referenced", "mapped"],
                name if name.starts_with("active_") || name.starts_with("inactive_") => {
                    vec!["referenced"]
                }
                name if name.starts_with("generation_") => {
                    generations.push(self.generation(&state, value));
                    continue;
                }
                "referenced" | "mapped" | "one_call" | "more_calls" => continue,
                "last_looked_at" => {
                    let page = value.get(0).map(|page| self.pages.name(page));
                    shown.insert(name.clone(), json!(page));
                    continue;
                }
                _ => {
                    shown.insert(name.clone(), value.clone());
                    continue;
                }
            };
            let entry = |entry: &Value| {
                let mut shown = vec![json!(self.pages.name(&entry[0]))];
                shown.extend(flags.iter().map(|flag| self.has(&state, flag, entry)));
                shown.extend([entry[1].clone(), entry[2].clone()]);
                Value::Array(shown)
            };
            let entries = value.as_array().expect("a list").iter().map(entry);
            shown.insert(name.clone(), entries.collect());
        }
        if !generations.is_empty() {
            shown.insert("generations".to_owned(), json!(generations));
        }
        shown
    }

    fn has(&self, state: &Map<String, Value>, list: &str, entry: &Value) -> Value {
        let members = state[list].as_array().expect("a list");
        json!(u8::from(members.iter().any(|member| member[0] == entry[0])))
    }

    fn generation(&self, state: &Map<String, Value>, generation: &Value) -> Value {
        let entry = |entry: &Value| {
            let hits = match self.has(state, "more_calls", entry) == 1 {
                true => json!(2),
                false => self.has(state, "one_call", entry),
            };
            json!([self.pages.name(&entry[0]), entry[1], hits, entry[2]])
        };
        generation.as_array().expect("a list").iter().map(entry).collect()
    }
}

/// A share as the vectors write it becomes a number; swap slots are the driver's.
fn expected_state(step: &Value) -> Value {
    let mut state = step["state"].as_object().expect("a state").clone();
    state.remove("swap");
    if let Some(share) = state.get_mut("share") {
        let (numerator, denominator) = share.as_str().unwrap().split_once('/').unwrap();
        let value = |text: &str| text.parse::<f64>().expect("a number");
        *share = json!(value(numerator) / value(denominator));
    }
    Value::Object(state)
}

fn expected_actions(step: &Value) -> Vec<Value> {
    let actions = step["actions"].as_array().expect("actions").iter();
    actions
        .map(|action| match action[0].as_str().expect("a word") {
            "read" | "zero" | "blind" => json!(["miss", action[1]]),
            _ => action.clone(),
        })
        .collect()
}

#[test]
fn every_golden_vector_of_a_kernel_is_met_step_by_step() {
    let goldens = goldens("kernel_");
    assert_eq!(goldens.len(), 11, "all golden vectors for kernels");
    for (file, golden) in goldens {
        for bits in [Bits::Exact, Bits::Mapped] {
            let mut replay = Replay::of(&golden, bits);
            for (position, step) in golden["steps"].as_array().unwrap().iter().enumerate() {
                let event = step["event"].as_str().unwrap();
                let at = format!("{file}, {bits:?}, step {position} ({event})");
                let actions = replay.happen(event, &step["actions"]);
                assert_eq!(actions, expected_actions(step), "actions at {at}");
                let (state, expected) = (Value::Object(replay.state()), expected_state(step));
                assert!(same_state(&state, &expected), "state at {at}: {state}, not {expected}");
            }
            let gauges = replay.kernel.gauges();
            let gauge = |name| gauges.iter().find(|gauge| gauge.0 == name).expect("a gauge").1;
            let kernel = &golden["result"]["kernel"];
            assert_eq!(gauge("reclaims"), kernel["reclaims"].as_f64().unwrap(), "{file}");
            assert_eq!(gauge("scanned_pages"), kernel["scanned"].as_f64().unwrap(), "{file}");
        }
    }
}

/// Pages below this are anonymous, the others a file's.
const ANONYMOUS: u32 = 6;
const PAGES: u32 = 14;

/// What happens to the pages; numbers choose among those in memory.
#[derive(Clone, Copy, Debug)]
enum Happening {
    Refer { page: u32, op: Op, by_call: bool, fetched: bool, ahead: u32 },
    Unmap(usize),
    WriteBack(usize),
    Drop(usize),
}

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    let choice = 0..64usize;
    let op = prop_oneof![2 => Just(Op::Read), 1 => Just(Op::Write)];
    let ahead = prop_oneof![5 => Just(0u32), 1 => 1..4u32];
    let reference = (0..PAGES, op, any::<bool>(), any::<bool>(), ahead).prop_map(
        |(page, op, by_call, fetched, ahead)| {
            let by_call = by_call && page >= ANONYMOUS;
            Happening::Refer { page, op, by_call, fetched, ahead }
        },
    );
    let one = prop_oneof![
        24 => reference,
        1 => choice.clone().prop_map(Happening::Unmap),
        1 => choice.clone().prop_map(Happening::WriteBack),
        1 => choice.prop_map(Happening::Drop),
    ];
    prop::collection::vec(one, 1..150)
}

/// A kernel and its twin, side by side.
struct Pair {
    kernel: Box<dyn Driven>,
    twin: Box<dyn KernelTwin>,
    frames: u32,
}

impl Pair {
    fn happen(&mut self, happening: Happening, at: &str) {
        let resident: Vec<u32> = self.twin.resident().into_iter().map(|page| page as u32).collect();
        let chosen = |choice| pick(&resident, choice).into_iter();
        match happening {
            Happening::Unmap(choice) => chosen(choice).for_each(|page| {
                self.kernel.unmap(page);
                self.twin.unmap(page.into());
            }),
            Happening::WriteBack(choice) => chosen(choice).for_each(|page| {
                self.kernel.write_back(page);
                self.twin.written_back(page.into());
            }),
            Happening::Drop(choice) => chosen(choice).for_each(|page| {
                let dropped = self.kernel.drop_page(page);
                assert_eq!(dropped, self.twin.drop_page(page.into()), "dirty: {at}");
            }),
            Happening::Refer { page, op, by_call, fetched, ahead } => {
                let is_file = page >= ANONYMOUS;
                let end = if is_file { PAGES } else { ANONYMOUS };
                let ahead = ahead_of(page, ahead, self.frames, end, &resident);
                let reference = Reference {
                    page,
                    op,
                    cause: if by_call { Cause::Call } else { Cause::Memory },
                    kind: if is_file { PageKind::File } else { PageKind::Anonymous },
                    fetched,
                };
                self.refer(reference, &ahead, at);
            }
        }
    }

    fn refer(&mut self, reference: Reference, ahead: &[u32], at: &str) {
        let access = Access {
            by_call: reference.cause == Cause::Call,
            is_file: reference.kind == PageKind::File,
            fetched: reference.fetched,
        };
        let ahead_of_twin: Vec<u64> = ahead.iter().map(|&page| page.into()).collect();
        let actions = self.kernel.refer(reference, ahead);
        let (page, op) = (reference.page.into(), twin_op(reference.op));
        let event = self.twin.refer(page, op, access, &ahead_of_twin);
        assert_eq!(actions.contains(&Action::Hit), event.hit, "hit: {at}");
        let evicted = |action: &Action| match *action {
            Action::Evict(page, dirty) => Some((page.into(), dirty)),
            _ => None,
        };
        let written = |action: &Action| match *action {
            Action::Write(page) => Some(page.into()),
            _ => None,
        };
        let all_evicted: Vec<(u64, bool)> = actions.iter().filter_map(evicted).collect();
        assert_eq!(all_evicted, event.evicted, "evictions: {at}");
        let all_written: Vec<u64> = actions.iter().filter_map(written).collect();
        assert_eq!(all_written, event.written_back, "written pages: {at}");
    }

    fn compare_states(&self, at: &str) {
        let state = Value::Object(self.kernel.state());
        let expected = self.twin.state().to_string();
        let expected = serde_json::from_str(&expected).expect("a state is JSON");
        assert!(same_state(&state, &expected), "state: {state}, not {expected}: {at}");
    }
}

const VARIANTS: &[&str] = &[
    "linux24",
    "linux24:batch=1",
    "linux24:batch=5",
    "linux24-cflru",
    "linux24-cflru:share=2/3,batch=2",
    "linux24-cflru:dynamic=true,period=4,batch=2",
    "linux24-cflru:dynamic=true,period=3,threshold=1/2,cost_read=0.5,cost_write=10/3",
    "linux-lru",
    "linux-lru:batch=3",
    "linux-mglru",
    "linux-mglru:batch=3",
];

fn assert_follows_its_twin(variant: &str, frames: u32, bits: Bits, happenings: &[Happening]) {
    let (name, mut parameters) = split(variant);
    if bits == Bits::Sensed {
        parameters.push(("bits", "sensed"));
    }
    let kernel = driver::build(variant, frames, PAGES, bits, &[]);
    let twin = build_kernel(name, frames as usize, &parameters);
    let mut pair = Pair { kernel, twin, frames };
    for (position, &happening) in happenings.iter().enumerate() {
        let at = format!("{variant}, {frames} frames, {bits:?}, {position} of {happenings:?}");
        pair.happen(happening, &at);
        pair.compare_states(&at);
    }
}

proptest! {
    #![proptest_config(cases(32))]

    /// Wherever bits come from: the faulting access is seen in either case.
    #[test]
    fn calls_releases_and_drops_are_taken_as_by_the_twins(
        happenings in happenings(),
        frames in 1..12u32,
    ) {
        for variant in VARIANTS {
            assert_follows_its_twin(variant, frames, Bits::Exact, &happenings);
            assert_follows_its_twin(variant, frames, Bits::Mapped, &happenings);
            assert_follows_its_twin(variant, frames, Bits::Sensed, &happenings);
        }
    }
}
