//! The places of the versions of each page that has entries in the NVM file.

use super::clock::SyncClock;

/// The versions of one page.
#[derive(Debug, Default)]
pub(super) struct Versions {
    /// The slots whose entries may be on the medium, the oldest version first.
    pub(super) slots: Vec<u32>,
    pub(super) disk: OnDisk,
}

/// The disk's version of a page, if it was written since the page had an entry.
#[derive(Debug, Default)]
pub(super) struct OnDisk {
    durable_seq: u64,
    /// The first version that is not durable yet, with its stamp.
    first: Option<(u64, u64)>,
    /// The last version.
    last: (u64, u64),
    /// The version that made the oldest entry an old one.
    superseded_since: Option<u64>,
}

impl OnDisk {
    /// A version is written. `oldest_seq` is that of the oldest entry.
    pub(super) fn write(&mut self, seq: u64, stamp: u64, oldest_seq: u64, clock: &SyncClock) {
        self.settle(clock);
        self.first.get_or_insert((seq, stamp));
        self.last = (seq, stamp);
        if oldest_seq < seq {
            self.superseded_since.get_or_insert(seq);
        }
    }

    /// Takes into account which syncs have ended.
    pub(super) fn settle(&mut self, clock: &SyncClock) {
        let Some((seq, stamp)) = self.first else { return };
        if clock.is_durable(stamp) {
            self.durable_seq = self.durable_seq.max(seq);
            self.first = Some(self.last);
            if clock.is_durable(self.last.1) {
                self.durable_seq = self.durable_seq.max(self.last.0);
                self.first = None;
            }
        }
    }

    /// Every sector is durably of this version or a later one.
    pub(super) fn durable_seq(&self) -> u64 {
        self.durable_seq
    }

    /// The last version that was written.
    pub(super) fn written_seq(&self) -> u64 {
        self.last.0
    }

    /// Returns whether a version up to `seq` made an entry an old one that is left.
    pub(super) fn superseded_by(&self, seq: u64) -> bool {
        self.superseded_since.is_some_and(|since| since <= seq)
    }

    /// Returns whether a sync of the disk would make a newer version durable.
    pub(super) fn waits_for_sync(&self, clock: &SyncClock) -> bool {
        self.first.is_some_and(|(_, stamp)| !clock.is_durable(stamp))
    }

    /// The oldest entry that is left is now of this version.
    pub(super) fn oldest_is(&mut self, seq: u64) {
        if seq >= self.written_seq() {
            self.superseded_since = None;
        }
    }
}
