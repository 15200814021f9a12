//! The parameters of a pattern, from text to checked values.

use super::pattern::{Pattern, Place, RequestSizes};
use super::random::Share;
use super::recipes::recipe_names;
use crate::error::TraceError;
use crate::quantity;
use clockhand_quantity::{Sentence, Text, command};

/// Every pattern takes these.
const OF_ALL: [&str; 8] =
    ["footprint", "reads", "size", "page", "start", "stream", "streams", "weight"];

/// Names of the patterns, with the parameters that only they take.
pub(super) const PATTERNS: [(&str, &[&str]); 5] = [
    ("uniform", &[]),
    ("zipf", &["skew", "write_skew", "scatter"]),
    ("hot-cold", &["hot", "hot_requests", "scatter"]),
    ("sequential", &["run"]),
    ("loop", &["body", "repeats"]),
];

const DEFAULT_PAGE_BYTES: u64 = 4096;
const DEFAULT_READS: Share = Share::WHOLE;
const MAXIMUM_PAGES: u64 = 1 << 48;
const MAXIMUM_SKEW: f64 = 10.0;
const MAXIMUM_WEIGHT: u64 = 1_000_000_000;
const MAXIMUM_STREAM: u64 = 65_535;
/// Each run of a pattern holds at most 70 KB.
const MAXIMUM_STREAMS: u64 = 1024;
const DEFAULT_REPEATS: u64 = 10;

/// `name:parameter=value,...`, or the name alone.
pub(super) fn parse_place(text: &str) -> Result<Place, TraceError> {
    let (name, list) = text.split_once(':').unwrap_or((text, ""));
    let name = name.trim();
    let Some(&(name, own)) = PATTERNS.iter().find(|(known, _)| *known == name) else {
        return Err(unknown_pattern(name));
    };
    let mut parameters = Parameters { pattern: name, own, given: split(name, list)? };
    let place = place(&mut parameters)?;
    parameters.require_all_taken()?;
    Ok(place)
}

fn unknown_pattern(name: &str) -> TraceError {
    let patterns = PATTERNS.map(|(known, _)| known);
    let nearest = patterns
        .iter()
        .chain(&recipe_names())
        .copied()
        .max_by(|one, other| strsim::jaro(name, one).total_cmp(&strsim::jaro(name, other)));
    let hint = match nearest.filter(|known| strsim::jaro(name, known) > NEAR) {
        Some(known) => format!(" (did you mean {known:?}?)"),
        None => String::new(),
    };
    TraceError::recipe(Sentence::new(
        format!("there is no pattern named {name:?}{hint}"),
        Text::from(format!("use one of {}, or a recipe of: ", patterns.join(", ")))
            + command("clockhand trace synthesize --list"),
    ))
}

/// How alike two names must be for one to be a slip of the other.
const NEAR: f64 = 0.75;

/// Splits at commas; a piece without `=` belongs to the value before it, so that
/// `size=4KiB:70,64KiB:30` needs no quotes.
fn split(pattern: &str, list: &str) -> Result<Vec<(String, String)>, TraceError> {
    let mut given: Vec<(String, String)> = Vec::new();
    for piece in list.split(',').map(str::trim).filter(|_| !list.trim().is_empty()) {
        match piece.split_once('=') {
            Some((name, value)) => {
                let name = name.trim();
                if given.iter().any(|(known, _)| known == name) {
                    return Err(refused(pattern, format!("{name} is given twice; keep one")));
                }
                given.push((name.to_owned(), value.trim().to_owned()));
            }
            None => match given.last_mut().filter(|_| !piece.is_empty()) {
                Some((_, value)) => *value = format!("{value},{piece}"),
                None => {
                    let reason = format!("{piece:?} is no parameter; write it as parameter=value");
                    return Err(refused(pattern, reason));
                }
            },
        }
    }
    Ok(given)
}

fn refused(pattern: &str, reason: impl AsRef<str>) -> TraceError {
    TraceError::recipe(format!("{pattern}: {}", reason.as_ref()))
}

/// The parameters that were given; each is taken out once.
struct Parameters {
    pattern: &'static str,
    own: &'static [&'static str],
    given: Vec<(String, String)>,
}

impl Parameters {
    fn take(&mut self, name: &str) -> Option<String> {
        let index = self.given.iter().position(|(known, _)| known == name)?;
        Some(self.given.remove(index).1)
    }

