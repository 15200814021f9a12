//! The pending step, and the two ways to treat FLUSH and FUA.

use alloc::vec::Vec;

use crate::LogicalPage;
use crate::buffer::{Action, PagesPerBlock, Source, Step, StepPage};
use crate::parameters::{Default, Domain, Parameter, Settings};

/// Methods of a buffer that proposes a step once and shows it until it is committed, with a field `proposal`.
macro_rules! as_proposed {
    (next_step) => {
        #[inline]
        fn next_step(&mut self, request: Request) -> Option<Step<'_>> {
            if !self.proposal.is_pending() {
                self.propose(request);
            }
            self.proposal.step()
        }
    };
    (serve) => {
        #[inline]
        fn serve(&mut self, request: Request) -> Served {
            assert!(!self.proposal.is_pending(), "the pending step is committed first");
            match request {
                Request::Read(page) => self.access(Op::Read, page),
                Request::Write(page) => self.access(Op::Write, page),
                Request::ForceUnitAccess(page) => self.write_through(page),
                Request::Trim(page) => self.trim(page),
                Request::Flush | Request::Drain => Served::default(),
            }
        }
    };
}

pub(crate) use as_proposed;

/// A step that was proposed and not yet committed. Its pages are kept in one vector that is used again.
#[derive(Clone, Debug)]
pub(crate) struct Proposal {
    action: Option<Action>,
    pages: Vec<StepPage>,
}

impl Proposal {
    /// None, and no place for pages.
    pub(crate) const EMPTY: Self = Proposal { action: None, pages: Vec::new() };

    pub(crate) fn new(pages_per_block: PagesPerBlock) -> Self {
        let pages = Vec::with_capacity(pages_per_block.get() as usize);
        Proposal { action: None, pages }
    }

    pub(crate) fn is_pending(&self) -> bool {
        self.action.is_some()
    }

    pub(crate) fn step(&self) -> Option<Step<'_>> {
        self.action.map(|action| Step { action, pages: &self.pages })
    }

    /// Proposes a step with the pages that `fill` pushes.
    pub(crate) fn propose(&mut self, action: Action, fill: impl FnOnce(&mut Vec<StepPage>)) {
        debug_assert!(self.action.is_none(), "one step is pending at a time");
        self.pages.clear();
        fill(&mut self.pages);
        self.action = Some(action);
    }

    /// Proposes a step with one page.
    pub(crate) fn propose_page(&mut self, action: Action, page: StepPage) {
        self.propose(action, |pages| pages.push(page));
    }

    /// Proposes to write the page of a request to flash before it is buffered clean.
    pub(crate) fn propose_write_through(&mut self, page: LogicalPage) {
        let page = StepPage { page, dirty: true, source: Source::Request, stays: true };
        self.propose_page(Action::Flush, page);
    }

    /// The pending step is carried out; its pages.
    ///
    /// # Panics
    ///
    /// If none is pending.
    pub(crate) fn take(&mut self) -> (Action, &[StepPage]) {
        (self.action.take().expect("a step is pending"), &self.pages)
    }
}

/// The treatment of FLUSH and FUA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Commands {
    /// They are ignored, as the CLOCK-DNV paper says, and as a drive may whose capacitors keep its DRAM until that is written.
    Paper,
    /// Acknowledged data are persistent.
    Safe,
}

impl Commands {
    pub(crate) const PARAMETER: Parameter = Parameter {
        name: "commands",
        summary: "whether FLUSH and FUA are heeded (safe) or ignored (paper; protected: its DRAM outlives a power loss)",
        domain: Domain::Choice(&["paper", "safe", "protected"]),
        default: Default::Value("paper"),
        only_with: None,
    };

    pub(crate) fn of(settings: &Settings) -> Self {
        if settings.choice(Self::PARAMETER.name) == "safe" {
            Commands::Safe
        } else {
            Commands::Paper
        }
    }
}
