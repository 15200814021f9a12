//! The memory of second-touch: how often each block was referenced.

/// No block.
const NONE: u32 = u32::MAX;

/// A record per block that counts its references. A history of limited length drops the record that was made first.
/// 4 bytes for each block, 8 more with a limit.
#[derive(Clone, Debug)]
pub(crate) struct History {
    /// By block; 0 without a record.
    references: Vec<u32>,
    limit: Option<Oldest>,
}

impl History {
    /// An empty history of blocks numbered below `blocks`, with at most `records` records.
    pub(crate) fn new(blocks: u32, records: Option<u32>) -> Self {
        // A limit above the number of blocks has no effect.
        let records = records.filter(|&records| records < blocks);
        History {
            references: vec![0; blocks as usize],
            limit: records.map(|records| Oldest::new(blocks, records)),
        }
    }

    /// References in the block's record.
    #[inline]
    pub(crate) fn references(&self, block: u32) -> u32 {
        self.references[block as usize]
    }

    /// Counts a reference, in a new record if there is none.
    #[inline]
    pub(crate) fn note(&mut self, block: u32) {
        let count = &mut self.references[block as usize];
        let is_new = *count == 0;
        *count = count.saturating_add(1);
        if is_new
            && let Some(limit) = &mut self.limit
            && let Some(dropped) = limit.add(block)
        {
            self.references[dropped as usize] = 0;
        }
    }

    /// Deletes the block's record.
    pub(crate) fn forget(&mut self, block: u32) {
        let count = std::mem::take(&mut self.references[block as usize]);
        if let (true, Some(limit)) = (count > 0, &mut self.limit) {
            limit.remove(block);
        }
    }
}

/// Blocks by the age of their records: a list threaded through two arrays.
#[derive(Clone, Debug)]
struct Oldest {
    next: Vec<u32>,
    previous: Vec<u32>,
    first: u32,
    last: u32,
    records: u32,
    records_max: u32,
}

impl Oldest {
    fn new(blocks: u32, records_max: u32) -> Self {
        Oldest {
            next: vec![NONE; blocks as usize],
            previous: vec![NONE; blocks as usize],
            first: NONE,
            last: NONE,
            records: 0,
            records_max,
        }
    }

    /// Appends `block`; returns the block whose record is one too many.
    fn add(&mut self, block: u32) -> Option<u32> {
        self.previous[block as usize] = self.last;
        self.next[block as usize] = NONE;
        *slot(&mut self.next, &mut self.first, self.last) = block;
        self.last = block;
        self.records += 1;
        (self.records > self.records_max).then(|| {
            let oldest = self.first;
            self.remove(oldest);
            oldest
        })
    }

    fn remove(&mut self, block: u32) {
        let (before, after) = (self.previous[block as usize], self.next[block as usize]);
        *slot(&mut self.next, &mut self.first, before) = after;
        *slot(&mut self.previous, &mut self.last, after) = before;
        self.records -= 1;
    }
}

/// The link of `block`, or the end of the list for no block.
fn slot<'a>(links: &'a mut [u32], end: &'a mut u32, block: u32) -> &'a mut u32 {
    if block == NONE { end } else { &mut links[block as usize] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_beyond_the_limit_drops_the_one_made_first() {
        let mut history = History::new(5, Some(2));
        history.note(0);
        history.note(1);
        history.note(0);
        history.note(2);
        assert_eq!([0, 1, 2].map(|block| history.references(block)), [0, 1, 1]);
        history.forget(1);
        history.note(3);
        assert_eq!([1, 2, 3].map(|block| history.references(block)), [0, 1, 1]);
        history.note(1);
        assert_eq!([1, 2, 3].map(|block| history.references(block)), [1, 0, 1]);
    }

    #[test]
    fn a_history_is_a_plain_queue_with_counts() {
        let mut number = 1_u64;
        for records in [1, 2, 3, 7, 8] {
            let mut history = History::new(8, Some(records));
            let mut plain: Vec<(u32, u32)> = Vec::new();
            for _ in 0..2000 {
                number = number.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let block = (number >> 33) as u32 % 8;
                let place = plain.iter().position(|&(other, _)| other == block);
                if number >> 60 == 0 {
                    history.forget(block);
                    place.map(|place| plain.remove(place));
                } else {
                    history.note(block);
                    match place {
                        Some(place) => plain[place].1 += 1,
                        None => plain.push((block, 1)),
                    }
                    if plain.len() > records as usize {
                        plain.remove(0);
                    }
                }
                for block in 0..8 {
                    let expected = plain.iter().find(|(other, _)| *other == block);
                    let expected = expected.map_or(0, |&(_, count)| count);
                    assert_eq!(history.references(block), expected);
                }
            }
        }
    }
}
