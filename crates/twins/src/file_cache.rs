//! A file cache: admission before any page policy, and what its references cost (A-60 … A-64).

mod future;
mod sketch;

use num_rational::Ratio;

pub use future::{belady, evictions, file_cache_bound};
pub(crate) use sketch::Sketch;

use crate::{Op, State, Twin, build};

/// An exact cost or time.
pub type Cost = Ratio<i128>;

/// The rule of admission and its options.
#[derive(Clone, Debug)]
pub struct AdmissionRules {
    /// `always`, `second-touch`, `tinylfu` or `write-around`.
    pub admission: &'static str,
    /// Earlier references that second-touch wants.
    pub admit_after: u64,
    /// Records of second-touch's history; no limit if `None`.
    pub history: Option<usize>,
    /// Admission deletes the record, and hits note nothing.
    pub forget_on_admit: bool,
}

/// What a reference did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileCacheEvent {
    /// `hit`, `admit` or `bypass`.
    pub what: &'static str,
    /// Blocks that left, each with its dirty flag.
    pub evicted: Vec<(u64, bool)>,
    /// Blocks that were written and stayed.
    pub written_back: Vec<u64>,
    /// tinylfu's estimate of the block after its reference.
    pub estimate: Option<u64>,
}

/// One file cache.
pub struct FileCacheTwin {
    capacity: usize,
    rules: AdmissionRules,
    /// `None` if the capacity is 0.
    policy: Option<Box<dyn Twin>>,
    /// (block, references), the record made first in front.
    records: Vec<(u64, u64)>,
    sketch: Sketch,
}

impl FileCacheTwin {
    /// `policy` and `parameters` as for [`build`]; `future` is the whole trace, which only `min` looks at.
    ///
    /// # Panics
    ///
    /// As [`build`].
    pub fn new(
        capacity: usize,
        rules: AdmissionRules,
        policy: &str,
        parameters: &[(&str, &str)],
        future: &[(u64, Op)],
    ) -> FileCacheTwin {
        FileCacheTwin {
            capacity,
            rules,
            policy: (capacity > 0).then(|| build(policy, capacity, parameters, future)),
            records: Vec::new(),
            sketch: Sketch::new(capacity),
        }
    }

    /// Applies a reference to a block: its number + 2^48 · stream, streams numbered as they appear.
    pub fn reference(&mut self, block: u64, op: Op) -> FileCacheEvent {
        let mut event = FileCacheEvent {
            what: "bypass",
            evicted: vec![],
            written_back: vec![],
            estimate: None,
        };
        if self.capacity == 0 {
            return event;
        }
        if self.rules.admission == "tinylfu" {
            self.sketch.count(block);
            event.estimate = Some(self.sketch.estimate(block));
        }
        let resident = self.policy().resident();
        let is_hit = resident.contains(&block);
        let is_admitted = !is_hit && self.admits(block, op, resident.len());
        if is_hit || is_admitted {
            let done = self.policy().reference(block, op);
            assert_eq!(done.hit, is_hit);
            event.what = if is_hit { "hit" } else { "admit" };
            event.evicted = done.evicted;
            event.written_back = done.written_back;
        } else {
            self.policy().pass_by(block, op);
        }
        self.note(block, is_hit, is_admitted);
        event
    }

    /// The content of a block ends: it leaves, if it is there. Says whether it was dirty; admission remembers it still.
    pub fn drop_block(&mut self, block: u64) -> Option<bool> {
        let policy = self.policy.as_mut()?;
        policy.resident().contains(&block).then(|| policy.drop_page(block))
    }

    fn policy(&mut self) -> &mut dyn Twin {
        self.policy.as_mut().expect("the capacity is not 0").as_mut()
    }

    fn admits(&mut self, block: u64, op: Op, resident: usize) -> bool {
        match self.rules.admission {
            "always" => true,
            "write-around" => op == Op::Read,
            "second-touch" => {
                let record = self.records.iter().find(|(other, _)| *other == block);
                record.map_or(0, |(_, references)| *references) >= self.rules.admit_after
            }
            "tinylfu" => {
                resident < self.capacity || {
                    let victim = self.policy().next_victim();
                    self.sketch.estimate(block) > self.sketch.estimate(victim)
                }
            }
            other => panic!("there is no admission `{other}`"),
        }
    }

    /// The history, noted after the decision.
    fn note(&mut self, block: u64, is_hit: bool, is_admitted: bool) {
        if self.rules.forget_on_admit && is_admitted {
            self.records.retain(|(other, _)| *other != block);
            return;
        }
        if self.rules.forget_on_admit && is_hit {
            return;
        }
        match self.records.iter_mut().find(|(other, _)| *other == block) {
            Some((_, references)) => *references += 1,
            None => self.records.push((block, 1)),
        }
        if self.rules.history.is_some_and(|records| self.records.len() > records) {
            self.records.remove(0);
        }
    }

    /// The policy's state.
    ///
    /// # Panics
    ///
    /// If the capacity is 0.
    pub fn state(&self) -> State {
        self.policy.as_ref().expect("the capacity is not 0").state()
    }
}

/// What references to blocks cost: t, T, T_m and W.
#[derive(Clone, Debug)]
pub struct FileCacheCosts {
    /// t.
    pub hit: Cost,
    /// T.
    pub bypass: Cost,
    /// T_m.
    pub admit: Cost,
    /// W, with `writes=cost`.
    pub write: Option<Cost>,
}

impl FileCacheCosts {
    /// What one reference costs with the cache.
    pub fn with_cache(&self, op: Op, event: &FileCacheEvent) -> Cost {
        let own = match (event.what, op, self.write) {
            ("hit", ..) => self.hit,
            ("admit", ..) => self.admit,
            (_, Op::Write, Some(write)) => write,
            _ => self.bypass,
        };
        let dirty = event.evicted.iter().filter(|(_, dirty)| *dirty).count();
        let written = (dirty + event.written_back.len()) as i128;
        own + self.write.unwrap_or(Cost::from(0)) * written
    }

    /// What one reference costs without a cache.
    pub fn without_cache(&self, op: Op) -> Cost {
        match (op, self.write) {
            (Op::Write, Some(write)) => write,
            _ => self.bypass,
        }
    }

    /// The smallest number of hits, from 1, with which caching costs less: tried one after the other.
    pub fn required_hits(&self) -> Option<u64> {
        if self.bypass <= self.hit {
            return None;
        }
        (1..).find(|&hits| {
            let hits = Cost::from(i128::from(hits));
            self.admit + hits * self.hit < (hits + 1) * self.bypass
        })
    }
}
