//! Notices programs that are hardly paged, although nothing refused them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// What is in the path of the preloaded library.
const LIBRARY: &str = "libclockhand_preload";

/// What is in the path of the loader of libraries, and of the C library, which it maps after the preloaded one.
const LOADER: &str = "/ld-linux";
const C_LIBRARY: &str = "/libc.so";

/// As long as a program may take to load its libraries, before it is looked at.
const TIME_TO_LOAD: Duration = Duration::from_millis(300);

/// Programs that were reported, each once, and those to look at.
#[derive(Default)]
pub(crate) struct Unpaged {
    told: Mutex<BTreeSet<String>>,
    /// Processes that may be programs without the library, and since when.
    suspected: Mutex<Vec<(i32, Instant)>>,
}

impl Unpaged {
    fn suspected(&self) -> MutexGuard<'_, Vec<(i32, Instant)>> {
        self.suspected.lock().expect("the lock is never poisoned")
    }

    /// Reports on standard error that a program has a heap of its own.
    pub(crate) fn tell_of_own_heap(&self, process: i32, name: &str) {
        let why = "has a malloc of its own: what it allocates is paged only where that maps large parts by mmap()";
        self.tell(process, name, why);
    }

    /// A process may be a program without the library: its paged memory has ended, and it goes on as another program.
    pub(crate) fn suspect(&self, process: i32) {
        let mut suspected = self.suspected();
        if suspected.iter().all(|&(known, _)| known != process) {
            suspected.push((process, Instant::now()));
        }
    }

    /// The same for what a process has started.
    pub(crate) fn suspect_children_of(&self, process: i32, is_paged: impl Fn(i32) -> bool) {
        let children = children(Path::new("/proc"), process);
        children
            .into_iter()
            .filter(|&child| !is_paged(child))
            .for_each(|child| self.suspect(child));
    }

    /// Reports on standard error which of these processes are programs without the library.
    pub(crate) fn tell_of_suspected(&self, is_paged: impl Fn(i32) -> bool) {
        let mut due = Vec::new();
        self.suspected().retain(|&(process, when)| {
            let is_due = when.elapsed() >= TIME_TO_LOAD;
            if is_due {
                due.push(process);
            }
            !is_due
        });
        for process in due {
            let process_folder = Path::new("/proc").join(process.to_string());
            if is_paged(process) {
                continue;
            }
            if is_loading(&process_folder) {
                self.suspect(process);
            } else if let Some(name) = without_library(&process_folder) {
                let why = "is not paged: the library is not loaded into it, because it has rights of its own, was started with \
                           another LD_PRELOAD, or is linked statically and runs a script";
                self.tell(process, &name, why);
            }
        }
    }

    fn tell(&self, process: i32, name: &str, why: &str) {
        let is_new =
            self.told.lock().expect("the lock is never poisoned").insert(format!("{name} {why}"));
        if is_new {
            eprintln!("clockhand: {name} (process {process}) {why}");
        }
    }
}

/// The processes that the threads of a process have started: `folder` is /proc.
fn children(folder: &Path, process: i32) -> Vec<i32> {
    let Ok(threads) = fs::read_dir(folder.join(process.to_string()).join("task")) else {
        return Vec::new();
    };
    let lists = threads.flatten().filter_map(|thread| {
        let list = fs::read_to_string(thread.path().join("children")).ok()?;
        Some(list.split_whitespace().filter_map(|child| child.parse().ok()).collect::<Vec<_>>())
    });
    lists.flatten().collect()
}

/// Returns whether the loader has not come to the C library yet: on a busy machine that takes as long as anything.
fn is_loading(process_folder: &Path) -> bool {
    let maps = fs::read_to_string(process_folder.join("maps")).unwrap_or_default();
    maps.contains(LOADER) && !maps.contains(C_LIBRARY) && !maps.contains(LIBRARY)
}

/// The name of the program of a process, if it runs without the library: `process_folder` is its folder in /proc.
fn without_library(process_folder: &Path) -> Option<String> {
    // One that has ended has no mappings, and a thread of the kernel neither.
    let maps = fs::read_to_string(process_folder.join("maps")).ok()?;
    if maps.is_empty() || maps.contains(LIBRARY) {
        return None;
    }
    let name = fs::read_to_string(process_folder.join("comm")).ok()?;
    Some(name.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_without_the_library_is_noticed_and_one_that_has_ended_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let name = || without_library(folder.path());
        assert_eq!(name(), None);
        fs::write(folder.path().join("comm"), "job\n").unwrap();
        let maps = folder.path().join("maps");
        fs::write(&maps, "").unwrap();
        assert_eq!(name(), None);
        fs::write(&maps, "00400000-00500000 r-xp 00000000 00:01 5 /bin/job\n").unwrap();
        assert_eq!(name(), Some("job".to_owned()));
        let loader =
            "7f1000000000-7f1000001000 r-xp 00000000 00:01 5 /lib64/ld-linux-x86-64.so.2\n";
        fs::write(&maps, loader).unwrap();
        assert!(is_loading(folder.path()));
        let c_library = "7f1100000000-7f1100001000 r-xp 00000000 00:01 5 /lib/libc.so.6\n";
        fs::write(&maps, [loader, c_library].concat()).unwrap();
        assert!(!is_loading(folder.path()));
        assert_eq!(name(), Some("job".to_owned()));
        fs::write(
            &maps,
            "7f0000000000-7f0000001000 r-xp 00000000 00:01 5 /lib/libclockhand_preload.so\n",
        )
        .unwrap();
        assert_eq!(name(), None);
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
    fn a_process_is_looked_at_once_when_it_has_had_time_to_load() {
        let unpaged = Unpaged::default();
        unpaged.suspect(i32::MAX);
        unpaged.suspect(i32::MAX);
        assert_eq!(unpaged.suspected().len(), 1);
        unpaged.tell_of_suspected(|_| panic!("it is too early"));
        let early = Instant::now() - TIME_TO_LOAD;
        *unpaged.suspected() = vec![(i32::MAX, early)];
        unpaged.tell_of_suspected(|_| true);
        assert!(unpaged.suspected().is_empty());
        assert!(unpaged.told.lock().unwrap().is_empty());
    }
}
