//! Event by event: the specification's golden vectors, and the slow twins.

mod golden;
mod levels;
mod steps;
mod twins;
