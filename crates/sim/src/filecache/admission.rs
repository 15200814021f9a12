//! Admission: which blocks that were not in the cache may enter it. It comes before the memory and its policy, which
//! never learn of a refused block.

use clockhand_policy::memory::fast::FastMemory;
use clockhand_policy::page::PagePolicy;
use clockhand_policy::{Frames, Memory, Op, PageId};

use super::history::History;
use crate::error::SimError;
use crate::sketch::Sketch;

/// A rule of admission, as a cell of the grid has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AdmissionRule {
    /// Every miss enters.
    Always,
    /// A block enters if it was referenced often enough before.
    SecondTouch,
    /// A block enters if it was recently referenced more often than the one it would replace.
    TinyLfu,
    /// Reads enter, writes do not.
    WriteAround,
    /// What will be reused enters, and leaves with its last reuse: the rule knows the future.
    Belady,
}

impl AdmissionRule {
    /// All of them, in the order of lists.
    pub const ALL: [AdmissionRule; 5] = [
        AdmissionRule::Always,
        AdmissionRule::SecondTouch,
        AdmissionRule::TinyLfu,
        AdmissionRule::WriteAround,
        AdmissionRule::Belady,
    ];

    /// Those that any policy may stand behind, or some; `all` means them.
    pub fn online() -> impl Iterator<Item = AdmissionRule> {
        Self::ALL.into_iter().filter(|rule| *rule != AdmissionRule::Belady)
    }

    /// As the command writes it.
    pub fn name(self) -> &'static str {
        match self {
            AdmissionRule::Always => "always",
            AdmissionRule::SecondTouch => "second-touch",
            AdmissionRule::TinyLfu => "tinylfu",
            AdmissionRule::WriteAround => "write-around",
            AdmissionRule::Belady => "belady",
        }
    }

    /// Reads a rule's name.
    ///
    /// # Errors
    ///
    /// A sentence that names the nearest rule.
    pub fn parse(text: &str) -> Result<Self, SimError> {
        let found = Self::ALL.into_iter().find(|rule| rule.name() == text);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name);
            SimError::usage(
                format!("there is no admission {text:?}"),
                crate::contestant::suggestion(text, &names),
            )
        })
    }
}

/// The options of second-touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecondTouch {
    /// A block enters when it has been referenced this often before.
    pub admit_after: u32,
    /// Blocks that are remembered, at least 1; all if `None`.
    pub history: Option<u32>,
    /// Forgets a block once it enters; hits then are not remembered either.
    pub forget_on_admit: bool,
}

impl Default for SecondTouch {
    fn default() -> Self {
        SecondTouch { admit_after: 1, history: None, forget_on_admit: false }
    }
}

impl SecondTouch {
    /// The rule with every parameter, as rows name it.
    pub(crate) fn resolved(self) -> String {
        let SecondTouch { admit_after, history, forget_on_admit } = self;
        let history = history.map_or_else(|| "all".to_owned(), |blocks| blocks.to_string());
        format!(
            "second-touch:admit_after={admit_after},history={history},forget_on_admit={forget_on_admit}"
        )
    }
}

/// A rule. If it refuses some, its references come one by one: a run of them may be refused at first and enter later.
pub(crate) enum Selective<'a> {
    Always,
    WriteAround,
    SecondTouch { settings: SecondTouch, history: History },
    TinyLfu { sketch: Sketch, keys: &'a [u64] },
}

impl<'a> Selective<'a> {
    /// The rule for a cache of `capacity` blocks, and for `blocks` blocks in all; tinylfu has a key for each.
    pub(crate) fn new(
        rule: AdmissionRule,
        settings: SecondTouch,
        capacity: u32,
        keys: &'a [u64],
        blocks: u32,
    ) -> Self {
        match rule {
            AdmissionRule::Always => Selective::Always,
            AdmissionRule::Belady => unreachable!("it goes through the trace by itself"),
            AdmissionRule::WriteAround => Selective::WriteAround,
            AdmissionRule::SecondTouch => {
                Selective::SecondTouch { settings, history: History::new(blocks, settings.history) }
            }
            // If every block finds a free frame, no blocks are ever compared.
            AdmissionRule::TinyLfu if capacity >= blocks => Selective::Always,
            AdmissionRule::TinyLfu => Selective::TinyLfu { sketch: Sketch::new(capacity), keys },
        }
    }
}

impl Selective<'_> {
    /// False if it admits every block.
    #[inline]
    pub(super) fn refuses(&self) -> bool {
        !matches!(self, Selective::Always)
    }

    /// A reference to a block, before it is known whether the block is in the cache.
    #[inline]
    pub(super) fn referenced(&mut self, block: PageId) {
        if let Selective::TinyLfu { sketch, keys } = self {
            sketch.note(keys[block.index()]);
        }
    }

    /// The block is in the cache.
    #[inline]
    pub(super) fn hit(&mut self, block: PageId) {
        if let Selective::SecondTouch { settings, history } = self
            && !settings.forget_on_admit
        {
            history.note(block.0);
        }
    }

    /// The block is not in the cache: whether it may enter. Asked once for each miss.
    pub(super) fn admits<P: PagePolicy>(
        &mut self,
        block: PageId,
        op: Op,
        memory: &Memory<P>,
    ) -> bool {
        match self {
            Selective::Always => true,
            Selective::WriteAround => op == Op::Read,
            Selective::SecondTouch { settings, history } => {
                let admitted = history.references(block.0) >= settings.admit_after;
                if admitted && settings.forget_on_admit {
                    history.forget(block.0);
                } else {
                    history.note(block.0);
                }
                admitted
            }
            Selective::TinyLfu { sketch, keys } => {
                let estimate = |page: PageId| sketch.estimate(keys[page.index()]);
                !memory.is_full() || estimate(block) > estimate(would_leave(memory))
            }
        }
    }
}

/// The block that would make room; the policy is one that can tell.
fn would_leave<P: PagePolicy>(memory: &Memory<P>) -> PageId {
    let frame = memory.peek_victim().expect("a full memory of a policy that can peek");
    memory.frames().page(frame)
}
