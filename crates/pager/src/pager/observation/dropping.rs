//! Translations that are dropped because bits were cleared: the next access then shows.

use clockhand_policy::{Frames, HitBits, PageId};

use super::{Observation, Way};
use crate::any_memory::AnyMemory;
use crate::pace::{Waits, during};
use crate::pager::residency::{Access, Residency};
use crate::parts::PagerError;
use crate::program_memory::ProgramMemory;

/// Translations are dropped in batches: one for each of this number of frames. Accesses in between are not seen, which
/// does not matter while the batch is a small part of the memory.
const FRAMES_PER_DROP: u32 = 64;

/// The most translations that are dropped together.
const MOST_DROPS: u32 = 64;

/// Translations that are dropped because bits were cleared.
pub(super) struct Drops {
    /// The number that are dropped together.
    together: usize,
    /// The program has been told to drop some, and has not answered.
    are_under_way: bool,
}

impl Drops {
    /// No translation is being dropped yet of those for a policy of `frames` frames.
    pub(super) fn new(frames: u32) -> Self {
        let together = (frames / FRAMES_PER_DROP).clamp(1, MOST_DROPS) as usize;
        Drops { together, are_under_way: false }
    }
}

impl Observation {
    /// Tells the program to drop the translations of pages whose bits were cleared, and does not wait for it: clearing
    /// a bit a little later changes nothing.
    pub(in crate::pager) fn begin_dropping(
        &mut self,
        memory: &mut dyn AnyMemory,
        residency: &mut Residency,
    ) -> Result<(), PagerError> {
        if let Some(drops) = self.drops() {
            // With sensed bits only if there are enough of them.
            let are_enough = memory.frames().drops_listed() >= drops.together;
            return if are_enough { self.order_drops(memory, residency) } else { Ok(()) };
        }
        if memory.frames_mut().unmapped().is_empty() {
            return Ok(());
        }
        self.finish_dropping(memory, residency)?;
        let unmapped = memory.frames_mut().unmapped();
        unmapped.iter().for_each(|&page| residency.set_access(page, Access::Dropping));
        if let Way::Mapped { unmapping } = &mut self.way {
            unmapping.extend_from_slice(unmapped);
        }
        Ok(self.program.begin_unmapping(unmapped)?)
    }

    fn drops(&mut self) -> Option<&mut Drops> {
        match &mut self.way {
            Way::Mapped { .. } => None,
            Way::Sensed(drops) | Way::SensedWithWrites { drops, .. } => Some(drops),
        }
    }

    fn order_drops(
        &mut self,
        memory: &mut dyn AnyMemory,
        residency: &mut Residency,
    ) -> Result<(), PagerError> {
        self.finish_dropping(memory, residency)?;
        let mut pages = memory.frames_mut().order_drops();
        pages.retain(|&page| residency.is_in_frame(page) && residency.is_in_file(page));
        if memory.hit_bits() != HitBits::Reference {
            // The next write is to be seen. Those to a clean page are forbidden already, and one that has gone on
            // nevertheless must not be forgotten.
            let is_dirty = |page: &PageId| memory.frames().is_dirty(memory.frame_of(*page));
            let mut dirty: Vec<_> = pages.iter().copied().filter(is_dirty).collect();
            dirty.sort_unstable();
            self.forbid_writes_of(&dirty)?;
            dirty.iter().for_each(|&page| residency.set_access(page, Access::None));
        }
        self.program.begin_unmapping(&mut pages)?;
        if let Some(drops) = self.drops() {
            drops.are_under_way = true;
        }
        Ok(())
    }

    /// Waits until the program no longer uses an old translation of `page`.
    pub(super) fn finish_dropping_of(
        &mut self,
        page: PageId,
        residency: &mut Residency,
    ) -> Result<(), PagerError> {
        match &mut self.way {
            Way::Mapped { unmapping } if residency.access(page) == Access::Dropping => {
                finish_unmapping(&mut *self.program, unmapping, residency)
            }
            _ => Ok(()),
        }
    }

    /// Waits until translations that the program was told to drop are gone.
    pub(in crate::pager) fn finish_dropping(
        &mut self,
        memory: &mut dyn AnyMemory,
        residency: &mut Residency,
    ) -> Result<(), PagerError> {
        match &mut self.way {
            Way::Mapped { unmapping } => {
                finish_unmapping(&mut *self.program, unmapping, residency)?;
            }
            Way::Sensed(drops) | Way::SensedWithWrites { drops, .. } => {
                if std::mem::take(&mut drops.are_under_way) {
                    during(Waits::ForProgram, || self.program.finish_unmapping())?;
                    memory.frames_mut().dropped();
                }
            }
        }
        Ok(())
    }
}

/// Mapped bits: waits until the translations of these pages are gone.
fn finish_unmapping(
    program: &mut dyn ProgramMemory,
    unmapping: &mut Vec<PageId>,
    residency: &mut Residency,
) -> Result<(), PagerError> {
    if !unmapping.is_empty() {
        during(Waits::ForProgram, || program.finish_unmapping())?;
        unmapping.drain(..).for_each(|page| residency.set_access(page, Access::None));
    }
    Ok(())
}
