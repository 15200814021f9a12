//! Where the pager's thread and the program's run, and for how long at a time: on one processor, as long as they take turns.
//!
//! A thread that faults goes to sleep and frees its processor, where the pager's thread can take over at once. On
//! another, idle processor the pager's thread would first have to be woken, which in a virtual machine takes longer
//! than everything else that a fault does. So the pager's thread goes to the processor of the program. The scheduler
//! would send a woken program to the idle processor, which takes as long. So the program is held where it is. It is let
//! go when there has been no fault for a while, when several threads fault and run at the same time, or when it forks,
//! asks where it may run or chooses it. Threads and processes that it starts in between are freed soon after.
//!
//! The pager chooses the processor that the swap's drive interrupts, if the drive interrupts only one and no other
//! thread is held there. Both threads run for short [slices](Slice), so that they get their turns on processors which
//! are busy.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::{Mutex, MutexGuard};

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::interrupts::Interrupts;
use super::slice::{SHORT, Slice};

/// The faulting thread's processor is looked up again after this many faults.
const FAULTS_BETWEEN_LOOKS: u32 = 32;

/// As long as a thread is held, and no other faults, there is little to see.
const FAULTS_OF_THE_HELD: u32 = 512;

/// The name of the thread that drops translations in the program.
const HELPER_NAME: &str = "clockhand";

/// The most threads of a program that are looked at.
const MOST_THREADS: usize = 64;

pub(crate) struct Affinity {
    process: i32,
    /// The processors of this thread; none if that is a single one or not known.
    own: Option<CpuSet>,
    faults_until_look: u32,
    /// The thread that faulted last, and whether another one has faulted since the last look.
    thread: Option<i32>,
    have_several_faulted: bool,
    /// The processor that this thread shares with the program.
    processor: Option<usize>,
    held: Option<Held>,
    /// True if threads of the program may be held: a program whose pager is a part of it is left alone.
    holds: bool,
    /// Those of the drive where its pages are.
    interrupts: Option<Interrupts>,
}

/// Processes that chose where they run, under any pager of this process. Their children inherit the choice.
static CHOOSING: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

fn choosing() -> MutexGuard<'static, BTreeSet<i32>> {
    CHOOSING.lock().expect("the lock is never poisoned")
}

/// On which processor a thread of a process is held, by any pager of this process.
static HELD: Mutex<BTreeMap<i32, usize>> = Mutex::new(BTreeMap::new());

fn held() -> MutexGuard<'static, BTreeMap<i32, usize>> {
    HELD.lock().expect("the lock is never poisoned")
}

/// A thread of the program that is held on this thread's processor, and where it may run otherwise.
struct Held {
    process: i32,
    thread: Pid,
    processor: usize,
    here: CpuSet,
    elsewhere: CpuSet,
    /// The slice that it had, if it has a short one now.
    slice: Option<Slice>,
}

impl Affinity {
    /// Follows the threads of a process, and holds them or does not. `interrupts` are those of the drive where its pages are.
    pub(crate) fn new(process: i32, holds: bool, interrupts: Option<Interrupts>) -> Self {
        // Only an optimisation.
        let _ = SHORT.give(None);
        Affinity {
            process,
            own: sched_getaffinity(None).ok().filter(|own| own.count() > 1),
            faults_until_look: 0,
            thread: None,
            have_several_faulted: false,
            processor: None,
            held: None,
            holds,
            interrupts,
        }
    }

    /// `thread` has faulted.
    pub(crate) fn follow(&mut self, thread: i32) {
        let Some(own) = self.own else { return };
        if self.thread.replace(thread).is_some_and(|last| last != thread) {
            self.have_several_faulted = true;
            self.faults_until_look = self.faults_until_look.min(FAULTS_BETWEEN_LOOKS);
        }
        if self.faults_until_look > 0 {
            self.faults_until_look -= 1;
            return;
        }
        self.faults_until_look = FAULTS_BETWEEN_LOOKS;
        let have_several_faulted = std::mem::take(&mut self.have_several_faulted);
        let is_parted = have_several_faulted && runs_beside(self.process, thread);
        let of_thread =
            || processor_of(self.process, thread).filter(|&number| number < CpuSet::MAX_CPU);
        let processor = if is_parted { None } else { of_thread() };
        let processor = self.hold(processor, thread);
        if self.held.is_some() && !have_several_faulted {
            self.faults_until_look = FAULTS_OF_THE_HELD;
        }
        if processor == self.processor {
            return;
        }
        let set = processor.map_or(own, only);
        // Only an optimisation: if it is refused, faults take longer.
        let _ = sched_setaffinity(None, &set);
        if let Some(helper) = helper_of(self.process) {
            let _ = sched_setaffinity(Some(helper), &set);
        }
        self.processor = processor;
    }

