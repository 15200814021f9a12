//! The state of a policy, as the golden files have it.

use clockhand_policy::page::{Inspector, PagePolicy};
use clockhand_policy::{Frame, Frames, Memory, PageId};
use serde_json::{Map, Value, json};

/// Renders a policy's lists as the golden files do: each page with the bits that this policy uses, both if
/// it is not named here.
pub(super) struct Rendering<'a, P> {
    pub(super) name: &'static str,
    pub(super) memory: &'a Memory<P>,
    pub(super) state: Map<String, Value>,
}

impl<P: PagePolicy> Rendering<'_, P> {
    fn entry(&self, frame: Frame) -> Value {
        let frames = self.memory.frames();
        let page = frames.page(frame).0;
        let referenced = u8::from(frames.is_referenced(frame));
        let dirty = u8::from(frames.is_dirty(frame));
        match self.name {
            "fifo" | "lru" | "random" | "lfu" | "2q" | "arc" | "lirs" | "lirs-wsr"
            | "w-tinylfu" | "s3-fifo" | "min" => json!(page),
            "clock" | "car" | "clock-pro" | "sieve" => json!([page, referenced]),
            "nru" | "cfclock" | "weighted-clock" | "credit-clock" | "ace-clock" | "linux24"
            | "linux24-cflru" | "linux-lru" | "linux-mglru" => {
                json!([page, referenced, dirty])
            }
            "cflru" | "cflru-dynamic" | "lru-wsr" | "ccf-lru" | "cfdc" | "casa" | "ad-lru"
            | "for" | "ace" | "wa-landlord" => json!([page, dirty]),
            _ => json!([page, u8::from(frames.read_bit(frame)), u8::from(frames.write_bit(frame))]),
        }
    }
}

impl<P: PagePolicy> Inspector for Rendering<'_, P> {
    fn list(&mut self, name: &'static str, frames: &mut dyn Iterator<Item = Frame>) {
        if name == "cold" && ["lru-wsr", "ace"].contains(&self.name) {
            let cold: Vec<Value> =
                frames.map(|frame| json!(self.memory.frames().page(frame).0)).collect();
            for entry in self.state["lru_to_mru"].as_array_mut().expect("a list").iter_mut() {
                let is_cold = u8::from(cold.contains(&entry[0]));
                entry.as_array_mut().expect("an entry").push(json!(is_cold));
            }
            return;
        }
        let mut entries: Vec<Value> = frames.map(|frame| self.entry(frame)).collect();
        if self.name == "min" {
            entries.sort_by_key(Value::as_u64);
        }
        self.state.insert(name.to_owned(), Value::Array(entries));
    }

    fn ghosts(&mut self, name: &'static str, pages: &mut dyn Iterator<Item = PageId>) {
        self.state.insert(name.to_owned(), pages.map(|page| page.0).collect());
    }

    fn value(&mut self, name: &'static str, value: f64) {
        self.state.insert(name.to_owned(), json!(value));
    }

    fn values(&mut self, name: &'static str, values: &mut dyn Iterator<Item = f64>) {
        self.state.insert(name.to_owned(), values.collect());
    }
}
