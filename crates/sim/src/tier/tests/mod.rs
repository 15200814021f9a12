//! The specification's golden vectors, the slow twin, and what must hold of every policy.

mod golden;
mod holds;
mod steps;
mod twin;
