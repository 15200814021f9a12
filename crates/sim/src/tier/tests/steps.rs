//! A replay that notes every action and state by the pages' own numbers.

use clockhand_policy::PageId;
use clockhand_policy::tier::{Movements, Served, Tier, TierInspector, TierPolicy, Tiers};
use clockhand_trace::{Folding, Numbering, Op, PageView, PageViewBuilder, Request};
use serde_json::{Value, json};

use crate::tier::counts::Counter;
use crate::tier::replay::Watching;

pub(super) const PAGE_BYTES: u64 = 4096;

/// `R5` or `W5`.
pub(super) fn reference(text: &str) -> (u64, Op) {
    let (op, page) = text.split_at(1);
    (page.parse().expect("a page"), if op == "W" { Op::Write } else { Op::Read })
}

pub(super) fn view_of(trace: &[(u64, Op)]) -> PageView {
    let builder = PageViewBuilder::new(PAGE_BYTES, Folding::None).expect("a power of two");
    let mut builder = builder.numbered(Numbering::ByFirstTouch);
    for &(page, op) in trace {
        builder.push(&Request::new(op, page * PAGE_BYTES, 1));
    }
    builder.finish().expect("there is a reference")
}

/// The pages' own numbers, by which a sketch knows them: there is one stream.
pub(super) fn keys_of(view: &PageView) -> Vec<u64> {
    let place = |page: u32| view.places_by_address().map_or(page, |places| places[page as usize]);
    let key = |page: u32| view.page_keys()[place(page) as usize].1;
    (0..view.footprint_pages()).map(key).collect()
}

/// One step: where it was served, its actions, the state after it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Step {
    pub(super) served: &'static str,
    pub(super) actions: Vec<Value>,
    pub(super) state: Value,
}

/// Counts, and notes every step.
pub(super) struct Noted {
    pub(super) counter: Counter,
    pub(super) steps: Vec<Step>,
    actions: Vec<Value>,
    /// The number in the trace of each page.
    numbers: Vec<u64>,
}

impl Noted {
    pub(super) fn new(view: &PageView, ping_pong: u64) -> Self {
        Noted {
            counter: Counter::new(view.footprint_pages(), ping_pong),
            steps: Vec::new(),
            actions: Vec::new(),
            numbers: keys_of(view),
        }
    }

    fn number(&self, page: PageId) -> u64 {
        self.numbers[page.index()]
    }
}

fn name(tier: Tier) -> &'static str {
    match tier {
        Tier::Fast => "fast",
        Tier::Slow => "slow",
    }
}

impl Movements for Noted {
    fn placed(&mut self, page: PageId, tier: Tier, is_back: bool) {
        let what = if is_back { "fault" } else { "place" };
        self.actions.push(json!([what, self.number(page), name(tier)]));
        self.counter.placed(page, tier, is_back);
    }

    fn promoted(&mut self, page: PageId, now: u64) {
        self.actions.push(json!(["promote", self.number(page)]));
        self.counter.promoted(page, now);
    }

    fn refused(&mut self, page: PageId) {
        self.actions.push(json!(["refuse", self.number(page)]));
        self.counter.refused(page);
    }

    fn demoted(&mut self, page: PageId, is_free: bool, now: u64) {
        self.actions.push(json!(["demote", self.number(page), is_free]));
        self.counter.demoted(page, is_free, now);
    }

    fn evicted(&mut self, page: PageId, is_written: bool) {
        self.actions.push(json!(["evict", self.number(page), is_written]));
        self.counter.evicted(page, is_written);
    }

    fn unshadowed(&mut self, page: PageId) {
        self.actions.push(json!(["unshadow", self.number(page)]));
    }

    fn hint_fault(&mut self, page: PageId) {
        self.actions.push(json!(["hint", self.number(page)]));
        self.counter.hint_fault(page);
    }

    fn sampled(&mut self) {
        self.counter.sampled();
    }

    fn scanned(&mut self, pages: u64) {
        self.counter.scanned(pages);
    }
}

impl Watching for Noted {
    type Counts = ();

    fn counts(_: &mut Tiers<Self>) {}

    fn served<P: TierPolicy>(tiers: &mut Tiers<Self>, served: Served, policy: &P) {
        tiers.check_invariants();
        let mut shown = Shown::default();
        policy.inspect(&mut shown);
        tiers.inspect(&mut shown);
        let noted = tiers.movements();
        noted.counter.served(served);
        let state = shown.0.into_iter().map(|(part, value)| (part, renumbered(value, noted)));
        let state = Value::Object(state.collect());
        let actions = std::mem::take(&mut noted.actions);
        noted.steps.push(Step { served: name(served.by), actions, state });
    }
}

/// A list as JSON: pages by their numbers in the trace.
fn renumbered(value: Value, noted: &Noted) -> Value {
    let page = |value: &Value| json!(noted.numbers[value.as_u64().expect("a page") as usize]);
    match value {
        Value::Array(entries) => entries
            .into_iter()
            .map(|entry| match entry {
                Value::Array(mut row) => {
                    row[0] = page(&row[0]);
                    if row.len() == 1 { row.remove(0) } else { Value::Array(row) }
                }
                other => other,
            })
            .collect(),
        other => other,
    }
}

#[derive(Default)]
struct Shown(Vec<(String, Value)>);

impl TierInspector for Shown {
    fn list(
        &mut self,
        name: &'static str,
        rows: &mut dyn Iterator<Item = [u64; 4]>,
        columns: usize,
    ) {
        let rows = rows.map(|row| json!(row[..columns])).collect::<Vec<_>>();
        self.0.push((name.to_owned(), Value::Array(rows)));
    }

    fn value(&mut self, name: &'static str, value: u64) {
        self.0.push((name.to_owned(), json!(value)));
    }
}
