//! A user's own profile, and what the reader says when something is wrong.

use std::fs;

use clockhand_device::{Device, DeviceError, Exact};
use tempfile::TempDir;

const HEAD: &str = "summary = \"mine\"\nsource = \"measured\"\n";

/// A profile with lines 1 and 2 in place and `body` from line 3 on.
fn write_profile(body: &str) -> (TempDir, String) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("mine.toml");
    fs::write(&path, format!("{HEAD}{body}")).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (folder, path)
}

fn read(body: &str) -> Result<Device, DeviceError> {
    let (_folder, path) = write_profile(body);
    Device::named_or_file(&path)
}

/// The message must be one sentence with `line` and `problem` in it.
#[track_caller]
fn assert_refused(body: &str, line: usize, problem: &str) {
    let message = read(body).expect_err(body).to_string();
    assert!(message.contains(&format!("mine.toml, line {line}: ")), "{message}");
    assert!(message.contains(problem), "{message}");
    assert!(!message.contains('\n'), "{message}");
}

const PLAIN: &str =
    "charged = \"per-unit\"\nunit_bytes = 4096\nread.time_us = 70\nwrite.time_us = 90.5\n";

#[test]
fn a_users_file_is_a_device() {
    let (_folder, path) = write_profile(PLAIN);
    let device = Device::named_or_file(&path).unwrap();
    assert_eq!(device.name(), "mine");
    assert_eq!(device.resolved(), path);
    assert_eq!((device.summary(), device.source()), ("mine", "measured"));
    assert_eq!(device.page_cost(8192).unwrap().write_time_us, Exact::from(181));
    assert!(device.description().starts_with("mine: mine\n"));
}

const POINT: &str = "[[measured.points]]\noperation = \"read\"\nbytes = 4096\noperations = 10\nmean_us = 5.0\n\
    p1_us = 1.0\np10_us = 2.0\np25_us = 3.0\np50_us = 4.0\np75_us = 5.0\np90_us = 6.0\n";

fn measured(last: &str) -> String {
    let about = "[measured]\ndate = \"2026-01-02\"\nmachine = \"a machine\"\nwhat = \"a file\"\n";
    format!("{PLAIN}{about}{POINT}{last}")
}

#[test]
fn a_measured_profile_shows_when_where_and_every_distribution() {
    let page = read(&measured("p99_us = 7.0\n")).unwrap().description();
    assert!(page.contains("measured     2026-01-02 on a machine; a file"), "{page}");
    let drawn = page.lines().find(|line| line.starts_with("    read ")).expect("a distribution");
    assert!(drawn.contains("4 KiB") && drawn.contains("4 µs") && drawn.contains('┤'), "{page}");
}

#[test]
fn percentiles_that_fall_are_refused_with_their_line() {
    assert_refused(&measured("p99_us = 0.5\n"), 11, "its percentiles must rise");
    assert_refused(&measured("p99_us = nan\n"), 11, "must be µs from");
    assert_refused(&measured("p98_us = 9.0\n"), 22, "there is no key p98_us");
}

#[test]
fn a_users_file_takes_the_options_it_declares() {
    let body = format!(
        "{PLAIN}erase = {{ time_us = 10, energy_uj = 3 }}\nerase_charged = true\nratio = {{ default = 2 }}\n"
    );
    let (_folder, path) = write_profile(&body);
    let write_time_us = |options: &str| {
        let device = Device::named_or_file(&format!("{path}{options}")).unwrap();
        device.page_cost(4096).unwrap().write_time_us
    };
    assert_eq!(write_time_us(""), Exact::from(201));
    assert_eq!(write_time_us(":erase=false"), Exact::from(181));
    assert_eq!(write_time_us(":ratio=0.5,erase=false"), Exact::new(905, 20));
    let resolved = Device::named_or_file(&format!("{path}:ratio=0.5")).unwrap().resolved();
    assert_eq!(resolved, format!("{path}:erase=true,ratio=0.5"));
}

#[test]
fn energy_is_unknown_when_the_charged_erase_does_not_state_it() {
    let body = "charged = \"per-page\"\nread = { time_us = 1, energy_uj = 1 }\n\
                write = { time_us = 1, energy_uj = 1 }\nerase.time_us = 1\n";
    let (_folder, path) = write_profile(body);
    let cost = |options: &str| {
        Device::named_or_file(&format!("{path}{options}")).unwrap().page_cost(4096).unwrap()
    };
    assert_eq!(cost(":erase=false").write_energy_uj, Some(Exact::from(1)));
    assert_eq!(cost(":erase=true").write_energy_uj, None);
    assert_eq!(cost(":erase=true").read_energy_uj, Some(Exact::from(1)));
}

#[test]
fn setup_and_bandwidth_add_up() {
    let body = "charged = \"per-byte\"\nread = { setup_time_us = 80, megabytes_per_second = 3000 }\n\
                write = { setup_time_us = 20, megabytes_per_second = 1500 }\n";
    let cost = read(body).unwrap().page_cost(3000).unwrap();
    assert_eq!((cost.read_time_us, cost.write_time_us), (Exact::from(81), Exact::from(22)));
}

#[test]
fn a_path_may_hold_a_colon_and_need_not_end_in_toml() {
    let folder = TempDir::new().unwrap();
    for name in ["a:b.toml", "a:ratio=1.toml", "profile"] {
        let path = folder.path().join(name);
        fs::write(&path, format!("{HEAD}{PLAIN}")).unwrap();
        assert!(Device::named_or_file(path.to_str().unwrap()).is_ok(), "{name}");
    }
}

