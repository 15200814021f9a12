//! Replays a text of events and keeps, of each event, what happened and the state after it.

use clockhand_policy::catalog::PolicySpec;
use clockhand_policy::memory::fast::FastMemory;
use clockhand_policy::page::{Inspector, PagePolicy};
use clockhand_policy::{Frame, Frames, Memory, PageId, Ratio};
use clockhand_trace::{EventView, EventViewBuilder, OpenOptions, Reader, TraceReader};
use serde_json::{Map, Value, json};

use crate::intervals::Cuts;
use crate::pagecache::future::Future;
use crate::pagecache::replay::{EventCell, Fill, Happened, Watch};
use crate::pagecache::swap_slots::SwapSlots;
use crate::pagecache::{PageCacheCounts, PageCacheOptions};
use clockhand_trace::progress::Progress;

/// What happened in an event, in the words of the golden vectors, and the state after it.
#[derive(Clone, Debug, Default)]
pub struct Served {
    pub actions: Vec<Value>,
    pub state: Map<String, Value>,
    pub gauges: Map<String, Value>,
}

/// A trace of events, and how its pages are called.
pub struct Trace {
    pub view: EventView,
    labels: Vec<String>,
}

impl Trace {
    /// Reads a text of events.
    pub fn of(text: &str, ahead_pages: u64) -> Trace {
        let bytes = text.as_bytes().to_vec();
        let options = OpenOptions { format: Some("events".to_owned()), ..OpenOptions::default() };
        let mut reader = TraceReader::from_bytes("events", bytes, &options).unwrap();
        let mut builder = EventViewBuilder::new(4096, ahead_pages).unwrap();
        let mut batch = Vec::new();
        while reader.next_events(&mut batch).unwrap() {
            builder.extend(&batch);
        }
        let report = reader.report();
        let view = builder.finish(&report.object_kinds).unwrap();
        let label = |&(object, page): &(u32, u64)| {
            format!("{}:{page}", report.stream_names[object as usize])
        };
        let labels = view.page_keys().iter().map(label).collect();
        Trace { view, labels }
    }

    /// Replays under a policy and keeps everything.
    pub fn replay(
        &self,
        policy: &str,
        frames: u32,
        options: PageCacheOptions,
    ) -> (Vec<Served>, PageCacheCounts) {
        let resolved = PolicySpec::parse(policy).unwrap().resolve(frames, Ratio::whole(8)).unwrap();
        let future = Future::of(&self.view, true);
        let progress = Progress::default();
        let (view, future) = (&self.view, Some(&future));
        let cuts = Cuts::NONE;
        let cell = EventCell { view, future, frames, options, cuts, progress: &progress };
        let recorder = Recorder { trace: self, served: vec![Served::default()] };
        let (counts, mut recorder) = cell.watched(&resolved, recorder).unwrap();
        recorder.served.pop();
        (recorder.served, counts.into_whole())
    }
}

struct Recorder<'a> {
    trace: &'a Trace,
    served: Vec<Served>,
}

impl Recorder<'_> {
    fn label(&self, page: u32) -> &str {
        &self.trace.labels[page as usize]
    }
}

impl Watch for Recorder<'_> {
    fn happened(&mut self, what: Happened) {
        let action = match what {
            Happened::Hit(page) => json!(["hit", self.label(page)]),
            Happened::Filled(page, Fill::Read) => json!(["read", self.label(page)]),
            Happened::Filled(page, Fill::Zero) => json!(["zero", self.label(page)]),
            Happened::Filled(page, Fill::Blind) => json!(["blind", self.label(page)]),
            Happened::Ahead(page) => json!(["ahead", self.label(page)]),
            Happened::Evicted(page, is_dirty) => json!(["evict", self.label(page), is_dirty]),
            Happened::Dropped(page, is_dirty) => json!(["drop", self.label(page), is_dirty]),
            Happened::Written(page) => json!(["write", self.label(page)]),
        };
        self.served.last_mut().unwrap().actions.push(action);
    }

    fn served<P: PagePolicy>(&mut self, memory: &Memory<P>, slots: Option<&SwapSlots>) {
        memory.check_invariants();
        let mut state = Map::new();
        memory.policy().inspect(&mut Shown { recorder: self, memory, state: &mut state });
        let mut gauges = Map::new();
        memory.policy().gauges(&mut |name, value| {
            gauges.insert(name.to_owned(), json!(value));
        });
        let frames = memory.frames();
        let mut dirty: Vec<u32> = memory
            .resident_frames()
            .filter(|&frame| frames.is_dirty(frame))
            .map(|frame| frames.page(frame).0)
            .collect();
        dirty.sort_unstable();
        let labels: Vec<&str> = dirty.iter().map(|&page| self.label(page)).collect();
        state.insert("dirty".to_owned(), json!(labels));
        if let Some(slots) = slots {
            let used: Vec<_> =
                slots.used().iter().map(|&(slot, page)| json!([slot, self.label(page)])).collect();
            state.insert("swap".to_owned(), json!(used));
        }
        let served = self.served.last_mut().unwrap();
        (served.state, served.gauges) = (state, gauges);
        self.served.push(Served::default());
    }
}

struct Shown<'a, 'b, P> {
    recorder: &'a Recorder<'b>,
    memory: &'a Memory<P>,
    state: &'a mut Map<String, Value>,
}

/// The lists of kernels in which each page stands once.
fn is_list_of_kernel(name: &str) -> bool {
    ["active", "inactive", "generation_"].iter().any(|start| name.starts_with(start))
}

impl<P: PagePolicy> Inspector for Shown<'_, '_, P> {
    fn list(&mut self, name: &'static str, frames: &mut dyn Iterator<Item = Frame>) {
        let table = self.memory.frames();
        let entries = frames.map(|frame| {
            let label = self.recorder.label(table.page(frame).0);
            match name {
                _ if is_list_of_kernel(name) => {
                    let is_dirty = u8::from(table.is_dirty(frame));
                    json!([label, u8::from(table.is_referenced(frame)), is_dirty])
                }
                "T1" | "T2" | "from_hand" => json!([label, u8::from(table.is_referenced(frame))]),
                _ => json!(label),
            }
        });
        let entries: Vec<Value> = entries.collect();
        self.state.insert(name.to_owned(), Value::Array(entries));
    }

    fn ghosts(&mut self, name: &'static str, pages: &mut dyn Iterator<Item = PageId>) {
        let entries: Vec<Value> = pages.map(|page| json!(self.recorder.label(page.0))).collect();
        self.state.insert(name.to_owned(), Value::Array(entries));
    }

    fn value(&mut self, name: &'static str, value: f64) {
        self.state.insert(name.to_owned(), json!(value));
    }
}
