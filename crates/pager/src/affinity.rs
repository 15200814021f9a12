//! Where the pager's thread runs: beside the thread that faults, as long as they take turns.
//!
//! A thread that faults goes to sleep and frees its processor, where the pager's thread can take over at once. On
//! another, idle processor the pager's thread would first have to be woken, which in a virtual machine takes longer
//! than everything else that a fault does. So the pager's thread goes to the processor of the program; the program's own
//! threads are left alone. If several threads fault and run at the same time, the scheduler decides.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The faulting thread's processor is looked up again after this many faults.
const FAULTS_BETWEEN_LOOKS: u32 = 32;

/// The name of the thread that drops translations in the program, with which those of the pager's threads begin.
const HELPER_NAME: &str = "clockhand";

/// The most threads of a program that are looked at.
const MOST_THREADS: usize = 64;

pub(crate) struct Affinity {
    process: i32,
    /// Where this thread may run, and the one that wakes; none if that is a single processor or not known.
    own: Option<CpuSet>,
    waker: Option<Pid>,
    faults_until_look: u32,
    /// The thread that faulted last, and whether another one has faulted since the last look.
    thread: Option<i32>,
    have_several_faulted: bool,
    /// The processor that this thread shares with the program.
    processor: Option<usize>,
}

impl Affinity {
    /// Follows the threads of a process with this thread and the one that wakes.
    pub(crate) fn new(process: i32, waker: Option<Pid>) -> Self {
        Affinity {
            process,
            own: sched_getaffinity(None).ok().filter(|own| own.count() > 1),
            waker,
            faults_until_look: 0,
            thread: None,
            have_several_faulted: false,
            processor: None,
        }
    }

    /// Whether this thread shares a processor with the program, and could run elsewhere.
    pub(crate) fn is_beside(&self) -> bool {
        self.processor.is_some()
    }

    /// `thread` has faulted; returns whether this thread has looked where it runs.
    pub(crate) fn follow(&mut self, thread: i32) -> bool {
        let Some(own) = self.own else { return false };
        self.have_several_faulted |= self.thread.replace(thread).is_some_and(|last| last != thread);
        if self.faults_until_look > 0 {
            self.faults_until_look -= 1;
            return false;
        }
        self.faults_until_look = FAULTS_BETWEEN_LOOKS;
        let have_several_faulted = std::mem::take(&mut self.have_several_faulted);
        let is_parted = have_several_faulted && runs_beside(self.process, thread);
        let of_thread =
            || processor_of(self.process, thread).filter(|&number| number < CpuSet::MAX_CPU);
        let processor = if is_parted { None } else { of_thread() };
        if processor == self.processor {
            return true;
        }
        let set = processor.map_or(own, |number| {
            let mut set = CpuSet::new();
            set.set(number);
            set
        });
        // Only an optimisation: if it is refused, faults take longer.
        let _ = sched_setaffinity(None, &set);
        for other in [helper_of(self.process), self.waker].into_iter().flatten() {
            let _ = sched_setaffinity(Some(other), &set);
        }
        self.processor = processor;
        true
    }
}

/// Tells whether the machine has processors without work.
pub(crate) struct Load {
    average: Option<File>,
    processors: usize,
}

impl Load {
    pub(crate) fn new() -> Self {
        // SAFETY: the call takes a number and returns one.
        let processors = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
        Load {
            average: File::open("/proc/loadavg").ok(),
            processors: usize::try_from(processors).unwrap_or(1),
        }
    }

    /// Whether a processor has no work while `own` threads of ours have; false if that is not known.
    pub(crate) fn leaves_a_processor_idle(&self, own: usize) -> bool {
        let Some(running) = self.average.as_ref().and_then(running) else { return false };
        running.saturating_sub(own) + 1 < self.processors
    }
}

/// How many threads run or wait for a processor: the number before the slash in `0.20 0.18 0.12 1/80 11206`.
fn running(average: &File) -> Option<usize> {
    let mut text = [0; 64];
    let length = average.read_at(&mut text, 0).ok()?;
    let text = std::str::from_utf8(&text[..length]).ok()?;
    text.split_once('/')?.0.rsplit_once(' ')?.1.parse().ok()
}

/// The threads of a process, with their names.
fn threads_of(process: i32) -> impl Iterator<Item = (i32, String)> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    tasks.filter_map(|task| {
        let name = fs::read_to_string(task.path().join("comm")).ok()?;
        Some((task.file_name().to_str()?.parse().ok()?, name.trim_end().to_owned()))
    })
}

/// The thread in the program that drops translations, if the program is another process.
fn helper_of(process: i32) -> Option<Pid> {
    Pid::from_raw(threads_of(process).find(|(_, name)| name == HELPER_NAME)?.0)
}

/// Whether a thread of the program, other than this one, runs or is about to.
fn runs_beside(process: i32, thread: i32) -> bool {
    let mut others = threads_of(process).take(MOST_THREADS);
    others.any(|(other, name)| {
        other != thread
            && !name.starts_with(HELPER_NAME)
            && field_of(process, other, STATE).is_some_and(|state| state == "R")
    })
}

/// The processor on which a thread ran last.
fn processor_of(process: i32, thread: i32) -> Option<usize> {
    field_of(process, thread, PROCESSOR)?.parse().ok()
}

/// Fields of a thread's line of numbers, counted from the one that follows its name; see proc_pid_stat(5).
const STATE: usize = 0;
const PROCESSOR: usize = 36;

fn field_of(process: i32, thread: i32, field: usize) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{process}/task/{thread}/stat")).ok()?;
    // The name in parentheses may contain anything.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(field).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_processor_is_idle_if_fewer_threads_run_than_there_are_processors() {
        let mut average = tempfile::tempfile().expect("a temporary file");
        average.write_all(b"0.20 0.18 0.12 3/80 11206\n").expect("it can be written");
        let mut load = Load { average: Some(average), processors: 2 };
        assert!(load.leaves_a_processor_idle(3), "all that run are ours, and take turns");
        assert!(!load.leaves_a_processor_idle(2));
        assert!(!load.leaves_a_processor_idle(1));
        load.processors = 4;
        assert!(load.leaves_a_processor_idle(1));
        load.processors = 1;
        assert!(!load.leaves_a_processor_idle(3), "there is no other one");
        load.average = None;
        assert!(!load.leaves_a_processor_idle(3));
    }

    #[test]
    fn a_program_whose_threads_are_gone_is_neither_found_nor_followed() {
        let nobody = i32::MAX;
        assert_eq!(processor_of(nobody, nobody), None);
        assert!(!runs_beside(nobody, nobody));
        let mut affinity = Affinity::new(nobody, None);
        affinity.follow(nobody);
        assert!(!affinity.is_beside());
    }
}
