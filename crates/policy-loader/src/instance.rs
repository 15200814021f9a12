//! A library's policy at work in one memory, and what is checked of its answers.

use std::num::NonZeroU64;
use std::ptr::null_mut;

use clockhand_policy::catalog::Size;
use clockhand_policy::own::{Failure, Make, Occupancy, OwnPolicy, REMEDY_OF_VICTIM};
use clockhand_policy::page::{Cause, Fault, PageKind};
use clockhand_policy::parameters::Settings;
use clockhand_policy::{Frame, Frames, Op, PageId};
use clockhand_policy_library::abi;

use crate::host_frames::{Access, Call};
use crate::{DIGEST, Refusal};

/// What to do about a function that did what it may not.
const REMEDY_OF_LOOKS: &str = "look at frames that hold a page, and change bits where they may be";

/// What makes the policies of an entry.
#[derive(Debug)]
pub(crate) struct Maker {
    pub(crate) name: &'static str,
    pub(crate) policy: &'static abi::Policy,
}

impl Make for Maker {
    fn make(&self, settings: &Settings, size: Size) -> Box<dyn OwnPolicy> {
        Box::new(Instance::new(self.name, self.policy, settings, size))
    }

    fn can_page(&self) -> bool {
        true
    }
}

/// A policy in a memory of a known size. Once it has failed it is not called again, and frames leave in turn until the
/// driver notices.
struct Instance {
    name: &'static str,
    policy: &'static abi::Policy,
    /// Null if it could not be made.
    made: abi::Made,
    occupancy: Occupancy,
    /// Where the library writes why it cannot go on.
    said: Box<abi::Failure>,
    failure: Option<Failure>,
    has_failed: bool,
}

impl Drop for Instance {
    fn drop(&mut self) {
        if !self.made.is_null() {
            // SAFETY: it was made by this table, and nothing uses it any more.
            unsafe { (self.policy.destroy)(self.made) }
        }
    }
}

impl Instance {
    fn new(
        name: &'static str,
        policy: &'static abi::Policy,
        settings: &Settings,
        size: Size,
    ) -> Self {
        let given = settings.iter().filter(|(name, _)| *name != DIGEST);
        let given: Vec<String> = given.map(|(name, value)| format!("{name}={value}")).collect();
        let settings = given.join(",");
        let settings = abi::Text { start: settings.as_ptr(), length: settings.len() };
        let mut instance = Instance {
            name,
            policy,
            made: null_mut(),
            occupancy: Occupancy::new(size.frames),
            said: Box::new(abi::Failure::none()),
            failure: None,
            has_failed: false,
        };
        let (made, said) = (&raw mut instance.made, &raw mut *instance.said);
        // SAFETY: the text lives to the end of the function, and the other arguments are ours.
        let result = unsafe { (policy.make)(settings, size.frames, size.pages, made, said) };
        instance.check("its maker", result);
        if instance.made.is_null() && !instance.has_failed {
            instance.refuse("its maker", "made nothing", "correct it in the library");
        }
        instance
    }

    fn refuse(&mut self, function: &str, wrong: &str, remedy: &str) {
        let place = self.occupancy.in_words(self.policy.kind == abi::ACCESS_DRIVEN);
        let sentence = format!("{function} {wrong} at {place}; {remedy}");
        self.failure = Some(Box::new(Refusal::of(self.name, sentence)));
        self.has_failed = true;
    }

    /// Takes what a function returned.
    fn check(&mut self, function: &str, result: u32) {
        if result != abi::OK {
            let length = (self.said.length as usize).min(abi::Failure::MOST_BYTES);
            let said = String::from_utf8_lossy(&self.said.text[..length]).into_owned();
            self.refuse(function, &said, "correct it in the library");
        }
    }

    /// Calls a function that sees the frames, unless the policy has failed.
    fn call(
        &mut self,
        function: &str,
        access: Access<'_>,
        act: impl FnOnce(abi::Made, *const abi::Frames, *mut abi::Failure) -> u32,
    ) {
        if self.has_failed {
            return;
        }
        let (made, said) = (self.made, &raw mut *self.said);
        let is_choice = function == "choose_victim";
        let mut call = Call { access, occupancy: &self.occupancy, is_choice, wrong: None };
        let result = call.during(|frames| act(made, frames, said));
        match call.wrong {
            Some(wrong) => self.refuse(function, &wrong, REMEDY_OF_LOOKS),
            None => self.check(function, result),
        }
    }
}

