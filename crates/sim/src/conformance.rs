//! The rules that every policy keeps, tried on a policy of the command.

use clockhand_conformance::{Conformance, RATIO, Subject, check};
use clockhand_policy::catalog::{Kind, PolicySpec, Size, Visitor};
use clockhand_policy::parameters::SettingsError;

use crate::error::SimError;
use clockhand_trace::progress::Progress;

struct Named<'a>(&'a PolicySpec);

impl Subject for Named<'_> {
    type Error = SettingsError;

    fn build<V: Visitor>(&self, size: Size, visitor: V) -> Result<V::Output, SettingsError> {
        Ok(self.0.resolve(size.frames, RATIO)?.build(size, visitor))
    }
}

/// Tries the rules on a policy, until one breaks.
///
/// # Errors
///
/// The policy must know the future, a default is out of range, or [`SimError::Interrupted`].
pub fn check_policy(policy: &PolicySpec, progress: &Progress) -> Result<Conformance, SimError> {
    if policy.entry().kind == Kind::Offline {
        return Err(SimError::usage(
            format!(
                "policy {} must know the future, which these rules are not for",
                policy.written()
            ),
            "give another one",
        ));
    }
    check(&Named(policy), || progress.is_cancelled())?.ok_or(SimError::Interrupted)
}
