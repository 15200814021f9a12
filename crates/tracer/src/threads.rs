//! The threads that are followed.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::line::Pending;
use crate::ptrace::Until;

/// A thread.
pub(crate) struct Thread {
    /// Of its process: the number of the thread that began it.
    pub(crate) process: i32,
    /// The call that it is in.
    pub(crate) pending: Option<Pending>,
    /// The reported call, whose end is reported too.
    pub(crate) reported: Option<Pending>,
}

impl Thread {
    pub(crate) fn of(process: i32) -> Self {
        Self { process, pending: None, reported: None }
    }

    /// How it goes on.
    pub(crate) fn until(&self) -> Until {
        if self.pending.is_some() { Until::EndOfCall } else { Until::NextCall }
    }
}

/// All of them.
#[derive(Default)]
pub(crate) struct Threads {
    known: FxHashMap<i32, Thread>,
    /// Threads that stopped before the call that made them was reported.
    early: FxHashSet<i32>,
}

impl Threads {
    /// Adds a thread; whether it waits to be let go.
    pub(crate) fn begin(&mut self, thread: i32, process: i32) -> bool {
        self.known.insert(thread, Thread::of(process));
        self.early.remove(&thread)
    }

    pub(crate) fn get(&mut self, thread: i32) -> Option<&mut Thread> {
        self.known.get_mut(&thread)
    }

    /// Remembers a thread that nothing has reported yet.
    pub(crate) fn hold(&mut self, thread: i32) {
        self.early.insert(thread);
    }

    /// A thread is gone.
    pub(crate) fn end(&mut self, thread: i32) -> Option<Thread> {
        self.early.remove(&thread);
        self.known.remove(&thread)
    }

    /// The threads of a process, in the order of their numbers.
    pub(crate) fn of(&self, process: i32) -> Vec<i32> {
        let of_it = self.known.iter().filter(|(_, thread)| thread.process == process);
        let mut threads: Vec<i32> = of_it.map(|(&thread, _)| thread).collect();
        threads.sort_unstable();
        threads
    }

    /// The processes that still run, in the order of their numbers.
    pub(crate) fn processes(&self) -> Vec<i32> {
        let mut processes: Vec<i32> = self.known.values().map(|thread| thread.process).collect();
        processes.sort_unstable();
        processes.dedup();
        processes
    }
}
