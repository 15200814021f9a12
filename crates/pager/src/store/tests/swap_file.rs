use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::{page_of, read, store_in, write};
use crate::store::{Page, Store, SwapFile, SwapFileStore};

/// A folder for the test, and the name of a swap file in it.
pub(super) fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("swap.img");
    (folder, path)
}

fn refusal(path: &Path) -> String {
    SwapFile::open(path, None).unwrap_err().to_string()
}

#[test]
fn a_file_with_other_content_is_refused_and_stays_as_it_is() {
    let (_folder, path) = place();
    existing(&path);
    for content in ["my thesis", "Clockhand swap fil", &"x".repeat(10_000)] {
        std::fs::write(&path, content).unwrap();
        let message = refusal(&path);
        assert!(
            message.contains("swap.img is not empty and not a Clockhand swap file"),
            "{message}"
        );
        assert!(message.contains("give another name, or remove it"), "{message}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
    }
}

/// An empty file that is there before the run, private as it must be.
fn existing(path: &Path) {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600).open(path).unwrap();
}

#[test]
fn an_existing_file_that_others_may_read_or_write_is_refused() {
    let (_folder, path) = place();
    existing(&path);
    for mode in [0o666, 0o640, 0o604, 0o620, 0o700, 0o4600] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let message = refusal(&path);
        assert!(message.contains(&format!("swap.img has mode {mode:04o}")), "{message}");
        assert!(message.ends_with("`chmod 600` it, or give another name"), "{message}");
        assert_eq!(path.metadata().unwrap().len(), 0, "nothing has been written");
    }
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    SwapFile::open(&path, None).unwrap();
}

#[test]
fn a_file_of_another_user_is_refused() {
    let (_folder, path) = place();
    existing(&path);
    if std::os::unix::fs::chown(&path, Some(65534), None).is_err() {
        eprintln!("SKIPPED: only root can give files away");
        return;
    }
    let message = refusal(&path);
    assert!(message.contains("swap.img belongs to user 65534"), "{message}");
}

#[test]
fn links_are_refused() {
    let (folder, path) = place();
    existing(&path);
    let other = folder.path().join("other.img");
    std::fs::hard_link(&path, &other).unwrap();
    let message = refusal(&path);
    assert!(message.contains("swap.img has 2 names (hard links)"), "{message}");
    std::fs::remove_file(&other).unwrap();
    for target in [path.as_path(), Path::new("nowhere"), Path::new("/dev/null")] {
        std::os::unix::fs::symlink(target, &other).unwrap();
        let message = refusal(&other);
        assert!(message.contains("other.img is a symbolic link"), "{message}");
        std::fs::remove_file(&other).unwrap();
    }
    SwapFile::open(&path, None).unwrap();
}

#[test]
fn what_is_no_regular_file_is_refused() {
    let (folder, _) = place();
    for path in [folder.path(), Path::new("/dev/null")] {
        let message = refusal(path);
        assert!(message.contains("is not a regular file"), "{message}");
    }
}

#[test]
fn a_file_that_did_not_exist_is_removed_at_the_end() {
    let (_folder, path) = place();
    let file = SwapFile::open(&path, None).unwrap();
    assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600, "memory is private");
    let clone = file.clone();
    drop(file);
    assert!(path.exists(), "a clone is left");
    drop(clone);
    assert!(!path.exists());
}

#[test]
fn a_file_that_a_killed_run_left_is_removed_at_the_end_of_the_next() {
    let (_folder, path) = place();
    let file = SwapFile::open(&path, None).unwrap();
    let left = std::fs::read(&path).unwrap();
    drop(file);
    existing(&path);
    std::fs::write(&path, left).unwrap();
    drop(SwapFile::open(&path, None).unwrap());
    assert!(!path.exists());
}

#[test]
fn a_store_keeps_the_file() {
    let (_folder, path) = place();
    let file = SwapFile::open(&path, None).unwrap();
    let Some(mut store) = store_in(&file) else { return };
    drop(file);
    let (slot, result) = write(&mut store, &mut page_of(4));
    result.unwrap();
    assert_eq!(read(&mut store, slot).unwrap(), page_of(4));
    drop(store);
    assert!(!path.exists());
}