#[test]
fn unknown_missing_and_malformed_keys_are_refused_with_their_line() {
    assert_refused(&format!("{PLAIN}write.tme_us = 1\n"), 7, "there is no key tme_us");
    assert_refused(&format!("{PLAIN}colour = 1\n"), 7, "there is no key colour");
    assert_refused(
        "charged = \"per-page\"\nwrite.time_us = 1\n",
        1,
        "the key read is missing; add it",
    );
    assert_refused("charged = \"per-bit\"\n", 3, "there is no word per-bit");
    assert_refused("charged\n", 3, "correct it");
}

#[test]
fn numbers_that_are_no_cost_are_refused_with_their_line() {
    for number in ["0", "-5", "0.0", "-0.5", "nan", "inf", "-inf", "1e300", "1e-300"] {
        let body = format!("charged = \"per-page\"\nread.time_us = {number}\nwrite.time_us = 1\n");
        assert_refused(&body, 4, "is not a decimal number from 0.000000001 to 1000000000000");
    }
    assert_refused(
        "charged = \"per-page\"\nread.time_us = \"25\"\nwrite.time_us = 1\n",
        4,
        "stands where a decimal number",
    );
}

#[test]
fn an_operation_needs_exactly_one_cost() {
    assert_refused(
        "charged = \"per-page\"\n[write]\ntime_us = 1\n[read]\n",
        6,
        "[read] has no cost; add one of time_us, iops, megabytes_per_second",
    );
    assert_refused(
        "charged = \"per-page\"\n[write]\ntime_us = 1\n[read]\ntime_us = 1\niops = 5\n",
        8,
        "[read] has two costs; keep one",
    );
}

#[test]
fn contradicting_keys_are_refused_with_their_line() {
    let tail = "read.time_us = 1\nwrite.time_us = 1\n";
    assert_refused(&format!("charged = \"per-unit\"\n{tail}"), 3, "without unit_bytes");
    assert_refused(&format!("charged = \"per-byte\"\n{tail}"), 4, "add unit_bytes");
    assert_refused(&format!("charged = \"per-page\"\nunit_bytes = 512\n{tail}"), 4, "contradicts");
    assert_refused(
        &format!("charged = \"per-unit\"\nunit_bytes = 0.5\n{tail}"),
        4,
        "must be whole",
    );
    assert_refused(
        "charged = \"per-unit\"\nunit_bytes = 512\nread.megabytes_per_second = 1\nwrite.time_us = 1\n",
        5,
        "set charged = \"per-byte\"",
    );
    assert_refused(
        &format!("charged = \"per-page\"\nerase_charged = true\n{tail}"),
        4,
        "add [erase]",
    );
    assert_refused(
        &format!("charged = \"per-page\"\n{tail}read.energy_uj = 1\nread.setup_time_us = 1\n"),
        6,
        "says nothing of setup",
    );
    assert_refused(
        &format!("charged = \"per-page\"\n{tail}ratio = {{ default = 3, choices = [1, 2] }}\n"),
        6,
        "not among choices",
    );
}

#[test]
fn numbers_with_too_many_digits_are_refused_not_overflowed() {
    let body = "charged = \"per-byte\"\nrotations_per_minute = 7200.123456789\n\
                read = { setup_time_us = 0.123456789012345, megabytes_per_second = 1.23456789012345 }\n\
                write = { setup_time_us = 0.98765432109877, megabytes_per_second = 987.654321098765 }\n";
    let message = read(body).unwrap_err().to_string();
    assert!(message.contains("write the profile's numbers with fewer digits"), "{message}");
}

#[test]
fn wrong_names_and_options_say_what_would_be_right() {
    for (text, message) in [
        ("slc-nnad", "unknown device 'slc-nnad', did you mean 'slc-nand'?"),
        (
            "floppy-drive",
            "unknown device 'floppy-drive', list the known ones with `clockhand devices` or give a FILE.toml",
        ),
        ("", "unknown device '', list the known ones with `clockhand devices` or give a FILE.toml"),
        (
            "slc-nand:erase=true",
            "device 'slc-nand': there is no option 'erase', and this device has none; remove it",
        ),
        ("scm:speed=1", "device 'scm': there is no option 'speed'; this device has: ratio"),
        ("scm:ratio", "device 'scm': 'ratio' is not an option, write it as option=value"),
        ("scm:", "device 'scm': '' is not an option, write it as option=value"),
        ("scm:ratio=1,ratio=10", "device 'scm': option ratio is given twice, keep one"),
        (
            "scm:ratio=nan",
            "device 'scm': ratio: 'nan' is not a decimal number from 0.000000001 to 1000000000000 with at most 18 digits after the point",
        ),
        (
            "scm:ratio=3/4",
            "device 'scm': ratio '3/4' is below 1; give a number from 1, such as 2.5 or 40/3",
        ),
        (
            "cflru-nor:erase=yes",
            "device 'cflru-nor': erase 'yes' is neither true nor false; use one of them",
        ),
    ] {
        assert_eq!(Device::named_or_file(text).unwrap_err().to_string(), message);
    }
    let missing = Device::named_or_file("no-such-file.toml").unwrap_err().to_string();
    assert!(missing.starts_with("device profile no-such-file.toml cannot be read ("), "{missing}");
}

#[test]
fn a_free_ratio_refuses_what_is_no_positive_number() {
    let (_folder, path) = write_profile(&format!("{PLAIN}ratio = {{ default = 2 }}\n"));
    for value in ["nan", "inf", "0", "-1", "", "ten"] {
        let error = Device::named_or_file(&format!("{path}:ratio={value}")).unwrap_err();
        assert!(error.to_string().contains("is not a decimal number from"), "{error}");
    }
}
