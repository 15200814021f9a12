//! Random drives, buffers and traces.

use clockhand_device::Exact;
use clockhand_device::flash::time::{
    MemoryTimes, Scheduling, SlcTimes, Suspend, TimeOptions, Times,
};
use clockhand_device::flash::{
    Allocation, CachePolicy, DftlOptions, Drive, Frontiers, FtlOptions, Geometry, LogBlocks,
    LogicalPage as FlashPage, Mapping, MinimumFree, PageOptions, Separation, SlcFull, SlcOptions,
    VictimRule, ZoneOptions, ZoneWrites,
};
use clockhand_policy::Ratio;
use clockhand_policy::SplitMix64;
use clockhand_policy::buffer::catalog::{BufferSpec, ResolvedBuffer};
use clockhand_policy::buffer::{BufferSize, PagesPerBlock};

use crate::ssd::placement::{Placed, PlacedCommand, PlacedForTest};
use crate::ssd::timed::ArrivalTimes;

struct Numbers(SplitMix64);

impl Numbers {
    fn below(&mut self, most: u64) -> u64 {
        self.0.next() % most
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize].clone()
    }

    /// True once in this many times.
    fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

/// A drive, a buffer and a trace.
pub(super) struct Case {
    pub(super) geometry: Geometry,
    pub(super) options: FtlOptions,
    pub(super) time: TimeOptions,
    /// Pages written before.
    pub(super) filled: u32,
    pub(super) buffer: ResolvedBuffer,
    pub(super) placed: Placed,
    pub(super) arrivals: ArrivalTimes,
}

impl Case {
    pub(super) fn is_zoned(&self) -> bool {
        matches!(self.options.mapping, Mapping::Zoned(_))
    }

    /// The pages that a drive is aged with.
    pub(super) fn aged_with(&self) -> Vec<FlashPage> {
        let logical_pages = self.options.logical_pages;
        let page = |write| if write < logical_pages { write } else { write * 7 % logical_pages };
        (0..self.filled).map(|write| FlashPage(page(write))).collect()
    }

    /// The drive, aged.
    pub(super) fn drive(&self) -> Drive {
        let mut drive = Drive::new(self.geometry, self.options.clone()).expect("it can be built");
        drive.precondition_with(&self.aged_with());
        drive
    }

    /// Whether FLUSH and FUA mean something.
    pub(super) fn is_safe(&self) -> bool {
        let mut settings = self.buffer.settings().iter();
        !settings.any(|(name, value)| name == "commands" && value.to_string() != "safe")
    }

    pub(super) fn is_background(&self) -> bool {
        self.time.background_free.is_some()
    }
}

fn times(numbers: &mut Numbers, has_slc: bool) -> Times {
    let us = 1_000;
    Times {
        read_ns: numbers.pick(&[vec![25 * us], vec![50 * us, 80 * us, 110 * us], vec![0]]),
        program_ns: numbers.pick(&[vec![200 * us], vec![500 * us, 900 * us], vec![30 * us]]),
        erase_ns: numbers.pick(&[1_500 * us, 100 * us, 0]),
        command_ns: numbers.pick(&[0, 300, 5_000]),
        transfer_ns: numbers.pick(&[0, 10_240, 40_000]),
        suspend_ns: numbers.pick(&[0, 5_000, 20_000]),
        resume_ns: numbers.pick(&[0, 10_000]),
        request_ns: numbers.pick(&[0, 2_000, 30_000]),
        idle_ns: numbers.pick(&[0, 50_000, 400_000]),
        link_mb_s: numbers.pick(&[None, Some(Exact::from_integer(1_000))]),
        dram: numbers.pick(&[
            MemoryTimes { read_ns: 50, write_ns: 50 },
            MemoryTimes { read_ns: 0, write_ns: 0 },
            MemoryTimes { read_ns: 7_000, write_ns: 9_000 },
        ]),
        nvm: numbers.pick(&[
            MemoryTimes { read_ns: 50, write_ns: 250 },
            MemoryTimes { read_ns: 3_000, write_ns: 40_000 },
        ]),
        slc: has_slc.then_some(SlcTimes {
            read_ns: 10 * us,
            program_ns: 50 * us,
            erase_ns: 700 * us,
        }),
    }
}

fn time_options(numbers: &mut Numbers, mapping: &Mapping) -> TimeOptions {
    let scheduling = numbers.pick(&[Scheduling::Fifo, Scheduling::ReadFirst]);
    let is_read_first = scheduling == Scheduling::ReadFirst;
    let is_background = matches!(mapping, Mapping::Page(_)) && numbers.once_in(4);
    TimeOptions {
        scheduling,
        suspend: Suspend {
            erase: is_read_first && numbers.once_in(2),
            program: is_read_first && numbers.once_in(2),
        },
        suspend_limit: numbers.pick(&[1, 4]),
        copyback: numbers.once_in(3),
        cache_program: numbers.once_in(3),
        pages_per_program: numbers.pick(&[1, 1, 2, 4]),
        queue_depth: numbers.pick(&[1, 2, 32]),
        background_free: is_background.then(|| MinimumFree::Blocks(numbers.pick(&[4, 6]))),
        ..TimeOptions::new(times(numbers, mapping.slc().is_some()))
    }
}

