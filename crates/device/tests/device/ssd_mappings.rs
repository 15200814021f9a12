//! Mappings as options of a drive and as keys of its profile, and what is refused.

use clockhand_device::Ssd;
use clockhand_device::flash::{
    CachePolicy, DftlOptions, LogBlocks, LogicalPage, Mapping, PageOptions, Separation, SlcFull,
    SlcOptions, ZoneOptions, ZoneWrites,
};

fn mapping(options: &str) -> Mapping {
    Ssd::named_or_file(&format!("small:{options}")).unwrap().options().mapping.clone()
}

fn refused(options: &str) -> String {
    Ssd::named_or_file(&format!("small:{options}")).unwrap_err().to_string()
}

#[test]
fn options_after_the_name_choose_a_mapping() {
    assert_eq!(mapping("victim=fifo"), Mapping::default());
    assert_eq!(mapping("mapping=bast"), Mapping::Bast(LogBlocks { log_blocks: None }));
    let fast = Mapping::Fast(LogBlocks { log_blocks: Some(8) });
    assert_eq!(mapping("mapping=fast,log_blocks=8"), fast);
    let dftl = DftlOptions {
        cmt_entries: 64,
        cmt_policy: CachePolicy::SegmentedLru,
        entry_bytes: 4,
        batch_eviction: false,
    };
    assert_eq!(mapping("mapping=dftl,cmt_entries=64"), Mapping::Dftl(dftl));
    let all = "mapping=dftl,cmt_entries=9,cmt_policy=lru,entry_bytes=8,batch_eviction=true";
    let others = DftlOptions {
        cmt_entries: 9,
        cmt_policy: CachePolicy::Lru,
        entry_bytes: 8,
        batch_eviction: true,
    };
    assert_eq!(mapping(all), Mapping::Dftl(others));
    let zones = ZoneOptions { zone_blocks: 4, writes: ZoneWrites::Append, max_open_zones: Some(2) };
    let text = "mapping=zoned,zone_blocks=4,zone_writes=append,max_open_zones=2";
    assert_eq!(mapping(text), Mapping::Zoned(zones));
    let slc = SlcOptions { blocks: 4, bits_per_cell: 4, full: SlcFull::Direct };
    let separation = Separation::Stream(3);
    assert_eq!(
        mapping("slc_blocks=4,bits_per_cell=4,slc_full=direct,separate=stream:3"),
        Mapping::Page(PageOptions { slc: Some(slc), separation })
    );
    let separation = Separation::Temperature { hot_within: Some(9) };
    assert_eq!(
        mapping("separate=temperature,hot_within=9,minimum_free=3,slc_blocks=0"),
        Mapping::Page(PageOptions { slc: None, separation })
    );
}

#[test]
fn the_resolved_text_gives_the_mapping_again() {
    for options in [
        "mapping=fast,log_blocks=8",
        "mapping=dftl,cmt_entries=64,batch_eviction=true",
        "mapping=zoned,zone_blocks=4,zone_writes=append",
        "slc_blocks=4,separate=stream:2",
    ] {
        let ssd = Ssd::named_or_file(&format!("small:{options}")).unwrap();
        assert!(ssd.resolved().ends_with(&format!(",{options}")), "{}", ssd.resolved());
        assert_eq!(Ssd::named_or_file(&ssd.resolved()).unwrap().options(), ssd.options());
    }
}

