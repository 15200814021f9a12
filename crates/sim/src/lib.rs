//! Simulation: a trace is replayed against policies, and every step is priced with a device.
//!
//! [`simulate`] runs a grid of cells (policies × memory sizes × traces) over all cores and gives one
//! [`Row`] per cell. Each trace is read once; all its cells share one page view. [`run_ssd`] does the same
//! for write buffers × flash drives × traces, at original addresses, [`run_translate`] for TLBs × page sizes ×
//! memory × storage, and [`run_pagecache`] for page caches under traces of events.

mod columns;
mod contestant;
mod error;
mod filecache;
mod locality;
mod memory_size;
mod next_use;
mod numbers;
mod pagecache;
mod pages;
mod pricing;
mod replay;
mod ssd;
mod stack_distance;
mod study;
mod translate;
mod views;
mod watch;

pub use clockhand_trace::progress::{Phase, Progress};
pub use clockhand_trace::{RequestTable, TraceInput};
pub use columns::{Column, ColumnKind, STUDIES};
pub use contestant::{Contestant, EndOfBracket, parse_buffer};
pub use error::SimError;
pub use filecache::{
    AdmissionRule, BlockCosts, BreakEvenRow, Capacity, FileCacheCosts, FileCacheExperiment,
    FileCacheOutcome, FileCacheRow, SecondTouch, Writes, break_even, parse_stack_share,
    run_filecache,
};
pub use locality::{
    InterReference, InvertedRange, Kind, Locality, LocalityStudy, MissCurve, Ranking, Sample,
    Sampling, StandardErrors, Ties, WholeTrace, WindowPrediction, WindowStudy, WorkingSet,
    WorkingSets, analyze_locality, predict_window,
};
pub use memory_size::{MemorySize, parse_page_bytes};
pub use numbers::NUMBERS_VERSION;
pub use pagecache::{
    FileReadAhead, FirstTouch, FlushUnit, Flusher, PageCacheCounts, PageCacheExperiment,
    PageCacheOptions, PageCacheOutcome, PageCacheRow, ReadAhead, ZeroClean, run_pagecache,
};
pub use pages::{
    Bound, Effort, Experiment, Observation, Outcome, Plan, PlannedCell, PreparedTrace, Row,
    plan_cells, simulate,
};
pub use replay::{Bits, Counts, GaugeSample, ReplayOptions, WriteMiss};
pub use ssd::{AddressMap, Repeat, SsdCell, SsdExperiment, SsdOutcome, SsdRow, run_ssd};
pub use study::ReadTrace;
pub use translate::{
    HugePages, Replacement, Storage, TlbGeometry, TlbLevels, TranslateExperiment, TranslateOutcome,
    TranslateRow, TranslationTimes, run_translate,
};
pub use watch::{Course, Listed, ListedKind, Watched, WatchedStep, Watching, watch};
