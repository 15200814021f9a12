//! Two tiers as a study: the cells of a trace, and which of them share a replay.

use clockhand_device::{Device, MemoryTiers};
use clockhand_policy::Ratio;
use clockhand_policy::catalog::{Kind, ResolvedPolicy};
use clockhand_policy::tier::fixed::Fixed;
use clockhand_policy::tier::{TierSizes, Tiers};
use clockhand_quantity::{Text, option};
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{ToPrimitive, Zero};
use rustc_hash::FxHashMap;

use super::check::{check, is_static};
use super::counts::{Counter, TierCounts};
use super::course::{TierCourse, Windows};
use super::prepared::{AtSize, read_sizes};
use super::price::TierPrices;
use super::replay::{Keeping, PageVisitor, Renewal, TierReplay};
use super::{Contender, MigrationLimit, PromotionRule, TierExperiment, TierMemory, TierResult};
use crate::error::SimError;
use crate::intervals::{Noted, Part, Rows};
use crate::pricing::{Pricing, policy_ratio};
use crate::study::{Cells, Study};
use clockhand_trace::TraceInput;
use clockhand_trace::progress::Progress;

/// Profiles with their prices at each page size, and the storage below.
pub(super) struct TierStudy<'a> {
    pub(super) experiment: &'a TierExperiment,
    pub(super) policies: Vec<Contender>,
    pub(super) profiles: Vec<Profile>,
    pub(super) storage: Device,
}

pub(super) struct Profile {
    pub(super) written: String,
    pub(super) tiers: MemoryTiers,
    /// The default of the policies' `c`.
    pub(super) ratio: Ratio,
    /// By page size.
    pub(super) prices: Vec<TierPrices>,
}

/// One row before it is computed; lists are those of the experiment, by position.
pub(super) struct TierCell {
    pub(super) size: usize,
    pub(super) fast_frames: u32,
    pub(super) slow_frames: Option<u32>,
    pub(super) policy: usize,
    /// A page policy with every default.
    pub(super) page_policy: Option<ResolvedPolicy>,
    pub(super) resolved: String,
    /// Of page policies alone.
    pub(super) promotion: Option<usize>,
    pub(super) profile: usize,
}

impl<'a> TierStudy<'a> {
    pub(super) fn new(experiment: &'a TierExperiment) -> Result<Self, SimError> {
        check(experiment)?;
        let storage = Device::named_or_file(&experiment.storage)?;
        let mut profiles = Vec::new();
        for written in &experiment.tiers {
            let tiers = MemoryTiers::named_or_file(written)?;
            let ratio = policy_ratio(&tiers.write_read_ratio()).map_err(|error| {
                SimError::usage(
                    format!("tiers {written}: the write/read ratio is unusable: {error}"),
                    "name others",
                )
            })?;
            let at_size = |&page_bytes: &u64| {
                let cost = Pricing::new(&experiment.storage, page_bytes)?.page_cost;
                Ok(TierPrices::new(&tiers, &cost, page_bytes))
            };
            let prices: Result<_, SimError> =
                experiment.page_sizes_bytes.iter().map(at_size).collect();
            profiles.push(Profile { written: written.clone(), ratio, prices: prices?, tiers });
        }
        let seeded = |policy: &Contender| match policy {
            Contender::Page(policy) => Contender::Page(policy.clone().with_seed(experiment.seed)),
            other => other.clone(),
        };
        let policies = experiment.policies.iter().map(seeded).collect();
        Ok(TierStudy { experiment, policies, profiles, storage })
    }

    pub(super) fn into_profiles(self) -> (Vec<(String, MemoryTiers)>, Device) {
        let named = |profile: Profile| (profile.written, profile.tiers);
        (self.profiles.into_iter().map(named).collect(), self.storage)
    }

