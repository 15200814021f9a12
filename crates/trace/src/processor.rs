//! What lies between a processor and memory: its caches, and views of what they let through.

pub(crate) mod cpu_cache;
pub(crate) mod view;
