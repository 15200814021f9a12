//! The references that the benchmarks replay: synthetic, from a seed, the same everywhere.

use std::sync::Arc;

use clockhand_policy::SplitMix64;
use clockhand_sim::{
    Contestant, Effort, Experiment, MemorySize, ReplayOptions, RequestTable, TraceInput,
};

/// Bytes of a page.
pub const PAGE_BYTES: u64 = 4096;
const SEED: u64 = 42;
/// Three of ten references write.
const WRITE_SHARE: f64 = 0.3;

/// Which path of the replay a workload spends its time in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// Zipf popularity with exponent 1 and frames for four of five pages: nearly all references hit.
    Hit,
    /// Uniform popularity and frames for one of twenty pages: nearly all references need a victim.
    Victim,
}

impl Path {
    pub const ALL: [Path; 2] = [Path::Hit, Path::Victim];

    pub fn name(self) -> &'static str {
        match self {
            Path::Hit => "hit path",
            Path::Victim => "victim path",
        }
    }

    fn frames(self, pages: u32) -> u32 {
        match self {
            Path::Hit => pages * 4 / 5,
            Path::Victim => pages / 20,
        }
    }
}

struct Random(SplitMix64);

impl Random {
    /// In [0, 1), of 53 random bits.
    fn share(&mut self) -> f64 {
        (self.0.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, limit: u32) -> u32 {
        (self.share() * f64::from(limit)) as u32
    }
}

/// `references` page references over `pages` pages.
pub fn table(path: Path, pages: u32, references: usize) -> RequestTable {
    let mut random = Random(SplitMix64::new(SEED));
    let mut weight_up_to = 0.0;
    let weights_up_to: Vec<f64> = (1..=pages)
        .map(|rank| {
            weight_up_to += 1.0 / f64::from(rank);
            weight_up_to
        })
        .collect();
    // Popular pages must not be neighbours: ranks are dealt out to pages at random.
    let mut page_of_rank: Vec<u32> = (0..pages).collect();
    for rank in (1..pages).rev() {
        page_of_rank.swap(rank as usize, random.below(rank + 1) as usize);
    }
    let mut table = RequestTable::default();
    for _ in 0..references {
        let page = match path {
            Path::Hit => {
                let wanted = random.share() * weight_up_to;
                page_of_rank[weights_up_to.partition_point(|&weight| weight <= wanted)]
            }
            Path::Victim => random.below(pages),
        };
        table.addresses.push(u64::from(page) * PAGE_BYTES);
        table.is_write.push(random.share() < WRITE_SHARE);
    }
    table
}

/// `copies` cells of one policy on one thread.
pub fn experiment(
    path: Path,
    table: &Arc<RequestTable>,
    pages: u32,
    policy: &str,
    copies: usize,
) -> Experiment {
    let policy = Contestant::parse(policy).expect("a name of the catalog");
    Experiment {
        intervals: clockhand_sim::Intervals::default(),
        io_log: None,
        traces: vec![TraceInput::table(path.name(), Arc::clone(table))],
        policies: vec![policy; copies],
        seed: SEED,
        sizes: vec![MemorySize::Frames(path.frames(pages))],
        page_bytes: PAGE_BYTES,
        device: "slc-nand".to_owned(),
        options: ReplayOptions::default(),
        reserve: 0,
        bound_effort: Effort::NONE,
        observation: None,
        fault_ns: 0,
        sample: None,
        jobs: Some(1),
    }
}
