//! What the counted I/Os cost on each device.

use clockhand_sim::{Row, WriteMiss};

use crate::experiments::{experiment, input, rows, table};

/// FIFO in two frames: five faults, one dirty eviction, and two dirty pages in memory at the end.
const REFERENCES: &str = "w0 r1 r2 w0 w3";

fn row_on(device: &str, page_bytes: u64) -> Row {
    let mut experiment = experiment(vec![input("t", table(REFERENCES))], &["fifo"], &[2]);
    experiment.device = device.to_owned();
    experiment.page_bytes = page_bytes;
    experiment.options.flush_at_end = true;
    let row = rows(&experiment).pop().expect("one cell");
    assert_eq!((row.read_ios, row.write_ios), (5, 3));
    assert_eq!((row.dirty_evictions, row.flush_writes), (Some(1), Some(2)));
    row
}

#[test]
fn five_page_reads_and_three_page_writes_take_what_each_device_needs_for_them() {
    let times_us = [
        ("slc-nand", 4096, 5.0 * 50.0 + 3.0 * 400.0),
        // A page smaller than a flash page costs a flash page.
        ("slc-nand", 512, 5.0 * 25.0 + 3.0 * 200.0),
        ("mlc-nand", 4096, 5.0 * 60.0 + 3.0 * 800.0),
        ("unit", 4096, 5.0 + 3.0 * 8.0),
        ("unit", 512, 5.0 + 3.0 * 8.0),
        // 5 × 200/7 + 3 × 10000/33, rounded once.
        ("x25m-ssd", 4096, 81_000.0 / 77.0),
        ("x25m-ssd-sequential", 4096, 5.0 * 16.384 + 12_288.0 / 70.0),
        ("scm", 4096, 8.0 * 32.0),
        ("scm", 512, 8.0 * 4.0),
        ("scm:ratio=1000", 4096, 8.0 * 3200.0),
        ("cflru-nand", 4096, 5.0 * 284.2 + 3.0 * 1833.0),
        ("cflru-nand:erase=true", 4096, 5.0 * 284.2 + 3.0 * (1833.0 + 499.2)),
        // Seek, half a rotation and transfer: 61600 + 8 × (12500/3 + 20.48).
        ("hdd", 4096, 61_600.0 + 8.0 * (12_500.0 / 3.0 + 20.48)),
    ];
    for (device, page_bytes, time_us) in times_us {
        let row = row_on(device, page_bytes);
        let error = (row.io_time_us - time_us).abs() / time_us;
        assert!(
            error < 1e-15,
            "{device}, {page_bytes} bytes: {} µs, not {time_us}",
            row.io_time_us
        );
        assert_eq!(row.device, device);
    }
}

#[test]
fn energy_is_summed_where_the_profile_knows_it_and_unknown_elsewhere() {
    let energy_uj = row_on("cflru-nand", 4096).energy_uj.expect("the profile knows it");
    assert!((energy_uj - 225.8).abs() < 1e-12, "5 × 9.4 + 3 × 59.6, not {energy_uj}");
    let energy_uj = row_on("cflru-nand:erase=true", 4096).energy_uj.expect("known");
    assert!((energy_uj - 275.3).abs() < 1e-12, "5 × 9.4 + 3 × 76.1, not {energy_uj}");
    for device in ["slc-nand", "mlc-nand", "unit", "x25m-ssd", "scm", "hdd"] {
        assert_eq!(row_on(device, 4096).energy_uj, None, "{device}");
    }
}

#[test]
fn a_blind_write_fault_reads_nothing() {
    let mut experiment = experiment(vec![input("t", table(REFERENCES))], &["fifo"], &[2]);
    experiment.options.write_miss = WriteMiss::Blind;
    let row = rows(&experiment).pop().expect("one cell");
    assert_eq!((row.misses, row.read_ios, row.write_ios), (Some(5), 2, 1));
    assert_eq!((row.write_miss, row.io_time_us), ("blind", 2.0 * 50.0 + 400.0));
}

#[test]
fn a_resolved_device_shows_its_options() {
    let row = row_on("cflru-nand", 4096);
    assert_eq!(
        (row.device.as_str(), row.device_resolved.as_str()),
        ("cflru-nand", "cflru-nand:erase=false")
    );
}
