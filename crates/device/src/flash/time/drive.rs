//! The drive in time: instant after instant, until every request is complete.

use std::collections::VecDeque;

use super::deadlines::NEVER;
use super::decision::Decision;
use super::ends::Part;
use super::engine::Engine;
use super::listener::{HostPage, Listener};
use super::operation::OperationRecord;
use super::options::TimeOptions;
use super::requests::{Asked, CompletedRequest};
use super::slab::NONE;
use crate::flash::drive::Drive;
use crate::flash::operations::Counters;

/// When requests arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrivals {
    /// When they say.
    Open,
    /// This many at the beginning, and another one whenever one is complete.
    Closed(u64),
}

/// Requests, and what a drive and its buffer decide for each.
pub trait Workload {
    /// Why a run breaks off.
    type Error;

    /// The request with this number, which is one more than that of the last call; none behind the last.
    fn request(&mut self, index: u64) -> Option<Asked>;

    /// Decides what the request means for buffer and flash.
    ///
    /// # Errors
    ///
    /// What the run breaks off with.
    fn decide(&mut self, index: u64, decision: &mut Decision<'_>) -> Result<(), Self::Error>;

    /// A request was accepted.
    fn accepted(&mut self, index: u64, arrival_ns: u64, now_ns: u64) {
        let _ = (index, arrival_ns, now_ns);
    }

    /// A request is complete. In the order of completions.
    fn complete(&mut self, request: &CompletedRequest);

    /// Time has come to `now_ns`, and decisions follow; until then the drive counted this.
    fn reached(&mut self, now_ns: u64, counters: &Counters) {
        let _ = (now_ns, counters);
    }
}

/// Why a run in time has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TimedError<E> {
    /// What the workload broke off with.
    Workload(E),
    /// Requests were left that nothing would ever complete: a fault of this program.
    Stuck {
        /// Requests that were complete.
        complete: u64,
    },
}

/// What a run took. Unit: nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing {
    /// The last completion.
    pub end_ns: u64,
    /// Requests that were complete.
    pub requests: u64,
    /// Busy time of the front end.
    pub front_busy_ns: u64,
    /// Busy time of each channel, with phases that are over.
    pub channel_busy_ns: Vec<u64>,
    /// Time that each die was held.
    pub die_busy_ns: Vec<u64>,
    /// Time of complete operations of collection, on channels and dies.
    pub collection_ns: u64,
    /// Written pages that had to wait for a place in the buffer.
    pub stalled_pages: u64,
    /// How long they waited together.
    pub stall_ns: u64,
    /// Reads of pages whose program was not complete.
    pub in_flight_reads: u64,
    /// Reads of pages that are nowhere.
    pub unmapped_reads: u64,
    /// Suspensions of operations.
    pub suspensions: u64,
    /// Blocks erased in the background.
    pub background_erases: u64,
}

/// A drive in time.
pub struct TimedDrive {
    drive: Drive,
    engine: Engine,
    /// Of requests that arrive when others are complete: when those arrived that are not accepted.
    arrived: VecDeque<u64>,
    /// Requests that are still to arrive at the beginning.
    credit: u64,
    complete: u64,
}

impl TimedDrive {
    /// A drive that rests at time 0, behind memories of these sizes in pages.
    pub fn new(drive: Drive, options: TimeOptions, dram_pages: u32, nvm_pages: u32) -> TimedDrive {
        let ftl = drive.ftl();
        let slc = ftl.options().mapping.slc().map(|slc| (ftl.pool_blocks(), slc.blocks));
        let engine = Engine::new(drive.ftl().geometry(), options, slc, [dram_pages, nvm_pages]);
        TimedDrive { drive, engine, arrived: VecDeque::new(), credit: 0, complete: 0 }
    }

    /// From now on every operation is recorded.
    pub fn record_operations(&mut self) {
        self.engine.record = Some(Vec::new());
    }

    /// The operations so far, in the order of their numbers, if they are recorded.
    pub fn operations(&self) -> &[OperationRecord] {
        self.engine.record.as_deref().unwrap_or_default()
    }

    /// The drive as it is.
    pub fn drive(&self) -> &Drive {
        &self.drive
    }

    /// The drive, when its time does not matter any more.
    pub fn into_drive(self) -> Drive {
        self.drive
    }

    /// Runs all requests to their end.
    ///
    /// # Errors
    ///
    /// The workload broke off; or requests were left, which must not be.
    pub fn run<W: Workload>(
        &mut self,
        arrivals: Arrivals,
        workload: &mut W,
    ) -> Result<Timing, TimedError<W::Error>> {
        if let Arrivals::Closed(requests) = arrivals {
            self.credit = requests;
        }
        let is_closed = arrivals != Arrivals::Open;
        let mut next = workload.request(0);
        loop {
            self.settle(is_closed, &mut next, workload).map_err(TimedError::Workload)?;
            if next.is_none() && self.engine.requests.is_empty() {
                return Ok(self.timing());
            }
            self.collect_at_rest(workload);
            self.engine.start_all();
            let mut then_ns = self.engine.deadlines.earliest_ns();
            if !is_closed && self.engine.requests.has_room() {
                then_ns = next.map_or(then_ns, |next| then_ns.min(next.arrival_ns));
            }
            if then_ns == NEVER {
                return Err(TimedError::Stuck { complete: self.complete });
            }
            self.engine.now = then_ns;
        }
    }

