//! The simulator from outside: what `simulate` returns for traces in memory and on disk.

mod bound;
mod cancellation;
mod costs;
mod declarations;
mod experiments;
mod filecache;
mod filecache_drops;
mod filecache_future;
mod filecache_golden;
mod filecache_requests;
mod folding;
mod golden;
mod intervals;
mod io_log;
mod locality;
mod lru_sizes;
mod memory_use;
mod observation;
mod pagecache;
mod real_traces;
mod replay;
mod reserve;
mod rows;
mod sampled;
mod scratch;
mod ssd;
mod ssd_mappings;
mod streamed;
mod tier;
mod translate;
mod twin;
#[path = "../../benches/workload/mod.rs"]
mod workload;
mod workload_counts;
