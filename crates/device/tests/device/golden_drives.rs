//! The golden vectors of drives: counts, places, and which operations are decided in which order. When they happen is left to
//! the model with time.

use std::path::PathBuf;

use clockhand_device::flash::{
    Allocation, Block, CachePolicy, Cause, Counters, DftlOptions, FlashOperations, Ftl, FtlOptions,
    Geometry, LogBlocks, LogicalPage, Mapping, MappingCounts, MinimumFree, PageOptions,
    PhysicalPage, Refused, Separation, SlcFull, SlcOptions, TranslationPage, ZoneFault,
    ZoneOptions, ZoneWrites,
};
use serde_json::Value;

/// One operation as the vectors write it: kind, role, block, page in block, page.
type Operation = (String, String, u32, Option<u32>, Option<String>);

/// Records and counts operations.
struct Journal {
    pages_per_block: u32,
    operations: Vec<Operation>,
    counters: Counters,
}

impl Journal {
    fn note(&mut self, kind: &'static str, role: &'static str, at: PhysicalPage, page: String) {
        let (block, in_block) = (at.0 / self.pages_per_block, at.0 % self.pages_per_block);
        let (kind, role) = (kind.to_owned(), role.to_owned());
        self.operations.push((kind, role, block, Some(in_block), Some(page)));
    }
}

fn role(cause: Cause) -> &'static str {
    match cause {
        Cause::Collect => "collect",
        Cause::Merge => "merge",
        Cause::Fold => "fold",
        Cause::Reset => "host",
    }
}

fn translation(page: TranslationPage) -> String {
    format!("t{}", page.0)
}

impl FlashOperations for Journal {
    fn program(&mut self, to: PhysicalPage, holds: LogicalPage) {
        self.counters.program(to, holds);
        self.note("program", "host", to, holds.0.to_string());
    }

    fn read(&mut self, from: PhysicalPage, holds: LogicalPage) {
        self.counters.read(from, holds);
        self.note("read", "host", from, holds.0.to_string());
    }

    fn relocate(&mut self, cause: Cause, from: PhysicalPage, to: PhysicalPage, holds: LogicalPage) {
        self.counters.relocate(cause, from, to, holds);
        self.note("read", role(cause), from, holds.0.to_string());
        self.note("program", role(cause), to, holds.0.to_string());
    }

    fn erase(&mut self, cause: Cause, block: Block) {
        self.counters.erase(cause, block);
        // The vectors call all erases of the drive itself collection.
        let role = if cause == Cause::Reset { "host" } else { "collect" };
        self.operations.push(("erase".to_owned(), role.to_owned(), block.0, None, None));
    }

    fn load_translation(
        &mut self,
        from: PhysicalPage,
        holds: TranslationPage,
        wanted: LogicalPage,
    ) {
        self.counters.load_translation(from, holds, wanted);
        self.note("read", "load", from, translation(holds));
    }

    fn read_translation(&mut self, from: PhysicalPage, holds: TranslationPage) {
        self.counters.read_translation(from, holds);
        self.note("read", "update", from, translation(holds));
    }

    fn program_translation(&mut self, to: PhysicalPage, holds: TranslationPage) {
        self.counters.program_translation(to, holds);
        self.note("program", "translation", to, translation(holds));
    }

    fn relocate_translation(
        &mut self,
        from: PhysicalPage,
        to: PhysicalPage,
        holds: TranslationPage,
    ) {
        self.counters.relocate_translation(from, to, holds);
        self.note("read", "collect", from, translation(holds));
        self.note("program", "collect", to, translation(holds));
    }
}

/// The vectors of drives without a write buffer that do everything in the foreground.
fn cases() -> Vec<(String, Value)> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden"));
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let read = |path: PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        (name, serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
    };
    let is_counted = |(_, case): &(String, Value)| {
        case["buffer"].is_null()
            && case["trace"].is_array()
            && case["drive"]["collection"] != "background"
    };
    files.into_iter().map(read).filter(is_counted).collect()
}

