//! A policy in Python at work in one cell: its object, and what is checked of its answers.

use std::fmt;
use std::num::NonZeroU64;

use clockhand_policy::catalog::Size;
use clockhand_policy::own::{Failure, Occupancy, OwnPolicy, REMEDY_OF_VICTIM};
use clockhand_policy::page::Fault;
use clockhand_policy::parameters::Settings;
use clockhand_policy::{Frame, Frames, Op, PageId};
use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

use super::classes::Class;
use super::frames::{Access, Call, SeenFrames, during};
use crate::errors::ClockhandError;

/// An exception on its way through the engine.
#[derive(Debug)]
pub(crate) struct PolicyError(pub(crate) PyErr);

impl fmt::Display for PolicyError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl std::error::Error for PolicyError {}

/// The methods of a policy's object, those that it has.
struct Methods {
    make_room_for: Option<Py<PyAny>>,
    choose_victim: Option<Py<PyAny>>,
    loaded: Option<Py<PyAny>>,
    hit: Option<Py<PyAny>>,
    dropped: Option<Py<PyAny>>,
    written_back: Option<Py<PyAny>>,
    tick: Option<Py<PyAny>>,
    /// What they see of the frames.
    frames: Py<SeenFrames>,
}

impl Methods {
    fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let method = |name: &str| Ok::<_, PyErr>(object.getattr_opt(name)?.map(Bound::unbind));
        Ok(Methods {
            make_room_for: method("make_room_for")?,
            choose_victim: method("choose_victim")?,
            loaded: method("loaded")?,
            hit: method("hit")?,
            dropped: method("dropped")?,
            written_back: method("written_back")?,
            tick: method("tick")?,
            frames: Py::new(object.py(), SeenFrames)?,
        })
    }
}

/// A policy in Python in a memory of a known size.
///
/// Its object is made at the first event, so that nothing of the user's runs before it is needed. Once it has failed it
/// is not called again, and frames leave in turn until the driver notices.
pub(super) struct Instance {
    class: &'static Class,
    settings: Settings,
    size: Size,
    methods: Option<Methods>,
    occupancy: Occupancy,
    failure: Option<Failure>,
    has_failed: bool,
}

impl Instance {
    pub(super) fn new(class: &'static Class, settings: Settings, size: Size) -> Self {
        Instance {
            class,
            settings,
            size,
            methods: None,
            occupancy: Occupancy::new(size.frames),
            failure: None,
            has_failed: false,
        }
    }

    fn fail(&mut self, error: PyErr) {
        if !self.has_failed {
            self.failure = Some(Box::new(PolicyError(error)));
            self.has_failed = true;
        }
    }

    /// Where it is, in words.
    fn place(&self) -> String {
        self.occupancy.in_words(self.class.sees_hits)
    }

    fn refuse(&mut self, method: &str, wrong: &str, remedy: &str) {
        let (name, place) = (self.class.name, self.place());
        self.fail(ClockhandError::new_err(format!(
            "policy {name}: {method} {wrong} at {place}; {remedy}"
        )));
    }

    /// What the user's own code raised, with a note about the place.
    fn raised(&mut self, py: Python<'_>, method: &str, error: PyErr) {
        if !error.is_instance_of::<PyException>(py) {
            return self.refuse(method, &format!("raised {error}"), "let it return");
        }
        let note = format!("policy {}: {method} raised this at {}", self.class.name, self.place());
        // An exception that takes no note or attribute is raised as it is.
        _ = error.add_note(py, note.as_str());
        _ = error.value(py).setattr("clockhand_policy", (self.class.name, error.traceback(py)));
        self.fail(error);
    }

    /// Makes the object at the first event; whether there is one that can be called.
    fn is_at_work(&mut self, py: Python<'_>) -> bool {
        if self.methods.is_none() && !self.has_failed {
            let object = self.class.object(py, &self.settings, self.size);
            match object.and_then(|object| Methods::of(&object)) {
                Ok(methods) => self.methods = Some(methods),
                Err(error) => self.raised(py, "__init__", error),
            }
        }
        !self.has_failed
    }

    /// Calls the method that `choose` takes, if there is one, with what `arguments` makes of the frames' object.
    fn call<'py, A: PyCallArgs<'py>>(
        &mut self,
        py: Python<'py>,
        name: &str,
        access: Option<Access<'_>>,
        choose: impl FnOnce(&Methods) -> &Option<Py<PyAny>>,
        arguments: impl FnOnce(&Bound<'py, SeenFrames>) -> A,
    ) -> Option<Bound<'py, PyAny>> {
        if !self.is_at_work(py) {
            return None;
        }
        let methods = self.methods.as_ref()?;
        let method = choose(methods).as_ref()?.bind(py);
        let arguments = arguments(methods.frames.bind(py));
        let result = match access {
            None => method.call1(arguments),
            Some(access) => {
                let is_choice = name == "choose_victim";
                let mut call = Call { access, occupancy: &self.occupancy, is_choice };
                during(&mut call, || method.call1(arguments))
            }
        };
        result.map_err(|error| self.raised(py, name, error)).ok()
    }

