//! # CASA: cost-aware self-adaptive, clean first or dirty first
//!
//! **What it keeps.** Two LRU lists, `C` of the clean pages and `D` of the dirty ones, and a target size `tau` for `C`
//! from 0 to all frames, half of them at first.
//!
//! **Victim.** The LRU page of `C` if `|C| >= tau`, else that of `D`.
//!
//! **On a write.** The page goes to the MRU end of `D`, as after a hit of any kind if it is dirty already. A write that
//! hits a page of `D` sets `tau` to `max(tau - Cw |C| / |D|, 0)`: dirty pages should stay. A read that hits a page of
//! `C` sets it to `min(tau + Cr |D| / |C|, frames)`. Other hits leave it as it is. `Cr = 1 / (1 + c)` and
//! `Cw = c / (1 + c)`.
//!
//! **Parameters.** `c`: cost of a page write over that of a page read, at least 1 (default: that of the device;
//! 8 for flash).
//!
//! **Cost per hit and per victim.** One list move; constant. 17 bytes per frame.
//!
//! **Deviations from the paper.** This is our reading: its text was not at hand. The two rules for `tau` and its first
//! value are those of public implementations. It is established that the costs are normalised to a sum of 1. `tau` is
//! binary64 and evaluated in the written order. Lengths are taken before the hit moves its page. References to one page
//! in direct succession count as one, a write if one of them writes, and as none if the first of them loaded the page.
//! If the list that should give the victim has no page that can leave, the other one gives it. A page that is written
//! back without leaving goes to its place by its last reference. Pinned pages are passed over and keep their places.
//!
//! **Reference.** Y. Ou, T. Härder: Clean first or dirty first? A cost-aware self-adaptive buffer replacement policy.
//! IDEAS 2010.

use super::{AccessDriven, Capabilities, Fault, Inspector, PagePolicy};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::{Parameter, Settings};
use crate::parts::KeyedLists;
use crate::{Frame, Frames, Op};

/// Numbers of the lists.
const CLEAN: usize = 0;
const DIRTY: usize = 1;

/// The two lists, in the order of the last references, and the target size of the first.
#[derive(Clone, Debug)]
pub struct Casa {
    lists: KeyedLists<u64, 2>,
    references: u64,
    frames: f64,
    tau: f64,
    read_step: f64,
    write_step: f64,
    run: Run,
}

/// The references to one page in direct succession, which move `tau` once.
#[derive(Clone, Copy, Debug)]
struct Run {
    frame: Frame,
    /// `tau` if one of them writes.
    tau_of_write: f64,
}

impl Cataloged for Casa {
    const DESCRIPTION: Description = Description {
        name: "casa",
        summary: "lists of clean and dirty pages whose sizes follow the hits and what these save",
        paper: "Ou, Härder 2010",
        parameters: &[Parameter::WRITE_COST],
        source: include_str!("casa.rs"),
    };

    fn build(settings: &Settings, size: Size) -> Self {
        let c = settings.ratio("c").expect("c has a default");
        let (numerator, denominator) = (c.numerator() as f64, c.denominator() as f64);
        Casa {
            lists: KeyedLists::new(size.frames),
            references: 0,
            frames: size.frames.into(),
            tau: f64::from(size.frames) / 2.0,
            read_step: denominator / (denominator + numerator),
            write_step: numerator / (denominator + numerator),
            run: Run { frame: Frame::NONE, tau_of_write: 0.0 },
        }
    }
}

impl Casa {
    /// The page in `frame` goes to the MRU end of its list.
    fn push(&mut self, frame: Frame, dirty: bool) {
        self.lists.remove(frame);
        self.references += 1;
        self.lists.push_tail(usize::from(dirty), frame, self.references);
    }

    fn forget(&mut self, frame: Frame) {
        self.lists.remove(frame);
        if self.run.frame == frame {
            self.run.frame = Frame::NONE;
        }
    }

    /// `tau` after a read and after a write that hit a page of this list.
    fn adapted(&self, list: usize) -> (f64, f64) {
        let [clean, dirty] = [CLEAN, DIRTY].map(|list| f64::from(self.lists.len(list)));
        match list {
            CLEAN => ((self.tau + self.read_step * (dirty / clean)).min(self.frames), self.tau),
            _ => (self.tau, (self.tau - self.write_step * (clean / dirty)).max(0.0)),
        }
    }
}

