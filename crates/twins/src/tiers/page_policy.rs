//! A page policy that keeps the fast tier, and its rule of promotion.

use std::collections::{BTreeMap, BTreeSet};

use crate::file_cache::Sketch;
use crate::{Op, Twin, build};

/// What a page policy sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TierSight {
    /// Every reference.
    All,
    /// One reference in this number.
    Sample(u64),
    /// The bits, each time after this number of references.
    Bits(u64),
}

/// What a told reference to a slow page must be to promote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TierPromotion {
    /// Nothing promotes.
    Never,
    /// Any.
    FirstTouch,
    /// A write.
    Write,
    /// The k-th, all of them within W references.
    KTouch(usize, u64),
    /// One that makes the counter T, which is halved after every H references.
    Threshold(u64, u64),
    /// One of a page that the sketch estimates above the victim.
    TinyLfu,
}

pub(super) struct PageKeeper {
    /// None without a frame.
    policy: Option<Box<dyn Twin>>,
    sight: TierSight,
    promotion: TierPromotion,
    sketch: Sketch,
    /// Numbers of the told references since the page entered the slow tier.
    touches: BTreeMap<u64, Vec<u64>>,
    counters: BTreeMap<u64, u64>,
    bits: BTreeMap<u64, Op>,
    /// Written by an access that the fast tier served since they entered it.
    dirty: BTreeSet<u64>,
    /// True if the policy, which counts its periods itself, learned of the present reference.
    was_seen: bool,
    now: u64,
}

impl PageKeeper {
    pub(super) fn new(
        policy: &str,
        parameters: &[(&str, &str)],
        frames: usize,
        sight: TierSight,
        promotion: TierPromotion,
        future: &[(u64, Op)],
    ) -> PageKeeper {
        PageKeeper {
            policy: (frames > 0).then(|| build(policy, frames, parameters, future)),
            sight,
            promotion,
            sketch: Sketch::new(frames.max(1)),
            touches: BTreeMap::new(),
            counters: BTreeMap::new(),
            bits: BTreeMap::new(),
            dirty: BTreeSet::new(),
            was_seen: false,
            now: 0,
        }
    }

    pub(super) fn sees_all(&self) -> bool {
        self.sight == TierSight::All
    }

    pub(super) fn samples(&self, now: u64) -> bool {
        matches!(self.sight, TierSight::Sample(every) if now.is_multiple_of(every))
    }

    pub(super) fn scans(&self, now: u64) -> bool {
        matches!(self.sight, TierSight::Bits(every) if now.is_multiple_of(every))
    }

    fn policy(&mut self) -> &mut dyn Twin {
        self.policy.as_mut().expect("there is a fast tier").as_mut()
    }

    /// The policy's hit.
    pub(super) fn hit(&mut self, page: u64, op: Op, now: u64) {
        self.tell_rule(page, false, now);
        let done = self.policy().reference(page, op);
        assert!(done.hit, "what is fast is in the policy's memory");
        self.was_seen = true;
    }

    /// A fault of the policy; its victims.
    pub(super) fn enter_fast(&mut self, page: u64, op: Op, promoted: bool) -> Vec<u64> {
        let done = self.policy().reference(page, op);
        assert!(!done.hit, "what enters is not in the policy's memory");
        self.was_seen = true;
        for (victim, _) in &done.evicted {
            self.dirty.remove(victim);
        }
        if promoted && !self.sees_all() {
            self.policy().set_dirty(page, false);
        }
        done.evicted.into_iter().map(|(victim, _)| victim).collect()
    }

    pub(super) fn enter_slow(&mut self, page: u64) {
        self.touches.remove(&page);
    }

    pub(super) fn forget(&mut self, page: u64) {
        self.touches.remove(&page);
        self.counters.remove(&page);
        self.bits.remove(&page);
    }

    /// An access was served.
    pub(super) fn accessed(&mut self, page: u64, op: Op, by_fast: bool) {
        let bit = self.bits.entry(page).or_insert(op);
        if op == Op::Write {
            *bit = Op::Write;
        }
        if by_fast && op == Op::Write {
            self.dirty.insert(page);
            if !self.sees_all() {
                self.policy().set_dirty(page, true);
            }
        }
    }

    /// All bits, which are cleared.
    pub(super) fn take_bits(&mut self) -> BTreeMap<u64, Op> {
        std::mem::take(&mut self.bits)
    }

    /// The rule learns of a reference.
    pub(super) fn tell_rule(&mut self, page: u64, is_slow: bool, now: u64) {
        if is_slow {
            self.touches.entry(page).or_default().push(now);
        }
        *self.counters.entry(page).or_insert(0) += 1;
        self.sketch.count(page);
    }

    /// Returns whether the reference to a slow page that was just told promotes it.
    pub(super) fn asks(&mut self, page: u64, op: Op, now: u64, has_free_frame: bool) -> bool {
        match self.promotion {
            TierPromotion::Never => false,
            TierPromotion::FirstTouch => true,
            TierPromotion::Write => op == Op::Write,
            TierPromotion::KTouch(k, within) => {
                let touches = &self.touches[&page];
                touches.len() >= k && (within == 0 || now - touches[touches.len() - k] < within)
            }
            TierPromotion::Threshold(least, _) => self.counters[&page] >= least,
            TierPromotion::TinyLfu => {
                has_free_frame || {
                    let victim = self.policy().next_victim();
                    self.sketch.estimate(page) > self.sketch.estimate(victim)
                }
            }
        }
    }

    /// The end of a reference: periods count it, and counters may be halved.
    pub(super) fn end_reference(&mut self, page: u64, op: Op) {
        self.now += 1;
        if !std::mem::take(&mut self.was_seen)
            && let Some(policy) = &mut self.policy
        {
            policy.pass_by(page, op);
        }
    }

    /// Counters are halved last of all.
    pub(super) fn halve(&mut self) {
        if let TierPromotion::Threshold(_, every) = self.promotion
            && self.now.is_multiple_of(every)
        {
            self.counters.values_mut().for_each(|counter| *counter /= 2);
        }
    }
}
