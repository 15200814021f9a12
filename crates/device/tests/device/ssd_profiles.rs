//! Drives by name, by file and with options: what they are, and what is refused.

use clockhand_device::flash::{Allocation, LogicalPage, MinimumFree, VictimRule, WriteError};
use clockhand_device::{DeviceError, Exact, Ssd, built_in_ssds};

fn ssd(text: &str) -> Ssd {
    Ssd::named_or_file(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[track_caller]
fn assert_refused(text: &str, expected: &str) {
    let sentence = Ssd::named_or_file(text).expect_err(text).to_string();
    assert!(sentence.contains(expected), "{text}: {sentence}");
    assert!(!sentence.contains('\n') && !sentence.contains("  "), "{sentence}");
}

#[test]
fn every_built_in_drive_says_what_it_is_and_whence_and_can_be_built() {
    let names: Vec<String> = built_in_ssds().into_iter().map(|drive| drive.name).collect();
    assert!(names.is_sorted());
    assert_eq!(
        names,
        [
            "dnv-paper",
            "dnv-textbook",
            "micron-9200-max-1600gb",
            "samsung-840-evo-250gb",
            "samsung-970-pro-512gb",
            "samsung-pm9d3-1880gb",
            "small",
            "solidigm-d5-p5336-7680gb",
            "ufs-31-128gb",
            "wd-zn540-1tb"
        ]
    );
    for known in built_in_ssds() {
        let drive = ssd(&known.name);
        assert_eq!((drive.name(), drive.summary()), (known.name.as_str(), known.summary.as_str()));
        assert!(known.summary.len() > 20 && known.summary.len() < 80, "{}", known.summary);
        assert!(drive.source().len() > 40);
        let description = drive.description();
        for fact in ["limits", "geometry", "raw", "logical", "reserve", "alpha", "times"] {
            assert!(description.contains(&format!("\n  {fact} ")), "{description}");
        }
        assert_eq!(ssd(&drive.resolved()).resolved(), drive.resolved());
        assert_eq!(ssd(&drive.resolved()).options(), drive.options());
    }
}

#[test]
fn dnv_textbook_has_the_blocks_of_rule_a_77() {
    for (size, logical_pages) in
        [("8GiB", 2_097_152), ("64MiB", 16_384), ("4KiB", 1), ("1MiB", 256)]
    {
        let drive = ssd(&format!("dnv-textbook:size={size}"));
        let expected = u32::max((logical_pages * 115_u32).div_ceil(6400), logical_pages / 64 + 3);
        assert_eq!(drive.options().logical_pages, logical_pages);
        assert_eq!(drive.geometry().blocks(), u64::from(expected), "{size}");
    }
    let drive = ssd("dnv-textbook");
    assert_eq!(drive.options().minimum_free, MinimumFree::Blocks(2));
    assert_eq!(drive.options().allocation, Allocation::OnePool);
}

#[test]
fn dnv_paper_is_table_ii() {
    let drive = ssd("dnv-paper");
    assert_eq!(drive.geometry().raw_bytes(), 32 << 30);
    assert_eq!(drive.geometry().dies(), 8);
    let capacity = drive.capacity();
    assert_eq!(capacity.logical_pages, 8_388_608 * 85 / 100);
    assert!((capacity.reserve_of_raw() - 0.15).abs() < 1e-6);
    assert!((capacity.reserve_of_logical() - 0.1765).abs() < 1e-4);
    assert_eq!(capacity.minimum_free_pages, 8 * 820 * 64);
    assert_eq!(drive.options().allocation, Allocation::Striped);
    let times = drive.times();
    let us = |number| Some(Exact::from_integer(number));
    assert_eq!((times.read_us, times.program_us, times.erase_us), (us(25), us(200), us(1500)));
    let nvm = drive.nvm().unwrap();
    assert_eq!((nvm.read_ns, nvm.write_ns), (Exact::from_integer(50), Exact::from_integer(250)));
    assert_eq!(nvm.endurance_writes, Exact::from_integer(100_000_000));
    assert_eq!(drive.endurance_erases(), Some(10_000));
}

#[test]
fn todays_drives_have_their_published_capacity() {
    let samsung = ssd("samsung-970-pro-512gb");
    assert_eq!(samsung.geometry().raw_bytes(), 512 << 30);
    assert_eq!(samsung.times().erase_us, None);
    assert!(samsung.description().contains("erase not published"));
    let micron = ssd("micron-9200-max-1600gb").capacity();
    assert_eq!(micron.logical_pages * u64::from(micron.page_bytes), 1_600_000_000_000);
    assert!((micron.reserve_of_logical() - 0.28).abs() < 1e-3);
}

#[test]
fn options_replace_what_the_profile_says() {
    let drive =
        ssd("small:size=32MiB,over_provisioning=25%,over_provisioning_of=raw,victim=d-choices:3");
    assert_eq!(drive.options().logical_pages, 8192);
    assert_eq!(drive.geometry().raw_pages(), 10_928, "8192 / 0.75 in whole blocks of 16");
    assert_eq!(drive.options().victim, VictimRule::DChoices(3));
    let raw = ssd("small:blocks_per_plane=100,over_provisioning=28%").capacity();
    assert_eq!((raw.raw_pages, raw.logical_pages), (1600, 1250));
    assert_eq!(
        ssd("small:wear_limit=3").resolved(),
        "small:blocks_per_plane=256,channels=1,dies_per_channel=1,planes_per_die=1,pages_per_block=16,\
         page_bytes=4096,over_provisioning=15%,over_provisioning_of=logical,minimum_free=2,\
         allocation=one-pool,victim=greedy,frontiers=shared,wear_limit=3"
    );
}

#[test]
fn a_drive_from_a_profile_works() {
    let mut drive = ssd("small").drive(0);
    for write in 0..20_000_u32 {
        drive.write(LogicalPage(write * 7919 % 3561)).unwrap();
    }
    assert!(drive.counters().collection_started());
    assert_eq!(drive.ftl().check_invariants(), Ok(()));
    let mut mortal = ssd("small").drive_that_wears_out(0, 3);
    let end =
        (0..100_000_u32).find_map(|write| mortal.write(LogicalPage(write * 7919 % 3561)).err());
    let is_late = |end| matches!(end, WriteError::EndOfLife(end) if end.host_writes > 4096);
    assert!(end.is_some_and(is_late));
}

#[test]
fn wrong_names_and_options_say_what_would_be_right() {
    assert_refused("dnv-textbok", "unknown SSD 'dnv-textbok', did you mean 'dnv-textbook'?");
    assert_refused("abc", "use dnv-paper, dnv-textbook, ");
    assert_refused("abc:size=1GiB", "unknown SSD 'abc'");
    assert_refused("nowhere.toml", "cannot be read (there is no such file)");
    assert_refused("small:size", "write it as option=value");
    assert_refused("small:size=1GiB,size=2GiB", "option size is given twice");
    assert_refused("small:ratio=3", "there is no setting 'ratio'; use size, ");
    for size in ["8", "GiB", "-1GiB", "0GiB", "1e3GiB", "1000000000000TiB"] {
        assert_refused(&format!("small:size={size}"), "is not a capacity; write it with its unit");
    }
    assert_refused("small:size=1KiB", "is smaller than a page of 4096 bytes");
    assert_refused("small:size=100TiB", "has more pages than the 4294967295 that are supported");
    assert_refused("small:blocks_per_plane=4294967295", "physical pages are more than");
    assert_refused("small:size=15TiB,over_provisioning=50%", "physical pages are more than");
    assert_refused("small:size=15TiB,over_provisioning=1000%,pages_per_block=1", "pages");
    assert_refused("small:size=1GiB,blocks_per_plane=7", "contradict each other; keep one");
    assert_refused("small:allocation=two-pools", "use one-pool or striped");
    assert_refused("small:frontiers=none", "use shared or separate");
    assert_refused("small:victim=lru", "use greedy, fifo, d-choices:D");
    assert_refused("small:over_provisioning_of=all", "use one of them");
    assert_refused("small:channels=0", "give a whole number from 1 to");
    assert_refused("small:victim=fifo,wear_limit=3", "wear_limit needs a victim rule");
}

#[test]
fn a_drive_without_over_provisioning_is_refused_in_one_sentence() {
    for share in ["0%", "0", "none", "-5%", "1001%"] {
        assert_refused(&format!("small:over_provisioning={share}"), "is not a share above 0%");
    }
    assert_refused("small:over_provisioning=0.1%", "no over-provisioning to collect garbage with");
    assert_refused("dnv-paper:minimum_free=16%", "16384 blocks of each die must hold");
    assert_refused(
        "small:over_provisioning=100%,over_provisioning_of=raw",
        "leaves no logical page; give less than 100%",
    );
    assert_refused("small:over_provisioning=99.99%,over_provisioning_of=raw", "no logical page");
    assert_refused("small:minimum_free=1", "give at least 2");
}

const PROFILE: &str = "summary = \"mine\"\nsource = \"made up\"\n[drive]\nsize = \"1MiB\"\npages_per_block = 4\n\
                       page_bytes = 4096\nover_provisioning = \"20%\"\n";

fn write(folder: &tempfile::TempDir, text: &str) -> String {
    let path = folder.path().join("my:drive.toml");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_users_file_is_a_drive_and_takes_options() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, PROFILE);
    let drive = ssd(&path);
    assert_eq!((drive.name(), drive.summary(), drive.source()), ("my:drive", "mine", "made up"));
    assert_eq!(drive.options().logical_pages, 256);
    assert_eq!(drive.geometry().blocks(), 77);
    assert_eq!((drive.nvm(), drive.endurance_erases()), (None, None));
    assert!(drive.description().contains("endurance    not stated"));
    let victim = ssd(&format!("{path}:victim=d-choices:4,size=2MiB"));
    assert_eq!(victim.options().victim, VictimRule::DChoices(4));
    assert_eq!(victim.options().logical_pages, 512);
}

#[test]
fn faults_of_a_file_are_told_with_their_line() {
    let folder = tempfile::tempdir().unwrap();
    for (text, line, expected) in [
        (PROFILE.replace("\"20%\"", "\"0%\""), 7, "is not a share above 0%"),
        (PROFILE.replace("\"1MiB\"", "1"), 4, "is not a capacity"),
        (format!("{PROFILE}blocks_per_plane = 3\n"), 4, "contradict each other; keep one"),
        (format!("{PROFILE}colour = \"red\"\n"), 8, "there is no setting 'colour'"),
        (format!("{PROFILE}victim = [1]\n"), 8, "correct it"),
        (format!("{PROFILE}channels = -1\n"), 8, "correct it"),
        (format!("{PROFILE}[times]\nwrite_us = 3\n"), 9, "there is no key write_us"),
        (format!("{PROFILE}[nvm]\nread_ns = 3\n"), 8, "is missing; add it"),
        (PROFILE.replace("source = \"made up\"", ""), 1, "the key source is missing; add it"),
    ] {
        let path = write(&folder, &text);
        let error = Ssd::named_or_file(&path).expect_err(&text);
        let DeviceError::Profile { line: told, problem, .. } = &error else { panic!("{error}") };
        assert!(problem.contains(expected), "{error}");
        assert_eq!(*told, line, "{error}");
        assert!(!error.to_string().contains('\n'), "{error}");
    }
    let path = write(&folder, &PROFILE.replace("page_bytes = 4096\n", ""));
    assert_refused(&path, "page_bytes is not given; add it");
}

/// A drive of 2 TiB took 9.6 GB before anybody could know.
#[test]
fn what_a_drive_takes_in_memory_is_known_before_it_is_made() {
    let options = [
        "",
        ",victim=fifo",
        ",victim=cost-benefit",
        ",allocation=striped,channels=4",
        ",pages_per_block=3",
    ];
    for options in options {
        let ssd = ssd(&format!("small:size=64MiB{options}"));
        let told = ssd.memory_bytes() as f64;
        let taken = ssd.drive(1).ftl().memory_bytes() as f64;
        assert!((0.95..1.35).contains(&(told / taken)), "{options}: {told} told, {taken} taken");
    }
}

#[test]
fn pages_of_flash_hold_whole_sectors() {
    for page_bytes in [7, 513, 4095] {
        let refused = Ssd::named_or_file(&format!("small:page_bytes={page_bytes}")).unwrap_err();
        let refused = refused.to_string();
        assert!(
            refused.contains("is no multiple of a sector's 512 bytes; give one such as 4096"),
            "{refused}"
        );
    }
    assert_eq!(ssd("small:page_bytes=512").geometry().page_bytes, 512);
}
