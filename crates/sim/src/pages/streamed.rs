//! One cell of one trace, replayed while the trace is read: from the file to the answer in one pass, without a view.
//!
//! The counts are those of a replay of the whole view. Streaming needs a number of frames that does not depend on the
//! footprint, and a policy that ignores the numbers of pages and takes more pages as they come. A memory is never
//! larger than the footprint; so the replay begins once the trace has had as many pages as frames.

use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::thread::{self, Builder};

use clockhand_policy::catalog::{PolicySpec, ResolvedPolicy, Size, Visitor};
use clockhand_policy::page::{AccessDriven, BitDriven, Offline};
use clockhand_trace::{PageViewBuilder, RunStream, TraceInput};

use super::row::RowsOf;
use super::{Experiment, PagesStudy};
use crate::contestant::Contestant;
use crate::error::SimError;
use crate::intervals::Part;
use crate::memory_size::MemorySize;
use crate::pages::Row;
use crate::pricing::Pricing;
use crate::read_trace::ReadTrace;
use crate::replay::{Cell, Counts, Runs};
use crate::views::{counted_trace, folding_for};
use clockhand_trace::progress::Progress;

/// Asks whether a policy can be replayed before the number of pages and their order are known.
struct CanBegin;

impl Visitor for CanBegin {
    type Output = bool;

    fn bit_driven<P: BitDriven + 'static>(self, _: P) -> bool {
        P::TAKES_MORE_PAGES && !P::PAGE_NUMBERS_MATTER
    }

    fn access_driven<P: AccessDriven + 'static>(self, _: P) -> bool {
        P::TAKES_MORE_PAGES && !P::PAGE_NUMBERS_MATTER
    }

    fn offline<P: Offline + 'static>(self, _: P) -> bool {
        false
    }
}

/// A cell that is all of an experiment.
pub(super) struct StreamedCell<'a> {
    experiment: &'a Experiment,
    input: &'a TraceInput,
    policy: PolicySpec,
    resolved: ResolvedPolicy,
    /// All of the memory.
    frames: u32,
}

impl<'a> StreamedCell<'a> {
    /// The cell of the experiment, if it is the only one and can be replayed while its trace is read.
    pub(super) fn of(
        experiment: &'a Experiment,
        pricing: &Pricing,
    ) -> Result<Option<Self>, SimError> {
        let ([input], [Contestant::Policy(policy)], [size]) =
            (&*experiment.traces, &*experiment.policies, &*experiment.sizes)
        else {
            return Ok(None);
        };
        let threads =
            experiment.jobs.or_else(|| thread::available_parallelism().ok().map(NonZeroUsize::get));
        let depends_on_trace = matches!(size, MemorySize::Share { .. });
        let is_kept = input.scratch().is_some()
            || experiment.observation.is_some()
            || experiment.io_log.is_some()
            || !experiment.intervals.is_off();
        if threads.is_none_or(|threads| threads < 2) || depends_on_trace || is_kept {
            return Ok(None);
        }
        let frames = size.frames(0, experiment.page_bytes);
        let policy = policy.clone().with_seed(experiment.seed);
        let policy_frames = experiment.policy_frames(frames);
        let resolved = policy.resolve(policy_frames, pricing.device_ratio)?;
        let can_begin = resolved.build(Size { frames: 1, pages: 1 }, CanBegin);
        let cell = StreamedCell { experiment, input, policy, resolved, frames };
        Ok(can_begin.then_some(cell))
    }

    /// Runs the cell.
    pub(super) fn run(
        &self,
        study: &PagesStudy<'_>,
        progress: &Progress,
    ) -> Result<(ReadTrace, Row), SimError> {
        let StreamedCell { experiment, input, policy, resolved, frames } = self;
        let policy_frames = experiment.policy_frames(*frames);
        let builder = PageViewBuilder::new(experiment.page_bytes, folding_for(resolved))?;
        let builder = builder.within(input.memory_limit_bytes());
        let (builder, runs) = builder.on_stream(policy_frames);
        let beside = progress.beside();
        let replay = || self.replay(runs, policy_frames, &beside);
        let (trace, counts) = read_beside(input, builder, progress, replay)?;
        let part = Part::whole(&trace);
        let rows = RowsOf { experiment, pricing: &study.pricing, part };
        let row = rows.row_of_policy(*frames, policy, resolved, counts);
        Ok((trace, row))
    }

    /// Replays the runs as they come; a trace without any, and one that cannot be read, is an error elsewhere.
    fn replay(
        &self,
        mut runs: RunStream,
        frames: u32,
        progress: &Progress,
    ) -> Result<Counts, SimError> {
        if !runs.begin() {
            return Ok(Counts::default());
        }
        let (runs, options) = (Runs::Stream(runs), self.experiment.options);
        Cell { runs, next_use: None, frames, options, progress }.replay(&self.resolved)
    }
}

/// Reads a trace while another thread replays what was read.
fn read_beside(
    input: &TraceInput,
    mut builder: PageViewBuilder,
    progress: &Progress,
    replay: impl FnOnce() -> Result<Counts, SimError> + Send,
) -> Result<(ReadTrace, Counts), SimError> {
    thread::scope(|scope| {
        let replaying = Builder::new().name("replay".to_owned()).spawn_scoped(scope, replay);
        let replaying = replaying
            .map_err(|error| SimError::usage(format!("cannot start a thread: {error}"), ""))?;
        let read = input.for_each_batch_beside(progress, &mut |batch| {
            builder.extend(batch);
            builder.check_room()
        });
        // With the builder the stream ends.
        let counted = match read {
            Ok(report) => {
                builder.finish_stream().map(|counts| counted_trace(input, report, counts))
            }
            Err(error) => {
                drop(builder);
                Err(error)
            }
        };
        let counts = replaying.join().unwrap_or_else(|panic| resume_unwind(panic))?;
        Ok((counted?, counts))
    })
}
