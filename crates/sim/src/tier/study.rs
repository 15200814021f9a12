//! Two tiers as a study: the cells of a trace, which of them share a replay, and their rows.

use clockhand_device::{Device, MemoryTiers};
use clockhand_policy::Ratio;
use clockhand_policy::catalog::{Kind, ResolvedPolicy, Size, Visitor};
use clockhand_policy::page::{AccessDriven, BitDriven, Offline};
use clockhand_policy::tier::fixed::Fixed;
use clockhand_policy::tier::{Placement, TierSizes, Tiers};
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{ToPrimitive, Zero};
use rustc_hash::FxHashMap;

use super::bound::{MOST_REFERENCES, bound};
use super::counts::{Counter, TierCounts};
use super::course::{TierCourse, Windows};
use super::prepared::{AtSize, read_sizes};
use super::price::{TierPrices, rounded};
use super::replay::{Keeping, PageVisitor, Renewal, TierReplay};
use super::{
    Contender, MigrationLimit, PromotionRule, Sight, TierExperiment, TierMemory, TierResult,
    TierRow,
};
use crate::contestant::{BOUND_KIND, kind_word};
use crate::intervals::{Noted, Part, Rows};
use crate::pricing::{Pricing, policy_ratio};
use crate::study::{Study, check_given};
use crate::{Progress, SimError, TraceInput};

/// Profiles with their prices at each page size, and the storage below.
pub(super) struct TierStudy<'a> {
    experiment: &'a TierExperiment,
    policies: Vec<Contender>,
    profiles: Vec<Profile>,
    storage: Device,
}

struct Profile {
    written: String,
    tiers: MemoryTiers,
    /// The default of the policies' `c`.
    ratio: Ratio,
    /// By page size.
    prices: Vec<TierPrices>,
}

/// One row before it is computed; lists are those of the experiment, by position.
pub(super) struct TierCell {
    size: usize,
    fast_frames: u32,
    slow_frames: Option<u32>,
    policy: usize,
    /// A page policy with every default.
    page_policy: Option<ResolvedPolicy>,
    resolved: String,
    /// Of page policies alone.
    promotion: Option<usize>,
    profile: usize,
}

/// Whether a policy reclaims in batches, which kernels do.
struct Reclaims;

impl Visitor for Reclaims {
    type Output = bool;

    fn bit_driven<P: BitDriven + 'static>(self, _: P) -> bool {
        P::RECLAIMS_IN_BATCHES
    }

    fn access_driven<P: AccessDriven + 'static>(self, _: P) -> bool {
        P::RECLAIMS_IN_BATCHES
    }

    fn offline<P: Offline + 'static>(self, _: P) -> bool {
        P::RECLAIMS_IN_BATCHES
    }
}

/// A sentence about options.
fn refused<T>(sentence: &str) -> Result<T, SimError> {
    Err(SimError::Usage(sentence.to_owned()))
}

/// What the column `kind` calls a policy.
fn kind_of(policy: &Contender) -> &'static str {
    match policy {
        Contender::Page(policy) => kind_word(policy.entry().kind),
        Contender::Tier(policy) => match policy.description().name {
            "static" => kind_word(Kind::Offline),
            "clock-dwf" => kind_word(Kind::AccessDriven),
            _ => kind_word(Kind::BitDriven),
        },
        Contender::Bound => BOUND_KIND,
    }
}

/// Whether a policy says itself where new pages go.
fn has_placement(policy: &Contender) -> bool {
    match policy {
        Contender::Page(_) => false,
        Contender::Tier(policy) => matches!(policy.description().name, "clock-dwf" | "static"),
        Contender::Bound => true,
    }
}

fn is_static(policy: &Contender) -> bool {
    matches!(policy, Contender::Tier(policy) if policy.description().name == "static")
}

fn check(experiment: &TierExperiment) -> Result<(), SimError> {
    check_given(&experiment.fast, "size of the fast tier", "--fast or --fast-frames")?;
    check_given(&experiment.tiers, "pair of tiers", "--tiers NAME")?;
    check_given(&experiment.policies, "policy", "--policy NAME")?;
    check_given(&experiment.promotions, "rule of promotion", "--promote RULE")?;
    check_given(&experiment.page_sizes_bytes, "page size", "--page-size SIZE")?;
    if experiment.policies.iter().any(|policy| matches!(policy, Contender::Bound)) {
        experiment.intervals.refuse("--policy bound")?;
    }
    let has_no_slow = experiment.slow == Some(TierMemory::None);
    if has_no_slow && experiment.fast.contains(&TierMemory::None) {
        return refused(
            "the fast tier and the slow tier both have no frame; give one of them some",
        );
    }
    let is_page = |policy: &Contender| matches!(policy, Contender::Page(_));
    let has_page_policy = experiment.policies.iter().any(is_page);
    if !has_page_policy && (experiment.promotions_given || experiment.sight != Sight::All) {
        return refused(
            "--promote and --see are of page policies, and none is given; leave them out or add one such as --policy lru",
        );
    }
    if experiment.placement.is_some() && experiment.policies.iter().all(has_placement) {
        return refused(
            "--placement has no effect, since clock-dwf, static and bound say themselves where new pages go; leave it out",
        );
    }
    let is_tier = |policy: &Contender| !is_page(policy) && !has_placement(policy);
    if experiment.placement == Some(Placement::MakeRoom) && experiment.policies.iter().any(is_tier)
    {
        return refused(
            "--placement make-room is for page policies, which demote a page when one comes; give fast, slow or interleave:W:V \
             with tpp, memtis and hemem",
        );
    }
    if has_no_slow && experiment.policies.iter().any(is_static) {
        return refused(
            "policy static needs a slow tier for all other pages; give --slow some frames or leave it out",
        );
    }
    let is_bound = |policy: &Contender| matches!(policy, Contender::Bound);
    if experiment.slow.is_some() && experiment.policies.iter().any(is_bound) {
        return refused(
            "policy bound has as many slow frames as it wants; leave out --slow and --slow-frames",
        );
    }
    experiment.policies.iter().try_for_each(|policy| check_page_policy(experiment, policy))
}

