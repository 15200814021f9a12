//! The workloads of the benchmarks, small: what is timed there must also count right.

use std::hash::Hasher;
use std::sync::Arc;

use clockhand_sim::Row;

use crate::experiments::rows;
use crate::twin::{assert_counts, references, totals};
use crate::workload::{self, Path};

const PAGES: u32 = 400;
const REFERENCES: usize = 6_000;

/// FNV-1a, which is the same everywhere.
struct Fnv(u64);

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

fn hash(row: &Row) -> u64 {
    let mut hasher = Fnv(0xcbf2_9ce4_8422_2325);
    let counts = [
        row.read_misses,
        row.write_misses,
        row.clean_evictions,
        row.dirty_evictions,
        row.write_backs,
    ];
    for count in counts {
        hasher.write(&count.expect("a policy's row is full").to_le_bytes());
    }
    hasher.finish()
}

fn hash_of_all(path: Path) -> u64 {
    let table = Arc::new(workload::table(path, PAGES, REFERENCES));
    let references = references(&table, workload::PAGE_BYTES);
    let mut hasher = Fnv(0xcbf2_9ce4_8422_2325);
    for policy in ["fifo", "lru", "clock", "nru", "car", "cflru", "cfclock", "lru-wsr", "craw"] {
        let experiment = workload::experiment(path, &table, PAGES, policy, 2);
        let [first, second] = &rows(&experiment)[..] else { panic!("two copies") };
        assert_eq!(first, second);
        let totals = totals(policy, first.frames as u32, &references, experiment.options);
        assert_counts(first, &totals);
        hasher.write(&hash(first).to_le_bytes());
    }
    hasher.finish()
}

#[test]
fn each_path_is_the_one_it_is_called_and_its_counts_are_the_known_ones() {
    for path in Path::ALL {
        let (hit_ratios, known_hash) = match path {
            Path::Hit => (0.8..1.0, "292f2fc5d6ff0599"),
            Path::Victim => (0.0..0.1, "bd8f1d9d18f7c2f5"),
        };
        let table = Arc::new(workload::table(path, PAGES, REFERENCES));
        for row in rows(&workload::experiment(path, &table, PAGES, "clock", 1)) {
            assert!(hit_ratios.contains(&row.hit_ratio.expect("counted")), "{row:?}");
        }
        assert_eq!(format!("{:016x}", hash_of_all(path)), known_hash, "{}", path.name());
    }
}
