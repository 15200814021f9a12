//! Requests on their way through queue and front end.

use std::collections::VecDeque;

use super::slab::{NONE, Slab};

/// What a request wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RequestKind {
    /// Pages are read.
    Read,
    /// Pages are written.
    Write,
    /// Pages are written and persistent when the request is complete.
    ForcedWrite,
    /// Pages are no longer needed.
    Trim,
    /// All that was written is persistent when the request is complete.
    Flush,
}

impl RequestKind {
    /// Whether its pages pass the link to the host.
    pub(super) fn has_data(self) -> bool {
        matches!(self, RequestKind::Read | RequestKind::Write | RequestKind::ForcedWrite)
    }
}

/// A request before it is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// When it arrives, in nanoseconds; without meaning if requests arrive when others are complete.
    pub arrival_ns: u64,
    /// What it wants.
    pub kind: RequestKind,
    /// Of how many pages.
    pub pages: u32,
}

/// What a request waited for most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WaitCause {
    /// It did not wait.
    None,
    /// The queue was full.
    Host,
    /// The front end.
    Front,
    /// A place in the buffer, or the content of a page.
    Buffer,
    /// Collection, merges and folds on the die.
    Collection,
    /// Other operations of the die, and the channel.
    Flash,
}

impl WaitCause {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            WaitCause::None => "none",
            WaitCause::Host => "host",
            WaitCause::Front => "front",
            WaitCause::Buffer => "buffer",
            WaitCause::Collection => "collection",
            WaitCause::Flash => "flash",
        }
    }
}

/// A request that is complete. Unit: nanoseconds from the first arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompletedRequest {
    /// Its position among the requests, from 0.
    pub index: u64,
    /// What it wanted.
    pub kind: RequestKind,
    /// When it arrived.
    pub arrival_ns: u64,
    /// When the drive took it into its queue.
    pub accepted_ns: u64,
    /// When the front end was through with it.
    pub decided_ns: u64,
    /// When it was complete.
    pub end_ns: u64,
    /// Time for which the page that was done last waited for a place in the buffer, or for content.
    pub buffer_wait_ns: u64,
    /// How long it waited while its die worked on collection.
    pub collection_wait_ns: u64,
    /// How long it waited otherwise for its operation to begin.
    pub flash_wait_ns: u64,
}

impl CompletedRequest {
    /// From arrival to completion.
    pub fn latency_ns(&self) -> u64 {
        self.end_ns - self.arrival_ns
    }

    /// How long it waited to be accepted.
    pub fn host_wait_ns(&self) -> u64 {
        self.accepted_ns - self.arrival_ns
    }

    /// How long the front end took.
    pub fn front_wait_ns(&self) -> u64 {
        self.decided_ns - self.accepted_ns
    }

    /// The latency without its waits.
    pub fn service_ns(&self) -> u64 {
        let waited = self.buffer_wait_ns + self.collection_wait_ns + self.flash_wait_ns;
        self.end_ns - self.decided_ns - waited
    }

    /// What it waited for most; of equal waits, the earlier one.
    pub fn cause(&self) -> WaitCause {
        let waits = [
            (self.host_wait_ns(), WaitCause::Host),
            (self.front_wait_ns(), WaitCause::Front),
            (self.buffer_wait_ns, WaitCause::Buffer),
            (self.collection_wait_ns, WaitCause::Collection),
            (self.flash_wait_ns, WaitCause::Flash),
        ];
        let mut longest = (0, WaitCause::None);
        for wait in waits {
            if wait.0 > longest.0 {
                longest = wait;
            }
        }
        longest.1
    }
}

/// A request that is accepted and not complete: 64 bytes.
#[derive(Debug, Clone, Copy)]
struct InFlight {
    arrival_ns: u64,
    accepted_ns: u64,
    decided_ns: u64,
    /// When the last page so far was done, which page, and for what it waited.
    last_ns: u64,
    wait_ns: u64,
    collection_ns: u64,
    last_page: u32,
    /// The low bits of its position; at most 65,535 requests are in flight.
    index: u32,
    /// Pages that are not done, and one until the decision is over.
    left: u32,
    kind: RequestKind,
    waits_for_buffer: bool,
}

/// The requests that are accepted and not complete.
pub(super) struct Requests {
    queue_depth: u32,
    in_flight: Slab<InFlight>,
    pub(super) accepted: u64,
    /// Those that wait for the front end, with how long each takes there, and the one that is in it.
    waiting: VecDeque<(u32, u64)>,
    current: u32,
    /// True if the front end has finished the current one.
    pub(super) front_is_over: bool,
    pub(super) front_busy_ns: u64,
    /// Those whose last page is done.
    pub(super) complete: Vec<u32>,
}

