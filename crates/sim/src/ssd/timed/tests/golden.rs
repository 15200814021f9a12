//! The golden vectors of time in the drive, operation by operation.

use std::path::{Path, PathBuf};

use clockhand_device::Exact;
use clockhand_device::flash::time::{
    Latencies, MemoryTimes, OperationKind, OperationRecord, Role, Scheduling, SlcTimes, Suspend,
    TimeOptions, Times, WaitCause, transfer_ns,
};
use clockhand_device::flash::{
    Allocation, DftlOptions, Drive, FtlOptions, Geometry, LogBlocks, LogicalPage as FlashPage,
    Mapping, MinimumFree, PageOptions, Precondition, Separation, SlcOptions, ZoneOptions,
};
use clockhand_policy::Ratio;
use clockhand_policy::buffer::catalog::{BufferSpec, ResolvedBuffer};
use clockhand_policy::buffer::{BufferSize, PagesPerBlock};
use serde_json::{Value, json};

use crate::error::SimError;
use crate::ssd::course::Repeat;
use crate::ssd::placement::{Placed, PlacedCommand, PlacedForTest};
use crate::ssd::timed::{ArrivalTimes, TimedArrivals, TimedCell, TimedFinished, Wanted, requests};
use clockhand_trace::progress::Progress;

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let files = std::fs::read_dir(folder).expect("the folder is there");
    let mut files: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    files.retain(|file| {
        file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("ssdtime_"))
    });
    files.sort();
    files
}

fn number(drive: &Value, name: &str) -> Option<u64> {
    drive[name].as_u64()
}

/// A decimal, as a number or as text.
fn decimal(value: &Value) -> Exact {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let digits: u128 = format!("{whole}{fraction}").parse().expect("a decimal");
    Exact::new(digits, 10_u128.pow(fraction.len() as u32))
}

fn ns(drive: &Value, name: &str) -> u64 {
    match &drive[name] {
        Value::Null => 0,
        value => (decimal(value) * Exact::from_integer(1_000)).to_integer() as u64,
    }
}

fn ns_list(drive: &Value, name: &str) -> Vec<u64> {
    let ns = |value: &Value| (decimal(value) * Exact::from_integer(1_000)).to_integer() as u64;
    match &drive[name] {
        Value::Array(list) => list.iter().map(ns).collect(),
        value => vec![ns(value)],
    }
}

fn geometry(drive: &Value) -> Geometry {
    let part = |name: &str, default: u64| number(drive, name).unwrap_or(default) as u32;
    Geometry {
        channels: part("channels", 1),
        dies_per_channel: part("dies_per_channel", 1),
        planes_per_die: part("planes_per_die", 1),
        blocks_per_plane: part("blocks_per_plane", 0),
        pages_per_block: part("pages_per_block", 0),
        page_bytes: part("page_bytes", 4096),
    }
}

fn time_options(drive: &Value) -> TimeOptions {
    let memory = |read: &str, write: &str, defaults: (u64, u64)| MemoryTimes {
        read_ns: number(drive, read).unwrap_or(defaults.0),
        write_ns: number(drive, write).unwrap_or(defaults.1),
    };
    let bus = (!drive["bus_mb_s"].is_null()).then(|| decimal(&drive["bus_mb_s"]));
    let page_bytes = u64::from(geometry(drive).page_bytes);
    let times = Times {
        read_ns: ns_list(drive, "read_us"),
        program_ns: ns_list(drive, "program_us"),
        erase_ns: ns(drive, "erase_us"),
        command_ns: ns(drive, "command_us"),
        transfer_ns: bus.map_or(0, |bus| transfer_ns(page_bytes, &bus)),
        suspend_ns: ns(drive, "suspend_us"),
        resume_ns: ns(drive, "resume_us"),
        request_ns: ns(drive, "request_us"),
        idle_ns: ns(drive, "idle_us"),
        link_mb_s: (!drive["link_mb_s"].is_null()).then(|| decimal(&drive["link_mb_s"])),
        dram: memory("dram_read_ns", "dram_write_ns", (50, 50)),
        nvm: memory("nvm_read_ns", "nvm_write_ns", (50, 250)),
        slc: (!drive["slc_read_us"].is_null()).then(|| SlcTimes {
            read_ns: ns(drive, "slc_read_us"),
            program_ns: ns(drive, "slc_program_us"),
            erase_ns: ns(drive, "slc_erase_us"),
        }),
    };
    let suspend = drive["suspend"].as_str().unwrap_or("none");
    let options = TimeOptions::new(times);
    TimeOptions {
        scheduling: match drive["scheduling"].as_str() {
            Some("read-first") => Scheduling::ReadFirst,
            _ => Scheduling::Fifo,
        },
        suspend: Suspend {
            erase: matches!(suspend, "erase" | "both"),
            program: matches!(suspend, "program" | "both"),
        },
        suspend_limit: number(drive, "suspend_limit")
            .map_or(options.suspend_limit, |limit| limit as u32),
        copyback: drive["copyback"].as_bool().unwrap_or(false),
        cache_program: drive["cache_program"].as_bool().unwrap_or(false),
        pages_per_program: number(drive, "pages_per_program").unwrap_or(1) as u32,
        queue_depth: number(drive, "queue_depth").unwrap_or(32) as u32,
        background_free: number(drive, "background_free")
            .map(|blocks| MinimumFree::Blocks(blocks as u32)),
        ..options
    }
}

