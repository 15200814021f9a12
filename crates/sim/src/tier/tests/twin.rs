//! The slow twin gets the same references: every event, both lists of the slow tier, every count and time.

use clockhand_device::{Device, MemoryTiers, TierSpeed};
use clockhand_policy::Ratio;
use clockhand_policy::catalog::PolicySpec;
use clockhand_policy::tier::catalog::TierSpec;
use clockhand_policy::tier::fixed::Fixed;
use clockhand_policy::tier::{Placement, TierSizes, Tiers};
use clockhand_trace::{Op, PageView};
use clockhand_twins::{
    Cost, TierEvent, TierKeeper, TierPlacement, TierPrices as TwinPrices, TierPromotion, TierRules,
    TierSight, TierTwin, TppRule, cases, static_pages,
};
use num_rational::BigRational;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::steps::{Noted, PAGE_BYTES, keys_of, view_of};
use crate::intervals::Cuts;
use crate::next_use::next_use;
use crate::tier::page_policy::Sight;
use crate::tier::price::{TierPrices, exact};
use crate::tier::promotion::PromotionRule;
use crate::tier::replay::{Keeping, PageVisitor, Renewal, TierReplay};
use crate::tier::study::best_pages;
use clockhand_trace::progress::Progress;

const PING_PONG: u64 = 6;
const SECONDS: [u64; 3] = [11, 12, 40];

/// The catalog's page policies whose twins can see a reference that is dirty or not, with the parameters of a ratio of
/// 8, and what they may see.
const PAGE_POLICIES: [&str; 32] = [
    "fifo",
    "lru",
    "clock",
    "nru",
    "car",
    "cflru",
    "cflru:window_share=1/1",
    "cfclock",
    "lru-wsr",
    "lirs-wsr",
    "ccf-lru",
    "cfdc",
    "casa",
    "ad-lru",
    "for",
    "ace",
    "ace-clock",
    "craw",
    "craw-a",
    "random",
    "clock-pro",
    "sieve",
    "lfu",
    "2q",
    "arc",
    "s3-fifo",
    "lirs",
    "w-tinylfu",
    "weighted-clock",
    "wa-landlord",
    "credit-clock",
    "min",
];
const PEEKING: [&str; 5] = ["fifo", "lru", "cflru", "cflru:window_share=1/1", "min"];

/// A rule for the product, and the same for the twin.
fn rules() -> impl Strategy<Value = (String, TierPromotion)> {
    prop_oneof![
        Just(("never".to_owned(), TierPromotion::Never)),
        Just(("first-touch".to_owned(), TierPromotion::FirstTouch)),
        Just(("write".to_owned(), TierPromotion::Write)),
        (1..4_usize, 0..9_u64)
            .prop_map(|(k, w)| (format!("k-touch:{k}:{w}"), TierPromotion::KTouch(k, w))),
        (1..4_u64, 1..30_u64)
            .prop_map(|(t, h)| (format!("threshold:{t}:{h}"), TierPromotion::Threshold(t, h))),
        Just(("tinylfu".to_owned(), TierPromotion::TinyLfu)),
    ]
}

fn sights() -> impl Strategy<Value = (Sight, TierSight)> {
    prop_oneof![
        Just((Sight::All, TierSight::All)),
        (1..6_u64).prop_map(|every| (Sight::Sample(every), TierSight::Sample(every))),
        (1..9_u64).prop_map(|every| (Sight::Bits(every), TierSight::Bits(every))),
    ]
}

/// A policy that is made for tiers, for the product, and the same for the twin.
fn tier_policies() -> impl Strategy<Value = (String, TierKeeper)> {
    let tpp = (1..6_u64, 1..4_usize, 0..3_u8, 0..9_u64, (0..5_u64, 0..5_u64));
    prop_oneof![
        (0..3_u64, any::<bool>()).prop_map(|(expiration, keeps)| {
            let history = if keeps { "keep" } else { "forget" };
            let text = format!("clock-dwf:expiration={expiration},history={history}");
            (text, TierKeeper::ClockDwf(expiration, keeps))
        }),
        (0..4_u64).prop_map(|rounds| {
            (format!("m-clock:rounds={rounds}"), TierKeeper::MClock(rounds))
        }),
        tpp.prop_map(|(period, pages, rule, latency, (low, high))| {
            let (rule, text) = match rule {
                0 => (TppRule::Active, "rule=active".to_owned()),
                1 => (TppRule::First, "rule=first".to_owned()),
                _ => (TppRule::Latency(latency), format!("rule=latency,latency={latency}")),
            };
            let shares = format!("low_share={low}/4,high_share={high}/4");
            let text = format!("tpp:scan_period={period},scan_pages={pages},{text},{shares}");
            (text, TierKeeper::Tpp(period, pages, rule, (low as usize, high as usize)))
        }),
        (1..4_u64, 1..9_u64, 1..9_u64, 1..9_u64).prop_map(|(sample, adapt, cool, migrate)| {
            let text =
                format!("memtis:sample={sample},adapt={adapt},cool={cool},migrate={migrate}");
            (text, TierKeeper::Memtis(sample, adapt, cool, migrate))
        }),
        (1..4_u64, 0..5_u64, 0..4_u64, 1..7_u64, 1..9_u64).prop_map(
            |(sample, read_hot, write_hot, cool, migrate)| {
                let text = format!(
                    "hemem:sample={sample},read_hot={read_hot},write_hot={write_hot},cool={cool},migrate={migrate}"
                );
                (text, TierKeeper::Hemem(sample, read_hot, write_hot, cool, migrate))
            }
        ),
    ]
}

