//! The threads beside the requests: one writes batches to the disk, one syncs and answers those who wait.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::core::{Core, FileEngine, FrontEnd};
use super::reads::Reads;
use crate::Refused;
use crate::latency::Timed;
use crate::store::{Goal, Next};

/// A request that waits until its goal is reached.
pub(super) struct Waiting {
    pub(super) goal: Goal,
    pub(super) front_end: Arc<dyn FrontEnd>,
    pub(super) cookie: u64,
    pub(super) timed: Timed,
    pub(super) began: Instant,
}

#[derive(Default)]
pub(super) struct Waits {
    list: Vec<Waiting>,
    wants_slots: bool,
    is_over: bool,
    has_notes: bool,
    /// The thread that syncs has work.
    is_busy: bool,
    /// The thread that syncs waits for the one that writes.
    is_awaited: bool,
    /// Batches wait to be written.
    is_behind: bool,
    is_written: bool,
    /// The number of looks of the thread that writes.
    looks: u64,
}

impl Waits {
    /// Notes wait to be printed.
    pub(super) fn tell_notes(&mut self) {
        self.has_notes = true;
    }
}

impl Core {
    /// Has a request answered when its goal is reached. The thread that syncs also writes the batches that this needs,
    /// unless it is busy.
    pub(super) fn answer_when_durable(&self, waiting: Waiting, engine: &FileEngine) {
        let needs_batches = engine.store().next(waiting.goal).is_ok_and(|next| next == Next::Write);
        let mut waits = self.waits();
        waits.list.push(waiting);
        let writes = needs_batches && !waits.is_busy;
        waits.is_busy = true;
        drop(waits);
        self.wake.notify_one();
        if !writes {
            self.look_after(engine);
        }
    }

    /// After a request: batches are written, and slots freed in the background before they run out.
    pub(super) fn look_after(&self, engine: &FileEngine) {
        let store = engine.store();
        let is_behind = store.is_behind();
        let wants_slots = store.free_slots().is_some_and(|free| free < self.wanted_slots / 2);
        if !is_behind && !wants_slots {
            return;
        }
        let mut waits = self.waits();
        if is_behind && !waits.is_behind {
            waits.is_behind = true;
            self.work.notify_one();
        }
        if wants_slots && !waits.wants_slots {
            waits.wants_slots = true;
            self.wake.notify_one();
        }
    }

    /// Writes batches to the disk in their order; ends after [`end_writes`](Self::end_writes).
    pub(super) fn write_behind(&self) {
        loop {
            let has_written = self.write_batches();
            let mut waits = self.waits();
            waits.looks += 1;
            if waits.is_awaited {
                self.wake.notify_one();
            }
            while !has_written && !waits.is_behind {
                if waits.is_written {
                    return;
                }
                waits = self.work.wait(waits).unwrap_or_else(PoisonError::into_inner);
            }
            waits.is_behind = false;
        }
    }

    /// Writes the next batches without holding the engine, so that others can enter; false if there are none, or
    /// another thread writes.
    fn write_batches(&self) -> bool {
        let batches = self.engine().store_mut().begin_writes();
        batches.iter().for_each(|batch| batch.write(&self.file));
        if !batches.is_empty() {
            let mut engine = self.engine();
            batches.iter().for_each(|batch| engine.store_mut().end_write(batch));
        }
        !batches.is_empty()
    }

    /// Ends [`write_behind`](Self::write_behind) when nothing is left.
    pub(super) fn end_writes(&self) {
        self.waits().is_written = true;
        self.work.notify_one();
    }

    /// Writes batches, or waits until the thread that writes has looked again.
    fn write_or_wait(&self, looks: u64) {
        if self.write_batches() {
            return;
        }
        let mut waits = self.waits();
        waits.is_awaited = true;
        if waits.looks == looks {
            waits.is_behind = true;
            self.work.notify_one();
        }
        while waits.looks == looks && waits.list.is_empty() {
            waits = self.wake.wait(waits).unwrap_or_else(PoisonError::into_inner);
        }
        waits.is_awaited = false;
    }

