//! What a replay notes of each reference.

use clockhand_policy::memory::fast::FastMemory;
use clockhand_policy::page::{Inspector, PagePolicy};
use clockhand_policy::{Frame, FrameTable, Frames, Memory, PageId};
use serde::Serialize;

/// The effect of one reference, and the memory after it. Pages are those of the view.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WatchedStep {
    /// True if the page was in memory.
    pub hit: bool,
    /// Frames that the policy examined to find a victim.
    pub examined: u64,
    /// Pages that were written and stayed.
    pub written_back: Vec<u32>,
    /// Pages that left, in order, and whether each was dirty, and so written.
    pub left: Vec<(u32, bool)>,
    /// Of each page in memory, in the order of the frames: frame, page, and its state: 1 for the read bit, 2 for the
    /// write bit, 4 if it is dirty, added up.
    pub frames: Vec<(u32, u32, u8)>,
    /// The policy's lists, as it shows them.
    pub lists: Vec<Listed>,
    /// The policy's values by name.
    pub values: Vec<(&'static str, f64)>,
}

/// The presentation of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ListedKind {
    /// Pages in memory, from the one that is looked at first.
    List,
    /// The same, in a circle; a hand points at the first.
    Ring,
    /// Ghosts, from the oldest.
    Ghosts,
}

/// One list of a policy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Listed {
    /// The policy's name for it.
    pub name: &'static str,
    /// How it is to be looked at.
    pub kind: ListedKind,
    /// Its pages.
    pub pages: Vec<u32>,
    /// Numbers that the policy keeps of each of these pages, by name.
    pub numbers: Vec<(&'static str, Vec<f64>)>,
}

/// All steps until now.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recording {
    steps: Vec<WatchedStep>,
    /// The step that is under way.
    current: WatchedStep,
    hand_movements: u64,
}

impl Recording {
    pub(crate) fn into_steps(self) -> Vec<WatchedStep> {
        self.steps
    }

    pub(crate) fn written_back(&mut self, page: PageId) {
        self.current.written_back.push(page.0);
    }

    pub(crate) fn leaves(&mut self, page: PageId, dirty: bool) {
        self.current.left.push((page.0, dirty));
    }

    /// The reference is done; `hand_movements` counts from the beginning.
    pub(crate) fn referenced<P: PagePolicy>(
        &mut self,
        memory: &Memory<P>,
        hit: bool,
        hand_movements: u64,
    ) {
        let table = memory.frames();
        let state = |frame: Frame| {
            u8::from(table.read_bit(frame))
                | u8::from(table.write_bit(frame)) << 1
                | u8::from(table.is_dirty(frame)) << 2
        };
        let of_frame = |frame: Frame| (frame.0, table.page(frame).0, state(frame));
        let mut shown = Shown { table, lists: Vec::new(), values: Vec::new() };
        memory.policy().inspect(&mut shown);
        let Shown { lists, values, .. } = shown;
        self.steps.push(WatchedStep {
            hit,
            examined: hand_movements - self.hand_movements,
            frames: memory.resident_frames().map(of_frame).collect(),
            lists,
            values,
            ..std::mem::take(&mut self.current)
        });
        self.hand_movements = hand_movements;
    }
}

struct Shown<'a> {
    table: &'a FrameTable,
    lists: Vec<Listed>,
    values: Vec<(&'static str, f64)>,
}

impl Shown<'_> {
    fn show(&mut self, name: &'static str, kind: ListedKind, pages: Vec<u32>) {
        self.lists.push(Listed { name, kind, pages, numbers: Vec::new() });
    }

    fn pages_of(&self, frames: &mut dyn Iterator<Item = Frame>) -> Vec<u32> {
        frames.map(|frame| self.table.page(frame).0).collect()
    }
}

impl Inspector for Shown<'_> {
    fn list(&mut self, name: &'static str, frames: &mut dyn Iterator<Item = Frame>) {
        let pages = self.pages_of(frames);
        self.show(name, ListedKind::List, pages);
    }

    fn ring(&mut self, name: &'static str, frames: &mut dyn Iterator<Item = Frame>) {
        let pages = self.pages_of(frames);
        self.show(name, ListedKind::Ring, pages);
    }

    fn ghosts(&mut self, name: &'static str, pages: &mut dyn Iterator<Item = PageId>) {
        let pages = pages.map(|page| page.0).collect();
        self.show(name, ListedKind::Ghosts, pages);
    }

    fn value(&mut self, name: &'static str, value: f64) {
        self.values.push((name, value));
    }

    fn values(&mut self, name: &'static str, values: &mut dyn Iterator<Item = f64>) {
        let values = values.collect();
        if let Some(list) = self.lists.last_mut() {
            list.numbers.push((name, values));
        }
    }
}
