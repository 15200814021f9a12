//! What follows the access: samples, then scans and work in the background (A-134, A-138 … A-140).

use super::{Keeper, TierEvent, TierTwin};
use crate::Op;

impl TierTwin {
    /// Samples are taken after the access.
    pub(super) fn sample(&mut self, page: u64, op: Op, is_new: bool) {
        let (is_fast, now) = (self.is_fast(page), self.now);
        let is_sampled = match &self.keeper {
            Keeper::Page(keeper) => keeper.samples(now),
            Keeper::Memtis(memtis) => now.is_multiple_of(memtis.sample),
            Keeper::Hemem(hemem) => now.is_multiple_of(hemem.sample),
            Keeper::ClockDwf(_) | Keeper::MClock(_) | Keeper::Tpp(_) | Keeper::Static(_) => false,
        };
        if let Keeper::Page(keeper) = &mut self.keeper
            && keeper.sees_all()
            && is_new
        {
            keeper.tell_rule(page, !is_fast, now);
        }
        if !is_sampled {
            return;
        }
        self.events.push(TierEvent::Sample);
        match &mut self.keeper {
            Keeper::Page(keeper) if is_new => keeper.tell_rule(page, !is_fast, now),
            Keeper::Page(keeper) if is_fast => keeper.hit(page, op, now),
            Keeper::Page(_) => self.ask(page, op),
            Keeper::Memtis(memtis) => {
                let fast = self.fast.iter().copied();
                let in_memory = fast.chain(self.slow.iter().map(|(page, _)| *page)).collect();
                memtis.take_sample(page, in_memory, self.rules.fast_frames);
            }
            Keeper::Hemem(hemem) => hemem.take_sample(page, op, is_fast),
            _ => {}
        }
    }

    /// Scans and work in the background that are due after this reference.
    pub(super) fn background(&mut self) {
        let now = self.now;
        match &mut self.keeper {
            Keeper::Page(keeper) if keeper.scans(now) => self.scan_bits(),
            Keeper::Tpp(_) => {
                self.scan_for_marks();
                while let Keeper::Tpp(tpp) = &mut self.keeper
                    && tpp.demotes_ahead(self.rules.fast_frames, self.fast.len())
                {
                    let victim = tpp.victim();
                    self.demote(victim);
                }
            }
            Keeper::Memtis(memtis) if now.is_multiple_of(memtis.migrate) => self.memtis_migrates(),
            Keeper::Hemem(hemem) if now.is_multiple_of(hemem.migrate) => self.hemem_migrates(),
            _ => {}
        }
        if let Keeper::Page(keeper) = &mut self.keeper {
            keeper.halve();
        }
    }

    /// A-134, `bits:P`.
    fn scan_bits(&mut self) {
        self.events.push(TierEvent::Scan(self.fast.len() + self.slow.len()));
        let fast = self.in_page_order(self.fast.iter().copied());
        let slow = self.in_page_order(self.slow.iter().map(|(page, _)| *page));
        let Keeper::Page(keeper) = &mut self.keeper else { panic!("page policies have bits") };
        let bits = keeper.take_bits();
        for page in fast {
            if let Some(op) = bits.get(&page) {
                keeper.hit(page, *op, self.now);
            }
        }
        for page in slow {
            if let Some(op) = bits.get(&page)
                && self.is_slow(page)
            {
                self.ask(page, *op);
            }
        }
    }

    ///
    fn scan_for_marks(&mut self) {
        let slow = self.in_page_order(self.slow.iter().map(|(page, _)| *page));
        let Keeper::Tpp(tpp) = &self.keeper else { panic!("only tpp has marks") };
        if !self.now.is_multiple_of(tpp.scan_period) {
            return;
        }
        let behind = tpp.last_looked_at.map_or(0, |page| self.rank(page) + 1);
        let (before, mut next): (Vec<u64>, Vec<u64>) =
            slow.into_iter().partition(|page| self.rank(*page) < behind);
        next.extend(before);
        next.truncate(tpp.scan_pages);
        self.events.push(TierEvent::Scan(next.len()));
        let Keeper::Tpp(tpp) = &mut self.keeper else { unreachable!() };
        for page in next {
            tpp.mark(page, self.now);
        }
    }

    ///
    fn memtis_migrates(&mut self) {
        let slow = self.in_page_order(self.slow.iter().map(|(page, _)| *page));
        let Keeper::Memtis(memtis) = &self.keeper else { panic!("only memtis migrates so") };
        for page in memtis.hot_of(slow) {
            if !self.is_slow(page) {
                continue;
            }
            let fast = self.in_page_order(self.fast.iter().copied());
            let Keeper::Memtis(memtis) = &self.keeper else { unreachable!() };
            let has_cold = memtis.coldest(&fast).is_some_and(|coldest| memtis.is_cold(coldest));
            if !(self.has_free_frame() || has_cold) || !self.promote(page, Op::Read) {
                break;
            }
        }
    }

    ///
    fn hemem_migrates(&mut self) {
        while let Keeper::Hemem(hemem) = &self.keeper
            && let Some(page) = hemem.first_hot_of_slow()
            && (self.has_free_frame() || hemem.has_cold_of_fast())
            && self.promote(page, Op::Read)
        {}
    }
}
