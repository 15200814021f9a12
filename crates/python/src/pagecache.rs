//! `pagecache`: one page cache for processes and files, as rows and facts.

use std::sync::Arc;

use clockhand_sim::{
    PageCacheExperiment, PageCacheRow, PageCacheSettings, Progress, Rows, Selection, SimError,
    run_pagecache_cells,
};

use crate::run::{Answer, resolved, trace_facts};
use crate::simulation::{DeviceFacts, device_facts, policy_facts};
use crate::supervision::OnRows;

pub(crate) fn run(
    _: &PageCacheSettings,
    experiment: &PageCacheExperiment,
    cells: Option<&[usize]>,
    on_rows: OnRows<'_, PageCacheRow>,
    progress: &Arc<Progress>,
) -> Result<Answer<PageCacheRow, DeviceFacts>, SimError> {
    let on_finished =
        |position, rows: &Rows<PageCacheRow>| on_rows(position, rows.clone().into_all());
    let outcome =
        run_pagecache_cells(experiment, &Selection { cells, on_finished: &on_finished }, progress)?;
    let device = &experiment.device;
    let mut devices = vec![device_facts(device, &outcome.device, &outcome.page_cost)];
    if let Some(of_files) = experiment.file_device.as_ref().filter(|other| *other != device) {
        devices.push(device_facts(of_files, &outcome.file_device, &outcome.file_page_cost));
    }
    Ok(Answer {
        traces: trace_facts(&outcome.traces),
        devices,
        policies: experiment.policies.iter().map(policy_facts).collect(),
        resolved: resolved(outcome.rows.iter().map(|row| (&row.policy, &row.policy_resolved))),
        rows: outcome.rows,
        intervals: outcome.intervals,
    })
}