    /// Promotions in each renewal, and when that is.
    fn limit<'b>(&self, at: &'b AtSize) -> (Option<u64>, Renewal<'b>) {
        match &self.experiment.limit {
            None => (None, Renewal::Never),
            Some(MigrationLimit::References { most, period }) => {
                (Some(*most), Renewal::References(*period))
            }
            Some(MigrationLimit::BytesPerSecond(bytes)) => {
                let pages = (bytes / BigRational::from_integer(at.page_bytes.into())).floor();
                let most = pages.to_integer().to_u64().unwrap_or(u64::MAX);
                (Some(most), Renewal::Before(&at.seconds))
            }
        }
    }

    fn replay(
        &self,
        at: &AtSize,
        cell: &TierCell,
        progress: &Progress,
    ) -> Result<(Tiers<Counter>, Noted<TierCounts>), SimError> {
        let view = at.view();
        let pages = view.pages().footprint_pages();
        let (most_promotions, renewal) = self.limit(at);
        let sizes = TierSizes {
            fast_frames: cell.fast_frames,
            slow_frames: cell.slow_frames,
            pages,
            placement: self.experiment.placement.unwrap_or_default(),
            keeps_shadows: self.experiment.keeps_shadows,
            most_promotions,
        };
        let cuts = &at.cuts;
        let replay = TierReplay { view: view.pages(), sizes, renewal, cuts, progress };
        let mut counter = Counter::new(pages, self.experiment.ping_pong);
        counter.windows = Some(Windows::new(at.groups(), view.pages().references()));
        match (&self.policies[cell.policy], &cell.page_policy, cell.promotion) {
            (Contender::Page(policy), Some(resolved), Some(promotion)) => {
                let (_, rule) = self.experiment.promotions[promotion];
                let is_offline = policy.entry().kind == Kind::Offline;
                let keeping = Keeping {
                    sight: self.experiment.sight,
                    rule,
                    keys: if rule == PromotionRule::TinyLfu { at.keys() } else { &[] },
                    next_use: is_offline.then(|| view.next_use_in_memory(progress)).transpose()?,
                };
                PageVisitor { replay, keeping, watching: counter }.run(resolved)
            }
            (Contender::Tier(_), ..) if is_static(&self.policies[cell.policy]) => {
                let prices = &self.profiles[cell.profile].prices[cell.size];
                let lives_in_fast = best_pages(at.accesses(), cell.fast_frames, prices);
                replay.run_built(Fixed::new(lives_in_fast), counter)
            }
            (Contender::Tier(policy), ..) => replay.run_tier_policy(policy, counter),
            (Contender::Bound | Contender::Page(_), ..) => unreachable!("the bound has no replay"),
        }
    }
}

/// The pages of greatest gain above 0 that fit; of equal ones those that come first.
pub(super) fn best_pages(accesses: &[[u64; 2]], frames: u32, prices: &TierPrices) -> Vec<bool> {
    use clockhand_policy::Op::{Read, Write};
    // Multiplied by both denominators, so that gains are compared as whole numbers.
    let (read, write) = (prices.gain(Read), prices.gain(Write));
    let [read, write] = [read.numer() * write.denom(), write.numer() * read.denom()];
    let gain = |accesses: &[u64; 2]| &read * accesses[0] + &write * accesses[1];
    let gains = accesses.iter().map(gain).enumerate();
    let mut gains: Vec<_> = gains.filter(|(_, gain)| *gain > BigInt::zero()).collect();
    gains.sort_by(|(left, gain), (right, other)| other.cmp(gain).then(left.cmp(right)));
    let mut lives_in_fast = vec![false; accesses.len()];
    gains.iter().take(frames as usize).for_each(|(page, _)| lives_in_fast[*page] = true);
    lives_in_fast
}

