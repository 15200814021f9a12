//! Scripts: requests of pages and half pages.

use super::PAGE_BYTES;

pub(super) const PAGES: u64 = 4;

/// Which part of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Whole,
    First,
    Second,
    /// The second half, and the first of the next page.
    Across,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Write(u64, Part),
    Force(u64, Part),
    Trim(u64),
    Flush,
    Idle,
}

impl Op {
    /// Where it begins, and its bytes.
    pub(super) fn bytes(self) -> (u64, usize) {
        let half = PAGE_BYTES / 2;
        match self {
            Op::Write(page, part) | Op::Force(page, part) => match part {
                Part::Whole => (page * PAGE_BYTES as u64, PAGE_BYTES),
                Part::First => (page * PAGE_BYTES as u64, half),
                Part::Second => (page * PAGE_BYTES as u64 + half as u64, half),
                Part::Across => (page * PAGE_BYTES as u64 + half as u64, PAGE_BYTES),
            },
            Op::Trim(page) => (page * PAGE_BYTES as u64, PAGE_BYTES),
            Op::Flush | Op::Idle => (0, 0),
        }
    }

    fn page(self) -> Option<u64> {
        match self {
            Op::Write(page, _) | Op::Force(page, _) | Op::Trim(page) => Some(page),
            Op::Flush | Op::Idle => None,
        }
    }

    /// All requests.
    pub(super) fn all() -> Vec<Op> {
        let of_page = |page| {
            let parts = [Part::Whole, Part::Second];
            let writes = parts.map(|part| Op::Write(page, part));
            let forces = [Op::Force(page, Part::Whole), Op::Force(page, Part::First)];
            writes.into_iter().chain(forces).chain([Op::Trim(page)])
        };
        (0..PAGES).flat_map(of_page).chain([Op::Flush, Op::Idle]).collect()
    }
}

/// Calls `take` with every script of `len` requests, but for those that differ only in the names of pages.
pub(super) fn each(len: usize, take: &mut dyn FnMut(&[Op]) -> bool) {
    fn extend(script: &mut Vec<Op>, len: usize, take: &mut dyn FnMut(&[Op]) -> bool) -> bool {
        if script.len() == len {
            return take(script);
        }
        for op in Op::all() {
            if is_first_of_its_kind(script, op) {
                script.push(op);
                let goes_on = extend(script, len, take);
                script.pop();
                if !goes_on {
                    return false;
                }
            }
        }
        true
    }
    extend(&mut Vec::new(), len, take);
}

/// Blocks, and the two pages of a block, are used in their order.
fn is_first_of_its_kind(script: &[Op], op: Op) -> bool {
    let Some(page) = op.page() else { return true };
    let uses = |other: u64| script.iter().any(|op| op.page() == Some(other));
    let (block, is_second) = (page / 2, page % 2 == 1);
    (!is_second || uses(page) || uses(page - 1)) && (block == 0 || uses(0))
}

/// A script drawn at random.
pub(super) fn drawn(len: usize, random: &mut impl FnMut(usize) -> usize) -> Vec<Op> {
    let mut all = Op::all();
    all.extend((0..PAGES - 1).map(|page| Op::Force(page, Part::Across)));
    (0..len).map(|_| all[random(all.len())]).collect()
}
