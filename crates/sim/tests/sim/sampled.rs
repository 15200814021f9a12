//! Samples of the pages: what is exact about them, what is refused, and how estimates behave.

use clockhand_policy::catalog::CATALOG;
use clockhand_sim::{
    Experiment, Observation, PagesSample, RequestTable, Row, Sample, SimError, TraceInput,
};

use crate::experiments::{PAGE_BYTES, experiment, input, refusal, rows, run};

/// References near a centre that moves over `pages` pages, and some far from it.
fn wandering(pages: u64, references: u64) -> RequestTable {
    let mut number = 1_u64;
    let mut table = RequestTable::default();
    for position in 0..references {
        number =
            number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let near = position * pages / references + (number >> 33) % (pages / 8);
        let page = if number >> 60 == 0 { (number >> 20) % pages } else { near % pages };
        table.is_write.push(number >> 40 & 3 == 0);
        table.addresses.push(page * PAGE_BYTES);
    }
    table
}

fn sampled(policies: &[&str], frames: &[u32], sample: &str) -> Experiment {
    let mut experiment = experiment(vec![input("t", wandering(4000, 60_000))], policies, frames);
    experiment.sample = Some(PagesSample::parse(sample).expect("a sample"));
    experiment
}

#[test]
fn a_sample_of_all_pages_gives_the_exact_rows_of_every_policy() {
    let names = CATALOG.iter().map(|entry| entry.description.name).filter(|name| *name != "lfu");
    let variants =
        ["nru:mode=periodic,period=70", "cflru:window_pages=9", "linux24-cflru:dynamic=true"];
    let policies: Vec<&str> = names.chain(variants).collect();
    let mut of_all = sampled(&policies, &[40, 300], "100%");
    of_all.observation = Some(Observation { gauge_every: None, hand_ns: 100 });
    let mut whole = of_all.clone();
    whole.sample = None;
    for (estimated, exact) in rows(&of_all).into_iter().zip(rows(&whole)) {
        let expected = Row {
            sample_share: Some(1.0),
            replicates: Some(1),
            misses_standard_error: Some(0.0),
            read_ios_standard_error: Some(0.0),
            write_ios_standard_error: Some(0.0),
            io_time_us_standard_error: Some(0.0),
            ..exact
        };
        assert_eq!(estimated, expected);
    }
}

#[test]
fn what_is_counted_on_the_whole_trace_stays_exact() {
    let (estimated, exact) = (run(&sampled(&["lru"], &[800], "10%")), {
        let mut whole = sampled(&["lru"], &[800], "10%");
        whole.sample = None;
        run(&whole)
    });
    let (row, other) = (&estimated.rows[0], &exact.rows[0]);
    assert_eq!(
        (row.references, row.write_references, row.footprint_pages, row.frames),
        (other.references, other.write_references, other.footprint_pages, other.frames)
    );
    assert_eq!(row.hits.unwrap() + row.misses.unwrap(), row.references);
    assert_eq!(row.misses.unwrap(), row.read_misses.unwrap() + row.write_misses.unwrap());
    assert_eq!(row.read_ios, row.misses.unwrap());
    assert_eq!((row.sample_share, row.replicates), (Some(0.1), Some(8)));
    assert_eq!(estimated.traces[0].report.sha256, exact.traces[0].report.sha256);
    assert_eq!(estimated.rows, run(&sampled(&["lru"], &[800], "10%")).rows, "the seed is the same");
}

#[test]
fn memory_that_holds_all_pages_reads_each_page_once_in_every_estimate() {
    for row in rows(&sampled(&["clock", "craw", "min"], &[4000, 9000], "5%")) {
        assert_eq!(row.read_ios, row.footprint_pages, "{}", row.policy);
        assert_eq!(row.read_ios_standard_error.map(f64::round), Some(0.0), "{}", row.policy);
    }
}

#[test]
fn a_number_of_pages_is_the_rate_that_gives_about_as_many() {
    let row = &rows(&sampled(&["clock"], &[800], "400"))[0];
    let share = row.sample_share.unwrap() * row.footprint_pages as f64;
    assert!((share - 400.0).abs() < 1e-6, "{share}");
    let all = &rows(&sampled(&["clock"], &[800], "9000"))[0];
    assert_eq!((all.sample_share, all.replicates), (Some(1.0), Some(1)));
}

#[test]
fn the_least_sample_with_the_wanted_error_is_taken_for_each_cell() {
    for (error, text) in [(0.2, "auto:20%"), (0.02, "auto:2%")] {
        let rows = rows(&sampled(&["lru", "craw"], &[60, 1000, 3000], text));
        assert_eq!(
            rows.iter().map(|row| row.frames).collect::<Vec<_>>(),
            [60, 60, 1000, 1000, 3000, 3000]
        );
        for row in &rows {
            let wanted = error * row.io_time_us;
            assert!(row.io_time_us_standard_error.unwrap() <= wanted, "{row:?}");
        }
        assert_eq!(rows[0].sample_share, Some(1.0), "a tenth of 60 frames is too few");
        assert!(error < 0.1 || rows[5].sample_share < Some(1.0), "{:?}", rows[5]);
    }
}

#[test]
fn what_a_sample_cannot_tell_is_refused_with_what_to_do() {
    let said = |experiment: &Experiment| match refusal(experiment) {
        SimError::Usage(said) => said.to_string(),
        other => panic!("{other}"),
    };
    let small = said(&sampled(&["clock"], &[2000, 400], "1%"));
    assert_eq!(
        small,
        "--sample 1% leaves 4.0 of 400 frames on t (1.000% of its pages), where 32 are the least; give a sample of at \
         least 8% or more memory"
    );
    let tiny = said(&sampled(&["clock"], &[50], "1%"));
    assert!(tiny.ends_with("leave out --sample for so little memory"), "{tiny}");
    let bound = said(&sampled(&["clock", "bound"], &[2000], "10%"));
    assert!(bound.starts_with("an estimate of bound is no bound; leave it out"), "{bound}");
    let lfu = said(&sampled(&["lfu"], &[2000], "10%"));
    assert!(lfu.starts_with("lfu behaves otherwise in a scaled memory"), "{lfu}");
    let mut watched = sampled(&["clock"], &[2000], "10%");
    watched.observation =
        Some(Observation { gauge_every: std::num::NonZeroU64::new(1), hand_ns: 0 });
    assert!(said(&watched).contains("leave out --gauges or --sample"));
}

#[cfg(unix)]
#[test]
fn what_can_be_read_once_is_not_read_twice() {
    let mut experiment = sampled(&["clock"], &[2000], "auto:1%");
    experiment.traces = vec![TraceInput::file("-")];
    let said = refusal(&experiment).to_string();
    assert!(
        said.starts_with("--sample auto:1% reads the trace several times, and - can be read once"),
        "{said}"
    );
    assert_eq!(PagesSample::Fixed(Sample::Pages(64)).to_string(), "64");
}
