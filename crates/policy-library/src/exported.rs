//! The functions of a policy as [`abi`] has them, made of its traits; what
//! [`export!`](crate::export) needs.

use std::sync::OnceLock;

use clockhand_policy::catalog::{Cataloged, Size, built, page_of};
use clockhand_policy::page::{AccessDriven, BitDriven, Cause, Fault, PageKind, PagePolicy};
use clockhand_policy::parameters::{self, Default, Domain};
use clockhand_policy::{Frame, HitBits, Op, PageId, Ratio};

use crate::abi::{self, Failure, Made, Text};
use crate::panics::{caught, keep_places};
use crate::seen_frames::SeenFrames;

/// The table of a library, made when it is first asked for.
#[derive(Debug, Default)]
pub struct Exported(OnceLock<abi::Library>);

impl Exported {
    /// None yet.
    pub const fn new() -> Self {
        Exported(OnceLock::new())
    }

    /// The table of these policies.
    pub fn table(&self, policies: impl FnOnce() -> Vec<abi::Policy>) -> &abi::Library {
        self.0.get_or_init(|| {
            keep_places();
            let policies = policies().leak();
            abi::Library {
                version: abi::VERSION,
                policy_count: policies.len() as u32,
                policies: policies.as_ptr(),
            }
        })
    }
}

/// A bit-driven policy.
pub fn bit_driven<P: BitDriven + Cataloged>() -> abi::Policy {
    const {
        assert!(
            !matches!(P::HIT_BITS, HitBits::ReferenceAndModified),
            "a library's policy has HIT_BITS Reference or Separate"
        );
        assert!(
            !P::SEES_FIRST_ACCESSES && !P::SEES_CALLS,
            "a library's policy learns nothing of first accesses and calls"
        );
    }
    policy::<P>(abi::BIT_DRIVEN, unheard)
}

/// An access-driven policy.
pub fn access_driven<P: AccessDriven + Cataloged>() -> abi::Policy {
    policy::<P>(abi::ACCESS_DRIVEN, hit::<P>)
}

type Hit = unsafe extern "C" fn(Made, is_write: bool, u32, *const abi::Frames, *mut Failure) -> u32;

fn policy<P: PagePolicy + Cataloged>(kind: u32, hit: Hit) -> abi::Policy {
    const {
        assert!(!P::RECLAIMS_IN_BATCHES, "a library's policy chooses one page at a time");
    }
    let description = P::DESCRIPTION;
    let parameters: Vec<abi::Parameter> = description.parameters.iter().map(parameter).collect();
    let parameters = parameters.leak();
    abi::Policy {
        name: Text::of(description.name),
        summary: Text::of(description.summary),
        paper: Text::of(description.paper),
        page: Text::of(page_of(description.source).leak()),
        kind,
        parameter_count: parameters.len() as u32,
        parameters: parameters.as_ptr(),
        make: make::<P>,
        destroy: destroy::<P>,
        period: period::<P>,
        make_room_for: make_room_for::<P>,
        choose_victim: choose_victim::<P>,
        loaded: loaded::<P>,
        hit,
        dropped: dropped::<P>,
        written_back: written_back::<P>,
        unmapped: unmapped::<P>,
        made_dirty: made_dirty::<P>,
        tick: tick::<P>,
    }
}

fn parameter(known: &parameters::Parameter) -> abi::Parameter {
    let whole = |number| abi::Fraction { numerator: number, denominator: 1 };
    let fraction = |ratio: Ratio| abi::Fraction {
        numerator: ratio.numerator(),
        denominator: ratio.denominator(),
    };
    let none = abi::Fraction { numerator: 0, denominator: 0 };
    let (domain, least, most, words) = match known.domain {
        Domain::Count { min, max } => (abi::COUNT, whole(min), whole(max), ""),
        Domain::Ratio { min, max } => (abi::RATIO, fraction(min), max.map_or(none, fraction), ""),
        Domain::Choice(words) => (abi::CHOICE, none, none, &*words.join(",").leak()),
        Domain::Flag => (abi::FLAG, none, none, ""),
    };
    let (default, value, number) = match known.default {
        Default::Value(value) => (abi::VALUE, value, 0),
        Default::DeviceRatio => (abi::DEVICE_RATIO, "", 0),
        Default::FramesOver(divisor) => (abi::FRAMES_OVER, "", divisor),
        Default::FramesTimes(factor) => (abi::FRAMES_TIMES, "", factor),
        Default::QuarterOfFrames { most } => (abi::QUARTER_OF_FRAMES, "", most),
        Default::Seed => (abi::SEED, "", 0),
        Default::InsteadOf(other) => (abi::INSTEAD_OF, other, 0),
    };
    let (only_with, only_with_value) = known.only_with.unwrap_or_default();
    abi::Parameter {
        name: Text::of(known.name),
        summary: Text::of(known.summary),
        domain,
        default,
        least,
        most,
        words: Text::of(words),
        default_value: Text::of(value),
        default_number: number.into(),
        only_with: Text::of(only_with),
        only_with_value: Text::of(only_with_value),
    }
}

/// Runs `act`; a panic becomes a failure.
///
/// # Safety
///
/// `failure` must be valid.
unsafe fn guarded(failure: *mut Failure, act: impl FnOnce() -> Result<(), String>) -> u32 {
    match caught(act).and_then(|result| result) {
        Ok(()) => abi::OK,
        Err(text) => {
            // SAFETY: the caller says that it is valid.
            unsafe { (*failure).write(&text) };
            abi::FAILED
        }
    }
}

