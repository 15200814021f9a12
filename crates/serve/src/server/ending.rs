//! The orderly end: every page goes to the disk, which is a plain image then, or stays in NVM.

use std::sync::atomic::Ordering;

use super::core::{Core, FileEngine};
use crate::{Refused, files};

/// Brings every page to the disk, or with `keep` to NVM.
pub(super) fn end(core: &Core, keep: bool) -> Result<(), String> {
    let mut engine = core.engine();
    let is_hybrid = engine.store().header().is_some();
    let is_hurried = || is_hybrid && core.is_hurried.load(Ordering::SeqCst);
    let mut drained = Err(Refused::Shutdown);
    if !keep {
        drained = engine.drain(&is_hurried);
    }
    if drained.is_ok() {
        return leave_plain(&mut engine);
    }
    let kept = engine.flush_at_the_end().ok().filter(|_| is_hybrid);
    if let Some(goal) = kept {
        let reached = engine.store_mut().reach(goal);
        if keep || is_hurried() {
            return reached.map_err(|error| format!("the files cannot be synced: {error}"));
        }
    }
    let pages = engine.buffer().occupancy().dirty_pages as usize + engine.store().held_count();
    let where_they_are = match is_hybrid {
        true => "those that are in NVM stay there: start again with room on the disk",
        false => "they are lost",
    };
    Err(format!("{pages} pages could not be written to the disk; {where_they_are}"))
}

/// The disk has every page: it is a plain image, unless pages are damaged.
fn leave_plain(engine: &mut FileEngine) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("the files cannot be synced: {error}");
    let goal = engine.store_mut().goal();
    engine.store_mut().reach(goal).map_err(failed)?;
    match engine.damaged_pages() {
        0 => {}
        pages => {
            return Err(format!(
                "{pages} pages are damaged in NVM and are not on the disk; start again with --salvage"
            ));
        }
    }
    engine.store_mut().end_epoch().map_err(failed)?;
    match engine.store().has_lost_pages() {
        true => Ok(()),
        false => files::unmark(engine.store().disk().file()).map_err(failed),
    }
}
