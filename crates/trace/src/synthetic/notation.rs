//! The notation of recipes: from text to phases, and back.

use std::fmt;

use super::parameters::parse_place;
use super::pattern::{Pattern, Phase, Place, RequestSizes};
use crate::error::TraceError;
use crate::quantity::{self, bytes_text};

const MAXIMUM_REQUESTS: u64 = 1_000_000_000_000;

/// Reads phases; any white space separates words.
pub(super) fn parse_phases(text: &str) -> Result<Vec<Phase>, TraceError> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let phases: Result<Vec<_>, _> = text.split(" then ").map(parse_phase).collect();
    let phases = phases?;
    if phases.len() > 1 && phases.iter().any(|phase| phase.requests.is_none()) {
        return Err(TraceError::recipe(
            "each of several phases needs its number of requests; write it as: PATTERN for 1M then \
             PATTERN for 200k",
        ));
    }
    Ok(phases)
}

/// A number of requests, from 1 to 10^12.
pub(super) fn parse_requests(text: &str) -> Option<u64> {
    quantity::count(text.trim()).filter(|requests| (1..=MAXIMUM_REQUESTS).contains(requests))
}

fn parse_phase(text: &str) -> Result<Phase, TraceError> {
    let (mix, requests) = match text.rsplit_once(" for ") {
        None => (text, None),
        Some((mix, length)) => {
            let requests = parse_requests(length);
            let refused = || {
                TraceError::recipe(format!(
                    "\"for {length}\" is no number of requests from 1 to 1000G; give one such as: for 200k"
                ))
            };
            (mix, Some(requests.ok_or_else(refused)?))
        }
    };
    let mix = mix.split('+').map(|place| parse_place(place.trim())).collect::<Result<_, _>>()?;
    Ok(Phase { mix, requests })
}

impl fmt::Display for Phase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, place) in self.mix.iter().enumerate() {
            let plus = if position == 0 { "" } else { " + " };
            write!(formatter, "{plus}{place}")?;
        }
        match self.requests {
            Some(requests) => write!(formatter, " for {requests}"),
            None => Ok(()),
        }
    }
}

/// Every parameter is written, even if it has its default: what a file says about itself must
/// not depend on the version that reads it.
impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scatter = |bytes: &Option<u64>| bytes.map_or_else(|| "none".to_owned(), bytes_text);
        match &self.pattern {
            Pattern::Uniform => write!(formatter, "uniform:")?,
            Pattern::Zipf { skew, write_skew, scatter_bytes } => write!(
                formatter,
                "zipf:skew={skew},write_skew={write_skew},scatter={},",
                scatter(scatter_bytes)
            )?,
            Pattern::HotCold { hot, hot_requests, scatter_bytes } => write!(
                formatter,
                "hot-cold:hot={hot},hot_requests={hot_requests},scatter={},",
                scatter(scatter_bytes)
            )?,
            Pattern::Sequential { run_bytes: None } => write!(formatter, "sequential:")?,
            Pattern::Sequential { run_bytes: Some(bytes) } => {
                write!(formatter, "sequential:run={},", bytes_text(*bytes))?;
            }
            Pattern::Loop { body_bytes, repeats } => {
                write!(formatter, "loop:body={},repeats={repeats},", bytes_text(*body_bytes))?;
            }
        }
        write!(
            formatter,
            "footprint={},reads={},size={},page={},start={},stream={},streams={},weight={}",
            bytes_text(self.footprint_bytes),
            self.reads,
            self.sizes,
            bytes_text(self.page_bytes),
            bytes_text(self.start_bytes),
            self.stream,
            self.streams,
            self.weight
        )
    }
}

