//! The built-in profiles give exactly the values of the tables they cite.

use clockhand_device::{BuiltIn, Device, Exact, Joined, built_in};
use num_rational::Ratio;
use num_traits::ToPrimitive;

fn device(text: &str) -> Device {
    Device::named_or_file(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// (read, write) in µs, each as numerator and denominator.
#[track_caller]
fn assert_times_us(text: &str, page_bytes: u64, read: (u128, u128), write: (u128, u128)) {
    let cost = device(text).page_cost(page_bytes).unwrap();
    assert_eq!(cost.read_time_us, Exact::new(read.0, read.1), "{text} read");
    assert_eq!(cost.write_time_us, Exact::new(write.0, write.1), "{text} write");
}

#[track_caller]
fn assert_ratio(text: &str, page_bytes: u64, numerator: u64, denominator: u64) {
    let ratio = device(text).page_cost(page_bytes).unwrap().write_read_ratio();
    assert_eq!(ratio, Ratio::new(numerator, denominator), "{text}");
}

#[test]
fn the_list_is_the_folder_in_name_order() {
    let names: Vec<String> = built_in().into_iter().map(|device| device.name).collect();
    assert!(names.is_sorted(), "{names:?}");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/profiles");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .map(|file| file.strip_suffix(".toml").expect("only profiles live here").to_owned())
        .collect();
    files.sort();
    assert_eq!(names, files);
    for expected in [
        "cflru-nand",
        "cflru-nor",
        "hdd",
        "mlc-nand",
        "scm",
        "slc-nand",
        "unit",
        "x25m-ssd",
        "x25m-ssd-sequential",
    ] {
        assert!(names.iter().any(|name| name == expected), "{expected}");
    }
}

#[test]
fn every_built_in_profile_says_what_it_is_whence_and_where_it_ends() {
    for BuiltIn { name, summary, source } in built_in() {
        assert!(summary.len() > 20 && summary.len() < 80, "{name}: {summary}");
        assert!(source.len() > 40, "{name}: {source}");
        let device = device(&name);
        assert_eq!((device.name(), device.summary()), (name.as_str(), summary.as_str()));
        assert_eq!(device.source(), source);
        assert!(device.description().contains("\n  limits "), "{name}");
    }
}

#[test]
fn slc_nand_charges_whole_flash_pages_of_2_kb() {
    assert_times_us("slc-nand", 4096, (50, 1), (400, 1));
    assert_times_us("slc-nand", 2048, (25, 1), (200, 1));
    assert_times_us("slc-nand", 512, (25, 1), (200, 1));
    assert_times_us("slc-nand", 4097, (75, 1), (600, 1));
    assert_times_us("slc-nand", 65536, (800, 1), (6400, 1));
    assert_ratio("slc-nand", 4096, 8, 1);
}

#[test]
fn mlc_nand_has_the_ratio_that_the_paper_rounds_to_13_3() {
    assert_times_us("mlc-nand", 4096, (60, 1), (800, 1));
    assert_ratio("mlc-nand", 4096, 40, 3);
}

#[test]
fn cflru_nand_is_exact_in_time_and_energy() {
    assert_times_us("cflru-nand", 4096, (2842, 10), (1833, 1));
    assert_ratio("cflru-nand", 4096, 9165, 1421);
    let cost = device("cflru-nand").page_cost(4096).unwrap();
    assert_eq!(cost.read_energy_uj, Some(Exact::new(94, 10)));
    assert_eq!(cost.write_energy_uj, Some(Exact::new(596, 10)));
    assert_eq!(cost.energy_uj(10, 5), Some(392.0));
}

#[test]
fn an_erase_is_charged_with_writes_only_on_demand() {
    assert_times_us("cflru-nand:erase=true", 4096, (2842, 10), (23322, 10));
    assert_ratio("cflru-nand:erase=true", 4096, 11661, 1421);
    let cost = device("cflru-nand:erase=true").page_cost(8192).unwrap();
    assert_eq!(cost.write_energy_uj, Some(Exact::new(2 * 761, 10)));
    assert_times_us("cflru-nand:erase=false", 4096, (2842, 10), (1833, 1));
    assert_times_us("cflru-nor:erase=true", 4096, (538, 10), (296_704, 10));
}

#[test]
fn cflru_nor_is_table_1() {
    assert_times_us("cflru-nor", 4096, (538, 10), (140_544, 10));
    let cost = device("cflru-nor").page_cost(4096).unwrap();
    assert_eq!(cost.read_energy_uj, Some(Exact::new(86, 10)));
    assert_eq!(cost.write_energy_uj, Some(Exact::new(32512, 10)));
}

#[test]
fn an_ssd_given_in_iops_takes_the_exact_inverse() {
    assert_times_us("x25m-ssd", 4096, (200, 7), (10_000, 33));
    assert_times_us("x25m-ssd", 512, (200, 7), (10_000, 33));
    assert_times_us("x25m-ssd", 16384, (800, 7), (40_000, 33));
    assert_ratio("x25m-ssd", 4096, 350, 33);
}

#[test]
fn an_ssd_given_in_bandwidth_is_linear_in_bytes() {
    assert_times_us("x25m-ssd-sequential", 4096, (4096, 250), (4096, 70));
    assert_times_us("x25m-ssd-sequential", 512, (512, 250), (512, 70));
    assert_ratio("x25m-ssd-sequential", 4096, 25, 7);
}

#[test]
fn a_disk_takes_seek_half_a_rotation_and_transfer() {
    let half_rotation_us = Exact::new(30_000_000, 7200);
    let transfer_us = Exact::new(4096, 200);
    let cost = device("hdd").page_cost(4096).unwrap();
    assert_eq!(cost.read_time_us, Exact::from(7400) + half_rotation_us + transfer_us);
    assert_eq!(cost.write_time_us, Exact::from(8200) + half_rotation_us + transfer_us);
}

#[test]
fn scm_is_a_multiple_of_50_ns_per_64_bytes() {
    assert_times_us("scm:ratio=1", 4096, (32, 10), (32, 10));
    assert_times_us("scm:ratio=1000", 4096, (3200, 1), (3200, 1));
    assert_times_us("scm", 512, (4, 1), (4, 1));
    assert_times_us("scm", 96, (3, 4), (3, 4));
    assert_times_us("scm:ratio=40/3", 4096, (128, 3), (128, 3));
    assert_ratio("scm:ratio=100", 4096, 1, 1);
}

#[test]
fn a_request_of_a_disk_is_set_up_once_and_lets_short_gaps_pass() {
    let cost = device("hdd").page_cost(4096).unwrap();
    let (setup, transfer) = (Exact::new(34_700, 3), Exact::new(2048, 100));
    assert_eq!((cost.read.setup_us, cost.read.transfer_us), (setup, transfer));
    let time_of = |places: &[u64]| {
        let mut joined = Joined::default();
        joined.request(places.iter().copied());
        let time = cost.read.time_us(places.len() as u64, &joined);
        let (numerator, denominator) = (time.numer().to_u128(), time.denom().to_u128());
        Exact::new(numerator.unwrap(), denominator.unwrap())
    };
    assert_eq!(time_of(&[7]), cost.read_time_us);
    assert_eq!(time_of(&[0, 1, 2, 3, 4, 5, 6, 7]), setup + transfer * 8);
    assert_eq!(time_of(&[0, 565]), setup + transfer * 566);
    assert_eq!(time_of(&[0, 566]), (setup + transfer) * 2);
}

#[test]
fn without_a_set_up_pages_cost_the_same_in_any_request() {
    for name in ["slc-nand", "cflru-nand:erase=true", "scm", "x25m-ssd", "unit"] {
        let cost = device(name).page_cost(4096).unwrap();
        let mut joined = Joined::default();
        joined.request([2, 3, 9, 4000]);
        for cost in [&cost.read, &cost.write] {
            let alone = cost.time_us(4, &Joined::default());
            assert_eq!(cost.time_us(4, &joined), alone, "{name}");
            assert_eq!(cost.saved_us(&joined), alone - cost.time_us(4, &joined), "{name}");
        }
    }
}

#[test]
fn an_erase_is_charged_for_each_page_of_a_request() {
    let cost = device("cflru-nand:erase=true").page_cost(4096).unwrap().write;
    assert_eq!(
        cost.setup_us + cost.transfer_us + cost.erase_us,
        Exact::new(11_661, 1421) * Exact::new(2842, 10)
    );
}

#[test]
fn unit_costs_the_same_at_every_page_size() {
    for page_bytes in [1, 512, 4096, 1 << 30, u64::MAX] {
        assert_times_us("unit", page_bytes, (1, 1), (8, 1));
    }
}

#[test]
fn the_resolved_text_shows_every_option_and_gives_the_device_again() {
    for (given, resolved) in [
        ("slc-nand", "slc-nand"),
        ("scm", "scm:ratio=10"),
        ("scm:ratio=100", "scm:ratio=100"),
        ("scm:ratio=2.50", "scm:ratio=2.5"),
        ("scm:ratio=40/3", "scm:ratio=40/3"),
        ("scm:ratio=3/2", "scm:ratio=1.5"),
        ("cflru-nand", "cflru-nand:erase=false"),
        ("cflru-nor:erase=true", "cflru-nor:erase=true"),
    ] {
        assert_eq!(device(given).resolved(), resolved);
        assert_eq!(device(resolved).resolved(), resolved);
    }
}

#[test]
fn unknown_energy_is_none_not_zero() {
    for name in ["slc-nand", "mlc-nand", "x25m-ssd", "x25m-ssd-sequential", "hdd", "scm", "unit"] {
        let cost = device(name).page_cost(4096).unwrap();
        assert_eq!(cost.read_energy_uj, None, "{name}");
        assert_eq!(cost.energy_uj(1, 1), None, "{name}");
    }
}

#[test]
fn sums_are_exact_and_rounded_once() {
    let cost = device("cflru-nand").page_cost(4096).unwrap();
    // Ten times 284.2 in binary64 additions is 2841.9999999999995.
    assert_eq!(cost.time_us(10, 0), 2842.0);
    let cost = device("x25m-ssd").page_cost(4096).unwrap();
    assert_eq!(cost.time_us(7, 33), 10_200.0);
    assert_eq!(cost.time_us(0, 0), 0.0);
    assert_eq!(cost.time_us(1, 0), 200.0 / 7.0);
    // 2^53 + 1 lies between two floats and rounds to the even one; 2^53 + 3 rounds up.
    let cost = device("unit").page_cost(4096).unwrap();
    assert_eq!(cost.time_us((1 << 53) + 1, 0), 9_007_199_254_740_992.0);
    assert_eq!(cost.time_us((1 << 53) + 3, 0), 9_007_199_254_740_996.0);
    assert_eq!(cost.time_us(u64::MAX, u64::MAX), 9.0 * 18_446_744_073_709_551_616.0);
}

#[test]
fn the_largest_page_is_priced_or_refused_but_never_a_panic() {
    for BuiltIn { name, .. } in built_in() {
        let device = device(&name);
        assert!(device.page_cost(1 << 40).is_ok(), "{name}");
        let _ = device.page_cost(u64::MAX).map(|cost| cost.time_us(u64::MAX, u64::MAX));
        assert_eq!(
            device.page_cost(0).unwrap_err().to_string(),
            "a page of 0 bytes has no cost, give a page size of at least 1 byte"
        );
    }
}

#[test]
fn a_description_states_all_facts() {
    let page = device("cflru-nand:erase=true").description();
    for fact in [
        "cflru-nand: NAND flash",
        "\n  source       S. Park",
        "\n  charged      per unit of 4096 bytes, ceil(page / 4096) units a page",
        "\n  read         284.2 µs, 9.4 µJ",
        "\n  write        1833 µs, 59.6 µJ",
        "\n  erase        499.2 µs, 16.5 µJ; charged with each write",
        "\n  options      erase=true (true or false)",
        "\n  4 KiB write  2332.2 µs, 76.1 µJ",
        "\n  write/read   11661/1421 = 8.2062 at 4 KiB",
    ] {
        assert!(page.contains(fact), "{fact} in\n{page}");
    }
    let page = device("hdd").description();
    let read = "7400 µs + half a rotation at 7200 per minute + bytes / (200 MB/s)\n";
    assert!(page.contains(read), "{page}");
    assert!(page.contains("energy unknown"), "{page}");
}
