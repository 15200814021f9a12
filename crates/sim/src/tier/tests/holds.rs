//! What must hold of every policy, on random traces.

use clockhand_device::{Device, MemoryTiers};
use clockhand_policy::Ratio;
use clockhand_policy::catalog::{CATALOG, Kind, PolicySpec};
use clockhand_policy::tier::catalog::TierSpec;
use clockhand_policy::tier::fixed::Fixed;
use clockhand_policy::tier::{Placement, TierSizes};
use clockhand_trace::{Op, PageView};
use clockhand_twins::cases;
use num_rational::BigRational;
use num_traits::Zero;
use proptest::prelude::*;

use super::steps::{Noted, PAGE_BYTES, view_of};
use crate::intervals::Cuts;
use crate::next_use::next_use;
use crate::tier::bound::bound;
use crate::tier::counts::TierCounts;
use crate::tier::page_policy::Sight;
use crate::tier::price::TierPrices;
use crate::tier::promotion::PromotionRule;
use crate::tier::replay::{Keeping, PageVisitor, Renewal, TierReplay};
use crate::tier::study::best_pages;
use clockhand_trace::progress::Progress;

const TIER_POLICIES: [&str; 6] = [
    "clock-dwf:expiration=2",
    "tpp:scan_period=3,scan_pages=2,low_share=1/4,high_share=1/2",
    "tpp:scan_period=2,scan_pages=1,rule=latency,latency=4",
    "memtis:sample=2,adapt=3,cool=7,migrate=5",
    "hemem:sample=2,read_hot=2,write_hot=1,cool=4,migrate=3",
    "m-clock",
];

/// Page policies of the catalog that can keep a fast tier.
fn page_policies() -> impl Iterator<Item = (&'static str, Kind)> {
    let entries = CATALOG.iter().filter(|entry| !entry.description.name.starts_with("linux"));
    entries.map(|entry| (entry.description.name, entry.kind))
}

fn prices(tiers: &str) -> TierPrices {
    let storage = Device::named_or_file("slc-nand").unwrap().page_cost(PAGE_BYTES).unwrap();
    TierPrices::new(&MemoryTiers::named_or_file(tiers).unwrap(), &storage, PAGE_BYTES)
}

fn sizes(fast_frames: u32, slow_frames: Option<u32>, view: &PageView) -> TierSizes {
    TierSizes {
        fast_frames,
        slow_frames,
        pages: view.footprint_pages(),
        placement: Placement::Fast,
        keeps_shadows: false,
        most_promotions: None,
    }
}

fn resolved(policy: &str, frames: u32) -> clockhand_policy::catalog::ResolvedPolicy {
    let spec = PolicySpec::parse(policy).unwrap();
    spec.resolve(frames.max(1), Ratio::whole(5)).unwrap()
}

/// Counts of a replay, which checks the invariants of the tiers after every reference.
fn counted(
    view: &PageView,
    sizes: TierSizes,
    policy: &str,
    sight: Sight,
    rule: &str,
) -> TierCounts {
    let progress = Progress::default();
    let (renewal, cuts) = (Renewal::Never, Cuts::NONE);
    let replay = TierReplay { view, sizes, renewal, cuts, progress: &progress };
    let noted = Noted::new(view, 10_000);
    let (mut tiers, _) = match TierSpec::parse(policy) {
        Some(spec) => replay.run_tier_policy(&spec.unwrap(), noted).unwrap(),
        None => {
            let next = next_use(view.records(), view.footprint_pages());
            let keys: Vec<u64> = (0..view.footprint_pages().into()).collect();
            let rule = PromotionRule::parse(rule).unwrap();
            let keeping = Keeping { sight, rule, keys: &keys, next_use: Some(&next) };
            let policy = resolved(policy, sizes.fast_frames);
            PageVisitor { replay, keeping, watching: noted }.run(&policy).unwrap()
        }
    };
    let peak = tiers.slow_pages_peak();
    let mut counts = tiers.movements().counter.counts.clone();
    counts.slow_pages_peak = peak;
    counts
}

