//! Swap files without room.

use std::io::ErrorKind;
use std::path::Path;

use super::swap_file::place;
use super::{page_of, read, store_in, write};
use crate::store::{Store, StoreError, SwapFile};

#[test]
fn a_limit_without_room_for_a_page_is_refused() {
    let (_folder, path) = place();
    let error = SwapFile::open(&path, Some(8191)).unwrap_err();
    assert!(matches!(error, StoreError::LimitTooSmall { least_bytes: 8192, .. }), "{error}");
    assert!(!path.exists());
}

#[test]
fn a_full_file_takes_nothing_and_works_again_when_slots_are_released() {
    let (_folder, path) = place();
    let file = SwapFile::open(&path, Some(4096 * 11)).unwrap();
    let Some(mut store) = store_in(&file) else { return };
    let mut slots = Vec::new();
    store.allocate(8, &mut slots).unwrap();
    let error = store.allocate(3, &mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    assert!(error.to_string().contains("swap.img is full: it may have 45056 bytes"), "{error}");
    store.allocate(2, &mut slots).unwrap();
    assert!(store.allocate(1, &mut slots).is_err());
    assert_eq!(slots.len(), 10);
    assert!(path.metadata().unwrap().len() <= 4096 * 11);
    store.release(slots[3]);
    let mut again = Vec::new();
    store.allocate(1, &mut again).unwrap();
    assert_eq!(again, [slots[3]]);
}

/// A folder on a file system of a mebibyte, for the process that the test below starts.
const SMALL_FOLDER: &str = "CLOCKHAND_TEST_SMALL_FOLDER";

#[test]
fn a_full_file_system_takes_nothing_and_loses_nothing() {
    let Some(folder) = std::env::var_os(SMALL_FOLDER) else { return run_on_a_small_file_system() };
    let file = SwapFile::open(&Path::new(&folder).join("swap.img"), None).unwrap();
    let Some(mut store) = store_in(&file) else { return };
    let (slot, result) = write(&mut store, &mut page_of(4));
    result.unwrap();
    let mut slots = Vec::new();
    let error = loop {
        if let Err(error) = store.allocate(16, &mut slots) {
            break error;
        }
    };
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    assert!(error.to_string().contains("swap.img: No space left on device"), "{error}");
    assert!(slots.len() >= 128 && slots.len() % 16 == 0, "{}", slots.len());
    assert_eq!(read(&mut store, slot).unwrap(), page_of(4));
    store.release(slot);
    store.allocate(1, &mut slots).unwrap();
}

/// Mounts one in a mount namespace of its own, and runs the calling test there.
fn run_on_a_small_file_system() {
    let (folder, _) = place();
    let output = std::process::Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c"])
        .arg(r#"mount -t tmpfs -o size=1m none "$0" || exit 77; exec "$@""#)
        .arg(folder.path())
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture"])
        .arg(std::thread::current().name().expect("tests run in threads with their names"))
        .env(SMALL_FOLDER, folder.path())
        .output();
    match output {
        Ok(output) if output.status.success() => {
            let printed = String::from_utf8_lossy(&output.stdout);
            assert!(printed.contains("1 passed"), "{printed}");
        }
        Ok(output) if output.status.code() == Some(101) => {
            panic!("{}", String::from_utf8_lossy(&output.stderr));
        }
        other => eprintln!("skipped: no small file system can be mounted: {other:?}"),
    }
}