    /// Answers what was read from the disk; ends after [`end_reads`](Self::end_reads).
    pub(super) fn run_reads(&self) {
        self.reads.iter().for_each(|reads| reads.run(self));
    }

    /// Ends [`run_reads`](Self::run_reads) when nothing is under way.
    pub(super) fn end_reads(&self) {
        self.reads.iter().for_each(Reads::end);
    }

    /// Ends [`commit`](Self::commit) when no request waits any more.
    pub(super) fn end_commits(&self) {
        self.waits().is_over = true;
        self.wake.notify_one();
    }

    /// Syncs for those who wait, and about each second for the store; ends after [`end_commits`](Self::end_commits).
    pub(super) fn commit(&self) {
        let mut list: Vec<Waiting> = Vec::new();
        let mut looked = Instant::now();
        loop {
            let mut waits = self.waits();
            if list.is_empty() && waits.list.is_empty() && !waits.wants_slots && !waits.has_notes {
                if waits.is_over {
                    return;
                }
                waits.is_busy = false;
                let rest = Duration::from_secs(1).saturating_sub(looked.elapsed());
                let waited = self.wake.wait_timeout(waits, rest);
                waits = waited.unwrap_or_else(PoisonError::into_inner).0;
                waits.is_busy = true;
            }
            list.append(&mut waits.list);
            let wants_slots = std::mem::take(&mut waits.wants_slots);
            let looks = waits.looks;
            waits.has_notes = false;
            drop(waits);
            let is_due = looked.elapsed() >= Duration::from_secs(1);
            if is_due {
                looked = Instant::now();
                self.engine().store_mut().try_refused_again(usize::MAX);
            }
            if is_due || wants_slots {
                self.free_slots();
            }
            match self.answer_reached(&mut list) {
                Next::Write => self.write_or_wait(looks),
                next => self.carry_out(next),
            }
            self.tell_notes();
        }
    }

    fn free_slots(&self) {
        for _ in 0..4 {
            let next = self.engine().store().next_when_idle(self.wanted_slots);
            if next == Next::Reached {
                return;
            }
            self.carry_out(next);
        }
    }

    /// Answers whose goal is reached, and says what the others need.
    fn answer_reached(&self, list: &mut Vec<Waiting>) -> Next {
        if list.is_empty() {
            return Next::Reached;
        }
        let engine = self.engine();
        let mut needed = Next::Reached;
        let mut answers = Vec::new();
        list.retain(|waiting| {
            let result = match engine.store().next(waiting.goal) {
                Ok(Next::Reached) => Ok(()),
                // While a sync is made, batches are written beside it.
                Ok(next) => {
                    let is_urgent =
                        |next| [Next::Reached, Next::Write, Next::SyncNvm].contains(&next);
                    if is_urgent(needed) && next != Next::Write || needed == Next::Reached {
                        needed = next;
                    }
                    return true;
                }
                Err(error) => Err(Refused::of(error.kind())),
            };
            let Waiting { cookie, timed, began, .. } = *waiting;
            answers.push((Arc::clone(&waiting.front_end), cookie, timed, began, result));
            false
        });
        drop(engine);
        for (front_end, cookie, timed, began, result) in &answers {
            self.add_time(*timed, *began);
            front_end.answer(*cookie, *result);
        }
        answers.dedup_by(|(one, ..), (other, ..)| Arc::ptr_eq(one, other));
        answers.iter().for_each(|(front_end, ..)| front_end.deliver());
        needed
    }

    /// Syncs without holding the engine, so that others can enter.
    fn carry_out(&self, next: Next) {
        match next {
            Next::Reached | Next::Write => {}
            Next::SyncDisk => {
                let sync = self.engine().store_mut().begin_disk_sync();
                let result = self.disk.sync();
                self.engine().store_mut().end_disk_sync(sync, &result);
            }
            Next::SyncNvm => {
                let Ok(sync) = self.engine().store_mut().begin_nvm_sync() else { return };
                let result = self.nvm.as_ref().expect("a buffer with NVM").sync();
                self.engine().store_mut().end_nvm_sync(sync, &result);
            }
        }
    }
}