fn mapping(numbers: &mut Numbers, pages_per_block: u32) -> Mapping {
    let log = LogBlocks { log_blocks: numbers.pick(&[None, Some(2), Some(3)]) };
    match numbers.below(8) {
        0 => Mapping::Bast(log),
        1 => Mapping::Fast(log),
        2 | 3 => Mapping::Dftl(DftlOptions {
            cmt_entries: numbers.pick(&[1, 3, 8]),
            cmt_policy: numbers.pick(&[CachePolicy::SegmentedLru, CachePolicy::Lru]),
            entry_bytes: numbers.pick(&[1024, 2048, 512]),
            batch_eviction: numbers.once_in(2),
        }),
        4 => Mapping::Zoned(ZoneOptions {
            zone_blocks: numbers.pick(&[1, 2, 3]),
            writes: numbers.pick(&[ZoneWrites::Append, ZoneWrites::Strict]),
            max_open_zones: None,
        }),
        5 | 6 => Mapping::Page(PageOptions {
            slc: numbers.once_in(2).then(|| SlcOptions {
                blocks: numbers.pick(&[1, 2]),
                bits_per_cell: numbers.pick(&[1, 2, 3]).min(pages_per_block),
                full: numbers.pick(&[SlcFull::Fold, SlcFull::Direct]),
            }),
            separation: numbers.pick(&[
                Separation::Off,
                Separation::Stream(2),
                Separation::Temperature { hot_within: Some(6) },
            ]),
        }),
        _ => Mapping::default(),
    }
}

/// A drive that has just enough blocks, or one more in each plane.
fn drive(numbers: &mut Numbers) -> (Geometry, FtlOptions) {
    let pages_per_block = numbers.pick(&[4, 8]);
    let geometry = Geometry {
        channels: numbers.pick(&[1, 1, 2]),
        dies_per_channel: numbers.pick(&[1, 1, 2, 3]),
        planes_per_die: numbers.pick(&[1, 2]),
        ..Geometry::one_pool(1, pages_per_block, 4096)
    };
    let allocation = numbers.pick(&[Allocation::OnePool, Allocation::Striped]);
    let pools = if allocation == Allocation::Striped { geometry.dies() as u32 } else { 1 };
    let least_free = numbers.pick(&[2, 3]);
    let mapping = mapping(numbers, pages_per_block);
    let apart = matches!(mapping.separation(), Separation::Temperature { .. });
    let options = FtlOptions {
        allocation,
        mapping,
        victim: numbers.pick(&[VictimRule::Greedy, VictimRule::Fifo, VictimRule::CostBenefit]),
        frontiers: numbers.pick(&[Frontiers::Shared, Frontiers::Separate]),
        minimum_free: MinimumFree::Blocks(if apart { 3 } else { least_free }),
        wear_levelling: numbers.pick(&[None, None, None, Some(2)]),
        ..FtlOptions::new(pools * 2 * pages_per_block)
    };
    let spare = numbers.below(2) as u32;
    if let Mapping::Zoned(zones) = &options.mapping {
        let geometry = Geometry { blocks_per_plane: zones.zone_blocks + 1 + spare, ..geometry };
        let zones_count = geometry.blocks() as u32 / zones.zone_blocks;
        let logical_pages = zones_count * zones.zone_blocks * pages_per_block;
        return (geometry, FtlOptions { logical_pages, ..options });
    }
    let with = |blocks_per_plane| Geometry { blocks_per_plane, ..geometry };
    let least = (1..).find(|blocks| options.check(&with(*blocks)).is_ok()).expect("some number");
    (with(least + spare), options)
}

