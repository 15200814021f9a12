//! Classes of records that a cache lets through, and the conventions that make reads and writes of them.
//!
//! A store that misses allocates its line. Studies differ on whether that is a read of memory, a write or nothing,
//! which decides the share of writes in a trace. So the classes are kept, and a view is chosen when the trace is read.

use crate::report::grouped;
use crate::request::{Op, Request};

/// Why a cache let a line through.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RecordClass {
    /// An instruction fetch missed: `I`.
    Fetch,
    /// A load missed: `R`.
    LoadMiss,
    /// A store missed and allocated its line: `A`.
    StoreFill,
    /// A dirty line left the cache: `W`.
    WriteBack,
}

impl RecordClass {
    /// All of them, in the order of their codes.
    pub const ALL: [Self; 4] = [Self::Fetch, Self::LoadMiss, Self::StoreFill, Self::WriteBack];

    /// The letter that traces and tables use.
    pub fn letter(self) -> char {
        ['I', 'R', 'A', 'W'][self as usize]
    }

    /// Its name after this number of records: `1 fetch`, `2 fetches`.
    fn noun(self, records: u64) -> &'static str {
        let one = records == 1;
        match self {
            Self::Fetch => ["fetches", "fetch"][usize::from(one)],
            Self::LoadMiss => ["load misses", "load miss"][usize::from(one)],
            Self::StoreFill => ["store fills", "store fill"][usize::from(one)],
            Self::WriteBack => ["write-backs", "write-back"][usize::from(one)],
        }
    }

    /// The class of this letter.
    pub fn of_letter(letter: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| letter.chars().eq([class.letter()]))
    }

    /// What happens on the memory bus: a write-back writes, everything else reads.
    pub fn bus_op(self) -> Op {
        if self == Self::WriteBack { Op::Write } else { Op::Read }
    }
}

/// What a store-miss fill counts as.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Convention {
    /// A read, as the memory bus sees it.
    Bus,
    /// Nothing: the papers' filter allocates without reading.
    #[default]
    Paper,
    /// A write, as the page table sees the store.
    Fault,
}

impl Convention {
    /// The convention of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        match name {
            "bus" => Some(Self::Bus),
            "paper" => Some(Self::Paper),
            "fault" => Some(Self::Fault),
            _ => None,
        }
    }
}

/// By which convention the records of a trace with classes become reads and writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct View {
    /// What a store-miss fill counts as.
    pub convention: Convention,
    /// True if instruction fetches are part of it.
    pub fetches: bool,
}

impl Default for View {
    fn default() -> Self {
        Self { convention: Convention::default(), fetches: true }
    }
}

impl View {
    /// The operation of a record in this view; `None` when the view leaves it out.
    pub fn op(self, class: RecordClass) -> Option<Op> {
        match (class, self.convention) {
            (RecordClass::Fetch, _) if !self.fetches => None,
            (RecordClass::StoreFill, Convention::Paper) => None,
            (RecordClass::StoreFill, Convention::Fault) => Some(Op::Write),
            _ => Some(class.bus_op()),
        }
    }

    /// What it makes of these records, behind its name: `; reads: 3 fetches, 2 load misses; writes: 1 write-back`.
    pub(crate) fn described(self, counts: ClassCounts) -> String {
        let groups = [("reads", Some(Op::Read)), ("writes", Some(Op::Write)), ("left out", None)];
        let mut text = String::new();
        for (group, op) in groups {
            let classes = RecordClass::ALL.into_iter();
            let parts: Vec<String> = classes
                .filter(|&class| self.op(class) == op && counts.get(class) > 0)
                .map(|class| (class, counts.get(class)))
                .map(|(class, records)| format!("{} {}", grouped(records), class.noun(records)))
                .collect();
            if !parts.is_empty() {
                text.push_str(&format!("; {group}: {}", parts.join(", ")));
            }
        }
        text
    }

    /// The view as a report names it: `paper`, `bus without fetches`.
    pub fn name(self) -> &'static str {
        match (self.convention, self.fetches) {
            (Convention::Bus, true) => "bus",
            (Convention::Bus, false) => "bus without fetches",
            (Convention::Paper, true) => "paper",
            (Convention::Paper, false) => "paper without fetches",
            (Convention::Fault, true) => "fault",
            (Convention::Fault, false) => "fault without fetches",
        }
    }
}

