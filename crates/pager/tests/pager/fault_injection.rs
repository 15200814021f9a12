//! Real memory over stores that fail: no page is lost, no decision changes, and a store that fails for good ends the
//! process before it sees wrong memory.

use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clockhand_pager::store::{
    CompressedRam, DEFAULT_LEVEL, FaultScript, FaultyStore, Store, StoreError, SwapFile, WriteFault,
};
use clockhand_pager::{Bits, Event, PagedRegion, Settings};
use tempfile::TempDir;

use crate::decisions::{events_of_twin, settings, twin};
use crate::real_memory::{PAGES, Words, is_refused, numbers, run_program};

/// Says which of the tests below a process is that a test has started.
const ROLE: &str = "CLOCKHAND_TEST_ROLE";

/// The variable that tells a process of a test what it needs.
const PLACE: &str = "CLOCKHAND_TEST_PLACE";

/// The stores that a user can choose, which fail as the script says; without the swap file where there is no io_uring.
fn faulty_stores(folder: &TempDir, script: &FaultScript) -> Vec<(&'static str, Box<dyn Store>)> {
    let ram = CompressedRam::new(DEFAULT_LEVEL, None).and_then(|ram| ram.store());
    let ram = FaultyStore::new(ram.expect("zstd has this level"), script);
    let mut stores: Vec<(_, Box<dyn Store>)> = vec![("RAM", Box::new(ram))];
    match swap_file(&folder.path().join("swap")) {
        Some(file) => stores.push(("swap file", Box::new(FaultyStore::new(file, script)))),
        None => eprintln!("SKIPPED: the swap file"),
    }
    stores
}