fn check_page_policy(experiment: &TierExperiment, policy: &Contender) -> Result<(), SimError> {
    let Contender::Page(policy) = policy else { return Ok(()) };
    let entry = policy.entry();
    let name = entry.description.name;
    if entry.own.is_none()
        && policy.resolve(4, Ratio::whole(1))?.build(Size { frames: 4, pages: 4 }, Reclaims)
    {
        return Err(SimError::Usage(format!(
            "policy {name} is a kernel's reclaim, which frees pages in batches and keeps no fast tier; give a page policy such \
             as lru"
        )));
    }
    if entry.kind == Kind::Offline && experiment.sight != Sight::All {
        return Err(SimError::Usage(format!(
            "policy {name} must see every reference; leave out --see or give --see all"
        )));
    }
    let has_tinylfu = experiment.promotions.iter().any(|(_, rule)| *rule == PromotionRule::TinyLfu);
    if has_tinylfu && !entry.can_peek {
        return Err(SimError::Usage(format!(
            "--promote tinylfu compares a page with the one that would leave, and the choice of {name} changes it; use fifo, lru, \
             cflru or min with tinylfu"
        )));
    }
    Ok(())
}

impl<'a> TierStudy<'a> {
    pub(super) fn new(experiment: &'a TierExperiment) -> Result<Self, SimError> {
        check(experiment)?;
        let storage = Device::named_or_file(&experiment.storage)?;
        let mut profiles = Vec::new();
        for written in &experiment.tiers {
            let tiers = MemoryTiers::named_or_file(written)?;
            let ratio = policy_ratio(&tiers.write_read_ratio()).map_err(|error| {
                SimError::Usage(format!(
                    "tiers {written}: the write/read ratio is unusable: {error}"
                ))
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
            return Err(SimError::Usage(format!(
                "{}: the trace has no times, so that --migrate-limit in MB/s means nothing; give a limit in references such as \
                 100/10000r",
                input.name()
            )));
        }
        Ok(sizes)
    }

    fn cells(&self, sizes: &Vec<AtSize>) -> Result<Vec<TierCell>, SimError> {
        let mut cells = Vec::new();
        for (size, at) in sizes.iter().enumerate() {
            let footprint = at.views.trace.footprint_pages;
            let frames = |memory: TierMemory| memory.frames(footprint, at.page_bytes);
            let slow_frames = self.experiment.slow.map(frames);
            for &fast in &self.experiment.fast {
                let fast_frames = frames(fast);
                for (policy, contender) in self.policies.iter().enumerate() {
                    let is_page = matches!(contender, Contender::Page(_));
                    let promotions = if is_page { self.experiment.promotions.len() } else { 1 };
                    for promotion in 0..promotions {
                        for (profile, of_profile) in self.profiles.iter().enumerate() {
                            let page_policy = match contender {
                                Contender::Page(policy) => {
                                    Some(policy.resolve(fast_frames.max(1), of_profile.ratio)?)
                                }
                                Contender::Tier(_) | Contender::Bound => None,
                            };
                            let resolved = match (&page_policy, contender) {
                                (Some(policy), _) => policy.to_string(),
                                (None, Contender::Tier(policy)) => policy.to_string(),
                                (None, _) => "bound".to_owned(),
                            };
                            cells.push(TierCell {
                                size,
                                fast_frames,
                                slow_frames,
                                policy,
                                page_policy,
                                resolved,
                                promotion: is_page.then_some(promotion),
                                profile,
                            });
                        }
                    }
                }
            }
        }
        Ok(cells)
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

impl TierStudy<'_> {
    /// A row of which only what identifies it is known.
    fn empty_row(&self, at: &AtSize, cell: &TierCell) -> TierRow {
        let profile = &self.profiles[cell.profile];
        let policy = &self.policies[cell.policy];
        let trace = &at.views.trace;
        let is_page = cell.page_policy.is_some();
        let promotion = cell.promotion.map(|promotion| &self.experiment.promotions[promotion]);
        let share = f64::from(cell.fast_frames) / f64::from(trace.footprint_pages);
        TierRow {
            trace: trace.name.clone(),
            policy: policy.written().to_owned(),
            promote: promotion.map(|(written, _)| written.clone()),
            promote_resolved: promotion.map(|(_, rule)| rule.to_string()),
            see: is_page.then(|| self.experiment.sight.to_string()),
            placement: (!has_placement(policy))
                .then(|| self.experiment.placement.unwrap_or_default().to_string()),
            fast_frames: cell.fast_frames.into(),
            slow_frames: cell.slow_frames.map(u64::from),
            page_bytes: at.page_bytes,
            tiers: profile.written.clone(),
            references: trace.references,
            footprint_pages: trace.footprint_pages.into(),
            fast_memory_share: (trace.footprint_pages > 0).then_some(share),
            policy_resolved: cell.resolved.clone(),
            tiers_resolved: profile.tiers.resolved(),
            storage: self.experiment.storage.clone(),
            kind: kind_of(policy),
            skipped_requests: trace.report.skipped_records,
            ..TierRow::default()
        }
    }

    fn bound_row(
        &self,
        at: &AtSize,
        cell: &TierCell,
        progress: &Progress,
    ) -> Result<TierRow, SimError> {
        let view = at.view();
        let records = view.pages().records();
        if records.len() > MOST_REFERENCES {
            return Err(SimError::Usage(format!(
                "{}: policy bound takes at most {MOST_REFERENCES} references, and the trace has {}; give a part of it or leave \
                 bound out",
                at.views.trace.name,
                records.len()
            )));
        }
        let next_use = view.next_use_in_memory(progress)?;
        let prices = &self.profiles[cell.profile].prices[cell.size];
        let keeps_shadows = self.experiment.keeps_shadows;
        let time = bound(records, next_use, cell.fast_frames, prices, keeps_shadows, progress)?;
        progress.add_done(records.len() as u64);
        let mean = mean_of(&time, records.len() as u64);
        Ok(TierRow {
            time_ns: mean.map(|_| rounded(&time)),
            mean_ns: mean,
            ..self.empty_row(at, cell)
        })
    }

    fn row(
        &self,
        at: &AtSize,
        cell: &TierCell,
        part: &Part<'_>,
        counts: &TierCounts,
        wear: &[[u32; 2]],
    ) -> TierRow {
        let prices = &self.profiles[cell.profile].prices[cell.size];
        let times = prices.times(counts, self.experiment.reads_first_touches);
        let seconds = self.experiment.trace_seconds.as_ref().or(at.span_seconds.as_ref());
        let life = prices.life(counts, wear, cell.slow_frames, seconds);
        let references = counts.references();
        let total = times.total();
        let copied = counts.promotions + counts.demotions - counts.free_demotions;
        let has_any = references > 0;
        let time = |time: &BigRational| has_any.then(|| rounded(time));
        // How worn each page is, is known of the whole trace.
        let life_of =
            |value: &Option<BigRational>| value.as_ref().filter(|_| part.is_whole()).map(rounded);
        TierRow {
            references,
            read_references: Some(part.read_references),
            write_references: Some(part.write_references),
            fast_hits: Some(counts.fast_hits),
            fast_share: has_any.then(|| counts.fast_hits as f64 / references as f64),
            fast_reads: Some(counts.fast[0]),
            fast_writes: Some(counts.fast[1]),
            slow_reads: Some(counts.slow[0]),
            slow_writes: Some(counts.slow[1]),
            first_touches: Some(counts.first_touches),
            storage_faults: Some(counts.storage_faults),
            storage_writes: Some(counts.storage_writes),
            promotions: Some(counts.promotions),
            promotions_refused: Some(counts.promotions_refused),
            demotions: Some(counts.demotions),
            free_demotions: Some(counts.free_demotions),
            evictions: Some(counts.evictions),
            ping_pongs: Some(counts.ping_pongs),
            migrated_bytes: Some(at.page_bytes * copied),
            hint_faults: Some(counts.hint_faults),
            samples: Some(counts.samples),
            scanned_pages: Some(counts.scanned_pages),
            slow_entries: Some(counts.slow_entries),
            slow_pages_peak: Some(counts.slow_pages_peak.into()),
            slow_bytes_written: Some(life.slow_bytes_written),
            access_ns: time(&times.access),
            migration_ns: time(&times.migration),
            overhead_ns: time(&times.overhead),
            storage_ns: time(&times.storage),
            time_ns: time(&total),
            mean_ns: mean_of(&total, references),
            mean_access_ns: mean_of(&times.access, references),
            life_traces: life_of(&life.traces),
            life_traces_unleveled: life_of(&life.traces_unleveled),
            life_years: life_of(&life.years),
            ..self.empty_row(at, cell)
        }
    }
}

fn mean_of(time: &BigRational, references: u64) -> Option<f64> {
    let references = BigRational::from_integer(BigInt::from(references));
    (!references.is_zero()).then(|| rounded(&(time / references)))
}
