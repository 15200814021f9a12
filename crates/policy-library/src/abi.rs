//! The interface between Clockhand and a library, in types that C has too.
//!
//! A library has one function, [`SYMBOL`], which returns its [`Library`]; everything that it points to stays valid and
//! unchanged to the end of the process. A policy that is made is used by one thread at a time, the one that made it.
//! Functions that can fail return [`OK`] or [`FAILED`], and in that case have written why into [`Failure`].

use std::ffi::{CStr, c_void};

/// The version of this interface. Another one is refused, since no field but [`Library::version`] is known to be the same.
pub const VERSION: u32 = 1;

/// The name of the function.
pub const SYMBOL: &CStr = c"clockhand_policy_library";

/// The type of the function.
pub type Entrance = unsafe extern "C" fn() -> *const Library;

/// All went well.
pub const OK: u32 = 0;
/// The policy cannot go on, and is not called again except to be destroyed.
pub const FAILED: u32 = 1;

/// What a library has.
#[repr(C)]
#[derive(Debug)]
pub struct Library {
    /// [`VERSION`] of the library: the first field in every version.
    pub version: u32,
    /// Number of policies.
    pub policy_count: u32,
    /// So many.
    pub policies: *const Policy,
}

/// A text in UTF-8, not terminated.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Text {
    /// Its first byte; may be null if there is none.
    pub start: *const u8,
    /// Bytes.
    pub length: usize,
}

impl Text {
    /// A text that lives as long as the process.
    pub const fn of(text: &'static str) -> Self {
        Text { start: text.as_ptr(), length: text.len() }
    }
}

/// Why a policy cannot go on.
#[repr(C)]
#[derive(Debug)]
pub struct Failure {
    /// Bytes of `text` that are written.
    pub length: u32,
    /// What is wrong, in UTF-8.
    pub text: [u8; Failure::MOST_BYTES],
}

impl Failure {
    /// A longer text is cut.
    pub const MOST_BYTES: usize = 1020;

    /// No failure yet.
    pub fn none() -> Self {
        Failure { length: 0, text: [0; Self::MOST_BYTES] }
    }

    /// Writes a text, as much of it as there is room for.
    pub fn write(&mut self, text: &str) {
        let most = text.len().min(Self::MOST_BYTES);
        let length = (0..=most).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        self.text[..length].copy_from_slice(&text.as_bytes()[..length]);
        self.length = length as u32;
    }
}

/// [`Policy::kind`]: sees faults only.
pub const BIT_DRIVEN: u32 = 0;
/// [`Policy::kind`]: sees every hit.
pub const ACCESS_DRIVEN: u32 = 1;

/// [`Parameter::domain`]: a whole number from `least` to `most`, whose denominators are 1.
pub const COUNT: u32 = 0;
/// [`Parameter::domain`]: an exact rational number from `least` to `most`.
pub const RATIO: u32 = 1;
/// [`Parameter::domain`]: one of `words`.
pub const CHOICE: u32 = 2;
/// [`Parameter::domain`]: `true` or `false`.
pub const FLAG: u32 = 3;

/// [`Parameter::default`]: `default_value`.
pub const VALUE: u32 = 0;
/// [`Parameter::default`]: the device's cost of a page write over that of a page read.
pub const DEVICE_RATIO: u32 = 1;
/// [`Parameter::default`]: the number of frames over `default_number`, but at least 1.
pub const FRAMES_OVER: u32 = 2;
/// [`Parameter::default`]: the number of frames times `default_number`.
pub const FRAMES_TIMES: u32 = 3;
/// [`Parameter::default`]: a quarter of the frames, from 1 to `default_number`.
pub const QUARTER_OF_FRAMES: u32 = 4;
/// [`Parameter::default`]: the seed of the run.
pub const SEED: u32 = 5;
/// [`Parameter::default`]: none; it takes the place of the parameter `default_value`.
pub const INSTEAD_OF: u32 = 6;

/// A fraction.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Fraction {
    /// Its numerator.
    pub numerator: u64,
    /// Its denominator; 0 for no limit.
    pub denominator: u64,
}

/// What can be set of a policy.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name in `policy:name=value`.
    pub name: Text,
    /// What it does, in one line.
    pub summary: Text,
    /// Which values are allowed: [`COUNT`] and the following.
    pub domain: u32,
    /// What its default is: [`VALUE`] and the following.
    pub default: u32,
    /// The smallest value of a number.
    pub least: Fraction,
    /// The largest value of a number.
    pub most: Fraction,
    /// The words of a [`CHOICE`], with a comma between each and the next.
    pub words: Text,
    /// See `default`.
    pub default_value: Text,
    /// See `default`.
    pub default_number: u64,
    /// Another parameter without which this one has no effect, or nothing.
    pub only_with: Text,
    /// The value that the other one must have.
    pub only_with_value: Text,
}

