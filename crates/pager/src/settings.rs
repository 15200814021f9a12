//! How much memory a program gets, and what decides about it.

use std::time::Duration;

use clockhand_policy::catalog::{Kind, ResolvedPolicy, Size, Visitor};
use clockhand_policy::page::{AccessDriven, BitDriven, Offline};
use clockhand_prefetch::PredictorSet;

use crate::pager::{FrameShares, Pager};
use crate::parts::Parts;

/// How much memory there is, and which policy decides what stays in it.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The policy, resolved for [`Settings::policy_frames`] frames.
    pub policy: ResolvedPolicy,
    /// Page frames in all.
    pub frames: u32,
    /// The number of them that are kept for writes under way; 0: a fault waits for the write of its victim.
    pub reserve: u32,
    /// The number of them that are kept for pages that are read ahead; 0: none are.
    pub read_ahead: u32,
    /// What chooses these pages.
    pub predictors: PredictorSet,
    /// Where the policy's read and write bits come from.
    pub bits: Bits,
    /// For how long a failing store is tried again before the pager gives up.
    pub patience: Duration,
}

/// Where read and write bits of real memory come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Bits {
    /// The first access after a bit was cleared is a fault that the pager answers.
    #[default]
    Mapped,
    /// The kernel answers it, and the pager looks at the program's page map when the policy asks.
    Sensed,
}

impl Bits {
    /// What options and rows call them.
    pub const WORDS: [(&'static str, Bits); 2] =
        [("mapped", Bits::Mapped), ("sensed", Bits::Sensed)];

    /// What options and rows call it.
    pub fn word(self) -> &'static str {
        let [(mapped, _), (sensed, _)] = Bits::WORDS;
        if self == Bits::Mapped { mapped } else { sensed }
    }
}

/// With fewer frames than one instruction and its operands may touch, that instruction would never complete.
pub const MIN_FRAMES: u32 = 16;

impl Settings {
    /// Checks the settings.
    ///
    /// # Errors
    ///
    /// A sentence that says what cannot be paged, and what to do.
    pub fn check(&self) -> Result<(), String> {
        let entry = self.policy.entry();
        let name = entry.description.name;
        match entry.kind {
            Kind::BitDriven => {}
            Kind::AccessDriven => {
                return Err(format!(
                    "{name} needs every hit, which real memory does not show; choose a bit-driven policy \
                     such as clock, cfclock or craw"
                ));
            }
            Kind::Offline => {
                return Err(format!(
                    "{name} must know the future; choose a bit-driven policy such as clock, cfclock or craw"
                ));
            }
        }
        let others = self.reserve.saturating_add(self.read_ahead);
        if self.frames.saturating_sub(others) < MIN_FRAMES {
            return Err(format!(
                "{} frames, less {} in reserve and {} to read ahead, leave fewer than {MIN_FRAMES} for pages, which one \
                 instruction may need; give more memory, a smaller reserve, or less to read ahead",
                self.frames, self.reserve, self.read_ahead
            ));
        }
        Ok(())
    }

    /// Frames of the policy.
    pub fn policy_frames(&self) -> u32 {
        self.frames - self.reserve - self.read_ahead
    }

    /// A paged memory with these settings.
    ///
    /// # Panics
    ///
    /// If the settings have not been [checked](Settings::check).
    pub fn build(&self, parts: Parts) -> Pager {
        // More frames than the program can have pages change nothing, and would take memory of ours.
        let fitting = |frames: u32| frames.min(parts.program.pages().max(MIN_FRAMES));
        let frames = FrameShares {
            policy: fitting(self.policy_frames()),
            reserve: fitting(self.reserve),
            read_ahead: fitting(self.read_ahead),
        };
        let size = Size { frames: frames.policy, pages: parts.program.pages() };
        self.policy.build(size, Build { frames, predictors: self.predictors, parts })
    }
}

struct Build {
    frames: FrameShares,
    predictors: PredictorSet,
    parts: Parts,
}

impl Visitor for Build {
    type Output = Pager;

    fn bit_driven<P: BitDriven + 'static>(self, policy: P) -> Self::Output {
        Pager::new(policy, self.frames, self.predictors, self.parts)
    }

    fn access_driven<P: AccessDriven + 'static>(self, _: P) -> Self::Output {
        unreachable!("the settings were checked: a policy that needs every hit cannot page")
    }

    fn offline<P: Offline + 'static>(self, _: P) -> Self::Output {
        unreachable!("the settings were checked: a policy that must know the future cannot page")
    }
}