impl Study for TierStudy<'_> {
    /// By page size.
    type Prepared = Vec<AtSize>;
    type Cell = TierCell;
    type Finished = TierResult;

    fn prepare(&self, input: &TraceInput, progress: &Progress) -> Result<Vec<AtSize>, SimError> {
        let sizes = {
            let TierExperiment { page_sizes_bytes, intervals, .. } = self.experiment;
            read_sizes(input, page_sizes_bytes, intervals, progress)?
        };
        let is_timed = matches!(self.experiment.limit, Some(MigrationLimit::BytesPerSecond(_)));
        if is_timed && sizes.iter().any(|at| !at.has_times) {
            return Err(SimError::usage(
                Text::from(format!("{}: the trace has no times, so that ", input.name()))
                    + option("migrate-limit")
                    + " in MB/s means nothing",
                "give a limit in references such as 100/10000r",
            ));
        }
        Ok(sizes)
    }

    fn cells(&self, sizes: &Vec<AtSize>) -> Result<Vec<TierCell>, SimError> {
        let cell = |point: &Vec<usize>| {
            let &[size, fast, policy, promotion, profile] = &point[..] else {
                unreachable!("the grid has five dimensions")
            };
            let at = &sizes[size];
            let footprint = at.views.trace.footprint_pages;
            let frames = |memory: TierMemory| memory.frames(footprint, at.page_bytes);
            let fast_frames = frames(self.experiment.fast[fast]);
            let page_policy = match &self.policies[policy] {
                Contender::Page(policy) => {
                    Some(policy.resolve(fast_frames.max(1), self.profiles[profile].ratio)?)
                }
                Contender::Tier(_) | Contender::Bound => None,
            };
            let resolved = match (&page_policy, &self.policies[policy]) {
                (Some(policy), _) => policy.to_string(),
                (None, Contender::Tier(policy)) => policy.to_string(),
                (None, _) => "bound".to_owned(),
            };
            Ok(TierCell {
                size,
                fast_frames,
                slow_frames: self.experiment.slow.map(frames),
                policy,
                promotion: page_policy.is_some().then_some(promotion),
                page_policy,
                resolved,
                profile,
            })
        };
        self.experiment.points().iter().map(cell).collect()
    }

    /// Cells that differ in the profile alone share a replay, where the policy does not depend on it.
    fn tasks(&self, _: &Vec<AtSize>, cells: &[TierCell]) -> Vec<Vec<usize>> {
        let mut tasks: Vec<Vec<usize>> = Vec::new();
        let mut task_of = FxHashMap::default();
        for (position, cell) in cells.iter().enumerate() {
            let policy = &self.policies[cell.policy];
            let is_priced = is_static(policy) || matches!(policy, Contender::Bound);
            let profile = is_priced.then_some(cell.profile);
            let key = (cell.size, cell.fast_frames, cell.promotion, &cell.resolved, profile);
            let task = *task_of.entry(key).or_insert_with(|| {
                tasks.push(Vec::new());
                tasks.len() - 1
            });
            tasks[task].push(position);
        }
        tasks
    }

    fn steps(&self, sizes: &Vec<AtSize>, task: &[&TierCell]) -> u64 {
        sizes[task[0].size].views.records() as u64
    }

    fn run(
        &self,
        sizes: &Vec<AtSize>,
        task: &[&TierCell],
        progress: &Progress,
    ) -> Result<Vec<TierResult>, SimError> {
        let at = &sizes[task[0].size];
        if matches!(self.policies[task[0].policy], Contender::Bound) {
            let result = |row| TierResult::new(Rows::of(row), TierCourse::default());
            let row = |cell: &&TierCell| self.bound_row(at, cell, progress).map(result);
            return task.iter().map(row).collect();
        }
        let (mut tiers, noted) = self.replay(at, task[0], progress)?;
        let counter = tiers.movements();
        let course = counter.windows.take().map(Windows::into_course).unwrap_or_default();
        let result = |cell: &&TierCell| {
            let row = |part: &Part<'_>, counts: &TierCounts| {
                self.row(at, cell, part, counts, &counter.wear)
            };
            TierResult::new(noted.rows(&at.cuts, &at.views.trace, row), course.clone())
        };
        Ok(task.iter().map(result).collect())
    }
}