/// The least time by trying all sets of pages that the fast tier can hold after each reference.
fn least_by_trying(trace: &[(u64, Op)], frames: u32, prices: &TierPrices) -> BigRational {
    let mut pages: Vec<u64> = Vec::new();
    for &(page, _) in trace {
        if !pages.contains(&page) {
            pages.push(page);
        }
    }
    let sets: Vec<u32> =
        (0..1u32 << pages.len()).filter(|set| set.count_ones() <= frames).collect();
    let mut least: Vec<Option<BigRational>> =
        (0..1u32 << pages.len()).map(|set| (set == 0).then(BigRational::zero)).collect();
    let mut seen = 0u32;
    for &(page, op) in trace {
        let bit = 1 << pages.iter().position(|&other| other == page).unwrap();
        let mut next: Vec<Option<BigRational>> = vec![None; least.len()];
        for &before in &sets {
            let Some(cost) = &least[before as usize] else { continue };
            // While it is served the page is in fast or in slow; other pages leave at other times as well.
            for &during in sets.iter().filter(|&&during| during & !(before | bit) == 0) {
                let left = before & !during;
                let comes = during & bit != 0 && before & bit == 0 && seen & bit != 0;
                let tier = if during & bit != 0 { &prices.fast } else { &prices.slow };
                let mut total = cost + &tier[op as usize];
                for _ in 0..left.count_ones() {
                    total += &prices.demotion;
                }
                if comes {
                    total += &prices.promotion;
                }
                let slot = &mut next[during as usize];
                if slot.as_ref().is_none_or(|known| total < *known) {
                    *slot = Some(total);
                }
            }
        }
        seen |= bit;
        least = next;
    }
    least.into_iter().flatten().min().unwrap()
}

fn traces(pages: u64, most: usize) -> impl Strategy<Value = Vec<(u64, Op)>> {
    let op = prop_oneof![2 => Just(Op::Read), 1 => Just(Op::Write)];
    prop::collection::vec((0..pages, op), 1..most)
}

fn sights() -> impl Strategy<Value = Sight> {
    prop_oneof![
        2 => Just(Sight::All),
        1 => (1u64..6).prop_map(Sight::Sample),
        1 => (1u64..9).prop_map(Sight::Bits),
    ]
}

