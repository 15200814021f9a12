//! # ACE: several dirty pages are written at once
//!
//! **What it keeps.** The lists of the policy that it wraps, which decides as it does alone.
//!
//! **Victim.** That of the wrapped policy. If it is dirty, the next `batch - 1` dirty pages are written with it, in the
//! order in which they would leave if nothing were referenced any more. They stay, and are clean.
//!
//! **On a write.** As the wrapped policy.
//!
//! **Parameters.**
//!
//! * `policy`: the wrapped one, with its defaults: `lru` (default), `cflru` or `lru-wsr`. `ace-clock` wraps clocks.
//!
//! * `batch`: the pages that are written at once (default 8). With 1 it is the wrapped policy.
//!
//! **Cost per hit and per victim.** Those of the wrapped policy, and the pages up to the last one of a batch. All of
//! them are clean then, so that the cost is constant on average.
//!
//! **Deviations from the paper.** Its text was not at hand; this is the variant of its authors' code that they call
//! final (BU-DiSC/ACE-codebase, `Simulation`), without prefetching. There LRU-WSR spends the second chance of pages that
//! the search passes over; here the wrapped policy changes nothing while it is asked, and pages with a second chance
//! come behind the others. The default of `batch` is ours: it should be what a drive writes in the time of one page. The
//! I/O time counts each page that is written. On such a drive there are as many waits for a write as dirty evictions.
//! Pinned pages are not written.
//!
//! **Reference.** T. I. Papon, M. Athanassoulis: ACEing the bufferpool management paradigm for modern storage devices.
//! ICDE 2023.

use alloc::vec::Vec;

use super::cflru::Cflru;
use super::lru::Lru;
use super::lru_wsr::LruWsr;
use super::{AccessDriven, Capabilities, Fault, Inspector, PagePolicy};
use crate::catalog::{self, Cataloged, Description, Size};
use crate::parameters::{Default, Domain, Parameter, Settings};
use crate::{Frame, Frames, Op, Ratio};

/// A policy that can tell in which order its pages leave.
pub(super) trait LeavingOrder {
    /// The dirty pages in the order in which they would leave if nothing were referenced any more; clean ones anywhere.
    fn in_leaving_order<F: Frames>(&self, frames: &F) -> impl Iterator<Item = Frame>;
}

/// Pages from a hand: those that it would take now, then those that it would pass once.
pub(super) fn unreferenced_first<F: Frames, I: Iterator<Item = Frame>>(
    from_hand: impl Fn() -> I,
    frames: &F,
) -> impl Iterator<Item = Frame> {
    let unreferenced = from_hand().filter(|&frame| !frames.is_referenced(frame));
    unreferenced.chain(from_hand().filter(|&frame| frames.is_referenced(frame)))
}

/// How many pages are written at once.
pub(super) const BATCH: Parameter = Parameter {
    name: "batch",
    summary: "pages written at once, at most all",
    domain: Domain::Count { min: 1, max: u32::MAX as u64 },
    default: Default::Value("8"),
    only_with: None,
};

/// The pages that are written with a dirty victim.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    /// How many there are, without the victim.
    others: usize,
    /// Those of the last victim.
    chosen: Vec<Frame>,
}

impl Batch {
    pub(super) fn new(settings: &Settings, frames: u32) -> Self {
        let pages = settings.count(BATCH.name).expect("the batch has a default");
        Batch { others: (pages - 1).min(frames.into()) as usize, chosen: Vec::new() }
    }

    /// `victim` leaves `policy`, and has left its lists.
    #[inline]
    pub(super) fn write_with<F: Frames>(
        &mut self,
        victim: Frame,
        policy: &impl LeavingOrder,
        frames: &mut F,
    ) {
        if self.others == 0 || !frames.is_dirty(victim) {
            return;
        }
        let can_be_written = |&frame: &Frame| frames.is_dirty(frame) && !frames.is_pinned(frame);
        let next = policy.in_leaving_order(frames).filter(can_be_written).take(self.others);
        self.chosen.clear();
        self.chosen.extend(next);
        for &frame in &self.chosen {
            frames.request_write_back(frame);
        }
    }
}

/// A list that decides, and what is written with its victims.
#[derive(Clone, Debug)]
pub struct Ace {
    wrapped: Wrapped,
    batch: Batch,
}

#[derive(Clone, Debug)]
enum Wrapped {
    Lru(Lru),
    Cflru(Cflru),
    LruWsr(LruWsr),
}

/// The same for each wrapped policy.
macro_rules! of_wrapped {
    ($wrapped:expr, $policy:ident => $answer:expr) => {
        match $wrapped {
            Wrapped::Lru($policy) => $answer,
            Wrapped::Cflru($policy) => $answer,
            Wrapped::LruWsr($policy) => $answer,
        }
    };
}

