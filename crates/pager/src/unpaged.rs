//! Notices programs that are hardly paged, although nothing refused them, and how much memory they have.

mod reason;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use self::reason::{LOADER, reason};
use crate::anonymous::peak_anonymous_bytes;

/// What is in the path of the preloaded library.
const LIBRARY: &str = "libclockhand_preload";

/// What is in the path of the C library, which the loader maps after the preloaded one.
const C_LIBRARY: &str = "/libc.so";

/// As long as a program may take to load its libraries, before it is said to be without ours.
const TIME_TO_LOAD: Duration = Duration::from_millis(300);

/// Less than that is what every program has, and is not worth a sentence.
const NOTICEABLE_BYTES: u64 = 1 << 20;

/// Programs that were reported, each once, and those to look at.
#[derive(Default)]
pub(crate) struct Unpaged {
    told: Mutex<BTreeSet<String>>,
    suspected: Mutex<Vec<Suspected>>,
    /// How many processes of a name ran without the library, and the most memory that one of them had.
    found: Mutex<BTreeMap<String, (u32, u64)>>,
}

/// A process that may run without paged memory.
struct Suspected {
    process: i32,
    /// The number of the memory that the process had, or that of the process that has started it.
    memory: usize,
    since: Instant,
    /// The name of its program, once it is known to run without the library.
    name: Option<String>,
    peak_bytes: u64,
}

/// What a process is at the moment.
#[derive(Debug, PartialEq, Eq)]
enum State {
    Ended,
    /// The loader has not come to the C library yet: on a busy machine that takes as long as anything.
    Loading,
    /// The library is there: it is about to have memory, or to become another program, or has said why it is not paged.
    HasLibrary,
    /// A program of this name has no library.
    Without(String),
}