/// Calls a method of a policy with the frames that it sees.
///
/// # Safety
///
/// `made` must come from `make` of the same `P`, and no other call on it may run; the others must be valid.
unsafe fn with<P>(
    made: Made,
    frames: *const abi::Frames,
    failure: *mut Failure,
    act: impl FnOnce(&mut P, &mut SeenFrames<'_>),
) -> u32 {
    // SAFETY: as the caller says; a policy is used by one thread, and none of Clockhand's functions calls it.
    unsafe {
        guarded(failure, || {
            act(&mut *made.cast::<P>(), &mut SeenFrames::of(frames));
            Ok(())
        })
    }
}

unsafe extern "C" fn make<P: Cataloged>(
    settings: Text,
    frames: u32,
    pages: u32,
    made: *mut Made,
    failure: *mut Failure,
) -> u32 {
    // SAFETY: Clockhand's text is UTF-8 and lives during the call, and `made` is its own variable.
    unsafe {
        let settings = match settings.length {
            0 => "",
            length => str::from_utf8_unchecked(std::slice::from_raw_parts(settings.start, length)),
        };
        guarded(failure, || {
            // Every parameter that applies has a value, so the ratio is not looked at.
            let policy = built::<P>(settings, Size { frames, pages }, Ratio::whole(1));
            *made = Box::into_raw(Box::new(policy.map_err(|error| error.to_string())?)).cast();
            Ok(())
        })
    }
}

unsafe extern "C" fn destroy<P>(made: Made) {
    // SAFETY: it comes from `make`, and is not used again. A panic of the destructor cannot be reported.
    _ = caught(|| drop(unsafe { Box::from_raw(made.cast::<P>()) }));
}

unsafe extern "C" fn period<P: PagePolicy>(made: Made) -> u64 {
    // SAFETY: as in `with`.
    let period = caught(|| unsafe { &*made.cast::<P>() }.period());
    period.ok().flatten().map_or(0, Into::into)
}

unsafe extern "C" fn make_room_for<P: PagePolicy>(
    made: Made,
    page: u32,
    failure: *mut Failure,
) -> u32 {
    // SAFETY: as in `with`.
    unsafe {
        guarded(failure, || {
            (*made.cast::<P>()).make_room_for(PageId(page));
            Ok(())
        })
    }
}

unsafe extern "C" fn choose_victim<P: PagePolicy>(
    made: Made,
    frames: *const abi::Frames,
    victim: *mut u32,
    failure: *mut Failure,
) -> u32 {
    // SAFETY: Clockhand's arguments are valid during the call.
    unsafe {
        with::<P>(made, frames, failure, |policy, frames| {
            *victim = policy.choose_victim(frames).0;
        })
    }
}

unsafe extern "C" fn loaded<P: PagePolicy>(
    made: Made,
    fault: abi::Fault,
    frame: u32,
    frames: *const abi::Frames,
    failure: *mut Failure,
) -> u32 {
    let fault = Fault {
        page: PageId(fault.page),
        op: op(fault.is_write),
        fetched: fault.fetched,
        cause: match fault.cause {
            0 => Cause::Memory,
            1 => Cause::Call,
            _ => Cause::Ahead,
        },
        kind: if fault.kind == 0 { PageKind::Anonymous } else { PageKind::File },
    };
    // SAFETY: Clockhand's arguments are valid during the call.
    unsafe {
        with::<P>(made, frames, failure, |policy, frames| {
            policy.loaded(fault, Frame(frame), frames);
        })
    }
}

fn op(is_write: bool) -> Op {
    if is_write { Op::Write } else { Op::Read }
}

/// The hits of bit-driven policies, which they do not see.
unsafe extern "C" fn unheard(
    _: Made,
    _: bool,
    _: u32,
    _: *const abi::Frames,
    _: *mut Failure,
) -> u32 {
    abi::OK
}

unsafe extern "C" fn hit<P: AccessDriven>(
    made: Made,
    is_write: bool,
    frame: u32,
    frames: *const abi::Frames,
    failure: *mut Failure,
) -> u32 {
    // SAFETY: Clockhand's arguments are valid during the call.
    unsafe {
        with::<P>(made, frames, failure, |policy, frames| {
            policy.hit(op(is_write), Frame(frame), frames);
        })
    }
}

macro_rules! in_frame {
    ($($event:ident)*) => {
        $(unsafe extern "C" fn $event<P: PagePolicy>(
            made: Made,
            frame: u32,
            frames: *const abi::Frames,
            failure: *mut Failure,
        ) -> u32 {
            // SAFETY: Clockhand's arguments are valid during the call.
            unsafe {
                with::<P>(made, frames, failure, |policy, frames| {
                    policy.$event(Frame(frame), frames);
                })
            }
        })*
    };
}

in_frame! { dropped written_back unmapped made_dirty }

unsafe extern "C" fn tick<P: PagePolicy>(
    made: Made,
    frames: *const abi::Frames,
    failure: *mut Failure,
) -> u32 {
    // SAFETY: Clockhand's arguments are valid during the call.
    unsafe { with::<P>(made, frames, failure, |policy, frames| policy.tick(frames)) }
}