const RULES: [&str; 7] =
    ["never", "first-touch", "write", "k-touch:2", "k-touch:2:5", "threshold:2:7", "first-touch"];

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn counts_add_up_under_every_policy_and_what_it_sees(
        trace in traces(9, 60),
        fast_frames in 0u32..5,
        slow_frames in prop_oneof![Just(None), (1u32..6).prop_map(Some)],
        sight in sights(),
        rule in prop::sample::select(&RULES[..]),
        keeps_shadows in any::<bool>(),
        which in any::<prop::sample::Index>(),
    ) {
        let view = view_of(&trace);
        let of_pages: Vec<(&str, Kind)> = page_policies().collect();
        let (policy, kind) = of_pages[which.index(of_pages.len())];
        let sight = if kind == Kind::Offline { Sight::All } else { sight };
        let tier_policy = TIER_POLICIES[which.index(TIER_POLICIES.len())];
        let tiers = TierSizes { keeps_shadows, ..sizes(fast_frames, slow_frames, &view) };
        for policy in [policy, tier_policy] {
            let counts = counted(&view, tiers, policy, sight, rule);
            prop_assert_eq!(counts.references(), trace.len() as u64);
            prop_assert!(counts.free_demotions <= counts.demotions, "{}", policy);
            prop_assert!(counts.ping_pongs <= counts.promotions, "{}", policy);
            prop_assert_eq!(counts.first_touches, u64::from(view.footprint_pages()));
            if fast_frames == 0 {
                prop_assert_eq!((counts.promotions, counts.promotions_refused), (0, 0));
            }
            let same = prices("cxl:fast_read_ns=7,fast_write_ns=7,slow_read_ns=7,slow_write_ns=7");
            let access = same.times(&counts, false).access;
            prop_assert_eq!(access, BigRational::from_integer((7 * trace.len()).into()));
            if slow_frames.is_none() {
                let without = TierSizes { keeps_shadows: false, ..tiers };
                let others = counted(&view, without, policy, sight, rule);
                let same = TierCounts {
                    free_demotions: counts.free_demotions,
                    slow_entries: counts.slow_entries,
                    slow_pages_peak: counts.slow_pages_peak,
                    ..others
                };
                prop_assert_eq!(same, counts);
            }
        }
    }

    #[test]
    fn enough_fast_memory_serves_all_and_first_touch_is_one_touch(
        trace in traces(7, 50),
        frames in 1u32..4,
        which in any::<prop::sample::Index>(),
        sight in sights(),
    ) {
        let view = view_of(&trace);
        let of_pages: Vec<(&str, Kind)> = page_policies().collect();
        let (policy, kind) = of_pages[which.index(of_pages.len())];
        let sight = if kind == Kind::Offline { Sight::All } else { sight };
        let roomy = sizes(view.footprint_pages(), None, &view);
        for policy in [policy, TIER_POLICIES[3], TIER_POLICIES[4]] {
            let counts = counted(&view, roomy, policy, sight, "first-touch");
            prop_assert_eq!(counts.slow, [0, 0], "{}", policy);
            prop_assert_eq!((counts.promotions, counts.demotions), (0, 0), "{}", policy);
        }
        let tiers = sizes(frames, None, &view);
        let first = counted(&view, tiers, policy, sight, "first-touch");
        prop_assert_eq!(first, counted(&view, tiers, policy, sight, "k-touch:1"), "{}", policy);
    }

    #[test]
    fn the_bound_is_the_least_of_all_schedules_and_below_every_policy(
        trace in traces(4, 10),
        frames in 0u32..4,
        migrate_ns in prop::sample::select(&[0u32, 20, 200][..]),
        which in any::<prop::sample::Index>(),
    ) {
        let view = view_of(&trace);
        let prices = prices(&format!(
            "pcm:slow_read_ns=170,migrate_ns={migrate_ns},slow_read_gbps=100,slow_write_gbps=80,fast_read_gbps=100,fast_write_gbps=100"
        ));
        let next = next_use(view.records(), view.footprint_pages());
        let progress = Progress::default();
        let least = bound(view.records(), &next, frames, &prices, false, &progress).unwrap();
        prop_assert_eq!(&least, &least_by_trying(&trace, frames, &prices));
        let of_pages: Vec<(&str, Kind)> = page_policies().collect();
        let (policy, _) = of_pages[which.index(of_pages.len())];
        for policy in [policy, TIER_POLICIES[which.index(TIER_POLICIES.len())]] {
            let counts = counted(&view, sizes(frames, None, &view), policy, Sight::All, "write");
            let times = prices.times(&counts, false);
            prop_assert!(least <= times.access + times.migration, "{}", policy);
        }
        let mut accesses = vec![[0; 2]; view.footprint_pages() as usize];
        for record in view.records() {
            accesses[record.page() as usize][usize::from(record.first_is_write())] += 1;
        }
        let replay = TierReplay {
            view: &view,
            sizes: sizes(frames, None, &view),
            renewal: Renewal::Never,
            cuts: Cuts::NONE,
            progress: &progress,
        };
        let fixed = Fixed::new(best_pages(&accesses, frames, &prices));
        let (mut tiers, _) = replay.run_built(fixed, Noted::new(&view, 1)).unwrap();
        let counts = tiers.movements().counter.counts.clone();
        prop_assert!(least <= prices.times(&counts, false).access);
    }
}
