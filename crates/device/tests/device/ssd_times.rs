//! Times and orders of drives: what is required, and what contradicts what.

use clockhand_device::Ssd;
use clockhand_device::flash::time::Scheduling;

#[track_caller]
fn assert_cannot_be_timed(text: &str, needs_nvm: bool, expected: &str) {
    let done = Ssd::named_or_file(text).and_then(|ssd| ssd.time_options(needs_nvm));
    let sentence = done.expect_err(text).to_string();
    assert!(sentence.contains(expected), "{text}: {sentence}");
    assert!(!sentence.contains('\n') && !sentence.contains("  "), "{sentence}");
}

/// A profile with these times.
fn profile(times: &str) -> tempfile::TempPath {
    let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    let text = format!(
        "summary = \"a drive\"\nsource = \"made up\"\n[drive]\nblocks_per_plane = 64\npages_per_block = 4\n\
         page_bytes = 4096\nover_provisioning = \"50%\"\n[times]\n{times}"
    );
    std::fs::write(file.path(), text).unwrap();
    file.into_temp_path()
}

#[test]
fn a_time_that_is_missing_is_named() {
    for (times, missing) in [
        ("program_us = 2\nerase_us = 3\n", "read_us is not given"),
        ("read_us = 1\nerase_us = 3\n", "program_us is not given"),
        ("read_us = 1\nprogram_us = [2, 4]\n", "erase_us is not given"),
    ] {
        assert_cannot_be_timed(profile(times).to_str().unwrap(), false, missing);
    }
    let whole = profile("read_us = 1\nprogram_us = 2\nerase_us = 3\n");
    assert_cannot_be_timed(whole.to_str().unwrap(), true, "nvm_read_ns is not given");
    let slc = format!("{}:slc_blocks=4", whole.to_str().unwrap());
    assert_cannot_be_timed(&slc, false, "slc_read_us is not given");
    assert!(Ssd::named_or_file(whole.to_str().unwrap()).unwrap().time_options(false).is_ok());
}

#[test]
fn options_that_contradict_each_other_are_refused_in_one_sentence() {
    for (options, problem) in [
        ("queue_depth=0", "queue_depth '0' is not possible"),
        ("queue_depth=65536", "from 1 to 65535"),
        ("suspend=both", "add scheduling=read-first"),
        ("collection=background", "add background_free"),
        ("background_free=5", "is for collection=background"),
        ("collection=background,background_free=2", "give background_free more than minimum_free"),
        (
            "mapping=bast,collection=background,background_free=5",
            "is for mapping=page, and this drive has mapping=bast",
        ),
        ("scheduling=lifo", "scheduling 'lifo' is unknown; use fifo, read-first"),
        ("read_us=-1", "read_us '-1' is not a number"),
        ("read_us=2000000000", "read_us '2000000000' is too long"),
        ("bus_mb_s=0", "bus_mb_s '0' carries nothing"),
        ("bus_mb_s=0.0001", "bus_mb_s '0.0001' is too slow"),
        ("copyback=yes", "copyback 'yes' is neither true nor false"),
        ("mapping_unit=16", "mapping_unit '16' is not a size of a page"),
    ] {
        assert_cannot_be_timed(&format!("small:{options}"), false, problem);
    }
}

#[test]
fn times_are_rounded_half_up_to_nanoseconds_and_transfers_up() {
    let text = "small:read_us=0.0005/0.0014,command_us=0,bus_mb_s=3,scheduling=read-first";
    let options = Ssd::named_or_file(text).unwrap().time_options(false).unwrap();
    assert_eq!(options.times.read_ns, [1, 1]);
    assert_eq!(options.times.transfer_ns, 1_365_334);
    assert_eq!((options.scheduling, options.queue_depth), (Scheduling::ReadFirst, 32));
}

#[test]
fn a_mapping_unit_is_the_page_and_stands_among_the_settings() {
    let ssd = Ssd::named_or_file("small:mapping_unit=16KiB").unwrap();
    assert_eq!((ssd.geometry().page_bytes, ssd.reads_rest()), (16_384, true));
    assert!(ssd.resolved().contains(",mapping_unit=16KiB,"), "{}", ssd.resolved());
    assert!(!Ssd::named_or_file("small:page_bytes=16384").unwrap().reads_rest());
}
