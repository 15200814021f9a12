//! Rules that every policy keeps, tried on references that are made up for them. Who writes a policy learns which rule
//! broke, at which reference, and what had happened before.
//!
//! ```
//! use clockhand_conformance::BitDriven;
//! use clockhand_policy::page::clock::Clock;
//!
//! let conformance = BitDriven::<Clock>::check("insert_ref=1")?;
//! assert!(conformance.broken.is_none());
//! assert_eq!(conformance.kept.len(), 10);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod subject;
mod trial;

use std::fmt;

use clockhand_policy::Ratio;
use clockhand_policy::own::Failure;

pub use subject::{AccessDriven, BitDriven, Subject};
use trial::Trial;

/// The write/read cost ratio that policies are built for here.
pub const RATIO: Ratio = Ratio::whole(8);
/// References of one trial.
const REFERENCES: u64 = 1000;

/// A rule that a policy kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptRule {
    /// The rule, as what the policy does.
    pub rule: &'static str,
    /// The number of memories that it was tried in.
    pub memories: u64,
    /// References, in all of them.
    pub references: u64,
}

/// How a policy broke a rule.
#[derive(Debug)]
pub struct BrokenRule {
    /// The rule, as what the policy should do.
    pub rule: &'static str,
    /// The references and the memory, in words.
    pub trial: String,
    /// The number of the reference that broke it, from 1.
    pub reference: u64,
    /// What was wrong.
    pub wrong: String,
    /// Why the policy could not go on, if it said so itself.
    pub failure: Option<Failure>,
    /// What happened last, from the oldest event on.
    pub events: Vec<String>,
}

/// The result of trials: rules that held, up to the first that broke.
#[derive(Debug)]
pub struct Conformance {
    /// Rules that were kept, in the order they were tried.
    pub kept: Vec<KeptRule>,
    /// The first that was not.
    pub broken: Option<BrokenRule>,
}

/// The order of references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// Any page, some more often than others.
    Random,
    /// One page after the other, around and around.
    Loop,
    /// Pages that come once, and some that come back.
    Scan,
}

/// What happens beside references.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Beside {
    /// Pages are pinned and unpinned.
    pub(crate) pins: bool,
    /// Pages leave out of turn.
    pub(crate) drops: bool,
    /// Dirty pages are written back although they stay.
    pub(crate) write_backs: bool,
    /// Several pages leave before one comes.
    pub(crate) batches: bool,
}

/// A rule, and where it is tried: in each memory twice, the second time with a new policy.
struct Rule {
    rule: &'static str,
    patterns: &'static [Pattern],
    frames: &'static [u32],
    /// Of eight references, how many write.
    writes: u64,
    beside: Beside,
}

const ALONE: Beside = Beside { pins: false, drops: false, write_backs: false, batches: false };
const ALL: &[Pattern] = &[Pattern::Random, Pattern::Loop, Pattern::Scan];

/// Whatever pattern and memory: the second run of each trial shows it.
const SAME_AGAIN: &str = "starts afresh in each memory, and chooses the same pages again";
/// Whatever is pinned.
const PINNED: &str = "passes over pinned pages and leaves their bits alone";

const RULES: &[Rule] = &[
    Rule {
        rule: "chooses pages that are in memory",
        patterns: &[Pattern::Random],
        frames: &[2, 7, 64],
        writes: 3,
        beside: ALONE,
    },
    Rule {
        rule: "copes with loops and scans that are larger than memory",
        patterns: &[Pattern::Loop, Pattern::Scan],
        frames: &[3, 16],
        writes: 0,
        beside: ALONE,
    },
    Rule {
        rule: "finds a page where all are dirty and referenced",
        patterns: ALL,
        frames: &[2, 16],
        writes: 8,
        beside: ALONE,
    },
    Rule {
        rule: "works in a memory of one frame",
        patterns: ALL,
        frames: &[1],
        writes: 3,
        beside: ALONE,
    },
    Rule {
        rule: "chooses several pages in a row, each once",
        patterns: ALL,
        frames: &[7, 64],
        writes: 3,
        beside: Beside { batches: true, ..ALONE },
    },
    Rule {
        rule: "takes write-backs of pages that stay",
        patterns: ALL,
        frames: &[1, 7],
        writes: 5,
        beside: Beside { write_backs: true, ..ALONE },
    },
    Rule {
        rule: PINNED,
        patterns: ALL,
        frames: &[2, 7, 16],
        writes: 3,
        beside: Beside { pins: true, ..ALONE },
    },
    Rule {
        rule: "forgets pages that leave out of turn",
        patterns: ALL,
        frames: &[1, 2, 16],
        writes: 3,
        beside: Beside { drops: true, batches: true, ..ALONE },
    },
    Rule {
        rule: "keeps all rules when everything happens at once",
        patterns: ALL,
        frames: &[2, 7, 64],
        writes: 3,
        beside: Beside { pins: true, drops: true, write_backs: true, batches: true },
    },
];

impl fmt::Display for BrokenRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BrokenRule { rule, trial, reference, wrong, events, .. } = self;
        writeln!(
            formatter,
            "it broke the rule that a policy {rule}: at reference {reference} of {trial}, {wrong}"
        )?;
        events.iter().try_for_each(|event| writeln!(formatter, "  {event}"))
    }
}

/// Tries the rules on a policy until one breaks; `None` if it was stopped, for which `is_cancelled` is asked before each
/// trial.
///
/// # Errors
///
/// The subject cannot be built.
pub fn check<S: Subject>(
    subject: &S,
    is_cancelled: impl Fn() -> bool,
) -> Result<Option<Conformance>, S::Error> {
    let mut conformance = Conformance { kept: Vec::new(), broken: None };
    let mut started_afresh = KeptRule { rule: SAME_AGAIN, memories: 0, references: 0 };
    for rule in RULES {
        let mut kept = KeptRule { rule: rule.rule, memories: 0, references: 0 };
        for trial in trials(rule) {
            if is_cancelled() {
                return Ok(None);
            }
            if let Err(broken) = tried(subject, &trial)? {
                conformance.kept.push(kept);
                conformance.kept.retain(|kept| kept.rule != broken.rule && kept.memories > 0);
                conformance.broken = Some(broken);
                return Ok(Some(conformance));
            }
            for kept in [&mut kept, &mut started_afresh] {
                kept.memories += 1;
                kept.references += REFERENCES;
            }
        }
        conformance.kept.push(kept);
    }
    conformance.kept.push(started_afresh);
    Ok(Some(conformance))
}

/// A trial, twice.
fn tried<S: Subject>(subject: &S, trial: &Trial) -> Result<Result<(), BrokenRule>, S::Error> {
    let size = trial.size();
    let decisions = match subject.build(size, trial.run(None))? {
        Ok(decisions) => decisions,
        Err(broken) => return Ok(Err(broken)),
    };
    let again = subject.build(size, trial.run(Some(&decisions)))?;
    Ok(again.map(drop).map_err(|broken| BrokenRule { rule: SAME_AGAIN, ..broken }))
}

fn trials(rule: &Rule) -> impl Iterator<Item = Trial> + '_ {
    rule.patterns.iter().flat_map(move |&pattern| {
        rule.frames.iter().map(move |&frames| {
            let pages = match pattern {
                Pattern::Random => 2 * frames + 3,
                Pattern::Loop => frames + 1,
                Pattern::Scan => REFERENCES as u32,
            };
            let Rule { rule, writes, beside, .. } = *rule;
            Trial { rule, pattern, frames, pages, writes, beside, references: REFERENCES }
        })
    })
}
