//! Measurements of files: what is refused, what is left behind, and whether the figures are plausible.

use std::path::{Path, PathBuf};
use std::process::Command;

use clockhand_measure::{
    MemoryMeasurement, Point, SIZES_BYTES, StorageMeasurement, StorageOptions,
};

const MIB: u64 = 1 << 20;

fn options(path: &Path) -> StorageOptions {
    StorageOptions {
        path: path.to_owned(),
        write_to_existing: false,
        file_bytes: 32 * MIB,
        operations: 200,
        seed: 0,
    }
}

/// A folder on a file system that takes O_DIRECT: beside what is built, not in a memory file system.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder")
}

fn refusal(options: &StorageOptions) -> String {
    match StorageMeasurement::new(options) {
        Ok(_) => panic!("{options:?} is refused"),
        Err(error) => error.to_string(),
    }
}

fn run(measurement: &mut StorageMeasurement) -> Vec<Point> {
    let steps = 0..measurement.steps().len();
    steps.flat_map(|step| measurement.run(step).expect("a step")).collect()
}

fn names(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).expect("a folder").map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn a_measurement_has_every_point_and_leaves_nothing_behind() {
    let folder = folder();
    let mut measurement = StorageMeasurement::new(&options(folder.path())).expect("a measurement");
    assert!(names(folder.path()).is_empty(), "the file has no name while it is measured");
    assert_eq!(measurement.file_bytes(), 32 * MIB);
    let at_most: usize = SIZES_BYTES.iter().map(|bytes| bytes * 200.min((64 << 20) / bytes)).sum();
    assert_eq!(measurement.written_bytes(), 32 * MIB + at_most as u64);
    let points = run(&mut measurement);
    for operation in ["read", "write", "buffered_read"] {
        let sizes: Vec<u64> = (points.iter().filter(|point| point.operation == operation))
            .map(|point| point.bytes)
            .collect();
        assert_eq!(sizes, SIZES_BYTES.map(|bytes| bytes as u64), "{operation}");
    }
    assert!(points.iter().any(|point| point.operation == "minor_fault"));
    for point in &points {
        assert!(point.percentiles_ns.is_sorted() && point.percentiles_ns[0] > 0.0, "{point:?}");
    }
    drop(measurement);
    assert!(names(folder.path()).is_empty());
}

#[test]
fn what_exists_is_not_touched_unless_told() {
    let folder = folder();
    let path = folder.path().join("precious");
    std::fs::write(&path, vec![7; 17 << 20]).unwrap();
    let mut existing = options(&path);
    assert!(refusal(&existing).contains("would be overwritten"), "{}", refusal(&existing));
    assert!(std::fs::read(&path).unwrap().iter().all(|&byte| byte == 7));
    existing.write_to_existing = true;
    existing.operations = 16;
    let mut measurement = StorageMeasurement::new(&existing).expect("told to");
    assert_eq!(measurement.file_bytes(), 17 * MIB);
    run(&mut measurement);
    assert!(path.exists(), "what existed stays");
    assert!(std::fs::read(&path).unwrap().iter().any(|&byte| byte != 7));
}

#[test]
fn what_cannot_be_measured_is_refused_with_one_sentence() {
    let folder = folder();
    let small = StorageOptions { file_bytes: MIB, ..options(folder.path()) };
    assert!(refusal(&small).starts_with("--file-size is too small"));
    let huge = StorageOptions { file_bytes: 1 << 60, ..options(folder.path()) };
    assert!(refusal(&huge).contains("give a smaller --file-size"), "{}", refusal(&huge));
    let none = StorageOptions { operations: 0, ..options(folder.path()) };
    assert!(refusal(&none).starts_with("--operations 0"));
    let nowhere = options(&folder.path().join("no/such/folder"));
    assert!(refusal(&nowhere).contains("No such file"), "{}", refusal(&nowhere));
    let device = options(Path::new("/dev/null"));
    assert!(refusal(&device).contains("neither a folder nor a file"), "{}", refusal(&device));
    assert!(names(folder.path()).is_empty());
}

#[test]
fn memory_has_its_points() {
    let mut measurement = MemoryMeasurement::new(0);
    let mut points = Vec::new();
    for step in 0..measurement.steps().len() {
        points.extend(measurement.run(step).expect("a step"));
    }
    let copies = points.iter().filter(|point| point.operation == "memory_copy");
    assert_eq!(copies.count(), SIZES_BYTES.len());
    for operation in ["anonymous_fault", "permission_fault", "walk_small_pages"] {
        assert!(points.iter().any(|point| point.operation == operation), "{operation}");
    }
}

/// fio's median time of random reads of 4 KiB, in nanoseconds; `None` without fio.
fn median_by_fio(path: &Path) -> Option<f64> {
    let result = Command::new("fio")
        .args(["--name=read", "--rw=randread", "--bs=4k", "--direct=1", "--ioengine=io_uring"])
        .args(["--iodepth=1", "--size=32m", "--number_ios=2000", "--output-format=json"])
        // From the submission on: a read may have ended when that returns.
        .arg("--lat_percentiles=1")
        .arg(format!("--filename={}", path.display()))
        .output()
        .ok()?;
    let report: serde_json::Value = serde_json::from_slice(&result.stdout).ok()?;
    report["jobs"][0]["read"]["lat_ns"]["percentile"]["50.000000"].as_f64()
}

#[test]
fn fio_measures_the_same_within_noise() {
    let folder = folder();
    let path = folder.path().join("file");
    std::fs::write(&path, vec![7; 32 << 20]).unwrap();
    let mut existing = options(&path);
    existing.write_to_existing = true;
    existing.operations = 2000;
    let points = run(&mut StorageMeasurement::new(&existing).expect("told to"));
    let ours = points.iter().find(|point| (point.operation, point.bytes) == ("read", 4096));
    let ours = ours.expect("a point of 4 KiB").percentiles_ns[3];
    let Some(fio) = median_by_fio(&path) else {
        eprintln!("skipped: fio is not installed, so that there is nothing to compare with");
        return;
    };
    // Other work on the machine moves medians by a factor of two; a wrong unit or a cached read by far more.
    assert!((0.2..5.0).contains(&(ours / fio)), "ours {ours} ns, fio {fio} ns");
}
