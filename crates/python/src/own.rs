//! Policies that users write in Python: how the engine finds them, and how it calls their methods. Those of libraries
//! are found here too, and called by `clockhand-policy-loader`.
//!
//! `clockhand.study.own_policies` reads a class and describes it; here it becomes an entry beside those of the catalog.

mod classes;
mod frames;
mod instance;
mod interruption;

pub(crate) use classes::{add_policy, find, own_code, own_policies, use_policy_library};
pub(crate) use frames::SeenFrames;
pub(crate) use instance::PolicyError;
pub(crate) use interruption::interrupt_policies;
