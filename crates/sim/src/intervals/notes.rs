//! Counts that a replay notes on its way, and the rows of what they grew by between two places.

use clockhand_device::Joined;
use clockhand_trace::Record;

use crate::read_trace::ReadTrace;

/// Counts that only grow, so that an interval has what they grew by.
pub(crate) trait Grows: Clone + Default {
    /// What came after an earlier state.
    #[must_use]
    fn since(&self, earlier: &Self) -> Self;

    /// Takes over what is the largest of several parts rather than their sum.
    fn widen(&mut self, part: &Self) {
        let _ = part;
    }
}

impl Grows for u64 {
    fn since(&self, earlier: &Self) -> Self {
        self - earlier
    }
}

impl Grows for Option<u64> {
    fn since(&self, earlier: &Self) -> Self {
        self.map(|now| now - earlier.unwrap_or(0))
    }
}

impl Grows for [u64; 2] {
    fn since(&self, earlier: &Self) -> Self {
        [self[0] - earlier[0], self[1] - earlier[1]]
    }
}

impl Grows for () {
    fn since(&self, (): &Self) {}
}

impl<A: Grows, B: Grows, C: Grows> Grows for (A, B, C) {
    fn since(&self, earlier: &Self) -> Self {
        (self.0.since(&earlier.0), self.1.since(&earlier.1), self.2.since(&earlier.2))
    }
}

impl<A: Grows, B: Grows> Grows for (A, B) {
    fn since(&self, earlier: &Self) -> Self {
        (self.0.since(&earlier.0), self.1.since(&earlier.1))
    }
}

impl<T: Grows> Grows for Vec<T> {
    fn since(&self, earlier: &Self) -> Self {
        let nothing = T::default();
        let grown = |(place, now): (usize, &T)| now.since(earlier.get(place).unwrap_or(&nothing));
        self.iter().enumerate().map(grown).collect()
    }
}

impl Grows for Joined {
    fn since(&self, earlier: &Self) -> Self {
        Joined::since(self, earlier)
    }
}

/// Declares that the fields of a struct grow; those behind `kept` do not, and stay as they are at the later place; those behind
/// `largest` are the largest since the place before.
macro_rules! grows {
    (
        $counts:ty { $($field:ident),+ $(,)? }
        $(kept { $($kept:ident),+ $(,)? })?
        $(largest { $($largest:ident),+ $(,)? })?
    ) => {
        impl $crate::intervals::Grows for $counts {
            fn since(&self, earlier: &Self) -> Self {
                Self {
                    $($field: $crate::intervals::Grows::since(&self.$field, &earlier.$field),)+
                    $($($kept: self.$kept,)+)?
                    $($($largest: self.$largest,)+)?
                }
            }
            $(
                fn widen(&mut self, part: &Self) {
                    $(self.$largest = self.$largest.max(part.$largest);)+
                }
            )?
        }
    };
}

pub(crate) use grows;

/// A place within a trace where counting starts again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// The number of the interval that begins.
    pub(super) interval: u64,
    /// The references before.
    pub(super) reference: u64,
    /// From the trace's first request, if it has times.
    pub(super) time_ns: Option<u64>,
}

/// All such places of a trace, ascending; the first one is behind the warm-up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cuts {
    pub(super) cuts: Vec<Cut>,
    /// True if each interval has a row; else only the part after the warm-up has one.
    pub(super) has_intervals: bool,
}

impl Cuts {
    /// Counts are those of a whole trace.
    pub(crate) const NONE: &'static Cuts = &Cuts { cuts: Vec::new(), has_intervals: false };

