//! Evidence in the columns of a table, for formats without a mark: their columns are numbers, as in many tables.
//!
//! Such a format fits any table with as many columns. It is taken for one only if the columns are what they would be:
//! times rise, sizes are multiples, few devices recur.

use rustc_hash::FxHashSet;

use crate::decode::fields::{BlankFields, CommaFields};
use crate::decode::scan;
use crate::decode::units::SECTOR_BYTES;
use crate::source::sample::Sample;

/// The first lines of a trace as a table.
pub(crate) struct Evidence<'a> {
    rows: Vec<Vec<&'a [u8]>>,
}

impl<'a> Evidence<'a> {
    /// Of lines with commas between their fields.
    pub(crate) fn between_commas(sample: &Sample<'a>) -> Self {
        Self::of(sample, |line| CommaFields::new(line).collect())
    }

    /// Of lines with blanks between their fields.
    pub(crate) fn between_blanks(sample: &Sample<'a>) -> Self {
        Self::of(sample, |line| BlankFields::new(line).collect())
    }

    fn of(sample: &Sample<'a>, fields: impl Fn(&'a [u8]) -> Vec<&'a [u8]>) -> Self {
        let lines = sample.lines().filter(|line| !scan::trimmed(line).is_empty());
        Self { rows: lines.map(fields).collect() }
    }

    /// The fields of a column, counted from 1 as messages count them; short lines have none.
    pub(crate) fn fields(&self, column: usize) -> impl Iterator<Item = &'a [u8]> {
        self.rows.iter().filter_map(move |row| row.get(column - 1).copied())
    }

    /// The whole numbers of a column.
    pub(crate) fn numbers(&self, column: usize) -> impl Iterator<Item = u64> {
        self.fields(column).filter_map(scan::decimal)
    }

    /// The times of a column that can be read, in units that do not matter.
    fn times(&self, column: usize) -> impl Iterator<Item = u64> {
        let times = self.fields(column).filter_map(|field| scan::time_ns(field, 1_000_000));
        times.filter(|&time| time != scan::UNREADABLE_TIME_NS)
    }

    /// Evidence against numbers: one is above a limit.
    pub(crate) fn above(&self, column: usize, limit: u64, what: &str) -> Option<String> {
        let is_above = self.numbers(column).any(|number| number > limit);
        is_above.then(|| format!("there are {what} above {limit} in field {column}"))
    }

    /// Lines that are not blank.
    pub(crate) fn lines(&self) -> usize {
        self.rows.len()
    }

    /// How many different fields a column has.
    pub(crate) fn distinct(&self, column: usize) -> usize {
        self.fields(column).collect::<FxHashSet<_>>().len()
    }

    /// Returns whether nearly no time is earlier than the one before it.
    pub(crate) fn rises(&self, column: usize) -> bool {
        const STEPS_OF_ONE_BACK: usize = 8;
        let times: Vec<_> = self.times(column).collect();
        let back = times.windows(2).filter(|pair| pair[1] < pair[0]).count();
        back <= times.len() / STEPS_OF_ONE_BACK
    }

    /// Returns whether a column takes another value nearly every line and rises all the time, as a time does and an
    /// identity does not.
    pub(crate) fn looks_like_a_time(&self, column: usize) -> bool {
        const FEWEST_LINES: usize = 3;
        let times: Vec<_> = self.times(column).collect();
        times.len() >= FEWEST_LINES && times.is_sorted() && 2 * self.distinct(column) > times.len()
    }

    /// Evidence against sizes or places that are multiples of `unit`: most are not.
    pub(crate) fn not_multiples(&self, column: usize, unit: u64, what: &str) -> Option<String> {
        let (mut all, mut multiples) = (0_usize, 0);
        for number in self.numbers(column).filter(|&number| number > 0) {
            all += 1;
            multiples += usize::from(number % unit == 0);
        }
        (2 * multiples < all).then(|| {
            format!(
                "{} of the {all} {what} in field {column} are not multiples of {unit}",
                all - multiples
            )
        })
    }

    /// What speaks against places that count sectors: they seem to be bytes.
    pub(crate) fn are_bytes(&self, column: usize) -> Option<String> {
        const FEWEST_PLACES: usize = 8;
        let places: FxHashSet<_> = self.numbers(column).filter(|&place| place > 0).collect();
        let are_bytes =
            places.len() >= FEWEST_PLACES && places.iter().all(|place| place % SECTOR_BYTES == 0);
        are_bytes.then(|| {
            format!("all places in field {column} are multiples of 512, as bytes are and sectors are not")
        })
    }

    /// What speaks against times: they do not rise.
    pub(crate) fn does_not_rise(&self, column: usize) -> Option<String> {
        (!self.rises(column)).then(|| format!("the times in field {column} do not rise"))
    }

    /// Evidence against seconds since 1970: no trace was recorded in those years.
    pub(crate) fn not_of_these_years(&self, column: usize) -> Option<String> {
        const YEAR_2000_S: u64 = 946_684_800;
        const YEAR_2050_S: u64 = 2_524_608_000;
        let seconds = self.fields(column).filter_map(|field| scan::time_ns(field, 1_000_000_000));
        let mut years = seconds.map(|time_ns| time_ns / 1_000_000_000);
        let are = years.all(|second| (YEAR_2000_S..YEAR_2050_S).contains(&second));
        (!are).then(|| format!("field {column} does not hold seconds of the years 2000 to 2050"))
    }

    /// What speaks against identities: they rise from line to line, as times do.
    pub(crate) fn rises_like_a_time(&self, column: usize, what: &str) -> Option<String> {
        self.looks_like_a_time(column).then(|| {
            format!("nearly every line has {what} of its own in field {column}, rising as times do")
        })
    }
}