    /// Returns whether a thread of the program is held on this thread's processor.
    pub(crate) fn is_holding(&self) -> bool {
        self.held.is_some()
    }

    /// Holds a thread that runs on this processor, there or on a better one; returns where it runs from now on.
    fn hold(&mut self, processor: Option<usize>, thread: i32) -> Option<usize> {
        let (Some(current), Some(thread), true) = (processor, Pid::from_raw(thread), self.holds)
        else {
            self.release();
            return processor;
        };
        let wanted = self.interrupted();
        if let Some(held) = self.held.as_ref().filter(|held| held.thread == thread) {
            let is_better =
                |processor| processor != held.processor && held.elsewhere.is_set(processor);
            if !wanted.is_some_and(is_better) {
                return processor;
            }
        }
        self.release();
        let Ok(elsewhere) = sched_getaffinity(Some(thread)) else { return processor };
        let processor = wanted.filter(|&wanted| elsewhere.is_set(wanted)).unwrap_or(current);
        let here = only(processor);
        if elsewhere.count() > 1 && sched_setaffinity(Some(thread), &here).is_ok() {
            held().insert(self.process, processor);
            let slice = SHORT.give(Some(thread));
            let process = self.process;
            self.held = Some(Held { process, thread, processor, here, elsewhere, slice });
            return Some(processor);
        }
        Some(current)
    }

    /// The processor that the drive interrupts, if this thread may run there and no other process is held there.
    fn interrupted(&self) -> Option<usize> {
        let processor = self.interrupts.as_ref()?.processor()?;
        let is_own = |own: &CpuSet| processor < CpuSet::MAX_CPU && own.is_set(processor);
        let is_taken = |(&process, &by): (&i32, &usize)| process != self.process && by == processor;
        (self.own.as_ref().is_some_and(is_own) && !held().iter().any(is_taken)).then_some(processor)
    }

    /// Lets the program's thread, and what it has started, run where it may. It is held again after some more faults.
    pub(crate) fn release(&mut self) {
        self.free_heirs();
        if let Some(held) = self.held.take() {
            held.free(held.thread);
            self.faults_until_look = FAULTS_BETWEEN_LOOKS;
        }
    }

    /// Never holds a thread again: the program chooses where it runs.
    pub(crate) fn part(&mut self) {
        self.holds = false;
        choosing().insert(self.process);
    }

    /// Lets threads and processes that the held thread has started run where it may when it is not held.
    pub(crate) fn free_heirs(&self) {
        let Some(held) = &self.held else { return };
        let mut processes = vec![self.process];
        let mut seen = 0;
        while let Some(process) = processes.pop() {
            let is_held_itself = process != self.process && self::held().contains_key(&process);
            if is_held_itself || choosing().contains(&process) {
                continue;
            }
            for (thread, name) in threads_of(process) {
                seen += 1;
                if seen > MOST_THREADS {
                    return;
                }
                let children =
                    fs::read_to_string(format!("/proc/{process}/task/{thread}/children"));
                let children = children.unwrap_or_default();
                processes.extend(
                    children.split_ascii_whitespace().filter_map(|child| child.parse::<i32>().ok()),
                );
                match Pid::from_raw(thread) {
                    Some(thread) if thread != held.thread && name != HELPER_NAME => {
                        held.free(thread)
                    }
                    _ => {}
                }
            }
        }
    }
}