/// Tiers with a frame, an option of each kind, and how the limit is renewed: in a number of references, or by time.
fn sizes() -> impl Strategy<Value = (TierSizes, u64)> {
    let placement = prop_oneof![
        3 => Just(Placement::Fast),
        1 => Just(Placement::Slow),
        1 => (0..3_u32, 1..3_u32).prop_map(|(fast, slow)| Placement::Interleave { fast, slow }),
        2 => Just(Placement::MakeRoom),
    ];
    let slow = prop_oneof![1 => Just(None), 2 => (0..7_u32).prop_map(Some)];
    let limit = prop_oneof![2 => Just(None), 1 => (0..3_u64).prop_map(Some)];
    (0..7_u32, slow, placement, any::<bool>(), limit, 0..9_u64)
        .prop_map(|(fast_frames, slow_frames, placement, keeps_shadows, most, every)| {
            let sizes = TierSizes {
                fast_frames,
                slow_frames,
                pages: 0,
                placement,
                keeps_shadows,
                most_promotions: most,
            };
            (sizes, every)
        })
        .prop_filter("the tiers have a frame", |(sizes, _)| {
            sizes.fast_frames > 0 || sizes.slow_frames != Some(0)
        })
}

fn traces() -> impl Strategy<Value = Vec<(u64, Op)>> {
    let op = prop_oneof![2 => Just(Op::Read), 1 => Just(Op::Write)];
    let page = prop_oneof![0..4_u64, 0..12_u64];
    prop::collection::vec((page, op), 1..160)
}

pub(super) fn twin_rules(sizes: &TierSizes, every: u64) -> TierRules {
    TierRules {
        fast_frames: sizes.fast_frames as usize,
        slow_frames: sizes.slow_frames.map(|frames| frames as usize),
        placement: match sizes.placement {
            Placement::Fast => TierPlacement::Fast,
            Placement::Slow => TierPlacement::Slow,
            Placement::MakeRoom => TierPlacement::MakeRoom,
            Placement::Interleave { fast, slow } => {
                TierPlacement::Interleave(fast.into(), slow.into())
            }
        },
        non_exclusive: sizes.keeps_shadows,
        limit: sizes.most_promotions.map(|most| (most, every)),
        ping_pong: PING_PONG,
    }
}

pub(super) fn twin_op(op: Op) -> clockhand_twins::Op {
    if op == Op::Write { clockhand_twins::Op::Write } else { clockhand_twins::Op::Read }
}

/// The actions of the golden vectors; samples, scans and accesses are not among them.
pub(super) fn action(event: &TierEvent) -> Option<Value> {
    let tier = |is_fast: bool| if is_fast { "fast" } else { "slow" };
    Some(match *event {
        TierEvent::Place(page, is_fast) => json!(["place", page, tier(is_fast)]),
        TierEvent::Fault(page, is_fast) => json!(["fault", page, tier(is_fast)]),
        TierEvent::Promote(page) => json!(["promote", page]),
        TierEvent::Refuse(page) => json!(["refuse", page]),
        TierEvent::Demote(page, is_free) => json!(["demote", page, is_free]),
        TierEvent::Evict(page, is_written) => json!(["evict", page, is_written]),
        TierEvent::Unshadow(page) => json!(["unshadow", page]),
        TierEvent::Hint(page) => json!(["hint", page]),
        TierEvent::Sample | TierEvent::Scan(_) | TierEvent::Serve(..) => return None,
    })
}

fn cost(value: &BigRational) -> Cost {
    let part = |part: &num_bigint::BigInt| i128::try_from(part).expect("a small number");
    Cost::new(part(value.numer()), part(value.denom()))
}