    /// Why a page cannot be chosen.
    fn wrong_victim(
        &self,
        chosen: &Bound<'_, PyAny>,
        frames: &dyn Frames,
    ) -> Result<Frame, String> {
        let shown =
            || chosen.repr().map_or_else(|_| "an object".to_owned(), |text| text.to_string());
        let Ok(number) = chosen.extract::<i64>() else {
            return Err(format!("returned {}, which is no number of a frame,", shown()));
        };
        self.occupancy.victim(number, frames)
    }

    fn with_python(&mut self, act: impl FnOnce(&mut Self, Python<'_>)) {
        if self.has_failed {
            return;
        }
        // The interpreter may be on its way out.
        if Python::try_attach(|py| act(self, py)).is_none() {
            self.has_failed = true;
        }
    }
}

impl OwnPolicy for Instance {
    fn make_room_for(&mut self, page: PageId) {
        self.with_python(|own, py| {
            own.call(py, "make_room_for", None, |methods| &methods.make_room_for, |_| (page.0,));
        });
    }

    fn choose_victim(&mut self, frames: &mut dyn Frames) -> Frame {
        let mut victim = None;
        self.with_python(|own, py| {
            let access = Some(Access::Change(&mut *frames));
            let chosen = own.call(
                py,
                "choose_victim",
                access,
                |methods| &methods.choose_victim,
                |seen| (seen.clone(),),
            );
            let Some(chosen) = chosen else { return };
            match own.wrong_victim(&chosen, frames) {
                Ok(frame) => victim = Some(frame),
                Err(wrong) => {
                    own.refuse("choose_victim", &wrong, REMEDY_OF_VICTIM);
                }
            }
        });
        let victim = victim.unwrap_or_else(|| self.occupancy.in_turn(frames));
        self.occupancy.chosen(victim);
        victim
    }

    fn loaded(&mut self, fault: Fault, frame: Frame, frames: &mut dyn Frames) {
        self.occupancy.loaded(frame);
        let is_write = fault.op == Op::Write;
        self.with_python(|own, py| {
            let access = Some(Access::Change(frames));
            own.call(
                py,
                "loaded",
                access,
                |methods| &methods.loaded,
                |seen| (frame.0, fault.page.0, is_write, seen.clone()),
            );
        });
    }

    fn hit(&mut self, op: Op, frame: Frame, frames: &dyn Frames) {
        self.occupancy.hit();
        self.with_python(|own, py| {
            let access = Some(Access::Read(frames));
            own.call(
                py,
                "hit",
                access,
                |methods| &methods.hit,
                |seen| (frame.0, op == Op::Write, seen.clone()),
            );
        });
    }

    fn dropped(&mut self, frame: Frame, frames: &dyn Frames) {
        self.with_python(|own, py| {
            if own.is_at_work(py)
                && own.methods.as_ref().is_some_and(|methods| methods.dropped.is_none())
            {
                let remedy = "add it, and forget the frame there";
                return own.refuse(
                    "dropped(frame, frames)",
                    "is missing, and a page was dropped",
                    remedy,
                );
            }
            let access = Some(Access::Read(frames));
            own.call(
                py,
                "dropped",
                access,
                |methods| &methods.dropped,
                |seen| (frame.0, seen.clone()),
            );
        });
        self.occupancy.dropped(frame);
    }

    fn written_back(&mut self, frame: Frame, frames: &dyn Frames) {
        self.with_python(|own, py| {
            let access = Some(Access::Read(frames));
            own.call(
                py,
                "written_back",
                access,
                |methods| &methods.written_back,
                |seen| (frame.0, seen.clone()),
            );
        });
    }

    fn period(&self) -> Option<NonZeroU64> {
        self.class.period
    }

    fn tick(&mut self, frames: &mut dyn Frames) {
        self.with_python(|own, py| {
            let access = Some(Access::Change(frames));
            own.call(py, "tick", access, |methods| &methods.tick, |seen| (seen.clone(),));
        });
    }

    fn failure(&mut self) -> Option<Failure> {
        // Others who wait for the interpreter get a turn, also where no page faults for long.
        _ = Python::try_attach(|py| py.detach(|| ()));
        self.failure.take()
    }
}
