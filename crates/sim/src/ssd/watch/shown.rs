//! What a write buffer holds, as it shows it after a request.

use clockhand_policy::LogicalPage;
use clockhand_policy::buffer::{BlockState, BufferInspector, Medium, PageState, PagesPerBlock};

use super::{BufferList, BufferedBlock};
use crate::replay::ListedKind;

pub(super) fn memory_name(medium: Medium) -> &'static str {
    match medium {
        Medium::Dram => "dram",
        Medium::Nvm => "nvm",
    }
}

pub(super) struct Shown {
    pages_per_block: PagesPerBlock,
    memory: Medium,
    pub(super) lists: Vec<BufferList>,
    pub(super) values: Vec<(&'static str, f64)>,
}

impl Shown {
    pub(super) fn new(pages_per_block: PagesPerBlock) -> Self {
        let (lists, values) = (Vec::new(), Vec::new());
        Shown { pages_per_block, memory: Medium::Dram, lists, values }
    }

    fn list(
        &mut self,
        name: &'static str,
        kind: ListedKind,
        pages: Vec<(u64, u8)>,
        blocks: Option<Vec<BufferedBlock>>,
    ) {
        let memory = memory_name(self.memory);
        self.lists.push(BufferList { name, kind, memory, pages, blocks, numbers: Vec::new() });
    }

    fn block(&self, state: BlockState) -> BufferedBlock {
        let BlockState { block, present, dirty, referenced } = state;
        let pages = self.pages_per_block.pages(block, present).map(|page| {
            let offset = page.0 % u64::from(self.pages_per_block.get());
            (page.0, state_of(false, dirty >> offset & 1 != 0))
        });
        (block, referenced, pages.collect())
    }
}

fn state_of(referenced: bool, dirty: bool) -> u8 {
    u8::from(referenced) | u8::from(dirty) << 2
}

fn page_states(pages: &mut dyn Iterator<Item = PageState>) -> Vec<(u64, u8)> {
    pages.map(|state| (state.page.0, state_of(state.referenced, state.dirty))).collect()
}

impl BufferInspector for Shown {
    fn memory(&mut self, medium: Medium) {
        self.memory = medium;
    }

    fn pages(&mut self, name: &'static str, pages: &mut dyn Iterator<Item = PageState>) {
        self.list(name, ListedKind::List, page_states(pages), None);
    }

    fn ring_of_pages(&mut self, name: &'static str, pages: &mut dyn Iterator<Item = PageState>) {
        self.list(name, ListedKind::Ring, page_states(pages), None);
    }

    fn ghosts(&mut self, name: &'static str, pages: &mut dyn Iterator<Item = LogicalPage>) {
        let pages = pages.map(|page| (page.0, 0)).collect();
        self.list(name, ListedKind::Ghosts, pages, None);
    }

    fn blocks(&mut self, name: &'static str, blocks: &mut dyn Iterator<Item = BlockState>) {
        let blocks = blocks.map(|state| self.block(state)).collect();
        self.list(name, ListedKind::List, Vec::new(), Some(blocks));
    }

    fn ring_of_blocks(&mut self, name: &'static str, blocks: &mut dyn Iterator<Item = BlockState>) {
        let blocks = blocks.map(|state| self.block(state)).collect();
        self.list(name, ListedKind::Ring, Vec::new(), Some(blocks));
    }

    fn value(&mut self, name: &'static str, value: f64) {
        self.values.push((name, value));
    }

    fn values(&mut self, name: &'static str, values: &mut dyn Iterator<Item = f64>) {
        if let Some(list) = self.lists.last_mut() {
            list.numbers.push((name, values.collect()));
        }
    }
}
