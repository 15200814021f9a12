//! What each sector may read as after a crash: the last write that an answered FLUSH or FUA covers, or a later one.

use super::script::{Op, PAGES};
use super::storage::SECTORS_PER_PAGE;

const SECTORS: usize = PAGES as usize * SECTORS_PER_PAGE;

/// Sectors with the position of their newest value.
pub(super) type Covers = Vec<(usize, usize)>;

pub(super) struct Oracle {
    /// The values of each sector in their order; a value is the number of the request, 0 for zeros.
    history: [Vec<u64>; SECTORS],
    covered: [usize; SECTORS],
    requests: u64,
}

impl Oracle {
    pub(super) fn new() -> Self {
        Oracle { history: std::array::from_fn(|_| vec![0]), covered: [0; SECTORS], requests: 0 }
    }

    fn sectors(op: Op) -> std::ops::Range<usize> {
        let (at, bytes) = op.bytes();
        (at as usize / 512)..(at as usize + bytes) / 512
    }

    /// A request enters; its number.
    pub(super) fn enter(&mut self, op: Op) -> u64 {
        self.requests += 1;
        let value = match op {
            Op::Trim(_) => 0,
            _ => self.requests,
        };
        for sector in Self::sectors(op) {
            self.history[sector].push(value);
        }
        self.requests
    }

    /// The writes that the answer to a request that has just entered will cover.
    pub(super) fn covers(&self, op: Op) -> Covers {
        let sectors = if op == Op::Flush { 0..SECTORS } else { Self::sectors(op) };
        sectors.map(|sector| (sector, self.history[sector].len() - 1)).collect()
    }

    pub(super) fn answered(&mut self, covers: Covers) {
        for (sector, newest) in covers {
            self.covered[sector] = self.covered[sector].max(newest);
        }
    }

    pub(super) fn covered(&self) -> Vec<usize> {
        self.covered.to_vec()
    }

    pub(super) fn newest(&self, sector: usize) -> u64 {
        *self.history[sector].last().expect("it was zero at first")
    }

    /// Returns whether `sector` may read as `value`, given what was covered.
    pub(super) fn allows(&self, sector: usize, value: u64, covered: &[usize]) -> bool {
        let covered = covered.get(sector).copied().unwrap_or(0);
        self.history[sector][covered..].contains(&value)
    }
}

/// The content that a request writes.
pub(super) fn payload(request: u64, bytes: usize) -> Vec<u8> {
    request.to_le_bytes().repeat(bytes / 8)
}

/// The request that wrote a sector.
pub(super) fn value_of(sector: &[u8]) -> u64 {
    let value = u64::from_le_bytes(sector[..8].try_into().expect("eight bytes"));
    assert!(sector.chunks(8).all(|part| part == value.to_le_bytes()), "a sector is whole");
    value
}
