//! Synthetic traces: each pattern is what its name says, within stated bounds and from fixed seeds;
//! the same recipe gives the same requests everywhere; what a file holds is what was made.

use std::collections::BTreeMap;

use clockhand_trace::{
    ColumnReader, Op, OptionalColumns, Overrides, ParquetWriter, ReadReport, Recipe, Request,
    RequestColumns, SyntheticReader, named_recipes,
};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::reading::{drain, read_file};

fn recipe(text: &str, requests: &str, seed: &str) -> Recipe {
    let overrides = Overrides { requests: Some(requests), seed: Some(seed), arrivals: None };
    Recipe::open(text, &overrides).unwrap()
}

fn made(recipe: &Recipe) -> (Vec<Request>, ReadReport) {
    drain(&mut SyntheticReader::new(recipe)).unwrap()
}

fn requests(text: &str, count: &str) -> Vec<Request> {
    made(&recipe(text, count, "42")).0
}

/// `found` of `trials` differ from the probability by less than five standard deviations.
fn assert_share(found: usize, trials: usize, probability: f64, what: &str) {
    let expected = trials as f64 * probability;
    let bound = 5.0 * (expected * (1.0 - probability)).sqrt();
    let difference = (found as f64 - expected).abs();
    assert!(difference <= bound, "{what}: {found} of {trials}, expected {expected} ± {bound}");
}

fn count_of(requests: &[Request], is_so: impl Fn(&Request) -> bool) -> usize {
    requests.iter().filter(|request| is_so(request)).count()
}

/// The number of requests that begin in each page of 4 KiB.
fn page_counts(requests: &[Request]) -> BTreeMap<u64, usize> {
    let mut counts = BTreeMap::new();
    requests.iter().for_each(|request| *counts.entry(request.address / 4096).or_default() += 1);
    counts
}

fn offsets(requests: &[Request]) -> Vec<u64> {
    requests.iter().map(|request| request.address).collect()
}

#[test]
fn uniform_requests_fall_evenly_on_all_pages() {
    let requests = requests("uniform:footprint=400KiB,reads=70%", "100k");
    let counts = page_counts(&requests);
    assert_eq!(counts.len(), 100);
    let chi_squared: f64 =
        counts.values().map(|&count| (count as f64 - 1000.0).powi(2) / 1000.0).sum();
    // 99 degrees of freedom: beyond these bounds lie two of a million samples.
    assert!((46.0..178.0).contains(&chi_squared), "{chi_squared}");
    assert_share(count_of(&requests, |request| request.op == Op::Read), 100_000, 0.7, "reads");
    assert!(requests.iter().all(|request| request.bytes == 4096 && request.time_ns.is_none()));
}

#[test]
fn zipf_ranks_have_their_powers_whether_they_are_scattered_or_not() {
    const PAGES: usize = 1000;
    let weight = |rank: usize| (rank as f64 + 1.0).powf(-0.9);
    let weights: f64 = (0..PAGES).map(weight).sum();
    for scatter in ["none", "4KiB", "16KiB"] {
        let text = format!("zipf:skew=0.9,footprint=4000KiB,scatter={scatter}");
        let requests = requests(&text, "300k");
        let mut counts: Vec<usize> = page_counts(&requests).into_values().collect();
        if scatter != "none" {
            counts.sort_by_key(|&count| std::cmp::Reverse(count));
        }
        for rank in [0, 1, 2, 4, 9] {
            let what = format!("scatter {scatter}, rank {rank}");
            assert_share(counts[rank], 300_000, weight(rank) / weights, &what);
        }
    }
}

#[test]
fn extents_that_move_together_keep_their_ranks_beside_each_other() {
    let requests = requests("zipf:skew=1.5,footprint=4MiB,scatter=16KiB", "20k");
    let counts = page_counts(&requests);
    let (&hottest, _) = counts.iter().max_by_key(|&(_, count)| count).unwrap();
    assert_eq!(hottest % 4, 0, "the first rank begins an extent");
    assert!(counts[&hottest] > counts[&(hottest + 1)]);
    assert!(counts[&(hottest + 1)] > counts[&(hottest + 2)]);
}

