//! Locality: the examples of the specification, slow literal twins, LRU at every size, and sampled curves.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use clockhand_sim::{
    Kind, Locality, LocalityStudy, Progress, Repeats, RequestTable, Sample, SimError, Ties,
    TraceInput, Wanted, analyze_locality,
};
use clockhand_trace::Request;
use clockhand_twins::Op;
use proptest::prelude::*;

use crate::experiments::{PAGE_BYTES, cases, experiment, input, rows, table};
use crate::twin::{References, references};
use crate::workload;

fn study(trace: TraceInput) -> LocalityStudy {
    LocalityStudy {
        intervals: clockhand_sim::Intervals::default(),
        trace,
        page_bytes: PAGE_BYTES,
        device: "slc-nand".to_owned(),
        ties: Ties::Stable,
        repeats: Repeats::Each,
        sample: None,
        wanted: Wanted::default(),
        seed: 0,
        jobs: None,
    }
}

fn locality(study: &LocalityStudy) -> Locality {
    analyze_locality(study, &Progress::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn whole(table: &RequestTable, ties: Ties) -> clockhand_sim::WholeTrace {
    let study = LocalityStudy { ties, ..study(input("t", table.clone())) };
    locality(&study).whole.expect("the whole trace is followed")
}

/// The project's own trace of tar and gzip, read once.
fn committed_trace() -> TraceInput {
    static TABLE: OnceLock<Arc<RequestTable>> = OnceLock::new();
    let read = || {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces/tar-gzip.parquet");
        let (mut table, mut streams, mut sizes) = (RequestTable::default(), Vec::new(), Vec::new());
        let mut take = |batch: &[Request]| {
            for request in batch {
                table.is_write.push(request.op == clockhand_trace::Op::Write);
                table.addresses.push(request.address);
                sizes.push(request.bytes);
                streams.push(request.stream);
            }
            Ok(())
        };
        let report = TraceInput::file(path).for_each_batch(&Progress::default(), &mut take);
        assert_eq!(report.expect("the committed trace").requests, 1_221_163);
        Arc::new(RequestTable { sizes_bytes: Some(sizes), streams: Some(streams), ..table })
    };
    TraceInput::table("tar-gzip", Arc::clone(TABLE.get_or_init(read)))
}

#[test]
fn stack_distances_are_those_of_the_specification() {
    let whole = whole(&table("r1 w1 r2 w3 r1 w1 w3 r2"), Ties::Stable);
    let counted = whole.recency.map(|ranking| (ranking.counts().to_vec(), ranking.pages()));
    assert_eq!(counted, [(vec![2, 1, 2], 3), (vec![0, 2], 2), (vec![0, 2], 2)]);
}

#[test]
fn frequency_ranks_are_those_of_the_specification() {
    let counts = |ties| {
        let whole = whole(&table("w1 w2 w3 w2 w3 w3 w1 w2"), ties);
        (whole.write_frequency.counts().to_vec(), whole.write_frequency.pages())
    };
    assert_eq!(counts(Ties::Stable), (vec![0, 3, 2], 3));
    assert_eq!(counts(Ties::Recent), (vec![1, 2, 2], 3));
    assert_eq!(counts(Ties::Best), (vec![2, 2, 1], 3));
}

#[test]
fn a_collapsed_run_is_its_first_read_and_its_first_write() {
    let runs = "r1 r1 w1 r1 w1 w2 w2 r2 r1 r2 r2";
    let once = "r1 w1 w2 r2 r1 r2";
    let of = |references, repeats| {
        let study = LocalityStudy { repeats, ..study(input("t", table(references))) };
        locality(&study)
    };
    let (collapsed, expected) = (of(runs, Repeats::Collapsed), of(once, Repeats::Each));
    let (found, wanted) = (collapsed.whole.expect("whole"), expected.whole.expect("whole"));
    assert_eq!(found.recency, wanted.recency);
    assert_eq!(found.write_frequency, wanted.write_frequency);
    assert_eq!(collapsed.trace.references, 11, "of the trace, whatever counts");
    let each = of(runs, Repeats::Each).whole.expect("whole");
    assert_ne!(each.recency, wanted.recency);
}

#[test]
fn a_trace_without_writes_has_an_empty_write_ranking() {
    let whole = whole(&table("r1 r2 r1"), Ties::Best);
    let [_, _, writes] = &whole.recency;
    for ranking in [writes, &whole.write_frequency] {
        assert_eq!((ranking.references(), ranking.pages(), ranking.re_references()), (0, 0, 0));
        assert_eq!(ranking.inverted_ranges(), []);
    }
}

/// Ranks on a list that is searched, and for each rank how many references were made while a page had it.
#[derive(Debug, Default, PartialEq)]
struct SlowRanking {
    counts: Vec<u64>,
    chances: Vec<u64>,
}

impl SlowRanking {
    fn add(&mut self, rank: Option<usize>, listed: usize) {
        self.chances.iter_mut().take(listed).for_each(|chances| *chances += 1);
        match rank {
            Some(rank) => self.counts[rank - 1] += 1,
            None => {
                self.counts.push(0);
                self.chances.push(0);
            }
        }
    }

    fn assert_equals(&self, ranking: &clockhand_sim::Ranking) {
        assert_eq!(self.counts, ranking.counts());
        let probability =
            |(&count, &chances): (&u64, &u64)| (chances > 0).then(|| count as f64 / chances as f64);
        let expected: Vec<_> = self.counts.iter().zip(&self.chances).map(probability).collect();
        assert_eq!(expected, ranking.probabilities().collect::<Vec<_>>());
    }
}

fn belongs(kind: Kind, op: Op) -> bool {
    kind == Kind::All || (kind == Kind::Write) == (op == Op::Write)
}

fn slow_recency(references: &References, kind: Kind) -> SlowRanking {
    let (mut list, mut ranking) = (Vec::new(), SlowRanking::default());
    for &(page, _) in references.iter().filter(|&&(_, op)| belongs(kind, op)) {
        let place = list.iter().position(|&other| other == page);
        ranking.add(place.map(|place| place + 1), list.len());
        place.map(|place| list.remove(place));
        list.insert(0, page);
    }
    ranking
}

/// (page, writes so far), most writes first, those who reached a count first before the others.
fn slow_frequency(references: &References, ties: Ties) -> SlowRanking {
    let (mut list, mut ranking): (Vec<(u64, u32)>, _) = (Vec::new(), SlowRanking::default());
    for &(page, _) in references.iter().filter(|&&(_, op)| op == Op::Write) {
        let place = list.iter().position(|&(other, _)| other == page);
        let writes = place.map_or(0, |place| list[place].1);
        let with_more = list.iter().filter(|&&(_, others)| others > writes).count();
        let with_as_many_after =
            |place| list[place..].iter().filter(|&&(_, others)| others == writes).count();
        let rank = place.map(|place| match ties {
            Ties::Stable => place + 1,
            Ties::Recent => with_more + with_as_many_after(place),
            Ties::Best => with_more + 1,
        });
        ranking.add(rank, list.len());
        place.map(|place| list.remove(place));
        let after = list.iter().filter(|&&(_, others)| others > writes).count();
        list.insert(after, (page, writes + 1));
    }
    ranking
}

fn slow_working_set(references: &References, kind: Kind, window: usize) -> f64 {
    let sizes = (1..=references.len()).map(|end| {
        let inside = &references[end.saturating_sub(window)..end];
        let pages = inside.iter().filter(|&&(_, op)| belongs(kind, op)).map(|&(page, _)| page);
        pages.collect::<std::collections::BTreeSet<_>>().len()
    });
    sizes.sum::<usize>() as f64 / references.len() as f64
}

/// Runs, loops and jumps over up to 40 pages.
fn any_table() -> impl Strategy<Value = RequestTable> {
    let run = (0..40_u64, 1..4_usize, any::<[bool; 3]>());
    prop::collection::vec(run, 1..150).prop_map(|runs| {
        let mut table = RequestTable::default();
        for (page, length, writes) in runs {
            table.addresses.extend(std::iter::repeat_n(page * PAGE_BYTES, length));
            table.is_write.extend(&writes[..length]);
        }
        table
    })
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn rankings_and_working_sets_are_those_of_the_twins(table in any_table()) {
        let references = references(&table, PAGE_BYTES);
        for ties in [Ties::Stable, Ties::Recent, Ties::Best] {
            let whole = whole(&table, ties);
            slow_frequency(&references, ties).assert_equals(&whole.write_frequency);
        }
        let whole = whole(&table, Ties::Stable);
        for (index, kind) in Kind::EVERY.into_iter().enumerate() {
            slow_recency(&references, kind).assert_equals(&whole.recency[index]);
            let working_set = &whole.working_sets.0[index];
            for (&window, &pages) in working_set.windows.iter().zip(&working_set.pages) {
                prop_assert_eq!(pages, slow_working_set(&references, kind, window as usize));
            }
        }
    }

    #[test]
    fn a_block_ends_with_the_ranking_of_the_references_so_far(table in any_table(), blocks in 1..9_u64) {
        let wanted = Wanted { blocks, ..Wanted::default() };
        let whole = locality(&LocalityStudy { wanted, ..study(input("t", table.clone())) }).whole.unwrap();
        let references = references(&table, PAGE_BYTES);
        let of = |kind| references.iter().copied().filter(move |&(_, op)| belongs(kind, op)).collect::<Vec<_>>();
        for (kind, ranking) in Kind::EVERY.into_iter().zip(&whole.recency) {
            let every = of(kind).len().div_ceil(blocks as usize).max(1);
            let expected: Vec<_> =
                of(kind).chunks_exact(every).enumerate().map(|(index, _)| (index + 1) * every).collect();
            prop_assert_eq!(expected.len(), ranking.blocks().len());
            for (end, counts) in expected.into_iter().zip(ranking.blocks()) {
                prop_assert_eq!(&slow_recency(&of(kind)[..end].to_vec(), kind).counts, counts);
            }
        }
        let writes = of(Kind::Write);
        for (index, counts) in whole.write_frequency.blocks().iter().enumerate() {
            let end = (index + 1) * writes.len().div_ceil(blocks as usize);
            prop_assert_eq!(&slow_frequency(&writes[..end].to_vec(), Ties::Stable).counts, counts);
        }
    }

    #[test]
    fn reads_and_writes_by_recency_add_up_to_the_ranking_of_all(table in any_table()) {
        let whole = whole(&table, Ties::Stable);
        let both = whole.inter_reference.reads.iter().zip(&whole.inter_reference.writes);
        let sums: Vec<u64> = both.map(|(reads, writes)| reads + writes).collect();
        prop_assert_eq!(&sums, whole.recency[0].counts());
    }

    #[test]
    fn the_curve_is_what_lru_counts_at_every_size(table in any_table()) {
        assert_curve_is_simulated(input("t", table), &Vec::from_iter(1..=40));
    }

    #[test]
    fn a_sample_of_everything_is_exact(table in any_table()) {
        assert_sample_of_everything_is_exact(table, 40);
    }
}

fn assert_sample_of_everything_is_exact(table: RequestTable, pages: u32) {
    let whole = study(input("t", table));
    let exact = locality(&whole).curve;
    for sample in [Sample::Rate(1.0), Sample::Pages(pages)] {
        let sampled = locality(&LocalityStudy { sample: Some(sample), ..whole.clone() }).curve;
        for (index, &frames) in sampled.frames.iter().enumerate() {
            let same = (frames as usize).min(exact.frames.len()) - 1;
            assert_eq!(sampled.read_misses[index], exact.read_misses[same]);
            assert_eq!(sampled.write_misses[index], exact.write_misses[same]);
            assert_eq!(sampled.write_backs[index], exact.write_backs[same]);
        }
        let errors = sampled.errors.expect("a sample has errors");
        assert!(errors.misses.iter().chain(&errors.write_backs).all(|&error| error == 0.0));
    }
}

#[test]
fn a_sample_that_grows_stays_exact() {
    let table = workload::table(workload::Path::Hit, 10_000, 60_000);
    assert_sample_of_everything_is_exact(table, 10_000);
}

fn assert_curve_is_simulated(trace: TraceInput, frames: &[u32]) {
    let curve = locality(&study(trace.clone())).curve;
    // One cell at a time is replayed; many at once are taken from the same pass that makes the curve.
    for &frames in frames.iter().filter(|&&frames| frames as usize <= curve.frames.len()) {
        let simulated = rows(&experiment(vec![trace.clone()], &["lru"], &[frames]));
        let at = frames as usize - 1;
        assert_eq!(curve.frames[at], u64::from(frames));
        assert_eq!(Some(curve.read_misses[at]), simulated[0].read_misses, "{frames} frames");
        assert_eq!(Some(curve.write_misses[at]), simulated[0].write_misses, "{frames} frames");
        assert_eq!(Some(curve.write_backs[at]), simulated[0].dirty_evictions, "{frames} frames");
    }
}

#[test]
fn the_curve_of_the_committed_trace_is_what_lru_counts() {
    assert_curve_is_simulated(committed_trace(), &[1, 2, 7, 33, 110, 275, 580, 581]);
}

/// Of (size, seed) pairs, the shares whose misses and write-backs are within two stated standard errors.
fn shares_within_two_errors(sample: Sample, seeds: u64) -> [f64; 2] {
    let exact = locality(&study(committed_trace())).curve;
    let (mut within, mut all) = ([0.0; 2], 0.0);
    for seed in 0..seeds {
        let study = LocalityStudy { sample: Some(sample), seed, ..study(committed_trace()) };
        let sampled = locality(&study).curve;
        let errors = sampled.errors.as_ref().expect("a sample has errors");
        for (index, &frames) in sampled.frames.iter().enumerate() {
            let at = (frames as usize).min(exact.frames.len()) - 1;
            let misses = |curve: &clockhand_sim::MissCurve, at: usize| {
                (curve.read_misses[at] + curve.write_misses[at]) as f64
            };
            let off = (misses(&sampled, index) - misses(&exact, at)).abs();
            within[0] += f64::from(u8::from(off <= 2.0 * errors.misses[index] + 1.0));
            let off = sampled.write_backs[index].abs_diff(exact.write_backs[at]) as f64;
            within[1] += f64::from(u8::from(off <= 2.0 * errors.write_backs[index] + 1.0));
            all += 1.0;
        }
    }
    within.map(|count| count / all)
}

#[test]
fn sampled_curves_of_the_committed_trace_are_within_their_stated_errors() {
    for sample in [Sample::Rate(0.5), Sample::Rate(0.2), Sample::Pages(256), Sample::Pages(128)] {
        let shares = shares_within_two_errors(sample, 8);
        println!("{sample}: {shares:?}");
        assert!(shares.iter().all(|&share| share >= 0.85), "{sample}: {shares:?}");
    }
}

#[test]
fn a_sample_is_the_same_for_the_same_seed_and_another_for_another() {
    let curve = |seed| {
        let sample = Some(Sample::Rate(0.3));
        locality(&LocalityStudy { sample, seed, ..study(committed_trace()) }).curve
    };
    assert_eq!(curve(1), curve(1));
    assert_ne!(curve(1), curve(2));
}

#[test]
fn rates_and_sizes_are_told_apart() {
    assert_eq!(Sample::parse("0.01").unwrap(), Sample::Rate(0.01));
    assert_eq!(Sample::parse("1%").unwrap(), Sample::Rate(0.01));
    assert_eq!(Sample::parse("1.0").unwrap(), Sample::Rate(1.0));
    assert_eq!(Sample::parse("8192").unwrap(), Sample::Pages(8192));
    for text in ["0", "0%", "0.0", "1.5", "101%", "-1", "1e-3", "x", "", "%", ".", "31", "nan%"] {
        let error = Sample::parse(text).unwrap_err().to_string();
        assert!(error.starts_with("--sample"), "{text}: {error}");
    }
}

#[test]
fn what_cannot_be_analysed_is_refused() {
    let refusal = |study: LocalityStudy| {
        let error = analyze_locality(&study, &Progress::default());
        error.expect_err("it is refused").to_string()
    };
    let good = study(input("t", table("r1 w2")));
    let sample = Some(Sample::Rate(0.5));
    for sample in [None, sample] {
        let message = refusal(LocalityStudy { page_bytes: 3, sample, ..good.clone() });
        assert!(message.contains('3'), "{message}");
        let empty = input("t", RequestTable::default());
        let message = refusal(LocalityStudy { trace: empty, sample, ..good.clone() });
        assert!(message.contains("no "), "{message}");
    }
    let message = refusal(LocalityStudy { device: "paper".to_owned(), ..good.clone() });
    assert!(message.contains("paper"), "{message}");
    let message = refusal(LocalityStudy { sample: Some(Sample::Rate(1e-15)), ..good });
    assert!(message.contains("give a larger sample"), "{message}");
}

#[test]
fn a_cancelled_analysis_ends_with_interrupted() {
    let progress = Progress::default();
    progress.cancel();
    for sample in [None, Some(Sample::Rate(0.5))] {
        let study = LocalityStudy { sample, ..study(input("t", table("r1 w2"))) };
        assert!(matches!(analyze_locality(&study, &progress), Err(SimError::Interrupted)));
    }
}