    /// All that happens at an instant before operations begin.
    #[inline]
    fn settle<W: Workload>(
        &mut self,
        is_closed: bool,
        next: &mut Option<Asked>,
        workload: &mut W,
    ) -> Result<(), W::Error> {
        loop {
            self.engine.end_all();
            if !self.goes_on(is_closed, next.as_ref()) {
                return Ok(());
            }
            while let Some(flush) = self.engine.flushes.complete.pop() {
                self.engine.requests.flush_done(flush);
            }
            while let Some(request) = self.engine.requests.complete.pop() {
                let done = self.engine.requests.finish(request, self.engine.now);
                workload.complete(&done);
                self.complete += 1;
                if is_closed {
                    self.arrived.push_back(self.engine.now);
                }
            }
            self.accept(is_closed, next, workload);
            self.pass_front(workload)?;
        }
    }

    /// True if a request is complete, arrives or passes the front end at this instant.
    #[inline]
    fn goes_on(&self, is_closed: bool, next: Option<&Asked>) -> bool {
        let Engine { requests, flushes, now, .. } = &self.engine;
        let arrives = |next: &Asked| match is_closed {
            true => self.credit > 0 || !self.arrived.is_empty(),
            false => next.arrival_ns <= *now,
        };
        !requests.complete.is_empty()
            || requests.front_moves()
            || !flushes.complete.is_empty()
            || requests.has_room() && next.is_some_and(arrives)
    }

    /// Pools that have rested for long enough take a step of collection.
    fn collect_at_rest<W: Workload>(&mut self, workload: &mut W) {
        let Some(free) = self.engine.options.background_free else { return };
        let Drive { ftl, counters, .. } = &mut self.drive;
        let background_free = free.blocks(ftl.pool_blocks());
        for pool in 0..ftl.pools() {
            let dies = match ftl.pools() {
                1 => 0..self.engine.dies.len(),
                _ => pool as usize..pool as usize + 1,
            };
            if !self.engine.has_rested(dies, pool) {
                continue;
            }
            workload.reached(self.engine.now, counters);
            self.engine.is_background = true;
            let host = HostPage::of(NONE);
            let mut listener = Listener { engine: &mut self.engine, counters, host, read: None };
            ftl.background_step(pool, background_free, &mut listener);
            self.engine.is_background = false;
        }
    }

    /// Accepts what has arrived, in order, as far as the queue has room.
    fn accept<W: Workload>(&mut self, is_closed: bool, next: &mut Option<Asked>, workload: &mut W) {
        while let Some(asked) = *next {
            let Engine { now, requests, options, page_bytes, .. } = &mut self.engine;
            if !requests.has_room() {
                break;
            }
            let arrival_ns = if !is_closed {
                asked.arrival_ns
            } else if self.credit > 0 {
                self.credit -= 1;
                0
            } else if let Some(arrival_ns) = self.arrived.pop_front() {
                arrival_ns
            } else {
                break;
            };
            if arrival_ns > *now {
                break;
            }
            let bytes = u64::from(asked.pages) * u64::from(*page_bytes);
            let link_ns = if asked.kind.has_data() { options.times.link_ns(bytes) } else { 0 };
            workload.accepted(requests.accepted, arrival_ns, *now);
            requests.accept(asked.kind, arrival_ns, *now, options.times.request_ns + link_ns);
            *next = workload.request(requests.accepted);
        }
    }

    /// Decides the requests that the front end has finished, and lets the next ones in.
    fn pass_front<W: Workload>(&mut self, workload: &mut W) -> Result<(), W::Error> {
        loop {
            if let Some(request) = self.engine.requests.leave_front() {
                self.decide(request, workload)?;
            }
            match self.engine.requests.enter_front() {
                Some(0) => self.engine.requests.front_is_over = true,
                Some(front_ns) => {
                    let front_ns = self.engine.now + front_ns;
                    self.engine.deadlines.set(front_ns, Part::Front);
                    return Ok(());
                }
                None => return Ok(()),
            }
        }
    }

    fn decide<W: Workload>(&mut self, request: u32, workload: &mut W) -> Result<(), W::Error> {
        let index = self.engine.requests.begin_decision(request, self.engine.now);
        workload.reached(self.engine.now, &self.drive.counters);
        let decision = &mut Decision {
            engine: &mut self.engine,
            drive: &mut self.drive,
            request,
            modified: None,
        };
        workload.decide(index, decision)?;
        self.engine.requests.end_decision(request);
        Ok(())
    }

    /// Lets `decide` send on what is left, after the last request, and runs until all is over. Says how long that took.
    ///
    /// # Errors
    ///
    /// What `decide` breaks off with.
    pub fn drain<E>(
        &mut self,
        decide: impl FnOnce(&mut Decision<'_>) -> Result<(), E>,
    ) -> Result<u64, E> {
        let began_ns = self.engine.now;
        let (engine, drive) = (&mut self.engine, &mut self.drive);
        decide(&mut Decision { engine, drive, request: NONE, modified: None })?;
        loop {
            self.engine.end_all();
            self.engine.start_all();
            match self.engine.deadlines.earliest_ns() {
                NEVER => return Ok(self.engine.now - began_ns),
                time_ns => self.engine.now = time_ns,
            }
        }
    }

    fn timing(&self) -> Timing {
        let Engine { now, requests, channels, dies, totals, memories, .. } = &self.engine;
        Timing {
            end_ns: *now,
            requests: self.complete,
            front_busy_ns: requests.front_busy_ns,
            channel_busy_ns: channels.iter().map(|channel| channel.busy_ns).collect(),
            die_busy_ns: dies.iter().map(|die| die.busy_ns(*now)).collect(),
            collection_ns: totals.collection_ns,
            stalled_pages: memories.stalled_pages,
            stall_ns: memories.stall_ns,
            in_flight_reads: totals.in_flight_reads,
            unmapped_reads: totals.unmapped_reads,
            suspensions: totals.suspensions,
            background_erases: totals.background_erases,
        }
    }
}
