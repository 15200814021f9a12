//! Which writes of a file are durable.

/// Counts the syncs of a file. Each write has the current stamp. It is durable when a sync that began at this stamp or
/// later has ended well.
#[derive(Clone, Copy, Debug)]
pub(super) struct SyncClock {
    now: u64,
    dirtied: u64,
    durable: u64,
}

impl SyncClock {
    pub(super) fn new() -> Self {
        SyncClock { now: 1, dirtied: 0, durable: 0 }
    }

    /// Something is written; its stamp.
    pub(super) fn touch(&mut self) -> u64 {
        self.dirtied = self.now;
        self.now
    }

    /// The stamp of the last write.
    pub(super) fn dirtied(&self) -> u64 {
        self.dirtied
    }

    /// A sync begins: what is written from now on is not covered by it.
    pub(super) fn begin(&mut self) -> u64 {
        self.now += 1;
        self.now - 1
    }

    /// The sync of this stamp has ended well.
    pub(super) fn end(&mut self, stamp: u64) {
        self.durable = self.durable.max(stamp);
    }

    /// Returns whether what was written at `stamp` is durable.
    pub(super) fn is_durable(&self, stamp: u64) -> bool {
        stamp <= self.durable
    }
}