impl Held {
    /// Lets a thread run elsewhere too, unless somebody else has moved it, and gives it the usual time slice.
    fn free(&self, thread: Pid) {
        if sched_getaffinity(Some(thread)).is_ok_and(|set| set == self.here) {
            // Only an optimisation.
            let _ = sched_setaffinity(Some(thread), &self.elsewhere);
        }
        if let Some(slice) = self.slice.filter(|_| Slice::of(Some(thread)) == Some(SHORT)) {
            let _ = slice.give(Some(thread));
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        held().remove(&self.process);
    }
}

fn only(processor: usize) -> CpuSet {
    let mut set = CpuSet::new();
    set.set(processor);
    set
}

/// The threads of a process, with their names.
pub(crate) fn threads_of(process: i32) -> impl Iterator<Item = (i32, String)> {
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

/// Returns whether a thread of the program, other than this one, runs or is about to.
fn runs_beside(process: i32, thread: i32) -> bool {
    let mut others = threads_of(process).take(MOST_THREADS);
    others.any(|(other, name)| other != thread && name != HELPER_NAME && is_running(process, other))
}

/// Returns whether a thread runs, or would if it had a processor.
pub(crate) fn is_running(process: i32, thread: i32) -> bool {
    field_of(process, thread, STATE).is_some_and(|state| state == "R")
}

/// The exit code of a program's first thread, if only the thread that drops translations is left. Threads may end
/// themselves by exit(2); that thread alone would then keep the process.
pub(crate) fn code_of_deserted(process: i32) -> Option<u16> {
    field_of(process, process, STATE).filter(|state| state == "Z")?;
    let threads = fs::read_dir(format!("/proc/{process}/task")).ok()?.count();
    let status = field_of(process, process, EXIT_STATUS)?.parse::<u32>().ok()?;
    (threads == 2).then_some((status >> 8 & 0xFF) as u16)
}

/// The processor on which a thread ran last.
fn processor_of(process: i32, thread: i32) -> Option<usize> {
    field_of(process, thread, PROCESSOR)?.parse().ok()
}

/// Fields of a thread's line of numbers, counted from the one that follows its name; see proc_pid_stat(5).
const STATE: usize = 0;
const PROCESSOR: usize = 36;
const EXIT_STATUS: usize = 49;

fn field_of(process: i32, thread: i32, field: usize) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{process}/task/{thread}/stat")).ok()?;
    // The name in parentheses may contain anything.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(field).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_whose_threads_are_gone_is_neither_found_nor_followed() {
        let nobody = i32::MAX;
        assert_eq!(processor_of(nobody, nobody), None);
        assert!(!runs_beside(nobody, nobody));
        let mut affinity = Affinity::new(nobody, true, None);
        affinity.follow(nobody);
        assert!(affinity.held.is_none());
    }

    #[test]
    fn a_thread_is_held_where_the_drive_interrupts_unless_another_process_is() {
        let allowed = sched_getaffinity(None).unwrap();
        let processors: Vec<_> =
            (0..CpuSet::MAX_CPU).filter(|&number| allowed.is_set(number)).collect();
        let [first, .., last] = processors[..] else {
            eprintln!("SKIPPED: there is one processor");
            return;
        };
        let list = tempfile::NamedTempFile::new().unwrap();
        let interrupts_to = |processor: usize| fs::write(&list, format!("{processor}\n")).unwrap();
        std::thread::scope(|scope| {
            let (sender, receiver) = std::sync::mpsc::channel();
            let (stop, stopped) = std::sync::mpsc::channel::<()>();
            scope.spawn(move || {
                sender.send(rustix::thread::gettid()).unwrap();
                let _ = stopped.recv();
            });
            let thread = receiver.recv().unwrap();
            let may_run = || sched_getaffinity(Some(thread)).unwrap();
            let number = thread.as_raw_nonzero().get();
            // Process ids that no other test uses.
            let [process, other] = [-71, -72];
            let affinity =
                |process| Affinity::new(process, true, Some(Interrupts::told_by(list.path())));
            let mut held = affinity(process);
            let slice = Slice::of(Some(thread));
            for processor in [last, first, last] {
                interrupts_to(processor);
                assert_eq!(held.hold(Some(first), number), Some(processor));
                assert_eq!(may_run(), only(processor), "it follows the interrupts");
            }
            assert_eq!(Slice::of(Some(thread)), slice.map(|_| SHORT));
            assert_eq!(affinity(other).interrupted(), None, "one process is held there");
            held.release();
            assert_eq!(may_run(), allowed);
            assert_eq!(Slice::of(Some(thread)), slice);
            assert_eq!(affinity(other).interrupted(), Some(last));
            drop(stop);
        });
    }
}