fn drive(case: &Value) -> Ftl {
    let given = &case["drive"];
    let number = |name: &str| given[name].as_u64().map(|number| number as u32);
    let text = |name: &str| given[name].as_str().unwrap_or_default();
    let geometry = Geometry {
        channels: number("channels").unwrap_or(1),
        dies_per_channel: number("dies_per_channel").unwrap_or(1),
        ..Geometry::one_pool(
            number("blocks_per_plane").unwrap(),
            number("pages_per_block").unwrap(),
            4096,
        )
    };
    let log = LogBlocks { log_blocks: number("log_blocks") };
    let mapping = match text("mapping") {
        "bast" => Mapping::Bast(log),
        "fast" => Mapping::Fast(log),
        "dftl" => Mapping::Dftl(DftlOptions {
            cmt_entries: number("cmt_entries").unwrap(),
            cmt_policy: text("cmt_policy").parse().unwrap_or(CachePolicy::SegmentedLru),
            entry_bytes: number("entry_bytes").unwrap_or(4),
            batch_eviction: false,
        }),
        "zoned" => Mapping::Zoned(ZoneOptions {
            zone_blocks: number("zone_blocks").unwrap(),
            writes: text("zone_writes").parse().unwrap_or(ZoneWrites::Strict),
            max_open_zones: number("max_open_zones"),
        }),
        _ => Mapping::Page(PageOptions {
            slc: number("slc_blocks").map(|blocks| SlcOptions {
                blocks,
                bits_per_cell: number("bits_per_cell").unwrap_or(3),
                full: text("slc_full").parse().unwrap_or(SlcFull::Fold),
            }),
            separation: match text("separate") {
                "" => Separation::Off,
                "temperature" => Separation::Temperature { hot_within: number("hot_within") },
                stream => {
                    Separation::Stream(stream.strip_prefix("stream:").unwrap().parse().unwrap())
                }
            },
        }),
    };
    let allocation = text("allocation").parse().unwrap_or(Allocation::OnePool);
    let minimum_free = MinimumFree::Blocks(number("minimum_free").unwrap_or(2));
    let options = FtlOptions {
        mapping,
        allocation,
        minimum_free,
        ..FtlOptions::new(number("logical_pages").unwrap())
    };
    Ftl::new(geometry, options).unwrap()
}

/// A request as the vectors write it: its letter, its pages, its stream.
fn request(text: &str) -> (char, std::ops::Range<u32>, u32) {
    let (what, stream) = text.split_once('@').unwrap_or((text, "0"));
    let letter = what.chars().next().unwrap();
    let (first, pages) = what[1..].split_once('+').unwrap_or((&what[1..], "1"));
    let first: u32 = first.parse().unwrap_or(0);
    (letter, first..first + pages.parse::<u32>().unwrap(), stream.parse().unwrap())
}

/// Ages a drive as a vector says and tells what its trace leads to, up to the first page that is refused.
fn run(case: &Value) -> (Ftl, Journal, Option<(usize, Refused)>) {
    let mut ftl = drive(case);
    let mut journal = Journal {
        pages_per_block: ftl.geometry().pages_per_block,
        operations: Vec::new(),
        counters: Counters::default(),
    };
    let aged: Vec<LogicalPage> = match &case["precondition"] {
        Value::Array(pages) => {
            pages.iter().map(|page| LogicalPage(page.as_u64().unwrap() as u32)).collect()
        }
        Value::String(_) => (0..ftl.options().logical_pages).map(LogicalPage).collect(),
        _ => Vec::new(),
    };
    ftl.write_all(&aged, &mut journal).unwrap();
    journal.operations.clear();
    journal.counters = Counters::default();
    for (index, line) in case["trace"].as_array().unwrap().iter().enumerate() {
        let (letter, pages, stream) = request(line[1].as_str().unwrap());
        if letter == 'T' {
            ftl.trim(pages.clone(), &mut journal);
        }
        for page in pages.map(LogicalPage) {
            match letter {
                'R' => drop(ftl.read(page, &mut journal)),
                'W' | 'F' => {
                    ftl.wrote(page, stream);
                    if let Err(refused) = ftl.write(page, &mut journal) {
                        return (ftl, journal, Some((index, refused)));
                    }
                }
                _ => {}
            }
        }
        assert_eq!(ftl.check_invariants(), Ok(()));
    }
    (ftl, journal, None)
}

fn expected_operations(case: &Value) -> Vec<Operation> {
    let page_of = |page: &Value| match page {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        number => Some(number.to_string()),
    };
    let operation = |line: &Value| {
        let text = |index: usize| line[index].as_str().unwrap().to_owned();
        let number = |index: usize| line[index].as_u64().map(|number| number as u32);
        (text(1), text(2), number(4).unwrap(), number(5), page_of(&line[6]))
    };
    case["operations"].as_array().unwrap().iter().map(operation).collect()
}