fn mapping(drive: &Value) -> Mapping {
    let count = |name: &str| number(drive, name).map(|count| count as u32);
    match drive["mapping"].as_str().unwrap_or("page") {
        "bast" => Mapping::Bast(LogBlocks { log_blocks: count("log_blocks") }),
        "fast" => Mapping::Fast(LogBlocks { log_blocks: count("log_blocks") }),
        "dftl" => Mapping::Dftl(DftlOptions {
            cmt_entries: count("cmt_entries").expect("entries"),
            cmt_policy: drive["cmt_policy"].as_str().unwrap_or("slru").parse().expect("a policy"),
            entry_bytes: count("entry_bytes").unwrap_or(4),
            batch_eviction: drive["batch_eviction"].as_bool().unwrap_or(false),
        }),
        "zoned" => Mapping::Zoned(ZoneOptions {
            zone_blocks: count("zone_blocks").expect("blocks of a zone"),
            writes: drive["zone_writes"].as_str().unwrap_or("strict").parse().expect("a mode"),
            max_open_zones: count("max_open_zones"),
        }),
        _ => Mapping::Page(PageOptions {
            slc: count("slc_blocks").map(|blocks| SlcOptions {
                blocks,
                bits_per_cell: count("bits_per_cell").unwrap_or(3),
                full: drive["slc_full"].as_str().unwrap_or("fold").parse().expect("a mode"),
            }),
            separation: match drive["separate"].as_str() {
                Some("temperature") => Separation::Temperature { hot_within: count("hot_within") },
                Some(streams) => {
                    let streams = streams.trim_start_matches("stream:");
                    Separation::Stream(streams.parse().expect("a number"))
                }
                None => Separation::Off,
            },
        }),
    }
}

fn drive(golden: &Value) -> Drive {
    let drive = &golden["drive"];
    let logical_pages = number(drive, "logical_pages").expect("logical pages") as u32;
    let options = FtlOptions {
        allocation: match drive["allocation"].as_str() {
            Some("striped") => Allocation::Striped,
            _ => Allocation::OnePool,
        },
        minimum_free: MinimumFree::Blocks(number(drive, "minimum_free").unwrap_or(2) as u32),
        mapping: mapping(drive),
        ..FtlOptions::new(logical_pages)
    };
    let mut built = Drive::new(geometry(drive), options).expect("the drive can be built");
    match &golden["precondition"] {
        Value::String(_) => {
            let keep_going = |_| std::ops::ControlFlow::<()>::Continue(());
            built.precondition(Precondition::Fill, 0, keep_going).expect("it is filled");
        }
        Value::Array(pages) => {
            let pages = pages.iter().map(|page| FlashPage(page.as_u64().expect("a page") as u32));
            built.precondition_with(&pages.collect::<Vec<_>>());
        }
        _ => {}
    }
    built
}

/// The trace on the drive, and when its requests come.
fn placed(golden: &Value) -> (Placed, Vec<u64>) {
    let mut placed = PlacedForTest::new();
    let mut times = Vec::new();
    for request in golden["trace"].as_array().expect("a trace") {
        times.push(request[0].as_u64().expect("a time"));
        let text = request[1].as_str().expect("a request");
        let (text, stream) = text.split_once('@').unwrap_or((text, "0"));
        let stream = stream.parse().expect("a stream");
        let (op, pages) = text.split_at(1);
        let (first, count) = pages.split_once('+').unwrap_or((pages, "1"));
        let first: u32 = first.parse().unwrap_or(0);
        let pages = first..first + count.parse::<u32>().expect("a number of pages");
        match op {
            "S" => placed.command(PlacedCommand::Flush),
            "T" => placed.command(PlacedCommand::Trim(pages)),
            _ => placed.request(pages, op != "R", op == "F", stream),
        }
    }
    (placed.finish(), times)
}