    /// The same places between requests, which are not divided: by references and by requests. `before` has the references
    /// before each request.
    pub(crate) fn between_requests(self, before: &[u64]) -> (Self, Self) {
        let (mut of_references, mut of_requests): (Vec<Cut>, Vec<Cut>) = (Vec::new(), Vec::new());
        for cut in self.cuts {
            let place = before.partition_point(|&references| references < cut.reference);
            let place = place.min(before.len() - 1);
            // An interval within one request is part of the next one.
            if of_requests.last().is_some_and(|last| last.reference == place as u64) {
                of_requests.pop();
                of_references.pop();
            }
            of_references.push(Cut { reference: before[place], ..cut });
            of_requests.push(Cut { reference: place as u64, ..cut });
        }
        let cuts = |cuts| Cuts { cuts, has_intervals: self.has_intervals };
        (cuts(of_references), cuts(of_requests))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Cut> {
        self.cuts.iter().copied()
    }

    /// Counts are those of a whole trace.
    pub(crate) fn is_empty(&self) -> bool {
        self.cuts.is_empty()
    }
}

/// Counts until a place, and the references that they are of.
#[derive(Clone, Debug, Default)]
struct Tally<C> {
    references: u64,
    write_references: u64,
    counts: C,
}

impl<C: Grows> Tally<C> {
    fn since(&self, earlier: &Self) -> Self {
        Tally {
            references: self.references - earlier.references,
            write_references: self.write_references - earlier.write_references,
            counts: self.counts.since(&earlier.counts),
        }
    }
}

/// Notes the counts of a replay at the cuts of its trace. Without cuts it does nothing.
pub(crate) struct Notes<'a, C> {
    cuts: &'a [Cut],
    references: u64,
    write_references: u64,
    noted: Vec<Tally<C>>,
}

impl<'a, C: Grows> Notes<'a, C> {
    pub(crate) fn at(cuts: &'a Cuts) -> Self {
        let mut notes =
            Notes { cuts: &cuts.cuts, references: 0, write_references: 0, noted: Vec::new() };
        if notes.is_at_cut() {
            notes.note(C::default());
        }
        notes
    }

    /// References until counts are noted next, at most `most`.
    pub(crate) fn until_next(&self, most: usize) -> usize {
        match self.cuts.first() {
            None => most,
            Some(cut) => {
                let left = cut.reference - self.references;
                usize::try_from(left).unwrap_or(most).min(most)
            }
        }
    }

    /// Records of one reference each were replayed. Returns whether counts are [noted](Notes::note) here.
    #[must_use]
    pub(crate) fn passed(&mut self, records: &[Record]) -> bool {
        self.passed_many(records, writes_among)
    }

    /// As [`Notes::passed`], with what counts those that write. There are no closures here, which each replay would have
    /// copies of.
    #[must_use]
    pub(crate) fn passed_many<R>(&mut self, references: &[R], writes: fn(&[R]) -> usize) -> bool {
        if self.cuts.is_empty() && self.noted.is_empty() {
            return false;
        }
        self.references += references.len() as u64;
        self.write_references += writes(references) as u64;
        self.is_at_cut()
    }

    fn is_at_cut(&self) -> bool {
        self.cuts.first().is_some_and(|cut| cut.reference == self.references)
    }

    /// Notes the counts at the cut that has been reached.
    pub(crate) fn note(&mut self, counts: C) {
        self.cuts = &self.cuts[1..];
        let Notes { references, write_references, .. } = *self;
        self.noted.push(Tally { references, write_references, counts });
    }

    /// What was noted, with the counts at the end of the trace.
    pub(crate) fn finish(self, counts: C) -> Noted<C> {
        let Notes { references, write_references, noted, .. } = self;
        Noted { at_cuts: noted, end: Tally { references, write_references, counts } }
    }
}

fn writes_among(records: &[Record]) -> usize {
    records.iter().filter(|record| record.first_is_write()).count()
}

/// What a replay counted: at its cuts, and in all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Noted<C> {
    at_cuts: Vec<Tally<C>>,
    end: Tally<C>,
}

impl<C: Grows> Noted<C> {
    /// Counts of a whole trace.
    pub(crate) fn whole(counts: C) -> Self {
        Noted { at_cuts: Vec::new(), end: Tally { references: 0, write_references: 0, counts } }
    }

    /// The counts of the whole trace.
    pub(crate) fn into_whole(self) -> C {
        self.end.counts
    }

    /// The counts of the whole trace.
    pub(crate) fn as_whole(&self) -> &C {
        &self.end.counts
    }

