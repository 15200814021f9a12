//! What a policy in Python sees of the frames: only while one of its methods runs, and never more than the engine's own
//! policies see.

use clockhand_policy::own::{Occupancy, Place};
use clockhand_policy::{Frame, Frames};
use pyo3::exceptions::{PyIndexError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use scoped_tls_hkt::scoped_thread_local;

/// The frames during a call that may change them, or may not.
pub(super) enum Access<'a> {
    Read(&'a dyn Frames),
    Change(&'a mut dyn Frames),
}

/// The frames while a method of a policy runs.
pub(super) struct Call<'a, 'p> {
    pub(super) access: Access<'a>,
    pub(super) occupancy: &'p Occupancy,
    /// True if a victim is chosen: then pages may be asked to be written.
    pub(super) is_choice: bool,
}

trait Seen {
    fn frames(&self) -> &dyn Frames;
    fn changed(&mut self) -> PyResult<&mut dyn Frames>;
    fn occupancy(&self) -> &Occupancy;
    fn is_choice(&self) -> bool;
}

impl Seen for Call<'_, '_> {
    fn frames(&self) -> &dyn Frames {
        match &self.access {
            Access::Read(frames) => *frames,
            Access::Change(frames) => *frames,
        }
    }

    fn changed(&mut self) -> PyResult<&mut dyn Frames> {
        match &mut self.access {
            Access::Change(frames) => Ok(*frames),
            Access::Read(_) => Err(PyRuntimeError::new_err(
                "bits can be changed in choose_victim, loaded and tick alone, as on real memory",
            )),
        }
    }

    fn occupancy(&self) -> &Occupancy {
        self.occupancy
    }

    fn is_choice(&self) -> bool {
        self.is_choice
    }
}

scoped_thread_local!(static mut CALL: for<'a> &'a mut dyn Seen);

/// Runs `method`, which may look at the frames of `call`.
pub(super) fn during<R>(call: &mut Call<'_, '_>, method: impl FnOnce() -> R) -> R {
    CALL.set(call, method)
}

fn look<R>(look: impl FnOnce(&mut dyn Seen) -> PyResult<R>) -> PyResult<R> {
    if !CALL.is_set() {
        return Err(PyRuntimeError::new_err(
            "frames can be looked at only while Clockhand calls a method of the policy that has frames, and in its thread",
        ));
    }
    CALL.with(|seen| look(seen))
}

/// Looks at a frame that holds a page.
fn look_at<R>(frame: i64, act: impl FnOnce(&mut dyn Seen, Frame) -> PyResult<R>) -> PyResult<R> {
    look(|seen| match seen.occupancy().place(frame) {
        Some(Place::Held | Place::Leaving) => act(seen, Frame(frame as u32)),
        Some(Place::Free) => Err(PyValueError::new_err(format!("frame {frame} holds no page"))),
        None => Err(PyIndexError::new_err(format!(
            "there is no frame {frame}; they go from 0 to {}",
            seen.occupancy().frames() - 1
        ))),
    })
}

fn change(frame: i64, act: impl FnOnce(&mut dyn Frames, Frame)) -> PyResult<()> {
    look_at(frame, |seen, frame| {
        act(seen.changed()?, frame);
        Ok(())
    })
}

/// The frames as a policy sees them; every method takes the number of a frame that holds a page.
#[pyclass(frozen, name = "Frames", module = "clockhand._engine")]
pub(crate) struct SeenFrames;

#[pymethods]
impl SeenFrames {
    /// The number of frames, free ones too.
    fn __len__(&self) -> PyResult<usize> {
        look(|seen| Ok(seen.occupancy().frames() as usize))
    }

    /// Whether a frame holds a page.
    #[pyo3(signature = (frame, /))]
    fn holds_page(&self, frame: i64) -> PyResult<bool> {
        look(|seen| {
            let place = seen.occupancy().place(frame);
            Ok(place.is_some_and(|place| place != Place::Free))
        })
    }

    /// The number of the page in a frame.
    #[pyo3(signature = (frame, /))]
    fn page(&self, frame: i64) -> PyResult<u32> {
        look_at(frame, |seen, frame| Ok(seen.frames().page(frame).0))
    }

    /// Return whether the page was read since its read bit was last cleared.
    #[pyo3(signature = (frame, /))]
    fn read_bit(&self, frame: i64) -> PyResult<bool> {
        look_at(frame, |seen, frame| Ok(seen.frames().read_bit(frame)))
    }

    /// Return whether the page was written since its write bit was last cleared.
    #[pyo3(signature = (frame, /))]
    fn write_bit(&self, frame: i64) -> PyResult<bool> {
        look_at(frame, |seen, frame| Ok(seen.frames().write_bit(frame)))
    }

    /// Return whether the page was read or written since its bits were last cleared.
    #[pyo3(signature = (frame, /))]
    fn is_referenced(&self, frame: i64) -> PyResult<bool> {
        look_at(frame, |seen, frame| Ok(seen.frames().is_referenced(frame)))
    }

    /// Whether the page differs from its copy in the backing store.
    #[pyo3(signature = (frame, /))]
    fn is_dirty(&self, frame: i64) -> PyResult<bool> {
        look_at(frame, |seen, frame| Ok(seen.frames().is_dirty(frame)))
    }

    /// Whether the page must stay.
    #[pyo3(signature = (frame, /))]
    fn is_pinned(&self, frame: i64) -> PyResult<bool> {
        look_at(frame, |seen, frame| Ok(seen.frames().is_pinned(frame)))
    }

    /// Clears the read bit.
    #[pyo3(signature = (frame, /))]
    fn clear_read_bit(&self, frame: i64) -> PyResult<()> {
        change(frame, |frames, frame| frames.clear_read_bit(frame))
    }

    /// Clears the write bit.
    #[pyo3(signature = (frame, /))]
    fn clear_write_bit(&self, frame: i64) -> PyResult<()> {
        change(frame, |frames, frame| frames.clear_write_bit(frame))
    }

    /// Clears both bits.
    #[pyo3(signature = (frame, /))]
    fn clear_bits(&self, frame: i64) -> PyResult<()> {
        change(frame, |frames, frame| frames.clear_bits(frame))
    }

    /// Sets the read bit, for a policy that inserts pages as referenced.
    #[pyo3(signature = (frame, /))]
    fn set_read_bit(&self, frame: i64) -> PyResult<()> {
        change(frame, |frames, frame| frames.set_read_bit(frame))
    }

    /// Asks that the page be written although it stays in memory.
    #[pyo3(signature = (frame, /))]
    fn request_write_back(&self, frame: i64) -> PyResult<()> {
        look_at(frame, |seen, frame| {
            if !seen.is_choice() {
                return Err(PyRuntimeError::new_err(
                    "pages can be asked to be written in choose_victim alone",
                ));
            }
            seen.changed()?.request_write_back(frame);
            Ok(())
        })
    }
}
