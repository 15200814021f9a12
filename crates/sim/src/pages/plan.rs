//! The cells of page policies, each with its key: what its policy, device and memory come to on a trace.

use clockhand_device::{Device, PageCost};
use clockhand_trace::PageView;
use serde_json::Value;

use super::{Experiment, PagesOptions, PagesSample, cells_of, check_intervals};
use crate::contestant::Contestant;
use crate::error::SimError;
use crate::pages::sampled;
use crate::pricing::Pricing;
use crate::study::{Columns, Files, Given, PlannedCell};

/// The digest of a device that comes with this version.
const BUILT_IN: &str = "built-in";

/// The columns of a key that options come to, in the order in which datasets are sorted.
pub const KEY_COLUMNS: [&str; 5] =
    ["policy_resolved", "frames", "page_bytes", "device_resolved", "device_sha256"];

/// Options that those columns stand for, and those whose results no dataset keeps.
const NOT_IN_KEYS: [&str; 9] = [
    "policy",
    "frames",
    "memory",
    "page_size",
    "device",
    "bound_effort",
    "seed",
    "gauge_every",
    "io_log",
];

/// The cells of a grid, in the order of its rows, and what their device is.
#[derive(Clone, Debug)]
pub struct Plan {
    /// One entry per cell.
    pub cells: Vec<PlannedCell>,
    /// The device.
    pub device: Device,
    /// What a page operation costs on it.
    pub page_cost: PageCost,
}

/// Says which cells an experiment has on a trace of `footprint_pages` pages; its traces are not looked at. Before
/// the footprint is known, it is taken to be as large as can be: then nothing is refused that some trace allows.
///
/// # Errors
///
/// A policy, a size, another option or the device is unusable.
pub fn plan_cells(
    experiment: &Experiment,
    given: &Given,
    footprint_pages: Option<u32>,
) -> Result<Plan, SimError> {
    if experiment.sample.is_some() {
        sampled::check(experiment)?;
    }
    check_intervals(experiment)?;
    let Pricing { device, page_cost, device_ratio } =
        Pricing::new(&experiment.device, experiment.page_bytes)?;
    let shared = shared_columns(experiment, given, &device)?;
    let cells = cells_of(experiment, footprint_pages.unwrap_or(PageView::LIMIT_PAGES))?;
    let planned = |(frames, contestant): (u32, &Contestant)| {
        let policy_resolved = match contestant {
            Contestant::Bound(end) | Contestant::Feasible(end) => {
                end.resolved(experiment.bound_effort)
            }
            Contestant::Policy(policy) => {
                let policy = policy.clone().with_seed(experiment.seed);
                let frames = experiment.policy_frames(frames);
                policy.resolve(frames, device_ratio)?.to_string()
            }
        };
        let mut key = shared.clone();
        key.insert("policy_resolved".to_owned(), policy_resolved.into());
        key.insert("frames".to_owned(), frames.into());
        let texts = [("policy", contestant.written()), ("device", &experiment.device)];
        let named = texts.map(|(name, text)| (name.to_owned(), text.into()));
        Ok(PlannedCell { key, named: named.into() })
    };
    let cells = cells.iter().map(|cell| planned((cell.frames, cell.contestant)));
    Ok(Plan { cells: cells.collect::<Result<_, SimError>>()?, device, page_cost })
}

/// The options that are columns of a key behind those, as they were given.
pub fn key_options() -> impl Iterator<Item = &'static str> {
    let names = PagesOptions::OPTIONS.iter().map(|option| option.name);
    names.filter(|name| !NOT_IN_KEYS.contains(name))
}

/// What the keys of all cells have alike.
fn shared_columns(
    experiment: &Experiment,
    given: &Given,
    device: &Device,
) -> Result<Columns, SimError> {
    let option = |name: &str| (name.to_owned(), given.get(name).cloned().unwrap_or_default());
    let mut columns: Columns = key_options().map(option).collect();
    let digest = Files::default().sha256(&experiment.device)?;
    // Another seed draws other pages.
    let sample = |sample: PagesSample| format!("{sample} seed {}", experiment.seed);
    let own: [(&str, Value); 4] = [
        ("page_bytes", experiment.page_bytes.into()),
        ("device_resolved", device.resolved().into()),
        ("device_sha256", digest.unwrap_or_else(|| BUILT_IN.to_owned()).into()),
        ("sample", experiment.sample.map(sample).into()),
    ];
    columns.extend(own.map(|(name, value)| (name.to_owned(), value)));
    Ok(columns)
}
