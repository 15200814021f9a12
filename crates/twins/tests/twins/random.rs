//! References drawn from a seed.

use clockhand_twins::Op;

/// `count` references to `pages` pages; of a hundred, `writes_percent` are writes. The same seed gives the same ones.
pub fn random(seed: u64, count: usize, pages: u64, writes_percent: u64) -> Vec<(u64, Op)> {
    // xorshift64*; the constant only spreads small seeds.
    let mut state = (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut draw = move |below: u64| {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        (state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % below
    };
    let mut reference = || {
        // The smaller of two draws: low pages are referenced more often.
        let page = draw(pages).min(draw(pages));
        let op = if draw(100) < writes_percent { Op::Write } else { Op::Read };
        (page, op)
    };
    (0..count).map(|_| reference()).collect()
}
