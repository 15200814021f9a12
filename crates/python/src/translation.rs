//! `translate`: TLBs, page tables and paging, as rows and facts.

use std::sync::Arc;

use clockhand_sim::{
    HeldTrace, Progress, Rows, Selection, SimError, TraceInput, TranslateExperiment,
    TranslateOptions, TranslateOutcome, TranslateRow, check_translate, run_translate_cells,
};

use crate::run::{Answer, Nothing, Question, resolved};
use crate::simulation::{DeviceFacts, device_facts, policy_facts};

impl Question for TranslateOptions {
    const STUDY: &'static str = "translate";
    type Experiment = TranslateExperiment;
    type Finished = Rows<TranslateRow>;
    type Row = TranslateRow;
    type Outcome = TranslateOutcome;
    type Answer = Answer<TranslateRow, DeviceFacts>;

    fn experiment(
        &self,
        traces: Vec<TraceInput>,
        jobs: Option<usize>,
    ) -> Result<TranslateExperiment, SimError> {
        self.experiment(traces, jobs)
    }

    fn check(experiment: &TranslateExperiment) -> Result<(), SimError> {
        check_translate(experiment)
    }

    fn run(
        experiment: &TranslateExperiment,
        _: Option<&HeldTrace>,
        selection: &Selection<'_, Rows<TranslateRow>>,
        progress: &Arc<Progress>,
    ) -> Result<TranslateOutcome, SimError> {
        run_translate_cells(experiment, selection, progress)
    }

    fn rows(cell: &Rows<TranslateRow>) -> Vec<TranslateRow> {
        cell.clone().into_all()
    }

    fn answer(
        &self,
        experiment: &TranslateExperiment,
        outcome: TranslateOutcome,
    ) -> Result<Answer<TranslateRow, DeviceFacts>, SimError> {
        let devices = outcome.devices.iter();
        Ok(Answer {
            traces: outcome.traces,
            devices: devices.map(|(name, device, cost)| device_facts(name, device, cost)).collect(),
            policies: experiment.policies.iter().map(policy_facts).collect(),
            resolved: resolved(outcome.rows.iter().map(|row| (&row.policy, &row.policy_resolved))),
            rows: outcome.rows,
            intervals: outcome.intervals,
            beside: Nothing {},
        })
    }
}
