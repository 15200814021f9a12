//! The state of frames in an array.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use super::{Frames, HitBits, PageTable, Scans};
use crate::{Frame, Op, PageId};

const READ: u8 = 1;
const WRITE: u8 = READ << Op::Write as u8;
const DIRTY: u8 = 4;
const PINNED: u8 = 8;
/// The page is mapped: in `mapped` replay, reads of a mapped page stay unseen.
const MAPPED: u8 = 16;

impl HitBits {
    /// What a reference ORs into the state byte.
    #[inline]
    pub(crate) const fn mask(self, op: Op) -> u8 {
        match (self, op) {
            (_, Op::Read) => READ,
            (HitBits::Reference, Op::Write) => READ | DIRTY,
            (HitBits::Separate, Op::Write) => WRITE | DIRTY,
            (HitBits::ReferenceAndModified, Op::Write) => READ | WRITE | DIRTY,
        }
    }
}

/// The state of all frames, one byte each, and the page that each holds.
#[derive(Clone, Debug)]
pub struct FrameTable {
    states: Vec<u8>,
    pages: Vec<PageId>,
    write_back_requests: VecDeque<Frame>,
}

impl FrameTable {
    /// The states of `frames` frames that hold no page.
    pub fn new(frames: u32) -> Self {
        FrameTable {
            states: vec![0; frames as usize],
            pages: vec![PageId(u32::MAX); frames as usize],
            write_back_requests: VecDeque::new(),
        }
    }

    #[inline]
    pub(crate) fn set(&mut self, frame: Frame, mask: u8) {
        self.states[frame.index()] |= mask;
    }

    /// Returns whether the page in `frame` is mapped, so that reads of it stay unseen.
    #[inline]
    pub fn is_mapped(&self, frame: Frame) -> bool {
        self.has(frame, MAPPED)
    }

    #[inline]
    fn has(&self, frame: Frame, mask: u8) -> bool {
        self.states[frame.index()] & mask != 0
    }
}

/// A state in each of eight bytes.
const fn each(state: u8) -> u64 {
    u64::from_le_bytes([state; 8])
}

/// Which of eight states are neither referenced nor dirty: [`PINNED`] of those is set, and nothing else.
#[inline(always)]
fn clean_unreferenced(states: u64) -> u64 {
    const BITS: u64 = each(READ | WRITE | DIRTY);
    // A sum carries into the bit above the three if one of them is set.
    !((states & BITS) + BITS) & each(PINNED)
}

impl PageTable for FrameTable {
    #[inline]
    fn frames(&self) -> u32 {
        self.states.len() as u32
    }

    #[inline]
    fn install(&mut self, frame: Frame, page: PageId) {
        self.states[frame.index()] = 0;
        self.pages[frame.index()] = page;
    }

    #[inline(always)]
    fn exchange(&mut self, frame: Frame, page: PageId) -> (PageId, bool) {
        let (states, pages) = (&mut self.states[..], &mut self.pages[..]);
        let (state, place) = (&mut states[frame.index()], &mut pages[frame.index()]);
        let was_dirty = *state & DIRTY != 0;
        *state = 0;
        (core::mem::replace(place, page), was_dirty)
    }

    #[inline]
    fn set_dirty(&mut self, frame: Frame) {
        self.states[frame.index()] |= DIRTY;
    }

    #[inline]
    fn set_dirty_if(&mut self, frame: Frame, becomes_dirty: bool) {
        self.states[frame.index()] |= DIRTY * u8::from(becomes_dirty);
    }

    #[inline]
    fn clear_dirty(&mut self, frame: Frame) {
        self.states[frame.index()] &= !DIRTY;
    }

    fn set_pinned(&mut self, frame: Frame, pinned: bool) {
        let state = &mut self.states[frame.index()];
        *state = if pinned { *state | PINNED } else { *state & !PINNED };
    }

    #[inline]
    fn touch_mapped(&mut self, frame: Frame, op: Op, bits: HitBits) -> bool {
        let state = &mut self.states[frame.index()];
        let before = *state;
        if op == Op::Write || before & MAPPED == 0 {
            *state |= bits.mask(op) | MAPPED;
        }
        *state != before
    }

    #[inline]
    fn take_write_back_request(&mut self) -> Option<Frame> {
        self.write_back_requests.pop_front()
    }

