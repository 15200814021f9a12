//! The pager against the simulator's twins, with a model of memory and with the kernel's.

mod decisions;
mod every_access;
mod fault_injection;
mod forks;
mod last_moment;
mod left;
mod model;
mod offsets;
mod real_memory;
mod security;
mod trails;
