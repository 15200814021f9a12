//! Timed runs: the specification's golden vectors, and the slow twin.

mod golden;
mod twin;
