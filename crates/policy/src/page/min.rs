//! # MIN: Belady's optimum
//!
//! **What it keeps.** All pages in a heap, ordered by their next reference of either type.
//!
//! **Victim.** The page whose next reference is farthest. Ties exist only among pages that are never
//! referenced again: clean before dirty, then the smallest page number.
//!
//! **On a write.** As on a read: MIN minimises misses, not I/O time.
//!
//! **Parameters.** None.
//!
//! **Cost per hit and per victim.** Logarithmic in the number of frames.
//!
//! **Deviations from the paper.** None.
//!
//! **Reference.** L. A. Belady: A study of replacement algorithms for a virtual-storage computer. IBM
//! Systems Journal 5(2), 1966.

use alloc::vec;
use alloc::vec::Vec;

use super::{AccessDriven, Capabilities, Fault, Inspector, Offline, PagePolicy};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::Settings;
use crate::{Frame, Frames, Op};

/// Above every position of a next reference.
const NEVER: u64 = 1 << 63;
/// Among pages that are never referenced again, clean ones leave first.
const CLEAN: u64 = 1 << 62;
const NOT_IN_HEAP: u32 = u32::MAX;

/// A binary heap of frames, the farthest next reference on top.
#[derive(Clone, Debug)]
pub struct Min {
    heap: Vec<Frame>,
    position: Vec<u32>,
    key: Vec<u64>,
    next_reference: Option<u32>,
}

impl Cataloged for Min {
    const DESCRIPTION: Description = Description {
        name: "min",
        summary: "the optimum in misses: the page needed again last leaves",
        paper: "Belady 1966",
        parameters: &[],
        source: include_str!("min.rs"),
    };

    fn build(_: &Settings, size: Size) -> Self {
        let frames = size.frames as usize;
        Min {
            heap: Vec::with_capacity(frames),
            position: vec![NOT_IN_HEAP; frames],
            key: vec![0; frames],
            next_reference: None,
        }
    }
}

impl Min {
    fn key_of<F: Frames>(&self, op: Op, frame: Frame, frames: &F) -> u64 {
        match self.next_reference {
            Some(next) => next.into(),
            None => {
                let clean = op == Op::Read && !frames.is_dirty(frame);
                NEVER | if clean { CLEAN } else { 0 } | u64::from(u32::MAX - frames.page(frame).0)
            }
        }
    }

    fn place(&mut self, position: usize, frame: Frame) {
        self.heap[position] = frame;
        self.position[frame.index()] = position as u32;
    }

    /// Moves the frame at `position` to where its key belongs.
    fn sift(&mut self, mut position: usize) {
        let frame = self.heap[position];
        let key = self.key[frame.index()];
        while position > 0 {
            let parent = (position - 1) / 2;
            if self.key[self.heap[parent].index()] >= key {
                break;
            }
            self.place(position, self.heap[parent]);
            position = parent;
        }
        loop {
            let left = 2 * position + 1;
            let key_at = |child: usize| self.heap.get(child).map(|frame| self.key[frame.index()]);
            let child = if key_at(left + 1) > key_at(left) { left + 1 } else { left };
            if key_at(child).is_none_or(|child_key| child_key <= key) {
                break;
            }
            self.place(position, self.heap[child]);
            position = child;
        }
        self.place(position, frame);
    }

    fn push(&mut self, frame: Frame) {
        self.heap.push(frame);
        self.sift(self.heap.len() - 1);
    }

    fn pop(&mut self) -> Frame {
        self.remove(0)
    }

    fn remove(&mut self, position: usize) -> Frame {
        let frame = self.heap.swap_remove(position);
        self.position[frame.index()] = NOT_IN_HEAP;
        if position < self.heap.len() {
            self.sift(position);
        }
        frame
    }
}

impl PagePolicy for Min {
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        let mut passed_over = Vec::new();
        let victim = loop {
            let frame = self.pop();
            if !frames.is_pinned(frame) {
                break frame;
            }
            passed_over.push(frame);
        };
        for frame in passed_over {
            self.push(frame);
        }
        victim
    }

    fn loaded<F: Frames>(&mut self, fault: Fault, frame: Frame, frames: &mut F) {
        self.key[frame.index()] = self.key_of(fault.op, frame, frames);
        self.push(frame);
    }

    fn dropped<F: Frames>(&mut self, frame: Frame, _: &F) {
        self.remove(self.position[frame.index()] as usize);
    }

    fn written_back<F: Frames>(&mut self, frame: Frame, _: &F) {
        let position = self.position[frame.index()];
        if position != NOT_IN_HEAP && self.key[frame.index()] & NEVER != 0 {
            self.key[frame.index()] |= CLEAN;
            self.sift(position as usize);
        }
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        inspector.list("resident", &mut self.heap.iter().copied());
    }

    fn check_invariants<F: Frames>(&self, _: &F) {
        for (position, frame) in self.heap.iter().enumerate() {
            assert_eq!(self.position[frame.index()] as usize, position, "a frame's heap position");
            let parent = self.heap[position.saturating_sub(1) / 2];
            assert!(self.key[parent.index()] >= self.key[frame.index()], "the heap's order");
        }
    }
}

impl Capabilities for Min {
    const PAGE_NUMBERS_MATTER: bool = true;
    const CAN_PEEK: bool = true;

    fn peek_victim<F: Frames>(&self, frames: &F) -> Option<Frame> {
        let unpinned = |&&frame: &&Frame| !frames.is_pinned(frame);
        if let Some(top) = self.heap.first().filter(unpinned) {
            return Some(*top);
        }
        self.heap.iter().filter(unpinned).copied().max_by_key(|frame| self.key[frame.index()])
    }

    fn made_dirty<F: Frames>(&mut self, frame: Frame, _: &F) {
        if self.key[frame.index()] & NEVER != 0 {
            self.key[frame.index()] &= !CLEAN;
            self.sift(self.position[frame.index()] as usize);
        }
    }
}

impl AccessDriven for Min {
    fn hit<F: Frames>(&mut self, op: Op, frame: Frame, frames: &F) {
        self.key[frame.index()] = self.key_of(op, frame, frames);
        self.sift(self.position[frame.index()] as usize);
    }
}

impl Offline for Min {
    #[inline]
    fn foresee(&mut self, next_reference: Option<u32>) {
        self.next_reference = next_reference;
    }
}
