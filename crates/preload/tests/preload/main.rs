//! Real programs under the library and a pager that has memory for everything.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

mod hosted;
mod programs;
mod ranges;
mod sentences;
mod test_pager;