/// The twin's prices of a profile, from its own numbers.
pub(super) fn twin_prices(tiers: &MemoryTiers) -> TwinPrices {
    let storage = Device::named_or_file("slc-nand").unwrap().page_cost(PAGE_BYTES).unwrap();
    let both = |of: fn(&TierSpeed) -> &clockhand_device::Exact| {
        [&tiers.fast, &tiers.slow].map(|speed| cost(&exact(of(speed))))
    };
    let software = &tiers.software;
    TwinPrices {
        read_ns: both(|speed| &speed.read_ns),
        write_ns: both(|speed| &speed.write_ns),
        read_gbps: both(|speed| &speed.read_gbps),
        write_gbps: both(|speed| &speed.write_gbps),
        software_ns: [
            &software.migrate_ns,
            &software.remap_ns,
            &software.hint_fault_ns,
            &software.sample_ns,
            &software.scan_ns,
            &software.fault_ns,
        ]
        .map(|time| cost(&exact(time))),
        storage_ns: [&storage.read_time_us, &storage.write_time_us]
            .map(|time| cost(&exact(time)) * 1000),
        reads_first_touches: false,
        page_bytes: PAGE_BYTES.into(),
        write_unit_bytes: tiers.write_unit_bytes.into(),
    }
}

/// The product and the twin do the same, reference by reference, and count and price it alike.
fn same(trace: &[(u64, Op)], every: u64, tiers: &mut Tiers<Noted>, twin: &mut TierTwin) {
    let profile = "pcm:migrate_ns=17,hint_fault_ns=3,sample_ns=5,scan_ns=7,fault_ns=11,remap_ns=13";
    let profile = MemoryTiers::named_or_file(profile).unwrap();
    let storage = Device::named_or_file("slc-nand").unwrap().page_cost(PAGE_BYTES).unwrap();
    let prices = TierPrices::new(&profile, &storage, PAGE_BYTES);
    let mut all = Vec::new();
    for (position, &(page, op)) in trace.iter().enumerate() {
        let events = twin.reference(page, twin_op(op), second_of(position as u64, every));
        let step = tiers.movements().steps[position].clone();
        let actions: Vec<Value> = events.iter().filter_map(action).collect();
        assert_eq!(step.actions, actions, "actions of reference {position} to {page}");
        let served = events.iter().any(|event| matches!(event, TierEvent::Serve(.., true)));
        assert_eq!(step.served == "fast", served, "reference {position}");
        let slow: Vec<_> = twin.slow().iter().map(|&(page, bit)| (page, u8::from(bit))).collect();
        assert_eq!(step.state["slow_from_hand"], json!(slow), "reference {position}");
        assert_eq!(step.state["shadows"], json!(twin.shadows()), "reference {position}");
        all.extend(events);
    }
    let peak = tiers.slow_pages_peak();
    let counter = &tiers.movements().counter;
    let counts = &counter.counts;
    let number = |is: fn(&TierEvent) -> bool| all.iter().filter(|event| is(event)).count() as u64;
    let scanned = all.iter().map(|event| match event {
        TierEvent::Scan(pages) => *pages as u64,
        _ => 0,
    });
    let mine = [counts.fast_hits, counts.ping_pongs, u64::from(peak), counts.samples];
    let samples = number(|event| matches!(event, TierEvent::Sample));
    let theirs = [twin.fast_hits, twin.ping_pongs, twin.slow_pages_peak as u64, samples];
    assert_eq!(mine, theirs, "hits, ping-pong, peak, samples");
    assert_eq!(counts.scanned_pages, scanned.sum::<u64>());
    let writes = |event: &TierEvent| matches!(event, TierEvent::Evict(_, true));
    assert_eq!(counts.storage_writes, number(writes));
    let (times, priced) = (prices.times(counts, false), twin_prices(&profile).times(&all));
    let parts = [&times.access, &times.migration, &times.overhead, &times.storage].map(cost);
    assert_eq!(parts, priced.ns, "access, migration, overhead, storage");
    let life = prices.life(counts, &counter.wear, Some(7), None);
    let bytes: i128 = priced.slow_bytes_written.values().sum();
    assert_eq!(i128::from(life.slow_bytes_written), bytes);
    if let Some(most) = priced.slow_bytes_written.values().max() {
        let endurance = cost(&exact(&profile.endurance_writes.unwrap()));
        let page = i128::from(PAGE_BYTES);
        assert_eq!(life.traces.as_ref().map(cost), Some(endurance * page * 7 / bytes));
        assert_eq!(life.traces_unleveled.as_ref().map(cost), Some(endurance * page / most));
    }
}

/// Limits by time begin again before these references.
fn second_of(position: u64, every: u64) -> u64 {
    if every > 0 { 0 } else { SECONDS.iter().filter(|&&begins| position >= begins).count() as u64 }
}

fn renewal(sizes: &TierSizes, every: u64) -> Renewal<'static> {
    match (sizes.most_promotions, every) {
        (None, _) => Renewal::Never,
        (Some(_), 0) => Renewal::Before(&SECONDS),
        (Some(_), every) => Renewal::References(every),
    }
}

