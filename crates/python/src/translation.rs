//! `translate`: TLBs, page tables and paging, as rows and facts.

use std::sync::Arc;

use clockhand_sim::{
    Progress, Rows, Selection, SimError, TranslateExperiment, TranslateOptions, TranslateRow,
    run_translate_cells,
};

use crate::run::{Answer, resolved, trace_facts};
use crate::simulation::{DeviceFacts, device_facts, policy_facts};
use crate::supervision::OnRows;

pub(crate) fn run(
    _: &TranslateOptions,
    experiment: &TranslateExperiment,
    cells: Option<&[usize]>,
    on_rows: OnRows<'_, TranslateRow>,
    progress: &Arc<Progress>,
) -> Result<Answer<TranslateRow, DeviceFacts>, SimError> {
    let on_finished =
        |position, rows: &Rows<TranslateRow>| on_rows(position, rows.clone().into_all());
    let outcome =
        run_translate_cells(experiment, &Selection { cells, on_finished: &on_finished }, progress)?;
    let devices = outcome.devices.iter();
    Ok(Answer {
        traces: trace_facts(&outcome.traces),
        devices: devices.map(|(name, device, cost)| device_facts(name, device, cost)).collect(),
        policies: experiment.policies.iter().map(policy_facts).collect(),
        resolved: resolved(outcome.rows.iter().map(|row| (&row.policy, &row.policy_resolved))),
        rows: outcome.rows,
        intervals: outcome.intervals,
    })
}
