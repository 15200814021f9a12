//! Reads a trace into samples of its pages; the trace itself is counted and not kept.

use clockhand_quantity::option;
use clockhand_trace::{Folding, Op, PageCounter, PageViewBuilder, Request, TraceError, TraceInput};

use super::REPLICATES;
use crate::error::SimError;
use crate::pages::Experiment;
use crate::read_trace::ReadTrace;
use crate::sample::{mixed, page_hash, threshold};
use crate::views::{View, counted_trace};
use clockhand_trace::progress::Progress;

/// One sample.
pub(super) struct Replicate {
    /// Different pages of the sample.
    pub(super) pages: u32,
    views: Vec<View>,
}

impl Replicate {
    /// The view with this folding, for which the trace was read.
    pub(super) fn view(&self, folding: Folding) -> &View {
        let found = self.views.iter().find(|view| view.folding() == folding);
        found.expect("a view was built for every folding")
    }
}

/// What a trace is, counted on all of it, and its samples.
pub(super) struct SampledTrace {
    pub(super) trace: ReadTrace,
    pub(super) replicates: Vec<Replicate>,
    /// Of each replicate, the half of its pages with the smaller hashes; none where there is one replicate.
    pub(super) halves: Vec<Replicate>,
}

impl SampledTrace {
    /// Records of all samples together, as one cell replays them.
    pub(super) fn records(&self) -> u64 {
        let records = |replicate: &Replicate| replicate.views[0].pages().records().len() as u64;
        self.replicates.iter().chain(&self.halves).map(records).sum()
    }
}

/// Says what a trace is without keeping anything of it.
pub(in crate::pages) fn count(
    input: &TraceInput,
    page_bytes: u64,
    progress: &Progress,
) -> Result<ReadTrace, SimError> {
    let mut counter = PageCounter::new(page_bytes)?;
    let page_shift = page_bytes.trailing_zeros();
    let report = input.for_each_batch(progress, &mut |batch| {
        for request in batch {
            for page in request.pages(page_shift) {
                counter.reference((request.stream, page), request.op);
            }
        }
        Ok(())
    })?;
    Ok(counted_trace(input, report, counter.finish()?))
}

/// Reads samples at a rate; at 1 there is one, the trace itself.
pub(super) fn read(
    input: &TraceInput,
    experiment: &Experiment,
    foldings: &[Folding],
    rate: f64,
    progress: &Progress,
) -> Result<SampledTrace, SimError> {
    let page_bytes = experiment.page_bytes;
    let mut counter = PageCounter::new(page_bytes)?;
    let page_shift = page_bytes.trailing_zeros();
    let mut followers = Followers::new(input, experiment, foldings, rate)?;
    let report = input.for_each_batch(progress, &mut |batch| {
        for request in batch {
            for page in request.pages(page_shift) {
                let key = (request.stream, page);
                counter.reference(key, request.op);
                followers.reference(key, request.op);
            }
        }
        Ok(())
    })?;
    let trace = counted_trace(input, report, counter.finish()?);
    let mut replicates = followers.finish()?;
    let halves = replicates.split_off(if replicates.len() > 1 { REPLICATES as usize } else { 1 });
    Ok(SampledTrace { trace, replicates, halves })
}

/// The samples while they are read.
struct Followers {
    page_bytes: u64,
    seed: u64,
    threshold: u64,
    /// A builder for each folding, by replicate and then by half of a replicate.
    builders: Vec<Vec<PageViewBuilder>>,
    /// The page of the last reference, and the builders that follow it, a bit each.
    last: Option<((u32, u64), u32)>,
}

impl Followers {
    fn new(
        input: &TraceInput,
        experiment: &Experiment,
        foldings: &[Folding],
        rate: f64,
    ) -> Result<Self, SimError> {
        let samples = if rate >= 1.0 { 1 } else { 2 * REPLICATES };
        let views = (samples as usize * foldings.len()).max(1) as u64;
        let limit_bytes = input.memory_limit_bytes() / views;
        let builder = |&folding: &Folding| {
            Ok(PageViewBuilder::new(experiment.page_bytes, folding)?.within(limit_bytes))
        };
        let builders = || foldings.iter().map(builder).collect::<Result<Vec<_>, TraceError>>();
        Ok(Followers {
            page_bytes: experiment.page_bytes,
            seed: experiment.seed,
            threshold: threshold(rate),
            builders: (0..samples).map(|_| builders()).collect::<Result<_, _>>()?,
            last: None,
        })
    }

    #[inline]
    fn reference(&mut self, key: (u32, u64), op: Op) {
        let mut following = match self.last {
            Some((last, following)) if last == key => following,
            _ => {
                let following = self.following(key);
                self.last = Some((key, following));
                following
            }
        };
        while following != 0 {
            let sample = following.trailing_zeros() as usize;
            following &= following - 1;
            let request = Request::new(op, key.1 * self.page_bytes, 1).in_stream(key.0);
            self.builders[sample].iter_mut().for_each(|builder| builder.push(&request));
        }
    }

    /// The replicates and halves that a page belongs to, a bit each. Each replicate has a hash of its own, made of the page's.
    fn following(&self, key: (u32, u64)) -> u32 {
        if self.builders.len() == 1 {
            return 1;
        }
        let hash = page_hash(self.seed, key.0, key.1);
        let follows = |replicate: u32| {
            let own = mixed(hash ^ u64::from(replicate).wrapping_mul(0xD6E8_FEB8_6659_FD93));
            let (of_whole, of_half) = (own <= self.threshold, own <= self.threshold / 2);
            u32::from(of_whole) << replicate | u32::from(of_half) << (REPLICATES + replicate)
        };
        (0..REPLICATES).map(follows).sum()
    }

    fn finish(self) -> Result<Vec<Replicate>, SimError> {
        let replicate = |builders: Vec<PageViewBuilder>| {
            let finished = builders.into_iter().map(|builder| Ok(View::new(builder.finish()?)));
            let views = finished.collect::<Result<Vec<_>, TraceError>>()?;
            Ok(Replicate { pages: views[0].pages().footprint_pages(), views })
        };
        let finished: Result<Vec<_>, TraceError> =
            self.builders.into_iter().map(replicate).collect();
        finished.map_err(|error| match error {
            TraceError::NoReference => SimError::usage(
                option("sample") + " follows none of the trace's pages",
                "give a larger sample",
            ),
            other => other.into(),
        })
    }
}