#[test]
fn writes_may_have_a_skew_of_their_own_over_the_same_popular_pages() {
    let text = "zipf:skew=0.5,write_skew=1.5,footprint=4MiB,reads=50%,scatter=none";
    let (writes, reads): (Vec<_>, Vec<_>) =
        requests(text, "100k").into_iter().partition(|request| request.op == Op::Write);
    for (requests, skew) in [(reads, -0.5), (writes, -1.5)] {
        let weights: f64 = (1..=1024).map(|rank| f64::from(rank).powf(skew)).sum();
        let first = count_of(&requests, |request| request.address == 0);
        assert_share(first, requests.len(), 1.0 / weights, "the first rank");
    }
}

#[test]
fn hot_pages_get_their_share_of_the_requests() {
    let text = "hot-cold:hot=10%,hot_requests=80%,footprint=4000KiB";
    let in_front = requests(&format!("{text},scatter=none"), "100k");
    let hot = count_of(&in_front, |request| request.address < 400 * 1024);
    assert_share(hot, 100_000, 0.8, "requests to hot pages");
    let mut scattered: Vec<usize> = page_counts(&requests(text, "100k")).into_values().collect();
    scattered.sort_by_key(|&count| std::cmp::Reverse(count));
    assert_share(scattered[..100].iter().sum(), 100_000, 0.8, "requests to scattered hot pages");
}

#[test]
fn sequential_requests_begin_where_the_last_one_ended_and_start_again() {
    let all = offsets(&requests("sequential:footprint=20KiB,start=1MiB", "7"));
    let relative: Vec<u64> = all.iter().map(|address| (address - (1 << 20)) / 4096).collect();
    assert_eq!(relative, [0, 1, 2, 3, 4, 0, 1]);
    // The rest at the end is too small for a request of 8 KiB.
    assert_eq!(offsets(&requests("sequential:footprint=20KiB,size=8KiB", "4")), [0, 8192, 0, 8192]);
}

#[test]
fn sequential_runs_jump_after_their_length() {
    let addresses = offsets(&requests("sequential:footprint=64MiB,run=32KiB", "80k"));
    for run in addresses.chunks(8) {
        assert!(run.windows(2).all(|pair| pair[1] == pair[0] + 4096), "{run:?}");
    }
    let starts: Vec<u64> = addresses.iter().copied().step_by(8).collect();
    let low = starts.iter().filter(|&&start| start < 32 << 20).count();
    assert_share(low, starts.len(), 0.5, "runs in the first half");
}

#[test]
fn loops_go_through_each_body_as_often_as_they_repeat() {
    let pages: Vec<u64> = offsets(&requests("loop:footprint=20KiB,body=8KiB,repeats=2", "12"))
        .iter()
        .map(|address| address / 4096)
        .collect();
    assert_eq!(pages, [0, 1, 0, 1, 2, 3, 2, 3, 4, 4, 0, 1]);
}

#[test]
fn a_mix_takes_from_its_patterns_by_weight_and_from_streams_evenly() {
    let text =
        "uniform:footprint=1MiB,weight=3,streams=2 + uniform:footprint=1MiB,start=1MiB,stream=7";
    let requests = requests(text, "100k");
    let streams = |stream| count_of(&requests, |request| request.stream == stream);
    assert_share(streams(0), 100_000, 0.375, "stream 0");
    assert_share(streams(1), 100_000, 0.375, "stream 1");
    assert_share(streams(7), 100_000, 0.25, "stream 7");
    assert!(requests.iter().all(|request| (request.address >= 1 << 20) == (request.stream == 7)));
    // Each stream has a walk of its own.
    let two = self::requests("sequential:footprint=1GiB,streams=2", "1k");
    for stream in 0..2 {
        let own: Vec<_> = two.iter().copied().filter(|own| own.stream == stream).collect();
        let expected: Vec<u64> = (0..own.len() as u64).map(|index| index * 4096).collect();
        assert_eq!(offsets(&own), expected);
    }
}