fn replay<'a>(
    view: &'a PageView,
    sizes: TierSizes,
    every: u64,
    progress: &'a Progress,
) -> TierReplay<'a> {
    let sizes = TierSizes { pages: view.footprint_pages(), ..sizes };
    let renewal = renewal(&sizes, every);
    TierReplay { view, sizes, renewal, cuts: Cuts::NONE, progress }
}

proptest! {
    #![proptest_config(cases(600))]

    #[test]
    fn page_policies_do_what_their_twins_do(
        trace in traces(),
        (sizes, every) in sizes(),
        (sight, twin_sight) in sights(),
        (rule, twin_rule) in rules(),
        policy in prop::sample::select(&PAGE_POLICIES[..]),
        peeking in prop::sample::select(&PEEKING[..]),
    ) {
        let policy = if twin_rule == TierPromotion::TinyLfu { peeking } else { policy };
        let (sight, twin_sight) = match policy {
            "min" => (Sight::All, TierSight::All),
            _ => (sight, twin_sight),
        };
        let view = view_of(&trace);
        let progress = Progress::default();
        let next = next_use(view.records(), view.footprint_pages());
        let keys = keys_of(&view);
        let rule = PromotionRule::parse(&rule).unwrap();
        let keeping = Keeping { sight, rule, keys: &keys, next_use: Some(&next) };
        let replay = replay(&view, sizes, every, &progress);
        let resolved = PolicySpec::parse(policy).unwrap();
        let resolved = resolved.resolve(sizes.fast_frames.max(1), Ratio::whole(8)).unwrap();
        let watching = Noted::new(&view, PING_PONG);
        let (mut tiers, _) = PageVisitor { replay, keeping, watching }.run(&resolved).unwrap();
        let (name, parameters) = match policy.split_once(":window_share=") {
            Some((name, share)) => (name, vec![("window_share", share)]),
            None => (policy, vec![]),
        };
        let keeper = TierKeeper::Page(name, parameters, twin_sight, twin_rule);
        let future: Vec<_> = trace.iter().map(|&(page, op)| (page, twin_op(op))).collect();
        let mut twin = TierTwin::new(twin_rules(&sizes, every), keeper, &future);
        same(&trace, every, &mut tiers, &mut twin);
    }

    #[test]
    fn tier_policies_do_what_their_twins_do(
        trace in traces(),
        (sizes, every) in sizes(),
        (policy, keeper) in tier_policies(),
    ) {
        let makes_room = sizes.placement == Placement::MakeRoom;
        let placement = if makes_room { Placement::Fast } else { sizes.placement };
        let sizes = TierSizes { placement, ..sizes };
        let view = view_of(&trace);
        let progress = Progress::default();
        let spec = TierSpec::parse(&policy).unwrap().unwrap();
        let replay = replay(&view, sizes, every, &progress);
        let (mut tiers, _) = replay.run_tier_policy(&spec, Noted::new(&view, PING_PONG)).unwrap();
        let keeper = match keeper {
            TierKeeper::Tpp(period, pages, rule, (low, high)) => {
                let share = |quarters: usize| sizes.fast_frames as usize * quarters / 4;
                let low = share(low).max(1);
                TierKeeper::Tpp(period, pages, rule, (low, low.max(share(high))))
            }
            other => other,
        };
        let mut twin = TierTwin::new(twin_rules(&sizes, every), keeper, &[]);
        same(&trace, every, &mut tiers, &mut twin);
    }

    #[test]
    fn the_static_placement_is_its_twins(trace in traces(), (sizes, every) in sizes()) {
        prop_assume!(sizes.slow_frames != Some(0));
        let view = view_of(&trace);
        let progress = Progress::default();
        let profile = MemoryTiers::named_or_file("pcm:slow_read_ns=60").unwrap();
        let storage = Device::named_or_file("slc-nand").unwrap().page_cost(PAGE_BYTES).unwrap();
        let prices = TierPrices::new(&profile, &storage, PAGE_BYTES);
        let mut accesses = vec![[0; 2]; view.footprint_pages() as usize];
        for record in view.records() {
            accesses[record.page() as usize][usize::from(record.first_is_write())] += 1;
        }
        let lives = best_pages(&accesses, sizes.fast_frames, &prices);
        let replay = replay(&view, sizes, every, &progress);
        let (mut tiers, _) =
            replay.run_built(Fixed::new(lives), Noted::new(&view, PING_PONG)).unwrap();
        let future: Vec<_> = trace.iter().map(|&(page, op)| (page, twin_op(op))).collect();
        let lives = static_pages(&future, sizes.fast_frames as usize, &twin_prices(&profile));
        let mut twin =
            TierTwin::new(twin_rules(&sizes, every), TierKeeper::Static(lives), &future);
        same(&trace, every, &mut tiers, &mut twin);
    }
}
