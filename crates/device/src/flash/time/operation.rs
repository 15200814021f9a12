//! Operations of a die.

use super::slab::NONE;
use crate::flash::operations::Cause;

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OperationKind {
    /// A page is read.
    Read,
    /// A page is programmed.
    Program,
    /// A block is erased.
    Erase,
    /// A page is read and programmed elsewhere in its plane, without leaving the die.
    Copy,
}

/// The purpose of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// A page of the host.
    Host,
    /// Garbage collection, wear levelling.
    Collect,
    /// A merge of a log block.
    Merge,
    /// A block of the SLC region that moves into the main region.
    Fold,
    /// A translation page that a request needs.
    Load,
    /// A translation page that is read to be programmed again.
    Update,
    /// A translation page that is programmed with new entries.
    Translation,
}

impl Role {
    pub(super) fn of(cause: Cause) -> Role {
        match cause {
            Cause::Collect => Role::Collect,
            Cause::Merge => Role::Merge,
            Cause::Fold => Role::Fold,
            Cause::Reset => Role::Host,
        }
    }

    /// Whether the host waits for it as for collection.
    #[inline]
    pub(super) fn is_collection(self) -> bool {
        matches!(self, Role::Collect | Role::Merge | Role::Fold)
    }
}

/// What an operation still needs, one bit each.
pub(super) mod need {
    /// Its content in the controller.
    pub(crate) const CONTENT: u8 = 1;
    /// The translation of its page.
    pub(crate) const TRANSLATION: u8 = 2;
    /// Its block has no more reads or moves.
    pub(crate) const RELEASED: u8 = 4;
    /// Its page has been copied.
    pub(crate) const COPIED: u8 = 8;
}

/// An operation that was issued and is not over.
#[derive(Debug, Clone)]
pub(super) struct Operation {
    pub(super) number: u64,
    /// How long the array works on it.
    pub(super) array_ns: u64,
    /// If a request waits for it: when it was issued; from its start on, how long it waited.
    pub(super) issued_ns: u64,
    /// Likewise, what its die had worked on collection until then; from its start on, how much of the wait was that.
    pub(super) collection_ns: u64,
    pub(super) die: u32,
    pub(super) block: u32,
    /// The host's page, or the translation page.
    pub(super) page: u32,
    pub(super) page_in_block: u16,
    pub(super) generation: u16,
    pub(super) kind: OperationKind,
    pub(super) role: Role,
    pub(super) needs: u8,
    /// Whether a read of the host passes the queue.
    pub(super) is_host_read: bool,
    pub(super) is_background: bool,
    pub(super) suspensions: u32,
    /// The request that waits for it.
    pub(super) request: u32,
    /// The program that waits for what this reads.
    pub(super) program: u32,
    /// Of a copy, the page that is read.
    pub(super) from: u32,
    /// The action of a memory that is over with it.
    pub(super) action: u32,
    /// The gate that it holds shut, or the one of an erase.
    pub(super) gate: u32,
    /// Of which period between two FLUSHes it is; none if no FLUSH waits for it.
    pub(super) period: u32,
    /// What waits for its content, and what for its end.
    pub(super) content_waiters: u32,
    pub(super) end_waiters: u32,
    /// The next operation of its group.
    pub(super) next: u32,
}

impl Operation {
    #[inline(always)]
    pub(super) fn new(kind: OperationKind, role: Role) -> Operation {
        Operation {
            number: 0,
            array_ns: 0,
            issued_ns: 0,
            collection_ns: 0,
            die: 0,
            block: 0,
            page: 0,
            page_in_block: 0,
            generation: 0,
            kind,
            role,
            needs: 0,
            is_host_read: false,
            is_background: false,
            suspensions: 0,
            request: NONE,
            program: NONE,
            from: NONE,
            action: NONE,
            gate: NONE,
            period: NONE,
            content_waiters: NONE,
            end_waiters: NONE,
            next: NONE,
        }
    }
}

/// An operation as it was carried out, for those who follow every step. Unit of times: nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperationRecord {
    /// What it did.
    pub kind: OperationKind,
    /// What it was for.
    pub role: Role,
    /// On which die.
    pub die: u32,
    /// In which block; of a copy, that of the page that was read.
    pub block: u32,
    /// Which page of the block; none for an erase.
    pub page_in_block: Option<u32>,
    /// Whose page: the host's, or a translation page's number; none for an erase.
    pub page: Option<u32>,
    /// True if `page` is a translation page.
    pub is_translation: bool,
    /// When it was issued.
    pub issued_ns: u64,
    /// When its first phase began; none if the run ended before.
    pub start_ns: Option<u64>,
    /// When its last phase ended; none if the run ended before.
    pub end_ns: Option<u64>,
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_operation_takes_at_most_96_bytes() {
        assert!(size_of::<super::Operation>() <= 96);
    }
}
