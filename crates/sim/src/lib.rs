//! Simulation: a trace is replayed against policies, and every step is priced with a device.
//!
//! [`simulate`] runs a grid of cells (policies × memory sizes × traces) over all cores and gives one [`Row`]
//! per cell. Each trace is read once; all its cells share one page view. Likewise [[`run_ssd`]] takes write
//! buffers × flash drives × traces, at original addresses. TLBs × page sizes × memory × storage are for
//! [[`run_translate`]], and page caches under traces of events for [[`run_pagecache`]].
//!
//! ```
//! use std::sync::Arc;
//!
//! use clockhand_sim::{PagesOptions, Progress, RequestTable, TraceInput, simulate};
//!
//! // Ten pages around and around, every third reference a write.
//! let references = 0..1000_u64;
//! let table = RequestTable {
//!     is_write: references.clone().map(|number| number % 3 == 0).collect(),
//!     addresses: references.map(|number| number % 10 * 4096).collect(),
//!     ..RequestTable::default()
//! };
//! let trace = TraceInput::table("a loop", Arc::new(table));
//! let options = PagesOptions {
//!     policy: vec!["lru".to_owned(), "min".to_owned()],
//!     frames: Some("8".to_owned()),
//!     ..PagesOptions::default()
//! };
//! let outcome = simulate(&options.experiment(vec![trace], None)?, &Progress::default())?;
//! let misses: Vec<_> = outcome.rows.iter().map(|row| row.misses).collect();
//! assert_eq!(misses[0], Some(1000));
//! assert!(misses[1] < misses[0]);
//! # Ok::<(), clockhand_sim::SimError>(())
//! ```

mod catalog;
mod chunk;
mod columns;
mod conformance;
mod contestant;
mod declaration;
mod error;
mod filecache;
mod intervals;
mod io_log;
mod locality;
mod memory_size;
mod next_use;
mod numbers;
mod options;
mod pagecache;
mod pages;
mod pricing;
mod read_trace;
mod reading;
mod replay;
mod sample;
mod sketch;
mod ssd;
mod stack_distance;
mod study;
mod tier;
mod translate;
mod views;
mod watch;

/// What tests of this crate see and its users do not: were they inside, every loop would be compiled for them again.
#[doc(hidden)]
pub mod inside {
    pub use crate::replay::{BLOCK_RECORDS, counts_of_view};
}

/// The studies, in the order of the command's help.
pub const STUDIES: [StudyDeclaration; 7] = [
    pages::STUDY,
    pagecache::STUDY,
    ssd::STUDY,
    tier::STUDY,
    filecache::STUDY,
    translate::STUDY,
    locality::STUDY,
];

pub use catalog::{FILE_OPTIONS, OTHER_TABLES};
pub use clockhand_conformance::{BrokenRule, Conformance, KeptRule};
pub use clockhand_trace::progress::{Phase, Progress};
pub use clockhand_trace::{RequestTable, TraceInput};
pub use columns::{Column, ColumnKind};
pub use conformance::check_policy;
pub use contestant::{Contestant, Effort, EndOfBracket, FindOwn, parse_buffer};
pub use declaration::StudyDeclaration;
pub use error::SimError;
pub use filecache::{
    AdmissionRule, BlockCosts, BreakEvenRow, Capacity, FileCacheCosts, FileCacheExperiment,
    FileCacheOptions, FileCacheOutcome, FileCacheRow, Insert, SecondTouch, Writes, break_even,
    check_filecache, parse_stack_share, run_filecache, run_filecache_cells,
};
pub use intervals::{Intervals, Rows};
pub use locality::{
    InterReference, InvertedRange, Kind, Locality, LocalityInterval, LocalityOptions,
    LocalityStudy, MissCurve, Ranking, Repeats, Sampling, StandardErrors, Thinning, Ties, Wanted,
    WholeTrace, WindowPrediction, WindowStudy, WorkingSet, WorkingSets, analyze_locality,
    predict_window,
};
pub use memory_size::{MemorySize, parse_page_bytes};
pub use numbers::NUMBERS_VERSION;
pub use options::{Domain, StudyOption, choose};
pub use pagecache::{
    FileReadAhead, FirstTouch, FlushUnit, Flusher, PageCacheCounts, PageCacheExperiment,
    PageCacheOptions, PageCacheOutcome, PageCacheRow, PageCacheSettings, ReadAhead, ZeroClean,
    check_pagecache, run_pagecache, run_pagecache_cells,
};
pub use pages::{
    Bound, Experiment, FinishedCell, HeldTrace, HeldTraces, KEY_COLUMNS, Observation, Outcome,
    PagesOptions, PagesSample, Plan, Reading, Row, key_options, plan_cells, simulate,
    simulate_cells,
};
pub use read_trace::ReadTrace;
pub use reading::ReadingOptions;
pub use replay::{
    Bits, Counts, GaugeSample, Listed, ListedKind, ReplayOptions, WatchedStep, WriteMiss,
};
pub use sample::Sample;
pub use ssd::{
    AddressMap, AskedOfDrive, AskedPage, BufferCourse, BufferList, BufferStep, BufferedBlock,
    LatencyClass, LatencyRow, LatencyRows, Moment, MovedPage, Repeat, ServeRow, SsdCell,
    SsdExperiment, SsdOptions, SsdOutcome, SsdRow, SsdTiming, StepEvent, TimeDetail, TimedArrivals,
    Waits, WatchedBuffers, WorkOfDrive, check_ssd, run_ssd, run_ssd_cells, watch_buffers,
};
pub use study::{Cells, Columns, Given, OneCell, PlannedCell, Selection};
pub use tier::{
    Contender, MigrationLimit, PromotionRule, Sight, TierCourse, TierExperiment, TierMemory,
    TierOptions, TierOutcome, TierResult, TierRow, check_tier, run_tier, run_tier_cells,
};
pub use translate::{
    HugePages, Replacement, Storage, TlbGeometry, TlbLevels, TranslateExperiment, TranslateOptions,
    TranslateOutcome, TranslateRow, TranslationTimes, check_translate, run_translate,
    run_translate_cells,
};
pub use watch::{Course, Watched, Watching, watch};