impl fmt::Display for RequestSizes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [(bytes, _)] = self.weighted_bytes[..] {
            return formatter.write_str(&bytes_text(bytes.into()));
        }
        let texts: Vec<String> = self
            .weighted_bytes
            .iter()
            .map(|&(bytes, weight)| format!("{}:{weight}", bytes_text(bytes.into())))
            .collect();
        formatter.write_str(&texts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_as_the_same_phases() {
        for text in [
            "uniform:footprint=1MiB",
            "zipf:skew=0.9,footprint=1GiB,reads=70%,size=4KiB:70,64KiB:30,scatter=256KiB",
            "zipf:skew=0.1,write_skew=1.2,footprint=1GiB,scatter=none,start=5GiB,stream=3,streams=2",
            "hot-cold:hot=12.5%,hot_requests=80%,footprint=64KiB,page=512,size=1000",
            "sequential:footprint=1MiB,run=64KiB,weight=7+loop:footprint=1MiB,body=100KiB,repeats=3",
            "uniform:footprint=4KiB for 1k then loop : footprint = 8KiB , weight=2\n for 20 ",
        ] {
            let phases = parse_phases(text).unwrap();
            let texts: Vec<String> = phases.iter().map(Phase::to_string).collect();
            let written = texts.join(" then ");
            assert_eq!(parse_phases(&written).unwrap(), phases, "{written}");
        }
    }

    #[test]
    fn a_bad_recipe_is_refused_with_what_to_do() {
        for (text, words) in [
            ("", "there is no pattern named \"\"; use one of uniform, zipf"),
            ("zipff:footprint=1MiB", "named \"zipff\" (did you mean \"zipf\"?)"),
            ("uniform", "uniform: the footprint is missing; add it, such as footprint=1GiB"),
            ("zipf:footprint=1MiB", "zipf: the skew is missing; add it, such as skew=0.9"),
            (
                "zipf:footprint=1MiB,skew=-1",
                "zipf: skew=-1 is not a skew; give a number from 0 to 10",
            ),
            ("zipf:footprint=1MiB,skew=nan", "skew=nan is not a skew"),
            ("uniform:footprint=big", "footprint=big is not a size; give one such as 64MiB"),
            ("uniform:footprint=0", "footprint=0 is not a size"),
            (
                "uniform:footprint=5000",
                "footprint=5000 is no multiple of the page of 4KiB; round it up",
            ),
            (
                "uniform:footprint=4KiB,skew=1",
                "there is no parameter \"skew\"; use footprint, reads",
            ),
            ("uniform:footprint=4KiB,reads=0.7", "reads=0.7 is not a share; give a percentage"),
            ("uniform:footprint=4KiB,reads=101%", "reads=101% is not a share"),
            ("uniform:footprint=4KiB,size=8KiB", "size=8KiB is larger than the 4KiB"),
            ("uniform:footprint=4KiB,size=4KiB:0", "size=4KiB:0 is not a request size; give one"),
            ("uniform:footprint=4KiB,size=4GiB", "size=4GiB is not a request size"),
            ("uniform:footprint=4KiB,footprint=8KiB", "footprint is given twice; keep one"),
            ("uniform:4KiB", "\"4KiB\" is no parameter; write it as parameter=value"),
            ("uniform:footprint=4KiB,page=3KiB", "page=3KiB is not a power of two"),
            ("uniform:footprint=4KiB,weight=0", "weight=0 is not a whole number from 1"),
            ("uniform:footprint=4KiB,start=18446744073709551615", "past the end of the 64-bit"),
            ("uniform:footprint=1048576TiB,page=1", "more than 281474976710656 pages"),
            ("hot-cold:footprint=1MiB,hot=20%", "hot_requests is missing; add it"),
            ("hot-cold:footprint=4KiB,hot=20%,hot_requests=1%", "leaves no cold page; use uniform"),
            (
                "zipf:footprint=1MiB,skew=1,scatter=6KiB",
                "scatter=6KiB is not a multiple of the page",
            ),
            ("loop:footprint=1MiB,body=2MiB", "body=2MiB is not a multiple of the page, up to"),
            ("loop:footprint=20KiB,body=16KiB,size=8KiB", "size=8KiB is larger than the 4KiB"),
            ("sequential:footprint=1MiB,run=1", "run=1 is not a size from the page to the"),
            (
                "uniform:footprint=4KiB for ever",
                "\"for ever\" is no number of requests from 1 to 1000G",
            ),
            (
                "uniform:footprint=4KiB then uniform:footprint=8KiB for 9",
                "each of several phases needs",
            ),
        ] {
            let message = parse_phases(text).unwrap_err().to_string();
            assert!(message.contains(words), "{text}: {message}");
            assert!(!message.contains('\n'), "{message}");
        }
    }
}
