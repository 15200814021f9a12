//! The frame with a study of its own: traces in turn, and the next one ahead.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use clockhand_trace::{Folding, Op, PageViewBuilder, Request, TraceError};

use super::*;

const LIMIT_BYTES: u64 = 1 << 30;

/// A study of two cells for each trace, which notes what it does.
struct Watched {
    events: Mutex<Vec<String>>,
    b_begins: Sender<()>,
    /// The event that a cell of `a` waits for, if any.
    b_began: Option<Mutex<Receiver<()>>>,
    taken_bytes: u64,
    /// How `b` fails to be prepared.
    failure: Option<fn(bool) -> Option<SimError>>,
}

impl Watched {
    fn new(waits: bool) -> Self {
        let (b_begins, b_began) = channel();
        let b_began = waits.then_some(Mutex::new(b_began));
        Watched { events: Mutex::default(), b_begins, b_began, taken_bytes: 0, failure: None }
    }

    fn note(&self, event: String) {
        self.events.lock().unwrap().push(event);
    }

    /// The rows of both traces, or the error, and what was done; the rows come as events too, when they are taken.
    fn run(&self, jobs: usize) -> (Option<SimError>, Vec<String>) {
        let inputs = ["a", "b"].map(|name| TraceInput::file(name).within(LIMIT_BYTES).unwrap());
        let (progress, selection) = (Progress::default(), Selection::default());
        let done = run_study(self, &inputs, Some(jobs), &progress, &selection, |_, rows| {
            self.note(format!("take {}", rows.join(" ")));
        });
        (done.err(), std::mem::take(&mut *self.events.lock().unwrap()))
    }
}

impl Study for Watched {
    type Prepared = String;
    type Cell = String;
    type Finished = String;

    fn prepare(&self, input: &TraceInput, _: &Progress) -> Result<String, SimError> {
        let name = input.name();
        self.note(format!("prepare {name}"));
        if name == "b" {
            // An error means that no cell waits.
            _ = self.b_begins.send(());
            let is_ahead = input.memory_limit_bytes() < LIMIT_BYTES;
            if let Some(error) = self.failure.and_then(|failure| failure(is_ahead)) {
                return Err(error);
            }
        }
        Ok(name)
    }

    fn cells(&self, name: &String) -> Result<Vec<String>, SimError> {
        Ok(vec![format!("{name}0"), format!("{name}1")])
    }

    fn steps(&self, _: &String, _: &[&String]) -> u64 {
        1
    }

    fn prepared_bytes(&self, _: &String) -> Option<u64> {
        Some(self.taken_bytes)
    }

    fn run(&self, _: &String, task: &[&String], _: &Progress) -> Result<Vec<String>, SimError> {
        if let (Some(b_began), "a0") = (&self.b_began, task[0].as_str()) {
            let waited = b_began.lock().unwrap().recv_timeout(Duration::from_secs(60));
            waited.expect("b is begun while a cell of a runs");
        }
        self.note("run".to_owned());
        Ok(vec![task[0].clone()])
    }
}

const IN_TURN: [&str; 8] =
    ["prepare a", "run", "run", "take a0 a1", "prepare b", "run", "run", "take b0 b1"];

#[test]
fn the_next_trace_is_prepared_beside_the_cells_of_the_one_before() {
    let (error, events) = Watched::new(true).run(2);
    assert!(error.is_none());
    assert_eq!(events.iter().filter(|event| *event == "prepare b").count(), 1, "{events:?}");
    assert_eq!(events.last().unwrap(), "take b0 b1");
}

#[test]
fn traces_are_prepared_in_turn_with_one_thread_or_without_memory_for_two() {
    assert_eq!(Watched::new(false).run(1).1, IN_TURN);
    let large = Watched { taken_bytes: LIMIT_BYTES / 4 + 1, ..Watched::new(false) };
    assert_eq!(large.run(2).1, IN_TURN);
}

fn too_large(is_ahead: bool) -> Option<SimError> {
    let mut builder = PageViewBuilder::new(4096, Folding::Runs).unwrap().within(0);
    builder.push(&Request::new(Op::Read, 0, 1));
    let too_large = builder.finish().unwrap_err();
    assert!(matches!(too_large, TraceError::TooMuchMemory { .. }));
    is_ahead.then_some(too_large.into())
}

#[test]
fn a_trace_that_is_too_large_for_its_share_is_prepared_again_in_its_turn() {
    let (error, events) = Watched { failure: Some(too_large), ..Watched::new(true) }.run(2);
    assert!(error.is_none());
    assert_eq!(events.iter().filter(|event| *event == "prepare b").count(), 2, "{events:?}");
    assert_eq!(events[events.len() - 4..], IN_TURN[4..]);
}

#[test]
fn a_trace_that_cannot_be_read_is_told_of_when_it_is_its_turn() {
    let failure = |_| Some(SimError::Interrupted);
    let (error, events) = Watched { failure: Some(failure), ..Watched::new(true) }.run(2);
    assert!(matches!(error, Some(SimError::Interrupted)));
    assert_eq!(events.last().unwrap(), "take a0 a1");
    assert_eq!(events.iter().filter(|event| *event == "prepare b").count(), 1, "{events:?}");
}
