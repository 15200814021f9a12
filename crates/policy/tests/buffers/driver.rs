//! Drives a write buffer request by request and shows its state as the golden vectors do.

use clockhand_policy::buffer::catalog::{BufferSpec, Visitor};
use clockhand_policy::buffer::{
    Action, BlockState, BufferInspector, BufferSize, Capacity, Medium, Occupancy, PageState,
    PagesPerBlock, Request, Served, StepPage, WriteBuffer,
};
use clockhand_policy::{LogicalPage, Ratio};
use serde_json::{Map, Value, json};

/// A step as it was committed.
pub type Done = (Action, Vec<StepPage>);

/// What a request did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    pub steps: Vec<Done>,
    pub served: Served,
}

impl Event {
    /// The batches that went to flash, in order.
    pub fn batches(&self) -> impl Iterator<Item = &Vec<StepPage>> {
        self.steps.iter().filter(|(action, _)| *action == Action::Flush).map(|(_, pages)| pages)
    }
}

/// A buffer of any type.
pub trait Driven {
    fn foresee(&mut self, writes: &[u64]);
    fn request(&mut self, request: Request) -> Event;
    fn next_step(&mut self, request: Request) -> Option<Done>;
    fn commit(&mut self);
    fn serve(&mut self, request: Request) -> Served;
    fn place_of(&self, page: u64) -> Option<Medium>;
    fn is_dirty(&self, page: u64) -> bool;
    fn occupancy(&self) -> Occupancy;
    fn capacity(&self) -> Capacity;
    fn state(&self) -> Value;
}

impl<B: WriteBuffer> Driven for B {
    fn foresee(&mut self, writes: &[u64]) {
        WriteBuffer::foresee(self, &mut writes.iter().map(|&page| LogicalPage(page)));
    }

    fn request(&mut self, request: Request) -> Event {
        let mut steps = Vec::new();
        while let Some(step) = Driven::next_step(self, request) {
            steps.push(step);
            Driven::commit(self);
        }
        Event { steps, served: Driven::serve(self, request) }
    }

    fn next_step(&mut self, request: Request) -> Option<Done> {
        WriteBuffer::next_step(self, request).map(|step| (step.action, step.pages.to_vec()))
    }

    fn commit(&mut self) {
        WriteBuffer::commit(self);
    }

    fn serve(&mut self, request: Request) -> Served {
        let served = WriteBuffer::serve(self, request);
        self.check_invariants();
        served
    }

    fn place_of(&self, page: u64) -> Option<Medium> {
        WriteBuffer::place_of(self, LogicalPage(page))
    }

    fn is_dirty(&self, page: u64) -> bool {
        WriteBuffer::is_dirty(self, LogicalPage(page))
    }

    fn occupancy(&self) -> Occupancy {
        WriteBuffer::occupancy(self)
    }

    fn capacity(&self) -> Capacity {
        WriteBuffer::capacity(self)
    }

    fn state(&self) -> Value {
        let mut shown = Shown(Map::new());
        self.inspect(&mut shown);
        Value::Object(shown.0)
    }
}

struct Boxed;

impl Visitor for Boxed {
    type Output = Box<dyn Driven>;

    fn visit<B: WriteBuffer + 'static>(self, buffer: B) -> Box<dyn Driven> {
        Box::new(buffer)
    }
}

/// A buffer of `pages` pages, for at most `distinct_pages` others.
pub fn build(text: &str, pages: u32, pages_per_block: u32, distinct_pages: u32) -> Box<dyn Driven> {
    let pages_per_block = PagesPerBlock::new(pages_per_block).expect("a power of two");
    let size = BufferSize { pages, pages_per_block, distinct_pages, drive_pages: 1 << 32 };
    let spec = BufferSpec::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let resolved = spec.resolve(size, Ratio::whole(8));
    resolved.unwrap_or_else(|error| panic!("{text}: {error}")).build(Boxed)
}

/// Lists by the names and in the forms of the golden vectors.
struct Shown(Map<String, Value>);

fn offsets(mask: u64) -> impl Iterator<Item = u64> {
    (0..64).filter(move |offset| mask >> offset & 1 == 1)
}

impl Shown {
    fn block(name: &str, state: BlockState, per_block: u64) -> Value {
        let page = |offset: u64| state.block * per_block + offset;
        let pages: Vec<u64> = offsets(state.present).map(page).collect();
        let dirty = |offset: u64| (page(offset), state.dirty >> offset & 1);
        let with_dirty: Vec<(u64, u64)> = offsets(state.present).map(dirty).collect();
        let referenced = u8::from(state.referenced);
        match name {
            "nvm_from_hand" => json!([state.block, pages, referenced]),
            "block_region" => json!([state.block, pages]),
            "blocks_from_hand" => json!([state.block, with_dirty, referenced]),
            _ => json!([state.block, with_dirty]),
        }
    }
}

impl BufferInspector for Shown {
    fn pages(&mut self, name: &'static str, pages: &mut dyn Iterator<Item = PageState>) {
        let show = |state: PageState| match name {
            "dram_from_hand" => {
                json!([state.page.0, u8::from(state.dirty), u8::from(state.referenced)])
            }
            _ => json!(state.page.0),
        };
        self.0.insert(name.to_owned(), pages.map(show).collect());
    }

    fn blocks(&mut self, name: &'static str, blocks: &mut dyn Iterator<Item = BlockState>) {
        let show = |state| Shown::block(name, state, super::requests::PAGES_PER_BLOCK);
        self.0.insert(name.to_owned(), blocks.map(show).collect());
    }

    fn value(&mut self, name: &'static str, value: f64) {
        self.0.insert(name.to_owned(), json!(value));
    }
}