fn buffer(
    numbers: &mut Numbers,
    pages_per_block: u32,
    logical_pages: u32,
    zoned: bool,
) -> ResolvedBuffer {
    let names = [
        "none",
        "lru:commands=safe",
        "lru:cluster=block",
        "clock",
        "cflru:commands=safe",
        "fab",
        "fab:commands=safe,cache_reads=false",
        "bplru:commands=safe",
        "bplru",
        "clc",
        "lb-clock",
        "pud-lru",
        "block-min",
        "cbm:dram_share=1/3",
        "cbm:commands=safe,dram_share=1/3",
        "clock-dnv:dram_share=1/3",
        "clock-dnv:dram_share=1/2,commands=safe",
        "clock-dnv:dram_share=1/3,nvm_write_hit=promote,commands=safe",
        "clock-dnv:dram_share=1/3,nvm_write_hit=dram_copy,padding=keep_clean",
        "clock-dnv:dram_share=1/3,padding=off,pad_migrating=true,read_allocate=false",
    ];
    let name = if zoned { "none" } else { numbers.pick(&names) };
    let spec = BufferSpec::parse(name).expect("it exists");
    let pages = if spec.is_none() { 0 } else { 3 + numbers.below(6) as u32 };
    let size = BufferSize {
        pages,
        pages_per_block: PagesPerBlock::new(pages_per_block).expect("a power of two"),
        distinct_pages: logical_pages,
        drive_pages: logical_pages.into(),
    };
    spec.resolve(size, Ratio::whole(8)).expect("it has this size")
}

fn trace(numbers: &mut Numbers, logical_pages: u32) -> (Placed, Vec<u64>) {
    let mut placed = PlacedForTest::new();
    let (mut times, mut time) = (Vec::new(), 0);
    let gap = numbers.pick(&[0, 1_000, 50_000, 300_000]);
    let hot = numbers.pick(&[logical_pages, 4]);
    for _ in 0..10 + numbers.below(60) {
        time += numbers.below(gap + 1);
        times.push(time);
        let among = if numbers.once_in(3) { logical_pages } else { hot };
        let first = numbers.below(among.into());
        let most = u64::from(logical_pages) - first;
        let pages = first as u32..(first + 1 + numbers.below(most.min(3))) as u32;
        let stream = numbers.below(3) as u32;
        match numbers.below(14) {
            0 => placed.command(PlacedCommand::Flush),
            1 => placed.command(PlacedCommand::Trim(pages)),
            2 => placed.request(pages, true, true, stream),
            3..=7 => placed.request(pages, true, false, stream),
            _ => placed.request(pages, false, false, stream),
        }
    }
    (placed.finish(), times)
}

/// Zones are written, at the pointer or, if they append, elsewhere, until they are full, and then reset.
fn zoned_trace(
    numbers: &mut Numbers,
    logical_pages: u32,
    zone_pages: u32,
    writes: ZoneWrites,
) -> (Placed, Vec<u64>) {
    let mut placed = PlacedForTest::new();
    let (mut times, mut time) = (Vec::new(), 0);
    let gap = numbers.pick(&[0, 1_000, 300_000]);
    let mut pointers = vec![0; (logical_pages / zone_pages) as usize];
    for _ in 0..10 + numbers.below(60) {
        time += numbers.below(gap + 1);
        times.push(time);
        let zone = numbers.below(pointers.len() as u64) as usize;
        let first = zone as u32 * zone_pages;
        if numbers.once_in(3) {
            let page = numbers.below(logical_pages.into()) as u32;
            placed.request(page..page + 1, false, false, 0);
        } else if pointers[zone] == zone_pages || numbers.once_in(12) {
            // Now and then the pages of its neighbour too, which are not its whole zone.
            let end = (first + zone_pages + numbers.below(2) as u32).min(logical_pages);
            placed.command(PlacedCommand::Trim(first..end));
            pointers[zone] = 0;
        } else {
            let pages = (zone_pages - pointers[zone]).min(1 + numbers.below(2) as u32);
            let is_misplaced = writes == ZoneWrites::Append && numbers.once_in(5);
            let offset = if is_misplaced { 0 } else { pointers[zone] };
            placed.request(first + offset..first + offset + pages, true, false, 0);
            pointers[zone] += pages;
        }
    }
    (placed.finish(), times)
}

pub(super) fn case(seed: u64) -> Case {
    let numbers = &mut Numbers(SplitMix64::new(seed));
    let (geometry, options) = drive(numbers);
    let logical_pages = options.logical_pages;
    let is_zoned = matches!(options.mapping, Mapping::Zoned(_));
    let (placed, times) = match &options.mapping {
        Mapping::Zoned(zones) => {
            let zone_pages = zones.zone_blocks * geometry.pages_per_block;
            zoned_trace(numbers, logical_pages, zone_pages, zones.writes)
        }
        _ => trace(numbers, logical_pages),
    };
    let arrivals = match numbers.below(3) {
        0 => ArrivalTimes::Closed(1 + numbers.below(40)),
        _ => ArrivalTimes::at(&times, &Exact::from_integer(1)),
    };
    Case {
        time: time_options(numbers, &options.mapping),
        filled: if is_zoned { 0 } else { numbers.pick(&[0, 1, 3]) * logical_pages },
        buffer: buffer(numbers, geometry.pages_per_block, logical_pages, is_zoned),
        geometry,
        options,
        placed,
        arrivals,
    }
}