#[test]
fn what_a_mapping_lacks_is_said() {
    for (options, problem) in [
        (
            "mapping=dftl",
            "mapping=dftl needs cmt_entries, how many entries of the map are cached; add cmt_entries=NUMBER",
        ),
        (
            "mapping=zoned",
            "mapping=zoned needs zone_blocks, how many blocks a zone has; add zone_blocks=NUMBER",
        ),
        ("mapping=nftl", "mapping 'nftl' is unknown; use page, bast, fast, dftl or zoned"),
        (
            "log_blocks=4",
            "log_blocks belongs to mapping=bast or mapping=fast and the drive has mapping=page",
        ),
        (
            "mapping=bast,slc_blocks=4",
            "slc_blocks belongs to mapping=page and the drive has mapping=bast",
        ),
        ("mapping=fast,log_blocks=1", "log_blocks is 1, give at least 2 to mapping=fast"),
        ("mapping=bast,log_blocks=0", "log_blocks '0' is not a number; give a whole number from 1"),
        (
            "separate=stream:0",
            "separate 'stream:0' is unknown; use off, temperature or stream:S with S from 1 to 255",
        ),
        (
            "separate=temperature",
            "separate=temperature needs minimum_free of at least 3 blocks and has 2",
        ),
        ("hot_within=4", "hot_within says what is hot for separate=temperature"),
        (
            "mapping=dftl,cmt_entries=4,entry_bytes=8192",
            "a page of 4096 bytes holds no entry of the map",
        ),
        ("slc_blocks=4,bits_per_cell=64", "a block of 16 pages then holds none in the SLC region"),
        (
            "mapping=dftl,cmt_entries=4,cmt_policy=arc",
            "cmt_policy 'arc' is unknown; use slru or lru",
        ),
        (
            "mapping=dftl,cmt_entries=4,batch_eviction=yes",
            "batch_eviction 'yes' is unknown; use true or false",
        ),
        (
            "mapping=zoned,zone_blocks=4,zone_writes=any",
            "zone_writes 'any' is unknown; use strict or append",
        ),
        ("slc_blocks=4,slc_full=wait", "slc_full 'wait' is unknown; use fold or direct"),
        (
            "mapping=zoned,zone_blocks=9999",
            "zone_blocks is 9999, and the drive has 256 blocks; give at most as many",
        ),
    ] {
        let said = refused(options);
        assert!(said.contains(problem), "{options}: {said}");
    }
}

#[test]
fn too_few_blocks_say_how_many_are_required() {
    for (options, problem) in [
        (
            "mapping=bast,log_blocks=99",
            "has 256 blocks and needs 323 for 3561 logical pages: 223 hold data, 99 are log_blocks and 1 is for merging",
        ),
        (
            "mapping=dftl,cmt_entries=4,over_provisioning=1%",
            "needs 260 for 4055 logical pages: 4 are for the map and 256 for data, with minimum_free in both",
        ),
        (
            "slc_blocks=40",
            "has 256 blocks and needs 265 for 3561 logical pages: 222 hold data, 2 are kept free, 1 are being written and 40 are slc_blocks",
        ),
        ("separate=stream:40", "has 256 blocks and needs 264"),
    ] {
        let said = refused(options);
        assert!(said.contains(problem), "{options}: {said}");
    }
}

#[test]
fn a_size_gives_each_mapping_the_blocks_that_it_needs() {
    for options in [
        "mapping=bast,log_blocks=200",
        "mapping=fast,log_blocks=200",
        "mapping=dftl,cmt_entries=10,over_provisioning=0.1%",
        "slc_blocks=100",
        "separate=stream:200",
        "mapping=zoned,zone_blocks=4",
    ] {
        let ssd = Ssd::named_or_file(&format!("small:size=2MiB,{options}")).unwrap();
        let mut drive = ssd.drive(0);
        for page in 0..512 {
            drive.write(LogicalPage(page)).unwrap();
        }
        assert_eq!(drive.ftl().check_invariants(), Ok(()), "{options}");
    }
}

#[test]
fn zones_have_all_blocks_and_no_spare_ones() {
    let zoned = Ssd::named_or_file("small:mapping=zoned,zone_blocks=24").unwrap();
    let capacity = zoned.capacity();
    // 256 blocks are 10 zones and a rest.
    assert_eq!((capacity.raw_pages, capacity.logical_pages), (4096, 3840));
    let sized = Ssd::named_or_file("small:mapping=zoned,zone_blocks=2,size=1MB").unwrap();
    // 1,000,000 bytes are 15.3 blocks of 65,536.
    assert_eq!(sized.capacity().logical_pages, 256);
}

#[test]
fn a_profile_takes_the_mapping_as_a_key() {
    let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    let text = "summary = \"a drive\"\nsource = \"made up\"\n[drive]\nblocks_per_plane = 64\npages_per_block = 4\n\
                page_bytes = 4096\nover_provisioning = \"50%\"\nmapping = \"dftl\"\ncmt_entries = 5\nbatch_eviction = true\n";
    std::fs::write(file.path(), text).unwrap();
    let ssd = Ssd::named_or_file(file.path().to_str().unwrap()).unwrap();
    let Mapping::Dftl(dftl) = ssd.options().mapping else { panic!("it is not dftl") };
    assert_eq!((dftl.cmt_entries, dftl.batch_eviction), (5, true));
}
