//! Policies by what the user wrote, with the nearest name when there is no such one.

use clockhand_policy::catalog::{self, CATALOG, PolicySpec};
use clockhand_policy::parameters::SettingsError;

use crate::SimError;

/// Reads `NAME` or `NAME:parameter=value,...`.
///
/// # Errors
///
/// A sentence that names the nearest policy or parameter, or the allowed range.
pub fn parse_policy(text: &str) -> Result<PolicySpec, SimError> {
    PolicySpec::parse(text).map_err(|error| {
        let names: Vec<&str> = match &error {
            SettingsError::UnknownPolicy { .. } => {
                CATALOG.iter().map(|entry| entry.description.name).collect()
            }
            SettingsError::UnknownParameter { policy, .. } => {
                let parameters =
                    catalog::find(policy).map_or(&[][..], |entry| entry.description.parameters);
                parameters.iter().map(|parameter| parameter.name).collect()
            }
            SettingsError::Refused(_) => return error.into(),
        };
        let (SettingsError::UnknownPolicy { name } | SettingsError::UnknownParameter { name, .. }) =
            &error
        else {
            return error.into();
        };
        SimError::Usage(format!("{error}{}", suggestion(name, &names)))
    })
}

/// `; did you mean "clock"? There are: …`
fn suggestion(name: &str, names: &[&str]) -> String {
    if names.is_empty() {
        return "; it takes none".to_owned();
    }
    let nearest = names
        .iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .min()
        .filter(|(distance, candidate)| *distance <= candidate.len() / 2 + 1)
        .map_or(String::new(), |(_, candidate)| format!("did you mean {candidate:?}? "));
    format!("; {nearest}there are: {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_policy_names_the_nearest() {
        let error = parse_policy("crow").unwrap_err().to_string();
        assert!(
            error.starts_with(r#"there is no policy "crow"; did you mean "craw"? "#),
            "{error}"
        );
        let error = parse_policy("clock:insert=1").unwrap_err().to_string();
        assert!(error.contains(r#"did you mean "insert_ref"?"#), "{error}");
        assert!(parse_policy("lru:x=1").unwrap_err().to_string().ends_with("it takes none"));
    }
}
