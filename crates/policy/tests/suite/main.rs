//! The tests of all policies, as one program: what they share is compiled once.
//!
//! `golden` and `twins` hold each policy to its specification, `conformance` to what every policy owes,
//! `catalog` to what it says of itself. All of them walk the catalog or refuse a policy that they miss, so
//! that a new policy is tested as soon as it stands there.

mod catalog;
mod conformance;
mod driver;
mod drops;
mod golden;
mod kernels;
mod model;
mod traces;
mod twins;
mod variants;