fn buffer(golden: &Value) -> ResolvedBuffer {
    let size = |pages: u64| BufferSize {
        pages: pages as u32,
        pages_per_block: PagesPerBlock::new(geometry(&golden["drive"]).pages_per_block)
            .expect("a power of two"),
        distinct_pages: golden["drive"]["logical_pages"].as_u64().expect("logical pages") as u32,
        drive_pages: golden["drive"]["logical_pages"].as_u64().expect("logical pages"),
    };
    let Value::Object(buffer) = &golden["buffer"] else {
        return BufferSpec::none().resolve(size(0), Ratio::whole(8)).expect("no buffer");
    };
    let mut settings = Vec::new();
    let mut pages = 0;
    for (name, value) in buffer {
        let number = value.as_u64().unwrap_or(0);
        match name.as_str() {
            "name" => {}
            "pages" => pages = number,
            "dram" => pages += number,
            "nvm" => pages += number,
            _ => settings.push(format!(
                "{name}={}",
                value.as_str().map_or_else(|| value.to_string(), str::to_owned)
            )),
        }
    }
    if let Some(dram) = buffer.get("dram") {
        settings.push(format!("dram_share={dram}/{pages}"));
    }
    let name = buffer["name"].as_str().expect("a name");
    let separator = if settings.is_empty() { "" } else { ":" };
    let text = format!("{name}{separator}{}", settings.join(","));
    let spec = BufferSpec::parse(&text).expect("the buffer exists");
    spec.resolve(size(pages), Ratio::whole(8)).expect("it has this size")
}

fn run(golden: &Value) -> Result<TimedFinished, SimError> {
    let (placed, times) = placed(golden);
    let arrivals: TimedArrivals =
        golden["arrivals"].as_str().expect("arrivals").parse().expect("known");
    let arrivals = match arrivals {
        TimedArrivals::Trace(speed) => ArrivalTimes::at(&times, &speed),
        TimedArrivals::Closed(requests) => ArrivalTimes::Closed(requests),
        TimedArrivals::Rate(rate) => {
            ArrivalTimes::Rate { rate, requests: requests::count(&placed) }
        }
    };
    let is_safe = golden["buffer"].is_null() || golden["buffer"]["commands"] == "safe";
    let wanted = Wanted {
        ssd: "drive".to_owned(),
        options: time_options(&golden["drive"]),
        window_ns: None,
        keeps_latencies: true,
        is_paper: !is_safe,
        repetitions: 1,
        ends_saturated: false,
    };
    let cell = TimedCell {
        trace: &placed,
        arrivals: &arrivals,
        drive: drive(golden),
        drain: false,
        repeat: Repeat::Times(1),
        wanted,
        progress: &Progress::default(),
        records: true,
    };
    buffer(golden).build(cell)
}

fn operation(number: usize, record: &OperationRecord) -> Value {
    let kind = match record.kind {
        OperationKind::Read => "read",
        OperationKind::Program => "program",
        OperationKind::Erase => "erase",
        OperationKind::Copy => "copy",
    };
    let role = match record.role {
        Role::Host => "host",
        Role::Collect => "collect",
        Role::Merge => "merge",
        Role::Fold => "fold",
        Role::Load => "load",
        Role::Update => "update",
        Role::Translation => "translation",
    };
    let page = match (record.page, record.is_translation) {
        (Some(page), true) => json!(format!("t{page}")),
        (page, _) => json!(page),
    };
    let OperationRecord { die, block, page_in_block, issued_ns, start_ns, end_ns, .. } = *record;
    json!([number, kind, role, die, block, page_in_block, page, issued_ns, start_ns, end_ns])
}

fn summary(latencies: &Latencies) -> Value {
    if latencies.count() == 0 {
        return Value::Null;
    }
    let mean = Exact::new(latencies.sum_ns(), latencies.count().into());
    json!({
        "count": latencies.count(),
        "mean": mean.to_string(),
        "max": latencies.max_ns(),
        "p50": latencies.percentile_ns(50, 100),
        "p95": latencies.percentile_ns(95, 100),
        "p99": latencies.percentile_ns(99, 100),
        "p99.9": latencies.percentile_ns(999, 1_000),
        "p99.99": latencies.percentile_ns(9_999, 10_000),
    })
}

