//! Pages that leave out of turn, several that leave at once, and pages that come unreferenced.

use std::collections::BTreeMap;

use clockhand_policy::Op;
use clockhand_policy::catalog::find;
use proptest::prelude::*;

use crate::driver::{self, Bits, Driven, Event};
use crate::traces::{Trace, cases, page_count, traces as random_traces};
use crate::variants;

const PAGES: u32 = 12;

/// What happens before a reference; the numbers choose pages.
#[derive(Clone, Copy, Debug)]
pub enum Before {
    Nothing,
    Drop(usize),
    DropSeveral(usize),
    MakeDirty(usize),
    WriteBack(usize),
    Evict,
    ReadAhead(u32),
}

pub fn before() -> impl Strategy<Value = Vec<Before>> {
    let choice = 0..64usize;
    let one = prop_oneof![
        6 => Just(Before::Nothing),
        3 => choice.clone().prop_map(Before::Drop),
        1 => choice.clone().prop_map(Before::DropSeveral),
        1 => choice.clone().prop_map(Before::MakeDirty),
        1 => choice.prop_map(Before::WriteBack),
        1 => Just(Before::Evict),
        2 => (1..5u32).prop_map(Before::ReadAhead),
    ];
    prop::collection::vec(one, 1..40)
}

/// The pages behind `page` that are not in memory, at most `most` and one fewer than frames.
pub fn ahead_of(page: u32, most: u32, frames: u32, pages: u32, resident: &[u32]) -> Vec<u32> {
    let behind = (page + 1..pages).take(most as usize);
    let absent = behind.filter(|page| !resident.contains(page));
    absent.take(frames as usize - 1).collect()
}

/// The page in memory that `choice` falls on.
pub fn pick(resident: &[u32], choice: usize) -> Option<u32> {
    (!resident.is_empty()).then(|| resident[choice % resident.len()])
}

/// A memory and, beside it, the pages that must be in it, each with its dirty state.
struct Checked<'a> {
    driven: Box<dyn Driven>,
    pages: BTreeMap<u32, bool>,
    frames: usize,
    reclaims_in_batches: bool,
    at: &'a str,
}

impl Checked<'_> {
    fn resident(&self) -> Vec<u32> {
        self.pages.keys().copied().collect()
    }

    fn dropped(&mut self, page: u32) {
        let dirty = self.pages.remove(&page).expect("the page is in memory");
        assert_eq!(self.driven.drop_page(page), dirty, "{}: the dirty state", self.at);
    }

    fn happen(&mut self, before: Before, incoming: u32) {
        match before {
            Before::Drop(choice) => {
                if let Some(page) = pick(&self.resident(), choice) {
                    self.dropped(page);
                }
            }
            Before::DropSeveral(choice) => {
                let keeps = |position: usize| (choice >> (position % 6)) & 1 == 0;
                for (position, page) in self.resident().into_iter().enumerate() {
                    if !keeps(position) {
                        self.dropped(page);
                    }
                }
            }
            Before::MakeDirty(choice) => {
                if let Some(page) = pick(&self.resident(), choice) {
                    self.driven.make_dirty(page);
                    self.pages.insert(page, true);
                }
            }
            Before::WriteBack(choice) => {
                if let Some(page) = pick(&self.resident(), choice) {
                    self.driven.write_back(page);
                    self.pages.insert(page, false);
                }
            }
            Before::Evict if !self.pages.is_empty() => {
                let peeked = self.driven.peek();
                let event = self.driven.evict(incoming);
                let evicted = event.evicted[0].0;
                assert_eq!(peeked.unwrap_or(evicted), evicted, "{}: as foretold", self.at);
                self.leave(&event, 1);
            }
            Before::Evict | Before::Nothing | Before::ReadAhead(_) => {}
        }
    }

    fn leave(&mut self, event: &Event, pages: usize) {
        let left = event.evicted.len();
        let may_leave = match self.reclaims_in_batches && pages > 0 {
            true => pages..=self.frames,
            false => pages..=pages,
        };
        assert!(may_leave.contains(&left), "{}: pages leave only for want of frames", self.at);
        for page in &event.written_back {
            let was_dirty = self.pages.insert(*page, false);
            assert_eq!(was_dirty, Some(true), "{}: what is written is in memory, dirty", self.at);
        }
        for &(page, dirty) in &event.evicted {
            assert_eq!(self.pages.remove(&page), Some(dirty), "{}: it was in memory", self.at);
        }
    }

    fn reference(&mut self, page: u32, op: Op, ahead: &[u32]) {
        let event = self.driven.with_ahead(page, op, ahead);
        assert_eq!(event.hit, self.pages.contains_key(&page), "{}: a hit", self.at);
        let came = if event.hit { 0 } else { 1 + ahead.len() };
        let left = (self.pages.len() + came).saturating_sub(self.frames);
        self.leave(&event, left);
        *self.pages.entry(page).or_default() |= op == Op::Write;
        if !event.hit {
            self.pages.extend(ahead.iter().map(|&page| (page, false)));
        }
        let held = self.driven.resident();
        assert!(held.iter().map(|held| held.page).eq(self.resident()), "{}: residents", self.at);
    }
}

fn assert_borne(variant: &str, bits: Bits, frames: u32, trace: &Trace, before: &[Before]) {
    let at = format!("{variant}, {bits:?}, {frames} frames");
    let pages = page_count(trace);
    let driven = driver::build(variant, frames, pages, bits, trace);
    let mut memory = Checked {
        driven,
        pages: BTreeMap::new(),
        frames: frames as usize,
        reclaims_in_batches: variants::reclaims_in_batches(variant),
        at: &at,
    };
    for (&(page, op), &before) in trace.iter().zip(before.iter().cycle()) {
        memory.happen(before, page);
        let ahead = match before {
            Before::ReadAhead(most) => ahead_of(page, most, frames, pages, &memory.resident()),
            _ => Vec::new(),
        };
        memory.reference(page, op, &ahead);
    }
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn pages_that_leave_out_of_turn_and_in_numbers_are_borne(
        trace in random_traces(PAGES, 100),
        before in before(),
        frames in 1..10u32,
    ) {
        for variant in variants::all() {
            for &bits in variants::sources_of_bits(&variant) {
                assert_borne(&variant, bits, frames, &trace, &before);
            }
        }
    }
}

#[test]
fn the_policies_that_can_tell_their_victim_do() {
    let trace: Trace = (0..4).map(|page| (page, Op::Read)).collect();
    for variant in variants::all() {
        let mut driven = driver::build(&variant, 4, 4, Bits::Exact, &trace);
        trace.iter().for_each(|&(page, op)| _ = driven.reference(page, op));
        let name = variants::policy_name(&variant);
        let can_peek = find(name).expect("a policy").can_peek;
        assert_eq!(driven.peek().is_some(), can_peek, "{variant}");
        let expected = matches!(name, "fifo" | "lru" | "cflru" | "min");
        assert_eq!(can_peek, expected, "{variant}");
    }
}
