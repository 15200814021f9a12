//! Mistakes that the model checker has to catch. Outside of tests nothing makes them.

/// A mistake in the commit protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// FLUSH syncs only the NVM file.
    NoDiskSync,
    /// An entry is made void when the disk was given a newer version, durable or not.
    VoidsBeforeTheSync,
    /// Of a page's old entries the newest is made void first.
    NewestVoidFirst,
    /// FLUSH makes entries void once, and does not look again.
    OneRoundOfVoids,
    /// A slot that a sync covers is overwritten.
    LiveSlotOverwritten,
    /// A version takes its number before room is made for it.
    NumberBeforeRoom,
    /// A version that was promised to stay is given up when its page goes to the disk.
    PromisedVersionForgotten,
    /// Recovery begins a new epoch before the disk is synced.
    RecoveryWithoutSync,
}

/// Which mistake is made.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mutants {
    #[cfg(test)]
    pub(crate) made: Option<Mutant>,
}

impl Mutants {
    #[inline]
    pub(crate) fn has(self, mutant: Mutant) -> bool {
        #[cfg(test)]
        return self.made == Some(mutant);
        #[cfg(not(test))]
        {
            let _ = mutant;
            false
        }
    }
}
