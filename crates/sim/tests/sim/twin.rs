//! The same references, one by one, through the slow twins.

use std::collections::{BTreeMap, BTreeSet};

use clockhand_policy::catalog::{self, Kind};
use clockhand_sim::{Bits, ReplayOptions, RequestTable, Row, WriteMiss};
use clockhand_twins::{Op, Options, Totals};

/// References to pages that are numbered in the order of (stream, address).
pub type References = Vec<(u64, Op)>;

/// Every page that every request touches, found without the page view.
pub fn references(table: &RequestTable, page_bytes: u64) -> References {
    let mut touched = Vec::new();
    for row in 0..table.addresses.len() {
        let op = if table.is_write[row] { Op::Write } else { Op::Read };
        let bytes = table.sizes_bytes.as_ref().map_or(1, |sizes| u64::from(sizes[row]));
        let stream = table.streams.as_ref().map_or(0, |streams| streams[row]);
        let mut page = table.addresses[row] / page_bytes;
        let end = u128::from(table.addresses[row]) + u128::from(bytes);
        while bytes > 0 && u128::from(page) * u128::from(page_bytes) < end {
            touched.push(((stream, page), op));
            page += 1;
        }
    }
    let pages: BTreeSet<(u32, u64)> = touched.iter().map(|&(page, _)| page).collect();
    let numbers: BTreeMap<(u32, u64), u64> = pages.into_iter().zip(0..).collect();
    touched.into_iter().map(|(page, op)| (numbers[&page], op)).collect()
}

pub fn footprint(references: &References) -> usize {
    references.iter().map(|(page, _)| page).collect::<BTreeSet<_>>().len()
}

/// What the twin of `policy`, with its parameters, counts.
pub fn totals(
    policy: &str,
    frames: u32,
    references: &References,
    options: ReplayOptions,
) -> Totals {
    let (name, settings) = policy.split_once(':').unwrap_or((policy, ""));
    let pairs = settings.split(',').filter_map(|pair| pair.split_once('='));
    let mut parameters: Vec<(&str, &str)> = pairs.collect();
    let kind = catalog::find(name).expect("a policy of the catalog").kind;
    if kind == Kind::BitDriven {
        match options.bits {
            Bits::Exact => {}
            Bits::Mapped => parameters.push(("bits", "mapped")),
            Bits::Sensed => parameters.push(("bits", "sensed")),
        }
    }
    let options = Options {
        write_allocate_fetch: options.write_miss == WriteMiss::Fetch,
        flush_at_end: options.flush_at_end,
    };
    clockhand_twins::run(name, frames as usize, &parameters, references, options).totals
}

/// The row holds the twin's counts, every one of them.
pub fn assert_counts(row: &Row, totals: &Totals) {
    let counted = [
        ("references", Some(row.references), totals.references),
        ("read_references", row.read_references, totals.read_references),
        ("write_references", row.write_references, totals.write_references),
        ("hits", row.hits, totals.hits),
        ("misses", row.misses, totals.misses),
        ("read_misses", row.read_misses, totals.read_misses),
        ("write_misses", row.write_misses, totals.write_misses),
        ("read_ios", Some(row.read_ios), totals.read_ios),
        ("write_ios", Some(row.write_ios), totals.write_ios),
        ("clean_evictions", row.clean_evictions, totals.clean_evictions),
        ("dirty_evictions", row.dirty_evictions, totals.dirty_evictions),
        ("write_backs", row.write_backs, totals.early_write_backs),
        ("flush_writes", row.flush_writes, totals.flush_ios),
    ];
    for (column, value, expected) in counted {
        assert_eq!(
            value,
            Some(expected),
            "{column} of {} in {} frames of {} bytes, bits {}, write miss {}",
            row.policy_resolved,
            row.frames,
            row.page_bytes,
            row.bits,
            row.write_miss
        );
    }
}
