//! The driver of write buffers and flash drives, from outside: rows worked by hand, twins of buffer and drive
//! chained end to end, placement, and what is refused.

use clockhand_policy::buffer::catalog::BufferSpec;
use clockhand_sim::{
    AddressMap, Phase, Progress, Repeat, RequestTable, SimError, SsdCell, SsdExperiment,
    SsdOutcome, SsdRow, TraceInput, run_ssd,
};
use clockhand_twins::{
    BUFFERS, BufferEvent, BufferPages, BufferRequest, BufferStep, FlashClasses, FlashEvent,
    FlashRules, FlashTwin, Place, build_buffer,
};
use proptest::prelude::*;

use crate::experiments::{cases, input, table};

/// The drive of A-77's example: 8 logical pages, 5 blocks of 4.
const EXAMPLE_DRIVE: &str = "dnv-textbook:size=32KiB,pages_per_block=4";
/// 128 logical pages, 39 blocks of 4 and so about a fifth more than the host sees.
const TWIN_DRIVE: &str = "dnv-textbook:size=512KiB,pages_per_block=4,over_provisioning=20%";
const TWIN_PAGES: u64 = 128;

pub fn experiment(traces: Vec<TraceInput>, buffers: &[&str], ssds: &[&str]) -> SsdExperiment {
    let parse = |text: &&str| BufferSpec::parse(text).unwrap_or_else(|error| panic!("{error}"));
    SsdExperiment {
        intervals: clockhand_sim::Intervals::default(),
        io_log: None,
        traces,
        buffers: buffers.iter().map(parse).collect(),
        ssds: ssds.iter().map(|&ssd| ssd.to_owned()).collect(),
        precondition: "none".parse().expect("a precondition"),
        map: AddressMap::Original,
        drain: false,
        repeat: Repeat::default(),
        endurance_erases: None,
        timing: None,
        seed: 0,
        jobs: Some(1),
    }
}

pub fn on_one_trace(references: &str, buffers: &[&str], ssd: &str) -> SsdExperiment {
    experiment(vec![input("t", table(references))], buffers, &[ssd])
}