fn swap_file(path: &Path) -> Option<impl Store + use<>> {
    let file = SwapFile::open(path, None).expect("a swap file can be made");
    match file.store() {
        Ok(store) => Some(store),
        Err(error @ StoreError::IoUringRefused(_)) => {
            eprintln!("SKIPPED: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Something goes wrong before every twentieth step.
fn mishaps(script: &FaultScript, seed: u64) -> impl FnMut(u64) {
    let (script, mut next) = (script.clone(), numbers(seed));
    move |step| {
        if step % 20 > 0 {
            return;
        }
        let nth = 1 + next(3);
        match next(7) {
            0 => script.fail_write(nth, WriteFault::Refused),
            1 => script.fail_write(nth, WriteFault::Fails),
            2 => script.fail_write(nth, WriteFault::Short { pages: 1 }),
            3 => script.refuse_allocations(nth),
            4 => script.fail_read(nth),
            5 => script.hold_writes(),
            _ => script.let_writes_finish(),
        }
    }
}

#[test]
fn failures_change_neither_contents_nor_decisions() {
    if is_refused() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    for policy in ["clock", "craw:write_back=eager,c=2", "cfclock"] {
        for reserve in [0, 8] {
            let script = FaultScript::default();
            for (name, store) in faulty_stores(&folder, &script) {
                let words = Words::in_store(settings(policy, 24 + reserve, reserve), store);
                run_program(&words, 2000, u64::from(reserve), 50, mishaps(&script, 7));
                let log = words.log();
                let progress = words.region.finish();
                let what = format!("{policy}, reserve {reserve}, {name}");
                assert!(
                    log == events_of_twin(&mut *twin(policy, 24, Bits::Mapped), &log),
                    "{what}"
                );
                assert!(progress.counts.write_errors > 0, "{what}: {:?}", progress.counts);
                let error = progress.store_error.expect("the store has failed");
                assert!(error.contains("as the test wants it"), "{what}: {error}");
            }
        }
    }
}

#[test]
fn threads_share_a_region_whose_store_fails() {
    if is_refused() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    for reserve in [0, 8] {
        let script = FaultScript::default();
        for (name, store) in faulty_stores(&folder, &script) {
            let words = Words::in_store(settings("craw", 24 + reserve, reserve), store);
            thread::scope(|scope| {
                for number in 0..4 {
                    let (words, script) = (&words, &script);
                    scope.spawn(move || {
                        let mut before_step = mishaps(script, number as u64);
                        let mut next = numbers(number as u64);
                        let mut expected = [0u64; PAGES as usize];
                        for step in 1..1000 {
                            before_step(step);
                            let page = next(PAGES.into()) as u32;
                            assert_eq!(words.read(page, number), expected[page as usize], "{name}");
                            if next(2) == 0 {
                                expected[page as usize] = step;
                                words.write(page, number, step);
                            }
                        }
                    });
                }
            });
            let log = words.log();
            assert!(log == events_of_twin(&mut *twin("craw", 24, Bits::Mapped), &log), "{name}");
        }
    }
}

#[test]
fn a_page_whose_write_takes_long_is_rescued() {
    if is_refused() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let script = FaultScript::default();
    for (name, store) in faulty_stores(&folder, &script) {
        let words = Words::in_store(settings("clock", 24, 8), store);
        script.hold_writes();
        for round in 1..40u64 {
            // One page more than the policy has frames: the one that left is wanted again.
            for page in 0..17 {
                assert_eq!(words.read(page, 0), round - 1, "{name}, page {page}");
                words.write(page, 0, round);
            }
        }
        let counts = words.region.finish().counts;
        assert!(counts.pages_rescued > 0, "{name}: {counts:?}");
    }
}

/// Runs this test again as a process of its own, which is expected to end itself; what it says on standard error.
fn aborted(test: &str, place: &Path) -> String {
    let output = Command::new(std::env::current_exe().expect("the test's own path"))
        .args(["--exact", &format!("fault_injection::{test}"), "--nocapture"])
        .env(ROLE, test)
        .env(PLACE, place)
        .output()
        .expect("the test starts");
    let (said, printed) =
        (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
    assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{said}{printed}");
    assert!(!printed.contains("wrong memory"), "{printed}");
    said.into_owned()
}

/// The folder of this process, if a test has started it.
fn place_of(test: &str) -> Option<PathBuf> {
    let is_started = std::env::var_os(ROLE).is_some_and(|role| role == test);
    is_started.then(|| std::env::var_os(PLACE).expect("it was started with a place").into())
}

/// Threads that read and write all pages and say so if they find anything that was not written; `change` after a while.
fn run_until_aborted(words: &Words, change: impl FnOnce()) {
    (0..PAGES).for_each(|page| words.write(page, 9, u64::from(page) + 1));
    thread::scope(|scope| {
        for number in 0..8 {
            scope.spawn(move || {
                let mut next = numbers(number);
                loop {
                    let page = next(PAGES.into()) as u32;
                    if words.read(page, 9) != u64::from(page) + 1 {
                        println!("wrong memory");
                        // The process may end at any moment, and this must be seen.
                        let _ = io::stdout().flush();
                    }
                    words.write(page, number as usize, 1);
                }
            });
        }
        thread::sleep(Duration::from_millis(50));
        change();
    });
}

fn impatient(frames: u32, reserve: u32) -> Settings {
    Settings { patience: Duration::from_millis(200), ..settings("clock", frames, reserve) }
}

#[test]
fn a_store_that_fails_for_good_ends_the_process() {
    const TEST: &str = "a_store_that_fails_for_good_ends_the_process";
    if is_refused() {
        return;
    }
    if let Some(place) = place_of(TEST) {
        let reserve = if place.ends_with("reserve") { 8 } else { 0 };
        let script = FaultScript::default();
        let ram = CompressedRam::new(DEFAULT_LEVEL, None).and_then(|ram| ram.store());
        let store = FaultyStore::new(ram.expect("zstd has this level"), &script);
        let words = Words::in_store(impatient(24, reserve), Box::new(store));
        run_until_aborted(&words, || {
            (1..1_000_000).for_each(|nth| script.fail_write(nth, WriteFault::Fails));
        });
    }
    for place in ["none", "reserve"] {
        let said = aborted(TEST, Path::new(place));
        assert!(said.contains("cannot be written to the store: a write failed"), "{said}");
        assert!(said.contains("the process ends, since a paged region cannot be served"), "{said}");
    }
}

#[test]
fn a_bug_of_the_pager_ends_the_process() {
    const TEST: &str = "a_bug_of_the_pager_ends_the_process";
    if is_refused() {
        return;
    }
    if place_of(TEST).is_some() {
        let is_wrong = Arc::new(AtomicBool::new(false));
        let seen = is_wrong.clone();
        let bug = move |_: Event| assert!(!seen.load(Ordering::Relaxed), "something is wrong");
        let ram = CompressedRam::new(DEFAULT_LEVEL, None).and_then(|ram| ram.store());
        let store = Box::new(ram.expect("zstd has this level"));
        let region = PagedRegion::new(PAGES, impatient(24, 0), store, Box::new(bug));
        let words = Words::of(region.expect("this kernel pages"));
        run_until_aborted(&words, || is_wrong.store(true, Ordering::Relaxed));
    }
    let said = aborted(TEST, Path::new(""));
    assert!(said.contains("something is wrong"), "{said}");
    assert!(said.contains("the pager has a bug; the process ends"), "{said}");
}

#[test]
fn a_swap_file_that_somebody_truncates_ends_the_process() {
    const TEST: &str = "a_swap_file_that_somebody_truncates_ends_the_process";
    if is_refused() {
        return;
    }
    if let Some(place) = place_of(TEST) {
        let store = swap_file(&place).expect("the test that started this has looked");
        let words = Words::in_store(impatient(24, 0), Box::new(store));
        run_until_aborted(&words, || {
            let file = std::fs::OpenOptions::new().write(true).open(&place);
            // Later writes make the file longer again, with holes that read as zeros.
            file.and_then(|file| file.set_len(4096)).expect("it is there and may be written");
        });
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = folder.path().join("swap");
    if swap_file(&place).is_none() {
        return;
    }
    let said = aborted(TEST, &place);
    assert!(said.contains("cannot be read from the store"), "{said}");
}

/// A file system of 1 MiB for a test, if one may be mounted.
struct SmallDisk(TempDir);

impl SmallDisk {
    fn mounted() -> Option<Self> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=1M", "clockhand-test"]).arg(folder.path());
        match mount.output() {
            Ok(output) if output.status.success() => Some(SmallDisk(folder)),
            Ok(output) => {
                eprintln!("SKIPPED: {}", String::from_utf8_lossy(&output.stderr).trim());
                None
            }
            Err(error) => {
                eprintln!("SKIPPED: mount cannot be run: {error}");
                None
            }
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(self.0.path()).status();
        assert!(thread::panicking() || unmounted.is_ok_and(|status| status.success()));
    }
}

#[test]
fn a_full_disk_is_waited_for() {
    if is_refused() {
        return;
    }
    let Some(disk) = SmallDisk::mounted() else { return };
    for reserve in [0, 8] {
        let filler = disk.0.path().join("filler");
        std::fs::write(&filler, vec![1; 800 << 10]).expect("there is room for it");
        let Some(store) = swap_file(&disk.0.path().join("swap")) else { return };
        let words = Words::in_store(settings("cfclock", 16 + reserve, reserve), Box::new(store));
        thread::scope(|scope| {
            scope.spawn(|| {
                let started = Instant::now();
                while words.region.progress().store_error.is_none() {
                    assert!(started.elapsed() < Duration::from_secs(4), "the disk never was full");
                    thread::sleep(Duration::from_millis(5));
                }
                let error = words.region.progress().store_error.expect("it was there just now");
                assert!(error.contains("No space left on device"), "{error}");
                std::fs::remove_file(&filler).expect("it is there");
            });
            for round in 1..4 {
                (0..PAGES).for_each(|page| words.write(page, 0, round));
                (0..PAGES).for_each(|page| assert_eq!(words.read(page, 0), round, "page {page}"));
            }
        });
        let counts = words.region.finish().counts;
        assert!(counts.pages_read > 0 && counts.write_errors > 0, "{counts:?}");
    }
}
