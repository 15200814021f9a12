//! References written as in the specification.

use clockhand_twins::Op;

/// `R5 W6`: a read of page 5, a write of page 6.
pub fn references(text: &str) -> Vec<(u64, Op)> {
    let parse = |reference: &str| {
        let (op, page) = reference.split_at(1);
        let op = if op == "W" { Op::Write } else { Op::Read };
        (page.parse().expect("a page is a number"), op)
    };
    text.split_whitespace().map(parse).collect()
}