    /// These counts, and others that were noted at the same cuts.
    pub(crate) fn zip<D: Grows>(self, others: &Noted<D>) -> Noted<(C, D)> {
        let with = |(tally, other): (Tally<C>, &Tally<D>)| Tally {
            references: tally.references,
            write_references: tally.write_references,
            counts: (tally.counts, other.counts.clone()),
        };
        let at_cuts = self.at_cuts.into_iter().zip(&others.at_cuts).map(with).collect();
        Noted { at_cuts, end: with((self.end, &others.end)) }
    }

    /// Other counts that follow from these.
    pub(crate) fn map<D>(self, made: impl Fn(C) -> D) -> Noted<D> {
        let of = |Tally { references, write_references, counts }| Tally {
            references,
            write_references,
            counts: made(counts),
        };
        Noted { at_cuts: self.at_cuts.into_iter().map(of).collect(), end: of(self.end) }
    }

    /// The rows of what is counted after the warm-up, and of each interval if they are asked for.
    pub(crate) fn rows<R: IntervalRow>(
        &self,
        cuts: &Cuts,
        trace: &ReadTrace,
        row: impl Fn(&Part<'_>, &C) -> R,
    ) -> Rows<R> {
        let Some(warm_up) = self.at_cuts.first() else {
            return Rows::of(row(&Part::whole(trace), &self.end.counts));
        };
        let part = |tally: &Tally<C>| Part {
            trace,
            references: tally.references,
            read_references: tally.references - tally.write_references,
            write_references: tally.write_references,
        };
        let ends = self.at_cuts[1..].iter().chain([&self.end]);
        let counted: Vec<Tally<C>> =
            self.at_cuts.iter().zip(ends).map(|(begin, end)| end.since(begin)).collect();
        let mut after = self.end.since(warm_up);
        counted.iter().for_each(|tally| after.counts.widen(&tally.counts));
        let of_interval =
            |(cut, tally): (&Cut, &Tally<C>)| row(&part(tally), &tally.counts).of_interval(*cut);
        let intervals = match cuts.has_intervals {
            true => cuts.cuts.iter().zip(&counted).map(of_interval).collect(),
            false => Vec::new(),
        };
        Rows { row: row(&part(&after), &after.counts), intervals }
    }
}

/// A trace, or a part of it, that counts belong to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'a> {
    pub(crate) trace: &'a ReadTrace,
    pub(crate) references: u64,
    pub(crate) read_references: u64,
    pub(crate) write_references: u64,
}

impl<'a> Part<'a> {
    pub(crate) fn whole(trace: &'a ReadTrace) -> Self {
        Part {
            trace,
            references: trace.references,
            read_references: trace.read_references,
            write_references: trace.write_references,
        }
    }

    /// Whether it is all of the trace.
    pub(crate) fn is_whole(&self) -> bool {
        self.references == self.trace.references
    }

    /// A share of its references.
    pub(crate) fn share(&self, references: u64) -> f64 {
        references as f64 / self.references as f64
    }
}

/// A row that tells which interval it is of.
pub(crate) trait IntervalRow {
    /// The same row, of the interval that begins here.
    #[must_use]
    fn of_interval(self, cut: Cut) -> Self;
}

impl Cut {
    /// True if this number of references comes before it.
    pub(crate) fn is_at(self, references: u64) -> bool {
        self.reference == references
    }

    /// The columns `interval`, `from_reference` and `from_us`.
    pub(crate) fn columns(self) -> (Option<u64>, Option<u64>, Option<f64>) {
        let from_us = self.time_ns.map(|ns| ns as f64 / 1e3);
        (Some(self.interval), Some(self.reference), from_us)
    }
}

/// The row of a cell, and those of its intervals if they are asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows<R> {
    /// What is counted after the warm-up.
    pub row: R,
    /// What is counted in each interval.
    pub intervals: Vec<R>,
}

impl<R> Rows<R> {
    /// A row without intervals.
    pub fn of(row: R) -> Self {
        Rows { row, intervals: Vec::new() }
    }

    /// All of them, the row first.
    pub fn into_all(self) -> Vec<R> {
        std::iter::once(self.row).chain(self.intervals).collect()
    }

    /// Others made of each.
    pub fn map<S>(self, made: impl Fn(R) -> S) -> Rows<S> {
        Rows { row: made(self.row), intervals: self.intervals.into_iter().map(made).collect() }
    }
}
