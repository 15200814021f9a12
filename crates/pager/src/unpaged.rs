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
    /// Processes whose paged memory has ended, and when.
    ended: Mutex<Vec<(i32, Instant)>>,
}

impl Unpaged {
    fn ended(&self) -> MutexGuard<'_, Vec<(i32, Instant)>> {
        self.ended.lock().expect("the lock is never poisoned")
    }

    /// Reports on standard error that a program has a heap of its own.
    pub(crate) fn tell_of_own_heap(&self, process: i32, name: &str) {
        let why = "has a malloc of its own: what it allocates is paged only where that maps large parts by mmap()";
        self.tell(process, name, why);
    }

    /// The memory of a process has ended. The process may go on, as another program.
    pub(crate) fn has_ended(&self, process: i32) {
        self.ended().push((process, Instant::now()));
    }

    /// Reports on standard error which of these processes have gone on as programs without the library.
    pub(crate) fn tell_of_replaced(&self, is_paged: impl Fn(i32) -> bool) {
        let mut due = Vec::new();
        self.ended().retain(|&(process, when)| {
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
                self.has_ended(process);
            } else if let Some(name) = without_library(&process_folder) {
                let why = "is not paged: the library is not loaded into it, because it is linked statically, has rights of \
                           its own, or was started with another LD_PRELOAD";
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
    fn a_process_is_looked_at_once_when_it_has_had_time_to_load() {
        let unpaged = Unpaged::default();
        unpaged.has_ended(i32::MAX);
        unpaged.tell_of_replaced(|_| panic!("it is too early"));
        let early = Instant::now() - TIME_TO_LOAD;
        *unpaged.ended() = vec![(i32::MAX, early)];
        unpaged.tell_of_replaced(|_| true);
        assert!(unpaged.ended().is_empty());
        assert!(unpaged.told.lock().unwrap().is_empty());
    }
}