/// A page that has been loaded.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// The page.
    pub page: u32,
    /// True if the reference writes.
    pub is_write: bool,
    /// True if the page was read from the backing store.
    pub fetched: bool,
    /// 0: a reference of the program; 1: a call; 2: it is read ahead and was not referenced.
    pub cause: u8,
    /// 0: the memory of a process; 1: a file.
    pub kind: u8,
}

/// [`Frames::state`] and [`Frames::clear`]: read since the bit was cleared.
pub const READ: u32 = 1;
/// [`Frames::state`] and [`Frames::clear`]: written since the bit was cleared.
pub const WRITE: u32 = 2;
/// [`Frames::state`]: differs from its copy in the backing store.
pub const DIRTY: u32 = 4;
/// [`Frames::state`]: must stay, and its bits as they are.
pub const PINNED: u32 = 8;

/// What a policy may see and change of the frames, while one of its functions runs and not later. Every frame that it
/// names must hold a page; if one does not, the policy has failed. Bits can be changed in `choose_victim`, `loaded`,
/// `unmapped` and `tick` alone.
#[repr(C)]
#[derive(Debug)]
pub struct Frames {
    /// The first argument of all functions.
    pub context: *mut c_void,
    /// The number of frames.
    pub count: u32,
    /// The page in a frame.
    pub page: unsafe extern "C" fn(*mut c_void, frame: u32) -> u32,
    /// [`READ`], [`WRITE`], [`DIRTY`] and [`PINNED`] of the page in a frame, together.
    pub state: unsafe extern "C" fn(*mut c_void, frame: u32) -> u32,
    /// Clears [`READ`], [`WRITE`] or both.
    pub clear: unsafe extern "C" fn(*mut c_void, frame: u32, bits: u32),
    /// Sets [`READ`].
    pub set_read: unsafe extern "C" fn(*mut c_void, frame: u32),
    /// Has the page written although it stays; in `choose_victim` alone.
    pub request_write_back: unsafe extern "C" fn(*mut c_void, frame: u32),
}

/// A policy that was made.
pub type Made = *mut c_void;

/// An event in a frame, with the frames as they are.
pub type InFrame = unsafe extern "C" fn(Made, frame: u32, *const Frames, *mut Failure) -> u32;

/// A policy: what it is, and its functions. [`PagePolicy`](clockhand_policy::page::PagePolicy) explains each event.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// The name, with hyphens.
    pub name: Text,
    /// What it does, in one line.
    pub summary: Text,
    /// Where it was published.
    pub paper: Text,
    /// Its documentation page.
    pub page: Text,
    /// [`BIT_DRIVEN`] or [`ACCESS_DRIVEN`].
    pub kind: u32,
    /// Number of parameters.
    pub parameter_count: u32,
    /// So many.
    pub parameters: *const Parameter,
    /// Makes a policy for a memory of this number of frames and distinct pages, with a value for each parameter that
    /// applies: `name=value,...`.
    pub make: unsafe extern "C" fn(
        settings: Text,
        frames: u32,
        pages: u32,
        *mut Made,
        *mut Failure,
    ) -> u32,
    /// Ends one.
    pub destroy: unsafe extern "C" fn(Made),
    /// References between two ticks; 0: none are wanted.
    pub period: unsafe extern "C" fn(Made) -> u64,
    /// A fault on a page is about to make another leave.
    pub make_room_for: unsafe extern "C" fn(Made, page: u32, *mut Failure) -> u32,
    /// Writes the frame of the page to leave next to `victim`, and forgets it.
    pub choose_victim:
        unsafe extern "C" fn(Made, *const Frames, victim: *mut u32, *mut Failure) -> u32,
    /// A page has been loaded into a frame.
    pub loaded: unsafe extern "C" fn(Made, Fault, frame: u32, *const Frames, *mut Failure) -> u32,
    /// The page in a frame is referenced; called for access-driven policies only.
    pub hit:
        unsafe extern "C" fn(Made, is_write: bool, frame: u32, *const Frames, *mut Failure) -> u32,
    /// The page leaves out of turn.
    pub dropped: InFrame,
    /// The page has been written back.
    pub written_back: InFrame,
    /// The page's mapping is gone.
    pub unmapped: InFrame,
    /// The page is dirty without having been referenced.
    pub made_dirty: InFrame,
    /// A period has ended.
    pub tick: unsafe extern "C" fn(Made, *const Frames, *mut Failure) -> u32,
}

// SAFETY: what the pointers point to never changes and stays to the end of the process, as the head of the file says.
unsafe impl Send for Policy {}
// SAFETY: as above.
unsafe impl Sync for Policy {}
// SAFETY: as above.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}
