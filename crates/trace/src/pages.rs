//! Pages of a trace: the view that is replayed, footprints, and the memory of captured programs.

pub(crate) mod anonymous;
pub(crate) mod event_view;
pub(crate) mod footprint;
pub(crate) mod page_counter;
pub(crate) mod page_view;
pub(crate) mod run_lengths;
pub(crate) mod run_stream;
pub(crate) mod scratch;
pub(crate) mod view_chunks;