fn run(experiment: &SsdExperiment) -> SsdOutcome {
    run_ssd(experiment, &Progress::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn rows(experiment: &SsdExperiment) -> Vec<SsdRow> {
    run(experiment).cells.into_iter().map(|cell| cell.row).collect()
}

pub fn row(experiment: &SsdExperiment) -> SsdRow {
    rows(experiment).pop().expect("one cell")
}

pub fn refusal(experiment: &SsdExperiment) -> String {
    match run_ssd(experiment, &Progress::default()) {
        Err(SimError::Usage(sentence)) => sentence.to_string(),
        Err(other) => other.to_string(),
        Ok(_) => panic!("the experiment is refused"),
    }
}

#[test]
fn the_example_of_a_77_through_a_buffer_of_one_page() {
    let writes = "w0 w1 w2 w3 w4 w5 w6 w7 w0 w4 w1 w5 w0 w4 w0 w4 w2";
    let mut whole = on_one_trace(writes, &["lru:total=1"], EXAMPLE_DRIVE);
    let row = row(&whole);
    assert_eq!((row.references, row.write_hits, row.residual_dirty), (17, 0, 1));
    assert_eq!((row.host_writes, row.batches, row.dirty_pages_flushed), (16, 16, 16));
    whole.drain = true;
    let drained = self::row(&whole);
    assert_eq!((drained.residual_dirty, drained.host_writes), (0, 17));
    assert_eq!((drained.flash_programs, drained.erases, drained.relocations), (21, 2, 4));
    assert_eq!(drained.waf, Some(21.0 / 17.0));
    assert!(drained.collection_started);
    assert_eq!((drained.erases_mean, drained.erases_max), (2.0 / 5.0, 1));
}

#[test]
fn the_example_of_a_75_migrates_three_pages_and_flushes_two() {
    let buffer = "clock-dnv:total=3,dram_share=1/3";
    let row = row(&on_one_trace("w0 w1 w2 w3", &[buffer], EXAMPLE_DRIVE));
    assert_eq!((row.dram_pages, row.nvm_pages, row.buffer_pages), (1, 2, 3));
    assert_eq!((row.migrations, row.nvm_writes), (3, 3));
    assert_eq!((row.batches, row.dirty_pages_flushed, row.clean_pages_flushed), (1, 2, 0));
    assert_eq!((row.residual_dirty, row.host_writes, row.erases), (2, 2, 0));
    assert_eq!((row.waf, row.collection_started), (Some(1.0), false));
    assert_eq!(row.life_repetitions, None, "nothing was erased");
    assert_eq!(row.nvm_life_repetitions, Some(1e8 * 2.0 / 3.0));
}

#[test]
fn a_trace_that_flushes_nothing_has_no_write_amplification() {
    let row = row(&on_one_trace("r0 r1 r0", &["fab:total=4"], EXAMPLE_DRIVE));
    assert_eq!((row.read_hits, row.host_writes, row.waf), (1, 0, None));
    assert_eq!((row.hit_ratio, row.write_hit_ratio), (1.0 / 3.0, None));
    assert_eq!(row.flash_reads, 0, "pages that were never written are not on flash");
}

#[test]
fn padding_reads_what_is_on_flash_and_writes_the_whole_block() {
    let mut padded = on_one_trace("w1 w4", &["bplru:total=1"], EXAMPLE_DRIVE);
    padded.precondition = "fill".parse().expect("a precondition");
    let row = row(&padded);
    assert_eq!((row.padding_reads, row.flash_reads - row.relocations), (3, 3));
    assert_eq!((row.dirty_pages_flushed, row.clean_pages_flushed, row.host_writes), (1, 3, 4));
}

#[test]
fn life_follows_from_erases_endurance_and_the_times_of_the_trace() {
    let mut trace = table(&"w0 w4 w1 w5 w2 w6 w3 w7 ".repeat(20));
    let requests = trace.addresses.len() as u64;
    let day_ns = 24 * 3600 * 1_000_000_000;
    trace.times_ns = Some((0..requests).map(|request| request * day_ns / (requests - 1)).collect());
    let mut whole = experiment(vec![input("t", trace)], &["clock-dnv:total=2"], &[EXAMPLE_DRIVE]);
    whole.endurance_erases = Some(3000);
    let row = row(&whole);
    assert!(row.erases > 20 && row.is_steady, "{row:?}");
    assert_eq!(row.drive_writes, row.host_writes as f64 / 8.0);
    let repetitions = 3000.0 * 5.0 / row.erases as f64;
    let near = |left: Option<f64>, right: f64| (left.expect("known") / right - 1.0).abs() < 1e-9;
    assert!(near(row.life_repetitions, repetitions));
    assert!(near(row.life_repetitions_first_block, 3000.0 / f64::from(row.erases_max)));
    assert!(near(row.life_years, repetitions / 365.0));
    // The host writes 160 pages, 20 times the drive, in each repetition.
    assert!(near(row.drive_writes_per_day_5_years, repetitions * 20.0 / (5.0 * 365.0)));
    let nvm_repetitions = 1e8 / row.nvm_writes as f64;
    assert!(near(row.nvm_life_repetitions, nvm_repetitions));
    assert!(near(row.nvm_life_years, nvm_repetitions / 365.0));
    whole.endurance_erases = None;
    let of_profile = self::row(&whole);
    assert!(near(of_profile.life_repetitions, repetitions * 10.0 / 3.0), "10,000 by the profile");
}

/// Life once described how a drive was aged, where a trace wrote a part of it.
#[test]
fn a_run_that_writes_little_has_no_years_until_it_is_repeated() {
    let mut trace = table("w0 w4 w1 w5 w2 w0");
    trace.times_ns = Some(vec![0, 10, 20, 40, 50, 1_000_000_000]);
    let mut once = experiment(vec![input("t", trace)], &["lru:total=1"], &[EXAMPLE_DRIVE]);
    once.precondition = "random:3".parse().expect("a precondition");
    let short = row(&once);
    assert!(short.drive_writes < 1.0 && !short.is_steady && short.life_repetitions.is_some());
    assert_eq!((short.life_years, short.steady_waf, short.repetitions), (None, None, 1));
    once.repeat = Repeat::UntilSteady;
    let steady = row(&once);
    assert!(steady.is_steady && steady.repetitions > 2, "{steady:?}");
    assert_eq!(steady.references, 6 * u64::from(steady.repetitions));
    let years = steady.life_repetitions.unwrap() / (365.0 * 24.0 * 3600.0);
    assert!((steady.life_years.unwrap() / years - 1.0).abs() < 1e-9);
    once.repeat = Repeat::Times(steady.repetitions);
    assert_eq!(row(&once), steady, "the same repetitions, however they were asked for");
}

#[test]
fn a_repeated_trace_counts_as_one_that_is_written_out() {
    let trace = "w0 w4 r1 w5 w0 w2 w6 r0 w3 w7 ";
    for buffer in ["fab:total=2", "clock-dnv:total=3,dram_share=1/3", "lru:total=1"] {
        let mut repeated = on_one_trace(trace, &[buffer], EXAMPLE_DRIVE);
        repeated.repeat = "30".parse().expect("a number");
        let mut whole = on_one_trace(&trace.repeat(30), &[buffer], EXAMPLE_DRIVE);
        (repeated.drain, whole.drain) = (true, true);
        let (repeated, whole) = (row(&repeated), row(&whole));
        assert_eq!(repeated.references, whole.references);
        assert_eq!((repeated.erases, repeated.waf), (whole.erases, whole.waf), "{buffer}");
        assert_eq!(repeated.host_writes, whole.host_writes, "{buffer}");
        let lives = (repeated.life_repetitions.unwrap() / 30.0, whole.life_repetitions.unwrap());
        assert!(repeated.is_steady || (lives.0 / lives.1 - 1.0).abs() < 1e-9, "{lives:?}");
    }
}

#[test]
fn a_trace_that_writes_nothing_to_flash_is_not_repeated_for_ever() {
    let mut reads = on_one_trace("r0 r1", &["fab:total=4"], EXAMPLE_DRIVE);
    reads.repeat = Repeat::UntilSteady;
    let row = row(&reads);
    assert_eq!((row.repetitions, row.is_steady, row.drive_writes), (1, false, 0.0));
}

/// Times that a conversion made up once gave years of life.
#[test]
fn times_that_a_conversion_made_up_tell_no_years() {
    for (unit_ns, made_up) in [(1, true), (1_000, true), (1_000_000, true)] {
        let mut trace = table(&"w0 w4 w1 w5 w2 w6 w3 w7 ".repeat(400));
        let times =
            (0..trace.addresses.len() as u64).map(|index| index * 1_000 / unit_ns * unit_ns);
        trace.times_ns = Some(times.collect());
        let mut even =
            experiment(vec![input("t", trace.clone())], &["fab:total=2"], &[EXAMPLE_DRIVE]);
        let outcome = run_ssd(&even, &Progress::default()).expect("an outcome");
        let row = &outcome.cells[0].row;
        assert!(row.is_steady && row.life_years.is_none() == made_up, "{row:?}");
        let notes = &outcome.traces[0].report.notes;
        assert!(notes.iter().any(|note| note.contains("1 µs apart throughout")), "{notes:?}");
        let times = trace.times_ns.as_mut().expect("times");
        *times.last_mut().expect("a time") += 10_000_000;
        even.traces = vec![input("t", trace)];
        assert!(self::row(&even).life_years.is_some());
    }
}

#[test]
fn without_times_there_are_repetitions_but_no_years() {
    let row = row(&on_one_trace(&"w0 w4 w1 w5 ".repeat(20), &["fab:total=1"], EXAMPLE_DRIVE));
    assert!(row.life_repetitions.is_some() && row.life_years.is_none(), "{row:?}");
}

#[test]
fn rows_come_in_the_order_trace_drive_buffer_whatever_the_threads() {
    let inputs = ["b", "a"].map(|name| input(name, table("w0 r1 w5 w0 r7 w3")));
    let ssds = [EXAMPLE_DRIVE, "small"];
    let buffers = ["lru:total=2", "fab:total=50%", "lru:total=2"];
    let mut whole = experiment(inputs.to_vec(), &buffers, &ssds);
    let alone = rows(&whole);
    let order: Vec<_> = alone
        .iter()
        .map(|row| (row.trace.as_str(), row.ssd.as_str(), row.buffer.as_str()))
        .collect();
    let mut expected = Vec::new();
    for trace in ["b", "a"] {
        for ssd in ssds {
            expected.extend(buffers.map(|buffer| (trace, ssd, buffer)));
        }
    }
    assert_eq!(order, expected);
    assert_eq!(alone[1].buffer_pages, 2, "half of a footprint of five pages");
    for jobs in [Some(3), None] {
        whole.jobs = jobs;
        assert_eq!(rows(&whole), alone);
    }
}

#[test]
fn every_cell_begins_with_the_same_aged_drive() {
    let mut whole = on_one_trace("w0 w1 w2", &["lru:total=1", "lru:total=1"], "small");
    whole.precondition = "random:1".parse().expect("a precondition");
    let outcome = run(&whole);
    let [first, second] = &outcome.cells[..] else { panic!("two cells") };
    assert_eq!((&first.row, &first.wear), (&second.row, &second.wear));
    let (ssd, done) = &outcome.ssds[0];
    assert_eq!(
        done.host_writes,
        2 * ssd.capacity().logical_pages,
        "filled, then written once over"
    );
    assert_eq!(first.row.host_writes, 2, "what ageing wrote is not counted");
}

#[test]
fn sizes_are_pages_bytes_or_shares_of_the_footprint() {
    let buffers = ["lru:total=3", "lru:total=8KiB", "lru:total=307KiB", "lru:total=100%"];
    let whole = on_one_trace("w0 w1 w2 w3 w4 w5 w6", &buffers, "small");
    let pages: Vec<u32> = rows(&whole).iter().map(|row| row.buffer_pages).collect();
    assert_eq!(pages, [3, 2, 76, 7]);
}

#[test]
fn requests_touch_all_their_pages() {
    let table = RequestTable {
        is_write: vec![true, false],
        addresses: vec![3 * 4096 + 4095, 0],
        sizes_bytes: Some(vec![4098, 4 * 4096]),
        ..RequestTable::default()
    };
    let row = row(&experiment(vec![input("t", table)], &["lru:total=8"], &[EXAMPLE_DRIVE]));
    assert_eq!((row.write_references, row.read_references, row.footprint_pages), (3, 4, 6));
    assert_eq!(row.read_hits, 1, "page 3 was written");
}

fn two_streams() -> TraceInput {
    let table = RequestTable {
        is_write: vec![true; 4],
        addresses: [1, 0, 1, 2].map(|page| page * 4096).to_vec(),
        streams: Some(vec![7, 3, 3, 7]),
        ..RequestTable::default()
    };
    input("t", table)
}

#[test]
fn streams_get_ranges_of_their_own_that_begin_with_a_block() {
    let mut whole = experiment(vec![two_streams()], &["fab:total=2"], &[EXAMPLE_DRIVE]);
    let row = row(&whole);
    // Pages 5, 0, 1, 6: blocks 1 and 0, so that the third write evicts page 5 alone, the fourth pages 0 and 1.
    assert_eq!((row.footprint_pages, row.batches, row.dirty_pages_flushed), (4, 2, 3));
    whole.ssds = vec!["dnv-textbook:size=28KiB,pages_per_block=4".to_owned()];
    assert_eq!(self::row(&whole).footprint_pages, 4, "7 pages suffice: the last block may be cut");
    whole.ssds = vec!["dnv-textbook:size=24KiB,pages_per_block=4".to_owned()];
    let sentence = refusal(&whole);
    let sizes = sentence.contains("28672") && sentence.contains("24576");
    assert!(sizes && sentence.contains("--map wrap or --map compact"), "{sentence}");
}

#[test]
fn a_trace_beyond_the_end_is_refused_wrapped_or_made_compact() {
    // Blocks 0, 3 and 250,000 of four pages.
    let references = "w0 w13 w1000002 w1000003 w12 w1";
    let mut whole = on_one_trace(references, &["fab:total=3"], EXAMPLE_DRIVE);
    assert!(refusal(&whole).contains("t: the trace reaches to byte"));
    whole.map = AddressMap::Wrap;
    let wrapped = row(&whole);
    // The drive has two whole blocks: 0, 3 mod 2 = 1, and 250,000 mod 2 = 0.
    assert_eq!((wrapped.footprint_pages, wrapped.map), (6, "wrap"));
    whole.map = AddressMap::Compact;
    let sentence = refusal(&whole);
    assert!(
        sentence.contains("even with --map compact"),
        "three blocks, two on the drive: {sentence}"
    );
    whole.ssds = vec!["dnv-textbook:size=48KiB,pages_per_block=4".to_owned()];
    let compact = row(&whole);
    assert_eq!(compact.footprint_pages, 6);
    // Block 250,000 has two pages when page 12 comes, and leaves; its pages are still neighbours.
    assert_eq!((compact.batches, compact.dirty_pages_flushed), (2, 3));
}

#[test]
fn what_does_not_fit_together_is_refused_in_one_sentence() {
    let refused = |buffer: &str, ssd: &str| refusal(&on_one_trace("w0 w1", &[buffer], ssd));
    assert_eq!(
        refused("lru:total=9", EXAMPLE_DRIVE),
        format!(
            "write buffer lru:total=9 has 9 pages and drive {EXAMPLE_DRIVE} only 8; give it a smaller total"
        )
    );
    assert!(refused("fab", "small").contains("has no size; add total=SIZE"));
    for total in ["0", "x", "1%..3%", "0%", "101%", "0MiB", "-1"] {
        let sentence = refused(&format!("fab:total={total}"), "small");
        assert!(sentence.contains(&format!("total={total} is not a size")), "{sentence}");
    }
    assert!(refused("clock-dnv:total=1", "small").contains("leaves no page of NVM"));
    assert!(refused("fab:total=1", "dnv-textbok").contains("did you mean 'dnv-textbook'?"));
    let sentence = refused("fab:total=1", "small:over_provisioning=0%");
    assert!(sentence.contains("over_provisioning"), "{sentence}");
    let mut nothing = on_one_trace("w0", &[], "small");
    assert_eq!(refusal(&nothing), "no write buffer is given; add --buffer NAME:total=SIZE");
    nothing.traces.clear();
    assert_eq!(refusal(&nothing), "no trace is given; add a file");
    let mut endless = on_one_trace("w0", &["fab:total=1"], "small");
    endless.endurance_erases = Some(0);
    assert!(refusal(&endless).starts_with("--endurance is 0"));
}

#[test]
fn a_policy_that_is_no_write_buffer_is_refused_with_those_that_are() {
    let sentence = BufferSpec::parse("car:total=4").expect_err("no buffer").to_string();
    assert!(sentence.contains("car is no write buffer") && sentence.contains("clock-dnv, fab"));
}

#[test]
fn a_cancelled_run_ends_before_it_ages_a_drive() {
    let progress = Progress::default();
    progress.cancel();
    let whole = on_one_trace("w0", &["fab:total=1"], "dnv-textbook");
    assert!(matches!(run_ssd(&whole, &progress), Err(SimError::Interrupted)));
    assert_eq!(progress.now().0, Phase::Reading);
}

#[test]
fn when_it_is_over_all_progress_has_been_made() {
    let progress = Progress::default();
    let whole = on_one_trace("w0 r1 w9", &["fab:total=1", "lru:total=2"], "small");
    run_ssd(&whole, &progress).expect("nothing is wrong");
    let (phase, done, total) = progress.now();
    assert_eq!((phase, done), (Phase::Replaying, total));
    assert!(total > 0);
}

/// Buffer and drive as their twins, chained by a driver of a few lines.
#[derive(Debug, Default, PartialEq, Eq)]
struct TwinCounts {
    read_hits: u64,
    write_hits: u64,
    dirty_pages_flushed: u64,
    clean_pages_flushed: u64,
    batches: u64,
    nvm_writes: u64,
    residual_dirty: u64,
    padding_reads: u64,
    migrations: u64,
    host_writes: u64,
    relocations: u64,
    erases: Vec<u32>,
}

struct TwinDriver {
    flash: FlashTwin,
    counts: TwinCounts,
}

impl TwinDriver {
    fn new() -> TwinDriver {
        let flash = FlashTwin::new(FlashRules {
            dies: 1,
            blocks_per_die: 39,
            pages_per_block: 4,
            logical_pages: TWIN_PAGES as u32,
            victim: "greedy".to_owned(),
            separate: false,
            minimum_free: 2,
            wear_limit: None,
            wear_levelling: None,
            endurance: None,
            seed: 0,
            classes: FlashClasses::Off,
            slc: None,
        });
        TwinDriver { flash, counts: TwinCounts::default() }
    }

    fn write(&mut self, page: u64) {
        let (events, done) = self.flash.write(page as u32);
        assert!(done, "the twin's blocks last for ever");
        self.counts.host_writes += 1;
        let is_relocation = |event: &&FlashEvent| matches!(event, FlashEvent::Relocate { .. });
        self.counts.relocations += events.iter().filter(is_relocation).count() as u64;
    }

    fn carry_out(&mut self, event: &BufferEvent) {
        for step in &event.steps {
            match step {
                BufferStep::Flush(batch) => {
                    self.counts.batches += 1;
                    for flushed in batch {
                        self.counts.padding_reads += u64::from(flushed.from == Place::Flash);
                        match flushed.dirty {
                            true => self.counts.dirty_pages_flushed += 1,
                            false => self.counts.clean_pages_flushed += 1,
                        }
                        self.write(flushed.page);
                    }
                }
                BufferStep::Migrate(_) => {
                    self.counts.migrations += 1;
                    self.counts.nvm_writes += 1;
                }
                BufferStep::Drop(_) => {}
            }
        }
        self.counts.nvm_writes += event.nvm_writes;
    }
}

/// What the twins count after a sequential fill.
fn twin_counts(
    buffer: &str,
    parameters: &[(&str, &str)],
    total: u32,
    requests: &[BufferRequest],
    drain: bool,
) -> TwinCounts {
    let mut driver = TwinDriver::new();
    (0..TWIN_PAGES).for_each(|page| driver.write(page));
    let worn = driver.flash.erases();
    driver.counts = TwinCounts::default();
    let pages = BufferPages { total: total as usize, per_block: 4 };
    let mut twin = build_buffer(buffer, pages, parameters);
    let writes = requests.iter().filter_map(|request| match request {
        BufferRequest::Write(page) | BufferRequest::ForceUnitAccess(page) => Some(*page),
        _ => None,
    });
    twin.foresee(&writes.collect::<Vec<_>>());
    for &request in requests {
        let event = twin.request(request);
        driver.carry_out(&event);
        match (request, event.hit.is_some()) {
            (BufferRequest::Write(_) | BufferRequest::ForceUnitAccess(_), true) => {
                driver.counts.write_hits += 1;
            }
            (BufferRequest::Read(_), true) => driver.counts.read_hits += 1,
            (BufferRequest::Trim(page), _) => driver.flash.trim(page as u32),
            _ => {}
        }
    }
    if drain {
        let event = twin.request(BufferRequest::Drain);
        driver.carry_out(&event);
    }
    driver.counts.residual_dirty = twin.dirty().len() as u64;
    let erases = driver.flash.erases().into_iter().zip(worn);
    driver.counts.erases = erases.map(|(now, before)| now - before).collect();
    driver.counts.erases.sort_unstable();
    driver.counts
}

fn counts_of(cell: &SsdCell) -> TwinCounts {
    let SsdCell { row, wear, .. } = cell;
    let erases = wear.blocks_by_erases.iter();
    TwinCounts {
        read_hits: row.read_hits,
        write_hits: row.write_hits,
        dirty_pages_flushed: row.dirty_pages_flushed,
        clean_pages_flushed: row.clean_pages_flushed,
        batches: row.batches,
        nvm_writes: row.nvm_writes,
        residual_dirty: row.residual_dirty,
        padding_reads: row.padding_reads,
        migrations: row.migrations,
        host_writes: row.host_writes,
        relocations: row.relocations,
        erases: erases.flat_map(|&(erases, blocks)| vec![erases; blocks as usize]).collect(),
    }
}

/// What a host asks for: pages read, written, written for good, trimmed; and flushes.
fn request() -> impl Strategy<Value = BufferRequest> {
    let page = || 0..TWIN_PAGES;
    prop_oneof![
        20 => page().prop_map(BufferRequest::Read),
        40 => page().prop_map(BufferRequest::Write),
        10 => page().prop_map(BufferRequest::ForceUnitAccess),
        10 => page().prop_map(BufferRequest::Trim),
        3 => Just(BufferRequest::Flush),
    ]
}

/// A trace of events that asks for this.
fn events_file(requests: &[BufferRequest]) -> tempfile::NamedTempFile {
    let mut text = String::new();
    for request in requests {
        text += &match request {
            BufferRequest::Read(page) => format!("mr a0 {page}p 1p\n"),
            BufferRequest::Write(page) => format!("mw a0 {page}p 1p\n"),
            BufferRequest::ForceUnitAccess(page) => format!("fw a0 {page}p 1p\n"),
            // A page is trimmed if all of it is.
            BufferRequest::Trim(page) => {
                format!("discard a0 {} 8000\n", (page * 4096).saturating_sub(9))
            }
            BufferRequest::Flush | BufferRequest::Drain => "sync *\n".to_owned(),
        };
    }
    let file = tempfile::Builder::new().suffix(".events").tempfile().expect("a file");
    std::fs::write(file.path(), text).expect("written");
    file
}

#[test]
fn a_flush_and_a_forced_write_reach_the_buffer_that_heeds_them() {
    use BufferRequest::{Flush, ForceUnitAccess, Read, Trim, Write};
    let requests =
        [Write(0), Write(1), Flush, ForceUnitAccess(2), Write(3), Trim(3), Trim(6), Read(3)];
    let file = events_file(&requests);
    let buffer = "clock-dnv:total=7,dram_share=3/7";
    let buffers = [buffer.to_owned(), format!("{buffer},commands=safe")];
    let buffers: Vec<&str> = buffers.iter().map(String::as_str).collect();
    let mut whole = experiment(vec![TraceInput::file(file.path())], &buffers, &[EXAMPLE_DRIVE]);
    whole.precondition = "fill".parse().expect("a precondition");
    let outcome = run(&whole);
    let [paper, safe] = &outcome.cells[..] else { panic!("two cells") };
    // Without commands three pages fill DRAM, and page 3 drives the first of them out.
    assert_eq!((paper.row.nvm_writes, paper.row.migrations, paper.row.residual_dirty), (1, 1, 3));
    assert_eq!((safe.row.nvm_writes, safe.row.migrations, safe.row.residual_dirty), (3, 2, 3));
    assert_eq!((safe.row.references, safe.row.write_references), (5, 4));
    let notes = outcome.traces[0].report.notes.join("; ");
    assert!(
        notes.contains("hears of syncs as FLUSH and of discards as TRIM: syncs (1), discards (2)"),
        "{notes}"
    );
}

/// The page-level buffers' twins know no drain and ask for write-backs in another order.
fn is_of_blocks(buffer: &str) -> bool {
    !["lru", "clock", "cflru", "lru-wsr", "craw", "credit-clock"].contains(&buffer)
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn driver_buffer_and_drive_count_what_their_twins_count(
        requests in prop::collection::vec((prop::bool::weighted(0.7), 0..TWIN_PAGES), 600),
        total in 5..40_u32,
        drain in any::<bool>(),
    ) {
        let trace = RequestTable {
            is_write: requests.iter().map(|&(is_write, _)| is_write).collect(),
            addresses: requests.iter().map(|&(_, page)| page * 4096).collect(),
            ..RequestTable::default()
        };
        let names = BUFFERS.into_iter().filter(|name| !drain || is_of_blocks(name));
        let names: Vec<&str> = names.collect();
        let specs: Vec<String> = names.iter().map(|name| format!("{name}:total={total}")).collect();
        let specs: Vec<&str> = specs.iter().map(String::as_str).collect();
        let mut whole = experiment(vec![input("t", trace)], &specs, &[TWIN_DRIVE]);
        whole.precondition = "fill".parse().expect("a precondition");
        whole.drain = drain;
        for (name, cell) in names.iter().zip(run(&whole).cells) {
            let as_request = |&(is_write, page): &(bool, u64)| match is_write {
                true => BufferRequest::Write(page),
                false => BufferRequest::Read(page),
            };
            let requests: Vec<BufferRequest> = requests.iter().map(as_request).collect();
            let expected = twin_counts(name, &[], total, &requests, drain);
            prop_assert_eq!(counts_of(&cell), expected, "{} of {} pages", name, total);
            prop_assert_eq!(cell.row.erases, cell.wear.blocks_by_erases.iter()
                .map(|&(erases, blocks)| u64::from(erases) * u64::from(blocks)).sum::<u64>());
        }
    }

    #[test]
    fn commands_reach_buffer_and_drive_as_their_twins(
        requests in prop::collection::vec(request(), 500),
        total in 5..40_u32,
    ) {
        // The last page is touched, so that every trimmed one is within reach.
        let requests = [&[BufferRequest::Read(TWIN_PAGES - 1)], &requests[..]].concat();
        let file = events_file(&requests);
        let names = BUFFERS.into_iter().filter(|name| is_of_blocks(name));
        let mut given: Vec<_> = names.map(|name| (name, Vec::new())).collect();
        given.push(("clock-dnv", vec![("commands", "safe")]));
        let written = |(name, parameters): &(&str, Vec<(&str, &str)>)| {
            let more: String = parameters.iter().map(|(key, value)| format!(",{key}={value}")).collect();
            format!("{name}:total={total}{more}")
        };
        let specs: Vec<String> = given.iter().map(written).collect();
        let specs: Vec<&str> = specs.iter().map(String::as_str).collect();
        let mut whole = experiment(vec![TraceInput::file(file.path())], &specs, &[TWIN_DRIVE]);
        whole.precondition = "fill".parse().expect("a precondition");
        for ((name, parameters), cell) in given.iter().zip(run(&whole).cells) {
            let expected = twin_counts(name, parameters, total, &requests, false);
            prop_assert_eq!(counts_of(&cell), expected, "{} {:?} of {} pages", name, parameters, total);
        }
    }
}

#[test]
fn a_block_in_which_the_drive_ends_is_padded_up_to_there() {
    // 6 logical pages, so that the second block of 4 has two.
    let writes = "w5 w0 w1";
    let row = row(&on_one_trace(
        writes,
        &["bplru:total=1"],
        "dnv-textbook:size=24KiB,pages_per_block=4,over_provisioning=60%",
    ));
    assert_eq!((row.batches, row.dirty_pages_flushed, row.clean_pages_flushed), (2, 2, 4));
    assert_eq!((row.host_writes, row.residual_dirty), (6, 1));
}
