//! Operations of a drive on its flash memory.

/// Why a page is moved or a block erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlashCause {
    /// Collection.
    Collect,
    /// A log block is merged.
    Merge,
    /// An SLC block is folded.
    Fold,
    /// A zone is reset.
    Reset,
}

/// Operations of the drive on its flash memory. Pages are numbered through all blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlashEvent {
    /// The host's page is programmed.
    Program {
        /// Physical page.
        to: u32,
        /// Logical page.
        page: u32,
    },
    /// The host's page is read.
    Read {
        /// Physical page.
        from: u32,
        /// Logical page.
        page: u32,
    },
    /// A valid page is moved.
    Relocate {
        /// Why.
        cause: FlashCause,
        /// Physical page read.
        from: u32,
        /// Physical page programmed.
        to: u32,
        /// Logical page.
        page: u32,
    },
    /// A block is erased.
    Erase {
        /// Why.
        cause: FlashCause,
        /// Its number.
        block: u32,
    },
    /// A translation page is read for an entry.
    Load {
        /// Physical page.
        from: u32,
        /// Translation page.
        page: u32,
        /// The logical page whose entry is wanted.
        wanted: u32,
    },
    /// A translation page is read to be programmed again.
    ReadTranslation {
        /// Physical page.
        from: u32,
        /// Translation page.
        page: u32,
    },
    /// A translation page is programmed.
    ProgramTranslation {
        /// Physical page.
        to: u32,
        /// Translation page.
        page: u32,
    },
    /// A translation page is moved.
    RelocateTranslation {
        /// Physical page read.
        from: u32,
        /// Physical page programmed.
        to: u32,
        /// Translation page.
        page: u32,
    },
}