impl Requests {
    pub(super) fn new(queue_depth: u32) -> Self {
        Requests {
            queue_depth,
            in_flight: Slab::new(),
            accepted: 0,
            waiting: VecDeque::new(),
            current: NONE,
            front_is_over: false,
            front_busy_ns: 0,
            complete: Vec::new(),
        }
    }

    #[inline]
    pub(super) fn has_room(&self) -> bool {
        (self.in_flight.len() as u32) < self.queue_depth
    }

    pub(super) fn is_empty(&self) -> bool {
        self.in_flight.len() == 0
    }

    /// Accepts a request that takes so long in the front end.
    pub(super) fn accept(&mut self, kind: RequestKind, arrival_ns: u64, now: u64, front_ns: u64) {
        let request = InFlight {
            arrival_ns,
            accepted_ns: now,
            decided_ns: 0,
            last_ns: 0,
            wait_ns: 0,
            collection_ns: 0,
            last_page: u32::MAX,
            index: self.accepted as u32,
            left: 1,
            kind,
            waits_for_buffer: false,
        };
        let id = self.in_flight.insert(request);
        self.accepted += 1;
        self.waiting.push_back((id, front_ns));
    }

    /// True if the front end has finished a request, or is free for one.
    #[inline]
    pub(super) fn front_moves(&self) -> bool {
        self.front_is_over || self.current == NONE && !self.waiting.is_empty()
    }

    /// The request that the front end has finished, if there is one.
    pub(super) fn leave_front(&mut self) -> Option<u32> {
        if !std::mem::take(&mut self.front_is_over) {
            return None;
        }
        Some(std::mem::replace(&mut self.current, NONE))
    }

    /// Lets the next request into the front end, if that is free, and returns its time there.
    pub(super) fn enter_front(&mut self) -> Option<u64> {
        if self.current != NONE {
            return None;
        }
        let (id, front_ns) = self.waiting.pop_front()?;
        self.current = id;
        self.front_busy_ns += front_ns;
        Some(front_ns)
    }

    /// A request is decided from now on.
    pub(super) fn begin_decision(&mut self, request: u32, now: u64) -> u64 {
        self.in_flight[request].decided_ns = now;
        self.index(request)
    }

    fn index(&self, request: u32) -> u64 {
        let low = self.in_flight[request].index;
        self.accepted - u64::from((self.accepted as u32).wrapping_sub(low))
    }

    /// A page of a request will be done.
    #[inline]
    pub(super) fn expect_page(&mut self, request: u32) {
        self.in_flight[request].left += 1;
    }

    /// All pages of a request are expected.
    pub(super) fn end_decision(&mut self, request: u32) {
        self.page_is_done(request);
    }

    fn page_is_done(&mut self, request: u32) {
        let entry = &mut self.in_flight[request];
        entry.left -= 1;
        if entry.left == 0 {
            self.complete.push(request);
        }
    }

    /// A page is done. `waits` are those for the buffer, for collection and for the flash; not both the first and the last.
    pub(super) fn page_done(&mut self, request: u32, page: u32, waits: (u64, u64, u64), now: u64) {
        let entry = &mut self.in_flight[request];
        if now > entry.last_ns || page < entry.last_page {
            let (buffer_ns, collection_ns, flash_ns) = waits;
            (entry.last_ns, entry.last_page) = (now, page);
            (entry.wait_ns, entry.waits_for_buffer) = (buffer_ns.max(flash_ns), buffer_ns > 0);
            entry.collection_ns = collection_ns;
        }
        self.page_is_done(request);
    }

    /// A FLUSH is complete.
    pub(super) fn flush_done(&mut self, request: u32) {
        self.page_is_done(request);
    }

    /// Takes a complete request out.
    pub(super) fn finish(&mut self, request: u32, now: u64) -> CompletedRequest {
        let InFlight { arrival_ns, accepted_ns, decided_ns, wait_ns, .. } = self.in_flight[request];
        let InFlight { kind, collection_ns, waits_for_buffer, .. } = self.in_flight[request];
        let index = self.index(request);
        self.in_flight.remove(request);
        CompletedRequest {
            index,
            kind,
            arrival_ns,
            accepted_ns,
            decided_ns,
            end_ns: now,
            buffer_wait_ns: if waits_for_buffer { wait_ns } else { 0 },
            collection_wait_ns: collection_ns,
            flash_wait_ns: if waits_for_buffer { 0 } else { wait_ns },
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_request_in_flight_takes_64_bytes() {
        assert_eq!(size_of::<super::InFlight>(), 64);
    }
}
