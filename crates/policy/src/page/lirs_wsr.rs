//! # LIRS-WSR: LIRS with write sequence reordering
//!
//! **What it keeps.** What LIRS keeps, and a cold flag per page, 0 when the page is loaded. Shown: as LIRS, and whether
//! the pages are cold, in `LIR_cold` and `Q_cold`.
//!
//! **Victim.** The page at the front of `Q` is examined, as LRU-WSR examines the LRU page. A clean one leaves, and a
//! dirty one that is cold. A dirty one that is not cold becomes cold and goes to the end of `Q`.
//!
//! LIR pages get the same second chance, when LIRS would make the one at the bottom of `S` a resident HIR page. If it
//! is dirty and not cold, it becomes cold and goes to the top of `S` instead. Then `S` is pruned, and the next one is
//! examined. The page that has just become a LIR page is not examined. The other rules are those of LIRS.
//!
//! **On a write.** As on a read: any hit clears the page's cold flag.
//!
//! **Parameters.** `hir_share`: as for LIRS (default 1/100). `spare_lir`: whether LIR pages get the second chance too
//! (default true).
//!
//! **Cost per hit and per victim.** As LIRS, a few list steps, constant on average, since a page is spared once for each
//! time that it is referenced. 13 bytes per page of the footprint and 9 per frame.
//!
//! **Deviations from the paper.** This is our reading: its text was not at hand. It is established that LIRS gets the
//! cold flags of LRU-WSR, so that writes of dirty pages that are not cold come later. It is not established where the
//! flags are examined. With a share of 1/100, `Q` is so short that a second chance there alone is hardly one: hence
//! `spare_lir`. If `Q` has no page that can leave, an LIR page leaves without being examined.
//!
//! **Reference.** H. Jung, K. Yoon, H. Shim, S. Park, S. Kang, J. Cha: LIRS-WSR: integration of LIRS and writes sequence
//! reordering for flash memory. ICCSA 2007.

use alloc::vec;
use alloc::vec::Vec;

use super::lirs::{HIR_SHARE, Lirs};
use super::{AccessDriven, Capabilities, Fault, Inspector, PagePolicy};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::{Default, Domain, Parameter, Settings};
use crate::{Frame, Frames, Op};

/// LIRS and the cold flags of its pages.
#[derive(Clone, Debug)]
pub struct LirsWsr {
    lirs: Lirs,
    cold: Vec<bool>,
    spares_lir: bool,
}

impl Cataloged for LirsWsr {
    const DESCRIPTION: Description = Description {
        name: "lirs-wsr",
        summary: "LIRS that gives a dirty page one more round, unless it is cold",
        paper: "Jung, Yoon, Shim, Park, Kang, Cha 2007",
        parameters: &[
            HIR_SHARE,
            Parameter {
                name: "spare_lir",
                summary: "whether LIR pages get the second chance too",
                domain: Domain::Flag,
                default: Default::Value("true"),
                only_with: None,
            },
        ],
        source: include_str!("lirs_wsr.rs"),
    };

    fn build(settings: &Settings, size: Size) -> Self {
        LirsWsr {
            lirs: Lirs::build(settings, size),
            cold: vec![false; size.frames as usize],
            spares_lir: settings.flag("spare_lir"),
        }
    }
}

/// Returns whether the page in `frame` is dirty and not cold; it is cold from then on.
fn cools<F: Frames>(cold: &mut [bool], frames: &F, frame: Frame) -> bool {
    frames.is_dirty(frame) && !core::mem::replace(&mut cold[frame.index()], true)
}

impl PagePolicy for LirsWsr {
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        let LirsWsr { lirs, cold, .. } = self;
        lirs.take_victim(frames, |frame| cools(cold, frames, frame))
    }

    fn loaded<F: Frames>(&mut self, fault: Fault, frame: Frame, frames: &mut F) {
        let LirsWsr { lirs, cold, spares_lir } = self;
        cold[frame.index()] = false;
        lirs.load(fault.page, frame, |bottom| *spares_lir && cools(cold, frames, bottom));
    }

    fn dropped<F: Frames>(&mut self, frame: Frame, frames: &F) {
        self.lirs.dropped(frame, frames);
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        let cold = |frame: Frame| f64::from(u8::from(self.cold[frame.index()]));
        self.lirs.inspect_stack(inspector);
        inspector.list("LIR", &mut self.lirs.lir_frames());
        inspector.values("LIR_cold", &mut self.lirs.lir_frames().map(cold));
        inspector.list("Q", &mut self.lirs.queued_frames());
        inspector.values("Q_cold", &mut self.lirs.queued_frames().map(cold));
    }

    fn check_invariants<F: Frames>(&self, frames: &F) {
        self.lirs.check_invariants(frames);
    }
}

impl Capabilities for LirsWsr {
    const TAKES_MORE_PAGES: bool = true;

    fn take_more_pages(&mut self, pages: u32) {
        self.lirs.take_more_pages(pages);
    }
}

impl AccessDriven for LirsWsr {
    const COUNTS_REFERENCES: bool = true;

    fn hit<F: Frames>(&mut self, _: Op, frame: Frame, frames: &F) {
        let LirsWsr { lirs, cold, spares_lir } = self;
        cold[frame.index()] = false;
        let spares = |bottom| *spares_lir && cools(cold, frames, bottom);
        lirs.touch(frames.page(frame), frame, spares);
    }
}

#[cfg(test)]
mod tests {
    use crate::worked_examples::run;

    #[test]
    fn a_dirty_page_at_the_front_of_the_queue_goes_to_its_end_once() {
        // Llirs 1: 2 and 3 are queued. 2 is dirty and becomes cold, 3 leaves; at R5 it is 4, at R6 the cold 2.
        let all = run("lirs-wsr:hir_share=2/3", 3, "R1 W2 R3 R4");
        assert_eq!(all.evicted, "3");
        assert_eq!(all.state, "S=[1 2 3 4] LIR=[1] LIR_cold=[0] Q=[2 4] Q_cold=[1 0]");
        assert_eq!(run("lirs-wsr:hir_share=2/3", 3, "R1 W2 R3 R4 R5").evicted, "3 2*");
    }

    #[test]
    fn a_dirty_page_at_the_bottom_of_the_stack_stays_a_lir_page_once() {
        // Llirs 2. 3 comes back and becomes a LIR page; 1 is dirty and goes to the top, so that 2 loses its LIR place.
        let after = run("lirs-wsr", 3, "W1 R2 R3 R4 R3");
        assert_eq!(after.evicted, "3 4");
        assert_eq!(after.state, "S=[3 1] LIR=[3 1] LIR_cold=[0 1] Q=[2] Q_cold=[0]");
        let after = run("lirs-wsr:spare_lir=false", 3, "W1 R2 R3 R4 R3");
        assert_eq!(after.state, "S=[2 4 3] LIR=[2 3] LIR_cold=[0 0] Q=[1] Q_cold=[0]");
    }

    #[test]
    fn where_all_lir_pages_are_dirty_the_first_one_examined_gives_way() {
        let after = run("lirs-wsr", 3, "W1 W2 R3 R4 W3");
        assert_eq!(after.state, "S=[2 3] LIR=[2 3] LIR_cold=[1 0] Q=[1] Q_cold=[1]");
    }
}
