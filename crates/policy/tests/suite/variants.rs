//! Each policy with values taken from its own parameter table, so that a new policy is tested with its
//! options without being named here.

use std::collections::BTreeSet;

use clockhand_policy::catalog::{CATALOG, Entry, Kind};
use clockhand_policy::parameters::{Default, Domain, Parameter};

use crate::driver::Bits;

/// Whole numbers and ratios tried besides the ends of a range, where they are in it.
const INNER_COUNTS: [u64; 2] = [3, 7];
const INNER_RATIOS: [&str; 2] = ["1/2", "40/3"];

/// Every policy of the catalog with its defaults, with each value alone, and with each word or flag together
/// with each value of another parameter.
pub fn all() -> Vec<String> {
    CATALOG.iter().flat_map(of).collect()
}

/// Those of one policy.
pub fn of_policy(name: &str) -> Vec<String> {
    all().into_iter().filter(|variant| policy_name(variant) == name).collect()
}

/// The policy of `NAME:parameter=value,...`.
pub fn policy_name(variant: &str) -> &str {
    variant.split_once(':').map_or(variant, |(name, _)| name)
}

/// Returns whether the policy is a kernel, which may make more pages leave than frames are needed.
pub fn reclaims_in_batches(variant: &str) -> bool {
    policy_name(variant).starts_with("linux")
}

/// The sources of the policy's bits: only a bit-driven policy has any.
pub fn sources_of_bits(variant: &str) -> &'static [Bits] {
    let entry = clockhand_policy::catalog::find(policy_name(variant)).expect("a variant's policy");
    match entry.kind {
        Kind::BitDriven => &[Bits::Exact, Bits::Mapped, Bits::Sensed],
        Kind::AccessDriven | Kind::Offline => &[Bits::Exact],
    }
}

fn of(entry: &Entry) -> Vec<String> {
    let name = entry.description.name;
    let parameters = entry.description.parameters;
    let mut variants = vec![name.to_owned()];
    for (position, first) in parameters.iter().enumerate() {
        for first_value in values(&first.domain) {
            variants.push(written(name, &[(first, &first_value)]));
            for second in parameters[position + 1..].iter().filter(|second| combine(first, second))
            {
                for second_value in values(&second.domain) {
                    let both = [(first, first_value.as_str()), (second, second_value.as_str())];
                    variants.push(written(name, &both));
                }
            }
        }
    }
    variants
}

/// Returns whether two parameters are tried together: one of them switches something, and neither rules out the other.
fn combine(first: &Parameter, second: &Parameter) -> bool {
    let switches =
        |parameter: &Parameter| matches!(parameter.domain, Domain::Choice(_) | Domain::Flag);
    let replaces = |one: &Parameter, other: &Parameter| match one.default {
        Default::InsteadOf(name) => name == other.name,
        _ => false,
    };
    let needs = |one: &Parameter, other: &Parameter| {
        one.only_with.is_some_and(|(name, _)| name == other.name)
    };
    let apart = |one, other| replaces(one, other) || needs(one, other);
    (switches(first) || switches(second)) && !apart(first, second) && !apart(second, first)
}

fn written(name: &str, given: &[(&Parameter, &str)]) -> String {
    let needed = given.iter().filter_map(|(parameter, _)| parameter.only_with);
    let given = given.iter().map(|&(parameter, value)| (parameter.name, value));
    let pairs: BTreeSet<_> =
        given.chain(needed).map(|(parameter, value)| format!("{parameter}={value}")).collect();
    format!("{name}:{}", Vec::from_iter(pairs).join(","))
}

/// Every word, both flags, the ends of a range and something between them. A ratio without an upper end
/// gets the largest that can be written.
pub fn values(domain: &Domain) -> Vec<String> {
    match *domain {
        Domain::Count { min, max } => {
            let inner = INNER_COUNTS.into_iter().filter(|count| (min..max).contains(count));
            BTreeSet::from_iter([min, max].into_iter().chain(inner))
                .iter()
                .map(u64::to_string)
                .collect()
        }
        Domain::Ratio { min, max } => {
            let max = max.unwrap_or(clockhand_policy::Ratio::whole(u32::MAX));
            let inner = INNER_RATIOS.map(|ratio| ratio.parse().expect("a ratio"));
            let inner = inner.into_iter().filter(|&ratio| min < ratio && ratio < max);
            [min, max].into_iter().chain(inner).map(|ratio| ratio.to_string()).collect()
        }
        Domain::Choice(words) => words.iter().map(|&word| word.to_owned()).collect(),
        Domain::Flag => vec!["true".to_owned(), "false".to_owned()],
    }
}
