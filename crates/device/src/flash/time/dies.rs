//! Dies and channels: what each has to do and is doing.

use std::collections::VecDeque;

use super::slab::NONE;

/// The stage of the operation that a die holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Command, and content if it programs, on the channel.
    FirstBus,
    /// Its array works.
    Array,
    /// What was read waits for the channel.
    Waits,
    /// The page that was read is on the channel.
    LastBus,
}

/// A die.
#[derive(Debug)]
pub(super) struct Die {
    pub(super) channel: u32,
    pub(super) place_on_channel: u32,
    /// Operations in the order of their numbers.
    pub(super) queue: VecDeque<u32>,
    /// Reads of the host that are ready, in the same order.
    pub(super) reads: VecDeque<u32>,
    /// Reads of the host that were issued and are not over.
    pub(super) reads_issued: u32,
    /// The operation that it holds; of a group, the first.
    pub(super) active: u32,
    pub(super) stage: Stage,
    pub(super) array_end_ns: u64,
    /// The next program, transferred or being transferred while the array works on `active`.
    pub(super) loaded: u32,
    pub(super) is_loaded: bool,
    /// The operation that stopped for reads of the host, what is left of it, and when it has stopped.
    pub(super) suspended: u32,
    pub(super) left_ns: u64,
    pub(super) stopped_ns: u64,
    held_since_ns: u64,
    held_ns: u64,
    /// Operations of collection that are under way, since when, and what earlier ones took.
    collecting: u32,
    collecting_since_ns: u64,
    collected_ns: u64,
    /// When an operation last ended here that was not issued in the background.
    pub(super) last_end_ns: u64,
}

impl Die {
    pub(super) fn new(die: u32, channels: u32) -> Die {
        Die {
            channel: die % channels,
            place_on_channel: die / channels,
            queue: VecDeque::new(),
            reads: VecDeque::new(),
            reads_issued: 0,
            active: NONE,
            stage: Stage::FirstBus,
            array_end_ns: 0,
            loaded: NONE,
            is_loaded: false,
            suspended: NONE,
            left_ns: 0,
            stopped_ns: 0,
            held_since_ns: 0,
            held_ns: 0,
            collecting: 0,
            collecting_since_ns: 0,
            collected_ns: 0,
            last_end_ns: 0,
        }
    }

    #[inline]
    fn is_held(&self) -> bool {
        self.active != NONE || self.loaded != NONE || self.suspended != NONE
    }

    /// True if nothing is under way or queued.
    pub(super) fn is_idle(&self) -> bool {
        !self.is_held() && self.queue.is_empty() && self.reads_issued == 0
    }

    /// It is about to hold an operation, perhaps beside another one.
    #[inline]
    pub(super) fn hold(&mut self, now: u64) {
        if !self.is_held() {
            self.held_since_ns = now;
        }
    }

    /// It holds an operation no more.
    #[inline]
    pub(super) fn release(&mut self, now: u64) {
        if !self.is_held() {
            self.held_ns += now - self.held_since_ns;
        }
    }

    /// Time that it has been held until now.
    pub(super) fn busy_ns(&self, now: u64) -> u64 {
        self.held_ns + if self.is_held() { now - self.held_since_ns } else { 0 }
    }

    /// What it has worked on collection until now.
    #[inline]
    pub(super) fn collected_ns(&self, now: u64) -> u64 {
        let current = if self.collecting > 0 { now - self.collecting_since_ns } else { 0 };
        self.collected_ns + current
    }

    #[inline]
    pub(super) fn begin_collecting(&mut self, now: u64) {
        if self.collecting == 0 {
            self.collecting_since_ns = now;
        }
        self.collecting += 1;
    }

    #[inline]
    pub(super) fn end_collecting(&mut self, now: u64) {
        self.collecting -= 1;
        if self.collecting == 0 {
            self.collected_ns += now - self.collecting_since_ns;
        }
    }
}

/// A phase that a channel carries.
#[derive(Debug, Clone, Copy)]
pub(super) struct Phase {
    pub(super) die: u32,
    /// Whether it loads the die's next program.
    pub(super) loads: bool,
    pub(super) takes_ns: u64,
}

/// What a die wants of its channel.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wanted {
    /// The first phase of an operation that then begins.
    Start(u32),
    /// The same while the array works on the program before.
    Load(u32),
    /// The transfer of what was read.
    Data,
}

/// A phase that waits for a channel.
#[derive(Debug, Clone, Copy)]
pub(super) struct WantedPhase {
    /// The smallest is served first: commands before transfers, then reads of the host if they go first, then numbers.
    pub(super) rank: u64,
    pub(super) phase: Wanted,
}

impl WantedPhase {
    /// A die that wants nothing.
    pub(super) const NONE: WantedPhase = WantedPhase { rank: u64::MAX, phase: Wanted::Data };
}

/// A channel.
#[derive(Debug)]
pub(super) struct Channel {
    number: u32,
    channels: u32,
    /// What each of its dies waits for, by the die's place on the channel.
    pub(super) wanted: Vec<WantedPhase>,
    pub(super) phase: Option<Phase>,
    pub(super) busy_ns: u64,
}

impl Channel {
    pub(super) fn new(number: u32, dies: u32, channels: u32) -> Channel {
        let wanted = (number..dies).step_by(channels as usize).map(|_| WantedPhase::NONE).collect();
        Channel { number, channels, wanted, phase: None, busy_ns: 0 }
    }

    /// Takes the phase that is served first, and says whose it is.
    #[inline]
    pub(super) fn take_first(&mut self) -> Option<(u32, Wanted)> {
        let (mut rank, mut first) = (u64::MAX, 0);
        for (place, wanted) in self.wanted.iter().enumerate() {
            if wanted.rank < rank {
                (rank, first) = (wanted.rank, place);
            }
        }
        if rank == u64::MAX {
            return None;
        }
        let WantedPhase { phase, .. } =
            std::mem::replace(&mut self.wanted[first], WantedPhase::NONE);
        Some((self.number + first as u32 * self.channels, phase))
    }
}