/// A policy with its defaults, none of which depends on the cost of a write.
pub(super) fn with_defaults<P: Cataloged>(size: Size) -> P {
    catalog::built("", size, Ratio::whole(1)).expect("defaults are in their ranges")
}

impl Cataloged for Ace {
    const DESCRIPTION: Description = Description {
        name: "ace",
        summary: "a policy of lists that writes several dirty pages at once",
        paper: "Papon, Athanassoulis 2023",
        parameters: &[
            Parameter {
                name: "policy",
                summary: "the policy that decides",
                domain: Domain::Choice(&["lru", "cflru", "lru-wsr"]),
                default: Default::Value("lru"),
                only_with: None,
            },
            BATCH,
        ],
        source: include_str!("ace.rs"),
    };

    fn build(settings: &Settings, size: Size) -> Self {
        let wrapped = match settings.choice("policy") {
            "cflru" => Wrapped::Cflru(with_defaults(size)),
            "lru-wsr" => Wrapped::LruWsr(with_defaults(size)),
            _ => Wrapped::Lru(with_defaults(size)),
        };
        Ace { wrapped, batch: Batch::new(settings, size.frames) }
    }
}

/// What a policy that wraps others does with a batch: the wrapped one decides, and more is written with its victim. Each
/// says with `of_wrapped!` which it wraps.
macro_rules! writes_with_victims {
    () => {
        fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
            of_wrapped!(&mut self.wrapped, policy => {
                let victim = policy.choose_victim(frames);
                self.batch.write_with(victim, policy, frames);
                victim
            })
        }

        fn loaded<F: Frames>(&mut self, fault: Fault, frame: Frame, frames: &mut F) {
            of_wrapped!(&mut self.wrapped, policy => policy.loaded(fault, frame, frames));
        }

        fn dropped<F: Frames>(&mut self, frame: Frame, frames: &F) {
            of_wrapped!(&mut self.wrapped, policy => policy.dropped(frame, frames));
        }

        fn inspect(&self, inspector: &mut dyn Inspector) {
            of_wrapped!(&self.wrapped, policy => policy.inspect(inspector));
        }

        fn check_invariants<F: Frames>(&self, frames: &F) {
            of_wrapped!(&self.wrapped, policy => policy.check_invariants(frames));
        }
    };
}

pub(super) use writes_with_victims;

impl PagePolicy for Ace {
    writes_with_victims!();

    fn written_back<F: Frames>(&mut self, frame: Frame, frames: &F) {
        of_wrapped!(&mut self.wrapped, policy => policy.written_back(frame, frames));
    }
}

impl Capabilities for Ace {
    const TAKES_MORE_PAGES: bool = true;
}

impl AccessDriven for Ace {
    #[inline]
    fn hit<F: Frames>(&mut self, op: Op, frame: Frame, frames: &F) {
        of_wrapped!(&mut self.wrapped, policy => policy.hit(op, frame, frames));
    }
}

#[cfg(test)]
mod tests {
    use crate::worked_examples::run;

    #[test]
    fn the_next_dirty_pages_are_written_with_a_dirty_victim_and_stay() {
        // 1 leaves; 2 and 4 are written with it, and 3 is clean. Then 2 leaves clean.
        let after = run("ace:batch=3", 5, "W1 W2 R3 W4 W5 R6");
        assert_eq!((after.evicted.as_str(), after.written_back.as_str()), ("1*", "2 4"));
        let after = run("ace:batch=3", 5, "W1 W2 R3 W4 W5 R6 R7");
        assert_eq!((after.evicted.as_str(), after.written_back.as_str()), ("1* 2", "2 4"));
    }

    #[test]
    fn nothing_is_written_with_a_clean_victim() {
        let after = run("ace", 3, "R1 W2 W3 R4");
        assert_eq!((after.evicted.as_str(), after.written_back.as_str()), ("1", ""));
    }

    #[test]
    fn cflru_finds_the_pages_that_were_written_among_the_clean_ones_of_its_window() {
        // The window has two pages. 1 leaves since both are dirty, and 2 is written; so 2 leaves before 3.
        let after = run("ace:policy=cflru,batch=2", 6, "W1 W2 W3 W4 W5 W6 R7 R8");
        assert_eq!((after.evicted.as_str(), after.written_back.as_str()), ("1* 2", "2"));
    }

    #[test]
    fn lru_wsr_writes_cold_pages_before_those_that_have_a_second_chance() {
        // 1 and 2 become cold, and 3 does not. When 1 leaves, 2 is written, which stands behind 3.
        let references = "W1 R10 W2 R11 W3 R12 W3 R13 R14";
        let before = run("ace:policy=lru-wsr", 5, &references[..references.len() - 4]);
        assert_eq!(before.state, "lru_to_mru=[1 12 3 2 13] cold=[1 2]");
        let after = run("ace:policy=lru-wsr,batch=2", 5, references);
        assert_eq!((after.evicted.as_str(), after.written_back.as_str()), ("10 11 1*", "2"));
    }
}
