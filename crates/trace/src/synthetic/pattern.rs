//! What a recipe can ask for, checked.

use super::random::Share;

/// Where the requests of a pattern go, and in which order.
#[derive(Clone, PartialEq, Debug)]
pub enum Pattern {
    /// Every page is equally popular.
    Uniform,
    /// The page of rank `k` is requested in proportion to `k^-skew`.
    Zipf {
        /// The exponent, from 0 (uniform) to 10.
        skew: f64,
        /// The exponent of writes; the most popular pages are the same ones.
        write_skew: f64,
        /// Bytes that move together when ranks are scattered; `None` leaves rank = address.
        scatter_bytes: Option<u64>,
    },
    /// A part of the pages gets most of the requests; within each part all pages are equal.
    HotCold {
        /// Share of the pages that is hot, at least one page.
        hot: Share,
        /// Share of the requests that goes to the hot pages.
        hot_requests: Share,
        /// Bytes that move together when hot pages are scattered; `None` leaves them in front.
        scatter_bytes: Option<u64>,
    },
    /// Each request begins where the last one ended; the end of the footprint is followed by its
    /// start.
    Sequential {
        /// Bytes after which the next run begins at a random page; `None` never jumps.
        run_bytes: Option<u64>,
    },
    /// A body is read from its start to its end and again; then comes the body behind it.
    Loop {
        /// Bytes of a body; the last one of the footprint may be shorter.
        body_bytes: u64,
        /// The number of passes over each body.
        repeats: u64,
    },
}

/// The sizes of requests: each with a weight.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestSizes {
    /// Bytes and weight of each size, in the order given; at least one, and no weight is 0.
    pub weighted_bytes: Vec<(u32, u64)>,
}

impl RequestSizes {
    /// The largest size in bytes.
    pub fn max_bytes(&self) -> u32 {
        self.weighted_bytes.iter().map(|&(bytes, _)| bytes).max().unwrap_or(0)
    }
}

/// One part of a mix: a pattern, the place it runs in, and what its requests are like.
#[derive(Clone, PartialEq, Debug)]
pub struct Place {
    /// Where the requests go.
    pub pattern: Pattern,
    /// Bytes that the pattern runs over; a multiple of `page_bytes`.
    pub footprint_bytes: u64,
    /// First byte of the footprint.
    pub start_bytes: u64,
    /// Where requests may begin: at multiples of it; what ranks and hot shares count.
    pub page_bytes: u64,
    /// The sizes of requests.
    pub sizes: RequestSizes,
    /// Share of the requests that read.
    pub reads: Share,
    /// First stream that the pattern runs in.
    pub stream: u32,
    /// Number of streams, each with a run of the pattern of its own; requests fall to them at
    /// random.
    pub streams: u32,
    /// Share of the mix, against the weights of the others.
    pub weight: u64,
}

impl Place {
    /// Pages of the footprint.
    pub fn pages(&self) -> u64 {
        self.footprint_bytes / self.page_bytes
    }
}

/// Patterns that run at the same time, for a number of requests.
#[derive(Clone, PartialEq, Debug)]
pub struct Phase {
    /// The patterns; each request comes from one of them, at random by weight.
    pub mix: Vec<Place>,
    /// Requests until the next phase begins; `None` for a recipe of one phase.
    pub requests: Option<u64>,
}