    #[inline]
    fn has_no_write_back_request(&self) -> bool {
        self.write_back_requests.is_empty()
    }
}

impl Frames for FrameTable {
    #[inline]
    fn page(&self, frame: Frame) -> PageId {
        self.pages[frame.index()]
    }

    #[inline]
    fn read_bit(&self, frame: Frame) -> bool {
        self.has(frame, READ)
    }

    #[inline]
    fn write_bit(&self, frame: Frame) -> bool {
        self.has(frame, WRITE)
    }

    #[inline]
    fn is_referenced(&self, frame: Frame) -> bool {
        self.has(frame, READ | WRITE)
    }

    #[inline]
    fn is_dirty(&self, frame: Frame) -> bool {
        self.has(frame, DIRTY)
    }

    #[inline]
    fn is_pinned(&self, frame: Frame) -> bool {
        self.has(frame, PINNED)
    }

    #[inline]
    fn clear_read_bit(&mut self, frame: Frame) {
        self.states[frame.index()] &= !(READ | MAPPED);
    }

    #[inline]
    fn clear_write_bit(&mut self, frame: Frame) {
        self.states[frame.index()] &= !(WRITE | MAPPED);
    }

    #[inline]
    fn clear_bits(&mut self, frame: Frame) {
        self.states[frame.index()] &= !(READ | WRITE | MAPPED);
    }

    #[inline]
    fn set_read_bit(&mut self, frame: Frame) {
        self.states[frame.index()] |= READ;
    }

    fn request_write_back(&mut self, frame: Frame) {
        self.write_back_requests.push_back(frame);
    }
}

impl Scans for FrameTable {
    // Which of the two bits is looked at cannot be guessed, so that these two do not branch.

    #[inline]
    fn bit(&self, op: Op, frame: Frame) -> bool {
        self.has(frame, READ << op as u8)
    }

    #[inline]
    fn clear_bit(&mut self, op: Op, frame: Frame) {
        self.states[frame.index()] &= !(READ << op as u8 | MAPPED);
    }

    // These look at many states: at eight as one word, or along a slice, without a check of bounds for each frame.

    #[inline]
    fn first_clean_unreferenced(&self, frames: Range<u32>) -> Option<Frame> {
        let states = &self.states[frames.start as usize..frames.end as usize];
        let (eights, rest) = states.as_chunks();
        for (first, eight) in (frames.start..).step_by(8).zip(eights) {
            let found = clean_unreferenced(u64::from_le_bytes(*eight));
            if found != 0 {
                return Some(Frame(first + found.trailing_zeros() / 8));
            }
        }
        let position = rest.iter().position(|state| state & (READ | WRITE | DIRTY) == 0)?;
        Some(Frame(frames.end - rest.len() as u32 + position as u32))
    }

    #[inline(always)]
    fn near_clean_clearing(&mut self, frames: Range<u32>) -> Option<Frame> {
        let states = &mut self.states[frames.start as usize..frames.end as usize];
        let eight = states.first_chunk_mut::<8>()?;
        let before = u64::from_le_bytes(*eight);
        let found = clean_unreferenced(before);
        let up_to_found = found ^ found.wrapping_sub(1);
        if found == 0 || before & up_to_found & each(PINNED) != 0 {
            return None;
        }
        let passed = up_to_found >> 4;
        *eight = (before & !(passed & each(READ | WRITE | MAPPED))).to_le_bytes();
        Some(Frame(frames.start + found.trailing_zeros() / 8))
    }

    #[inline(always)]
    fn first_unreferenced_clearing(&mut self, frames: Range<u32>) -> Option<Frame> {
        let states = &mut self.states[frames.start as usize..frames.end as usize];
        for (state, frame) in states.iter_mut().zip(frames.start..) {
            if *state & (READ | WRITE | PINNED) == 0 {
                return Some(Frame(frame));
            }
            if *state & PINNED == 0 {
                *state &= !(READ | WRITE | MAPPED);
            }
        }
        None
    }

    #[inline]
    fn clear_bits_of_unpinned(&mut self, frames: Range<u32>) {
        for state in &mut self.states[frames.start as usize..frames.end as usize] {
            let cleared = if *state & PINNED == 0 { READ | WRITE | MAPPED } else { 0 };
            *state &= !cleared;
        }
    }
}
