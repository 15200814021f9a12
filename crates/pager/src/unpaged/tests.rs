//! What is found out of made-up folders of processes.

use super::*;

/// A folder of a process in /proc, of a program with these lines in its files.
fn process(comm: &str, maps: &str, status: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("comm", comm), ("maps", maps), ("status", status)] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

const PROGRAM: &str = "00400000-00500000 r-xp 00000000 00:01 5 /bin/job\n";
const OWN: &str = "7f0000000000-7f0000001000 r-xp 00000000 00:01 5 /lib/libclockhand_preload.so\n";
const LARGE: &str = "VmHWM:\t 5120 kB\nRssAnon:\t 2048 kB\nRssFile:\t 1024 kB\n";
const LARGE_BYTES: u64 = 4 << 20;

#[test]
fn a_program_without_the_library_is_noticed_and_one_that_has_ended_is_not() {
    let state_of = |comm: &str, maps: &str| state(process(comm, maps, "").path());
    assert_eq!(state(Path::new("/nowhere")), State::Ended);
    assert_eq!(state_of("job\n", ""), State::Ended);
    assert_eq!(state_of("job\n", PROGRAM), State::Without("job".to_owned()));
    let loader = "7f1000000000-7f1000001000 r-xp 00000000 00:01 5 /lib64/ld-linux-x86-64.so.2\n";
    assert_eq!(state_of("job\n", loader), State::Loading);
    let c_library = "7f1100000000-7f1100001000 r-xp 00000000 00:01 5 /lib/libc.so.6\n";
    let loaded = [loader, c_library].concat();
    assert_eq!(state_of("job\n", &loaded), State::Without("job".to_owned()));
    assert_eq!(state_of("job\n", OWN), State::HasLibrary);
}

#[test]
fn what_all_threads_of_a_process_have_started_is_known() {
    let folder = tempfile::tempdir().unwrap();
    assert!(children(folder.path(), 7).is_empty());
    for (thread, list) in [("7", "12 30 "), ("9", ""), ("11", "44 ")] {
        let thread = folder.path().join("7/task").join(thread);
        fs::create_dir_all(&thread).unwrap();
        fs::write(thread.join("children"), list).unwrap();
    }
    let mut found = children(folder.path(), 7);
    found.sort_unstable();
    assert_eq!(found, [12, 30, 44]);
}

#[test]
fn a_process_is_suspected_once_and_no_longer_when_it_has_memory_or_has_ended() {
    let unpaged = Unpaged::default();
    let own = std::process::id() as i32;
    for process in [own, own, i32::MAX] {
        unpaged.suspect(process, 3);
    }
    assert_eq!(unpaged.suspected().len(), 2);
    let _ = unpaged.look(|_| false);
    let left: Vec<_> = unpaged.suspected().iter().map(|known| known.process).collect();
    assert!(left.contains(&own) && !left.contains(&i32::MAX), "{left:?}");
    assert!(unpaged.look(|_| true).is_empty());
    assert!(unpaged.suspected().is_empty());
}

/// Looks at a process as if it had been suspected for so long.
fn looked_at(unpaged: &Unpaged, folder: &Path, suspected: &mut Suspected, age: Duration) -> bool {
    suspected.since = Instant::now() - age;
    unpaged.look_at(suspected, folder)
}

fn suspected() -> Suspected {
    Suspected { process: 5, memory: 0, since: Instant::now(), name: None, peak_bytes: 0 }
}

#[test]
fn the_memory_of_a_program_without_the_library_counts_at_once_and_is_told_later() {
    let (unpaged, mut suspected) = (Unpaged::default(), suspected());
    let without = process("job\n", PROGRAM, LARGE);
    assert!(looked_at(&unpaged, without.path(), &mut suspected, Duration::ZERO));
    assert_eq!(suspected.peak_bytes, LARGE_BYTES);
    assert!(unpaged.told.lock().unwrap().is_empty());
    assert!(looked_at(&unpaged, without.path(), &mut suspected, TIME_TO_LOAD));
    assert_eq!(unpaged.told.lock().unwrap().len(), 1);
    // Another program in the same process has its own memory.
    let other = process("other\n", PROGRAM, "VmHWM:\t 8 kB\nRssAnon:\t 8 kB\nRssFile:\t 0 kB\n");
    assert!(looked_at(&unpaged, other.path(), &mut suspected, Duration::ZERO));
    assert_eq!(suspected.peak_bytes, 8 << 10);
    assert!(!looked_at(&unpaged, Path::new("/nowhere"), &mut suspected, TIME_TO_LOAD));
}

#[test]
fn a_child_that_has_the_library_counts_only_if_it_stays_without_memory() {
    let (unpaged, mut suspected) = (Unpaged::default(), suspected());
    let forked = process("job\n", OWN, LARGE);
    assert!(looked_at(&unpaged, forked.path(), &mut suspected, Duration::ZERO));
    assert_eq!(suspected.peak_bytes, 0);
    assert!(looked_at(&unpaged, forked.path(), &mut suspected, TIME_TO_LOAD));
    assert_eq!(suspected.peak_bytes, LARGE_BYTES);
    assert!(unpaged.told.lock().unwrap().is_empty(), "it has said so itself");
}

#[test]
fn the_largest_of_each_name_is_told_at_the_end() {
    let unpaged = Unpaged::default();
    for (name, bytes) in [("job", 3 << 20), ("job", 5 << 20), ("su", 2 << 20), ("ls", 1 << 19)] {
        let name = Some(name.to_owned());
        unpaged.note(&Suspected { name, peak_bytes: bytes, ..suspected() });
    }
    unpaged.note(&Suspected { peak_bytes: 9 << 20, ..suspected() });
    assert_eq!(
        memory_sentence(&unpaged.found()).as_deref(),
        Some(
            "2 of job had 5.0 MiB at most, su had 2.0 MiB in memory that was not paged; unpaged_bytes of who started them \
             has it too"
        )
    );
    assert_eq!(memory_sentence(&BTreeMap::new()), None);
}
