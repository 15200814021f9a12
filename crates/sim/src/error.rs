//! Why a simulation gives no result.

use clockhand_device::DeviceError;
use clockhand_policy::own::Failure;
use clockhand_policy::parameters::SettingsError;
use clockhand_quantity::{Sentence, Text};
use clockhand_trace::TraceError;

/// Why a simulation gives no result; each message is one sentence.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// The request makes no sense: an unknown name, a value out of range, a contradiction.
    #[error("{0}")]
    Usage(Sentence),
    /// A trace cannot be read.
    #[error(transparent)]
    Trace(TraceError),
    /// A device is unknown, or its profile is wrong.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A policy of the user's own failed.
    #[error("{0}")]
    OwnPolicy(Failure),
    /// A timed run came to a stand, which is a fault of this program.
    #[error(
        "{complete} requests were served and the rest never would be, which is a fault of this program; please report it \
         with the trace"
    )]
    Unserved {
        /// Requests that were served.
        complete: u64,
    },
    /// The run was cancelled.
    #[error("interrupted; nothing was written")]
    Interrupted,
}

impl SimError {
    /// What was asked for is wrong; the remedy is empty if the problem says what to do.
    pub fn usage(problem: impl Into<Text>, remedy: impl Into<Text>) -> Self {
        SimError::Usage(Sentence::new(problem, remedy))
    }

    /// Admission by TinyLFU, an option's value, before a policy whose choice changes what it chooses.
    pub(crate) fn cannot_peek(option: Text, unit: &str, policy: &str) -> Self {
        SimError::usage(
            option
                + format!(
                    " tinylfu compares a {unit} with the one that would leave, and the choice of {policy} \
                     changes it"
                ),
            "use fifo, lru, cflru or min with tinylfu",
        )
    }

    /// What it says, with its options apart from its words.
    pub fn sentence(&self) -> Sentence {
        match self {
            SimError::Usage(sentence) => sentence.clone(),
            SimError::Trace(error) => error.sentence(),
            SimError::Device(error) => error.sentence(),
            SimError::OwnPolicy(_) | SimError::Unserved { .. } | SimError::Interrupted => {
                self.to_string().into()
            }
        }
    }
}

impl From<TraceError> for SimError {
    fn from(error: TraceError) -> Self {
        match error {
            TraceError::Interrupted => SimError::Interrupted,
            other => SimError::Trace(other),
        }
    }
}

impl From<SettingsError> for SimError {
    fn from(error: SettingsError) -> Self {
        SimError::Usage(error.to_string().into())
    }
}