fn check_requests(name: &str, golden: &Value, run: &TimedFinished) {
    let rows = run.timed.latencies.rows();
    let expected = golden["requests"].as_array().expect("requests");
    assert_eq!(rows.len(), expected.len(), "{name}");
    for (row, expected) in rows.iter().zip(expected) {
        let times = &row.times;
        let found = json!({
            "index": times.index,
            "op": row.op(),
            "first_page": row.first_page,
            "pages": row.pages,
            "arrival_ns": times.arrival_ns,
            "accepted_ns": times.accepted_ns,
            "decided_ns": times.decided_ns,
            "end_ns": times.end_ns,
            "waits_ns": [times.host_wait_ns(), times.front_wait_ns(), times.buffer_wait_ns,
                times.collection_wait_ns, times.flash_wait_ns, times.service_ns()],
            "cause": times.cause().name(),
        });
        assert_eq!(&found, expected, "{name}");
        assert!(times.cause() != WaitCause::None || times.service_ns() == times.latency_ns());
    }
}

fn check_row(name: &str, golden: &Value, run: &TimedFinished) {
    let (timed, timing) = (&run.timed, &run.timed.timing);
    let found = json!({
        "requests": timed.requests,
        "duration_ns": timing.end_ns,
        "read": summary(&timed.reads),
        "write": summary(&timed.writes),
        "flush": summary(&timed.flushes),
        "channel_busy_ns": timing.channel_busy_ns,
        "die_busy_ns": timing.die_busy_ns,
        "is_saturated": timed.is_saturated,
        "in_flight_reads": timing.in_flight_reads,
        "unmapped_reads": timing.unmapped_reads,
        "suspensions": timing.suspensions,
        "stalled_pages": timing.stalled_pages,
        "stall_ns": timing.stall_ns,
        "background_erases": timing.background_erases,
        "collection_ns": timing.collection_ns,
        "buffer_reads": run.finished.counts.read_hits,
    });
    assert_eq!(found, golden["row"], "{name}");
    let counters = run.finished.drive.counters();
    let mapping = run.finished.drive.mapping_counts();
    let counts = [
        ("host_writes", counters.host_writes),
        ("host_reads", counters.host_reads),
        ("relocations", counters.relocations),
        ("erases", counters.erases),
        ("translation_reads", counters.translation_reads),
        ("translation_programs", counters.translation_programs),
        ("translation_relocations", counters.translation_relocations),
        ("flash_programs", counters.flash_programs()),
        ("switch_merges", mapping.switch_merges),
        ("partial_merges", mapping.partial_merges),
        ("full_merges", mapping.full_merges),
        ("cmt_hits", mapping.cmt_hits),
        ("cmt_misses", mapping.cmt_misses),
        ("folded_pages", mapping.folded_pages),
        ("slc_erases", mapping.slc_erases),
        ("ignored_trims", mapping.ignored_trims),
        ("misplaced_writes", mapping.misplaced_writes),
    ];
    for (count, value) in counts {
        assert_eq!(golden["counts"][count].as_u64().unwrap_or(0), value, "{name}: {count}");
    }
}

#[test]
fn every_golden_drive_does_each_operation_at_its_nanosecond() {
    let mut checked = 0;
    for file in files() {
        let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&file).expect("it can be read");
        let golden: Value = serde_json::from_str(&text).expect("JSON");
        if golden["kind"] != "ssdtime" {
            continue;
        }
        let run = match (run(&golden), &golden["error"]) {
            (run, Value::Null) => run.expect("it runs"),
            (run, error) => {
                let sentence = run.err().expect("it is refused").to_string();
                for number in ["request", "page", "expected"] {
                    assert!(sentence.contains(&error[number].to_string()), "{sentence}");
                }
                continue;
            }
        };
        let operations: Vec<Value> =
            (1..).zip(&run.operations).map(|(number, record)| operation(number, record)).collect();
        let expected = golden["operations"].as_array().expect("operations");
        for (found, expected) in operations.iter().zip(expected) {
            assert_eq!(found, expected, "{name}");
        }
        assert_eq!(operations.len(), expected.len(), "{name}");
        check_requests(&name, &golden, &run);
        check_row(&name, &golden, &run);
        checked += 1;
    }
    assert!(checked > 0, "there are golden drives");
}

#[test]
fn golden_percentiles_are_exact() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/ssdtime_percentiles.json");
    let text = std::fs::read_to_string(file).expect("it can be read");
    let golden: Value = serde_json::from_str(&text).expect("JSON");
    for case in golden["cases"].as_array().expect("cases") {
        let mut latencies = Latencies::new();
        for value in case["values"].as_array().expect("values") {
            latencies.add(value.as_u64().expect("a number"));
        }
        assert_eq!(summary(&latencies), case["summary"]);
    }
}