#[test]
fn operations_are_decided_in_the_order_of_the_vectors() {
    for (name, case) in cases() {
        // A copy within a plane is one operation with time, and here a read and a program.
        if case["operations"].is_null() || case["drive"]["copyback"] == true {
            continue;
        }
        let (_, journal, refused) = run(&case);
        assert_eq!(refused, None, "{name}");
        // A page whose program is under way is read from the controller's memory: what a model without time reads there has no
        // operation with time.
        let leaves_out_reads = case["row"]["in_flight_reads"] != 0;
        let is_compared =
            |kind: &str, role: &str| !(leaves_out_reads && kind == "read" && role == "host");
        let mut told = journal.operations;
        told.retain(|(kind, role, ..)| is_compared(kind, role));
        let mut expected = expected_operations(&case);
        expected.retain(|(kind, role, ..)| is_compared(kind, role));
        assert_eq!(told, expected, "{name}");
    }
}

#[test]
fn counts_are_those_of_the_vectors() {
    for (name, case) in cases() {
        if case["counts"].is_null() {
            continue;
        }
        let (ftl, journal, _) = run(&case);
        let Counters { host_writes, host_reads, relocations, erases, .. } = journal.counters;
        let Counters { translation_reads, translation_programs, translation_relocations, .. } =
            journal.counters;
        // Ageing does not count.
        let mut aged = case.clone();
        aged["trace"] = Value::Array(Vec::new());
        let before = run(&aged).0.counts();
        let MappingCounts {
            switch_merges,
            partial_merges,
            full_merges,
            cmt_hits,
            cmt_misses,
            folded_pages,
            slc_erases,
            ignored_trims,
            misplaced_writes,
        } = ftl.counts();
        let counts = [
            ("host_writes", host_writes),
            ("host_reads", host_reads),
            ("relocations", relocations),
            ("erases", erases),
            ("flash_programs", journal.counters.flash_programs()),
            ("translation_reads", translation_reads),
            ("translation_programs", translation_programs),
            ("translation_relocations", translation_relocations),
            ("switch_merges", switch_merges - before.switch_merges),
            ("partial_merges", partial_merges - before.partial_merges),
            ("full_merges", full_merges - before.full_merges),
            ("cmt_hits", cmt_hits - before.cmt_hits),
            ("cmt_misses", cmt_misses - before.cmt_misses),
            ("folded_pages", folded_pages - before.folded_pages),
            ("slc_erases", slc_erases - before.slc_erases),
            ("ignored_trims", ignored_trims - before.ignored_trims),
            ("misplaced_writes", misplaced_writes - before.misplaced_writes),
        ];
        for (what, count) in counts {
            assert_eq!(count, case["counts"][what].as_u64().unwrap_or(0), "{name}: {what}");
        }
    }
}

#[test]
fn pages_end_where_the_vectors_say() {
    for (name, case) in cases() {
        let Some(places) = case["places"].as_array() else { continue };
        let (ftl, ..) = run(&case);
        let pages_per_block = ftl.geometry().pages_per_block;
        let found = (0..ftl.options().logical_pages).filter_map(|page| {
            let at = ftl.find(LogicalPage(page))?.0;
            Some((page.to_string(), at / pages_per_block, at % pages_per_block))
        });
        let of_translation =
            (0..).map_while(|page| Some((page, ftl.find_translation(TranslationPage(page))?)));
        let of_translation = of_translation
            .map(|(page, at)| (format!("t{page}"), at.0 / pages_per_block, at.0 % pages_per_block));
        let found: Vec<_> = found.chain(of_translation).collect();
        let expected: Vec<_> = places
            .iter()
            .map(|place| {
                let page = place[0].as_str().map_or_else(|| place[0].to_string(), str::to_owned);
                let number = |index: usize| place[index].as_u64().unwrap() as u32;
                (page, number(1), number(2))
            })
            .collect();
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn a_write_beside_the_pointer_of_its_zone_is_refused() {
    let (_, case) = cases().into_iter().find(|(name, _)| name == "ssdtime_zones_error").unwrap();
    let (_, _, refused) = run(&case);
    let number = |name: &str| case["error"][name].as_u64().unwrap() as u32;
    let fault = ZoneFault::NotAtPointer {
        zone: 0,
        page: LogicalPage(number("page")),
        pointer: LogicalPage(number("expected")),
    };
    assert_eq!(refused, Some((number("request") as usize, Refused::Zone(fault))));
}