impl PagePolicy for Casa {
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        let clean_first = f64::from(self.lists.len(CLEAN)) >= self.tau;
        let order = if clean_first { [CLEAN, DIRTY] } else { [DIRTY, CLEAN] };
        let victim = order.into_iter().find_map(|list| self.lists.first_unpinned(list, frames));
        let victim = victim.expect("a page is not pinned");
        self.forget(victim);
        victim
    }

    fn loaded<F: Frames>(&mut self, fault: Fault, frame: Frame, _: &mut F) {
        self.push(frame, fault.op == Op::Write);
        if !fault.is_ahead() {
            self.run = Run { frame, tau_of_write: self.tau };
        }
    }

    fn written_back<F: Frames>(&mut self, frame: Frame, _: &F) {
        self.lists.shift(DIRTY, CLEAN, frame);
    }

    fn dropped<F: Frames>(&mut self, frame: Frame, _: &F) {
        self.forget(frame);
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        inspector.list("C", &mut self.lists.iter(CLEAN));
        inspector.list("D", &mut self.lists.iter(DIRTY));
        inspector.value("tau", self.tau);
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("tau_pages", self.tau);
        show("C_pages", self.lists.len(CLEAN).into());
        show("D_pages", self.lists.len(DIRTY).into());
    }

    fn check_invariants<F: Frames>(&self, _: &F) {
        self.lists.check_invariants();
        assert!((0.0..=self.frames).contains(&self.tau), "tau is out of range");
    }
}

impl Capabilities for Casa {
    const TAKES_MORE_PAGES: bool = true;

    fn loaded_clean<F: Frames>(&mut self, frame: Frame, frames: &F) {
        self.written_back(frame, frames);
    }

    fn made_dirty<F: Frames>(&mut self, frame: Frame, _: &F) {
        self.lists.shift(CLEAN, DIRTY, frame);
    }
}

impl AccessDriven for Casa {
    fn hit<F: Frames>(&mut self, op: Op, frame: Frame, frames: &F) {
        let dirty = op == Op::Write || frames.is_dirty(frame);
        if self.run.frame != frame {
            let list = self.lists.list_of(frame).expect("a page in memory is in a list");
            let (after_read, after_write) = self.adapted(list);
            self.run = Run { frame, tau_of_write: after_write };
            self.tau = after_read;
        }
        if op == Op::Write {
            self.tau = self.run.tau_of_write;
        }
        self.push(frame, dirty);
    }
}

#[cfg(test)]
mod tests {
    use crate::worked_examples::run;

    #[test]
    fn hits_of_clean_pages_raise_the_target_and_writes_of_dirty_ones_lower_it() {
        // With c = 3 a read is worth 1/4 and a write 3/4; tau is 2 at first. R1 finds |C| = 2 and |D| = 1, W3 the same.
        let after = run("casa:c=3", 4, "R1 R2 W3 R1");
        assert_eq!(after.state, "C=[2 1] D=[3] tau=2.125");
        let after = run("casa:c=3", 4, "R1 R2 W3 R2 W3");
        assert_eq!(after.state, "C=[1 2] D=[3] tau=0.625");
        // A write that hits a clean page and a read that hits a dirty one leave it as it is.
        let after = run("casa:c=3", 4, "R1 R2 W3 W1 R3");
        assert_eq!(after.state, "C=[2] D=[1 3] tau=2");
    }

    #[test]
    fn the_clean_list_gives_the_victim_from_its_target_size_on() {
        let after = run("casa:c=3", 2, "R1 W2 R3");
        assert_eq!(after.evicted, "1");
        // tau is 1 + 1/4 after the second R1, so that |C| = 1 is too few.
        let after = run("casa:c=3", 2, "R1 W2 R1 R3");
        assert_eq!((after.evicted.as_str(), after.state.as_str()), ("2*", "C=[1 3] D=[] tau=1.25"));
    }

    #[test]
    fn references_in_direct_succession_count_as_one() {
        let once = run("casa:c=3", 4, "R1 W2 R1 W2");
        for several in ["R1 W2 R1 R1 W2", "R1 R1 W2 W2 R1 W2 W2", "R1 W2 R1 R2 W2 R2"] {
            assert_eq!(run("casa:c=3", 4, several).state, once.state, "{several}");
        }
    }
}