/// A reader's treatment of the classes of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Classes {
    /// It gives the default view where there are classes, and everything where there are none.
    #[default]
    DefaultView,
    /// It gives this view, and refuses a trace without classes.
    Viewed(View),
    /// It keeps every record with its class, for a file that is to hold them.
    Kept,
}

impl Classes {
    /// The view of a trace with classes.
    pub(crate) fn view(self) -> Option<View> {
        match self {
            Self::DefaultView => Some(View::default()),
            Self::Viewed(view) => Some(view),
            Self::Kept => None,
        }
    }
}

/// How many records of each class there were, whatever the view made of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClassCounts([u64; 4]);

impl ClassCounts {
    /// Counts a record.
    pub fn add(&mut self, class: RecordClass) {
        self.0[class as usize] += 1;
    }

    /// Counts all records that others counted.
    pub(crate) fn add_all(&mut self, others: ClassCounts) {
        self.0.iter_mut().zip(others.0).for_each(|(count, more)| *count += more);
    }

    /// The records of a class.
    pub fn get(&self, class: RecordClass) -> u64 {
        self.0[class as usize]
    }
}

impl std::fmt::Display for ClassCounts {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, class) in RecordClass::ALL.into_iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(formatter, "{separator}{} {}", class.letter(), self.get(class))?;
        }
        Ok(())
    }
}

/// Makes reads and writes of a batch: counts the classes, and drops what the view leaves out.
pub(crate) fn apply(classes: Classes, requests: &mut Vec<Request>, counts: &mut ClassCounts) {
    let view = classes.view();
    let op_of_class = RecordClass::ALL.map(|class| view.map(|view| view.op(class)));
    // Each is moved, to where the next one goes if it is left out, since nobody can tell in advance which ones are.
    let mut kept = 0;
    for at in 0..requests.len() {
        let mut request = requests[at];
        let mut is_kept = true;
        if let Some(class) = request.class {
            counts.add(class);
            if let Some(op) = op_of_class[class as usize] {
                is_kept = op.is_some();
                request.op = op.unwrap_or(request.op);
            }
        }
        requests[kept] = request;
        kept += usize::from(is_kept);
    }
    requests.truncate(kept);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(convention: Convention, fetches: bool) -> String {
        let view = View { convention, fetches };
        let letter = |class| match view.op(class) {
            Some(Op::Read) => 'r',
            Some(Op::Write) => 'w',
            None => '-',
        };
        RecordClass::ALL.into_iter().map(letter).collect()
    }

    #[test]
    fn views_differ_in_store_fills_and_fetches_only() {
        assert_eq!(seen(Convention::Bus, true), "rrrw");
        assert_eq!(seen(Convention::Paper, true), "rr-w");
        assert_eq!(seen(Convention::Fault, true), "rrww");
        assert_eq!(seen(Convention::Bus, false), "-rrw");
        assert_eq!(seen(Convention::Paper, false), "-r-w");
        assert_eq!(seen(Convention::Fault, false), "-rww");
    }

    #[test]
    fn a_view_describes_what_it_makes_of_each_class() {
        let counts = ClassCounts([1, 1_067_142, 27_590, 142_666]);
        let described = |convention| View { convention, fetches: true }.described(counts);
        let paper = "; reads: 1 fetch, 1,067,142 load misses; writes: 142,666 write-backs; left out: 27,590 store fills";
        assert_eq!(described(Convention::Paper), paper);
        let fault = "; reads: 1 fetch, 1,067,142 load misses; writes: 27,590 store fills, 142,666 write-backs";
        assert_eq!(described(Convention::Fault), fault);
    }

    #[test]
    fn what_has_no_class_passes_every_view() {
        let without = Request::new(Op::Write, 0, 1);
        let mut requests =
            vec![without, Request { class: Some(RecordClass::StoreFill), ..without }];
        let mut counts = ClassCounts::default();
        apply(Classes::DefaultView, &mut requests, &mut counts);
        assert_eq!(requests, [without]);
        assert_eq!(counts.to_string(), "I 0, R 0, A 1, W 0");
    }

    #[test]
    fn letters_name_their_class() {
        for class in RecordClass::ALL {
            assert_eq!(RecordClass::of_letter(&class.letter().to_string()), Some(class));
        }
        assert_eq!(RecordClass::of_letter("IR"), None);
        assert_eq!(RecordClass::of_letter("i"), None);
    }
}