#[test]
fn a_file_that_existed_keeps_its_header_only_and_can_be_used_again() {
    let (_folder, path) = place();
    existing(&path);
    for _ in 0..2 {
        let file = SwapFile::open(&path, None).unwrap();
        let Some(mut store) = store_in(&file) else { return };
        write(&mut store, &mut page_of(4)).1.unwrap();
        assert!(path.metadata().unwrap().len() > 4096);
        assert_eq!(path.metadata().unwrap().len(), file.occupied_bytes());
        drop((file, store));
        let header = std::fs::read(&path).unwrap();
        assert_eq!(header.len(), 4096);
        assert!(header.starts_with(b"Clockhand swap file\n"));
    }
}

#[test]
fn a_file_that_another_one_has_replaced_is_not_removed() {
    let (_folder, path) = place();
    let file = SwapFile::open(&path, None).unwrap();
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "somebody else's").unwrap();
    drop(file);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "somebody else's");
}

#[test]
fn two_runs_cannot_share_a_file_by_accident() {
    let (_folder, path) = place();
    let file = SwapFile::open(&path, None).unwrap();
    let message = refusal(&path);
    assert!(message.contains("swap.img is the swap file of another run"), "{message}");
    drop(file);
    SwapFile::open(&path, None).unwrap();
}

#[test]
fn a_file_that_cannot_be_made_is_an_error_that_names_it() {
    let message = refusal(Path::new("/proc/no such folder/swap.img"));
    assert!(message.starts_with("cannot create the swap file /proc/no such folder/"), "{message}");
}

#[test]
fn the_file_grows_rather_than_to_break_up_a_batch() {
    let (_folder, path) = place();
    let file = SwapFile::open(&path, None).unwrap();
    let Some(mut store) = store_in(&file) else { return };
    let mut slots = Vec::new();
    store.allocate(4096, &mut slots).unwrap();
    let bytes = file.occupied_bytes();
    for slot in slots.iter().step_by(64) {
        store.release(*slot);
    }
    let mut batch = Vec::new();
    store.allocate(16, &mut batch).unwrap();
    assert!(batch.windows(2).all(|pair| pair[0].0 + 1 == pair[1].0), "{batch:?}");
    assert!(file.occupied_bytes() > bytes);
}

#[test]
fn stores_of_one_file_read_what_another_one_wrote() {
    let (_folder, path) = place();
    let file = SwapFile::open(&path, None).unwrap();
    let (Some(mut parent), Some(mut child)) = (store_in(&file), store_in(&file)) else { return };
    let (slot, result) = write(&mut parent, &mut page_of(12));
    result.unwrap();
    assert!(!parent.is_shared(slot));
    child.share(slot);
    assert!(parent.is_shared(slot));
    parent.release(slot);
    assert!(!child.is_shared(slot));
    assert_eq!(read(&mut child, slot).unwrap(), page_of(12));
}

#[test]
fn stores_of_one_file_may_work_at_once() {
    let (_folder, path) = place();
    let file = SwapFile::open(&path, None).unwrap();
    let stores: Option<Vec<_>> = (0..4).map(|_| store_in(&file)).collect();
    let Some(stores) = stores else { return };
    let work = |(thread, mut store): (u64, SwapFileStore)| {
        let mut kept = Vec::new();
        for seed in (thread * 1000..).take(200) {
            let (slot, result) = write(&mut store, &mut page_of(seed));
            result.unwrap();
            kept.push((slot, seed));
            if seed % 3 == 0 {
                store.release(kept.swap_remove(kept.len() / 2).0);
            }
        }
        for (slot, seed) in kept {
            assert_eq!(read(&mut store, slot).unwrap(), page_of(seed));
            store.release(slot);
        }
    };
    std::thread::scope(|scope| {
        for numbered in (0..).zip(stores) {
            scope.spawn(move || work(numbered));
        }
    });
    file.check_all_free();
}

