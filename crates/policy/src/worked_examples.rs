//! Runs the worked examples of the policies' own tests: references as text, events and state as text.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::catalog::{PolicySpec, Size, Visitor};
use crate::memory::fast::FastMemory;
use crate::page::{AccessDriven, BitDriven, Fault, Inspector, Offline, PagePolicy};
use crate::{Frame, FrameTable, Frames, Memory, Op, PageId, Ratio};

/// What an example did.
pub(crate) struct After {
    /// The pages that left, in order; a dirty one with an asterisk.
    pub(crate) evicted: String,
    /// The pages that were written and stayed, in order.
    pub(crate) written_back: String,
    /// The policy's lists and values, as it shows them.
    pub(crate) state: String,
}

/// Replays references such as `R1 W2`.
pub(crate) fn run(policy: &str, frames: u32, references: &str) -> After {
    let references: Vec<(Op, PageId)> = references
        .split(' ')
        .map(|reference| {
            let (op, page) = reference.split_at(1);
            (if op == "W" { Op::Write } else { Op::Read }, PageId(page.parse().expect("a page")))
        })
        .collect();
    let pages = references.iter().map(|(_, page)| page.0 + 1).max().unwrap_or(0);
    let resolved = PolicySpec::parse(policy)
        .and_then(|spec| spec.resolve(frames, Ratio::whole(8)))
        .unwrap_or_else(|error| panic!("{policy}: {error}"));
    let size = Size { frames, pages };
    resolved.build(size, Example { size, references })
}

struct Example {
    size: Size,
    references: Vec<(Op, PageId)>,
}

impl Visitor for Example {
    type Output = After;

    fn bit_driven<P: BitDriven + 'static>(self, policy: P) -> After {
        let memory = Memory::new(self.size.frames, self.size.pages, policy);
        replay(memory, &self.references, |memory, op, frame| {
            memory.hit(op, frame);
        })
    }

    fn access_driven<P: AccessDriven + 'static>(self, policy: P) -> After {
        let memory = Memory::new(self.size.frames, self.size.pages, policy);
        replay(memory, &self.references, |memory, op, frame| memory.access(op, frame))
    }

    fn offline<P: Offline + 'static>(self, _: P) -> After {
        panic!("an offline policy needs the future, which this replay does not know");
    }
}

fn replay<P: PagePolicy>(
    mut memory: Memory<P>,
    references: &[(Op, PageId)],
    hit: impl Fn(&mut Memory<P>, Op, Frame),
) -> After {
    let (mut evicted, mut written_back) = (Vec::new(), Vec::new());
    for &(op, page) in references {
        let frame = memory.frame_of(page);
        if frame == Frame::NONE {
            while memory.is_full() {
                let victim = memory.propose_victim_for(page).expect("nothing is pinned");
                while let Some(frame) = memory.next_write_back() {
                    written_back.push(memory.frames().page(frame).0.to_string());
                    memory.written_back(frame);
                }
                let dirty = if memory.frames().is_dirty(victim) { "*" } else { "" };
                memory.written_back(victim);
                evicted.push(format!("{}{dirty}", memory.commit_eviction().0));
            }
            memory.load(Fault::new(page, op));
        } else {
            hit(&mut memory, op, frame);
        }
        memory.check_invariants();
    }
    let mut shown = Shown { frames: memory.frames(), parts: Vec::new() };
    memory.policy().inspect(&mut shown);
    After {
        evicted: evicted.join(" "),
        written_back: written_back.join(" "),
        state: shown.parts.join(" "),
    }
}

struct Shown<'a> {
    frames: &'a FrameTable,
    parts: Vec<String>,
}

impl Shown<'_> {
    fn show(&mut self, name: &str, pages: Box<dyn Iterator<Item = PageId> + '_>) {
        let pages: Vec<String> = pages.map(|page| page.0.to_string()).collect();
        self.parts.push(format!("{name}=[{}]", pages.join(" ")));
    }
}

impl Inspector for Shown<'_> {
    fn list(&mut self, name: &'static str, frames: &mut dyn Iterator<Item = Frame>) {
        let table = self.frames;
        self.show(name, Box::new(frames.map(|frame| table.page(frame))));
    }

    fn ghosts(&mut self, name: &'static str, pages: &mut dyn Iterator<Item = PageId>) {
        self.show(name, Box::new(pages));
    }

    fn value(&mut self, name: &'static str, value: f64) {
        self.parts.push(format!("{name}={value}"));
    }

    fn values(&mut self, name: &'static str, values: &mut dyn Iterator<Item = f64>) {
        let values: Vec<String> = values.map(|value| value.to_string()).collect();
        self.parts.push(format!("{name}=[{}]", values.join(" ")));
    }
}
