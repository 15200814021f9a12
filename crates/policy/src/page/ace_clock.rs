//! # ACE-CLOCK: a clock that writes several dirty pages at once
//!
//! **What it keeps.** The ring or the lists of the clock that it wraps, which decides as it does alone.
//!
//! **Victim.** That of the wrapped clock. If it is dirty, the next `batch - 1` dirty pages are written with it: from
//! the hand those that are not referenced, then those that are. They stay, and are clean; their bits do not change.
//!
//! **On a write.** As the wrapped clock.
//!
//! **Parameters.**
//!
//! * `policy`: the wrapped clock, with its other defaults: `clock` (default) or `credit-clock`.
//!
//! * `c`: the cost of a write for `credit-clock` (default: that of the device).
//!
//! * `batch`: the pages that are written at once (default 8). With 1 it is the wrapped clock.
//!
//! **Cost per hit and per victim.** One OR; those of the wrapped clock, and the pages from the hand to the last one of
//! a batch, twice around at most. For `clock` that is constant on average: what was passed is clean when the hand comes.
//!
//! **Deviations from the paper.** Those of `ace`. The paper wraps PostgreSQL's clock, which counts up to five
//! references; this one has a bit. `credit-clock` stands beside it to tell the drive's share from the policy's.
//!
//! **Reference.** T. I. Papon, M. Athanassoulis: ACEing the bufferpool management paradigm for modern storage devices.
//! ICDE 2023.

use alloc::format;

use super::ace::{BATCH, Batch, with_defaults, writes_with_victims};
use super::clock::Clock;
use super::credit_clock::CreditClock;
use super::{BitDriven, Capabilities, Fault, Inspector, PagePolicy};
use crate::catalog::{self, Cataloged, Description, Size};
use crate::parameters::{Default, Domain, Parameter, Settings};
use crate::{Frame, Frames, HitBits, Ratio};

/// A clock that decides, and what is written with its victims.
#[derive(Clone, Debug)]
pub struct AceClock {
    wrapped: Wrapped,
    batch: Batch,
}

#[derive(Clone, Debug)]
enum Wrapped {
    Clock(Clock),
    CreditClock(CreditClock),
}

/// The same for each wrapped clock.
macro_rules! of_wrapped {
    ($wrapped:expr, $policy:ident => $answer:expr) => {
        match $wrapped {
            Wrapped::Clock($policy) => $answer,
            Wrapped::CreditClock($policy) => $answer,
        }
    };
}

impl Cataloged for AceClock {
    const DESCRIPTION: Description = Description {
        name: "ace-clock",
        summary: "a clock that writes several dirty pages at once",
        paper: "Papon, Athanassoulis 2023",
        parameters: &[
            Parameter {
                name: "policy",
                summary: "the clock that decides",
                domain: Domain::Choice(&["clock", "credit-clock"]),
                default: Default::Value("clock"),
                only_with: None,
            },
            Parameter { only_with: Some(("policy", "credit-clock")), ..Parameter::WRITE_COST },
            BATCH,
        ],
        source: include_str!("ace_clock.rs"),
    };

    fn build(settings: &Settings, size: Size) -> Self {
        let wrapped = if settings.choice("policy") == "credit-clock" {
            let c = settings.ratio("c").expect("c has a default");
            let built = catalog::built(&format!("c={c}"), size, Ratio::whole(1));
            Wrapped::CreditClock(built.expect("c is in its range"))
        } else {
            Wrapped::Clock(with_defaults(size))
        };
        AceClock { wrapped, batch: Batch::new(settings, size.frames) }
    }
}

impl PagePolicy for AceClock {
    writes_with_victims!();
}

impl Capabilities for AceClock {
    const TAKES_MORE_PAGES: bool = true;
}

impl BitDriven for AceClock {
    const HIT_BITS: HitBits = HitBits::Reference;
}

#[cfg(test)]
mod tests {
    use crate::worked_examples::run;

    #[test]
    fn dirty_pages_from_the_hand_are_written_and_referenced_ones_last() {
        // 2 is referenced: 1 leaves, and 3 is written before 2.
        let after = run("ace-clock:batch=2", 4, "W1 W2 W3 R4 R2 R5");
        assert_eq!((after.evicted.as_str(), after.written_back.as_str()), ("1*", "3"));
        let after = run("ace-clock:batch=3", 4, "W1 W2 W3 R4 R2 R5");
        assert_eq!((after.evicted.as_str(), after.written_back.as_str()), ("1*", "3 2"));
    }

    #[test]
    fn nothing_is_written_with_a_clean_victim() {
        let after = run("ace-clock", 3, "R1 W2 W3 R4");
        assert_eq!((after.evicted.as_str(), after.written_back.as_str()), ("1", ""));
    }
}