    /// The value that `read` finds in the text, `None` when the parameter is not given; `allowed`
    /// ends the sentence that refuses it.
    fn read<T>(
        &mut self,
        name: &str,
        allowed: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, TraceError> {
        let Some(text) = self.take(name) else { return Ok(None) };
        let value = read(&text);
        value
            .map(Some)
            .ok_or_else(|| refused(self.pattern, format!("{name}={text} is not {allowed}")))
    }

    fn bytes(&mut self, name: &str) -> Result<Option<u64>, TraceError> {
        self.read(name, "a size; give one such as 64MiB", |text| {
            quantity::size_bytes(text).filter(|&bytes| bytes > 0)
        })
    }

    fn share(&mut self, name: &str) -> Result<Option<Share>, TraceError> {
        self.read(name, "a share; give a percentage from 0% to 100%, such as 70%", Share::parse)
    }

    fn number(&mut self, name: &str, from: u64, to: u64) -> Result<Option<u64>, TraceError> {
        self.read(name, &format!("a whole number from {from} to {to}; give one"), |text| {
            quantity::count(text).filter(|number| (from..=to).contains(number))
        })
    }

    fn skew(&mut self, name: &str) -> Result<Option<f64>, TraceError> {
        let allowed = format!("a skew; give a number from 0 to {MAXIMUM_SKEW}, such as 0.9");
        self.read(name, &allowed, |text| {
            text.parse().ok().filter(|skew| (0.0..=MAXIMUM_SKEW).contains(skew))
        })
    }

    fn require_all_taken(&self) -> Result<(), TraceError> {
        let Some((name, _)) = self.given.first() else { return Ok(()) };
        let known: Vec<&str> = self.own.iter().chain(&OF_ALL).copied().collect();
        let reason = format!("there is no parameter {name:?}; use {}", known.join(", "));
        Err(refused(self.pattern, reason))
    }
}

fn place(parameters: &mut Parameters) -> Result<Place, TraceError> {
    let name = parameters.pattern;
    let footprint_bytes = parameters
        .bytes("footprint")?
        .ok_or_else(|| refused(name, "the footprint is missing; add it, such as footprint=1GiB"))?;
    let page_bytes = parameters
        .read("page", "a power of two in bytes; give one such as 4KiB", |text| {
            quantity::size_bytes(text).filter(|bytes| bytes.is_power_of_two())
        })?
        .unwrap_or(DEFAULT_PAGE_BYTES);
    let sizes = match parameters.take("size") {
        Some(text) => sizes(name, &text)?,
        None => {
            RequestSizes { weighted_bytes: vec![(default_size(page_bytes, footprint_bytes), 1)] }
        }
    };
    let place = Place {
        pattern: pattern(parameters, footprint_bytes, page_bytes)?,
        footprint_bytes,
        start_bytes: parameters
            .read("start", "a first byte; give one such as 0 or 1GiB", quantity::size_bytes)?
            .unwrap_or(0),
        page_bytes,
        sizes,
        reads: parameters.share("reads")?.unwrap_or(DEFAULT_READS),
        stream: parameters.number("stream", 0, MAXIMUM_STREAM)?.unwrap_or(0) as u32,
        streams: parameters.number("streams", 1, MAXIMUM_STREAMS)?.unwrap_or(1) as u32,
        weight: parameters.number("weight", 1, MAXIMUM_WEIGHT)?.unwrap_or(1),
    };
    check_extent(name, &place)?;
    Ok(place)
}

fn default_size(page_bytes: u64, footprint_bytes: u64) -> u32 {
    page_bytes.min(footprint_bytes).min(u64::from(u32::MAX)) as u32
}

/// `4KiB`, or `4KiB:70,64KiB:30`.
fn sizes(pattern: &str, text: &str) -> Result<RequestSizes, TraceError> {
    let one = |item: &str| {
        let (bytes, weight) = item.split_once(':').unwrap_or((item, "1"));
        let bytes =
            u32::try_from(quantity::size_bytes(bytes.trim())?).ok().filter(|&bytes| bytes > 0)?;
        let weight = quantity::count(weight.trim())?;
        (1..=MAXIMUM_WEIGHT).contains(&weight).then_some((bytes, weight))
    };
    let weighted_bytes: Option<Vec<_>> = text.split(',').map(one).collect();
    weighted_bytes.map(|weighted_bytes| RequestSizes { weighted_bytes }).ok_or_else(|| {
        let allowed =
            "give one below 4GiB such as 4KiB, or several with weights such as 4KiB:70,64KiB:30";
        refused(pattern, format!("size={text} is not a request size; {allowed}"))
    })
}

fn pattern(
    parameters: &mut Parameters,
    footprint_bytes: u64,
    page_bytes: u64,
) -> Result<Pattern, TraceError> {
    let scatter = |parameters: &mut Parameters| {
        let allowed =
            "a multiple of the page; give one such as 4KiB that divides the footprint, or none";
        let scatter_bytes = parameters.read("scatter", allowed, |text| match text {
            "none" => Some(None),
            _ => quantity::size_bytes(text)
                .filter(|&bytes| {
                    bytes > 0
                        && bytes.is_multiple_of(page_bytes)
                        && footprint_bytes.is_multiple_of(bytes)
                })
                .map(Some),
        })?;
        Ok::<_, TraceError>(scatter_bytes.unwrap_or(Some(page_bytes)))
    };
    let of_a_run = "a size from the page to the footprint; give one such as 256KiB";
    Ok(match parameters.pattern {
        "uniform" => Pattern::Uniform,
        "zipf" => {
            let skew = parameters
                .skew("skew")?
                .ok_or_else(|| refused("zipf", "the skew is missing; add it, such as skew=0.9"))?;
            let write_skew = parameters.skew("write_skew")?.unwrap_or(skew);
            Pattern::Zipf { skew, write_skew, scatter_bytes: scatter(parameters)? }
        }
        "hot-cold" => hot_cold(parameters, footprint_bytes / page_bytes, scatter)?,
        "sequential" => Pattern::Sequential {
            run_bytes: parameters.read("run", of_a_run, |text| {
                quantity::size_bytes(text)
                    .filter(|bytes| (page_bytes..=footprint_bytes).contains(bytes))
            })?,
        },
        _ => Pattern::Loop {
            body_bytes: parameters
                .read(
                    "body",
                    "a multiple of the page, up to the footprint; give one such as 1MiB",
                    |text| {
                        quantity::size_bytes(text).filter(|&bytes| {
                            bytes > 0
                                && bytes.is_multiple_of(page_bytes)
                                && bytes <= footprint_bytes
                        })
                    },
                )?
                .unwrap_or(footprint_bytes),
            repeats: parameters.number("repeats", 1, u64::MAX)?.unwrap_or(DEFAULT_REPEATS),
        },
    })
}

fn hot_cold(
    parameters: &mut Parameters,
    pages: u64,
    scatter: impl Fn(&mut Parameters) -> Result<Option<u64>, TraceError>,
) -> Result<Pattern, TraceError> {
    let missing = |name: &str, example: &str| {
        refused("hot-cold", format!("{name} is missing; add it, such as {name}={example}"))
    };
    let hot = parameters.share("hot")?.ok_or_else(|| missing("hot", "20%"))?;
    let hot_requests =
        parameters.share("hot_requests")?.ok_or_else(|| missing("hot_requests", "80%"))?;
    if hot.of(pages).max(1) >= pages {
        let reason = format!("hot={hot} of {pages} pages leaves no cold page; use uniform instead");
        return Err(refused("hot-cold", reason));
    }
    Ok(Pattern::HotCold { hot, hot_requests, scatter_bytes: scatter(parameters)? })
}

/// The sizes must fit into each other and into 64 bits.
fn check_extent(name: &str, place: &Place) -> Result<(), TraceError> {
    let text = quantity::bytes_text;
    let (footprint, page) = (place.footprint_bytes, place.page_bytes);
    let reason = if !footprint.is_multiple_of(page) {
        format!(
            "footprint={} is no multiple of the page of {}; round it up",
            text(footprint),
            text(page)
        )
    } else if place.pages() > MAXIMUM_PAGES {
        format!("the footprint has more than {MAXIMUM_PAGES} pages; give a larger page or less")
    } else if smallest_room_bytes(place) < place.sizes.max_bytes().into() {
        format!(
            "size={} is larger than the {} that a request has room in; give a smaller size",
            text(place.sizes.max_bytes().into()),
            text(smallest_room_bytes(place))
        )
    } else if place.start_bytes.checked_add(footprint).is_none() {
        "start and footprint reach past the end of the 64-bit address space; give a smaller start"
            .to_owned()
    } else {
        return Ok(());
    };
    Err(refused(name, reason))
}

/// The shortest stretch that a request must fit in: the footprint, or the last body of a loop.
fn smallest_room_bytes(place: &Place) -> u64 {
    match place.pattern {
        Pattern::Loop { body_bytes, .. } => match place.footprint_bytes % body_bytes {
            0 => body_bytes,
            last_body_bytes => last_body_bytes,
        },
        _ => place.footprint_bytes,
    }
}