#[test]
fn phases_come_in_turn_and_go_on_where_they_stopped() {
    let text = "sequential:footprint=1MiB for 3 then sequential:footprint=1MiB,start=1MiB for 2";
    let pages = |requests: &str| -> Vec<u64> {
        offsets(&self::requests(text, requests)).iter().map(|address| address / 4096).collect()
    };
    assert_eq!(pages("12"), [0, 1, 2, 256, 257, 3, 4, 5, 258, 259, 6, 7]);
    assert_eq!(pages("2"), [0, 1]);
    assert_eq!(Recipe::open(text, &Overrides::default()).unwrap().requests, 5);
}

#[test]
fn sizes_have_their_weights_and_no_request_leaves_the_footprint() {
    let text = "uniform:footprint=1MiB,start=4KiB,size=4KiB:70,64KiB:30";
    let requests = requests(text, "50k");
    let small = count_of(&requests, |request| request.bytes == 4096);
    assert_share(small, 50_000, 0.7, "requests of 4 KiB");
    let ends = requests.iter().map(|request| request.address + u64::from(request.bytes));
    assert_eq!(ends.max(), Some((1 << 20) + 4096));
    assert_eq!(requests.iter().map(|request| request.address).min(), Some(4096));
}

#[test]
fn arrivals_give_times_from_the_rate_and_can_be_dropped() {
    let text = "uniform:footprint=1MiB";
    let with = |arrivals| Overrides { requests: Some("10k"), arrivals: Some(arrivals), seed: None };
    let times = |arrivals| -> Vec<Option<u64>> {
        let (requests, _) = made(&Recipe::open(text, &with(arrivals)).unwrap());
        requests.iter().map(|request| request.time_ns).collect()
    };
    assert_eq!(times("constant:1000")[9_999], Some(9_999_000_000));
    let last_ns = times("poisson:1000")[9_999].unwrap();
    assert!((9_500_000_000..10_500_000_000).contains(&last_ns), "{last_ns}");
    assert!(times("none").iter().all(Option::is_none));
}

#[test]
fn the_largest_footprint_needs_no_memory_of_its_size() {
    let all = requests("zipf:skew=0.8,footprint=1048576TiB,page=4MiB,size=4KiB", "1k");
    assert_eq!(all.len(), 1000);
}

/// Whatever moves these digests moves every trace that was ever made, and needs a heading of its own
/// in the changelog.
#[test]
fn every_pattern_gives_the_same_requests_everywhere() {
    let known = [
        ("uniform:footprint=1GiB,reads=70%", "ac2421d36f6f47e7"),
        ("zipf:skew=1,footprint=1GiB,reads=70%", "9f9f4313d8a4dd64"),
        ("zipf:skew=0.9,footprint=1GiB,write_skew=1.2,reads=50%,scatter=16KiB", "2edaa0f64f028183"),
        (
            "hot-cold:hot=20%,hot_requests=80%,footprint=1000MiB,size=4KiB:70,64KiB:30",
            "f6f58700260cf7b8",
        ),
        ("sequential:run=64KiB,footprint=1GiB,size=512", "3644e2f3680495d0"),
        ("loop:body=1MiB,footprint=1GiB,reads=0%", "49ac71294e2a863f"),
        (
            "uniform:footprint=1MiB,streams=3 + loop:footprint=4MiB,weight=2 for 100 then zipf:skew=2,footprint=8KiB for 7",
            "d875cc3f316d7031",
        ),
    ];
    let digest = |text: &str| {
        let overrides =
            Overrides { requests: Some("50k"), seed: Some("42"), arrivals: Some("poisson:1000") };
        let (_, report) = made(&Recipe::open(text, &overrides).unwrap());
        report.sha256_hex().unwrap()[..16].to_owned()
    };
    let found = known.map(|(text, _)| (text, digest(text)));
    assert_eq!(found, known.map(|(text, digest)| (text, digest.to_owned())));
}

#[test]
fn another_seed_gives_other_requests_and_the_same_one_the_same() {
    let text = "zipf:skew=1,footprint=1GiB";
    let first = made(&recipe(text, "1k", "1")).0;
    assert_eq!(first, made(&recipe(text, "1k", "1")).0);
    assert_ne!(first, made(&recipe(text, "1k", "2")).0);
    let longer = made(&recipe(text, "40k", "1")).0;
    assert_eq!(first, longer[..1000], "a longer trace begins like a shorter one");
}

