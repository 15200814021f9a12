//! Where the pager's thread runs: on the processor of the thread that faults.
//!
//! A thread that faults goes to sleep and frees its processor, where the pager's thread can take over at once. On
//! another, idle processor the pager's thread would first have to be woken, which in a virtual machine takes longer
//! than everything else that a fault does.

use std::fs;

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};

/// The faulting thread's processor is looked up again after this many faults.
const FAULTS_BETWEEN_LOOKS: u32 = 32;

/// The name of the thread that drops translations in the program.
const HELPER_NAME: &str = "clockhand";

pub(crate) struct Affinity {
    process: i32,
    faults_until_look: u32,
    processor: Option<usize>,
}

impl Affinity {
    /// Follows the threads of a process.
    pub(crate) fn new(process: i32) -> Self {
        Affinity { process, faults_until_look: 0, processor: None }
    }

    /// `thread` has faulted.
    pub(crate) fn follow(&mut self, thread: i32) {
        if self.faults_until_look > 0 {
            self.faults_until_look -= 1;
            return;
        }
        self.faults_until_look = FAULTS_BETWEEN_LOOKS;
        let processor =
            processor_of(self.process, thread).filter(|&number| number < CpuSet::MAX_CPU);
        let Some(processor) = processor.filter(|&found| Some(found) != self.processor) else {
            return;
        };
        let mut set = CpuSet::new();
        set.set(processor);
        // Only an optimisation: if it is refused, faults take longer.
        let _ = sched_setaffinity(None, &set);
        if let Some(helper) = helper_of(self.process) {
            let _ = sched_setaffinity(Some(helper), &set);
        }
        self.processor = Some(processor);
    }
}

/// The thread in the program that drops translations, if the program is another process.
fn helper_of(process: i32) -> Option<Pid> {
    let is_helper = |task: &fs::DirEntry| {
        fs::read_to_string(task.path().join("comm"))
            .is_ok_and(|name| name.trim_end() == HELPER_NAME)
    };
    let mut tasks = fs::read_dir(format!("/proc/{process}/task")).ok()?.flatten();
    let name = tasks.find(is_helper)?.file_name();
    Pid::from_raw(name.to_str()?.parse().ok()?)
}

/// The processor on which a thread ran last.
fn processor_of(process: i32, thread: i32) -> Option<usize> {
    let stat = fs::read_to_string(format!("/proc/{process}/task/{thread}/stat")).ok()?;
    // The name in parentheses may contain anything; the processor is field 39, which is the 37th after the name.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(36)?.parse().ok()
}
