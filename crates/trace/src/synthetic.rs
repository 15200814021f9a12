//! Synthetic traces: requests that a recipe describes and a seed fixes.
//!
//! ```text
//! notation, TOML file or name → Recipe → SyntheticReader → batches of Request
//! ```
//!
//! # The notation
//!
//! ```text
//! recipe  = phase { "then" phase }
//! phase   = pattern { "+" pattern } [ "for" requests ]
//! pattern = name ":" parameter { "," parameter }
//! ```
//!
//! `zipf:skew=0.9,footprint=1GiB,weight=3 + sequential:footprint=64MiB for 1M then loop:footprint=8MiB for 100k`
//! is a mix of Zipf and a scan for a million requests, then a loop for 100,000, and so on in turn
//! until all requests are made. A phase goes on where it stopped when it comes again.
//!
//! # The same bytes everywhere
//!
//! A recipe with its seed gives the same requests on every machine. All random numbers come from SplitMix64; shares,
//! weights, footprints and constant arrivals are integers. Only the popularity of Zipf and the gaps of Poisson arrivals
//! need real numbers. They are computed with the four operations of IEEE 754 binary64, which are exactly rounded
//! everywhere. The exponential and the logarithm of the crate `libm` use only those. The mathematics library of the
//! operating system is not called. Golden digests in the tests verify this.
//!
//! # Memory
//!
//! No pattern takes memory in proportion to its footprint or to the number of requests. The popularity of Zipf is
//! sampled by rejection from a table of at most 32 steps per octave of ranks. Ranks are scattered by a keyed
//! permutation that is computed, not stored.

mod arrivals;
mod notation;
mod parameters;
mod pattern;
mod random;
mod reader;
mod recipe;
mod recipe_file;
mod recipes;
mod running;
mod scatter;
mod zipf;

pub use arrivals::Arrivals;
pub use pattern::{Pattern, Phase, Place, RequestSizes};
pub use random::Share;
pub use reader::SyntheticReader;
pub use recipe::{Overrides, Recipe};
pub use recipes::named_recipes;
