//! Reports what threads are waiting for when a pager has not answered for a long time.
//!
//! A thread that waits for a page can neither go on nor be told why. So the thread that serves it records what it is
//! doing, and another thread checks now and then.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The time after which a late answer is reported.
const PATIENCE: Duration = Duration::from_secs(10);

/// The most threads that a sentence names.
const MOST_THREADS: usize = 8;

/// The work that a pager's thread is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    /// Nothing in particular: it works.
    Works,
    ForRead,
    ForWrite,
    /// For the program's own thread to drop translations.
    ForProgram,
    /// For a store that failed, and is about to be asked again.
    ForFailingStore,
}

impl Waits {
    fn words(self) -> &'static str {
        match self {
            Waits::Works => "the pager is at work on it",
            Waits::ForRead => "the pager waits for a read from swap",
            Waits::ForWrite => "the pager waits for a write to swap",
            Waits::ForProgram => "the pager waits for the program's own thread `clockhand`",
            Waits::ForFailingStore => "the pager waits for a swap that fails",
        }
    }
}

/// The request that a pager's thread got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// An access to this page.
    Page(u32),
    /// A fork: no page may change until the child exists.
    Fork,
}

/// The current work of a pager's thread, and since when.
#[derive(Clone, Debug, Default)]
pub(crate) struct Activity(Arc<Mutex<Option<(Asked, Instant, Waits)>>>);

thread_local! {
    /// The activity of the memory that this thread serves.
    static OWN: RefCell<Activity> = RefCell::default();
}

impl Activity {
    /// Records this thread's work here from now on.
    pub(crate) fn follow_this_thread(&self) {
        OWN.set(self.clone());
    }

    pub(crate) fn begin(&self, asked: Asked) {
        self.set(Some((asked, Instant::now(), Waits::Works)));
    }

    /// It has been answered.
    pub(crate) fn end(&self) {
        self.set(None);
    }

    fn set(&self, now: Option<(Asked, Instant, Waits)>) {
        *self.0.lock().expect("the lock is never poisoned") = now;
    }

    fn now(&self) -> Option<(Asked, Instant, Waits)> {
        *self.0.lock().expect("the lock is never poisoned")
    }
}

/// Runs work that makes this thread wait, and records what it waits for.
pub(crate) fn during<T>(waits: Waits, work: impl FnOnce() -> T) -> T {
    let tell = |waits| {
        OWN.with_borrow(|own| {
            if let Some(now) = &mut *own.0.lock().expect("the lock is never poisoned") {
                now.2 = waits;
            }
        });
    };
    tell(waits);
    let result = work();
    tell(Waits::Works);
    result
}

/// Remembers what has been reported.
#[derive(Default)]
pub(crate) struct Watchdog {
    said: HashMap<usize, Instant>,
}

impl Watchdog {
    /// Checks a memory; returns a sentence if an answer is overdue and has not been reported yet.
    pub(crate) fn look(
        &mut self,
        memory: usize,
        activity: &Activity,
        process: i32,
        name: &str,
    ) -> Option<String> {
        let (asked, since, waits) = activity.now()?;
        if since.elapsed() < PATIENCE || self.said.get(&memory) == Some(&since) {
            return None;
        }
        let threads = threads_of(process);
        // A stopped program does not answer either, and the one who stopped it knows why.
        if threads.iter().any(|(_, state, _)| matches!(state, 'T' | 't')) {
            return None;
        }
        self.said.insert(memory, since);
        Some(sentence(name, process, asked, since.elapsed(), waits, &threads))
    }
}

/// A thread's name, its state as in /proc, and where in the kernel it waits.
type Thread = (String, char, String);

fn sentence(
    name: &str,
    process: i32,
    asked: Asked,
    time: Duration,
    waits: Waits,
    threads: &[Thread],
) -> String {
    let what = match asked {
        Asked::Page(page) => format!("for page {page}, and {}", waits.words()),
        Asked::Fork => "for a fork of it to end, while no page may change".to_owned(),
    };
    let shown = threads.iter().take(MOST_THREADS);
    let shown: Vec<_> =
        shown.map(|(name, state, place)| format!("{name} ({state}, {place})")).collect();
    let others = threads.len().saturating_sub(MOST_THREADS);
    let more = if others > 0 { format!(" and {others} more") } else { String::new() };
    format!(
        "{name} (process {process}) has waited {} s {what}; its threads: {}{more}",
        time.as_secs(),
        shown.join(", ")
    )
}

fn threads_of(process: i32) -> Vec<Thread> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{process}/task")) else { return Vec::new() };
    let thread = |task: fs::DirEntry| {
        let text = |file| fs::read_to_string(task.path().join(file)).ok();
        let stat = text("stat")?;
        let (start, rest) = stat.rsplit_once(')')?;
        let name = start.split_once('(')?.1.to_owned();
        let state = rest.trim_start().chars().next()?;
        let place = text("wchan").filter(|place| !place.is_empty() && place != "0");
        Some((name, state, place.unwrap_or_else(|| "running".to_owned())))
    };
    tasks.flatten().filter_map(thread).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_wait_is_told_once_with_what_everybody_waits_for() {
        let activity = Activity::default();
        let mut watchdog = Watchdog::default();
        let mut look =
            |activity: &Activity| watchdog.look(0, activity, std::process::id() as i32, "sort");
        assert_eq!(look(&activity), None, "nothing is asked");
        activity.begin(Asked::Page(7));
        assert_eq!(look(&activity), None, "it was asked just now");
        let long_ago = Instant::now().checked_sub(PATIENCE + Duration::from_secs(3)).unwrap();
        activity.set(Some((Asked::Page(7), long_ago, Waits::ForRead)));
        let said = look(&activity).expect("it has waited long");
        let id = std::process::id();
        let start = format!(
            "sort (process {id}) has waited 13 s for page 7, and the pager waits for a read"
        );
        assert!(said.starts_with(&start), "{said}");
        assert!(said.contains("its threads: "), "{said}");
        assert_eq!(look(&activity), None, "it has been said");
        activity.set(Some((Asked::Fork, long_ago + Duration::from_secs(1), Waits::Works)));
        assert!(look(&activity).is_some_and(|said| said.contains("for a fork of it to end")));
        activity.end();
        assert_eq!(look(&activity), None);
    }

    #[test]
    fn what_a_thread_waits_for_is_known_as_long_as_it_does() {
        let activity = Activity::default();
        activity.follow_this_thread();
        activity.begin(Asked::Page(1));
        let waits = || activity.now().map(|(_, _, waits)| waits);
        during(Waits::ForWrite, || assert_eq!(waits(), Some(Waits::ForWrite)));
        assert_eq!(waits(), Some(Waits::Works));
    }
}
