//! Event by event: the specification's golden vectors, and the slow twins.

mod golden;
mod levels;
mod policies;
mod steps;
mod twins;
