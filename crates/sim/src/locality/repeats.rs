//! How consecutive references to one page count: each of them, or a run as one.

use clockhand_quantity::option;
use clockhand_trace::{Op, PageView, PageViewBuilder, Record, Request};

use crate::error::SimError;

/// How consecutive references to one page count.
///
/// Behind a cache that passes on single lines, a page that is walked through is referenced as often as it has lines.
/// The CRAW paper does not say whether its curves count each of these references.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Repeats {
    /// Each reference counts.
    #[default]
    Each,
    /// Of consecutive references to one page the first read and the first write count.
    Collapsed,
}

impl Repeats {
    /// What options call them.
    pub const WORDS: &'static [&'static str] = &["each", "collapsed"];

    /// The one of this name.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn named(name: &str) -> Result<Repeats, SimError> {
        match name {
            "each" => Ok(Repeats::Each),
            "collapsed" => Ok(Repeats::Collapsed),
            _ => Err(SimError::usage(
                option("repeats") + format!(" {name:?} is unknown"),
                "give each or collapsed",
            )),
        }
    }
}

/// The references of a folded view that count, one record each, in the order in which each first happened.
pub(super) fn collapsed(
    folded: &PageView,
    page_bytes: u64,
    mut builder: PageViewBuilder,
) -> Result<PageView, SimError> {
    for &record in folded.records() {
        let address = u64::from(record.page()) * page_bytes;
        for op in ops(record) {
            builder.push(&Request::new(op, address, 1));
        }
    }
    Ok(builder.finish()?)
}

fn ops(record: Record) -> impl Iterator<Item = Op> {
    let (first, other, has_other) = match record.first_is_write() {
        true => (Op::Write, Op::Read, record.rest_reads()),
        false => (Op::Read, Op::Write, record.rest_writes()),
    };
    std::iter::once(first).chain(has_other.then_some(other))
}
