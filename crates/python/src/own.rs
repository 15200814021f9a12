//! Policies that users write in Python: how the engine finds them, and how it calls their methods.
//!
//! `clockhand.study.own_policies` reads a class and describes it; here it becomes an entry beside those of the catalog.

mod classes;
mod frames;
mod instance;
mod interruption;

pub(crate) use classes::{add_policy, find, own_policies};
pub(crate) use frames::SeenFrames;
pub(crate) use instance::PolicyError;
pub(crate) use interruption::interrupt_policies;
