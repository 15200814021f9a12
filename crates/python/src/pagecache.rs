//! `pagecache`: one page cache for processes and files, as rows and facts.

use std::sync::Arc;

use clockhand_sim::{
    HeldTrace, PageCacheExperiment, PageCacheOutcome, PageCacheRow, PageCacheSettings, Progress,
    Rows, Selection, SimError, TraceInput, check_pagecache, run_pagecache_cells,
};

use crate::run::{Answer, Nothing, Question, resolved};
use crate::simulation::{DeviceFacts, device_facts, policy_facts};

impl Question for PageCacheSettings {
    const STUDY: &'static str = "pagecache";
    type Experiment = PageCacheExperiment;
    type Finished = Rows<PageCacheRow>;
    type Row = PageCacheRow;
    type Outcome = PageCacheOutcome;
    type Answer = Answer<PageCacheRow, DeviceFacts>;

    fn experiment(
        &self,
        traces: Vec<TraceInput>,
        jobs: Option<usize>,
    ) -> Result<PageCacheExperiment, SimError> {
        self.experiment(traces, jobs)
    }

    fn check(experiment: &PageCacheExperiment) -> Result<(), SimError> {
        check_pagecache(experiment)
    }

    fn run(
        experiment: &PageCacheExperiment,
        _: Option<&HeldTrace>,
        selection: &Selection<'_, Rows<PageCacheRow>>,
        progress: &Arc<Progress>,
    ) -> Result<PageCacheOutcome, SimError> {
        run_pagecache_cells(experiment, selection, progress)
    }

    fn rows(cell: &Rows<PageCacheRow>) -> Vec<PageCacheRow> {
        cell.clone().into_all()
    }

    fn answer(
        &self,
        experiment: &PageCacheExperiment,
        outcome: PageCacheOutcome,
    ) -> Result<Answer<PageCacheRow, DeviceFacts>, SimError> {
        let device = &experiment.device;
        let mut devices = vec![device_facts(device, &outcome.device, &outcome.page_cost)];
        if let Some(of_files) = experiment.file_device.as_ref().filter(|other| *other != device) {
            devices.push(device_facts(of_files, &outcome.file_device, &outcome.file_page_cost));
        }
        Ok(Answer {
            traces: outcome.traces,
            devices,
            policies: experiment.policies.iter().map(policy_facts).collect(),
            resolved: resolved(outcome.rows.iter().map(|row| (&row.policy, &row.policy_resolved))),
            rows: outcome.rows,
            intervals: outcome.intervals,
            beside: Nothing {},
        })
    }
}
