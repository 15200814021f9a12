//! # CRAW-A: CRAW on ordinary hardware
//!
//! **What it keeps.** What CRAW keeps, with two bits that memory-management units have: the reference bit, set
//! by reads and writes, in place of the read bit, and the modified bit, set by writes. The read area becomes
//! `T`, the area of all references (shown as `R`).
//!
//! **Victim.** As CRAW.
//!
//! **On a write.** A hit sets both bits. A write fault first does what a read fault does (tests `T'`, links
//! the page into `T`), then what CRAW does on a write fault, so that the page is in both areas.
//!
//! **Parameters.** Those of CRAW: `c`, `ghosts` and `write_back`.
//!
//! **Cost per hit and per victim.** Those of CRAW.
//!
//! **Deviations from the paper.** Those of CRAW; a hit in `T'` counts whatever the type of the fault.
//!
//! **Reference.** H. Lee, H. Bahn, K. G. Shin: Page replacement for write references in NAND flash based
//! virtual memory systems. JCSE 8(3), 2014, section VI.A.

use super::craw::{Craw, PARAMETERS};
use super::{BitDriven, Capabilities, Fault, Inspector, PagePolicy};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::Settings;
use crate::{Frame, Frames, HitBits, Op, PageId};

/// CRAW with a reference bit and a modified bit.
#[derive(Clone, Debug)]
pub struct CrawA(Craw);

impl Cataloged for CrawA {
    const DESCRIPTION: Description = Description {
        name: "craw-a",
        summary: "CRAW with the reference and modified bits of ordinary hardware",
        paper: "Lee, Bahn, Shin 2014",
        parameters: PARAMETERS,
        source: include_str!("craw_a.rs"),
    };

    fn build(settings: &Settings, size: Size) -> Self {
        CrawA(Craw::build(settings, size))
    }
}

impl PagePolicy for CrawA {
    #[inline(always)]
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        self.0.choose_victim(frames)
    }

    #[inline(always)]
    fn loaded<F: Frames>(&mut self, fault: Fault, frame: Frame, _: &mut F) {
        self.0.fault_to(Op::Read, fault.page, frame);
        if fault.op == Op::Write {
            self.0.fault_to(Op::Write, fault.page, frame);
        }
        self.0.trim_ghosts();
    }

    fn dropped<F: Frames>(&mut self, frame: Frame, frames: &F) {
        self.0.dropped(frame, frames);
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        self.0.inspect(inspector);
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        self.0.gauges(show);
    }

    fn check_invariants<F: Frames>(&self, frames: &F) {
        self.0.check_invariants(frames);
    }
}

impl Capabilities for CrawA {
    const TAKES_MORE_PAGES: bool = true;
    const LOOKS_AHEAD: bool = true;

    fn take_more_pages(&mut self, pages: u32) {
        self.0.take_more_pages(pages);
    }

    #[inline(always)]
    fn look_ahead(&self, page: PageId, fetch: impl Fn(&u32)) {
        self.0.look_ahead(page, fetch);
    }
}

impl BitDriven for CrawA {
    const HIT_BITS: HitBits = HitBits::ReferenceAndModified;
}
