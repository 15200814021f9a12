//! `tier`: two tiers of memory, as rows and facts.

use std::sync::Arc;

use clockhand_device::{Device, MemoryTiers, built_in_tiers};
use clockhand_policy::tier::catalog::TIER_POLICIES;
use clockhand_sim::{
    Contender, HeldTrace, Progress, Selection, SimError, TierCourse, TierExperiment, TierOptions,
    TierOutcome, TierResult, TierRow, TraceInput, check_tier, run_tier_cells,
};
use pyo3::prelude::*;
use pythonize::pythonize;
use serde::Serialize;

use crate::catalogs::{NamedFacts, described};
use crate::errors::exception;
use crate::run::{Answer, Question, resolved};
use crate::simulation::PolicyFacts;

/// A profile of tiers, or the storage below: where the numbers come from.
#[derive(Serialize)]
pub(crate) struct SourceFacts {
    name: String,
    resolved: String,
    summary: String,
    source: String,
    read_time_us: Option<f64>,
    write_time_us: Option<f64>,
    write_read_ratio: Option<f64>,
}

impl SourceFacts {
    fn of_tiers((written, tiers): &(String, MemoryTiers)) -> Self {
        SourceFacts {
            name: written.clone(),
            resolved: tiers.resolved(),
            summary: tiers.summary().to_owned(),
            source: tiers.source().to_owned(),
            read_time_us: None,
            write_time_us: None,
            write_read_ratio: None,
        }
    }

    fn of_storage(written: &str, device: &Device) -> Self {
        SourceFacts {
            name: written.to_owned(),
            resolved: device.resolved(),
            summary: device.summary().to_owned(),
            source: device.source().to_owned(),
            read_time_us: None,
            write_time_us: None,
            write_read_ratio: None,
        }
    }
}

/// A row with what happened over time.
#[derive(Serialize)]
pub(crate) struct CoursedRow {
    #[serde(flatten)]
    row: TierRow,
    #[serde(flatten)]
    course: TierCourse,
}

/// What stands beside the rows.
#[derive(Default, Serialize)]
pub(crate) struct Courses {
    courses: Vec<TierCourse>,
}

impl CoursedRow {
    /// The row of a cell, and those of its intervals, which have no course.
    fn of_cell(cell: TierResult) -> Vec<Self> {
        let row = CoursedRow { row: cell.row, course: cell.course };
        let of_interval = |row| CoursedRow { row, course: TierCourse::default() };
        std::iter::once(row).chain(cell.intervals.into_iter().map(of_interval)).collect()
    }
}

fn policy_facts(contender: &Contender) -> PolicyFacts {
    let (summary, paper) = match contender {
        Contender::Page(policy) => {
            let description = policy.entry().description;
            (description.summary, description.paper)
        }
        Contender::Tier(policy) => {
            let description = policy.description();
            (description.summary, description.paper)
        }
        Contender::Bound => (Contender::BOUND_SUMMARY, "offline bound"),
    };
    PolicyFacts { name: contender.written().to_owned(), summary, paper }
}

impl Question for TierOptions {
    const STUDY: &'static str = "tier";
    type Experiment = TierExperiment;
    type Finished = TierResult;
    type Row = CoursedRow;
    type Outcome = TierOutcome;
    type Answer = Answer<TierRow, SourceFacts, Courses>;

    fn experiment(
        &self,
        traces: Vec<TraceInput>,
        jobs: Option<usize>,
    ) -> Result<TierExperiment, SimError> {
        self.experiment(traces, jobs)
    }

    fn check(experiment: &TierExperiment) -> Result<(), SimError> {
        check_tier(experiment)
    }

    fn run(
        experiment: &TierExperiment,
        _: Option<&HeldTrace>,
        selection: &Selection<'_, TierResult>,
        progress: &Arc<Progress>,
    ) -> Result<TierOutcome, SimError> {
        run_tier_cells(experiment, selection, progress)
    }

    fn rows(cell: &TierResult) -> Vec<CoursedRow> {
        CoursedRow::of_cell(cell.clone())
    }

    fn answer(
        &self,
        experiment: &TierExperiment,
        outcome: TierOutcome,
    ) -> Result<Self::Answer, SimError> {
        let storage = SourceFacts::of_storage(&experiment.storage, &outcome.storage);
        let (mut rows, mut intervals, mut courses) = (Vec::new(), Vec::new(), Vec::new());
        for cell in outcome.cells {
            rows.push(cell.row);
            intervals.extend(cell.intervals);
            courses.push(cell.course);
        }
        Ok(Answer {
            beside: Courses { courses },
            traces: outcome.traces,
            devices: outcome.tiers.iter().map(SourceFacts::of_tiers).chain([storage]).collect(),
            policies: experiment.policies.iter().map(policy_facts).collect(),
            resolved: resolved(rows.iter().map(|row| (&row.policy, &row.policy_resolved))),
            rows,
            intervals,
        })
    }
}

/// All policies that are made for two tiers, and the bound, as dictionaries.
#[pyfunction]
pub(crate) fn tier_policies(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let kind = |name: &str| if name == "static" { "offline" } else { "tier" };
    let facts: Vec<_> = TIER_POLICIES
        .iter()
        .map(|description| described(*description, kind(description.name).to_owned()))
        .collect();
    Ok(pythonize(py, &facts)?)
}

/// The documentation page of a policy that is made for two tiers; `None` if there is none of this name.
#[pyfunction]
pub(crate) fn tier_policy_page(name: &str) -> Option<String> {
    use clockhand_policy::tier::catalog::{find, page};
    find(name).map(page)
}

/// All built-in profiles of two tiers, as dictionaries.
#[pyfunction]
pub(crate) fn tier_profiles(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let facts: Vec<_> = built_in_tiers()
        .into_iter()
        .map(|tiers| NamedFacts {
            name: tiers.name,
            summary: tiers.summary,
            source: Some(tiers.source),
        })
        .collect();
    Ok(pythonize(py, &facts)?)
}

/// The page of two tiers, built-in or from a file.
#[pyfunction]
pub(crate) fn tier_profile_page(tiers: &str) -> PyResult<String> {
    Ok(MemoryTiers::named_or_file(tiers).map_err(exception)?.description())
}
