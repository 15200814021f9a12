//! The engine as the private Python module `clockhand._engine`.
//!
//! Names, defaults and documentation for users are in the Python package; this crate converts, releases
//! the interpreter while the engine runs, and turns errors into exceptions.

mod catalogs;
mod conformance;
mod drives;
mod errors;
mod filecache;
mod held;
mod latencies;
mod locality;
mod measure;
mod own;
mod pagecache;
mod pager;
mod part;
mod run;
mod serve;
mod simulation;
mod ssd;
mod supervision;
mod table;
mod text_table;
mod tier;
mod trace;
mod tracer;
mod translation;
mod watch;

use clockhand_sim::{
    FileCacheOptions, PageCacheSettings, PagesOptions, SsdOptions, TierOptions, TranslateOptions,
};
use pyo3::prelude::*;

use run::Runnable;

/// The studies that `run` runs.
const RUNNABLE: [Runnable; 6] = [
    Runnable::of::<PagesOptions>(),
    Runnable::of::<PageCacheSettings>(),
    Runnable::of::<SsdOptions>(),
    Runnable::of::<TierOptions>(),
    Runnable::of::<FileCacheOptions>(),
    Runnable::of::<TranslateOptions>(),
];

/// The engine of Clockhand.
#[pymodule]
mod _engine {
    #[pymodule_export]
    use crate::catalogs::{
        buffer_with_total, columns, device_page, devices, format_page, formats, options, policies,
        policy_name, policy_page, recipes,
    };
    #[pymodule_export]
    use crate::conformance::check_policy;
    #[pymodule_export]
    use crate::drives::{ssd_facts, ssd_page, ssds, write_buffer_page, write_buffers};
    #[pymodule_export]
    use crate::filecache::{admissions, break_even, readings};
    #[pymodule_export]
    use crate::held::{HeldTrace, HeldTraces};
    #[pymodule_export]
    use crate::locality::{locality, predict_window};
    #[pymodule_export]
    use crate::measure::{Measurement, machine};
    #[pymodule_export]
    use crate::own::{SeenFrames, add_policy, own_code, own_policies, use_policy_library};
    #[pymodule_export]
    use crate::pager::{Pager, pager_obstacle};
    #[pymodule_export]
    use crate::part::parquet_demand;
    #[pymodule_export]
    use crate::run::{grids, plan, run};
    #[pymodule_export]
    use crate::serve::BlockServer;
    #[pymodule_export]
    use crate::simulation::{io_times_us, parse_bytes, parse_page_bytes};
    #[pymodule_export]
    use crate::table::write_parquet;
    #[pymodule_export]
    use crate::text_table::{write_csv, write_json};
    #[pymodule_export]
    use crate::tier::{tier_policies, tier_policy_page, tier_profile_page, tier_profiles};
    #[pymodule_export]
    use crate::trace::{
        CaptureConversion, TraceSource, check_memory_budget, convert_capture, convert_timeline,
        convert_trace, read_trace, trace_info,
    };
    #[pymodule_export]
    use crate::tracer::{become_followed, follow};
    #[pymodule_export]
    use crate::watch::{watch_buffers, watch_policies};
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        clockhand_sim::Contestant::find_own_by(crate::own::find);
        module.add("NUMBERS_VERSION", clockhand_sim::NUMBERS_VERSION)?;
        module.add("FILE_OPTIONS", clockhand_sim::FILE_OPTIONS)?;
        module.add("STUDIES", clockhand_sim::STUDIES.map(|study| (study.name, study.command)))?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
