//! The frame of every study: traces are prepared one by one, cells are computed over all threads, and each gives a
//! row.
//!
//! ```text
//! plan      prepare            tasks                     run
//! options → trace → Prepared → cells → cells together → rows, in the order of the cells
//!           next trace → Prepared, meanwhile
//! ```

mod ahead;
mod plan;
mod room;

use std::sync::{Mutex, OnceLock};

use clockhand_quantity::Text;
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use ahead::Beside;
pub(crate) use ahead::{ahead, unless_too_large};
pub(crate) use plan::Files;
pub use plan::{Cells, Columns, Given, OneCell, PlannedCell};
use room::Room;

use crate::error::SimError;
use clockhand_trace::TraceInput;
use clockhand_trace::progress::{Phase, Progress};

/// One question asked of traces. Its constructor checks everything that can be checked before a trace is read.
pub(crate) trait Study: Sync {
    /// What the cells of one trace share: page views, placed requests.
    type Prepared: Send + Sync;
    /// A cell before it is run.
    type Cell: Sync;
    /// The result of a cell: its row, and what does not fit into one.
    type Finished: Send;

    /// Reads a trace.
    fn prepare(&self, input: &TraceInput, progress: &Progress) -> Result<Self::Prepared, SimError>;

    /// The cells of a trace, in the order of its rows.
    fn cells(&self, prepared: &Self::Prepared) -> Result<Vec<Self::Cell>, SimError>;

    /// Which cells are run together, by their positions: where one replay serves several.
    fn tasks(&self, _prepared: &Self::Prepared, cells: &[Self::Cell]) -> Vec<Vec<usize>> {
        (0..cells.len()).map(|position| vec![position]).collect()
    }

    /// How many steps a task has, for the display of progress; the replay adds them to the progress.
    fn steps(&self, prepared: &Self::Prepared, task: &[&Self::Cell]) -> u64;

    /// The memory of the prepared trace; `None` if that is unknown. Then tasks are not kept waiting for memory, and the
    /// next trace is not prepared beside them.
    fn prepared_bytes(&self, _prepared: &Self::Prepared) -> Option<u64> {
        None
    }

    /// The most memory that a task takes while it runs.
    fn memory_bytes(&self, _prepared: &Self::Prepared, _task: &[&Self::Cell]) -> u64 {
        0
    }

    /// Runs the cells of one task; returns the result of each, in their order.
    fn run(
        &self,
        prepared: &Self::Prepared,
        task: &[&Self::Cell],
        progress: &Progress,
    ) -> Result<Vec<Self::Finished>, SimError>;
}

/// Called at once for each finished cell, with its position, from any thread and in any order.
pub type OnFinished<'a, F> = &'a (dyn Fn(usize, &F) + Sync);

/// Which cells of each trace are run, and who learns of them.
#[derive(Clone, Copy)]
pub struct Selection<'a, F> {
    /// The positions of the cells among all of a trace; all of them if `None`.
    pub cells: Option<&'a [usize]>,
    /// Receives each finished cell at once, with its position, from any thread and in any order.
    pub on_finished: OnFinished<'a, F>,
}

impl<F> Default for Selection<'_, F> {
    fn default() -> Self {
        Selection { cells: None, on_finished: &|_, _| () }
    }
}

impl<F> Selection<'_, F> {
    /// The positions of the selected ones of a number of cells.
    ///
    /// # Errors
    ///
    /// There is no such cell.
    pub(crate) fn positions(
        &self,
        cells: usize,
    ) -> Result<Box<dyn Iterator<Item = usize> + '_>, SimError> {
        let Some(selected) = self.cells else { return Ok(Box::new(0..cells)) };
        match selected.iter().find(|&&position| position >= cells) {
            Some(position) => Err(SimError::usage(
                format!("there is no cell {position}"),
                format!("the trace has {cells} cells, counted from 0"),
            )),
            None => Ok(Box::new(selected.iter().copied())),
        }
    }
}

/// With what the cells of a trace are run.
#[derive(Clone, Copy)]
pub(crate) struct Means<'a> {
    /// Threads; all cores if `None`.
    pub(crate) jobs: Option<usize>,
    /// The memory that a trace and its cells may take.
    pub(crate) memory_bytes: u64,
    pub(crate) progress: &'a Progress,
}

/// Runs a study on each trace in turn; `take` gets what was prepared from it and the results of the selected
/// cells.
pub(crate) fn run_study<S: Study>(
    study: &S,
    inputs: &[TraceInput],
    jobs: Option<usize>,
    progress: &Progress,
    selection: &Selection<'_, S::Finished>,
    mut take: impl FnMut(S::Prepared, Vec<S::Finished>),
) -> Result<(), SimError> {
    let mut read_ahead = None;
    for (position, input) in inputs.iter().enumerate() {
        let prepared = match read_ahead.take() {
            Some(prepared) => prepared?,
            None => study.prepare(input, progress)?,
        };
        let cells = study.cells(&prepared)?;
        let ahead_progress = progress.beside();
        let next = study
            .prepared_bytes(&prepared)
            .zip(inputs.get(position + 1))
            .and_then(|(taken_bytes, next)| ahead(input.memory_limit_bytes(), taken_bytes, next));
        let beside = next.map(|(next, bytes)| Beside {
            bytes,
            progress: &ahead_progress,
            work: Box::new(move |progress: &Progress| study.prepare(&next, progress)),
        });
        let means = Means { jobs, memory_bytes: input.memory_limit_bytes(), progress };
        let (finished, read) =
            run_cells_beside(study, &prepared, &cells, means, selection, beside)?;
        read_ahead = read.and_then(unless_too_large);
        take(prepared, finished);
    }
    Ok(())
}

