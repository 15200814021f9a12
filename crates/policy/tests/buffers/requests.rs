//! Random requests with a fixed seed.

use clockhand_policy::LogicalPage;
use clockhand_policy::buffer::Request;
pub use clockhand_twins::cases;
use proptest::prelude::*;

/// Pages of a block in these tests, as in the golden vectors.
pub const PAGES_PER_BLOCK: u64 = 4;

/// Requests with some locality: runs of pages in order, from near a slowly moving centre or from anywhere.
/// Of a hundred, `others` are neither plain reads nor plain writes.
pub fn requests(pages: u64, length: usize, others: u32) -> impl Strategy<Value = Vec<Request>> {
    let start = (0..pages, 0..8u64, 0..10u32, 1..6u64, 0..100u32);
    (1..=10u32, prop::collection::vec(start, 1..length)).prop_map(move |(writes, starts)| {
        let mut requests = Vec::new();
        for (position, (anywhere, near, share, run, other)) in starts.into_iter().enumerate() {
            let centre = position as u64 / 3;
            let first = if share == 0 { anywhere } else { centre + near };
            for page in (first..first + run).map(|page| LogicalPage(page % pages)) {
                requests.push(if share < writes {
                    Request::Write(page)
                } else {
                    Request::Read(page)
                });
            }
            let page = LogicalPage(first % pages);
            if other < others {
                requests.push(match other % 5 {
                    0 => Request::Flush,
                    1 => Request::Drain,
                    2 | 3 => Request::ForceUnitAccess(page),
                    _ => Request::Trim(page),
                });
            }
        }
        requests
    })
}

/// The pages that requests write, in their order.
pub fn writes_of(requests: &[Request]) -> Vec<u64> {
    let written = requests.iter().filter_map(|request| match request {
        Request::Write(page) | Request::ForceUnitAccess(page) => Some(page.0),
        _ => None,
    });
    written.collect()
}
