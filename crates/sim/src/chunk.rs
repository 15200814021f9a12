//! Records are gone through in chunks; between two of them a run can be cancelled.

use clockhand_policy::Memory;
use clockhand_policy::memory::fast::FastMemory;
use clockhand_policy::page::PagePolicy;
use clockhand_trace::progress::Progress;

use crate::error::SimError;

/// References between two checks of the progress clock and for a cancellation.
pub(crate) const CHUNK_RECORDS: usize = 1 << 18;

/// Counts records that are done, and ends the replay if the policy failed or the run was cancelled.
pub(crate) fn chunk_done<P: PagePolicy>(
    memory: &mut Memory<P>,
    progress: &Progress,
    records: usize,
) -> Result<(), SimError> {
    progress.add_done(records as u64);
    if let Some(failure) = memory.policy_mut().failure() {
        return Err(SimError::OwnPolicy(failure));
    }
    if progress.is_cancelled() { Err(SimError::Interrupted) } else { Ok(()) }
}
