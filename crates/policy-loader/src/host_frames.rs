//! The functions by which a library looks at frames. Nothing that it asks can do harm: a frame that holds no page, or a
//! change at a wrong time, is noted, and the policy has failed.

use std::ffi::c_void;

use clockhand_policy::own::{Occupancy, Place};
use clockhand_policy::{Frame, Frames};
use clockhand_policy_library::abi;

/// The frames during a call that may change them, or may not.
pub(crate) enum Access<'a> {
    Read(&'a dyn Frames),
    Change(&'a mut dyn Frames),
}

/// The frames while a function of a policy runs.
pub(crate) struct Call<'a, 'p> {
    pub(crate) access: Access<'a>,
    pub(crate) occupancy: &'p Occupancy,
    /// True if a victim is chosen: then pages may be asked to be written.
    pub(crate) is_choice: bool,
    /// What the policy did first that it may not, as what it did.
    pub(crate) wrong: Option<String>,
}

impl Call<'_, '_> {
    /// Runs `act` with the frames as the library takes them.
    pub(crate) fn during<R>(&mut self, act: impl FnOnce(*const abi::Frames) -> R) -> R {
        let count = self.occupancy.frames();
        let frames = abi::Frames {
            context: (&raw mut *self).cast(),
            count,
            page,
            state,
            clear,
            set_read,
            request_write_back,
        };
        act(&frames)
    }

    fn note(&mut self, wrong: String) {
        self.wrong.get_or_insert(wrong);
    }

    /// A frame that holds a page, also one that is about to leave.
    fn held(&mut self, number: u32) -> Option<Frame> {
        match self.occupancy.place(number.into()) {
            Some(Place::Held | Place::Leaving) => return Some(Frame(number)),
            Some(Place::Free) => {
                self.note(format!("asked about frame {number}, which holds no page,"))
            }
            None => self.note(format!(
                "asked about frame {number}, which there is not (they go from 0 to {}),",
                self.occupancy.frames() - 1
            )),
        }
        None
    }

    fn look<R>(
        &mut self,
        number: u32,
        nothing: R,
        look: impl FnOnce(&dyn Frames, Frame) -> R,
    ) -> R {
        let Some(frame) = self.held(number) else { return nothing };
        match &self.access {
            Access::Read(frames) => look(*frames, frame),
            Access::Change(frames) => look(&**frames, frame),
        }
    }

    fn change(&mut self, number: u32, change: impl FnOnce(&mut dyn Frames, Frame)) {
        let Some(frame) = self.held(number) else { return };
        match &mut self.access {
            Access::Change(frames) => change(*frames, frame),
            Access::Read(_) => self.note("changed bits, which it may not there,".to_owned()),
        }
    }
}

/// The call that a library's argument stands for.
///
/// # Safety
///
/// `context` must be that of the call that runs, as the library was given it.
unsafe fn call<'a>(context: *mut c_void) -> &'a mut Call<'a, 'a> {
    // SAFETY: as the caller says; `during` holds the only other reference, and does not use it now.
    unsafe { &mut *context.cast() }
}

unsafe extern "C" fn page(context: *mut c_void, frame: u32) -> u32 {
    // SAFETY: the library passes on what it was given.
    let call = unsafe { call(context) };
    call.look(frame, u32::MAX, |frames, frame| frames.page(frame).0)
}

unsafe extern "C" fn state(context: *mut c_void, frame: u32) -> u32 {
    // SAFETY: as in `page`.
    let call = unsafe { call(context) };
    call.look(frame, 0, |frames, frame| {
        [
            (frames.read_bit(frame), abi::READ),
            (frames.write_bit(frame), abi::WRITE),
            (frames.is_dirty(frame), abi::DIRTY),
            (frames.is_pinned(frame), abi::PINNED),
        ]
        .into_iter()
        .fold(0, |state, (is_set, bit)| if is_set { state | bit } else { state })
    })
}

unsafe extern "C" fn clear(context: *mut c_void, frame: u32, bits: u32) {
    // SAFETY: as in `page`.
    let call = unsafe { call(context) };
    call.change(frame, |frames, frame| match bits & (abi::READ | abi::WRITE) {
        abi::READ => frames.clear_read_bit(frame),
        abi::WRITE => frames.clear_write_bit(frame),
        0 => {}
        _ => frames.clear_bits(frame),
    });
}

unsafe extern "C" fn set_read(context: *mut c_void, frame: u32) {
    // SAFETY: as in `page`.
    let call = unsafe { call(context) };
    call.change(frame, |frames, frame| frames.set_read_bit(frame));
}

unsafe extern "C" fn request_write_back(context: *mut c_void, frame: u32) {
    // SAFETY: as in `page`.
    let call = unsafe { call(context) };
    if !call.is_choice {
        return call.note("asked for a write-back, which only choose_victim may,".to_owned());
    }
    call.change(frame, |frames, frame| frames.request_write_back(frame));
}
