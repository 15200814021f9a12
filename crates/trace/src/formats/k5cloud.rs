//! # k5cloud
//!
//! Block traces of Fujitsu's K5 cloud: a week of thousands of volumes, from the SNIA IOTTA repository.
//!
//! **A line** has commas between five fields; there is no header:
//!
//! ```text
//! 1,1490370240.0001,R,1048576,4096
//! ```
//!
//! | field | meaning |
//! |---|---|
//! | volume | a number: the stream |
//! | time | seconds since 1970-01-01, with decimals |
//! | type | `R` reads, `W` writes |
//! | offset | bytes |
//! | size | bytes |
//!
//! - A table is not recognised if its second field holds no seconds of the years 2000 to 2050, or if its offsets or
//!   sizes are not multiples of 512. Then the format must be named.
//!
//! **Skipped**: blank lines, silently. Every other line that is not a request is counted as malformed.
//!
//! **Source**: the description of the trace set "Fujitsu K5 cloud service traces" at SNIA IOTTA.

use crate::decode::fields::CommaFields;
use crate::decode::lines::{Line, LineFormat};
use crate::decode::output::{Fault, Output};
use crate::decode::scan;
use crate::decode::units::{self, SECTOR_BYTES};
use crate::format::Format;
use crate::request::Request;
use crate::source::evidence::Evidence;
use crate::source::sample::Sample;

pub(super) const FORMAT: Format = Format::text::<K5Cloud>(
    "k5cloud",
    "`1,1490370240.0001,R,1048576,4096`: block traces of Fujitsu's K5 cloud",
    include_str!("k5cloud.rs"),
)
.with_streams_of("volume")
.doubted_by(doubt);

/// Five fields with R or W in the middle may have other units.
fn doubt(sample: &Sample) -> Option<String> {
    let table = Evidence::between_commas(sample);
    table
        .not_of_these_years(2)
        .or_else(|| table.not_multiples(4, SECTOR_BYTES, "offsets"))
        .or_else(|| table.not_multiples(5, SECTOR_BYTES, "sizes"))
}

const SECOND_NS: u64 = 1_000_000_000;

#[derive(Default)]
struct K5Cloud;

impl LineFormat for K5Cloud {
    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<Line, Fault> {
        if scan::after_blanks(line).is_empty() {
            return Ok(Line::Passed);
        }
        let mut fields = CommaFields::new(line);
        let volume = fields.decimal().ok_or("has no decimal volume in field 1")?;
        let time_ns = fields.time_ns(SECOND_NS).ok_or("has no seconds in field 2")?;
        let op = fields.next().and_then(scan::op).ok_or("has no R or W in field 3")?;
        let address = fields.decimal().ok_or("has no decimal offset in field 4")?;
        let size_bytes = fields.decimal().ok_or("has no decimal size in field 5")?;
        fields.end().ok_or("does not end after the size in field 5")?;
        let stream = units::stream(volume)?;
        output
            .request_of(size_bytes, Request::new(op, address, 0).in_stream(stream).at(time_ns))?;
        Ok(Line::Taken)
    }
}