#[test]
fn a_write_of_scattered_slots_finishes_once_and_a_read_does_not_lose_it() {
    let (_folder, path) = place();
    let file = SwapFile::open(&path, None).unwrap();
    let Some(mut store) = store_in(&file) else { return };
    let mut slots = Vec::new();
    store.allocate(1201, &mut slots).unwrap();
    let mut pages: Vec<_> = (0..1201).map(page_of).collect();
    // More operations than the ring has entries: every other slot.
    let address = |(slot, page): (&_, &mut Page)| (*slot, page.address());
    let all: Vec<_> = slots.iter().zip(&mut pages).map(address).collect();
    let scattered: Vec<_> = all.iter().copied().step_by(2).collect();
    // SAFETY: the pages live until the end of the test, and all writes finish before.
    let first = unsafe { store.start_write(&all[1..2]) }.unwrap();
    assert_eq!(store.finished_write(true).unwrap().0, first);
    // SAFETY: as above.
    let second = unsafe { store.start_write(&scattered) }.unwrap();
    assert_eq!(read(&mut store, slots[1]).unwrap(), page_of(1));
    let (finished, result) = store.finished_write(true).unwrap();
    assert_eq!(finished, second);
    result.unwrap();
    assert!(store.finished_write(true).is_none(), "nothing is under way");
    for (index, slot) in slots.iter().enumerate().step_by(2) {
        assert_eq!(read(&mut store, *slot).unwrap(), page_of(index as u64));
    }
}

#[test]
fn a_read_past_the_end_of_a_file_that_somebody_cut_is_an_error_with_its_place() {
    let (_folder, path) = place();
    let file = SwapFile::open(&path, None).unwrap();
    let Some(mut store) = store_in(&file) else { return };
    let (slot, result) = write(&mut store, &mut page_of(4));
    result.unwrap();
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(4096).unwrap();
    let error = read(&mut store, slot).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    let message = error.to_string();
    assert!(message.starts_with("cannot read 4096 bytes at byte 4096 of /"), "{message}");
}

#[test]
fn a_page_that_somebody_else_changed_in_the_file_is_an_error_with_its_place() {
    let (_folder, path) = place();
    let file = SwapFile::open(&path, None).unwrap();
    let Some(mut store) = store_in(&file) else { return };
    let slots: Vec<_> = [1, 2, 3].map(|seed| write(&mut store, &mut page_of(seed)).0).into();
    let others = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    // One byte of one page, and a hole where another one was.
    others.write_all_at(b"!", 4096 + 100).unwrap();
    others.set_len(4096 * 3).unwrap();
    others.set_len(4096 * 4).unwrap();
    assert_eq!(read(&mut store, slots[1]).unwrap(), page_of(2));
    for (slot, offset) in [(slots[0], 4096), (slots[2], 3 * 4096)] {
        let error = read(&mut store, slot).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        let message = error.to_string();
        assert!(message.starts_with(&format!("the page at byte {offset} of ")), "{message}");
        assert!(message.ends_with("is not as it was written: leave the file alone"), "{message}");
    }
    assert_eq!(write(&mut store, &mut page_of(4)).1.map_err(|error| error.kind()), Ok(()));
}

#[test]
fn pages_go_past_the_page_cache_where_the_file_system_lets_them() {
    let (_folder, path) = place();
    let file = SwapFile::open(&path, None).unwrap();
    let opened = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let flags = rustix::fs::fcntl_getfl(&opened).unwrap() | rustix::fs::OFlags::DIRECT;
    let is_in_memory = rustix::fs::fstatfs(&opened).unwrap().f_type == libc::TMPFS_MAGIC;
    if is_in_memory || rustix::fs::fcntl_setfl(&opened, flags).is_err() {
        eprintln!("skipped: the file system of {} has no direct reads and writes", path.display());
        assert!(!file.is_direct());
        return;
    }
    assert!(file.is_direct());
}

#[test]
fn a_file_system_in_memory_is_used_and_named_not_direct() {
    let Ok(folder) = tempfile::tempdir_in("/dev/shm") else {
        eprintln!("skipped: no file system in memory at /dev/shm");
        return;
    };
    let file = SwapFile::open(&folder.path().join("swap.img"), None).unwrap();
    assert!(!file.is_direct());
    let Some(mut store) = store_in(&file) else { return };
    let (slot, result) = write(&mut store, &mut page_of(6));
    result.unwrap();
    assert_eq!(read(&mut store, slot).unwrap(), page_of(6));
}
