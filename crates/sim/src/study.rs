//! The frame of every study: traces are prepared one by one, cells are computed over all threads, and each gives a
//! row.
//!
//! ```text
//! plan      prepare            tasks                     run
//! options → trace → Prepared → cells → cells together → rows, in the order of the cells
//! ```

use std::sync::OnceLock;

use clockhand_trace::ReadReport;
use rayon::prelude::*;

use crate::room::Room;
use crate::{Phase, Progress, SimError, TraceInput};

/// One question asked of traces. What can be checked before a trace is read is checked when it is made.
pub(crate) trait Study: Sync {
    /// What the cells of one trace share: page views, placed requests.
    type Prepared: Sync;
    /// A cell before it is run.
    type Cell: Sync;
    /// What a cell gives: its row, and what does not fit into one.
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

    /// How much memory all tasks that run at the same time may take together.
    fn memory_left_bytes(&self, _prepared: &Self::Prepared) -> u64 {
        u64::MAX
    }

    /// How much memory a task takes while it runs, at most.
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
pub type Told<'a, F> = &'a (dyn Fn(usize, &F) + Sync);

/// Which cells of each trace are run, and who is told of them.
#[derive(Clone, Copy)]
pub struct Selection<'a, F> {
    /// The positions of the cells among all of a trace; all of them if `None`.
    pub cells: Option<&'a [usize]>,
    /// Is told of each finished cell at once, with its position, from any thread and in any order.
    pub told: Told<'a, F>,
}

impl<F> Default for Selection<'_, F> {
    fn default() -> Self {
        Selection { cells: None, told: &|_, _| () }
    }
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
    for input in inputs {
        let prepared = study.prepare(input, progress)?;
        let cells = study.cells(&prepared)?;
        let finished = run_cells(study, &prepared, &cells, jobs, progress, selection)?;
        take(prepared, finished);
    }
    Ok(())
}

/// Runs the selected ones of cells over `jobs` threads, all cores if `None`; returns the result of each, in their
/// order.
pub(crate) fn run_cells<S: Study>(
    study: &S,
    prepared: &S::Prepared,
    cells: &[S::Cell],
    jobs: Option<usize>,
    progress: &Progress,
    selection: &Selection<'_, S::Finished>,
) -> Result<Vec<S::Finished>, SimError> {
    let mut tasks = study.tasks(prepared, cells);
    if let Some(wanted) = selection.cells {
        check_positions(wanted, cells.len())?;
        let is_wanted = wanted.iter().copied().collect::<rustc_hash::FxHashSet<usize>>();
        tasks.iter_mut().for_each(|task| task.retain(|position| is_wanted.contains(position)));
        tasks.retain(|task| !task.is_empty());
    }
    let chosen = |task: &[usize]| task.iter().map(|&position| &cells[position]).collect::<Vec<_>>();
    let steps = tasks.iter().map(|task| study.steps(prepared, &chosen(task))).sum();
    progress.enter(Phase::Replaying, steps);
    // What a policy of the user's own did wrong ends the other cells at once, and is what the user is told.
    let failed_policy = OnceLock::new();
    let ended_by_policy = |error| match error {
        SimError::OwnPolicy(failure) => {
            _ = failed_policy.set(failure);
            progress.cancel();
            SimError::Interrupted
        }
        other => other,
    };
    let room = Room::of(study.memory_left_bytes(prepared));
    let run = |task: &Vec<usize>| {
        let cells = chosen(task);
        let _place = room.place(study.memory_bytes(prepared, &cells), progress)?;
        let finished = study.run(prepared, &cells, progress).map_err(ended_by_policy)?;
        task.iter().zip(&finished).for_each(|(&position, cell)| (selection.told)(position, cell));
        Ok(task.iter().copied().zip(finished).collect::<Vec<_>>())
    };
    let threads = threads(jobs, tasks.len())?;
    let done: Result<Vec<_>, SimError> = threads.install(|| tasks.par_iter().map(run).collect());
    if let Some(failure) = failed_policy.into_inner() {
        return Err(SimError::OwnPolicy(failure));
    }
    let mut all: Vec<(usize, S::Finished)> = done?.into_iter().flatten().collect();
    all.sort_unstable_by_key(|(position, _)| *position);
    Ok(all.into_iter().map(|(_, finished)| finished).collect())
}

fn check_positions(wanted: &[usize], cells: usize) -> Result<(), SimError> {
    match wanted.iter().find(|&&position| position >= cells) {
        Some(position) => Err(SimError::Usage(format!(
            "there is no cell {position}; the trace has {cells} cells, counted from 0"
        ))),
        None => Ok(()),
    }
}

/// Threads for a number of tasks: more would have nothing to do.
pub(crate) fn threads(jobs: Option<usize>, tasks: usize) -> Result<rayon::ThreadPool, SimError> {
    let jobs = jobs.map_or(0, |jobs| jobs.min(tasks));
    let threads = rayon::ThreadPoolBuilder::new().num_threads(jobs).build();
    threads.map_err(|error| SimError::Usage(format!("cannot start threads: {error}")))
}

/// Refuses an empty list of what a study needs.
pub(crate) fn check_given<T>(list: &[T], what: &str, option: &str) -> Result<(), SimError> {
    match list.is_empty() {
        true => Err(SimError::Usage(format!("no {what} is given; add {option}"))),
        false => Ok(()),
    }
}

/// What a trace turned out to be while it was read.
#[derive(Clone, Debug)]
pub struct ReadTrace {
    /// What the rows of the result call it.
    pub name: String,
    /// Format, skipped lines, labels, hash.
    pub report: ReadReport,
    /// Page references.
    pub references: u64,
    /// Page references that read.
    pub read_references: u64,
    /// Page references that write.
    pub write_references: u64,
    /// Distinct pages.
    pub footprint_pages: u32,
    /// Distinct pages that were written.
    pub dirty_footprint_pages: u32,
}