// SAFETY, for all calls below: `made` is a policy that this table made and that no other call uses, and the other
// arguments are valid during the call.
impl OwnPolicy for Instance {
    fn make_room_for(&mut self, page: PageId) {
        if self.has_failed {
            return;
        }
        // SAFETY: as above.
        let result = unsafe { (self.policy.make_room_for)(self.made, page.0, &raw mut *self.said) };
        self.check("make_room_for", result);
    }

    fn choose_victim(&mut self, frames: &mut dyn Frames) -> Frame {
        let mut number = 0;
        let victim = &raw mut number;
        let function = self.policy.choose_victim;
        self.call("choose_victim", Access::Change(&mut *frames), |made, frames, said| {
            // SAFETY: as above.
            unsafe { function(made, frames, victim, said) }
        });
        let chosen = match self.has_failed {
            true => None,
            false => match self.occupancy.victim(number.into(), frames) {
                Ok(frame) => Some(frame),
                Err(wrong) => {
                    self.refuse("choose_victim", &wrong, REMEDY_OF_VICTIM);
                    None
                }
            },
        };
        let victim = chosen.unwrap_or_else(|| self.occupancy.in_turn(frames));
        self.occupancy.chosen(victim);
        victim
    }

    fn loaded(&mut self, fault: Fault, frame: Frame, frames: &mut dyn Frames) {
        self.occupancy.loaded(frame);
        let fault = abi::Fault {
            page: fault.page.0,
            is_write: fault.op == Op::Write,
            fetched: fault.fetched,
            cause: match fault.cause {
                Cause::Memory => 0,
                Cause::Call => 1,
                Cause::Ahead => 2,
            },
            kind: u8::from(fault.kind == PageKind::File),
        };
        let function = self.policy.loaded;
        self.call("loaded", Access::Change(frames), |made, frames, said| {
            // SAFETY: as above.
            unsafe { function(made, fault, frame.0, frames, said) }
        });
    }

    fn hit(&mut self, op: Op, frame: Frame, frames: &dyn Frames) {
        self.occupancy.hit();
        let function = self.policy.hit;
        self.call("hit", Access::Read(frames), |made, frames, said| {
            // SAFETY: as above.
            unsafe { function(made, op == Op::Write, frame.0, frames, said) }
        });
    }

    fn dropped(&mut self, frame: Frame, frames: &dyn Frames) {
        self.in_frame("dropped", self.policy.dropped, frame, Access::Read(frames));
        self.occupancy.dropped(frame);
    }

    fn written_back(&mut self, frame: Frame, frames: &dyn Frames) {
        self.in_frame("written_back", self.policy.written_back, frame, Access::Read(frames));
    }

    fn unmapped(&mut self, frame: Frame, frames: &mut dyn Frames) {
        self.in_frame("unmapped", self.policy.unmapped, frame, Access::Change(frames));
    }

    fn made_dirty(&mut self, frame: Frame, frames: &dyn Frames) {
        self.in_frame("made_dirty", self.policy.made_dirty, frame, Access::Read(frames));
    }

    fn period(&self) -> Option<NonZeroU64> {
        if self.has_failed {
            return None;
        }
        // SAFETY: as above.
        NonZeroU64::new(unsafe { (self.policy.period)(self.made) })
    }

    fn tick(&mut self, frames: &mut dyn Frames) {
        let function = self.policy.tick;
        self.call("tick", Access::Change(frames), |made, frames, said| {
            // SAFETY: as above.
            unsafe { function(made, frames, said) }
        });
    }

    fn failure(&mut self) -> Option<Failure> {
        self.failure.take()
    }
}

impl Instance {
    fn in_frame(&mut self, name: &str, function: abi::InFrame, frame: Frame, access: Access<'_>) {
        self.call(name, access, |made, frames, said| {
            // SAFETY: as above.
            unsafe { function(made, frame.0, frames, said) }
        });
    }
}