impl Unpaged {
    fn suspected(&self) -> MutexGuard<'_, Vec<Suspected>> {
        self.suspected.lock().expect("the lock is never poisoned")
    }

    fn found(&self) -> MutexGuard<'_, BTreeMap<String, (u32, u64)>> {
        self.found.lock().expect("the lock is never poisoned")
    }

    /// Reports on standard error that a program has a heap of its own.
    pub(crate) fn tell_of_own_heap(&self, process: i32, name: &str) {
        let why = "has a malloc of its own: what it allocates is paged only where that maps large parts by mmap()";
        self.tell(process, name, why);
    }

    /// A process may be a program without the library: its paged memory has ended, and it goes on as another program.
    pub(crate) fn suspect(&self, process: i32, memory: usize) {
        let mut suspected = self.suspected();
        if suspected.iter().all(|known| known.process != process) {
            let since = Instant::now();
            suspected.push(Suspected { process, memory, since, name: None, peak_bytes: 0 });
        }
    }

    /// The same for what a process has started.
    pub(crate) fn suspect_children_of(
        &self,
        process: i32,
        memory: usize,
        is_paged: impl Fn(i32) -> bool,
    ) {
        let children = children(Path::new("/proc"), process);
        children
            .into_iter()
            .filter(|&child| !is_paged(child))
            .for_each(|child| self.suspect(child, memory));
    }

    /// Looks at the processes that may be programs without the library, and reports on standard error which are. Returns,
    /// for each, the memory that it belongs to, and the most memory of its own that it had.
    pub(crate) fn look(&self, is_paged: impl Fn(i32) -> bool) -> Vec<(usize, u64)> {
        // Others suspect meanwhile, and look who is paged.
        let mut suspected = std::mem::take(&mut *self.suspected());
        suspected.retain_mut(|suspected| {
            let folder = Path::new("/proc").join(suspected.process.to_string());
            let goes_on = !is_paged(suspected.process) && self.look_at(suspected, &folder);
            if !goes_on {
                self.note(suspected);
            }
            goes_on
        });
        let unpaged = suspected.iter().filter(|known| known.peak_bytes > 0);
        let bytes = unpaged.clone().map(|known| (known.memory, known.peak_bytes)).collect();
        let parents: Vec<_> = unpaged.map(|known| (known.process, known.memory)).collect();
        let added = std::mem::replace(&mut *self.suspected(), suspected);
        added.iter().for_each(|added| self.suspect(added.process, added.memory));
        for (process, memory) in parents {
            self.suspect_children_of(process, memory, &is_paged);
        }
        bytes
    }

    /// Looks at a process that is not paged, whose folder in /proc this is; returns whether it has not ended.
    fn look_at(&self, suspected: &mut Suspected, folder: &Path) -> bool {
        let is_due = suspected.since.elapsed() >= TIME_TO_LOAD;
        match state(folder) {
            State::Ended => return false,
            State::Loading => suspected.since = Instant::now(),
            // A child that has not become another program yet has its parent's memory, or a copy.
            State::HasLibrary if !is_due => {}
            State::HasLibrary => {
                suspected.peak_bytes =
                    suspected.peak_bytes.max(peak_anonymous_bytes(folder).unwrap_or(0));
            }
            State::Without(name) => {
                if suspected.name.as_ref() != Some(&name) {
                    self.note(suspected);
                    let (process, memory, since) =
                        (suspected.process, suspected.memory, Instant::now());
                    *suspected =
                        Suspected { process, memory, since, name: Some(name), peak_bytes: 0 };
                } else if is_due {
                    let why = reason(folder);
                    let why =
                        format!("is not paged: the library is not loaded into it, because {why}");
                    self.tell(suspected.process, &name, &why);
                }
                let known = peak_anonymous_bytes(folder).unwrap_or(0);
                suspected.peak_bytes = suspected.peak_bytes.max(known);
            }
        }
        true
    }

    /// Keeps in mind what a process was that is not looked at any more.
    fn note(&self, suspected: &Suspected) {
        let Some(name) = &suspected.name else { return };
        if suspected.peak_bytes >= NOTICEABLE_BYTES {
            let mut found = self.found();
            let (count, most) = found.entry(name.clone()).or_default();
            *count += 1;
            *most = (*most).max(suspected.peak_bytes);
        }
    }

    /// Reports on standard error which programs had much memory without the library, and how much.
    pub(crate) fn tell_of_memory(&self) {
        self.suspected().drain(..).for_each(|suspected| self.note(&suspected));
        if let Some(sentence) = memory_sentence(&self.found()) {
            eprintln!("clockhand: {sentence}");
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

/// What programs had without the library, which were so many and had so much.
fn memory_sentence(found: &BTreeMap<String, (u32, u64)>) -> Option<String> {
    let one = |(name, (count, bytes)): (&String, &(u32, u64))| {
        let mebibytes = *bytes as f64 / f64::from(1 << 20);
        match count {
            1 => format!("{name} had {mebibytes:.1} MiB"),
            _ => format!("{count} of {name} had {mebibytes:.1} MiB at most"),
        }
    };
    let each: Vec<_> = found.iter().map(one).collect();
    let all = each.join(", ");
    (!found.is_empty()).then(|| {
        format!("{all} in memory that was not paged; unpaged_bytes of who started them has it too")
    })
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

/// The state of the process whose folder in /proc this is.
fn state(folder: &Path) -> State {
    let maps = fs::read_to_string(folder.join("maps")).unwrap_or_default();
    let name = fs::read_to_string(folder.join("comm")).unwrap_or_default();
    // One that has ended has no mappings, and a thread of the kernel neither.
    if maps.is_empty() || name.is_empty() {
        State::Ended
    } else if maps.contains(LIBRARY) {
        State::HasLibrary
    } else if maps.contains(LOADER) && !maps.contains(C_LIBRARY) {
        State::Loading
    } else {
        State::Without(name.trim_end().to_owned())
    }
}

#[cfg(test)]
mod tests;