#[test]
fn columns_and_file_hold_what_was_made_and_say_that_it_is_synthetic() {
    let overrides =
        Overrides { requests: Some("40k"), seed: Some("3"), arrivals: Some("poisson:500") };
    let text = "zipf:skew=1,footprint=1MiB,reads=50%,streams=2 + loop:footprint=1MiB,size=512";
    let recipe = Recipe::open(text, &overrides).unwrap();
    let (requests, report) = made(&recipe);

    let is_write: Vec<bool> = requests.iter().map(|request| request.op == Op::Write).collect();
    let sizes: Vec<u32> = requests.iter().map(|request| request.bytes).collect();
    let streams: Vec<u32> = requests.iter().map(|request| request.stream).collect();
    let times: Vec<u64> = requests.iter().filter_map(|request| request.time_ns).collect();
    let columns = RequestColumns {
        is_write: &is_write,
        addresses: &offsets(&requests),
        sizes_bytes: Some(&sizes),
        streams: Some(&streams),
        times_ns: Some(&times),
    };
    let (of_columns, columns_report) = drain(&mut ColumnReader::new(columns).unwrap()).unwrap();
    assert_eq!(of_columns, requests);
    assert_eq!(columns_report.sha256, report.sha256);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.parquet");
    let mut writer = ParquetWriter::create(
        &path,
        &report.labels,
        OptionalColumns { times: true, ..OptionalColumns::default() },
    )
    .unwrap();
    requests.chunks(999).for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    let (of_file, file_report) = read_file(&path, None).unwrap();
    assert_eq!(of_file, requests);
    assert_eq!(file_report.labels, recipe.labels());
    assert_eq!(recipe.labels()[0], ("synthetic".to_owned(), recipe.to_string()));
}

#[test]
fn what_a_trace_says_of_itself_makes_it_again() {
    let overrides =
        Overrides { requests: Some("2k"), seed: Some("9"), arrivals: Some("constant:12.5") };
    let text =
        "hot-cold:hot=1%,hot_requests=50%,footprint=1MiB for 9 then uniform:footprint=4KiB for 2";
    let first = Recipe::open(text, &overrides).unwrap();
    let said = first.to_string();
    let [pattern, options] = said[1..].split('"').collect::<Vec<_>>()[..] else { panic!("{said}") };
    let words: Vec<&str> = options.split_whitespace().collect();
    let ["--requests", requests, "--seed", seed, "--arrivals", arrivals] = words[..] else {
        panic!("{said}")
    };
    let overrides =
        Overrides { requests: Some(requests), seed: Some(seed), arrivals: Some(arrivals) };
    assert_eq!(Recipe::open(pattern, &overrides).unwrap(), first);
}

/// Table III of the CLOCK-DNV paper: read share and bytes of each trace.
#[test]
fn stand_ins_meet_the_ratio_and_the_traffic_of_the_paper_within_a_percent() {
    let table = [
        ("financial-stand-in", 0.82, 1.8e9),
        ("camwebdev-stand-in", 0.08, 0.52e9),
        ("filebench-random-rw-stand-in", 0.5, 2.81e9),
    ];
    for (name, read_share, traffic_bytes) in table {
        let recipe = Recipe::open(name, &Overrides::default()).unwrap();
        let (requests, report) = made(&recipe);
        let reads = count_of(&requests, |request| request.op == Op::Read) as f64;
        let share = reads / requests.len() as f64;
        assert!((share - read_share).abs() < 0.01, "{name}: {share} reads");
        let bytes: f64 = requests.iter().map(|request| f64::from(request.bytes)).sum();
        assert!((bytes / traffic_bytes - 1.0).abs() < 0.01, "{name}: {bytes} bytes");
        assert!(report.labels.contains(&("kind".to_owned(), "stand-in".to_owned())), "{name}");
    }
}

