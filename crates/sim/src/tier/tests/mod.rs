//! The specification's golden vectors, and what must hold of every policy.

mod golden;
mod holds;
mod steps;
