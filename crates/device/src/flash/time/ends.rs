//! When dies, channels, the front end, memories and the controller are over with what they do.

use super::deadlines::NEVER;
use super::engine::Engine;

/// What a memory or the controller does, by how long it takes: always the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// A page is written in DRAM.
    DramWrite,
    /// A page is written in NVM.
    NvmWrite,
    /// A page moves from DRAM to NVM.
    Migration,
    /// A page is read in DRAM or in the controller.
    DramRead,
    /// A page is read in NVM.
    NvmRead,
}

pub(super) const WORKS: usize = 5;

/// Parts in the tournament: the front end, what memories and the controller do, then dies, then channels.
const FRONT: usize = 0;
const OTHERS: usize = 1;
pub(super) const PARTS_BEFORE_DIES: usize = 2;

impl Engine {
    /// The part of a channel in the tournament.
    #[inline]
    fn channel_part(&self, channel: u32) -> usize {
        PARTS_BEFORE_DIES + self.dies.len() + channel as usize
    }

    /// The array of a die works until then.
    #[inline]
    pub(super) fn array_ends(&mut self, die: u32, time_ns: u64) {
        self.deadlines.set(PARTS_BEFORE_DIES + die as usize, time_ns);
    }

    /// The array of a die stops before it is over.
    pub(super) fn forget_array(&mut self, die: u32) {
        self.array_ends(die, NEVER);
    }

    /// A phase on a channel takes until then.
    #[inline]
    pub(super) fn bus_ends(&mut self, channel: u32, time_ns: u64) {
        self.deadlines.set(self.channel_part(channel), time_ns);
    }

    /// The request in the front end is through with it then.
    #[inline]
    pub(super) fn front_ends(&mut self, time_ns: u64) {
        self.deadlines.set(FRONT, time_ns);
    }

    /// A memory or the controller begins something now.
    #[inline]
    pub(super) fn begin_work(&mut self, work: Work, id: u32) {
        let (dram, nvm) = (self.options.times.dram, self.options.times.nvm);
        let takes_ns = match work {
            Work::DramWrite => dram.write_ns,
            Work::NvmWrite => nvm.write_ns,
            Work::Migration => dram.read_ns + nvm.write_ns,
            Work::DramRead => dram.read_ns,
            Work::NvmRead => nvm.read_ns,
        };
        let end_ns = self.now + takes_ns;
        if self.works[work as usize].push(end_ns, id) {
            self.other_ends(work as usize, end_ns);
        }
    }

    /// The first of a work, or of the alarms, ends then.
    fn other_ends(&mut self, other: usize, time_ns: u64) {
        self.others_ns[other] = time_ns;
        let earliest_ns = self.others_ns.iter().copied().min().unwrap_or(NEVER);
        self.deadlines.set(OTHERS, earliest_ns);
    }

    /// Looks again at that time: whether a die, if it is one's, goes on, or a pool has rested for long enough.
    pub(super) fn wake(&mut self, time_ns: u64, die: Option<u32>) {
        let earliest_ns = self.alarms.add(time_ns, die);
        self.other_ends(WORKS, earliest_ns);
    }

    /// Carries out all that ends now.
    #[inline]
    pub(super) fn end_all(&mut self) {
        while let Some(part) = self.deadlines.over(self.now) {
            let first_channel = self.channel_part(0);
            match part {
                FRONT => {
                    self.deadlines.set(part, NEVER);
                    self.requests.front_is_over = true;
                }
                OTHERS => self.end_other(),
                channel if channel >= first_channel => {
                    self.deadlines.set(part, NEVER);
                    self.end_bus((channel - first_channel) as u32);
                }
                die => {
                    self.deadlines.set(part, NEVER);
                    self.end_array((die - PARTS_BEFORE_DIES) as u32);
                }
            }
        }
    }

    /// What a memory or the controller does is over, or it is time for an alarm.
    fn end_other(&mut self) {
        let is_over = |time_ns: &u64| *time_ns <= self.now;
        let other = self.others_ns.iter().position(is_over).expect("one of them is over");
        if other == WORKS {
            let (die, next_ns) = self.alarms.pop();
            self.other_ends(other, next_ns);
            if let Some(die) = die {
                self.die_changed(die);
            }
            return;
        }
        let (id, next_ns) = self.works[other].pop();
        self.other_ends(other, next_ns);
        if other < Work::DramRead as usize {
            self.end_action(id);
        } else {
            self.end_controlled(id);
        }
    }
}