#[test]
fn a_recipe_of_the_package_can_be_changed_and_keeps_its_name() {
    let overrides = Overrides { requests: Some("10"), seed: Some("7"), arrivals: None };
    let changed = Recipe::open("zipf-20m", &overrides).unwrap();
    assert_eq!((changed.requests, changed.seed), (10, 7));
    assert_eq!(changed.name.as_deref(), Some("zipf-20m"));
    let standard = named_recipes().into_iter().find(|recipe| recipe.name == changed.name).unwrap();
    assert_eq!((standard.requests, standard.seed), (20_000_000, 42));
}

#[test]
fn a_recipe_file_is_read_and_a_bad_one_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    let write = |text: &str| std::fs::write(&path, text).unwrap();
    let open = || Recipe::open(path.to_str().unwrap(), &Overrides::default());
    write(
        "pattern = '''\nuniform:footprint=1MiB for 5k\nthen loop:footprint=1MiB for 1k'''\nseed = 3\n",
    );
    let recipe = open().unwrap();
    assert_eq!((recipe.requests, recipe.seed, recipe.phases.len()), (6000, 3, 2));
    assert_eq!(recipe.name.as_deref(), Some("mine"));
    write("pattern = 'uniform:footprint=1MiB'\nrate = 7\n");
    let message = open().unwrap_err().to_string();
    assert!(message.contains("mine.toml, line 2: there is no key rate"), "{message}");
    write("pattern = 'uniform:footprint=1MiB'\n");
    let message = open().unwrap_err().to_string();
    assert!(message.contains("the number of requests is not given"), "{message}");
    std::fs::remove_file(&path).unwrap();
    assert!(open().unwrap_err().to_string().contains("there is no such file"));
}

/// One parameter: usually with a value of its kind, sometimes with another's.
fn any_parameter(names: &'static [&'static str]) -> impl Strategy<Value = String> {
    let sizes = ["1", "512", "4KiB", "12KiB", "64KiB", "5GiB", "16777215TiB", "4KiB:70,8KiB:30"];
    let numbers = ["0", "1", "3", "0.9", "1.0000000001", "10", "70%", "100%", "0%", "none", "-1"];
    let value = prop_oneof![select(sizes.to_vec()), select(numbers.to_vec())];
    (select(names), value).prop_map(|(name, value)| format!(",{name}={value}"))
}

/// Recipes of words that mean something, right and wrong.
fn any_recipe() -> impl Strategy<Value = String> {
    const OF_ALL: &[&str] = &["page", "size", "start", "reads", "stream", "streams", "weight"];
    const OF_ONE: &[&str] = &["write_skew", "scatter", "run", "body", "repeats"];
    let name = select(vec![
        "uniform:footprint=64KiB",
        "zipf:skew=1,footprint=1MiB",
        "hot-cold:hot=10%,hot_requests=5%,footprint=100MiB",
        "sequential:footprint=20KiB",
        "loop:footprint=20KiB",
    ]);
    let pattern = (name, vec(any_parameter(OF_ALL), 0..3), vec(any_parameter(OF_ONE), 0..2))
        .prop_map(|(name, of_all, of_one)| format!("{name}{}{}", of_all.concat(), of_one.concat()));
    let length = select(vec![" for 3", " for 2k", " for 0", ""]);
    let phase = (vec(pattern, 1..3), length)
        .prop_map(|(patterns, length)| format!("{}{length}", patterns.join(" + ")));
    vec(phase, 1..3).prop_map(|phases| phases.join(" then "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_recipe_is_refused_in_one_line_or_stays_in_its_footprint(text in any_recipe()) {
        let overrides = Overrides { requests: Some("500"), ..Overrides::default() };
        match Recipe::open(&text, &overrides) {
            Err(error) => prop_assert!(!error.to_string().contains('\n')),
            Ok(recipe) => {
                let (requests, _) = made(&recipe);
                prop_assert_eq!(requests.len(), 500);
                let places: Vec<_> = recipe.phases.iter().flat_map(|phase| &phase.mix).collect();
                for request in requests {
                    let end = request.address + u64::from(request.bytes);
                    prop_assert!(places.iter().any(|place| {
                        (place.stream..place.stream + place.streams).contains(&request.stream)
                            && request.address >= place.start_bytes
                            && end <= place.start_bytes + place.footprint_bytes
                    }), "{:?} of {}", request, text);
                }
            }
        }
    }
}
