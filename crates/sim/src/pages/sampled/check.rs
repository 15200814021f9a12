//! What samples tell nothing of, and traces that change.

use clockhand_quantity::{Text, option};
use clockhand_trace::TraceInput;

use super::{PagesSample, UNSCALABLE};
use crate::contestant::Contestant;
use crate::error::SimError;
use crate::pages::Experiment;
use crate::read_trace::ReadTrace;

/// Refuses what samples tell nothing of.
pub(in crate::pages) fn check(experiment: &Experiment) -> Result<(), SimError> {
    let end = experiment.policies.iter().find(|it| !matches!(it, Contestant::Policy(_)));
    if let Some(end) = end {
        return Err(SimError::usage(
            format!("an estimate of {} is no bound", end.written()),
            Text::from("leave it out or compute it without ") + option("sample"),
        ));
    }
    let unscalable = |contestant: &&Contestant| {
        let Contestant::Policy(policy) = contestant else { return false };
        UNSCALABLE.contains(&policy.entry().description.name)
    };
    if let Some(policy) = experiment.policies.iter().find(unscalable) {
        return Err(SimError::usage(
            format!(
                "{} behaves otherwise in a scaled memory, since it gives up new pages at the next miss",
                policy.written()
            ),
            Text::from("leave it out or compute it without ") + option("sample"),
        ));
    }
    if experiment.observation.is_some_and(|observation| observation.gauge_every.is_some()) {
        return Err(SimError::usage(
            "gauges of a scaled memory are not those of the whole",
            Text::from("leave out ") + option("gauges") + " or " + option("sample"),
        ));
    }
    Ok(())
}

/// Refuses what can be read only once where it must be read several times.
pub(super) fn check_can_be_read_again(
    input: &TraceInput,
    sample: PagesSample,
) -> Result<(), SimError> {
    if input.can_be_read_again() {
        return Ok(());
    }
    Err(SimError::usage(
        option("sample")
            + format!(
                " {sample} reads the trace several times, and {} can be read once",
                input.name()
            ),
        "store it in a file, or give a rate such as 1%",
    ))
}

pub(super) fn check_unchanged(first: &ReadTrace, again: &ReadTrace) -> Result<(), SimError> {
    if first.report.sha256 == again.report.sha256 && first.references == again.references {
        return Ok(());
    }
    Err(SimError::usage(
        format!("{} changed while it was read", first.name),
        "run the command again",
    ))
}
