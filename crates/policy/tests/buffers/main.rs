//! The tests of all write buffers, as one program.
//!
//! `golden` and `twins` hold each buffer to its specification, `conformance` to what every buffer owes,
//! `examples` to the cases worked by hand, `catalog` to what it says of itself.

mod catalog;
mod conformance;
mod driver;
mod examples;
mod golden;
mod requests;
mod twins;
mod variants;
