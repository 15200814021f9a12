//! Each buffer with values taken from its own parameter table, so that a new buffer is tested with its
//! options without being named here.

use clockhand_policy::buffer::catalog::{BUFFERS, BufferEntry};
use clockhand_policy::parameters::{Default, Domain, Parameter};

/// Every buffer of the catalog with its defaults, with each value alone, and with each pair of values of its
/// switches.
pub fn all() -> Vec<String> {
    BUFFERS.iter().flat_map(of).collect()
}

/// The buffer of `NAME:parameter=value,...`.
pub fn buffer_name(variant: &str) -> &str {
    variant.split_once(':').map_or(variant, |(name, _)| name)
}

fn of(entry: &BufferEntry) -> Vec<String> {
    let (name, parameters) = (entry.description.name, entry.description.parameters);
    let mut variants = vec![name.to_owned()];
    for (position, first) in parameters.iter().enumerate() {
        for value in values(first) {
            variants.push(format!("{name}:{}={value}", first.name));
            let others = parameters[position + 1..].iter().filter(|other| combine(first, other));
            for other in others {
                let pairs = values(other).into_iter().map(|other_value| {
                    format!("{name}:{}={value},{}={other_value}", first.name, other.name)
                });
                variants.extend(pairs);
            }
        }
    }
    variants
}

fn combine(first: &Parameter, second: &Parameter) -> bool {
    let is_switch =
        |parameter: &Parameter| matches!(parameter.domain, Domain::Choice(_) | Domain::Flag);
    let excludes = matches!(second.default, Default::InsteadOf(name) if name == first.name);
    (is_switch(first) || is_switch(second)) && !excludes
}

/// Every word, both flags, and of a range its ends and something between them. A share of DRAM leaves some
/// NVM.
pub fn values(parameter: &Parameter) -> Vec<String> {
    let values: &[&str] = match parameter.domain {
        Domain::Count { min, max } => return vec![min.to_string(), max.min(3).to_string()],
        Domain::Ratio { .. } if parameter.name == "dram_share" => &["0", "1/3", "3/4"],
        Domain::Ratio { max: Some(_), .. } => &["0", "1/2", "1"],
        Domain::Ratio { max: None, .. } => &["1", "13.3"],
        Domain::Choice(words) => words,
        Domain::Flag => &["true", "false"],
    };
    values.iter().map(|&value| value.to_owned()).collect()
}
