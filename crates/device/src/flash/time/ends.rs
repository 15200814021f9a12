//! When dies, channels, the front end, memories and the controller are over with what they do.

use super::engine::Engine;

/// What a memory or the controller does, by how long it takes: always the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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

/// A part that does something until some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// The front end, with a request.
    Front,
    /// The array of a die.
    Array(u32),
    /// A channel, with a phase.
    Channel(u32),
    /// A memory or the controller, with one of its actions or reads.
    Memory(Work, u32),
    /// A die may go on.
    Resumption(u32),
    /// Nothing but the time itself matters.
    Alarm,
}

impl Engine {
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
        self.deadlines.begin(self.now, takes_ns, Part::Memory(work, id));
    }

    /// Carries out all that ends now.
    #[inline]
    pub(super) fn end_all(&mut self) {
        while let Some(part) = self.deadlines.pop(self.now) {
            match part {
                Part::Array(die) => self.end_array(die),
                Part::Channel(channel) => self.end_bus(channel),
                Part::Front => self.requests.front_is_over = true,
                Part::Memory(work, id) if work < Work::DramRead => self.end_action(id),
                Part::Memory(_, id) => self.end_controlled(id),
                Part::Resumption(die) => self.die_changed(die),
                Part::Alarm => {}
            }
        }
    }
}