/// Runs the selected ones of cells; returns the result of each, in their order.
pub(crate) fn run_cells<S: Study>(
    study: &S,
    prepared: &S::Prepared,
    cells: &[S::Cell],
    means: Means<'_>,
    selection: &Selection<'_, S::Finished>,
) -> Result<Vec<S::Finished>, SimError> {
    let nothing: Option<Beside<'_, ()>> = None;
    Ok(run_cells_beside(study, prepared, cells, means, selection, nothing)?.0)
}

/// The same, and some work beside them if there is a second thread; gives its result too.
fn run_cells_beside<S: Study, T: Send>(
    study: &S,
    prepared: &S::Prepared,
    cells: &[S::Cell],
    means: Means<'_>,
    selection: &Selection<'_, S::Finished>,
    beside: Option<Beside<'_, T>>,
) -> Result<(Vec<S::Finished>, Option<T>), SimError> {
    let progress = means.progress;
    let tasks = selected_tasks(study, prepared, cells, selection)?;
    let chosen = |task: &[usize]| task.iter().map(|&position| &cells[position]).collect::<Vec<_>>();
    let steps = tasks.iter().map(|task| study.steps(prepared, &chosen(task))).sum();
    progress.enter(Phase::Replaying, steps);
    // An error of a user's policy ends the other cells at once and is reported.
    let failed_policy = OnceLock::new();
    let ended_by_policy = |error| match error {
        SimError::OwnPolicy(failure) => {
            _ = failed_policy.set(failure);
            progress.cancel();
            SimError::Interrupted
        }
        other => other,
    };
    let threads = threads(means.jobs, tasks.len() + usize::from(beside.is_some()))?;
    let beside = beside.filter(|_| threads.current_num_threads() > 1);
    let room = room(study, prepared, means, beside.as_ref().map_or(0, |beside| beside.bytes));
    let all = Mutex::new(Vec::with_capacity(cells.len()));
    let run = |task: &Vec<usize>| {
        let cells = chosen(task);
        let _place = room.place(study.memory_bytes(prepared, &cells), progress)?;
        let finished = study.run(prepared, &cells, progress).map_err(ended_by_policy)?;
        task.iter()
            .zip(&finished)
            .for_each(|(&position, cell)| (selection.on_finished)(position, cell));
        all.lock().expect("nothing panics with it").extend(task.iter().copied().zip(finished));
        Ok(())
    };
    let (worked, done) = threads.install(|| with_work(beside, || run_each(&tasks, &run)));
    if let Some(failure) = failed_policy.into_inner() {
        return Err(SimError::OwnPolicy(failure));
    }
    done?;
    let mut all: Vec<(usize, S::Finished)> = all.into_inner().expect("nothing panics with it");
    all.sort_unstable_by_key(|(position, _)| *position);
    Ok((all.into_iter().map(|(_, finished)| finished).collect(), worked))
}

/// Runs all tasks. One by one, since a thread that worked beside them may come back for few. The threads' code is not copied for
/// each study.
fn run_each(
    tasks: &[Vec<usize>],
    run: &(dyn Fn(&Vec<usize>) -> Result<(), SimError> + Sync),
) -> Result<(), SimError> {
    tasks.par_iter().with_max_len(1).try_for_each(run)
}

/// Does some work beside the cells, which is ended where they fail.
fn with_work<T: Send>(
    beside: Option<Beside<'_, T>>,
    run_all: impl FnOnce() -> Result<(), SimError> + Send,
) -> (Option<T>, Result<(), SimError>) {
    let Some(Beside { progress, work, .. }) = beside else { return (None, run_all()) };
    let run_all = || {
        let done = run_all();
        if done.is_err() {
            progress.cancel();
        }
        done
    };
    let (worked, done) = rayon::join(|| work(progress), run_all);
    (Some(worked), done)
}

/// The room for tasks, without the prepared trace and the given work.
fn room<S: Study>(study: &S, prepared: &S::Prepared, means: Means<'_>, beside_bytes: u64) -> Room {
    Room::of(match study.prepared_bytes(prepared) {
        Some(taken_bytes) => {
            means.memory_bytes.saturating_sub(taken_bytes).saturating_sub(beside_bytes)
        }
        None => u64::MAX,
    })
}

/// The tasks of the selected cells.
fn selected_tasks<S: Study>(
    study: &S,
    prepared: &S::Prepared,
    cells: &[S::Cell],
    selection: &Selection<'_, S::Finished>,
) -> Result<Vec<Vec<usize>>, SimError> {
    let mut tasks = study.tasks(prepared, cells);
    if selection.cells.is_some() {
        let is_wanted = selection.positions(cells.len())?.collect::<FxHashSet<usize>>();
        tasks.iter_mut().for_each(|task| task.retain(|position| is_wanted.contains(position)));
        tasks.retain(|task| !task.is_empty());
    }
    Ok(tasks)
}

/// Threads for a number of tasks: more would have nothing to do.
pub(crate) fn threads(jobs: Option<usize>, tasks: usize) -> Result<rayon::ThreadPool, SimError> {
    let jobs = jobs.map_or(0, |jobs| jobs.min(tasks));
    let threads = rayon::ThreadPoolBuilder::new().num_threads(jobs).build();
    threads.map_err(|error| {
        SimError::usage(format!("cannot start threads: {error}"), "give fewer jobs")
    })
}

/// Refuses an empty list of what a study needs; `example` is an option that gives some.
pub(crate) fn check_given<T>(
    list: &[T],
    what: &str,
    example: impl Into<Text>,
) -> Result<(), SimError> {
    match list.is_empty() {
        true => Err(SimError::usage(format!("no {what} is given"), Text::from("add ") + example)),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests;
